//! The components together: the paper's global explorer (sections 3.3 and 3.4).
//!
//! It has all skeletons that are known, each with a trace of the whole system that has it (the paper's *G*), and all branches that
//! components have met (*B*). A branch can be taken wherever all that happens before it is there: the trace is composed from the component's part of the run in which the branch was met
//! and the rest of the trace at hand, as far as it goes with that, and then goes on to its end. Traces and branches are found by the last of the component's own interface
//! events before the branch, so only those are looked at that may fit.
//!
//! A branch is taken only if what comes of it is in no skeleton that is known: prefixes of known ones are known.

mod compose;

use super::alone::Trees;
use super::counts::Counts;
use super::crew::{Crew, Next, Perform};
use super::cuts::KnownCuts;
use super::fit::{Candidate, Index, Room};
use super::interface::{Doing, Led, Parts};
use super::log::Log;
use super::partial::{Branch, End, Seen};
use super::task::{Done, Kept, Reviver, Task};
use super::verdict::{Judge, Verdicts};
use crate::engine::budget::Budget;
use crate::engine::dpor::run_of;
use crate::engine::machine::{Machine, Transition};
use crate::engine::{Found, FoundWhat};
use crate::error::Error;
use crate::outcome::{Bound, Cause};
use crate::trace::skeleton::{Event, Mark, Marks, Name, Trace, signature};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Runs are cut off here unless the options say otherwise.
pub(super) const DEFAULT_DEPTH: u64 = 1_000;

/// So often somebody looks at the clock.
const CALLS_A_PULSE: u32 = 64;

/// Properties are judged for the first time when so many skeletons are known and tasks are done.
const FIRST_JUDGEMENT: usize = 32;

/// A skeleton, and a trace that has it.
pub(super) struct Known {
    pub trace: Arc<Trace<Doing>>,
    /// Its names, sorted.
    pub names: Box<[Name]>,
    index: Arc<Index>,
    /// The trace that it was made of, with a branch.
    pub parent: Option<u32>,
    /// For each component, the signature of its local skeleton.
    pub locals: Box<[u64]>,
    /// What observers know at its end.
    pub observed: Box<[u32]>,
}

/// What is known of a local skeleton once it is explored.
#[derive(Default)]
pub(super) struct Local {
    /// How many local traces have it.
    pub traces: u128,
    pub ends: Vec<Arc<End>>,
}

#[derive(Default)]
struct Hook {
    traces: Vec<u32>,
    branches: Vec<u32>,
}

pub(super) struct Global<'a, M> {
    pub machine: &'a mut M,
    pub parts: &'a Parts,
    pub budget: &'a Budget,
    pub crew: &'a Crew<'a>,
    perform: Perform<M>,
    pub trees: Trees,
    log: Option<&'a Log>,
    max_depth: usize,
    pub start: usize,
    pub known: Vec<Known>,
    signatures: FxHashSet<u64>,
    /// The traces that have an event with this name.
    with_name: FxHashMap<Name, Vec<u32>>,
    branches: Vec<Candidate>,
    known_branches: FxHashSet<(u32, Name, u64)>,
    /// For each component and the last of its own interface events before a branch, what may fit together.
    hooks: FxHashMap<(u32, Name), Hook>,
    /// What was composed, or found to be part of a skeleton that is known.
    composed: FxHashSet<u64>,
    /// In the order in which their results are taken in; if it is not in the log, by its number in the crew.
    tasks: VecDeque<(Arc<Task>, Option<u64>)>,
    pairs: Vec<(u32, u32)>,
    /// Kept for their room.
    marks: Marks,
    room: Room,
    tasks_done: usize,
    /// How much is known when properties are next judged.
    next_judgement: usize,
    pub locals: FxHashMap<(u32, u64), Local>,
    /// For each component and its own interface events, how it may look after them, in the order in which that was learnt.
    pub looks: Vec<FxHashMap<u64, Vec<Arc<Seen>>>>,
    known_looks: FxHashSet<(u32, u64, u64, u64)>,
    /// For each view, when it was first met.
    pub ranks: FxHashMap<u32, u32>,
    pub cuts: KnownCuts,
    pub counts: Counts,
    pub verdict: Verdicts,
    pub bound: Option<Bound>,
    /// Whether something was learnt that has everything explored again.
    pub is_stale: bool,
    /// Counts looks at the clock that were wanted.
    pulse: u32,
}

