//! The components together: the paper's global explorer (sections 3.3 and 3.4).
//!
//! It has all skeletons that are known, each with a trace of the whole system that has it (the paper's *G*), and all branches that
//! components have met (*B*). A branch can be taken wherever all that happens before it is there: the trace is composed from the component's part of the run in which the branch was met
//! and the rest of the trace at hand, as far as it goes with that, and then goes on to its end. Traces and branches are found by the last of the component's own interface
//! events before the branch, so only those are looked at that may fit.
//!
//! A branch is taken only if what comes of it is in no skeleton that is known: prefixes of known ones are known.

use super::alone::{Alone, Limits};
use super::fit::{Fit, Index, Kept, Room, add_hint};
use super::interface::{Doing, Led, Parts};
use super::partial::{Branch, Ends, Explored, Looks, Partial};
use super::verdict::{Judge, Verdicts};
use crate::engine::budget::Budget;
use crate::engine::dpor::explore::Explorer;
use crate::engine::dpor::{explore, run_of};
use crate::engine::machine::{Machine, Transition};
use crate::engine::options::Reduction;
use crate::engine::{Found, FoundWhat};
use crate::error::Error;
use crate::outcome::{Bound, Cause};
use crate::trace::order::{contains, insert, members};
use crate::trace::skeleton::{Event, Mark, Marks, Name, Trace, global_name, mix, signature};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Runs are cut off here unless the options say otherwise.
const DEFAULT_DEPTH: u64 = 1_000;

/// So many pairs of traces and branches are looked at before somebody looks at the clock.
const PAIRS_A_PULSE: u64 = 64;

/// Properties are judged for the first time when so many skeletons are known and tasks are done.
const FIRST_JUDGEMENT: usize = 32;

/// A skeleton, and a trace that has it.
pub(super) struct Known {
    pub trace: Rc<Trace<Doing>>,
    /// Its names, sorted.
    pub names: Box<[Name]>,
    index: Rc<Index>,
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
    pub traces: u64,
    pub ends: Ends,
}

