//! Engine `lmc` where its local states are more than what is reachable.

mod drawn;
mod growing;
mod kept;

use allways::prelude::*;
use std::time::Duration;

/// Counts what it is called and told.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Counter {
    called: u32,
    told: u32,
    fired: u32,
    fires: u32,
}

impl Node for Counter {
    type Msg = u8;
    type Timer = ();
    type Call = u8;
    type Output = Never;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        if self.fires > 0 {
            cx.set_timer(());
        }
    }

    fn on_message(&mut self, _: Id, _: u8, _: &mut Cx<'_, Self>) {
        self.told += 1;
    }

    fn on_timer(&mut self, (): (), cx: &mut Cx<'_, Self>) {
        self.fired += 1;
        if self.fired < self.fires {
            cx.set_timer(());
        }
    }

    fn on_call(&mut self, call: u8, cx: &mut Cx<'_, Self>) {
        self.called += 1;
        if call > 0 {
            cx.send(Id::new(1), call);
        }
    }
}

fn lmc() -> Options {
    Options {
        engine: Engine::Lmc,
        threads: 1,
        minimise: false,
        max_time: Some(Duration::from_secs(5)),
        ..Options::default()
    }
}

/// Two equal calls, and a node with a long life of its own.
fn called_twice() -> System<Counter> {
    System::new([Counter::default(), Counter { fires: 9, ..Counter::default() }])
        .call(0, 0)
        .call(0, 0)
        .always("once", view(|c: &Counter| c.called), |called| called[0] < 2)
}

#[test]
fn a_bound_on_the_depth_covers_equal_calls() {
    let bounded = Options { max_depth: Some(2), ..lmc() };
    let outcome = called_twice().try_check(&bounded).unwrap();
    assert_eq!(outcome.engine, "lmc views");
    assert_eq!(outcome.verdict, Verdict::Violated, "{:?}", outcome.bounded_by);
}

/// Told only once, whatever the property says.
fn told_once() -> System<Counter> {
    System::new([Counter::default(), Counter::default()]).call(0, 1)
}

#[test]
fn a_message_that_is_counted_by_its_handler_does_not_go_on_for_ever() {
    let system = told_once().always("few", view(|c: &Counter| c.called), |called| called[0] < 2);
    let outcome = system.try_check(&lmc()).unwrap();
    assert_eq!(outcome.bounded_by, None);
    assert_eq!(outcome.verdict, Verdict::Holds);
}

#[test]
fn a_message_that_is_counted_by_its_handler_and_read() {
    let system = told_once().always("few", view(|c: &Counter| c.told), |told| told[1] < 3);
    let outcome = system.try_check(&lmc()).unwrap();
    assert_eq!(outcome.bounded_by, None);
    assert_eq!(outcome.verdict, Verdict::Holds);
}

#[test]
fn a_property_that_panics_where_no_run_leads_is_not_to_blame() {
    // Told before called: no run.
    let system =
        told_once().always("order", view(|c: &Counter| (c.called, c.told.min(1))), |seen| {
            let (called, told) = (seen[0].0, seen[1].1);
            called.checked_sub(told).expect("nobody is told before it is called") < 9
        });
    let system = system.always("few", view(|c: &Counter| c.told), |told| told[1] < 3);
    let global = system.try_check(&Options { engine: Engine::Global, ..lmc() }).unwrap();
    assert_eq!(global.verdict, Verdict::Holds);
    let outcome = system.try_check(&lmc()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outcome.verdict, Verdict::Holds);
}

#[test]
fn a_view_that_panics_where_no_run_leads_is_not_to_blame() {
    let left = view(|c: &Counter| 1u32.checked_sub(c.told).expect("told once at most"));
    let system = told_once().always("few", left, |left| left[1] < 3);
    let global = system.try_check(&Options { engine: Engine::Global, ..lmc() }).unwrap();
    assert_eq!(global.verdict, Verdict::Holds);
    let outcome = system.try_check(&lmc()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outcome.verdict, Verdict::Holds);
}

