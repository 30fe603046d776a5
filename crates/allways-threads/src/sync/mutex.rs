//! Mutual exclusion.

use crate::handle::Handle;
use crate::runtime::current;
use crate::runtime::op::{Kind, NONE};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

/// What is known of a mutex that has nothing in it.
pub(crate) const EMPTY: u64 = 0;

/// A mutex, as in `std::sync`.
///
/// ```
/// let counter = allways_threads::sync::Mutex::new(1);
/// *counter.lock().unwrap() += 1;
/// assert_eq!(counter.into_inner().unwrap(), 2);
/// ```
pub struct Mutex<T: ?Sized> {
    pub(crate) handle: Handle,
    pub(super) inner: std::sync::Mutex<T>,
}

/// Keeps a [`Mutex`] locked.
///
/// ```
/// let counter = allways_threads::sync::Mutex::new(1);
/// let guard = counter.lock().unwrap();
/// assert_eq!(*guard, 1);
/// ```
#[must_use = "if unused the mutex is unlocked at once"]
pub struct MutexGuard<'a, T: ?Sized> {
    pub(super) lock: &'a Mutex<T>,
    /// Taken out only where it is given to a condition variable.
    pub(super) inner: Option<std::sync::MutexGuard<'a, T>>,
    /// The event that took it.
    pub(super) taken: u32,
}

impl<T> Mutex<T> {
    /// A mutex that is free.
    ///
    /// ```
    /// assert!(allways_threads::sync::Mutex::new(1).try_lock().is_ok());
    /// ```
    #[track_caller]
    pub fn new(value: T) -> Self {
        // Whoever takes one that has nothing in it is told nothing by what is in it.
        let is_empty = size_of::<T>() == 0;
        let handle = Handle::new("mutex", Location::caller(), is_empty.then_some(EMPTY));
        Mutex { handle, inner: std::sync::Mutex::new(value) }
    }

    /// One that is called something else.
    pub(crate) fn called(what: &'static str, value: T, at: &'static Location<'static>) -> Self {
        Mutex { handle: Handle::new(what, at, None), inner: std::sync::Mutex::new(value) }
    }

    /// What is in it.
    ///
    /// ```
    /// assert_eq!(allways_threads::sync::Mutex::new(1).into_inner().unwrap(), 1);
    /// ```
    ///
    /// # Errors
    ///
    /// If it is poisoned.
    pub fn into_inner(self) -> LockResult<T> {
        self.inner.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits until it is free, and takes it.
    ///
    /// ```
    /// assert_eq!(*allways_threads::sync::Mutex::new(1).lock().unwrap(), 1);
    /// ```
    ///
    /// # Errors
    ///
    /// If it is poisoned.
    #[track_caller]
    #[inline]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        if self.handle.is_under_control() {
            return self.lock_at(Location::caller());
        }
        let guard = |inner| MutexGuard { lock: self, inner: Some(inner), taken: NONE };
        match self.inner.lock() {
            Ok(inner) => Ok(guard(inner)),
            Err(poisoned) => Err(PoisonError::new(guard(poisoned.into_inner()))),
        }
    }

    /// The same for one of a check, by somebody who says where.
    pub(crate) fn lock_at(&self, at: &'static Location<'static>) -> LockResult<MutexGuard<'_, T>> {
        let granted = self.handle.access(Kind::Lock, 0, at);
        self.taken(granted.event(), granted.is_ending())
    }

    /// The guard of a thread that may take it.
    pub(super) fn taken(&self, event: u32, is_ending: bool) -> LockResult<MutexGuard<'_, T>> {
        let guard = |inner| MutexGuard { lock: self, inner: Some(inner), taken: event };
        match self.inner.try_lock() {
            Ok(inner) => Ok(guard(inner)),
            Err(TryLockError::Poisoned(poisoned)) => {
                Err(PoisonError::new(guard(poisoned.into_inner())))
            }
            Err(TryLockError::WouldBlock) => self.taken_at_the_end(event, is_ending),
        }
    }

    /// A thread that cleans up needs what another one has that will clean up, too.
    #[cold]
    fn taken_at_the_end(&self, event: u32, is_ending: bool) -> LockResult<MutexGuard<'_, T>> {
        if is_ending && let Some(runtime) = current() {
            runtime.end_holders(self.handle.object());
        }
        let guard = |inner| MutexGuard { lock: self, inner: Some(inner), taken: event };
        match self.inner.try_lock() {
            Ok(inner) => Ok(guard(inner)),
            Err(TryLockError::Poisoned(poisoned)) => {
                Err(PoisonError::new(guard(poisoned.into_inner())))
            }
            Err(TryLockError::WouldBlock) => {
                panic!("a mutex is taken while another thread that is ending has it")
            }
        }
    }

    /// Takes it if it is free.
    ///
    /// ```
    /// let mutex = allways_threads::sync::Mutex::new(1);
    /// let guard = mutex.lock();
    /// assert!(mutex.try_lock().is_err());
    /// # drop(guard);
    /// ```
    ///
    /// # Errors
    ///
    /// If it is not free, or poisoned.
    #[track_caller]
    #[inline(always)]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        if self.handle.is_under_control() {
            if let Some(runtime) = current() {
                runtime.population.names.try_to_take(self.handle.object());
            }
            let granted = self.handle.read(Kind::TryLock, 0, Location::caller());
            if !granted.succeeded() {
                return Err(TryLockError::WouldBlock);
            }
            return Ok(self.taken(granted.event(), granted.is_ending())?);
        }
        let guard = |inner| MutexGuard { lock: self, inner: Some(inner), taken: NONE };
        match self.inner.try_lock() {
            Ok(inner) => Ok(guard(inner)),
            Err(TryLockError::Poisoned(poisoned)) => {
                Err(TryLockError::Poisoned(PoisonError::new(guard(poisoned.into_inner()))))
            }
            Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
        }
    }

    /// Whether a thread has panicked while it had the mutex.
    ///
    /// ```
    /// assert!(!allways_threads::sync::Mutex::new(1).is_poisoned());
    /// ```
    pub fn is_poisoned(&self) -> bool {
        self.inner.is_poisoned()
    }

    /// Forgets that a thread has panicked.
    ///
    /// ```
    /// allways_threads::sync::Mutex::new(1).clear_poison();
    /// ```
    pub fn clear_poison(&self) {
        self.inner.clear_poison();
    }

    /// What is in it: nobody else can have it.
    ///
    /// ```
    /// let mut mutex = allways_threads::sync::Mutex::new(1);
    /// *mutex.get_mut().unwrap() = 2;
    /// assert_eq!(mutex.into_inner().unwrap(), 2);
    /// ```
    ///
    /// # Errors
    ///
    /// If it is poisoned.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.inner.get_mut()
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.taken != NONE && self.inner.is_some() {
            self.give_back();
        }
    }
}

impl<T: ?Sized> MutexGuard<'_, T> {
    #[cold]
    fn give_back(&mut self) {
        let Some(runtime) = current() else { return };
        let object = self.lock.handle.object();
        let is_tried = runtime.population.names.is_tried(object);
        if is_tried && !runtime.skips_release(self.taken) {
            let at = runtime.log.entries[self.taken as usize].op.at;
            self.lock.handle.access(Kind::Unlock, u64::from(self.taken), at);
        } else {
            runtime.release(self.taken);
        }
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        match &self.inner {
            Some(inner) => inner,
            None => unreachable!("a guard without a mutex"),
        }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        match &mut self.inner {
            Some(inner) => inner,
            None => unreachable!("a guard without a mutex"),
        }
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

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    /// Does not count as an access.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
