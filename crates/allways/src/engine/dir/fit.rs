//! Which branches fit into which traces: what is asked most often, so it is answered with sets of bits.
//!
//! Of a trace that is kept, an [`Index`] has the past of each event as a set, and for each component the places of what concerns it. A branch that has happened after the same
//! events of its component that the trace has is then taken by leaving out what the component has done after these, what is in conflict with the branch and not in its
//! past, and all that happens after any of that.

use super::interface::Doing;
use super::partial::Branch;
use crate::trace::order::{contains, insert, members, unite};
use crate::trace::skeleton::{Event, Name, Trace, mix};
use std::sync::Arc;

/// What is asked of a trace.
pub(super) struct Index {
    words: usize,
    /// For each event, what happens before it, and itself.
    pasts: Vec<u64>,
    /// For each event, its global name as it counts in a signature; zero if it is internal.
    globals: Vec<u64>,
    /// For each component, the names of what concerns it, sorted, each with its place.
    concerns: Vec<Box<[(Name, u32)]>>,
    /// Some bits for each global name: what is not there cannot be in the trace.
    hints: [u64; 4],
}

/// A branch, and what is asked of it.
pub(super) struct Candidate {
    pub branch: Arc<Branch>,
    /// The component's own interface events before it or around it, in their order; and what it takes from others meanwhile.
    own: Box<[Name]>,
    taken: Box<[Name]>,
    past: Box<[Name]>,
}

/// What of a trace goes together with a branch.
pub(super) enum Fit {
    /// They are not for each other.
    No,
    /// All that the branch has of its own goes together with [these](Room::stays) events.
    Whole,
    /// Not all that the branch has around it is in the trace.
    Part,
}

/// Sets of events, as bits.
#[derive(Default)]
pub(super) struct Room {
    /// What happens before the branch.
    pub past: Vec<u64>,
    /// What goes together with it.
    pub stays: Vec<u64>,
    own: Vec<u64>,
    out: Vec<u64>,
}

impl Candidate {
    pub fn new(branch: Arc<Branch>) -> Self {
        let mut past: Vec<Name> = branch.past.iter().copied().collect();
        past.sort_unstable();
        let own = branch.around().collect();
        // It has names for all of that, or it could not have done so.
        let taken = branch.trace.taken_by(branch.component, |place| branch.stays[place]);
        let taken = taken.unwrap_or_default();
        Candidate { branch, own, taken, past: past.into() }
    }

    /// The last of the component's own interface events before it, or zero.
    pub fn hook(&self) -> Name {
        let is_past = |name: &&Name| self.past.binary_search(name).is_ok();
        self.own.iter().rev().find(is_past).copied().unwrap_or(0)
    }
}

impl Index {
    pub fn new(trace: &Trace<Doing>, components: u32) -> Self {
        let words = trace.events.len() / 64 + 1;
        let mut pasts = vec![0; trace.events.len() * words];
        let mut concerns = vec![Vec::new(); components as usize];
        let mut globals = Vec::with_capacity(trace.events.len());
        let mut hints = [0; 4];
        for (place, event) in trace.events.iter().enumerate() {
            let (before, row) = pasts.split_at_mut(place * words);
            insert(&mut row[..words], place);
            for &other in &event.before {
                unite(&mut row[..words], &before[other as usize * words..][..words]);
            }
            for &(component, name) in &event.mark.names {
                concerns[component as usize].push((name, place as u32));
            }
            let name = event.mark.name;
            globals.push(if name == 0 { 0 } else { mix(name) });
            if name != 0 {
                add_hint(&mut hints, name);
            }
        }
        let sorted = |mut all: Vec<(Name, u32)>| {
            all.sort_unstable();
            all.into()
        };
        Index { words, pasts, globals, concerns: concerns.into_iter().map(sorted).collect(), hints }
    }

    /// The place of what a component calls so.
    pub fn place(&self, component: u32, name: Name) -> Option<usize> {
        let all = &self.concerns[component as usize];
        let found = all.binary_search_by_key(&name, |(other, _)| *other).ok();
        found.map(|found| all[found].1 as usize)
    }

    fn past(&self, place: usize) -> &[u64] {
        &self.pasts[place * self.words..][..self.words]
    }

    /// Whether all that happens before a branch is in this trace, and the branch is not; and which events those are.
    pub fn has_past_of(&self, candidate: &Candidate, room: &mut Room) -> bool {
        let component = candidate.branch.component;
        let step = candidate.branch.step.as_ref();
        if step.is_some_and(|(_, _, name)| self.place(component, *name).is_some()) {
            return false;
        }
        self.empty(&mut room.past);
        for &name in &candidate.past {
            match self.place(component, name) {
                Some(place) => unite(&mut room.past, self.past(place)),
                None => return false,
            }
        }
        true
    }

    fn empty(&self, set: &mut Vec<u64>) {
        set.clear();
        set.resize(self.words, 0);
    }

    /// What goes together with a branch, if all that the branch has of its own is there.
    pub fn fit(&self, trace: &Trace<Doing>, candidate: &Candidate, room: &mut Room) -> Fit {
        let component = candidate.branch.component;
        let Room { past, stays, own, out } = room;
        [&mut *stays, &mut *own, &mut *out].into_iter().for_each(|set| self.empty(set));
        for &name in candidate.own.iter().chain(&candidate.taken) {
            match self.place(component, name) {
                Some(place) => insert(own, place),
                None => return Fit::Part,
            }
        }
        let step = candidate.branch.step.as_ref().map(|(doing, ..)| doing);
        for &(name, place) in &self.concerns[component as usize] {
            let place = place as usize;
            let event: &Event<Doing> = &trace.events[place];
            let is_out = match step {
                _ if event.mark.component == component => !contains(own, place),
                Some(doing) => {
                    candidate.past.binary_search(&name).is_err() && doing.conflicts(&event.what)
                }
                None => false,
            };
            if is_out {
                insert(out, place);
            }
        }
        for place in 0..trace.events.len() {
            if self.past(place).iter().zip(&*out).all(|(past, out)| past & out == 0) {
                insert(stays, place);
            }
        }
        let has_all = |some: &[u64]| some.iter().zip(&*stays).all(|(some, all)| some & !all == 0);
        match (has_all(own), has_all(past)) {
            (false, _) => Fit::Part,
            (true, false) => Fit::No,
            (true, true) => Fit::Whole,
        }
    }

    /// The global names of some events as one number.
    pub fn signature(&self, events: &[u64]) -> u64 {
        members(events).map(|event| self.globals[event]).fold(0, u64::wrapping_add)
    }

    /// What of all that concerns a component is among some events: how much, and whether it is all of this.
    pub fn concerns_just(&self, component: u32, events: &[u64], candidate: &Candidate) -> bool {
        let all = self.concerns[component as usize].iter();
        let mut names = all.filter(|(_, place)| contains(events, *place as usize));
        let mut past = candidate.past.iter();
        loop {
            match (names.next(), past.next()) {
                (None, None) => return true,
                (Some((name, _)), Some(other)) if name == other => {}
                _ => return false,
            }
        }
    }

    /// Whether it may be that the trace has all these global names.
    pub fn may_have(&self, hints: &[u64; 4]) -> bool {
        hints.iter().zip(&self.hints).all(|(some, all)| some & !all == 0)
    }
}

/// Notes that a name is there.
pub(super) fn add_hint(hints: &mut [u64; 4], name: Name) {
    let bit = mix(name) as usize % 256;
    hints[bit / 64] |= 1 << (bit % 64);
}
