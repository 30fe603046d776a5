//! The threads of a run, on one thread of the operating system.
//!
//! Each thread is a coroutine with a stack of its own. It runs until it is about to access something shared, says
//! [what](op::Op) that is and stops; whoever [leads](crate::machine) the run lets it go on. What it does until then is its own
//! business and takes part in the event that let it go on; a thread that is spawned runs to its first access
//! in the same event. A run is repeated by starting again and letting the same threads go on in the same order.
//!
//! # Safety
//!
//! [`current`] points to the runtime that is running threads on this thread of the operating system, from
//! [`enter`] to its end. Threads and the one who leads them never run at the same time, and neither keeps a reference into the runtime
//! while the other runs: references are made from the pointer in functions that neither switch nor call user code.

pub(crate) mod awaits;
pub(crate) mod fiber;
pub(crate) mod gate;
pub(crate) mod log;
pub(crate) mod names;
pub(crate) mod network;
pub(crate) mod op;
pub(crate) mod round;
pub(crate) mod rules;
mod thread;

use allways::machine::quietly;
use allways::{Cause, Error};
use awaits::{Awaited, Role};
use fiber::{Fiber, Job, Stop};
use log::{Cut, Entry, Log};
use names::{Names, Own, Register, Site};
use network::{Called, Faults};
use op::{Kind, NONE, Op};
use rules::{Can, Known, Look, Rules, Touching};
use std::any::Any;
use std::cell::Cell;
use std::panic::{Location, resume_unwind};
use std::ptr::null_mut;
use std::rc::Rc;
use std::sync::Arc;
use thread::Thread;
pub(crate) use thread::{Sleeper, Waits};

/// So often a thread may catch what ends it, before it is given up.
const MAX_CAUGHT: u32 = 1_000;

/// A process: what it is called, and what its main thread does.
pub(crate) struct Main {
    pub name: String,
    pub body: Box<dyn Fn() + Send + Sync>,
    /// Whether it is there for others: its threads may wait for ever.
    pub serves: bool,
}

/// What is known of an object in this run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Made {
    pub what: &'static str,
    pub at: Option<&'static Location<'static>>,
    pub initial: Option<u64>,
    /// Of a channel: its senders.
    pub senders: Vec<User>,
    /// Those who may receive from it, if there may be several of them.
    pub receivers: Vec<User>,
    pub called: Option<Called>,
}

/// One of several who use a channel: what stands for it, and the events that it took to make it.
///
/// They are in the order of their lines: each after the one that it is a copy of. So as long as one is there, the first that is
/// there stays the same when others are made, and what order others are in says nothing about when they came.
#[derive(Clone, Debug)]
pub(crate) struct User {
    pub own: u32,
    pub made_after: Vec<u32>,
    /// The first of those that it is a copy of, the copy of that, and so on, to itself.
    line: Vec<u32>,
}

/// Threads and objects.
pub(crate) struct Population {
    pub names: Names,
    pub threads: Vec<Thread>,
    pub made: Vec<Made>,
    pub awaited: Awaited,
}

impl Known for Population {
    fn initial(&self, object: u32) -> Option<u64> {
        self.made.get(object as usize)?.initial
    }

    fn is_tried(&self, object: u32) -> bool {
        self.names.is_tried(object)
    }

    fn part(&mut self, object: u32, part: u64) -> u32 {
        self.names.part(object, part)
    }

    fn senders(&self, channel: u32) -> &[User] {
        self.made.get(channel as usize).map_or(&[], |made| &made.senders)
    }

    fn receivers(&self, channel: u32) -> &[User] {
        self.made.get(channel as usize).map_or(&[], |made| &made.receivers)
    }

    fn awaited(&self, list: u64) -> &[u32] {
        self.awaited.list(list)
    }
}

/// All threads of a system, and the run that they have made.
pub(crate) struct Runtime {
    mains: Arc<[Arc<Main>]>,
    /// Counts runs: what was made in another one is not of this one.
    pub epoch: u32,
    pub population: Population,
    pub log: Log,
    pub touching: Touching,
    /// The threads of this run, in the order in which they came.
    pub present: Vec<u32>,
    /// Those that go on in the event at hand: they have not begun, or what they waited for has come.
    ready: Vec<u32>,
    /// The one that runs.
    running: u32,
    /// The event in which it runs.
    event: u32,
    alternative: u32,
    /// Whether the run is over, and its threads are to end.
    is_ending: bool,
    /// What went wrong in the run.
    pub failure: Option<(Cause, String)>,
    /// The thread that ran then.
    pub failed: u32,
    /// What keeps the check from going on.
    pub error: Option<Error>,
    #[allow(clippy::vec_box, reason = "they must stay where they are")]
    idle: Vec<Box<Fiber>>,
    stack_size: usize,
    /// Whether nobody looks at whether a future is ready.
    pub is_plain: bool,
    /// How many events of the log have happened to the threads.
    lived: usize,
    /// Whether what happens has happened before.
    is_repeating: bool,
    /// The objects of this run, in the order in which they were made.
    pub made: Vec<u32>,
    /// The threads of scopes that have not come to their ends, by where the scopes are.
    pub scopes: Vec<(usize, u32)>,
    /// What the run has made for places that outlive it.
    kept: Vec<Kept>,
    /// The places of lazy values, in the order in which they were needed.
    lazies: Vec<usize>,
    /// What belongs to the run as a whole.
    belongings: Vec<Box<dyn Any>>,
    pub faults: Faults,
    /// For each object, the clocks of those who wrote it and of those who read it, once time has passed.
    clocks: Vec<[u64; 2]>,
    has_time_passed: bool,
}

