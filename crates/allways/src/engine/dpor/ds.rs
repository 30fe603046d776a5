//! Reductions `naive`, `force` and `ds`: those of Yabandeh and Kostić, "DPOR-DS: Dynamic Partial Order Reduction in
//! Distributed Systems".
//!
//! All three perform some run to its end, look at each pair of dependent events in it that could have come in the other
//! order, and put a *branch* before the first of them. Then they go back to the last point of the run at which a branch
//! waits, perform it, go on in any way to the end, and so on until no branch waits.
//!
//! - `naive` (section 3.2): a branch is one event, the first of those without which the second of the pair cannot be.
//!   What comes after it is arbitrary.
//! - `force` (section 3.2, figure 4): a branch is a *desired order*: all that the second of the pair needs, the second of the
//!   pair, then the first. It is performed as it is.
//! - `ds` (figure 7): the same, but of a run that branches off another, only those pairs are looked at that the other has not.
//!
//! **What the paper leaves open, and how it is settled here.**
//!
//! - *Happens-before.* Rule (i) of section 2.3 orders all events of a node, and taken literally no two dependent events
//!   could ever come in the other order. What is meant is in section 3: what an event cannot exist without. So for the second of
//!   a pair this is: the event that sent it, the step before it of its own process, and all that happens before these in the
//!   full sense.
//! - *Dependent* events are those that the [machine](crate::engine::machine) does not promise to commute. That is more than the paper's
//!   "same node": budgets, observers, partitions.
//! - *Figure 7, line 18*, ends when the last branch is at the first event. Here the search ends when no branch waits: those before the
//!   first event count like all others.
//! - *Figure 7, line 7*, begins with the pairs whose second event is behind the branch. Here it begins with those whose
//!   second event is the first of the branch, since that need not have been an event of the other run: see below.
//! - *When are two branches the same?* Where there is no bound on depth, if they begin with the same event at the same point, for
//!   then all that can come after it is explored. And if the first event of a branch *sleeps*: it has been performed from the
//!   point before, and what led from there to here is independent of it; then what the branch is for
//!   is seen there, in another order. So figure 3 has two runs, not three, although in the second of them the
//!   pair could be put back in its first order. Under a bound this would not do: what is
//!   arbitrary may use up the depth. There, two branches are the same if their whole orders are, and only what a branch of
//!   two events and the first of its pair has put in the other order is not put back. `naive` asks only for the first event at the same point.
//! - *Several results.* An event whose handler makes a choice has a branch for each other result.
//!
//! **Where the paper's claim of completeness needs more.** It takes for granted that what exists is possible. But steps of a
//! node may make the delivery of a message impossible (it would change nothing) or possible. So
//! a pair counts only if its second event is possible without the first; and there are pairs whose second event has not happened:
//! of each process that is [blocked](Machine::blocked) at the end of a run, or that is possible where
//! a run was cut off, the step that it has not taken is looked at like an event after the end. And where what an
//! event depends on is more than one object, it may be possible only without several events that are not ordered. So all cuts of
//! the run are looked at in which it may be possible, not pairs alone. `naive` does without all of this.
//!
//! **Why `force` and `ds` are complete**, if no bound is reached. What sleeps at a point: nothing, if it is the first that was
//! reached from the point before. Otherwise what sleeps there or was performed from there before, and is independent of the step that
//! leads here. The claim: after each point `E`, a run of every trace is explored that goes on from there and cannot begin, in any order, with
//! something that sleeps at `E`. By induction on how much can still happen. Let `w` be the rest of such a run.
//!
//! - If `w` can begin with something that was performed from `E`, take the one that was performed first, `p`, and let `w` be `p.v` in another order. What
//!   sleeps after `E.p` and could begin `v` could also begin `w`, since it is independent of `p`; but then it neither sleeps at `E` nor was
//!   performed from there before `p`. So nothing does, and `v` is explored after `E.p`.
//! - Otherwise let `b` be the first event that was ever performed from `E`. Nothing sleeps after `E.b`. Let `w` be `u.x.v` with
//!   `b` independent of `u` and not of `x`. A run with `E.b.u` is explored, through `E.b`. In it, let `x` stand for the next step of
//!   its process, taken or not. If `x` is possible after `E.b.u`, let it come next in that run: then all that it depends on there is in `E.b.u`. `E.u` is
//!   a cut of that run after which `x` is possible, and which lacks `b`. The part of it that `x` depends on
//!   or needs is one of the cuts that are looked at, and lacks `b` (if `x` was not possible after `E.b.u`, then `b` writes
//!   something that `x` touches, and all cuts are looked at that lack such events), so it has a branch at `E`, which consists of events of `u` and `x`
//!   with all that happens before them. So `w` can begin with the first event of that branch. That does not sleep at `E`, so it was performed from
//!   there: a contradiction.
//!
//! Under a bound that is not reached, the same holds where points are taken for the same that are reached by the same events: what sleeps is
//! less.
//!
//! A step that was not taken does not say who created it. So for these, events are left out of a cut as long as the step stays
//! possible.
//!
//! Under a bound on depth, every order explored is remembered by a hash, 8 to 16 bytes for each transition.

