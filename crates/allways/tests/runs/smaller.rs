//! Minimising, one phenomenon at a time.

use allways::prelude::*;
use allways::{MinimiseOptions, Run, RunEventKind, RunSize, Violation};
use std::time::Duration;

/// Each ping is answered; each node counts what it handles.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Counter {
    handled: u8,
    chosen: usize,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Msg {
    /// Counted from one, so that each reads otherwise.
    Ping(u8),
    Pong,
}

impl Node for Counter {
    type Msg = Msg;
    type Timer = ();
    type Call = usize;
    type Output = Never;

    /// Calls ping a node.
    fn on_call(&mut self, to: usize, cx: &mut Cx<'_, Self>) {
        self.chosen = cx.choose(4);
        self.handled += 1;
        cx.send(to, Msg::Ping(self.handled));
    }

    fn on_message(&mut self, from: Id, msg: Msg, cx: &mut Cx<'_, Self>) {
        self.handled += 1;
        if let Msg::Ping(_) = msg {
            cx.send(from, Msg::Pong);
        }
    }

    fn on_timer(&mut self, (): (), _: &mut Cx<'_, Self>) {}
}

fn counters(nodes: usize) -> System<Counter> {
    System::new(vec![Counter { handled: 0, chosen: 0 }; nodes])
}

fn handled() -> allways::View<Counter, u8> {
    view(|n: &Counter| n.handled)
}

fn unhurried() -> MinimiseOptions {
    MinimiseOptions { max_time: Duration::from_secs(600), ..MinimiseOptions::default() }
}

fn walk(seed: u64) -> Options {
    Options { engine: Engine::Walk, threads: 1, seed, minimise: false, ..Options::default() }
}

fn events(run: &Run) -> Vec<String> {
    run.events.iter().map(ToString::to_string).collect()
}

#[test]
fn nodes_that_have_no_part_in_it_do_nothing() {
    let system = counters(4)
        .calls_in_sequence([(0, 1), (0, 1)])
        .calls_in_sequence([(2, 3), (3, 2), (2, 3)])
        .always("one", handled(), |handled| handled[1] < 1);
    for seed in 0..5 {
        let found = system.try_check(&walk(seed)).unwrap().violation.unwrap();
        let (smaller, summary) = system.minimise(&found, &unhurried()).unwrap();
        assert_eq!(
            events(&smaller.run),
            ["node 0 is called: 1", "node 1 receives Ping(1) from node 0"].map(|event| {
                if event.contains("called") {
                    format!("{event}, choosing [0]")
                } else {
                    event.to_owned()
                }
            })
        );
        assert!(summary.is_shortest && !summary.out_of_time, "{summary}");
    }
}

#[test]
fn numbers_that_shift_do_not_stand_in_the_way() {
    // The ping that matters reads Ping(3) in the run and must become Ping(1). With no states to
    // search, only leaving events out and reading loosely can do that.
    let system = counters(3).calls_in_sequence([(0, 2), (0, 2), (0, 1)]).call(0, 1).always(
        "one",
        handled(),
        |handled| handled[1] < 1,
    );
    let none = MinimiseOptions { max_states: 0, ..unhurried() };
    let found = (0..50).map(|seed| system.try_check(&walk(seed)).unwrap().violation.unwrap());
    let last = |v: &Violation| v.run.events.last().unwrap().what.clone();
    let late: Vec<_> = found.filter(|v| last(v) != "Ping(1)").collect();
    assert!(!late.is_empty());
    for found in late {
        let (smaller, _) = system.minimise(&found, &none).unwrap();
        assert_eq!(smaller.run.events.len(), 2, "{smaller}");
        assert_eq!(last(&smaller), "Ping(1)");
    }
}

#[test]
fn what_leads_back_is_cut_out() {
    // On a network that duplicates, a toggle may be turned any number of times.
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Toggle(bool, u8);
    impl Node for Toggle {
        type Msg = u8;
        type Timer = Never;
        type Call = Never;
        type Output = Never;
        fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
            (0..8).for_each(|number| cx.send(0, number));
        }
        fn on_message(&mut self, _: Id, msg: u8, _: &mut Cx<'_, Self>) {
            self.0 = !self.0;
            self.1 = if msg == self.1 { msg + 1 } else { 0 };
        }
    }
    let system = System::new([Toggle(false, 0)]).network(Network::duplicating()).always(
        "in order",
        view(|n: &Toggle| n.1),
        |count| count[0] < 4,
    );
    let found = system.try_check(&walk(1)).unwrap().violation.unwrap();
    assert!(found.run.events.len() > 100, "{}", found.run.events.len());
    let (smaller, summary) = system.minimise(&found, &unhurried()).unwrap();
    let what: Vec<_> = smaller.run.events.iter().map(|event| event.what.as_str()).collect();
    assert_eq!(what, ["0", "1", "2", "3"], "{summary}");
}

