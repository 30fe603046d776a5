//! A machine divided into components, and what they can tell of each other's steps.

use crate::engine::components::Component;
use crate::engine::dpor::explore::Move;
use crate::engine::machine::footprint::Footprint;
use crate::engine::machine::{Machine, Object, Performed, Process, Shown, Touched, Transition};
use crate::error::Error;
use crate::trace::order::Touch;
use crate::trace::skeleton::{Few, Label, Mark, Marks, Trace, pair};
use std::sync::Arc;

/// Which group of processes belongs to which component.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    of_group: Vec<u32>,
    pub groups: Vec<Vec<u32>>,
    /// Of a component that consists of components, these; and everything else as one more, which is the last.
    pub inner: Vec<Option<Arc<Parts>>>,
    /// The component that does nothing but what it is told, if there is one.
    pub rest: Option<u32>,
    /// The component of groups that were not known when the machine was divided, until it is divided again.
    others: u32,
}

impl Parts {
    /// Groups in components; those that are in none are components of their own.
    pub fn new(mut components: Vec<Vec<usize>>, groups: usize) -> Self {
        let known: Vec<usize> = components.iter().flatten().copied().collect();
        components.extend((0..groups).filter(|group| !known.contains(group)).map(|one| vec![one]));
        let mut of_group = vec![0; groups];
        for (component, members) in components.iter().enumerate() {
            for &group in members {
                of_group[group] = component as u32;
            }
        }
        let groups = components.into_iter();
        let groups = groups.map(|members| members.into_iter().map(|one| one as u32).collect());
        let groups: Vec<Vec<u32>> = groups.collect();
        Parts { of_group, inner: vec![None; groups.len()], groups, rest: None, others: 0 }
    }

    /// The same, where components may consist of components.
    pub fn nested(components: &[Component], groups: usize) -> Self {
        let members = components.iter().map(|it| it.members().to_vec());
        let mut parts = Parts::new(members.collect(), groups);
        parts.divide(components, groups);
        parts
    }

    /// Divides those of its components that consist of components.
    fn divide(&mut self, components: &[Component], groups: usize) {
        for (number, component) in components.iter().enumerate() {
            let has_others = number as u32 == self.others;
            self.inner[number] = Parts::within(component, groups, has_others).map(Arc::new);
        }
    }

    /// The components that a component consists of, if it does, and the rest of the system.
    fn within(component: &Component, groups: usize, has_others: bool) -> Option<Self> {
        if component.parts().is_empty() {
            return None;
        }
        let mut members: Vec<_> =
            component.parts().iter().map(|it| it.members().to_vec()).collect();
        let is_outside = |group: &usize| !component.members().contains(group);
        members.push((0..groups).filter(is_outside).collect());
        let mut parts = Parts::new(members, groups);
        let rest = parts.len() - 1;
        (parts.rest, parts.others) = (Some(rest), if has_others { 0 } else { rest });
        parts.divide(component.parts(), groups);
        Some(parts)
    }

    /// With one more component, which has no members: what anybody may touch is then shared, also if all others are one component.
    pub fn with_nobody(mut self) -> Self {
        self.groups.push(Vec::new());
        self.inner.push(None);
        self
    }

    /// Whether some component consists of components.
    pub fn is_nested(&self) -> bool {
        self.inner.iter().any(Option::is_some)
    }

    /// How many components there are.
    pub fn len(&self) -> u32 {
        self.groups.len() as u32
    }

    /// The component of a process.
    pub fn of<M: Machine>(&self, machine: &M, process: Process) -> u32 {
        self.of_group(machine.group(process))
    }

    /// The component of a group.
    fn of_group(&self, group: u32) -> u32 {
        self.of_group.get(group as usize).copied().unwrap_or(self.others)
    }

