//! Properties, when components were explored apart.
//!
//! A property relates views of several components. Section 6.2 of the paper exposes views: what changes one is an interface event, and so costs skeletons. That is not
//! needed. What a component does in between its interface events restricts nobody else, so in each consistent cut of a skeleton, each component may look in any of the ways in which it may look after its own
//! interface events of that cut; all combinations of these are reachable, and nothing else is. So local explorers note how a component looks in all cuts of its runs, and here each cut of each
//! skeleton is looked at with all combinations. A run to one is put together from the runs of the components, and performed.
//!
//! What observers know is decided by interface events alone, which are totally ordered as far as they feed them: it is looked at along the traces of the skeletons.

use super::global::{Global, Ran, own_name};
use super::interface::Doing;
use super::nested::keep;
use super::partial::{Look, Part};
use crate::engine::dpor::run_of;
use crate::engine::goals::Sightings;
use crate::engine::machine::{Machine, Reading};
use crate::engine::{Found, FoundWhat, Terminal, nothing_left};
use crate::error::Error;
use crate::model::property::PropertyKind;
use crate::outcome::Run;
use crate::trace::skeleton::{Trace, mix};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// What is known of the properties.
pub(super) struct Verdicts {
    readings: Vec<Reading>,
    pub violation: Option<Found>,
    pub witnesses: Vec<Option<Run>>,
    pub terminal: Terminal,
    pub goals: Sightings<Run>,
    /// Which goal a property is, if it names its conjuncts.
    goal_of: Vec<Option<usize>>,
    /// What was read, and whether the test is true of it.
    tested: FxHashMap<Box<[u32]>, bool>,
}

impl Verdicts {
    pub fn new<M: Machine>(machine: &M) -> Self {
        let readings = machine.readings().to_vec();
        let counts = machine.conjunct_counts();
        let goals = || counts.iter().copied().enumerate().filter(|&(_, conjuncts)| conjuncts > 0);
        let goal_of = |property| goals().position(|(goal, _)| goal == property);
        Verdicts {
            goals: Sightings::of(goals()),
            goal_of: (0..readings.len()).map(goal_of).collect(),
            violation: None,
            witnesses: vec![None; readings.len()],
            readings,
            terminal: Terminal::default(),
            tested: FxHashMap::default(),
        }
    }

    /// How many combinations were tested.
    pub fn tested(&self) -> usize {
        self.tested.len()
    }

    /// Whether nothing is left that more could refute or witness.
    pub fn nothing_left(&self) -> bool {
        let all = self.readings.iter().zip(&self.witnesses);
        nothing_left(all.map(|(reading, witness)| (reading.kind, witness.is_some())))
    }

    pub fn is_over(&self) -> bool {
        self.violation.is_some() || self.nothing_left()
    }

    /// Whether the test of a property is true of what it reads; and the conjuncts that are true, if that many at once are news.
    fn test<M: Machine>(
        &mut self,
        machine: &mut M,
        property: usize,
        reads: &[u32],
    ) -> Result<(bool, Option<(usize, u64)>), Error> {
        let key: Box<[u32]> =
            std::iter::once(property as u32).chain(reads.iter().copied()).collect();
        if let Some(&known) = self.tested.get(&key) {
            return Ok((known, None));
        }
        let result = machine.test(property, reads)?;
        self.tested.insert(key, result);
        let Some(goal) = self.goal_of[property] else { return Ok((result, None)) };
        let combination = machine.conjuncts(property, reads)?;
        let is_new = !self.goals.knows(goal, combination);
        Ok((result, is_new.then_some((goal, combination))))
    }

    fn tell_goal(&mut self, goal: Option<(usize, u64)>, run: &Run) {
        if let Some((goal, combination)) = goal {
            self.goals.report(goal, combination, (0, run.events.len() as u64), run.clone());
        }
    }

    /// What a test must come to for there to be something to tell, if there may be.
    fn sought(&self, property: usize) -> Option<bool> {
        match self.readings[property].kind {
            PropertyKind::Always => Some(false),
            PropertyKind::Sometimes if self.witnesses[property].is_none() => Some(true),
            _ => None,
        }
    }