/// Numbers for the statistics.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Counts {
    pub local_traces: u64,
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
    budget: &'a Budget,
    max_depth: usize,
    start: usize,
    pub known: Vec<Known>,
    signatures: FxHashSet<u64>,
    /// The traces that have an event with this name.
    with_name: FxHashMap<Name, Vec<u32>>,
    branches: Vec<Kept>,
    known_branches: FxHashSet<(u32, Name, u64)>,
    /// For each component and the last of its own interface events before a branch, what may fit together.
    hooks: FxHashMap<(u32, Name), Hook>,
    /// What was composed, or found to be part of a skeleton that is known.
    composed: FxHashSet<u64>,
    tasks: VecDeque<(u32, u32)>,
    /// What is known of components whose own steps are all ordered.
    pub alone: Vec<Option<Alone>>,
    pairs: Vec<(u32, u32)>,
    /// Kept for their room.
    marks: Marks,
    room: Room,
    tasks_done: usize,
    /// How much is known when properties are next judged.
    next_judgement: usize,
    pub locals: FxHashMap<(u32, u64), Local>,
    /// For each component.
    pub looks: Vec<Looks>,
    pub counts: Counts,
    pub verdict: Verdicts,
    pub bound: Option<Bound>,
    /// Whether something was learnt that has everything explored again.
    pub is_stale: bool,
    runs: AtomicU64,
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
        start: usize,
        verdict: Verdicts,
    ) -> Self {
        let max_depth = match budget.max_depth {
            u64::MAX => DEFAULT_DEPTH,
            depth => depth,
        };
        let alone = |(component, groups): (usize, &Vec<u32>)| match groups[..] {
            [group] if machine.is_ordered(group) => Some(Alone::new(component as u32)),
            _ => None,
        };
        Global {
            alone: parts.groups.iter().enumerate().map(alone).collect(),
            machine,
            parts,
            budget,
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
            looks: (0..parts.len()).map(|_| Looks::default()).collect(),
            counts: Counts::default(),
            verdict,
            bound: None,
            is_stale: false,
            runs: AtomicU64::new(0),
        }
    }

    /// Explores everything, unless something is found or a bound is reached.
    pub fn explore(&mut self) -> Result<(), Error> {
        let Ran::Whole(first) = self.run(&[], true)? else { return Ok(()) };
        self.add(first, None);
        let mut pairs = 0_u64;
        while !self.verdict.is_over() && !self.is_stale {
            // Most pairs do not fit, which is soon seen: not worth a look at the clock.
            if (pairs.is_multiple_of(PAIRS_A_PULSE) || self.pairs.is_empty()) && self.is_over() {
                break;
            }
            if let Some((trace, branch)) = self.pairs.pop() {
                pairs += 1;
                self.compose(trace, branch)?;
            } else if let Some((component, trace)) = self.tasks.pop_front() {
                self.explore_alone(component, trace)?;
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
        if size < self.next_judgement || self.verdict.is_over() {
            return Ok(());
        }
        self.next_judgement = 2 * size;
        Judge::new(self).judge_early()
    }

    /// Whether a bound is reached.
    pub fn is_over(&mut self) -> bool {
        let progress = &self.budget.progress;
        progress.runs.store(self.runs.load(Relaxed), Relaxed);
        progress.depth.store(self.counts.deepest as u64, Relaxed);
        let memory = self.bytes();
        progress.memory.store(memory, Relaxed);
        if !matches!(self.bound, None | Some(Bound::Depth)) {
            return true;
        }
        let runs = self.runs.load(Relaxed) + self.counts.compositions;
        let reached = match runs >= self.budget.max_runs {
            true => Some(Bound::Runs),
            false => self.budget.reached(0, memory),
        };
        self.bound = reached.or(self.bound);
        reached.is_some()
    }

    /// Roughly the bytes in use.
    fn bytes(&self) -> u64 {
        let events: usize = self.known.last().map_or(0, |it| it.trace.events.len());
        let kept = self.known.len() + self.branches.len() + self.locals.len();
        let alone: u64 = self.alone.iter().flatten().map(Alone::bytes).sum();
        self.machine.bytes() + alone + (kept * events.max(8) * 128) as u64
    }

    /// Has the whole system do this, and go on to the end if it should. What can be told of an event may be known.
    pub fn run(
        &mut self,
        given: &[(Transition, Option<&Mark>)],
        goes_on: bool,
    ) -> Result<Ran, Error> {
        let mut led = Led::new(&mut *self.machine, self.parts);
        led.marks = std::mem::take(&mut self.marks);
        led.restart(self.start)?;
        let mut possible: Vec<Transition> = Vec::new();
        let mut given = given.iter();
        let ran = loop {
            let (next, mark) = match given.next() {
                Some(&next) => next,
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
            if led.doings.len() >= self.max_depth {
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
        self.counts.deepest = self.counts.deepest.max(led.doings.len());
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
        for component in 0..self.parts.len() {
            let local = signature(trace.local_skeleton(component));
            locals.push(local);
            if let Entry::Vacant(vacant) = self.locals.entry((component, local)) {
                vacant.insert(Local::default());
                self.tasks.push_back((component, number));
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
        let index = Rc::new(Index::new(&trace, self.parts.len()));
        self.known.push(Known { trace: Rc::new(trace), names, index, parent, locals, observed });
    }

    /// A component by itself.
    fn explore_alone(&mut self, component: u32, trace: u32) -> Result<(), Error> {
        let told = Rc::clone(&self.known[trace as usize].trace);
        let local = self.known[trace as usize].locals[component as usize];
        if let Some(alone) = &mut self.alone[component as usize] {
            let Global { budget, max_depth, runs, .. } = self;
            let limits = Limits { budget, max_depth: *max_depth, runs };
            let walked =
                alone.explore(&mut *self.machine, self.parts, self.start, &told, &limits)?;
            self.counts.transitions += walked.transitions;
            self.counts.deepest = self.counts.deepest.max(walked.deepest);
            self.is_stale |= self.machine.is_stale();
            self.bound = self.bound.or(walked.bound);
            match walked.violation {
                None => self.learn(component, local, walked.found),
                violation => self.verdict.violation = violation,
            }
            return Ok(());
        }
        let partial = Partial::new(&mut *self.machine, self.parts, self.start, component, told);
        let mut explorer = Explorer::new(partial, self.budget, true);
        explorer.all_runs = Some(&self.runs);
        explore(&mut explorer, Reduction::Optimal)?;
        self.is_stale |= explorer.is_stale;
        let (findings, partial) = explorer.finish();
        let found = partial.found;
        self.counts.transitions += findings.statistics.transitions.unwrap_or(0);
        let depth = findings.statistics.depth.unwrap_or(0);
        self.counts.deepest = self.counts.deepest.max(depth as usize);
        self.bound = self.bound.or(findings.bound);
        if findings.violation.is_some() {
            self.verdict.violation = findings.violation;
            return Ok(());
        }
        self.learn(component, local, found);
        Ok(())
    }

    /// Takes in what came of the exploration of a component.
    fn learn(&mut self, component: u32, local: u64, found: Explored) {
        self.counts.local_traces += found.traces;
        self.counts.other_runs += found.others;
        let known = self.locals.entry((component, local)).or_default();
        (known.traces, known.ends) = (found.traces, found.ends);
        for (own, looks) in found.looks {
            let all = self.looks[component as usize].entry(own).or_default();
            for (look, how) in looks {
                all.entry(look).or_insert(how);
            }
        }
        for branch in found.branches {
            self.add_branch(branch);
        }
    }

    fn add_branch(&mut self, branch: Rc<Branch>) {
        let component = branch.component;
        let own = |(event, stays): (&_, &bool)| own_name(event, component).filter(|_| *stays);
        let around: Vec<Name> =
            branch.trace.events.iter().zip(&*branch.stays).filter_map(own).collect();
        let name = branch.step.as_ref().map_or(0, |(_, _, name)| *name);
        let all = match name {
            0 => branch.past.iter().copied().map(mix).fold(0, u64::wrapping_add),
            _ => signature(around.iter().copied()),
        };
        if !self.known_branches.insert((component, name, all)) {
            return;
        }
        let number = self.branches.len() as u32;
        let kept = Kept::new(branch, around);
        let hook = self.hooks.entry((component, kept.hook())).or_default();
        self.branches.push(kept);
        hook.branches.push(number);
        self.pairs.extend(hook.traces.iter().map(|&trace| (trace, number)));
    }

    /// Takes a branch where it is possible in a trace, as far as that goes with it.
    fn compose(&mut self, trace: u32, branch: u32) -> Result<(), Error> {
        let number = branch;
        let (known, kept) = (&self.known[trace as usize], &self.branches[number as usize]);
        let (index, parent) = (Rc::clone(&known.index), trace);
        let branch = Rc::clone(&kept.branch);
        let component = branch.component;
        if !index.has_past_of(kept, &mut self.room) {
            return Ok(());
        }
        let trace = Rc::clone(&known.trace);
        let fit = index.fit(&trace, kept, self.machine.footprints(), &mut self.room);
        let other_stays = match fit {
            Fit::No => return Ok(()),
            Fit::Whole => None,
            Fit::Part => {
                let (stays, other_stays) = self.fit_in_part(&trace, &branch);
                if self.room.past.iter().zip(&stays).any(|(past, stays)| past & !stays != 0) {
                    return Ok(());
                }
                self.room.stays = stays;
                Some(other_stays)
            }
        };
        let kept = &self.branches[number as usize];
        let Room { past, stays, .. } = &self.room;
        let mut all = index.signature(stays);
        match &branch.step {
            Some((_, label, _)) => {
                let name = global_name(component, label, index.signature(past));
                all = all.wrapping_add(mix(name));
                if !self.composed.insert(all) || self.is_part_of_known(&trace, stays, name) {
                    return Ok(());
                }
            }
            None => {
                // It stops if there is nothing more for it than there was.
                if !index.concerns_just(component, stays, kept) || self.signatures.contains(&all) {
                    return Ok(());
                }
            }
        }
        let stays: Vec<bool> =
            (0..trace.events.len()).map(|event| contains(stays, event)).collect();
        let other_stays = other_stays.as_deref().unwrap_or(&branch.stays);
        let Some(merged) = trace.merged(&stays, component, &branch.trace, other_stays) else {
            let what = "parts of traces that should fit together do not";
            return Err(Error::Internal(what.to_owned()));
        };
        // What can be told of an event is told by its name for the component, whose part the other trace is.
        let mark = |event: &'_ Event<Doing>| {
            let name = event.mark.for_component(component)?;
            index.place(component, name).map(|place| &trace.events[place].mark)
        };
        let event = |&(is_other, place): &(bool, usize)| match is_other {
            false => (trace.events[place].what.transition, Some(&trace.events[place].mark)),
            true => {
                let event = &branch.trace.events[place];
                let mark = if event.mark.name == 0 { Some(&event.mark) } else { mark(event) };
                (event.what.transition, mark)
            }
        };
        let mut given: Vec<(Transition, Option<&Mark>)> = merged.iter().map(event).collect();
        given.extend(branch.step.as_ref().map(|(doing, ..)| (doing.transition, None)));
        self.counts.compositions += 1;
        // Where it stops, others may stop, too, or go on: that is for them to say.
        if let Ran::Whole(trace) = self.run(&given, branch.step.is_some())? {
            self.add(trace, Some(parent));
        }
        Ok(())
    }

    /// What is left of a trace and a branch if what cannot be there together is left out on both sides, and with it what comes after it.
    fn fit_in_part(&self, trace: &Trace<Doing>, branch: &Branch) -> (Vec<u64>, Box<[bool]>) {
        let component = branch.component;
        let mut names: FxHashSet<Name> = trace.local_skeleton(component).collect();
        loop {
            let other_stays = branch.trace.without(|place, event| {
                !branch.stays[place]
                    || own_name(event, component).is_some_and(|name| !names.contains(&name))
            });
            let kept: FxHashSet<Name> = (branch.trace.events.iter().zip(&other_stays))
                .filter(|(_, stays)| **stays)
                .filter_map(|(event, _)| own_name(event, component))
                .collect();
            let footprints = self.machine.footprints();
            let stays = trace.without(|_, event| {
                let Some(name) = event.mark.for_component(component) else { return false };
                match (&branch.step, event.mark.component == component) {
                    (_, true) => !kept.contains(&name),
                    (Some((doing, ..)), false) => {
                        !branch.past.contains(&name)
                            && footprints.conflict(doing.footprint, event.what.footprint)
                    }
                    (None, false) => false,
                }
            });
            let left: FxHashSet<Name> = (trace.events.iter().zip(&stays))
                .filter(|(_, stays)| **stays)
                .filter_map(|(event, _)| event.mark.for_component(component))
                .collect();
            if kept.is_subset(&left) {
                let mut bits = vec![0; trace.events.len() / 64 + 1];
                let staying = stays.iter().enumerate().filter(|(_, stays)| **stays);
                staying.for_each(|(event, _)| insert(&mut bits, event));
                return (bits, other_stays.into());
            }
            names = left;
        }
    }

    /// Whether some events of a trace, with one more that has this name, are part of a skeleton that is known.
    fn is_part_of_known(&self, trace: &Trace<Doing>, events: &[u64], name: Name) -> bool {
        let Some(others) = self.with_name.get(&name) else { return false };
        let names =
            || members(events).map(|event| trace.events[event].mark.name).filter(|&name| name != 0);
        let mut hints = [0; 4];
        names().for_each(|name| add_hint(&mut hints, name));
        let wanted: Vec<Name> = names().collect();
        // What came last is what the fewest have.
        let has_all = |&other: &u32| {
            let Known { index, names, .. } = &self.known[other as usize];
            let has = |name| names.binary_search(name).is_ok();
            index.may_have(&hints) && wanted.iter().rev().all(has)
        };
        others.iter().any(has_all)
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

/// The name of an own interface event of a component.
pub(super) fn own_name(event: &Event<Doing>, component: u32) -> Option<Name> {
    match event.mark.component == component {
        true => event.mark.for_component(component),
        false => None,
    }
}
