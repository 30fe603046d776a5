//! A component by itself: the partial-replay local system of the paper's section 3.2.
//!
//! One component is free, and the rest of the system repeats a given trace. An interface event of the component must be one of those that it has
//! in the trace, with the same name. Whatever else it could show is a *branch*: it is noted and does not happen. So this is a machine like others, in which some things are not possible, and all
//! runs of it are runs of the whole system. Whether something happens has to do with the past of an event, not with the order of independent ones, so what
//! a [`Machine`] promises is kept.
//!
//! The rest gets on as soon as it can: what it gives is there when the component may want it. What it has done that the component cannot tell of, and that happens before nothing of what the component can tell of, is left
//! out: nothing that the component does, or could do, depends on it, and a run without it is a run of the whole system, too. All that is used of these runs are the component's own events.

mod inner;
mod looks;

pub(super) use self::looks::{look_key, view};
use super::interface::{Doing, Led, Parts, Would};
use crate::engine::machine::footprint::{Footprint, Footprints};
use crate::engine::machine::{
    Blockers, Elsewhere, First, Machine, Object, Performed, Process, Reach, Reading, Shown,
    Touched, Transition,
};
use crate::error::Error;
use crate::model::run_event::RunEvent;
use crate::outcome::Cause;
use crate::space::Costs;
use crate::trace::skeleton::{Label, Name, Trace, mix, signature};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// What a component could do that it has not done in the trace at hand: take a step that others can tell of, or stop early.
pub(super) struct Branch {
    pub component: u32,
    /// The step, and what it shows; nothing if the component stops.
    pub step: Option<(Doing, Label, Name)>,
    /// The names, for the component, of what happens before; if it stops, of all that it knows of.
    pub past: FxHashSet<Name>,
    /// A run in which it is so, and what of it.
    pub trace: Arc<Trace<Doing>>,
    pub stays: Box<[bool]>,
}

/// What a component looked like to the properties: for each of its groups what each property sees.
pub(super) type Look = Box<[u32]>;

/// A trace, and what of it.
pub(super) type Part = (Arc<Trace<Doing>>, Box<[bool]>);

/// How a component may look after some of its own interface events, and a run in which it does.
pub(super) struct Seen {
    /// The signature of these events.
    pub own: u64,
    /// The names of what others must have given for that, sorted.
    pub taken: Box<[Name]>,
    pub look: Look,
    /// A number for the look that is made of its content.
    pub key: u64,
    pub part: Part,
}

/// How a component may be at the end of a local trace.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Fate {
    pub look: Look,
    /// Whether only a bound on timers keeps it from going on.
    pub is_withheld: bool,
    /// What may be [wrong](Machine::ended) with that it goes on no more.
    pub trouble: u64,
}

/// How a component may be at the end of a local trace, and a run in which it is so.
pub(super) struct End {
    pub fate: Fate,
    pub part: Part,
}

/// What came of the exploration of a component.
#[derive(Default)]
pub(super) struct Explored {
    pub branches: Vec<Arc<Branch>>,
    /// How many traces there are that have all of the local skeleton, and nothing more to do.
    pub traces: u128,
    /// Runs that end before that.
    pub others: u64,
    /// In the order in which they were met.
    pub looks: Vec<Arc<Seen>>,
    pub ends: Vec<Arc<End>>,
}

/// See the module.
pub(super) struct Partial<'a, M> {
    led: Led<'a, M>,
    start: usize,
    component: u32,
    told: Arc<Trace<Doing>>,
    /// The names of the component's own interface events in the trace.
    allowed: FxHashSet<Name>,
    /// Which of them have happened.
    done: FxHashSet<Name>,
    /// Which events of the rest have, by their place in the trace, or are left out; and which event of the run is which.
    repeated: Vec<bool>,
    left_out: Box<[bool]>,
    /// The processes of events of the rest, as far as they are known.
    processes: Vec<Option<Process>>,
    places: Vec<Option<u32>>,
    known: FxHashSet<(Name, u64)>,
    known_looks: FxHashMap<(u64, u64), FxHashSet<Look>>,
    known_ends: FxHashSet<Fate>,
    /// For each event of the run, how the component looks after it, at one of its groups; and what it takes from others, if it is the component's.
    seen: Vec<Option<(usize, Box<[u32]>)>>,
    takes: Vec<Box<[Name]>>,
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
        told: Arc<Trace<Doing>>,
    ) -> Self {
        let own = told.events.iter().filter(|event| event.mark.component == component);
        let allowed = own.filter_map(|event| event.mark.for_component(component)).collect();
        let left_out = left_out(&told, component);
        let repeated = left_out.to_vec();
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
            processes: vec![None; repeated.len()],
            repeated,
            left_out,
            places: Vec::new(),
            known: FxHashSet::default(),
            known_looks: FxHashMap::default(),
            known_ends: FxHashSet::default(),
            seen: Vec::new(),
            takes: Vec::new(),
            initial: [].into(),
            listed: Vec::new(),
            found: Explored::default(),
        }
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

    /// The process of an event of the rest that is ready.
    fn process_at(&mut self, place: usize) -> Result<Process, Error> {
        if let Some(known) = self.processes[place] {
            return Ok(known);
        }
        let process = self.told.events[place].what.transition(&mut *self.led.machine)?.process;
        self.processes[place] = Some(process);
        Ok(process)
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
        self.found.branches.push(Arc::new(Branch {
            component: self.component,
            step: Some((
                self.led.parts.doing(&*self.led.machine, would.what),
                would.label,
                would.name,
            )),
            past,
            trace: Arc::new(self.led.trace()),
            stays: (0..marks.len()).map(is_in).collect(),
        }));
    }

    /// The run has come to its end: nothing that is wanted can happen.
    fn end(&mut self, is_stopped: bool) -> Result<(), Error> {
        if self.places_of.len() > 1 {
            self.look();
        }
        if !is_stopped {
            self.found.others += 1;
            return Ok(());
        }
        if self.has_shown_all() {
            let all: Box<[bool]> = vec![true; self.led.moves.len()].into();
            self.found.traces += 1;
            let look = self.look_now();
            let mut fate = Fate { look, is_withheld: false, trouble: 0 };
            for &group in &self.led.parts.groups[self.component as usize] {
                fate.is_withheld |= self.led.machine.withholds(group);
                fate.trouble = fate.trouble.wrapping_add(self.led.machine.ended(group)?);
            }
            if self.known_ends.insert(fate.clone()) {
                let part = (Arc::new(self.led.trace()), all);
                self.found.ends.push(Arc::new(End { fate, part }));
            }
            return Ok(());
        }
        self.found.others += 1;
        self.note_stop();
        Ok(())
    }

    /// Whether the component has shown all that it has shown in the trace.
    pub fn has_shown_all(&self) -> bool {
        self.done.len() == self.allowed.len()
    }

    /// Notes that the component may stop where the run stands.
    pub fn note_stop(&mut self) {
        let component = self.component;
        let names = self.led.marks.all.iter().filter_map(|mark| mark.for_component(component));
        let past: FxHashSet<Name> = names.collect();
        let around = past.iter().copied().map(mix).fold(0, u64::wrapping_add);
        if self.known.insert((0, around)) {
            let trace = Arc::new(self.led.trace());
            let stays = vec![true; trace.events.len()].into();
            let branch = Branch { component, step: None, past, trace, stays };
            self.found.branches.push(Arc::new(branch));
        }
    }
}

