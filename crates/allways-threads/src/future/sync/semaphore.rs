//! Permits.

use super::gate::{Gate, Ticket, Waiting};
use std::fmt;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Gives permits, as in `tokio::sync`: one after the other, in the order in which they were asked for.
///
/// ```
/// use allways_threads::future::{block_on, sync::Semaphore};
/// block_on(async {
///     let semaphore = Semaphore::new(1);
///     let permit = semaphore.acquire().await.unwrap();
///     assert!(semaphore.try_acquire().is_err());
///     drop(permit);
///     assert!(semaphore.try_acquire().is_ok());
/// });
/// ```
pub struct Semaphore {
    gate: Gate,
}

/// Says that a semaphore is closed; none is.
///
/// ```
/// use allways_threads::future::{block_on, sync::Semaphore};
/// assert!(block_on(Semaphore::new(1).acquire()).is_ok());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AcquireError(());

/// Why there is no permit.
///
/// ```
/// use allways_threads::future::sync::{Semaphore, TryAcquireError};
/// assert_eq!(Semaphore::new(0).try_acquire().unwrap_err(), TryAcquireError::NoPermits);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TryAcquireError {
    /// The semaphore is closed; none is.
    Closed,
    /// All are taken.
    NoPermits,
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the semaphore is closed")
    }
}

impl fmt::Display for TryAcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TryAcquireError::Closed => "the semaphore is closed",
            TryAcquireError::NoPermits => "no permits are left",
        })
    }
}

impl std::error::Error for AcquireError {}
impl std::error::Error for TryAcquireError {}

/// A permit of a [`Semaphore`], which gets it back when this is dropped.
///
/// ```
/// use allways_threads::future::sync::Semaphore;
/// let semaphore = Semaphore::new(1);
/// drop(semaphore.try_acquire().unwrap());
/// assert!(semaphore.try_acquire().is_ok());
/// ```
#[must_use = "a permit that is dropped is given back at once"]
pub struct SemaphorePermit<'a> {
    semaphore: Option<&'a Semaphore>,
    at: &'static Location<'static>,
}

/// A permit that borrows nothing.
///
/// ```
/// use allways_threads::{future::sync::Semaphore, sync::Arc};
/// let semaphore = Arc::new(Semaphore::new(1));
/// drop(Arc::clone(&semaphore).try_acquire_owned().unwrap());
/// assert!(semaphore.try_acquire().is_ok());
/// ```
#[must_use = "a permit that is dropped is given back at once"]
pub struct OwnedSemaphorePermit {
    semaphore: Option<Arc<Semaphore>>,
    at: &'static Location<'static>,
}

impl Semaphore {
    /// So many permits as there are at most.
    ///
    /// ```
    /// assert!(allways_threads::future::sync::Semaphore::MAX_PERMITS > 1_000);
    /// ```
    pub const MAX_PERMITS: usize = usize::MAX >> 3;

    /// A semaphore with so many permits.
    ///
    /// ```
    /// assert!(allways_threads::future::sync::Semaphore::new(1).try_acquire().is_ok());
    /// ```
    #[track_caller]
    pub fn new(permits: usize) -> Self {
        Semaphore { gate: Gate::new("semaphore", permits, Location::caller()) }
    }

    /// Waits for a permit.
    ///
    /// ```
    /// use allways_threads::future::{block_on, sync::Semaphore};
    /// assert!(block_on(Semaphore::new(1).acquire()).is_ok());
    /// ```
    #[track_caller]
    pub fn acquire(&self) -> Acquire<'_> {
        let ticket = self.gate.ticket(Location::caller());
        let waiting = Waiting { gate: &self.gate, ticket };
        Acquire { semaphore: self, waiting, at: Location::caller() }
    }

    /// Waits for a permit that borrows nothing.
    ///
    /// ```
    /// use allways_threads::{future::{block_on, sync::Semaphore}, sync::Arc};
    /// assert!(block_on(Arc::new(Semaphore::new(1)).acquire_owned()).is_ok());
    /// ```
    #[track_caller]
    pub fn acquire_owned(self: Arc<Self>) -> AcquireOwned {
        let at = Location::caller();
        AcquireOwned { ticket: self.gate.ticket(at), semaphore: self, at }
    }

    /// A permit, if one is left.
    ///
    /// ```
    /// assert!(allways_threads::future::sync::Semaphore::new(0).try_acquire().is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// If none is.
    #[track_caller]
    #[inline(always)]
    pub fn try_acquire(&self) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        let at = Location::caller();
        let permit = || SemaphorePermit { semaphore: Some(self), at };
        self.gate.try_acquire(at).then(permit).ok_or(TryAcquireError::NoPermits)
    }

    /// A permit that borrows nothing, if one is left.
    ///
    /// ```
    /// use allways_threads::{future::sync::Semaphore, sync::Arc};
    /// assert!(Arc::new(Semaphore::new(0)).try_acquire_owned().is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// If none is.
    #[track_caller]
    #[inline(always)]
    pub fn try_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        let at = Location::caller();
        match self.gate.try_acquire(at) {
            true => Ok(OwnedSemaphorePermit { semaphore: Some(self), at }),
            false => Err(TryAcquireError::NoPermits),
        }
    }

    /// Adds permits.
    ///
    /// ```
    /// let semaphore = allways_threads::future::sync::Semaphore::new(0);
    /// semaphore.add_permits(1);
    /// assert!(semaphore.try_acquire().is_ok());
    /// ```
    #[track_caller]
    pub fn add_permits(&self, permits: usize) {
        (0..permits).for_each(|_| self.gate.release(Location::caller()));
    }
}

