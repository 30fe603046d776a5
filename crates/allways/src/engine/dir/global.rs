//! The components together: the paper's global explorer (sections 3.3 and 3.4).
//!
//! It has all skeletons that are known, each with a trace of the whole system that has it (the paper's *G*), and all branches that
//! components have met (*B*). A branch can be taken wherever all that happens before it is there: the trace is composed from the component's part of the run in which the branch was met
//! and the rest of the trace at hand, as far as it goes with that, and then goes on to its end. Traces and branches are found by the last of the component's own interface
//! events before the branch, so only those are looked at that may fit.
//!
//! A branch is taken only if what comes of it is in no skeleton that is known: prefixes of known ones are known.

use super::interface::{Doing, Led, Parts};
use super::nested::{Alone, ExploreAlone, Shared, Task};
use super::partial::{Branch, Ends, Explored, Looks};
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
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

/// Runs are cut off here unless the options say otherwise.
const DEFAULT_DEPTH: u64 = 1_000;

/// A skeleton, and a trace that has it.
pub(super) struct Known {
    pub trace: Rc<Trace<Doing>>,
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
    pub traces: u128,
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
    /// The local skeletons that were explored, and skeletons within components.
    pub local_skeletons: u64,
    pub inner_skeletons: u64,
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        self.local_traces += other.local_traces;
        self.other_runs += other.other_runs;
        self.compositions += other.compositions;
        self.transitions += other.transitions;
        self.deepest = self.deepest.max(other.deepest);
        self.local_skeletons += other.local_skeletons;
        self.inner_skeletons += other.inner_skeletons;
    }
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
    pub start: usize,
    pub known: Vec<Known>,
    signatures: FxHashSet<u64>,
    /// The traces that have an event with this name.
    with_name: FxHashMap<Name, Vec<u32>>,
    branches: Vec<Rc<Branch>>,
    known_branches: FxHashSet<(u32, Name, u64)>,
    /// For each component and the last of its own interface events before a branch, what may fit together.
    hooks: FxHashMap<(u32, Name), Hook>,
    /// What was composed, or found to be part of a skeleton that is known.
    composed: FxHashSet<u64>,
    tasks: VecDeque<(u32, u32)>,
    pairs: Vec<(u32, u32)>,
    pub locals: FxHashMap<(u32, u64), Local>,
    /// For each component.
    pub looks: Vec<Looks>,
    pub counts: Counts,
    pub verdict: Verdicts,
    pub bound: Option<Bound>,
    alone: ExploreAlone<M>,
    shared: Rc<Shared>,
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
        alone: ExploreAlone<M>,
        shared: Rc<Shared>,
    ) -> Self {
        let max_depth = match budget.max_depth {
            u64::MAX => DEFAULT_DEPTH,
            depth => depth,
        };
        Global {
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
            locals: FxHashMap::default(),
            looks: (0..parts.len()).map(|_| Looks::default()).collect(),
            counts: Counts::default(),
            verdict,
            bound: None,
            alone,
            shared,
        }
    }

    /// Explores everything, unless something is found or a bound is reached.
    pub fn explore(&mut self) -> Result<(), Error> {
        let Ran::Whole(first) = self.run(&[], true)? else { return Ok(()) };
        self.add(first);
        while !self.verdict.is_over() && !self.is_over() {
            if let Some((trace, branch)) = self.pairs.pop() {
                self.compose(trace, branch)?;
            } else if let Some((component, trace)) = self.tasks.pop_front() {
                self.explore_alone(component, trace)?;
            } else {
                break;
            }
        }
        Ok(())
    }

    /// Whether a bound is reached.
    pub fn is_over(&mut self) -> bool {
        let progress = &self.budget.progress;
        progress.runs.store(self.shared.runs.load(Relaxed), Relaxed);
        progress.depth.store(self.counts.deepest as u64, Relaxed);
        let memory = self.bytes();
        progress.memory.store(memory, Relaxed);
        if !matches!(self.bound, None | Some(Bound::Depth)) {
            return true;
        }
        let runs = self.shared.runs.load(Relaxed) + self.shared.compositions.get();
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
                Some(doing) => {
                    let is_last = goes_on && given.len() == 0;
                    if is_last && led.machine.refuses(doing.transition)? {
                        break Ran::Over;
                    }
                    doing.transition
                }
                None if !goes_on => return Ok(Ran::Whole(led.trace())),
                None => {
                    led.machine.possible(&mut possible)?;
                    match possible.first() {
                        Some(&next) => next,
                        None => break Ran::Whole(led.trace()),
                    }
                }
            };
            if led.doings.len() >= self.max_depth {
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
        self.counts.deepest = self.counts.deepest.max(led.doings.len());
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
        for component in 0..self.parts.len() {
            let mut all: Vec<Name> = trace.local_skeleton(component).collect();
            all.sort_unstable();
            let local = signature(all.iter().copied());
            locals.push(local);
            local_names.push(all.into());
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
        self.known.push(Known { trace: Rc::new(trace), names, local_names, locals, observed });
    }

    /// A component by itself.
    fn explore_alone(&mut self, component: u32, trace: u32) -> Result<(), Error> {
        let told = Rc::clone(&self.known[trace as usize].trace);
        let local = self.known[trace as usize].locals[component as usize];
        let task = Task {
            parts: self.parts,
            start: self.start,
            component,
            told,
            budget: self.budget,
            shared: &self.shared,
        };
        let Alone { found, counts, bound, violation } = (self.alone)(&mut *self.machine, &task)?;
        self.counts.add(&counts);
        self.bound = self.bound.or(bound);
        if violation.is_some() {
            self.verdict.violation = violation;
            return Ok(());
        }
        self.learn(component, local, &found);
        Ok(())
    }

    /// Takes in what came of the exploration of a component.
    fn learn(&mut self, component: u32, local: u64, found: &Explored) {
        let known = self.locals.entry((component, local)).or_default();
        (known.traces, known.ends) = (found.traces, found.ends.clone());
        for (own, looks) in &found.looks {
            let all = self.looks[component as usize].entry(*own).or_default();
            for (look, how) in looks {
                if !all.contains_key(look) {
                    all.insert(look.clone(), how.clone());
                }
            }
        }
        for branch in &found.branches {
            self.add_branch(Rc::clone(branch));
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
        let last = around.iter().rev().find(|name| branch.past.contains(name)).copied();
        let number = self.branches.len() as u32;
        self.branches.push(branch);
        let hook = self.hooks.entry((component, last.unwrap_or(0))).or_default();
        hook.branches.push(number);
        self.pairs.extend(hook.traces.iter().map(|&trace| (trace, number)));
    }

    /// Takes a branch where it is possible in a trace, as far as that goes with it.
    fn compose(&mut self, trace: u32, branch: u32) -> Result<(), Error> {
        let branch = Rc::clone(&self.branches[branch as usize]);
        let component = branch.component;
        let known = &self.known[trace as usize];
        let local_names = &known.local_names[component as usize];
        let has = |name: &Name| local_names.binary_search(name).is_ok();
        let is_taken = branch.step.as_ref().is_some_and(|(_, _, name)| has(name));
        if is_taken || !branch.past.iter().all(has) {
            return Ok(());
        }
        let mut names: FxHashSet<Name> = local_names.iter().copied().collect();
        let trace = Rc::clone(&known.trace);
        // What cannot be there together is left out on both sides, and with it what comes after it.
        let (stays, other_stays) = loop {
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
            let fits = kept.is_subset(&left);
            names = left;
            if fits {
                break (stays, other_stays);
            }
        };
        if !branch.past.iter().all(|name| names.contains(name)) {
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
                let concerns = (trace.events.iter().zip(&stays))
                    .filter(|(_, stays)| **stays)
                    .filter_map(|(event, _)| event.mark.for_component(component));
                let concerns: FxHashSet<Name> = concerns.collect();
                if concerns != branch.past
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
        doings.extend(branch.step.as_ref().map(|(doing, ..)| *doing));
        self.counts.compositions += 1;
        self.shared.compositions.set(self.shared.compositions.get() + 1);
        // Where it stops, others may stop, too, or go on: that is for them to say.
        if let Ran::Whole(trace) = self.run(&doings, branch.step.is_some())? {
            self.add(trace);
        }
        Ok(())
    }

    /// How many skeletons there are with which some trace ends, and how many traces of the whole system the local ones cover.
    pub fn covered(&self) -> (u64, u128) {
        let add = |(skeletons, all): (u64, u128), traces: u128| {
            (skeletons + u64::from(traces > 0), all.saturating_add(traces))
        };
        (0..self.known.len()).map(|known| self.traces_of(known)).fold((0, 0), add)
    }

    /// How many traces there are that end with a skeleton.
    pub fn traces_of(&self, known: usize) -> u128 {
        let locals = self.known[known].locals.iter().enumerate();
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
