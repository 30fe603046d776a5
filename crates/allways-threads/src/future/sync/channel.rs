//! Channels for tasks: what [`mpsc`](super::mpsc) and [`oneshot`](super::oneshot) are made of. In a check they are the channels of [`sync`](crate::sync::mpsc), with
//! a gate if there is room for some messages only.

use super::gate::may_take_turns;
use crate::future::executor::{may_block, register};
use crate::future::real::{self, lock};
use crate::runtime::awaits::Registration;
use crate::runtime::current;
use crate::runtime::op::{BLOCKS, Kind, NONE};
use crate::sync::mpsc::{Receiving, Sending, for_tasks};
use std::collections::VecDeque;
use std::panic::Location;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

/// What sends.
pub(super) enum Tx<T> {
    Real(Arc<Real<T>>),
    Led(Sending<T>),
}

/// What receives.
pub(super) enum Rx<T> {
    Real(Arc<Real<T>>),
    Led(Receiving<T>),
}

/// What is kept by one who waits for a channel.
pub(super) struct Wait {
    /// Outside of a check, the number of one who queues for room.
    number: Option<u64>,
    /// The event with which it began to queue for room.
    queued: u32,
    registration: Registration,
    pub at: &'static Location<'static>,
}

impl Wait {
    pub fn new(at: &'static Location<'static>) -> Self {
        Wait { number: None, queued: NONE, registration: Registration::NONE, at }
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        self.registration.clear();
    }
}

/// Outside of a check.
pub(super) struct Real<T> {
    state: Mutex<State<T>>,
}

struct State<T> {
    messages: VecDeque<T>,
    senders: usize,
    is_closed: bool,
    room: real::Gate,
    receiver: Option<Waker>,
    /// Those who wait for it to be closed.
    watchers: Vec<Waker>,
}

fn wake(wakers: impl IntoIterator<Item = Waker>) {
    wakers.into_iter().for_each(Waker::wake);
}

/// A channel, maybe with room for some messages only.
pub(super) fn channel<T>(room: Option<usize>, at: &'static Location<'static>) -> (Tx<T>, Rx<T>) {
    if current().is_some() {
        let (sending, receiving) = for_tasks(room, at);
        return (Tx::Led(sending), Rx::Led(receiving));
    }
    let state = State {
        messages: VecDeque::new(),
        senders: 1,
        is_closed: false,
        room: real::Gate::new(room.unwrap_or(0)),
        receiver: None,
        watchers: Vec::new(),
    };
    let real = Arc::new(Real { state: Mutex::new(state) });
    (Tx::Real(Arc::clone(&real)), Rx::Real(real))
}

impl<T> State<T> {
    fn send(&mut self, message: T) -> Option<Waker> {
        self.messages.push_back(message);
        self.receiver.take()
    }
}

/// Why something could not be sent.
pub(super) enum Refused<T> {
    Full(T),
    Closed(T),
}

impl<T> Tx<T> {
    /// Sends into a channel without a limit.
    pub fn send(&self, message: T, at: &'static Location<'static>) -> Result<(), T> {
        match self {
            Tx::Led(led) => led.channel.send(message, at).map_err(|error| error.0),
            Tx::Real(real) => {
                let mut state = lock(&real.state);
                if state.is_closed {
                    return Err(message);
                }
                let waker = state.send(message);
                drop(state);
                wake(waker);
                Ok(())
            }
        }
    }

    /// Sends into a channel with a limit if there is room.
    #[inline(always)]
    pub fn try_send(&self, message: T, at: &'static Location<'static>) -> Result<(), Refused<T>> {
        match self {
            Tx::Led(led) => {
                let granted = led.channel.handle.read(Kind::TrySendInTurn, 0, at);
                if granted.is_ending() || !granted.succeeded() && granted.value() == u64::MAX {
                    return Err(Refused::Closed(message));
                }
                if !granted.succeeded() {
                    return Err(Refused::Full(message));
                }
                led.channel.queue().messages.push_back(message);
                Ok(())
            }
            Tx::Real(real) => {
                let mut state = lock(&real.state);
                if state.is_closed {
                    return Err(Refused::Closed(message));
                }
                if !state.room.try_acquire() {
                    return Err(Refused::Full(message));
                }
                let waker = state.send(message);
                drop(state);
                wake(waker);
                Ok(())
            }
        }
    }

    /// Sends into a channel with a limit, or queues for room.
    pub fn poll_send(
        &self,
        message: &mut Option<T>,
        waits: &mut Wait,
        cx: &Context<'_>,
    ) -> Poll<Result<(), T>> {
        let Some(it) = message.take() else { panic!("a message is sent that was sent before") };
        match self {
            Tx::Led(led) => {
                let handle = &led.channel.handle;
                let granted = match waits.queued {
                    NONE if may_take_turns(handle.object(), cx) => {
                        handle.access(Kind::TrySendInTurn, BLOCKS, waits.at)
                    }
                    NONE => handle.access(Kind::SendOrQueue, 0, waits.at),
                    queued => handle.read(Kind::SendQueued, u64::from(queued), waits.at),
                };
                let is_closed = !granted.succeeded() && granted.value() == u64::MAX;
                if granted.is_ending() || is_closed || granted.succeeded() {
                    waits.registration.clear();
                    waits.queued = NONE;
                    if granted.is_ending() || is_closed {
                        return Poll::Ready(Err(it));
                    }
                    led.channel.queue().messages.push_back(it);
                    return Poll::Ready(Ok(()));
                }
                if waits.queued == NONE {
                    waits.queued = granted.event_at_hand();
                }
                *message = Some(it);
                register(&mut waits.registration, waits.queued, cx, waits.at);
                Poll::Pending
            }
            Tx::Real(real) => {
                let mut state = lock(&real.state);
                if state.is_closed {
                    return Poll::Ready(Err(it));
                }
                if !state.room.acquire(&mut waits.number, cx) {
                    *message = Some(it);
                    return Poll::Pending;
                }
                let waker = state.send(it);
                drop(state);
                wake(waker);
                Poll::Ready(Ok(()))
            }
        }
    }

