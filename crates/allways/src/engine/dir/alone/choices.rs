//! What is possible at a node of the tree, and what is noted there. The run in which it is so is kept once for all that was noted along it, when the machine is about to leave it.

use super::{Alone, Choice, NONE, Sight, Stand, Walk, What};
use crate::engine::dir::interface::Doing;
use crate::engine::dir::partial::{Branch, End};
use crate::engine::machine::{Elsewhere, Machine, Process, Transition};
use crate::error::Error;
use crate::trace::skeleton::{Label, Name};
use rustc_hash::FxHashSet;
use std::rc::Rc;

impl<M: Machine> Walk<'_, '_, M> {
    /// What is possible at a node.
    pub(super) fn stand(&mut self, node: u32, done: u32) -> Result<Stand, Error> {
        let key = (node, self.shown[done as usize]);
        if let Some(&stand) = self.tree.stands.get(&key) {
            return Ok(stand);
        }
        self.follow()?;
        let from = self.tree.choices.len() as u32;
        let mut listed = std::mem::take(&mut self.listed);
        self.led.machine.possible(&mut listed)?;
        listed.dedup_by_key(|transition| transition.process);
        for &Transition { process, .. } in &listed {
            if self.led.parts.of(&*self.led.machine, process) == self.tree.component {
                self.choose(process, done)?;
            }
        }
        self.listed = listed;
        let is_end = from == self.tree.choices.len() as u32;
        if self.shares {
            let mut blocked = Vec::new();
            self.led.machine.blocked(&mut blocked)?;
            for process in blocked {
                if self.led.parts.of(&*self.led.machine, process) == self.tree.component {
                    self.choose(process, done)?;
                }
            }
        }
        let mut stand = Stand { from, to: self.tree.choices.len() as u32, end: NONE, stop: NONE };
        if is_end {
            (stand.end, stand.stop) = (self.note_end(done)?, self.note_stop(done));
        }
        self.tree.stands.insert(key, stand);
        Ok(stand)
    }

    /// Adds the choices that a process has where the machine stands, or would have if the rest had done less.
    fn choose(&mut self, process: Process, done: u32) -> Result<(), Error> {
        let mut cuts: Vec<Vec<u32>> = vec![Vec::new()];
        let mut seen: FxHashSet<Vec<u32>> = FxHashSet::default();
        let (mut without, mut alternatives) = (Vec::new(), Vec::new());
        while let Some(roots) = cuts.pop() {
            self.leave_out(&roots, &mut without);
            let is_own = |&event: &u32| self.is_own(event as usize);
            if without.iter().any(is_own) {
                continue;
            }
            let found = self.led.machine.elsewhere(process, &without, &mut alternatives)?;
            if let Elsewhere::Possible(footprint, created_by) = found {
                for &alternative in &alternatives {
                    let transition = Transition { process, alternative };
                    let would = self.led.would(transition, footprint, created_by, &without)?;
                    let is_smaller = !roots.is_empty();
                    let branch = match would.name {
                        0 => NONE,
                        name => {
                            let step = Some((would.doing, would.label, name));
                            self.note(step, &would.past, &without, self.own[done as usize])
                        }
                    };
                    if branch != NONE || !is_smaller {
                        let (mark, child) = (would.mark, NONE);
                        let choice = Choice { transition, mark, branch, child, is_smaller };
                        self.tree.choices.push(choice);
                    }
                }
            }
            if self.shares {
                for event in self.hindrances(found, &without) {
                    let order = &self.led.marks.order;
                    let is_after = |&&root: &&u32| order.before(event as usize, root as usize);
                    let stay = roots.iter().filter(|root| !is_after(root)).copied();
                    let mut smaller: Vec<u32> = stay.chain([event]).collect();
                    smaller.sort_unstable();
                    if seen.insert(smaller.clone()) {
                        cuts.push(smaller);
                    }
                }
            }
        }
        Ok(())
    }

    fn is_own(&self, event: usize) -> bool {
        self.led.marks.all[event].component == self.tree.component
    }

    /// Lists what a cut lacks: these events and all that happens after them.
    fn leave_out(&self, roots: &[u32], into: &mut Vec<u32>) {
        into.clear();
        let Some(&first) = roots.iter().min() else { return };
        let order = &self.led.marks.order;
        for event in first as usize..self.led.doings.len() {
            let lacks = |&root: &u32| root as usize == event || order.before(root as usize, event);
            if roots.iter().any(lacks) {
                into.push(event as u32);
            }
        }
    }

