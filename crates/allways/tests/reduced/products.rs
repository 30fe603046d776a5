//! Products of views and of what observers see: too many to look at, and tests that fail.

use super::*;
use crate::observed::FirstOutputs;

const PORS: [Por; 3] = [Por::Needed, Por::Invariant, Por::Terminals];

/// Moves once, and says so.
const MOVES: Rules = &[(0, On::Call(0), &[|a| (a.next, a.outputs) = (Some(1), vec![0])])];

fn movers(count: usize) -> System<Table> {
    (0..count).fold(nodes(&vec![MOVES; count]), |system, node| system.call(node, 0))
}

fn state() -> allways::View<Table, u8> {
    view(|node: &Table| node.state)
}

#[test]
fn a_bad_vector_among_more_than_can_be_looked_at() {
    for (name, options) in reduced(&PORS) {
        let system = movers(13).always("not all", state(), |states| states.contains(&0));
        assert_eq!(system.try_check(&options).unwrap().verdict, Verdict::Violated, "{name}");
    }
}

/// Knows which nodes have output something.
#[derive(Clone)]
struct Who;

impl Observer<Table> for Who {
    type State = BTreeSet<usize>;

    fn start(&self) -> Self::State {
        BTreeSet::new()
    }

    fn wants(&self, seen: &Seen<'_, Table>) -> bool {
        matches!(seen, Seen::Output { .. })
    }

    fn observe(&self, state: &mut Self::State, seen: Seen<'_, Table>) {
        if let Seen::Output { node, .. } = seen {
            state.insert(usize::from(node));
            assert!(!state.contains(&20), "there is no such node");
        }
    }
}

#[test]
fn a_bad_state_of_an_observer_among_more_than_can_be_looked_at() {
    for (name, options) in reduced(&PORS) {
        let system = movers(9).observe(Who);
        let system = system.always_observed("not all", |who: &BTreeSet<usize>| who.len() < 9);
        assert_eq!(system.try_check(&options).unwrap().verdict, Verdict::Violated, "{name}");
    }
}

/// Fails when it has seen two outputs.
#[derive(Clone)]
struct Fails;

impl Observer<Table> for Fails {
    type State = u8;

    fn start(&self) -> u8 {
        0
    }

    fn wants(&self, seen: &Seen<'_, Table>) -> bool {
        matches!(seen, Seen::Output { .. })
    }

    fn observe(&self, state: &mut u8, _: Seen<'_, Table>) {
        assert!(*state < 1, "once is enough");
        *state += 1;
    }
}

/// No search gives a verdict: user code fails in a state that is reachable.
#[track_caller]
fn fails(build: impl Fn() -> System<Table>) {
    assert!(build().try_check(&classic()).is_err());
    for (name, options) in reduced(&PORS) {
        assert!(build().try_check(&options).is_err(), "{name}");
    }
}

#[test]
fn what_fails_in_a_state_is_not_taken_to_be_true_there() {
    fails(|| {
        movers(2).always("fails", state(), |states| {
            assert!(states != [1, 1], "both have moved");
            true
        })
    });
    fails(|| {
        movers(2).observe(FirstOutputs).always_observed("fails", |outputs: &Vec<u8>| {
            assert!(outputs.len() < 2, "both have moved");
            true
        })
    });
    fails(|| movers(2).observe(Fails).always_observed("true", |_: &u8| true));
}