use super::estimate::Branches;
use super::explore::{Explorer, Move};
use crate::engine::machine::footprint::Footprint;
use crate::engine::machine::{Elsewhere, Machine, Process, Transition};
use crate::engine::options::Reduction;
use crate::error::Error;
use rustc_hash::FxHashSet;
use std::collections::VecDeque;

/// A point of the run.
#[derive(Default)]
struct Point {
    /// With what the runs from here have gone on, the present one last.
    begun: Vec<Move>,
    /// What need not be performed from here.
    asleep: Vec<Move>,
    waiting: VecDeque<Branch>,
    /// A hash of the run up to here, under a bound on depth.
    hash: u64,
}

/// What is to be performed from a point, whatever comes after it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Branch {
    /// The desired order, but for the first of the pair.
    order: Vec<Transition>,
    /// The first of the pair, which comes then if it still can.
    back: Option<Transition>,
}

/// A search in progress.
struct Search<'e, 'a, M> {
    explorer: &'e mut Explorer<'a, M>,
    reduction: Reduction,
    points: Vec<Point>,
    /// Hashes of what was performed, under a bound on depth.
    explored: FxHashSet<u64>,
    cuts: Cuts,
    possible: Vec<Transition>,
}

/// Explores everything from the present start, with one of these reductions.
pub(super) fn explore<M: Machine>(
    explorer: &mut Explorer<'_, M>,
    reduction: Reduction,
) -> Result<(), Error> {
    let mut search = Search {
        explorer,
        reduction,
        points: vec![Point::default()],
        explored: FxHashSet::default(),
        cuts: Cuts::default(),
        possible: Vec::new(),
    };
    search.run()
}

impl<M: Machine> Search<'_, '_, M> {
    /// The loop of figure 7.
    fn run(&mut self) -> Result<(), Error> {
        let mut last_branch = 0;
        loop {
            let is_cut = self.go_on()?;
            if self.explorer.is_over() {
                return Ok(());
            }
            self.tell_branches();
            self.explorer.end_run(is_cut)?;
            self.add_branches(last_branch, is_cut)?;
            loop {
                let Some(at) = self.points.iter().rposition(|point| !point.waiting.is_empty())
                else {
                    return Ok(());
                };
                let begun = self.begin(at)?;
                if self.explorer.is_over() {
                    return Ok(());
                }
                if begun {
                    last_branch = at;
                    break;
                }
            }
        }
    }

    /// Performs the next branch that waits at a point, unless it was performed before.
    fn begin(&mut self, at: usize) -> Result<bool, Error> {
        let Some(branch) = self.points[at].waiting.pop_front() else { return Ok(false) };
        if self.was_performed(at, &branch) {
            return Ok(false);
        }
        let is_new = !self.explored.contains(&add(self.points[at].hash, branch.order[0]));
        self.explorer.go_back(at)?;
        self.points.truncate(at + 1);
        for &transition in &branch.order {
            self.perform(transition)?;
            if self.explorer.is_over() {
                return Ok(false);
            }
        }
        self.put_to_sleep(at, &branch, is_new);
        if let Some(back) = branch.back
            && !self.explorer.is_at_bound()
        {
            self.put_back(back)?;
        }
        Ok(true)
    }

