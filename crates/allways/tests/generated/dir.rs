//! Engine `dir` against the classic search, trace by trace and with states: the same verdicts and the same reachable combinations of views, on all
//! networks, with all faults; and against engine `dpor`: it covers as many traces as that explores.

use crate::dpor::fewer_cases;
use crate::lmc::with_wishes;
use crate::plan::{Plan, plan};
use crate::{
    MAX_STATES, as_found, cases, check, classic, explore, seen, with_goal, with_properties,
};
use allways::prelude::*;
use allways::{Cause, Components};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Systems that take more runs than this are left out.
const MAX_RUNS: u64 = if cfg!(debug_assertions) { 300 } else { 3_000 };

/// With nodes by themselves, or those together that have the same of these colours.
fn dir(plan: &Plan, colours: &[usize], stateful: bool) -> Options {
    let nodes = || 0..plan.nodes.len();
    let group = |colour| nodes().filter(|&node| colours[node] == colour).collect::<Vec<_>>();
    let groups = (0..3).map(group).filter(|group| group.len() > 1).collect();
    let components = Components::new(groups).unwrap();
    let traces = Options { max_runs: Some(MAX_RUNS), max_depth: Some(30), ..as_found() };
    let rest = if stateful { as_found() } else { traces };
    Options { engine: Engine::Dir, stateful, components, ..rest }
}

/// Whether something may go wrong by itself.
fn has_faults(plan: &Plan) -> bool {
    plan.faults.crashes > 0 || plan.faults.cut.is_some() || plan.network.drops > 0
}

fn reaches_the_same_views(
    plan: &Plan,
    colours: &[usize],
    stateful: bool,
) -> Result<(), TestCaseError> {
    let bounded = Options { max_states: Some(MAX_STATES), ..classic() };
    let ((expected, _), oracle) = explore(plan, &bounded)?;
    prop_assume!(oracle.verdict == Verdict::Holds);
    let expected: BTreeSet<String> = expected.iter().map(|v| format!("{v:?}")).collect();
    let outcome = check(&with_wishes(plan), &dir(plan, colours, stateful))?;
    let reached: BTreeSet<String> =
        outcome.witnesses.iter().map(|witness| witness.property.clone()).collect();
    if outcome.bounded_by.is_some() && !stateful {
        // What it has seen is reachable anyhow.
        prop_assert!(reached.is_subset(&expected));
        prop_assume!(false);
    }
    prop_assert_eq!(&reached, &expected);
    Ok(())
}

