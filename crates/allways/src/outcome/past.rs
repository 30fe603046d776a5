//! What led to the end of a run: the nodes to blame, and the steps that the end follows from.

use super::story::{Story, StoryStep};
use crate::model::erased::Erased;
use crate::model::node::Node;
use crate::model::system::System;
use crate::model::world::test;

/// At most this many combinations of views are tried to find who is to blame.
const MAX_TESTS: usize = 5_000;

/// The nodes whose views make a property what it is at the end: a smallest set such that it is the
/// same with the views of all other nodes as they were at the start, and every node besides whose
/// view was once such that the property would now be another ([`turned`]).
///
/// An agreement that two of five nodes break is broken by these two, whatever the other three
/// have seen. If no small set is found in time, all nodes whose views changed are to blame.
///
/// `history` is what the property reads at first and after each step.
pub(crate) fn culprits<N: Node>(
    system: &System<N>,
    property: usize,
    history: &[Vec<Erased>],
    moved_last: Option<usize>,
) -> Vec<usize> {
    let (Some(at_start), Some(at_end)) = (history.first(), history.last()) else {
        return Vec::new();
    };
    let mut culprits = smallest(system, property, at_start, at_end, moved_last);
    turned(system, property, history, &mut culprits);
    culprits.sort_unstable();
    culprits
}

/// Adds the nodes whose moves made the property what it is although a start from where they are
/// would have done, too: those that came back to where they were, in a crash, say.
///
/// That is a node which, with any of its earlier views, would make the property another; and, where
/// several would have to have earlier views, those of them that are needed.
fn turned<N: Node>(
    system: &System<N>,
    property: usize,
    history: &[Vec<Erased>],
    culprits: &mut Vec<usize>,
) {
    let Some((at_end, earlier)) = history.split_last() else { return };
    let Ok(result) = test(system, property, at_end) else { return };
    // A test that panics on views that never occur together says nothing.
    let is_other = |reads: &[Erased]| test(system, property, reads).ok() == Some(!result);
    for node in 0..at_end.len() {
        let mut reads = at_end.clone();
        let mut makes_other = |views: &Vec<Erased>| {
            // Only a view that is new here is worth a test.
            let is_new = reads[node] != views[node];
            reads[node] = views[node].clone();
            is_new && is_other(&reads)
        };
        if !culprits.contains(&node) && earlier.iter().rev().any(&mut makes_other) {
            culprits.push(node);
        }
    }
    for views in earlier.iter().rev() {
        let mut reads = views.clone();
        for &node in culprits.iter() {
            reads[node] = at_end[node].clone();
        }
        if !is_other(&reads) {
            continue;
        }
        for node in 0..at_end.len() {
            if reads[node] == at_end[node] {
                continue;
            }
            let view = std::mem::replace(&mut reads[node], at_end[node].clone());
            if !is_other(&reads) {
                reads[node] = view;
                culprits.push(node);
            }
        }
    }
}

/// A smallest set of nodes such that the property is what it is at the end with the views of all
/// other nodes as they were at the start. Of several such sets, one with the node that moved last.
fn smallest<N: Node>(
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Cell(u8);

    impl Node for Cell {
        type Msg = Never;
        type Timer = Never;
        type Call = Never;
        type Output = Never;
        fn on_message(&mut self, _: Id, msg: Never, _: &mut Cx<'_, Self>) {
            match msg {}
        }
    }

    /// Who is to blame if the cells move from zero to these values.
    fn blamed(
        values: &[u8],
        moved_last: usize,
        holds: impl Fn(&[u8]) -> bool + Send + Sync + 'static,
    ) -> Vec<usize> {
        let system =
            System::new(vec![Cell(0); values.len()]).always("p", view(|c: &Cell| c.0), holds);
        let read = |values: &[u8]| values.iter().map(|v| Erased::new(*v)).collect::<Vec<_>>();
        let history = [read(&vec![0; values.len()]), read(values)];
        culprits(&system, 0, &history, Some(moved_last))
    }

    /// Who is to blame if the cells move like this, one after the other.
    fn blamed_after(
        history: &[&[u8]],
        holds: impl Fn(&[u8]) -> bool + Send + Sync + 'static,
    ) -> Vec<usize> {
        let read = |values: &&[u8]| values.iter().map(|v| Erased::new(*v)).collect::<Vec<_>>();
        let history: Vec<_> = history.iter().map(read).collect();
        let system =
            System::new(vec![Cell(0); history[0].len()]).always("p", view(|c: &Cell| c.0), holds);
        culprits(&system, 0, &history, None)
    }

    fn agree(values: &[u8]) -> bool {
        values.iter().filter(|v| **v > 0).all_equal()
    }

    #[test]
    fn those_who_disagree_are_to_blame_not_those_who_moved() {
        assert_eq!(blamed(&[1, 0, 2], 2, agree), [0, 2]);
        // One of two that see the same is enough: the one that moved last.
        assert_eq!(blamed(&[1, 2, 2], 2, agree), [0, 2]);
        assert_eq!(blamed(&[1, 2, 2], 1, agree), [0, 1]);
        assert_eq!(blamed(&[0, 9, 3], 1, |values| values[1] < 5), [1]);
    }

    #[test]
    fn where_many_are_needed_many_are_to_blame() {
        assert_eq!(blamed(&[1; 4], 3, |values| values.iter().sum::<u8>() < 3), [0, 1, 3]);
        // Too many combinations to try: all that moved.
        assert_eq!(blamed(&[1; 20], 3, |values| values.iter().sum::<u8>() < 15).len(), 20);
    }

    #[test]
    fn a_test_that_panics_on_views_that_never_meet_blames_nobody_for_it() {
        let holds = |values: &[u8]| {
            assert!(values[0] == values[1], "they move together");
            values[0] == 0
        };
        assert_eq!(blamed(&[1, 1, 5], 0, holds), [0, 1]);
    }

    #[test]
    fn a_view_that_comes_back_to_where_it_was_is_to_blame() {
        let not_ahead = |values: &[u8]| values[1] <= values[0];
        let back_first = [&[0, 0, 0][..], &[1, 0, 0], &[1, 0, 9], &[0, 0, 9], &[0, 1, 9]];
        assert_eq!(blamed_after(&back_first, not_ahead), [0, 1]);
        let back_last = [&[0, 0, 0][..], &[1, 0, 0], &[1, 1, 0], &[1, 1, 9], &[0, 1, 9]];
        assert_eq!(blamed_after(&back_last, not_ahead), [0, 1]);
        // Not quite where it was.
        let back_a_little = [&[0, 0][..], &[5, 0], &[5, 4], &[3, 4]];
        assert_eq!(blamed_after(&back_a_little, not_ahead), [0, 1]);
    }

    #[test]
    fn views_that_come_back_together_are_to_blame_together() {
        // Node 3 sees one though no two others do any more; either of them alone would not do.
        let backed = |values: &[u8]| {
            values[3] == 0 || values[..3].iter().filter(|value| **value == 1).count() >= 2
        };
        let history =
            [&[0, 0, 0, 0][..], &[1, 0, 0, 0], &[1, 1, 0, 0], &[0, 1, 0, 0], &[0, 0, 0, 0]];
        let history = [&history[..], &[&[0, 0, 0, 1]]].concat();
        assert_eq!(blamed_after(&history, backed), [0, 1, 3]);
    }

    #[test]
    fn subsets_come_in_order() {
        let mut chosen = vec![0, 1];
        let mut all = vec![chosen.clone()];
        while next_subset(&mut chosen, 4) {
            all.push(chosen.clone());
        }
        assert_eq!(all, [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]);
    }
}
