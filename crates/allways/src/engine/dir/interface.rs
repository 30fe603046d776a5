//! A machine divided into components, and what they can tell of each other's steps.

use crate::engine::components::Component;
use crate::engine::machine::footprint::Footprint;
use crate::engine::machine::{Machine, Performed, Process, Shown, Transition};
use crate::error::Error;
use crate::trace::order::Touch;
use crate::trace::skeleton::{Label, Marks, Trace, pair};
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
    /// Different for all divisions of a machine; zero for the outermost.
    pub number: u32,
}

impl Parts {
    /// Groups in components; those that are in none are components of their own.
    pub fn new(components: &[Component], groups: usize) -> Self {
        let mut members: Vec<Vec<usize>> =
            components.iter().map(|it| it.members().to_vec()).collect();
        let known = members.concat();
        members.extend((0..groups).filter(|group| !known.contains(group)).map(|one| vec![one]));
        Parts::divided(members, components, groups, &mut 0)
    }

    /// The components of a component, and the rest of the system.
    fn within(component: &Component, groups: usize, last: &mut u32) -> Option<Arc<Parts>> {
        if component.parts().is_empty() {
            return None;
        }
        *last += 1;
        let number = *last;
        let mut members: Vec<Vec<usize>> =
            component.parts().iter().map(|it| it.members().to_vec()).collect();
        let rest = (0..groups).filter(|group| !component.members().contains(group));
        members.push(rest.collect());
        let rest = Some(members.len() as u32 - 1);
        let parts = Parts::divided(members, component.parts(), groups, last);
        Some(Arc::new(Parts { rest, number, ..parts }))
    }

    fn divided(
        components: Vec<Vec<usize>>,
        named: &[Component],
        groups: usize,
        last: &mut u32,
    ) -> Self {
        let mut inner: Vec<Option<Arc<Parts>>> =
            named.iter().map(|component| Parts::within(component, groups, last)).collect();
        inner.resize(components.len(), None);
        let mut of_group = vec![0; groups];
        for (component, members) in components.iter().enumerate() {
            for &group in members {
                of_group[group] = component as u32;
            }
        }
        let groups = components.into_iter();
        let groups = groups.map(|members| members.into_iter().map(|one| one as u32).collect());
        Parts { of_group, groups: groups.collect(), inner, rest: None, number: 0 }
    }

    /// How many components there are.
    pub fn len(&self) -> u32 {
        self.groups.len() as u32
    }

    /// The component of a process.
    pub fn of<M: Machine>(&self, machine: &M, process: Process) -> u32 {
        self.of_group[machine.group(process) as usize]
    }

    /// What a step shows to other components. `giver` is the component of the event without which there would be no such step.
    fn label<M: Machine>(
        &self,
        machine: &M,
        process: Process,
        shown: &Shown,
        footprint: Footprint,
        giver: Option<u32>,
    ) -> Label {
        let own = self.of(machine, process);
        // What different groups show at the same time is told apart by who shows it.
        let group = u64::from(machine.group(process));
        let mut to: Vec<(u32, u64)> = Vec::new();
        let mut show = |component: u32, what: u64| match to
            .iter_mut()
            .find(|(other, _)| *other == component)
        {
            Some((_, all)) => *all = pair(*all, what),
            None => to.push((component, pair(group, what))),
        };
        for &(group, what) in &shown.to {
            let component = self.of_group[group as usize];
            if component != own {
                show(component, what);
            }
        }
        let footprints = machine.footprints();
        let is_foreign = |object: &&u32| match machine.owner(**object) {
            None => true,
            Some(group) => self.of_group[group as usize] != own,
        };
        // What it touches of what others touch, and how, decides what it is dependent with: that is part of what it shows.
        let mut shared = 0;
        for (how, objects) in
            [footprints.writes(footprint), footprints.reads(footprint)].iter().enumerate()
        {
            for &object in objects.iter().filter(is_foreign) {
                shared = pair(shared, u64::from(object) << 1 | how as u64);
            }
        }
        let is_shared = shared != 0;
        if is_shared {
            shared = pair(shared, shown.shared);
            (0..self.len()).filter(|&other| other != own).for_each(|other| show(other, shared));
        }
        to.sort_unstable();
        let is_taken = giver.is_some_and(|giver| giver != own);
        if to.is_empty() && !is_taken && !is_shared {
            return Label::default();
        }
        let mut all = pair(group, shared);
        if is_taken {
            all = pair(all, shown.taken);
        }
        for &(component, what) in &to {
            all = pair(all, pair(u64::from(component), what));
        }
        Label { all: all | 1, to, is_shared }
    }
}

