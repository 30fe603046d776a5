//! Engine `dpor` against the classic search. It stands in few global states, but must reach the same views and
//! observer states, see the same of goals, and give the same verdicts.

use crate::plan::plan;
use crate::{
    MAX_STATES, as_found, cases, check, classic, explore, seen, with_goal, with_properties,
};
use allways::prelude::*;
use allways::{Bound, Cause};
use proptest::prelude::*;

/// Systems for which a reduction makes more runs than this are left out.
const MAX_RUNS: u64 = if cfg!(debug_assertions) { 300 } else { 5_000 };

/// Those that claim to be complete, but `force`, which makes the runs that `ds` makes.
fn reductions() -> [Options; 5] {
    use Reduction::{Cached, Ds, None, Optimal, Source};
    [None, Ds, Source, Cached, Optimal].map(|reduction| Options {
        engine: Engine::Dpor,
        reduction,
        max_runs: Some(MAX_RUNS),
        max_depth: Some(30),
        ..as_found()
    })
}

/// Runs are many, and there are as many reductions.
pub fn fewer_cases() -> ProptestConfig {
    let cases = cases();
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => cases,
        None => ProptestConfig { cases: 40, ..cases },
    }
}

/// Whether an outcome is that of the whole system.
fn is_bounded(outcome: &Outcome) -> bool {
    matches!(outcome.bounded_by, Some(Bound::Runs | Bound::Depth))
}

fn bounded_classic(times: u64) -> Options {
    Options { max_states: Some(times * MAX_STATES), ..classic() }
}

proptest! {
    #![proptest_config(fewer_cases())]

    #[test]
    fn every_reduction_reaches_the_same(plan in plan()) {
        let (expected, oracle) = explore(&plan, &bounded_classic(1))?;
        prop_assume!(oracle.verdict != Verdict::Inconclusive);
        let mut compared = 0;
        for options in reductions() {
            let (recorded, outcome) = explore(&plan, &options)?;
            if is_bounded(&outcome) {
                // What it has seen is reachable anyhow.
                if oracle.verdict == Verdict::Holds {
                    prop_assert!(recorded.0.is_subset(&expected.0), "{}", outcome.engine);
                    prop_assert!(recorded.1.is_subset(&expected.1), "{}", outcome.engine);
                }
                continue;
            }
            compared += 1;
            prop_assert_eq!(outcome.verdict, oracle.verdict, "{}", outcome.engine);
            prop_assert_eq!(outcome.complete, oracle.complete, "{}", outcome.engine);
            match &outcome.violation {
                Some(violation) => prop_assert_eq!(&violation.cause, &Cause::Panic),
                None => prop_assert_eq!(&recorded, &expected, "{}", outcome.engine),
            }
        }
        prop_assume!(compared > 0);
    }

    #[test]
    fn every_reduction_gives_the_same_verdict(plan in plan()) {
        let (_, oracle) = explore(&plan, &bounded_classic(1))?;
        prop_assume!(oracle.verdict != Verdict::Inconclusive);
        let panics = oracle.verdict == Verdict::Violated;
        let mut violated = Vec::new();
        let mut compared = 0;
        for which in [[true, false, false], [false, true, false], [false, false, true], [true; 3]] {
            let system = with_properties(&plan, which);
            let expected = check(&system, &bounded_classic(10))?;
            prop_assume!(expected.verdict != Verdict::Inconclusive);
            violated.extend(expected.violation.clone().map(|violation| violation.cause));
            for options in reductions() {
                let outcome = check(&system, &options)?;
                if is_bounded(&outcome) {
                    let invented = outcome.verdict == Verdict::Violated && expected.verdict == Verdict::Holds;
                    prop_assert!(!invented || !expected.complete, "{:?}, {}", which, outcome.engine);
                    continue;
                }
                compared += 1;
                // A search for nothing but what is possible may end before it meets a panic.
                let luck = |outcome: &Outcome| outcome.verdict == Verdict::Holds && !outcome.complete;
                let lucky = which == [false, true, false] && (luck(&outcome) || luck(&expected));
                let same = outcome.verdict == expected.verdict || lucky;
                prop_assert!(same, "{:?}, {}: {:?}", which, outcome.engine, expected.violation);
                if let Some(violation) = &outcome.violation {
                    prop_assert!(violated.contains(&violation.cause) || panics, "{}", outcome.engine);
                }
            }
        }
        prop_assume!(compared > 0);
    }

    #[test]
    fn every_reduction_sees_the_same_of_a_goal(plan in plan()) {
        let system = with_goal(&plan);
        let oracle = check(&system, &bounded_classic(1))?;
        prop_assume!(oracle.bounded_by.is_none());
        prop_assume!(oracle.violation.as_ref().is_none_or(|v| v.cause == Cause::NeverReached));
        let mut compared = 0;
        for options in reductions() {
            let outcome = check(&system, &options)?;
            if !is_bounded(&outcome) {
                compared += 1;
                prop_assert_eq!(&seen(&outcome), &seen(&oracle), "{}", outcome.engine);
            }
        }
        prop_assume!(compared > 0);
    }
}
