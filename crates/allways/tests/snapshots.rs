//! Systems that start at a snapshot: every engine goes on from there, and only from there.

use allways::prelude::*;
use allways::{Local, Replayed, SavedRun, Snapshot};

/// Adds up what it is told; a call tells the next node, a timer tells oneself.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Sum(u32);

impl Node for Sum {
    type Msg = u32;
    type Timer = u32;
    type Call = u32;
    type Output = Never;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        // Never seen from a snapshot.
        self.0 = 1_000;
        cx.send(0, 1_000);
    }

    fn on_message(&mut self, _: Id, msg: u32, _: &mut Cx<'_, Self>) {
        self.0 = self.0 * 10 + msg;
    }

    fn on_timer(&mut self, timer: u32, _: &mut Cx<'_, Self>) {
        self.0 = self.0 * 10 + timer;
    }

    fn on_call(&mut self, call: u32, cx: &mut Cx<'_, Self>) {
        cx.send(1, call);
    }
}

fn local(value: u32, timers: Vec<u32>) -> Local<Sum> {
    Local { node: Sum(value), timers, fires_left: Some(99), up: true }
}

/// Node 1 may get 1 and 2 from node 0, 3 from a timer, and 4 from the call that is still to come.
fn snapshot() -> Snapshot<Sum> {
    let (a, b) = (Id::new(0), Id::new(1));
    Snapshot {
        locals: vec![local(5, vec![]), local(0, vec![3, 3])],
        envelopes: vec![(a, b, 1), (a, b, 2)],
    }
}

fn system(network: Network) -> System<Sum> {
    System::new([Sum(0), Sum(0)]).network(network).call(0, 4).starting_at(snapshot())
}

fn ways() -> Vec<Options> {
    let of = |engine| Options { engine, ..Options::default() };
    [Search::Bfs, Search::Dfs, Search::Classic]
        .into_iter()
        .map(|search| Options { search, ..Options::default() })
        .chain([of(Engine::Dpor), of(Engine::Lmc), of(Engine::Dir)])
        .chain([Options { stateful: true, ..of(Engine::Dir) }])
        .collect()
}

/// What node 1 can end as.
fn ends(network: Network, options: &Options) -> Vec<u32> {
    let reachable = |end: u32| {
        let system =
            system(network).sometimes("end", view(|n: &Sum| n.0), move |values| values == [5, end]);
        system.try_check(options).unwrap().verdict == Verdict::Holds
    };
    (1_000..10_000)
        .filter(|&end| [1, 2, 3, 4].iter().all(|d| has(end, *d)) && reachable(end))
        .collect()
}

fn has(number: u32, digit: u32) -> bool {
    number.to_string().contains(&digit.to_string())
}

#[test]
fn every_engine_goes_on_from_the_snapshot() {
    for options in ways() {
        // Four events in any order; on an ordered network 1 comes before 2 before 4.
        assert_eq!(ends(Network::unordered(), &options).len(), 24, "{options:?}");
        let ordered = ends(Network::ordered(), &options);
        assert_eq!(ordered, [1_234, 1_243, 1_324, 3_124]);
    }
}

#[test]
fn a_violation_is_replayed_minimised_and_told_from_the_snapshot() {
    let system = system(Network::unordered())
        .always("never 31", view(|n: &Sum| n.0), |values| values[1] != 31);
    for options in ways() {
        let outcome = system.try_check(&options).unwrap();
        let violation = outcome.assert_violated("never 31");
        assert_eq!(violation.run.events.len(), 2, "{options:?}");
        let saved = SavedRun::new("sum", [("a", "b")], &outcome).unwrap();
        assert!(matches!(system.replay(&saved).unwrap(), Replayed::StillViolates { .. }));
        let story = system.violation_story(violation).unwrap();
        assert_eq!(story.starts[0].state, "Sum(5)");
        assert_eq!(story.starts[0].sent.len(), 2);
    }
}

#[test]
fn the_bound_on_timers_is_that_of_the_system() {
    let system =
        system(Network::unordered())
            .timers(0)
            .always("no timer", view(|n: &Sum| n.0), |values| !has(values[1], 3));
    assert_ne!(system.try_check(&Options::default()).unwrap().verdict, Verdict::Violated);
}

#[test]
fn a_node_that_is_down_restarts() {
    let mut snapshot = snapshot();
    snapshot.locals[1].up = false;
    snapshot.locals[1].timers.clear();
    let system = System::new([Sum(0), Sum(0)])
        .starting_at(snapshot)
        .faults(Faults::none().restarts())
        .sometimes("restarted", view(|n: &Sum| n.0), |values| values[1] == 1_000);
    let outcome = system.check();
    assert_eq!(outcome.assert_holds().witnesses[0].run.events.len(), 1);
}

#[test]
fn what_does_not_fit_is_refused() {
    struct Nothing;
    impl Observer<Sum> for Nothing {
        type State = ();
        fn start(&self) {}
        fn wants(&self, _: &Seen<'_, Sum>) -> bool {
            false
        }
        fn observe(&self, (): &mut (), _: Seen<'_, Sum>) {}
    }
    let said = |system: System<Sum>| system.try_check(&Options::default()).unwrap_err().to_string();
    let three = System::new(vec![Sum(0); 3]).starting_at(snapshot());
    assert_eq!(said(three), "the snapshot is of 2 nodes, but the system has 3 nodes");
    let mut stray = snapshot();
    stray.envelopes.push((Id::new(0), Id::new(2), 1));
    let stray = System::new(vec![Sum(0); 2]).starting_at(stray);
    assert!(said(stray).starts_with("an envelope of the snapshot names node 2"));
    let observed = system(Network::unordered()).observe(Nothing);
    assert!(said(observed).contains("cannot have observers"));
}