    /// Whether what a branch is for has been seen, or is seen elsewhere.
    fn was_performed(&self, at: usize, branch: &Branch) -> bool {
        let point = &self.points[at];
        let is = |other: &Move| other.transition == branch.order[0];
        match self.reduction {
            Reduction::Naive => point.begun.iter().any(is),
            _ if self.explorer.has_depth_bound() => {
                let is_put_back = branch.order.len() == 1 && point.asleep.iter().any(is);
                let hash = branch.order.iter().fold(point.hash, |hash, &next| add(hash, next));
                is_put_back || self.explored.contains(&hash)
            }
            _ => point.begun.iter().chain(&point.asleep).any(is),
        }
    }

    /// Says what need not be performed in a branch that has begun; `is_new` if its first event was never
    /// performed from there.
    fn put_to_sleep(&mut self, at: usize, branch: &Branch, is_new: bool) {
        if self.reduction == Reduction::Naive {
            return;
        }
        let point = &self.points[at];
        if self.explorer.has_depth_bound() {
            // The first of the pair was performed from here when the branch was put here.
            let back = point.begun.iter().find(|was| Some(was.transition) == branch.back).copied();
            if branch.order.len() == 2 && is_new {
                self.points[at + 1].asleep.extend(back);
            }
            return;
        }
        let first = self.explorer.steps[at].what;
        let footprints = self.explorer.machine.footprints();
        let sleeps = |other: &&Move| {
            other.transition.process != first.transition.process
                && !footprints.conflict(other.footprint, first.footprint)
        };
        let asleep = point.asleep.iter().chain(&point.begun).filter(sleeps).copied().collect();
        self.points[at + 1].asleep = asleep;
    }

    /// Performs the first of a pair after the second, as it is now, if it is still possible.
    fn put_back(&mut self, back: Transition) -> Result<(), Error> {
        let mut possible = std::mem::take(&mut self.possible);
        self.explorer.machine.possible(&mut possible)?;
        let same = possible.iter().find(|&&transition| transition == back);
        let similar = possible.iter().find(|transition| transition.process == back.process);
        let next = same.or(similar).copied();
        self.possible = possible;
        match next {
            Some(next) => self.perform(next),
            None => Ok(()),
        }
    }

    /// Performs anything until nothing can happen or the run is as long as it may be. Says whether it
    /// was cut off.
    fn go_on(&mut self) -> Result<bool, Error> {
        loop {
            let mut possible = std::mem::take(&mut self.possible);
            self.explorer.possible(&mut possible)?;
            let next = possible.first().copied();
            self.possible = possible;
            match next {
                _ if self.explorer.is_over() => return Ok(false),
                None => return Ok(false),
                Some(_) if self.explorer.is_at_bound() => return Ok(true),
                Some(next) => self.perform(next)?,
            }
        }
    }

    fn perform(&mut self, transition: Transition) -> Result<(), Error> {
        let at = self.explorer.steps.len();
        let footprint = self.explorer.perform(transition)?;
        let point = &mut self.points[at];
        point.begun.push(Move { transition, footprint });
        let mut next = Point::default();
        if self.explorer.has_depth_bound() && self.reduction != Reduction::Naive {
            next.hash = add(point.hash, transition);
            self.explored.insert(next.hash);
        }
        self.points.push(next);
        Ok(())
    }

    /// Adds the branches that a run asks for, which branched off here.
    fn add_branches(&mut self, last_branch: usize, is_cut: bool) -> Result<(), Error> {
        let len = self.explorer.steps.len();
        for event in last_branch..len {
            if !self.explorer.steps[event].is_only {
                self.cuts.other_results(self.explorer, event)?;
                self.take_branches();
            }
        }
        let from = if self.reduction == Reduction::Ds { last_branch } else { 0 };
        for event in from..len {
            match self.reduction {
                Reduction::Naive => self.cuts.pairs(self.explorer, event)?,
                _ => self.cuts.of_event(self.explorer, event)?,
            }
            self.take_branches();
        }
        if self.reduction == Reduction::Naive {
            return Ok(());
        }
        let mut blocked = Vec::new();
        self.explorer.machine.blocked(&mut blocked)?;
        if is_cut {
            let mut possible = std::mem::take(&mut self.possible);
            self.explorer.machine.possible(&mut possible)?;
            blocked.extend(possible.iter().map(|transition| transition.process));
            blocked.dedup();
            self.possible = possible;
        }
        for process in blocked {
            self.cuts.of_process(self.explorer, process)?;
            self.take_branches();
        }
        Ok(())
    }

