//! What the statistics say they are.

use super::*;

/// Chooses how it starts.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Undecided(usize);

impl Node for Undecided {
    type Msg = Never;
    type Timer = Never;
    type Call = ();
    type Output = Never;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        self.0 = cx.choose(3);
    }

    fn on_message(&mut self, _: Id, msg: Never, _: &mut Cx<'_, Self>) {
        match msg {}
    }

    fn on_call(&mut self, (): (), _: &mut Cx<'_, Self>) {
        self.0 += 10;
    }
}

#[test]
fn there_is_an_initial_state_for_each_way_to_start() {
    let system = System::new([Undecided(0)]).call(0, ());
    for (name, options) in engines() {
        let outcome = system.try_check(&options).unwrap();
        assert_eq!(outcome.statistics.unique_states, Some(6), "{name}");
        if !name.starts_with("walk") {
            assert_eq!(outcome.statistics.generated_states, Some(6), "{name}");
        }
    }
    let system = system.always("not 12", view(|n: &Undecided| n.0), |views| views[0] != 12);
    for (name, violation) in violations(&system) {
        assert_eq!((violation.run.start, violation.run.events.len()), (2, 1), "{name}");
    }
}

#[test]
fn generated_states_are_the_initial_ones_and_one_for_each_transition() {
    let system = System::new([Undecided(0)]).call(0, ());
    for (name, options) in engines().into_iter().filter(|(name, _)| !name.starts_with("walk")) {
        let outcome = system.try_check(&options).unwrap();
        assert_eq!(outcome.statistics.transitions, Some(3), "{name}");
    }
}

#[test]
fn no_run_is_longer_than_the_depth() {
    let system = sets(2).call(0, 1).always("empty", size(), |sizes| sizes == [0, 0]);
    for (name, options) in engines() {
        let outcome = system.try_check(&options).unwrap();
        assert_eq!(outcome.assert_violated("empty").run.events.len(), 1, "{name}");
        assert_eq!(outcome.statistics.depth, Some(1), "{name}");
    }
}

#[test]
fn with_nothing_left_to_find_a_search_holds() {
    let system = sets(2).call(0, 1).sometimes("called", size(), |sizes| sizes[0] == 1);
    for (name, options) in engines() {
        let outcome = system.try_check(&options).unwrap();
        assert_eq!(outcome.verdict, Verdict::Holds, "{name}");
        assert!(!outcome.complete && outcome.bounded_by.is_none(), "{name}");
    }
}

#[test]
fn random_runs_that_find_nothing_are_bounded_by_their_number() {
    let system = sets(2).call(0, 1).always("small", size(), |sizes| sizes[0] <= 1);
    let options = Options { engine: Engine::Walk, runs: 9, ..Options::default() };
    let outcome = system.try_check(&options).unwrap();
    assert_eq!(outcome.verdict, Verdict::Inconclusive);
    assert_eq!(outcome.bounded_by, Some(Bound::Runs));
}

/// Chooses a number when it starts.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Chooser(usize);

impl Node for Chooser {
    type Msg = Never;
    type Timer = ();
    type Call = ();
    type Output = Never;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        self.0 = cx.choose(3);
        cx.set_timer(());
    }

    fn on_message(&mut self, _: Id, msg: Never, _: &mut Cx<'_, Self>) {
        match msg {}
    }

    fn on_timer(&mut self, (): (), cx: &mut Cx<'_, Self>) {
        self.0 += 10;
        cx.set_timer(());
    }
}

#[test]
fn a_run_says_what_was_chosen_at_the_start() {
    let system = System::new([Chooser(0), Chooser(0)]).timers(1).always(
        "not both",
        view(|n: &Chooser| n.0),
        |numbers| numbers != [12, 1],
    );
    for (name, violation) in violations(&system) {
        assert_eq!(violation.run.start_choices, [[2], [1]], "{name}");
        assert!(violation.to_string().contains("node 0 starts, choosing [2]"), "{violation}");
    }
}

#[test]
fn a_timer_that_the_bound_holds_back_is_not_stuck() {
    let system =
        System::new([Chooser(0)])
            .timers(2)
            .never_stuck("goes on", view(|n: &Chooser| n.0), |_| false);
    for (name, options) in engines() {
        let outcome = system.try_check(&options).unwrap();
        assert_ne!(outcome.verdict, Verdict::Violated, "{name}\n{outcome}");
    }
}
