//! Each way must be kept that one wrong step of a reduction would lose.

use super::{On, is_reached, lmc, ruled, told_once};
use allways::prelude::*;

#[test]
fn equal_calls_released_by_different_nodes_are_two() {
    is_reached(
        ruled(
            3,
            &[
                (0, 0, On::Call, 1, &[]),
                (1, 0, On::Call, 1, &[]),
                (2, 0, On::Call, 11, &[]),
                (2, 11, On::Call, 12, &[]),
            ],
        )
        .calls_in_sequence([(0, ()), (2, ())])
        .calls_in_sequence([(1, ()), (2, ())]),
        &[1, 1, 12],
        |state| state,
    );
}

#[test]
fn what_only_the_second_start_has_is_used() {
    is_reached(
        ruled(
            2,
            &[
                (0, 0, On::Start, 0, &[]),
                (0, 0, On::Start, 5, &[(1, 0)]),
                (0, 5, On::Timer(0), 6, &[]),
                (1, 0, On::Message(0), 9, &[]),
            ],
        ),
        &[6, 9],
        |state| state,
    );
}

#[test]
fn a_second_crash_happens() {
    let system = ruled(2, &[]).faults(Faults::none().crashes(2));
    is_reached(system, &[100, 100], |state| state);
}

#[test]
fn a_message_that_is_not_consumed_is_used_twice() {
    is_reached(
        ruled(
            2,
            &[
                (0, 0, On::Start, 0, &[(1, 0)]),
                (1, 0, On::Message(0), 1, &[]),
                (1, 1, On::Message(0), 2, &[]),
            ],
        )
        .network(Network::duplicating()),
        &[0, 2],
        |state| state,
    );
}

#[test]
fn a_step_that_sends_something_else_does_not_do_instead() {
    // By the first timer the node comes where it can send as often, but only what the other needs second.
    is_reached(
        ruled(
            2,
            &[
                (0, 0, On::Timer(0), 1, &[]),
                (0, 0, On::Timer(1), 2, &[(1, 0)]),
                (0, 1, On::Timer(1), 3, &[(1, 1)]),
                (0, 2, On::Timer(0), 4, &[(1, 1)]),
                (0, 3, On::Timer(2), 4, &[(1, 1)]),
                (1, 0, On::Message(0), 5, &[]),
                (1, 5, On::Message(1), 9, &[]),
            ],
        ),
        &[0, 9],
        |state| if state == 9 { 9 } else { 0 },
    );
}

#[test]
fn a_call_made_before_a_crash_is_not_made_again_after_it() {
    let system = ruled(1, &[(0, 0, On::Call, 1, &[]), (0, 101, On::Call, 2, &[])])
        .call(0, ())
        .faults(Faults::none().crashes(1).restarts())
        .always("once", view(|node: &super::Ruled| node.0), |states| states[0] != 2);
    let outcome = system.try_check(&lmc()).unwrap();
    assert_eq!(outcome.engine, "lmc views");
    assert!(outcome.assert_holds().complete);
}

#[test]
fn a_property_that_panics_where_a_run_leads_is_to_blame() {
    let system = told_once().always("untold", view(|c: &super::Counter| c.told), |told| {
        assert_eq!(told[1], 0, "it was told");
        true
    });
    for engine in [Engine::Global, Engine::Lmc] {
        let error = system.try_check(&Options { engine, ..lmc() }).unwrap_err().to_string();
        assert!(error.contains("it was told"), "{error}");
    }
}

/// Asserts that what it is told is not this.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Picky(u8);

impl Node for Picky {
    type Msg = u8;
    type Timer = Never;
    type Call = u8;
    type Output = Never;

    fn on_message(&mut self, _: Id, msg: u8, _: &mut Cx<'_, Self>) {
        assert_ne!(self.0, msg, "not this");
    }

    fn on_call(&mut self, call: u8, cx: &mut Cx<'_, Self>) {
        // It would panic if it were told this now; when it is told, it knows something else.
        cx.send(cx.id(), self.0);
        self.0 = call;
        cx.send(1, call);
    }
}

#[test]
fn a_panic_is_found_though_another_node_only_seems_to() {
    // The first node seems to be told before it is called.
    let system = System::new([Picky(0), Picky(7)]).call(0, 7).always(
        "fine",
        view(|picky: &Picky| picky.0),
        |_| true,
    );
    let outcome = system.try_check(&lmc()).unwrap();
    assert_eq!(outcome.engine, "lmc views");
    let violation = outcome.violation.expect("the second node panics");
    assert!(violation.property.contains("not this"), "{}", violation.property);
}

#[test]
fn nothing_is_said_of_conjuncts_that_were_not_looked_at() {
    // The first of them is true after two events.
    let told = conjunct("told", |told: &[u32]| told[1] == 1);
    let never = conjunct("the first is told", |told: &[u32]| told[0] == 1);
    let seen = view(|counter: &super::Counter| counter.told);
    let system = told_once().sometimes_all("both", seen, [told, never]);
    let global = system.try_check(&Options { engine: Engine::Global, ..lmc() }).unwrap();
    assert_eq!(global.goals[0].conjuncts[0].first_true, Some(2));
    let outcome = system.try_check(&lmc()).unwrap();
    assert_eq!((&*outcome.engine, outcome.verdict), ("lmc views", Verdict::Violated));
    assert!(!outcome.to_string().contains("is never true"), "{outcome}");
}
