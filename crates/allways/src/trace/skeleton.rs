//! What components can tell of a run: interface events, skeletons, and how traces are put together from parts of others.
//!
//! The events of a run are divided among *components*. Most of what a component does is its own business. An event that others can tell of
//! is an *interface event*: it gives something to them, or takes something that they gave, or touches what they touch. The **skeleton** of a trace
//! is its interface events with the order that the whole trace gives them; the **local skeleton** of a component (DEMETER's `skel(proj_c)`) is the part of it that
//! concerns the component: its own interface events and those of others that it can tell of.
//!
//! **Names.** An event has a name for each component that it concerns, and a global one. The name says what the event shows (its [label](Label)) and
//! which events with a name of the same kind are in its past. So a set of names is a skeleton: canonical, whatever run it was taken from, and equal for two runs iff what
//! can be told of them is the same, up to collisions of 64 bits. Vector clocks of skeletons (section 4.2 of the paper) are these pasts. **Labels must tell apart**
//! what is shown to one component by others; of own events, those that are not ordered. Then no two events of a run have the same name.
//!
//! **The past that a component can tell** is less than all of it. An own event comes after own ones, and after what it takes from others. What others give comes after the own events that led to it; in which
//! order they give is told only where the label tells it (where messages keep their order it must). The paper keeps all
//! order among what others give, and so tells more local skeletons apart. Nothing depends on that: what is given is there or not. It is otherwise where others touch an object that the component touches, too:
//! what they give only after that cannot be had before, so what they do to such objects is always told.
//!
//! **Substitution.** Let two runs have the same local skeleton for a component. To put the component's events of the one in place of those of the other, [`Trace::with`] takes the component's
//! events in the order of the one and the rest in that of the other, and goes on with either as long as all that it depends on across the border is
//! there. It is there in time: what happens before an interface event across the border is in its name.
//!
//! **Composition** with a branching event goes the same way: of a trace, [`Trace::without`] leaves out what cannot be there with it, with all that happens after that, and
//! the event comes last.

pub(crate) use super::canonical::mix;
use super::order::{Order, Touch, contains, insert, members, unite};
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
    /// Whether it touches what several components touch.
    pub is_shared: bool,
}

/// What can be told of an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mark {
    pub component: u32,
    /// The global name; zero if it is internal.
    pub name: Name,
    /// What each component calls it that it concerns; the own component first.
    pub names: Vec<(u32, Name)>,
    is_shared: bool,
}

impl Mark {
    /// What a component calls it, if it concerns it.
    pub fn for_component(&self, component: u32) -> Option<Name> {
        self.names.iter().find(|(other, _)| *other == component).map(|(_, name)| *name)
    }
}

/// Two numbers as one; which is which matters.
pub(crate) fn pair(a: u64, b: u64) -> u64 {
    mix(mix(a).rotate_left(32) ^ b.wrapping_add(0x9E37_79B9_7F4A_7C15))
}

/// The global name of an event with this past, which is the signature of the names of all that happens before it.
pub(crate) fn global_name(component: u32, label: &Label, past: u64) -> Name {
    pair(pair(u64::from(component), label.all), past) | 1
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
    /// For each event, the past that its own component can tell, internal events among it, as a set of bits.
    told: Vec<Vec<u64>>,
    direct: Vec<u32>,
}

impl Marks {
    /// Adds the next event of the run.
    pub fn push(&mut self, touch: Touch<'_>, component: u32, label: &Label) {
        let event = self.order.push(touch);
        let mut direct = std::mem::take(&mut self.direct);
        self.order.dependent_before(event, &mut direct);
        let told = self.told_by(component, direct.iter().copied());
        self.direct = direct;
        let past = self.order.past(event);
        let mark = self.mark(past, &told, component, label);
        self.all.push(mark);
        self.told.push(told);
    }

    /// Undoes all but the first so many events.
    pub fn truncate(&mut self, len: usize) {
        self.order.truncate(len);
        self.all.truncate(len);
        self.told.truncate(len);
    }

    /// The past that a component can tell of an own event that depends on these by itself.
    fn told_by(&self, component: u32, direct: impl Iterator<Item = u32>) -> Vec<u64> {
        let mut told = vec![0; self.all.len() / 64 + 1];
        for event in direct.map(|event| event as usize) {
            if contains(&told, event) {
                continue;
            }
            insert(&mut told, event);
            match self.all[event].component == component {
                true => unite(&mut told, &self.told[event]),
                false => self.add_told_of(component, self.order.past(event), &mut told),
            }
        }
        told
    }

    /// Adds the past that a component can tell of an event of another.
    fn add_told_of(&self, component: u32, past: &[u64], into: &mut [u64]) {
        for event in members(past) {
            let mark = &self.all[event];
            if mark.component == component {
                insert(into, event);
                unite(into, &self.told[event]);
            } else if mark.is_shared {
                insert(into, event);
            }
        }
    }

