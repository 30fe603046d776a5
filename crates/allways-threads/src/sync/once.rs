//! What is done once.

use crate::handle::Handle;
use crate::runtime::current;
use crate::runtime::op::{Kind, Op};
use crate::runtime::{Granted, access};
use std::fmt;
use std::ops::Deref;
use std::panic::Location;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// Somebody has begun what is done once: makes it, and says so. Only then may it be put where others see it.
///
/// Where nothing shared is accessed on the way, and nobody is spawned who might look, it is one event.
fn complete<T>(granted: Granted, op: Op, make: impl FnOnce() -> T) -> T {
    let children = || current().map_or(0, |runtime| runtime.running_thread().children);
    let before = children();
    let unmade = Unmade(op.at);
    let result = make();
    drop(unmade);
    let has_spawned = children() != before;
    let Some(runtime) = current() else { return result };
    if granted.is_ending() || runtime.is_cleaning_up() {
        return result;
    }
    if runtime.is_still_in(granted.event()) && !has_spawned {
        runtime.report(1);
        runtime.release(granted.event());
        runtime.note_time(op.object);
    } else {
        access(Op { kind: Kind::OnceDone, argument: u64::from(granted.event()), ..op });
        if let Some(runtime) = current() {
            runtime.report(1);
        }
    }
    result
}

/// If it panics, others may try, which is not seen.
struct Unmade(&'static Location<'static>);

impl Drop for Unmade {
    fn drop(&mut self) {
        if let Some(runtime) = current() {
            runtime.skips(self.0);
        }
    }
}

/// Something that is done once, as in `std::sync`.
///
/// ```
/// let once = allways_threads::sync::Once::new();
/// once.call_once(|| ());
/// assert!(once.is_completed());
/// ```
pub struct Once {
    cell: OnceLock<()>,
}

#[allow(missing_docs, reason = "each is what it is in std")]
impl Once {
    #[track_caller]
    #[allow(clippy::new_without_default, reason = "std has none")]
    pub fn new() -> Self {
        Once { cell: OnceLock::new() }
    }

    #[track_caller]
    pub fn call_once(&self, f: impl FnOnce()) {
        self.cell.get_or_init(f);
    }

    #[track_caller]
    #[inline(always)]
    pub fn is_completed(&self) -> bool {
        self.cell.get().is_some()
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Once { .. }")
    }
}

/// A cell that is written once, as in `std::sync`.
///
/// ```
/// let cell = allways_threads::sync::OnceLock::new();
/// assert_eq!(cell.get_or_init(|| 1), &1);
/// assert_eq!(cell.set(2), Err(2));
/// ```
pub struct OnceLock<T> {
    handle: Handle,
    inner: std::sync::OnceLock<T>,
}

#[allow(missing_docs, reason = "each is what it is in std")]
impl<T> OnceLock<T> {
    #[track_caller]
    pub fn new() -> Self {
        let handle = Handle::new("cell that is written once", Location::caller(), None);
        OnceLock { handle, inner: std::sync::OnceLock::new() }
    }

    #[track_caller]
    #[inline(always)]
    pub fn get(&self) -> Option<&T> {
        if self.handle.is_under_control() {
            self.handle.read(Kind::Load, 0, Location::caller());
        }
        self.inner.get()
    }

    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.inner.get_mut()
    }

    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        if !self.handle.is_under_control() {
            return self.inner.set(value);
        }
        let mut value = Some(value);
        self.get_or_init(|| match value.take() {
            Some(value) => value,
            None => unreachable!("a cell that is written once is written twice"),
        });
        value.map_or(Ok(()), Err)
    }

    #[track_caller]
    pub fn get_or_init(&self, f: impl FnOnce() -> T) -> &T {
        if !self.handle.is_under_control() {
            return self.inner.get_or_init(f);
        }
        let at = Location::caller();
        let op = Op { kind: Kind::Once, object: self.handle.object(), argument: 0, said: 0, at };
        let granted = access(op);
        if granted.succeeded() {
            let value = complete(granted, op, f);
            // While threads end it may have been written by one that was stopped.
            let _ = self.inner.set(value);
        }
        match self.inner.get() {
            Some(value) => value,
            None => unreachable!("what is done once is not done"),
        }
    }

    pub fn into_inner(self) -> Option<T> {
        self.inner.into_inner()
    }

    pub fn take(&mut self) -> Option<T> {
        self.handle.renew();
        self.inner.take()
    }
}

