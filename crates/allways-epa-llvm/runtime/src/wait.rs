//! Locks, condition variables and barriers: what is logged is stamped after what acquires and before what releases. So whatever one
//! thread gives back, and another gets by it, comes in this order.

use crate::real;
use crate::thread::event;
use allways_epa_format::Event;
use std::ffi::{c_int, c_void};

type Object = *mut c_void;
type Time = *const c_void;

/// That this file is part of the program: whoever refers to it makes sure of that.
pub static HERE: u8 = 1;

fn locked(result: c_int, address: Object) -> c_int {
    // Whoever gets the lock of a thread that died has it, too.
    if result == 0 || result == libc::EOWNERDEAD {
        event(|stamp| Event::Lock { stamp, address: address as u64 });
    }
    result
}

fn shared(result: c_int, address: Object) -> c_int {
    if result == 0 {
        event(|stamp| Event::LockShared { stamp, address: address as u64 });
    }
    result
}

fn unlocking(address: Object) {
    event(|stamp| Event::Unlock { stamp, address: address as u64 });
}

/// Takes the place of functions of the C library: what is done before, and with the result.
macro_rules! take {
    ($(
        $(#[$about:meta])*
        fn $name:ident $c_name:literal ($($argument:ident: $type:ty),*)
        $(before $before:expr;)? $(after $after:expr;)?
    )*) => {$(
        $(#[$about])*
        ///
        /// # Safety
        ///
        /// As of the function whose place it takes.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($argument: $type),*) -> c_int {
            $($before;)?
            let result = real!($c_name, fn($($argument: $type),*) -> c_int);
            $(let result = $after(result);)?
            result
        }
    )*};
}

take! {
    /// Takes the place of `pthread_mutex_lock`.
    fn pthread_mutex_lock c"pthread_mutex_lock" (lock: Object) after |result| locked(result, lock);
    /// Takes the place of `pthread_mutex_trylock`.
    fn pthread_mutex_trylock c"pthread_mutex_trylock" (lock: Object) after |result| locked(result, lock);
    /// Takes the place of `pthread_mutex_timedlock`.
    fn pthread_mutex_timedlock c"pthread_mutex_timedlock" (lock: Object, until: Time)
        after |result| locked(result, lock);
    /// Takes the place of `pthread_mutex_unlock`.
    fn pthread_mutex_unlock c"pthread_mutex_unlock" (lock: Object) before unlocking(lock);
    /// Takes the place of `pthread_spin_lock`.
    fn pthread_spin_lock c"pthread_spin_lock" (lock: Object) after |result| locked(result, lock);
    /// Takes the place of `pthread_spin_trylock`.
    fn pthread_spin_trylock c"pthread_spin_trylock" (lock: Object) after |result| locked(result, lock);
    /// Takes the place of `pthread_spin_unlock`.
    fn pthread_spin_unlock c"pthread_spin_unlock" (lock: Object) before unlocking(lock);
    /// Takes the place of `pthread_rwlock_rdlock`.
    fn pthread_rwlock_rdlock c"pthread_rwlock_rdlock" (lock: Object) after |result| shared(result, lock);
    /// Takes the place of `pthread_rwlock_tryrdlock`.
    fn pthread_rwlock_tryrdlock c"pthread_rwlock_tryrdlock" (lock: Object) after |result| shared(result, lock);
    /// Takes the place of `pthread_rwlock_timedrdlock`.
    fn pthread_rwlock_timedrdlock c"pthread_rwlock_timedrdlock" (lock: Object, until: Time)
        after |result| shared(result, lock);
    /// Takes the place of `pthread_rwlock_wrlock`.
    fn pthread_rwlock_wrlock c"pthread_rwlock_wrlock" (lock: Object) after |result| locked(result, lock);
    /// Takes the place of `pthread_rwlock_trywrlock`.
    fn pthread_rwlock_trywrlock c"pthread_rwlock_trywrlock" (lock: Object) after |result| locked(result, lock);
    /// Takes the place of `pthread_rwlock_timedwrlock`.
    fn pthread_rwlock_timedwrlock c"pthread_rwlock_timedwrlock" (lock: Object, until: Time)
        after |result| locked(result, lock);
    /// Takes the place of `pthread_rwlock_unlock`.
    fn pthread_rwlock_unlock c"pthread_rwlock_unlock" (lock: Object) before unlocking(lock);
    /// Takes the place of `pthread_cond_wait`.
    fn pthread_cond_wait c"pthread_cond_wait" (condition: Object, lock: Object)
        before wait_begins(condition, lock);
        after |result| wait_ended(result, condition, lock);
    /// Takes the place of `pthread_cond_timedwait`.
    fn pthread_cond_timedwait c"pthread_cond_timedwait" (condition: Object, lock: Object, until: Time)
        before wait_begins(condition, lock);
        after |result| wait_ended(result, condition, lock);
    /// Takes the place of `pthread_cond_clockwait`.
    fn pthread_cond_clockwait c"pthread_cond_clockwait"
        (condition: Object, lock: Object, clock: c_int, until: Time)
        before wait_begins(condition, lock);
        after |result| wait_ended(result, condition, lock);
    /// Takes the place of `pthread_cond_signal`.
    fn pthread_cond_signal c"pthread_cond_signal" (condition: Object)
        before event(|stamp| Event::Signal { stamp, condition: condition as u64 });
    /// Takes the place of `pthread_cond_broadcast`.
    fn pthread_cond_broadcast c"pthread_cond_broadcast" (condition: Object)
        before event(|stamp| Event::Broadcast { stamp, condition: condition as u64 });
    /// Takes the place of `pthread_barrier_wait`.
    fn pthread_barrier_wait c"pthread_barrier_wait" (barrier: Object)
        before event(|stamp| Event::BarrierEnter { stamp, address: barrier as u64 });
        after |result| {
            event(|stamp| Event::BarrierLeave { stamp, address: barrier as u64 });
            result
        };
}

fn wait_begins(condition: Object, lock: Object) {
    event(|stamp| Event::WaitBegin { stamp, condition: condition as u64, lock: lock as u64 });
}

/// The lock is held again, also if the time was up.
fn wait_ended(result: c_int, condition: Object, lock: Object) -> c_int {
    event(|stamp| Event::WaitEnd { stamp, condition: condition as u64, lock: lock as u64 });
    result
}
