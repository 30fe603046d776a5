//! Waiting for a condition.

use super::mutex::MutexGuard;
use crate::handle::Handle;
use crate::runtime::op::Kind;
use crate::runtime::{Waits, current, wait};
use std::fmt;
use std::panic::Location;
use std::sync::{LockResult, PoisonError};
use std::time::Duration;

/// A condition variable, as in `std::sync`. Under control nobody is woken without a reason; whom a notification wakes is a choice.
///
/// ```
/// use allways_threads::sync::{Arc, Condvar, Mutex};
/// use allways_threads::thread;
/// let pair = Arc::new((Mutex::new(false), Condvar::new()));
/// let other = Arc::clone(&pair);
/// let thread = thread::spawn(move || {
///     *other.0.lock().unwrap() = true;
///     other.1.notify_one();
/// });
/// let is_ready = pair.1.wait_while(pair.0.lock().unwrap(), |is_ready| !*is_ready).unwrap();
/// assert!(*is_ready);
/// # drop(is_ready);
/// # thread.join().unwrap();
/// ```
pub struct Condvar {
    handle: Handle,
    inner: std::sync::Condvar,
}

/// Whether waiting has taken too long.
///
/// ```
/// use allways_threads::sync::{Condvar, Mutex};
/// use std::time::Duration;
/// let (mutex, condition) = (Mutex::new(()), Condvar::new());
/// let guard = mutex.lock().unwrap();
/// let (_guard, result) = condition.wait_timeout(guard, Duration::from_millis(1)).unwrap();
/// assert!(result.timed_out());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether it has.
    ///
    /// ```
    /// use allways_threads::sync::{Condvar, Mutex};
    /// use std::time::Duration;
    /// let (mutex, condition) = (Mutex::new(()), Condvar::new());
    /// let guard = mutex.lock().unwrap();
    /// assert!(condition.wait_timeout(guard, Duration::ZERO).unwrap().1.timed_out());
    /// ```
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

#[allow(missing_docs, reason = "each is what it is in std")]
impl Condvar {
    #[track_caller]
    pub fn new() -> Self {
        let handle = Handle::new("condition variable", Location::caller(), None);
        Condvar { handle, inner: std::sync::Condvar::new() }
    }

    #[track_caller]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        if !self.handle.is_under_control() {
            return real(guard, |inner| self.inner.wait(inner));
        }
        let at = Location::caller();
        let (lock, waited) = self.begin(guard, at);
        if waited.is_some_and(|waited| wait(Waits::Notified(waited), at)) {
            return lock.lock();
        }
        lock.taken(u32::MAX, true)
    }

    #[track_caller]
    pub fn wait_while<'a, T, F: FnMut(&mut T) -> bool>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: F,
    ) -> LockResult<MutexGuard<'a, T>> {
        while condition(&mut guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// That it takes too long is a choice.
    #[track_caller]
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        duration: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        if !self.handle.is_under_control() {
            let mut timed_out = false;
            let result = real(guard, |inner| match self.inner.wait_timeout(inner, duration) {
                Ok((inner, result)) => {
                    timed_out = result.timed_out();
                    Ok(inner)
                }
                Err(poisoned) => {
                    let (inner, result) = poisoned.into_inner();
                    timed_out = result.timed_out();
                    Err(PoisonError::new(inner))
                }
            });
            return with(result, WaitTimeoutResult(timed_out));
        }
        let at = Location::caller();
        let (lock, waited) = self.begin(guard, at);
        let Some(waited) = waited else {
            return with(lock.taken(u32::MAX, true), WaitTimeoutResult(false));
        };
        let granted = self.handle.access(Kind::WokenOrLate, u64::from(waited), at);
        let timed_out = !granted.succeeded();
        if timed_out && let Some(runtime) = current() {
            runtime.pass(duration);
        }
        with(lock.lock(), WaitTimeoutResult(timed_out))
    }

    #[track_caller]
    pub fn wait_timeout_while<'a, T, F: FnMut(&mut T) -> bool>(
        &self,
        mut guard: MutexGuard<'a, T>,
        duration: Duration,
        mut condition: F,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let begin = crate::time::Instant::now();
        loop {
            if !condition(&mut guard) {
                return Ok((guard, WaitTimeoutResult(false)));
            }
            match duration.checked_sub(begin.elapsed()) {
                None => return Ok((guard, WaitTimeoutResult(true))),
                Some(Duration::ZERO) => return Ok((guard, WaitTimeoutResult(true))),
                Some(rest) => guard = self.wait_timeout(guard, rest)?.0,
            }
        }
    }

    #[track_caller]
    pub fn notify_one(&self) {
        if self.handle.is_under_control() {
            self.handle.access(Kind::NotifyOne, 0, Location::caller());
            return;
        }
        self.inner.notify_one();
    }

    #[track_caller]
    pub fn notify_all(&self) {
        if self.handle.is_under_control() {
            self.handle.access(Kind::NotifyAll, 0, Location::caller());
            return;
        }
        self.inner.notify_all();
    }

    /// Gives a mutex back and begins to wait: the mutex, and the event, unless the thread is to end.
    fn begin<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        at: &'static Location<'static>,
    ) -> (&'a super::Mutex<T>, Option<u32>) {
        let (lock, taken) = (guard.lock, guard.taken);
        let inner = guard.inner.take();
        let granted = self.handle.access(Kind::Wait, u64::from(taken), at);
        drop(inner);
        (lock, (!granted.is_ending()).then_some(granted.event()))
    }
}

/// Waits as `std` does.
fn real<'a, T>(
    mut guard: MutexGuard<'a, T>,
    wait: impl FnOnce(std::sync::MutexGuard<'a, T>) -> LockResult<std::sync::MutexGuard<'a, T>>,
) -> LockResult<MutexGuard<'a, T>> {
    let (lock, taken) = (guard.lock, guard.taken);
    let Some(inner) = guard.inner.take() else { unreachable!("a guard without a mutex") };
    match wait(inner) {
        Ok(inner) => Ok(MutexGuard { lock, inner: Some(inner), taken }),
        Err(poisoned) => {
            let inner = Some(poisoned.into_inner());
            Err(PoisonError::new(MutexGuard { lock, inner, taken }))
        }
    }
}

fn with<G, R>(result: LockResult<G>, with: R) -> LockResult<(G, R)> {
    match result {
        Ok(guard) => Ok((guard, with)),
        Err(poisoned) => Err(PoisonError::new((poisoned.into_inner(), with))),
    }
}

impl Default for Condvar {
    #[track_caller]
    fn default() -> Self {
        Condvar::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Condvar { .. }")
    }
}