impl<T> Default for OnceLock<T> {
    #[track_caller]
    fn default() -> Self {
        OnceLock::new()
    }
}

impl<T> From<T> for OnceLock<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        let handle = Handle::new("cell that is written once", Location::caller(), Some(1));
        OnceLock { handle, inner: value.into() }
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    /// Does not count as an access.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

/// A value that is made when it is first needed, as in `std::sync`; mostly for statics.
///
/// In a check, each run makes its own.
///
/// ```
/// use allways_threads::sync::{LazyLock, Mutex};
/// static TOTAL: LazyLock<Mutex<u32>> = LazyLock::new(|| Mutex::new(1));
/// *TOTAL.lock().unwrap() += 1;
/// assert_eq!(*TOTAL.lock().unwrap(), 2);
/// ```
pub struct LazyLock<T, F = fn() -> T> {
    /// What it is known by in a check, wherever it is: it may move.
    id: AtomicUsize,
    inner: std::sync::OnceLock<T>,
    make: F,
}

#[allow(missing_docs, reason = "each is what it is in std")]
impl<T, F: Fn() -> T> LazyLock<T, F> {
    pub const fn new(make: F) -> Self {
        LazyLock { id: AtomicUsize::new(0), inner: std::sync::OnceLock::new(), make }
    }

    #[track_caller]
    pub fn force(this: &Self) -> &T {
        let Some(runtime) = current() else { return this.inner.get_or_init(&this.make) };
        let at = Location::caller();
        let id = this.id();
        let (object, argument) = runtime.lazy(id, std::ptr::from_ref(this).addr(), at);
        let op = Op { kind: Kind::Once, object, argument, said: 0, at };
        let granted = access(op);
        if granted.succeeded() {
            let value: Box<T> = Box::new(complete(granted, op, &this.make));
            if let Some(runtime) = current() {
                // Safety: `keep` gives it back to `free` at the end of the run.
                unsafe { runtime.keep(id, Box::into_raw(value).cast(), free::<T>) };
            }
        }
        let kept = current().and_then(|runtime| runtime.kept(id));
        match kept {
            // Safety: it was made as a `T` for this lazy value in this run, and lives as long as the run. Whoever has a reference to it is a thread of it.
            Some(kept) => unsafe { &*kept.cast::<T>() },
            None => this.inner.get_or_init(&this.make),
        }
    }

    fn id(&self) -> usize {
        static LAST: AtomicUsize = AtomicUsize::new(0);
        match self.id.load(Relaxed) {
            0 => {
                let new = LAST.fetch_add(1, Relaxed) + 1;
                // Somebody else may have been faster, if it is a static.
                self.id.compare_exchange(0, new, Relaxed, Relaxed).map_or_else(|id| id, |_| new)
            }
            id => id,
        }
    }
}

impl<T, F> Drop for LazyLock<T, F> {
    fn drop(&mut self) {
        let id = *self.id.get_mut();
        if let Some((value, free)) = current().and_then(|runtime| runtime.drop_lazy(id)) {
            // Safety: it was kept with what drops it.
            unsafe { free(value) };
        }
    }
}

/// Drops what a run has made for a lazy value.
///
/// # Safety
///
/// It must have come from a box of this type.
unsafe fn free<T>(value: *mut ()) {
    // Safety: the caller says so.
    drop(unsafe { Box::from_raw(value.cast::<T>()) });
}

impl<T, F: Fn() -> T> Deref for LazyLock<T, F> {
    type Target = T;
    #[track_caller]
    fn deref(&self) -> &T {
        LazyLock::force(self)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    /// Does not count as an access.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