/// Climbs by its timer, or by what the node before it says, and tells the next one.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Step(u16);

const TOP: u16 = 103;

impl Node for Step {
    type Msg = u16;
    type Timer = ();
    type Call = Never;
    type Output = Never;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        if cx.id().index() == 0 {
            cx.set_timer(());
        }
    }

    fn on_timer(&mut self, (): (), cx: &mut Cx<'_, Self>) {
        self.0 += 1;
        cx.send(Id::new(1), self.0);
        if self.0 < TOP {
            cx.set_timer(());
        }
    }

    fn on_message(&mut self, _: Id, step: u16, cx: &mut Cx<'_, Self>) {
        if step == self.0 + 1 {
            self.0 = step;
            let next = cx.id().index() + 1;
            if next < cx.nodes() {
                cx.send(Id::new(next), step);
            }
        }
    }
}

/// Each view of each node with each of the others is more than the engine goes through one by one.
fn stairs() -> System<Step> {
    System::new(vec![Step::default(); 3])
}

#[test]
fn views_too_many_to_combine_are_asked_about_on_the_way() {
    let steps = view(|s: &Step| s.0);
    let system = stairs().always("in order", steps, |steps| steps.is_sorted_by(|a, b| a >= b));
    let outcome = system.try_check(&Options { max_time: None, ..lmc() }).unwrap();
    assert_eq!(outcome.engine, "lmc views");
    assert_eq!((outcome.verdict, outcome.complete), (Verdict::Holds, true));
}

#[test]
fn a_violation_is_found_among_views_too_many_to_combine() {
    let steps = view(|s: &Step| s.0);
    let system = stairs()
        .always("near", steps, |steps| steps[2] != 20 || steps[0] < 50)
        .sometimes("apart", view(|s: &Step| s.0), |steps| steps == [30, 20, 10])
        .sometimes("never", view(|s: &Step| s.0), |steps| steps == [10, 20, 30]);
    let outcome = system.try_check(&Options { max_time: None, ..lmc() }).unwrap();
    assert_eq!(outcome.engine, "lmc views");
    assert_eq!(outcome.assert_violated("near").run.start, 0);
    assert_eq!(outcome.witnesses.len(), 1);
}

/// What a node handles, in a table of rules.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum On {
    Start,
    Message(u8),
    Timer(u8),
    Call,
}

/// In a state of a node, on this: the next state, and to whom what is sent.
type Rule = (usize, u8, On, u8, &'static [(usize, u8)]);

/// A node that follows rules; of several, it chooses one. All timers are pending from the start.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Ruled(u8, &'static [Rule]);

impl Ruled {
    fn follow(&mut self, on: On, cx: &mut Cx<'_, Self>) {
        let node = cx.id().index();
        let apply = |rule: &&Rule| (rule.0, rule.1, rule.2) == (node, self.0, on);
        let rules: Vec<&Rule> = self.1.iter().filter(apply).collect();
        let chosen = if rules.len() > 1 { cx.choose(rules.len()) } else { 0 };
        if let Some((.., next, sends)) = rules.get(chosen) {
            self.0 = *next;
            sends.iter().for_each(|&(to, msg)| cx.send(Id::new(to), msg));
        }
    }
}

impl Node for Ruled {
    type Msg = u8;
    type Timer = u8;
    type Call = ();
    type Output = Never;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        self.follow(On::Start, cx);
        let node = cx.id().index();
        for rule in self.1.iter().filter(|rule| rule.0 == node) {
            if let On::Timer(timer) = rule.2 {
                cx.set_timer(timer);
            }
        }
    }

    fn on_message(&mut self, _: Id, msg: u8, cx: &mut Cx<'_, Self>) {
        self.follow(On::Message(msg), cx);
    }

    fn on_timer(&mut self, timer: u8, cx: &mut Cx<'_, Self>) {
        self.follow(On::Timer(timer), cx);
    }

    fn on_call(&mut self, (): (), cx: &mut Cx<'_, Self>) {
        self.follow(On::Call, cx);
    }

    /// That it crashed can be seen.
    fn persisted(&self) -> Option<Self> {
        Some(Ruled(if self.0 < 100 { self.0 + 100 } else { self.0 }, self.1))
    }
}