/// What happens at an event of a trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doing {
    pub transition: Transition,
    pub footprint: Footprint,
}

/// A machine along a run, with what components can tell of it.
pub(super) struct Led<'a, M> {
    pub machine: &'a mut M,
    pub parts: &'a Parts,
    pub marks: Marks,
    pub doings: Vec<Doing>,
    shown: Shown,
}

/// A step that would be possible after some events of the run.
pub(super) struct Would {
    pub doing: Doing,
    pub label: Label,
    /// The name that its own component has for it; zero if it is internal.
    pub name: u64,
    /// The events before it that its own component could tell.
    pub past: Vec<u32>,
}

impl<'a, M: Machine> Led<'a, M> {
    pub fn new(machine: &'a mut M, parts: &'a Parts) -> Self {
        let shown = Shown::default();
        Led { machine, parts, marks: Marks::default(), doings: Vec::new(), shown }
    }

    /// Starts again.
    pub fn restart(&mut self, start: usize) -> Result<(), Error> {
        self.machine.restart(start)?;
        self.marks.truncate(0);
        self.doings.clear();
        Ok(())
    }

    /// Goes back to the first so many events.
    pub fn go_back(&mut self, len: usize) -> Result<(), Error> {
        self.machine.go_back(len)?;
        self.marks.truncate(len);
        self.doings.truncate(len);
        Ok(())
    }

    /// Makes something happen.
    pub fn perform(&mut self, transition: Transition) -> Result<Performed, Error> {
        self.machine.shows(transition, &[], &mut self.shown)?;
        let performed = self.machine.perform(transition)?;
        let event = self.doings.len();
        let giver = performed.created_by.map(|giver| self.marks.all[giver].component);
        let (machine, process) = (&*self.machine, transition.process);
        let label = self.parts.label(machine, process, &self.shown, performed.footprint, giver);
        let footprints = machine.footprints();
        let touch = Touch {
            process,
            created_by: performed.created_by,
            needs: machine.needs(event),
            reads: footprints.reads(performed.footprint),
            writes: footprints.writes(performed.footprint),
        };
        self.marks.push(touch, self.parts.of(machine, process), &label);
        self.doings.push(Doing { transition, footprint: performed.footprint });
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
        let giver = created_by.map(|giver| self.marks.all[giver].component);
        let (machine, process) = (&*self.machine, transition.process);
        let label = self.parts.label(machine, process, &self.shown, footprint, giver);
        let doing = Doing { transition, footprint };
        if label.all == 0 {
            return Ok(Would { doing, label, name: 0, past: Vec::new() });
        }
        let footprints = machine.footprints();
        let touch = Touch {
            process,
            created_by,
            needs: &[],
            reads: footprints.reads(footprint),
            writes: footprints.writes(footprint),
        };
        let component = self.parts.of(machine, process);
        let (mark, past) = self.marks.mark_elsewhere(&touch, without, component, &label);
        let name = mark.names[0].1;
        Ok(Would { doing, label, name, past })
    }

    /// The run, to be kept.
    pub fn trace(&self) -> Trace<Doing> {
        self.marks.trace(self.doings.iter().copied())
    }
}
