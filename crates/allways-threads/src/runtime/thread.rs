//! A thread of a run.

use super::awaits::{Awaiting, Role};
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
    /// The end of a task, which is awaited.
    Task(u32),
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

/// A future that waits for some time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sleeper {
    /// Until then, in nanoseconds.
    pub until: u64,
    /// Whether its task is to be woken.
    pub is_awaited: bool,
}

/// An access to a cell that is not over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inside {
    pub op: Op,
    /// Whether the thread has given something back meanwhile, or spawned another.
    pub lets_in: bool,
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
    /// The cells that it accesses, which others must not access meanwhile.
    pub inside: Vec<Inside>,
    /// What it keeps for itself, by the address of its key.
    pub locals: Vec<(usize, Box<dyn Any>)>,
    /// The keys of those that have to be dropped, in the order in which they were made, and of those that were.
    pub droppable: Vec<usize>,
    pub dropped: Vec<usize>,
    pub has_lost_locals: bool,
    /// In nanoseconds.
    pub clock: u64,
    pub role: Role,
    /// What stands for the task that it is, and for its end.
    pub task: Option<[u32; 2]>,
    /// What it awaits, if it polls a future.
    pub awaiting: Awaiting,
    /// The futures that wait for some time. Each keeps its place as long as it waits.
    pub sleepers: Vec<Option<Sleeper>>,
    /// What it does, until it begins; none for the main thread of a process.
    pub job: Option<Rc<dyn Job>>,
    pub has_begun: bool,
    /// What it runs on, until it has ended.
    pub fiber: Option<Box<Fiber>>,
    /// What stops it.
    pub stop: Stop,
    /// Whether it runs, or has resumed another one that does.
    pub runs: bool,
    /// Whether another one panics while it ends.
    pub ends_inside: bool,
    /// How often it was told to end.
    pub told_to_end: u32,
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
            inside: Vec::new(),
            locals: Vec::new(),
            droppable: Vec::new(),
            dropped: Vec::new(),
            has_lost_locals: false,
            clock: 0,
            role: Role::Thread,
            task: None,
            awaiting: Awaiting::default(),
            sleepers: Vec::new(),
            job: None,
            has_begun: false,
            fiber: None,
            stop: Stop::NOWHERE,
            runs: false,
            ends_inside: false,
            told_to_end: 0,
        }
    }
}

impl Thread {
    /// Keeps a value for itself.
    pub fn keep_local<T: 'static>(&mut self, key: usize, value: Box<T>) {
        if std::mem::needs_drop::<T>() {
            self.droppable.push(key);
        }
        self.locals.push((key, value));
    }

    /// The value that is to be dropped next: as in `std`, the last one that was made. It cannot be accessed any more, while all others can,
    /// and those that are made meanwhile come next.
    pub fn take_local(&mut self) -> Option<Box<dyn Any>> {
        let key = self.droppable.pop()?;
        let place = self.locals.iter().position(|(other, _)| *other == key)?;
        self.dropped.push(key);
        Some(self.locals.remove(place).1)
    }

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

    /// A place for a future that waits.
    pub fn add_sleeper(&mut self, sleeper: Sleeper) -> usize {
        let free = self.sleepers.iter().position(Option::is_none);
        let place = free.unwrap_or(self.sleepers.len());
        self.sleepers.resize(self.sleepers.len().max(place + 1), None);
        self.sleepers[place] = Some(sleeper);
        place
    }

    /// When the first of those who wait for some time is to be woken.
    pub fn wakes(&self) -> Option<u64> {
        let awaited = self.sleepers.iter().flatten().filter(|sleeper| sleeper.is_awaited);
        awaited.map(|sleeper| sleeper.until).min()
    }

    /// Those are woken whose time has come.
    pub fn wake_sleepers(&mut self) {
        let clock = self.clock;
        let has_come = |sleeper: &&mut Sleeper| sleeper.until <= clock;
        let due = self.sleepers.iter_mut().flatten().filter(has_come);
        due.for_each(|sleeper| sleeper.is_awaited = false);
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
        self.inside.clear();
        self.locals.clear();
        self.droppable.clear();
        self.dropped.clear();
        (self.role, self.task, self.awaiting) = (Role::Thread, None, Awaiting::default());
        self.sleepers.clear();
        (self.ends_inside, self.told_to_end) = (false, 0);
    }
}