    /// The last events of a cut without which a step might be possible, or another one: of the rest, as the component's own stay.
    fn hindrances(&self, found: Elsewhere, without: &[u32]) -> Vec<u32> {
        let footprints = self.led.machine.footprints();
        let is_in = |event: &usize| without.binary_search(&(*event as u32)).is_err();
        let all = (0..self.led.doings.len()).rev().filter(is_in);
        let touched = |event: usize| self.led.doings[event].footprint;
        match found {
            Elsewhere::Possible(footprint, _) | Elsewhere::Unwanted(footprint) => {
                let mut last: Vec<u32> = Vec::new();
                for event in all.filter(|&event| !self.is_own(event)) {
                    let is_after =
                        |&later: &u32| self.led.marks.order.before(event, later as usize);
                    if footprints.conflict(touched(event), footprint) && !last.iter().any(is_after)
                    {
                        last.push(event as u32);
                    }
                }
                last
            }
            Elsewhere::Hindered(by) => vec![by as u32],
            Elsewhere::Blocked(by) => {
                let last = |&object: &u32| {
                    let mut writers = all.clone();
                    writers.find(|&event| footprints.is_written(touched(event), object))
                };
                let last = by.objects().iter().filter_map(last);
                last.map(|event| event as u32).collect()
            }
        }
    }

    /// Notes a branch, if it is a new one, and says which it is.
    fn note(
        &mut self,
        step: Option<(Doing, Label, Name)>,
        past: &[u32],
        without: &[u32],
        around: u64,
    ) -> u32 {
        let name = step.as_ref().map_or(0, |(_, _, name)| *name);
        let component = self.tree.component;
        let next = (self.tree.branches.len() + self.drafts.len()) as u32;
        let known = *self.tree.known_branches.entry((name, around)).or_insert(next);
        if known == next {
            let marks = &self.led.marks.all;
            let name = |&event: &u32| marks[event as usize].for_component(component);
            self.drafts.push((next, step, past.iter().filter_map(name).collect()));
            self.sights.push(Sight {
                what: What::Branch,
                place: next,
                len: self.led.doings.len(),
                without: without.into(),
            });
        }
        known
    }

    /// Notes that the component may stop where the machine stands.
    fn note_stop(&mut self, done: u32) -> u32 {
        let all: Vec<u32> = (0..self.led.doings.len() as u32).collect();
        let done = done as usize;
        self.note(None, &all, &[], self.own[done].wrapping_add(self.shown[done]))
    }

    /// Notes how the component is at its end, where the machine stands.
    fn note_end(&mut self, done: u32) -> Result<u32, Error> {
        let mut end = End { look: self.look_now(), is_withheld: false, trouble: 0 };
        for &group in &self.led.parts.groups[self.tree.component as usize] {
            end.is_withheld |= self.led.machine.withholds(group);
            end.trouble = end.trouble.wrapping_add(self.led.machine.ended(group)?);
        }
        let Alone { ends, known_ends, .. } = &mut *self.tree;
        let next = ends.len() as u32;
        let place = *known_ends.entry((self.own[done as usize], end.clone())).or_insert(next);
        if place == next {
            ends.push((end, None));
            let len = self.led.doings.len();
            self.sights.push(Sight { what: What::End, place, len, without: [].into() });
        }
        Ok(place)
    }

    /// Keeps the run for all that was noted along it. It is as it was then, or longer.
    pub(super) fn keep(&mut self) {
        if self.sights.is_empty() {
            return;
        }
        let trace = Rc::new(self.led.trace());
        let component = self.tree.component;
        let mut drafts = self.drafts.drain(..);
        for Sight { what, place, len, without } in self.sights.drain(..) {
            let is_in = |event: usize| {
                let is_its = || trace.events[event].mark.component == component;
                let is_without = || without.binary_search(&(event as u32)).is_ok();
                event < len && (what == What::Branch || is_its()) && !is_without()
            };
            let stays: Box<[bool]> = (0..trace.events.len()).map(is_in).collect();
            let part = (Rc::clone(&trace), stays);
            match what {
                What::Look => self.tree.looks[place as usize].1 = Some(part),
                What::End => self.tree.ends[place as usize].1 = Some(part),
                What::Branch => {
                    if let Some((number, step, past)) = drafts.next() {
                        debug_assert_eq!((number, place), (place, self.tree.branches.len() as u32));
                        let (trace, stays) = part;
                        let branch = Branch { component, step, past, trace, stays };
                        self.tree.branches.push(Rc::new(branch));
                    }
                }
            }
        }
    }
}