/// How something is dropped.
type Free = unsafe fn(*mut ());

/// What a run has made for a place: where, what, and how it is dropped.
type Kept = (usize, *mut (), unsafe fn(*mut ()));

thread_local! {
    static CURRENT: Cell<*mut Runtime> = const { Cell::new(null_mut()) };
}

/// The runtime whose thread is running, if one is.
#[inline]
pub(crate) fn current() -> Option<&'static mut Runtime> {
    // Safety: see above. Callers use the reference up before anything switches.
    unsafe { CURRENT.get().as_mut() }
}

/// What a thread that goes on is told: the event that this is, and what was decided. It leaves nothing on the stack that would be different in the
/// next round of a loop that only reads: it fits into a register, and does not name the event of one that has only read.
#[derive(Clone, Copy)]
pub(crate) struct Granted(u64);

impl Granted {
    const SUCCEEDED: u64 = 1 << 63;
    const ENDING: u64 = 1 << 62;

    /// The event; [`NONE`] if the thread is to end, or has only read.
    pub fn event(self) -> u32 {
        self.0 as u32
    }

    /// The event, also if it has only read, as long as it is the one at hand; [`NONE`] if the thread is to end.
    pub fn event_at_hand(self) -> u32 {
        match current() {
            Some(runtime) if !self.is_ending() => runtime.event,
            _ => NONE,
        }
    }

    /// Which of the alternatives it is.
    pub fn alternative(self) -> u32 {
        (self.0 >> 32) as u32 & (u32::MAX >> 2)
    }

    /// Whether the thread got what it wanted.
    pub fn succeeded(self) -> bool {
        self.0 & Self::SUCCEEDED != 0
    }

    /// Whether the thread is to end, and is cleaning up: nothing was decided.
    pub fn is_ending(self) -> bool {
        self.0 & Self::ENDING != 0
    }

    /// Which message, arrival and the like it is about.
    pub fn value(self) -> u64 {
        let event = if self.event() == NONE { self.event_at_hand() } else { self.event() };
        let entry = current().and_then(|runtime| runtime.log.entries.get(event as usize));
        entry.map_or(0, |entry| entry.value)
    }
}

/// Why a thread ends that has not come to its end.
struct Ending;

/// A thread is about to do something, and goes on when it may.
pub(crate) fn access(op: Op) -> Granted {
    access_since(op, NONE)
}

/// The same for one that has gone round [since](round::since) an event.
pub(crate) fn access_since(op: Op, since: u32) -> Granted {
    let Some(runtime) = current() else { outside(&op) };
    if runtime.is_ending || std::thread::panicking() {
        return runtime.access_at_the_end();
    }
    if since != NONE {
        let spin = Op { kind: Kind::Spin, object: NONE, argument: u64::from(since), at: op.at };
        if !decide(spin) {
            return runtime.access_at_the_end();
        }
    }
    if !decide(op) {
        return runtime.access_at_the_end();
    }
    let Some(runtime) = current() else { outside(&op) };
    let entry = &runtime.log.entries[runtime.event as usize];
    let thread = &mut runtime.population.threads[runtime.running as usize];
    let only_reads = thread.rounds.note(runtime.event, entry, &runtime.touching.footprints);
    let succeeded = if entry.succeeded { Granted::SUCCEEDED } else { 0 };
    let has_nothing = only_reads && (entry.op.kind == Kind::Load || !entry.succeeded);
    let event = if has_nothing { NONE } else { runtime.event };
    Granted(succeeded | u64::from(runtime.alternative) << 32 | u64::from(event))
}

/// The thread that runs is about to do something: says whether it has, or is to end.
#[inline]
fn decide(op: Op) -> bool {
    let Some(runtime) = current() else { return false };
    if !runtime.goes_straight_on(&op) {
        let thread = &mut runtime.population.threads[runtime.running as usize];
        thread.pending = Some(op);
        return stop(thread.stop);
    }
    true
}

/// The thread that runs stops, and goes on some time; says whether it does so to live.
#[inline]
fn stop(stop: Stop) -> bool {
    // Safety: it is that of the thread that runs.
    unsafe { stop.stop() };
    current().is_some_and(|runtime| !runtime.is_ending)
}

/// The thread that runs waits for something that is no decision: it goes on in the event with which that comes. Says whether it has come; it has
/// not if the thread is to end.
pub(crate) fn wait(waits: Waits, at: &'static Location<'static>) -> bool {
    let Some(runtime) = current() else { return false };
    if runtime.is_cleaning_up() {
        runtime.access_at_the_end();
        return false;
    }
    let thread = runtime.running_thread();
    (thread.waits, thread.waits_at) = (waits, Some(at));
    let has_come = stop(thread.stop);
    if !has_come && let Some(runtime) = current() {
        runtime.access_at_the_end();
    }
    has_come
}

