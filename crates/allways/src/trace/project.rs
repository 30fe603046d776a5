//! Projection of a trace to some of its nodes.
//!
//! What is left of a trace if only the events of some nodes are looked at: these events, with the
//! happens-before that the whole trace gives them, also where it goes by way of events that are left out.
//! It has a canonical form and a signature of its own. This is what others can tell of a run from
//! outside: the skeletons of DEMETER are projections to the events of interfaces.
//!
//! The events of a node are a chain, so the place of an event among the others is its vector
//! clock: how many events of each node happen before it, and it grows and shrinks with the run as [`Order`] does. The
//! immediate predecessors are to be found among the last events of each node in its past: those that
//! are not in the past of another of them.

use super::canonical::Poset;
use super::clock;
use super::order::Order;

/// The events of some nodes of a run, numbered from zero in the order of the run.
#[derive(Clone, Debug)]
pub(crate) struct Projection {
    /// Of each node, its events.
    chains: Vec<Vec<u32>>,
    events: Vec<Entry>,
    /// The clock of each event: one count for each node.
    clocks: Vec<u32>,
    immediate: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Its number in the run.
    event: u32,
    node: u32,
    /// Where its immediate predecessors begin.
    immediate: u32,
}

impl Projection {
    /// Of the empty run to so many nodes.
    pub fn new(nodes: usize) -> Self {
        Projection {
            chains: vec![Vec::new(); nodes],
            events: Vec::new(),
            clocks: Vec::new(),
            immediate: Vec::new(),
        }
    }

    /// Of a whole run to so many nodes; events without a node are left out.
    pub fn of(order: &Order, nodes: usize, node: impl Fn(usize) -> Option<usize>) -> Self {
        let mut projection = Projection::new(nodes);
        for event in 0..order.len() {
            if let Some(node) = node(event) {
                projection.push(order, event, node);
            }
        }
        projection
    }

    /// Adds an event of the run that is one of a node. Events come in the order of the run. Those of one node
    /// must be ordered by happens-before.
    pub fn push(&mut self, order: &Order, event: usize, node: usize) {
        let nodes = self.chains.len();
        let own = self.events.len() as u32;
        let start = self.clocks.len();
        for chain in &self.chains {
            let past = chain.partition_point(|&other| {
                order.before(self.events[other as usize].event as usize, event)
            });
            self.clocks.push(past as u32);
        }
        debug_assert_eq!(
            self.clocks[start + node] as usize,
            self.chains[node].len(),
            "the events of a node happen one after the other"
        );
        let first = self.immediate.len();
        let (clocks, clock) = self.clocks.split_at(start);
        let last = |(chain, &count): (&Vec<u32>, &u32)| {
            (count as usize).checked_sub(1).map(|last| chain[last])
        };
        let lasts = || self.chains.iter().zip(clock).filter_map(last);
        for candidate in lasts() {
            let clock_of = |event: u32| &clocks[event as usize * nodes..][..nodes];
            let implied = |other: u32| {
                other != candidate && clock::within(clock_of(candidate), clock_of(other))
            };
            if !lasts().any(implied) {
                self.immediate.push(candidate);
            }
        }
        self.immediate[first..].sort_unstable_by(|a, b| b.cmp(a));
        self.clocks[start + node] += 1;
        self.chains[node].push(own);
        let immediate = first as u32;
        self.events.push(Entry { event: event as u32, node: node as u32, immediate });
    }

    /// Forgets all but the first so many events of the run.
    pub fn truncate(&mut self, len: usize) {
        while let Some(last) = self.events.pop_if(|last| last.event as usize >= len) {
            self.chains[last.node as usize].pop();
            self.immediate.truncate(last.immediate as usize);
        }
        self.clocks.truncate(self.events.len() * self.chains.len());
    }

    /// The number in the run of an event of the projection.
    pub fn event(&self, event: usize) -> usize {
        self.events[event].event as usize
    }

    /// How many events of each node happen before an event, itself included.
    pub fn clock(&self, event: usize) -> &[u32] {
        let nodes = self.chains.len();
        &self.clocks[event * nodes..][..nodes]
    }

    /// Whether one event of the projection happens before another.
    pub fn before(&self, a: usize, b: usize) -> bool {
        a != b && clock::within(self.clock(a), self.clock(b))
    }
}

impl Poset for Projection {
    fn len(&self) -> usize {
        self.events.len()
    }

    fn immediate(&self, event: usize) -> &[u32] {
        let end = self.events.get(event + 1).map_or(self.immediate.len(), |e| e.immediate as usize);
        &self.immediate[self.events[event].immediate as usize..end]
    }
}

#[cfg(test)]
mod tests {
    use super::super::canonical::{Canonical, signature_of};
    use super::super::naive::{Plain, cases, closure, linearisations, order_of, runs, swap};
    use super::*;
    use proptest::prelude::*;

