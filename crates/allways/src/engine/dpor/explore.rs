//! What all reductions share: a machine that is led along runs, happens-before and properties that follow it,
//! bounds, statistics, and findings at the end.

use super::estimate::{Branches, estimated_runs, explored};
use super::judge::Judge;
use crate::engine::Findings;
use crate::engine::budget::Budget;
use crate::engine::goals::Sighting;
use crate::engine::machine::footprint::Footprint;
use crate::engine::machine::{First, Machine, Performed, Transition};
use crate::error::Error;
use crate::outcome::{Bound, Cause, Statistics, Trouble};
use crate::trace::order::{Order, Touch, insert};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Runs are cut off here unless the options say otherwise.
const DEFAULT_DEPTH: u64 = 1_000;

/// So often somebody looks at the clock.
const STEPS_A_PULSE: u64 = 256;

/// After so many runs the reduction tells how many branches there are.
const RUNS_A_GUESS: u64 = 256;

/// Whether a run is one of those that are performed once more: some of the first ones, and fewer and fewer of the others.
fn is_sampled(runs: u64) -> bool {
    runs.is_power_of_two() || runs.is_multiple_of(if runs < 1_024 { 64 } else { 1_024 })
}

/// What to say of steps that come out otherwise in an order that should make no difference.
pub(crate) fn broken_promise(which: &str) -> Error {
    let why = "what happens then depends on the order of things that do not touch each other, as far as can be seen: does an std Arc (or anything else that threads share unseen) decide who drops a sender, a receiver or a socket, or do threads use a clock or random numbers of their own?";
    Error::System(format!("{which}{why}"))
}

/// A transition, and what it touches where it is possible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Move {
    pub transition: Transition,
    pub footprint: Footprint,
}

/// An event of the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub what: Move,
    pub is_fault: bool,
    /// Whether it changed what some property sees of a place.
    pub is_visible: bool,
    /// Whether its process had no other alternative.
    pub is_only: bool,
}

/// Told of every run that has ended.
#[cfg(test)]
pub(crate) type Watch<'a, M> = Box<dyn FnMut(&Order, &[Step], &mut M) + 'a>;

/// A machine that is led along runs, and all that follows it.
pub(crate) struct Explorer<'a, M> {
    pub machine: M,
    pub order: Order,
    pub steps: Vec<Step>,
    pub judge: Judge,
    budget: &'a Budget,
    max_depth: usize,
    start: usize,
    bound: Option<Bound>,
    /// Set when a bound other than depth was reached.
    stopped: bool,
    /// Set when what was explored has to be explored again.
    pub is_stale: bool,
    runs: u64,
    blocked_runs: u64,
    joined_runs: u64,
    transitions: u64,
    deepest: usize,
    /// The distinct states that the reduction remembers, if it does.
    pub unique_states: Option<u64>,
    /// What the reduction stores, in bytes.
    pub stored: u64,
    /// Whether some runs are performed once more in another order.
    pub guards_order: bool,
    /// Whether the run that has just ended is one of these.
    is_guarded: bool,
    /// Whether the machine was led along another run, and has to come back first.
    is_displaced: bool,
    /// The runs of all, if there are several who explore.
    pub all_runs: Option<&'a AtomicU64>,
    /// A listing, kept for its room.
    listed: Vec<Transition>,
    #[cfg(test)]
    pub watch: Option<Watch<'a, M>>,
}

impl<'a, M: Machine> Explorer<'a, M> {
    /// `passes_by` says that there are states in which no run will stand.
    pub fn new(machine: M, budget: &'a Budget, passes_by: bool) -> Self {
        let max_depth = match budget.max_depth {
            u64::MAX => DEFAULT_DEPTH,
            depth => depth,
        };
        Explorer {
            judge: Judge::new(&machine, passes_by),
            machine,
            order: Order::new(),
            steps: Vec::new(),
            budget,
            max_depth: usize::try_from(max_depth).unwrap_or(usize::MAX),
            start: 0,
            bound: None,
            stopped: false,
            is_stale: false,
            runs: 0,
            blocked_runs: 0,
            joined_runs: 0,
            transitions: 0,
            deepest: 0,
            unique_states: None,
            stored: 0,
            guards_order: false,
            is_guarded: false,
            is_displaced: false,
            all_runs: None,
            listed: Vec::new(),
            #[cfg(test)]
            watch: None,
        }
    }

    /// Starts again.
    pub fn restart(&mut self, start: usize) -> Result<(), Error> {
        self.start = start;
        self.is_displaced = false;
        self.machine.restart(start)?;
        self.order.truncate(0);
        self.steps.clear();
        self.judge.start(&mut self.machine)
    }

