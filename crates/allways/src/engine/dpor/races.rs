//! Races of a run: what could have happened otherwise, and where to branch off to see it.
//!
//! Let `r` be the next step of a process, somewhere along the run or after its end. It could have happened
//! elsewhere in the run's trace if there is a *cut* (a set of events with all that happens before them) without some event
//! that `r` depends on after which `r` is possible. Each such cut, with `r` behind it, is the beginning of another trace.
//! In the run, it branches off before the first event that the cut lacks; the rest of the cut,
//! and then `r`, is the sequence to be seen from there. It suffices to look at the largest such
//! cuts: from the runs that they lead to, the smaller ones are found.
//!
//! In the classic setting, where nothing that is possible is made impossible by others, these are the reversible races
//! of source sets and optimal DPOR (Abdulla, Aronis, Jonsson, Sagonas): the largest cuts lack one
//! immediate predecessor of `r` each, and all that happens after it. But an envelope that would
//! change nothing cannot be delivered, and steps of its node make it so and undo it. Hence:
//!
//! - if `r` is not possible after a cut, a smaller one is tried: the machine says which object is to blame, and the last
//!   event of the cut that writes it is left out too, with all that happens after it. Events that made `r` possible are
//!   skipped in this way, and do not end the search.
//! - `r` need not have happened at all. At the end of a run, this is asked for all processes that
//!   are [blocked](Machine::blocked): they may have been possible before.
//! - where a run was cut off by the depth bound, it is asked for what is still possible, too.
//!
//! A step that can end in several ways is several steps that prevent each other: for each that was not taken,
//! the largest cut lacks the one that was, and all that happens after it.
//!
//! **Why the largest cuts suffice.** Let `E` be a prefix of explored runs, `p` an explored step after it, and let `E.u.r` be possible,
//! where `p` is independent of `u` and not of `r`. If `r` is possible after `E.p.u`, then a run with `E.p.u.r` is explored
//! and `p` is an immediate predecessor of `r` in it. Otherwise look at a run after `E.p.u` in which `r` becomes
//! possible again after as few events as can be (of its node, then of all), or one in which it never does. The cut `E.u` is
//! within that run, so there is a largest cut around it after which `r` is possible, and since the
//! number of events was least, that one lacks `p`. Either it is `E.u` in all that `r` depends on, and
//! its sequence from `E` is what is wanted; or it has more such events, `p` is not among them, and from `E` a run
//! is explored that begins with one of these and needs fewer events than that after `p` for `r` to become possible. So this comes
//! to an end, where some step explored after `E` begins a sequence that `u.r` begins with or
//! is independent of more than `u`. From here on the classic argument applies.

use super::explore::{Explorer, Move};
use super::tree::may_begin;
use crate::engine::machine::footprint::Footprint;
use crate::engine::machine::{Elsewhere, Machine, Process, Transition};
use crate::error::Error;
use rustc_hash::FxHashSet;
use std::ops::Range;

/// Another beginning of a trace: the run up to an event, and then these moves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reversal {
    /// The number of events that it shares with the run.
    pub at: usize,
    /// The move that it is about, by its place in the sequence.
    pub about: usize,
    /// Whether that might be the first of the sequence: nothing in it creates that or conflicts with it.
    pub may_begin: bool,
    /// The event that it is about, if what comes behind the move in the sequence is just what else the run at hand
    /// has: another run that begins with the same events up to this one has the same reversal, with something else behind.
    pub event: Option<usize>,
    start: usize,
    end: usize,
}

