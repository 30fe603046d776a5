//! A thread of a run.

use super::fiber::{Fiber, Job, Stop};
use super::op::{NONE, Op};
use super::round::Rounds;
use std::any::Any;
use std::panic::Location;
use std::rc::Rc;

/// What a thread waits for that is nobody's decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Waits {
    Nothing,
    /// The end of a thread.
    Thread(u32),
    /// A notification: the event with which it began to wait.
    Notified(u32),
    /// The last one to arrive at a barrier.
    Barrier {
        object: u32,
        last: u64,
    },
    /// A message to be received.
    Received {
        channel: u32,
        number: u64,
    },
}

/// A thread, as far as it is there.
pub(crate) struct Thread {
    /// Whether it is one of this run.
    pub is_present: bool,
    pub has_ended: bool,
    pub parent: u32,
    pub process: u32,
    pub name: Option<String>,
    pub spawned_at: Option<&'static Location<'static>>,
    /// The events that it has come after since its last one: what it waited for; what it took to spawn it.
    pub came_after: Vec<u32>,
    pub waits: Waits,
    pub waits_at: Option<&'static Location<'static>>,
    /// How many threads it has spawned, and how many objects it has made.
    pub children: u32,
    pub objects: u32,
    /// Whether somebody waited for its end.
    pub is_joined: bool,
    /// What it has read lately.
    pub rounds: Rounds,
    /// What it is about to do.
    pub pending: Option<Op>,
    /// What it keeps for itself, by the address of its key.
    pub locals: Vec<(usize, Box<dyn Any>)>,
    pub has_lost_locals: bool,
    /// In nanoseconds.
    pub clock: u64,
    /// What it does, until it begins; none for the main thread of a process.
    pub job: Option<Rc<dyn Job>>,
    pub has_begun: bool,
    /// What it runs on, until it has ended.
    pub fiber: Option<Box<Fiber>>,
    /// What stops it.
    pub stop: Stop,
}

impl Default for Thread {
    fn default() -> Self {
        Thread {
            is_present: false,
            has_ended: false,
            parent: NONE,
            process: 0,
            name: None,
            spawned_at: None,
            came_after: Vec::new(),
            waits: Waits::Nothing,
            waits_at: None,
            children: 0,
            objects: 0,
            is_joined: false,
            rounds: Rounds::default(),
            pending: None,
            locals: Vec::new(),
            has_lost_locals: false,
            clock: 0,
            job: None,
            has_begun: false,
            fiber: None,
            stop: Stop::NOWHERE,
        }
    }
}

impl Thread {
    /// Is spawned by an event.
    pub fn begin(
        &mut self,
        parent: u32,
        process: u32,
        name: Option<String>,
        came_after: &[u32],
        fiber: Box<Fiber>,
        job: Option<Rc<dyn Job>>,
    ) {
        self.is_present = true;
        (self.parent, self.process, self.name) = (parent, process, name);
        self.came_after.extend_from_slice(came_after);
        (self.fiber, self.job) = (Some(fiber), job);
    }

    /// Is none of this run any more.
    pub fn forget(&mut self) {
        debug_assert!(self.fiber.is_none(), "a thread that is forgotten has ended");
        (self.is_present, self.has_begun, self.has_ended) = (false, false, false);
        self.is_joined = false;
        (self.children, self.objects, self.clock) = (0, 0, 0);
        self.has_lost_locals = false;
        (self.pending, self.waits, self.name) = (None, Waits::Nothing, None);
        self.came_after.clear();
        self.rounds.clear();
        self.locals.clear();
    }
}
