//! The components together: the paper's global explorer (sections 3.3 and 3.4).
//!
//! It has all skeletons that are known, each with a trace of the whole system that has it (the paper's *G*), and all branches that
//! components have met (*B*). A branch can be taken wherever all that happens before it is there: the trace is composed from the component's part of the run in which the branch was met
//! and the rest of the trace at hand, as far as it goes with that, and then goes on to its end. Traces and branches are found by the last of the component's own interface
//! events before the branch, so only those are looked at that may fit.
//!
//! A branch is taken only if what comes of it is in no skeleton that is known: prefixes of known ones are known.

use super::crew::{Crew, Next};
use super::interface::{Doing, Led, Parts};
use super::log::Log;
use super::partial::{Branch, End, Seen};
use super::task::{Done, Kept, Reviver, Task};
use super::verdict::Verdicts;
use crate::engine::budget::Budget;
use crate::engine::dpor::run_of;
use crate::engine::machine::{Machine, Transition};
use crate::engine::{Found, FoundWhat};
use crate::error::Error;
use crate::outcome::{Bound, Cause};
use crate::trace::skeleton::{Event, Name, Trace, global_name, mix, signature};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Runs are cut off here unless the options say otherwise.
const DEFAULT_DEPTH: u64 = 1_000;

/// So often somebody looks at the clock.
const CALLS_A_PULSE: u32 = 16;

/// A skeleton, and a trace that has it.
pub(super) struct Known {
    pub trace: Arc<Trace<Doing>>,
    /// Its names, sorted.
    names: Box<[Name]>,
    /// For each component, the names of its local skeleton, sorted, and their signature.
    local_names: Vec<Box<[Name]>>,
    pub locals: Box<[u64]>,
    /// What observers know at its end.
    pub observed: Box<[u32]>,
}

/// What is known of a local skeleton once it is explored.
#[derive(Default)]
pub(super) struct Local {
    /// How many local traces have it.
    pub traces: u64,
    pub ends: Vec<End>,
}