    /// Puts the branches that were found where they belong, unless they are there.
    fn take_branches(&mut self) {
        for (at, mut branch) in std::mem::take(&mut self.cuts.found) {
            if self.reduction == Reduction::Naive {
                branch.order.truncate(1);
                branch.back = None;
            }
            if !self.was_performed(at, &branch) && !self.points[at].waiting.contains(&branch) {
                self.points[at].waiting.push_back(branch);
            }
        }
    }

    /// Tells how many branches there are along the run.
    fn tell_branches(&mut self) {
        if self.explorer.wants_branches() {
            self.explorer.stored = self.explored.capacity() as u64 * 9;
            let points = &self.points[..self.points.len() - 1];
            self.explorer.guess(points.iter().map(|point| Branches {
                done: point.begun.len() - 1,
                known: point.begun.len() + point.waiting.len(),
            }));
        }
    }
}

/// The hash of a run with one transition more.
fn add(hash: u64, next: Transition) -> u64 {
    let mixed = (hash ^ u64::from(next.process) << 32 ^ u64::from(next.alternative))
        .wrapping_add(1)
        .wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ mixed >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93) ^ mixed >> 29
}

/// Looks for cuts of a run after which a step could have been taken that was taken later, or not at all.
#[derive(Default)]
struct Cuts {
    /// The branches found: each with the number of events that it shares with the run.
    found: Vec<(usize, Branch)>,
    /// What the cut at hand lacks of the run, in order.
    without: Vec<u32>,
    alternatives: Vec<u32>,
    dependent: Vec<u32>,
    /// Cuts that wait to be looked at, each by the events of which it lacks the future.
    waiting: Vec<Vec<u32>>,
    seen: FxHashSet<Vec<u32>>,
}

/// The step that is asked about.
#[derive(Clone, Copy)]
struct Asked {
    process: Process,
    /// Only the events before this one count.
    limit: usize,
    /// The step before it of its process, and the event that created it if that is known.
    step_before: Option<usize>,
    created_by: Option<usize>,
    /// Whether it is not known who created it.
    is_open: bool,
}

impl Asked {
    fn event<M: Machine>(explorer: &Explorer<'_, M>, event: usize) -> Self {
        Asked {
            process: explorer.order.process(event),
            limit: event,
            step_before: explorer.order.step_before(event),
            created_by: explorer.order.created_by(event),
            is_open: false,
        }
    }

    /// Whether it cannot be without an event.
    fn needs<M: Machine>(&self, explorer: &Explorer<'_, M>, event: usize) -> bool {
        let needed = [self.step_before, self.created_by];
        needed.iter().flatten().any(|&need| need == event || explorer.order.before(event, need))
    }
}

impl Cuts {
    /// How else an event could have ended.
    fn other_results<M: Machine>(
        &mut self,
        explorer: &mut Explorer<'_, M>,
        event: usize,
    ) -> Result<(), Error> {
        let taken = explorer.steps[event].what.transition;
        self.leave_out(explorer, &[], event);
        explorer.machine.elsewhere(taken.process, &self.without, &mut self.alternatives)?;
        for &alternative in &self.alternatives {
            if alternative != taken.alternative {
                let order = vec![Transition { process: taken.process, alternative }];
                self.found.push((event, Branch { order, back: None }));
            }
        }
        Ok(())
    }

