//! How states are told apart and rebuilt makes no difference to what can be reached.

use allways::Rebuilt;
use allways::prelude::*;
use check_raft::{Bounded, Bounds, Fingerprint, Means, Mistake, Setup};
use std::collections::HashSet;
use std::sync::{Arc, Mutex};

const MEANS: Means = Means { fingerprints: true, checkpoints: true, keeps: 256 };

fn setup(nodes: usize, terms: u64, proposals: usize) -> Setup {
    Setup {
        nodes,
        bounds: Bounds { terms, proposals, heartbeats: 0 },
        crashes: 0,
        network: Network::unordered(),
        mistake: None,
        means: MEANS,
    }
}

/// All combinations of fingerprints that can be reached. A fingerprint has all that any property reads.
fn reached(setup: Setup) -> HashSet<Vec<Fingerprint>> {
    let reached = Arc::new(Mutex::new(HashSet::new()));
    let collects = Arc::clone(&reached);
    let whole = view(|node: &Rebuilt<Bounded>| node.with(|node| Fingerprint::of(&node.peer)));
    setup
        .nodes()
        .always("collected", whole, move |all| {
            collects.lock().unwrap().insert(all.to_vec());
            true
        })
        .check()
        .assert_holds();
    reached.lock().unwrap().clone()
}

/// The same with states told apart by all that has happened, and with and without copies.
fn same_by_all_means(setup: Setup) {
    let expected = reached(setup);
    assert!(expected.len() > 10);
    for (fingerprints, checkpoints) in [(true, false), (false, true), (false, false)] {
        let means = Means { fingerprints, checkpoints, ..MEANS };
        let actual = reached(Setup { means, ..setup });
        assert!(actual == expected, "{means:?}: {} and {}", actual.len(), expected.len());
    }
}

#[test]
fn one_node_with_crashes() {
    same_by_all_means(Setup { crashes: 2, ..setup(1, 2, 2) });
}

#[test]
fn two_nodes_that_propose() {
    same_by_all_means(Setup { network: Network::ordered(), ..setup(2, 1, 2) });
}

#[test]
fn two_nodes_one_of_which_crashes() {
    same_by_all_means(Setup { crashes: 1, ..setup(2, 1, 0) });
}

#[test]
fn two_nodes_and_two_terms() {
    same_by_all_means(Setup { network: Network::ordered(), ..setup(2, 2, 0) });
}

#[test]
fn three_nodes() {
    same_by_all_means(Setup { network: Network::ordered(), ..setup(3, 1, 0) });
}

#[test]
fn broken_deployments_too() {
    for mistake in [Mistake::ForgetsVote, Mistake::UnsyncedEntries, Mistake::UnstoredCommit] {
        let mistake = Some(mistake);
        same_by_all_means(Setup { crashes: 1, mistake, ..setup(2, 1, 0) });
    }
}

#[test]
fn executing_steps_from_other_histories_does_not_refute_the_fingerprint() {
    let options = Options { verify_aux: true, ..Options::default() };
    let ordered = Setup { network: Network::ordered(), ..setup(3, 1, 1) };
    for setup in [Setup { crashes: 1, ..setup(2, 2, 1) }, setup(3, 1, 0), ordered] {
        assert_eq!(setup.system().try_check(&options).unwrap().verdict, Verdict::Holds);
    }
}
