//! Tasks: what they await, and when they go on.
//!
//! A task polls its future, and if that is not ready, the task stops until it is *woken*. A future of this crate that is not ready does not keep the waker. It
//! notes the event in which it found nothing, its *registration*; the task has come to its next event, [`Resume`](Kind::Resume), and can go on
//! when one of the things has come that its futures have registered for: a message was sent after all, a permit was given. That is read off the
//! [log](super::log) like everything else. So nobody has to do anything to wake a task, and registering is one event with having found nothing: no wake-up can be
//! lost. A waker that others have kept is an event, [`Wake`](Kind::Wake), and gives the task a token, of which it has one or
//! none, as real executors do.
//!
//! **What is touched.** The token is written by the task when it goes on, and read by those who wake it: they commute with each
//! other, since the token is there whoever comes first, and not with the task. If there is no token, the registrations are looked at one after the other up to the first for which
//! something has come. What is looked at is read. So if something comes that would not have been looked at, it commutes with the task's going
//! on; and whoever changes what was looked at does not.
//!
//! **Where nobody looks.** If a [program](crate::Program::plain_awaits) says that nobody can see whether a future was ready at once, a task
//! blocks in the place of its future, as a thread would, and there is nothing to register for. Those who queue for a [gate](super::gate) are not
//! seen by others then; so this is done only as long as nobody queues there who is seen.
//!
//! **What cannot be undone.** Tokens are taken by the task alone; messages that were sent, senders that are gone, permits that were given and tasks that have ended
//! stay so. So a task that cannot go on could not with fewer events.
//!
//! A registration is over once its task went on because of it; a future that still waits registers again. A future that is dropped takes its registration with
//! it. One that is polled with a waker that is not its task's own is registered by a [bell](Role::Bell): a thread that waits in its place and then
//! wakes whom it was told to.

use super::log::Entry;
use super::op::{Kind, NONE, Op};
use super::rules::{Can, Known, Look, Rules, can, part, simple};
use super::{Runtime, access, current};
use std::collections::HashMap;
use std::panic::Location;
use std::sync::Arc;
use std::task::{Wake, Waker};

/// What stands in a list for something that may come at any time.
pub(crate) const ANY_TIME: u32 = NONE - 1;

/// Why a task goes on, if not because of something that it registered for.
pub(crate) mod because {
    pub const WOKEN: u64 = u64::MAX;
    pub const ABORTED: u64 = u64::MAX - 1;
    pub const ANY_TIME: u64 = super::ANY_TIME as u64;
}

/// Lists of what tasks await, each kept once.
#[derive(Default)]
pub(crate) struct Awaited {
    lists: Vec<Box<[u32]>>,
    numbers: HashMap<Box<[u32]>, u64>,
}

impl Awaited {
    pub fn number(&mut self, list: &[u32]) -> u64 {
        if let Some(&number) = self.numbers.get(list) {
            return number;
        }
        let number = self.lists.len() as u64;
        self.lists.push(list.into());
        self.numbers.insert(list.into(), number);
        number
    }

    pub fn list(&self, number: u64) -> &[u32] {
        self.lists.get(number as usize).map_or(&[], |list| list)
    }
}

/// What a thread is to the checker.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Role {
    #[default]
    Thread,
    /// It runs a future, and may be given up while it awaits something.
    Task,
    /// It wakes somebody who is none of its own tasks.
    Bell,
}

/// A place that nobody has, and one of somebody for whom something has come.
const FREE: u32 = NONE;
const HAS_COME: u32 = NONE - 2;

/// What a thread awaits that polls a future.
#[derive(Default)]
pub(crate) struct Awaiting {
    /// What it is woken by.
    own: Option<(Arc<Token>, Waker)>,
    /// The events in which its futures found nothing. Each future keeps its place as long as it waits, so that it looks the same in each round of a loop.
    registered: Vec<u32>,
    /// Whether it has woken itself.
    pub is_woken: bool,
    /// So many look at whether what they poll is ready.
    pub watchers: u32,
    /// Its last event when it last went on without one.
    pub quiet_since: Option<u32>,
    /// Where the last of its futures was made that found nothing.
    pub at: Option<&'static Location<'static>>,
}

impl Awaiting {
    /// Of a thread that begins to poll a future.
    pub fn new(token: Arc<Token>) -> Self {
        let waker = Waker::from(Arc::clone(&token));
        Awaiting { own: Some((token, waker)), ..Awaiting::default() }
    }

    /// The object that stands for what is polled.
    pub fn object(&self) -> u32 {
        self.own.as_ref().map_or(NONE, |(token, _)| token.object)
    }

    /// What wakes the thread.
    pub fn waker(&self) -> Waker {
        self.own.as_ref().map_or(Waker::noop(), |(_, waker)| waker).clone()
    }

    /// Whether a waker wakes the thread.
    pub fn is_own(&self, waker: &Waker) -> bool {
        self.own.as_ref().is_some_and(|(_, own)| own.will_wake(waker))
    }

    /// Whether somebody else has its waker.
    pub fn can_be_woken(&self) -> bool {
        // The two that are here, and the one that it polls with.
        self.own.as_ref().is_some_and(|(token, _)| Arc::strong_count(token) > 3)
    }

