//! Reduction `cached`: `source`, and what was explored from a state is not explored again.
//!
//! When everything was explored from a point of the run, its state is remembered with what slept there and with its
//! [`Future`]: which objects were touched later, at which places views changed, and from which objects to which
//! one thing led to another. When a run meets the state again, and all that slept then sleeps now, it *joins* the
//! one that was there before: it ends. What is not known then is what the steps of the future could do *earlier*, before
//! events of this run that did not lead there the last time: these races would have been found at the ends
//! of the runs that are saved. So whatever they might ask for is added, as in "Efficient stateful dynamic partial order reduction" (Yang, Chen,
//! Gopalakrishnan, Kirby 2008), but only what can lead to such a race.
//!
//! **Why it is complete.** Let the run be `E`, its state known, `w` some way on from here, and let a race of an event `e` of `E` ask
//! for a sequence `v` from the point before `e`: its last step `r` comes in `w`, or is blocked at its end, and conflicts with `e`
//! (see [`races`](super::races): those that `v` leaves out write what `r` touches). Let `v'` be the part of `v` that `r`
//! depends on, and `b` the first of it: then `b` is possible before `e`, and all traces that begin with `v` can begin
//! with `b`. In `v'` a chain leads from `b` to `r` in which each step shares an object with the next or creates it, and each is in `E` behind `e`
//! or in `w`. The future of the state has all such links of `w`, and those of `E` are put to them. So [`Cache::find_missing`] adds, before each event
//! `e`, everything that is possible there and touches an object from which links lead to one that `e` shares with something in `w`,
//! unless it was explored, sleeps, or waits to be explored. Then `b` is seen to, and with it what the race asks for.
//!
//! A step may touch more elsewhere than where it was performed: one that tells observers nothing may tell them something in another
//! state of its node. Then it is possible there, or not, because of what others told them, in `w` too. So links
//! are made of all that a step may ever touch, and such an event of `E` counts as one that is still to come: `r` may be
//! in `E` as well. Where there are observers, less is saved for that.
//!
//! **Cuts.** Properties must be tested in the cuts of all runs. A cut of `E.w` in which only events of `E` are lacking that change no view
//! looks like one of the run that was there before, continued by `w`; one without a change of views in `w` looks like a cut
//! of `E`. For the others let `e` be the first visible event of `E` that is lacking, which may be taken for the first that is lacking at all.
//! The same is added, with the places where `w` changes views for what `e` shares with `w`; so
//! a run is explored that has this cut as one of its own. Where terminal states are of interest, those that lack
//! faults are such cuts, and everything is a change of views.
//!
//! **What sleeps** is explored from points further up, and what slept at the first visit must sleep now, or it would be lost.
//! States along the present run are not known yet, so a run that goes round in a circle is cut off by the depth
//! bound as ever; what was explored from a point is not remembered if it was cut off.
//!
//! **Deliveries that commute** lead to one state in both orders. What comes after the second order is known then, and
//! nothing needs to be assumed about other states, in which they may not commute.

use super::explore::{Explorer, Move, Step};
use crate::engine::machine::{Elsewhere, Machine, Process, Transition};
use crate::error::Error;
use rustc_hash::FxHashMap;

/// A set of objects; those from the last bit on are taken for one.
type Objects = u64;

const LAST_BIT: u32 = Objects::BITS - 1;

/// So many entries are kept for states that were explored with different things asleep.
const MAX_ENTRIES: usize = 4;

fn bit(object: u32) -> Objects {
    1 << object.min(LAST_BIT)
}

fn bits(mut objects: Objects) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = objects.trailing_zeros();
        objects &= objects.wrapping_sub(1);
        (first < Objects::BITS).then_some(first as usize)
    })
}

/// What may happen after a state, as far as it matters to what happened before.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Future {
    /// What is touched.
    touched: Objects,
    /// The places at which views change.
    visible: Objects,
    /// For each object, those from which one step leads to it.
    links: Vec<Objects>,
}

impl Future {
    fn clear(&mut self) {
        (self.touched, self.visible) = (0, 0);
        self.links.clear();
    }

    /// Something happens that touches these, and was created by one that writes that.
    fn add_links(&mut self, touched: Objects, creator: Objects) {
        for object in bits(touched) {
            if self.links.len() <= object {
                self.links.resize(object + 1, 0);
            }
            self.links[object] |= touched | creator;
        }
    }

    fn add(&mut self, touched: Objects, creator: Objects) {
        self.touched |= touched;
        self.add_links(touched, creator);
    }

    fn merge(&mut self, other: &Future) {
        self.touched |= other.touched;
        self.visible |= other.visible;
        if self.links.len() < other.links.len() {
            self.links.resize(other.links.len(), 0);
        }
        for (links, more) in self.links.iter_mut().zip(&other.links) {
            *links |= more;
        }
    }