    fn tell(&mut self, property: usize, run: Run) {
        match self.readings[property].kind {
            PropertyKind::Sometimes => self.witnesses[property] = Some(run),
            _ if self.violation.is_none() => {
                self.violation = Some(Found { what: FoundWhat::Always(property), run });
            }
            _ => {}
        }
    }

    /// Looks at what observers know where a run stands.
    pub fn look_at_observers<M: Machine>(&mut self, machine: &mut M) -> Result<(), Error> {
        for property in 0..self.readings.len() {
            let (Some(observer), Some(sought)) =
                (self.readings[property].observer, self.sought(property))
            else {
                continue;
            };
            let reads = [machine.observed(observer)];
            let (result, goal) = self.test(machine, property, &reads)?;
            if result == sought || goal.is_some() {
                let len = machine.len();
                let run = run_of(machine, 0..len)?;
                self.tell_goal(goal, &run);
                if result == sought {
                    self.tell(property, run);
                }
            }
        }
        Ok(())
    }
}

/// Looks for something to tell in all that was explored.
pub(super) struct Judge<'g, 'a, M> {
    global: &'g mut Global<'a, M>,
    /// For a component, its own interface events and a property: the distinct views, by number.
    sets: FxHashMap<(u32, u64, usize), u32>,
    all_sets: Vec<Rc<[Look]>>,
    known_sets: FxHashMap<Rc<[Look]>, u32>,
    looked_at: FxHashSet<Box<[u32]>>,
}

impl<'g, 'a, M: Machine> Judge<'g, 'a, M> {
    pub fn new(global: &'g mut Global<'a, M>) -> Self {
        Judge {
            global,
            sets: FxHashMap::default(),
            all_sets: Vec::new(),
            known_sets: FxHashMap::default(),
            looked_at: FxHashSet::default(),
        }
    }

    /// Looks at everything.
    pub fn judge(&mut self) -> Result<(), Error> {
        let readings = self.global.verdict.readings.clone();
        let reads_views =
            readings.iter().any(|it| it.observer.is_none() && it.kind != PropertyKind::NeverStuck);
        let forbids_ends = readings.iter().any(|it| it.kind == PropertyKind::NeverStuck);
        for known in 0..self.global.known.len() {
            if reads_views {
                self.look_at_cuts(known)?;
            }
            if forbids_ends && self.global.bound.is_none() {
                self.look_at_ends(known)?;
            }
            if self.global.verdict.is_over() || self.global.is_over() {
                break;
            }
        }
        Ok(())
    }

