//! What components can tell of a run: interface events, skeletons, and how traces are put together from parts of others.
//!
//! The events of a run are divided among *components*. Most of what a component does is its own business. An event that others can tell of
//! is an *interface event*: it gives something to them, or touches what they touch. The **skeleton** of a trace
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
//! **Who takes something shows nothing by that.** What was given is there until its receiver takes it, and nobody else can tell whether that has happened, nor in which order several things were taken. The paper counts receiving among
//! interface transitions, and so tells skeletons apart that are the same for everybody: with this, there are often several times fewer. What a component has taken is told by what it gives afterwards: it is in the past of that. So the own name of
//! an event has to be part of its global name. (Somebody may take something without a sign of it, and then take something else that comes after the former anyway: all that happens before the
//! next event is the same as if he had not.)
//!
//! **Substitution.** Let two runs have the same local skeleton for a component. To put the component's events of the one in place of those of the other, [`Trace::with`] takes the component's
//! events in the order of the one and the rest in that of the other, and goes on with either as long as all that it depends on across the border is
//! there. It is there in time: what happens before an interface event across the border is in its name. In full: suppose that neither can go on. The component's next event lacks something that the rest has not given yet, and the
//! rest has not given it since an event before it lacks something of the component. That is an own interface event, which the component's name for what is given tells; so it came before the taking in the component's own run, and has happened.
//!
//! **Composition** with a branching event goes the same way: of a trace, [`Trace::without`] leaves out what cannot be there with it, with all that happens after that, and
//! the event comes last.

pub(crate) use super::canonical::mix;
use super::order::{Order, Touch, contains, insert, members, unite};
use rustc_hash::FxHashSet;
use smallvec::{SmallVec, smallvec};

/// The name of an event for a component, or for all.
pub(crate) type Name = u64;

/// A few names or the like, each with its component. Traces are many, and most of their events concern two components at most: asking for memory for each list would take longer than all that is done with it.
pub(crate) type Few = SmallVec<[(u32, u64); 2]>;

/// A few events.
pub(crate) type FewEvents = SmallVec<[u32; 4]>;

/// What an event shows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Label {
    /// All that it shows to anybody; zero if it is internal.
    pub all: u64,
    /// What it shows to which other component.
    pub to: Few,
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
    pub names: Few,
    is_shared: bool,
}

impl Mark {
    /// Of an event that is a component's own business.
    pub fn internal(component: u32) -> Self {
        Mark { component, name: 0, names: Few::new(), is_shared: false }
    }

    /// Whether it touches what several components touch.
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// What a component calls it, if it concerns it.
    pub fn for_component(&self, component: u32) -> Option<Name> {
        self.names.iter().find(|(other, _)| *other == component).map(|(_, name)| *name)
    }
}

/// Two numbers as one; which is which matters.
pub(crate) fn pair(a: u64, b: u64) -> u64 {
    mix(mix(a).rotate_left(32) ^ b.wrapping_add(0x9E37_79B9_7F4A_7C15))
}

/// The global name of an event that its own component calls so, with this past, which is the signature of the names of all that happens before it. Both are needed: what a component has taken is no
/// event of the skeleton, and may come before what it has taken otherwise, too.
pub(crate) fn global_name(own: Name, past: u64) -> Name {
    pair(own, past) | 1
}

/// A set of names as one number.
pub(crate) fn signature(names: impl Iterator<Item = Name>) -> u64 {
    names.map(mix).fold(0, u64::wrapping_add)
}

/// The marks along a run that grows and shrinks.
///
/// Sets of events are bits, and what a name adds to a signature is kept beside it: a name is made by adding up numbers, and without asking for memory once there is room.
#[derive(Default)]
pub(crate) struct Marks {
    pub order: Order,
    pub all: Vec<Mark>,
    /// For each event, the past that its own component can tell, internal events among it, as a set of bits: `stride` words each.
    told: Vec<u64>,
    stride: usize,
    /// The events of each component, and those that touch what several touch, as sets of bits.
    of_component: Vec<Vec<u64>>,
    shared: Vec<u64>,
    /// What the global name of each event adds to a signature, and for each component what its name for it adds; zero if there is none.
    globals: Vec<u64>,
    locals: Vec<Vec<u64>>,
    /// Room for lists and sets.
    direct: Vec<u32>,
    row: Vec<u64>,
    room: Vec<u64>,
}

