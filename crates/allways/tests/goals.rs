//! Goals that are not reached, and bounds that run out: what the outcome says of them.

use allways::prelude::*;
use allways::{Bound, Cause, Error, Goal, Rename, Renaming};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Adds up the calls that it handles; a message takes one away again.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Counter(u8);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Less;

impl Node for Counter {
    type Msg = Less;
    type Timer = Never;
    type Call = u8;
    type Output = u8;

    fn on_call(&mut self, call: u8, cx: &mut Cx<'_, Self>) {
        self.0 += call;
        cx.output(self.0);
        cx.broadcast(Less);
    }

    fn on_message(&mut self, _: Id, Less: Less, _: &mut Cx<'_, Self>) {
        self.0 = self.0.saturating_sub(1);
    }
}

impl Rename for Counter {
    fn rename(&self, _: &Renaming) -> Self {
        self.clone()
    }
}

impl Rename for Less {
    fn rename(&self, _: &Renaming) -> Self {
        Less
    }
}

fn number() -> allways::View<Counter, u8> {
    view(|n: &Counter| n.0)
}

fn searches() -> Vec<(&'static str, Options)> {
    let global = |search, threads| Options { search, threads, ..Options::default() };
    let walk = |threads| Options { engine: Engine::Walk, runs: 200, threads, ..Options::default() };
    vec![
        ("bfs", global(Search::Bfs, 1)),
        ("bfs, 3 threads", global(Search::Bfs, 3)),
        ("bfs, exact", Options { exact: true, ..global(Search::Bfs, 1) }),
        ("dfs", global(Search::Dfs, 1)),
        ("dfs, 3 threads", global(Search::Dfs, 3)),
        ("classic", global(Search::Classic, 1)),
        ("walk", walk(1)),
        ("walk, 3 threads", walk(3)),
    ]
}

/// Two counters; the calls are 3 at the first and 2 at the second.
fn counters() -> System<Counter> {
    System::new([Counter(0), Counter(0)]).call(0, 3).call(1, 2)
}

fn unreachable() -> System<Counter> {
    counters().sometimes_all(
        "both high, and equal",
        number(),
        [
            conjunct("first has 3", |n: &[u8]| n[0] == 3),
            conjunct("second has 2", |n: &[u8]| n[1] == 2),
            conjunct("equal", |n: &[u8]| n[0] == n[1]),
            conjunct("somebody has 9", |n: &[u8]| n.contains(&9)),
        ],
    )
}

fn first_true(goal: &Goal) -> Vec<Option<u64>> {
    goal.conjuncts.iter().map(|conjunct| conjunct.first_true).collect()
}

#[test]
fn a_goal_that_is_impossible_is_explained_conjunct_by_conjunct() {
    for (name, options) in searches() {
        let outcome = unreachable().try_check(&options).unwrap();
        let goal = &outcome.goals[0];
        assert_eq!(goal.reached, None, "{name}");
        let ever: Vec<bool> = first_true(goal).iter().map(Option::is_some).collect();
        assert_eq!(ever, [true, true, true, false], "{name}");
        let nearest = goal.nearest.as_ref().unwrap();
        assert_eq!(nearest.met, ["first has 3", "second has 2"], "{name}");
        assert_eq!(nearest.missing, ["equal", "somebody has 9"], "{name}");
        assert_eq!(nearest.run.events.len(), 2, "{name}");
    }
    let outcome = unreachable().check();
    assert_eq!(outcome.violation.as_ref().unwrap().cause, Cause::NeverReached);
    assert_eq!(
        outcome.advice(),
        [
            "sometimes `both high, and equal`: no reachable state satisfies it",
            "  `first has 3` is true first after 1 event",
            "  `second has 2` is true first after 1 event",
            "  `equal` is true from the start",
            "  `somebody has 9` is never true",
            "  at most 2 of 4 are true at once, after 2 events: `first has 3`, `second has 2`, without `equal`, `somebody has 9`",
        ]
    );
    let shown = outcome.to_string();
    assert!(shown.contains("\n  `somebody has 9` is never true\n"), "{shown}");
}

