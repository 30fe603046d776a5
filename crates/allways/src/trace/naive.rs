//! What the tests of this module compare with: events as plain data, and definitions taken literally.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::order::{Order, Touch};

/// An event as plain data.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Plain {
    pub process: u32,
    pub created_by: Option<usize>,
    pub needs: Vec<u32>,
    pub reads: Vec<u32>,
    pub writes: Vec<u32>,
}

impl Plain {
    /// A step of a process that writes one object: a node that handles an event.
    pub fn at(process: u32, object: u32, created_by: Option<usize>) -> Self {
        Plain { process, created_by, needs: vec![], reads: vec![], writes: vec![object] }
    }

    pub fn touch(&self) -> Touch<'_> {
        Touch {
            process: self.process,
            created_by: self.created_by,
            needs: &self.needs,
            reads: &self.reads,
            writes: &self.writes,
        }
    }
}

pub(crate) fn order_of(run: &[Plain]) -> Order {
    let mut order = Order::new();
    for event in run {
        order.push(event.touch());
    }
    order
}

/// Whether two events of a run are dependent, the first being earlier.
pub(crate) fn dependent(run: &[Plain], a: usize, b: usize) -> bool {
    let (first, second) = (&run[a], &run[b]);
    let touches =
        |event: &Plain, object| event.reads.contains(object) || event.writes.contains(object);
    second.created_by == Some(a)
        || second.needs.contains(&(a as u32))
        || first.process == second.process
        || first.writes.iter().any(|object| touches(second, object))
        || second.writes.iter().any(|object| touches(first, object))
}

/// Happens-before, by transitive closure.
pub(crate) fn closure(run: &[Plain]) -> impl Fn(usize, usize) -> bool + use<> {
    let mut pasts: Vec<BTreeSet<usize>> = Vec::new();
    for b in 0..run.len() {
        let direct = (0..b).filter(|&a| dependent(run, a, b));
        let past = direct.flat_map(|a| pasts[a].iter().copied().chain([a])).collect();
        pasts.push(past);
    }
    move |a, b| pasts[b].contains(&a)
}

/// So many cases, the same each time unless `PROPTEST_CASES` asks for another number of them.
pub(crate) fn cases(number: u32) -> ProptestConfig {
    let asked = std::env::var_os("PROPTEST_CASES").is_some();
    let default = ProptestConfig::default();
    let rejects = 100 * default.cases.max(number);
    let default =
        ProptestConfig { failure_persistence: None, max_global_rejects: rejects, ..default };
    if asked {
        default
    } else {
        ProptestConfig { cases: number, rng_seed: RngSeed::Fixed(1), ..default }
    }
}

/// Swaps an event with the next one, if they are independent.
pub(crate) fn swap(run: &mut [Plain], labels: &mut [u64], at: usize) {
    if dependent(run, at, at + 1) {
        return;
    }
    run.swap(at, at + 1);
    labels.swap(at, at + 1);
    for event in &mut run[at + 1..] {
        let swapped = |needed: usize| match needed {
            needed if needed == at => at + 1,
            needed if needed == at + 1 => at,
            needed => needed,
        };
        event.created_by = event.created_by.map(swapped);
        event.needs.iter_mut().for_each(|needed| *needed = swapped(*needed as usize) as u32);
    }
}

/// Those without which an event would not be, as far as they are among the first so many.
pub(crate) fn keep_needed(event: &mut Plain, len: usize) {
    event.created_by = event.created_by.filter(|&needed| needed < len);
    event.needs.retain(|&needed| (needed as usize) < len);
}

/// Runs of so many events on a few processes and objects.
pub(crate) fn runs(most: usize) -> impl Strategy<Value = Vec<Plain>> {
    let objects = || prop::collection::vec(0..5u32, 0..3);
    let needed = || (any::<prop::sample::Index>(), 0..6u8);
    let more = prop::collection::vec(needed(), 0..3);
    let event = (0..6u32, needed(), more, objects(), objects());
    prop::collection::vec(event, 0..=most).prop_map(|events| {
        let one = |index: usize, (which, is): (prop::sample::Index, u8)| {
            (is == 0 && index > 0).then(|| which.index(index))
        };
        let event =
            |(index, (process, created, more, reads, writes)): (usize, (_, _, Vec<_>, _, _))| {
                Plain {
                    process,
                    created_by: one(index, created),
                    needs: more
                        .into_iter()
                        .filter_map(|more| one(index, more))
                        .map(|n| n as u32)
                        .collect(),
                    reads,
                    writes,
                }
            };
        events.into_iter().enumerate().map(event).collect()
    })
}

/// All runs of the trace of a run, by swapping independent neighbours in every way, with the number of
/// its process as the label of each event.
pub(crate) fn linearisations(run: &[Plain]) -> Vec<(Vec<Plain>, Vec<u64>)> {
    let labels: Vec<u64> = run.iter().map(|event| u64::from(event.process)).collect();
    let mut found = vec![(run.to_vec(), labels)];
    let mut next = 0;
    while let Some((run, labels)) = found.get(next).cloned() {
        for at in 1..run.len() {
            let (mut run, mut labels) = (run.clone(), labels.clone());
            swap(&mut run, &mut labels, at - 1);
            if !found.iter().any(|(other, _)| *other == run) {
                found.push((run, labels));
            }
        }
        next += 1;
    }
    found
}
