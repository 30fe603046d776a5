//! A component by itself: the partial-replay local system of the paper's section 3.2.
//!
//! One component is free, and the rest of the system repeats a given trace. An interface event of the component must be one of those that it has
//! in the trace, with the same name. Whatever else it could show is a *branch*: it is noted and does not happen. So this is a machine like others, in which some things are not possible, and all
//! runs of it are runs of the whole system. Whether something happens has to do with the past of an event, not with the order of independent ones, so what
//! a [`Machine`] promises is kept.
//!
//! The rest gets on as soon as it can: what it gives is there when the component may want it.

use super::interface::{Doing, Led, Parts, Would};
use crate::engine::machine::footprint::{Footprint, Footprints};
use crate::engine::machine::{
    Blockers, Elsewhere, First, Machine, Object, Performed, Process, Reach, Reading, Shown,
    Transition,
};
use crate::error::Error;
use crate::model::run_event::RunEvent;
use crate::outcome::Cause;
use crate::space::Costs;
use crate::trace::skeleton::{Label, Mark, Name, Trace, mix};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::hash_map::Entry;
use std::rc::Rc;

/// What a component could do that it has not done in the trace at hand: take a step that others can tell of, or stop early.
pub(super) struct Branch {
    pub component: u32,
    /// The step, and what it shows; nothing if the component stops.
    pub step: Option<(Doing, Label, Name)>,
    /// The names, for the component, of what happens before; if it stops, of all that it knows of.
    pub past: FxHashSet<Name>,
    /// A run in which it is so, and what of it.
    pub trace: Rc<Trace<Doing>>,
    pub stays: Box<[bool]>,
}

/// What a component looked like to the properties: for each of its groups what each property sees.
pub(super) type Look = Box<[u32]>;

/// What a component does to look so.
#[derive(Clone)]
pub(super) enum Part {
    /// It is in a trace, and what of it.
    Kept(Rc<Trace<Doing>>, Box<[bool]>),
    /// It is all of a run, which nobody has performed so far.
    Run(Rc<[Doing]>),
}

/// How a component may look after some of its own interface events, and a run in which it does.
pub(super) type Looks = FxHashMap<u64, FxHashMap<Look, Part>>;

/// How a component may look at the end of a local trace, and whether only a bound on timers keeps it from going on; and a run in which it does.
pub(super) type Ends = FxHashMap<(Look, bool), Part>;

/// What came of the exploration of a component.
#[derive(Default)]
pub(super) struct Explored {
    pub branches: Vec<Rc<Branch>>,
    /// How many traces there are that have all of the local skeleton, and nothing more to do.
    pub traces: u128,
    /// The runs that were performed to find them.
    pub performed: u64,
    /// Runs that end before that.
    pub others: u64,
    pub looks: Looks,
    pub ends: Ends,
}

/// See the module.
pub(super) struct Partial<'a, M> {
    led: Led<'a, M>,
    start: usize,
    component: u32,
    told: Rc<Trace<Doing>>,
    /// The names of the component's own interface events in the trace.
    allowed: FxHashSet<Name>,
    /// Which of them have happened.
    done: FxHashSet<Name>,
    /// Which events of the rest have, by their place in the trace; and which event of the run is which.
    repeated: Vec<bool>,
    places: Vec<Option<u32>>,
    known: FxHashSet<(Name, u64)>,
    /// For each event of the run, how the component looks after it, at one of its groups.
    seen: Vec<Option<(usize, Box<[u32]>)>>,
    initial: Look,
    places_of: Vec<u32>,
    readings: usize,
    listed: Vec<Transition>,
    pub found: Explored,
}

