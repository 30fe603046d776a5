//! A branch and a trace, composed: the paper's section 3.3.

use super::{Given, Global, Known, Ran, own_name};
use crate::engine::dir::fit::{Fit, Room, add_hint};
use crate::engine::dir::interface::Doing;
use crate::engine::dir::partial::Branch;
use crate::engine::machine::Machine;
use crate::error::Error;
use crate::trace::order::{contains, insert, members};
use crate::trace::skeleton::{Event, Name, Trace, global_name, mix};
use rustc_hash::FxHashSet;
use std::sync::Arc;

impl<M: Machine> Global<'_, M> {
    /// Takes a branch where it is possible in a trace, as far as that goes with it.
    pub(super) fn compose(&mut self, trace: u32, branch: u32) -> Result<(), Error> {
        let number = branch;
        let (known, candidate) = (&self.known[trace as usize], &self.branches[number as usize]);
        let (index, parent) = (Arc::clone(&known.index), trace);
        let branch = Arc::clone(&candidate.branch);
        let component = branch.component;
        if !index.has_past_of(candidate, &mut self.room) {
            return Ok(());
        }
        let trace = Arc::clone(&known.trace);
        let fit = index.fit(&trace, candidate, &mut self.room);
        let other_stays = match fit {
            Fit::No => return Ok(()),
            Fit::Whole => None,
            Fit::Part => {
                let (stays, other_stays) = self.fit_in_part(&trace, &branch);
                if self.room.past.iter().zip(&stays).any(|(past, stays)| past & !stays != 0) {
                    return Ok(());
                }
                self.room.stays = stays;
                Some(other_stays)
            }
        };
        let candidate = &self.branches[number as usize];
        let Room { past, stays, .. } = &self.room;
        let mut all = index.signature(stays);
        let mut wanted = None;
        match &branch.step {
            Some((_, _, own)) => {
                let name = global_name(*own, index.signature(past));
                all = all.wrapping_add(mix(name));
                wanted = Some(name);
                if !self.composed.insert(all) || self.is_part_of_known(&trace, stays, name) {
                    return Ok(());
                }
            }
            None => {
                // It stops if there is nothing more for it than there was.
                if !index.concerns_just(component, stays, candidate)
                    || self.signatures.contains(&all)
                {
                    return Ok(());
                }
            }
        }
        let stays: Vec<bool> =
            (0..trace.events.len()).map(|event| contains(stays, event)).collect();
        let other_stays = other_stays.as_deref().unwrap_or(&branch.stays);
        let Some(merged) = trace.merged(&stays, component, &branch.trace, other_stays) else {
            let what = "parts of traces that should fit together do not";
            return Err(Error::Internal(what.to_owned()));
        };
        // What can be told of an event is told by its name for the component, whose part the other trace is.
        let mark = |event: &'_ Event<Doing>| {
            let name = event.mark.for_component(component)?;
            index.place(component, name).map(|place| &trace.events[place].mark)
        };
        let event = |&(is_other, place): &(bool, usize)| match is_other {
            false => (&trace.events[place].what, Some(&trace.events[place].mark)),
            true => {
                let event = &branch.trace.events[place];
                let mark = if event.mark.name == 0 { Some(&event.mark) } else { mark(event) };
                (&event.what, mark)
            }
        };
        let mut given: Vec<Given<'_>> = merged.iter().map(event).collect();
        given.extend(branch.step.as_ref().map(|(doing, ..)| (doing, None)));
        self.counts.compositions += 1;
        // Where it stops, others may stop, too, or go on: that is for them to say.
        if let Ran::Whole(trace) = self.run(&given, wanted.is_some())? {
            let last = given.len().checked_sub(1).and_then(|last| trace.events.get(last));
            // Unless the run was cut off before.
            if last.is_some_and(|event| wanted.is_some_and(|wanted| event.mark.name != wanted)) {
                let what =
                    "what a component could do is something else where the others have done more";
                return Err(Error::Internal(what.to_owned()));
            }
            self.add(trace, Some(parent));
        }
        Ok(())
    }

    /// What is left of a trace and a branch if what cannot be there together is left out on both sides, and with it what comes after it.
    fn fit_in_part(&self, trace: &Trace<Doing>, branch: &Branch) -> (Vec<u64>, Box<[bool]>) {
        let component = branch.component;
        let mut names: FxHashSet<Name> = trace.local_skeleton(component).collect();
        let other = &branch.trace;
        loop {
            let other_stays = other.without(|place, event| {
                let lacks = |name: Option<Name>| name.is_some_and(|name| !names.contains(&name));
                let taken = event
                    .across
                    .iter()
                    .map(|&it| other.events[it as usize].mark.for_component(component));
                !branch.stays[place]
                    || lacks(own_name(event, component))
                    || event.mark.component == component && taken.into_iter().any(lacks)
            });
            let kept: FxHashSet<Name> = (other.events.iter().zip(&other_stays))
                .filter(|(_, stays)| **stays)
                .filter_map(|(event, _)| own_name(event, component))
                .collect();
            let taken = other.taken_by(component, |place| other_stays[place]).unwrap_or_default();
            let stays = trace.without(|_, event| {
                let Some(name) = event.mark.for_component(component) else { return false };
                match (&branch.step, event.mark.component == component) {
                    (_, true) => !kept.contains(&name),
                    (Some((doing, ..)), false) => {
                        !branch.past.contains(&name) && doing.conflicts(&event.what)
                    }
                    (None, false) => false,
                }
            });
            let left: FxHashSet<Name> = (trace.events.iter().zip(&stays))
                .filter(|(_, stays)| **stays)
                .filter_map(|(event, _)| event.mark.for_component(component))
                .collect();
            if kept.is_subset(&left) && taken.iter().all(|name| left.contains(name)) {
                let mut bits = vec![0; trace.events.len() / 64 + 1];
                let staying = stays.iter().enumerate().filter(|(_, stays)| **stays);
                staying.for_each(|(event, _)| insert(&mut bits, event));
                return (bits, other_stays.into());
            }
            names = left;
        }
    }

    /// Whether some events of a trace, with one more that has this name, are part of a skeleton that is known.
    fn is_part_of_known(&self, trace: &Trace<Doing>, events: &[u64], name: Name) -> bool {
        let Some(others) = self.with_name.get(&name) else { return false };
        let names =
            || members(events).map(|event| trace.events[event].mark.name).filter(|&name| name != 0);
        let mut hints = [0; 4];
        names().for_each(|name| add_hint(&mut hints, name));
        let wanted: Vec<Name> = names().collect();
        // What came last is what the fewest have.
        let has_all = |&other: &u32| {
            let Known { index, names, .. } = &self.known[other as usize];
            let has = |name| names.binary_search(name).is_ok();
            index.may_have(&hints) && wanted.iter().rev().all(has)
        };
        others.iter().any(has_all)
    }
}
