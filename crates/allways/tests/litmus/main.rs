//! Litmus systems: small ones, of which it is known how many traces they have. Each number is
//! given in the test, found again from plain data by going through all runs, and then asked of the engines.

mod generated;
mod naive;
mod program;

use allways::Reduction;
use allways::prelude::*;
use naive::Known;
use program::{Program, Takes, Wire, log};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// What an engine found: its outcome, and the views that it has seen.
fn check(program: &Program, options: Options) -> (Outcome, BTreeSet<Vec<Vec<u8>>>) {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let record = Arc::clone(&seen);
    let system = program.system().always("record", log(), move |logs| {
        record.lock().unwrap().insert(logs.to_vec());
        true
    });
    let outcome = system.try_check(&options).unwrap();
    assert!(outcome.violation.is_none());
    // Reduction `naive` does not claim to see everything.
    let claims = options.reduction != Reduction::Naive;
    assert_eq!(outcome.complete, claims);
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (outcome, seen)
}

/// What engine `dpor` does with a reduction: how many runs it completes, and how many a sleep set blocks.
fn reduced(program: &Program, known: &Known, reduction: Reduction) -> (u64, u64) {
    let options = Options { engine: Engine::Dpor, reduction, ..Options::default() };
    let (outcome, seen) = check(program, options);
    match reduction {
        Reduction::Naive => assert!(seen.is_subset(&known.logs), "{program:?}"),
        _ => assert_eq!(seen, known.logs, "{reduction:?}: {program:?}"),
    }
    let statistics = outcome.statistics;
    (statistics.runs.unwrap(), statistics.blocked_runs.unwrap())
}

/// That the system has so many traces, and that engines agree.
fn has_traces(program: &Program, traces: u64) -> Known {
    let known = naive::explore(program, u64::MAX);
    assert_eq!(known.traces, traces, "{program:?}");
    // The system is what the plain data say.
    let (outcome, seen) = check(program, Options { engine: Engine::Global, ..Options::default() });
    assert_eq!(outcome.statistics.unique_states, Some(known.states));
    assert_eq!(seen, known.logs);
    // All runs, or one for each trace.
    assert_eq!(reduced(program, &known, Reduction::None), (known.runs, 0), "none: {program:?}");
    let (runs, _) = reduced(program, &known, Reduction::Source);
    assert_eq!(runs, traces, "source: {program:?}");
    assert_eq!(reduced(program, &known, Reduction::Optimal), (traces, 0), "optimal: {program:?}");
    // The others may complete several runs of one trace, but miss none.
    for reduction in [Reduction::Naive, Reduction::Force, Reduction::Ds] {
        let (runs, _) = reduced(program, &known, reduction);
        let traces = if reduction == Reduction::Naive { 1 } else { traces };
        assert!((traces..=known.runs).contains(&runs), "{reduction:?}: {runs} runs of {program:?}");
    }
    known
}

fn factorial(n: u64) -> u64 {
    (1..=n).product()
}

/// Node 0 gets a message from each of the others. Each of them sends when it starts.
fn race(k: u8) -> Program {
    let nodes = usize::from(k) + 1;
    (1..=k).fold(Program::new(nodes), |program, i| program.start(usize::from(i), 0, i))
}

#[test]
fn race_of_messages_to_one_node() {
    for k in 1..=5 {
        let known = has_traces(&race(k), factorial(k.into()));
        assert_eq!(known.runs, known.traces);
    }
}

#[test]
fn race_of_messages_that_calls_make_their_senders_send() {
    for k in 1..=4u8 {
        let nodes = usize::from(k) + 1;
        let program = (1..=k).fold(Program::new(nodes), |program, i| {
            program.call(usize::from(i), 10 + i).on(10 + i, [(0, i)])
        });
        let known = has_traces(&program, factorial(k.into()));
        // All orders of 2k events in which each call comes before its message.
        assert_eq!(known.runs, factorial(2 * u64::from(k)) >> k);
    }
}

#[test]
fn race_of_messages_on_other_networks() {
    for k in 1..=4 {
        has_traces(&race(k).wire(Wire::Ordered), factorial(k.into()));
        // Each message stays in flight when it has been taken.
        let again = race(k).wire(Wire::Duplicating).takes(0, Takes::EachOnce);
        has_traces(&again, factorial(k.into()));
    }
}

#[test]
fn messages_on_one_channel() {
    // In every order on an unordered network, in one on an ordered one.
    let program = (1..=4).fold(Program::new(2), |program, msg| program.start(1, 0, msg));
    has_traces(&program, 24);
    has_traces(&program.wire(Wire::Ordered), 1);
}

#[test]
fn equal_copies_of_a_message() {
    // Nobody can tell which of them came first.
    let program = Program::new(2).call(1, 9).on(9, [(0, 1), (0, 1), (0, 1)]);
    has_traces(&program, 1);
    // With another message, it matters after how many of them it comes.
    has_traces(&program.start(1, 0, 2), 4);
}

