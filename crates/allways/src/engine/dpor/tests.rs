//! Reductions against all orders, on generated systems: every trace is performed, and none twice.

use super::explore as explore_from_every_start;
use super::explore::Explorer;
use crate::engine::budget::Budget;
use crate::engine::machine::Machine;
use crate::engine::machine::handlers::{Built, Handlers};
use crate::engine::options::{Options, Reduction};
use crate::node::{Record, Recorded, TableNode, state};
use crate::plan::{Plan, plan};
use crate::space::hash::key;
use crate::space::local::{LocalSpace, SpaceOptions};
use crate::trace::canonical::Canonical;
use crate::{Bound, System};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Every trace that was performed, by its start and its canonical form, and how often.
type Traces = BTreeMap<(usize, Canonical), u32>;

/// What came of an exploration.
struct Explored {
    traces: Traces,
    recorded: Recorded,
    runs: u64,
    blocked: u64,
    transitions: u64,
    bound: Option<Bound>,
    violated: bool,
}

/// Explores a system whose handlers never panic, and notes every trace.
fn explored(plan: &Plan, reduction: Reduction, max_runs: u64) -> Explored {
    let record = Record::default();
    // So that drops are explored on every network.
    let system = record.of(plan).never_stuck("anything may end", state(), |_| true);
    let explored = traces(&system, reduction, max_runs);
    Explored { recorded: record.take(), ..explored }
}

fn traces(system: &System<TableNode>, reduction: Reduction, max_runs: u64) -> Explored {
    let traces = Rc::new(RefCell::new(Traces::new()));
    let options = Options { max_runs: Some(max_runs), max_depth: Some(40), ..Options::default() };
    let budget = Budget::new(&options);
    let watch =
        SpaceOptions { determinism_guard: false, verify_aux: false, symmetry: false, exact: false };
    let space = LocalSpace::new(system, watch).unwrap();
    let Built::Machine(machine) = Handlers::new(&space).unwrap() else {
        panic!("nothing panics at the start")
    };
    let mut explorer = Explorer::new(*machine, &budget, reduction.passes_by());
    let into = Rc::clone(&traces);
    explorer.watch = Some(Box::new(move |order, machine, _| {
        let label = |event| key(0, &format!("{:?}", machine.describe(event).unwrap()));
        let labels: Vec<u64> = (0..order.len()).map(label).collect();
        let trace = (machine.start_number(), Canonical::of(order, &labels));
        *into.borrow_mut().entry(trace).or_default() += 1;
    }));
    explore_from_every_start(&mut explorer, reduction).unwrap();
    explorer.watch = None;
    let findings = explorer.findings();
    let traces = traces.take();
    Explored {
        traces,
        recorded: Recorded::default(),
        runs: findings.statistics.runs.unwrap(),
        blocked: findings.statistics.blocked_runs.unwrap(),
        transitions: findings.statistics.transitions.unwrap(),
        bound: findings.bound,
        violated: findings.violation.is_some(),
    }
}

fn cases() -> ProptestConfig {
    let default = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { default.cases } else { 100 };
    ProptestConfig {
        cases,
        failure_persistence: None,
        max_global_rejects: 100 * cases,
        max_shrink_iters: 5_000,
        ..default
    }
}

/// So many runs are looked at in all orders.
const MAX_RUNS: u64 = if cfg!(debug_assertions) { 1_500 } else { 20_000 };

fn every_trace_once(plan: &Plan) -> Result<(), TestCaseError> {
    let all = explored(plan, Reduction::None, MAX_RUNS);
    prop_assume!(all.bound.is_none());
    prop_assert!(!all.violated);
    for reduction in [Reduction::Source, Reduction::Optimal] {
        let some = explored(plan, reduction, 10 * MAX_RUNS);
        prop_assert_eq!(some.bound, None, "{:?}", reduction);
        prop_assert!(!some.violated);
        let missed = all.traces.keys().filter(|trace| !some.traces.contains_key(trace)).count();
        prop_assert_eq!(missed, 0, "{:?} of {} traces", reduction, all.traces.len());
        prop_assert!(some.traces.keys().all(|trace| all.traces.contains_key(trace)));
        prop_assert!(some.traces.values().all(|&times| times == 1), "{:?}", reduction);
        prop_assert_eq!(some.runs, all.traces.len() as u64, "{:?}", reduction);
        prop_assert_eq!(&some.recorded, &all.recorded, "{:?}", reduction);
        prop_assert!(some.transitions <= all.transitions, "{:?}", reduction);
        if reduction == Reduction::Optimal {
            prop_assert_eq!(some.blocked, 0);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn every_trace_is_performed_once(plan in plan()) {
        every_trace_once(&Plan { panics: false, ..plan })?;
    }

    #[test]
    fn every_trace_is_performed_once_where_nothing_goes_wrong(plan in plan().prop_map(Plan::plain)) {
        every_trace_once(&plan)?;
    }
}
