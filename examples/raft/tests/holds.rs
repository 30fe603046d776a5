//! Raft, deployed as it should be, does what it promises, in spaces that are small and complete.

use allways::prelude::*;
use check_raft::RAFT;

fn checked(set: &[(&str, &str)], options: &Options) -> Outcome {
    let outcome = RAFT.build(set).unwrap().check_with(options).unwrap();
    assert_eq!((outcome.verdict, outcome.complete), (Verdict::Holds, true), "{set:?}");
    outcome
}

/// What tells one space from another, and how many global states it has.
const SPACES: [(&[(&str, &str)], u64); 6] = [
    (&[("nodes", "1"), ("terms", "2"), ("proposals", "2"), ("crashes", "1")], 21),
    (&[("nodes", "2"), ("crashes", "1")], 296),
    (&[("nodes", "2"), ("network", "ordered"), ("drops", "1")], 88),
    (&[("nodes", "3"), ("proposals", "0")], 5_059),
    (&[("nodes", "3"), ("proposals", "0"), ("crashes", "1")], 38_975),
    (&[("nodes", "3"), ("network", "ordered")], 12_995),
];

#[test]
fn small_spaces_have_exactly_these_states() {
    for (set, states) in SPACES {
        for search in [Search::Bfs, Search::Dfs] {
            let outcome = checked(set, &Options { search, ..Options::default() });
            assert_eq!(outcome.statistics.unique_states, Some(states), "{set:?} {search:?}");
        }
    }
}

#[test]
fn executing_every_step_anew_meets_the_same_states() {
    for (set, states) in &SPACES[..3] {
        let classic = Options { search: Search::Classic, ..Options::default() };
        assert_eq!(checked(set, &classic).statistics.unique_states, Some(*states), "{set:?}");
    }
}

#[test]
fn without_the_network_it_holds_as_well() {
    let lmc = Options { engine: Engine::Lmc, ..Options::default() };
    checked(&[("proposals", "0"), ("network", "duplicating")], &lmc);
    checked(&[("proposals", "0"), ("crashes", "1")], &lmc);
}

#[test]
fn with_a_reduction_it_holds_as_well() {
    let por = Options { por: Some(Por::Invariant), ..Options::default() };
    let outcome = checked(&[("proposals", "0")], &por);
    assert!(outcome.statistics.unique_states.unwrap() < 5_059);
}

#[test]
fn heartbeats_bring_on_what_was_lost() {
    checked(&[("nodes", "2"), ("proposals", "0"), ("heartbeats", "1")], &Options::default());
}
