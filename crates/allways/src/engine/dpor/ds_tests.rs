//! Reductions `naive`, `force` and `ds`: the paper's example, and what they miss and do not miss.

use super::explore::Explorer;
use crate::engine::budget::Budget;
use crate::engine::machine::Machine;
use crate::engine::machine::handlers::{Built, Handlers};
use crate::engine::options::{Options, Reduction};
use crate::node::{Record, Recorded, state};
use crate::plan::{Plan, plan};
use crate::prelude::*;
use crate::space::hash::key;
use crate::space::local::{LocalSpace, SpaceOptions};
use crate::trace::canonical::Canonical;
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// The runs of an exploration.
#[derive(Default)]
struct Runs {
    /// Each event of each run in words.
    events: Vec<Vec<String>>,
    traces: BTreeSet<(usize, Canonical)>,
    is_bounded: bool,
}

fn runs<N: Node>(system: &System<N>, reduction: Reduction, options: &Options) -> Runs {
    let runs = Rc::new(RefCell::new(Runs::default()));
    let budget = Budget::new(options);
    let watch =
        SpaceOptions { determinism_guard: false, verify_aux: false, symmetry: false, exact: false };
    let space = LocalSpace::new(system, watch).unwrap();
    let Built::Machine(machine) = Handlers::build(&space).unwrap() else {
        panic!("nothing panics at the start")
    };
    let mut explorer = Explorer::new(*machine, &budget, reduction.passes_by());
    let into = Rc::clone(&runs);
    explorer.watch = Some(Box::new(move |order, _, machine| {
        let events: Vec<String> =
            (0..order.len()).map(|event| machine.describe(event).unwrap().to_string()).collect();
        let labels: Vec<u64> = events.iter().map(|event| key(0, event)).collect();
        let mut into = into.borrow_mut();
        into.traces.insert((machine.start_number(), Canonical::of(order, &labels)));
        into.events.push(events);
    }));
    super::explore(&mut explorer, reduction).unwrap();
    explorer.watch = None;
    let is_bounded = explorer.finish().0.bound.is_some();
    Runs { is_bounded, ..runs.take() }
}

/// Called, node 1 tells node 0. Node 0 keeps the order in which it is called and told.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Figure(Vec<&'static str>);

impl Node for Figure {
    type Msg = &'static str;
    type Timer = Never;
    type Call = &'static str;
    type Output = Never;
    fn on_call(&mut self, call: &'static str, cx: &mut Cx<'_, Self>) {
        self.0.push(call);
        if call == "e2" {
            cx.send(0, "e3");
        }
    }
    fn on_message(&mut self, _: Id, msg: &'static str, _: &mut Cx<'_, Self>) {
        self.0.push(msg);
    }
}

/// The numbers of the events of each run.
fn figure_3(reduction: Reduction, fourth: bool, max_depth: Option<u64>) -> Vec<String> {
    let mut system = System::new(vec![Figure(Vec::new()); 3]).call(0, "e1").call(1, "e2");
    if fourth {
        system = system.call(2, "e4");
    }
    let runs = runs(&system, reduction, &Options { max_depth, ..Options::default() });
    let number = |event: &String| ["e1", "e2", "e3", "e4"].iter().position(|e| event.contains(e));
    let numbers = |run: &Vec<String>| {
        run.iter().map(|event| (number(event).unwrap() + 1).to_string()).collect::<String>()
    };
    runs.events.iter().map(numbers).collect()
}

/// Figure 3 of the paper.
#[test]
fn of_the_example_of_the_paper_naive_makes_one_run_in_vain() {
    assert_eq!(figure_3(Reduction::Naive, false, None), ["123", "213", "231"]);
    for max_depth in [None, Some(3), Some(9)] {
        assert_eq!(figure_3(Reduction::Force, false, max_depth), ["123", "231"]);
        assert_eq!(figure_3(Reduction::Ds, false, max_depth), ["123", "231"]);
    }
}

/// The incompleteness of section 2.2, point 3, with the event that the paper adds to figure 3.
#[test]
fn under_a_bound_only_a_forced_order_is_sure_to_be_seen() {
    assert_eq!(figure_3(Reduction::Naive, true, Some(3)), ["142"]);
    for reduction in [Reduction::Force, Reduction::Ds] {
        let runs = figure_3(reduction, true, Some(3));
        assert!(runs.iter().any(|run| run == "231"), "{runs:?}");
    }
}

/// Takes the first of two calls and ignores the other.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Chooser(Option<u8>);

impl Node for Chooser {
    type Msg = Never;
    type Timer = Never;
    type Call = u8;
    type Output = Never;
    fn on_call(&mut self, call: u8, _: &mut Cx<'_, Self>) {
        self.0.get_or_insert(call);
    }
    fn on_message(&mut self, _: Id, msg: Never, _: &mut Cx<'_, Self>) {
        match msg {}
    }
}