#[cold]
fn outside(op: &Op) -> ! {
    let at = op.at;
    panic!(
        "{at}: something that was made in a check is used by a thread that the check does not control"
    )
}

impl Runtime {
    pub fn new(mains: Arc<[Arc<Main>]>, stack_size: usize, register: Arc<Register>) -> Self {
        Runtime {
            mains,
            epoch: 0,
            population: Population {
                names: Names::new(register),
                threads: Vec::new(),
                made: Vec::new(),
                awaited: Awaited::default(),
            },
            log: Log::default(),
            touching: Touching::default(),
            present: Vec::new(),
            ready: Vec::new(),
            running: NONE,
            event: NONE,
            alternative: 0,
            is_ending: false,
            failure: None,
            failed: NONE,
            error: None,
            idle: Vec::new(),
            stack_size,
            is_plain: false,
            lived: usize::MAX,
            is_repeating: false,
            made: Vec::new(),
            scopes: Vec::new(),
            kept: Vec::new(),
            lazies: Vec::new(),
            belongings: Vec::new(),
            faults: Faults::default(),
            clocks: Vec::new(),
            has_time_passed: false,
        }
    }

    /// What is decided by the rules in the state that the run without these events leads to.
    pub fn rules<'a>(&'a mut self, without: &'a [u32]) -> Rules<'a, Population> {
        Rules {
            cut: Cut { log: &self.log, without },
            known: &mut self.population,
            touching: &mut self.touching,
        }
    }

    /// What a thread is about to do.
    pub fn pending(&self, thread: u32) -> Option<Op> {
        let thread = &self.population.threads[thread as usize];
        thread.pending.filter(|_| !thread.has_ended)
    }

    /// Whether and how a thread can go on now.
    pub fn look(&mut self, thread: u32) -> Option<Look> {
        let op = self.pending(thread)?;
        Some(self.rules(&[]).look(thread, &op))
    }

    /// A process of the system.
    pub fn process(&self, process: u32) -> &Main {
        &self.mains[process as usize]
    }

    /// All events that a thread has come after, of which none happens before another of them but by others.
    pub fn frontier(&self, thread: u32) -> Vec<u32> {
        let mut all = self.population.threads[thread as usize].came_after.clone();
        let last = self.lived_by(thread);
        all.extend(Some(last).filter(|&last| last != NONE));
        all
    }

    /// The last event of a thread that has happened. While a run is repeated, later ones are known.
    pub fn lived_by(&self, thread: u32) -> u32 {
        let mut event = self.log.last_of(thread);
        while event != NONE && event as usize >= self.lived {
            event = self.log.entries[event as usize].step_before;
        }
        event
    }

    // What threads do while they run.

    /// A number that stands for all that has happened to the thread that runs.
    pub fn past(&mut self) -> u64 {
        let mut past = u64::from(self.running);
        for event in self.frontier(self.running) {
            let sign = self.log.sign(event, &self.touching.footprints);
            past = past.wrapping_add(log::mix(sign));
        }
        past
    }

    /// While a run is repeated: whether the thread that runs was held here, and since which event; [`NONE`] if not.
    pub fn next_spin(&self, at: &'static Location<'static>) -> Option<u32> {
        if !self.is_repeating {
            return None;
        }
        let mut rest = self.log.entries[self.lived..].iter();
        let next = rest.find(|entry| entry.thread == self.running)?;
        let spins = next.op.kind == Kind::Spin && std::ptr::eq(next.op.at, at);
        Some(if spins { next.op.argument as u32 } else { NONE })
    }

    /// Whether the thread that runs does what is next in a run that is repeated: then it need not stop.
    #[inline]
    fn goes_straight_on(&mut self, op: &Op) -> bool {
        if !self.is_repeating || !self.ready.is_empty() {
            return false;
        }
        let Some(entry) = self.log.entries.get(self.lived) else { return false };
        if entry.thread != self.running || !entry.op.is_same(op) || self.event_wakes() {
            return false;
        }
        self.begin_event(entry.thread, entry.alternative);
        true
    }

    /// Whether somebody may have waited for the event at hand.
    fn event_wakes(&self) -> bool {
        let kind = |event: u32| self.log.entries.get(event as usize).map(|entry| entry.op.kind);
        kind(self.event).is_some_and(Kind::may_wake)
    }

    /// An access of a thread that is to end, or panics.
    #[cold]
    fn access_at_the_end(&mut self) -> Granted {
        if !std::thread::panicking() {
            // It was stopped, or has caught what ends it.
            resume_unwind(Box::new(Ending));
        }
        Granted(Granted::SUCCEEDED | Granted::ENDING | u64::from(NONE))
    }

    /// Whether threads are ending, or the one that runs panics.
    pub fn is_cleaning_up(&self) -> bool {
        self.is_ending || std::thread::panicking()
    }

    /// The thread that runs.
    pub fn running(&self) -> u32 {
        self.running
    }

