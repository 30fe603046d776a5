//! Lost and doubled messages, crashes and restarts.

use super::*;

#[test]
fn a_lost_message_ends_a_run_and_a_doubled_one_goes_on() {
    const SENDER: Rules = &[
        (0, On::Start, &[|a| a.sends = vec![(1, 0), (2, 0)]]),
        (0, On::Message(1), &[|a| a.next = Some(1)]),
        (1, On::Message(1), &[|a| a.next = Some(2)]),
    ];
    const ANSWERS: Rules = &[
        (0, On::Message(0), &[|a| (a.next, a.sends) = (Some(1), vec![(0, 1)])]),
        (1, On::Message(0), &[|a| (a.next, a.sends) = (Some(3), vec![(0, 1)])]),
    ];
    for (drops, duplications) in [(1, 0), (0, 1), (1, 1), (2, 0)] {
        for network in [Network::unordered(), Network::ordered()] {
            let network = network.drops(drops).duplications(duplications);
            for seen in [PARTS[0], PARTS[1]] {
                let build = || nodes(&[SENDER, ANSWERS, ANSWERS]).network(network);
                preserves(build, seen);
            }
        }
    }
}

#[test]
fn a_node_that_crashes_forgets_what_it_has_not_sent() {
    const RULES: Rules = &[
        (0, On::Call(0), &[|a| (a.next, a.set) = (Some(1), vec![0])]),
        (1, On::Timer(0), &[|a| (a.next, a.sends) = (Some(2), vec![(1, 0)])]),
        (1, On::Restart, &[|a| a.next = Some(3)]),
        (3, On::Call(1), &[|a| a.next = Some(4)]),
        (2, On::Call(1), &[|a| a.next = Some(5)]),
    ];
    const OTHER: Rules = &[(0, On::Message(0), &[|a| a.next = Some(1)])];
    for faults in [Faults::none().crashes(1), Faults::none().crashes(1).restarts()] {
        for seen in PARTS {
            let system = || nodes(&[RULES, OTHER]).faults(faults.clone());
            preserves(|| system().call(0, 0).call(0, 1), seen);
        }
    }
}
