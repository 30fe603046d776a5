//! Threads that borrow.

use super::{Handle, Result, Thread, led, wait_for};
use crate::runtime::current;
use std::panic::Location;

/// Where threads can borrow: see [`scope`].
///
/// ```
/// let mut total = 1;
/// allways_threads::thread::scope(|scope| {
///     scope.spawn(|| total += 1);
/// });
/// assert_eq!(total, 2);
/// ```
#[repr(transparent)]
pub struct Scope<'scope, 'env: 'scope>(std::thread::Scope<'scope, 'env>);

/// Lets one wait for a thread of a [`Scope`].
///
/// ```
/// let seven = allways_threads::thread::scope(|scope| scope.spawn(|| 7).join().unwrap());
/// assert_eq!(seven, 7);
/// ```
pub struct ScopedJoinHandle<'scope, T> {
    inner: Scoped<'scope, T>,
}

enum Scoped<'scope, T> {
    Real(std::thread::ScopedJoinHandle<'scope, T>),
    Led(Handle<T>),
}

#[allow(missing_docs, reason = "each is what it is in std")]
impl<T> ScopedJoinHandle<'_, T> {
    /// That the thread panicked is never seen under control: the run ends there.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        match self.inner {
            Scoped::Real(real) => real.join(),
            Scoped::Led(handle) => handle.join(Location::caller()),
        }
    }

    pub fn thread(&self) -> Thread {
        match &self.inner {
            Scoped::Real(real) => Thread::real(real.thread().clone()),
            Scoped::Led(handle) => handle.thread(),
        }
    }

    #[track_caller]
    #[inline(always)]
    pub fn is_finished(&self) -> bool {
        match &self.inner {
            Scoped::Real(real) => real.is_finished(),
            Scoped::Led(handle) => handle.is_finished(Location::caller()),
        }
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Begins a thread that may borrow what outlives the scope.
    ///
    /// ```
    /// let seven = allways_threads::thread::scope(|scope| scope.spawn(|| 7).join().unwrap());
    /// assert_eq!(seven, 7);
    /// ```
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        if current().is_none() {
            return ScopedJoinHandle { inner: Scoped::Real(self.0.spawn(f)) };
        }
        // Safety: the scope waits for the thread, or ends it, before anything is gone that it may borrow.
        let handle = unsafe { led(None, Location::caller(), f) };
        if let (Handle::Led { thread, .. }, Some(runtime)) = (&handle, current()) {
            let place = std::ptr::from_ref(self).addr();
            runtime.scopes.push((place, *thread));
        }
        ScopedJoinHandle { inner: Scoped::Led(handle) }
    }
}

/// Waits for the threads of a scope, also if the scope is left by a panic.
struct Wait(usize, &'static Location<'static>);

impl Drop for Wait {
    fn drop(&mut self) {
        while let Some(runtime) = current() {
            let Some(at) = runtime.scopes.iter().position(|(place, _)| *place == self.0) else {
                break;
            };
            let (_, thread) = runtime.scopes.remove(at);
            match runtime.skips(self.1) {
                // It borrows what is about to go.
                true => runtime.end_now(thread),
                false => wait_for(thread, self.1),
            }
        }
    }
}

/// Runs threads that borrow, and waits for all of them.
///
/// ```
/// let mut all = vec![1, 2];
/// allways_threads::thread::scope(|scope| {
///     for one in &mut all {
///         scope.spawn(move || *one += 1);
///     }
/// });
/// assert_eq!(all, [2, 3]);
/// ```
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let at = Location::caller();
    std::thread::scope(|real| {
        let scope = std::ptr::from_ref(real).cast::<Scope<'_, 'env>>();
        // Safety: it is the same thing under another name.
        let scope = unsafe { &*scope };
        let _wait = current().map(|_| Wait(std::ptr::from_ref(scope).addr(), at));
        f(scope)
    })
}