    /// The pairs with this event as the second: without each of the others, if it is possible then.
    fn pairs<M: Machine>(
        &mut self,
        explorer: &mut Explorer<'_, M>,
        event: usize,
    ) -> Result<(), Error> {
        let asked = Asked::event(explorer, event);
        let mut dependent = std::mem::take(&mut self.dependent);
        explorer.order.dependent_before(event, &mut dependent);
        for &first in &dependent {
            if !asked.needs(explorer, first as usize) {
                self.leave_out(explorer, &[first], event);
                if let Some(footprint) = self.is_possible(explorer, &asked)? {
                    self.add(explorer, &asked, footprint)?;
                }
            }
        }
        self.dependent = dependent;
        Ok(())
    }

    /// The cuts after which an event could have been performed.
    fn of_event<M: Machine>(
        &mut self,
        explorer: &mut Explorer<'_, M>,
        event: usize,
    ) -> Result<(), Error> {
        let asked = Asked::event(explorer, event);
        self.without_each(explorer, &asked, explorer.steps[event].what.footprint)
    }

    /// The cuts after which a process could have taken the step that it has not taken.
    fn of_process<M: Machine>(
        &mut self,
        explorer: &mut Explorer<'_, M>,
        process: Process,
    ) -> Result<(), Error> {
        let limit = explorer.steps.len();
        let step_before = explorer.order.last_step(process, limit);
        let asked = Asked { process, limit, step_before, created_by: None, is_open: true };
        self.leave_out(explorer, &[], limit);
        if let Some(footprint) = self.is_possible(explorer, &asked)? {
            return self.without_each(explorer, &asked, footprint);
        }
        self.seen.clear();
        self.waiting.push(Vec::new());
        self.look(explorer, &asked)
    }

    /// The cuts that lack something that a step depends on, which touches this.
    fn without_each<M: Machine>(
        &mut self,
        explorer: &mut Explorer<'_, M>,
        asked: &Asked,
        footprint: Footprint,
    ) -> Result<(), Error> {
        self.seen.clear();
        for event in 0..asked.limit {
            let other = explorer.steps[event].what.footprint;
            let is_dependent = explorer.machine.footprints().conflict(other, footprint);
            if is_dependent && !asked.needs(explorer, event) {
                self.waiting.push(vec![event as u32]);
                self.look(explorer, asked)?;
            }
        }
        Ok(())
    }

    /// Looks at the cuts that wait, and at smaller ones. Where the step is not possible, one of the last events that wrote what it
    /// is blocked by must be left out. Where it is, it may be possible without more of what it depends on; but
    /// whoever only reads what the step writes does not make it possible or impossible, so it is left
    /// out by itself, and otherwise where it happens after somebody else.
    fn look<M: Machine>(
        &mut self,
        explorer: &mut Explorer<'_, M>,
        asked: &Asked,
    ) -> Result<(), Error> {
        while let Some(roots) = self.waiting.pop() {
            self.leave_out(explorer, &roots, asked.limit);
            if asked.step_before.is_some_and(|step| self.lacks(step)) {
                continue;
            }
            let Cuts { without, alternatives, .. } = self;
            let mut next = Vec::new();
            match explorer.machine.elsewhere(asked.process, without, alternatives)? {
                Elsewhere::Possible(footprint) => {
                    self.add(explorer, asked, footprint)?;
                    self.leave_out(explorer, &roots, asked.limit);
                    let footprints = explorer.machine.footprints();
                    let decides = |event: usize| {
                        let writes = footprints.writes(explorer.steps[event].what.footprint);
                        let touched = [footprints.writes(footprint), footprints.reads(footprint)];
                        touched.concat().iter().any(|object| writes.contains(object))
                    };
                    if roots.iter().all(|&root| decides(root as usize)) {
                        self.add_last(explorer, asked, decides, &mut next);
                    }
                }
                Elsewhere::Blocked(by) => {
                    let footprints = explorer.machine.footprints();
                    for &object in by.objects() {
                        let writes = |event: usize| {
                            footprints.is_written(explorer.steps[event].what.footprint, object)
                        };
                        self.add_last(explorer, asked, writes, &mut next);
                    }
                }
            }
            for event in next {
                let mut smaller = roots.clone();
                smaller.push(event);
                self.leave_out(explorer, &smaller, asked.limit);
                if self.seen.insert(self.without.clone()) {
                    self.waiting.push(smaller);
                }
            }
        }
        Ok(())
    }

