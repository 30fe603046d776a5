//! What threads share, as in `std::sync`.

pub mod atomic;
mod mutex;

pub use mutex::{Mutex, MutexGuard};
pub use std::sync::{Arc, LockResult, PoisonError, TryLockError, TryLockResult, Weak};