    /// What a step shows to other components. What it takes from them it does not show: nobody can tell whether something that was given is taken yet, nor in which order.
    fn label<M: Machine>(
        &self,
        machine: &M,
        process: Process,
        shown: &Shown,
        footprint: Footprint,
    ) -> Result<Label, Error> {
        let own = self.of(machine, process);
        let footprints = machine.footprints();
        // What different groups show at the same time is told apart by who shows it.
        let group = u64::from(machine.group(process));
        let mut to = Few::new();
        let mut show = |component: u32, what: u64| match to
            .iter_mut()
            .find(|(other, _)| *other == component)
        {
            Some((_, all)) => *all = pair(*all, what),
            None => to.push((component, pair(group, what))),
        };
        for &(group, what) in &shown.to {
            let component = self.of_group(group);
            if component != own {
                show(component, what);
            }
        }
        // What it touches of what others touch, and how, decides what it is dependent with: that is part of what it shows.
        let mut sharers: Vec<u32> = Vec::new();
        let shares = self.shares(machine, own, footprint, &shown.passed, &mut sharers);
        let is_shared = !shares.is_empty();
        let mut shared = 0;
        if is_shared {
            if shown.is_opaque {
                let objects =
                    footprints.writes(footprint).iter().chain(footprints.reads(footprint));
                let is_it = |object: &&Object| machine.object_key(**object) == shares[0].0;
                return Err(machine.cannot_be_parted(objects.copied().find(|it| is_it(&it))));
            }
            for (object, writes) in shares {
                shared = pair(shared, pair(object, u64::from(writes)));
            }
            shared = pair(shared, shown.shared);
            sharers.sort_unstable();
            sharers.dedup();
            sharers.into_iter().for_each(|other| show(other, shared));
        }
        to.sort_unstable();
        if shown.is_opaque && !to.is_empty() {
            return Err(machine.cannot_be_parted(None));
        }
        if to.is_empty() && !is_shared {
            return Ok(Label::default());
        }
        let mut all = pair(group, shared);
        for &(component, what) in &to {
            all = pair(all, pair(u64::from(component), what));
        }
        Ok(Label { all: all | 1, to, is_shared })
    }

    /// The objects that a step of a component touches and others may touch, but for those that it only passes something through, by their keys and in their order; and whether it writes
    /// them. Adds the components that may.
    fn shares<M: Machine>(
        &self,
        machine: &M,
        own: u32,
        footprint: Footprint,
        passed: &[Object],
        sharers: &mut Vec<u32>,
    ) -> Vec<(u64, bool)> {
        let footprints = machine.footprints();
        let written = footprints.writes(footprint).iter().map(|&object| (object, true));
        let read = footprints.reads(footprint).iter().map(|&object| (object, false));
        let mut shares: Vec<(u64, bool)> = Vec::new();
        for (object, writes) in written.chain(read).filter(|(object, _)| !passed.contains(object)) {
            let before = sharers.len();
            match machine.touched(object) {
                Touched::Alone => {}
                Touched::By(group) if self.of_group(group) == own => {}
                Touched::By(_) | Touched::ByAny => {
                    sharers.extend((0..self.len()).filter(|&other| other != own));
                }
                Touched::Among(groups) => {
                    let components = groups.iter().map(|&group| self.of_group(group));
                    sharers.extend(components.filter(|&other| other != own));
                }
            }
            if sharers.len() > before {
                shares.push((machine.object_key(object), writes));
            }
        }
        shares.sort_unstable();
        shares
    }

    /// A move of a machine as something that means the same to all machines.
    pub fn doing<M: Machine>(&self, machine: &M, what: Move) -> Doing {
        let Transition { process, alternative } = what.transition;
        let own = self.of(machine, process);
        let footprints = machine.footprints();
        let written = footprints.writes(what.footprint).iter().map(|&object| (object, true));
        let read = footprints.reads(what.footprint).iter().map(|&object| (object, false));
        // Also what others are not known to touch, as far as is known: it may turn out that they do.
        let may_be_shared = |&(object, _): &(Object, bool)| match machine.touched(object) {
            Touched::By(group) => self.of_group(group) != own,
            Touched::Alone | Touched::Among(_) | Touched::ByAny => true,
        };
        let all = written.chain(read).filter(may_be_shared);
        let mut shares: Vec<(u64, bool)> =
            all.map(|(object, writes)| (machine.object_key(object), writes)).collect();
        shares.sort_unstable();
        let shares = (!shares.is_empty()).then(|| shares.into());
        Doing { process: machine.process_key(process), alternative, shares }
    }
}

/// What happens at an event of a trace. It is made of content, so it means the same to all machines that are made for a system.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Doing {
    /// The process, by its [key](Machine::process_key), and which of its results.
    pub process: u64,
    pub alternative: u32,
    /// What it touches that several components may touch, by [key](Machine::object_key), and whether it writes that.
    pub shares: Option<Arc<[(u64, bool)]>>,
}

impl Doing {
    /// Whether both touch something that one of them writes, if they are of different components.
    pub fn conflicts(&self, other: &Doing) -> bool {
        let (Some(own), Some(other)) = (&self.shares, &other.shares) else { return false };
        own.iter().any(|(object, writes)| {
            other
                .iter()
                .any(|(another, also_writes)| object == another && (*writes || *also_writes))
        })
    }

    /// What it stands for where it is possible.
    pub fn transition<M: Machine>(&self, machine: &mut M) -> Result<Transition, Error> {
        let Some(process) = machine.process_with(self.process)? else {
            let what = "something of a trace is not possible that should be";
            return Err(Error::Internal(what.to_owned()));
        };
        Ok(Transition { process, alternative: self.alternative })
    }
}

