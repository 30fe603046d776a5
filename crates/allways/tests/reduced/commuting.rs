//! What commutes and what does not: timers, choices, queues, undone steps.

use super::*;

#[test]
fn a_timer_that_was_cancelled_does_not_fire() {
    // The call cancels the timer. Were it to fire all the same, both orders would lead to state 3.
    const RULES: Rules = &[
        (0, On::Start, &[|a| a.set = vec![0]]),
        (0, On::Timer(0), &[|a| a.next = Some(1)]),
        (0, On::Call(0), &[|a| (a.next, a.cancel) = (Some(2), vec![0])]),
        (1, On::Call(0), &[|a| (a.next, a.cancel) = (Some(3), vec![0])]),
        (2, On::Timer(0), &[|a| a.next = Some(3)]),
    ];
    for seen in PARTS {
        preserves(|| nodes(&[RULES]).call(0, 0), seen);
    }
}

#[test]
fn a_timer_that_may_not_fire_any_more_is_not_possible() {
    // Two timers, one of which may fire.
    const RULES: Rules = &[
        (0, On::Start, &[|a| a.set = vec![0, 1]]),
        (0, On::Timer(0), &[|a| a.next = Some(1)]),
        (0, On::Timer(1), &[|a| a.next = Some(2)]),
        (1, On::Timer(1), &[|a| a.next = Some(3)]),
        (2, On::Timer(0), &[|a| a.next = Some(3)]),
    ];
    for bound in [1, 2] {
        for seen in PARTS {
            preserves(|| nodes(&[RULES]).timers(bound), seen);
        }
    }
}

#[test]
fn a_message_that_changes_nothing_is_taken_from_its_queue() {
    const SENDS: Rules = &[(0, On::Start, &[|a| a.sends = vec![(1, 0), (1, 1), (1, 0)]])];
    const TAKES: Rules = &[
        (0, On::Message(1), &[|a| a.next = Some(1)]),
        (1, On::Message(0), &[|a| a.next = Some(2)]),
        (0, On::Call(0), &[|a| a.next = Some(3)]),
        (1, On::Call(0), &[|a| (a.next, a.sends) = (Some(3), vec![(0, 0)])]),
        (3, On::Message(1), &[|a| a.next = Some(1)]),
    ];
    for network in [Network::unordered(), Network::ordered(), Network::ordered().drops(1)] {
        for seen in PARTS {
            preserves(|| nodes(&[SENDS, TAKES]).network(network).call(1, 0), seen);
        }
    }
}

#[test]
fn a_choice_some_of_whose_alternatives_change_nothing() {
    // What call 1 may do is less in state 0 than in state 1, and other things.
    const RULES: Rules = &[
        (0, On::Call(1), &[|_| (), |a| a.next = Some(2), |a| a.stutter = true]),
        (0, On::Call(2), &[|a| a.next = Some(1), |_| ()]),
        (1, On::Call(1), &[|a| a.next = Some(3), |_| (), |a| a.sends = vec![(1, 0)]]),
        (2, On::Call(2), &[|a| a.next = Some(3), |a| a.next = Some(4)]),
        (3, On::Call(3), &[|a| a.next = Some(4), |a| a.next = Some(2), |a| a.stutter = true]),
        (2, On::Call(3), &[|a| a.stutter = true, |a| a.next = Some(5)]),
    ];
    const OTHER: Rules = &[(0, On::Message(0), &[|a| a.next = Some(1), |a| a.next = Some(2)])];
    for network in [Network::unordered(), Network::ordered()] {
        for seen in PARTS {
            let system = || nodes(&[RULES, OTHER]).network(network);
            preserves(|| system().call(0, 1).call(0, 2).call(0, 3), seen);
        }
    }
}

