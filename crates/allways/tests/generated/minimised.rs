//! Runs of generated systems, minimised, saved and replayed: whatever an engine finds.

use super::{as_found, cases, check, classic, with_properties};
use crate::plan::plan;
use allways::prelude::*;
use allways::{Cause, MinimiseOptions, Replayed, RunSize, SavedRun};
use proptest::prelude::*;
use std::time::Duration;

/// Bounds that do not depend on the clock.
fn unhurried() -> MinimiseOptions {
    MinimiseOptions {
        max_candidates: 2_000,
        max_states: 2_000,
        max_time: Duration::from_secs(600),
        ..MinimiseOptions::default()
    }
}

/// Ways to find a violation, from runs that are short to runs that are not.
fn ways(seed: u64) -> [Options; 4] {
    let global = |search| Options { engine: Engine::Global, search, threads: 1, ..as_found() };
    let walk = Options {
        engine: Engine::Walk,
        threads: 1,
        max_depth: Some(60),
        runs: 10,
        seed,
        ..as_found()
    };
    [global(Search::Bfs), global(Search::Dfs), global(Search::Classic), walk]
        .map(|options| Options { max_states: Some(1_000), ..options })
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn a_minimised_run_violates_the_same_and_is_no_larger(
        plan in plan(),
        seed in any::<u64>(),
        which in prop_oneof![
            Just([true, false, false]),
            Just([false, false, true]),
            Just([true, true, true]),
        ],
    ) {
        let system = with_properties(&plan, which);
        for options in ways(seed) {
            let outcome = check(&system, &options)?;
            let Some(found) = &outcome.violation else { continue };
            if found.cause == Cause::NeverReached {
                continue;
            }
            let failed = |error: allways::Error| TestCaseError::fail(error.to_string());
            let minimised = system.minimise(found, &unhurried()).map_err(failed)?;
            let (smaller, summary) = &minimised;
            prop_assert_eq!(&smaller.property, &found.property);
            prop_assert_eq!(&smaller.cause, &found.cause);
            prop_assert_eq!(summary.before, RunSize::of(&found.run));
            prop_assert_eq!(summary.after, RunSize::of(&smaller.run));
            prop_assert!(summary.after <= summary.before, "{}", summary);
            prop_assert!(!summary.out_of_time);
            let again = system.minimise(found, &unhurried()).map_err(failed)?;
            prop_assert_eq!(&again, &minimised, "not deterministic");
            // From the shorter run nothing shorter is found.
            let once_more = system.minimise(smaller, &unhurried()).map_err(failed)?;
            prop_assert!(once_more.1.after <= summary.after);

            for violation in [found, smaller] {
                let mut shown = outcome.clone();
                shown.violation = Some(violation.clone());
                let saved = SavedRun::new("generated", [("seed", "1")], &shown).map_err(failed)?;
                let loaded = SavedRun::from_json(&saved.to_json()).map_err(failed)?;
                prop_assert_eq!(&loaded, &saved);
                match system.replay(&loaded).map_err(failed)? {
                    Replayed::StillViolates { violation: now } => {
                        prop_assert_eq!(&now.property, &violation.property);
                        // Events that read alike (calls of different scripts) may be told apart by
                        // what follows only; read otherwise, a run may violate earlier.
                        let (now_after, after) = (now.run.events.len(), violation.run.events.len());
                        prop_assert!(now_after <= after, "{} {}", now_after, after);
                        if now_after == after {
                            prop_assert_eq!(&now.reads, &violation.reads);
                        }
                    }
                    other => prop_assert!(false, "{}", other),
                }
            }
            let events = smaller.run.events.len() as u64;
            if summary.is_shortest && which != [true, true, true] && events > 0 {
                let bounded = Options { max_depth: Some(events - 1), ..classic() };
                let shorter = check(&system, &bounded)?.violation;
                let same = shorter.filter(|v| v.property == found.property);
                prop_assert_eq!(same, None, "a shorter run exists");
            }
        }
    }
}
