//! Permits that are given in the order in which they were asked for: what mutexes, semaphores and notifications are made of. In a check, the
//! [rules](crate::runtime) say who gets one.

use crate::future::executor::{may_block, register};
use crate::future::real;
use crate::handle::Handle;
use crate::runtime::awaits::Registration;
use crate::runtime::current;
use crate::runtime::gate::KEEPS_ONE;
use crate::runtime::op::{BLOCKS, Kind, NONE, Op};
use crate::runtime::rules::part;
use std::panic::Location;
use std::sync::Mutex;
use std::task::{Context, Poll};

/// Gives permits.
pub(super) struct Gate {
    handle: Handle,
    real: Mutex<real::Gate>,
    /// It keeps so many at most.
    most: usize,
}

/// What is kept by one who wants a permit.
pub(super) struct Ticket {
    at: &'static Location<'static>,
    /// The event in which it began to ask, where that matters; outside of a check, how often all were let through before.
    since: u64,
    /// Outside of a check, the number of one who queues.
    number: Option<u64>,
    /// The event with which it began to queue.
    queued: u32,
    registration: Registration,
}

impl Gate {
    pub fn new(what: &'static str, permits: usize, at: &'static Location<'static>) -> Self {
        Gate {
            handle: Handle::new(what, at, Some(permits as u64)),
            real: Mutex::new(real::Gate::new(permits)),
            most: usize::MAX,
        }
    }

    /// One that keeps one permit at most, and has none.
    pub fn keeps_one(what: &'static str, at: &'static Location<'static>) -> Self {
        let handle = Handle::new(what, at, Some(KEEPS_ONE));
        Gate { handle, real: Mutex::new(real::Gate::new(0)), most: 1 }
    }

    /// Of one who wants a permit.
    pub fn ticket(&self, at: &'static Location<'static>) -> Ticket {
        let (queued, registration) = (NONE, Registration::NONE);
        Ticket { at, since: u64::from(NONE), number: None, queued, registration }
    }

    /// Of one who wants a permit, and is let through with all from now on.
    pub fn ticket_from_now(&self, at: &'static Location<'static>) -> Ticket {
        let mut ticket = self.ticket(at);
        if !self.handle.is_under_control() {
            ticket.since = real::lock(&self.real).all;
        } else if let Some(runtime) = current()
            && runtime.population.names.is_tried(self.handle.object())
        {
            let object = runtime.make_part(self.handle.object(), part::ALL, "notification");
            let op = Op { kind: Kind::Load, object, argument: 0, said: 0, at };
            ticket.since = u64::from(crate::runtime::access(op).event_at_hand());
        }
        ticket
    }

    /// Takes a permit, or queues for one.
    pub fn poll(&self, ticket: &mut Ticket, cx: &Context<'_>) -> Poll<()> {
        let at = ticket.at;
        if !self.handle.is_under_control() {
            let mut real = real::lock(&self.real);
            let is_through = ticket.since != u64::from(NONE) && real.all != ticket.since;
            let is_new = ticket.number.is_none();
            return match is_new && is_through || real.acquire(&mut ticket.number, cx) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            };
        }
        let is_through = if ticket.queued == NONE {
            let granted = match self.most > 1 && may_take_turns(self.handle.object(), cx) {
                true => self.handle.access(Kind::TryAcquire, BLOCKS, at),
                false => self.handle.access(Kind::Acquire, ticket.since, at),
            };
            if granted.is_ending() || granted.succeeded() {
                return Poll::Ready(());
            }
            ticket.queued = granted.event_at_hand();
            false
        } else {
            let queued = u64::from(ticket.queued);
            ticket.registration.has_come()
                || self.handle.read(Kind::Acquired, queued, at).succeeded()
        };
        if is_through {
            ticket.registration.clear();
            ticket.queued = NONE;
            return Poll::Ready(());
        }
        register(&mut ticket.registration, ticket.queued, cx, at);
        Poll::Pending
    }

    /// Takes a permit if there is one.
    #[inline(always)]
    pub fn try_acquire(&self, at: &'static Location<'static>) -> bool {
        match self.handle.is_under_control() {
            true => self.handle.read(Kind::TryAcquire, 0, at).succeeded(),
            false => real::lock(&self.real).try_acquire(),
        }
    }

    /// Gives a permit to the first who queues, or back.
    pub fn release(&self, at: &'static Location<'static>) {
        if !self.handle.is_under_control() {
            let waker = real::lock(&self.real).release(self.most);
            waker.into_iter().for_each(std::task::Waker::wake);
        } else if current().is_some_and(|runtime| !runtime.skips(at)) {
            self.handle.access(Kind::Release, 0, at);
        }
    }

    /// Lets all through who queue.
    pub fn release_all(&self, at: &'static Location<'static>) {
        if !self.handle.is_under_control() {
            let wakers = real::lock(&self.real).release_all();
            wakers.into_iter().for_each(std::task::Waker::wake);
        } else if let Some(runtime) = current() {
            // Since when somebody wants to be let through matters now, so that has to be an event.
            runtime.population.names.try_to_take(self.handle.object());
            self.handle.access(Kind::ReleaseAll, 0, at);
        }
    }

    /// Somebody does not want a permit any more.
    pub fn leave(&self, ticket: &mut Ticket) {
        if !self.handle.is_under_control() {
            let waker = real::lock(&self.real).leave(&mut ticket.number, self.most);
            waker.into_iter().for_each(std::task::Waker::wake);
            return;
        }
        ticket.registration.clear();
        if ticket.queued != NONE && current().is_some_and(|runtime| !runtime.skips(ticket.at)) {
            self.handle.access(Kind::Leave, u64::from(ticket.queued), ticket.at);
            ticket.queued = NONE;
        }
    }
}

/// Whether the thread that runs may wait for a permit without being seen to queue. If not, nobody may: the order in which they came matters now.
pub(super) fn may_take_turns(gate: u32, cx: &Context<'_>) -> bool {
    let may_block = may_block(cx);
    let Some(runtime) = current() else { return false };
    let tail = runtime.population.names.part(gate, part::TAIL);
    if !may_block && runtime.is_plain {
        runtime.population.names.try_to_take(tail);
    }
    may_block && !runtime.population.names.is_tried(tail)
}

/// A permit that is waited for. Whoever does not want to wait any more drops it.
pub(super) struct Waiting<'a> {
    pub gate: &'a Gate,
    pub ticket: Ticket,
}

impl Waiting<'_> {
    pub fn poll(&mut self, cx: &Context<'_>) -> Poll<()> {
        self.gate.poll(&mut self.ticket, cx)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.gate.leave(&mut self.ticket);
    }
}