#[test]
fn a_goal_that_is_reached_says_after_how_many_events() {
    let system = counters().always("small", number(), |n| n[0] < 9).sometimes_all(
        "both called",
        number(),
        [conjunct("first", |n: &[u8]| n[0] == 3), conjunct("second", |n: &[u8]| n[1] == 2)],
    );
    for (name, options) in searches() {
        let outcome = system.try_check(&options).unwrap();
        let goal = &outcome.goals[0];
        assert_eq!(goal.reached, Some(outcome.witnesses[0].run.events.len() as u64), "{name}");
        assert!(goal.nearest.is_none(), "{name}");
        assert!(first_true(goal).iter().all(Option::is_some), "{name}");
        if name.starts_with("bfs") {
            assert_eq!((goal.reached, first_true(goal)), (Some(2), vec![Some(1); 2]), "{name}");
            assert_eq!(outcome.advice(), [""; 0], "{name}");
        }
    }
}

#[test]
fn a_goal_without_names_is_told_as_one() {
    let system = counters().sometimes("high", number(), |n| n[0] > 8);
    let outcome = system.check();
    assert_eq!(outcome.goals[0].conjuncts, []);
    assert_eq!(
        outcome.advice(),
        [
            "sometimes `high`: no reachable state satisfies it",
            "  name its parts (`sometimes_all`, `sometimes_all_observed`) to see which is missing",
        ]
    );
    let shown = outcome.to_string();
    assert_eq!(shown.matches("no reachable state satisfies it").count(), 1, "{shown}");
}

#[test]
fn a_goal_that_reads_what_never_changes_says_so() {
    let outcome = counters().sometimes("odd", view(|n: &Counter| n.0 > 9), |n| n[0]).check();
    assert_eq!(
        outcome.advice(),
        [
            "sometimes `odd`: no reachable state satisfies it",
            "  what it reads is the same in every state",
        ]
    );
}

/// Counts what is output.
struct Outputs;

impl Observer<Counter> for Outputs {
    type State = u64;
    fn start(&self) -> u64 {
        0
    }
    fn wants(&self, seen: &Seen<'_, Counter>) -> bool {
        matches!(seen, Seen::Output { .. })
    }
    fn observe(&self, state: &mut u64, _: Seen<'_, Counter>) {
        *state += 1;
    }
}

#[test]
fn a_goal_may_read_an_observer() {
    let system = counters().observe(Outputs).sometimes_all_observed(
        "two and even more",
        [conjunct("two", |n: &u64| *n == 2), conjunct("more", |n: &u64| *n > 2)],
    );
    for (name, options) in searches() {
        let outcome = system.try_check(&options).unwrap();
        let goal = &outcome.goals[0];
        let nearest = goal.nearest.as_ref().unwrap();
        assert_eq!(
            (&nearest.met[..], &nearest.missing[..]),
            (&["two".to_owned()][..], &["more".to_owned()][..]),
            "{name}"
        );
        let first = first_true(goal);
        assert!(first[0] >= Some(2) && first[1].is_none(), "{name}: {first:?}");
    }
}

#[test]
fn random_runs_see_the_same_of_a_goal_with_any_number_of_threads() {
    let of = |threads| {
        let walk =
            Options { engine: Engine::Walk, runs: 50, seed: 3, threads, ..Options::default() };
        unreachable().try_check(&walk).unwrap().goals
    };
    assert_eq!(of(1), of(3));
}

#[test]
fn a_conjunct_must_not_tell_interchangeable_nodes_apart() {
    let system = counters_alike().sometimes_all(
        "the first, not the second",
        number(),
        [
            conjunct("first", |n: &[u8]| n[0] == 1),
            conjunct("not equal", |n: &[u8]| n[0] != n[1]),
            conjunct("second", |n: &[u8]| n[1] == 1),
        ],
    );
    let symmetry = Options { symmetry: true, ..Options::default() };
    let error = system.try_check(&symmetry).unwrap_err();
    let what =
        "property `the first, not the second` tells nodes apart that are declared interchangeable";
    assert_eq!(error, Error::System(what.to_owned()));
}

#[test]
fn under_symmetry_the_nearest_run_is_one_of_real_states() {
    let system = counters_alike().sometimes_all(
        "one and nine",
        number(),
        [
            conjunct("somebody has 1", |n: &[u8]| n.contains(&1)),
            conjunct("somebody has 9", |n: &[u8]| n.contains(&9)),
        ],
    );
    let symmetry = Options { symmetry: true, ..Options::default() };
    let outcome = system.try_check(&symmetry).unwrap();
    assert_eq!(first_true(&outcome.goals[0]), [Some(1), None]);
    assert_eq!(outcome.goals[0].nearest.as_ref().unwrap().run.events.len(), 1);
}

