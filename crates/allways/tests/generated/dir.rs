//! Engine `dir` against the classic search, trace by trace and with states: the same verdicts and the same reachable combinations of views, on all
//! networks, with all faults; and against engine `dpor`: it covers as many traces as that explores.

use crate::dpor::fewer_cases;
use crate::lmc::with_wishes;
use crate::plan::{Plan, plan, wide_plan};
use crate::{
    MAX_STATES, as_found, cases, check, classic, explore, seen, with_goal, with_properties,
};
use allways::prelude::*;
use allways::{Cause, Component, Components};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Systems that take more runs than this are left out.
const MAX_RUNS: u64 = if cfg!(debug_assertions) { 300 } else { 3_000 };

/// Random systems in which nobody is told that a partition has healed.
fn plan_untold(plan: impl Strategy<Value = Plan>) -> impl Strategy<Value = Plan> {
    plan.prop_map(|mut plan| {
        plan.faults.greeting = None;
        plan
    })
}

/// For each node, which of some components it is in; of that, which of its components; and so on.
type Paths = [[usize; 3]; 8];

fn paths() -> impl Strategy<Value = Paths> {
    prop::array::uniform8((0..5usize, 0..3usize, 0..2usize).prop_map(|(a, b, c)| [a, b, c]))
}

/// A component of these nodes, which consists of components if they part ways below a level.
fn component(nodes: &[usize], paths: &Paths, level: usize) -> Component {
    if level == 3 || nodes.len() == 1 {
        return Component::of(nodes.to_vec()).unwrap();
    }
    let with = |way| nodes.iter().copied().filter(|&node| paths[node][level] == way).collect();
    let ways = (0..5).map(with).filter(|part: &Vec<usize>| !part.is_empty());
    let mut parts: Vec<_> = ways.map(|part| component(&part, paths, level + 1)).collect();
    match parts.len() {
        1 => parts.remove(0),
        _ => Component::made_of(parts).unwrap(),
    }
}

/// With components as the paths say; with states, just one level of them.
fn dir(plan: &Plan, paths: &Paths, stateful: bool) -> Options {
    let with = |way| (0..plan.nodes.len()).filter(|&node| paths[node][0] == way).collect();
    let groups: Vec<Vec<usize>> =
        (0..5).map(with).filter(|group: &Vec<usize>| group.len() > 1).collect();
    let nested = groups.iter().map(|group| component(group, paths, 1)).collect();
    let components = match stateful {
        true => Components::new(groups),
        false => Components::nested(nested),
    };
    let components = components.unwrap();
    let traces = Options { max_runs: Some(MAX_RUNS), max_depth: Some(30), ..as_found() };
    let rest = if stateful { as_found() } else { traces };
    // Whoever explores it.
    let threads = 1 + paths[1][2];
    Options { engine: Engine::Dir, stateful, components, threads, ..rest }
}

/// With states, and without points that others cover.
fn without_covered(plan: &Plan, paths: &Paths) -> Options {
    Options { antichains: true, ..dir(plan, paths, true) }
}

/// Whether something may go wrong by itself.
fn has_faults(plan: &Plan) -> bool {
    plan.faults.crashes > 0 || plan.faults.cut.is_some() || plan.network.drops > 0
}

fn reaches_the_same_views(plan: &Plan, paths: &Paths, stateful: bool) -> Result<(), TestCaseError> {
    reaches_the_same_views_with(plan, &dir(plan, paths, stateful))
}

fn reaches_the_same_views_with(plan: &Plan, options: &Options) -> Result<(), TestCaseError> {
    let bounded = Options { max_states: Some(MAX_STATES), ..classic() };
    let ((expected, _), oracle) = explore(plan, &bounded)?;
    prop_assume!(oracle.verdict == Verdict::Holds);
    let expected: BTreeSet<String> = expected.iter().map(|v| format!("{v:?}")).collect();
    let outcome = check(&with_wishes(plan), options)?;
    let reached: BTreeSet<String> =
        outcome.witnesses.iter().map(|witness| witness.property.clone()).collect();
    if outcome.bounded_by.is_some() && !options.stateful {
        // What it has seen is reachable anyhow.
        prop_assert!(reached.is_subset(&expected));
        prop_assume!(false);
    }
    prop_assert_eq!(&reached, &expected);
    Ok(())
}

fn gives_the_same_verdict(plan: &Plan, paths: &Paths, stateful: bool) -> Result<(), TestCaseError> {
    gives_the_same_verdict_with(plan, &dir(plan, paths, stateful))
}