impl Marks {
    /// Adds the next event of the run. Says whether its component can tell of all that it depends on: all that is there of others is named to it.
    pub fn push(&mut self, touch: Touch<'_>, component: u32, label: &Label) -> bool {
        let mut told = std::mem::take(&mut self.row);
        let mut room = std::mem::take(&mut self.room);
        self.tell(&touch, component, &mut told);
        let event = self.order.push(touch);
        let mark = self.mark(self.order.past(event), &told, component, label, &mut room);
        self.keep(mark, &told);
        (self.row, self.room) = (told, room);
        self.direct.iter().all(|&other| {
            let other = &self.all[other as usize];
            other.component == component || other.for_component(component).is_some()
        })
    }

    /// Adds an event of which is known what can be told of it.
    pub fn push_known(&mut self, touch: Touch<'_>, mark: &Mark) {
        let mut told = std::mem::take(&mut self.row);
        self.tell(&touch, mark.component, &mut told);
        self.order.push(touch);
        self.keep(mark.clone(), &told);
        self.row = told;
    }

    /// The names that a component has for what the last event depends on by itself, as far as others do it; `None` if it has none for some of that.
    pub fn named_across(&mut self, component: u32) -> Option<Box<[Name]>> {
        let mut direct = std::mem::take(&mut self.direct);
        self.order.dependent_before(self.all.len() - 1, &mut direct);
        let others = direct.iter().map(|&other| &self.all[other as usize]);
        let others = others.filter(|other| other.component != component);
        let names = others.map(|other| other.for_component(component)).collect();
        self.direct = direct;
        names
    }

    /// Undoes all but the first so many events.
    pub fn truncate(&mut self, len: usize) {
        if len >= self.all.len() {
            return;
        }
        self.order.truncate(len);
        self.all.truncate(len);
        self.told.truncate(len * self.stride);
        self.globals.truncate(len);
        self.locals.iter_mut().for_each(|all| all.truncate(len));
        for set in self.of_component.iter_mut().chain([&mut self.shared]) {
            set.truncate(len / 64 + 1);
            if let Some(word) = set.get_mut(len / 64) {
                *word &= (1 << (len % 64)) - 1;
            }
        }
    }

    /// Keeps what was found out about the last event.
    fn keep(&mut self, mark: Mark, told: &[u64]) {
        let event = self.all.len();
        let components = mark.names.iter().map(|(component, _)| *component);
        let components = components.chain([mark.component]).max().map_or(0, |last| last + 1);
        while self.locals.len() < components as usize {
            self.locals.push(vec![0; event]);
            self.of_component.push(Vec::new());
        }
        self.locals.iter_mut().for_each(|all| all.push(0));
        for &(component, name) in &mark.names {
            self.locals[component as usize][event] = mix(name);
        }
        self.globals.push(if mark.name == 0 { 0 } else { mix(mark.name) });
        put(&mut self.of_component[mark.component as usize], event);
        if mark.is_shared {
            put(&mut self.shared, event);
        }
        if told.len() > self.stride {
            self.widen(told.len());
        }
        self.told.resize(event * self.stride, 0);
        self.told.extend_from_slice(told);
        self.told.resize((event + 1) * self.stride, 0);
        self.all.push(mark);
    }

    /// Makes room for more words a row.
    fn widen(&mut self, words: usize) {
        let stride = words.next_power_of_two();
        let mut rows = vec![0; self.all.len() * stride];
        if self.stride > 0 {
            let old = self.told.chunks_exact(self.stride);
            for (row, old) in rows.chunks_exact_mut(stride).zip(old) {
                row[..self.stride].copy_from_slice(old);
            }
        }
        (self.told, self.stride) = (rows, stride);
    }

    /// The past that its own component could tell of an event that came next.
    fn tell(&mut self, touch: &Touch<'_>, component: u32, into: &mut Vec<u64>) {
        let mut direct = std::mem::take(&mut self.direct);
        self.order.dependent_on(self.order.len(), touch, &mut direct);
        self.tell_by(component, &direct, into);
        self.direct = direct;
    }

    /// The past that a component can tell of an own event that depends on these by itself.
    fn tell_by(&self, component: u32, direct: &[u32], into: &mut Vec<u64>) {
        into.clear();
        into.resize(self.all.len() / 64 + 1, 0);
        for event in direct.iter().map(|&event| event as usize) {
            if contains(into, event) {
                continue;
            }
            insert(into, event);
            match self.all[event].component == component {
                true => unite(into, self.told_of(event)),
                false => self.add_told_of(component, self.order.past(event), into),
            }
        }
    }

    /// The past that its own component can tell of an event.
    fn told_of(&self, event: usize) -> &[u64] {
        &self.told[event * self.stride..][..event / 64 + 1]
    }

