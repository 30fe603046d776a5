//! What comes first where no property sees it: it must not be undone.

use super::*;

#[test]
fn a_step_that_can_be_undone_from_another_start() {
    // From one initial state there is no way from state 2 back to state 1; from the other there is.
    const RULES: Rules = &[
        (
            0,
            On::Start,
            &[
                |a| (a.next, a.sends) = (Some(1), vec![(1, 0)]),
                |a| (a.next, a.sends) = (Some(1), vec![(1, 1)]),
                |a| (a.next, a.sends) = (Some(4), vec![(0, 9)]),
            ],
        ),
        (1, On::Message(0), &[|a| (a.next, a.sends) = (Some(2), vec![(1, 0)])]),
        (2, On::Message(1), &[|a| (a.next, a.sends) = (Some(1), vec![(1, 1)])]),
        (1, On::Message(2), &[|a| a.next = Some(3)]),
        (2, On::Message(2), &[|a| a.next = Some(3)]),
        (4, On::Message(9), &[|a| a.next = Some(5)]),
    ];
    const OTHER: Rules = &[
        (0, On::Message(0), &[|a| (a.next, a.sends) = (Some(1), vec![(0, 0)])]),
        (1, On::Message(0), &[|a| (a.next, a.sends) = (Some(0), vec![(0, 1)])]),
        (0, On::Message(1), &[|a| (a.next, a.sends) = (Some(1), vec![(0, 0)])]),
        (1, On::Message(1), &[|a| (a.next, a.sends) = (Some(0), vec![(0, 1)])]),
    ];
    const THIRD: Rules =
        &[(0, On::Call(0), &[|a| a.next = Some(3)]), (3, On::Call(1), &[|a| a.next = Some(6)])];
    for seen in PARTS {
        preserves(|| nodes(&[RULES, OTHER, THIRD]).call(2, 0).call(2, 1), seen);
    }
}

#[test]
fn a_step_that_no_property_sees_and_that_is_undone_does_not_come_first_for_ever() {
    const TURNS: Rules = &[
        (0, On::Start, &[|a| a.sends = vec![(0, 0), (1, 0)]]),
        (0, On::Message(0), &[|a| (a.next, a.sends) = (Some(4), vec![(0, 0)])]),
        (4, On::Message(0), &[|a| (a.next, a.sends) = (Some(0), vec![(0, 0)])]),
    ];
    const MOVES: Rules = &[
        (0, On::Message(0), &[|a| a.next = Some(1)]),
        (0, On::Call(0), &[|a| a.next = Some(2)]),
        (1, On::Call(0), &[|a| a.next = Some(3)]),
    ];
    for seen in [PARTS[0], PARTS[1], PARTS[2], |state| state & 3] {
        preserves(|| nodes(&[TURNS, MOVES]).call(1, 0), seen);
    }
}

/// Moves where properties see it. Two of these, so that something else comes first where it may.
const MOVES: Rules = &[
    (0, On::Call(0), &[|a| a.next = Some(2)]),
    (2, On::Call(1), &[|a| a.next = Some(3)]),
    // Only from the second start.
    (0, On::Message(9), &[|a| a.next = Some(8)]),
];

/// Sees that, and nothing of the node that turns.
const OF_MOVES: Seen8 = |state| state & 10;

#[test]
fn a_message_that_comes_once_from_one_start_and_for_ever_from_another() {
    const TURNS: Rules = &[
        (
            0,
            On::Start,
            &[|a| a.sends = vec![(0, 0)], |a| (a.next, a.sends) = (Some(1), vec![(0, 0), (1, 9)])],
        ),
        (0, On::Message(0), &[|a| a.next = Some(4)]),
        (1, On::Message(0), &[|a| (a.next, a.sends) = (Some(5), vec![(0, 0)])]),
        (5, On::Message(0), &[|a| (a.next, a.sends) = (Some(1), vec![(0, 0)])]),
    ];
    for seen in [PARTS[0], PARTS[2], OF_MOVES] {
        preserves(|| nodes(&[TURNS, MOVES, MOVES]).call(1, 0).call(1, 1).call(2, 0), seen);
    }
}

#[test]
fn a_step_that_is_undone_only_from_the_second_start() {
    const TURNS: Rules = &[
        (
            0,
            On::Start,
            &[
                |a| (a.next, a.sends) = (Some(1), vec![(0, 0)]),
                |a| (a.next, a.sends) = (Some(1), vec![(0, 0), (0, 1), (1, 9)]),
            ],
        ),
        (1, On::Message(0), &[|a| (a.next, a.sends) = (Some(5), vec![(0, 0)])]),
        (5, On::Message(1), &[|a| (a.next, a.sends) = (Some(1), vec![(0, 1)])]),
    ];
    for seen in [PARTS[0], PARTS[2], OF_MOVES] {
        preserves(|| nodes(&[TURNS, MOVES, MOVES]).call(1, 0).call(1, 1).call(2, 0), seen);
    }
}