fn gives_the_same_verdict_with(plan: &Plan, options: &Options) -> Result<(), TestCaseError> {
    let stateful = options.stateful;
    let all =
        [[false; 3], [true, false, false], [false, true, false], [false, false, true], [true; 3]];
    let may_be_terminal = |which: &&[bool; 3]| stateful || !which[2] || !has_faults(plan);
    for &which in all.iter().filter(may_be_terminal) {
        let system = with_properties(plan, which);
        let oracle = check(&system, &Options { max_states: Some(MAX_STATES), ..classic() })?;
        prop_assume!(oracle.verdict != Verdict::Inconclusive);
        let outcome = check(&system, options)?;
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

fn covers_all_traces(plan: &Plan, paths: &Paths) -> Result<(), TestCaseError> {
    covers_all_traces_with(plan, dir(plan, paths, false))
}

fn covers_all_traces_with(plan: &Plan, dir: Options) -> Result<(), TestCaseError> {
    let bounded = Options { max_runs: Some(MAX_RUNS), max_depth: Some(30), ..as_found() };
    let system = with_properties(plan, [false; 3]);
    let dpor = check(&system, &Options { engine: Engine::Dpor, ..bounded })?;
    prop_assume!(dpor.complete);
    let outcome = check(&system, &dir)?;
    prop_assume!(outcome.bounded_by.is_none());
    let runs = dpor.statistics.runs.map(u128::from);
    let divided = outcome.statistics.components;
    prop_assert_eq!(outcome.statistics.covered_traces, runs, "{:?}", divided);
    Ok(())
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn with_states_it_reaches_the_same_views(plan in plan(), paths in paths()) {
        reaches_the_same_views(&plan, &paths, true)?;
    }

    #[test]
    fn with_states_it_gives_the_same_verdict(plan in plan(), paths in paths()) {
        gives_the_same_verdict(&plan, &paths, true)?;
    }

    #[test]
    fn without_covered_points_it_reaches_the_same_views(plan in plan(), paths in paths()) {
        reaches_the_same_views_with(&plan, &without_covered(&plan, &paths))?;
    }

    #[test]
    fn without_covered_points_it_gives_the_same_verdict(plan in plan(), paths in paths()) {
        gives_the_same_verdict_with(&plan, &without_covered(&plan, &paths))?;
    }
}

proptest! {
    #![proptest_config(fewer_cases())]

    #[test]
    fn it_sees_the_same_of_a_goal(plan in plan_untold(plan()), paths in paths()) {
        let system = with_goal(&plan);
        let oracle = check(&system, &Options { max_states: Some(MAX_STATES), ..classic() })?;
        prop_assume!(oracle.bounded_by.is_none());
        prop_assume!(oracle.violation.as_ref().is_none_or(|v| v.cause == Cause::NeverReached));
        let [traces, states] = [false, true].map(|stateful| dir(&plan, &paths, stateful));
        for options in [traces, states, without_covered(&plan, &paths)] {
            let outcome = check(&system, &options)?;
            if outcome.bounded_by.is_none() {
                prop_assert_eq!(&seen(&outcome), &seen(&oracle), "{}", outcome.engine);
            }
        }
    }

    #[test]
    fn by_traces_it_reaches_the_same_views(plan in plan_untold(plan()), paths in paths()) {
        reaches_the_same_views(&plan, &paths, false)?;
    }

    #[test]
    fn by_traces_it_gives_the_same_verdict(plan in plan_untold(plan()), paths in paths()) {
        gives_the_same_verdict(&plan, &paths, false)?;
    }

    #[test]
    fn it_covers_all_traces(plan in plan_untold(plan()), paths in paths()) {
        covers_all_traces(&plan, &paths)?;
    }

    #[test]
    fn it_covers_all_traces_of_many_nodes(plan in plan_untold(wide_plan()), paths in paths()) {
        covers_all_traces(&plan, &paths)?;
    }

    #[test]
    fn of_many_nodes_it_reaches_the_same_views(plan in plan_untold(wide_plan()), paths in paths()) {
        reaches_the_same_views(&plan, &paths, false)?;
    }

    #[test]
    fn of_many_nodes_it_gives_the_same_verdict(plan in plan_untold(wide_plan()), paths in paths()) {
        gives_the_same_verdict(&plan, &paths, false)?;
    }

    #[test]
    fn it_covers_all_traces_with_components_found_out(plan in plan_untold(prop_oneof![plan(), wide_plan()])) {
        let components = Components::auto();
        covers_all_traces_with(&plan, Options { components, ..dir(&plan, &Paths::default(), false) })?;
    }

    /// Nor does it matter how much of it was done in another process.
    #[test]
    fn threads_and_logs_make_no_difference(
        plan in plan_untold(prop_oneof![3 => plan(), 1 => wide_plan()]),
        paths in paths(),
        cut in any::<prop::sample::Index>(),
    ) {
        let system = with_properties(&plan, [true, true, !has_faults(&plan)]);
        let max_runs = Some(MAX_RUNS / 5);
        let alone = Options { threads: 1, max_runs, ..dir(&plan, &paths, false) };
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
    let skeletons =
        (it.global_skeletons, it.inner_skeletons, it.local_skeletons, it.covered_traces);
    let violation = outcome.violation.as_ref().map(|it| (&it.property, &it.cause, &it.run));
    let witnesses: Vec<_> = outcome.witnesses.iter().map(|it| (&it.property, &it.run)).collect();
    let verdict = (outcome.verdict, outcome.complete, outcome.bounded_by);
    format!("{verdict:?} {counts:?} {skeletons:?} {violation:?} {witnesses:?}")
}