    /// Adds the events of the cut that are such and that happen before no other that is, as far as
    /// the step can be without them.
    fn add_last<M: Machine>(
        &self,
        explorer: &Explorer<'_, M>,
        asked: &Asked,
        is_such: impl Fn(usize) -> bool,
        into: &mut Vec<u32>,
    ) {
        let mut last: Vec<usize> = Vec::new();
        for event in (0..asked.limit).rev().filter(|&event| !self.lacks(event)) {
            let is_last = || !last.iter().any(|&later| explorer.order.before(event, later));
            if is_such(event) && is_last() {
                last.push(event);
            }
        }
        let free = last.into_iter().filter(|&event| !asked.needs(explorer, event));
        into.extend(free.map(|event| event as u32));
    }

    /// Whether the step is possible after the cut at hand, and what it would touch.
    fn is_possible<M: Machine>(
        &mut self,
        explorer: &mut Explorer<'_, M>,
        asked: &Asked,
    ) -> Result<Option<Footprint>, Error> {
        let Cuts { without, alternatives, .. } = self;
        match explorer.machine.elsewhere(asked.process, without, alternatives)? {
            Elsewhere::Possible(footprint) => Ok(Some(footprint)),
            Elsewhere::Blocked(_) => Ok(None),
        }
    }

    /// Lists what a cut lacks: these events and all that happens after them, and all from `limit` on.
    fn leave_out<M: Machine>(&mut self, explorer: &Explorer<'_, M>, roots: &[u32], limit: usize) {
        let order = &explorer.order;
        let is_out = |event: usize| {
            let of_root =
                |&root: &u32| root as usize == event || order.before(root as usize, event);
            event >= limit || roots.iter().any(of_root)
        };
        self.without.clear();
        self.without
            .extend((0..explorer.steps.len()).filter(|&event| is_out(event)).map(|e| e as u32));
    }

    /// Whether the cut at hand lacks an event.
    fn lacks(&self, event: usize) -> bool {
        self.without.binary_search(&(event as u32)).is_ok()
    }

    /// Adds the branch to the cut at hand, after which the step has these alternatives: what it needs of the cut, and
    /// the step. Afterwards the cut at hand is another.
    fn add<M: Machine>(
        &mut self,
        explorer: &mut Explorer<'_, M>,
        asked: &Asked,
        footprint: Footprint,
    ) -> Result<(), Error> {
        let Some(&at) = self.without.first() else { return Ok(()) };
        let at = at as usize;
        let alternatives = std::mem::take(&mut self.alternatives);
        // The events of the cut that must come before the step, the last first.
        let mut before: Vec<usize> = Vec::new();
        for event in (at..asked.limit).rev() {
            if self.lacks(event) {
                continue;
            }
            let footprints = explorer.machine.footprints();
            let is_needed = asked.needs(explorer, event)
                || footprints.conflict(explorer.steps[event].what.footprint, footprint)
                || before.iter().any(|&later| explorer.order.before(event, later));
            if is_needed || (asked.is_open && !self.is_possible_without(explorer, asked, event)?) {
                before.push(event);
            } else {
                let place = self.without.partition_point(|&other| (other as usize) < event);
                self.without.insert(place, event as u32);
            }
        }
        let order = before.iter().rev().map(|&event| explorer.steps[event].what.transition);
        let order: Vec<Transition> = order.collect();
        for &alternative in &alternatives {
            let mut order = order.clone();
            order.push(Transition { process: asked.process, alternative });
            let back = Some(explorer.steps[at].what.transition);
            self.found.push((at, Branch { order, back }));
        }
        self.alternatives = alternatives;
        Ok(())
    }

    /// Whether the step is still possible if one event more is left out, that happens before none of those that are left.
    fn is_possible_without<M: Machine>(
        &mut self,
        explorer: &mut Explorer<'_, M>,
        asked: &Asked,
        event: usize,
    ) -> Result<bool, Error> {
        let place = self.without.partition_point(|&other| (other as usize) < event);
        self.without.insert(place, event as u32);
        let is_possible = self.is_possible(explorer, asked)?.is_some();
        self.without.remove(place);
        Ok(is_possible)
    }
}
