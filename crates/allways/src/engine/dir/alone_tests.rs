//! One tree for all local skeletons against each explored anew, on generated systems: the same skeletons, as many local traces and other runs, the same looks and ends.

use super::alone::Trees;
use super::crew::{Crew, Effort, perform};
use super::global::Global;
use super::interface::Parts;
use super::verdict::Verdicts;
use crate::engine::budget::Budget;
use crate::engine::machine::Machine;
use crate::engine::machine::handlers::{Built, Handlers};
use crate::engine::options::Options;
use crate::node::{Record, state};
use crate::plan::{Plan, plan};
use crate::space::local::{LocalSpace, SpaceOptions};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::BTreeSet;

/// What came of an exploration.
#[derive(PartialEq, Debug)]
struct Seen {
    skeletons: BTreeSet<Vec<u64>>,
    covered: (u64, u128),
    local_traces: u64,
    other_runs: u64,
    looks: BTreeSet<(usize, u64, Box<[u32]>)>,
    ends: BTreeSet<String>,
}

/// Systems that take more runs than this are left out.
const MAX_RUNS: u64 = if cfg!(debug_assertions) { 100 } else { 1_000 };

/// Explores a system with trees or without; nothing if that takes too long.
fn explored<M: Machine>(machine: &mut M, has_trees: bool) -> Option<Seen> {
    let options = Options { max_runs: Some(MAX_RUNS), max_depth: Some(24), ..Options::default() };
    let budget = Budget::new(&options);
    let parts = Parts::new(Vec::new(), machine.groups());
    let verdict = Verdicts::new(machine);
    machine.restart(0).unwrap();
    let effort = Effort::default();
    let crew = Crew::new(None, None, &effort);
    let mut global = Global::new(machine, &parts, &budget, (&crew, None, perform), 0, verdict);
    assert!((0..parts.len()).all(|component| global.trees.of(component).is_some()));
    if !has_trees {
        global.trees = Trees::none(&parts);
    }
    global.explore(&mut || {}).unwrap();
    if global.bound.is_some() || global.verdict.violation.is_some() {
        return None;
    }
    let looks = global.looks.iter().enumerate().flat_map(|(component, looks)| {
        looks.values().flatten().map(move |seen| (component, seen.own, seen.look.clone()))
    });
    let ends = global.locals.iter().flat_map(|(local, known)| {
        let ends = known.ends.iter().map(|end| &end.fate);
        ends.map(move |fate| format!("{local:?} {} {fate:?}", known.traces))
    });
    Some(Seen {
        skeletons: global.known.iter().map(|known| known.names.to_vec()).collect(),
        covered: global.covered(),
        local_traces: global.counts.local_traces,
        other_runs: global.counts.other_runs,
        looks: looks.collect(),
        ends: ends.collect(),
    })
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

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn one_tree_serves_all_local_skeletons(plan in plan()) {
        prop_assume!(plan.network.drops == 0);
        let record = Record::default();
        let system = record.of(&Plan { panics: false, ..plan });
        let system = system.always("anything may be", state(), |_| true);
        let watch =
            SpaceOptions { determinism_guard: false, verify_aux: false, symmetry: false, exact: false };
        let space = LocalSpace::new(&system, watch).unwrap();
        let Built::Machine(mut machine) = Handlers::build(&space).unwrap() else {
            panic!("nothing panics at the start")
        };
        // One machine for both, so that numbers mean the same.
        let expected = explored(&mut *machine, false);
        prop_assume!(expected.is_some());
        prop_assert_eq!(explored(&mut *machine, true), expected);
    }
}