#[test]
fn events_of_one_node_come_together() {
    let system = counters(4)
        .calls_in_sequence([(0, 1), (0, 1), (0, 1)])
        .calls_in_sequence([(2, 3), (2, 3), (2, 3)])
        .always("both", handled(), |handled| handled[1] < 3 || handled[3] < 3);
    for seed in 0..3 {
        let found = system.try_check(&walk(seed)).unwrap().violation.unwrap();
        let (smaller, _) = system.minimise(&found, &unhurried()).unwrap();
        let size = RunSize { events: 12, switches: 3, choices: 0 };
        assert_eq!(RunSize::of(&smaller.run), size, "{smaller}");
    }
}

#[test]
fn choices_become_as_small_as_they_can_be() {
    let system =
        counters(2)
            .call(0, 1)
            .call(1, 0)
            .always("two", view(|n: &Counter| n.chosen), |chosen| chosen[0] < 2);
    for seed in 0..10 {
        let found = system.try_check(&walk(seed)).unwrap().violation.unwrap();
        let (smaller, _) = system.minimise(&found, &unhurried()).unwrap();
        assert_eq!(events(&smaller.run), ["node 0 is called: 1, choosing [2]"]);
    }
}

#[test]
fn a_duplicate_that_is_not_needed_is_a_delivery() {
    let system = counters(2).call(0, 1).network(Network::unordered().duplications(2)).always(
        "two",
        handled(),
        |handled| handled[1] < 2,
    );
    for seed in 0..10 {
        let found = system.try_check(&walk(seed)).unwrap().violation.unwrap();
        let (smaller, _) = system.minimise(&found, &unhurried()).unwrap();
        let kinds: Vec<_> = smaller.run.events.iter().map(|event| event.kind).collect();
        let expected = [RunEventKind::Call, RunEventKind::Duplicate, RunEventKind::Message];
        assert_eq!(kinds, expected, "{smaller}");
    }
}

#[test]
fn a_run_that_gets_stuck_is_shortened_to_another_that_does() {
    // Stuck after an odd number of events at node 1: leaving out an event is not enough, what it
    // would have led to must be left out too, and what is left must run its course.
    let system = counters(3)
        .network(Network::unordered().drops(2))
        .call(0, 1)
        .call(2, 1)
        .never_stuck("answered", handled(), |handled| handled[0] != 1);
    let found = (0..20).filter_map(|seed| system.try_check(&walk(seed)).unwrap().violation);
    let mut met = 0;
    for found in found {
        met += 1;
        let (smaller, summary) = system.minimise(&found, &unhurried()).unwrap();
        // Both calls; the ping or the pong of node 0 is lost; the other ping and pong are, too, or
        // are handled.
        assert_eq!(smaller.run.events.len(), 4, "{smaller}");
        assert!(summary.is_shortest, "{summary}");
    }
    assert!(met > 0);
}