impl<'a, M: Machine> Partial<'a, M> {
    pub fn new(
        machine: &'a mut M,
        parts: &'a Parts,
        start: usize,
        component: u32,
        told: Rc<Trace<Doing>>,
    ) -> Self {
        let own = told.events.iter().filter(|event| event.mark.component == component);
        let allowed = own.filter_map(|event| event.mark.for_component(component)).collect();
        let repeated = vec![false; told.events.len()];
        let places = machine.places() as u32;
        let groups = parts.groups[component as usize].iter().copied();
        Partial {
            places_of: groups.filter(|&group| group < places).collect(),
            readings: machine.readings().len(),
            led: Led::new(machine, parts),
            start,
            component,
            told,
            allowed,
            done: FxHashSet::default(),
            repeated,
            places: Vec::new(),
            known: FxHashSet::default(),
            seen: Vec::new(),
            initial: [].into(),
            listed: Vec::new(),
            found: Explored::default(),
        }
    }

    /// The machine that the component is a part of.
    pub fn base(&mut self) -> &mut M {
        &mut *self.led.machine
    }

    /// Whether the component has shown all that it has shown in the trace.
    pub fn has_shown_all(&self) -> bool {
        self.done.len() == self.allowed.len()
    }

    /// What the component calls each event of the run, if it is its own and others can tell of it.
    pub fn own_names(&self) -> Vec<Option<Name>> {
        let own = |mark: &Mark| match mark.component == self.component {
            true => mark.for_component(self.component),
            false => None,
        };
        self.led.marks.all.iter().map(own).collect()
    }

    fn is_own(&self, process: Process) -> bool {
        self.led.parts.of(&*self.led.machine, process) == self.component
    }

    /// The next event of the trace that is of this process, if it is ready.
    fn ready(&self, place: usize) -> bool {
        let event = &self.told.events[place];
        event.mark.component != self.component
            && !self.repeated[place]
            && event.before.iter().all(|&before| {
                let mark = &self.told.events[before as usize].mark;
                match mark.component == self.component {
                    false => self.repeated[before as usize],
                    true => {
                        mark.for_component(self.component).is_some_and(|it| self.done.contains(&it))
                    }
                }
            })
    }

    /// Keeps those alternatives of a step that are wanted after the run without some events, and notes the others.
    fn sift(
        &mut self,
        process: Process,
        footprint: Footprint,
        created_by: Option<usize>,
        without: &[u32],
        alternatives: &mut Vec<u32>,
    ) -> Result<(), Error> {
        let mut kept = 0;
        for index in 0..alternatives.len() {
            let alternative = alternatives[index];
            let transition = Transition { process, alternative };
            let would = self.led.would(transition, footprint, created_by, without)?;
            if would.name == 0 || self.allowed.contains(&would.name) {
                alternatives[kept] = alternative;
                kept += 1;
            } else {
                self.note(would, without);
            }
        }
        alternatives.truncate(kept);
        Ok(())
    }

    /// Notes a branch.
    fn note(&mut self, would: Would, without: &[u32]) {
        let marks = &self.led.marks.all;
        let is_in = |event: usize| without.binary_search(&(event as u32)).is_err();
        let own = (0..marks.len()).filter(|&it| is_in(it) && marks[it].component == self.component);
        let own = own.filter_map(|event| marks[event].for_component(self.component));
        let around = own.map(mix).fold(0, u64::wrapping_add);
        if !self.known.insert((would.name, around)) {
            return;
        }
        let name = |&event: &u32| marks[event as usize].for_component(self.component);
        let past = would.past.iter().filter_map(name).collect();
        self.found.branches.push(Rc::new(Branch {
            component: self.component,
            step: Some((would.doing, would.label, would.name)),
            past,
            trace: Rc::new(self.led.trace()),
            stays: (0..marks.len()).map(is_in).collect(),
        }));
    }

    /// The run has come to its end: nothing that is wanted can happen.
    fn end(&mut self, is_stopped: bool) {
        if self.places_of.len() > 1 {
            self.look();
        }
        if !is_stopped {
            self.found.others += 1;
            return;
        }
        if self.has_shown_all() {
            self.found.traces += 1;
            self.found.performed += 1;
            let look = self.look_now();
            let groups = self.led.parts.groups[self.component as usize].clone();
            let withheld = groups.into_iter().any(|group| self.led.machine.withholds(group));
            if !self.found.ends.contains_key(&(look.clone(), withheld)) {
                let trace = Rc::new(self.led.trace());
                let all = vec![true; self.led.doings.len()].into();
                self.found.ends.insert((look, withheld), Part::Kept(trace, all));
            }
            return;
        }
        self.found.others += 1;
        self.note_stop();
    }

