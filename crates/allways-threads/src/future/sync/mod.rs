//! What tasks share, as in `tokio::sync`.

mod channel;
mod gate;
pub mod mpsc;
mod mutex;
mod notify;
pub mod oneshot;
mod semaphore;

pub use mutex::{Lock, LockOwned, Mutex, MutexGuard, OwnedMutexGuard, TryLockError};
pub use notify::{Notified, Notify};
pub use semaphore::{
    Acquire, AcquireError, AcquireOwned, OwnedSemaphorePermit, Semaphore, SemaphorePermit,
    TryAcquireError,
};