/// The reversals of one run, and room to find them.
#[derive(Default)]
pub(crate) struct Races {
    found: Vec<Reversal>,
    moves: Vec<Move>,
    /// The events that a cut lacks.
    without: Vec<u32>,
    alternatives: Vec<u32>,
    /// Cuts to look at, each by the events of which it lacks the future; one after the other.
    cuts: Vec<Vec<u32>>,
    /// Those that were looked at, if there may be several ways to one.
    seen: FxHashSet<Vec<u32>>,
    /// Vectors kept for their room.
    spare: Vec<Vec<u32>>,
    blocked: Vec<Process>,
    possible: Vec<Transition>,
    /// For each event of the run, whether it has to be looked at again in other runs that begin with it.
    open: Vec<bool>,
}

impl Races {
    /// Finds the reversals of the events of a run. Those of events before `from` were found before, and are found
    /// again only if the event was left open.
    pub fn find<M: Machine>(
        &mut self,
        explorer: &mut Explorer<'_, M>,
        from: usize,
    ) -> Result<(), Error> {
        self.found.clear();
        self.moves.clear();
        self.open.truncate(from);
        self.open.resize(explorer.steps.len(), false);
        for event in 0..explorer.steps.len() {
            if event >= from || self.open[event] {
                self.open[event] = false;
                self.of_event(explorer, event)?;
            }
        }
        Ok(())
    }

    /// Adds those of what is blocked when the run has ended, and of what is possible if it was cut off.
    pub fn find_at_end<M: Machine>(
        &mut self,
        explorer: &mut Explorer<'_, M>,
        is_cut: bool,
    ) -> Result<(), Error> {
        let mut blocked = std::mem::take(&mut self.blocked);
        explorer.machine.blocked(&mut blocked)?;
        for &process in &blocked {
            self.scan(explorer, process, None)?;
        }
        self.blocked = blocked;
        if is_cut {
            self.of_possible(explorer)?;
        }
        Ok(())
    }

    /// Has the first so many events looked at again in the next run.
    pub fn open_all(&mut self, len: usize) {
        self.open.clear();
        self.open.resize(len, true);
    }

    /// How many reversals were found.
    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// One of them.
    pub fn found(&self, index: usize) -> (Reversal, &[Move]) {
        let reversal = self.found[index];
        (reversal, &self.moves[reversal.start..reversal.end])
    }

    /// Has an event looked at again in the next run that begins with it.
    pub fn leave_open(&mut self, event: usize) {
        self.open[event] = true;
    }

    /// Where else an event could have happened, and how else it could have ended.
    fn of_event<M: Machine>(
        &mut self,
        explorer: &mut Explorer<'_, M>,
        event: usize,
    ) -> Result<(), Error> {
        let Move { transition, footprint } = explorer.steps[event].what;
        if !explorer.steps[event].is_only {
            self.leave_out(explorer, &[event as u32]);
            let Races { without, alternatives, .. } = self;
            explorer.machine.elsewhere(transition.process, without, alternatives)?;
            self.alternatives.retain(|&alternative| alternative != transition.alternative);
            self.add(explorer, transition.process, footprint, None, Some(event));
        }
        for index in 0..explorer.order.immediate(event).len() {
            let before = explorer.order.immediate(event)[index];
            // That it was created by the one before does not mean that there was nothing to do for its process before that.
            if explorer.order.step_before(event) != Some(before as usize)
                && !explorer.machine.is_rooted_in(event, before)
            {
                self.scan(explorer, transition.process, Some((event, before)))?;
            }
        }
        Ok(())
    }

    /// Where else what is possible at the end could have happened.
    fn of_possible<M: Machine>(&mut self, explorer: &mut Explorer<'_, M>) -> Result<(), Error> {
        let mut possible = std::mem::take(&mut self.possible);
        explorer.machine.possible(&mut possible)?;
        possible.dedup_by_key(|transition| transition.process);
        for &transition in &possible {
            explorer.try_out(transition)?;
            let event = explorer.steps.len() - 1;
            explorer.steps[event].is_only = true;
            self.open.push(false);
            let known = self.found.len();
            self.of_event(explorer, event)?;
            // It is no event of this run, nor of others.
            self.found[known..].iter_mut().for_each(|reversal| reversal.event = None);
            self.open.pop();
            explorer.forget()?;
        }
        self.possible = possible;
        Ok(())
    }

