//! Channels without a limit.

use super::error::{SendError, TryRecvError};
use super::{Receiver, Recv, debug};
use crate::future::sync::channel::{Tx, Wait, channel as made};
use std::fmt;
use std::panic::Location;
use std::task::{Context, Poll};

/// Sends into a channel without a limit.
///
/// ```
/// let (sender, mut receiver) = allways_threads::future::sync::mpsc::unbounded_channel();
/// sender.send(1).unwrap();
/// assert_eq!(receiver.try_recv(), Ok(1));
/// ```
pub struct UnboundedSender<T> {
    tx: Tx<T>,
}

/// Receives what was sent into a channel without a limit.
///
/// ```
/// use allways_threads::future::{block_on, sync::mpsc};
/// let (sender, mut receiver) = mpsc::unbounded_channel();
/// sender.send(1).unwrap();
/// assert_eq!(block_on(receiver.recv()), Some(1));
/// ```
pub struct UnboundedReceiver<T> {
    inner: Receiver<T>,
}

/// A channel without a limit.
///
/// ```
/// let (sender, mut receiver) = allways_threads::future::sync::mpsc::unbounded_channel();
/// sender.send(1).unwrap();
/// assert_eq!(receiver.try_recv(), Ok(1));
/// ```
#[track_caller]
pub fn unbounded_channel<T>() -> (UnboundedSender<T>, UnboundedReceiver<T>) {
    let (tx, rx) = made(None, Location::caller());
    let inner = Receiver { rx, waits: Wait::new(Location::caller()) };
    (UnboundedSender { tx }, UnboundedReceiver { inner })
}

impl<T> UnboundedSender<T> {
    /// Sends.
    ///
    /// ```
    /// let (sender, _receiver) = allways_threads::future::sync::mpsc::unbounded_channel();
    /// assert!(sender.send(1).is_ok());
    /// ```
    ///
    /// # Errors
    ///
    /// If nobody will receive it.
    #[track_caller]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        self.tx.send(message, Location::caller()).map_err(SendError)
    }

    /// Whether nobody will receive anything.
    ///
    /// ```
    /// let (sender, receiver) = allways_threads::future::sync::mpsc::unbounded_channel::<u32>();
    /// drop(receiver);
    /// assert!(sender.is_closed());
    /// ```
    #[track_caller]
    #[inline(always)]
    pub fn is_closed(&self) -> bool {
        self.tx.is_closed(Location::caller())
    }

    /// Waits until nobody will receive anything.
    ///
    /// ```
    /// use allways_threads::future::{block_on, sync::mpsc};
    /// let (sender, receiver) = mpsc::unbounded_channel::<u32>();
    /// drop(receiver);
    /// block_on(sender.closed());
    /// ```
    #[track_caller]
    pub fn closed(&self) -> impl Future<Output = ()> + '_ {
        let mut waits = Wait::new(Location::caller());
        std::future::poll_fn(move |cx| self.tx.poll_closed(&mut waits, cx))
    }
}

impl<T> UnboundedReceiver<T> {
    /// Waits for a message; none if all senders are gone.
    ///
    /// ```
    /// use allways_threads::future::{block_on, sync::mpsc};
    /// let (sender, mut receiver) = mpsc::unbounded_channel();
    /// sender.send(1).unwrap();
    /// assert_eq!(block_on(receiver.recv()), Some(1));
    /// ```
    #[track_caller]
    pub fn recv(&mut self) -> Recv<'_, T> {
        self.inner.recv()
    }

    /// The same for one who polls.
    ///
    /// ```
    /// use allways_threads::future::{block_on, sync::mpsc};
    /// let (sender, mut receiver) = mpsc::unbounded_channel();
    /// sender.send(1).unwrap();
    /// assert_eq!(block_on(std::future::poll_fn(|cx| receiver.poll_recv(cx))), Some(1));
    /// ```
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.inner.poll_recv(cx)
    }

    /// A message, if one is there.
    ///
    /// ```
    /// let (sender, mut receiver) = allways_threads::future::sync::mpsc::unbounded_channel();
    /// sender.send(1).unwrap();
    /// assert_eq!(receiver.try_recv(), Ok(1));
    /// ```
    ///
    /// # Errors
    ///
    /// If none is.
    #[track_caller]
    #[inline(always)]
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        self.inner.try_recv()
    }

    /// Blocks this thread until there is a message; none if all senders are gone.
    ///
    /// ```
    /// let (sender, mut receiver) = allways_threads::future::sync::mpsc::unbounded_channel();
    /// sender.send(1).unwrap();
    /// assert_eq!(receiver.blocking_recv(), Some(1));
    /// ```
    #[track_caller]
    pub fn blocking_recv(&mut self) -> Option<T> {
        self.inner.blocking_recv()
    }

    /// Receives nothing any more but what was sent.
    ///
    /// ```
    /// let (sender, mut receiver) = allways_threads::future::sync::mpsc::unbounded_channel();
    /// receiver.close();
    /// assert!(sender.send(1).is_err());
    /// ```
    #[track_caller]
    pub fn close(&mut self) {
        self.inner.close();
    }
}

impl<T> Clone for UnboundedSender<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        UnboundedSender { tx: self.tx.share(Location::caller()) }
    }
}

debug!(UnboundedSender<T>, UnboundedReceiver<T>);