    /// Notes that the component may stop where the run stands.
    pub fn note_stop(&mut self) {
        let component = self.component;
        let stays = vec![true; self.led.doings.len()].into();
        let names = self.led.marks.all.iter().filter_map(|mark| mark.for_component(component));
        let past: FxHashSet<Name> = names.collect();
        let around = past.iter().copied().map(mix).fold(0, u64::wrapping_add);
        if self.known.insert((0, around)) {
            let trace = Rc::new(self.led.trace());
            self.found.branches.push(Rc::new(Branch { component, step: None, past, trace, stays }));
        }
    }

    /// How the component looks where the run stands.
    fn look_now(&mut self) -> Look {
        let Partial { led, places_of, readings, .. } = self;
        let all = places_of.iter().flat_map(|&place| (0..*readings).map(move |it| (place, it)));
        all.map(|(place, property)| view(&mut *led.machine, property, place)).collect()
    }

    /// Notes how the component looks where the run stands, if it is one group.
    fn look_here(&mut self) {
        if self.readings == 0 || self.places_of.len() != 1 {
            return;
        }
        let own = self.done.iter().copied().map(mix).fold(0, u64::wrapping_add);
        let look = self.look_now();
        let is_new = self.found.looks.get(&own).is_none_or(|looks| !looks.contains_key(&look));
        if is_new {
            let own_events = self.led.marks.all.iter();
            let stays = own_events.map(|mark| mark.component == self.component).collect();
            let trace = Rc::new(self.led.trace());
            self.found.looks.entry(own).or_default().insert(look, Part::Kept(trace, stays));
        }
    }

