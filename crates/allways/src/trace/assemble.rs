//! A trace put together from parts of several others at once: substitution for each component.

use super::skeleton::{Event, Name, Trace};
use rustc_hash::{FxHashMap, FxHashSet};

/// A trace, and what stays of it.
pub(crate) type Piece<'a, T> = (&'a Trace<T>, &'a [bool]);

/// A component, where its events are taken from, which are left, and which are gone.
type Side<'a, T> = (u32, &'a Trace<T>, Vec<usize>, Vec<bool>);

impl<T: Clone> Trace<T> {
    /// What stays of this trace, with the events of some components taken from others, in which they have shown and been shown the same. `None` if
    /// they do not fit together.
    ///
    /// The names that others have for an event hang on what else has happened in a trace, so they are looked up here, by the name that its own component has for it.
    pub fn assemble(&self, stays: &[bool], pieces: &[Option<Piece<'_, T>>]) -> Option<Vec<T>> {
        let own = |event: &Event<T>| event.mark.for_component(event.mark.component);
        let mut known: FxHashMap<(u32, Name), usize> = FxHashMap::default();
        for (place, event) in self.events.iter().enumerate() {
            known.extend(own(event).map(|name| ((event.mark.component, name), place)));
        }
        let mut sides: Vec<Side<'_, T>> = Vec::new();
        for (component, piece) in pieces.iter().enumerate() {
            let component = component as u32;
            let (trace, stays) = piece.unwrap_or((self, stays));
            let is_its =
                |&event: &usize| stays[event] && trace.events[event].mark.component == component;
            let rest: Vec<usize> = (0..trace.events.len()).filter(is_its).collect();
            sides.push((component, trace, rest, vec![false; trace.events.len()]));
        }
        let mut done: FxHashSet<(u32, Name)> = FxHashSet::default();
        let mut run = Vec::new();
        loop {
            let mut next = None;
            for (number, (component, trace, rest, gone)) in sides.iter().enumerate() {
                let is_ready = |&event: &usize| {
                    let Event { before, .. } = &trace.events[event];
                    let mut across = trace.events[event].across.iter();
                    let is_its =
                        |other: u32| trace.events[other as usize].mark.component == *component;
                    let is_done = |other: u32| {
                        let name = trace.events[other as usize].mark.for_component(*component);
                        name.is_some_and(|name| done.contains(&(*component, name)))
                    };
                    before.iter().all(|&other| !is_its(other) || gone[other as usize])
                        && across.all(|&other| is_done(other))
                };
                next = rest.iter().position(is_ready).map(|place| (number, place));
                if next.is_some() {
                    break;
                }
            }
            let Some((number, place)) = next else {
                let is_all = sides.iter().all(|(_, _, rest, _)| rest.is_empty());
                return is_all.then_some(run);
            };
            let (component, trace, rest, gone) = &mut sides[number];
            let event = rest.remove(place);
            gone[event] = true;
            if let Some(name) = own(&trace.events[event]) {
                let here = known.get(&(*component, name))?;
                done.extend(self.events[*here].mark.names.iter().copied());
            }
            run.push(trace.events[event].what.clone());
        }
    }
}
