//! Channels, as in `std::sync::mpsc`.

use crate::handle::{Handle, look_out};
use crate::runtime::op::Kind;
use crate::runtime::{Granted, Waits, current, wait};
use std::collections::VecDeque;
use std::fmt;
use std::panic::Location;
use std::sync::mpsc as real;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};

/// A channel of a check.
pub(crate) struct Channel<T> {
    pub(crate) handle: Handle,
    /// [`u64::MAX`] if there is no limit.
    capacity: u64,
    queue: Mutex<Queue<T>>,
}

pub(crate) struct Queue<T> {
    pub messages: VecDeque<T>,
    /// How many were received.
    received: u64,
}

impl<T> Channel<T> {
    /// What it is, and how much it holds.
    pub(crate) fn new(what: &'static str, capacity: u64, at: &'static Location<'static>) -> Self {
        Channel::with_gate(what, capacity, None, at)
    }

    /// The same, maybe with room for so many messages only, for which those who send [queue](crate::runtime::gate).
    fn with_gate(
        what: &'static str,
        capacity: u64,
        room: Option<u64>,
        at: &'static Location<'static>,
    ) -> Self {
        let handle = Handle::new(what, at, room);
        let queue = Mutex::new(Queue { messages: VecDeque::new(), received: 0 });
        Channel { handle, capacity, queue }
    }

    pub(crate) fn queue(&self) -> MutexGuard<'_, Queue<T>> {
        // Nobody panics while it is locked.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The message that is next.
    pub(crate) fn take(&self) -> Option<T> {
        let mut queue = self.queue();
        queue.received += 1;
        queue.messages.pop_front()
    }

    pub(crate) fn send(
        &self,
        message: T,
        at: &'static Location<'static>,
    ) -> Result<(), SendError<T>> {
        let granted = self.handle.access(Kind::Send, self.capacity, at);
        self.sent(granted, message, at)
    }

    /// The same, and it is known what others are told by that.
    pub(crate) fn tell(
        &self,
        message: T,
        said: u64,
        at: &'static Location<'static>,
    ) -> Result<(), SendError<T>> {
        let granted = self.handle.tell(Kind::Send, self.capacity, said, at);
        self.sent(granted, message, at)
    }

    fn sent(
        &self,
        granted: Granted,
        message: T,
        at: &'static Location<'static>,
    ) -> Result<(), SendError<T>> {
        if granted.is_ending() {
            // Destructors like to unwrap this; nobody will receive it.
            return Ok(());
        }
        if !granted.succeeded() {
            return Err(SendError(message));
        }
        self.queue().messages.push_back(message);
        if self.capacity == 0 {
            let number = granted.value();
            wait(Waits::Received { channel: self.handle.object(), number }, at);
            let mut queue = self.queue();
            if queue.received <= number
                && let Some(message) = queue.messages.pop_back()
            {
                return Err(SendError(message));
            }
        }
        Ok(())
    }

    /// A message, or whether there will be none.
    pub(crate) fn receive(&self, at: &'static Location<'static>) -> Result<T, bool> {
        self.begin_to_wait(at);
        self.received(self.handle.access(Kind::Receive, self.capacity, at))
    }

    /// Somebody is about to wait for one who hands over: that is a step where others try to.
    fn begin_to_wait(&self, at: &'static Location<'static>) {
        if self.capacity == 0
            && let Some(runtime) = current()
            && runtime.population.names.is_tried(self.handle.object())
        {
            self.handle.access(Kind::Await, 0, at);
        }
    }

    /// The same if there is something. Whoever asks over and over waits until that has changed.
    #[inline(always)]
    pub(crate) fn poll(&self, at: &'static Location<'static>) -> Result<T, bool> {
        self.received(self.handle.read(Kind::TryReceive, self.capacity, at))
    }

    /// The same if it comes in time.
    #[inline(always)]
    pub(crate) fn receive_or_late(&self, at: &'static Location<'static>) -> Result<T, bool> {
        self.begin_to_wait(at);
        self.received(self.handle.read(Kind::ReceiveOrLate, self.capacity, at))
    }

    fn received(&self, granted: Granted) -> Result<T, bool> {
        if !granted.succeeded() || granted.is_ending() {
            return Err(granted.is_ending() || granted.value() == u64::MAX);
        }
        self.take().ok_or(true)
    }

    /// Whether anybody may receive from it.
    pub(crate) fn has_receiver(&self, at: &'static Location<'static>) -> bool {
        self.handle.access(Kind::LookForReceiver, 0, at).succeeded()
    }
}

/// What sends into a channel in a check.
pub(crate) struct Sending<T> {
    pub channel: Arc<Channel<T>>,
    /// What stands for this sender.
    own: Handle,
    /// Whether nobody has to know when it is gone.
    pub is_done: bool,
}

