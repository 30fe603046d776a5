//! Trying to refute what the user has declared: that auxiliary fields do not matter, and that
//! interchangeable nodes are.

use super::local::LocalSpace;
use super::{EventId, StateId};
use crate::error::Error;
use crate::model::aux::revealed;
use crate::model::event::{Event, Local};
use crate::model::network::NetworkKind;
use crate::model::node::{Id, Node};
use crate::model::rename::Renaming;
use crate::model::step::{self, Effect, End};
use rustc_hash::FxHashMap;
use std::sync::PoisonError;

/// For each state, at most this many variants in its auxiliary fields are remembered.
const MAX_VARIANTS: usize = 4;

impl<N: Node> LocalSpace<'_, N> {
    pub(super) fn remember_variant(&self, node: usize, number: StateId, local: &Local<N>) {
        let first = self.states[node].value(number);
        if revealed(|| *first == *local) {
            return;
        }
        let mut variants = self.variants[node].lock().unwrap_or_else(PoisonError::into_inner);
        let known = variants.entry(number).or_default();
        if known.len() < MAX_VARIANTS && revealed(|| !known.contains(local)) {
            known.push(local.clone());
        }
    }

    pub(super) fn remember_event_variant(&self, node: usize, local: u32, event: &Event<N>) {
        let first = self.events[node].value(local);
        if revealed(|| *first == *event) {
            return;
        }
        let mut variants = self.event_variants[node].lock().unwrap_or_else(PoisonError::into_inner);
        let known = variants.entry(local).or_default();
        if known.len() < MAX_VARIANTS && revealed(|| !known.contains(event)) {
            known.push(event.clone());
        }
    }

    /// The same for auxiliary fields inside messages, timers and calls.
    fn verify_events(&self, id: Id, state: StateId, events: &[EventId]) -> Result<(), Error> {
        let local = self.states[id.index()].value(state);
        for &event in events {
            let number = self.layout.event_local(event);
            let variants = self.event_variants[id.index()].lock();
            let variants = variants.unwrap_or_else(PoisonError::into_inner).get(&number).cloned();
            let (_, first) = self.event_of(event);
            for variant in variants.unwrap_or_default() {
                let ours = step::effects(self.system, id, &local, &first)?;
                let theirs = step::effects(self.system, id, &local, &variant)?;
                if ours != theirs {
                    let state = format!("{:?}", local.node);
                    return Err(Error::UnsoundAux {
                        node: id.index(),
                        states: Box::new([state.clone(), state]),
                        step: format!(
                            "{first} or {variant}, which differ in auxiliary fields only"
                        ),
                        results: Box::new([show(&ours), show(&theirs)]),
                    });
                }
            }
        }
        Ok(())
    }

    /// Tries to refute that auxiliary fields do not matter: every step taken in a state is taken
    /// in its variants too, and must lead to the same, auxiliary fields aside; so must the views.
    pub fn verify_aux(&self) -> Result<(), Error> {
        let mut table: FxHashMap<(usize, StateId), Vec<EventId>> = FxHashMap::default();
        for part in &self.steps {
            let part = part.lock().unwrap_or_else(PoisonError::into_inner);
            for &(state, event) in part.keys() {
                let node = self.layout.event_node(event);
                table.entry((node, state)).or_default().push(event);
            }
        }
        for ((node, state), events) in &table {
            self.verify_events(Id::new(*node), *state, events)?;
        }
        for (node, variants) in self.variants.iter().enumerate() {
            // Verifying a step may reveal new variants of where it leads: go on until none is new.
            let mut done: FxHashMap<StateId, usize> = FxHashMap::default();
            loop {
                let mut todo = Vec::new();
                for (&state, known) in
                    variants.lock().unwrap_or_else(PoisonError::into_inner).iter()
                {
                    let from = done.insert(state, known.len()).unwrap_or(0);
                    todo.extend(known[from..].iter().map(|variant| (state, variant.clone())));
                }
                if todo.is_empty() {
                    break;
                }
                todo.sort_by_key(|(state, _)| *state);
                for (state, variant) in todo {
                    let events = table.get(&(node, state)).map_or(&[][..], Vec::as_slice);
                    self.verify_variant(Id::new(node), state, &variant, events)?;
                }
            }
        }
        Ok(())
    }

    fn verify_variant(
        &self,
        id: Id,
        state: StateId,
        variant: &Local<N>,
        events: &[EventId],
    ) -> Result<(), Error> {
        let node = id.index();
        let first = self.states[node].value(state);
        let unsound = |step: String, results: [String; 2]| Error::UnsoundAux {
            node,
            states: Box::new([format!("{:?}", first.node), format!("{:?}", variant.node)]),
            step,
            results: Box::new(results),
        };
        let views = self.intern_views(&variant.node)?;
        let expected = self.states[node].info(state).views;
        if let Some(at) = (0..views.len()).find(|&at| views[at] != expected[at]) {
            let show = |view: u32| format!("{:?}", self.views.value(view).1);
            let what = format!("reading the view of `{}`", self.system.properties[at].name);
            return Err(unsound(what, [show(expected[at]), show(views[at])]));
        }
        for &event in events {
            let (_, event) = self.event_of(event);
            let ours = step::effects(self.system, id, &first, &event)?;
            let theirs = step::effects(self.system, id, variant, &event)?;
            if ours != theirs {
                return Err(unsound(event.to_string(), [show(&ours), show(&theirs)]));
            }
            for effect in theirs {
                if let End::Done(done) = effect.end {
                    self.intern_state(id, done.local)?;
                }
            }
        }
        Ok(())
    }

    /// Handling a renamed event in a renamed state must lead to the renamed result.
    pub(super) fn check_symmetry(
        &self,
        id: Id,
        local: &Local<N>,
        event: &Event<N>,
        effects: &[Effect<N>],
    ) -> Result<(), Error> {
        for group in &self.system.groups {
            // All pairs: representatives may always have the node that moves at one place, so that
            // its neighbours alone would not do.
            for (a, b) in pairs(group) {
                let swap = Renaming::swap(self.layout.nodes, a, b);
                let renamed = step::effects(
                    self.system,
                    swap.of(id),
                    &self.rename_local(local, &swap),
                    &self.renamed_event(event, &swap),
                )?;
                let same = effects.len() == renamed.len()
                    && effects.iter().zip(&renamed).all(|(ours, theirs)| {
                        match (&ours.end, &theirs.end) {
                            (End::Done(ours), End::Done(theirs)) => {
                                self.rename_local(&ours.local, &swap) == theirs.local
                                    && self.same_sends(&ours.sends, &theirs.sends, &swap)
                            }
                            (End::Panicked(_), End::Panicked(_)) => true,
                            _ => false,
                        }
                    });
                if !same {
                    return Err(Error::NotInterchangeable {
                        node: id.index(),
                        state: format!("{:?}", local.node),
                        event: event.to_string(),
                    });
                }
            }
        }
        Ok(())
    }

    /// Whether sends agree after renaming; their order matters only on an ordered network, and
    /// there only between messages to one node.
    fn same_sends(
        &self,
        ours: &[(Id, N::Msg)],
        theirs: &[(Id, N::Msg)],
        renaming: &Renaming,
    ) -> bool {
        let Some(renamer) = self.system.renamer else { return false };
        let ours: Vec<_> =
            ours.iter().map(|(to, msg)| (renaming.of(*to), (renamer.msg)(msg, renaming))).collect();
        let to = |sends: &[(Id, N::Msg)], node: usize| -> Vec<N::Msg> {
            sends.iter().filter(|(to, _)| to.index() == node).map(|(_, msg)| msg.clone()).collect()
        };
        ours.len() == theirs.len()
            && (0..self.layout.nodes).all(|node| {
                let (a, mut b) = (to(&ours, node), to(theirs, node));
                match self.layout.network {
                    NetworkKind::Ordered => a == b,
                    _ => a.iter().all(|msg| {
                        let at = b.iter().position(|other| other == msg);
                        at.map(|at| b.swap_remove(at)).is_some()
                    }),
                }
            })
    }
}

fn show<N: Node>(effects: &[Effect<N>]) -> String {
    effects.iter().map(Effect::describe).collect::<Vec<_>>().join(" or ")
}

/// All pairs of different members.
pub(super) fn pairs(group: &[usize]) -> impl Iterator<Item = (usize, usize)> + '_ {
    let first = group.iter().enumerate();
    first.flat_map(|(at, &a)| group[at + 1..].iter().map(move |&b| (a, b)))
}
