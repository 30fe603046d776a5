//! Engine `dir` against the classic search, trace by trace and with states: the same verdicts and the same reachable combinations of views, on all
//! networks, with all faults; and against engine `dpor`: it covers as many traces as that explores.

use crate::dpor::fewer_cases;
use crate::lmc::with_wishes;
use crate::plan::{Plan, plan};
use crate::{MAX_STATES, as_found, cases, check, classic, explore, with_properties};
use allways::Components;
use allways::prelude::*;
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
}