impl<T> Sending<T> {
    /// A new one, and the one that it is a copy of.
    fn new(
        channel: Arc<Channel<T>>,
        of: Option<&Sending<T>>,
        at: &'static Location<'static>,
    ) -> Self {
        let own = Handle::new("sender", at, None);
        if let Some(runtime) = current() {
            let of = of.map(|of| of.own.object());
            runtime.add_sender(channel.handle.object(), own.object(), of);
        }
        Sending { channel, own, is_done: false }
    }

    /// Another one for the same channel.
    pub fn copy(&self, at: &'static Location<'static>) -> Self {
        Self::new(Arc::clone(&self.channel), Some(self), at)
    }

    fn try_send(&self, message: T, at: &'static Location<'static>) -> Result<(), TrySendError<T>> {
        let channel = &self.channel;
        if channel.capacity == 0
            && let Some(runtime) = current()
        {
            runtime.population.names.try_to_take(channel.handle.object());
        }
        let granted = channel.handle.read(Kind::TrySend, channel.capacity, at);
        match granted.value() {
            _ if granted.is_ending() => Ok(()),
            u64::MAX => Err(TrySendError::Disconnected(message)),
            _ if !granted.succeeded() => Err(TrySendError::Full(message)),
            _ => {
                channel.queue().messages.push_back(message);
                Ok(())
            }
        }
    }
}

impl<T> Drop for Sending<T> {
    fn drop(&mut self) {
        if let Some(runtime) = current()
            && !self.is_done
        {
            let at = runtime.made_where(self.own.object());
            if !runtime.skips(at) {
                self.own.access(Kind::DropSender, 0, at);
            }
        }
    }
}

/// Sends into a channel without a limit.
///
/// ```
/// let (sender, receiver) = allways_threads::sync::mpsc::channel();
/// sender.send(1).unwrap();
/// assert_eq!(receiver.recv(), Ok(1));
/// ```
pub struct Sender<T> {
    inner: Either<real::Sender<T>, Sending<T>>,
}

/// Sends into a channel with a limit.
///
/// ```
/// let (sender, receiver) = allways_threads::sync::mpsc::sync_channel(1);
/// sender.send(1).unwrap();
/// assert!(sender.try_send(2).is_err());
/// # drop(receiver);
/// ```
pub struct SyncSender<T> {
    inner: Either<real::SyncSender<T>, Sending<T>>,
}

/// Receives what was sent.
///
/// ```
/// let (sender, receiver) = allways_threads::sync::mpsc::channel::<u8>();
/// drop(sender);
/// assert!(receiver.recv().is_err());
/// ```
///
/// It is one thread's at a time, as in `std`:
///
/// ```compile_fail,E0277
/// let (sender, receiver) = allways_threads::sync::mpsc::channel::<u8>();
/// allways_threads::thread::scope(|scope| scope.spawn(|| receiver.recv()).join());
/// ```
pub struct Receiver<T> {
    inner: Either<real::Receiver<T>, Receiving<T>>,
}

enum Either<A, B> {
    Real(A),
    Led(B),
}

/// What receives from a channel in a check.
pub(crate) struct Receiving<T> {
    pub(crate) channel: Arc<Channel<T>>,
    /// Whether nothing is received any more but what was sent.
    pub is_closed: bool,
}

impl<T> Drop for Receiving<T> {
    fn drop(&mut self) {
        let Some(runtime) = current() else { return };
        if !self.is_closed {
            let handle = &self.channel.handle;
            let at = runtime.made_where(handle.object());
            if !runtime.skips(at) {
                handle.access(Kind::DropReceiver, 0, at);
            }
        }
        if self.channel.capacity != 0 {
            // What nobody will receive is dropped now, as `std` does; one that hands over gets it back.
            let left = std::mem::take(&mut self.channel.queue().messages);
            drop(left);
        }
    }
}

fn made<T>(capacity: u64, at: &'static Location<'static>) -> (Sending<T>, Receiving<T>) {
    let channel = Arc::new(Channel::new("channel", capacity, at));
    (Sending::new(Arc::clone(&channel), None, at), Receiving { channel, is_closed: false })
}

/// A channel for tasks. If it has room for so many messages only, those who send [queue](crate::runtime::gate) for that.
pub(crate) fn for_tasks<T>(
    room: Option<usize>,
    at: &'static Location<'static>,
) -> (Sending<T>, Receiving<T>) {
    let room = room.map(|room| room as u64);
    let channel = Arc::new(Channel::with_gate("channel", u64::MAX, room, at));
    (Sending::new(Arc::clone(&channel), None, at), Receiving { channel, is_closed: false })
}

/// A channel without a limit.
///
/// ```
/// let (sender, receiver) = allways_threads::sync::mpsc::channel();
/// sender.send(1).unwrap();
/// assert_eq!(receiver.recv(), Ok(1));
/// ```
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    if current().is_some() {
        let (sending, receiving) = made(u64::MAX, Location::caller());
        let receiver = Receiver { inner: Either::Led(receiving) };
        return (Sender { inner: Either::Led(sending) }, receiver);
    }
    let (sender, receiver) = real::channel();
    (Sender { inner: Either::Real(sender) }, Receiver { inner: Either::Real(receiver) })
}

