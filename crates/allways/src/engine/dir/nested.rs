//! Components of components: hierarchical dynamic interface reduction (section 6.1 of the paper), to any depth.
//!
//! With many components there are too many skeletons. So a component may consist of components, its *parts*, and the exploration of it by itself is the same engine once more: the
//! [`Partial`] is the machine, its parts are the components, and the rest of the system is one more, which has one behaviour: it repeats its trace. What comes of it is what comes of any
//! exploration of a component ([`Explored`]), so the level above cannot tell the difference. Below, *inner* is said of the parts, and *outer* of the component among its own kind. The paper says no more than that it
//! can be done; the way is ours.
//!
//! Parts are explored as components of the whole machine, not of the `Partial`: what is wanted by the inner trace at hand is wanted by the outer one, since an inner skeleton has all that an outer one has. (What a step
//! shows to another component, or takes from one, it also shows to the rest, or takes from it; and the past that inner names tell is all of it.) So there are no machines within machines, however deep
//! the components. And what comes of a part depends on its inner local skeleton alone, so that it is kept ([`Shared`]) and serves for all the outer skeletons in which it is met: components of components cost no more
//! local traces than their innermost parts would cost side by side, and far fewer compositions.
//!
//! **The border of two levels.** A step that the outer level does not want is no event of the inner traces, so a part meets it as an inner branch, in the midst of one of the ways in which the other parts may
//! go. As such it is composed with all inner traces into which it fits. Only then it can be told whether it is wanted: what other parts have shown outside, and it comes after, is in its outer
//! name. If it is not wanted, the run up to it is not carried on: it is an outer branch, and is noted there, with all that the parts have done before ([`Machine::refuses`]).
//!
//! **Why it is sound.** All runs are runs of the machine, those that are composed too.
//!
//! **Why it is complete.** What the engine's own proof asks of the exploration of a component is this: (a) each of its traces is counted, and seen in all its cuts; (b) whatever it could show that is not
//! wanted after some of its traces is noted, or else the same process's step in a larger cut, which, once it is known, leaves less between; (c) so is each way in which it may stop. *The inner engine is complete for all that is wanted*, by the same proof: the
//! rest of the system does not branch, and need not. What it does next is there as soon as what it waits for is there; inner traces go on as long as something wanted can happen; and where a part
//! stops, only that is left out of the rest which comes after something left out. So all that the rest can do after the events of an inner skeleton is in it. (b) Let `t` be a step that is not wanted, possible after a trace `r` of wanted events. `r` is within
//! some inner skeleton that is known. There the part of `t` meets it, or the same process's step in a larger cut, as an inner branch, for it can be in no inner trace. The branch is composed with that skeleton, and found to be unwanted, or else wanted: then a larger inner
//! skeleton becomes known, as in the engine's proof. (a, c) A trace of the component in which nothing more can happen is, for one inner skeleton, a combination of local traces of all its parts that have shown all of theirs and have stopped; and all such combinations
//! are traces. The outer names of the events are the same in all of them. So if these are all that the outer level wants, the combinations are counted, and otherwise the component may stop there. How the component looks in a cut of one of its traces is a combination
//! of how its parts look after their interface events in a cut of an inner skeleton, and all these combinations can be had (see [`verdict`](super::verdict)).

use super::global::{Counts, Global, Ran};
use super::interface::{Doing, Led, Parts};
use super::partial::{Explored, Look, Part, Partial};
use super::verdict::{Verdicts, count_up};
use crate::engine::Found;
use crate::engine::budget::Budget;
use crate::engine::dpor::explore;
use crate::engine::dpor::explore::Explorer;
use crate::engine::machine::Machine;
use crate::engine::options::Reduction;
use crate::error::Error;
use crate::model::property::PropertyKind;
use crate::outcome::Bound;
use crate::trace::assemble::Piece;
use crate::trace::skeleton::{Trace, mix, signature};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::AtomicU64;

/// What all explorers of a machine have in common.
#[derive(Default)]
pub(super) struct Shared {
    /// Runs of components so far, and of what was composed.
    pub runs: AtomicU64,
    pub compositions: Cell<u64>,
    /// What came of components within components: by the number of the division, the start, the component, and its local skeleton.
    memory: RefCell<FxHashMap<(u32, usize, u32, u64), Rc<Explored>>>,
}

/// A component is to be explored by itself.
pub(super) struct Task<'t> {
    pub parts: &'t Parts,
    pub start: usize,
    pub component: u32,
    pub told: Rc<Trace<Doing>>,
    pub budget: &'t Budget,
    pub shared: &'t Rc<Shared>,
}

