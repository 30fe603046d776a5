//! Generated programs: what their threads can see must be the same however many runs are left out, and the same as an
//! explorer says that shares no code with the library.
//!
//! `PROPTEST_CASES` sets how many programs are generated.

mod by_hand;
mod plan;
mod reference;
mod run;

use allways::{Bound, Reduction, Verdict};
use plan::{Plan, plan};
use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, RngSeed};
use run::Seen;
use std::collections::BTreeSet;

/// If there are more runs than this, what was not seen is not compared.
const MAX_RUNS: u64 = if cfg!(debug_assertions) { 300 } else { 5_000 };

/// The same for the states of the explorer that shares no code.
const MAX_STATES: usize = if cfg!(debug_assertions) { 3_000 } else { 20_000 };

fn cases() -> ProptestConfig {
    let default = ProptestConfig::default();
    // The same programs each time, unless more are asked for.
    let (cases, rng_seed) = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => (default.cases, RngSeed::Random),
        None => (150, RngSeed::Fixed(1)),
    };
    // The seed of a failure is kept beside this file, to be tried first the next time.
    let failures = FileFailurePersistence::WithSource("regressions");
    ProptestConfig {
        cases,
        rng_seed,
        failure_persistence: Some(Box::new(failures)),
        max_shrink_iters: 20_000,
        ..default
    }
}

/// Whether what was seen is the beginning of what is seen in some run.
fn begins(seen: &Seen, all: &BTreeSet<Seen>) -> bool {
    let begins = |other: &Seen| seen.iter().zip(other).all(|(part, all)| all.starts_with(part));
    all.iter().any(begins)
}

/// Without what is only the beginning of something else: runs that are given up hand in what was seen up to there.
fn whole(all: &BTreeSet<Seen>) -> BTreeSet<Seen> {
    let is_whole = |seen: &&Seen| {
        let others: BTreeSet<Seen> = all.iter().filter(|other| other != seen).cloned().collect();
        !begins(seen, &others)
    };
    all.iter().filter(is_whole).cloned().collect()
}

/// Runs a program every way with each reduction, and compares.
fn compare(plan: &Plan) -> Result<(), TestCaseError> {
    let (seen, optimal) = run::explore(plan, Reduction::Optimal, MAX_RUNS);
    let (all, none) = run::explore(plan, Reduction::None, MAX_RUNS);
    let (seen_by_source, source) = run::explore(plan, Reduction::Source, MAX_RUNS);
    let (seen_bounded, bounded) = run::explore_bounded(plan, 100, MAX_RUNS);
    let [seen, all, seen_by_source, seen_bounded] =
        [seen, all, seen_by_source, seen_bounded].map(|seen| whole(&seen));
    let is_cut = [&optimal, &none, &source].map(|outcome| outcome.bounded_by == Some(Bound::Runs));
    let found = reference::explore(plan, MAX_STATES);
    let all_outcomes = [&optimal, &none, &source, &bounded];
    if all_outcomes.iter().any(|outcome| outcome.verdict == Verdict::Violated) {
        // Two threads access the cell at once: the search stops there.
        for outcome in all_outcomes {
            prop_assert!(outcome.verdict != Verdict::Holds, "{} misses a race", outcome.engine);
        }
        prop_assert!(found.is_none_or(|found| found.races), "there is no race");
        return Ok(());
    }
    prop_assume!(!is_cut[0]);
    prop_assert!(optimal.complete, "{:?}", optimal.bounded_by);
    prop_assert_eq!(optimal.statistics.blocked_runs, Some(0));
    if bounded.bounded_by.is_none() {
        prop_assert!(
            seen.is_subset(&seen_bounded),
            "bounded misses {:?}",
            seen.difference(&seen_bounded)
        );
    }
    let [optimal_runs, runs, source_runs] =
        [&optimal, &none, &source].map(|outcome| outcome.statistics.runs.unwrap());
    prop_assert!(seen.len() as u64 <= optimal_runs, "{} seen", seen.len());
    if !is_cut[2] {
        // A run that was given up has seen a beginning.
        prop_assert!(
            seen.is_subset(&seen_by_source),
            "source misses {:?}",
            seen.difference(&seen_by_source)
        );
        let invented = seen_by_source.iter().find(|other| !begins(other, &seen));
        prop_assert!(invented.is_none(), "source sees {:?}", invented);
        prop_assert!(optimal_runs <= source_runs, "{} and {}", optimal_runs, source_runs);
    }
    if is_cut[1] {
        let missed = all.iter().find(|other| !begins(other, &seen));
        prop_assert!(missed.is_none(), "optimal misses {:?}", missed);
    } else {
        prop_assert_eq!(&seen, &all);
        prop_assert!(optimal_runs <= runs && (is_cut[2] || source_runs <= runs));
    }
    let mut may_wait = None;
    if let Some(found) = found {
        let waits = |seen: &Seen| seen.iter().any(|thread| thread.last() != Some(&run::code::END));
        may_wait = Some(found.seen.iter().any(waits));
        let expected = whole(&found.seen);
        let (missed, invented): (Vec<_>, Vec<_>) =
            (expected.difference(&seen).collect(), seen.difference(&expected).collect());
        prop_assert!(
            missed.is_empty() && invented.is_empty(),
            "missed {:?}, invented {:?}",
            missed,
            invented
        );
        prop_assert!(!found.races, "a race is missed");
    }
    // Nobody may wait for ever.
    let Some(may_wait) = may_wait else { return Ok(()) };
    let expected = if may_wait { Verdict::Violated } else { Verdict::Holds };
    for reduction in [Reduction::Optimal, Reduction::Source] {
        let outcome = run::check(plan, reduction, MAX_RUNS);
        if outcome.bounded_by.is_none() {
            prop_assert_eq!(outcome.verdict, expected, "{:?}", reduction);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn every_reduction_sees_the_same(plan in plan()) {
        compare(&plan)?;
    }
}