#[test]
fn independent_nodes_with_a_call_each() {
    for k in 1..=6u8 {
        let program =
            (0..k).fold(Program::new(k.into()), |program, node| program.call(node.into(), node));
        let known = has_traces(&program, 1);
        assert_eq!(known.runs, factorial(k.into()));
    }
}

#[test]
fn independent_pairs() {
    // Each node has a race of two.
    for pairs in 1..=3u8 {
        let program = (0..pairs).fold(Program::new(pairs.into()), |program, node| {
            program.call(node.into(), 2 * node).call(node.into(), 2 * node + 1)
        });
        let known = has_traces(&program, 1 << pairs);
        assert_eq!(known.runs, factorial(2 * u64::from(pairs)));
    }
}

/// A token goes through so many nodes of a ring, one after the other, from a node on.
fn token(mut program: Program, from: usize, hops: usize, first: u8) -> Program {
    let nodes = program.takes.len();
    for hop in 1..hops {
        let (msg, to) = (first + hop as u8, (from + hop) % nodes);
        program = program.on(msg - 1, [(to, msg)]);
    }
    program.call(from, first)
}

#[test]
fn token_in_a_ring() {
    for nodes in 1..=4 {
        for hops in 1..=9 {
            let known = has_traces(&token(Program::new(nodes), 0, hops, 0), 1);
            assert_eq!(known.runs, 1);
        }
    }
}

#[test]
fn two_tokens_from_neighbours_once_around() {
    // The first token visits nodes 0, 1, …, n-1; the second 1, …, n-1, 0. At node i > 0 the first comes
    // with its hop i+1 and the second with its hop i: either may be the first there, whatever happens at other such
    // nodes, since hop i+1 of the first and hop i of the second say nothing of later nodes, and earlier hops only help.
    // At node 0, the last hop of the second comes before the first hop of the first only if
    // all other hops do. So there are 2^(n-1) traces in which the first is first at node 0, and one more.
    for nodes in 2..=5 {
        let tokens = token(token(Program::new(nodes), 0, nodes, 0), 1, nodes, 100);
        has_traces(&tokens, (1 << (nodes - 1)) + 1);
    }
}

#[test]
fn two_tokens_from_one_node_once_around() {
    // They may overtake each other between any two nodes, unless the network is ordered.
    for nodes in 2..=4 {
        let tokens = token(token(Program::new(nodes), 0, nodes, 0), 0, nodes, 100);
        has_traces(&tokens, 1 << nodes);
        has_traces(&tokens.wire(Wire::Ordered), 2);
    }
}

#[test]
fn broadcast_and_gather() {
    // Node 0 sends to n others, which answer, and takes the answers in any order.
    for n in 1..=4u8 {
        let others = 1..=n;
        let program = Program::new(usize::from(n) + 1)
            .call(0, 100)
            .on(100, others.clone().map(|i| (usize::from(i), i)));
        let program = others.fold(program, |program, i| program.on(i, [(0, 10 + i)]));
        has_traces(&program, factorial(n.into()));
    }
}

#[test]
fn broadcasts_that_cross() {
    // Each of n nodes is called and sends to all others: each takes its call and n-1 messages. By
    // hand for two: at each node the call or the message may be the first, but not the message at both,
    // since each is sent by the call at the other.
    let program = |n: usize| {
        (0..n).fold(Program::new(n), |program, node| {
            let msg = 10 * node as u8;
            let others = (0..n).filter(|&to| to != node).map(|to| (to, msg + 1 + to as u8));
            program.call(node, msg).on(msg, others)
        })
    };
    has_traces(&program(2), 3);
    // For three, draw an arrow from each node to those that hear of it before their own call: no circles.
    // A node without an arrow to it takes the two messages in 2 orders after the call, one with one arrow
    // has 1 order, one with two has 2. Without arrows 8; with one arrow 6 graphs of 4 each; a path 6 of 2, a fork
    // 3 of 2, a join 3 of 8; with three arrows 6 of 4.
    has_traces(&program(3), 8 + 6 * 4 + 6 * 2 + 3 * 2 + 3 * 8 + 6 * 4);
}

#[test]
fn only_the_first_messages_are_taken() {
    // What comes too late changes nothing and stays in flight: it is disabled by the others.
    for k in 1..=4u8 {
        for most in 1..=k {
            let program = race(k).takes(0, Takes::First(most.into()));
            has_traces(&program, factorial(k.into()) / factorial(u64::from(k - most)));
        }
    }
}

#[test]
fn a_late_message_is_disabled_by_what_others_caused() {
    // Node 0 takes two of four: a call and a message that are there, and two that come by nodes 1 and 2.
    let program = Program::new(3)
        .takes(0, Takes::First(2))
        .call(0, 0)
        .start(2, 0, 1)
        .call(1, 10)
        .on(10, [(0, 2)])
        .call(2, 20)
        .on(20, [(0, 3)]);
    // Whichever two of the four are taken, in either order. The steps at nodes 1 and 2 are always taken.
    has_traces(&program, 12);
}