    /// Finds the largest cuts after which a process could take the step that is an event of the run, without a
    /// predecessor of it; or the step that it has not taken.
    fn scan<M: Machine>(
        &mut self,
        explorer: &mut Explorer<'_, M>,
        process: Process,
        event: Option<(usize, u32)>,
    ) -> Result<(), Error> {
        let last = match event {
            Some((event, _)) => explorer.order.step_before(event),
            None => explorer.order.last_step(process, explorer.steps.len()),
        };
        self.seen.clear();
        let mut first = self.spare.pop().unwrap_or_default();
        first.clear();
        first.extend(event.map(|(_, before)| before));
        self.cuts.push(first);
        while let Some(roots) = self.cuts.pop() {
            self.leave_out(explorer, &roots);
            if last.is_none_or(|last| self.without.binary_search(&(last as u32)).is_err()) {
                let Races { without, alternatives, .. } = self;
                match explorer.machine.elsewhere(process, without, alternatives)? {
                    Elsewhere::Possible(footprint, created_by) => {
                        let event = event.map(|(event, _)| event);
                        self.add(explorer, process, footprint, created_by, event);
                    }
                    Elsewhere::Unwanted(footprint) => {
                        self.try_smaller(explorer, event, &roots, footprint);
                    }
                    Elsewhere::Hindered(by) => self.try_without(explorer, &roots, by as u32, false),
                    Elsewhere::Blocked(by) => {
                        for &object in by.objects() {
                            self.look_again_if_untouched(explorer, event, object);
                            if let Some(writer) = self.last_writer(explorer, object) {
                                self.try_without(explorer, &roots, writer, by.objects().len() > 1);
                            }
                        }
                    }
                }
            }
            self.spare.push(roots);
        }
        Ok(())
    }

    /// Has all smaller cuts looked at that lack one more event which conflicts with what this touches.
    fn try_smaller<M: Machine>(
        &mut self,
        explorer: &Explorer<'_, M>,
        event: Option<(usize, u32)>,
        roots: &[u32],
        footprint: Footprint,
    ) {
        if let Some((event, _)) = event {
            self.open[event] |= explorer.steps[event].what.footprint != footprint;
        }
        let footprints = explorer.machine.footprints();
        let conflicts = |other: &usize| {
            footprints.conflict(explorer.steps[*other].what.footprint, footprint)
                && self.without.binary_search(&(*other as u32)).is_err()
        };
        let mut last: Vec<usize> = Vec::new();
        for other in (0..explorer.steps.len()).rev().filter(conflicts) {
            if !last.iter().any(|&later| explorer.order.before(other, later)) {
                last.push(other);
            }
        }
        for other in last {
            self.try_without(explorer, roots, other as u32, true);
        }
    }

    /// What an event does not touch may change behind it, and whether it could have happened elsewhere with it.
    fn look_again_if_untouched<M: Machine>(
        &mut self,
        explorer: &Explorer<'_, M>,
        event: Option<(usize, u32)>,
        object: u32,
    ) {
        if let Some((event, _)) = event {
            let footprints = explorer.machine.footprints();
            let footprint = explorer.steps[event].what.footprint;
            let touched = footprints.is_written(footprint, object)
                || footprints.reads(footprint).contains(&object);
            self.open[event] |= !touched;
        }
    }