    /// Looks at each consistent cut of a skeleton.
    fn look_at_cuts(&mut self, known: usize) -> Result<(), Error> {
        let trace = Rc::clone(&self.global.known[known].trace);
        // The interface events, and of each those that happen before it.
        let mut events: Vec<usize> = Vec::new();
        let mut pasts: Vec<Vec<u64>> = Vec::new();
        let words = trace.events.len() / 64 + 1;
        for (place, event) in trace.events.iter().enumerate() {
            let mut past = vec![0_u64; words];
            for &before in &event.before {
                let before = before as usize;
                pasts[before].iter().zip(&mut past).for_each(|(from, to)| *to |= from);
                if let Ok(number) = events.binary_search(&before) {
                    past[number / 64] |= 1 << (number % 64);
                }
            }
            pasts.push(past);
            if event.mark.name != 0 {
                events.push(place);
            }
        }
        let mut met: FxHashSet<Vec<u64>> = FxHashSet::default();
        let mut todo = vec![vec![0_u64; words]];
        while let Some(cut) = todo.pop() {
            let is_in = |number: usize| cut[number / 64] >> (number % 64) & 1 == 1;
            let mut own = vec![0_u64; self.global.parts.len() as usize];
            for (number, &place) in events.iter().enumerate() {
                let event = &trace.events[place];
                if !is_in(number) {
                    let past = &pasts[place];
                    if past.iter().zip(&cut).all(|(past, cut)| past & !cut == 0) {
                        let mut more = cut.clone();
                        more[number / 64] |= 1 << (number % 64);
                        if met.insert(more.clone()) {
                            todo.push(more);
                        }
                    }
                } else if let Some(name) = own_name(event, event.mark.component) {
                    let own = &mut own[event.mark.component as usize];
                    *own = own.wrapping_add(mix(name));
                }
            }
            self.look_at_cut(&trace, &own, &|place| {
                events.binary_search(&place).is_ok_and(|number| !is_in(number))
            })?;
            if self.global.verdict.is_over() {
                return Ok(());
            }
            if met.len().is_multiple_of(1 << 10) && self.global.is_over() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Whether a component has anything that properties see. The network, if it is one, has not.
    fn has_views(&self, component: u32) -> bool {
        let places = self.global.machine.places();
        let mut groups = self.global.parts.groups[component as usize].iter();
        groups.any(|&group| (group as usize) < places)
    }

    /// The distinct views that a property may have of a component after its own interface events, for its places.
    fn set(&mut self, component: u32, own: u64, property: usize) -> u32 {
        if let Some(&known) = self.sets.get(&(component, own, property)) {
            return known;
        }
        let readings = self.global.verdict.readings.len();
        let looks = self.global.looks[component as usize].get(&own);
        let view = |look: &Look| look.chunks(readings).map(|views| views[property]).collect();
        let mut all: Vec<Look> = looks.into_iter().flat_map(|it| it.keys()).map(view).collect();
        if !self.has_views(component) {
            all.push(Look::default());
        }
        all.sort_unstable();
        all.dedup();
        let all: Rc<[Look]> = all.into();
        let next = self.all_sets.len() as u32;
        let number = *self.known_sets.entry(Rc::clone(&all)).or_insert(next);
        if number == next {
            self.all_sets.push(all);
        }
        self.sets.insert((component, own, property), number);
        number
    }

    fn look_at_cut(
        &mut self,
        trace: &Rc<Trace<Doing>>,
        own: &[u64],
        is_out: &dyn Fn(usize) -> bool,
    ) -> Result<(), Error> {
        for property in 0..self.global.verdict.readings.len() {
            if self.global.verdict.readings[property].observer.is_some() {
                continue;
            }
            let Some(sought) = self.global.verdict.sought(property) else { continue };
            let mut key = vec![property as u32];
            for (component, &own) in own.iter().enumerate() {
                key.push(self.set(component as u32, own, property));
            }
            if self.looked_at.contains(&key[..]) {
                continue;
            }
            let sets: Vec<Rc<[Look]>> =
                key[1..].iter().map(|&set| Rc::clone(&self.all_sets[set as usize])).collect();
            self.looked_at.insert(key.into());
            let mut chosen = vec![0; sets.len()];
            loop {
                let views: Vec<&Look> = sets
                    .iter()
                    .zip(&chosen)
                    .filter_map(|(set, &chosen): (&Rc<[Look]>, &usize)| set.get(chosen))
                    .collect();
                if views.len() < sets.len() {
                    // A bound has kept a component from being explored.
                    break;
                }
                let reads = self.reads(&views);
                let Global { machine, verdict, .. } = &mut *self.global;
                let (result, goal) = verdict.test(&mut **machine, property, &reads)?;
                if result == sought || goal.is_some() {
                    let views: Vec<Look> = views.into_iter().cloned().collect();
                    let run = self.run_to(trace, own, is_out, property, &views)?;
                    self.global.verdict.tell_goal(goal, &run);
                    if result == sought {
                        self.global.verdict.tell(property, run);
                        break;
                    }
                }
                if !count_up(&mut chosen, |component| sets[component].len()) {
                    break;
                }
            }
        }
        Ok(())
    }

    /// What a property reads, when components are seen so.
    fn reads(&self, views: &[&Look]) -> Vec<u32> {
        let places = self.global.machine.places();
        let mut reads = vec![0; places];
        for (groups, views) in self.global.parts.groups.iter().zip(views) {
            let own = groups.iter().filter(|&&group| (group as usize) < places);
            for (&group, &view) in own.zip(views.iter()) {
                reads[group as usize] = view;
            }
        }
        reads
    }

    /// A run to a cut of a trace, in which a property sees components so.
    fn run_to(
        &mut self,
        trace: &Rc<Trace<Doing>>,
        own: &[u64],
        is_out: &dyn Fn(usize) -> bool,
        property: usize,
        views: &[Look],
    ) -> Result<Run, Error> {
        let readings = self.global.verdict.readings.len();
        let stays = trace.without(|place, _| is_out(place));
        let mut parts: Vec<Part> = Vec::new();
        for (component, own) in own.iter().enumerate() {
            if !self.has_views(component as u32) {
                parts.push(Part::Kept(Rc::clone(trace), stays.clone().into()));
                continue;
            }
            let fits = |look: &&Look| {
                let seen = look.chunks(readings).map(|views| views[property]);
                seen.eq(views[component].iter().copied())
            };
            let looks = self.global.looks[component].get(own);
            let part = looks.and_then(|it| it.iter().find(|(look, _)| fits(look)));
            parts.push(part.map(|(_, part)| part.clone()).ok_or_else(lost)?);
        }
        self.perform(trace, stays, &mut parts)
    }

    /// A run put together from what stays of a trace and a part for each component.
    fn perform(
        &mut self,
        trace: &Rc<Trace<Doing>>,
        mut stays: Vec<bool>,
        parts: &mut [Part],
    ) -> Result<Run, Error> {
        let mut trace = Rc::clone(trace);
        for (component, part) in parts.iter_mut().enumerate() {
            keep(&mut *self.global.machine, self.global.parts, self.global.start, part)?;
            let Part::Kept(other, other_stays) = part else { return Err(lost()) };
            let doings = trace.with(&stays, component as u32, other, other_stays);
            let ran = self.global.run(&doings.ok_or_else(lost)?, false)?;
            let Ran::Whole(next) = ran else { return Err(lost()) };
            stays = vec![true; next.events.len()];
            trace = Rc::new(next);
        }
        let len = self.global.machine.len();
        run_of(&mut *self.global.machine, 0..len)
    }

    /// Looks at how the traces of a skeleton may end.
    fn look_at_ends(&mut self, known: usize) -> Result<(), Error> {
        let mut ends: Vec<Vec<((Look, bool), Part)>> = Vec::new();
        for (component, &local) in self.global.known[known].locals.iter().enumerate() {
            let local = self.global.locals.get(&(component as u32, local));
            let all = local.into_iter().flat_map(|local| local.ends.iter());
            let mut all: Vec<_> = all.map(|(end, part)| (end.clone(), part.clone())).collect();
            all.sort_by(|(a, _), (b, _)| a.cmp(b));
            if all.is_empty() {
                return Ok(());
            }
            ends.push(all);
        }
        let trace = Rc::clone(&self.global.known[known].trace);
        let readings = self.global.verdict.readings.len();
        let mut chosen = vec![0; ends.len()];
        loop {
            let here: Vec<&((Look, bool), Part)> =
                ends.iter().zip(&chosen).map(|(ends, &chosen)| &ends[chosen]).collect();
            if here.iter().any(|((_, withheld), _)| *withheld) {
                self.global.verdict.terminal.withheld += 1;
            } else {
                self.global.verdict.terminal.judged += 1;
                for property in 0..readings {
                    let Reading { kind, observer } = self.global.verdict.readings[property];
                    if kind != PropertyKind::NeverStuck {
                        continue;
                    }
                    let reads = match observer {
                        Some(observer) => vec![self.global.known[known].observed[observer]],
                        None => {
                            let view = |((look, _), _): &&((Look, bool), Part)| -> Look {
                                look.chunks(readings).map(|views| views[property]).collect()
                            };
                            let views: Vec<Look> = here.iter().map(view).collect();
                            self.reads(&views.iter().collect::<Vec<_>>())
                        }
                    };
                    let Global { machine, verdict, .. } = &mut *self.global;
                    if !verdict.test(&mut **machine, property, &reads)?.0 {
                        let mut parts: Vec<Part> =
                            here.iter().map(|(_, part)| part.clone()).collect();
                        let stays = vec![true; trace.events.len()];
                        let run = self.perform(&trace, stays, &mut parts)?;
                        let what = FoundWhat::Stuck(property);
                        self.global.verdict.violation = Some(Found { what, run });
                        return Ok(());
                    }
                }
            }
            if !count_up(&mut chosen, |component| ends[component].len()) {
                return Ok(());
            }
        }
    }
}

fn lost() -> Error {
    Error::Internal("the way to a state is lost".to_owned())
}

/// The next combination of choices; false if that was the last.
pub(super) fn count_up(chosen: &mut [usize], most: impl Fn(usize) -> usize) -> bool {
    for (place, chosen) in chosen.iter_mut().enumerate() {
        *chosen += 1;
        if *chosen < most(place) {
            return true;
        }
        *chosen = 0;
    }
    false
}
