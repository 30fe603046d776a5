//! Whether the product of what nodes may come to has a bad vector of views.
//!
//! A property reads one view of each node, or one observer. Each node's states in a fixpoint have a few
//! different views; every combination of them is tested, once for each distinct choice of sets of
//! views. What observers may come to is what they may see of things outside the set, in any order and any
//! number of times. Too many combinations count as bad: nothing is claimed that was not looked at.

use super::Plan;
use super::fixpoint::Fixpoint;
use super::group::{NO_ROOT, Root};
use super::here::Here;
use crate::model::property::PropertyKind;
use crate::space::vector::Layout;
use rustc_hash::FxHashMap;

/// So many combinations of views are tested for a property.
const MAX_PRODUCT: usize = 1 << 12;
/// So many states of an observer are looked at.
const MAX_OBSERVED: usize = 1 << 8;

/// What was found out about products so far.
#[derive(Default)]
pub(super) struct Products {
    /// For each property, which result of its test is bad, if any is.
    bad: Vec<Option<bool>>,
    /// Whether panics are bad.
    panics: bool,
    /// For each property and sets of views, with their sizes between them: a bad vector, if there is one.
    known: FxHashMap<Box<[u32]>, Option<Box<[u32]>>>,
    /// For each property and vector of views, the result of the test; nothing if it failed.
    tests: FxHashMap<Box<[u32]>, Option<bool>>,
    key: Vec<u32>,
}

impl Products {
    /// Says what is bad: a false `always`, and a true `sometimes` that is wanted still.
    pub fn look_for(&mut self, layout: &Layout, plan: &Plan, still: impl Fn(usize) -> bool) {
        self.panics = plan.always;
        self.bad.clear();
        for (property, (kind, _)) in layout.properties.iter().enumerate() {
            self.bad.push(match kind {
                PropertyKind::Always => plan.always.then_some(false),
                PropertyKind::Sometimes if plan.wanted.contains(&property) && still(property) => {
                    Some(true)
                }
                PropertyKind::Sometimes | PropertyKind::NeverStuck => None,
            });
        }
    }

    /// What something bad in a fixpoint derives from, if there is something bad in it; [`NO_ROOT`] if
    /// that is not known.
    pub fn bad(&mut self, here: &mut Here<'_, '_>, fixpoint: &Fixpoint) -> Option<Root> {
        if self.panics && fixpoint.panics.is_some() {
            return fixpoint.panics;
        }
        for property in 0..here.layout.properties.len() {
            let Some(bad) = self.bad[property] else { continue };
            let root = match here.layout.properties[property].1 {
                Some(observer) => {
                    let state = here.vector[here.layout.observer_base + observer];
                    self.bad_observed(here, (property, bad), (observer, state), fixpoint)
                }
                None => self.bad_views(here, (property, bad), fixpoint),
            };
            if root.is_some() {
                return root;
            }
        }
        None
    }

    /// What a bad state of an observer derives from.
    fn bad_observed(
        &mut self,
        here: &mut Here<'_, '_>,
        (property, bad): (usize, bool),
        (observer, state): (usize, u32),
        fixpoint: &Fixpoint,
    ) -> Option<Root> {
        let &(_, first) = fixpoint.feeds.first()?;
        let mut states = vec![(state, NO_ROOT)];
        let mut at = 0;
        while at < states.len() {
            let (state, from) = states[at];
            for &(feed, root) in &fixpoint.feeds {
                let root = if from == NO_ROOT { root } else { from };
                let Ok((next, _)) = here.memo.observe(observer, state, feed) else {
                    return Some(root);
                };
                if states.iter().any(|(known, _)| *known == next) {
                    continue;
                }
                if states.len() >= MAX_OBSERVED {
                    return Some(first);
                }
                if self.test(here, property, &[next]) != Some(!bad) {
                    return Some(root);
                }
                states.push((next, root));
            }
            at += 1;
        }
        None
    }

    /// What a bad vector of views derives from.
    fn bad_views(
        &mut self,
        here: &mut Here<'_, '_>,
        (property, bad): (usize, bool),
        fixpoint: &Fixpoint,
    ) -> Option<Root> {
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        key.push(property as u32);
        for node in 0..here.layout.nodes {
            let size = key.len();
            key.push(0);
            for &state in fixpoint.states(node) {
                let view = here.memo.views_at(node, state)[property];
                if !key[size + 1..].contains(&view) {
                    key.push(view);
                }
            }
            // The order in which views were found does not matter.
            key[size + 1..].sort_unstable();
            key[size] = (key.len() - size - 1) as u32;
        }
        if !self.known.contains_key(&*key) {
            let found = self.search(here, (property, bad), &key);
            self.known.insert(key.clone().into(), found);
        }
        let root = match self.known.get(&*key) {
            Some(Some(vector)) => {
                Some(derives_from(here, property, vector, fixpoint).unwrap_or(NO_ROOT))
            }
            _ => None,
        };
        self.key = key;
        root
    }

    /// A bad vector in the product of sets of views; an empty one if there are too many to look at.
    fn search(
        &mut self,
        here: &mut Here<'_, '_>,
        (property, bad): (usize, bool),
        key: &[u32],
    ) -> Option<Box<[u32]>> {
        let nodes = here.layout.nodes;
        let mut sets = Vec::new();
        let mut rest = &key[1..];
        let mut product = 1usize;
        for _ in 0..nodes {
            let (size, views) = (rest[0] as usize, &rest[1..]);
            sets.push(&views[..size]);
            rest = &views[size..];
            product = product.saturating_mul(size);
        }
        if product > MAX_PRODUCT {
            return Some(Box::default());
        }
        let mut places = vec![0usize; nodes];
        let mut vector: Vec<u32> = sets.iter().map(|set| set[0]).collect();
        loop {
            if self.test(here, property, &vector) != Some(!bad) {
                return Some(vector.into());
            }
            // The next combination.
            let mut node = 0;
            loop {
                if node == nodes {
                    return None;
                }
                places[node] += 1;
                if places[node] < sets[node].len() {
                    vector[node] = sets[node][places[node]];
                    break;
                }
                places[node] = 0;
                vector[node] = sets[node][0];
                node += 1;
            }
        }
    }

    /// The result of a property's test; nothing if it fails.
    fn test(&mut self, here: &mut Here<'_, '_>, property: usize, reads: &[u32]) -> Option<bool> {
        let mut key = vec![property as u32];
        key.extend_from_slice(reads);
        let space = here.memo.space;
        *self.tests.entry(key.into()).or_insert_with(|| space.test(property, reads).ok())
    }
}

/// What a vector of views derives from: the first state found that has one of its views but is not
/// the state that its node is in.
fn derives_from(
    here: &mut Here<'_, '_>,
    property: usize,
    vector: &[u32],
    fixpoint: &Fixpoint,
) -> Option<Root> {
    let mut any = None;
    for node in 0..here.layout.nodes {
        let states = fixpoint.states(node);
        let now = here.memo.views_at(node, states[0])[property];
        for (place, &state) in states.iter().enumerate().skip(1) {
            let view = here.memo.views_at(node, state)[property];
            if view != now {
                let root = fixpoint.root(node, place);
                if vector.get(node) == Some(&view) {
                    return Some(root);
                }
                any.get_or_insert(root);
            }
        }
    }
    any
}
