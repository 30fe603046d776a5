//! Fewer switches between nodes: the same events in another order.
//!
//! Best-first search over the orders in which the events of the run can happen. A place in the
//! search is a world, the node of the last event and the events that are used; it costs the
//! switches made so far and at least one more for each other node that still has events to come.
//! All events are to be used, since fewer would be a shorter run.
//!
//! First the longest place is followed first: that soon leads to an order that is better, and then
//! to one that is better than that. Then the cheapest place is followed first (A*), which leads to
//! an order with the fewest switches, if it is found within the bound at all.

use super::bench::{Bench, Course, Led, Reading};
use crate::model::node::Node;
use crate::model::world::World;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::BuildHasher;

/// At most so many places are looked at to find one better order.
const MAX_PLACES: u64 = 20_000;
/// Looking for any better order is given up after this part of the places that may be looked at.
const GREEDY_PART: u64 = 10;
/// Longer runs are left in the order in which they are.
const MAX_EVENTS: usize = 128;

/// A place in the search.
struct Place<N: Node> {
    /// The place before, and the event that led here.
    before: Option<(usize, usize)>,
    world: Option<World<N>>,
    /// One bit for each event that is used.
    used: u128,
    lane: Option<Option<usize>>,
    switches: usize,
}

/// Which place is followed first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    Longest,
    Cheapest,
}

/// The run with its events in an order with the fewest switches, as far as that is found within
/// bounds.
pub(super) fn fewer_switches<N: Node>(bench: &mut Bench<'_, N>, mut best: Course<N>) -> Course<N> {
    if best.moves.len() > MAX_EVENTS {
        return best;
    }
    while let Some(better) = with_fewer(bench, &best, First::Longest) {
        best = better;
    }
    with_fewer(bench, &best, First::Cheapest).unwrap_or(best)
}

/// The same events with fewer switches; with the fewest, if the cheapest place is followed first.
fn with_fewer<N: Node>(
    bench: &mut Bench<'_, N>,
    best: &Course<N>,
    first: First,
) -> Option<Course<N>> {
    let events = best.moves.len();
    let switches = best.switches();
    if switches == 0 {
        return None;
    }
    let places = MAX_PLACES.min(bench.limits.max_states);
    let most = if first == First::Longest { places / GREEDY_PART } else { places };
    let lanes: Vec<Option<usize>> = best.moves.iter().map(|m| m.lane()).collect();
    // Of equal events, each stands for the next one.
    let equal = |a: usize, b: usize| best.moves[a] == best.moves[b];
    let before: Vec<u128> = (0..events)
        .map(|event| (0..event).filter(|&e| equal(e, event)).fold(0, |bits, e| bits | 1 << e))
        .collect();
    let mut places = vec![Place {
        before: None,
        world: Some(best.worlds[0].clone()),
        used: 0,
        lane: None,
        switches: 0,
    }];
    let mut heap = BinaryHeap::new();
    // Of two that are alike in both, the one that was met first.
    let rank = |cost: usize, left: usize| match first {
        First::Longest => (left, cost),
        First::Cheapest => (cost, left),
    };
    heap.push(Reverse((rank(0, events), 0)));
    // The fewest switches with which a place was met.
    let mut met: FxHashMap<u64, usize> = FxHashMap::default();
    let mut looked_at = 0;
    while let Some(Reverse((_, at))) = heap.pop() {
        let Some(world) = places[at].world.take() else { continue };
        looked_at += 1;
        if looked_at > most || !bench.limits.has_time() {
            return None;
        }
        let left = events - places[at].used.count_ones() as usize;
        let (used, lane, made) = (places[at].used, places[at].lane, places[at].switches);
        for event in 0..events {
            if used & 1 << event != 0 || used & before[event] != before[event] {
                continue;
            }
            let made = made + usize::from(lane.is_some_and(|lane| lane != lanes[event]));
            let used = used | 1 << event;
            if made + still_needed(&lanes, used, lanes[event]) >= switches {
                continue;
            }
            let next = match bench.lead(&world, &best.moves[event]) {
                Led::Nowhere => continue,
                Led::Shown => None,
                Led::World(next) => Some(next),
            };
            let shown = match &next {
                None => left == 1,
                Some(next) => left == 1 && bench.shows(next),
            };
            let place = Place {
                before: Some((at, event)),
                world: None,
                used,
                lane: Some(lanes[event]),
                switches: made,
            };
            if shown {
                places.push(place);
                return taken(bench, best, &places);
            }
            let Some(next) = next.filter(|_| left > 1) else { continue };
            // A collision can only hide a better order.
            let known = met.entry(FxBuildHasher.hash_one((&next, lanes[event], used)));
            let known = known.or_insert(usize::MAX);
            if made < *known {
                *known = made;
                let cost = made + still_needed(&lanes, used, lanes[event]);
                heap.push(Reverse((rank(cost, left - 1), places.len())));
                places.push(Place { world: Some(next), ..place });
            }
        }
    }
    None
}

/// How many nodes other than this still have events to come.
fn still_needed(lanes: &[Option<usize>], used: u128, lane: Option<usize>) -> usize {
    let mut needed: Vec<Option<usize>> = Vec::new();
    for (event, &other) in lanes.iter().enumerate() {
        if used & 1 << event == 0 && other != lane && !needed.contains(&other) {
            needed.push(other);
        }
    }
    needed.len()
}

/// The run that leads to the last place.
fn taken<N: Node>(
    bench: &mut Bench<'_, N>,
    best: &Course<N>,
    places: &[Place<N>],
) -> Option<Course<N>> {
    let mut order = Vec::new();
    let mut at = places.len() - 1;
    while let Some((before, event)) = places[at].before {
        order.push(&best.moves[event]);
        at = before;
    }
    order.reverse();
    let most = order.len();
    bench.attempt(best, 0, order, most, Reading::Strict)
}
