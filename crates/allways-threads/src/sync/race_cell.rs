//! Cells that threads must not access at the same time.

use crate::handle::Handle;
use crate::runtime::op::{Kind, NONE, Op};
use crate::runtime::{Inside, access, current};
use std::cell::UnsafeCell;
use std::fmt;
use std::panic::Location;

/// A cell without a lock, for data that something else protects: a flag, a protocol, an order of threads. In a check it is
/// a violation if two threads can access it at the same time and one of them writes.
///
/// ```
/// use allways_threads::sync::{Arc, RaceCell};
/// use allways_threads::{Program, thread};
///
/// let outcome = Program::new(|| {
///     let cell = Arc::new(RaceCell::new(0));
///     let other = Arc::clone(&cell);
///     let thread = thread::spawn(move || other.set(1));
///     cell.set(2);
///     thread.join().unwrap();
/// })
/// .check();
/// let cause = outcome.violation.unwrap().cause;
/// assert_eq!(cause, allways::Cause::Trouble(allways::Trouble::DataRace));
/// ```
///
/// Outside of a check it is a mutex that nobody waits for: access at the same time panics.
pub struct RaceCell<T> {
    handle: Handle,
    value: UnsafeCell<T>,
    /// Outside of a check: whether somebody is there.
    busy: std::sync::Mutex<()>,
}

// Safety: in a check, threads run on one thread of the operating system. Where one of them stops while it has a reference, and another one makes
// one that must not be at the same time, the run is over, and the first does not go on. Outside of a check they are kept apart by `busy`.
unsafe impl<T: Send> Sync for RaceCell<T> {}

/// Somebody accesses a cell.
struct Access<'a> {
    #[allow(dead_code, reason = "it is there to be dropped")]
    busy: Option<std::sync::MutexGuard<'a, ()>>,
    /// The event that began it.
    begun: u32,
}

impl Drop for Access<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.begun != NONE {
            self.end();
        }
    }
}

impl Access<'_> {
    #[cold]
    fn end(&self) {
        let Some(runtime) = current() else { return };
        let Some(&Inside { op, lets_in }) = runtime.running_thread().inside.last() else { return };
        if !runtime.is_cleaning_up() && (lets_in || !runtime.is_still_in(self.begun)) {
            let kind = match op.kind {
                Kind::RaceWrite => Kind::RaceWriteEnd,
                _ => Kind::RaceReadEnd,
            };
            access(Op { kind, ..op });
        }
        if let Some(runtime) = current() {
            runtime.running_thread().inside.pop();
        }
    }
}

impl<T> RaceCell<T> {
    /// A cell with this in it.
    ///
    /// ```
    /// assert_eq!(allways_threads::sync::RaceCell::new(1).get(), 1);
    /// ```
    #[track_caller]
    pub fn new(value: T) -> Self {
        let handle = Handle::new("cell", Location::caller(), None);
        RaceCell { handle, value: UnsafeCell::new(value), busy: std::sync::Mutex::new(()) }
    }

    /// Reads what is in it. If the closure accesses something else that is shared, others may come in between: they must not write the cell.
    ///
    /// ```
    /// assert_eq!(allways_threads::sync::RaceCell::new(vec![1]).with(|all| all.len()), 1);
    /// ```
    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(&T) -> R) -> R {
        let _access = self.enter(Kind::RaceRead);
        // Safety: see above.
        f(unsafe { &*self.value.get() })
    }

    /// Changes what is in it. If the closure accesses something else that is shared, others may come in between: they must not access the cell.
    ///
    /// ```
    /// let cell = allways_threads::sync::RaceCell::new(vec![1]);
    /// cell.with_mut(|all| all.push(2));
    /// assert_eq!(cell.into_inner(), [1, 2]);
    /// ```
    #[track_caller]
    pub fn with_mut<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        let _access = self.enter(Kind::RaceWrite);
        // Safety: see above.
        f(unsafe { &mut *self.value.get() })
    }

    /// What is in it.
    ///
    /// ```
    /// assert_eq!(allways_threads::sync::RaceCell::new(1).get(), 1);
    /// ```
    #[track_caller]
    pub fn get(&self) -> T
    where
        T: Clone,
    {
        self.with(T::clone)
    }

    /// Puts something in it.
    ///
    /// ```
    /// let cell = allways_threads::sync::RaceCell::new(1);
    /// cell.set(2);
    /// assert_eq!(cell.get(), 2);
    /// ```
    #[track_caller]
    pub fn set(&self, value: T) {
        self.with_mut(|it| *it = value);
    }

    /// What is in it: nobody else has it.
    ///
    /// ```
    /// assert_eq!(allways_threads::sync::RaceCell::new(1).into_inner(), 1);
    /// ```
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }

    #[track_caller]
    fn enter(&self, kind: Kind) -> Access<'_> {
        if self.handle.is_under_control() {
            let (object, at) = (self.handle.object(), Location::caller());
            let op = Op { kind, object, argument: 0, said: 0, at };
            let granted = access(op);
            if let Some(runtime) = current()
                && !granted.is_ending()
            {
                runtime.running_thread().inside.push(Inside { op, lets_in: false });
            }
            return Access { busy: None, begun: granted.event() };
        }
        match self.busy.try_lock() {
            Ok(busy) => Access { busy: Some(busy), begun: NONE },
            Err(_) => panic!("a data race: two threads access a cell at the same time"),
        }
    }
}

impl<T> fmt::Debug for RaceCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RaceCell { .. }")
    }
}