    /// All objects from which links lead to these.
    fn leads_to(&self, objects: Objects) -> Objects {
        let (mut all, mut new) = (objects, objects);
        while new != 0 {
            let from = bits(new).filter_map(|object| self.links.get(object));
            let from = from.fold(0, |from, links| from | links);
            new = from & !all;
            all |= new;
        }
        all
    }
}

/// What is known of a state.
struct Known {
    /// What slept when everything was explored from there, in order.
    sleep: Box<[(u32, u32)]>,
    future: u32,
}

/// A point of the run.
#[derive(Default)]
struct Point {
    key: Vec<u32>,
    sleep: Vec<(u32, u32)>,
    possible: Vec<Transition>,
    future: Future,
    /// Whether something was not explored because of the depth bound.
    is_cut: bool,
    /// Whether the run has joined another here.
    is_joined: bool,
}

/// All states from which everything was explored, and what is to be remembered of those along the run.
#[derive(Default)]
pub(super) struct Cache {
    known: FxHashMap<Box<[u32]>, Vec<Known>>,
    futures: Vec<Future>,
    numbers: FxHashMap<Future, u32>,
    points: Vec<Point>,
    spare: Vec<Point>,
    blocked: Vec<Process>,
    /// What is to be added at which point of the run.
    missing: Vec<(usize, Move)>,
    without: Vec<u32>,
    alternatives: Vec<u32>,
    bytes: u64,
}

fn pair(transition: Transition) -> (u32, u32) {
    (transition.process, transition.alternative)
}

/// What an event has touched.
fn touched<M: Machine>(machine: &M, what: Move) -> Objects {
    let footprints = machine.footprints();
    let all = footprints.writes(what.footprint).iter().chain(footprints.reads(what.footprint));
    all.fold(0, |touched, &object| touched | bit(object))
}

/// What a process may touch, and what writes who creates it.
fn reach<M: Machine>(machine: &M, process: Process) -> (Objects, Objects) {
    let reach = machine.reach(process);
    let footprints = machine.footprints();
    let touched = reach.touches.map_or(Objects::MAX, |footprint| {
        let all = footprints.writes(footprint).iter().chain(footprints.reads(footprint));
        all.fold(0, |touched, &object| touched | bit(object))
    });
    (touched, reach.creator.map_or(0, bit))
}

impl Cache {
    /// Stands at a new point of the run, where this sleeps.
    pub fn enter<M: Machine>(&mut self, explorer: &mut Explorer<'_, M>, sleep: &[Move]) {
        let mut point = self.spare.pop().unwrap_or_default();
        explorer.machine.key(&mut point.key);
        point.sleep.clear();
        point.sleep.extend(sleep.iter().map(|what| pair(what.transition)));
        point.sleep.sort_unstable();
        point.possible.clear();
        point.future.clear();
        (point.is_cut, point.is_joined) = (false, false);
        self.points.push(point);
    }

    /// This is possible at the last point of the run.
    pub fn note_possible(&mut self, possible: &[Transition]) {
        if let Some(point) = self.points.last_mut() {
            point.possible.extend_from_slice(possible);
        }
    }

    /// The run ends here. What is blocked may have been possible before.
    pub fn end_run<M: Machine>(
        &mut self,
        explorer: &mut Explorer<'_, M>,
        is_cut: bool,
    ) -> Result<(), Error> {
        explorer.machine.blocked(&mut self.blocked)?;
        if let Some(point) = self.points.last_mut() {
            point.is_cut |= is_cut;
            for &process in &self.blocked {
                let (touched, creator) = reach(&explorer.machine, process);
                point.future.add(touched, creator);
            }
        }
        Ok(())
    }

    /// Whether everything was explored from a state like that at the last point.
    pub fn is_known(&self) -> bool {
        self.find().is_some()
    }

    fn find(&self) -> Option<u32> {
        let point = self.points.last()?;
        let known = self.known.get(&point.key[..])?;
        let sleeps = |one: &(u32, u32)| point.sleep.binary_search(one).is_ok();
        let entry = known.iter().find(|known| known.sleep.iter().all(sleeps))?;
        Some(entry.future)
    }

    /// Ends the run here, since everything from here is known. What that may ask for along the run is
    /// [missing](Cache::missing); `sees` says whether something that is possible at a point is seen to. The
    /// future of the last point must be known.
    pub fn join<M: Machine>(
        &mut self,
        explorer: &mut Explorer<'_, M>,
        sees: impl Fn(usize, Transition) -> bool,
    ) -> Result<(), Error> {
        self.missing.clear();
        let Some(number) = self.find() else { return Ok(()) };
        explorer.machine.blocked(&mut self.blocked)?;
        let known = &self.futures[number as usize];
        let mut future = known.clone();
        for &process in &self.blocked {
            let (touched, creator) = reach(&explorer.machine, process);
            future.add(touched, creator);
        }
        self.find_missing(explorer, future, sees)?;
        if let Some(point) = self.points.last_mut() {
            point.future.clone_from(&self.futures[number as usize]);
            point.is_joined = true;
        }
        Ok(())
    }