fn ruled(nodes: usize, rules: &'static [Rule]) -> System<Ruled> {
    System::new(vec![Ruled(0, rules); nodes])
}

/// Both engines find a run to these states; this one by itself.
fn is_reached(system: System<Ruled>, states: &'static [u8], views: fn(u8) -> u8) {
    let seen = view(move |node: &Ruled| views(node.0));
    let system = system.sometimes("reached", seen, move |seen| seen == states);
    for options in [Options { engine: Engine::Global, ..lmc() }, lmc()] {
        let outcome = system.try_check(&options).unwrap();
        assert_eq!(outcome.verdict, Verdict::Holds, "{}", outcome.engine);
        assert!(options.engine == Engine::Global || outcome.engine == "lmc views");
    }
}

#[test]
fn an_answer_that_leaves_its_node_as_it_was_is_given() {
    is_reached(
        ruled(
            2,
            &[
                (0, 0, On::Call, 1, &[(1, 0)]),
                (1, 0, On::Message(0), 0, &[(0, 1)]),
                (0, 1, On::Message(1), 2, &[]),
            ],
        )
        .call(0, ()),
        &[2, 0],
        |state| state,
    );
}

#[test]
fn a_copy_that_is_needed_later_is_not_used_early() {
    // With one copy, it must wait for the timer; two there are only where the first node is in 9.
    is_reached(
        ruled(
            2,
            &[
                (0, 0, On::Start, 0, &[(1, 0)]),
                (0, 0, On::Start, 9, &[(1, 0), (1, 0), (1, 1)]),
                (1, 0, On::Message(0), 1, &[]),
                (1, 0, On::Message(1), 4, &[]),
                (1, 1, On::Message(1), 5, &[]),
                (1, 0, On::Timer(0), 2, &[]),
                (1, 1, On::Timer(0), 3, &[]),
                (1, 2, On::Message(0), 4, &[]),
                (1, 3, On::Message(0), 5, &[]),
                (1, 3, On::Message(1), 5, &[]),
            ],
        ),
        &[0, 1],
        |state| match state {
            4 | 5 => 1,
            9 => 9,
            _ => 0,
        },
    );
}

#[test]
fn a_copy_sent_before_does_not_stand_for_two() {
    for swapped in [false, true] {
        const ONE: &[Rule] = &[
            (0, 0, On::Timer(0), 1, &[(1, 0)]),
            (0, 0, On::Timer(1), 2, &[(1, 0)]),
            (0, 2, On::Timer(0), 3, &[(1, 0)]),
            (1, 0, On::Message(0), 11, &[]),
            (1, 11, On::Message(0), 12, &[]),
        ];
        const OTHER: &[Rule] = &[
            (0, 0, On::Timer(1), 1, &[(1, 0)]),
            (0, 0, On::Timer(0), 2, &[(1, 0)]),
            (0, 2, On::Timer(1), 3, &[(1, 0)]),
            (1, 0, On::Message(0), 11, &[]),
            (1, 11, On::Message(0), 12, &[]),
        ];
        let rules = if swapped { OTHER } else { ONE };
        is_reached(ruled(2, rules), &[0, 2], |state| if state == 12 { 2 } else { 0 });
    }
}

#[test]
fn a_crash_that_another_node_needs_is_not_spent() {
    is_reached(
        ruled(
            2,
            &[
                (0, 0, On::Message(0), 4, &[]),
                (0, 0, On::Timer(0), 1, &[]),
                (1, 0, On::Timer(0), 2, &[(0, 0)]),
            ],
        )
        .faults(Faults::none().crashes(1)),
        &[4, 100],
        |state| match state {
            4 | 101 => 4,
            100 | 102 => 100,
            _ => 0,
        },
    );
}

