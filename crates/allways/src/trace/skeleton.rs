//! What components can tell of a run: interface events, skeletons, and how traces are put together from parts of others.
//!
//! The events of a run are divided among *components*. Most of what a component does is its own business. An event that others can tell of
//! is an *interface event*: it gives something to them, or takes something that they gave, or touches what they touch. The **skeleton** of a trace
//! is its interface events with the order that the whole trace gives them; the **local skeleton** of a component (DEMETER's `skel(proj_c)`) is the part of it that
//! concerns the component: its own interface events and those of others that it can tell of.
//!
//! **Names.** An event has a name for each component that it concerns, and a global one. The name says what the event shows (its [label](Label)) and
//! which events with a name of the same kind are in its past. So a set of names is a skeleton: canonical, whatever run it was taken from, and equal for two runs iff what
//! can be told of them is the same, up to collisions of 64 bits. Vector clocks of skeletons (section 4.2 of the paper) are these pasts. **Events with equal labels that
//! concern a component must be ordered**, as those of one node are; then no two events of a run have the same name.
//!
//! **Substitution.** Let two runs have the same local skeleton for a component. To put the component's events of the one in place of those of the other, [`Trace::with`] takes the component's
//! events in the order of the one and the rest in that of the other, and goes on with either as long as all that it depends on across the border is
//! there. It is there in time: what happens before an interface event across the border is in its name.
//!
//! **Composition** with a branching event goes the same way: of a trace, [`Trace::without`] leaves out what cannot be there with it, with all that happens after that, and
//! the event comes last.

use super::order::{Order, Touch, contains};
use rustc_hash::FxHashSet;

/// The name of an event for a component, or for all.
pub(crate) type Name = u64;

/// What an event shows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Label {
    /// All that it shows to anybody; zero if it is internal.
    pub all: u64,
    /// What it shows to which other component.
    pub to: Vec<(u32, u64)>,
}

/// What can be told of an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mark {
    pub component: u32,
    /// The global name; zero if it is internal.
    pub name: Name,
    /// What each component calls it that it concerns; the own component first.
    pub names: Vec<(u32, Name)>,
}

impl Mark {
    /// What a component calls it, if it concerns it.
    pub fn for_component(&self, component: u32) -> Option<Name> {
        self.names.iter().find(|(other, _)| *other == component).map(|(_, name)| *name)
    }
}

/// A permutation of 64 bits in which every bit depends on every other (the finaliser of SplitMix64).
pub(crate) fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

/// Two numbers as one; which is which matters.
pub(crate) fn pair(a: u64, b: u64) -> u64 {
    mix(mix(a).rotate_left(32) ^ b.wrapping_add(0x9E37_79B9_7F4A_7C15))
}

/// A set of names as one number.
pub(crate) fn signature(names: impl Iterator<Item = Name>) -> u64 {
    names.map(mix).fold(0, u64::wrapping_add)
}

/// The marks along a run that grows and shrinks.
#[derive(Default)]
pub(crate) struct Marks {
    pub order: Order,
    pub all: Vec<Mark>,
}

impl Marks {
    /// Adds the next event of the run.
    pub fn push(&mut self, touch: Touch<'_>, component: u32, label: &Label) {
        let event = self.order.push(touch);
        let past = self.order.past(event);
        let mark = self.mark(|other| contains(past, other), event, component, label);
        self.all.push(mark);
    }

    /// Undoes all but the first so many events.
    pub fn truncate(&mut self, len: usize) {
        self.order.truncate(len);
        self.all.truncate(len);
    }

    /// The mark of an event with this past.
    fn mark(
        &self,
        is_past: impl Fn(usize) -> bool,
        len: usize,
        component: u32,
        label: &Label,
    ) -> Mark {
        if label.all == 0 {
            return Mark { component, name: 0, names: Vec::new() };
        }
        let mut past = 0_u64;
        let own = (component, label.all);
        let mut names: Vec<(u32, u64)> =
            std::iter::once(own).chain(label.to.iter().copied()).map(|(to, _)| (to, 0)).collect();
        for event in (0..len).filter(|&event| is_past(event)) {
            let mark = &self.all[event];
            if mark.name == 0 {
                continue;
            }
            past = past.wrapping_add(mix(mark.name));
            for (component, sum) in &mut names {
                if let Some(name) = mark.for_component(*component) {
                    *sum = sum.wrapping_add(mix(name));
                }
            }
        }
        let labels = std::iter::once(own).chain(label.to.iter().copied());
        for ((_, sum), (to, label)) in names.iter_mut().zip(labels) {
            *sum = pair(pair(u64::from(component), u64::from(to)), pair(label, *sum)) | 1;
        }
        Mark { component, name: pair(pair(u64::from(component), label.all), past) | 1, names }
    }

