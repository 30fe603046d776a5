//! Mutual exclusion of tasks.

use super::gate::{Gate, Ticket, Waiting};
use crate::future::block_on;
use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A mutex that is awaited, as in `tokio::sync`: tasks get it in the order in which they asked for it.
///
/// ```
/// use allways_threads::future::{block_on, sync::Mutex};
/// let counter = Mutex::new(1);
/// block_on(async { *counter.lock().await += 1 });
/// assert_eq!(counter.into_inner(), 2);
/// ```
pub struct Mutex<T: ?Sized> {
    gate: Gate,
    value: UnsafeCell<T>,
}

// Safety: what is in it is accessed by the one who has the only permit.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// Safety: as above.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

/// Says that a mutex is locked.
///
/// ```
/// let mutex = allways_threads::future::sync::Mutex::new(1);
/// let guard = mutex.try_lock().unwrap();
/// assert_eq!(mutex.try_lock().unwrap_err().to_string(), "the mutex is locked");
/// # drop(guard);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TryLockError(());

impl fmt::Display for TryLockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the mutex is locked")
    }
}

impl std::error::Error for TryLockError {}

/// Keeps a [`Mutex`] locked.
///
/// ```
/// let mutex = allways_threads::future::sync::Mutex::new(1);
/// assert_eq!(*mutex.try_lock().unwrap(), 1);
/// ```
#[must_use = "if unused the mutex is unlocked at once"]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    at: &'static Location<'static>,
}

/// Keeps a [`Mutex`] locked, and borrows nothing.
///
/// ```
/// use allways_threads::{future::{block_on, sync::Mutex}, sync::Arc};
/// let mutex = Arc::new(Mutex::new(1));
/// assert_eq!(*block_on(mutex.lock_owned()), 1);
/// ```
#[must_use = "if unused the mutex is unlocked at once"]
pub struct OwnedMutexGuard<T: ?Sized> {
    mutex: Arc<Mutex<T>>,
    at: &'static Location<'static>,
}

// Safety: it gives access to what is in the mutex, as a reference to that would.
unsafe impl<T: ?Sized + Send + Sync> Sync for MutexGuard<'_, T> {}
// Safety: as above.
unsafe impl<T: ?Sized + Send + Sync> Sync for OwnedMutexGuard<T> {}

impl<T> Mutex<T> {
    /// A mutex that is free.
    ///
    /// ```
    /// assert!(allways_threads::future::sync::Mutex::new(1).try_lock().is_ok());
    /// ```
    #[track_caller]
    pub fn new(value: T) -> Self {
        Mutex { gate: Gate::new("mutex", 1, Location::caller()), value: UnsafeCell::new(value) }
    }

    /// What is in it.
    ///
    /// ```
    /// assert_eq!(allways_threads::future::sync::Mutex::new(1).into_inner(), 1);
    /// ```
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits until it is free, and takes it.
    ///
    /// ```
    /// use allways_threads::future::{block_on, sync::Mutex};
    /// assert_eq!(*block_on(Mutex::new(1).lock()), 1);
    /// ```
    #[track_caller]
    pub fn lock(&self) -> Lock<'_, T> {
        let at = Location::caller();
        Lock {
            mutex: self,
            waiting: Waiting { gate: &self.gate, ticket: self.gate.ticket(at) },
            at,
        }
    }

    /// Waits until it is free, and takes it, for somebody who borrows nothing.
    ///
    /// ```
    /// use allways_threads::{future::{block_on, sync::Mutex}, sync::Arc};
    /// assert_eq!(*block_on(Arc::new(Mutex::new(1)).lock_owned()), 1);
    /// ```
    #[track_caller]
    pub fn lock_owned(self: Arc<Self>) -> LockOwned<T> {
        let at = Location::caller();
        LockOwned { ticket: self.gate.ticket(at), mutex: self, at }
    }

    /// Blocks this thread until it is free, and takes it.
    ///
    /// ```
    /// assert_eq!(*allways_threads::future::sync::Mutex::new(1).blocking_lock(), 1);
    /// ```
    #[track_caller]
    pub fn blocking_lock(&self) -> MutexGuard<'_, T> {
        block_on(self.lock())
    }

    /// Takes it if it is free.
    ///
    /// ```
    /// let mutex = allways_threads::future::sync::Mutex::new(1);
    /// let guard = mutex.try_lock();
    /// assert!(mutex.try_lock().is_err());
    /// # drop(guard);
    /// ```
    ///
    /// # Errors
    ///
    /// If it is not.
    #[track_caller]
    #[inline(always)]
    pub fn try_lock(&self) -> Result<MutexGuard<'_, T>, TryLockError> {
        let at = Location::caller();
        match self.gate.try_acquire(at) {
            true => Ok(MutexGuard { mutex: self, at }),
            false => Err(TryLockError(())),
        }
    }

    /// What is in it: nobody else can have it.
    ///
    /// ```
    /// let mut mutex = allways_threads::future::sync::Mutex::new(1);
    /// *mutex.get_mut() = 2;
    /// assert_eq!(mutex.into_inner(), 2);
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