/// Numbers for the statistics.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Counts {
    pub local_traces: u64,
    /// How many of these were in the log.
    pub resumed_traces: u64,
    pub other_runs: u64,
    pub compositions: u64,
    pub transitions: u64,
    pub deepest: usize,
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
    crew: &'a Crew<'a>,
    log: Option<&'a Log>,
    max_depth: usize,
    start: usize,
    pub known: Vec<Known>,
    signatures: FxHashSet<u64>,
    /// The traces that have an event with this name.
    with_name: FxHashMap<Name, Vec<u32>>,
    branches: Vec<Arc<Branch>>,
    known_branches: FxHashSet<(u32, Name, u64)>,
    /// For each component and the last of its own interface events before a branch, what may fit together.
    hooks: FxHashMap<(u32, Name), Hook>,
    /// What was composed, or found to be part of a skeleton that is known.
    composed: FxHashSet<u64>,
    /// In the order in which their results are taken in; if it is not in the log, by its number in the crew.
    tasks: VecDeque<(Arc<Task>, Option<u64>)>,
    pairs: Vec<(u32, u32)>,
    pub locals: FxHashMap<(u32, u64), Local>,
    /// For each component and its own interface events, how it may look after them, in the order in which that was learnt.
    pub looks: Vec<FxHashMap<u64, Vec<Seen>>>,
    known_looks: FxHashSet<(u32, u64, u64)>,
    /// For each view, when it was first met.
    pub ranks: FxHashMap<u32, u32>,
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
    ends: Vec<End>,
    looks: Vec<Seen>,
    branches: Vec<Branch>,
}

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
        (crew, log): (&'a Crew<'a>, Option<&'a Log>),
        start: usize,
        verdict: Verdicts,
    ) -> Self {
        let max_depth = match budget.max_depth {
            u64::MAX => DEFAULT_DEPTH,
            depth => depth,
        };
        Global {
            machine,
            parts,
            budget,
            crew,
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
            locals: FxHashMap::default(),
            looks: (0..parts.len()).map(|_| FxHashMap::default()).collect(),
            known_looks: FxHashSet::default(),
            ranks: FxHashMap::default(),
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
        self.add(first);
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
            } else {
                break;
            }
        }
        Ok(())
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
        self.machine.bytes() + (kept * events.max(8) * 128) as u64
    }

    /// Has the whole system do this, and go on to the end if it should.
    pub fn run(&mut self, doings: &[Doing], goes_on: bool) -> Result<Ran, Error> {
        let mut led = Led::new(&mut *self.machine, self.parts);
        led.restart(self.start)?;
        let mut possible: Vec<Transition> = Vec::new();
        let mut given = doings.iter();
        let ran = loop {
            let next = match given.next() {
                Some(doing) => doing.transition(&mut *led.machine)?,
                None if !goes_on => return Ok(Ran::Whole(led.trace())),
                None => {
                    led.machine.possible(&mut possible)?;
                    match possible.first() {
                        Some(&next) => next,
                        None => break Ran::Whole(led.trace()),
                    }
                }
            };
            // What is put together from parts of runs within the bound may be longer; it is a run all the same.
            if goes_on && led.moves.len() >= self.max_depth {
                self.bound.get_or_insert(Bound::Depth);
                break Ran::Whole(led.trace());
            }
            let performed = led.perform(next)?;
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
    fn add(&mut self, trace: Trace<Doing>) {
        if !self.signatures.insert(signature(trace.skeleton())) {
            return;
        }
        let number = self.known.len() as u32;
        let mut names: Vec<Name> = trace.skeleton().collect();
        names.sort_unstable();
        for &name in &names {
            self.with_name.entry(name).or_default().push(number);
        }
        let (mut locals, mut local_names) = (Vec::new(), Vec::new());
        let mut new: Vec<(u32, u64)> = Vec::new();
        for component in 0..self.parts.len() {
            let mut all: Vec<Name> = trace.local_skeleton(component).collect();
            all.sort_unstable();
            let local = signature(all.iter().copied());
            locals.push(local);
            local_names.push(all.into());
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
        let trace = Arc::new(trace);
        for (component, local) in new {
            let (start, told) = (self.start, Arc::clone(&trace));
            let task = Arc::new(Task { start, component, local, told });
            let is_kept = self.log.is_some_and(|log| log.has(task.key()));
            let number = (!is_kept).then(|| self.crew.give(Arc::clone(&task)));
            self.tasks.push_back((task, number));
        }
        self.known.push(Known { trace, names, local_names, locals, observed });
    }

    /// Waits for what comes of a task, and does others meanwhile.
    fn await_result(&mut self, task: &Task, number: u64) -> Result<(), Error> {
        loop {
            match self.crew.result(number) {
                Next::Result(result) => return self.take_in(task, result?),
                Next::Task(next, other) => {
                    let (machine, crew) = (&mut *self.machine, self.crew);
                    let result = crew.perform(&other, machine, self.parts, self.budget);
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
        self.count(done.transitions, done.depth, done.bound);
        self.is_stale |= done.is_stale;
        if done.violation.is_some() {
            self.verdict.violation = done.violation;
            return Ok(());
        }
        let found = done.found;
        self.counts.local_traces += found.traces;
        self.counts.other_runs += found.others;
        let known = self.locals.entry((task.component, task.local)).or_default();
        (known.traces, known.ends) = (found.traces, found.ends);
        for seen in found.looks {
            if self.known_looks.insert((task.component, seen.own, seen.key)) {
                self.add_look(task.component, seen);
            }
        }
        for branch in found.branches {
            let (name, around, last) = branch.identity();
            if self.known_branches.insert((task.component, name, around)) {
                self.add_branch(branch, last);
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
        self.count(kept.transitions, kept.depth, bound);
        self.counts.local_traces += kept.traces;
        self.counts.resumed_traces += kept.traces;
        self.counts.other_runs += kept.others;
        let known = self.locals.entry((task.component, task.local)).or_default();
        known.traces = kept.traces;
        let Revived { ends, looks, branches } = self.revive(task, &kept)?;
        self.locals.entry((task.component, task.local)).or_default().ends = ends;
        for seen in looks {
            self.add_look(task.component, seen);
        }
        for branch in branches {
            let (_, _, last) = branch.identity();
            self.add_branch(branch, last);
        }
        Ok(())
    }

    /// What is new of what was kept.
    fn revive(&mut self, task: &Task, kept: &Kept) -> Result<Revived, Error> {
        let component = task.component;
        let mut reviver = Reviver::new(&mut *self.machine, self.parts, task.start, component)?;
        let mut revived = Revived::default();
        for end in &kept.ends {
            revived.ends.push(reviver.end(kept, end)?);
        }
        for look in &kept.looks {
            if self.known_looks.insert((component, look.own, look.key)) {
                revived.looks.push(reviver.seen(kept, look)?);
            }
        }
        for branch in &kept.branches {
            if self.known_branches.insert((component, branch.name, branch.around)) {
                revived.branches.push(reviver.branch(kept, branch)?);
            }
        }
        Ok(revived)
    }

    fn count(&mut self, transitions: u64, depth: u64, bound: Option<Bound>) {
        self.counts.transitions += transitions;
        self.counts.deepest = self.counts.deepest.max(depth as usize);
        self.bound = self.bound.or(bound);
    }

    fn add_look(&mut self, component: u32, seen: Seen) {
        for &view in &seen.look {
            let next = self.ranks.len() as u32;
            self.ranks.entry(view).or_insert(next);
        }
        self.looks[component as usize].entry(seen.own).or_default().push(seen);
    }

    /// Adds a branch that is new, with the last of its component's own interface events that happen before it.
    fn add_branch(&mut self, branch: Branch, last: Option<Name>) {
        let number = self.branches.len() as u32;
        let hook = self.hooks.entry((branch.component, last.unwrap_or(0))).or_default();
        hook.branches.push(number);
        self.pairs.extend(hook.traces.iter().map(|&trace| (trace, number)));
        self.branches.push(Arc::new(branch));
    }

    /// Takes a branch where it is possible in a trace, as far as that goes with it.
    fn compose(&mut self, trace: u32, branch: u32) -> Result<(), Error> {
        let branch = Arc::clone(&self.branches[branch as usize]);
        let component = branch.component;
        let known = &self.known[trace as usize];
        let local_names = &known.local_names[component as usize];
        let has = |name: &Name| local_names.binary_search(name).is_ok();
        let is_taken = branch.step.as_ref().is_some_and(|(_, _, name)| has(name));
        if is_taken || !branch.past.iter().all(has) {
            return Ok(());
        }
        // Sorted, as all below.
        let mut names: Vec<Name> = local_names.to_vec();
        let trace = Arc::clone(&known.trace);
        // What cannot be there together is left out on both sides, and with it what comes after it.
        let (stays, other_stays) = loop {
            let other_stays = branch.trace.without(|place, event| {
                !branch.stays[place]
                    || own_name(event, component).is_some_and(|name| !is_in(&names, name))
            });
            let mut kept: Vec<Name> = (branch.trace.events.iter().zip(&other_stays))
                .filter(|(_, stays)| **stays)
                .filter_map(|(event, _)| own_name(event, component))
                .collect();
            kept.sort_unstable();
            let stays = trace.without(|_, event| {
                let Some(name) = event.mark.for_component(component) else { return false };
                match (&branch.step, event.mark.component == component) {
                    (_, true) => !is_in(&kept, name),
                    (Some((doing, ..)), false) => {
                        !branch.past.contains(&name) && doing.conflicts(&event.what)
                    }
                    (None, false) => false,
                }
            });
            let mut left: Vec<Name> = (trace.events.iter().zip(&stays))
                .filter(|(_, stays)| **stays)
                .filter_map(|(event, _)| event.mark.for_component(component))
                .collect();
            left.sort_unstable();
            let fits = kept.iter().all(|&name| is_in(&left, name));
            names = left;
            if fits {
                break (stays, other_stays);
            }
        };
        if !branch.past.iter().all(|&name| is_in(&names, name)) {
            return Ok(());
        }
        let mut wanted: Vec<Name> = (trace.events.iter().zip(&stays))
            .filter(|(event, stays)| **stays && event.mark.name != 0)
            .map(|(event, _)| event.mark.name)
            .collect();
        match &branch.step {
            Some((_, label, _)) => {
                let past = name_of_past(&trace, component, &branch.past);
                let name = global_name(component, label, past);
                wanted.push(name);
                if !self.composed.insert(signature(wanted.iter().copied())) {
                    return Ok(());
                }
                // What came last is what the fewest have.
                let has_all = |&other: &u32| {
                    let other = &self.known[other as usize].names;
                    wanted.iter().rev().all(|name| other.binary_search(name).is_ok())
                };
                if self.with_name.get(&name).is_some_and(|others| others.iter().any(has_all)) {
                    return Ok(());
                }
            }
            None => {
                // It stops if there is nothing more for it than there was.
                if names.len() != branch.past.len()
                    || self.signatures.contains(&signature(wanted.iter().copied()))
                {
                    return Ok(());
                }
            }
        }
        let composed = trace.with(&stays, component, &branch.trace, &other_stays);
        let Some(mut doings) = composed else {
            let what = "parts of traces that should fit together do not";
            return Err(Error::Internal(what.to_owned()));
        };
        doings.extend(branch.step.as_ref().map(|(doing, ..)| doing.clone()));
        self.counts.compositions += 1;
        // Where it stops, others may stop, too, or go on: that is for them to say.
        if let Ran::Whole(trace) = self.run(&doings, branch.step.is_some())? {
            // Unless the run was cut off before.
            let last = trace.events.get(doings.len().wrapping_sub(1)).map(|event| event.mark.name);
            if branch.step.is_some() && last.is_some() && last != wanted.last().copied() {
                let what =
                    "what a component could do is something else where the others have done more";
                return Err(Error::Internal(what.to_owned()));
            }
            self.add(trace);
        }
        Ok(())
    }

    /// How many skeletons there are with which some trace ends, and how many traces of the whole system the local ones cover.
    pub fn covered(&self) -> (u64, u128) {
        let of = |known: &Known| {
            let locals = known.locals.iter().enumerate();
            let traces = locals.map(|(component, local)| {
                let local = self.locals.get(&(component as u32, *local));
                u128::from(local.map_or(0, |local| local.traces))
            });
            traces.fold(1, u128::saturating_mul)
        };
        let add = |(skeletons, all): (u64, u128), traces: u128| {
            (skeletons + u64::from(traces > 0), all.saturating_add(traces))
        };
        self.known.iter().map(of).fold((0, 0), add)
    }
}

/// Whether a name is among others that are sorted.
fn is_in(names: &[Name], name: Name) -> bool {
    names.binary_search(&name).is_ok()
}

/// The name of an own interface event of a component.
pub(super) fn own_name(event: &Event<Doing>, component: u32) -> Option<Name> {
    match event.mark.component == component {
        true => event.mark.for_component(component),
        false => None,
    }
}

/// The global names of what happens before an event that comes after those that a component calls so, as one number.
fn name_of_past(trace: &Trace<Doing>, component: u32, past: &FxHashSet<Name>) -> u64 {
    let mut is_past = vec![false; trace.events.len()];
    let mut sum = 0_u64;
    for (place, event) in trace.events.iter().enumerate().rev() {
        if event.mark.for_component(component).is_some_and(|name| past.contains(&name)) {
            is_past[place] = true;
        }
        if is_past[place] {
            event.before.iter().for_each(|&before| is_past[before as usize] = true);
            if event.mark.name != 0 {
                sum = sum.wrapping_add(mix(event.mark.name));
            }
        }
    }
    sum
}
