//! Every broken deployment is found out, by the property that it breaks, and the run shows it again.

use allways::prelude::*;
use allways::{Cause, Checkable, Rebuilt, Replayed, SavedRun};
use check_raft::{Bounded, Bounds, Means, Mistake, RAFT, Setup};

fn build(set: &[(&str, &str)]) -> Box<dyn Checkable> {
    RAFT.build(set).unwrap()
}

/// Whether this run, saved and read again, still shows what it showed.
fn replays(system: &dyn Checkable, outcome: &Outcome) -> bool {
    let saved = SavedRun::new("raft", [("bug", "any")], outcome).unwrap();
    matches!(system.replay(&saved), Ok(Replayed::StillViolates { .. }))
}

#[test]
fn a_forgotten_vote_makes_two_leaders_in_one_term() {
    let system = build(&[("bug", "forgets-vote")]);
    let outcome = system.check_with(&Options { threads: 1, ..Options::default() }).unwrap();
    let violation = outcome.assert_violated("one leader a term");
    // Two stand, one votes, crashes, restarts and votes again, and both hear of it: no less will do.
    assert_eq!(violation.run.events.len(), 8);
    assert_eq!(violation.reads.iter().filter(|led| *led == "[1]").count(), 2);
    assert!(replays(&*system, &outcome));
}

#[test]
fn a_forgotten_vote_is_found_without_the_network_too() {
    let options = Options { engine: Engine::Lmc, ..Options::default() };
    let system = build(&[("bug", "forgets-vote")]);
    system.check_with(&options).unwrap().assert_violated("one leader a term");
}

#[test]
fn two_leaders_in_one_term_make_nodes_apply_different_things() {
    let setup = Setup {
        nodes: 3,
        bounds: Bounds { terms: 1, proposals: 1, heartbeats: 0 },
        crashes: 1,
        network: Network::ordered(),
        mistake: Some(Mistake::ForgetsVote),
        means: Means { fingerprints: true, checkpoints: true, keeps: 1024 },
    };
    let applied = |node: &Rebuilt<Bounded>| node.with(|node| node.peer.disk().log.applied.clone());
    let system = setup.nodes().always("agree", view(applied), |all| {
        all.iter().all(|a| all.iter().all(|b| a.iter().zip(b).all(|(a, b)| a == b)))
    });
    system.check().assert_violated("agree");
}

#[test]
fn what_is_acknowledged_and_lost_is_missing_in_the_next_leader() {
    let system = build(&[("bug", "unsynced-entries")]);
    let outcome = system.check_with(&Options::default()).unwrap();
    outcome.assert_violated("leaders have what is committed");
    assert!(replays(&*system, &outcome));
}

#[test]
fn raft_does_not_start_from_a_disk_that_has_applied_more_than_it_knows_committed() {
    let system = build(&[("bug", "unstored-commit")]);
    let outcome = system.check_with(&Options::default()).unwrap();
    let violation = outcome.violation.as_ref().unwrap();
    assert_eq!(violation.cause, Cause::Panic);
    assert!(violation.property.starts_with("applied(1) is out of range"), "{}", violation.property);
    assert!(replays(&*system, &outcome));
}

#[test]
fn without_the_mistake_the_same_spaces_hold() {
    for bug in RAFT.bugs.iter().filter(|bug| bug.name != "unsynced-entries") {
        build(bug.defaults).check_with(&Options::default()).unwrap().assert_holds();
    }
}