    /// The first object that an event writes is its node, if it is below `nodes`.
    fn node_of(event: &Plain, nodes: usize) -> Option<usize> {
        event.writes.first().map(|&node| node as usize).filter(|&node| node < nodes)
    }

    fn project(run: &[Plain], nodes: usize) -> Projection {
        Projection::of(&order_of(run), nodes, |event| node_of(&run[event], nodes))
    }

    /// That all that a projection says is what the definition says.
    fn agrees(projection: &Projection, run: &[Plain], nodes: usize) {
        let before = closure(run);
        let kept: Vec<usize> =
            (0..run.len()).filter(|&event| node_of(&run[event], nodes).is_some()).collect();
        assert_eq!(projection.len(), kept.len());
        for (b, &in_run) in kept.iter().enumerate() {
            assert_eq!(projection.event(b), in_run);
            let past: Vec<usize> = (0..b).filter(|&a| before(kept[a], in_run)).collect();
            for a in 0..kept.len() {
                assert_eq!(projection.before(a, b), past.contains(&a));
            }
            let between = |a: usize| past.iter().any(|&c| a < c && before(kept[a], kept[c]));
            let immediate: Vec<u32> =
                past.iter().rev().filter(|&&a| !between(a)).map(|&a| a as u32).collect();
            assert_eq!(projection.immediate(b), immediate);
            for (node, &count) in projection.clock(b).iter().enumerate() {
                let at = |a: &&usize| node_of(&run[kept[**a]], nodes) == Some(node);
                let expected = past.iter().chain([&b]).filter(at).count();
                assert_eq!(count as usize, expected);
            }
        }
    }

    /// The form and the signature of the projection, with processes as labels.
    fn told(run: &[Plain], nodes: usize) -> (Canonical, u64) {
        let projection = project(run, nodes);
        let labels: Vec<u64> = (0..projection.len())
            .map(|event| u64::from(run[projection.event(event)].process))
            .collect();
        (Canonical::of(&projection, &labels), signature_of(&projection, &labels))
    }

    #[test]
    fn what_goes_by_way_of_others_is_still_ordered() {
        // Node 0 sends to node 2, which is not looked at and sends to node 1.
        let by_way = [Plain::at(0, 0, None), Plain::at(1, 2, Some(0)), Plain::at(2, 1, Some(1))];
        let projection = project(&by_way, 2);
        assert!(projection.before(0, 1));
        assert_eq!(projection.immediate(1), [0]);
        // Without the message they are concurrent, and that is told.
        let apart = [Plain::at(0, 0, None), Plain::at(1, 2, None), Plain::at(2, 1, Some(1))];
        assert!(!project(&apart, 2).before(0, 1));
        assert_ne!(told(&by_way, 2).0, told(&apart, 2).0);
        assert_ne!(told(&by_way, 2).1, told(&apart, 2).1);
    }

    #[test]
    fn what_others_do_among_themselves_is_not_told() {
        // Two messages race to node 2, which answers neither.
        let run = |first: u32| {
            let [a, b] = [first, 3 - first].map(|process| Plain::at(process, 2, None));
            [Plain::at(0, 0, None), a, b, Plain::at(4, 1, None)]
        };
        assert_eq!(told(&run(1), 2), told(&run(2), 2));
        assert_ne!(told(&run(1), 3), told(&run(2), 3));
    }

    proptest! {
        #![proptest_config(cases(256))]

        #[test]
        fn order_is_induced(run in runs(20), nodes in 0..5usize) {
            agrees(&project(&run, nodes), &run, nodes);
        }

        #[test]
        fn it_shrinks_and_grows_with_the_run(run in runs(20), keep in any::<prop::sample::Index>()) {
            let order = order_of(&run);
            let mut projection = project(&run, 3);
            let keep = keep.index(run.len() + 1);
            projection.truncate(keep);
            agrees(&projection, &run[..keep], 3);
            for (event, plain) in run.iter().enumerate().skip(keep) {
                if let Some(node) = node_of(plain, 3) {
                    projection.push(&order, event, node);
                }
            }
            agrees(&projection, &run, 3);
        }

        #[test]
        fn runs_of_one_trace_have_one_projection(
            run in runs(16), swaps in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
        ) {
            prop_assume!(run.len() > 1);
            let mut other = run.clone();
            let mut labels = vec![0; run.len()];
            for at in swaps {
                swap(&mut other, &mut labels, at.index(run.len() - 1));
            }
            for nodes in 0..5 {
                prop_assert_eq!(told(&run, nodes), told(&other, nodes));
            }
        }

        #[test]
        fn all_linearisations_have_one_projection(run in runs(6), nodes in 0..5usize) {
            let expected = told(&run, nodes);
            for (other, _) in linearisations(&run) {
                prop_assert_eq!(&told(&other, nodes), &expected);
            }
        }
    }
}
