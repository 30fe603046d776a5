//! Handlers that panic: a reduced search must find that.

use super::*;
use allways::Cause;

const PORS: [Por; 4] = [Por::Needed, Por::Invariant, Por::Terminals, Por::Views];

/// Every reduced search finds a handler that panics, while properties see this of the nodes.
#[track_caller]
fn panics(build: impl Fn() -> System<Table>, seen: Seen8) {
    for (name, options) in reduced(&PORS) {
        let part = view(move |node: &Table| seen(node.state));
        let outcome = build().always("anything", part, |_| true).try_check(&options).unwrap();
        let cause = outcome.violation.map(|violation| violation.cause);
        assert_eq!(cause, Some(Cause::Panic), "{name}");
    }
}

#[test]
fn a_handler_that_panics_after_another_step_only() {
    // Call 2 panics after call 1, and otherwise leads to where call 1 leads.
    const RULES: Rules = &[
        (0, On::Call(1), &[|a| a.next = Some(1)]),
        (0, On::Call(2), &[|a| a.next = Some(2)]),
        (1, On::Call(2), &[|a| a.panic = true]),
        (2, On::Call(1), &[|a| a.next = Some(1)]),
    ];
    for seen in PARTS {
        panics(|| nodes(&[RULES]).call(0, 1).call(0, 2), seen);
        panics(|| nodes(&[RULES]).call(0, 2).call(0, 1), seen);
    }
}

#[test]
fn a_handler_that_panics_where_nothing_else_matters() {
    const RULES: Rules =
        &[(0, On::Call(1), &[|a| a.next = Some(1)]), (1, On::Call(2), &[|a| a.panic = true])];
    for seen in PARTS {
        panics(|| nodes(&[RULES]).call(0, 1).call(0, 2), seen);
    }
}

#[test]
fn a_handler_that_panics_is_not_put_off_for_ever() {
    const TURNS: Rules = &[
        (0, On::Start, &[|a| a.sends = vec![(0, 0)]]),
        (0, On::Message(0), &[|a| (a.next, a.sends) = (Some(4), vec![(0, 0)])]),
        (4, On::Message(0), &[|a| (a.next, a.sends) = (Some(0), vec![(0, 0)])]),
    ];
    // Calls 0 and 2 do not commute, so it seems cheaper to let the other node turn.
    const FAILS: Rules = &[
        (0, On::Call(0), &[|a| a.next = Some(4)]),
        (4, On::Call(1), &[|a| a.panic = true]),
        (0, On::Call(2), &[|a| a.next = Some(8)]),
        (4, On::Call(2), &[|a| a.next = Some(12)]),
        (8, On::Call(0), &[|a| a.next = Some(16)]),
    ];
    for seen in PARTS {
        panics(|| nodes(&[TURNS, FAILS]).call(1, 0).call(1, 1).call(1, 2), seen);
    }
}