    /// Adds the past that a component can tell of an event of another.
    fn add_told_of(&self, component: u32, past: &[u64], into: &mut [u64]) {
        let own = self.of_component.get(component as usize).map_or(&[][..], |all| all);
        for place in (0..past.len()).rev() {
            let word = |set: &[u64]| set.get(place).copied().unwrap_or(0);
            into[place] |= past[place] & word(&self.shared);
            let mut rest = past[place] & word(own);
            // The last ones tell of most others.
            while rest != 0 {
                let event = rest.ilog2();
                into[place] |= 1 << event;
                let told = self.told_of(place * 64 + event as usize);
                unite(into, told);
                rest &= !(1 << event | told[place]);
            }
        }
    }

    /// The mark of an event with this past, of which its own component can tell this.
    fn mark(
        &self,
        past: &[u64],
        told: &[u64],
        component: u32,
        label: &Label,
        room: &mut Vec<u64>,
    ) -> Mark {
        let is_shared = label.is_shared;
        if label.all == 0 {
            return Mark { component, name: 0, names: Few::new(), is_shared };
        }
        let all = sum(&self.globals, past);
        let name_for = |to: u32, label: u64, told: &[u64]| {
            let past = self.locals.get(to as usize).map_or(0, |names| sum(names, told));
            (to, pair(pair(u64::from(component), u64::from(to)), pair(label, past)) | 1)
        };
        let mut names: Few = smallvec![name_for(component, label.all, told)];
        for &(to, what) in &label.to {
            room.clear();
            room.resize(past.len(), 0);
            self.add_told_of(to, past, room);
            names.push(name_for(to, what, room));
        }
        Mark { component, name: global_name(names[0].1, all), names, is_shared }
    }

    /// The mark that an event would have after the run without some of its events, which are in the order of the run; and the past that its own component could
    /// tell.
    pub fn mark_elsewhere(
        &mut self,
        touch: &Touch<'_>,
        without: &[u32],
        component: u32,
        label: &Label,
    ) -> (Mark, Vec<u32>) {
        let mut direct = std::mem::take(&mut self.direct);
        self.order.dependent_on(self.order.len(), touch, &mut direct);
        direct.retain(|event| without.binary_search(event).is_err());
        let mut past = vec![0; self.all.len() / 64 + 1];
        for &event in &direct {
            if !contains(&past, event as usize) {
                unite(&mut past, self.order.past(event as usize));
                insert(&mut past, event as usize);
            }
        }
        let mut told = std::mem::take(&mut self.row);
        let mut room = std::mem::take(&mut self.room);
        self.tell_by(component, &direct, &mut told);
        let mark = self.mark(&past, &told, component, label, &mut room);
        let found = (mark, members(&told).map(|event| event as u32).collect());
        (self.direct, self.row, self.room) = (direct, told, room);
        found
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

/// Puts an event into a set of bits.
fn put(set: &mut Vec<u64>, event: usize) {
    if set.len() <= event / 64 {
        set.resize(event / 64 + 1, 0);
    }
    insert(set, event);
}

/// What the events of a set add up to.
fn sum(values: &[u64], set: &[u64]) -> u64 {
    let mut sum = 0_u64;
    for (place, &word) in set.iter().enumerate() {
        let mut rest = word;
        while rest != 0 {
            sum = sum.wrapping_add(values[place * 64 + rest.trailing_zeros() as usize]);
            rest &= rest - 1;
        }
    }
    sum
}

/// An event of a trace that was kept.
#[derive(Clone, Debug)]
pub(crate) struct Event<T> {
    pub what: T,
    pub mark: Mark,
    /// The events that happen before it with none in between.
    pub before: FewEvents,
    /// The events of other components that it depends on by itself.
    pub across: FewEvents,
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

    /// The names of what some own events of a component take from others, or depend on otherwise by themselves, sorted; `None` if it has no name for some of that.
    pub fn taken_by(&self, component: u32, is_in: impl Fn(usize) -> bool) -> Option<Box<[Name]>> {
        let own = self.events.iter().enumerate();
        let own = own.filter(|(place, it)| it.mark.component == component && is_in(*place));
        let taken = own.flat_map(|(_, event)| &event.across);
        let names = taken.map(|&other| self.events[other as usize].mark.for_component(component));
        let mut names = names.collect::<Option<Vec<Name>>>()?;
        names.sort_unstable();
        names.dedup();
        Some(names.into())
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
        let merged = self.merged(stays, component, other, other_stays)?;
        let what = |(is_other, place): (bool, usize)| match is_other {
            false => self.events[place].what.clone(),
            true => other.events[place].what.clone(),
        };
        Some(merged.into_iter().map(what).collect())
    }

    /// The same, by where the events are: whether in the other trace, and at which place.
    pub fn merged(
        &self,
        stays: &[bool],
        component: u32,
        other: &Trace<T>,
        other_stays: &[bool],
    ) -> Option<Vec<(bool, usize)>> {
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
            run.push((side == 1, event));
        }
    }
}
