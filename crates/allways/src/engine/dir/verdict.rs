//! Properties, when components were explored apart.
//!
//! A property relates views of several components. Section 6.2 of the paper exposes views: what changes one is an interface event, and so costs skeletons. That is not
//! needed. What a component does in between its interface events restricts nobody else, so in each consistent cut of a skeleton, each component may look in any of the ways in which it may look after its own
//! interface events of that cut and with what others have given in it; all combinations of these are reachable, and nothing else is. So local explorers note how a component looks in all cuts of its runs, and here each cut of each
//! skeleton is looked at with all combinations. A run to one is put together from the runs of the components, and performed.
//!
//! Cuts are looked at when all is explored; and those of new skeletons, for violations alone, whenever twice as much is known as the last time, so a violation is found soon. They are kept, so they are looked for once.
//!
//! What observers know is decided by interface events alone, which are totally ordered as far as they feed them: it is looked at along the traces of the skeletons.

use super::cuts::{Cut, cuts_of};
use super::global::{Given, Global, Known, Ran};
use super::interface::Doing;
use super::partial::{End, Fate, Look, Part, Seen};
use crate::engine::dpor::run_of;
use crate::engine::goals::Sightings;
use crate::engine::machine::{Machine, Reading};
use crate::engine::{Found, FoundWhat, Terminal, nothing_left};
use crate::error::Error;
use crate::model::property::PropertyKind;
use crate::outcome::Run;
use crate::trace::order::contains;
use crate::trace::skeleton::{Name, Trace, mix};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;
use std::panic::resume_unwind;
use std::rc::Rc;
use std::sync::Arc;

/// The cuts of so many skeletons are looked for at once, and by one thread if they are fewer than this.
const AT_ONCE: usize = 4_096;
const ALONE: usize = 64;

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
    /// For a component, its local skeleton in a cut and a property: the distinct views, by number.
    sets: FxHashMap<(u32, u64, usize), u32>,
    all_sets: Vec<Rc<[Look]>>,
    known_sets: FxHashMap<Rc<[Look]>, u32>,
    looked_at: FxHashSet<Box<[u32]>>,
    /// Whether only violations are looked for.
    is_early: bool,
    /// For a component, its local skeleton and how it ends: what may be wrong was looked at.
    troubles: FxHashSet<(u32, u64, u64)>,
    threads: usize,
}

impl<'g, 'a, M: Machine> Judge<'g, 'a, M> {
    pub fn new(global: &'g mut Global<'a, M>, threads: usize) -> Self {
        Judge {
            global,
            sets: FxHashMap::default(),
            all_sets: Vec::new(),
            known_sets: FxHashMap::default(),
            looked_at: FxHashSet::default(),
            is_early: false,
            troubles: FxHashSet::default(),
            threads,
        }
    }

    /// Looks for violations in what is known so far. What a component is known to look like after some interface events it may look like wherever these fit, so what is found is there.
    pub fn judge_early(&mut self) -> Result<(), Error> {
        self.is_early = true;
        let readings = &self.global.verdict.readings;
        let is_view = |it: &Reading| it.observer.is_none() && it.kind == PropertyKind::Always;
        match readings.iter().any(is_view) {
            true => self.judge(),
            false => Ok(()),
        }
    }

    /// Looks at everything.
    pub fn judge(&mut self) -> Result<(), Error> {
        let readings = self.global.verdict.readings.clone();
        let reads_views =
            readings.iter().any(|it| it.observer.is_none() && it.kind != PropertyKind::NeverStuck);
        let forbids_ends = readings.iter().any(|it| it.kind == PropertyKind::NeverStuck);
        if reads_views {
            self.look_for_cuts();
            if self.global.is_stopped() {
                return Ok(());
            }
        }
        let cuts = std::mem::take(&mut self.global.cuts.all);
        let first = if self.is_early { self.global.cuts.looked_at } else { 0 };
        let judged = self.judge_all(&cuts[first..], forbids_ends);
        (self.global.cuts.looked_at, self.global.cuts.all) = (cuts.len(), cuts);
        judged
    }

