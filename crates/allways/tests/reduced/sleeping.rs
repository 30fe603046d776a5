//! Sleep sets: what sleeps in a state, and wakes up.

use super::*;

#[test]
fn what_sleeps_in_a_state_wakes_up_when_the_state_is_met_another_way() {
    // Three nodes that count, and one whose steps lead together: many ways to every state.
    const COUNTS: Rules = &[
        (0, On::Call(0), &[|a| a.next = Some(1)]),
        (0, On::Call(1), &[|a| a.next = Some(2)]),
        (1, On::Call(1), &[|a| (a.next, a.sends) = (Some(3), vec![(3, 0)])]),
        (2, On::Call(0), &[|a| (a.next, a.sends) = (Some(3), vec![(3, 0)])]),
    ];
    const GATHERS: Rules = &[
        (0, On::Message(0), &[|a| a.next = Some(1), |a| a.next = Some(2)]),
        (1, On::Message(0), &[|a| a.next = Some(2)]),
        (2, On::Message(0), &[|a| a.next = Some(3), |a| a.next = Some(1)]),
    ];
    let build = || {
        let system = nodes(&[COUNTS, COUNTS, COUNTS, GATHERS]);
        (0..3).fold(system, |system, node| system.call(node, 0).call(node, 1))
    };
    for seen in [PARTS[1], PARTS[2]] {
        let (views, ends) = met(&build, seen, &classic());
        for por in [Por::Views, Por::Terminals] {
            for (name, options) in reduced(&[por]) {
                let (found, terminal) = met(&build, seen, &options);
                assert!(por != Por::Views || found == views, "{name}");
                assert_eq!(terminal, ends, "{name}");
            }
        }
    }
}

#[test]
fn what_may_do_more_after_another_step_does_not_sleep_behind_it() {
    // After call 2, call 1 has a second alternative.
    const RULES: Rules = &[
        (0, On::Call(1), &[|a| a.next = Some(1)]),
        (0, On::Call(2), &[|a| a.next = Some(2)]),
        (1, On::Call(2), &[|a| a.next = Some(3)]),
        (2, On::Call(1), &[|a| a.next = Some(3), |a| a.next = Some(4)]),
    ];
    for seen in PARTS {
        preserves(|| nodes(&[RULES]).call(0, 1).call(0, 2), seen);
        preserves(|| nodes(&[RULES]).call(0, 2).call(0, 1), seen);
    }
}
