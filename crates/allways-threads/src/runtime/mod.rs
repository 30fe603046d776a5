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

mod access;
pub(crate) mod awaits;
mod clocks;
mod ending;
pub(crate) mod fiber;
pub(crate) mod gate;
mod lead;
mod lessons;
pub(crate) mod log;
pub(crate) mod names;
pub(crate) mod network;
mod objects;
pub(crate) mod op;
pub(crate) mod parted;
pub(crate) mod round;
pub(crate) mod rules;
mod thread;

pub(crate) use access::{Granted, access, access_since, wait};
use allways::machine::quietly;
use allways::{Cause, Error};
use awaits::{Awaited, Role};
use ending::{Ending, say_end};
use fiber::{Fiber, Job, Stop};
use log::{Cut, Log};
use names::{Names, Own, Register};
use network::Conditions;
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
    pub conditions: Conditions,
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
            conditions: Conditions::default(),
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
        let names = &self.population.names;
        let mut past = names.thread_key(self.running);
        for event in self.frontier(self.running) {
            let sign = self.log.sign(event, &self.touching.footprints, names);
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
