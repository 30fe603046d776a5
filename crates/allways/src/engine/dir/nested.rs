//! Components of components: hierarchical dynamic interface reduction (section 6.1 of the paper), to any depth.
//!
//! With many components there are too many skeletons. So a component may consist of components, its *parts*, and the exploration of it by itself is the same engine once more: the
//! [`Partial`] is the machine, its parts are the components, and the rest of the system is one more, which has one behaviour: it repeats its trace. What comes of it is what comes of any
//! exploration of a component ([`Explored`]), so the level above cannot tell the difference. Below, *inner* is said of the parts, and *outer* of the component among its own kind. The paper says no more than that it
//! can be done; the way is ours.
//!
//! **Parts are explored as components of the whole machine**, not of the `Partial`: what is wanted by the inner trace at hand is wanted by the outer one, since an inner skeleton has all that an outer one has. (What a step
//! shows to another component it also shows to the rest; what parts have taken is in the names of what they show afterwards, to each other too; and the past that inner global names tell is all of it.) So there are no machines within machines, however deep
//! the components.
//!
//! **One task.** A component of components is one [task](super::task) of the outer level, and whoever takes it performs it as a whole, the tasks within it one after the other. Nothing is kept from one such task to the next but
//! the [trees](super::alone) of parts, and what comes of a task does not depend on these: so it depends on the task alone, and so do all counts. A part is explored anew for each outer
//! local skeleton in which it is met. Where it is one node, that is a walk through its tree.
//!
//! **The border of two levels.** A step that the outer level does not want is no event of the inner traces, so a part meets it as an inner branch, in the midst of one of the ways in which the other parts may
//! go. As such it is composed with all inner traces into which it fits. Only then it can be told whether it is wanted: what other parts have shown outside, and it comes after, is in its outer
//! name. If it is not wanted, the run up to it is not carried on: it is an outer branch, and is noted there, with all that the parts have done before ([`Machine::refuses`]). What was left out of an inner trace to
//! make room for it stays left out: a composition that has the same interface events would be refused for the same reason, and the branch is known by these.
//!
//! **Why it is sound.** All runs are runs of the machine, those that are composed too. How a component looks, and how it ends, is shown by a run that is performed.
//!
//! **Why it is complete.** What the engine's own proof asks of the exploration of a component is this: (a) each of its traces is counted, and seen in all its cuts; (b) whatever it could show that is not
//! wanted after some of its traces is noted, or else the same process's step in a larger cut, which, once it is known, leaves less between; (c) so is each way in which it may stop. *The inner engine is complete for all that is wanted*, by the same proof: the
//! rest of the system does not branch, and need not. What it does next is there as soon as what it waits for is there; inner traces go on as long as something wanted can happen; and where a part
//! stops, only that is left out of the rest which comes after something left out. So all that the rest can do after the events of an inner skeleton is in it, but for what no part can tell of, and what happens before nothing
//! that one can tell of. (b) Let `t` be a step that is not wanted, possible after a trace `r` of wanted events. `r` is within
//! some inner skeleton that is known. There the part of `t` meets it, or the same process's step in a larger cut, as an inner branch, for it can be in no inner trace. The branch is composed with that skeleton, and found to be unwanted, or else wanted: then a larger inner
//! skeleton becomes known, as in the engine's proof. (a, c) A trace of the component in which nothing more can happen is, for one inner skeleton, a combination of local traces of all its parts that have shown all of theirs and have stopped; and all such combinations
//! are traces. The outer names of the events are the same in all of them. So if these are all that the outer level wants, the combinations are counted, and otherwise the component may stop there. (If the component has shown all, so has the rest: what
//! it lacks comes after something that it has taken from the component, and that has not been shown.) What may be wrong with an end is the sum of what may be wrong with those of the parts. How the component looks in a cut of one of its traces is a combination
//! of how its parts look after their interface events in a cut of an inner skeleton, and all these combinations can be had (see [`verdict`](super::verdict)). The rest does all that it can in such a cut. A part may look so only if all is in the cut that it has taken, and what of that is the rest's is told with the look of the component.
//!
//! **If something is learnt** of who touches what, names are others from then on: what came of the component is of no use, and neither is what may have gone wrong. That is told upwards, and all is explored again.

