//! Locks for many readers or one writer.

use crate::handle::Handle;
use crate::runtime::op::{Kind, NONE, Op};
use crate::runtime::{access, current};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

/// A lock for many readers or one writer, as in `std::sync`.
///
/// ```
/// let lock = allways_threads::sync::RwLock::new(1);
/// assert_eq!(*lock.read().unwrap() + *lock.read().unwrap(), 2);
/// *lock.write().unwrap() += 1;
/// assert_eq!(lock.into_inner().unwrap(), 2);
/// ```
pub struct RwLock<T: ?Sized> {
    handle: Handle,
    inner: std::sync::RwLock<T>,
}

/// Keeps writers out of a [`RwLock`].
///
/// ```
/// let lock = allways_threads::sync::RwLock::new(1);
/// let guard = lock.read().unwrap();
/// assert_eq!(*guard, 1);
/// ```
#[must_use = "if unused the lock is given back at once"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    inner: std::sync::RwLockReadGuard<'a, T>,
    _end: End,
}

/// Keeps all others out of a [`RwLock`].
///
/// ```
/// let lock = allways_threads::sync::RwLock::new(1);
/// let mut guard = lock.write().unwrap();
/// *guard = 2;
/// ```
#[must_use = "if unused the lock is given back at once"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    inner: std::sync::RwLockWriteGuard<'a, T>,
    _end: End,
}

/// Gives a lock back. It comes to its end after the guard of `std`, and nobody else runs in between.
struct End {
    /// The event that took it.
    taken: u32,
}

impl Drop for End {
    #[inline(always)]
    fn drop(&mut self) {
        if self.taken != NONE {
            self.give_back();
        }
    }
}

impl End {
    #[cold]
    fn give_back(&self) {
        let Some(runtime) = current() else { return };
        if runtime.skips_release(self.taken) {
            return runtime.release(self.taken);
        }
        let taken = runtime.log.entries[self.taken as usize].op;
        let kind = match taken.kind {
            Kind::Write | Kind::TryWrite => Kind::EndWrite,
            _ => Kind::EndRead,
        };
        access(Op { kind, argument: u64::from(self.taken), ..taken });
    }
}

/// What `std` gave, with what gives it back.
macro_rules! guarded {
    ($self:ident, $std:ident, $guard:ident, $in_check:ident) => {{
        if $self.handle.is_under_control() {
            return $self.$in_check(Location::caller());
        }
        let end = || End { taken: NONE };
        match $self.inner.$std() {
            Ok(inner) => Ok($guard { inner, _end: end() }),
            Err(poisoned) => {
                Err(PoisonError::new($guard { inner: poisoned.into_inner(), _end: end() }))
            }
        }
    }};
}

/// The same for one of a check.
macro_rules! guarded_in_check {
    ($self:ident, $at:ident, $try:ident, $guard:ident, $kind:ident) => {{
        let granted = $self.handle.access(Kind::$kind, 0, $at);
        let end = || End { taken: granted.event() };
        let mut tried = $self.inner.$try();
        if matches!(tried, Err(TryLockError::WouldBlock)) {
            $self.end_holders(granted.is_ending());
            tried = $self.inner.$try();
        }
        match tried {
            Ok(inner) => Ok($guard { inner, _end: end() }),
            Err(TryLockError::Poisoned(poisoned)) => {
                Err(PoisonError::new($guard { inner: poisoned.into_inner(), _end: end() }))
            }
            Err(TryLockError::WouldBlock) => {
                panic!("a lock is taken while another thread that is ending has it")
            }
        }
    }};
}

macro_rules! tried {
    ($self:ident, $try:ident, $guard:ident, $kind:ident) => {{
        let mut taken = NONE;
        if $self.handle.is_under_control() {
            let granted = $self.handle.read(Kind::$kind, 0, Location::caller());
            if !granted.succeeded() {
                return Err(TryLockError::WouldBlock);
            }
            taken = granted.event();
        }
        let end = || End { taken };
        match $self.inner.$try() {
            Ok(inner) => Ok($guard { inner, _end: end() }),
            Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
            Err(TryLockError::Poisoned(poisoned)) => {
                let guard = $guard { inner: poisoned.into_inner(), _end: end() };
                Err(TryLockError::Poisoned(PoisonError::new(guard)))
            }
        }
    }};
}

#[allow(missing_docs, reason = "each is what it is in std")]
impl<T> RwLock<T> {
    #[track_caller]
    pub fn new(value: T) -> Self {
        let handle = Handle::new("lock", Location::caller(), None);
        RwLock { handle, inner: std::sync::RwLock::new(value) }
    }

    pub fn into_inner(self) -> LockResult<T> {
        self.inner.into_inner()
    }
}

#[allow(missing_docs, reason = "each is what it is in std")]
impl<T: ?Sized> RwLock<T> {
    #[track_caller]
    #[inline]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        guarded!(self, read, RwLockReadGuard, read_in_check)
    }

    #[track_caller]
    #[inline]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        guarded!(self, write, RwLockWriteGuard, write_in_check)
    }

    #[cold]
    fn read_in_check(&self, at: &'static Location<'static>) -> LockResult<RwLockReadGuard<'_, T>> {
        guarded_in_check!(self, at, try_read, RwLockReadGuard, Read)
    }

    #[cold]
    fn write_in_check(
        &self,
        at: &'static Location<'static>,
    ) -> LockResult<RwLockWriteGuard<'_, T>> {
        guarded_in_check!(self, at, try_write, RwLockWriteGuard, Write)
    }

    #[track_caller]
    #[inline(always)]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        tried!(self, try_read, RwLockReadGuard, TryRead)
    }

    #[track_caller]
    #[inline(always)]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        tried!(self, try_write, RwLockWriteGuard, TryWrite)
    }

    pub fn is_poisoned(&self) -> bool {
        self.inner.is_poisoned()
    }

    pub fn clear_poison(&self) {
        self.inner.clear_poison();
    }

    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.inner.get_mut()
    }

    /// A thread that cleans up needs what another one has that will clean up, too.
    #[cold]
    fn end_holders(&self, is_ending: bool) {
        if is_ending && let Some(runtime) = current() {
            runtime.end_holders(self.handle.object());
        }
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

impl<T: Default> Default for RwLock<T> {
    #[track_caller]
    fn default() -> Self {
        RwLock::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        RwLock::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    /// Does not count as an access.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
