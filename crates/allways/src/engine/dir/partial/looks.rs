//! How a component looks to the properties while it is explored by itself.

use super::{Look, Partial, Seen};
use crate::engine::dir::interface::Doing;
use crate::engine::machine::Machine;
use crate::trace::skeleton::{Name, Trace, mix, pair, signature};
use rustc_hash::FxHashSet;
use std::sync::Arc;

impl<M: Machine> Partial<'_, M> {
    /// How the component looks where the run stands.
    pub(super) fn look_now(&mut self) -> Look {
        let Partial { led, places_of, readings, .. } = self;
        let all = places_of.iter().flat_map(|&place| (0..*readings).map(move |it| (place, it)));
        all.map(|(place, property)| view(&mut *led.machine, property, place)).collect()
    }

    /// Notes how the component looks where the run stands, if it is one group.
    pub(super) fn look_here(&mut self) {
        if self.readings == 0 || self.places_of.len() != 1 {
            return;
        }
        let own = self.done.iter().copied().map(mix).fold(0, u64::wrapping_add);
        let taken = taken_by(self.takes.iter());
        let look = self.look_now();
        let known = self.known_looks.entry((own, signature(taken.iter().copied()))).or_default();
        if !known.contains(&look) {
            known.insert(look.clone());
            let own_events = self.led.marks.all.iter();
            let stays = own_events.map(|mark| mark.component == self.component).collect();
            let part = (Arc::new(self.led.trace()), stays);
            let key = look_key(&*self.led.machine, &look);
            self.found.looks.push(Arc::new(Seen { own, taken, look, key, part }));
        }
    }

    /// Notes how the component looks in all cuts of its own part of the run.
    pub(super) fn look(&mut self) {
        if self.readings == 0 {
            return;
        }
        let mut trace = None;
        let parts = self.led.parts;
        let groups = &parts.groups[self.component as usize];
        let mut chains: Vec<Vec<usize>> = vec![Vec::new(); groups.len()];
        for (event, what) in self.led.moves.iter().enumerate() {
            let group = self.led.machine.group(what.transition.process);
            if let Some(chain) = groups.iter().position(|&other| other == group) {
                chains[chain].push(event);
            }
        }
        let mut met: FxHashSet<Vec<usize>> = FxHashSet::default();
        let mut todo = vec![vec![0; chains.len()]];
        while let Some(counts) = todo.pop() {
            if !met.insert(counts.clone()) {
                continue;
            }
            self.look_at(&mut trace, &chains, &counts);
            for chain in 0..chains.len() {
                let Some(&next) = chains[chain].get(counts[chain]) else { continue };
                let is_there = |(other, events): (usize, &Vec<usize>)| {
                    other == chain
                        || (events.get(counts[other]))
                            .is_none_or(|&missing| !self.led.marks.order.before(missing, next))
                };
                if chains.iter().enumerate().all(is_there) {
                    let mut more = counts.clone();
                    more[chain] += 1;
                    todo.push(more);
                }
            }
        }
    }

    /// Notes how the component looks after so many events of each of its groups. The run is kept once, if it is.
    pub(super) fn look_at(
        &mut self,
        trace: &mut Option<Arc<Trace<Doing>>>,
        chains: &[Vec<usize>],
        counts: &[usize],
    ) {
        let mut look = self.initial.clone();
        let mut own = 0_u64;
        for (chain, &count) in chains.iter().zip(counts) {
            for &event in &chain[..count] {
                if let Some(name) = self.led.marks.all[event].for_component(self.component) {
                    own = own.wrapping_add(mix(name));
                }
                if let Some((place, views)) = &self.seen[event] {
                    look[place * self.readings..][..self.readings].copy_from_slice(views);
                }
            }
        }
        let events = chains.iter().zip(counts).flat_map(|(chain, &count)| &chain[..count]);
        let taken = taken_by(events.map(|&event| &self.takes[event]));
        let known = self.known_looks.entry((own, signature(taken.iter().copied()))).or_default();
        if !known.contains(&look) {
            known.insert(look.clone());
            let trace = trace.get_or_insert_with(|| Arc::new(self.led.trace()));
            let mut stays = vec![false; trace.events.len()];
            for (chain, &count) in chains.iter().zip(counts) {
                chain[..count].iter().for_each(|&event| stays[event] = true);
            }
            let part = (Arc::clone(trace), stays.into());
            let key = look_key(&*self.led.machine, &look);
            self.found.looks.push(Arc::new(Seen { own, taken, look, key, part }));
        }
    }
}

/// What some events take from others, sorted.
fn taken_by<'t>(takes: impl Iterator<Item = &'t Box<[Name]>>) -> Box<[Name]> {
    let mut all: Vec<Name> = takes.flatten().copied().collect();
    all.sort_unstable();
    all.dedup();
    all.into()
}

/// A number for a look that is made of its content.
pub(in crate::engine::dir) fn look_key<M: Machine>(machine: &M, look: &Look) -> u64 {
    let readings = machine.readings();
    let keys =
        look.iter().enumerate().map(|(at, &view)| match readings[at % readings.len()].observer {
            Some(_) => 0,
            None => machine.view_key(view),
        });
    keys.fold(look.len() as u64, pair)
}

/// What a property sees of a place; nothing if it reads an observer.
pub(in crate::engine::dir) fn view<M: Machine>(
    machine: &mut M,
    property: usize,
    place: u32,
) -> u32 {
    match machine.readings()[property].observer {
        Some(_) => 0,
        None => machine.view(property, place as usize),
    }
}