    pub fn running_thread(&mut self) -> &mut Thread {
        &mut self.population.threads[self.running as usize]
    }

    /// A new object of the thread that runs.
    #[inline]
    pub fn make(
        &mut self,
        what: &'static str,
        at: &'static Location<'static>,
        initial: Option<u64>,
    ) -> u32 {
        let thread = &mut self.population.threads[self.running as usize];
        let index = thread.objects;
        thread.objects += 1;
        let object = self.population.names.object(self.running, index);
        if object as usize >= self.population.made.len() {
            self.population.made.resize(object as usize + 1, Made::default());
        }
        let made = &mut self.population.made[object as usize];
        made.what = what;
        made.at = Some(at);
        made.initial = initial;
        made.senders.clear();
        made.receivers.clear();
        made.called = None;
        self.made.push(object);
        object
    }

    /// A part of an object of this run that has a name of its own.
    pub fn make_part(&mut self, object: u32, part: u64, what: &'static str) -> u32 {
        let at = self.population.made[object as usize].at;
        let part = self.population.names.part(object, part);
        if part as usize >= self.population.made.len() {
            self.population.made.resize(part as usize + 1, Made::default());
        }
        let made = &mut self.population.made[part as usize];
        (made.what, made.at) = (what, at);
        part
    }

    /// A new sender of a channel, and the one that it is a copy of.
    pub fn add_sender(&mut self, channel: u32, sender: u32, of: Option<u32>) {
        let made_after = self.frontier(self.running);
        add_user(&mut self.population.made[channel as usize].senders, sender, made_after, of);
    }

    /// Another one who may receive from a channel, and the one that it is a copy of.
    pub fn add_receiver(&mut self, channel: u32, receiver: u32, of: Option<u32>) {
        let made_after = self.frontier(self.running);
        add_user(&mut self.population.made[channel as usize].receivers, receiver, made_after, of);
    }

    /// The value of an atomic after the event at hand.
    #[inline]
    pub fn report(&mut self, value: u64) {
        if self.is_ending {
            return;
        }
        if let Some(entry) = self.log.entries.get_mut(self.event as usize) {
            if self.is_repeating && entry.value != value {
                let difference = format!(
                    "once it left {} in an atomic, and {value} when the same run was repeated",
                    entry.value
                );
                self.diverge(difference);
                return;
            }
            entry.value = value;
        }
    }

    /// Another object in place of one that was changed without an event, since nobody else has it.
    pub fn remake(&mut self, object: u32) -> u32 {
        let Made { what, at, .. } = self.population.made[object as usize];
        self.make(what, at.unwrap_or_else(|| Location::caller()), None)
    }

    /// What an event took is given back, in the event at hand.
    #[inline]
    pub fn release(&mut self, taken: u32) {
        // What threads give back that are ended belongs to no run any more; the log is that of another.
        if self.is_ending {
            return;
        }
        let thread = &self.population.threads[self.running as usize];
        if self.has_time_passed {
            // Whoever takes it comes after that.
            let last = self.lived_by(self.running);
            let clock = &mut self.log.entries[last as usize].clock;
            *clock = thread.clock.max(*clock);
        }
        if self.is_repeating {
            return;
        }
        let last = self.log.last_of(self.running);
        self.log.release(taken, last, &thread.came_after, self.event);
    }

    /// Whether a thread has ended. If so, what comes next in the one that runs comes after that.
    pub fn join(&mut self, thread: u32) -> bool {
        if !self.population.threads[thread as usize].has_ended {
            return false;
        }
        let last = self.lived_by(thread);
        let joined = &mut self.population.threads[thread as usize];
        joined.is_joined = true;
        let clock = joined.clock;
        let theirs = std::mem::take(&mut joined.came_after);
        let running = self.running_thread();
        running.rounds.clear();
        running.clock = running.clock.max(clock);
        let came_after = &mut running.came_after;
        came_after.extend_from_slice(&theirs);
        came_after.extend(Some(last).filter(|&last| last != NONE));
        self.population.threads[thread as usize].came_after = theirs;
        true
    }

    /// Whether the thread that runs has had no event since this one of its own.
    pub fn is_still_in(&self, event: u32) -> bool {
        self.lived_by(self.running) == event
            && self.population.threads[self.running as usize].came_after.is_empty()
    }

    /// The object that stands for a lazy value at a place, and which of all it is that have this object.
    ///
    /// If all of them outlive the run, each has its own. Otherwise they have one in common, since the place says nothing in another run.
    pub fn lazy(&mut self, place: usize, at: &'static Location<'static>) -> (u32, u64) {
        let which = self.lazies.iter().position(|&other| other == place);
        let which = which.unwrap_or_else(|| {
            self.lazies.push(place);
            self.lazies.len() - 1
        });
        match self.population.names.lazies() {
            Some(object) => (self.made_as(object, "lazy value", at), which as u64),
            None => (self.made_at(Site::Static(place), "lazy value", at), 0),
        }
    }