/// Waits for a permit: see [`Semaphore::acquire`].
///
/// ```
/// use allways_threads::future::{block_on, sync::{Acquire, Semaphore}};
/// let semaphore = Semaphore::new(1);
/// let acquire: Acquire<'_> = semaphore.acquire();
/// assert!(block_on(acquire).is_ok());
/// ```
#[must_use = "futures do nothing unless they are awaited"]
pub struct Acquire<'a> {
    semaphore: &'a Semaphore,
    waiting: Waiting<'a>,
    at: &'static Location<'static>,
}

impl<'a> Future for Acquire<'a> {
    type Output = Result<SemaphorePermit<'a>, AcquireError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let (semaphore, at) = (self.semaphore, self.at);
        self.waiting.poll(cx).map(|()| Ok(SemaphorePermit { semaphore: Some(semaphore), at }))
    }
}

/// Waits for a permit that borrows nothing: see [`Semaphore::acquire_owned`].
///
/// ```
/// use allways_threads::{future::{block_on, sync::{AcquireOwned, Semaphore}}, sync::Arc};
/// let acquire: AcquireOwned = Arc::new(Semaphore::new(1)).acquire_owned();
/// assert!(block_on(acquire).is_ok());
/// ```
#[must_use = "futures do nothing unless they are awaited"]
pub struct AcquireOwned {
    semaphore: Arc<Semaphore>,
    ticket: Ticket,
    at: &'static Location<'static>,
}

impl Future for AcquireOwned {
    type Output = Result<OwnedSemaphorePermit, AcquireError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let AcquireOwned { semaphore, ticket, at } = &mut *self;
        let permit = |()| Ok(OwnedSemaphorePermit { semaphore: Some(Arc::clone(semaphore)), at });
        semaphore.gate.poll(ticket, cx).map(permit)
    }
}

impl Drop for AcquireOwned {
    fn drop(&mut self) {
        self.semaphore.gate.leave(&mut self.ticket);
    }
}

impl SemaphorePermit<'_> {
    /// Does not give it back, ever.
    ///
    /// ```
    /// let semaphore = allways_threads::future::sync::Semaphore::new(1);
    /// semaphore.try_acquire().unwrap().forget();
    /// assert!(semaphore.try_acquire().is_err());
    /// ```
    pub fn forget(mut self) {
        self.semaphore = None;
    }
}

impl OwnedSemaphorePermit {
    /// Does not give it back, ever.
    ///
    /// ```
    /// use allways_threads::{future::sync::Semaphore, sync::Arc};
    /// let semaphore = Arc::new(Semaphore::new(1));
    /// Arc::clone(&semaphore).try_acquire_owned().unwrap().forget();
    /// assert!(semaphore.try_acquire().is_err());
    /// ```
    pub fn forget(mut self) {
        self.semaphore = None;
    }
}

impl Drop for SemaphorePermit<'_> {
    fn drop(&mut self) {
        if let Some(semaphore) = self.semaphore {
            semaphore.gate.release(self.at);
        }
    }
}

impl Drop for OwnedSemaphorePermit {
    fn drop(&mut self) {
        if let Some(semaphore) = &self.semaphore {
            semaphore.gate.release(self.at);
        }
    }
}

macro_rules! debug {
    ($($name:ident $(<$life:lifetime>)?),*) => {
        $(impl fmt::Debug for $name $(<$life>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), " { .. }"))
            }
        })*
    };
}
debug!(Semaphore, SemaphorePermit<'_>, OwnedSemaphorePermit, Acquire<'_>, AcquireOwned);
