//! Engine `dir` against the classic search: the same verdicts, the same reachable combinations of views and the same runs that are no
//! runs, on all networks, with all faults.

use crate::lmc::with_wishes;
use crate::plan::{Plan, plan};
use crate::{MAX_STATES, as_found, cases, check, classic, explore, with_properties};
use allways::Components;
use allways::prelude::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// With nodes by themselves, or those together that have the same of these colours.
fn dir(plan: &Plan, colours: &[usize]) -> Options {
    let nodes = || 0..plan.nodes.len();
    let group = |colour| nodes().filter(|&node| colours[node] == colour).collect::<Vec<_>>();
    let groups = (0..3).map(group).filter(|group| group.len() > 1).collect();
    let components = Components::new(groups).unwrap();
    Options { engine: Engine::Dir, components, ..as_found() }
}

fn reaches_the_same_views(plan: &Plan, colours: &[usize]) -> Result<(), TestCaseError> {
    let bounded = Options { max_states: Some(MAX_STATES), ..classic() };
    let ((expected, _), oracle) = explore(plan, &bounded)?;
    prop_assume!(oracle.verdict == Verdict::Holds);
    let expected: BTreeSet<String> = expected.iter().map(|v| format!("{v:?}")).collect();
    let outcome = check(&with_wishes(plan), &dir(plan, colours))?;
    let reached: BTreeSet<String> =
        outcome.witnesses.iter().map(|witness| witness.property.clone()).collect();
    prop_assert_eq!(&reached, &expected);
    Ok(())
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn it_reaches_the_same_views(plan in plan(), colours in prop::array::uniform8(0..6usize)) {
        reaches_the_same_views(&plan, &colours)?;
    }

    #[test]
    fn it_gives_the_same_verdict(plan in plan(), colours in prop::array::uniform8(0..6usize)) {
        for which in [[false; 3], [true, false, false], [false, true, false], [false, false, true], [true; 3]] {
            let system = with_properties(&plan, which);
            let oracle = check(&system, &Options { max_states: Some(MAX_STATES), ..classic() })?;
            prop_assume!(oracle.verdict != Verdict::Inconclusive);
            let outcome = check(&system, &dir(&plan, &colours))?;
            let luck = |outcome: &Outcome| outcome.verdict == Verdict::Holds && !outcome.complete;
            prop_assert!(
                outcome.verdict == oracle.verdict || luck(&outcome) || luck(&oracle),
                "{:?}: {:?}, not {:?}", which, outcome.verdict, oracle.verdict
            );
            if oracle.complete {
                let (points, states) = (outcome.statistics.unique_states, oracle.statistics.unique_states);
                prop_assert!(points <= states, "{:?}: {:?} points, {:?} states; {} {:?}", which, points, states, outcome.complete, outcome.statistics);
            }
        }
    }
}
