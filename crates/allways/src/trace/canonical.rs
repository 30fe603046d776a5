//! When are two runs the same trace? A canonical form, and a signature of 64 bits.
//!
//! Events have labels, which the caller gives: numbers that say what an event is, whatever the run (for
//! instance the process and the result of its choices). Two runs are linearisations of one trace if their
//! events can be matched such that labels and happens-before are the same. **Events with the same label
//! must be ordered** in every run, as the steps of one process are; then there is at most one way
//! to match them: the first with a label is matched with the first.
//!
//! **The form** is Foata's (Cartier and Foata, "Problèmes combinatoires de commutation et
//! réarrangements", 1969): an event comes into the level after the last level of its predecessors, and
//! within a level events are sorted by label. Events of one level are concurrent, hence have different labels, so
//! this is one sequence for all linearisations. It is a linearisation too. The labels alone do not
//! say which trace it is where the same step may touch different objects in different states; so
//! the immediate predecessors of each event are part of the form.
//!
//! **The signature** of an event mixes its label with the sum of the signatures of its immediate
//! predecessors, so it stands for the event with its whole past; that of a trace is the sum over its
//! events. Sums do not ask for an order. Given the signatures of all its events, a trace
//! can be told from any other, up to collisions: which events are immediate predecessors is in
//! the signature of each, and no two events of a run have the same. It costs one mix an event and shrinks
//! with the run.

use super::order::Order;

/// A partial order of events that are numbered along a run.
pub(crate) trait Poset {
    /// The number of events.
    fn len(&self) -> usize;

    /// The events that happen before an event with none in between, the latest first.
    fn immediate(&self, event: usize) -> &[u32];
}

impl Poset for Order {
    fn len(&self) -> usize {
        self.len()
    }

    fn immediate(&self, event: usize) -> &[u32] {
        self.immediate(event)
    }
}

/// The events of a run in the order of the canonical form of its trace: one linearisation for all
/// runs of the trace. There is a label for each event.
pub(crate) fn foata(poset: &impl Poset, labels: &[u64]) -> Vec<u32> {
    let mut levels: Vec<u32> = Vec::with_capacity(poset.len());
    for event in 0..poset.len() {
        let before = poset.immediate(event).iter().map(|&before| levels[before as usize] + 1);
        levels.push(before.max().unwrap_or(0));
    }
    let mut events: Vec<u32> = (0..poset.len() as u32).collect();
    events.sort_by_key(|&event| (levels[event as usize], labels[event as usize]));
    events
}

/// The canonical form of a trace: equal for two runs iff they are linearisations of the same trace.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Canonical {
    /// The labels in canonical order.
    labels: Vec<u64>,
    /// The immediate predecessors of each event, as places in that order.
    immediate: Vec<u32>,
    /// Where those of each event end.
    ends: Vec<u32>,
}

impl Canonical {
    /// Of a run, with a label for each event.
    pub fn of(poset: &impl Poset, labels: &[u64]) -> Self {
        let events = foata(poset, labels);
        let mut places = vec![0; events.len()];
        for (place, &event) in events.iter().enumerate() {
            places[event as usize] = place as u32;
        }
        let (mut immediate, mut ends) = (Vec::new(), Vec::with_capacity(events.len()));
        for &event in &events {
            let start = immediate.len();
            let before = poset.immediate(event as usize);
            immediate.extend(before.iter().map(|&before| places[before as usize]));
            immediate[start..].sort_unstable();
            ends.push(immediate.len() as u32);
        }
        let labels = events.iter().map(|&event| labels[event as usize]).collect();
        Canonical { labels, immediate, ends }
    }

    /// The labels of the events, in canonical order.
    pub fn labels(&self) -> &[u64] {
        &self.labels
    }
}

/// The signature of a trace, along a run that grows and shrinks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signature {
    /// For each event, that of the event with its past, and the sum up to it.
    events: Vec<(u64, u64)>,
}

impl Signature {
    /// Of the empty run.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next event of a run, which has been pushed to its order already.
    pub fn push(&mut self, poset: &impl Poset, label: u64) {
        let event = self.events.len();
        let past = poset.immediate(event).iter().map(|&before| self.events[before as usize].0);
        let past = past.fold(0, u64::wrapping_add);
        let own = mix(mix(label).rotate_left(32) ^ mix(past.wrapping_add(PAST)));
        self.events.push((own, self.value().wrapping_add(own)));
    }

    /// Undoes all but the first so many events.
    pub fn truncate(&mut self, len: usize) {
        self.events.truncate(len);
    }

    /// Equal for two runs iff they are linearisations of the same trace, up to collisions.
    pub fn value(&self) -> u64 {
        self.events.last().map_or(0, |last| last.1)
    }