    /// Looks at these cuts, and at all ends.
    fn judge_all(&mut self, cuts: &[Cut], forbids_ends: bool) -> Result<(), Error> {
        let mut cuts = cuts.iter().peekable();
        for known in 0..self.global.known.len() {
            while let Some(cut) = cuts.next_if(|cut| cut.known == known) {
                self.look_at(cut)?;
                if self.global.verdict.is_over() || self.global.is_over() {
                    return Ok(());
                }
            }
            if self.is_early {
                continue;
            }
            if self.global.bound.is_none() {
                self.look_for_trouble(known)?;
                if forbids_ends && !self.global.verdict.is_over() {
                    self.look_at_ends(known)?;
                }
            }
            if self.global.verdict.is_over() || self.global.is_over() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Looks for the consistent cuts of new skeletons. All threads do, some skeletons at once.
    fn look_for_cuts(&mut self) {
        let mut found = std::mem::take(&mut self.global.cuts);
        while found.skeletons < self.global.known.len() && !self.global.is_stopped() {
            let last = self.global.known.len().min(found.skeletons + AT_ONCE);
            let new = self.cuts_of_some(found.skeletons..last, &found.met);
            found.all.extend(new.into_iter().filter(|cut| found.met.insert(cut.key())));
            found.skeletons = last;
        }
        self.global.cuts = found;
    }

    /// The consistent cuts of some skeletons that are not known, in order.
    fn cuts_of_some(&self, knowns: Range<usize>, before: &FxHashSet<u64>) -> Vec<Cut> {
        let Judge { global, threads, .. } = self;
        let components = global.parts.len() as usize;
        let (budget, effort) = (global.budget, global.crew.effort);
        let is_over = || budget.reached(0, 0).is_some();
        let all: &[Known] = &global.known;
        let skeletons: Vec<_> = knowns
            .map(|known| {
                let parent = all[known].parent.map(|parent| &*all[parent as usize].names);
                (known, &*all[known].trace, parent)
            })
            .collect();
        let some = |from: usize, step: usize| {
            let mut cuts = Vec::new();
            let mut met = FxHashSet::default();
            for &(known, trace, parent) in skeletons.iter().skip(from).step_by(step) {
                let mut add = |cut: Cut| {
                    let key = cut.key();
                    if !before.contains(&key) && met.insert(key) {
                        cuts.push(cut);
                    }
                };
                cuts_of(known, trace, parent, (components, None), &is_over, &mut add);
            }
            cuts
        };
        let threads = if skeletons.len() < ALONE { 1 } else { *threads };
        let mut cuts: Vec<Cut> = std::thread::scope(|scope| {
            let some = &some;
            let helped = |from| scope.spawn(move || effort.help(|| some(from, threads)));
            let others: Vec<_> = (1..threads).map(helped).collect();
            let mut cuts = some(0, threads);
            for other in others {
                cuts.extend(
                    effort.wait(|| other.join()).unwrap_or_else(|panic| resume_unwind(panic)),
                );
            }
            cuts
        });
        cuts.sort_by_key(|cut| cut.known);
        cuts
    }

    /// Looks at a cut of a skeleton.
    fn look_at(&mut self, cut: &Cut) -> Result<(), Error> {
        for property in 0..self.global.verdict.readings.len() {
            let Reading { kind, observer } = self.global.verdict.readings[property];
            if observer.is_some() || (self.is_early && kind != PropertyKind::Always) {
                continue;
            }
            let Some(sought) = self.global.verdict.sought(property) else { continue };
            let mut key = vec![property as u32];
            for component in 0..cut.locals.len() as u32 {
                key.push(self.set(component, cut, property));
            }
            if self.looked_at.contains(&key[..]) {
                continue;
            }
            let sets: Vec<Rc<[Look]>> =
                key[1..].iter().map(|&set| Rc::clone(&self.all_sets[set as usize])).collect();
            self.looked_at.insert(key.into());
            self.look_at_all_of(&sets, cut, property, sought)?;
        }
        Ok(())
    }

    /// Whether a component has anything that properties see. The network, if it is one, has not.
    fn has_views(&self, component: u32) -> bool {
        let places = self.global.machine.places();
        let mut groups = self.global.parts.groups[component as usize].iter();
        groups.any(|&group| (group as usize) < places)
    }

    /// What concerns a component of a cut: the signature of its own interface events, and the names of what others give, sorted.
    fn concerns(&self, component: u32, cut: &Cut) -> (u64, Vec<Name>) {
        let (mut own, mut given) = (0_u64, Vec::new());
        for event in cut.interface(&self.global.known[cut.known].trace) {
            let Some(name) = event.mark.for_component(component) else { continue };
            match event.mark.component == component {
                true => own = own.wrapping_add(mix(name)),
                false => given.push(name),
            }
        }
        given.sort_unstable();
        (own, given)
    }

    /// How a component may look in a cut.
    fn looks(&self, component: u32, cut: &Cut) -> impl Iterator<Item = &Arc<Seen>> {
        let (own, given) = self.concerns(component, cut);
        let looks = self.global.looks[component as usize].get(&own).into_iter().flatten();
        looks.filter(move |it| it.taken.iter().all(|name| given.binary_search(name).is_ok()))
    }

    /// The distinct views that a property may have of a component in a cut, for its places.
    fn set(&mut self, component: u32, cut: &Cut, property: usize) -> u32 {
        let key = (component, cut.locals[component as usize], property);
        if let Some(&known) = self.sets.get(&key) {
            return known;
        }
        let readings = self.global.verdict.readings.len();
        let view = |seen: &Arc<Seen>| seen.look.chunks(readings).map(|it| it[property]).collect();
        let mut all: Vec<Look> = self.looks(component, cut).map(view).collect();
        if !self.has_views(component) {
            all.push(Look::default());
        }
        // In an order that does not depend on who came first to what.
        let ranks = &self.global.ranks;
        let rank = |view: &u32| ranks.get(view).copied();
        all.sort_by_cached_key(|look| look.iter().map(rank).collect::<Vec<_>>());
        all.dedup();
        let all: Rc<[Look]> = all.into();
        let next = self.all_sets.len() as u32;
        let number = *self.known_sets.entry(Rc::clone(&all)).or_insert(next);
        if number == next {
            self.all_sets.push(all);
        }
        self.sets.insert(key, number);
        number
    }

    /// Looks at all combinations of views in a cut.
    fn look_at_all_of(
        &mut self,
        sets: &[Rc<[Look]>],
        cut: &Cut,
        property: usize,
        sought: bool,
    ) -> Result<(), Error> {
        let mut chosen = vec![0; sets.len()];
        loop {
            let chosen_of = |(set, &chosen): (&'_ Rc<[Look]>, &usize)| set.get(chosen).cloned();
            let views: Vec<Look> = sets.iter().zip(&chosen).filter_map(chosen_of).collect();
            if views.len() < sets.len() {
                // A bound has kept a component from being explored.
                return Ok(());
            }
            let reads = self.reads(&views.iter().collect::<Vec<_>>());
            let Global { machine, verdict, .. } = &mut *self.global;
            let (result, goal) = verdict.test(&mut **machine, property, &reads)?;
            if result == sought || goal.is_some() {
                let run = self.run_to(cut, property, &views)?;
                self.global.verdict.tell_goal(goal, &run);
                if result == sought {
                    self.global.verdict.tell(property, run);
                    return Ok(());
                }
            }
            if !count_up(&mut chosen, |component| sets[component].len()) {
                return Ok(());
            }
        }
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

    /// A run to a cut, in which a property sees components so.
    fn run_to(&mut self, cut: &Cut, property: usize, views: &[Look]) -> Result<Run, Error> {
        let trace = Arc::clone(&self.global.known[cut.known].trace);
        let readings = self.global.verdict.readings.len();
        let mut number = 0;
        let is_in: Vec<bool> = (trace.events.iter())
            .map(|event| {
                let at = number;
                number += usize::from(event.mark.name != 0);
                event.mark.name == 0 || contains(&cut.events, at)
            })
            .collect();
        let stays = trace.without(|place, _| !is_in[place]);
        let mut parts: Vec<Part> = Vec::new();
        for component in 0..self.global.parts.len() {
            if !self.has_views(component) {
                parts.push((Arc::clone(&trace), stays.clone().into()));
                continue;
            }
            let fits = |look: &Look| {
                let seen = look.chunks(readings).map(|views| views[property]);
                seen.eq(views[component as usize].iter().copied())
            };
            let seen = self.looks(component, cut).find(|seen| fits(&seen.look));
            parts.push(seen.map(|seen| seen.part.clone()).ok_or_else(lost)?);
        }
        self.perform(&trace, stays, &parts)
    }

    /// A run put together from what stays of a trace and a part for each component.
    fn perform(
        &mut self,
        trace: &Arc<Trace<Doing>>,
        mut stays: Vec<bool>,
        parts: &[Part],
    ) -> Result<Run, Error> {
        let mut trace = Arc::clone(trace);
        for (component, (other, other_stays)) in parts.iter().enumerate() {
            let doings = trace.with(&stays, component as u32, other, other_stays);
            let doings = doings.ok_or_else(lost)?;
            let given: Vec<Given<'_>> = doings.iter().map(|doing| (doing, None)).collect();
            let ran = self.global.run(&given, false)?;
            let Ran::Whole(next) = ran else { return Err(lost()) };
            stays = vec![true; next.events.len()];
            trace = Arc::new(next);
        }
        let len = self.global.machine.len();
        run_of(&mut *self.global.machine, 0..len)
    }

    /// Looks whether it is wrong by itself how components come to their ends. Whether one does so in a way that may be wrong has to do with its own past and
    /// what others have shown to it, and the same goes for what is wrong with it: with what others of the same skeleton end makes no difference.
    fn look_for_trouble(&mut self, known: usize) -> Result<(), Error> {
        let locals = self.global.known[known].locals.clone();
        let is_wrong = |(component, &local): (usize, &u64)| {
            let local = self.global.locals.get(&(component as u32, local));
            local.is_some_and(|local| local.ends.iter().any(|end| end.fate.trouble != 0))
        };
        if !locals.iter().enumerate().any(is_wrong) {
            return Ok(());
        }
        let Some(all) = self.ends(known) else { return Ok(()) };
        let trace = Arc::clone(&self.global.known[known].trace);
        for (component, ends) in all.iter().enumerate() {
            for (fate, part) in ends.iter().filter(|(fate, _)| fate.trouble != 0) {
                let key = (component as u32, locals[component], fate.trouble);
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

    /// How each component may end with a skeleton; `None` if one of them does not.
    fn ends(&self, known: usize) -> Option<Vec<Vec<(Fate, Part)>>> {
        let locals = self.global.known[known].locals.iter().enumerate();
        let ends = locals.map(|(component, &local)| {
            let local = self.global.locals.get(&(component as u32, local))?;
            let end = |end: &Arc<End>| (end.fate.clone(), end.part.clone());
            let all: Vec<_> = local.ends.iter().map(end).collect();
            (!all.is_empty()).then_some(all)
        });
        ends.collect()
    }

    /// Looks at how the traces of a skeleton may end.
    fn look_at_ends(&mut self, known: usize) -> Result<(), Error> {
        let Some(ends) = self.ends(known) else { return Ok(()) };
        let trace = Arc::clone(&self.global.known[known].trace);
        let readings = self.global.verdict.readings.len();
        let mut chosen = vec![0; ends.len()];
        loop {
            let here: Vec<&(Fate, Part)> =
                ends.iter().zip(&chosen).map(|(ends, &chosen)| &ends[chosen]).collect();
            if here.iter().any(|(fate, _)| fate.is_withheld) {
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
                            let view = |(fate, _): &&(Fate, Part)| -> Look {
                                fate.look.chunks(readings).map(|views| views[property]).collect()
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
