//! Waiting for each other.

use crate::handle::Handle;
use crate::runtime::op::Kind;
use crate::runtime::{Waits, wait};
use std::fmt;
use std::panic::Location;

/// A barrier, as in `std::sync`.
///
/// ```
/// use allways_threads::sync::{Arc, Barrier};
/// use allways_threads::thread;
/// let barrier = Arc::new(Barrier::new(2));
/// let other = Arc::clone(&barrier);
/// let thread = thread::spawn(move || other.wait().is_leader());
/// assert!(barrier.wait().is_leader() != thread.join().unwrap());
/// ```
pub struct Barrier {
    handle: Handle,
    inner: std::sync::Barrier,
    threads: u64,
}

/// Whether a thread was the one that opened a [`Barrier`].
///
/// ```
/// assert!(allways_threads::sync::Barrier::new(1).wait().is_leader());
/// ```
#[derive(Debug)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Whether it was: one of all that were let through together is.
    ///
    /// ```
    /// assert!(allways_threads::sync::Barrier::new(1).wait().is_leader());
    /// ```
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl Barrier {
    /// A barrier that opens when so many threads wait.
    ///
    /// ```
    /// allways_threads::sync::Barrier::new(2);
    /// ```
    #[track_caller]
    pub fn new(threads: usize) -> Self {
        let handle = Handle::new("barrier", Location::caller(), None);
        let inner = std::sync::Barrier::new(threads);
        Barrier { handle, inner, threads: threads.max(1) as u64 }
    }

    /// Waits until it opens.
    ///
    /// ```
    /// allways_threads::sync::Barrier::new(1).wait();
    /// ```
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        if !self.handle.is_under_control() {
            return BarrierWaitResult(self.inner.wait().is_leader());
        }
        let at = Location::caller();
        let granted = self.handle.access(Kind::Arrive, self.threads, at);
        let last = granted.value().div_ceil(self.threads) * self.threads;
        let is_leader = granted.value() == last;
        if !is_leader && !granted.is_ending() {
            wait(Waits::Barrier { object: self.handle.object(), last }, at);
        }
        BarrierWaitResult(is_leader)
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Barrier { .. }")
    }
}
