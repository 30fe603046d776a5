//! What reductions `naive`, `force` and `ds` branch off for: pairs of events in the other order.
//!
//! The second of a pair, an event of the run or a step that was not taken, is looked for in *cuts* of the run
//! (some of its events, with all that happens before them) that lack the first. If it is possible after such a cut, the desired
//! order is what it needs of the cut, and then itself: `hb_list` of figure 7 of the paper on DPOR-DS. Why
//! these cuts, and not others, is told in [`ds`](super::ds).

use super::explore::Explorer;
use crate::engine::machine::footprint::Footprint;
use crate::engine::machine::{Elsewhere, Machine, Process, Transition};
use crate::error::Error;
use rustc_hash::FxHashSet;

/// What is to be performed from a point, whatever comes after it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Branch {
    /// The desired order, but for the first of the pair.
    pub order: Vec<Transition>,
    /// The first of the pair, which comes then if it still can.
    pub back: Option<Transition>,
}

/// Looks for cuts of a run after which a step could have been taken that was taken later, or not at all.
#[derive(Default)]
pub(super) struct Cuts {
    /// The branches found: each with the number of events that it shares with the run.
    pub found: Vec<(usize, Branch)>,
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
    /// The step before it of its process.
    step_before: Option<usize>,
}

impl Asked {
    fn event<M: Machine>(explorer: &Explorer<'_, M>, event: usize) -> Self {
        Asked {
            process: explorer.order.process(event),
            limit: event,
            step_before: explorer.order.step_before(event),
        }
    }

    /// Whether it cannot be the next step of its process without an event. Who creates it may differ from cut to cut: the next to be
    /// taken from a channel is another envelope if fewer were taken.
    fn needs<M: Machine>(&self, explorer: &Explorer<'_, M>, event: usize) -> bool {
        let is_before = |&step: &usize| step == event || explorer.order.before(event, step);
        self.step_before.as_ref().is_some_and(is_before)
    }
}

impl Cuts {
    /// How else an event could have ended.
    pub fn other_results<M: Machine>(
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
    pub fn pairs<M: Machine>(
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
                let Cuts { without, alternatives, .. } = self;
                let there = explorer.machine.elsewhere(asked.process, without, alternatives)?;
                if let Elsewhere::Possible(footprint, created_by) = there {
                    self.add(explorer, &asked, footprint, created_by);
                }
            }
        }
        self.dependent = dependent;
        Ok(())
    }

    /// The cuts after which an event could have been performed.
    pub fn of_event<M: Machine>(
        &mut self,
        explorer: &mut Explorer<'_, M>,
        event: usize,
    ) -> Result<(), Error> {
        let asked = Asked::event(explorer, event);
        self.without_each(explorer, &asked, explorer.steps[event].what.footprint)
    }

    /// The cuts after which a process could have taken the step that it has not taken.
    pub fn of_process<M: Machine>(
        &mut self,
        explorer: &mut Explorer<'_, M>,
        process: Process,
    ) -> Result<(), Error> {
        let limit = explorer.steps.len();
        let step_before = explorer.order.last_step(process, limit);
        let asked = Asked { process, limit, step_before };
        self.leave_out(explorer, &[], limit);
        let Cuts { without, alternatives, .. } = self;
        let now = explorer.machine.elsewhere(process, without, alternatives)?;
        if let Elsewhere::Possible(footprint, _) = now {
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
        for event in (0..asked.limit).rev() {
            let other = explorer.steps[event].what.footprint;
            let is_dependent = explorer.machine.footprints().conflict(other, footprint);
            if is_dependent && !asked.needs(explorer, event) {
                self.wait(explorer, vec![event as u32]);
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
                Elsewhere::Possible(footprint, created_by) => {
                    self.add(explorer, asked, footprint, created_by);
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
                Elsewhere::Unwanted(footprint) => {
                    let footprints = explorer.machine.footprints();
                    let conflicts = |event: usize| {
                        footprints.conflict(explorer.steps[event].what.footprint, footprint)
                    };
                    self.add_last(explorer, asked, conflicts, &mut next);
                }
                Elsewhere::Hindered(by) => {
                    if !asked.needs(explorer, by) {
                        next.push(by as u32);
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
                self.wait(explorer, smaller);
            }
        }
        Ok(())
    }

    /// Puts a cut among those that wait, unless it has been there.
    fn wait<M: Machine>(&mut self, explorer: &Explorer<'_, M>, mut roots: Vec<u32>) {
        let is_after = |event: u32, root: u32| explorer.order.before(root as usize, event as usize);
        let all = roots.clone();
        roots.retain(|&event| !all.iter().any(|&root| is_after(event, root)));
        roots.sort_unstable();
        if self.seen.insert(roots.clone()) {
            self.waiting.push(roots);
        }
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

    /// Lists what a cut lacks: these events and all that happens after them, and all from `limit` on.
    fn leave_out<M: Machine>(&mut self, explorer: &Explorer<'_, M>, roots: &[u32], limit: usize) {
        let first = roots.iter().min().map_or(limit, |&root| root as usize);
        let is_out = |&event: &usize| {
            let of_root =
                |&root: &u32| root as usize == event || explorer.order.before(root as usize, event);
            event >= limit || roots.iter().any(of_root)
        };
        self.without.clear();
        self.without.extend((first..explorer.steps.len()).filter(is_out).map(|event| event as u32));
    }

    /// Whether the cut at hand lacks an event.
    fn lacks(&self, event: usize) -> bool {
        self.without.binary_search(&(event as u32)).is_ok()
    }

    /// Adds the branch to the cut at hand, after which the step has these alternatives: what it needs of the cut, and
    /// the step.
    fn add<M: Machine>(
        &mut self,
        explorer: &Explorer<'_, M>,
        asked: &Asked,
        footprint: Footprint,
        created_by: Option<usize>,
    ) {
        let Some(&at) = self.without.first() else { return };
        let at = at as usize;
        let footprints = explorer.machine.footprints();
        // The events of the cut that must come before the step, the last first.
        let mut before: Vec<usize> = Vec::new();
        for event in (at..asked.limit).rev().filter(|&event| !self.lacks(event)) {
            if asked.needs(explorer, event)
                || created_by == Some(event)
                || footprints.conflict(explorer.steps[event].what.footprint, footprint)
                || before.iter().any(|&later| explorer.order.before(event, later))
            {
                before.push(event);
            }
        }
        let order = before.iter().rev().map(|&event| explorer.steps[event].what.transition);
        let order: Vec<Transition> = order.collect();
        for &alternative in &self.alternatives {
            let mut order = order.clone();
            order.push(Transition { process: asked.process, alternative });
            let back = Some(explorer.steps[at].what.transition);
            self.found.push((at, Branch { order, back }));
        }
    }
}
