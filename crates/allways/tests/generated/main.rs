//! Every engine against every other, on generated systems.
//!
//! The classic search, which works on whole global states and real handlers, is the oracle. Its
//! own opinion is compared with a naive explorer that shares no code with the library.
//!
//! `PROPTEST_CASES` sets how many systems are generated for each test.

mod dir;
mod dpor;
mod lmc;
mod minimised;
mod node;
mod plan;
mod reduced;
mod reference;

use allways::prelude::*;
use allways::{Bound, Cause, Run, RunEventKind, Story, TextOptions};
use node::{Record, Recorded, TableNode, state, system};
use plan::{Plan, plan};
use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, RngSeed};

/// Systems with more global states than this are left out.
const MAX_STATES: u64 = 1_000;

fn cases() -> ProptestConfig {
    let default = ProptestConfig::default();
    // The same systems each time, unless more are asked for.
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
        max_global_rejects: 100 * cases,
        max_shrink_iters: 5_000,
        ..default
    }
}

/// The oracle.
fn classic() -> Options {
    Options { engine: Engine::Global, search: Search::Classic, threads: 1, ..as_found() }
}

/// Runs as the engine found them.
fn as_found() -> Options {
    Options { minimise: false, ..Options::default() }
}

/// Engines that must agree with the oracle in everything.
fn configurations() -> Vec<(String, Options)> {
    let mut all = Vec::new();
    for search in [Search::Bfs, Search::Dfs] {
        for threads in [1, 3] {
            for exact in [false, true] {
                let name = format!("{search:?}, {threads} threads, exact {exact}");
                let engine = Engine::Global;
                all.push((name, Options { engine, search, threads, exact, ..as_found() }));
            }
        }
    }
    all
}

fn check(system: &System<TableNode>, options: &Options) -> Result<Outcome, TestCaseError> {
    system.try_check(options).map_err(|error| TestCaseError::fail(error.to_string()))
}

fn explore(plan: &Plan, options: &Options) -> Result<(Recorded, Outcome), TestCaseError> {
    let record = Record::default();
    let outcome = check(&record.of(plan), options)?;
    Ok((record.take(), outcome))
}

/// The system with an `always`, a `sometimes` and a `never_stuck` property, as far as asked for.
fn with_properties(plan: &Plan, which: [bool; 3]) -> System<TableNode> {
    let mut system = system(plan);
    let ends = |states: &[u8]| (states[0], states[states.len() - 1]);
    let plan::PropertiesPlan { forbidden, wanted, allowed_at_end } = plan.properties.clone();
    if which[0] {
        system = system.always("forbidden", state(), move |states| ends(states) != forbidden);
    }
    if which[1] {
        system = system.sometimes("wanted", state(), move |states| ends(states) == wanted);
    }
    if which[2] {
        system = system
            .never_stuck("allowed", state(), move |states| allowed_at_end.contains(&states[0]));
    }
    system
}

/// The system with a goal of four conjuncts, and something that keeps a search from stopping when it
/// is reached.
fn with_goal(plan: &Plan) -> System<TableNode> {
    let (first, last) = plan.properties.wanted;
    let forbidden = plan.properties.forbidden;
    system(plan).always("anything", state(), |_| true).sometimes_all(
        "all at once",
        state(),
        [
            conjunct("first", move |states: &[u8]| states[0] == first),
            conjunct("last", move |states: &[u8]| states.last() == Some(&last)),
            conjunct("different", |states: &[u8]| states.first() != states.last()),
            conjunct("nobody", move |states: &[u8]| !states.contains(&forbidden.0)),
        ],
    )
}

/// What of a goal does not depend on the order of a search.
fn seen(outcome: &Outcome) -> (bool, Vec<bool>, Option<usize>) {
    let goal = &outcome.goals[0];
    let conjuncts = goal.conjuncts.iter().map(|conjunct| conjunct.first_true.is_some()).collect();
    (goal.reached.is_some(), conjuncts, goal.nearest.as_ref().map(|nearest| nearest.met.len()))
}

/// The length of the shortest violating run, by searching deeper and deeper.
fn shortest(system: &System<TableNode>) -> Result<usize, TestCaseError> {
    for depth in 0.. {
        let outcome = check(system, &Options { max_depth: Some(depth), ..classic() })?;
        match outcome.violation {
            Some(violation) => return Ok(violation.run.events.len()),
            None => prop_assert_eq!(outcome.bounded_by, Some(Bound::Depth), "no violation"),
        }
    }
    unreachable!()
}

