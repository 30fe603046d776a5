//! Reductions `naive`, `force` and `ds`: those of Yabandeh and Kostić, "DPOR-DS: Dynamic Partial Order Reduction in
//! Distributed Systems".
//!
//! All three perform some run to its end, look at each pair of dependent events in it that could have come in the other
//! order, and put a *branch* before the first of them. Then they go back to the last point of the run at which a branch
//! waits, perform it, go on in any way to the end, and so on until no branch waits.
//!
//! - `naive` (section 3.2): a branch is one event, the first of those without which the second of the pair cannot be.
//!   What comes after it is arbitrary. It is not complete, and its outcome is never said to be.
//! - `force` (section 3.2, figure 4): a branch is a *desired order*: all that the second of the pair needs, the second of the
//!   pair, then the first. It is performed as it is.
//! - `ds` (figure 7): the same, but of a run that branches off another, only those pairs are looked at that the other has not.
//!
//! **What the paper leaves open, and how it is settled here.**
//!
//! - *Happens-before.* Rule (i) of section 2.3 orders all events of a node, and taken literally no two dependent events
//!   could ever come in the other order. What is meant is in section 3: what an event cannot exist without. So for the second of
//!   a pair this is: the event that sent it, the step before it of its own process, and all that happens before these in the
//!   full sense. Which these are is asked of the machine, since a process that takes envelopes from a channel may take another one if fewer were taken.
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
//! Under a bound on depth, every order explored is remembered by a hash, 8 to 16 bytes for each transition.

use super::desired::{Branch, Cuts};
use super::estimate::Branches;
use super::explore::{Explorer, Move};
use crate::engine::machine::{Machine, Transition};
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
    search.run()?;
    if reduction == Reduction::Naive {
        explorer.bound_runs();
    }
    Ok(())
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
            self.explorer.pulse();
            if self.explorer.is_over() {
                return Ok(());
            }
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
            self.explorer.pulse();
            if self.explorer.is_over() {
                return Ok(());
            }
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