/// What came of it.
#[derive(Default)]
pub(super) struct Alone {
    pub found: Rc<Explored>,
    pub counts: Counts,
    pub bound: Option<Bound>,
    pub violation: Option<Found>,
}

/// How a machine has a component of it explored by itself.
pub(super) type ExploreAlone<M> = fn(&mut M, &Task<'_>) -> Result<Alone, Error>;

/// Explores a component of a machine by itself.
pub(super) fn explore_component<M: Machine>(
    machine: &mut M,
    task: &Task<'_>,
) -> Result<Alone, Error> {
    let Task { parts, start, component, .. } = *task;
    if parts.rest == Some(component) {
        let found = Explored { traces: 1, ..Explored::default() };
        return Ok(Alone { found: Rc::new(found), ..Alone::default() });
    }
    // Nothing outside of a component decides what comes of it but what it is shown.
    let local = signature(task.told.local_skeleton(component));
    let key = (parts.number, start, component, local);
    if let Some(found) = task.shared.memory.borrow().get(&key) {
        return Ok(Alone { found: Rc::clone(found), ..Alone::default() });
    }
    let alone = match &parts.inner[component as usize] {
        None => explore_leaf(machine, task)?,
        Some(inner) => explore_nested(machine, task, inner)?,
    };
    let is_whole = alone.violation.is_none() && matches!(alone.bound, None | Some(Bound::Depth));
    if parts.number > 0 && is_whole {
        task.shared.memory.borrow_mut().insert(key, Rc::clone(&alone.found));
    }
    Ok(alone)
}

/// Explores a component that consists of no others.
fn explore_leaf<M: Machine>(machine: &mut M, task: &Task<'_>) -> Result<Alone, Error> {
    let told = Rc::clone(&task.told);
    let partial = Partial::new(machine, task.parts, task.start, task.component, told);
    let mut explorer = Explorer::new(partial, task.budget, true);
    explorer.all_runs = Some(&task.shared.runs);
    explore(&mut explorer, Reduction::Optimal)?;
    let (findings, partial) = explorer.finish();
    let found = partial.found;
    let counts = Counts {
        local_traces: found.performed,
        other_runs: found.others,
        local_skeletons: 1,
        transitions: findings.statistics.transitions.unwrap_or(0),
        deepest: findings.statistics.depth.unwrap_or(0) as usize,
        ..Counts::default()
    };
    let found = Rc::new(found);
    Ok(Alone { found, counts, bound: findings.bound, violation: findings.violation })
}

/// Explores a component that consists of others.
fn explore_nested<M: Machine>(
    machine: &mut M,
    task: &Task<'_>,
    inner: &Parts,
) -> Result<Alone, Error> {
    let told = Rc::clone(&task.told);
    let mut partial = Partial::new(machine, task.parts, task.start, task.component, told);
    let verdict = Verdicts::new(&partial);
    let alone: ExploreAlone<Partial<'_, M>> =
        |partial, task| explore_component(partial.base(), task);
    let shared = Rc::clone(task.shared);
    let mut global =
        Global::new(&mut partial, inner, task.budget, task.start, verdict, alone, shared);
    global.explore()?;
    if global.verdict.violation.is_none() && matches!(global.bound, None | Some(Bound::Depth)) {
        Gather::new(&mut global, task.parts, task.component).gather()?;
    }
    let (mut counts, bound) = (global.counts, global.bound);
    let violation = global.verdict.violation.take();
    counts.inner_skeletons += global.known.len() as u64;
    drop(global);
    let found = Rc::new(partial.found);
    Ok(Alone { found, counts, bound, violation })
}

/// Makes of what is known of the parts of a component what is known of the component.
struct Gather<'g, 'a, 'p, M> {
    global: &'g mut Global<'a, Partial<'p, M>>,
    /// For each part, where its places are among those of the component.
    places: Vec<Vec<usize>>,
    readings: usize,
    width: usize,
    forbids_ends: bool,
    /// The cuts that were looked at, as far as parts can tell.
    looked_at: FxHashSet<Box<[u64]>>,
}