use super::alone::Trees;
use super::counts::Counts;
use super::crew::{Crew, Effort, Perform};
use super::cuts::{Cut, cuts_of};
use super::global::{Given, Global, Ran};
use super::interface::{Doing, Led, Parts};
use super::partial::{Explored, Fate, Look, Part, Partial, Seen};
use super::task::{Done, Task};
use super::verdict::{Verdicts, count_up};
use crate::engine::budget::Budget;
use crate::engine::machine::Machine;
use crate::error::Error;
use crate::model::property::PropertyKind;
use crate::outcome::Bound;
use crate::trace::order::contains;
use crate::trace::skeleton::{Name, Trace, mix, pair, signature};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// What comes of the rest of the system: it repeats its trace.
pub(super) fn repeated() -> Done {
    Done {
        found: Explored { traces: 1, ..Explored::default() },
        counts: Counts::default(),
        bound: None,
        violation: None,
        is_stale: false,
    }
}

/// Explores a component that consists of others: a task of the outer `parts`, which is divided into the `inner` ones.
pub(super) fn explore<M: Machine>(
    task: &Task,
    (machine, trees): (&mut M, &mut Trees),
    (parts, inner): (&Parts, &Parts),
    budget: &Budget,
    runs: &Arc<AtomicU64>,
) -> Result<Done, Error> {
    let told = Arc::clone(&task.told);
    let mut partial = Partial::new(machine, parts, task.start, task.component, told);
    let verdict = Verdicts::new(&partial);
    // Whoever performs the task is counted as working all the while.
    let effort = Effort::default();
    let crew = Crew::within(runs, &effort);
    let perform: Perform<Partial<'_, M>> = |crew, task, (partial, trees), parts, budget| {
        crew.perform(task, (partial.base(), trees), parts, budget)
    };
    let with = (&crew, None, perform);
    let mut global = Global::new(&mut partial, inner, budget, with, task.start, verdict);
    let mut within = trees.within(task.component);
    if let Some(within) = &mut within {
        std::mem::swap(&mut global.trees, within);
    }
    let explored = explore_inner(&mut global, parts, task.component);
    if let Some(within) = within {
        std::mem::swap(&mut global.trees, within);
    }
    let (mut counts, bound) = (global.counts, global.bound);
    let violation = global.verdict.violation.take();
    counts.inner_skeletons += global.known.len() as u64;
    let is_stale = global.is_stale || global.machine.is_stale();
    // Once something was learnt, things are called otherwise: what goes wrong then says nothing.
    if !is_stale {
        explored?;
    }
    drop(global);
    let mut found = partial.found;
    found.others = counts.other_runs;
    Ok(Done { found, counts, bound, violation, is_stale })
}

fn explore_inner<M: Machine>(
    global: &mut Global<'_, Partial<'_, M>>,
    outer: &Parts,
    component: u32,
) -> Result<(), Error> {
    global.explore(&mut || {})?;
    let is_whole = global.verdict.violation.is_none()
        && !global.is_stale
        && matches!(global.bound, None | Some(Bound::Depth));
    match is_whole {
        true => Gather::new(global, outer, component).gather(),
        false => Ok(()),
    }
}

/// Makes of what is known of the parts of a component what is known of the component.
struct Gather<'g, 'a, 'p, M> {
    global: &'g mut Global<'a, Partial<'p, M>>,
    outer: &'g Parts,
    component: u32,
    /// For each part, where its places are among those of the component.
    places: Vec<Vec<usize>>,
    readings: usize,
    width: usize,
    forbids_ends: bool,
    /// The cuts that were looked at, as far as parts can tell.
    looked_at: FxHashSet<Box<[u64]>>,
}

/// A way in which a part may be, and how it comes to that, if that matters.
#[derive(Clone)]
struct Way {
    fate: Fate,
    /// The outer names of what it has taken from the rest.
    taken: Vec<Name>,
    part: Option<Part>,
}

impl Way {
    fn of_look(seen: &Seen) -> Self {
        let fate = Fate { look: seen.look.clone(), is_withheld: false, trouble: 0 };
        Way { fate, taken: Vec::new(), part: Some(seen.part.clone()) }
    }

    /// The one way of what cannot be seen.
    fn any() -> Vec<Self> {
        let fate = Fate { look: Look::default(), is_withheld: false, trouble: 0 };
        vec![Way { fate, taken: Vec::new(), part: None }]
    }
}

impl<'g, 'a, 'p, M: Machine> Gather<'g, 'a, 'p, M> {
    fn new(global: &'g mut Global<'a, Partial<'p, M>>, outer: &'g Parts, component: u32) -> Self {
        let readings = global.machine.base().readings();
        let forbids_ends = readings.iter().any(|it| it.kind == PropertyKind::NeverStuck);
        let readings = readings.len();
        let all = global.machine.places_of();
        let place = |group: &u32| all.iter().position(|other| other == group);
        let of_part = |groups: &Vec<u32>| groups.iter().filter_map(place).collect();
        let places = global.parts.groups.iter().map(of_part).collect();
        let width = all.len() * readings;
        let looked_at = FxHashSet::default();
        Gather { global, outer, component, places, readings, width, forbids_ends, looked_at }
    }

