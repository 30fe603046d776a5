//! What led to the end of a run: the nodes to blame, and the steps that the end follows from.

use super::story::{Story, StoryStep};
use crate::model::erased::Erased;
use crate::model::node::Node;
use crate::model::system::System;
use crate::model::world::test;

/// At most this many combinations of views are tried to find who is to blame.
const MAX_TESTS: usize = 5_000;

/// The nodes whose views make a property what it is at the end: a smallest set such that it is the
/// same with the views of all other nodes as they were at the start. Of several such sets, one
/// with the node that moved last.
///
/// An agreement that two of five nodes break is broken by these two, whatever the other three
/// have seen. If no small set is found in time, all nodes whose views changed are to blame.
pub(crate) fn culprits<N: Node>(
    system: &System<N>,
    property: usize,
    at_start: &[Erased],
    at_end: &[Erased],
    moved_last: Option<usize>,
) -> Vec<usize> {
    let is = |reads: &[Erased]| test(system, property, reads).ok();
    let result = is(at_end);
    // The node that moved last comes first, so that sets with it are tried first.
    let mut moved: Vec<usize> = (0..at_end.len()).filter(|&n| at_start[n] != at_end[n]).collect();
    moved.sort_by_key(|&node| Some(node) != moved_last);
    let mut tests = 0;
    for size in 1..moved.len() {
        let mut chosen: Vec<usize> = (0..size).collect();
        loop {
            tests += 1;
            if tests > MAX_TESTS {
                moved.sort_unstable();
                return moved;
            }
            let mut reads = at_start.to_vec();
            for &at in &chosen {
                reads[moved[at]] = at_end[moved[at]].clone();
            }
            // A test that panics on views that never occur together says nothing.
            if is(&reads) == result {
                let mut culprits: Vec<usize> = chosen.iter().map(|&at| moved[at]).collect();
                culprits.sort_unstable();
                return culprits;
            }
            if !next_subset(&mut chosen, moved.len()) {
                break;
            }
        }
    }
    moved.sort_unstable();
    moved
}

/// Moves on to the next subset of `0..of` with as many elements, in lexicographic order.
fn next_subset(chosen: &mut [usize], of: usize) -> bool {
    let size = chosen.len();
    let Some(at) = (0..size).rev().find(|&at| chosen[at] < of - size + at) else {
        return false;
    };
    chosen[at] += 1;
    for later in at + 1..size {
        chosen[later] = chosen[later - 1] + 1;
    }
    true
}

/// Marks as mattering these steps and all that they follow from.
pub(crate) fn mark_past(steps: &mut [StoryStep], of: impl IntoIterator<Item = usize>) {
    let mut left: Vec<usize> = of.into_iter().collect();
    for step in steps.iter_mut() {
        step.matters = false;
    }
    while let Some(step) = left.pop() {
        if !std::mem::replace(&mut steps[step].matters, true) {
            left.extend(&steps[step].causes);
        }
    }
}

/// The last step at which what the property reads of a node changed.
pub(crate) fn last_change(story: &Story, node: usize) -> Option<usize> {
    story.steps.iter().rposition(|step| step.event.node == Some(node) && step.view.is_some())
}