impl<'g, 'a, 'p, M: Machine> Gather<'g, 'a, 'p, M> {
    fn new(global: &'g mut Global<'a, Partial<'p, M>>, outer: &Parts, component: u32) -> Self {
        let base = global.machine.base();
        let places = base.places() as u32;
        let readings = base.readings();
        let forbids_ends = readings.iter().any(|it| it.kind == PropertyKind::NeverStuck);
        let readings = readings.len();
        let has_views = |group: &u32| *group < places;
        let all: Vec<u32> =
            outer.groups[component as usize].iter().copied().filter(has_views).collect();
        let place = |group: u32| all.iter().position(|&other| other == group);
        let of_part = |groups: &Vec<u32>| groups.iter().filter_map(|&it| place(it)).collect();
        let places = global.parts.groups.iter().map(of_part).collect();
        let (width, looked_at) = (all.len() * readings, FxHashSet::default());
        Gather { global, places, readings, width, forbids_ends, looked_at }
    }

    fn gather(&mut self) -> Result<(), Error> {
        self.perform_all()?;
        for known in 0..self.global.known.len() {
            let trace = Rc::clone(&self.global.known[known].trace);
            let doings: Vec<Doing> = trace.events.iter().map(|event| event.what).collect();
            let Ran::Whole(_) = self.global.run(&doings, false)? else { return Ok(()) };
            let names = self.global.machine.own_names();
            let traces = self.global.traces_of(known);
            if traces > 0 {
                if self.global.machine.has_shown_all() {
                    let found = &mut self.global.machine.found;
                    found.traces = found.traces.saturating_add(traces);
                    if self.forbids_ends {
                        self.end(known, &trace)?;
                    }
                } else {
                    self.global.machine.note_stop();
                }
            }
            if self.readings > 0 {
                self.look_at_cuts(&trace, &names)?;
            }
            if self.global.is_over() {
                break;
            }
        }
        Ok(())
    }

    /// What parts of parts do has to be performed to be put together with others.
    fn perform_all(&mut self) -> Result<(), Error> {
        for component in 0..self.global.parts.inner.len() {
            if self.global.parts.inner[component].is_none() {
                continue;
            }
            let mut looks = std::mem::take(&mut self.global.looks[component]);
            for part in looks.values_mut().flat_map(|looks| looks.values_mut()) {
                keep(self.global.machine.base(), self.global.parts, self.global.start, part)?;
            }
            self.global.looks[component] = looks;
            if !self.forbids_ends {
                continue;
            }
            let mut locals = std::mem::take(&mut self.global.locals);
            let its = locals.iter_mut().filter(|((other, _), _)| *other as usize == component);
            for part in its.flat_map(|(_, local)| local.ends.values_mut()) {
                keep(self.global.machine.base(), self.global.parts, self.global.start, part)?;
            }
            self.global.locals = locals;
        }
        Ok(())
    }

