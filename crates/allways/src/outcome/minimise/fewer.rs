//! Fewer events by leaving some out: delta debugging over the partial order.
//!
//! A candidate is the run without some of its events; what cannot happen without them is left out
//! with them when it is carried out ([`Bench::attempt`]). So it is enough to say where to start
//! leaving out, and causally closed sets follow. Candidates go from coarse to fine.

use super::bench::{Bench, Course, Reading};
use crate::model::event::Event;
use crate::model::node::Node;
use crate::model::world::{Action, World};
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::BuildHasher;

/// Pairs are tried in runs of at most this many events.
const MAX_FOR_PAIRS: usize = 60;

/// The shortest run that leaving out leads to.
pub(super) fn events<N: Node>(bench: &mut Bench<'_, N>, course: Course<N>) -> Course<N> {
    let mut best = without_detours(bench, course);
    for reading in [Reading::Strict, Reading::Loose] {
        loop {
            let before = best.moves.len();
            stretches(bench, &mut best, reading);
            nodes(bench, &mut best, reading);
            futures(bench, &mut best, reading);
            if best.moves.len() == before {
                pairs(bench, &mut best, reading);
            }
            if best.moves.len() == before {
                break;
            }
        }
    }
    best
}

/// Tries a run without some of its events; true if it still violates.
fn without<N: Node>(
    bench: &mut Bench<'_, N>,
    best: &mut Course<N>,
    left_out: impl Fn(usize) -> bool,
    reading: Reading,
) -> bool {
    let Some(kept) = (0..best.moves.len()).find(|&index| left_out(index)) else { return false };
    let rest = best.moves.iter().enumerate().skip(kept);
    let rest = rest.filter(|(index, _)| !left_out(*index)).map(|(_, m)| m);
    let most = best.moves.len() - 1;
    match bench.attempt(best, kept, rest, most, reading) {
        Some(shorter) => {
            *best = shorter;
            true
        }
        None => false,
    }
}

/// Without what leads back to where it was before: random runs are full of it.
fn without_detours<N: Node>(bench: &mut Bench<'_, N>, course: Course<N>) -> Course<N> {
    let key = |world: &World<N>| FxBuildHasher.hash_one(world);
    let keys: Vec<u64> = course.worlds.iter().map(key).collect();
    let last: FxHashMap<u64, usize> = keys.iter().enumerate().map(|(at, &key)| (key, at)).collect();
    let mut kept = Vec::new();
    let mut at = 0;
    while at < keys.len() {
        at = last[&keys[at]];
        kept.push(&course.moves[at]);
        at += 1;
    }
    let most = kept.len();
    match most < course.moves.len() {
        true => bench.attempt(&course, 0, kept, most, Reading::Strict).unwrap_or(course),
        false => course,
    }
}

/// Stretches of the run: halves, quarters, and so on to single events, the last ones first.
fn stretches<N: Node>(bench: &mut Bench<'_, N>, best: &mut Course<N>, reading: Reading) {
    let mut length = best.moves.len() / 2;
    while length > 0 {
        let mut end = best.moves.len();
        while end > 0 {
            let start = end.saturating_sub(length);
            without(bench, best, |index| (start..end).contains(&index), reading);
            end = start.min(best.moves.len());
        }
        length /= 2;
    }
}

/// Everything that a node does.
fn nodes<N: Node>(bench: &mut Bench<'_, N>, best: &mut Course<N>, reading: Reading) {
    let network = std::iter::once(None);
    for lane in (0..bench.system.size()).map(Some).chain(network) {
        let at: Vec<bool> = best.moves.iter().map(|m| m.lane() == lane).collect();
        without(bench, best, |index| at[index], reading);
    }
}

/// An event with everything that follows from it, and an event with the chain of messages that it
/// sets off.
fn futures<N: Node>(bench: &mut Bench<'_, N>, best: &mut Course<N>, reading: Reading) {
    for with_nodes in [true, false] {
        let mut index = best.moves.len();
        while index > 0 {
            index = (index - 1).min(best.moves.len() - 1);
            let closed = future(best, index, with_nodes);
            // Alone it is left out elsewhere.
            if closed.iter().filter(|&&in_it| in_it).count() > 1 {
                without(bench, best, |index| closed[index], reading);
            }
        }
    }
}

/// Which events follow from one: through messages and calls, and with `with_nodes` also because
/// they come later at the same node.
fn future<N: Node>(course: &Course<N>, from: usize, with_nodes: bool) -> Vec<bool> {
    let mut closed = vec![false; course.moves.len()];
    closed[from] = true;
    for later in from + 1..course.moves.len() {
        let lane = course.moves[later].lane();
        closed[later] = sender(course, later).is_some_and(|sender| closed[sender])
            || (with_nodes && (from..later).any(|i| closed[i] && course.moves[i].lane() == lane));
    }
    closed
}

/// The move that put what a move handles into reach, if it was not there from the start.
fn sender<N: Node>(course: &Course<N>, at: usize) -> Option<usize> {
    let (to, event) = match &course.moves[at].action {
        Action::Step {
            node, event: event @ (Event::Message { .. } | Event::Call { .. }), ..
        } => (*node, event),
        Action::Drop(envelope) => (envelope.to, &envelope.event),
        _ => return None,
    };
    (0..at).rev().find(|&before| !course.worlds[before].carries(to, event))
}

/// Any two events.
fn pairs<N: Node>(bench: &mut Bench<'_, N>, best: &mut Course<N>, reading: Reading) {
    if best.moves.len() > MAX_FOR_PAIRS {
        return;
    }
    for second in (1..best.moves.len()).rev() {
        for first in (0..second).rev() {
            if without(bench, best, |index| index == first || index == second, reading) {
                return;
            }
        }
    }
}