    /// Finds what is not seen to and may come of what is known.
    fn find_missing<M: Machine>(
        &mut self,
        explorer: &mut Explorer<'_, M>,
        mut future: Future,
        sees: impl Fn(usize, Transition) -> bool,
    ) -> Result<(), Error> {
        let watches_stuck = explorer.judge.watches_stuck();
        for at in (0..explorer.steps.len()).rev() {
            let step = explorer.steps[at];
            let touched = touched(&explorer.machine, step.what);
            let mut shared = touched & future.touched;
            if step.is_visible {
                shared |= future.visible;
            }
            if step.is_fault && watches_stuck {
                shared |= future.touched;
            }
            if shared != 0 {
                let wanted = future.leads_to(shared);
                for index in 0..self.points[at].possible.len() {
                    let transition = self.points[at].possible[index];
                    let (touched, _) = reach(&explorer.machine, transition.process);
                    if touched & wanted != 0 && !sees(at, transition) {
                        self.miss(explorer, at, transition)?;
                    }
                }
            }
            let (reached, creator) = reach(&explorer.machine, step.what.transition.process);
            match reached & !touched {
                0 => future.add_links(touched, creator),
                // Elsewhere it might be otherwise, because of something that is still to come.
                _ => future.add(touched | reached, creator),
            }
        }
        Ok(())
    }

    /// Something is to be added that is possible at a point of the run.
    fn miss<M: Machine>(
        &mut self,
        explorer: &mut Explorer<'_, M>,
        at: usize,
        transition: Transition,
    ) -> Result<(), Error> {
        self.without.clear();
        self.without.extend(at as u32..explorer.steps.len() as u32);
        let Cache { without, alternatives, .. } = self;
        match explorer.machine.elsewhere(transition.process, without, alternatives)? {
            Elsewhere::Possible(footprint, _) => {
                self.missing.push((at, Move { transition, footprint }));
                Ok(())
            }
            Elsewhere::Blocked(_) | Elsewhere::Hindered(_) | Elsewhere::Unwanted(_) => {
                let what = "what was possible at a point of the run is not possible there";
                Err(Error::Internal(what.to_owned()))
            }
        }
    }

    /// What [`Cache::join`] has found to be missing at points of the run.
    pub fn missing(&self) -> &[(usize, Move)] {
        &self.missing
    }

    /// Leaves the last point, from which everything was explored; this step had led to it.
    pub fn leave<M: Machine>(&mut self, machine: &M, step: Option<&Step>) {
        let Some(point) = self.points.pop() else { return };
        if let (Some(parent), Some(step)) = (self.points.last_mut(), step) {
            let touched = touched(machine, step.what);
            let (reached, creator) = reach(machine, step.what.transition.process);
            parent.future.merge(&point.future);
            parent.future.add(touched | reached, creator);
            if step.is_visible {
                // All of them, since it does not matter much which is the place.
                parent.future.visible |= touched;
            }
            parent.is_cut |= point.is_cut;
        }
        if !point.is_cut && !point.is_joined {
            self.remember(&point);
        }
        self.spare.push(point);
    }

    fn remember(&mut self, point: &Point) {
        let future = match self.numbers.get(&point.future) {
            Some(&number) => number,
            None => {
                let number = self.futures.len() as u32;
                self.futures.push(point.future.clone());
                self.numbers.insert(point.future.clone(), number);
                self.bytes += 2 * (64 + point.future.links.len() as u64 * 8);
                number
            }
        };
        let known = Known { sleep: point.sleep[..].into(), future };
        self.bytes += 24 + point.sleep.len() as u64 * 8;
        let covers =
            |other: &Known| known.sleep.iter().all(|one| other.sleep.binary_search(one).is_ok());
        match self.known.get_mut(&point.key[..]) {
            Some(entries) => {
                // The new one is of more use than those that had more asleep.
                entries.retain(|other| !covers(other));
                if entries.len() == MAX_ENTRIES {
                    entries.remove(0);
                }
                entries.push(known);
            }
            None => {
                self.bytes += 64 + point.key.len() as u64 * 4;
                self.known.insert(point.key[..].into(), vec![known]);
            }
        }
    }

    /// How many states are known.
    pub fn len(&self) -> u64 {
        self.known.len() as u64
    }

    /// Roughly the bytes in use.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}
