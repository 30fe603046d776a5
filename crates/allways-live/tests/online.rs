//! Online checking of nodes in this process: what is observed, what is predicted, and what is left
//! to check.

use allways::prelude::*;
use allways::{Replayed, SavedRun};
use allways_live::sample::{Account, Transfer};
use allways_live::{
    Circumstances, Controls, Deployable, Finding, Instances, Live, News, OnlineOptions, Protocol,
    Repeated, Running, Totals, online,
};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Two accounts with 5 each. Each may send 3 to the other, once.
fn bank() -> System<Account> {
    System::new([Account(5), Account(5)])
        .call(0, Transfer { to: 1, amount: 3 })
        .call(1, Transfer { to: 0, amount: 3 })
}

/// Nobody must ever have 8: one transfer is enough.
fn system() -> System<Account> {
    bank().always("not rich", view(|account: &Account| account.0), |all| all.iter().all(|a| *a < 8))
}

/// Somebody must always have 5: it takes both transfers, and that one is under way.
fn lasting() -> System<Account> {
    bank().always("not poor", view(|account: &Account| account.0), |all| all.iter().any(|a| *a > 4))
}

struct Nodes {
    running: Vec<Running<Instances<Account>>>,
    controls: Controls,
}

async fn nodes(protocol: Protocol, drop: f64) -> Nodes {
    let mut bound = Vec::new();
    for node in 0..2 {
        let live = Live::new(Id::new(node), Instances::new(Account(5)));
        bound.push(live.protocol(protocol).drop(drop).seed(1).bind().await.unwrap());
    }
    let addresses: Vec<_> = bound.iter().map(|bound| bound.address()).collect();
    let controls: Vec<_> = bound.iter().map(|bound| bound.control_address()).collect();
    let mut running = Vec::new();
    for bound in bound {
        running.push(bound.start(1, addresses.clone()).await.unwrap());
    }
    Nodes { running, controls: Controls::connect(&controls, None).await.unwrap() }
}