/// Waits for a [`Mutex`]: see [`Mutex::lock`].
///
/// ```
/// use allways_threads::future::{block_on, sync::{Lock, Mutex}};
/// let mutex = Mutex::new(1);
/// let lock: Lock<'_, _> = mutex.lock();
/// assert_eq!(*block_on(lock), 1);
/// ```
#[must_use = "futures do nothing unless they are awaited"]
pub struct Lock<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    waiting: Waiting<'a>,
    at: &'static Location<'static>,
}

impl<'a, T: ?Sized> Future for Lock<'a, T> {
    type Output = MutexGuard<'a, T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let (mutex, at) = (self.mutex, self.at);
        self.waiting.poll(cx).map(|()| MutexGuard { mutex, at })
    }
}

/// Waits for a [`Mutex`], and borrows nothing: see [`Mutex::lock_owned`].
///
/// ```
/// use allways_threads::{future::{block_on, sync::{LockOwned, Mutex}}, sync::Arc};
/// let lock: LockOwned<_> = Arc::new(Mutex::new(1)).lock_owned();
/// assert_eq!(*block_on(lock), 1);
/// ```
#[must_use = "futures do nothing unless they are awaited"]
pub struct LockOwned<T: ?Sized> {
    mutex: Arc<Mutex<T>>,
    ticket: Ticket,
    at: &'static Location<'static>,
}

impl<T: ?Sized> Future for LockOwned<T> {
    type Output = OwnedMutexGuard<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let LockOwned { mutex, ticket, at } = &mut *self;
        let guard = |()| OwnedMutexGuard { mutex: Arc::clone(mutex), at };
        mutex.gate.poll(ticket, cx).map(guard)
    }
}

impl<T: ?Sized> Drop for LockOwned<T> {
    fn drop(&mut self) {
        self.mutex.gate.leave(&mut self.ticket);
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.mutex.gate.release(self.at);
    }
}

impl<T: ?Sized> Drop for OwnedMutexGuard<T> {
    fn drop(&mut self) {
        self.mutex.gate.release(self.at);
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // Safety: the mutex is locked, by this.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // Safety: the mutex is locked, by this.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T: ?Sized> Deref for OwnedMutexGuard<T> {
    type Target = T;
    fn deref(&self) -> &T {
        // Safety: the mutex is locked, by this.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T: ?Sized> DerefMut for OwnedMutexGuard<T> {
    fn deref_mut(&mut self) -> &mut T {
        // Safety: the mutex is locked, by this.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T: Default> Default for Mutex<T> {
    #[track_caller]
    fn default() -> Self {
        Mutex::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Mutex::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mutex { .. }")
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for OwnedMutexGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized> fmt::Debug for Lock<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lock { .. }")
    }
}

impl<T: ?Sized> fmt::Debug for LockOwned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LockOwned { .. }")
    }
}
