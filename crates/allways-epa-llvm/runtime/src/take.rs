//! How the place of functions of the C library is taken, and what is logged of locks: it is stamped after what acquires and before what
//! releases. So whatever one thread gives back, and another gets by it, comes in this order.

use crate::thread::event;
use allways_epa_format::Event;
use std::ffi::{c_int, c_void};

/// A lock, a condition variable or a barrier.
pub type Object = *mut c_void;
/// A point in time.
pub type Time = *const c_void;

/// A lock has been taken, if that is what the result says.
pub fn locked(result: c_int, address: Object) -> c_int {
    // Whoever gets the lock of a thread that died has it, too.
    if result == 0 || result == libc::EOWNERDEAD {
        event(|stamp| Event::Lock { stamp, address: address as u64 });
    }
    result
}

/// A lock that others may have as well has been taken, if that is what the result says.
pub fn shared(result: c_int, address: Object) -> c_int {
    if result == 0 {
        event(|stamp| Event::LockShared { stamp, address: address as u64 });
    }
    result
}

/// A lock is given back.
pub fn unlocking(address: Object) {
    event(|stamp| Event::Unlock { stamp, address: address as u64 });
}

/// Something begins or ends to be, if that is what the result says.
pub fn renewed(result: c_int, address: Object) -> c_int {
    if result == 0 {
        event(|stamp| Event::Renew { stamp, address: address as u64 });
    }
    result
}

/// The thread waits for a condition variable as long as this is there. It then has the lock again, also if the time was up, and also if it is
/// cancelled: its stack is unwound with the lock held.
pub struct Waiting {
    condition: Object,
    lock: Object,
}

impl Waiting {
    /// The thread begins to wait.
    pub fn begin(condition: Object, lock: Object) -> Self {
        let (at, held) = (condition as u64, lock as u64);
        event(|stamp| Event::WaitBegin { stamp, condition: at, lock: held });
        Waiting { condition, lock }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let (condition, lock) = (self.condition as u64, self.lock as u64);
        event(|stamp| Event::WaitEnd { stamp, condition, lock });
    }
}

/// Takes the place of functions of the C library: what is done before, what is there meanwhile, and what is done with the result.
#[macro_export]
macro_rules! take {
    ($(
        $(#[$about:meta])*
        fn $name:ident $c_name:literal ($($argument:ident: $type:ty),*)
        $(before $before:expr;)? $(during $during:expr;)? $(after $after:expr;)?
    )*) => {$(
        $(#[$about])*
        ///
        /// # Safety
        ///
        /// As of the function whose place it takes.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($argument: $type),*) -> std::ffi::c_int {
            $($before;)?
            $(let _during = $during;)?
            let result = $crate::real!($c_name, fn($($argument: $type),*) -> std::ffi::c_int);
            $(let result = $after(result);)?
            result
        }
    )*};
}
