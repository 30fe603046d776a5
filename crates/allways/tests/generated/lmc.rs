//! Engine `lmc` against the classic search: the same verdicts, and the same reachable combinations of
//! views, in both modes, on all networks.

use crate::node::{TableNode, state, system};
use crate::plan::{KINDS, Kind, Plan, plan};
use crate::{MAX_STATES, as_found, cases, check, classic, explore, with_properties};
use allways::prelude::*;
use allways::{Bound, Combine};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

fn configurations() -> Vec<(String, Options)> {
    let mut all = Vec::new();
    for combine in [Combine::Views, Combine::General] {
        for threads in [1, 3] {
            // Without optimisations, each of both once.
            if cfg!(debug_assertions) && (combine == Combine::Views) == (threads == 3) {
                continue;
            }
            let name = format!("{combine:?}, {threads} threads");
            let engine = Engine::Lmc;
            // Systems that were made at random use messages again and again, which takes long.
            let max_time = Some(Duration::from_secs(2));
            all.push((name, Options { engine, combine, threads, max_time, ..as_found() }));
        }
    }
    all
}

/// Leaves out what takes too long, but not so much that an endless search would go unnoticed.
fn is_in_time(outcome: &Outcome) -> Result<(), TestCaseError> {
    static CHECKS: AtomicUsize = AtomicUsize::new(0);
    static LATE: AtomicUsize = AtomicUsize::new(0);
    let checks = CHECKS.fetch_add(1, Relaxed);
    if outcome.bounded_by != Some(Bound::Seconds) {
        return Ok(());
    }
    let late = LATE.fetch_add(1, Relaxed);
    prop_assert!(late <= 20 + checks / 20, "{} of {} checks took too long", late, checks);
    Err(TestCaseError::reject("it took too long"))
}

/// The same plan as far as the engine itself decides it.
fn local(mut plan: Plan) -> Plan {
    plan.network.drops = 0;
    plan.faults.cut = None;
    plan.observer = None;
    if plan.network.kind == Kind::Ordered {
        plan.network.duplications = 0;
        plan.faults.crashes = 0;
    }
    plan
}

/// The same plan, where it matters how many copies of a message there are: each moves its node on by one
/// state, most are sent twice, and calls are made twice.
fn counting(plan: Plan) -> Plan {
    let mut plan = Plan { panics: false, ..local(plan) };
    plan.network.kind = Kind::Unordered;
    for table in &mut plan.nodes {
        let last = table.rules.len() - 1;
        for (state, rules) in table.rules.iter_mut().enumerate() {
            for (input, rule) in rules.iter_mut().enumerate() {
                for alternative in rule {
                    if input < KINDS.into() {
                        alternative.next = Some((state + 1).min(last) as u8);
                    }
                    if input < KINDS.into() && state == last {
                        alternative.sends.clear();
                    }
                    let again: Vec<_> = alternative.sends.iter().copied().take(1).collect();
                    alternative.sends.extend(again);
                }
            }
        }
    }
    plan.scripts.push(plan.scripts[0].clone());
    plan
}

/// All combinations of states that there could be.
fn vectors(plan: &Plan) -> Vec<Vec<u8>> {
    let mut all = vec![Vec::new()];
    for table in &plan.nodes {
        let longer = |vector: Vec<u8>| {
            (0..table.rules.len() as u8).map(move |state| [&vector[..], &[state]].concat())
        };
        all = all.into_iter().flat_map(longer).collect();
    }
    all
}

/// The system with a wish for each combination of states, so that those that are reachable are witnessed.
pub fn with_wishes(plan: &Plan) -> System<TableNode> {
    vectors(plan).into_iter().fold(system(plan), |system, vector| {
        let name = format!("{vector:?}");
        system.sometimes(name, state(), move |states| states == vector)
    })
}

fn reaches_the_same_views(plan: &Plan) -> Result<(), TestCaseError> {
    let bounded = Options { max_states: Some(MAX_STATES), ..classic() };
    let ((expected, _), oracle) = explore(plan, &bounded)?;
    prop_assume!(oracle.verdict != Verdict::Inconclusive);
    let expected: BTreeSet<String> = expected.iter().map(|v| format!("{v:?}")).collect();
    let system = with_wishes(plan);
    for (name, options) in configurations() {
        let outcome = check(&system, &options)?;
        is_in_time(&outcome)?;
        let reached: BTreeSet<String> =
            outcome.witnesses.iter().map(|witness| witness.property.clone()).collect();
        prop_assert_eq!(&reached, &expected, "{}: {}", name, outcome.engine);
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn lmc_reaches_the_same_views(plan in plan().prop_map(local)) {
        reaches_the_same_views(&Plan { panics: false, ..plan })?;
    }

    #[test]
    fn lmc_counts_copies(plan in plan().prop_map(counting)) {
        reaches_the_same_views(&plan)?;
    }

    #[test]
    fn lmc_comes_to_the_same_verdict(plan in plan(), which in any::<[bool; 2]>()) {
        // Without an `always`, a search ends when all is witnessed, be there a panic or not.
        let system = with_properties(&plan, [true, which[0], which[1]]);
        let oracle = check(&system, &Options { max_states: Some(MAX_STATES), ..classic() })?;
        prop_assume!(oracle.bounded_by.is_none());
        for (name, options) in configurations() {
            let outcome = check(&system, &options)?;
            is_in_time(&outcome)?;
            prop_assert_eq!(outcome.verdict, oracle.verdict, "{}: {}", name, outcome.engine);
            let holds = outcome.verdict == Verdict::Holds;
            prop_assert!(!holds || outcome.complete == oracle.complete, "{}", name);
        }
    }

    #[test]
    fn lmc_comes_to_the_same_verdict_by_itself(plan in plan().prop_map(local)) {
        let system = with_properties(&plan, [true, true, false]);
        let oracle = check(&system, &Options { max_states: Some(MAX_STATES), ..classic() })?;
        prop_assume!(oracle.bounded_by.is_none());
        for (name, options) in configurations() {
            let outcome = check(&system, &options)?;
            is_in_time(&outcome)?;
            prop_assert_eq!(outcome.verdict, oracle.verdict, "{}: {}", name, outcome.engine);
        }
    }
}
