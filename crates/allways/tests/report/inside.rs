//! Tests that are carried out by other tests, in a process of their own: many of them are to fail.

use allways::prelude::*;

/// Keeps a number. The bug: it takes any, not the largest.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Replica(u32);

/// Which replicas there are: `bug`, `mended` or `other calls`. Nothing if nobody asks for them.
fn replicas() -> Option<String> {
    std::env::var("ALLWAYS_TEST_REPLICAS").ok()
}

impl Node for Replica {
    type Msg = u32;
    type Call = u32;
    type Timer = Never;
    type Output = Never;

    fn on_call(&mut self, value: u32, cx: &mut Cx<'_, Self>) {
        self.0 = self.0.max(value);
        cx.broadcast(value);
    }

    fn on_message(&mut self, _from: Id, value: u32, _: &mut Cx<'_, Self>) {
        match replicas().as_deref() {
            Some("mended") => self.0 = self.0.max(value),
            _ => self.0 = value,
        }
    }
}

/// The system, or nothing where these tests are not to be carried out.
fn system() -> Option<System<Replica>> {
    let more = u32::from(replicas()? == "other calls");
    Some(System::new(vec![Replica(0); 2]).call(0, 10 + more).call(1, 20 + more).never_stuck(
        "replicas agree",
        view(|r: &Replica| r.0),
        |values| values.iter().all_equal(),
    ))
}

#[test]
#[ignore = "carried out by the other tests"]
fn agrees() {
    let Some(system) = system() else { return };
    system.check().assert_holds();
}

#[test]
#[ignore = "carried out by the other tests"]
fn replays() {
    let Some(system) = system() else { return };
    let Ok(run) = std::env::var("ALLWAYS_TEST_RUN") else { return };
    system.replay_file(run).unwrap().assert_no_longer_violates();
}

/// Two checks that fail, and one between them that does not.
#[test]
#[ignore = "carried out by the other tests"]
fn agrees_twice() {
    let Some(system) = system() else { return };
    let outcome = system.check();
    let first = std::panic::catch_unwind(|| {
        outcome.assert_holds();
    });
    System::new([Replica(1)]).check().assert_holds();
    let bound = if replicas().as_deref() == Some("mended") { 100 } else { 20 };
    system
        .always("small", view(|r: &Replica| r.0), move |values| values.iter().all(|v| *v < bound))
        .check()
        .assert_holds();
    assert!(first.is_ok());
}

#[test]
#[ignore = "carried out by the other tests"]
fn agrees_often() {
    let Some(system) = system() else { return };
    let outcome = system.check();
    let failures = (0..12).filter(|_| {
        std::panic::catch_unwind(|| {
            outcome.assert_holds();
        })
        .is_err()
    });
    assert_eq!(failures.count(), 0);
}

#[test]
#[ignore = "carried out by the other tests"]
fn in_a_thread_of_its_own() {
    let Some(system) = system() else { return };
    let thread = std::thread::spawn(move || {
        system.check().assert_holds();
    });
    assert!(thread.join().is_ok());
}

#[test]
#[ignore = "carried out by the other tests"]
fn reaches_a_hundred() {
    if replicas().is_none() {
        return;
    }
    System::new([Replica(0)])
        .call(0, 10)
        .sometimes("a hundred", view(|r: &Replica| r.0), |values| values[0] == 100)
        .check()
        .assert_holds();
}

#[test]
#[ignore = "carried out by the other tests"]
fn never_disagrees() {
    let Some(system) = system() else { return };
    system.check().assert_not_violated();
}

#[test]
#[ignore = "carried out by the other tests"]
fn expects_another() {
    let Some(system) = system() else { return };
    system.check().assert_violated("another");
}

/// Holds, but says nothing of what the replicas do.
#[test]
#[ignore = "carried out by the other tests"]
fn agrees_without_properties() {
    let Some(replicas) = replicas() else { return };
    let outcome = System::new([Replica(1)]).check();
    outcome.assert_holds();
    if replicas == "strict" {
        outcome.assert_no_warnings();
    }
}
