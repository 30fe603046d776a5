//! Why a task has returned nothing.

use std::any::Any;
use std::fmt;

/// Why there is nothing that a task has returned: it was aborted. A task that panics ends the run in a check; outside of one this is told here.
///
/// ```
/// use allways_threads::future::{block_on, spawn};
/// let error = block_on(async {
///     let task = spawn(std::future::pending::<()>());
///     task.abort();
///     task.await.unwrap_err()
/// });
/// assert!(error.is_cancelled());
/// ```
pub struct JoinError(pub(super) Option<Box<dyn Any + Send>>);

impl JoinError {
    /// Whether it was aborted.
    ///
    /// ```
    /// # use allways_threads::future::{block_on, spawn};
    /// # let task = spawn(std::future::pending::<()>());
    /// task.abort();
    /// assert!(block_on(task).unwrap_err().is_cancelled());
    /// ```
    pub fn is_cancelled(&self) -> bool {
        self.0.is_none()
    }

    /// Whether it has panicked.
    ///
    /// ```
    /// # use allways_threads::future::{block_on, spawn};
    /// # let task = spawn(std::future::pending::<()>());
    /// task.abort();
    /// assert!(!block_on(task).unwrap_err().is_panic());
    /// ```
    pub fn is_panic(&self) -> bool {
        self.0.is_some()
    }

    /// What it has panicked with.
    ///
    /// ```
    /// # use allways_threads::future::{block_on, spawn};
    /// let error = block_on(spawn(async { std::panic::resume_unwind(Box::new(7)) })).unwrap_err();
    /// assert_eq!(error.into_panic().downcast_ref(), Some(&7));
    /// ```
    ///
    /// # Panics
    ///
    /// If it has not.
    #[track_caller]
    pub fn into_panic(self) -> Box<dyn Any + Send> {
        match self.0 {
            Some(panic) => panic,
            None => panic!("the task has not panicked: it was aborted"),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_cancelled() { "JoinError::Cancelled" } else { "JoinError::Panic" })
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_cancelled() { "the task was aborted" } else { "the task panicked" })
    }
}

impl std::error::Error for JoinError {}