#[test]
fn choices_of_independent_nodes() {
    // Each result of each choice is a trace of its own.
    for k in 1..=3u8 {
        let program = (0..k).fold(Program::new(k.into()), |program, node| {
            let me = usize::from(node);
            program.call(me, node).on(node, [(me, 10 + node)]).on(node, [(me, 20 + node)])
        });
        has_traces(&program, 1 << k);
    }
}

#[test]
fn a_choice_makes_a_race_or_not() {
    // Node 1 sends to node 0 or does not; node 0 is called. Without the message 1 trace, with it 2.
    let program = Program::new(2).call(0, 0).call(1, 1).on(1, [(0, 2)]).on(1, []);
    has_traces(&program, 3);
    // Two of them: nothing, one message (two ways, 2 traces each), two messages.
    let program = Program::new(3)
        .call(0, 0)
        .call(1, 1)
        .call(2, 2)
        .on(1, [(0, 11)])
        .on(1, [])
        .on(2, [(0, 12)])
        .on(2, []);
    has_traces(&program, 1 + 2 * 2 + 6);
}

/// The paper's figure 3: e1 is handled at node 0; e2 at node 1 sends e3 to node 0.
fn figure_3() -> Program {
    Program::new(2).call(0, 1).call(1, 2).on(2, [(0, 3)])
}

#[test]
fn figure_3_of_the_paper() {
    let known = has_traces(&figure_3(), 2);
    assert_eq!(known.runs, 3);
    // After [e1, e2, e3], naive puts e2 before e1, and goes on with [e1, e3] and with [e3, e1]; force
    // leaves out the first, which is the same trace as before.
    assert_eq!(reduced(&figure_3(), &known, Reduction::Naive), (3, 0));
    for reduction in [Reduction::Force, Reduction::Ds, Reduction::Source, Reduction::Optimal] {
        assert_eq!(reduced(&figure_3(), &known, reduction), (2, 0), "{reduction:?}");
    }
}

#[test]
fn a_message_that_races_with_one_that_takes_a_detour() {
    // e1 at node 0 as in figure 3, but the other comes to node 0 through n nodes.
    for n in 1..=4u8 {
        let program = (1..n).fold(Program::new(usize::from(n) + 1), |program, i| {
            program.on(i, [(usize::from(i) + 1, i + 1)])
        });
        let program = program.on(n, [(0, 100)]).call(0, 0).call(1, 1);
        has_traces(&program, 2);
    }
}

#[test]
fn a_violation_on_a_cut_that_no_run_passes_through() {
    // Two nodes take a call and a message each. That both have taken one is in the middle: no run that
    // takes all steps of one node before the other's ever stands there.
    let program = (0..2).fold(Program::new(2), |program, node| {
        program.call(node, 10 + node as u8).start(node, node, node as u8)
    });
    for reduction in [
        Reduction::None,
        Reduction::Naive,
        Reduction::Force,
        Reduction::Ds,
        Reduction::Source,
        Reduction::Optimal,
    ] {
        let options =
            Options { engine: Engine::Dpor, reduction, minimise: false, ..Options::default() };
        let system = program
            .system()
            .always("not both", log(), |logs| !logs.iter().all(|log| log.len() == 1));
        let outcome = system.try_check(&options).unwrap();
        let violation = outcome.assert_violated("not both");
        assert_eq!(violation.run.events.len(), 2, "{reduction:?}");
    }
}

#[test]
fn a_choice_after_a_race_with_a_third_asleep() {
    // Node 1 is called twice, and at one of the calls chooses whether to send to node 0, which is called
    // too. Without the message the 2 orders at node 1; with it these and 2 orders at node 0.
    let program = Program::new(2).call(1, 0).call(1, 1).call(0, 3).on(0, []).on(0, [(0, 2)]);
    has_traces(&program, 2 + 2 * 2);
}

#[test]
fn a_choice_of_where_to_send_among_other_races() {
    // Node 1 is called twice, and at one of the calls chooses between a message to node 0 and one to
    // itself. Node 0 is called twice, or three times. In the first case there are 2 orders at node 1 and 6 or
    // 24 at node 0, in the second 3, and 2 or 6.
    let calls = [(1, 0), (0, 1), (0, 2), (1, 3)];
    let program = calls.iter().fold(Program::new(2), |program, &(to, msg)| program.call(to, msg));
    let program = program.on(3, [(0, 4)]).on(3, [(1, 6)]);
    has_traces(&program, 2 * 6 + 3 * 2);
    has_traces(&program.call(0, 5), 2 * 24 + 3 * 6);
}

#[test]
fn a_step_that_is_disabled_with_all_that_it_would_cause() {
    // Node 1 takes two: of two calls and the message that one of them makes it send to itself. If that message is
    // taken, node 0 gets one, and has two calls too: 6 orders; else 2 for each order at node 1.
    let calls = [(1, 0), (0, 1), (0, 3), (1, 4)];
    let program = calls.iter().fold(Program::new(2), |program, &(to, msg)| program.call(to, msg));
    let program = program.takes(1, Takes::First(2)).on(0, [(1, 2)]).on(2, [(0, 5)]);
    has_traces(&program, 6 + 2 * 2);
}