    /// A lazy value does not outlive the run: what was kept for it, if it was made, and what drops that.
    pub fn drop_lazy(&mut self, place: usize) -> Option<(*mut (), Free)> {
        let which = self.lazies.iter().position(|&other| other == place)?;
        self.population.names.move_lazies();
        // There is nothing at this place now, and another one may come to it.
        self.lazies[which] = 0;
        let kept = self.kept.iter().position(|(other, ..)| *other == place)?;
        let (_, value, free) = self.kept.swap_remove(kept);
        let is_broken = self.is_ending && (self.failure.is_some() || self.error.is_some());
        (!is_broken).then_some((value, free))
    }

    /// The object at a place that outlives the run.
    pub fn made_at(
        &mut self,
        site: Site,
        what: &'static str,
        at: &'static Location<'static>,
    ) -> u32 {
        let object = self.population.names.placed(site);
        self.made_as(object, what, at)
    }

    fn made_as(&mut self, object: u32, what: &'static str, at: &'static Location<'static>) -> u32 {
        if object as usize >= self.population.made.len() {
            self.population.made.resize(object as usize + 1, Made::default());
        }
        let made = &mut self.population.made[object as usize];
        made.what = what;
        made.at.get_or_insert(at);
        object
    }

    /// Keeps a value for a place until the run is over.
    ///
    /// # Safety
    ///
    /// `free` must be able to drop it.
    pub unsafe fn keep(&mut self, place: usize, value: *mut (), free: unsafe fn(*mut ())) {
        self.kept.push((place, value, free));
    }

    /// What was kept for a place.
    pub fn kept(&self, place: usize) -> Option<*mut ()> {
        self.kept.iter().find(|(other, ..)| *other == place).map(|(_, value, _)| *value)
    }

    fn free_kept(&mut self, is_broken: bool) {
        self.belongings.clear();
        for (_, value, free) in std::mem::take(&mut self.kept) {
            if !is_broken {
                // Safety: whoever kept it said so.
                unsafe { free(value) };
            }
        }
    }

    /// Where an object was made.
    pub fn made_where(&self, object: u32) -> &'static Location<'static> {
        let made = self.population.made.get(object as usize).and_then(|made| made.at);
        made.unwrap_or_else(|| Location::caller())
    }

    /// Whether a thread has ended.
    pub fn has_ended(&mut self, thread: u32) -> bool {
        let object = self.population.names.own(thread, Own::End);
        self.is_stored(object)
    }

    /// Whether something was stored in an object.
    pub fn is_stored(&self, object: u32) -> bool {
        let event = self.log.last_on(object);
        let happened = |event: u32| event != NONE && (event as usize) < self.lived;
        let mut event = event;
        while event != NONE
            && (!happened(event) || self.log.entries[event as usize].op.kind != Kind::Store)
        {
            event = self.log.entries[event as usize].before;
        }
        event != NONE
    }

    /// The time of the thread that runs.
    pub fn time(&self) -> std::time::Duration {
        let nanos = self.population.threads[self.running as usize].clock;
        std::time::Duration::from_nanos(nanos)
    }

    /// Time passes for the thread that runs.
    pub fn pass(&mut self, duration: std::time::Duration) {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.has_time_passed |= nanos > 0;
        let clock = &mut self.running_thread().clock;
        *clock = clock.saturating_add(nanos);
    }

    /// A thread has done something with these objects: its clock is not behind what happened before.
    fn tick(&mut self, thread: u32, footprint: allways::machine::Footprint) {
        let Runtime { clocks, touching, population, log, .. } = self;
        let thread = &mut population.threads[thread as usize];
        let footprints = &touching.footprints;
        let mut clock = thread.clock;
        for &event in log.needs(self.event as usize) {
            clock = clock.max(log.entries[event as usize].clock);
        }
        for &object in footprints.writes(footprint) {
            let [written, read] = clock_of(clocks, object);
            clock = clock.max(*written).max(*read);
        }
        for &object in footprints.reads(footprint) {
            clock = clock.max(clock_of(clocks, object)[0]);
        }
        for &object in footprints.writes(footprint) {
            clock_of(clocks, object)[0] = clock;
        }
        for &object in footprints.reads(footprint) {
            let read = &mut clock_of(clocks, object)[1];
            *read = (*read).max(clock);
        }
        thread.clock = clock;
        log.entries[self.event as usize].clock = clock;
    }

    /// A thread is about to go whose stack others need: it ends first.
    pub fn end_now(&mut self, thread: u32) {
        let is_broken = self.failure.is_some() || self.error.is_some();
        self.end_thread(thread, is_broken);
    }

    /// Something went wrong in the thread that runs.
    pub fn fail(&mut self, cause: Cause, message: String) {
        if self.failure.is_none() {
            self.failure = Some((cause, message));
            self.failed = self.running;
        }
    }

    /// Spawns a thread.
    pub fn spawn(
        &mut self,
        name: Option<String>,
        at: &'static Location<'static>,
        job: Rc<dyn Job>,
    ) -> u32 {
        let parent = self.running;
        let thread = &mut self.population.threads[parent as usize];
        // Whoever does so is not where it was.
        thread.rounds.clear();
        let (index, process) = (thread.children, thread.process);
        thread.children += 1;
        let child = self.population.names.child(parent, index);
        let came_after = self.frontier(parent);
        self.create(child, (parent, process), name, &came_after, Some(job));
        let clock = self.population.threads[parent as usize].clock;
        let spawned = &mut self.population.threads[child as usize];
        (spawned.spawned_at, spawned.clock) = (Some(at), clock);
        child
    }

