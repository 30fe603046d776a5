//! Reductions `source` and `optimal`: one run, or few, for each trace.
//!
//! Both perform runs to their end, look for [races](super::races) there, and branch off where a race asks for
//! it. What was explored from a point of the run *sleeps* in what is explored from there later, until something
//! happens that conflicts with it.
//!
//! - `source` (Algorithm 1 of "Optimal dynamic partial order reduction") only takes care that from each point of the run the
//!   branches are a *source set*: all traces from there begin with one of them. It may run
//!   into a point where all that is possible sleeps, and has performed a part of a run in vain.
//! - `cached` is `source` with a [memory](super::cache) of states.
//! - `optimal` (its Algorithm 2) keeps the whole sequence that a race asks for in a [wakeup tree](super::tree) and follows
//!   it. So it performs each trace once, and never runs into what sleeps.
//!
//! **Where it departs from the paper.** Steps can make others impossible: see [`races`](super::races). Runs are
//! looked at when they have ended, in both reductions; a pair of events that was looked at in a run with the same
//! beginning up to the later of them is not looked at again, in `optimal` only if it is *settled*: see below. A
//! branch of `source` is not added either if something that
//! sleeps begins what a race asks for. (That something that sleeps *may* begin it would not do: `optimal` follows sequences
//! that were asked for where that went to sleep, `source` has forgotten them.)
//!
//! **What is settled.** Runs with the same beginning up to the later event of a pair all ask for a sequence with the same
//! beginning, up to that event; behind it is what else each run has that need not come after the earlier one. What is behind
//! matters only because of what sleeps: what something asleep may begin is not wanted, and is wanted with something behind
//! that wakes it. (So it is not enough to look at each pair once. In one run a step chooses what never leads to the event
//! that wakes, in another run it chooses otherwise.) What sleeps at the point does not change as long as runs go
//! through the earlier event. So a pair is settled
//!
//! - if something that sleeps begins the beginning: it begins whatever comes behind, too, and was seen;
//! - if nothing that sleeps may begin it, and it fits into the tree where all branches on its way down are part of it.
//!   Then the tree leads to a point with nothing but events of the beginning and nothing asleep, from which all is explored
//!   that may come behind. Only the beginning is put in the tree.
//!
//! In all other cases the sequence of the run at hand is put in the tree, if nothing that sleeps may begin it, and that of
//! the next run is looked at again.
//!
//! **Under a depth bound** runs are cut off, and neither promises to see all that lies within the
//! bound: which of independent events come first is arbitrary. The outcome is never complete then.

use super::cache::Cache;
use super::estimate::Branches;
use super::explore::{Explorer, Move, broken_promise};
use super::races::Races;
use super::team::{Node, Team};
use super::tree::{self, Branch, Trees, begins, may_begin};
use crate::engine::machine::{First, Machine, Transition};
use crate::engine::options::Reduction;
use crate::error::Error;
use std::sync::Arc;

/// After so many runs others are called to help.
const RUNS_ALONE: u64 = 1_000;

/// A point of the run.
#[derive(Default)]
pub(super) struct Frame {
    /// What was explored from here, or from before, and need not be now.
    pub sleep: Vec<Move>,
    /// How many of these, the first ones, others explore or have explored.
    pub foreign: usize,
    /// What is still to be seen from here.
    pub tree: Branch,
    /// How many branches are explored.
    pub done: u32,
    /// If the point belongs to all: what they know of it, and how much of that is known here.
    pub node: Option<Arc<Node>>,
    pub known: usize,
}

/// A search in progress.
pub(super) struct Search<'e, 'a, M> {
    pub explorer: &'e mut Explorer<'a, M>,
    /// Those who explore with this one.
    pub team: Option<&'e Team>,
    /// Points from this on are this one's own.
    pub root: usize,
    /// Whether whole sequences are followed.
    pub is_optimal: bool,
    pub frames: Vec<Frame>,
    /// Frames kept for their room.
    pub spare: Vec<Frame>,
    pub trees: Trees,
    pub races: Races,
    possible: Vec<Transition>,
    /// The events whose races were found in a run with the same beginning.
    pub analysed: usize,
    /// What is known of states, if that is kept.
    cache: Option<Cache>,
    /// Whether the next step is one that nobody has asked for.
    is_extended: bool,
}

/// Explores everything from the present start.
pub(super) fn explore<M: Machine>(
    explorer: &mut Explorer<'_, M>,
    reduction: Reduction,
) -> Result<(), Error> {
    let mut search = Search::new(explorer, reduction, None);
    search.enter(tree::NONE)?;
    search.run(&mut || {})?;
    let states = search.cache.as_ref().map(Cache::len);
    let before = explorer.unique_states.unwrap_or(0);
    explorer.unique_states = states.map(|states| before + states);
    Ok(())
}