    fn gather(&mut self) -> Result<(), Error> {
        for known in 0..self.global.known.len() {
            if self.global.is_over() {
                return Ok(());
            }
            let trace = Arc::clone(&self.global.known[known].trace);
            let events = trace.events.iter();
            let given: Vec<Given<'_>> = events.map(|it| (&it.what, Some(&it.mark))).collect();
            let Ran::Whole(_) = self.global.run(&given, false)? else { return Ok(()) };
            let names = self.global.machine.names();
            let traces = self.global.traces_of(&self.global.known[known]);
            if traces > 0 && self.global.machine.has_shown_all() {
                let found = &mut self.global.machine.found;
                found.traces = found.traces.saturating_add(traces);
                self.end(known, &trace)?;
            } else if traces > 0 {
                self.global.machine.note_stop();
            }
            if self.readings > 0 {
                self.look_at_cuts(known, &trace, &names)?;
            }
        }
        Ok(())
    }

    /// Looks at all cuts of a trace of the component's parts, as far as they differ in what the parts have shown or been shown.
    fn look_at_cuts(
        &mut self,
        known: usize,
        trace: &Trace<Doing>,
        names: &[Option<Name>],
    ) -> Result<(), Error> {
        let (parts, budget) = (self.global.parts, self.global.budget);
        let all = &self.global.known;
        let parent = all[known].parent.map(|parent| &*all[parent as usize].names);
        let of_parts = |place: &usize| {
            let mark = &trace.events[*place].mark;
            mark.name != 0 && Some(mark.component) != parts.rest
        };
        let events: Vec<usize> = (0..trace.events.len()).filter(of_parts).collect();
        let is_over = || budget.reached(0, 0).is_some();
        let mut cuts: Vec<Cut> = Vec::new();
        let mut add = |cut: Cut| cuts.push(cut);
        cuts_of(known, trace, parent, (parts.len() as usize, parts.rest), &is_over, &mut add);
        for cut in cuts {
            if self.global.is_over() {
                break;
            }
            let is_out = |place: usize| {
                let number = events.binary_search(&place);
                number.is_ok_and(|number| !contains(&cut.events, number))
            };
            let stays = trace.without(|place, _| is_out(place));
            self.look(trace, names, &stays)?;
        }
        Ok(())
    }

    /// Notes all the ways in which the component may look in a cut.
    fn look(
        &mut self,
        trace: &Trace<Doing>,
        names: &[Option<Name>],
        stays: &[bool],
    ) -> Result<(), Error> {
        let parts = self.global.parts;
        // What each part has shown, and what was given to it, and by which event.
        let mut own = vec![0_u64; parts.len() as usize];
        let mut given: Vec<FxHashMap<Name, usize>> = vec![FxHashMap::default(); own.len()];
        let mut outer = 0_u64;
        for (place, event) in trace.events.iter().enumerate().filter(|(place, _)| stays[*place]) {
            for &(component, name) in &event.mark.names {
                match event.mark.component == component {
                    true => {
                        own[component as usize] = own[component as usize].wrapping_add(mix(name))
                    }
                    false => drop(given[component as usize].insert(name, place)),
                }
            }
            if Some(event.mark.component) != parts.rest {
                outer = outer.wrapping_add(names[place].map_or(0, mix));
            }
        }
        let local = |(own, given): (&u64, &FxHashMap<Name, usize>)| {
            pair(*own, signature(given.keys().copied()))
        };
        let key = own.iter().zip(&given).map(local).chain([outer]).collect();
        if !self.looked_at.insert(key) {
            return Ok(());
        }
        let mut sets: Vec<Vec<Way>> = Vec::new();
        for (component, own) in own.iter().enumerate() {
            let looks = self.global.looks[component].get(own).into_iter().flatten();
            let is_given = |seen: &&Arc<Seen>| {
                seen.taken.iter().all(|name| given[component].contains_key(name))
            };
            // Of what it has taken, other components can be told what the rest has given.
            let from_rest = |name: &Name| {
                let place = given[component][name];
                let is_rest = Some(trace.events[place].mark.component) == parts.rest;
                if is_rest { names[place] } else { None }
            };
            let way = |seen: &Arc<Seen>| Way {
                taken: seen.taken.iter().filter_map(from_rest).collect(),
                ..Way::of_look(seen)
            };
            let ways = looks.filter(is_given).map(way).collect();
            sets.push(if self.places[component].is_empty() { Way::any() } else { ways });
        }
        self.combine(&sets, |it, fate, taken, pieces| {
            if it.global.machine.is_new_look(outer, &taken, &fate.look) {
                let part = it.part(trace, stays, pieces, false)?;
                it.global.machine.note_look(outer, taken, fate.look, part);
            }
            Ok(())
        })
    }

