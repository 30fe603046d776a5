//! Engine `dpor`, one phenomenon at a time: how many runs there are, and what is seen though no run passes it.

use allways::prelude::*;
use allways::{Bound, Cause};

/// Remembers the last message, and counts down to zero with messages to itself.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Last(u8);

impl Node for Last {
    type Msg = u8;
    type Timer = Never;
    type Call = u8;
    type Output = Never;

    fn on_call(&mut self, call: u8, cx: &mut Cx<'_, Self>) {
        self.on_message(cx.id(), call, cx);
    }

    fn on_message(&mut self, _: Id, msg: u8, cx: &mut Cx<'_, Self>) {
        self.0 = msg;
        if msg > 0 && msg < 10 {
            cx.send(cx.id(), msg - 1);
        }
    }
}

fn dpor(reduction: Reduction) -> Options {
    Options { engine: Engine::Dpor, reduction, minimise: false, ..Options::default() }
}

const ALL: [Reduction; 3] = [Reduction::None, Reduction::Source, Reduction::Optimal];

fn nodes(count: usize) -> System<Last> {
    System::new((0..count).map(|_| Last(9)))
}

fn counts(system: &System<Last>, reduction: Reduction) -> (u64, u64) {
    let outcome = system.try_check(&dpor(reduction)).unwrap();
    assert!(outcome.complete, "{reduction:?}");
    (outcome.statistics.runs.unwrap(), outcome.statistics.blocked_runs.unwrap())
}

#[test]
fn messages_to_one_node_race_in_every_order() {
    let mut orders = 1;
    for messages in 1..=5 {
        orders *= u64::from(messages);
        let system = (0..messages).fold(nodes(1), |system, message| system.call(0, 100 + message));
        for reduction in ALL {
            assert_eq!(counts(&system, reduction), (orders, 0), "{messages} {reduction:?}");
        }
    }
}

#[test]
fn steps_of_different_nodes_are_one_trace() {
    // Three nodes that count from 3 to 0 by themselves: 12! / 4!^3 orders of one trace.
    let system = (0..3).fold(nodes(3), |system, node| system.call(node, 3));
    assert_eq!(counts(&system, Reduction::None), (34_650, 0));
    assert_eq!(counts(&system, Reduction::Source), (1, 0));
    assert_eq!(counts(&system, Reduction::Optimal), (1, 0));
}

#[test]
fn what_no_run_passes_is_still_seen() {
    // The only run of the only trace counts one node down before the other begins, or takes turns; both
    // at 2 at once is passed by unless all cuts are looked at.
    for (a, b) in (0..=3).flat_map(|a| (0..=3).map(move |b| (a, b))) {
        let system = nodes(2).call(0, 3).call(1, 3);
        let both = move |views: &[u8]| views == [a, b];
        let always = system.always("never", view(|node: &Last| node.0), move |views| !both(views));
        for reduction in ALL {
            let outcome = always.try_check(&dpor(reduction)).unwrap();
            let violation = outcome.violation.expect("both are there at once");
            assert_eq!(violation.cause, Cause::Always);
            if reduction != Reduction::None {
                // No events but those that are needed.
                assert_eq!(violation.run.events.len(), usize::from(4 - a + 4 - b));
            }
        }
    }
}

#[test]
fn a_state_is_stuck_though_every_run_goes_on_with_a_crash() {
    // Nothing is left to do but to crash, once all have counted down.
    let system = nodes(2).call(0, 1).call(1, 1).faults(Faults::none().crashes(1)).never_stuck(
        "not both",
        view(|node: &Last| node.0),
        |views| views != [0, 0],
    );
    for reduction in ALL {
        let outcome = system.try_check(&dpor(reduction)).unwrap();
        let violation = outcome.violation.expect("both are at zero");
        assert_eq!((violation.cause, violation.run.events.len()), (Cause::Stuck, 4));
    }
}

#[test]
fn a_reduction_that_may_miss_something_says_so() {
    let system = nodes(1).call(0, 100).call(0, 101);
    let outcome = system.try_check(&dpor(Reduction::Naive)).unwrap();
    assert_eq!((outcome.verdict, outcome.complete), (Verdict::Inconclusive, false));
    assert_eq!(outcome.bounded_by, Some(Bound::Reduction));
    let said = outcome.advice().join("; ");
    assert!(said.contains("2 runs to their end, the longest of 2 events"), "{said}");
}

#[test]
fn bounds_are_said() {
    let system = (0..4).fold(nodes(1), |system, call| system.call(0, 100 + call));
    for reduction in ALL {
        let cut = Options { max_depth: Some(2), ..dpor(reduction) };
        let outcome = system.try_check(&cut).unwrap();
        assert_eq!(outcome.bounded_by, Some(Bound::Depth));
        assert_eq!((outcome.complete, outcome.statistics.runs), (false, Some(12)));
        let few = Options { max_runs: Some(5), ..dpor(reduction) };
        let outcome = system.try_check(&few).unwrap();
        assert_eq!((outcome.bounded_by, outcome.statistics.runs), (Some(Bound::Runs), Some(5)));
    }
    let states = Options { max_states: Some(5), ..dpor(Reduction::Optimal) };
    assert_eq!(
        system.try_check(&states).unwrap_err().to_string(),
        "engine dpor goes from run to run, not from state to state: a bound on states (max states) cannot be had with it; use engine global"
    );
}