    /// The events in which its futures found nothing.
    pub fn awaited(&self) -> impl Iterator<Item = u32> {
        self.registered.iter().copied().filter(|&event| event != FREE && event != HAS_COME)
    }

    /// Something has come for which a future registered with an event.
    pub fn come(&mut self, event: u32) {
        let at = self.registered.iter_mut().find(|place| **place == event);
        at.into_iter().for_each(|place| *place = HAS_COME);
    }
}

/// What a future has registered for, if it has: for what is polled, and its place there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registration {
    object: u32,
    place: u32,
}

impl Registration {
    pub const NONE: Registration = Registration { object: NONE, place: NONE };

    /// The place, if it is one of what the thread that runs polls now.
    fn place<'a>(&self, runtime: &'a mut Runtime) -> Option<&'a mut u32> {
        let awaiting = &mut runtime.running_thread().awaiting;
        let is_here = self.object != NONE && self.object == awaiting.object();
        awaiting.registered.get_mut(self.place as usize).filter(|_| is_here)
    }

    /// Whether that has come for which it was registered.
    pub fn has_come(&self) -> bool {
        let place = current().and_then(|runtime| self.place(runtime));
        place.is_some_and(|place| *place == HAS_COME)
    }

    /// Registers with an event in which nothing was found.
    pub fn set(&mut self, event: u32, at: &'static Location<'static>) {
        let Some(runtime) = current() else { return };
        runtime.running_thread().awaiting.at = Some(at);
        if let Some(place) = self.place(runtime) {
            *place = event;
            return;
        }
        let awaiting = &mut runtime.running_thread().awaiting;
        let registered = &mut awaiting.registered;
        let place = registered.iter().position(|&place| place == FREE);
        let place = place.unwrap_or(registered.len());
        registered.resize(registered.len().max(place + 1), FREE);
        registered[place] = event;
        *self = Registration { object: awaiting.object(), place: place as u32 };
    }

    /// Does not wait any more.
    pub fn clear(&mut self) {
        if let Some(place) = current().and_then(|runtime| self.place(runtime)) {
            *place = FREE;
        }
        *self = Registration::NONE;
    }
}

impl Runtime {
    /// Whether the thread that runs may block instead of finding nothing: nobody looks at that, and nobody wants it to end.
    pub fn may_block(&mut self, waker: &Waker) -> bool {
        self.is_plain && {
            let awaiting = &self.running_thread().awaiting;
            let object = awaiting.object();
            awaiting.watchers == 0
                && awaiting.is_own(waker)
                && !self.population.names.is_tried(object)
        }
    }
}

/// What wakes a thread that polls a future.
pub(crate) struct Token {
    pub epoch: u32,
    pub object: u32,
    pub at: &'static Location<'static>,
}

impl Wake for Token {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let Some(runtime) = current() else { return };
        // Nobody is there any more who could be woken.
        if runtime.epoch != self.epoch || runtime.skips(self.at) {
            return;
        }
        let awaiting = &mut runtime.running_thread().awaiting;
        let is_own = |(own, _): &(Arc<Token>, Waker)| Arc::ptr_eq(own, self);
        if awaiting.own.as_ref().is_some_and(is_own) {
            // Nobody else has to know.
            awaiting.is_woken = true;
        } else {
            access(Op { kind: Kind::Wake, object: self.object, argument: 0, said: 0, at: self.at });
        }
    }
}

impl<K: Known> Rules<'_, K> {
    pub(super) fn resume(&mut self, op: &Op) -> Look {
        let mut woken = None;
        for (_, entry) in self.cut.on(op.object) {
            match entry.op.kind {
                Kind::Resume => break,
                Kind::Abort => woken = Some(because::ABORTED),
                _ => woken = woken.or(Some(because::WOKEN)),
            }
        }
        if let Some(value) = woken {
            let footprint = self.touching.write(op.object);
            return can(Can { value, ..simple(footprint) });
        }
        let mut touched = Vec::new();
        for index in 0..self.known.awaited(op.argument).len() {
            let event = self.known.awaited(op.argument)[index];
            if event == ANY_TIME || self.has_come(event, &mut touched) {
                let footprint = self.touching.footprints.intern(&[op.object], &touched);
                return can(Can { value: u64::from(event), ..simple(footprint) });
            }
        }
        Look::Blocked
    }

    /// Whether something has come for which somebody registered with an event, and where to look for that.
    fn has_come(&mut self, event: u32, touched: &mut Vec<u32>) -> bool {
        let registered: &Entry = self.cut.entry(event);
        let object = registered.op.object;
        match registered.op.kind {
            Kind::PollReceive => {
                touched.push(self.message_place(object, registered.value));
                let (sent, _) = self.count(object, part::TAIL);
                sent > registered.value || self.is_over(object, touched)
            }
            Kind::Acquire | Kind::SendOrQueue => self.is_let_through(registered, touched),
            Kind::PollClosed => {
                let receiver = self.known.part(object, part::RECEIVER);
                touched.push(receiver);
                self.cut.on(receiver).next().is_some()
            }
            // Whether a task has ended.
            _ => {
                touched.push(object);
                self.cut.on(object).any(|(_, entry)| entry.op.kind == Kind::Store)
            }
        }
    }
}