/// The steps of a story are the events of its run, and its envelopes were sent before they were
/// handled or lost, and then no more.
fn told_in_full(run: &Run, story: &Story) -> Result<(), TestCaseError> {
    let events: Vec<_> = story.steps.iter().map(|step| &step.event).collect();
    prop_assert_eq!(events, run.events.iter().collect::<Vec<_>>());
    for (index, step) in story.steps.iter().enumerate() {
        use RunEventKind::{Call, Drop, Duplicate, Message};
        let in_flight = matches!(step.event.kind, Message | Duplicate | Call | Drop);
        prop_assert_eq!(step.envelope.is_some(), in_flight, "step {}", index);
        prop_assert!(step.causes.iter().all(|cause| *cause < index), "step {}", index);
        let Some(envelope) = step.envelope else { continue };
        let handled = story.envelopes[envelope].handled_at.contains(&index);
        prop_assert!(handled != step.lost.contains(&envelope), "step {}", index);
        let envelope = &story.envelopes[envelope];
        prop_assert_eq!((envelope.from, Some(envelope.to)), (step.event.from, step.event.node));
        prop_assert_eq!(&envelope.what, &step.event.what);
    }
    for envelope in &story.envelopes {
        let sent = envelope.sent_at.map_or(0, |sent| sent + 1);
        prop_assert!(envelope.handled_at.iter().all(|handled| *handled >= sent));
        // What is sent across a partition is lost at once.
        prop_assert!(envelope.lost_at.is_none_or(|lost| lost + 1 >= sent));
        let lost = envelope.lost_at.unwrap_or(usize::MAX);
        prop_assert!(envelope.handled_at.iter().all(|handled| *handled < lost));
        prop_assert!(envelope.handled_at.is_sorted());
    }
    // However narrow, it can be shown.
    for width in [1, 30, 80] {
        let text = story.text(&TextOptions { width, ..TextOptions::default() });
        prop_assert!(text.lines().all(|line| line.chars().count() <= width), "{}", text);
    }
    Ok(())
}

