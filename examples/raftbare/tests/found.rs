//! What a check of the libraries finds, and what it does not.

use allways::prelude::*;
use check_raftbare::{Broken, Deployment};

/// A check that does not depend on the environment.
fn check<R: check_raftbare::raft::Raft>(deployment: &Deployment) -> Outcome {
    deployment.system::<R>().try_check(&Options::default()).unwrap()
}

#[test]
fn raftbare_elects_a_leader_without_what_is_committed() {
    let outcome = check::<raftbare::Node>(&Deployment::default());
    let violation = outcome.assert_violated("leaders have what is committed");
    assert_eq!(violation.run.events.len(), 17);
}

#[test]
fn noraft_0_4_does_so_too_and_sooner() {
    let outcome = check::<noraft_0_4::Node>(&Deployment::default());
    let violation = outcome.assert_violated("leaders have what is committed");
    assert_eq!(violation.run.events.len(), 14);
}

#[test]
fn noraft_0_5_holds_with_a_timeout_for_each() {
    let deployment = Deployment { more_timeouts: 0, ..Deployment::default() };
    let outcome = check::<noraft_0_5::Node>(&deployment);
    assert!(outcome.assert_holds().complete);
    assert_eq!(outcome.statistics.unique_states, Some(175_184));
}

/// Some 20 seconds without `--release`.
#[test]
#[ignore = "large"]
fn noraft_0_5_holds_where_the_others_do_not() {
    let outcome = check::<noraft_0_5::Node>(&Deployment::default());
    assert!(outcome.assert_holds().complete);
    assert_eq!(outcome.statistics.unique_states, Some(3_538_844));
}

#[test]
fn a_deployment_that_forgets_votes_has_two_leaders() {
    let broken = Some(Broken::ForgetsVote);
    let deployment = Deployment { more_timeouts: 0, crashes: 1, broken, ..Deployment::default() };
    let outcome = check::<noraft_0_5::Node>(&deployment);
    assert_eq!(outcome.assert_violated("one leader a term").run.events.len(), 8);
}

#[test]
fn a_deployment_that_forgets_its_log_loses_what_is_committed() {
    let broken = Some(Broken::ForgetsLog);
    let deployment = Deployment { crashes: 1, broken, ..Deployment::default() };
    let outcome = check::<noraft_0_5::Node>(&deployment);
    let violation = outcome.assert_violated("leaders have what is committed");
    assert_eq!(violation.run.events.len(), 10);
}
