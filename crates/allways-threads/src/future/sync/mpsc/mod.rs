//! Channels, as in `tokio::sync::mpsc`.
//!
//! Sending into a channel with a limit takes room and puts the message there in one step; whoever finds no room queues, and gets it in
//! the order in which they came.

pub mod error;
mod unbounded;

pub use unbounded::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::channel::{Refused, Rx, Tx, Wait, channel as made};
use crate::future::block_on;
use error::{SendError, TryRecvError, TrySendError};
use std::fmt;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Sends into a channel with a limit.
///
/// ```
/// use allways_threads::future::{block_on, sync::mpsc};
/// let (sender, mut receiver) = mpsc::channel(1);
/// block_on(async {
///     sender.send(1).await.unwrap();
///     assert_eq!(receiver.recv().await, Some(1));
/// });
/// ```
pub struct Sender<T> {
    tx: Tx<T>,
}

/// Receives what was sent.
///
/// ```
/// use allways_threads::future::{block_on, sync::mpsc};
/// let (sender, mut receiver) = mpsc::channel::<u32>(1);
/// drop(sender);
/// assert_eq!(block_on(receiver.recv()), None);
/// ```
pub struct Receiver<T> {
    rx: Rx<T>,
    /// Of one who polls it.
    waits: Wait,
}

/// A channel that holds so many messages.
///
/// ```
/// use allways_threads::future::{block_on, sync::mpsc};
/// let (sender, mut receiver) = mpsc::channel(1);
/// block_on(async {
///     sender.send(1).await.unwrap();
///     assert_eq!(receiver.recv().await, Some(1));
/// });
/// ```
///
/// # Panics
///
/// If it holds none.
#[track_caller]
pub fn channel<T>(buffer: usize) -> (Sender<T>, Receiver<T>) {
    assert!(buffer > 0, "a channel has room for at least one message");
    let (tx, rx) = made(Some(buffer), Location::caller());
    (Sender { tx }, Receiver { rx, waits: Wait::new(Location::caller()) })
}

impl<T> Sender<T> {
    /// Waits for room, and sends.
    ///
    /// ```
    /// use allways_threads::future::{block_on, sync::mpsc};
    /// let (sender, receiver) = mpsc::channel(1);
    /// assert!(block_on(sender.send(1)).is_ok());
    /// drop(receiver);
    /// assert!(block_on(sender.send(2)).is_err());
    /// ```
    #[track_caller]
    pub fn send(&self, message: T) -> Send<'_, T> {
        let waits = Wait::new(Location::caller());
        Send { tx: &self.tx, message: Some(message), waits }
    }

    /// Sends if there is room.
    ///
    /// ```
    /// let (sender, _receiver) = allways_threads::future::sync::mpsc::channel(1);
    /// assert!(sender.try_send(1).is_ok());
    /// assert!(sender.try_send(2).is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no room, or nobody will receive it.
    #[track_caller]
    #[inline(always)]
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        self.tx.try_send(message, Location::caller()).map_err(|refused| match refused {
            Refused::Full(message) => TrySendError::Full(message),
            Refused::Closed(message) => TrySendError::Closed(message),
        })
    }

    /// Blocks this thread until there is room, and sends.
    ///
    /// ```
    /// let (sender, _receiver) = allways_threads::future::sync::mpsc::channel(1);
    /// assert!(sender.blocking_send(1).is_ok());
    /// ```
    ///
    /// # Errors
    ///
    /// If nobody will receive it.
    #[track_caller]
    pub fn blocking_send(&self, message: T) -> Result<(), SendError<T>> {
        block_on(self.send(message))
    }

    /// Whether nobody will receive anything.
    ///
    /// ```
    /// let (sender, receiver) = allways_threads::future::sync::mpsc::channel::<u32>(1);
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
    /// let (sender, receiver) = mpsc::channel::<u32>(1);
    /// drop(receiver);
    /// block_on(sender.closed());
    /// ```
    #[track_caller]
    pub fn closed(&self) -> impl Future<Output = ()> + '_ {
        let mut waits = Wait::new(Location::caller());
        std::future::poll_fn(move |cx| self.tx.poll_closed(&mut waits, cx))
    }
}

