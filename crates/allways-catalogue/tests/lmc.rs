//! The catalogue through engine `lmc`: every bug and every correct system, the figures of its paper, and spaces that
//! the paper's checker did not close.

use allways::{Combine, Engine, Options, Outcome, Verdict};
use allways_catalogue::{Entry, entries, find};

fn check_by(name: &str, set: &[(&str, &str)], combine: Combine) -> Outcome {
    let options = Options { engine: Engine::Lmc, combine, minimise: false, ..Options::default() };
    let system = find(name).unwrap().build(set).unwrap();
    system.check_with(&options).unwrap_or_else(|error| panic!("{name} {set:?}: {error}"))
}

fn check(name: &str, set: &[(&str, &str)]) -> Outcome {
    check_by(name, set, Combine::Views)
}

/// Handler executions, system states and those of them that were rejected.
fn counts(outcome: &Outcome) -> [u64; 3] {
    let statistics = &outcome.assert_holds().statistics;
    assert!(outcome.complete && outcome.engine.starts_with("lmc"), "{}", outcome.engine);
    [statistics.handler_executions, statistics.system_states, statistics.rejected]
        .map(Option::unwrap)
}

/// The paper's figure 4: four system states, of which one, received before it was sent, is invalid.
#[test]
fn figure_4_has_four_system_states_and_one_of_them_is_invalid() {
    assert_eq!(counts(&check_by("tree", &[], Combine::General)), [5, 4, 1]);
    assert_eq!(counts(&check("tree", &[])), [5, 1, 1]);
}

/// Section 5.1: with one proposal nothing can violate agreement, so no system state is made.
#[test]
fn one_proposal_makes_no_system_state() {
    assert_eq!(counts(&check("paxos", &[])), [885, 0, 0]);
    assert_eq!(counts(&check_by("paxos", &[], Combine::General)), [885, 20_250, 0]);
}

/// Section 5.2: the paper's checker did not finish this in hours. Engine `global` takes 45,028,944 transitions.
#[test]
fn two_proposals_close() {
    if cfg!(debug_assertions) {
        let apart = [("proposals", "2"), ("roles", "apart")];
        assert_eq!(counts(&check("paxos", &apart)), [665, 12, 12]);
        return;
    }
    assert_eq!(counts(&check("paxos", &[("proposals", "2")])), [37_548, 12, 12]);
}

#[test]
#[cfg_attr(debug_assertions, ignore = "slow unless optimised")]
fn three_proposals_close_and_so_does_a_node_that_proposes_twice() {
    let apart = ("roles", "apart");
    assert_eq!(counts(&check("paxos", &[("proposals", "3")])), [998_970, 42, 42]);
    assert_eq!(counts(&check("paxos", &[("proposals", "3"), apart])), [4_251, 42, 42]);
    assert_eq!(counts(&check("paxos", &[("again", "1")])), [158_436, 12, 12]);
    let again = [("proposals", "2"), ("again", "1"), apart];
    assert_eq!(counts(&check("paxos", &again)), [6_601, 42, 42]);
}

/// Systems with too many local states that no run reaches, and bugs that lie too deep among these.
const EXPLODE: [&str; 1] = ["zab"];
const DEEP: [(&str, &str); 1] = [("paxos-roles", "last-accepted")];

#[test]
#[cfg_attr(debug_assertions, ignore = "slow unless optimised")]
fn every_bug_is_found() {
    let mut by_itself = 0;
    for entry in entries().iter().filter(|entry| !entry.is_of_threads()) {
        for bug in entry.bugs.iter().filter(|bug| !DEEP.contains(&(entry.name, bug.name))) {
            let outcome = check(entry.name, &[("bug", bug.name)]);
            assert_eq!(outcome.verdict, Verdict::Violated, "{} {}", entry.name, bug.name);
            by_itself += usize::from(outcome.engine.starts_with("lmc"));
        }
    }
    assert!(by_itself >= 14, "{by_itself}");
}

#[test]
#[cfg_attr(debug_assertions, ignore = "slow unless optimised")]
fn every_system_holds() {
    let fits = |entry: &&Entry| !EXPLODE.contains(&entry.name) && !entry.is_of_threads();
    for entry in entries().iter().filter(fits) {
        for combine in [Combine::Views, Combine::General] {
            let outcome = check_by(entry.name, &[], combine);
            assert!(outcome.complete, "{}: {:?}", entry.name, outcome.verdict);
            outcome.assert_holds();
        }
    }
}