    /// Runs a thread on the fiber that runs, to its end; says whether there was one.
    pub fn run_thread(&mut self, stop: Stop) -> bool {
        let thread = self.running_thread();
        if !thread.is_present || thread.has_begun {
            return false;
        }
        (thread.stop, thread.has_begun) = (stop, true);
        let job = thread.job.take();
        let process = thread.process as usize;
        let main = job.is_none().then(|| Arc::clone(&self.mains[process]));
        let ended = quietly(|| {
            match (&job, &main) {
                (Some(job), _) => job.run(),
                (None, Some(main)) => (main.body)(),
                (None, None) => {}
            }
            if let Some(runtime) = current() {
                runtime.say_end();
            }
        });
        drop((job, main));
        let Some(runtime) = current() else { return false };
        if let Err(message) = ended
            && !runtime.is_ending
        {
            runtime.fail(Cause::Panic, message);
        }
        runtime.running_thread().has_ended = true;
        true
    }

    /// The thread that runs has done what it was to do.
    fn say_end(&mut self) {
        let thread = self.running_thread();
        let locals = std::mem::take(&mut thread.locals);
        thread.has_lost_locals = true;
        drop(locals);
        let Some(runtime) = current() else { return };
        if runtime.population.names.is_watched(runtime.running) {
            let object = runtime.population.names.own(runtime.running, Own::End);
            let at = Location::caller();
            access(Op { kind: Kind::Store, object, argument: 0, at });
        }
    }

    fn create(
        &mut self,
        number: u32,
        (parent, process): (u32, u32),
        name: Option<String>,
        came_after: &[u32],
        job: Option<Rc<dyn Job>>,
    ) {
        let threads = &mut self.population.threads;
        while threads.len() <= number as usize {
            threads.push(Thread::default());
        }
        let fiber = match self.idle.pop() {
            Some(fiber) => fiber,
            None => match fiber::take(self.stack_size) {
                Ok(fiber) => fiber,
                Err(error) => {
                    let why = format!("there is no room for the stack of a thread: {error}");
                    self.error.get_or_insert(Error::System(why));
                    return;
                }
            },
        };
        threads[number as usize].begin(parent, process, name, came_after, fiber, job);
        self.present.push(number);
        self.ready.push(number);
    }

    // What the one who leads the threads does.

    /// Gives up the run and starts again. Its events stay in the log, to be repeated.
    fn start_again(&mut self) {
        self.end_threads();
        for number in self.present.drain(..) {
            self.population.threads[number as usize].forget();
        }
        self.epoch += 1;
        self.made.clear();
        self.scopes.clear();
        self.lazies.clear();
        self.clocks.clear();
        self.has_time_passed = false;
        (self.event, self.lived) = (NONE, 0);
        self.failure = None;
        for process in 0..self.mains.len() {
            let number = self.population.names.root(process);
            self.create(number, (NONE, process as u32), None, &[], None);
        }
        self.run_ready();
    }

    /// Forgets all but the first so many events.
    pub fn go_back(&mut self, len: usize) {
        if len < self.log.len() {
            self.log.truncate(len);
            if self.lived > len {
                self.lived = usize::MAX;
            }
        }
    }

    /// The threads have to live through the run again, also if nothing has happened in it.
    pub fn give_up(&mut self) {
        self.lived = usize::MAX;
    }

    /// Lets the threads live through the run, unless they have.
    pub fn live(&mut self) -> Result<(), Error> {
        if self.lived == self.log.len() {
            return Ok(());
        }
        if self.lived > self.log.len() {
            self.start_again();
        }
        self.is_repeating = true;
        while self.lived < self.log.len() && self.error.is_none() {
            let Entry { thread, alternative, op, .. } = self.log.entries[self.lived];
            match self.pending_of(thread) {
                Some(pending) if pending.is_same(&op) => self.go_on(thread, alternative),
                other => self.diverged(thread, &op, other),
            }
        }
        self.is_repeating = false;
        self.error.clone().map_or(Ok(()), Err)
    }

    fn pending_of(&self, thread: u32) -> Option<Op> {
        let thread = self.population.threads.get(thread as usize)?;
        thread.pending.filter(|_| thread.is_present && !thread.has_ended)
    }