/// Watches for so long, or until something is found: what was observed or else predicted.
async fn watch(
    system: System<Account>,
    protocol: Protocol,
    drop: f64,
    length: Duration,
    first: bool,
) -> (Totals, Vec<(bool, Finding)>) {
    let Nodes { running, controls } = nodes(protocol, drop).await;
    let options = OnlineOptions {
        every: Duration::from_millis(50),
        calls_every: Duration::from_millis(2),
        length: Some(length),
        first,
        circumstances: Circumstances { protocol, drops: drop > 0.0 },
        ..OnlineOptions::default()
    };
    let system: Arc<dyn Deployable> = Arc::new(Repeated::new(system).unwrap());
    let mut found = Vec::new();
    let mut tell = |news| match news {
        News::Observed(finding) => found.push((true, finding)),
        News::Predicted(finding) => found.push((false, finding)),
        _ => {}
    };
    let totals = online(system, controls, None, &options, &mut tell).await.unwrap();
    for running in running {
        running.stop().await.unwrap();
    }
    (totals, found)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_violation_that_has_happened_is_observed_not_predicted() {
    for protocol in [Protocol::Udp, Protocol::Tcp] {
        let (totals, found) =
            watch(system(), protocol, 0.0, Duration::from_millis(400), false).await;
        assert!(totals.observed > 0, "{totals:?}");
        assert_eq!(found.len() as u64, totals.observed + totals.predicted);
        for (observed, finding) in &found {
            let violation = finding.outcome.assert_violated("not rich");
            assert_eq!(violation.run.events.is_empty(), *observed);
        }
        // No instance is told twice.
        let instances: BTreeSet<u64> = found.iter().map(|(_, finding)| finding.instance).collect();
        assert_eq!(instances.len(), found.len());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_violation_that_losses_keep_from_happening_is_predicted() {
    for protocol in [Protocol::Udp, Protocol::Tcp] {
        // Nothing ever arrives, so the running system never violates.
        let (totals, found) = watch(lasting(), protocol, 1.0, Duration::from_secs(30), true).await;
        assert_eq!((totals.predicted, totals.observed), (1, 0), "{totals:?}");
        let (_, finding) = &found[0];
        // The other's call; the first one's money is lost.
        assert_eq!(finding.outcome.assert_violated("not poor").run.events.len(), 1);
        // It can be made again from what is saved, and still violates.
        let saved = SavedRun::new("bank", [("a", "b")], &finding.outcome).unwrap();
        let saved = saved.starting_at(&finding.snapshot).unwrap();
        let saved = SavedRun::from_json(&saved.to_json()).unwrap();
        let repeated = Repeated::new(lasting()).unwrap();
        let again = repeated.continued(saved.snapshot.as_deref().unwrap()).unwrap();
        assert!(matches!(again.replay(&saved).unwrap(), Replayed::StillViolates { .. }));
    }
}

#[tokio::test]
async fn every_instance_is_checked_with_the_calls_that_it_has_left() {
    let Nodes { running, mut controls } = nodes(Protocol::Tcp, 0.0).await;
    let repeated = Repeated::new(system()).unwrap();
    let call = |to| Transfer { to, amount: 3 };
    // Instance 1: both have called; instance 2: one; instance 3: nobody has heard of it.
    running[0].call((1, call(1))).await.unwrap();
    running[1].call((1, call(0))).await.unwrap();
    running[1].call((2, call(0))).await.unwrap();
    while running[0].statistics().await.unwrap().handled < 2 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    while running[1].statistics().await.unwrap().handled < 1 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let recorded = controls.snapshot().await.unwrap();
    assert_eq!(repeated.next_instance(&recorded).unwrap(), 3);
    let cases = repeated.cases(&recorded, Circumstances::default()).unwrap();
    let options = Options { max_depth: Some(9), ..Options::default() };
    let seen: Vec<_> = cases
        .iter()
        .map(|case| {
            let outcome = case.system.check_with(&options).unwrap();
            let states = outcome.statistics.unique_states.unwrap();
            (case.instance, outcome.violation.map(|v| v.run.events.len()), states)
        })
        .collect();
    // In instance 2, node 0 is rich already; in instance 1 all is done and paid.
    assert_eq!(seen, [(2, Some(0), 1), (1, None, 1)]);
    // Snapshots of other nodes are told apart.
    let three = Repeated::new(System::new(vec![Account(5); 3])).unwrap();
    assert!(three.cases(&recorded, Circumstances::default()).is_err());
    assert!(repeated.continued("{}").is_err());
}

#[test]
fn the_driver_is_seeded_and_calls_at_one_node_an_instance() {
    let repeated = Repeated::new(system().calls_in_sequence([
        (0, Transfer { to: 1, amount: 1 }),
        (0, Transfer { to: 1, amount: 2 }),
    ]))
    .unwrap();
    let mut owners = [0, 0];
    for instance in 0..200 {
        let calls = repeated.calls(instance, 7);
        assert_eq!(calls, repeated.calls(instance, 7));
        let node = calls[0].node;
        assert!(calls.iter().all(|call| call.node == node));
        assert_eq!(calls.len(), if node == 0 { 3 } else { 1 });
        owners[node] += 1;
    }
    assert!(owners.iter().all(|&times| times > 60), "{owners:?}");
    assert_ne!(
        (0..50).map(|i| repeated.calls(i, 1)[0].node).collect::<Vec<_>>(),
        (0..50).map(|i| repeated.calls(i, 2)[0].node).collect::<Vec<_>>()
    );
}

#[test]
fn a_system_that_cannot_start_in_the_middle_is_refused() {
    struct Nothing;
    impl Observer<Account> for Nothing {
        type State = ();
        fn start(&self) {}
        fn wants(&self, _: &Seen<'_, Account>) -> bool {
            false
        }
        fn observe(&self, (): &mut (), _: Seen<'_, Account>) {}
    }
    let error = Repeated::new(system().observe(Nothing)).err().unwrap().to_string();
    assert!(error.contains("cannot have observers"), "{error}");
}
