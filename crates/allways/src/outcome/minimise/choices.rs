//! Smaller choices, where the run violates with them just as well: at the start, then event by
//! event. A duplicate that need not stay in flight becomes a plain delivery.

use super::bench::{Bench, Course, Move, Reading};
use crate::model::node::Node;
use crate::model::world::Action;

/// At most so many initial states are tried.
const MAX_STARTS: usize = 100;
/// At most so many other choices are tried for one event.
const MAX_CHOICES: usize = 100;

/// The run with smaller choices: neither longer nor with more switches.
pub(super) fn smaller<N: Node>(bench: &mut Bench<'_, N>, mut best: Course<N>) -> Course<N> {
    if best.moves.is_empty() {
        return best;
    }
    for start in 0..best.start.min(MAX_STARTS) {
        let mut worlds = best.worlds.clone();
        worlds[0] = bench.starts[start].clone();
        let other = Course { start, worlds, moves: best.moves.clone() };
        if let Some(found) = no_worse(bench, &other, 0, &best.moves) {
            best = found;
            break;
        }
    }
    for at in 0..best.moves.len() {
        for m in alternatives(bench, &best, at) {
            let mut rest = best.moves[at..].to_vec();
            rest[0] = m;
            if let Some(found) = no_worse(bench, &best, at, &rest) {
                best = found;
                break;
            }
        }
        if at + 1 >= best.moves.len() {
            break;
        }
    }
    best
}

/// The same event, chosen smaller or without a duplicate, the smallest first.
fn alternatives<N: Node>(bench: &Bench<'_, N>, best: &Course<N>, at: usize) -> Vec<Move<N>> {
    let Move { action, choices } = &best.moves[at];
    let mut moves = Vec::new();
    if let Action::Step { node, event, keep: true } = action {
        let action = Action::Step { node: *node, event: event.clone(), keep: false };
        moves.push(Move { action, choices: choices.clone() });
    }
    if choices.iter().any(|&choice| choice > 0) {
        let successors = best.worlds[at].successors(bench.system, action).unwrap_or_default();
        let mut smaller: Vec<_> = successors.into_iter().map(|s| s.choices).collect();
        smaller.retain(|other| size(other) < size(choices));
        smaller.sort_by(|a, b| size(a).cmp(&size(b)));
        let other = smaller.into_iter().map(|choices| Move { action: action.clone(), choices });
        moves.extend(other.take(MAX_CHOICES));
    }
    moves
}

/// What makes choices smaller than others: their sum, then the choices themselves.
fn size(choices: &[u32]) -> (u64, &[u32]) {
    (choices.iter().map(|&choice| u64::from(choice)).sum(), choices)
}

/// The first moves of a course and then others, if that violates and is no larger.
fn no_worse<N: Node>(
    bench: &mut Bench<'_, N>,
    course: &Course<N>,
    kept: usize,
    rest: &[Move<N>],
) -> Option<Course<N>> {
    let (events, switches) = (course.moves.len(), course.switches());
    let found = bench.attempt(course, kept, rest, events, Reading::Strict)?;
    (found.moves.len() < events || found.switches() <= switches).then_some(found)
}