/// Waits for room, and sends: see [`Sender::send`].
///
/// ```
/// use allways_threads::future::{block_on, sync::mpsc};
/// let (sender, _receiver) = mpsc::channel(1);
/// let send: mpsc::Send<'_, _> = sender.send(1);
/// assert!(block_on(send).is_ok());
/// ```
#[must_use = "futures do nothing unless they are awaited"]
pub struct Send<'a, T> {
    tx: &'a Tx<T>,
    message: Option<T>,
    waits: Wait,
}

impl<T> Unpin for Send<'_, T> {}

impl<T> Future for Send<'_, T> {
    type Output = Result<(), SendError<T>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Send { tx, message, waits } = &mut *self;
        tx.poll_send(message, waits, cx).map(|result| result.map_err(SendError))
    }
}

impl<T> Drop for Send<'_, T> {
    fn drop(&mut self) {
        self.tx.leave(&mut self.waits);
    }
}

impl<T> Receiver<T> {
    /// Waits for a message; none if all senders are gone.
    ///
    /// ```
    /// use allways_threads::future::{block_on, sync::mpsc};
    /// let (sender, mut receiver) = mpsc::channel(1);
    /// sender.try_send(1).unwrap();
    /// assert_eq!(block_on(receiver.recv()), Some(1));
    /// ```
    #[track_caller]
    pub fn recv(&mut self) -> Recv<'_, T> {
        Recv { rx: &mut self.rx, waits: Wait::new(Location::caller()) }
    }

    /// The same for one who polls.
    ///
    /// ```
    /// use allways_threads::future::{block_on, sync::mpsc};
    /// let (sender, mut receiver) = mpsc::channel(1);
    /// sender.try_send(1).unwrap();
    /// assert_eq!(block_on(std::future::poll_fn(|cx| receiver.poll_recv(cx))), Some(1));
    /// ```
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.rx.poll(&mut self.waits, cx)
    }

    /// A message, if one is there.
    ///
    /// ```
    /// let (sender, mut receiver) = allways_threads::future::sync::mpsc::channel(1);
    /// sender.try_send(1).unwrap();
    /// assert_eq!(receiver.try_recv(), Ok(1));
    /// ```
    ///
    /// # Errors
    ///
    /// If none is.
    #[track_caller]
    #[inline(always)]
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        self.rx.try_receive(Location::caller()).map_err(|is_over| match is_over {
            true => TryRecvError::Disconnected,
            false => TryRecvError::Empty,
        })
    }

    /// Blocks this thread until there is a message; none if all senders are gone.
    ///
    /// ```
    /// let (sender, mut receiver) = allways_threads::future::sync::mpsc::channel(1);
    /// sender.try_send(1).unwrap();
    /// assert_eq!(receiver.blocking_recv(), Some(1));
    /// ```
    #[track_caller]
    pub fn blocking_recv(&mut self) -> Option<T> {
        block_on(self.recv())
    }

    /// Receives nothing any more but what was sent.
    ///
    /// ```
    /// let (sender, mut receiver) = allways_threads::future::sync::mpsc::channel(1);
    /// receiver.close();
    /// assert!(sender.try_send(1).is_err());
    /// ```
    #[track_caller]
    pub fn close(&mut self) {
        self.rx.close(Location::caller());
    }
}

/// Waits for a message: see [`Receiver::recv`].
///
/// ```
/// use allways_threads::future::{block_on, sync::mpsc};
/// let (sender, mut receiver) = mpsc::channel(1);
/// sender.try_send(1).unwrap();
/// let recv: mpsc::Recv<'_, _> = receiver.recv();
/// assert_eq!(block_on(recv), Some(1));
/// ```
#[must_use = "futures do nothing unless they are awaited"]
pub struct Recv<'a, T> {
    rx: &'a mut Rx<T>,
    waits: Wait,
}

impl<T> Future for Recv<'_, T> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let Recv { rx, waits } = &mut *self;
        rx.poll(waits, cx)
    }
}

impl<T> Clone for Sender<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        Sender { tx: self.tx.share(Location::caller()) }
    }
}

macro_rules! debug {
    ($($name:ident<$($life:lifetime,)? T>),*) => {
        $(impl<T> fmt::Debug for $name<$($life,)? T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), " { .. }"))
            }
        })*
    };
}
use debug;
debug!(Sender<T>, Receiver<T>, Send<'_, T>, Recv<'_, T>);