/// Explores as one of a team; the first of them begins with everything. `call` calls the others.
pub(super) fn explore_in_team<M: Machine>(
    explorer: &mut Explorer<'_, M>,
    reduction: Reduction,
    team: &Team,
    is_first: bool,
    call: &mut dyn FnMut(),
) -> Result<(), Error> {
    let mut search = Search::new(explorer, reduction, Some(team));
    if is_first {
        search.explorer.restart(0)?;
        search.enter(tree::NONE)?;
        search.run(call)?;
    }
    let mut was_busy = is_first;
    while !search.explorer.is_over()
        && let Some(task) = team.take(was_busy)
    {
        was_busy = true;
        search.begin(task)?;
        search.run(call)?;
    }
    if search.explorer.is_over() {
        team.end();
    }
    Ok(())
}

impl<'e, 'a, M: Machine> Search<'e, 'a, M> {
    fn new(
        explorer: &'e mut Explorer<'a, M>,
        reduction: Reduction,
        team: Option<&'e Team>,
    ) -> Self {
        Search {
            explorer,
            team,
            root: 0,
            is_optimal: reduction == Reduction::Optimal,
            frames: Vec::new(),
            spare: Vec::new(),
            trees: Trees::default(),
            races: Races::default(),
            possible: Vec::new(),
            analysed: 0,
            cache: (reduction == Reduction::Cached).then(Cache::default),
            is_extended: false,
        }
    }

