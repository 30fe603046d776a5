//! What is possible at a node of the tree, in an order that is made of content.

use super::{Choice, Choosable, NONE, Stand, Stop, Walk};
use crate::engine::dir::interface::Would;
use crate::engine::dir::partial::Fate;
use crate::engine::machine::{Elsewhere, Machine, Process, Transition};
use crate::error::Error;
use crate::trace::skeleton::Name;
use rustc_hash::FxHashSet;

/// A step that was found to be possible.
struct Found {
    would: Would,
    is_smaller: bool,
}

impl<M: Machine> Walk<'_, '_, M> {
    /// What is possible at a node.
    pub(super) fn stand(&mut self, node: u32, done: u32) -> Result<Stand, Error> {
        let key = (node, self.shown[done as usize]);
        if let Some(&stand) = self.tree.stands.get(&key) {
            return Ok(stand);
        }
        self.follow()?;
        let shares = self.shares[done as usize];
        let mut listed = std::mem::take(&mut self.listed);
        self.led.machine.possible(&mut listed)?;
        listed.dedup_by_key(|transition| transition.process);
        let mut all = Vec::new();
        for &Transition { process, .. } in &listed {
            if self.led.parts.of(&*self.led.machine, process) == self.tree.component {
                self.choose(process, shares, &mut all)?;
            }
        }
        self.listed = listed;
        let is_end = all.is_empty();
        if shares {
            let mut blocked = Vec::new();
            self.led.machine.blocked(&mut blocked)?;
            for process in blocked {
                if self.led.parts.of(&*self.led.machine, process) == self.tree.component {
                    self.choose(process, shares, &mut all)?;
                }
            }
        }
        let from = self.tree.choices.len() as u32;
        self.add(node, done, all);
        let mut stand = Stand { from, to: self.tree.choices.len() as u32, end: NONE, stop: NONE };
        if is_end {
            (stand.end, stand.stop) = (self.note_end(node)?, self.note_stop(node, done));
        }
        self.tree.stands.insert(key, stand);
        Ok(stand)
    }

    /// Adds choices in the order of what they are.
    fn add(&mut self, node: u32, done: u32, mut all: Vec<Found>) {
        let machine = &*self.led.machine;
        all.sort_by_cached_key(|Found { would, is_smaller }| {
            let Transition { process, alternative } = would.what.transition;
            (*is_smaller, machine.process_key(process), alternative, would.name)
        });
        for Found { would, is_smaller } in all {
            let option = match would.name {
                0 => NONE,
                name => {
                    let doing = self.led.parts.doing(&*self.led.machine, would.what);
                    let past = self.names(would.past.iter().map(|&event| event as usize));
                    let step = Some((doing, would.label, name));
                    let branch = self.branch_number(name, self.own[done as usize]);
                    self.option(Choosable { node, step, past, branch, shown: None })
                }
            };
            let (transition, mark, child) = (would.what.transition, would.mark, NONE);
            self.tree.choices.push(Choice { transition, mark, option, child, is_smaller });
        }
    }

    fn option(&mut self, option: Choosable) -> u32 {
        self.tree.options.push(option);
        self.tree.options.len() as u32 - 1
    }

    fn branch_number(&mut self, name: Name, around: u64) -> u32 {
        let next = self.tree.branches.len() as u32;
        *self.tree.branches.entry((name, around)).or_insert(next)
    }

    /// What the component calls some events of the run, as far as they concern it.
    fn names(&self, events: impl Iterator<Item = usize>) -> Box<[Name]> {
        let marks = &self.led.marks.all;
        events.filter_map(|event| marks[event].for_component(self.tree.component)).collect()
    }

    /// Adds the choices that a process has where the machine stands, or would have if the rest had done less.
    fn choose(
        &mut self,
        process: Process,
        shares: bool,
        into: &mut Vec<Found>,
    ) -> Result<(), Error> {
        let mut cuts: Vec<Vec<u32>> = vec![Vec::new()];
        let mut seen: FxHashSet<Vec<u32>> = FxHashSet::default();
        let mut names: FxHashSet<(u32, Name)> = FxHashSet::default();
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
                    if names.insert((alternative, would.name)) && (would.name != 0 || !is_smaller) {
                        into.push(Found { would, is_smaller });
                    }
                }
            }
            if shares {
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
        for event in first as usize..self.led.moves.len() {
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
        let all = (0..self.led.moves.len()).rev().filter(is_in);
        let touched = |event: usize| self.led.moves[event].footprint;
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

    /// Notes that the component may stop where the machine stands.
    fn note_stop(&mut self, node: u32, done: u32) -> u32 {
        let past = self.names(0..self.led.moves.len());
        let around = self.own[done as usize].wrapping_add(self.shown[done as usize]);
        let branch = self.branch_number(0, around);
        self.option(Choosable { node, step: None, past, branch, shown: None })
    }

    /// Notes how the component is at its end, where the machine stands.
    fn note_end(&mut self, node: u32) -> Result<u32, Error> {
        let mut fate = Fate { look: self.look_now(), is_withheld: false, trouble: 0 };
        for &group in &self.led.parts.groups[self.tree.component as usize] {
            fate.is_withheld |= self.led.machine.withholds(group);
            fate.trouble = fate.trouble.wrapping_add(self.led.machine.ended(group)?);
        }
        let past = self.names(0..self.led.moves.len());
        self.tree.ends.push(Stop { node, fate, past, shown: None });
        Ok(self.tree.ends.len() as u32 - 1)
    }
}
