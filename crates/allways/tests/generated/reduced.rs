//! Engine `global` with a partial order reduction: it must meet the same views, or find the same verdicts,
//! as what it preserves demands.
//!
//! Properties read a part of the nodes' states, so that there are steps which none of them sees.

use super::node::{TableNode, system};
use super::plan::{Plan, PropertiesPlan, plan};
use super::{MAX_STATES, as_found, cases, check, classic};
use allways::prelude::*;
use allways::{Cause, Por};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// Some bits of a node's state.
fn part(mask: u8) -> allways::View<TableNode, u8> {
    view(move |node: &TableNode| node.state & mask)
}

/// All searches that preserve this.
fn reduced(por: Por) -> Vec<(String, Options)> {
    let mut all = Vec::new();
    for search in [Search::Bfs, Search::Dfs] {
        for (threads, exact) in [(1, false), (3, false), (1, true)] {
            let name = format!("{por:?}, {search:?}, {threads} threads, exact {exact}");
            let (engine, por) = (Engine::Global, Some(por));
            // Where a handler panics there may be no end to what lies beside it.
            let max_states = Some(20 * MAX_STATES);
            let options = Options { engine, search, threads, exact, por, max_states, ..as_found() };
            all.push((name, options));
        }
    }
    all
}

type Met = (BTreeSet<Vec<u8>>, BTreeSet<u8>);

/// The views and observer states that a search meets, and its outcome.
fn met(plan: &Plan, mask: u8, options: &Options) -> Result<(Met, Outcome), TestCaseError> {
    let views: Arc<Mutex<BTreeSet<Vec<u8>>>> = Arc::default();
    let observed: Arc<Mutex<BTreeSet<u8>>> = Arc::default();
    let record = Arc::clone(&views);
    let mut system = system(plan).always("record", part(mask), move |states| {
        record.lock().unwrap().insert(states.to_vec());
        true
    });
    if plan.observer.is_some() {
        let record = Arc::clone(&observed);
        system = system.always_observed("record the observer", move |state: &u8| {
            record.lock().unwrap().insert(*state);
            true
        });
    }
    let outcome = check(&system, options)?;
    let met = (views.lock().unwrap().clone(), observed.lock().unwrap().clone());
    Ok((met, outcome))
}

/// The system with one of three kinds of properties, or all of them.
fn with(plan: &Plan, mask: u8, which: [bool; 3]) -> System<TableNode> {
    let mut system = system(plan);
    let ends = |states: &[u8]| (states[0], states[states.len() - 1]);
    let PropertiesPlan { forbidden, wanted, allowed_at_end } = plan.properties.clone();
    let masked = move |(first, last): (u8, u8)| (first & mask, last & mask);
    if which[0] {
        let forbidden = masked(forbidden);
        system = system.always("forbidden", part(mask), move |states| ends(states) != forbidden);
        if plan.observer.is_some() {
            system = system.always_observed("observed", move |state: &u8| *state != wanted.0 % 3);
        }
    }
    if which[1] {
        let wanted = masked(wanted);
        system = system.sometimes("wanted", part(mask), move |states| ends(states) == wanted);
    }
    if which[2] {
        system = system
            .never_stuck("allowed", part(0xFF), move |states| allowed_at_end.contains(&states[0]));
    }
    system
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn a_reduced_search_meets_every_view(plan in plan(), mask in 0..4u8) {
        let bounded = Options { max_states: Some(MAX_STATES), ..classic() };
        let (expected, oracle) = met(&plan, mask, &bounded)?;
        prop_assume!(oracle.verdict != Verdict::Inconclusive);
        for (name, options) in reduced(Por::Views) {
            let (found, outcome) = met(&plan, mask, &options)?;
            if oracle.violation.is_some() && outcome.verdict == Verdict::Inconclusive {
                continue;
            }
            prop_assert_eq!(outcome.verdict, oracle.verdict, "{}", name);
            prop_assert_eq!(outcome.complete, oracle.complete, "{}", name);
            match outcome.violation {
                Some(violation) => prop_assert_eq!(violation.cause, Cause::Panic, "{}", name),
                None => {
                    prop_assert_eq!(&found, &expected, "{}", name);
                    let (here, all) = (outcome.statistics, &oracle.statistics);
                    prop_assert!(here.unique_states <= all.unique_states, "{}", name);
                }
            }
        }
    }

    #[test]
    fn a_reduced_search_gives_the_same_verdict(plan in plan(), mask in 0..4u8) {
        let (_, all) = met(&plan, mask, &Options { max_states: Some(MAX_STATES), ..classic() })?;
        prop_assume!(all.verdict != Verdict::Inconclusive);
        for which in [[true, false, false], [false, true, false], [false, false, true], [true; 3]] {
            let system = with(&plan, mask, which);
            let oracle = check(&system, &Options { max_states: Some(2 * MAX_STATES), ..classic() })?;
            prop_assume!(oracle.verdict != Verdict::Inconclusive);
            for por in [Por::Needed, Por::Invariant, Por::Terminals, Por::Views] {
                if por == Por::Invariant && which[2] {
                    continue;
                }
                for (name, options) in reduced(por) {
                    let outcome = check(&system, &options)?;
                    if all.violation.is_some() && outcome.verdict == Verdict::Inconclusive {
                        continue;
                    }
                    // With nothing but `sometimes` to check, a search ends where that holds, and may
                    // or may not have met a panic before.
                    let luck = |o: &Outcome| o.verdict == Verdict::Holds && !o.complete;
                    let lucky = which == [false, true, false] && (luck(&outcome) || luck(&oracle));
                    let same = outcome.verdict == oracle.verdict;
                    prop_assert!(same || lucky, "{:?}, {}: {:?}", which, name, outcome.verdict);
                }
            }
        }
    }
}