/// For each event of a trace, whether a component by itself can do without it.
fn left_out(told: &Trace<Doing>, component: u32) -> Box<[bool]> {
    let mut left_out: Box<[bool]> = vec![true; told.events.len()].into();
    for (place, event) in told.events.iter().enumerate().rev() {
        if event.mark.component == component || event.mark.for_component(component).is_some() {
            left_out[place] = false;
        }
        if !left_out[place] {
            event.before.iter().for_each(|&before| left_out[before as usize] = false);
        }
    }
    left_out
}

impl<M: Machine> Machine for Partial<'_, M> {
    fn starts(&self) -> usize {
        1
    }

    fn restart(&mut self, _: usize) -> Result<(), Error> {
        self.led.restart(self.start)?;
        self.done.clear();
        self.repeated.copy_from_slice(&self.left_out);
        self.places.clear();
        self.seen.clear();
        self.takes.clear();
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
        self.takes.truncate(len);
        self.led.go_back(len)
    }

    fn possible(&mut self, into: &mut Vec<Transition>) -> Result<bool, Error> {
        let mut listed = std::mem::take(&mut self.listed);
        self.led.machine.possible(&mut listed)?;
        into.clear();
        for place in 0..self.told.events.len() {
            if self.ready(place) {
                let alternative = self.told.events[place].what.alternative;
                let process = self.process_at(place)?;
                into.push(Transition { process, alternative });
            }
        }
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
                self.end(is_stopped)?;
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
            let takes = match self.readings > 0 && !performed.failed {
                true => self
                    .led
                    .marks
                    .named_across(self.component)
                    .ok_or_else(|| self.led.machine.cannot_be_parted(None))?,
                false => [].into(),
            };
            self.takes.push(takes);
            if !performed.failed {
                self.look_here();
            }
            return Ok(performed);
        }
        let key = self.led.machine.process_key(transition.process);
        let is_it = |&place: &usize| {
            self.told.events[place].what.process == key
                && self.told.events[place].what.alternative == transition.alternative
                && self.ready(place)
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
            let event = self.led.machine.len() - 1;
            let what = self.led.machine.describe(event)?;
            let what = format!("what a component shows is not what it has shown before: {what}");
            return Err(Error::Internal(what));
        }
        self.repeated[place] = true;
        self.places.push(Some(place as u32));
        self.seen.push(None);
        self.takes.push([].into());
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

    fn refuses(&mut self, transition: Transition) -> Result<bool, Error> {
        self.refuses_step(transition)
    }

    fn process_key(&self, process: Process) -> u64 {
        self.led.machine.process_key(process)
    }

    fn process_with(&mut self, key: u64) -> Result<Option<Process>, Error> {
        self.led.machine.process_with(key)
    }

    fn object_key(&self, object: Object) -> u64 {
        self.led.machine.object_key(object)
    }

    fn groups(&self) -> usize {
        self.led.machine.groups()
    }

    fn group(&self, process: Process) -> u32 {
        self.led.machine.group(process)
    }

    fn is_ordered(&self, group: u32) -> bool {
        self.led.machine.is_ordered(group)
    }

    fn touched(&self, object: Object) -> Touched<'_> {
        self.led.machine.touched(object)
    }

    fn cannot_be_parted(&self, object: Option<Object>) -> Error {
        self.led.machine.cannot_be_parted(object)
    }

    fn needed(&self) -> &[u32] {
        self.led.machine.needed()
    }

    fn ended(&mut self, group: u32) -> Result<u64, Error> {
        self.led.machine.ended(group)
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

    fn view_key(&self, view: u32) -> u64 {
        self.led.machine.view_key(view)
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
