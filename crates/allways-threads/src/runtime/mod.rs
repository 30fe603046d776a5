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
mod clocks;
pub(crate) mod fiber;
pub(crate) mod gate;
mod lead;
pub(crate) mod log;
pub(crate) mod names;
pub(crate) mod network;
mod objects;
pub(crate) mod op;
pub(crate) mod round;
pub(crate) mod rules;
mod thread;

use allways::machine::quietly;
use allways::{Cause, Error};
use awaits::{Awaited, Role};
use fiber::{Fiber, Job, Stop};
use log::{Cut, Log};
use names::{Names, Own, Register};
use network::Faults;
use objects::{Kept, Made, User};
use op::{Kind, NONE, Op};
use rules::{Known, Look, Rules, Touching};
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::ptr::null_mut;
use std::rc::Rc;
use std::sync::Arc;
use thread::Thread;
pub(crate) use thread::{Inside, Sleeper, Waits};

/// So often a thread may catch what ends it, before it is given up.
const MAX_CAUGHT: u32 = 1_000;

/// So often a thread may let others run without having done anything itself.
const MAX_IDLED: u32 = 10_000;

/// A process: what it is called, and what its main thread does.
pub(crate) struct Main {
    pub name: String,
    pub body: Box<dyn Fn() + Send + Sync>,
    /// Whether it is there for others: its threads may wait for ever.
    pub serves: bool,
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
    /// The thread that runs is tried out: see [`round`].
    pub trial: Option<round::Trial>,
    /// Something was tried out: the run has to be made again.
    pub is_spoilt: bool,
    /// The objects of this run, in the order in which they were made.
    pub made: Vec<u32>,
    /// The threads of scopes that have not come to their ends, by where the scopes are.
    pub scopes: Vec<(usize, u32)>,
    /// What the run has made for lazy values.
    kept: Vec<Kept>,
    /// The lazy values, and where they were then, in the order in which they were needed.
    lazies: Vec<(usize, usize)>,
    /// What belongs to the run as a whole.
    belongings: Vec<Box<dyn Any>>,
    pub faults: Faults,
    /// For each object, the clocks of those who wrote it and of those who read it, once time has passed.
    clocks: Vec<[u64; 2]>,
    has_time_passed: bool,
    /// Where the thread that runs touched something while it panicked, which is no event. Nobody else runs until it has ended, or has caught that.
    skipped: Option<&'static Location<'static>>,
    /// How often others were let run in the event at hand.
    idled: u32,
}

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
        if let Some(trial) = current().and_then(|runtime| runtime.trial.as_ref()) {
            return trial.value;
        }
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
    if runtime.is_ending || runtime.skipped.is_some() || std::thread::panicking() {
        return runtime.access_at_the_end(op.at);
    }
    // What is tried out has not happened.
    if runtime.trial.is_some() {
        return access_on_trial(&op);
    }
    if since != NONE {
        let spin = Op { kind: Kind::Spin, object: NONE, argument: u64::from(since), at: op.at };
        if !decide(spin) {
            return runtime.access_at_the_end(op.at);
        }
    }
    if !decide(op) {
        return runtime.access_at_the_end(op.at);
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

/// The same for one that is tried out.
#[cold]
fn access_on_trial(op: &Op) -> Granted {
    let known = current().and_then(|runtime| runtime.trial.as_ref()?.goes_round);
    if let Some(goes_round) = known {
        round::conclude(goes_round);
    }
    match round::read_silently(op) {
        Some((succeeded, _)) => {
            let succeeded = if succeeded { Granted::SUCCEEDED } else { 0 };
            Granted(succeeded | u64::from(NONE))
        }
        None => {
            round::conclude(false);
            Granted(Granted::SUCCEEDED | Granted::ENDING | u64::from(NONE))
        }
    }
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
    if runtime.skipped.is_some() || runtime.is_cleaning_up() {
        runtime.access_at_the_end(at);
        return false;
    }
    if runtime.trial.is_some() {
        round::conclude(false);
        return false;
    }
    let thread = runtime.running_thread();
    (thread.waits, thread.waits_at) = (waits, Some(at));
    let has_come = stop(thread.stop);
    if !has_come && let Some(runtime) = current() {
        runtime.access_at_the_end(at);
    }
    has_come
}

/// The thread that runs has done what it was to do.
fn say_end() {
    if let Some(runtime) = current() {
        runtime.refuse_to_go_on();
    }
    // What is dropped may use what was not yet.
    while let Some(local) = current().and_then(|runtime| runtime.running_thread().take_local()) {
        drop(local);
    }
    let Some(runtime) = current() else { return };
    runtime.running_thread().has_lost_locals = true;
    if runtime.population.names.is_watched(runtime.running) {
        let object = runtime.population.names.own(runtime.running, Own::End);
        let at = Location::caller();
        access(Op { kind: Kind::Store, object, argument: 0, at });
    }
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
        crate::handle::begin_to_look();
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
            trial: None,
            is_spoilt: false,
            made: Vec::new(),
            scopes: Vec::new(),
            kept: Vec::new(),
            lazies: Vec::new(),
            belongings: Vec::new(),
            faults: Faults::default(),
            clocks: Vec::new(),
            has_time_passed: false,
            skipped: None,
            idled: 0,
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

    /// An access of a thread that is to end, panics, or has caught a panic during which it did what is no event.
    #[cold]
    fn access_at_the_end(&mut self, at: &'static Location<'static>) -> Granted {
        if !self.skips(at) {
            self.refuse_to_go_on();
        }
        let thread = self.running_thread();
        // It was stopped, or has caught what ends it. If it is another one that panics, it cannot be seen whether this one has; so it is told once.
        if !std::thread::panicking() || thread.ends_inside && thread.told_to_end == 0 {
            self.end_running();
        }
        Granted(Granted::SUCCEEDED | Granted::ENDING | u64::from(NONE))
    }

    /// The thread that runs stops here for good: it ends with the run.
    pub fn give_up_here(&mut self) {
        let its = self.running_thread().stop;
        stop(its);
        if let Some(runtime) = current() {
            runtime.end_running();
        }
    }

    /// The thread that runs ends here. If it does not want to, it stops for ever.
    #[cold]
    fn end_running(&mut self) -> ! {
        let thread = self.running_thread();
        thread.told_to_end += 1;
        if thread.told_to_end > MAX_CAUGHT {
            let here = thread.stop;
            loop {
                stop(here);
            }
        }
        resume_unwind(Box::new(Ending));
    }

    /// Whether what others can see is touched without an event, since threads are ending, or the one that runs panics. If it catches that, the check
    /// cannot go on: threads do not switch while one of them panics, so nobody could have come in between.
    pub fn skips(&mut self, at: &'static Location<'static>) -> bool {
        if self.is_ending {
            return true;
        }
        if !std::thread::panicking() {
            return false;
        }
        self.skipped.get_or_insert(at);
        true
    }

    /// The same for what an event took, where giving it back is an event.
    pub fn skips_release(&mut self, taken: u32) -> bool {
        match self.log.entries.get(taken as usize) {
            Some(entry) if !self.is_ending => self.skips(entry.op.at),
            _ => self.is_cleaning_up(),
        }
    }

    /// The thread that runs has caught a panic during which it touched what others can see: the check ends here.
    #[cold]
    fn refuse_to_go_on(&mut self) {
        if self.skipped.is_some() && self.trial.is_some() {
            round::conclude(false);
        }
        if let Some(at) = self.skipped.filter(|_| !self.is_ending) {
            let name = self.thread_name(self.running);
            self.error.get_or_insert(Error::System(format!(
                "{at}: thread `{name}` went on after a panic during which it touched what others can see (it dropped a guard, a sender or the like), and that cannot be checked"
            )));
            self.end_running();
        }
    }

    /// The thread that runs lets others run. Who does that for ever, and nothing else, waits for what never comes.
    pub fn idle(&mut self, at: &'static Location<'static>) {
        if round::count(&mut self.idled, MAX_IDLED) {
            self.refuse_to_idle(at);
        }
    }

    #[cold]
    fn refuse_to_idle(&mut self, at: &'static Location<'static>) {
        self.idled = 0;
        if std::thread::panicking() {
            return;
        }
        if self.trial.is_some() {
            round::conclude(false);
        }
        if !self.is_ending {
            let name = self.thread_name(self.running);
            self.error.get_or_insert(Error::System(format!(
                "{at}: thread `{name}` goes round and round without touching anything that a check can see: time passes only where somebody waits or sleeps, and how many share an Arc of std is not seen"
            )));
        }
        self.end_running();
    }

    /// The thread that runs uses something that was made outside of the check: the check ends here.
    #[cold]
    pub fn refuse(&mut self, at: &'static Location<'static>) {
        if self.is_cleaning_up() {
            return;
        }
        if self.trial.is_some() {
            round::conclude(false);
        }
        let name = self.thread_name(self.running);
        self.error.get_or_insert(Error::System(format!(
            "{at}: thread `{name}` uses something of allways_threads that was made outside of the check, where nobody sees who comes first; make it inside of the closure that is checked"
        )));
        self.end_running();
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

    /// What an event took is given back, in the event at hand.
    #[inline]
    pub fn release(&mut self, taken: u32) {
        // What threads give back that are ended belongs to no run any more; the log is that of another.
        if self.is_ending || self.trial.is_some() {
            return;
        }
        let thread = &mut self.population.threads[self.running as usize];
        thread.inside.iter_mut().for_each(|inside| inside.lets_in = true);
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
        thread.inside.iter_mut().for_each(|inside| inside.lets_in = true);
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
        let run = || {
            match (&job, &main) {
                (Some(job), _) => job.run(),
                (None, Some(main)) => (main.body)(),
                (None, None) => {}
            }
            say_end();
        };
        let ended = quietly(|| match catch_unwind(AssertUnwindSafe(run)) {
            // If another one panics meanwhile, what that said is kept.
            Err(why) if why.is::<Ending>() && current().is_some_and(|it| it.is_ending) => {}
            Err(why) => resume_unwind(why),
            Ok(()) => {}
        });
        drop((job, main));
        let Some(runtime) = current() else { return false };
        // If it was tried out, its end, or its panic, is none of this run.
        if let Err(message) = ended
            && !round::end_trial(false)
            && !runtime.is_ending
        {
            runtime.fail(Cause::Panic, message);
            runtime.skipped = None;
        }
        round::end_trial(false);
        let Some(runtime) = current() else { return false };
        runtime.running_thread().has_ended = true;
        true
    }

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
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.end_threads();
        fiber::give_back(self.idle.drain(..));
    }
}