#[test]
fn a_panic_is_shortened_to_the_same_panic() {
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Fussy(u8);
    impl Node for Fussy {
        type Msg = Never;
        type Timer = Never;
        type Call = u8;
        type Output = Never;
        fn on_message(&mut self, _: Id, msg: Never, _: &mut Cx<'_, Self>) {
            match msg {}
        }
        fn on_call(&mut self, call: u8, _: &mut Cx<'_, Self>) {
            assert!(call < 9, "nine");
            self.0 += call;
            assert!(self.0 < 6, "too much");
        }
    }
    let calls = [1, 2, 3, 4, 9];
    let system = calls.iter().fold(System::new([Fussy(0)]), |system, &call| system.call(0, call));
    let mut met = 0;
    for seed in 0..20 {
        let found = system.try_check(&walk(seed)).unwrap().violation.unwrap();
        if found.property.starts_with("nine at ") {
            continue;
        }
        met += 1;
        let (smaller, _) = system.minimise(&found, &unhurried()).unwrap();
        // The other panic needs but one event; no event of this one can be left out.
        assert!(smaller.property.starts_with("too much at "), "{smaller}");
        let calls: Vec<u8> =
            smaller.run.events.iter().map(|event| event.what.parse().unwrap()).collect();
        let sum: u8 = calls.iter().sum();
        assert!(sum >= 6 && calls.iter().all(|call| sum - call < 6), "{smaller}");
    }
    assert!(met > 0);
}

#[test]
fn a_panic_at_the_start_needs_no_event() {
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Stillborn;
    impl Node for Stillborn {
        type Msg = Never;
        type Timer = Never;
        type Call = Never;
        type Output = Never;
        fn on_start(&mut self, _: &mut Cx<'_, Self>) {
            panic!("no");
        }
        fn on_message(&mut self, _: Id, msg: Never, _: &mut Cx<'_, Self>) {
            match msg {}
        }
    }
    let system = System::new([Stillborn]);
    let found = system.check().violation.unwrap();
    assert_eq!(found.run.events, []);
    let (smaller, summary) = system.minimise(&found, &unhurried()).unwrap();
    assert_eq!(smaller, found);
    assert!(summary.is_shortest);
}

#[test]
fn the_summary_says_by_how_much() {
    let system = counters(3).calls_in_sequence([(2, 0), (0, 1), (0, 1)]).always(
        "one",
        handled(),
        |handled| handled[1] < 2,
    );
    let options = Options { minimise: true, ..walk(3) };
    let outcome = system.try_check(&options).unwrap();
    let minimised = outcome.minimised.as_ref().unwrap();
    let (before, after) = (minimised.before, minimised.after);
    let text = minimised.to_string();
    let start = format!("{} events instead of {}", after.events, before.events);
    assert!(text.starts_with(&start), "{text}");
    assert!(text.contains("; no run is shorter; "), "{text}");
    assert!(outcome.to_string().contains(&format!("\nminimised: {text}\n")), "{outcome}");
}

#[test]
fn another_panic_is_not_the_one_that_was_found() {
    /// Panics with the first text while it starts, or with the second when it is called.
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Fragile(Option<&'static str>, &'static str);
    // A message ends with the place, so there is but one.
    fn fail(text: &str) {
        panic!("{text}");
    }
    impl Node for Fragile {
        type Msg = Never;
        type Timer = Never;
        type Call = ();
        type Output = Never;
        fn on_start(&mut self, _: &mut Cx<'_, Self>) {
            if let Some(text) = self.0 {
                fail(text);
            }
        }
        fn on_message(&mut self, _: Id, msg: Never, _: &mut Cx<'_, Self>) {
            match msg {}
        }
        fn on_call(&mut self, (): (), _: &mut Cx<'_, Self>) {
            fail(self.1);
        }
    }
    let system = |start, call| System::new([Fragile(start, call)]).call(0, ());
    let found = system(None, "called").check().violation.unwrap();
    for other in [system(Some("started"), "called"), system(None, "called again")] {
        let error = other.minimise(&found, &unhurried()).unwrap_err().to_string();
        let expected = "the run does not violate what it is said to violate: ";
        assert!(error.starts_with(expected), "{error}");
    }
    let (smaller, _) = system(Some("called"), "called").minimise(&found, &unhurried()).unwrap();
    assert!(smaller.run.events.is_empty());
}

#[test]
fn a_breadth_first_run_is_known_to_be_a_shortest_one() {
    let system = counters(2).calls_in_sequence([(0, 1), (0, 1)]).call(1, 0).always(
        "one",
        handled(),
        |handled| handled[1] < 2,
    );
    let options = Options { minimise: true, threads: 1, ..Options::default() };
    let outcome = system.try_check(&options).unwrap();
    let minimised = outcome.minimised.unwrap();
    assert_eq!(minimised.after.events, outcome.violation.unwrap().run.events.len());
    assert!(minimised.is_shortest, "{minimised}");
}