    /// Whether there is nothing more to do.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.stopped || self.is_stale || self.judge.is_over()
    }

    /// Whether the run is as long as it may be.
    #[inline]
    pub fn is_at_bound(&self) -> bool {
        self.steps.len() >= self.max_depth
    }

    /// Whether somebody asked for a bound on depth.
    pub fn has_depth_bound(&self) -> bool {
        self.budget.max_depth != u64::MAX
    }

    /// Says that there may be runs that nobody has looked for.
    pub fn bound_runs(&mut self) {
        self.bound.get_or_insert(Bound::Reduction);
    }

    /// Says that there are runs with more preemptions.
    pub fn hold_back(&mut self) {
        self.bound.get_or_insert(Bound::Preemptions);
    }

    /// Makes something happen and looks at what comes of it. Afterwards the search may be over.
    pub fn perform(&mut self, transition: Transition) -> Result<Footprint, Error> {
        if self.is_displaced {
            self.perform_again()?;
        }
        let performed = self.machine.perform(transition)?;
        self.note(transition, &performed);
        self.transitions += 1;
        self.deepest = self.deepest.max(self.steps.len());
        self.judge.step(&mut self.machine, &self.order, &performed)?;
        if self.transitions.is_multiple_of(STEPS_A_PULSE) {
            self.pulse();
        }
        Ok(performed.footprint)
    }

    fn note(&mut self, transition: Transition, performed: &Performed) {
        let footprints = self.machine.footprints();
        self.order.push(Touch {
            process: transition.process,
            created_by: performed.created_by,
            needs: self.machine.needs(self.steps.len()),
            reads: footprints.reads(performed.footprint),
            writes: footprints.writes(performed.footprint),
        });
        self.steps.push(Step {
            what: Move { transition, footprint: performed.footprint },
            is_fault: performed.is_fault,
            is_visible: performed.moved.is_some(),
            is_only: performed.is_only,
        });
    }

    /// Goes back to the first so many events.
    pub fn go_back(&mut self, len: usize) -> Result<(), Error> {
        self.machine.go_back(len)?;
        self.order.truncate(len);
        self.steps.truncate(len);
        self.judge.go_back(len);
        Ok(())
    }

    /// Lists what may happen next. A state in which only faults can is judged.
    pub fn possible(&mut self, into: &mut Vec<Transition>) -> Result<(), Error> {
        let goes_on = self.machine.possible(into)?;
        if into.is_empty() {
            self.judge_end()?;
        }
        if !goes_on && self.judge.watches_stuck() {
            self.judge.stuck(&mut self.machine, 0..self.steps.len())?;
        }
        Ok(())
    }

    /// Something that may happen next and is not asleep. A state in which only faults can happen is judged.
    pub fn first_possible(
        &mut self,
        mut is_asleep: impl FnMut(Transition) -> bool,
    ) -> Result<First, Error> {
        let first = self.machine.first_possible(&mut is_asleep, &mut self.listed)?;
        let goes_on = match first {
            First::Possible(_, goes_on) | First::Asleep(goes_on) => goes_on,
            First::Nothing => {
                self.judge_end()?;
                false
            }
        };
        if !goes_on && self.judge.watches_stuck() {
            self.judge.stuck(&mut self.machine, 0..self.steps.len())?;
        }
        Ok(first)
    }

    /// Performs what others have performed, to get where they were.
    pub fn repeat(&mut self, transition: Transition) -> Result<(), Error> {
        let performed = self.machine.perform(transition)?;
        self.note(transition, &performed);
        Ok(())
    }

    /// How many runs have ended.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// Nobody knows how many runs there will be.
    pub fn forget_guess(&self) {
        self.tell_guess(0);
    }

    /// Nothing can happen any more. That may not be true of a run that has to be explored again.
    fn judge_end(&mut self) -> Result<(), Error> {
        self.is_stale |= self.machine.is_stale();
        match self.is_stale {
            true => Ok(()),
            false => self.judge.end(&mut self.machine),
        }
    }

    /// Performs something beyond the end of a run, only to see what it touches; [`Explorer::forget`] undoes it.
    pub fn try_out(&mut self, transition: Transition) -> Result<(), Error> {
        let performed = self.machine.perform(transition)?;
        self.note(transition, &performed);
        Ok(())
    }

    /// Undoes [`Explorer::try_out`].
    pub fn forget(&mut self) -> Result<(), Error> {
        let len = self.steps.len() - 1;
        self.machine.go_back(len)?;
        self.order.truncate(len);
        self.steps.truncate(len);
        Ok(())
    }

    /// The run has ended: nothing can happen, or it was cut off at the depth bound.
    pub fn end_run(&mut self, is_cut: bool) -> Result<(), Error> {
        if !self.may_begin_another() {
            return Ok(());
        }
        self.runs += 1;
        if let Some(all) = self.all_runs {
            all.fetch_add(1, Relaxed);
        }
        self.is_stale |= self.machine.is_stale();
        if is_cut {
            self.bound.get_or_insert(Bound::Depth);
            self.judge.cut(&mut self.machine)?;
        }
        self.is_guarded = self.guards_order && is_sampled(self.runs) && !is_cut;
        #[cfg(test)]
        if let Some(watch) = &mut self.watch {
            watch(&self.order, &self.steps, &mut self.machine);
        }
        if self.judge.watches_stuck() && self.steps.iter().any(|step| step.is_fault) {
            self.judge_without_faults()?;
        }
        Ok(())
    }

    /// Looks whether the run that has ended promises too much, now and then. Nothing is asked of the machine afterwards until something happens.
    #[inline]
    pub fn guard_order(&mut self) -> Result<(), Error> {
        match std::mem::take(&mut self.is_guarded) && !self.is_over() {
            true => self.perform_otherwise(),
            false => Ok(()),
        }
    }

    /// Performs the events of the run once more, in another order that should make no difference: as late as each can be, and going from process
    /// to process. If it makes one, something is shared that the machine does not see.
    fn perform_otherwise(&mut self) -> Result<(), Error> {
        let len = self.steps.len();
        let signs: Vec<u64> = (0..len).map(|event| self.machine.sign(event)).collect();
        let mut done = vec![0u64; len / 64 + 1];
        let mut rest: Vec<usize> = (0..len).collect();
        let mut last = None;
        self.machine.go_back(0)?;
        while !rest.is_empty() {
            let is_ready = |event: usize| {
                self.order.past(event).iter().zip(&done).all(|(past, done)| past & !done == 0)
            };
            let ready = (0..rest.len()).rev().filter(|&place| is_ready(rest[place]));
            let other = |&place: &usize| Some(self.order.process(rest[place])) != last;
            let place = ready.clone().find(other).or_else(|| ready.clone().next());
            let Some(place) = place else { break };
            let event = rest.remove(place);
            last = Some(self.order.process(event));
            insert(&mut done, event);
            let Move { transition, footprint } = self.steps[event].what;
            let performed = self.machine.perform(transition);
            let sign = self.machine.len().checked_sub(1).map(|event| self.machine.sign(event));
            match performed {
                Ok(performed) if performed.footprint == footprint && sign == Some(signs[event]) => {
                    // That two access something at once is so in some orders only. The run in which they do so the other way round shows it.
                    let races = Cause::Trouble(Trouble::DataRace);
                    if performed.failed && self.machine.failure()?.0 == races {
                        break;
                    }
                }
                _ => {
                    self.perform_again()?;
                    let what = self.machine.describe(event)?;
                    // It may not be the order that makes the difference.
                    if (0..len).any(|event| self.machine.sign(event) != signs[event]) {
                        let why = "now that the same run was repeated, and something else before: it is not deterministic; does it use a clock, random numbers or threads that are not under control, or something that outlives a run?";
                        return Err(Error::System(format!("{what} {why}")));
                    }
                    return Err(broken_promise(&format!("{what}; but ")));
                }
            }
        }
        // The machine has to be led where it was; but the run is about to go on from an earlier point.
        self.is_displaced = true;
        Ok(())
    }

    /// Leads the machine along the run once more.
    #[cold]
    fn perform_again(&mut self) -> Result<(), Error> {
        self.is_displaced = false;
        self.machine.go_back(0)?;
        for step in &self.steps {
            self.machine.perform(step.what.transition)?;
        }
        Ok(())
    }

    /// A sleep set has left nothing to do: the run is part of what other runs show.
    pub fn end_blocked_run(&mut self) {
        if self.may_begin_another() {
            self.blocked_runs += 1;
            self.is_stale |= self.machine.is_stale();
        }
    }

    /// The run has met a state from which everything was explored.
    pub fn end_joined_run(&mut self) {
        if self.may_begin_another() {
            self.joined_runs += 1;
            self.is_stale |= self.machine.is_stale();
        }
    }

    /// Whether one more run was allowed; otherwise the search is over.
    fn may_begin_another(&mut self) -> bool {
        if self.runs + self.blocked_runs + self.joined_runs < self.budget.max_runs {
            return true;
        }
        self.bound = Some(Bound::Runs);
        self.stopped = true;
        false
    }

    /// Judges the terminal states that the run passes by.
    ///
    /// A state is terminal if only faults can happen in it. Then what the run has more than the state
    /// begins with faults: it is some faults and all that happens after them. So every such set of
    /// faults is left out in turn, and the machine led to where the rest leads.
    fn judge_without_faults(&mut self) -> Result<(), Error> {
        let len = self.steps.len();
        let faults: Vec<usize> = (0..len).filter(|&event| self.steps[event].is_fault).collect();
        let mut left_out = vec![false; faults.len()];
        // Counts in binary through all sets but the empty one.
        while let Some(next) = left_out.iter().position(|out| !out) {
            left_out[..next].fill(false);
            left_out[next] = true;
            let out = |event: usize| {
                let faults = faults.iter().zip(&left_out).filter(|(_, out)| **out);
                faults.into_iter().any(|(&f, _)| f == event || self.order.before(f, event))
            };
            // Each state once: with the largest set of faults that leads to it.
            let closed = faults.iter().zip(&left_out).all(|(&fault, is)| *is || !out(fault));
            let Some(first) = (0..len).find(|&event| out(event)) else { continue };
            let rest: Vec<usize> = (first..len).filter(|&event| !out(event)).collect();
            if closed {
                self.judge_after(first, &rest)?;
            }
            if self.is_over() {
                break;
            }
        }
        Ok(())
    }

    /// Judges the state after the first so many events and these further ones, if it is terminal.
    fn judge_after(&mut self, first: usize, rest: &[usize]) -> Result<(), Error> {
        self.machine.go_back(first)?;
        for &event in rest {
            self.machine.perform(self.steps[event].what.transition)?;
        }
        let mut listed = std::mem::take(&mut self.listed);
        let goes_on = self.machine.possible(&mut listed)?;
        self.listed = listed;
        if !goes_on {
            self.judge.stuck(&mut self.machine, 0..first + rest.len())?;
        }
        self.machine.go_back(first)?;
        for event in first..self.steps.len() {
            self.machine.perform(self.steps[event].what.transition)?;
        }
        Ok(())
    }

    /// Whether it is time to tell how many branches there are along the run: see [`Explorer::guess`].
    pub fn wants_branches(&self) -> bool {
        self.runs < 64 || self.runs.is_multiple_of(RUNS_A_GUESS)
    }

    /// Tells about how many runs there will be, from the branches at each point of a run that has just
    /// ended: see [`estimate`](super::estimate).
    pub fn guess(&self, branches: impl DoubleEndedIterator<Item = Branches>) {
        let starts = Branches { done: self.start, known: self.machine.starts() };
        let explored = explored(branches.rev().chain([starts]));
        self.tell_guess(estimated_runs(self.runs + 1, explored));
    }

    fn tell_guess(&self, runs: u64) {
        self.budget.progress.estimated_runs.store(runs, Relaxed);
    }

    /// Tells progress and stops the search if a bound is reached.
    #[cold]
    pub fn pulse(&mut self) {
        let progress = &self.budget.progress;
        let memory = self.stored + self.machine.bytes() + self.judge.bytes();
        let runs = self.all_runs.map_or(self.runs, |all| all.load(Relaxed));
        progress.runs.store(runs, Relaxed);
        progress.generated.store(self.transitions, Relaxed);
        progress.depth.store(self.deepest as u64, Relaxed);
        progress.memory.store(memory, Relaxed);
        if let Some(bound) = self.budget.reached(0, memory) {
            self.bound = Some(bound);
            self.stopped = true;
        }
    }

    /// What came of it all, and the machine.
    pub fn finish(self) -> (Findings, M) {
        let runs = self.all_runs.map_or(self.runs, |all| all.load(Relaxed));
        self.budget.progress.runs.store(runs, Relaxed);
        if !self.is_over() {
            self.tell_guess(runs);
        }
        let costs = self.machine.costs();
        let statistics = Statistics {
            transitions: Some(self.transitions),
            runs: Some(self.runs),
            blocked_runs: Some(self.blocked_runs),
            joined_runs: self.unique_states.map(|_| self.joined_runs),
            unique_states: self.unique_states,
            handler_executions: costs.map(|costs| costs.handler_executions),
            guard_executions: costs.map(|costs| costs.guard_executions),
            replayed_handlers: costs.map(|costs| costs.replayed_handlers),
            local_states: costs.map(|costs| costs.local_states),
            local_events: costs.map(|costs| costs.local_events),
            depth: Some(self.deepest as u64),
            user_time: costs.map(|costs| std::time::Duration::from_nanos(costs.user_nanos)),
            ..Statistics::default()
        };
        let stopped_early = self.judge.violation.is_none() && self.judge.nothing_left();
        let goals = self.judge.goals.into_goals().into_iter().map(Sighting::found).collect();
        let findings = Findings {
            bound: self.bound.filter(|_| !stopped_early),
            stopped_early,
            statistics,
            goals,
            violation: self.judge.violation,
            witnesses: self.judge.witnesses,
            terminal: self.judge.terminal,
            ..Findings::default()
        };
        (findings, self.machine)
    }
}