#[test]
fn two_steps_that_put_messages_into_one_queue() {
    const SENDER: Rules = &[
        (0, On::Call(0), &[|a| a.sends = vec![(1, 0)]]),
        (0, On::Call(1), &[|a| a.sends = vec![(1, 1)]]),
        (0, On::Call(2), &[|a| a.sends = vec![(2, 0)]]),
    ];
    const OTHER: Rules = &[
        (0, On::Message(0), &[|a| a.next = Some(1)]),
        (1, On::Message(1), &[|a| (a.next, a.sends) = (Some(2), vec![(2, 1)])]),
        (0, On::Message(1), &[|a| a.next = Some(3)]),
        (3, On::Message(0), &[|a| (a.next, a.sends) = (Some(4), vec![(2, 1)])]),
    ];
    for network in [Network::unordered(), Network::ordered(), Network::ordered().duplications(1)] {
        for seen in PARTS {
            let system = || nodes(&[SENDER, OTHER, OTHER]).network(network);
            preserves(|| system().call(0, 0).call(0, 1).call(0, 2), seen);
        }
    }
}

#[test]
fn two_steps_that_are_both_possible_in_both_orders_and_lead_apart() {
    const RULES: Rules = &[
        (0, On::Call(1), &[|a| a.next = Some(1)]),
        (0, On::Call(2), &[|a| a.next = Some(2)]),
        (1, On::Call(2), &[|a| a.next = Some(3)]),
        (2, On::Call(1), &[|a| a.next = Some(4)]),
    ];
    for seen in PARTS {
        preserves(|| nodes(&[RULES]).call(0, 1).call(0, 2), seen);
    }
}

#[test]
fn two_steps_that_lead_together_and_send_other_things_in_the_other_order() {
    // What call 1 sends depends on whether call 2 came before.
    const SENDER: Rules = &[
        (0, On::Call(1), &[|a| (a.next, a.sends) = (Some(1), vec![(1, 1)])]),
        (0, On::Call(2), &[|a| a.next = Some(2)]),
        (1, On::Call(2), &[|a| a.next = Some(3)]),
        (2, On::Call(1), &[|a| (a.next, a.sends) = (Some(3), vec![(1, 2)])]),
    ];
    const OTHER: Rules = &[
        (0, On::Message(1), &[|a| a.next = Some(1)]),
        (0, On::Message(2), &[|a| a.next = Some(2)]),
    ];
    for network in [Network::unordered(), Network::ordered(), Network::duplicating()] {
        for seen in PARTS {
            preserves(|| nodes(&[SENDER, OTHER]).network(network).call(0, 1).call(0, 2), seen);
        }
    }
}

#[test]
fn what_comes_from_a_node_that_is_looked_at_later() {
    // The last node sends to the one before it, where that does not commute with a call.
    const IDLE: Rules = &[];
    const TAKES: Rules = &[
        (0, On::Call(1), &[|a| a.next = Some(1)]),
        (0, On::Message(0), &[|a| a.next = Some(2)]),
        (1, On::Message(0), &[|a| a.next = Some(3)]),
        (2, On::Call(1), &[|a| a.next = Some(4)]),
    ];
    const SENDER: Rules = &[(0, On::Call(0), &[|a| (a.next, a.sends) = (Some(1), vec![(1, 0)])])];
    for seen in PARTS {
        preserves(|| nodes(&[IDLE, TAKES, SENDER]).call(1, 1).call(2, 0), seen);
    }
}

#[test]
fn a_call_that_another_node_releases_does_not_wait_behind_a_message() {
    // Node 0 makes call 1 and so releases call 2 of node 1, to which it has sent a message before. They do not commute.
    const SENDER: Rules =
        &[(0, On::Start, &[|a| a.sends = vec![(1, 0)]]), (0, On::Call(1), &[|a| a.next = Some(1)])];
    const TAKES: Rules = &[
        (0, On::Message(0), &[|a| a.next = Some(1)]),
        (0, On::Call(2), &[|a| a.next = Some(2)]),
        (1, On::Call(2), &[|a| a.next = Some(3)]),
        (2, On::Message(0), &[|a| a.next = Some(4)]),
    ];
    for network in [Network::unordered(), Network::ordered()] {
        for seen in PARTS {
            let system = || nodes(&[SENDER, TAKES]).network(network);
            preserves(|| system().calls_in_sequence([(0, 1), (1, 2)]).call(0, 3), seen);
        }
    }
}