fn gives_the_same_verdict(
    plan: &Plan,
    colours: &[usize],
    stateful: bool,
) -> Result<(), TestCaseError> {
    let all =
        [[false; 3], [true, false, false], [false, true, false], [false, false, true], [true; 3]];
    let may_be_terminal = |which: &&[bool; 3]| stateful || !which[2] || !has_faults(plan);
    for &which in all.iter().filter(may_be_terminal) {
        let system = with_properties(plan, which);
        let oracle = check(&system, &Options { max_states: Some(MAX_STATES), ..classic() })?;
        prop_assume!(oracle.verdict != Verdict::Inconclusive);
        let outcome = check(&system, &dir(plan, colours, stateful))?;
        prop_assume!(stateful || outcome.bounded_by.is_none());
        let luck = |outcome: &Outcome| outcome.verdict == Verdict::Holds && !outcome.complete;
        prop_assert!(
            outcome.verdict == oracle.verdict || luck(&outcome) || luck(&oracle),
            "{:?}: {:?}, not {:?}",
            which,
            outcome.verdict,
            oracle.verdict
        );
        if oracle.complete && stateful {
            let (points, states) =
                (outcome.statistics.unique_states, oracle.statistics.unique_states);
            prop_assert!(points <= states, "{:?}: {:?} points, {:?} states", which, points, states);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn with_states_it_reaches_the_same_views(plan in plan(), colours in prop::array::uniform8(0..6usize)) {
        reaches_the_same_views(&plan, &colours, true)?;
    }

    #[test]
    fn with_states_it_gives_the_same_verdict(plan in plan(), colours in prop::array::uniform8(0..6usize)) {
        gives_the_same_verdict(&plan, &colours, true)?;
    }

}

proptest! {
    #![proptest_config(fewer_cases())]

    #[test]
    fn it_sees_the_same_of_a_goal(plan in plan(), colours in prop::array::uniform8(0..6usize)) {
        let system = with_goal(&plan);
        let oracle = check(&system, &Options { max_states: Some(MAX_STATES), ..classic() })?;
        prop_assume!(oracle.bounded_by.is_none());
        prop_assume!(oracle.violation.as_ref().is_none_or(|v| v.cause == Cause::NeverReached));
        for stateful in [false, true] {
            let outcome = check(&system, &dir(&plan, &colours, stateful))?;
            if outcome.bounded_by.is_none() {
                prop_assert_eq!(&seen(&outcome), &seen(&oracle), "{}", outcome.engine);
            }
        }
    }

    #[test]
    fn by_traces_it_reaches_the_same_views(plan in plan(), colours in prop::array::uniform8(0..6usize)) {
        reaches_the_same_views(&plan, &colours, false)?;
    }

    #[test]
    fn by_traces_it_gives_the_same_verdict(plan in plan(), colours in prop::array::uniform8(0..6usize)) {
        gives_the_same_verdict(&plan, &colours, false)?;
    }

    #[test]
    fn it_covers_all_traces(plan in plan(), colours in prop::array::uniform8(0..6usize)) {
        let bounded = Options { max_runs: Some(MAX_RUNS), max_depth: Some(30), ..as_found() };
        let system = with_properties(&plan, [false; 3]);
        let dpor = check(&system, &Options { engine: Engine::Dpor, ..bounded })?;
        prop_assume!(dpor.complete);
        let outcome = check(&system, &dir(&plan, &colours, false))?;
        prop_assume!(outcome.bounded_by.is_none());
        let runs = dpor.statistics.runs.map(u128::from);
        prop_assert_eq!(outcome.statistics.covered_traces, runs);
    }

    /// Nor does it matter how much of it was done in another process.
    #[test]
    fn threads_and_logs_make_no_difference(
        plan in plan(),
        colours in prop::array::uniform8(0..6usize),
        cut in any::<prop::sample::Index>(),
    ) {
        let system = with_properties(&plan, [true, true, !has_faults(&plan)]);
        let alone = Options { threads: 1, ..dir(&plan, &colours, false) };
        let expected = lasting(&check(&system, &alone)?);
        let together = Options { threads: 3, ..alone.clone() };
        prop_assert_eq!(&lasting(&check(&system, &together)?), &expected);
        let path = std::env::temp_dir().join(format!("allways-generated-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let logged = Options { resume: Some(path.clone()), ..together };
        for _ in 0..2 {
            prop_assert_eq!(&lasting(&check(&system, &logged)?), &expected);
        }
        // As if it had been killed at some moment. (Where a node panics at the start there is no log.)
        if let Ok(log) = std::fs::read(&path) {
            std::fs::write(&path, &log[..cut.index(log.len())]).unwrap();
            prop_assert_eq!(&lasting(&check(&system, &logged)?), &expected);
        }
        let _ = std::fs::remove_file(&path);
    }
}

/// What must be the same whoever explores.
fn lasting(outcome: &Outcome) -> String {
    let it = &outcome.statistics;
    let counts = (it.runs, it.blocked_runs, it.transitions, it.system_states, it.depth);
    let skeletons = (it.global_skeletons, it.local_skeletons, it.covered_traces);
    let violation = outcome.violation.as_ref().map(|it| (&it.property, &it.cause, &it.run));
    let witnesses: Vec<_> = outcome.witnesses.iter().map(|it| (&it.property, &it.run)).collect();
    let verdict = (outcome.verdict, outcome.complete, outcome.bounded_by);
    format!("{verdict:?} {counts:?} {skeletons:?} {violation:?} {witnesses:?}")
}