/// A machine along a run, with what components can tell of it.
pub(super) struct Led<'a, M> {
    pub machine: &'a mut M,
    pub parts: &'a Parts,
    pub marks: Marks,
    pub moves: Vec<Move>,
    shown: Shown,
}

/// A step that would be possible after some events of the run.
pub(super) struct Would {
    pub what: Move,
    pub label: Label,
    /// The name that its own component has for it; zero if it is internal.
    pub name: u64,
    pub mark: Mark,
    /// The events before it that its own component could tell.
    pub past: Vec<u32>,
}

impl<'a, M: Machine> Led<'a, M> {
    pub fn new(machine: &'a mut M, parts: &'a Parts) -> Self {
        let shown = Shown::default();
        Led { machine, parts, marks: Marks::default(), moves: Vec::new(), shown }
    }

    /// Starts again.
    pub fn restart(&mut self, start: usize) -> Result<(), Error> {
        self.machine.restart(start)?;
        self.marks.truncate(0);
        self.moves.clear();
        Ok(())
    }

    /// Goes back to the first so many events.
    pub fn go_back(&mut self, len: usize) -> Result<(), Error> {
        self.machine.go_back(len)?;
        self.marks.truncate(len);
        self.moves.truncate(len);
        Ok(())
    }

    /// Makes something happen.
    pub fn perform(&mut self, transition: Transition) -> Result<Performed, Error> {
        self.machine.shows(transition, &[], &mut self.shown)?;
        let performed = self.machine.perform(transition)?;
        let event = self.moves.len();
        let (machine, process) = (&*self.machine, transition.process);
        let label = self.parts.label(machine, process, &self.shown, performed.footprint)?;
        let footprints = machine.footprints();
        let touch = Touch {
            process,
            created_by: performed.created_by,
            needs: machine.needs(event),
            reads: footprints.reads(performed.footprint),
            writes: footprints.writes(performed.footprint),
        };
        let is_told = self.marks.push(touch, self.parts.of(machine, process), &label);
        if !is_told && !performed.failed {
            return Err(machine.cannot_be_parted(None));
        }
        self.moves.push(Move { transition, footprint: performed.footprint });
        Ok(performed)
    }

    /// Makes something happen again of which is known what can be told of it: by all, or by one component.
    pub fn repeat(
        &mut self,
        transition: Transition,
        mark: &Mark,
        by: Option<u32>,
    ) -> Result<Performed, Error> {
        if cfg!(debug_assertions) {
            let performed = self.perform(transition)?;
            let is_known = |now: &Mark| match by {
                Some(component) => now.for_component(component) == mark.for_component(component),
                None => now == mark,
            };
            if !performed.failed && !self.marks.all.last().is_some_and(is_known) {
                let what = "what can be told of an event is not what could be told of it before";
                return Err(Error::Internal(what.to_owned()));
            }
            return Ok(performed);
        }
        let performed = self.machine.perform(transition)?;
        let footprints = self.machine.footprints();
        let touch = Touch {
            process: transition.process,
            created_by: performed.created_by,
            needs: self.machine.needs(self.moves.len()),
            reads: footprints.reads(performed.footprint),
            writes: footprints.writes(performed.footprint),
        };
        self.marks.push_known(touch, mark);
        self.moves.push(Move { transition, footprint: performed.footprint });
        Ok(performed)
    }

    /// What a step would be that is possible after the run without some events.
    pub fn would(
        &mut self,
        transition: Transition,
        footprint: Footprint,
        created_by: Option<usize>,
        without: &[u32],
    ) -> Result<Would, Error> {
        self.machine.shows(transition, without, &mut self.shown)?;
        let (machine, process) = (&*self.machine, transition.process);
        let label = self.parts.label(machine, process, &self.shown, footprint)?;
        let what = Move { transition, footprint };
        let component = self.parts.of(machine, process);
        if label.all == 0 {
            let mark = Mark::internal(component);
            return Ok(Would { what, label, name: 0, mark, past: Vec::new() });
        }
        let footprints = machine.footprints();
        let touch = Touch {
            process,
            created_by,
            needs: machine.needed(),
            reads: footprints.reads(footprint),
            writes: footprints.writes(footprint),
        };
        let (mark, past) = self.marks.mark_elsewhere(&touch, without, component, &label);
        let name = mark.names[0].1;
        Ok(Would { what, label, name, mark, past })
    }

    /// The run, to be kept.
    pub fn trace(&self) -> Trace<Doing> {
        let doing = |&what: &Move| self.parts.doing(&*self.machine, what);
        self.marks.trace(self.moves.iter().map(doing))
    }
}