    /// Looks at all cuts of a trace of the component's parts, as far as they differ in what the parts have shown.
    fn look_at_cuts(&mut self, trace: &Trace<Doing>, names: &[Option<u64>]) -> Result<(), Error> {
        // The interface events of the parts, and of each those that happen before it.
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
            if event.mark.name != 0 && Some(event.mark.component) != self.global.parts.rest {
                events.push(place);
            }
        }
        let mut met: FxHashSet<Vec<u64>> = FxHashSet::default();
        let mut todo = vec![vec![0_u64; words]];
        while let Some(cut) = todo.pop() {
            let is_in = |number: usize| cut[number / 64] >> (number % 64) & 1 == 1;
            let mut own = vec![0_u64; self.global.parts.len() as usize];
            let mut outer = 0_u64;
            for (number, &place) in events.iter().enumerate() {
                let mark = &trace.events[place].mark;
                if is_in(number) {
                    let name = mark.for_component(mark.component).unwrap_or(0);
                    let own = &mut own[mark.component as usize];
                    *own = own.wrapping_add(mix(name));
                    outer = outer.wrapping_add(names[place].map_or(0, mix));
                } else if pasts[place].iter().zip(&cut).all(|(past, cut)| past & !cut == 0) {
                    let mut more = cut.clone();
                    more[number / 64] |= 1 << (number % 64);
                    if met.insert(more.clone()) {
                        todo.push(more);
                    }
                }
            }
            if met.len().is_multiple_of(1 << 10) && self.global.is_over() {
                return Ok(());
            }
            let key = own.iter().copied().chain([outer]).collect();
            if self.looked_at.insert(key) {
                let is_out =
                    |place| events.binary_search(&place).is_ok_and(|number| !is_in(number));
                let stays = trace.without(|place, _| is_out(place));
                self.look(trace, &stays, &own, outer)?;
            }
        }
        Ok(())
    }

    /// Notes all the ways in which the component may look in a cut.
    fn look(
        &mut self,
        trace: &Trace<Doing>,
        stays: &[bool],
        own: &[u64],
        outer: u64,
    ) -> Result<(), Error> {
        let mut sets: Vec<Vec<Way>> = Vec::new();
        for (component, own) in own.iter().enumerate() {
            let looks = self.global.looks[component].get(own).into_iter().flatten();
            let ways = looks.map(|(look, part)| Way::of(look, false, part)).collect();
            sets.push(if self.places[component].is_empty() { Way::any() } else { ways });
        }
        self.combine(&sets, |it, (look, _), pieces| {
            let looks = it.global.machine.found.looks.entry(outer).or_default();
            if !looks.contains_key(&look) {
                let run = assemble(trace, stays, pieces)?;
                looks.insert(look, run);
            }
            Ok(())
        })
    }

    /// Notes all the ways in which the component may look at the end of a trace, which its parts have shown all of.
    fn end(&mut self, known: usize, trace: &Trace<Doing>) -> Result<(), Error> {
        let stays = vec![true; trace.events.len()];
        let mut sets: Vec<Vec<Way>> = Vec::new();
        for (component, &local) in self.global.known[known].locals.iter().enumerate() {
            let local = self.global.locals.get(&(component as u32, local));
            let ends = local.into_iter().flat_map(|local| local.ends.iter());
            let ways =
                ends.map(|((look, withheld), part)| Way::of(look, *withheld, part)).collect();
            let is_rest = self.global.parts.rest == Some(component as u32);
            sets.push(if is_rest { Way::any() } else { ways });
        }
        self.combine(&sets, |it, end, pieces| {
            let ends = &mut it.global.machine.found.ends;
            if !ends.contains_key(&end) {
                let run = assemble(trace, &stays, pieces)?;
                ends.insert(end, run);
            }
            Ok(())
        })
    }

    /// All combinations of the ways of parts.
    fn combine(
        &mut self,
        sets: &[Vec<Way>],
        mut tell: impl FnMut(&mut Self, (Look, bool), &[Option<&Part>]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        // A bound may have kept a part from being explored.
        if sets.iter().any(Vec::is_empty) {
            return Ok(());
        }
        let mut chosen = vec![0; sets.len()];
        loop {
            let mut look = vec![0; self.width];
            let mut pieces = Vec::new();
            let mut withheld = false;
            for ((places, set), &chosen) in self.places.iter().zip(sets).zip(&chosen) {
                let way = &set[chosen];
                pieces.push(way.part.as_ref());
                withheld |= way.withheld;
                for (&place, views) in places.iter().zip(way.look.chunks(self.readings.max(1))) {
                    look[place * self.readings..][..self.readings].copy_from_slice(views);
                }
            }
            tell(self, (look.into(), withheld), &pieces)?;
            if !count_up(&mut chosen, |component| sets[component].len()) {
                return Ok(());
            }
        }
    }
}

/// A way in which a part may look, whether something is withheld from it, and how it comes to that, if that matters.
struct Way {
    look: Look,
    withheld: bool,
    part: Option<Part>,
}

impl Way {
    fn of(look: &Look, withheld: bool, part: &Part) -> Self {
        Way { look: look.clone(), withheld, part: Some(part.clone()) }
    }

    /// The one way of what cannot be seen.
    fn any() -> Vec<Self> {
        vec![Way { look: Look::default(), withheld: false, part: None }]
    }
}

/// Performs what a component does, if nobody has. Of the whole machine: it may have been put together for another trace of the rest.
pub(super) fn keep<M: Machine>(
    machine: &mut M,
    parts: &Parts,
    start: usize,
    part: &mut Part,
) -> Result<(), Error> {
    if let Part::Run(doings) = part {
        let mut led = Led::new(machine, parts);
        led.restart(start)?;
        for doing in doings.iter() {
            led.perform(doing.transition)?;
        }
        let stays = vec![true; led.doings.len()];
        *part = Part::Kept(Rc::new(led.trace()), stays.into());
    }
    Ok(())
}

/// A run of what stays of a trace, with these parts in place of others.
fn assemble(trace: &Trace<Doing>, stays: &[bool], pieces: &[Option<&Part>]) -> Result<Part, Error> {
    let lost = || Error::Internal("parts of a component do not fit together".to_owned());
    let mut all: Vec<Option<Piece<'_, Doing>>> = Vec::new();
    for piece in pieces {
        all.push(match piece {
            None => None,
            Some(Part::Kept(trace, stays)) => Some((trace, stays)),
            Some(Part::Run(_)) => return Err(lost()),
        });
    }
    Ok(Part::Run(trace.assemble(stays, &all).ok_or_else(lost)?.into()))
}
