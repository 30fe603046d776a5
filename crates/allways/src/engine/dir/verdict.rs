//! Properties, when components were explored apart.
//!
//! A property relates views of several components. Section 6.2 of the paper exposes views: what changes one is an interface event, and so costs skeletons. That is not
//! needed. What a component does in between its interface events restricts nobody else, so in each consistent cut of a skeleton, each component may look in any of the ways in which it may look after its own
//! interface events of that cut; all combinations of these are reachable, and nothing else is. So local explorers note how a component looks in all cuts of its runs, and here each cut of each
//! skeleton is looked at with all combinations. A run to one is put together from the runs of the components, and performed.
//!
//! Cuts are looked at when all is explored; and for violations alone whenever twice as much is known as the last time, so a violation is found soon and looking again costs no more than twice as much.
//!
//! What observers know is decided by interface events alone, which are totally ordered as far as they feed them: it is looked at along the traces of the skeletons.

use super::global::{Global, Known, Ran};
use super::interface::Doing;
use super::partial::{End, Look, Part};
use crate::engine::dpor::run_of;
use crate::engine::goals::Sightings;
use crate::engine::machine::{Machine, Reading};
use crate::engine::{Found, FoundWhat, Terminal, nothing_left};
use crate::error::Error;
use crate::model::property::PropertyKind;
use crate::outcome::Run;
use crate::trace::order::{contains, insert, members, unite};
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

/// The interface events of a trace, of each those that happen before it, and those that cuts must not have: by number.
struct Cuts<'c> {
    trace: &'c Rc<Trace<Doing>>,
    events: &'c [usize],
    pasts: &'c [&'c Vec<u64>],
    forbidden: Vec<u64>,
}

/// Looks for something to tell in all that was explored.
pub(super) struct Judge<'g, 'a, M> {
    global: &'g mut Global<'a, M>,
    /// For a component, its own interface events and a property: the distinct views, by number.
    sets: FxHashMap<(u32, u64, usize), u32>,
    all_sets: Vec<Rc<[Look]>>,
    known_sets: FxHashMap<Rc<[Look]>, u32>,
    looked_at: FxHashSet<Box<[u32]>>,
    /// Whether only violations are looked for.
    is_early: bool,
    /// For a component, its local skeleton and how it ends: what may be wrong was looked at.
    troubles: FxHashSet<(u32, u64, u64)>,
}

impl<'g, 'a, M: Machine> Judge<'g, 'a, M> {
    pub fn new(global: &'g mut Global<'a, M>) -> Self {
        Judge {
            global,
            sets: FxHashMap::default(),
            all_sets: Vec::new(),
            known_sets: FxHashMap::default(),
            looked_at: FxHashSet::default(),
            is_early: false,
            troubles: FxHashSet::default(),
        }
    }

