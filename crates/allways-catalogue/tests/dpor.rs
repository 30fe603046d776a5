//! The catalogue through engine `dpor`: every bug and every correct system, with the reductions that miss nothing, and
//! how much each of them has to do.

use allways::{Cause, Engine, Options, Outcome, Reduction, Verdict};
use allways_catalogue::{entries, find};

const ALL: [Reduction; 3] = [Reduction::Source, Reduction::Cached, Reduction::Optimal];

fn check(name: &str, set: &[(&str, &str)], reduction: Reduction) -> Outcome {
    let options =
        Options { engine: Engine::Dpor, reduction, minimise: false, ..Options::default() };
    let system = find(name).unwrap().build(set).unwrap();
    system.check_with(&options).unwrap_or_else(|error| panic!("{name} {set:?}: {error}"))
}

/// Bugs that lie too deep for an engine that goes through traces.
const DEEP: [(&str, &str); 4] = [
    ("one-paxos", "empty-change"),
    ("one-paxos", "hasty-change"),
    ("paxos", "last-promise"),
    ("paxos-roles", "last-accepted"),
];

#[test]
#[cfg_attr(debug_assertions, ignore = "slow unless optimised")]
fn every_reduction_finds_every_bug() {
    let mut found = 0;
    for entry in entries() {
        let is_of_threads = entry.is_of_threads();
        for bug in entry.bugs.iter().filter(|bug| !DEEP.contains(&(entry.name, bug.name))) {
            // Threads have no states to be remembered.
            let fits = |reduction: &Reduction| !is_of_threads || *reduction != Reduction::Cached;
            for reduction in ALL.into_iter().filter(fits) {
                let outcome = check(entry.name, &[("bug", bug.name)], reduction);
                let what = format!("{} {}, {reduction:?}", entry.name, bug.name);
                assert_eq!(outcome.verdict, Verdict::Violated, "{what}");
                let cause = outcome.violation.unwrap().cause;
                let of_nodes = matches!(cause, Cause::Always | Cause::Stuck);
                assert_eq!(of_nodes, !is_of_threads, "{what}");
            }
            found += 1;
        }
    }
    assert_eq!(found, 46);
}

#[test]
#[cfg_attr(debug_assertions, ignore = "slow unless optimised")]
fn with_states_remembered_some_of_what_lies_deep_is_found() {
    for (name, bug) in DEEP.into_iter().filter(|(name, _)| *name == "one-paxos") {
        let outcome = check(name, &[("bug", bug)], Reduction::Cached);
        outcome.assert_violated("agreement");
    }
}

#[test]
#[cfg_attr(debug_assertions, ignore = "slow unless optimised")]
fn every_system_holds_with_states_remembered() {
    for entry in entries().iter().filter(|entry| !entry.is_of_threads()) {
        let outcome = check(entry.name, &[], Reduction::Cached);
        assert!(outcome.complete, "{}: {:?}", entry.name, outcome.verdict);
        outcome.assert_holds();
    }
}

#[test]
#[cfg_attr(debug_assertions, ignore = "slow unless optimised")]
fn every_reduction_makes_so_many_runs_and_transitions() {
    // Runs to their end, and transitions.
    let systems = [
        ("accumulator", [(18, 81), (18, 81), (18, 81)]),
        ("chain", [(1, 15), (1, 15), (1, 15)]),
        ("overlay", [(4_632, 34_152), (186, 18_181), (4_632, 30_945)]),
        ("paxos", [(29_088, 71_321), (162, 13_373), (29_088, 80_674)]),
        ("paxos-register", [(1_672, 11_556), (1_268, 8_859), (1_672, 11_217)]),
        ("register", [(1_296, 3_262), (18, 1_702), (1_296, 2_726)]),
        ("two-phase-commit", [(84, 337), (28, 289), (84, 340)]),
    ];
    for (name, expected) in systems {
        for (reduction, (runs, transitions)) in ALL.into_iter().zip(expected) {
            let outcome = check(name, &[], reduction);
            outcome.assert_holds();
            let made = (outcome.statistics.runs, outcome.statistics.transitions);
            assert_eq!(made, (Some(runs), Some(transitions)), "{name}, {reduction:?}");
        }
    }
}