/// The paper takes for granted that what is made impossible was never possible: `naive` does too, and misses
/// half of what there is.
#[test]
fn what_another_event_makes_impossible_is_missed_by_naive_alone() {
    let system = System::new([Chooser(None)]).call(0, 1).call(0, 2);
    let made = |reduction| runs(&system, reduction, &Options::default()).events;
    assert_eq!(made(Reduction::Naive), [["node 0 is called: 1"]]);
    assert!(runs(&system, Reduction::Naive, &Options::default()).is_bounded);
    for reduction in [Reduction::Force, Reduction::Ds] {
        assert_eq!(made(reduction), [["node 0 is called: 1"], ["node 0 is called: 2"]]);
    }
}

/// Every node is called once; those that are told to tell node 0.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Racer(Vec<usize>);

impl Node for Racer {
    type Msg = ();
    type Timer = Never;
    type Call = bool;
    type Output = Never;
    fn on_call(&mut self, tells: bool, cx: &mut Cx<'_, Self>) {
        self.0.push(cx.id().index());
        if tells {
            cx.send(0, ());
        }
    }
    fn on_message(&mut self, from: Id, (): (), _: &mut Cx<'_, Self>) {
        self.0.push(from.index());
    }
}

#[test]
fn a_race_has_a_run_for_each_order_and_what_is_independent_has_one() {
    let made = |racers: usize, tells: bool, reduction| {
        let calls = |system: System<Racer>, node| system.call(node, tells);
        let system = (1..=racers).fold(System::new(vec![Racer(Vec::new()); racers + 1]), calls);
        runs(&system, reduction, &Options::default())
    };
    for reduction in [Reduction::Force, Reduction::Ds] {
        for (racers, orders) in [(1, 1), (2, 2), (3, 6), (4, 24)] {
            let racing = made(racers, true, reduction);
            assert_eq!(racing.traces.len(), orders);
            assert_eq!(made(racers, false, reduction).events.len(), 1);
        }
    }
}

fn cases() -> ProptestConfig {
    let default = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { default.cases } else { 40 };
    ProptestConfig {
        cases,
        failure_persistence: None,
        max_global_rejects: 100 * cases,
        max_shrink_iters: 5_000,
        ..default
    }
}

/// So many runs are looked at in all orders.
const MAX_RUNS: u64 = if cfg!(debug_assertions) { 300 } else { 10_000 };

fn recorded(plan: &Plan, reduction: Reduction, options: &Options) -> (Runs, Recorded) {
    let record = Record::default();
    // So that drops are explored on every network.
    let system = record.of(plan).never_stuck("anything may end", state(), |_| true);
    let runs = runs(&system, reduction, options);
    (runs, record.take())
}

fn misses_nothing(plan: &Plan) -> Result<(), TestCaseError> {
    let bounded = |max_depth| Options { max_depth, max_runs: Some(MAX_RUNS), ..Options::default() };
    let (all, all_recorded) = recorded(plan, Reduction::None, &bounded(Some(60)));
    prop_assume!(!all.is_bounded);
    // By the first event of a branch, and by its whole order: see the comment at the top of `ds.rs`.
    for max_depth in [None, Some(60)] {
        let options = Options { max_runs: None, ..bounded(max_depth) };
        let (force, force_recorded) = recorded(plan, Reduction::Force, &options);
        let (ds, ds_recorded) = recorded(plan, Reduction::Ds, &options);
        let missed = all.traces.difference(&ds.traces).count();
        prop_assert_eq!(missed, 0, "of {} traces, depth {:?}", all.traces.len(), max_depth);
        prop_assert!(ds.traces.is_subset(&all.traces));
        prop_assert_eq!(&ds_recorded, &all_recorded);
        prop_assert!(ds.events.len() <= all.events.len());
        prop_assert!(!ds.is_bounded && !force.is_bounded);
        prop_assert_eq!(&force.events, &ds.events);
        prop_assert_eq!(&force_recorded, &all_recorded);
        let (naive, naive_recorded) = recorded(plan, Reduction::Naive, &options);
        prop_assert!(naive.traces.is_subset(&all.traces));
        prop_assert!(naive_recorded.0.is_subset(&all_recorded.0));
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn force_and_ds_perform_every_trace(plan in plan()) {
        misses_nothing(&Plan { panics: false, ..plan })?;
    }

    #[test]
    fn force_and_ds_perform_every_trace_where_nothing_goes_wrong(plan in plan().prop_map(Plan::plain)) {
        misses_nothing(&plan)?;
    }
}