    /// The mark of an event with this past, of which its own component can tell this.
    fn mark(&self, past: &[u64], told: &[u64], component: u32, label: &Label) -> Mark {
        let is_shared = label.is_shared;
        if label.all == 0 {
            return Mark { component, name: 0, names: Vec::new(), is_shared };
        }
        let sum = |events: &[u64], name: &dyn Fn(&Mark) -> Option<Name>| {
            let names = members(events).filter_map(|event| name(&self.all[event]));
            signature(names)
        };
        let all = sum(past, &|mark| (mark.name != 0).then_some(mark.name));
        let name_for = |to: u32, label: u64, told: &[u64]| {
            let past = sum(told, &|mark| mark.for_component(to));
            (to, pair(pair(u64::from(component), u64::from(to)), pair(label, past)) | 1)
        };
        let mut names = vec![name_for(component, label.all, told)];
        for &(to, what) in &label.to {
            let mut told = vec![0; past.len()];
            self.add_told_of(to, past, &mut told);
            names.push(name_for(to, what, &told));
        }
        Mark { component, name: global_name(component, label, all), names, is_shared }
    }

    /// The mark that an event would have after the run without some of its events, which are in the order of the run; and the past that its own component could
    /// tell.
    pub fn mark_elsewhere(
        &self,
        touch: &Touch<'_>,
        without: &[u32],
        component: u32,
        label: &Label,
    ) -> (Mark, Vec<u32>) {
        let mut direct = Vec::new();
        self.order.dependent_on(self.order.len(), touch, &mut direct);
        direct.retain(|event| without.binary_search(event).is_err());
        let mut past = vec![0; self.all.len() / 64 + 1];
        for &event in &direct {
            if !contains(&past, event as usize) {
                unite(&mut past, self.order.past(event as usize));
                insert(&mut past, event as usize);
            }
        }
        let told = self.told_by(component, direct.into_iter());
        let mark = self.mark(&past, &told, component, label);
        (mark, members(&told).map(|event| event as u32).collect())
    }

    /// The run as it is, with what each event does.
    pub fn trace<T: Clone>(&self, whats: impl Iterator<Item = T>) -> Trace<T> {
        let mut direct = Vec::new();
        let event = |(event, what): (usize, T)| {
            let mark = self.all[event].clone();
            self.order.dependent_before(event, &mut direct);
            let is_across = |other: &u32| self.all[*other as usize].component != mark.component;
            let across = direct.iter().copied().filter(is_across).collect();
            Event { what, mark, before: self.order.immediate(event).into(), across }
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
    /// The events of other components that it depends on by itself.
    across: Box<[u32]>,
}

impl<T> Event<T> {
    /// The events of other components that it depends on by itself.
    pub fn across(&self) -> &[u32] {
        &self.across
    }
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
        let select = |trace: &Trace<T>, stays: &[bool], wants_its: bool| -> Vec<usize> {
            let all = (0..trace.events.len()).filter(|&event| stays[event]);
            all.filter(|&event| is_its(&trace.events[event]) == wants_its).collect()
        };
        let mut sides = [
            (self, select(self, stays, false), vec![false; self.events.len()]),
            (other, select(other, other_stays, true), vec![false; other.events.len()]),
        ];
        let mut done: FxHashSet<Name> = FxHashSet::default();
        let mut run = Vec::new();
        // Not in the order of the two runs: of several nodes in a component, one may wait for what another need not wait for.
        loop {
            let mut next = None;
            for (side, (trace, rest, gone)) in sides.iter().enumerate() {
                let is_ready = |&event: &usize| {
                    let Event { before, across, mark, .. } = &trace.events[event];
                    let own = mark.component == component;
                    let is_own_side = |other: u32| is_its(&trace.events[other as usize]) == own;
                    let is_done = |other: u32| {
                        let name = trace.events[other as usize].mark.for_component(component);
                        name.is_some_and(|name| done.contains(&name))
                    };
                    before.iter().all(|&other| !is_own_side(other) || gone[other as usize])
                        && across.iter().all(|&other| is_own_side(other) || is_done(other))
                };
                next = rest.iter().position(is_ready).map(|place| (side, place));
                if next.is_some() {
                    break;
                }
            }
            let Some((side, place)) = next else {
                let is_all = sides.iter().all(|(_, rest, _)| rest.is_empty());
                return is_all.then_some(run);
            };
            let (trace, rest, gone) = &mut sides[side];
            let event = rest.remove(place);
            gone[event] = true;
            done.extend(trace.events[event].mark.for_component(component));
            run.push(trace.events[event].what.clone());
        }
    }
}