    /// Does not queue for room any more.
    pub fn leave(&self, waits: &mut Wait) {
        match self {
            Tx::Led(led) => {
                waits.registration.clear();
                if waits.queued != NONE && current().is_some_and(|runtime| !runtime.skips(waits.at))
                {
                    led.channel.handle.access(Kind::Leave, u64::from(waits.queued), waits.at);
                    waits.queued = NONE;
                }
            }
            Tx::Real(real) => {
                let waker = lock(&real.state).room.leave(&mut waits.number, usize::MAX);
                wake(waker);
            }
        }
    }

    /// Whether nobody will receive what is sent.
    #[inline(always)]
    pub fn is_closed(&self, at: &'static Location<'static>) -> bool {
        match self {
            Tx::Led(led) => led.channel.handle.read(Kind::PollClosed, 0, at).succeeded(),
            Tx::Real(real) => lock(&real.state).is_closed,
        }
    }

    /// Waits until nobody will receive what is sent.
    pub fn poll_closed(&self, waits: &mut Wait, cx: &Context<'_>) -> Poll<()> {
        match self {
            Tx::Led(led) => {
                let handle = &led.channel.handle;
                if !waits.registration.has_come() {
                    let how = if may_block(cx) { BLOCKS } else { 0 };
                    let granted = handle.read(Kind::PollClosed, how, waits.at);
                    if !granted.succeeded() {
                        register(&mut waits.registration, granted.event_at_hand(), cx, waits.at);
                        return Poll::Pending;
                    }
                }
                waits.registration.clear();
                Poll::Ready(())
            }
            Tx::Real(real) => {
                let mut state = lock(&real.state);
                if state.is_closed {
                    return Poll::Ready(());
                }
                state.watchers.push(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// One more that sends.
    pub fn share(&self, at: &'static Location<'static>) -> Self {
        match self {
            Tx::Led(led) => Tx::Led(led.copy(at)),
            Tx::Real(real) => {
                lock(&real.state).senders += 1;
                Tx::Real(Arc::clone(real))
            }
        }
    }

    /// It has sent all that it will: nobody has to know when it is gone.
    pub fn is_done(&mut self) {
        if let Tx::Led(led) = self {
            led.is_done = true;
        }
    }
}

impl<T> Drop for Tx<T> {
    fn drop(&mut self) {
        if let Tx::Real(real) = self {
            let mut state = lock(&real.state);
            state.senders -= 1;
            let waker = if state.senders == 0 { state.receiver.take() } else { None };
            drop(state);
            wake(waker);
        }
    }
}

impl<T> Rx<T> {
    /// A message; none if there will be none.
    pub fn poll(&mut self, waits: &mut Wait, cx: &Context<'_>) -> Poll<Option<T>> {
        match self {
            Rx::Led(led) => {
                let how = if may_block(cx) { BLOCKS } else { 0 };
                let granted = led.channel.handle.read(Kind::PollReceive, how, waits.at);
                let is_over = !granted.succeeded() && granted.value() == u64::MAX;
                if granted.succeeded() || is_over {
                    waits.registration.clear();
                    let is_there = granted.succeeded() && !granted.is_ending();
                    return Poll::Ready(if is_there { led.channel.take() } else { None });
                }
                register(&mut waits.registration, granted.event_at_hand(), cx, waits.at);
                Poll::Pending
            }
            Rx::Real(real) => {
                let mut state = lock(&real.state);
                if let Some(message) = state.messages.pop_front() {
                    let waker = state.room.release(usize::MAX);
                    drop(state);
                    wake(waker);
                    return Poll::Ready(Some(message));
                }
                if state.senders == 0 || state.is_closed {
                    return Poll::Ready(None);
                }
                state.receiver = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// A message if one is there; otherwise whether there will be none.
    #[inline(always)]
    pub fn try_receive(&mut self, at: &'static Location<'static>) -> Result<T, bool> {
        match self {
            Rx::Led(led) => {
                let granted = led.channel.handle.read(Kind::PollReceive, 0, at);
                match granted.succeeded() && !granted.is_ending() {
                    true => led.channel.take().ok_or(true),
                    false => Err(granted.is_ending() || granted.value() == u64::MAX),
                }
            }
            Rx::Real(real) => {
                let mut state = lock(&real.state);
                let message = state.messages.pop_front();
                let waker = message.is_some().then(|| state.room.release(usize::MAX)).flatten();
                let is_over = state.senders == 0 || state.is_closed;
                drop(state);
                wake(waker);
                message.ok_or(is_over)
            }
        }
    }

    /// Receives nothing more but what was sent.
    pub fn close(&mut self, at: &'static Location<'static>) {
        match self {
            Rx::Led(led) => {
                if !std::mem::replace(&mut led.is_closed, true) {
                    led.channel.handle.access(Kind::DropReceiver, 0, at);
                }
            }
            Rx::Real(real) => {
                let mut state = lock(&real.state);
                state.is_closed = true;
                let watchers = std::mem::take(&mut state.watchers);
                // All who queue find it closed.
                let queue = state.room.release_all();
                drop(state);
                wake(watchers);
                wake(queue);
            }
        }
    }
}

impl<T> Drop for Rx<T> {
    fn drop(&mut self) {
        if let Rx::Real(real) = self {
            let real = Arc::clone(real);
            self.close(Location::caller());
            let left = std::mem::take(&mut lock(&real.state).messages);
            drop(left);
        }
    }
}