/// A channel that holds so many messages; none if a sender is to wait until its message is received.
///
/// ```
/// let (sender, receiver) = allways_threads::sync::mpsc::sync_channel(1);
/// sender.send(1).unwrap();
/// assert_eq!(receiver.recv(), Ok(1));
/// ```
#[track_caller]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    if current().is_some() {
        let (sending, receiving) = made(bound as u64, Location::caller());
        let receiver = Receiver { inner: Either::Led(receiving) };
        return (SyncSender { inner: Either::Led(sending) }, receiver);
    }
    let (sender, receiver) = real::sync_channel(bound);
    (SyncSender { inner: Either::Real(sender) }, Receiver { inner: Either::Real(receiver) })
}

#[allow(missing_docs, reason = "each is what it is in std")]
impl<T> Sender<T> {
    #[track_caller]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        match &self.inner {
            Either::Real(real) => {
                look_out();
                real.send(message)
            }
            Either::Led(led) => led.channel.send(message, Location::caller()),
        }
    }
}

#[allow(missing_docs, reason = "each is what it is in std")]
impl<T> SyncSender<T> {
    #[track_caller]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        match &self.inner {
            Either::Real(real) => {
                look_out();
                real.send(message)
            }
            Either::Led(led) => led.channel.send(message, Location::caller()),
        }
    }

    #[track_caller]
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        match &self.inner {
            Either::Real(real) => {
                look_out();
                real.try_send(message)
            }
            Either::Led(led) => led.try_send(message, Location::caller()),
        }
    }
}

impl<T> Clone for Sender<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        let inner = match &self.inner {
            Either::Real(real) => Either::Real(real.clone()),
            Either::Led(led) => Either::Led(led.copy(Location::caller())),
        };
        Sender { inner }
    }
}

impl<T> Clone for SyncSender<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        let inner = match &self.inner {
            Either::Real(real) => Either::Real(real.clone()),
            Either::Led(led) => Either::Led(led.copy(Location::caller())),
        };
        SyncSender { inner }
    }
}

#[allow(missing_docs, reason = "each is what it is in std")]
impl<T> Receiver<T> {
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        match &self.inner {
            Either::Real(real) => {
                look_out();
                real.recv()
            }
            Either::Led(led) => led.channel.receive(Location::caller()).map_err(|_| RecvError),
        }
    }

    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        match &self.inner {
            Either::Real(real) => {
                look_out();
                real.try_recv()
            }
            Either::Led(led) => {
                led.channel.poll(Location::caller()).map_err(|is_over| match is_over {
                    true => TryRecvError::Disconnected,
                    false => TryRecvError::Empty,
                })
            }
        }
    }

    /// That it takes too long is a choice.
    #[track_caller]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        match &self.inner {
            Either::Real(real) => {
                look_out();
                real.recv_timeout(timeout)
            }
            Either::Led(led) => {
                let received = led.channel.receive_or_late(Location::caller());
                received.map_err(|is_over| match (is_over, current()) {
                    (false, Some(runtime)) => {
                        runtime.pass(timeout);
                        RecvTimeoutError::Timeout
                    }
                    _ => RecvTimeoutError::Disconnected,
                })
            }
        }
    }

    pub fn iter(&self) -> Iter<'_, T> {
        Iter { receiver: self }
    }

    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter { receiver: self }
    }
}

/// What a receiver receives, until there are no senders.
///
/// ```
/// let (sender, receiver) = allways_threads::sync::mpsc::channel();
/// sender.send(1).unwrap();
/// drop(sender);
/// assert!(receiver.iter().eq([1]));
/// ```
pub struct Iter<'a, T> {
    receiver: &'a Receiver<T>,
}

impl<T> Iterator for Iter<'_, T> {
    type Item = T;
    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.recv().ok()
    }
}

/// What a receiver receives, until there is nothing.
///
/// ```
/// let (sender, receiver) = allways_threads::sync::mpsc::channel();
/// sender.send(1).unwrap();
/// assert!(receiver.try_iter().eq([1]));
/// ```
pub struct TryIter<'a, T> {
    receiver: &'a Receiver<T>,
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;
    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.try_recv().ok()
    }
}

/// What a receiver receives, until there are no senders.
///
/// ```
/// let (sender, receiver) = allways_threads::sync::mpsc::channel();
/// sender.send(1).unwrap();
/// drop(sender);
/// assert!(receiver.into_iter().eq([1]));
/// ```
pub struct IntoIter<T> {
    receiver: Receiver<T>,
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;
    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.recv().ok()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;
    fn into_iter(self) -> IntoIter<T> {
        IntoIter { receiver: self }
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;
    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sender { .. }")
    }
}

impl<T> fmt::Debug for SyncSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SyncSender { .. }")
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Receiver { .. }")
    }
}