    /// That of one event with its past: equal for two events iff both have the same label and the same
    /// past, up to collisions.
    pub fn of_event(&self, event: usize) -> u64 {
        self.events[event].0
    }
}

/// Tells a past from a label.
const PAST: u64 = 0x9E37_79B9_7F4A_7C15;

/// A permutation of 64 bits in which every bit depends on every other (the finaliser of SplitMix64).
pub(crate) fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[cfg(test)]
pub(crate) fn signature_of(poset: &impl Poset, labels: &[u64]) -> u64 {
    let mut signature = Signature::new();
    for &label in labels {
        signature.push(poset, label);
    }
    signature.value()
}

#[cfg(test)]
mod tests {
    use super::super::naive::{Plain, cases, closure, linearisations, order_of, runs, swap};
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// The steps of a process have its number as label.
    fn labels_of(run: &[Plain]) -> Vec<u64> {
        run.iter().map(|event| u64::from(event.process)).collect()
    }

    /// What a trace is, literally: each event by its label and how often it came before, and which happen
    /// before which.
    fn literally(run: &[Plain], labels: &[u64]) -> BTreeSet<[(u64, usize); 2]> {
        let before = closure(run);
        let name = |event: usize| {
            let earlier = labels[..event].iter().filter(|&&label| label == labels[event]);
            (labels[event], earlier.count())
        };
        let itself = (0..run.len()).map(|event| [name(event); 2]);
        let pairs = (0..run.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
        let ordered = pairs.filter(|&(a, b)| before(a, b)).map(|(a, b)| [name(a), name(b)]);
        itself.chain(ordered).collect()
    }

    /// Tells runs apart in three ways, which must be the same.
    fn tell_apart(runs: impl IntoIterator<Item = (Vec<Plain>, Vec<u64>)>) -> usize {
        let (mut forms, mut signatures) = (BTreeMap::new(), BTreeMap::new());
        let mut traces = BTreeSet::new();
        for (run, labels) in runs {
            let order = order_of(&run);
            let trace = literally(&run, &labels);
            let form = Canonical::of(&order, &labels);
            assert_eq!(form.labels().len(), run.len());
            assert_eq!(*forms.entry(form).or_insert_with(|| trace.clone()), trace);
            let signature = signature_of(&order, &labels);
            assert_eq!(*signatures.entry(signature).or_insert_with(|| trace.clone()), trace);
            traces.insert(trace);
        }
        assert_eq!((forms.len(), signatures.len()), (traces.len(), traces.len()));
        traces.len()
    }

    fn permutations(items: &[Plain]) -> Vec<Vec<Plain>> {
        if items.is_empty() {
            return vec![vec![]];
        }
        let mut all = Vec::new();
        for index in 0..items.len() {
            let mut rest = items.to_vec();
            let first = rest.remove(index);
            for mut permutation in permutations(&rest) {
                permutation.insert(0, first.clone());
                all.push(permutation);
            }
        }
        all
    }

    #[test]
    fn permutations_of_steps_at_some_nodes_are_told_apart_by_their_order_at_each() {
        // How many events each node has: each order at each node is a trace.
        for (nodes, traces) in [
            (&[4][..], 24),
            (&[1, 1, 1, 1], 1),
            (&[2, 2], 4),
            (&[3, 2], 12),
            (&[2, 1, 2, 1], 4),
            (&[3, 3], 36),
        ] {
            let at = nodes.iter().enumerate().flat_map(|(node, &events)| vec![node as u32; events]);
            let events: Vec<Plain> =
                at.enumerate().map(|(index, node)| Plain::at(index as u32, node, None)).collect();
            let runs = permutations(&events).into_iter().map(|run| {
                let labels = labels_of(&run);
                (run, labels)
            });
            assert_eq!(tell_apart(runs), traces, "{nodes:?}");
        }
    }

    #[test]
    fn the_same_steps_of_two_processes_in_another_order_are_another_trace() {
        // Two steps each, on one object or on two: as many words as traces in the first case.
        let step = |process: u32, object| Plain::at(process, object, None);
        let steps = |objects: [u32; 2]| {
            [0, 0, 1, 1].map(|process: u32| step(process, objects[process as usize]))
        };
        let distinct = |events: [Plain; 4]| {
            let runs = permutations(&events).into_iter().map(|run| {
                let labels = labels_of(&run);
                (run, labels)
            });
            tell_apart(runs)
        };
        assert_eq!(distinct(steps([0, 0])), 6);
        assert_eq!(distinct(steps([0, 1])), 1);
    }

    #[test]
    fn interleavings_of_independent_chains_are_one_trace() {
        // As many as words with so many of each letter.
        for (lengths, words) in [(&[3, 3][..], 20), (&[2, 2, 2], 90), (&[4, 1], 5), (&[1; 5], 120)]
        {
            let steps = lengths.iter().enumerate().flat_map(|(chain, &length)| {
                vec![Plain::at(chain as u32, chain as u32, None); length]
            });
            let all = linearisations(&steps.collect::<Vec<_>>());
            assert_eq!(all.len(), words, "{lengths:?}");
            assert_eq!(tell_apart(all), 1, "{lengths:?}");
        }
    }

    #[test]
    fn labels_alone_are_not_enough_where_a_step_touches_one_thing_or_another() {
        let one = vec![Plain::at(0, 0, None), Plain::at(1, 0, None)];
        let other = vec![Plain::at(0, 0, None), Plain::at(1, 1, None)];
        assert_eq!(tell_apart([(one, vec![5, 6]), (other, vec![5, 6])]), 2);
    }

    proptest! {
        #![proptest_config(cases(256))]

        #[test]
        fn swapping_independent_neighbours_changes_nothing(
            run in runs(16), swaps in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
        ) {
            prop_assume!(run.len() > 1);
            let (mut other, mut labels) = (run.clone(), labels_of(&run));
            let (order, first) = (order_of(&run), labels.clone());
            for at in swaps {
                swap(&mut other, &mut labels, at.index(run.len() - 1));
            }
            let swapped = order_of(&other);
            prop_assert_eq!(literally(&run, &first), literally(&other, &labels));
            prop_assert_eq!(signature_of(&order, &first), signature_of(&swapped, &labels));
            let form = Canonical::of(&order, &first);
            prop_assert_eq!(&form, &Canonical::of(&swapped, &labels));
            let in_order: Vec<u64> =
                foata(&swapped, &labels).iter().map(|&event| labels[event as usize]).collect();
            prop_assert_eq!(form.labels(), in_order);
        }

        #[test]
        fn the_form_is_a_linearisation(run in runs(16)) {
            let before = closure(&run);
            let events = foata(&order_of(&run), &labels_of(&run));
            for (place, &b) in events.iter().enumerate() {
                prop_assert!(events[place..].iter().all(|&a| !before(a as usize, b as usize)));
            }
        }

        #[test]
        fn all_linearisations_are_one_trace(run in runs(6)) {
            let all = linearisations(&run);
            prop_assert!(all.iter().any(|(other, _)| *other == run));
            prop_assert_eq!(tell_apart(all), 1);
        }

        #[test]
        fn generated_runs_are_told_apart(runs in prop::collection::vec(runs(4), 0..40)) {
            tell_apart(runs.into_iter().map(|run| {
                let labels = labels_of(&run);
                (run, labels)
            }));
        }

        #[test]
        fn a_signature_shrinks_with_its_run(run in runs(16), keep in any::<prop::sample::Index>()) {
            let (order, labels) = (order_of(&run), labels_of(&run));
            let keep = keep.index(run.len() + 1);
            let mut signature = Signature::new();
            for &label in &labels {
                signature.push(&order, label);
            }
            let whole = signature.value();
            signature.truncate(keep);
            prop_assert_eq!(signature.value(), signature_of(&order_of(&run[..keep]), &labels[..keep]));
            for &label in &labels[keep..] {
                signature.push(&order, label);
            }
            prop_assert_eq!(signature.value(), whole);
        }

        #[test]
        fn an_event_is_signed_with_its_past_and_nothing_else(run in runs(12)) {
            let (order, labels) = (order_of(&run), labels_of(&run));
            let before = closure(&run);
            let mut signature = Signature::new();
            for &label in &labels {
                signature.push(&order, label);
            }
            for b in 0..run.len() {
                // The run of its past and itself alone.
                let kept: Vec<usize> = (0..=b).filter(|&a| a == b || before(a, b)).collect();
                let place = |event: usize| kept.iter().position(|&kept| kept == event);
                let alone: Vec<Plain> = kept
                    .iter()
                    .map(|&a| Plain {
                        created_by: run[a].created_by.and_then(place),
                        needs: (run[a].needs.iter())
                            .filter_map(|&needed| place(needed as usize))
                            .map(|needed| needed as u32)
                            .collect(),
                        ..run[a].clone()
                    })
                    .collect();
                let mut other = Signature::new();
                let order = order_of(&alone);
                for &a in &kept {
                    other.push(&order, labels[a]);
                }
                prop_assert_eq!(signature.of_event(b), other.of_event(kept.len() - 1));
            }
        }
    }
}
