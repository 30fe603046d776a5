//! Programs divided into components by engine `dir`: it covers as many traces as engine `dpor` performs, and finds what that finds.

mod by_hand;
mod plan;
mod resumed;

use allways::{Bound, Components, Engine, Options, Outcome, Verdict};
use allways_threads::Program;
use plan::{Plan, plan};
use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, RngSeed};

/// Programs with more runs than this are left out.
const MAX_RUNS: u64 = if cfg!(debug_assertions) { 200 } else { 3_000 };

fn cases() -> ProptestConfig {
    let default = ProptestConfig::default();
    // The same programs each time, unless more are asked for.
    let (cases, rng_seed) = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => (default.cases, RngSeed::Random),
        None => (100, RngSeed::Fixed(1)),
    };
    let failures = FileFailurePersistence::WithSource("regressions");
    ProptestConfig {
        cases,
        rng_seed,
        failure_persistence: Some(Box::new(failures)),
        max_shrink_iters: 5_000,
        max_global_rejects: 1 << 20,
        ..default
    }
}

fn by(engine: Engine) -> Options {
    let max_runs = Some(MAX_RUNS);
    Options {
        engine,
        threads: 1,
        minimise: false,
        max_runs,
        max_depth: Some(400),
        ..Options::default()
    }
}

/// Every trace, one by one; and in components.
fn both(program: &Program, components: Components) -> (Outcome, Outcome) {
    let dir = Options { components, max_runs: Some(20 * MAX_RUNS), ..by(Engine::Dir) };
    (program.try_check(&by(Engine::Dpor)).unwrap(), program.try_check(&dir).unwrap())
}

fn compare(plan: &Plan, components: Components) -> Result<(), TestCaseError> {
    let (plain, parted) = both(&plan.program(), components);
    prop_assume!(plain.bounded_by != Some(Bound::Runs));
    prop_assume!(parted.bounded_by != Some(Bound::Runs));
    prop_assert_eq!(plain.verdict, parted.verdict);
    if plain.verdict == Verdict::Holds {
        let covered = parted.statistics.covered_traces;
        prop_assert_eq!(covered, plain.statistics.runs.map(u128::from));
        prop_assert_eq!(plain.complete, parted.complete);
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn each_process_by_itself(plan in plan()) {
        compare(&plan, Components::default())?;
    }

    #[test]
    fn two_processes_as_one(plan in plan(), other in 1usize..3) {
        prop_assume!(other < plan.processes.len());
        compare(&plan, Components::new(vec![vec![0, other]]).unwrap())?;
    }

    #[test]
    fn processes_in_components_of_components(plan in plan(), which in 0..5usize) {
        let components = match plan.processes.len() {
            0 | 1 => "0",
            2 => "(0/1)",
            _ => ["(0/1)/2", "0/(1/2)", "(0/1/2)", "((0/2)/1)", "(0,1/2)"][which],
        };
        compare(&plan, components.parse().unwrap())?;
    }

    #[test]
    fn processes_in_components_that_are_found_out(plan in plan()) {
        compare(&plan, Components::auto())?;
    }
}