    /// Notes how the component looks in all cuts of its own part of the run.
    fn look(&mut self) {
        if self.readings == 0 {
            return;
        }
        let mut trace = None;
        let parts = self.led.parts;
        let groups = &parts.groups[self.component as usize];
        let mut chains: Vec<Vec<usize>> = vec![Vec::new(); groups.len()];
        for (event, doing) in self.led.doings.iter().enumerate() {
            let group = self.led.machine.group(doing.transition.process);
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
    fn look_at(
        &mut self,
        trace: &mut Option<Rc<Trace<Doing>>>,
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
        let looks = self.found.looks.entry(own).or_default();
        if let Entry::Vacant(vacant) = looks.entry(look) {
            let trace = trace.get_or_insert_with(|| Rc::new(self.led.trace()));
            let mut stays = vec![false; trace.events.len()];
            for (chain, &count) in chains.iter().zip(counts) {
                chain[..count].iter().for_each(|&event| stays[event] = true);
            }
            vacant.insert(Part::Kept(Rc::clone(trace), stays.into()));
        }
    }
}

/// What a property sees of a place; nothing if it reads an observer.
pub(super) fn view<M: Machine>(machine: &mut M, property: usize, place: u32) -> u32 {
    match machine.readings()[property].observer {
        Some(_) => 0,
        None => machine.view(property, place as usize),
    }
}

impl<M: Machine> Machine for Partial<'_, M> {
    fn starts(&self) -> usize {
        1
    }

    fn restart(&mut self, _: usize) -> Result<(), Error> {
        self.led.restart(self.start)?;
        self.done.clear();
        self.repeated.fill(false);
        self.places.clear();
        self.seen.clear();
        self.initial = self.look_now();
        self.look_here();
        Ok(())
    }

    fn start_number(&self) -> usize {
        self.led.machine.start_number()
    }

    fn len(&self) -> usize {
        self.led.machine.len()
    }

    fn go_back(&mut self, len: usize) -> Result<(), Error> {
        for event in len..self.places.len() {
            match self.places[event] {
                Some(place) => self.repeated[place as usize] = false,
                None => {
                    if let Some(name) = self.led.marks.all[event].for_component(self.component) {
                        self.done.remove(&name);
                    }
                }
            }
        }
        self.places.truncate(len);
        self.seen.truncate(len);
        self.led.go_back(len)
    }

    fn possible(&mut self, into: &mut Vec<Transition>) -> Result<bool, Error> {
        let mut listed = std::mem::take(&mut self.listed);
        self.led.machine.possible(&mut listed)?;
        into.clear();
        let ready = (0..self.told.events.len()).filter(|&place| self.ready(place));
        into.extend(ready.map(|place| self.told.events[place].what.transition));
        let mut alternatives = Vec::new();
        let mut rest = &listed[..];
        while let Some(&Transition { process, .. }) = rest.first() {
            let len = rest.iter().take_while(|other| other.process == process).count();
            rest = &rest[len..];
            if !self.is_own(process) {
                continue;
            }
            let here = self.led.machine.elsewhere(process, &[], &mut alternatives)?;
            if let Elsewhere::Possible(footprint, created_by) = here {
                self.sift(process, footprint, created_by, &[], &mut alternatives)?;
                let one = |&alternative| Transition { process, alternative };
                into.extend(alternatives.iter().map(one));
            }
        }
        self.listed = listed;
        Ok(!into.is_empty())
    }

    fn first_possible(
        &mut self,
        is_asleep: &mut dyn FnMut(Transition) -> bool,
        room: &mut Vec<Transition>,
    ) -> Result<First, Error> {
        let goes_on = self.possible(room)?;
        let first = room.iter().copied().find(|&transition| !is_asleep(transition));
        Ok(match first {
            Some(transition) => First::Possible(transition, goes_on),
            None if room.is_empty() => {
                let is_stopped = !self.listed.iter().any(|it| self.is_own(it.process));
                self.end(is_stopped);
                First::Nothing
            }
            None => First::Asleep(goes_on),
        })
    }

    fn blocked(&mut self, into: &mut Vec<Process>) -> Result<(), Error> {
        self.led.machine.blocked(into)?;
        // What is possible here and not wanted might be wanted elsewhere.
        let mut listed = std::mem::take(&mut self.listed);
        self.led.machine.possible(&mut listed)?;
        listed.dedup_by_key(|transition| transition.process);
        into.extend(listed.iter().map(|transition| transition.process));
        self.listed = listed;
        let (led, component) = (&self.led, self.component);
        into.retain(|&process| led.parts.of(&*led.machine, process) == component);
        Ok(())
    }

    fn groups(&self) -> usize {
        self.led.machine.groups()
    }

    fn group(&self, process: Process) -> u32 {
        self.led.machine.group(process)
    }

    fn owner(&self, object: Object) -> Option<u32> {
        self.led.machine.owner(object)
    }

    fn shows(
        &mut self,
        transition: Transition,
        without: &[u32],
        into: &mut Shown,
    ) -> Result<(), Error> {
        self.led.machine.shows(transition, without, into)
    }

    fn withholds(&mut self, group: u32) -> bool {
        self.led.machine.withholds(group)
    }

    fn refuses(&mut self, transition: Transition) -> Result<bool, Error> {
        let Transition { process, alternative } = transition;
        let mut alternatives = Vec::new();
        let here = self.led.machine.elsewhere(process, &[], &mut alternatives)?;
        let Elsewhere::Possible(footprint, created_by) = here else {
            let what = "a step that was met is not possible where it fits";
            return Err(Error::Internal(what.to_owned()));
        };
        alternatives.clear();
        alternatives.push(alternative);
        self.sift(process, footprint, created_by, &[], &mut alternatives)?;
        Ok(alternatives.is_empty())
    }

    fn perform(&mut self, transition: Transition) -> Result<Performed, Error> {
        if self.is_own(transition.process) {
            let performed = self.led.perform(transition)?;
            if let Some(mark) = self.led.marks.all.last() {
                self.done.extend(mark.for_component(self.component));
            }
            self.places.push(None);
            let seen = match performed.moved {
                Some(place) if !performed.failed => {
                    let at = self.places_of.iter().position(|&other| other as usize == place);
                    let machine = &mut *self.led.machine;
                    let views = |property| view(machine, property, place as u32);
                    let views: Box<[u32]> = (0..self.readings).map(views).collect();
                    at.map(|at| (at, views))
                }
                _ => None,
            };
            self.seen.push(seen);
            if !performed.failed {
                self.look_here();
            }
            return Ok(performed);
        }
        let is_it = |&place: &usize| {
            self.told.events[place].what.transition == transition && self.ready(place)
        };
        let Some(place) = (0..self.told.events.len()).find(is_it) else {
            let what = "the rest of the system was asked for something that is not in its trace";
            return Err(Error::Internal(what.to_owned()));
        };
        let performed = self.led.perform(transition)?;
        let is_same = self.led.marks.all.last().is_some_and(|mark| {
            let told = &self.told.events[place].mark;
            mark.for_component(self.component) == told.for_component(self.component)
        });
        if !is_same {
            let what = "what the rest of the system shows is not what it has shown before";
            return Err(Error::Internal(what.to_owned()));
        }
        self.repeated[place] = true;
        self.places.push(Some(place as u32));
        self.seen.push(None);
        Ok(Performed { is_only: true, moved: None, ..performed })
    }

    fn needs(&self, event: usize) -> &[u32] {
        self.led.machine.needs(event)
    }

    fn is_rooted_in(&self, event: usize, other: u32) -> bool {
        // The rest does what it has done.
        self.places[event].is_some() || self.led.machine.is_rooted_in(event, other)
    }

    fn footprints(&self) -> &Footprints {
        self.led.machine.footprints()
    }

    fn intern(&mut self, writes: &[Object], reads: &[Object]) -> Footprint {
        self.led.machine.intern(writes, reads)
    }

    fn elsewhere(
        &mut self,
        process: Process,
        without: &[u32],
        into: &mut Vec<u32>,
    ) -> Result<Elsewhere, Error> {
        if !self.is_own(process) {
            return Ok(Elsewhere::Blocked(Blockers::default()));
        }
        let found = self.led.machine.elsewhere(process, without, into)?;
        if let Elsewhere::Possible(footprint, created_by) = found {
            self.sift(process, footprint, created_by, without, into)?;
            if into.is_empty() {
                return Ok(Elsewhere::Unwanted(footprint));
            }
        }
        Ok(found)
    }

    fn is_stale(&mut self) -> bool {
        self.led.machine.is_stale()
    }

    fn key(&mut self, into: &mut Vec<u32>) {
        self.led.machine.key(into);
    }

    fn reach(&self, process: Process) -> Reach {
        self.led.machine.reach(process)
    }

    fn is_withheld(&mut self) -> bool {
        self.led.machine.is_withheld()
    }

    fn readings(&self) -> &[Reading] {
        // Properties relate components: see the explorer of all of them.
        &[]
    }

    fn places(&self) -> usize {
        self.led.machine.places()
    }

    fn view(&mut self, property: usize, place: usize) -> u32 {
        self.led.machine.view(property, place)
    }

    fn observed(&self, observer: usize) -> u32 {
        self.led.machine.observed(observer)
    }

    fn test(&mut self, property: usize, reads: &[u32]) -> Result<bool, Error> {
        self.led.machine.test(property, reads)
    }

    fn conjunct_counts(&self) -> Vec<usize> {
        Vec::new()
    }

    fn conjuncts(&mut self, property: usize, reads: &[u32]) -> Result<u64, Error> {
        self.led.machine.conjuncts(property, reads)
    }

    fn describe(&mut self, event: usize) -> Result<RunEvent, Error> {
        self.led.machine.describe(event)
    }

    fn failure(&mut self) -> Result<(Cause, String), Error> {
        self.led.machine.failure()
    }

    fn costs(&self) -> Option<Costs> {
        self.led.machine.costs()
    }

    fn bytes(&self) -> u64 {
        self.led.machine.bytes()
    }
}