fn counters_alike() -> System<Counter> {
    System::new([Counter(0), Counter(0)]).call(0, 1).call(1, 1).interchangeable([0, 1])
}

#[test]
fn a_goal_of_nothing_makes_no_sense() {
    let none = counters().sometimes_all("nothing", number(), []);
    assert_eq!(
        none.try_check(&Options::default()).unwrap_err().to_string(),
        "property `nothing` has 0 conjuncts; it must have between 1 and 64"
    );
    let twice = counters().sometimes_all(
        "twice",
        number(),
        [conjunct("same", |_: &[u8]| true), conjunct("same", |_: &[u8]| true)],
    );
    assert_eq!(
        twice.try_check(&Options::default()).unwrap_err().to_string(),
        "two conjuncts of property `twice` are called `same`"
    );
}

#[test]
fn a_conjunct_that_panics_is_an_error() {
    let system =
        counters().sometimes_all("careless", number(), [conjunct("index", |n: &[u8]| n[7] == 0)]);
    for (name, options) in searches() {
        let error = system.try_check(&options).unwrap_err().to_string();
        assert!(error.starts_with("property `careless` panicked: "), "{name}: {error}");
    }
}

/// Counts in two directions without end.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Grid(u32, u32);

impl Node for Grid {
    type Msg = Never;
    type Timer = bool;
    type Call = Never;
    type Output = Never;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        cx.set_timer(false);
        cx.set_timer(true);
    }

    fn on_message(&mut self, _: Id, msg: Never, _: &mut Cx<'_, Self>) {
        match msg {}
    }

    fn on_timer(&mut self, timer: bool, cx: &mut Cx<'_, Self>) {
        match timer {
            false => self.0 += 1,
            true => self.1 += 1,
        }
        cx.set_timer(timer);
    }
}

fn grid() -> System<Grid> {
    System::new([Grid(0, 0)])
        .always("small", view(|n: &Grid| n.0), |n| n[0] < 1_000_000)
        .sometimes_all(
            "far in both",
            view(|n: &Grid| (n.0, n.1)),
            [
                conjunct("right", |n: &[(u32, u32)]| n[0].0 >= 4),
                conjunct("up", |n: &[(u32, u32)]| n[0].1 >= 4),
            ],
        )
}

