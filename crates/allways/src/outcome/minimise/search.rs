//! Fewer events by breadth-first search: among the events of the run, and among all events.

use super::bench::{Bench, Course, Led, Move, Reading};
use crate::engine::budget::Budget;
use crate::engine::options::{Engine, Options, Search};
use crate::engine::{Found, FoundWhat, global};
use crate::model::node::Node;
use crate::model::system::System;
use crate::model::world::World;
use crate::outcome::Bound;
use crate::outcome::replayed::Target;
use rustc_hash::{FxBuildHasher, FxHashSet};
use std::hash::BuildHasher;
use std::time::Instant;

/// A state of engine `global` costs about this much less than a cloned world.
const CHEAPER: u64 = 20;

/// The shortest violating run that consists of events of this one, each as often as wanted; this
/// one if there is none shorter or the part of the space that they span is too large.
pub(super) fn among_events<N: Node>(bench: &mut Bench<'_, N>, best: Course<N>) -> Course<N> {
    let mut events: Vec<&Move<N>> = Vec::new();
    for m in &best.moves {
        if !events.contains(&m) {
            events.push(m);
        }
    }
    let most = bench.limits.states + bench.limits.max_states / CHEAPER;
    let Some(first) = best.worlds.first() else { return best };
    let mut met = FxHashSet::default();
    met.insert(FxBuildHasher.hash_one(first));
    // The way to each state met: the one before it, and the event.
    let mut ways: Vec<(usize, usize)> = vec![(0, 0)];
    let mut level: Vec<(usize, World<N>)> = vec![(0, first.clone())];
    for _ in 1..best.moves.len() {
        let mut next_level = Vec::new();
        for (at, world) in &level {
            if bench.limits.states >= most || !bench.limits.has_time() {
                return best;
            }
            bench.limits.states += 1;
            for (number, m) in events.iter().enumerate() {
                let shown = match bench.lead(world, m) {
                    Led::Nowhere => continue,
                    Led::Shown => true,
                    Led::World(next) => {
                        // A collision can only hide a shorter run.
                        if !met.insert(FxBuildHasher.hash_one(&next)) {
                            continue;
                        }
                        let shown = bench.shows(&next);
                        next_level.push((ways.len(), next));
                        shown
                    }
                };
                ways.push((*at, number));
                if shown {
                    let found = way(&ways, ways.len() - 1).into_iter().map(|n| events[n]);
                    let found: Vec<_> = found.collect();
                    let most = found.len();
                    let shorter = bench.attempt(&best, 0, found, most, Reading::Strict);
                    return shorter.unwrap_or(best);
                }
            }
        }
        level = next_level;
    }
    best
}

/// The events on the way to a state.
fn way(ways: &[(usize, usize)], mut at: usize) -> Vec<usize> {
    let mut events = Vec::new();
    while at > 0 {
        let (before, event) = ways[at];
        events.push(event);
        at = before;
    }
    events.reverse();
    events
}

/// The shortest violating run of all, and true, if engine `global` can search that far with this
/// many states looked at in all; otherwise this one.
pub(super) fn anywhere<N: Node>(
    bench: &mut Bench<'_, N>,
    best: Course<N>,
    max_states: u64,
) -> (Course<N>, bool) {
    let left = max_states.saturating_sub(bench.limits.states);
    if left == 0 || !bench.limits.has_time() {
        return (best, false);
    }
    let limits = &bench.limits;
    let options = Options {
        engine: Engine::Global,
        search: Search::Bfs,
        threads: 1,
        max_depth: Some(best.moves.len() as u64 - 1),
        max_states: Some(left),
        max_time: limits.deadline.map(|at| at.saturating_duration_since(Instant::now())),
        // It has been on guard when the run was found.
        determinism_guard: false,
        stop: limits.stop.clone(),
        ..Options::default()
    };
    let system = with_one_property(bench.system, &bench.target);
    // What goes wrong elsewhere is none of this run's business.
    let Ok(findings) = global::search(&system, &options, &Budget::new(&options)) else {
        return (best, false);
    };
    bench.limits.states += findings.statistics.unique_states.unwrap_or_default();
    bench.limits.has_time();
    let covered = matches!(findings.bound, None | Some(Bound::Depth));
    match findings.violation {
        None => (best, covered),
        Some(Found { what, run }) => {
            let same = match (&what, &bench.target) {
                (FoundWhat::Always(_), Target::Always(_)) => true,
                (FoundWhat::Stuck(_), Target::Stuck(_)) => true,
                (FoundWhat::Panic(message), Target::Panic) => message == bench.message,
                _ => false,
            };
            match bench.trace(&run).ok().filter(|_| same) {
                Some(shortest) => (shortest, true),
                None => (best, false),
            }
        }
    }
}

/// The system with none but the property that is violated: others must not end the search.
fn with_one_property<N: Node>(system: &System<N>, target: &Target) -> System<N> {
    let mut system = system.clone();
    let properties = std::mem::take(&mut system.properties);
    if let Target::Always(property) | Target::Stuck(property) = *target {
        system.properties.extend(properties.into_iter().nth(property));
    }
    system
}