    /// The mark that an event would have after the run without some of its events, which are in the order of the run; and the
    /// events that would happen before it.
    pub fn mark_elsewhere(
        &self,
        touch: &Touch<'_>,
        without: &[u32],
        component: u32,
        label: &Label,
    ) -> (Mark, Vec<u32>) {
        let len = self.order.len();
        let mut past: Vec<bool> = vec![false; len];
        // From the last to the first: the past of one that happens before it is looked at no more.
        for event in (0..len).rev() {
            if without.binary_search(&(event as u32)).is_ok() {
                continue;
            }
            let is_needed =
                touch.created_by == Some(event) || touch.needs.contains(&(event as u32));
            if past[event] || is_needed || self.order.touch(event).conflicts(touch) {
                past[event] = true;
                for &before in self.order.immediate(event) {
                    past[before as usize] = true;
                }
            }
        }
        let mark = self.mark(|event| past[event], len, component, label);
        let past = (0..len as u32).filter(|&event| past[event as usize]).collect();
        (mark, past)
    }

    /// The run as it is, with what each event does.
    pub fn trace<T: Clone>(&self, whats: impl Iterator<Item = T>) -> Trace<T> {
        let event = |(event, what): (usize, T)| Event {
            what,
            mark: self.all[event].clone(),
            before: self.order.immediate(event).into(),
        };
        Trace { events: whats.enumerate().map(event).collect() }
    }
}

/// An event of a trace that was kept.
#[derive(Clone, Debug)]
pub(crate) struct Event<T> {
    pub what: T,
    pub mark: Mark,
    /// The events that happen before it with none in between.
    pub before: Box<[u32]>,
}

/// A trace, as one of its runs.
#[derive(Clone, Debug)]
pub(crate) struct Trace<T> {
    pub events: Vec<Event<T>>,
}

impl<T: Clone> Trace<T> {
    /// The names of its skeleton.
    pub fn skeleton(&self) -> impl Iterator<Item = Name> + '_ {
        self.events.iter().map(|event| event.mark.name).filter(|&name| name != 0)
    }

    /// The names of its local skeleton for a component.
    pub fn local_skeleton(&self, component: u32) -> impl Iterator<Item = Name> + '_ {
        self.events.iter().filter_map(move |event| event.mark.for_component(component))
    }

    /// What is left if some events are left out, and all that happens after them: for each event, whether it stays.
    pub fn without(&self, is_out: impl Fn(usize, &Event<T>) -> bool) -> Vec<bool> {
        let mut stays: Vec<bool> = Vec::with_capacity(self.events.len());
        for (place, event) in self.events.iter().enumerate() {
            let goes_on = event.before.iter().all(|&before| stays[before as usize]);
            stays.push(goes_on && !is_out(place, event));
        }
        stays
    }

    /// This trace with the events of a component taken from another: those that stay of both. `None` if they do not fit together.
    pub fn with(
        &self,
        stays: &[bool],
        component: u32,
        other: &Trace<T>,
        other_stays: &[bool],
    ) -> Option<Vec<T>> {
        let is_its = |event: &Event<T>| event.mark.component == component;
        let mut theirs =
            (0..other.events.len()).filter(|&e| other_stays[e] && is_its(&other.events[e]));
        let mut ours = (0..self.events.len()).filter(|&e| stays[e] && !is_its(&self.events[e]));
        let mut done: FxHashSet<Name> = FxHashSet::default();
        let mut run = Vec::new();
        // What is depended on across the border was done already.
        let is_ready = |trace: &Trace<T>, event: usize, done: &FxHashSet<Name>| {
            let own = is_its(&trace.events[event]);
            trace.events[event].before.iter().all(|&before| {
                let before = &trace.events[before as usize];
                is_its(before) == own
                    || before.mark.for_component(component).is_some_and(|name| done.contains(&name))
            })
        };
        let (mut their, mut our) = (theirs.next(), ours.next());
        loop {
            let (trace, event) = match (our, their) {
                (Some(event), _) if is_ready(self, event, &done) => {
                    our = ours.next();
                    (self, event)
                }
                (_, Some(event)) if is_ready(other, event, &done) => {
                    their = theirs.next();
                    (other, event)
                }
                (None, None) => return Some(run),
                _ => return None,
            };
            let event = &trace.events[event];
            done.extend(event.mark.for_component(component));
            run.push(event.what.clone());
        }
    }
}