#[test]
fn a_depth_bound_says_what_lies_within_it_and_what_waits() {
    let options = Options { max_depth: Some(6), threads: 1, ..Options::default() };
    let outcome = grid().try_check(&options).unwrap();
    assert_eq!(outcome.bounded_by, Some(Bound::Depth));
    assert_eq!(outcome.statistics.levels, [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(outcome.statistics.frontier, Some(7));
    assert_eq!(
        outcome.advice(),
        [
            "all 28 states within 6 events were checked; 7 wait at depth 6; each level is about 1.2 times as large as the one before",
            "sometimes `far in both`: no state that was met satisfies it",
            "  `right` is true first after 4 events",
            "  `up` is true first after 4 events",
            "  at most 1 of 2 are true at once, after 4 events: `right`, without `up`",
        ]
    );
    let shown = outcome.to_string();
    let begins = "inconclusive: bounded by depth; no violation in what was covered\nall 28 states within 6 events were checked;";
    assert!(shown.starts_with(begins), "{shown}");
}

#[test]
fn a_bound_on_states_says_what_lies_within_the_last_whole_level() {
    let options = Options { max_states: Some(1_000), threads: 1, ..Options::default() };
    let system = System::new([Grid(0, 0)]);
    let outcome = system.try_check(&options).unwrap();
    assert_eq!(outcome.bounded_by, Some(Bound::States));
    let statistics = &outcome.statistics;
    let known: u64 = statistics.levels.iter().sum();
    let last = statistics.levels.len() as u64 - 1;
    assert_eq!(known, (last + 1) * (last + 2) / 2);
    // It ends with a level, since a level of this system is done in one go.
    assert!(known > 1_000 && known - (last + 1) <= 1_000, "{statistics:?}");
    assert_eq!((statistics.unique_states, statistics.frontier), (Some(known), Some(last + 1)));
    let said = format!(
        "all {} states within {last} events were checked; {} wait at depth {last}; each level is about as large as the one before",
        allways::grouped(known),
        last + 1,
    );
    assert_eq!(outcome.advice(), [said]);
}

#[test]
fn a_state_that_may_be_stuck_is_not_checked_before_it_is_expanded() {
    /// Counts to three.
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Three(u8);
    impl Node for Three {
        type Msg = Never;
        type Timer = ();
        type Call = Never;
        type Output = Never;
        fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
            cx.set_timer(());
        }
        fn on_message(&mut self, _: Id, msg: Never, _: &mut Cx<'_, Self>) {
            match msg {}
        }
        fn on_timer(&mut self, (): (), cx: &mut Cx<'_, Self>) {
            self.0 += 1;
            if self.0 < 3 {
                cx.set_timer(());
            }
        }
    }
    let system = || System::new([Three(0)]);
    let stuck = || system().never_stuck("goes on", view(|n: &Three| n.0), |n| n[0] < 3);
    let said = |system: System<Three>, options: Options| {
        let outcome = system.try_check(&Options { threads: 1, ..options }).unwrap();
        assert_eq!(outcome.verdict, Verdict::Inconclusive);
        outcome.advice()[0].clone()
    };
    let states = |max_states| Options { max_states: Some(max_states), ..Options::default() };
    // The state after three events was met, and it violates, but nobody has looked yet.
    assert_eq!(
        said(stuck(), states(3)),
        "all 3 states within 2 events were checked, and 1 more was met; 1 waits to be expanded; each level is about as large as the one before"
    );
    // Where it does not matter what is stuck, all has been said of it.
    assert_eq!(
        said(system().always("small", view(|n: &Three| n.0), |n| n[0] < 9), states(3)),
        "all 4 states within 3 events were checked; 1 waits at depth 3; each level is about as large as the one before"
    );
    // At a depth bound everything is looked at.
    let depth = Options { max_depth: Some(2), ..Options::default() };
    assert_eq!(
        said(stuck(), depth),
        "all 3 states within 2 events were checked; 1 waits at depth 2; each level is about as large as the one before"
    );
    let stop = Some(Arc::new(AtomicBool::new(true)));
    assert_eq!(
        said(stuck(), Options { stop, ..Options::default() }),
        "1 state was met, 1 waits to be expanded, the longest run has 0 events; no depth is known to be covered"
    );
}

#[test]
fn a_search_that_is_interrupted_says_how_far_it_came() {
    let stop = Some(Arc::new(AtomicBool::new(true)));
    let outcome = grid().try_check(&Options { stop, ..Options::default() }).unwrap();
    assert_eq!(outcome.bounded_by, Some(Bound::Interrupt));
    assert_eq!(outcome.advice()[0], "the 1 state within 0 events was checked; 1 waits at depth 0");
}

#[test]
fn a_search_in_another_order_claims_no_depth() {
    let options = Options { max_states: Some(2_000), threads: 1, ..Options::default() };
    let dfs = Options { search: Search::Dfs, ..options.clone() };
    let said = &grid().try_check(&dfs).unwrap().advice()[0];
    assert!(said.contains(" wait to be expanded, the longest run has "), "{said}");
    assert!(
        said.ends_with("no depth is known to be covered: search breadth-first for that"),
        "{said}"
    );
    let classic = Options { search: Search::Classic, max_depth: Some(6), ..Options::default() };
    let said = &grid().try_check(&classic).unwrap().advice()[0];
    assert_eq!(said, "all 28 states within 6 events were checked");
    let walk = Options { engine: Engine::Walk, runs: 5, max_depth: Some(3), ..Options::default() };
    let said = &grid().try_check(&walk).unwrap().advice()[0];
    assert!(said.starts_with("5 random runs, the longest of 3 events, met "), "{said}");
}

#[test]
fn levels_that_shrink_say_what_may_be_left() {
    // Of ten timers each fires once: the levels are binomial coefficients.
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Once;
    impl Node for Once {
        type Msg = Never;
        type Timer = u8;
        type Call = Never;
        type Output = Never;
        fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
            (0..10).for_each(|timer| cx.set_timer(timer));
        }
        fn on_message(&mut self, _: Id, msg: Never, _: &mut Cx<'_, Self>) {
            match msg {}
        }
    }
    let options = Options { max_depth: Some(8), ..Options::default() };
    let outcome = System::new([Once]).try_check(&options).unwrap();
    assert_eq!(outcome.statistics.levels, [1, 10, 45, 120, 210, 252, 210, 120, 45]);
    let said = &outcome.advice()[0];
    assert!(said.ends_with("about 0.5 times as large as the one before, and at that rate about 39 states are left to find"), "{said}");
}
