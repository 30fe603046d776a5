//! Channels for one message, as in `tokio::sync::oneshot`.

use super::channel::{Rx, Tx, Wait, channel as made};
use crate::future::block_on;
use std::fmt;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Why there is no message, as in `tokio::sync::oneshot::error`.
///
/// ```
/// use allways_threads::future::sync::oneshot::{self, error::TryRecvError};
/// let (sender, mut receiver) = oneshot::channel::<u32>();
/// assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
/// drop(sender);
/// assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));
/// ```
pub mod error {
    use std::fmt;

    /// The sender is gone, and has sent nothing.
    ///
    /// ```
    /// use allways_threads::future::{block_on, sync::oneshot};
    /// let (sender, receiver) = oneshot::channel::<u32>();
    /// drop(sender);
    /// assert_eq!(block_on(receiver).unwrap_err().to_string(), "the sender is gone");
    /// ```
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct RecvError(pub(super) ());

    /// Why there is no message now.
    ///
    /// ```
    /// use allways_threads::future::sync::oneshot::{self, error::TryRecvError};
    /// let (_sender, mut receiver) = oneshot::channel::<u32>();
    /// assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    /// ```
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum TryRecvError {
        /// It was not sent.
        Empty,
        /// It will not be sent.
        Closed,
    }

    impl fmt::Display for RecvError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the sender is gone")
        }
    }

    impl fmt::Display for TryRecvError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(match self {
                TryRecvError::Empty => "nothing was sent",
                TryRecvError::Closed => "the sender is gone",
            })
        }
    }

    impl std::error::Error for RecvError {}
    impl std::error::Error for TryRecvError {}
}

use error::{RecvError, TryRecvError};

/// Sends the message.
///
/// ```
/// use allways_threads::future::{block_on, sync::oneshot};
/// let (sender, receiver) = oneshot::channel();
/// sender.send(7).unwrap();
/// assert_eq!(block_on(receiver), Ok(7));
/// ```
pub struct Sender<T> {
    tx: Tx<T>,
}

/// Receives the message: it is awaited itself.
///
/// ```
/// use allways_threads::future::{block_on, sync::oneshot};
/// let (sender, receiver) = oneshot::channel();
/// sender.send(7).unwrap();
/// assert_eq!(block_on(receiver), Ok(7));
/// ```
#[must_use = "futures do nothing unless they are awaited"]
pub struct Receiver<T> {
    rx: Rx<T>,
    waits: Wait,
    /// Whether it has got the message.
    is_over: bool,
}

/// A channel for one message.
///
/// ```
/// use allways_threads::future::{block_on, sync::oneshot};
/// let (sender, receiver) = oneshot::channel();
/// sender.send(7).unwrap();
/// assert_eq!(block_on(receiver), Ok(7));
/// ```
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let (tx, rx) = made(None, Location::caller());
    (Sender { tx }, Receiver { rx, waits: Wait::new(Location::caller()), is_over: false })
}

impl<T> Sender<T> {
    /// Sends the message.
    ///
    /// ```
    /// let (sender, receiver) = allways_threads::future::sync::oneshot::channel();
    /// drop(receiver);
    /// assert_eq!(sender.send(7), Err(7));
    /// ```
    ///
    /// # Errors
    ///
    /// If nobody will receive it: it is given back.
    #[track_caller]
    pub fn send(mut self, message: T) -> Result<(), T> {
        let result = self.tx.send(message, Location::caller());
        self.tx.is_done();
        result
    }

    /// Whether nobody will receive it.
    ///
    /// ```
    /// let (sender, receiver) = allways_threads::future::sync::oneshot::channel::<u32>();
    /// assert!(!sender.is_closed());
    /// drop(receiver);
    /// assert!(sender.is_closed());
    /// ```
    #[track_caller]
    #[inline(always)]
    pub fn is_closed(&self) -> bool {
        self.tx.is_closed(Location::caller())
    }

    /// Waits until nobody will receive it.
    ///
    /// ```
    /// use allways_threads::future::{block_on, sync::oneshot};
    /// let (mut sender, receiver) = oneshot::channel::<u32>();
    /// drop(receiver);
    /// block_on(sender.closed());
    /// ```
    #[track_caller]
    pub fn closed(&mut self) -> impl Future<Output = ()> + '_ {
        let mut waits = Wait::new(Location::caller());
        std::future::poll_fn(move |cx| self.tx.poll_closed(&mut waits, cx))
    }
}

impl<T> Receiver<T> {
    /// The message, if it is there.
    ///
    /// ```
    /// let (sender, mut receiver) = allways_threads::future::sync::oneshot::channel();
    /// sender.send(7).unwrap();
    /// assert_eq!(receiver.try_recv(), Ok(7));
    /// ```
    ///
    /// # Errors
    ///
    /// If it is not.
    #[track_caller]
    #[inline(always)]
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        if self.is_over {
            return Err(TryRecvError::Closed);
        }
        match self.rx.try_receive(Location::caller()) {
            Ok(message) => {
                self.is_over = true;
                Ok(message)
            }
            Err(true) => Err(TryRecvError::Closed),
            Err(false) => Err(TryRecvError::Empty),
        }
    }

    /// Receives nothing any more but what was sent.
    ///
    /// ```
    /// let (sender, mut receiver) = allways_threads::future::sync::oneshot::channel();
    /// receiver.close();
    /// assert_eq!(sender.send(7), Err(7));
    /// ```
    #[track_caller]
    pub fn close(&mut self) {
        self.rx.close(Location::caller());
    }

    /// Blocks this thread until the message is there.
    ///
    /// ```
    /// let (sender, receiver) = allways_threads::future::sync::oneshot::channel();
    /// sender.send(7).unwrap();
    /// assert_eq!(receiver.blocking_recv(), Ok(7));
    /// ```
    ///
    /// # Errors
    ///
    /// If the sender is gone.
    #[track_caller]
    pub fn blocking_recv(self) -> Result<T, RecvError> {
        block_on(self)
    }
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, RecvError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Receiver { rx, waits, is_over } = &mut *self;
        assert!(!*is_over, "a message is awaited that was received before");
        let message = rx.poll(waits, cx);
        *is_over = message.is_ready();
        message.map(|message| message.ok_or(RecvError(())))
    }
}

impl<T> Unpin for Receiver<T> {}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sender { .. }")
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Receiver { .. }")
    }
}