/// What was found out again of what was kept.
#[derive(Default)]
struct Revived {
    ends: Vec<Arc<End>>,
    looks: Vec<Arc<Seen>>,
    branches: Vec<Arc<Branch>>,
}

/// An event that the whole system is to do, and what can be told of it if that is known.
pub(super) type Given<'g> = (&'g Doing, Option<&'g Mark>);

/// A run of the whole system.
pub(super) enum Ran {
    Whole(Trace<Doing>),
    /// Something failed, or a bound was reached.
    Over,
}

impl<'a, M: Machine> Global<'a, M> {
    pub fn new(
        machine: &'a mut M,
        parts: &'a Parts,
        budget: &'a Budget,
        (crew, log, perform): (&'a Crew<'a>, Option<&'a Log>, Perform<M>),
        start: usize,
        verdict: Verdicts,
    ) -> Self {
        let max_depth = match budget.max_depth {
            u64::MAX => DEFAULT_DEPTH,
            depth => depth,
        };
        Global {
            trees: Trees::new(machine, parts),
            machine,
            parts,
            budget,
            crew,
            perform,
            log,
            max_depth: usize::try_from(max_depth).unwrap_or(usize::MAX),
            start,
            known: Vec::new(),
            signatures: FxHashSet::default(),
            with_name: FxHashMap::default(),
            branches: Vec::new(),
            known_branches: FxHashSet::default(),
            hooks: FxHashMap::default(),
            composed: FxHashSet::default(),
            tasks: VecDeque::new(),
            pairs: Vec::new(),
            marks: Marks::default(),
            room: Room::default(),
            tasks_done: 0,
            next_judgement: FIRST_JUDGEMENT,
            locals: FxHashMap::default(),
            looks: (0..parts.len()).map(|_| FxHashMap::default()).collect(),
            known_looks: FxHashSet::default(),
            ranks: FxHashMap::default(),
            cuts: KnownCuts::default(),
            counts: Counts::default(),
            verdict,
            bound: None,
            is_stale: false,
            pulse: 0,
        }
    }

    /// Explores everything, unless something is found or a bound is reached. `call` calls others to help.
    pub fn explore(&mut self, call: &mut dyn FnMut()) -> Result<(), Error> {
        let Ran::Whole(first) = self.run(&[], true)? else { return Ok(()) };
        self.add(first, None);
        while !self.verdict.is_over() && !self.is_stale && !self.is_over() {
            if let Some((trace, branch)) = self.pairs.pop() {
                self.compose(trace, branch)?;
            } else if let Some((task, number)) = self.tasks.pop_front() {
                if self.crew.wants_others() {
                    call();
                }
                match number {
                    Some(number) => self.await_result(&task, number)?,
                    None => self.take_from_log(&task)?,
                }
                self.judge_early()?;
            } else {
                break;
            }
        }
        Ok(())
    }

    /// Judges what is known whenever that has doubled, so a violation is found soon after it can be.
    fn judge_early(&mut self) -> Result<(), Error> {
        self.tasks_done += 1;
        let size = self.known.len() + self.tasks_done;
        if size < self.next_judgement || self.verdict.is_over() || self.is_stale {
            return Ok(());
        }
        self.next_judgement = 2 * size;
        Judge::new(self, 1).judge_early()
    }

    /// Whether a bound is reached. The clock is looked at now and then.
    pub fn is_over(&mut self) -> bool {
        if !matches!(self.bound, None | Some(Bound::Depth)) {
            return true;
        }
        // Not those of tasks whose turn has not come.
        let Counts { local_traces, other_runs, compositions, .. } = self.counts;
        let runs = local_traces + other_runs + compositions;
        if runs >= self.budget.max_runs {
            self.bound = Some(Bound::Runs);
            return true;
        }
        self.pulse = self.pulse.wrapping_add(1);
        self.pulse % CALLS_A_PULSE == 1 && self.is_stopped()
    }

    /// Whether a bound is reached, now.
    pub fn is_stopped(&mut self) -> bool {
        let progress = &self.budget.progress;
        progress.runs.store(self.crew.runs.load(Relaxed), Relaxed);
        progress.depth.store(self.counts.deepest as u64, Relaxed);
        let memory = self.bytes();
        progress.memory.store(memory, Relaxed);
        let reached = self.budget.reached(0, memory);
        self.bound = reached.or(self.bound);
        reached.is_some()
    }

    /// Roughly the bytes in use.
    fn bytes(&self) -> u64 {
        let events: usize = self.known.last().map_or(0, |it| it.trace.events.len());
        let kept = self.known.len() + self.branches.len() + self.locals.len();
        let kept = kept + 8 * self.crew.ahead.load(Relaxed);
        let trees = self.trees.bytes() + self.crew.bytes();
        let all = self.machine.bytes() + trees + self.cuts.bytes();
        all + (kept * events.max(8) * 128) as u64
    }

    /// Has the whole system do this, and go on to the end if it should. What can be told of an event may be known.
    pub fn run(&mut self, given: &[Given<'_>], goes_on: bool) -> Result<Ran, Error> {
        let mut led = Led::new(&mut *self.machine, self.parts);
        led.marks = std::mem::take(&mut self.marks);
        led.restart(self.start)?;
        let mut possible: Vec<Transition> = Vec::new();
        let mut given = given.iter();
        let ran = loop {
            let (next, mark) = match given.next() {
                Some(&(doing, mark)) => {
                    let next = doing.transition(&mut *led.machine)?;
                    // What comes last is what nobody has seen there.
                    if goes_on && given.len() == 0 && led.machine.refuses(next)? {
                        break Ran::Over;
                    }
                    (next, mark)
                }
                None if !goes_on => {
                    let trace = led.trace();
                    self.marks = led.marks;
                    return Ok(Ran::Whole(trace));
                }
                None => {
                    led.machine.possible(&mut possible)?;
                    match possible.first() {
                        Some(&next) => (next, None),
                        None => break Ran::Whole(led.trace()),
                    }
                }
            };
            // What is put together from parts of runs within the bound may be longer; it is a run all the same.
            if goes_on && led.moves.len() >= self.max_depth {
                self.bound.get_or_insert(Bound::Depth);
                break Ran::Whole(led.trace());
            }
            let performed = match mark {
                None => led.perform(next)?,
                Some(mark) => led.repeat(next, mark, None)?,
            };
            self.counts.transitions += 1;
            if performed.fed {
                let Led { machine, .. } = &mut led;
                self.verdict.look_at_observers(&mut **machine)?;
            }
            if performed.failed {
                let (cause, message) = led.machine.failure()?;
                let what = match cause {
                    Cause::Panic => FoundWhat::Panic(message),
                    cause => FoundWhat::Failed(cause, message),
                };
                let len = led.machine.len();
                let run = run_of(&mut *led.machine, 0..len)?;
                self.verdict.violation = Some(Found { what, run });
                break Ran::Over;
            }
        };
        self.counts.deepest = self.counts.deepest.max(led.moves.len());
        self.marks = led.marks;
        self.is_stale |= self.machine.is_stale();
        if self.is_stale && self.verdict.violation.is_none() {
            return Ok(Ran::Over);
        }
        if let Ran::Whole(_) = ran
            && let Some((cause, message)) = self.machine.wrong_end()?
            && self.bound.is_none()
        {
            let len = self.machine.len();
            let run = run_of(&mut *self.machine, 0..len)?;
            let what = FoundWhat::Failed(cause, message);
            self.verdict.violation = Some(Found { what, run });
            return Ok(Ran::Over);
        }
        Ok(ran)
    }

    /// Adds a trace, if its skeleton is new.
    fn add(&mut self, trace: Trace<Doing>, parent: Option<u32>) {
        if !self.signatures.insert(signature(trace.skeleton())) {
            return;
        }
        let number = self.known.len() as u32;
        let mut names: Vec<Name> = trace.skeleton().collect();
        names.sort_unstable();
        for &name in &names {
            self.with_name.entry(name).or_default().push(number);
        }
        let mut locals = Vec::new();
        let mut new: Vec<(u32, u64)> = Vec::new();
        for component in 0..self.parts.len() {
            let local = signature(trace.local_skeleton(component));
            locals.push(local);
            if let Entry::Vacant(vacant) = self.locals.entry((component, local)) {
                vacant.insert(Local::default());
                new.push((component, local));
            }
            let own = trace.events.iter().filter(|event| event.mark.component == component);
            let own = own.filter_map(|event| event.mark.for_component(component));
            for name in own.chain([0]) {
                let hook = self.hooks.entry((component, name)).or_default();
                hook.traces.push(number);
                self.pairs.extend(hook.branches.iter().map(|&branch| (number, branch)));
            }
        }
        let (names, locals) = (names.into(), locals.into());
        let readings = self.machine.readings().iter().filter_map(|it| it.observer).max();
        let observers = 0..readings.map_or(0, |last| last + 1);
        let observed = observers.map(|observer| self.machine.observed(observer)).collect();
        let index = Arc::new(Index::new(&trace, self.parts.len()));
        let trace = Arc::new(trace);
        for (component, local) in new {
            let (start, told) = (self.start, Arc::clone(&trace));
            let task = Arc::new(Task { start, component, local, told });
            let is_kept = self.log.is_some_and(|log| log.has(task.key()));
            let number = (!is_kept).then(|| self.crew.give(Arc::clone(&task)));
            self.tasks.push_back((task, number));
        }
        self.known.push(Known { trace, names, index, parent, locals, observed });
    }

    /// Waits for what comes of a task, and does others meanwhile.
    fn await_result(&mut self, task: &Task, number: u64) -> Result<(), Error> {
        loop {
            match self.crew.result(number) {
                Next::Result(result) => return self.take_in(task, (*result)?),
                Next::Task(next, other) => {
                    let (crew, mate) = (self.crew, (&mut *self.machine, &mut self.trees));
                    let result = (self.perform)(crew, &other, mate, self.parts, self.budget);
                    if next == number {
                        return self.take_in(task, result?);
                    }
                    crew.put(next, result);
                }
                // Whoever is at it notices most bounds, too.
                Next::Wait if self.is_stopped() => return Ok(()),
                Next::Wait => {}
            }
        }
    }

    /// Takes in what came of a task.
    fn take_in(&mut self, task: &Task, done: Done) -> Result<(), Error> {
        self.count(&done.counts, done.bound);
        self.is_stale |= done.is_stale;
        if done.violation.is_some() {
            self.verdict.violation = done.violation;
            return Ok(());
        }
        let found = done.found;
        let known = self.locals.entry((task.component, task.local)).or_default();
        (known.traces, known.ends) = (found.traces, found.ends);
        for seen in found.looks {
            let taken = signature(seen.taken.iter().copied());
            if self.known_looks.insert((task.component, seen.own, taken, seen.key)) {
                self.add_look(task.component, seen);
            }
        }
        for branch in found.branches {
            let (name, around) = branch.identity();
            if self.known_branches.insert((task.component, name, around)) {
                self.add_branch(branch);
            }
        }
        Ok(())
    }

    /// Takes in what came of a task in another process. What is known is not looked at again.
    fn take_from_log(&mut self, task: &Task) -> Result<(), Error> {
        let kept = self.log.map(|log| log.read(task.key())).transpose()?.flatten();
        let Some(kept) = kept else {
            let what = "what came of a task is no longer in the log";
            return Err(Error::Log(what.to_owned()));
        };
        let bound = kept.is_cut.then_some(Bound::Depth);
        self.count(&kept.counts, bound);
        self.counts.resumed_traces += kept.counts.local_traces;
        let known = self.locals.entry((task.component, task.local)).or_default();
        known.traces = kept.traces;
        let Revived { ends, looks, branches } = self.revive(task, &kept)?;
        self.locals.entry((task.component, task.local)).or_default().ends = ends;
        for seen in looks {
            self.add_look(task.component, seen);
        }
        for branch in branches {
            self.add_branch(branch);
        }
        Ok(())
    }

    /// What is new of what was kept.
    fn revive(&mut self, task: &Task, kept: &Kept) -> Result<Revived, Error> {
        let component = task.component;
        let mut reviver = Reviver::new(&mut *self.machine, self.parts, task.start, component)?;
        let mut revived = Revived::default();
        for end in &kept.ends {
            revived.ends.push(Arc::new(reviver.end(kept, end)?));
        }
        for look in &kept.looks {
            if self.known_looks.insert((component, look.own, look.taken, look.key)) {
                revived.looks.push(Arc::new(reviver.seen(kept, look)?));
            }
        }
        for branch in &kept.branches {
            if self.known_branches.insert((component, branch.name, branch.around)) {
                revived.branches.push(Arc::new(reviver.branch(kept, branch)?));
            }
        }
        Ok(revived)
    }

    fn count(&mut self, counts: &Counts, bound: Option<Bound>) {
        self.counts.add(counts);
        self.bound = self.bound.or(bound);
    }

    fn add_look(&mut self, component: u32, seen: Arc<Seen>) {
        for &view in &seen.look {
            let next = self.ranks.len() as u32;
            self.ranks.entry(view).or_insert(next);
        }
        let known = self.looks[component as usize].entry(seen.own).or_default();
        // Where less has to be given it is possible, too.
        let is_for_less = |other: &Arc<Seen>| {
            other.look == seen.look
                && other.taken.iter().all(|name| seen.taken.binary_search(name).is_ok())
        };
        if !known.iter().any(is_for_less) {
            known.push(seen);
        }
    }

    /// Adds a branch that is new.
    fn add_branch(&mut self, branch: Arc<Branch>) {
        let number = self.branches.len() as u32;
        let candidate = Candidate::new(branch);
        let hook = self.hooks.entry((candidate.branch.component, candidate.hook())).or_default();
        hook.branches.push(number);
        self.pairs.extend(hook.traces.iter().map(|&trace| (trace, number)));
        self.branches.push(candidate);
    }

    /// How many skeletons there are with which some trace ends, and how many traces of the whole system the local ones cover.
    pub fn covered(&self) -> (u64, u128) {
        let add = |(skeletons, all): (u64, u128), traces: u128| {
            (skeletons + u64::from(traces > 0), all.saturating_add(traces))
        };
        self.known.iter().map(|known| self.traces_of(known)).fold((0, 0), add)
    }

    /// How many traces there are that end with a skeleton.
    pub fn traces_of(&self, known: &Known) -> u128 {
        let locals = known.locals.iter().enumerate();
        let traces = locals.map(|(component, local)| {
            self.locals.get(&(component as u32, *local)).map_or(0, |local| local.traces)
        });
        traces.fold(1, u128::saturating_mul)
    }
}

/// The name of an own interface event of a component.
pub(super) fn own_name(event: &Event<Doing>, component: u32) -> Option<Name> {
    match event.mark.component == component {
        true => event.mark.for_component(component),
        false => None,
    }
}
