//! Why a message could not be sent or received, as in `tokio::sync::mpsc::error`.
//!
//! ```
//! use allways_threads::future::sync::mpsc::{self, error::TrySendError};
//! let (sender, _receiver) = mpsc::channel(1);
//! sender.try_send(1).unwrap();
//! assert_eq!(sender.try_send(2), Err(TrySendError::Full(2)));
//! ```

pub use std::sync::mpsc::{SendError, TryRecvError};

/// Why a message was not sent at once.
///
/// ```
/// use allways_threads::future::sync::mpsc::{self, error::TrySendError};
/// let (sender, receiver) = mpsc::channel(1);
/// drop(receiver);
/// assert_eq!(sender.try_send(1), Err(TrySendError::Closed(1)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TrySendError<T> {
    /// There is no room.
    Full(T),
    /// Nobody will receive it.
    Closed(T),
}

impl<T> std::fmt::Debug for TrySendError<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            TrySendError::Full(_) => "Full(..)",
            TrySendError::Closed(_) => "Closed(..)",
        })
    }
}

impl<T> std::fmt::Display for TrySendError<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            TrySendError::Full(_) => "there is no room",
            TrySendError::Closed(_) => "nobody will receive it",
        })
    }
}

impl<T> std::error::Error for TrySendError<T> {}