    /// A smaller cut, to be looked at unless it was.
    ///
    /// What happens after the writer is left out with it, so a cut has one set of roots, whichever way led to it. There are no more
    /// cuts than pairs of writers of the two objects: each object's writers are ordered, and the last ones are left out.
    fn try_without<M: Machine>(
        &mut self,
        explorer: &Explorer<'_, M>,
        roots: &[u32],
        writer: u32,
        may_be_seen: bool,
    ) {
        let mut smaller = self.spare.pop().unwrap_or_default();
        smaller.clear();
        let stays = |&&root: &&u32| !explorer.order.before(writer as usize, root as usize);
        smaller.extend(roots.iter().filter(stays));
        smaller.push(writer);
        smaller.sort_unstable();
        if (may_be_seen || !self.seen.is_empty()) && !self.seen.insert(smaller.clone()) {
            self.spare.push(smaller);
            return;
        }
        self.cuts.push(smaller);
    }

    /// Lists what a cut lacks: these events and all that happens after them.
    fn leave_out<M: Machine>(&mut self, explorer: &Explorer<'_, M>, roots: &[u32]) {
        self.without.clear();
        let order = &explorer.order;
        if let &[root] = roots {
            return order.add_future(root as usize, &mut self.without);
        }
        let Some(&first) = roots.iter().min() else { return };
        for event in first as usize..explorer.steps.len() {
            let lacks = |&root: &u32| root as usize == event || order.before(root as usize, event);
            if roots.iter().any(lacks) {
                self.without.push(event as u32);
            }
        }
    }

    /// The last event of the cut that writes an object.
    fn last_writer<M: Machine>(&self, explorer: &Explorer<'_, M>, object: u32) -> Option<u32> {
        let footprints = explorer.machine.footprints();
        let mut lacking = self.without.iter().rev().peekable();
        for event in (0..explorer.steps.len()).rev() {
            if lacking.next_if(|&&lacks| lacks as usize == event).is_some() {
                continue;
            }
            if footprints.is_written(explorer.steps[event].what.footprint, object) {
                return Some(event as u32);
            }
        }
        None
    }

    /// Notes what is to be seen: the cut at hand, and then the process with each of its alternatives. If it touches what it
    /// touched when it was an event of the run, then nothing behind that event that is not left out conflicts with it, and
    /// it is put before all that.
    fn add<M: Machine>(
        &mut self,
        explorer: &Explorer<'_, M>,
        process: Process,
        footprint: Footprint,
        created_by: Option<usize>,
        event: Option<usize>,
    ) {
        let Some(&first) = self.without.first() else { return };
        let at = first as usize;
        let len = explorer.steps.len();
        let is_same = |&event: &usize| explorer.steps[event].what.footprint == footprint;
        if let Some(event) = event
            && !is_same(&event)
        {
            self.open[event] = true;
        }
        let event = event.filter(is_same);
        for index in 0..self.alternatives.len() {
            let start = self.moves.len();
            let mut lacking = self.without.iter().peekable();
            let mut keep = |moves: &mut Vec<Move>, events: Range<usize>| {
                for event in events {
                    if lacking.next_if(|&&lacks| lacks as usize == event).is_none() {
                        moves.push(explorer.steps[event].what);
                    }
                }
            };
            let middle = event.unwrap_or(len);
            keep(&mut self.moves, at..middle);
            let transition = Transition { process, alternative: self.alternatives[index] };
            let what = Move { transition, footprint };
            let footprints = explorer.machine.footprints();
            let own = |other: &Move| other.transition.process == process;
            let may_begin_it = created_by.is_none_or(|creator| creator < at)
                && !self.moves[start..].iter().any(own)
                && may_begin(footprints, what, &self.moves[start..]);
            let about = self.moves.len() - start;
            self.moves.push(what);
            keep(&mut self.moves, middle..len);
            // If the first event that is left out may begin the sequence, the cut is not one of the largest.
            if may_begin(footprints, explorer.steps[at].what, &self.moves[start..]) {
                self.moves.truncate(start);
                continue;
            }
            let end = self.moves.len();
            self.found.push(Reversal { at, about, may_begin: may_begin_it, event, start, end });
        }
    }

    /// Roughly the bytes in use.
    pub fn bytes(&self) -> u64 {
        (self.moves.capacity() * size_of::<Move>()) as u64
    }
}