    /// Lets a thread do what it is about to do, as the rules have it.
    pub fn perform(&mut self, thread: u32, alternative: u32, op: &Op, can: &Can) {
        let linked = self.rules(&[]).linked(op);
        let event = self.log.len() as u32;
        let mut value = can.value;
        match op.kind {
            Kind::Unlock | Kind::EndRead | Kind::EndWrite | Kind::Wait | Kind::OnceDone => {
                self.log.release(op.argument as u32, event, &[], event);
            }
            Kind::WokenOrLate if !can.succeeds => {
                self.log.release(op.argument as u32, event, &[], event);
            }
            Kind::NotifyOne | Kind::NotifyAll => {
                let waiting = self.rules(&[]).waiting(op.object);
                value = waiting.get(alternative as usize).map_or(u64::MAX, |&w| u64::from(w));
                for (index, waited) in waiting.into_iter().enumerate() {
                    if op.kind == Kind::NotifyAll || index == alternative as usize {
                        self.log.release(waited, event, &[], event);
                    }
                }
            }
            Kind::Release | Kind::ReleaseAll | Kind::Leave | Kind::PollReceive => {
                for queued in self.rules(&[]).let_through(op, can.succeeds) {
                    self.log.release(queued, event, &[], event);
                }
            }
            _ => {}
        }
        let entry = Entry {
            thread,
            alternative,
            op: *op,
            footprint: can.footprint,
            linked,
            before: NONE,
            step_before: NONE,
            needs: 0,
            came_after: 0,
            released: NONE,
            released_more: (0, 0),
            value,
            clock: 0,
            succeeded: can.succeeds,
        };
        let came_after = &self.population.threads[thread as usize].came_after;
        self.log.push(entry, came_after, can.needs);
        if can.taken != NONE {
            let taken = self.log.entries[can.taken as usize];
            if taken.released_more.0 != taken.released_more.1 {
                let more = self.log.released_more(&taken).to_vec();
                self.log.need(&more);
            }
        }
        self.go_on(thread, alternative);
    }

    /// The next event of the log is one of this thread.
    #[inline]
    fn begin_event(&mut self, thread: u32, alternative: u32) {
        self.event = self.lived as u32;
        self.alternative = alternative;
        self.lived += 1;
        if self.has_time_passed {
            self.tick(thread, self.log.entries[self.event as usize].footprint);
        }
        self.population.threads[thread as usize].came_after.clear();
    }

    /// Lets a thread go on with the next event of the log, and if the run is repeated, with those that follow.
    fn go_on(&mut self, thread: u32, alternative: u32) {
        self.begin_event(thread, alternative);
        self.resume(thread);
        if self.event_wakes() {
            self.wake();
        }
        self.run_ready();
    }

    /// Lets those go on who have waited for the event at hand.
    fn wake(&mut self) {
        let event = self.event;
        let entry = self.log.entries[event as usize];
        for index in 0..self.present.len() {
            let number = self.present[index];
            let has_come = match self.population.threads[number as usize].waits {
                Waits::Notified(waited) => self.log.entries[waited as usize].released == event,
                Waits::Barrier { object, last } => {
                    entry.op.kind == Kind::Arrive
                        && entry.op.object == object
                        && entry.value == last
                }
                Waits::Received { channel, number } => {
                    entry.op.object == channel
                        && match entry.op.kind {
                            Kind::DropReceiver => true,
                            Kind::Receive | Kind::TryReceive | Kind::ReceiveOrLate => {
                                entry.succeeded && entry.value == number
                            }
                            _ => false,
                        }
                }
                Waits::Nothing | Waits::Thread(_) | Waits::Task(_) => false,
            };
            if has_come {
                let thread = &mut self.population.threads[number as usize];
                thread.waits = Waits::Nothing;
                thread.came_after.push(event);
                thread.clock = thread.clock.max(entry.clock);
                self.ready.push(number);
            }
        }
    }

    fn run_ready(&mut self) {
        let mut next = 0;
        while next < self.ready.len() && self.failure.is_none() {
            let thread = self.ready[next];
            next += 1;
            self.resume(thread);
        }
        self.ready.clear();
    }

    /// A thread has ended: those who wait for that go on.
    fn wake_joiners(&mut self, ended: u32) {
        for index in 0..self.present.len() {
            let number = self.present[index];
            let thread = &mut self.population.threads[number as usize];
            if matches!(thread.waits, Waits::Thread(other) | Waits::Task(other) if other == ended) {
                thread.waits = Waits::Nothing;
                self.ready.push(number);
            }
        }
    }

    /// Lets a thread run until it stops.
    fn resume(&mut self, number: u32) {
        let thread = &mut self.population.threads[number as usize];
        let Some(fiber) = &mut thread.fiber else { return };
        let fiber: *mut Fiber = &raw mut **fiber;
        thread.pending = None;
        let outer = std::mem::replace(&mut self.running, number);
        let this: *mut Runtime = self;
        let before = CURRENT.replace(this);
        // Safety: fibers are boxed, and that of a thread that runs is not dropped.
        unsafe { Fiber::resume(fiber) };
        CURRENT.set(before);
        // Safety: the threads have stopped, and `this` is `self`.
        let this = unsafe { &mut *this };
        this.running = outer;
        let thread = &mut this.population.threads[number as usize];
        if thread.has_ended {
            this.idle.extend(thread.fiber.take());
            if !this.is_ending {
                this.wake_joiners(number);
            }
        }
    }

    /// Ends all threads of a run that is given up.
    fn end_threads(&mut self) {
        self.ready.clear();
        let is_broken = self.failure.is_some() || self.error.is_some();
        self.is_ending = true;
        for index in 0..self.present.len() {
            let number = self.present[index];
            self.end_thread(number, is_broken);
        }
        self.free_kept(is_broken);
        self.is_ending = false;
    }