    /// Looks for violations in what is known so far. What a component is known to look like after some interface events it may look like wherever these fit, so what is found is there.
    pub fn judge_early(&mut self) -> Result<(), Error> {
        self.is_early = true;
        let readings = &self.global.verdict.readings;
        let is_view = |it: &Reading| it.observer.is_none() && it.kind == PropertyKind::Always;
        if !readings.iter().any(is_view) {
            return Ok(());
        }
        for known in 0..self.global.known.len() {
            self.look_at_cuts(known)?;
            if self.global.verdict.is_over() || self.global.is_over() {
                break;
            }
        }
        Ok(())
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
            if self.global.bound.is_none() {
                self.look_for_trouble(known)?;
                if forbids_ends {
                    self.look_at_ends(known)?;
                }
            }
            if self.global.verdict.is_over() || self.global.is_over() {
                break;
            }
        }
        Ok(())
    }

    /// Looks at each consistent cut of a skeleton that is not one of its parent's, too: names are told by their pasts, so a cut without any name that the parent has not is a cut of
    /// the parent. The others are told apart by the first of the new events that they have. Events are added in the order of the run, so no cut is met twice.
    fn look_at_cuts(&mut self, known: usize) -> Result<(), Error> {
        let Known { trace, parent, .. } = &self.global.known[known];
        let trace = Rc::clone(trace);
        let parent = parent.map(|parent| &self.global.known[parent as usize].names);
        let is_new = |name| parent.is_none_or(|names| names.binary_search(name).is_err());
        // The interface events, and of each those that happen before it.
        let mut events: Vec<usize> = Vec::new();
        let mut new: Vec<usize> = Vec::new();
        let mut pasts: Vec<Vec<u64>> = Vec::new();
        let words = trace.events.len() / 64 + 1;
        for (place, event) in trace.events.iter().enumerate() {
            let mut past = vec![0_u64; words];
            for &before in &event.before {
                let before = before as usize;
                unite(&mut past, &pasts[before]);
                if let Ok(number) = events.binary_search(&before) {
                    insert(&mut past, number);
                }
            }
            pasts.push(past);
            if event.mark.name != 0 {
                if is_new(&event.mark.name) {
                    new.push(events.len());
                }
                events.push(place);
            }
        }
        let pasts: Vec<&Vec<u64>> = events.iter().map(|&place| &pasts[place]).collect();
        let mut cuts =
            Cuts { trace: &trace, events: &events, pasts: &pasts, forbidden: Vec::new() };
        cuts.forbidden.resize(words, 0);
        if parent.is_none() {
            return self.look_at_cuts_from(&cuts, vec![0; words]);
        }
        for first in new {
            let mut cut = pasts[first].clone();
            insert(&mut cut, first);
            if cut.iter().zip(&cuts.forbidden).all(|(cut, forbidden)| cut & forbidden == 0) {
                self.look_at_cuts_from(&cuts, cut)?;
            }
            insert(&mut cuts.forbidden, first);
            if self.global.verdict.is_over() {
                break;
            }
        }
        Ok(())
    }

    /// Looks at a cut, and at all larger ones without some events.
    fn look_at_cuts_from(&mut self, cuts: &Cuts<'_>, mut cut: Vec<u64>) -> Result<(), Error> {
        let Cuts { trace, events, pasts, forbidden } = cuts;
        let mut own = vec![0_u64; self.global.parts.len() as usize];
        let name = |number: usize| {
            let mark = &trace.events[events[number]].mark;
            let component = mark.component;
            (component as usize, mark.for_component(component).map_or(0, mix))
        };
        for number in members(&cut) {
            let (component, name) = name(number);
            own[component] = own[component].wrapping_add(name);
        }
        let mut added: Vec<usize> = Vec::new();
        let (mut next, mut looks) = (0, true);
        let mut count = 0_usize;
        loop {
            if looks {
                self.look_at_cut(trace, &own, &|place| {
                    events.binary_search(&place).is_ok_and(|number| !contains(&cut, number))
                })?;
                count += 1;
                if self.global.verdict.is_over()
                    || (count.is_multiple_of(1 << 10) && self.global.is_over())
                {
                    return Ok(());
                }
            }
            let is_next = |&number: &usize| {
                !contains(&cut, number)
                    && !contains(forbidden, number)
                    && pasts[number].iter().zip(&cut).all(|(past, cut)| past & !cut == 0)
            };
            if let Some(number) = (next..events.len()).find(is_next) {
                insert(&mut cut, number);
                let (component, name) = name(number);
                own[component] = own[component].wrapping_add(name);
                added.push(number);
                (next, looks) = (number + 1, true);
            } else if let Some(number) = added.pop() {
                cut[number / 64] &= !(1 << (number % 64));
                let (component, name) = name(number);
                own[component] = own[component].wrapping_sub(name);
                (next, looks) = (number + 1, false);
            } else {
                return Ok(());
            }
        }
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
            let Reading { kind, observer } = self.global.verdict.readings[property];
            if observer.is_some() || (self.is_early && kind != PropertyKind::Always) {
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
                parts.push((Rc::clone(trace), stays.clone().into()));
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
        self.perform(trace, stays, &parts)
    }

    /// A run put together from what stays of a trace and a part for each component.
    fn perform(
        &mut self,
        trace: &Rc<Trace<Doing>>,
        mut stays: Vec<bool>,
        parts: &[Part],
    ) -> Result<Run, Error> {
        let mut trace = Rc::clone(trace);
        for (component, (other, other_stays)) in parts.iter().enumerate() {
            let doings = trace.with(&stays, component as u32, other, other_stays);
            let doings = doings.ok_or_else(lost)?;
            let given: Vec<_> = doings.iter().map(|doing| (doing.transition, None)).collect();
            let ran = self.global.run(&given, false)?;
            let Ran::Whole(next) = ran else { return Err(lost()) };
            stays = vec![true; next.events.len()];
            trace = Rc::new(next);
        }
        let len = self.global.machine.len();
        run_of(&mut *self.global.machine, 0..len)
    }

    /// Looks whether it is wrong by itself how components come to their ends. Whether one does so in a way that may be wrong has to do with its own past and
    /// what others have shown to it, and the same goes for what is wrong with it: with what others of the same skeleton end makes no difference.
    fn look_for_trouble(&mut self, known: usize) -> Result<(), Error> {
        let locals = self.global.known[known].locals.clone();
        let ends = |global: &Global<'a, M>, component: usize| -> Vec<(End, Part)> {
            let local = global.locals.get(&(component as u32, locals[component]));
            let all = local.into_iter().flat_map(|local| local.ends.iter());
            let mut all: Vec<_> = all.map(|(end, part)| (end.clone(), part.clone())).collect();
            all.sort_by(|(a, _), (b, _)| a.cmp(b));
            all
        };
        let is_wrong = |component: usize| {
            let local = self.global.locals.get(&(component as u32, locals[component]));
            local.is_some_and(|local| local.ends.keys().any(|end| end.trouble != 0))
        };
        if !(0..locals.len()).any(is_wrong) {
            return Ok(());
        }
        let all: Vec<_> = (0..locals.len()).map(|component| ends(self.global, component)).collect();
        if all.iter().any(Vec::is_empty) {
            return Ok(());
        }
        let trace = Rc::clone(&self.global.known[known].trace);
        for (component, ends) in all.iter().enumerate() {
            for (end, part) in ends.iter().filter(|(end, _)| end.trouble != 0) {
                let key = (component as u32, locals[component], end.trouble);
                if !self.troubles.insert(key) {
                    continue;
                }
                let mut parts: Vec<Part> = all.iter().map(|ends| ends[0].1.clone()).collect();
                parts[component] = part.clone();
                let stays = vec![true; trace.events.len()];
                let run = self.perform(&trace, stays, &parts)?;
                if let Some((cause, message)) = self.global.machine.wrong_end()? {
                    let what = FoundWhat::Failed(cause, message);
                    self.global.verdict.violation = Some(Found { what, run });
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Looks at how the traces of a skeleton may end.
    fn look_at_ends(&mut self, known: usize) -> Result<(), Error> {
        let mut ends: Vec<Vec<(End, Part)>> = Vec::new();
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
            let here: Vec<&(End, Part)> =
                ends.iter().zip(&chosen).map(|(ends, &chosen)| &ends[chosen]).collect();
            if here.iter().any(|(end, _)| end.is_withheld) {
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
                            let view = |(end, _): &&(End, Part)| -> Look {
                                end.look.chunks(readings).map(|views| views[property]).collect()
                            };
                            let views: Vec<Look> = here.iter().map(view).collect();
                            self.reads(&views.iter().collect::<Vec<_>>())
                        }
                    };
                    let Global { machine, verdict, .. } = &mut *self.global;
                    if !verdict.test(&mut **machine, property, &reads)?.0 {
                        let parts: Vec<Part> = here.iter().map(|(_, part)| part.clone()).collect();
                        let stays = vec![true; trace.events.len()];
                        let run = self.perform(&trace, stays, &parts)?;
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