    /// Notes all the ways in which the component may be at the end of a trace, which its parts have shown all of.
    fn end(&mut self, known: usize, trace: &Trace<Doing>) -> Result<(), Error> {
        let stays = vec![true; trace.events.len()];
        let mut sets: Vec<Vec<Way>> = Vec::new();
        for (component, &local) in self.global.known[known].locals.iter().enumerate() {
            if self.global.parts.rest == Some(component as u32) {
                sets.push(Way::any());
                continue;
            }
            let mut ways: Vec<Way> = Vec::new();
            let local = self.global.locals.get(&(component as u32, local));
            for end in local.into_iter().flat_map(|local| &local.ends) {
                let is_same = |way: &Way| way.fate.trouble == end.fate.trouble;
                // If nobody asks how it looks, what may be wrong is all that matters.
                if self.forbids_ends || !ways.iter().any(is_same) {
                    let (fate, part) = (end.fate.clone(), Some(end.part.clone()));
                    ways.push(Way { fate, taken: Vec::new(), part });
                }
            }
            sets.push(ways);
        }
        self.combine(&sets, |it, fate, _, pieces| {
            if it.global.machine.is_new_end(&fate) {
                let part = it.part(trace, &stays, pieces, true)?;
                it.global.machine.note_end(fate, part);
            }
            Ok(())
        })
    }

    /// All combinations of the ways of parts.
    fn combine(
        &mut self,
        sets: &[Vec<Way>],
        mut tell: impl FnMut(&mut Self, Fate, Box<[Name]>, &[Option<&Part>]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        // A bound may have kept a part from being explored.
        if sets.iter().any(Vec::is_empty) {
            return Ok(());
        }
        let mut chosen = vec![0; sets.len()];
        loop {
            let mut look = vec![0; self.width];
            let mut all = Fate { look: Look::default(), is_withheld: false, trouble: 0 };
            let (mut pieces, mut all_taken) = (Vec::new(), Vec::new());
            for ((places, set), &chosen) in self.places.iter().zip(sets).zip(&chosen) {
                let Way { fate, taken, part } = &set[chosen];
                all_taken.extend_from_slice(taken);
                pieces.push(part.as_ref());
                all.is_withheld |= fate.is_withheld;
                all.trouble = all.trouble.wrapping_add(fate.trouble);
                for (&place, views) in places.iter().zip(fate.look.chunks(self.readings.max(1))) {
                    look[place * self.readings..][..self.readings].copy_from_slice(views);
                }
            }
            all.look = look.into();
            all_taken.sort_unstable();
            all_taken.dedup();
            tell(self, all, all_taken.into(), &pieces)?;
            if !count_up(&mut chosen, |component| sets[component].len()) || self.global.is_over() {
                return Ok(());
            }
        }
    }

    /// What stays of a trace with these parts in place of others, as a trace of the outer components; all of it, or what of it is the component's own.
    fn part(
        &mut self,
        trace: &Trace<Doing>,
        stays: &[bool],
        pieces: &[Option<&Part>],
        is_all: bool,
    ) -> Result<Part, Error> {
        let lost = || Error::Internal("parts of a component do not fit together".to_owned());
        let pieces = pieces.iter().map(|it| it.map(|(trace, stays)| (&**trace, &**stays)));
        let pieces: Vec<_> = pieces.collect();
        let doings = trace.assemble(stays, &pieces).ok_or_else(lost)?;
        let (start, component) = (self.global.start, self.component);
        let mut led = Led::new(self.global.machine.base(), self.outer);
        led.restart(start)?;
        for doing in &doings {
            let transition = doing.transition(&mut *led.machine)?;
            if led.perform(transition)?.failed {
                return Err(lost());
            }
        }
        let trace = led.trace();
        let its = trace.events.iter().map(|event| is_all || event.mark.component == component);
        let its = its.collect();
        Ok((Arc::new(trace), its))
    }
}
