//! Events of which there is at most one in a run, and those that only seem so.

use super::*;

#[test]
fn a_state_met_with_less_used_up_passes_that_on() {
    // The first way to state 1 uses up call 1; the second, longer one does not: so call 1 may still
    // come in state 3, which state 1 leads to.
    const RULES: Rules = &[
        (0, On::Call(1), &[|a| a.next = Some(1)]),
        (0, On::Call(2), &[|a| a.next = Some(2)]),
        (2, On::Call(4), &[|a| a.next = Some(1)]),
        (1, On::Call(3), &[|a| a.next = Some(3)]),
        (3, On::Call(1), &[|a| a.next = Some(4)]),
    ];
    let build = || nodes(&[RULES]).call(0, 1).call(0, 2).call(0, 3).call(0, 4);
    preserves(build, |state| state);
    preserves(build, |state| u8::from(state == 4));
}

#[test]
fn what_is_sent_whenever_something_happens_may_come_more_than_once() {
    const SENDER: Rules = &[(0, On::Call(0), &[|a| a.sends = vec![(1, 0)]])];
    const COUNTS: Rules = &[
        (0, On::Message(0), &[|a| a.next = Some(1)]),
        (1, On::Message(0), &[|a| a.next = Some(2)]),
    ];
    for network in [Network::unordered(), Network::ordered()] {
        for seen in PARTS {
            let system = || nodes(&[SENDER, COUNTS]).network(network);
            preserves(|| system().call(0, 0).call(0, 0), seen);
        }
    }
}

#[test]
fn what_one_step_sends_twice_comes_twice() {
    // The call commutes with the first of the two messages and not with the second.
    const SENDER: Rules =
        &[(0, On::Call(0), &[|a| (a.next, a.sends) = (Some(1), vec![(1, 0), (1, 0)])])];
    const TAKES: Rules = &[
        (0, On::Message(0), &[|a| a.next = Some(1)]),
        (1, On::Message(0), &[|a| a.next = Some(2)]),
        (0, On::Call(5), &[|a| a.next = Some(10)]),
        (1, On::Call(5), &[|a| a.next = Some(11)]),
        (2, On::Call(5), &[|a| a.next = Some(20)]),
        (10, On::Message(0), &[|a| a.next = Some(11)]),
        (11, On::Message(0), &[|a| a.next = Some(12)]),
    ];
    for network in [Network::unordered(), Network::ordered()] {
        for seen in PARTS {
            preserves(|| nodes(&[SENDER, TAKES]).network(network).call(0, 0).call(1, 5), seen);
        }
    }
}