    fn run(&mut self, call: &mut dyn FnMut()) -> Result<(), Error> {
        while self.frames.len() > self.root {
            let depth = self.frames.len() - 1;
            if self.explorer.is_over() {
                return Ok(());
            }
            if let Some(team) = self.team {
                if team.is_over() {
                    return Ok(());
                }
                if team.is_hungry() {
                    self.give_away(team);
                } else if self.explorer.runs() >= RUNS_ALONE {
                    call();
                }
            }
            let frame = &mut self.frames[depth];
            match self.trees.take_first(&mut frame.tree) {
                None => {
                    self.spare.extend(self.frames.pop());
                    if let Some(cache) = &mut self.cache {
                        cache.leave(&self.explorer.machine, self.explorer.steps.last());
                    }
                    // The step that led here is explored.
                    if self.frames.len() > self.root
                        && let Some(parent) = self.frames.last_mut()
                    {
                        parent.sleep.push(self.explorer.steps[depth - 1].what);
                        parent.done += 1;
                        self.explorer.go_back(depth - 1)?;
                        self.analysed = self.analysed.min(depth - 1);
                    }
                }
                Some((what, below)) => {
                    let footprint = self.explorer.perform(what.transition)?;
                    // Where nobody has asked for it, nobody knew before.
                    let is_known = !std::mem::take(&mut self.is_extended);
                    if is_known && footprint != what.footprint && self.explorer.machine.is_exact() {
                        return Err(broken_promise(""));
                    }
                    if !self.explorer.is_over() {
                        self.enter(below)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Stands at a new point of the run, from which a tree is to be seen.
    pub fn enter(&mut self, tree: Branch) -> Result<(), Error> {
        let mut frame = self.spare.pop().unwrap_or_default();
        frame.sleep.clear();
        (frame.done, frame.node, frame.known, frame.foreign) = (0, None, 0, 0);
        frame.tree = tree;
        if let (Some(parent), Some(step)) = (self.frames.last(), self.explorer.steps.last()) {
            let footprints = self.explorer.machine.footprints();
            let sleeps = |other: &&Move| {
                other.transition.process != step.what.transition.process
                    && !footprints.conflict(other.footprint, step.what.footprint)
            };
            let (foreign, own) = parent.sleep.split_at(parent.foreign);
            frame.sleep.extend(foreign.iter().filter(sleeps));
            frame.foreign = frame.sleep.len();
            frame.sleep.extend(own.iter().filter(sleeps));
        }
        if let Some(cache) = &mut self.cache {
            cache.enter(self.explorer, &frame.sleep);
        }
        self.frames.push(frame);
        if !self.joins()? && tree == tree::NONE {
            self.extend()?;
        }
        Ok(())
    }

    /// Chooses how the run goes on, or ends it.
    fn extend(&mut self) -> Result<(), Error> {
        let at = self.frames.len() - 1;
        let sleep = &self.frames[at].sleep;
        let sleeps = |transition| sleep.iter().any(|other| other.transition == transition);
        let first = match &mut self.cache {
            None => self.explorer.first_possible(sleeps)?,
            Some(cache) => {
                self.explorer.possible(&mut self.possible)?;
                cache.note_possible(&self.possible);
                match self.possible.iter().copied().find(|&transition| !sleeps(transition)) {
                    Some(transition) => First::Possible(transition, true),
                    None if self.possible.is_empty() => First::Nothing,
                    None => First::Asleep(true),
                }
            }
        };
        let is_cut = first != First::Nothing && self.explorer.is_at_bound();
        if let Some(cache) = &mut self.cache
            && (is_cut || !matches!(first, First::Possible(..)))
        {
            cache.end_run(self.explorer, is_cut)?;
        }
        match first {
            _ if self.explorer.is_over() => {}
            First::Possible(transition, _) if !is_cut => {
                // What it touches is known when it has happened, and not needed before.
                let what = Move { transition, footprint: 0 };
                self.frames[at].tree = self.trees.single(what);
                self.is_extended = true;
            }
            First::Asleep(_) => {
                self.explorer.end_blocked_run();
                self.branch_off(false)?;
            }
            _ => {
                self.tell_branches();
                self.explorer.end_run(is_cut)?;
                self.branch_off(is_cut)?;
                self.explorer.guard_order()?;
            }
        }
        Ok(())
    }

    /// Whether the run ends here, since everything from here was explored before.
    fn joins(&mut self) -> Result<bool, Error> {
        if !self.cache.as_ref().is_some_and(Cache::is_known) {
            return Ok(false);
        }
        // What the run itself asks for comes first.
        self.races.find(self.explorer, self.analysed)?;
        self.add_reversals();
        let Some(cache) = &mut self.cache else { return Ok(false) };
        let (frames, trees) = (&mut self.frames, &mut self.trees);
        let now: Vec<Transition> =
            self.explorer.steps.iter().map(|step| step.what.transition).collect();
        cache.join(self.explorer, |at, transition| {
            now[at] == transition
                || frames[at].sleep.iter().any(|other| other.transition == transition)
                || trees.has(frames[at].tree, transition)
        })?;
        for (at, what) in cache.missing() {
            trees.add_moves(&mut frames[*at].tree, [what]);
        }
        self.explorer.stored = trees.bytes() + self.races.bytes() + cache.bytes();
        self.explorer.end_joined_run();
        Ok(true)
    }

    /// Sees to it that what the races of the run ask for is seen.
    ///
    /// Also if all that is possible sleeps: what would have come of a conflicting order may wake it.
    fn branch_off(&mut self, is_cut: bool) -> Result<(), Error> {
        if self.explorer.is_over() {
            return Ok(());
        }
        self.races.find(self.explorer, self.analysed)?;
        self.races.find_at_end(self.explorer, is_cut)?;
        self.add_reversals();
        Ok(())
    }

    /// Puts what was found where it branches off.
    fn add_reversals(&mut self) {
        self.analysed = self.explorer.steps.len();
        for index in 0..self.races.len() {
            let (reversal, sequence) = self.races.found(index);
            if reversal.at < self.root {
                self.ask_for(index);
                continue;
            }
            let footprints = self.explorer.machine.footprints();
            let frame = &mut self.frames[reversal.at];
            let sleep = &frame.sleep;
            if self.is_optimal {
                let (foreign, own) = sleep.split_at(frame.foreign);
                let wakes_all = |sequence: &[Move]| {
                    !own.iter().any(|&other| may_begin(footprints, other, sequence))
                        && !foreign.iter().any(|&other| begins(footprints, other, sequence))
                };
                let short = &sequence[..=reversal.about];
                let was_seen = sleep.iter().any(|&other| begins(footprints, other, short));
                let is_settled = reversal.event.is_some()
                    && (was_seen
                        || wakes_all(short)
                            && self.trees.settle(footprints, &mut frame.tree, short));
                if !is_settled {
                    if wakes_all(sequence) {
                        self.trees.insert(footprints, &mut frame.tree, sequence);
                    }
                    if let Some(event) = reversal.event {
                        self.races.leave_open(event);
                    }
                }
            } else if !sleep.iter().any(|&other| begins(footprints, other, sequence))
                && !self.trees.begins(footprints, frame.tree, sequence)
            {
                // With what the race is about, if it need not wait for the others.
                let first = if reversal.may_begin { reversal.about } else { 0 };
                self.trees.add_moves(&mut frame.tree, &sequence[first..=first]);
            }
        }
    }

    /// Tells how many branches there are along the run.
    fn tell_branches(&mut self) {
        if self.root == 0 && self.explorer.wants_branches() {
            let cached = self.cache.as_ref().map_or(0, Cache::bytes);
            self.explorer.stored = self.trees.bytes() + self.races.bytes() + cached;
            // The last point has no branches.
            let points = &self.frames[..self.frames.len() - 1];
            self.explorer.guess(points.iter().map(|frame| Branches {
                done: frame.done as usize,
                known: (frame.done + 1 + self.trees.count(frame.tree)) as usize,
            }));
        }
    }
}
