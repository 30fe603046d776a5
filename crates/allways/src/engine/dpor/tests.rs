//! Reductions against all orders, on generated systems: every trace is performed, and none twice.

use super::explore as explore_from_every_start;
use super::explore::Explorer;
use crate::Bound;
use crate::engine::budget::Budget;
use crate::engine::machine::handlers::{Built, Handlers};
use crate::engine::machine::{Machine, Transition};
use crate::engine::options::{Options, Reduction};
use crate::node::{Record, Recorded, state};
use crate::plan::{Plan, PropertiesPlan, plan};
use crate::space::hash::key;
use crate::space::local::{LocalSpace, SpaceOptions};
use crate::trace::canonical::Canonical;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Every trace that was performed, by its start and its canonical form, and how often.
type Traces = BTreeMap<(usize, Canonical), (u32, String)>;

/// What came of an exploration.
struct Explored {
    traces: Traces,
    recorded: Recorded,
    runs: u64,
    blocked: u64,
    transitions: u64,
    bound: Option<Bound>,
    violated: bool,
    witnessed: Vec<bool>,
}

/// Explores a system with each of these reductions, and notes every trace. `max_runs` is for the first, the others may
/// make ten times as many.
fn explored(plan: &Plan, reductions: &[Reduction], max_runs: u64) -> Vec<Explored> {
    let record = Record::default();
    let PropertiesPlan { forbidden, wanted, allowed_at_end } = plan.properties.clone();
    let goal = move |states: &[u8]| {
        let ends = (states[0], states[states.len() - 1]);
        ends == wanted || (ends == forbidden && allowed_at_end.contains(&ends.0))
    };
    // Drops are explored on every network if something must not be stuck.
    let system = record.of(plan).sometimes("goal", state(), goal);
    let system = system.never_stuck("anything may end", state(), |_| true);
    let watch =
        SpaceOptions { determinism_guard: false, verify_aux: false, symmetry: false, exact: false };
    let space = LocalSpace::new(&system, watch).unwrap();
    let Built::Machine(mut machine) = Handlers::build(&space).unwrap() else {
        panic!("nothing panics at the start")
    };
    let mut all = Vec::new();
    let mut max_runs = max_runs;
    for &reduction in reductions {
        // One machine for all, so that numbers mean the same.
        let (mut explored, back) = traces(*machine, reduction, max_runs);
        explored.recorded = record.take();
        let bounded = explored.bound.is_some();
        all.push(explored);
        if bounded {
            break;
        }
        *machine = back;
        max_runs *= if all.len() == 1 { 10 } else { 1 };
    }
    all
}

fn traces<M: Machine>(machine: M, reduction: Reduction, max_runs: u64) -> (Explored, M) {
    let traces = Rc::new(RefCell::new(Traces::new()));
    let options = Options { max_runs: Some(max_runs), max_depth: Some(40), ..Options::default() };
    let budget = Budget::new(&options);
    let mut explorer = Explorer::new(machine, &budget, reduction.passes_by());
    let into = Rc::clone(&traces);
    explorer.watch = Some(Box::new(move |order, steps, machine| {
        let label = |event: usize| {
            let Transition { process, alternative } = steps[event].what.transition;
            key(0, &(process, alternative, format!("{:?}", machine.describe(event).unwrap())))
        };
        let labels: Vec<u64> = (0..order.len()).map(label).collect();
        let trace = (machine.start_number(), Canonical::of(order, &labels));
        let words = (0..order.len()).map(|event| machine.describe(event).unwrap().to_string());
        let words = words.collect::<Vec<_>>().join("; ");
        into.borrow_mut().entry(trace).or_insert((0, words)).0 += 1;
    }));
    explore_from_every_start(&mut explorer, reduction).unwrap();
    explorer.watch = None;
    let (findings, machine) = explorer.finish();
    let explored = Explored {
        traces: traces.take(),
        recorded: Recorded::default(),
        runs: findings.statistics.runs.unwrap(),
        blocked: findings.statistics.blocked_runs.unwrap(),
        transitions: findings.statistics.transitions.unwrap(),
        bound: findings.bound,
        violated: findings.violation.is_some(),
        witnessed: findings.witnesses.iter().map(Option::is_some).collect(),
    };
    (explored, machine)
}

fn cases() -> ProptestConfig {
    let default = ProptestConfig::default();
    // The same systems each time, unless more are asked for.
    let (cases, rng_seed) = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => (default.cases, RngSeed::Random),
        None => (100, RngSeed::Fixed(1)),
    };
    ProptestConfig {
        cases,
        rng_seed,
        failure_persistence: None,
        max_global_rejects: 100 * cases,
        max_shrink_iters: 300,
        ..default
    }
}

/// So many runs are looked at in all orders.
const MAX_RUNS: u64 = if cfg!(debug_assertions) { 200 } else { 2_000 };

fn every_trace_once(plan: &Plan) -> Result<(), TestCaseError> {
    let reductions = [Reduction::None, Reduction::Source, Reduction::Optimal];
    let explored = explored(plan, &reductions, MAX_RUNS);
    let all = &explored[0];
    prop_assume!(all.bound.is_none());
    prop_assert!(!all.violated);
    for (some, reduction) in explored.iter().zip(reductions).skip(1) {
        prop_assert_eq!(some.bound, None, "{:?}", reduction);
        prop_assert!(!some.violated);
        let missed = all.traces.iter().filter(|(trace, _)| !some.traces.contains_key(trace));
        let missed: Vec<_> = missed.map(|(trace, (_, words))| (trace.0, words)).collect();
        let found: Vec<_> =
            some.traces.iter().map(|(trace, (_, words))| (trace.0, words)).collect();
        prop_assert!(
            missed.is_empty(),
            "{:?} missed {:#?} and found {:#?}",
            reduction,
            missed,
            found
        );
        prop_assert!(some.traces.keys().all(|trace| all.traces.contains_key(trace)));
        prop_assert!(some.traces.values().all(|(times, _)| *times == 1), "{:?}", reduction);
        prop_assert_eq!(some.runs, all.traces.len() as u64, "{:?}", reduction);
        prop_assert_eq!(&some.recorded, &all.recorded, "{:?}", reduction);
        prop_assert_eq!(&some.witnessed, &all.witnessed, "{:?}", reduction);
        prop_assert!(some.transitions <= all.transitions, "{:?}", reduction);
        if reduction == Reduction::Optimal {
            prop_assert_eq!(some.blocked, 0, "runs that sleep");
        }
    }
    prop_assert_eq!(explored.len(), 3);
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