#[test]
fn a_crash_that_nobody_sees_is_not_taken_at_once() {
    is_reached(
        ruled(
            2,
            &[
                (0, 0, On::Start, 5, &[]),
                (1, 0, On::Start, 0, &[]),
                // Only from here is there more to be done after the crash than before.
                (1, 0, On::Start, 8, &[(0, 1)]),
                (0, 105, On::Message(1), 105, &[(1, 3)]),
                (1, 8, On::Message(3), 0, &[]),
            ],
        )
        .faults(Faults::none().crashes(1).restarts()),
        &[5, 100],
        |state| if state == 105 { 5 } else { state },
    );
}

#[test]
fn a_crash_that_was_not_needed_does_not_hide_the_way_without() {
    // The first node comes to 100 by a crash, or by and by; then the other has to crash. What would be
    // lost on the way was never sent.
    is_reached(
        ruled(
            2,
            &[
                (1, 0, On::Start, 0, &[]),
                (1, 0, On::Start, 8, &[(0, 1)]),
                (0, 0, On::Message(1), 4, &[]),
                (0, 0, On::Timer(0), 6, &[]),
                (0, 6, On::Message(1), 4, &[]),
                (0, 6, On::Timer(1), 100, &[]),
                (0, 100, On::Call, 100, &[(1, 2)]),
                (1, 0, On::Message(2), 9, &[]),
            ],
        )
        .call(0, ())
        .faults(Faults::none().crashes(1).restarts()),
        &[1, 2],
        |state| match state {
            100 | 4 => 1,
            109 => 2,
            _ => 0,
        },
    );
}

#[test]
fn a_copy_sent_at_the_start_and_one_sent_later_are_two() {
    is_reached(
        ruled(
            2,
            &[
                (1, 0, On::Start, 0, &[(0, 0)]),
                (1, 0, On::Call, 1, &[(0, 0)]),
                (0, 0, On::Message(0), 11, &[]),
                (0, 11, On::Message(0), 12, &[]),
            ],
        )
        .call(1, ()),
        &[12, 1],
        |state| state,
    );
}

/// Each of two messages moves the other node on by as often as it comes.
fn comes_again(duplications: u8, wished: &'static [u8]) -> Outcome {
    let rules: &[Rule] = &[
        (0, 0, On::Start, 0, &[(1, 0), (1, 1)]),
        (1, 0, On::Message(0), 1, &[]),
        (1, 1, On::Message(0), 2, &[]),
        (1, 2, On::Message(0), 3, &[]),
        (1, 1, On::Message(1), 11, &[]),
        (1, 2, On::Message(1), 12, &[]),
        (1, 12, On::Message(1), 22, &[]),
    ];
    let network = Network::unordered().duplications(duplications);
    let system = ruled(2, rules).network(network);
    let system = system.sometimes("reached", view(|n: &Ruled| n.0), move |seen| seen == wished);
    let expected = system.try_check(&Options { engine: Engine::Global, ..lmc() }).unwrap();
    let outcome = system.try_check(&lmc()).unwrap();
    assert_eq!(outcome.engine, "lmc views");
    assert_eq!(outcome.verdict, expected.verdict, "{duplications} {wished:?}");
    outcome
}

#[test]
fn a_message_comes_again_as_often_as_it_may_be_duplicated() {
    for (duplications, wished, is_reached) in [
        (0, &[0, 2], false),
        (1, &[0, 2], true),
        (1, &[0, 3], false),
        (2, &[0, 3], true),
        // Both of them twice.
        (1, &[0, 12], true),
        (1, &[0, 22], false),
        (2, &[0, 22], true),
    ] {
        let outcome = comes_again(duplications, wished);
        assert_eq!(outcome.witnesses.len(), usize::from(is_reached), "{duplications} {wished:?}");
    }
}

#[test]
fn equal_calls_are_all_made() {
    let outcome = called_twice().try_check(&lmc()).unwrap();
    assert_eq!(outcome.engine, "lmc views");
    outcome.assert_violated("once");
}