/// Whether an outcome promises a shortest run.
fn is_breadth_first(options: &Options, outcome: &Outcome) -> bool {
    options.search == Search::Bfs && outcome.engine != "global classic"
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn every_search_explores_the_same(plan in plan()) {
        let bounded = Options { max_states: Some(MAX_STATES), ..classic() };
        let (expected, oracle) = explore(&plan, &bounded)?;
        prop_assume!(oracle.verdict != Verdict::Inconclusive);
        let panics = oracle.verdict == Verdict::Violated;
        let least = if panics { shortest(&Record::default().of(&plan))? } else { 0 };
        for (name, options) in configurations() {
            let (recorded, outcome) = explore(&plan, &options)?;
            prop_assert_eq!(outcome.verdict, oracle.verdict, "{}", name);
            prop_assert_eq!(outcome.complete, oracle.complete, "{}", name);
            if let Some(violation) = &outcome.violation {
                prop_assert_eq!(&violation.cause, &Cause::Panic, "{}", name);
                if is_breadth_first(&options, &outcome) {
                    prop_assert_eq!(violation.run.events.len(), least, "{}", name);
                }
                continue;
            }
            prop_assert_eq!(&recorded, &expected, "{}", name);
            let (counts, expected) = (&outcome.statistics, &oracle.statistics);
            prop_assert_eq!(counts.unique_states, expected.unique_states, "{}", name);
            prop_assert_eq!(counts.generated_states, expected.generated_states, "{}", name);
            prop_assert_eq!(&outcome.coverage, &oracle.coverage, "{}", name);
            prop_assert_eq!(counts.frontier, Some(0), "{}", name);
            if options.search == Search::Bfs {
                let levels: u64 = counts.levels.iter().sum();
                prop_assert_eq!(Some(levels), counts.unique_states, "{}", name);
                prop_assert_eq!(counts.levels.len() as u64, counts.depth.unwrap() + 1, "{}", name);
            }
        }
    }

    #[test]
    fn every_search_sees_the_same_of_a_goal(plan in plan()) {
        let system = with_goal(&plan);
        let oracle = check(&system, &Options { max_states: Some(MAX_STATES), ..classic() })?;
        prop_assume!(oracle.bounded_by.is_none());
        prop_assume!(oracle.violation.as_ref().is_none_or(|v| v.cause == Cause::NeverReached));
        let expected = seen(&oracle);
        for (name, options) in configurations() {
            let outcome = check(&system, &options)?;
            prop_assert_eq!(&seen(&outcome), &expected, "{}", name);
            if let Some(nearest) = &outcome.goals[0].nearest {
                let nearest_depth = nearest.run.events.len() as u64;
                prop_assert!(nearest_depth <= outcome.statistics.depth.unwrap(), "{}", name);
            }
        }
        // Breadth-first, what is seen first is seen after as few events as possible.
        let breadth_first = check(&system, &Options { search: Search::Bfs, ..classic() })?;
        for (conjunct, seen) in breadth_first.goals[0].conjuncts.iter().enumerate() {
            let Some(first) = seen.first_true else { continue };
            for (max_depth, sees) in [(Some(first), true), (first.checked_sub(1), false)] {
                if max_depth.is_some() {
                    let bounded = check(&system, &Options { max_depth, ..classic() })?;
                    let there = bounded.goals[0].conjuncts[conjunct].first_true;
                    prop_assert_eq!(there.is_some(), sees, "{} within {:?}", &seen.name, max_depth);
                }
            }
        }
    }

    #[test]
    fn every_search_gives_the_same_verdict(plan in plan()) {
        let (_, oracle) = explore(&plan, &Options { max_states: Some(MAX_STATES), ..classic() })?;
        prop_assume!(oracle.verdict != Verdict::Inconclusive);
        let panics = oracle.verdict == Verdict::Violated;
        // Each property alone: what may be reported when all are checked together.
        let mut violated = Vec::new();
        for which in [[true, false, false], [false, true, false], [false, false, true]] {
            let system = with_properties(&plan, which);
            // Drops are explored for `never_stuck` only, so there may be more states now.
            let outcome = check(&system, &Options { max_states: Some(10 * MAX_STATES), ..classic() })?;
            prop_assume!(outcome.verdict != Verdict::Inconclusive);
            violated.extend(outcome.violation.clone().map(|violation| violation.cause));
            for (name, options) in configurations().into_iter().filter(|(_, o)| !o.exact) {
                let other = check(&system, &options)?;
                // With nothing but `sometimes` to check, a search ends where that holds, and may
                // or may not have met a panic before.
                let luck = |outcome: &Outcome| outcome.verdict == Verdict::Holds && !outcome.complete;
                let lucky = which == [false, true, false] && (luck(&other) || luck(&outcome));
                prop_assert!(other.verdict == outcome.verdict || lucky, "{:?}, {}", which, name);
            }
        }
        let system = with_properties(&plan, [true; 3]);
        let expected = if violated.is_empty() { Verdict::Holds } else { Verdict::Violated };
        let oracle = check(&system, &classic())?;
        prop_assert_eq!(oracle.verdict, expected);
        // Unreachable is what has no run at all, long or short.
        let reached = oracle.violation.is_some_and(|v| v.cause != Cause::NeverReached);
        let least = if reached { shortest(&system)? } else { 0 };
        for (name, options) in configurations() {
            let outcome = check(&system, &options)?;
            prop_assert_eq!(outcome.verdict, expected, "{}", name);
            let Some(violation) = &outcome.violation else { continue };
            // Where there is a panic, it may come before what a property alone would report.
            let known = violated.contains(&violation.cause) || panics;
            prop_assert!(known, "{}: {:?} is not among {:?}", name, violation.cause, violated);
            if is_breadth_first(&options, &outcome) {
                prop_assert_eq!(violation.run.events.len(), least, "{}", name);
            }
        }
    }

    #[test]
    fn every_run_found_is_told_in_full(plan in plan()) {
        let (_, oracle) = explore(&plan, &Options { max_states: Some(MAX_STATES), ..classic() })?;
        prop_assume!(oracle.verdict != Verdict::Inconclusive);
        let searches = [Search::Bfs, Search::Dfs, Search::Classic].map(|search| {
            Options { engine: Engine::Global, search, threads: 1, ..Options::default() }
        });
        for which in [[true, false, false], [false, true, false], [false, false, true]] {
            let system = with_properties(&plan, which);
            for options in &searches {
                let options = Options { max_states: Some(10 * MAX_STATES), ..options.clone() };
                let outcome = check(&system, &options)?;
                if let Some(violation) = &outcome.violation {
                    let reached = violation.cause != Cause::NeverReached;
                    prop_assert_eq!(outcome.story.is_some(), reached);
                    let Some(story) = &outcome.story else { continue };
                    told_in_full(&violation.run, story)?;
                    let ending = story.ending.as_ref().unwrap();
                    prop_assert_eq!(&ending.reads, &violation.reads);
                    prop_assert_eq!(&ending.property, &violation.property);
                    prop_assert_eq!(&ending.cause, &Some(violation.cause.clone()));
                    let panics = story.steps.iter().position(|step| step.panic.is_some());
                    let last = story.steps.len().checked_sub(1);
                    prop_assert!(panics.is_none() || panics == last);
                }
                for witness in &outcome.witnesses {
                    told_in_full(&witness.run, witness.story.as_ref().unwrap())?;
                }
            }
        }
    }

    #[test]
    fn a_bounded_search_covers_what_lies_within_its_bound(plan in plan(), depth in 0..8u64) {
        let depth = Some(depth);
        let bounded = Options { max_depth: depth, max_states: Some(MAX_STATES), ..classic() };
        let (expected, oracle) = explore(&plan, &bounded)?;
        prop_assume!(oracle.bounded_by != Some(Bound::States));
        for (name, options) in configurations().into_iter().filter(|(_, o)| !o.exact) {
            let (recorded, outcome) = explore(&plan, &Options { max_depth: depth, ..options.clone() })?;
            if options.search == Search::Dfs {
                // It expands a state once, maybe too deep to see all that lies behind it.
                if outcome.verdict == Verdict::Holds {
                    prop_assert_eq!(oracle.verdict, Verdict::Holds, "{}", name);
                }
                if oracle.violation.is_none() {
                    prop_assert!(outcome.violation.is_none(), "{}", name);
                    prop_assert!(recorded.0.is_subset(&expected.0), "{}", name);
                }
                continue;
            }
            prop_assert_eq!(outcome.verdict, oracle.verdict, "{}", name);
            if outcome.violation.is_none() {
                prop_assert_eq!(outcome.bounded_by, oracle.bounded_by, "{}", name);
                prop_assert_eq!(&recorded, &expected, "{}", name);
                let (count, expected) = (&outcome.statistics, &oracle.statistics);
                prop_assert_eq!(count.unique_states, expected.unique_states, "{}", name);
                prop_assert_eq!(Some(count.levels.iter().sum()), count.unique_states, "{}", name);
                // At the bound, all that is there waits.
                let bounded = outcome.bounded_by.is_some();
                let last = count.levels.last().copied().unwrap_or_default();
                let waiting = if bounded { last } else { 0 };
                prop_assert_eq!(count.frontier, Some(waiting), "{}", name);
            }
        }
    }

    #[test]
    fn random_runs_stay_within_what_is_reachable(plan in plan(), seed in any::<u64>()) {
        let bounded = Options { max_states: Some(MAX_STATES), ..classic() };
        let (reachable, oracle) = explore(&plan, &bounded)?;
        prop_assume!(oracle.verdict != Verdict::Inconclusive);
        let walk = Options {
            engine: Engine::Walk,
            threads: 1,
            max_depth: Some(50),
            runs: 20,
            seed,
            ..as_found()
        };
        let (met, outcome) = explore(&plan, &walk)?;
        match oracle.verdict {
            // What lies behind a panic is not reachable, but other things may come before it.
            Verdict::Violated => prop_assert!(outcome.verdict != Verdict::Holds || !outcome.complete),
            _ => {
                prop_assert!(outcome.verdict != Verdict::Violated);
                prop_assert!(met.0.is_subset(&reachable.0), "{:?} in {:?}", met.0, reachable.0);
                prop_assert!(met.1.is_subset(&reachable.1), "{:?} in {:?}", met.1, reachable.1);
            }
        }
    }

    #[test]
    fn the_oracle_agrees_with_a_naive_explorer(plan in plan().prop_map(Plan::plain)) {
        let limit = MAX_STATES as usize;
        let Some((views, count)) = reference::explore(&plan, limit) else {
            return Err(TestCaseError::reject("too large"));
        };
        let (recorded, outcome) = explore(&plan, &classic())?;
        prop_assert_eq!(outcome.verdict, Verdict::Holds);
        prop_assert_eq!(recorded.0, views);
        prop_assert_eq!(outcome.statistics.unique_states, Some(count as u64));
    }
}