    /// Ends a thread: what it has on its stack is dropped, unless the run went wrong.
    fn end_thread(&mut self, number: u32, is_broken: bool) {
        for _ in 0..MAX_CAUGHT {
            let thread = &mut self.population.threads[number as usize];
            if thread.fiber.is_none() || !thread.has_begun || is_broken {
                break;
            }
            self.resume(number);
        }
        let thread = &mut self.population.threads[number as usize];
        let has_begun = thread.has_begun;
        match thread.fiber.take() {
            // What is on the stack is never used again, and never dropped.
            Some(fiber) if has_begun => self.idle.push(fiber.abandon()),
            fiber => self.idle.extend(fiber),
        }
        self.population.threads[number as usize].job = None;
    }

    /// While threads are ending, one of them needs what another one has: that one ends first.
    pub fn end_holder(&mut self, object: u32) {
        let taken = |entry: &&Entry| entry.op.object == object && entry.released == NONE;
        let holder = self.log.entries.iter().rev().find(taken).map(|entry| entry.thread);
        if let Some(holder) = holder.filter(|&holder| holder != self.running) {
            self.end_thread(holder, false);
        }
    }

    // What threads hide from the checker.

    #[cold]
    fn diverged(&mut self, thread: u32, before: &Op, now: Option<Op>) {
        let what = |op: &Op| format!("{:?} at {}", op.kind, op.at);
        let now = now.map_or_else(|| "nothing more".to_owned(), |op| what(&op));
        let difference =
            format!("once it did {}, and {now} when the same run was repeated", what(before));
        self.running = thread;
        self.diverge(difference);
        self.running = NONE;
    }

    #[cold]
    fn diverge(&mut self, difference: String) {
        let name = self.thread_name(self.running);
        self.error.get_or_insert(Error::System(format!(
            "thread `{name}` is not deterministic: {difference}; does it use a clock, random numbers or threads that are not allways_threads', or something that outlives a run?"
        )));
    }

    // Names.

    /// What a thread is called.
    pub fn thread_name(&self, number: u32) -> String {
        let Some(thread) = self.population.threads.get(number as usize) else {
            return format!("thread {number}");
        };
        let process = &self.mains[thread.process as usize].name;
        let alone = self.mains.len() == 1;
        let own = match (&thread.name, thread.parent) {
            (Some(name), _) => name.clone(),
            (None, NONE) if !alone => return process.clone(),
            (None, NONE) => "main".to_owned(),
            (None, _) => match thread.role {
                Role::Thread => format!("thread {number}"),
                Role::Task => format!("task {number}"),
                Role::Bell => format!("waker {number}"),
            },
        };
        if alone { own } else { format!("{process}/{own}") }
    }

    /// What an object is called: what it is, and where it was made; which one, if several were made there.
    pub fn object_name(&self, object: u32) -> String {
        let (only, one_of_many) = self.object_names(object);
        let alone = only.filter(|_| self.alike(object).nth(1).is_none());
        alone.unwrap_or(one_of_many)
    }

    /// What an object is called if it is the only one that was made there, if it was the first, and what it is called otherwise.
    pub fn object_names(&self, object: u32) -> (Option<String>, String) {
        let made = self.population.made.get(object as usize);
        if let Some(Made { what, called: Some(called), .. }) = made {
            return (None, self.called(what, called));
        }
        let Some(Made { what, at: Some(at), .. }) = made else {
            return (None, format!("object {object}"));
        };
        let place = crate::words::place(at);
        let only = format!("the {what} of {place}");
        match self.alike(object).position(|other| other == object) {
            None => (None, only),
            Some(which) => ((which == 0).then_some(only), format!("{what} {which} of {place}")),
        }
    }

    /// What is made where an object is made, in the order in which it was.
    fn alike(&self, object: u32) -> impl Iterator<Item = u32> + '_ {
        let made = &self.population.made;
        let it = made.get(object as usize).and_then(|made| Some((made.what, made.at?)));
        let is_alike = move |&other: &u32| {
            it.is_some_and(|(what, at)| {
                let other = &made[other as usize];
                let here = |it: &Location<'_>| (it.file(), it.line()) == (at.file(), at.line());
                other.at.is_some_and(here) && other.what == what
            })
        };
        self.made.iter().copied().filter(is_alike)
    }
}

fn add_user(users: &mut Vec<User>, own: u32, made_after: Vec<u32>, of: Option<u32>) {
    let original = users.iter().find(|user| Some(user.own) == of);
    let mut line = original.map_or_else(Vec::new, |user| user.line.clone());
    line.push(own);
    let place = users.partition_point(|user| user.line < line);
    users.insert(place, User { own, made_after, line });
}

/// The clocks of an object.
fn clock_of(clocks: &mut Vec<[u64; 2]>, object: u32) -> &mut [u64; 2] {
    let object = object as usize;
    if object >= clocks.len() {
        clocks.resize(object + 1, [0; 2]);
    }
    &mut clocks[object]
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.end_threads();
        fiber::give_back(self.idle.drain(..));
    }
}
