//! Preemption bounding: all runs in which a thread that could go on is stopped at most so often.
//!
//! Most mistakes show with few preemptions (Musuvathi and Qadeer, "Iterative context bounding for systematic testing of multithreaded programs", PLDI 2007), and
//! there are far fewer such runs: their number grows exponentially only in the bound. Sleep sets and the like do not go together with a bound on
//! how a run is ordered, so another reduction is used: runs are explored depth-first, and a point is not explored again if one with the
//! same trace, the same process that went last, and at least as many preemptions left was. The same trace leads to the same state, and what can happen
//! from it under the bound depends on nothing else.
//!
//! That is complete within the bound, up to collisions of 64-bit signatures of traces. If no run was held back by the bound, it is
//! complete without it.

use crate::engine::Findings;
use crate::engine::budget::Budget;
use crate::engine::dpor::explore::Explorer;
use crate::engine::machine::{Machine, Process, Transition};
use crate::error::Error;
use crate::trace::canonical::Signature;
use rustc_hash::FxHashMap;

/// A point of the run: what is left to do, with the preemptions that have been used up after it.
struct Point {
    todo: Vec<(Transition, u32)>,
    used: u32,
}

/// A search in progress.
struct Bounded<'e, 'a, M> {
    explorer: &'e mut Explorer<'a, M>,
    preemptions: u32,
    points: Vec<Point>,
    signature: Signature,
    /// For each trace and the process that went last, the least number of preemptions with which it was met.
    met: FxHashMap<(u64, Process), u32>,
    was_held_back: bool,
    spare: Vec<Vec<(Transition, u32)>>,
    possible: Vec<Transition>,
}

/// Explores a machine. At most this many runs end, if that is said.
pub(super) fn search<M: Machine>(
    mut machine: M,
    preemptions: u32,
    budget: &Budget,
) -> Result<(Findings, M), Error> {
    loop {
        let mut explorer = Explorer::new(machine, budget, false);
        explore(&mut explorer, preemptions)?;
        let is_stale = explorer.is_stale && !explorer.judge.is_over();
        let (findings, back) = explorer.finish();
        if !is_stale {
            return Ok((findings, back));
        }
        machine = back;
    }
}

/// Explores everything from every start.
fn explore<M: Machine>(explorer: &mut Explorer<'_, M>, preemptions: u32) -> Result<(), Error> {
    for start in 0..explorer.machine.starts() {
        explorer.restart(start)?;
        let mut search = Bounded {
            explorer,
            preemptions,
            points: Vec::new(),
            signature: Signature::new(),
            met: FxHashMap::default(),
            was_held_back: false,
            spare: Vec::new(),
            possible: Vec::new(),
        };
        search.run()?;
        if search.was_held_back {
            explorer.hold_back();
        }
        if explorer.is_over() {
            break;
        }
    }
    Ok(())
}

impl<M: Machine> Bounded<'_, '_, M> {
    fn run(&mut self) -> Result<(), Error> {
        self.enter(0)?;
        while let Some(point) = self.points.last_mut() {
            if self.explorer.is_over() {
                return Ok(());
            }
            match point.todo.pop() {
                None => {
                    self.spare.extend(self.points.pop().map(|point| point.todo));
                    let len = self.points.len().saturating_sub(1);
                    self.explorer.go_back(len)?;
                    self.signature.truncate(len);
                }
                Some((transition, used)) => {
                    self.explorer.perform(transition)?;
                    if self.explorer.is_over() {
                        return Ok(());
                    }
                    let label =
                        u64::from(transition.process) << 32 | u64::from(transition.alternative);
                    self.signature.push(&self.explorer.order, label);
                    self.enter(used)?;
                }
            }
        }
        Ok(())
    }

    /// Stands at a new point of the run, after so many preemptions.
    fn enter(&mut self, used: u32) -> Result<(), Error> {
        let mut todo = self.spare.pop().unwrap_or_default();
        todo.clear();
        let last = self.explorer.steps.last().map(|step| step.what.transition.process);
        let key = (self.signature.value(), last.unwrap_or(Process::MAX));
        let is_known = self.met.get(&key).is_some_and(|&before| before <= used);
        if is_known {
            self.explorer.end_joined_run();
        } else {
            self.met.insert(key, used);
            self.list(used, last, &mut todo)?;
            self.explorer.stored = (self.met.capacity() * 24) as u64;
        }
        self.points.push(Point { todo, used });
        Ok(())
    }

    /// Lists what may happen within the bound, the last first.
    fn list(
        &mut self,
        used: u32,
        last: Option<Process>,
        todo: &mut Vec<(Transition, u32)>,
    ) -> Result<(), Error> {
        let mut possible = std::mem::take(&mut self.possible);
        self.explorer.possible(&mut possible)?;
        let is_cut = !possible.is_empty() && self.explorer.is_at_bound();
        if possible.is_empty() || is_cut {
            self.explorer.end_run(is_cut)?;
            self.explorer.guard_order()?;
        } else {
            let goes_on = possible.iter().any(|transition| Some(transition.process) == last);
            for &transition in possible.iter().rev() {
                let is_preemption = goes_on && Some(transition.process) != last;
                let used = used + u32::from(is_preemption);
                if used <= self.preemptions {
                    todo.push((transition, used));
                } else {
                    self.was_held_back = true;
                }
            }
        }
        self.possible = possible;
        debug_assert!(self.points.last().is_none_or(|point| point.used <= used));
        Ok(())
    }
}
