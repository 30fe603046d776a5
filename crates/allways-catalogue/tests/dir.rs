//! The catalogue through engine `dir`: what it covers trace by trace is what engine `dpor` performs, what it covers with states is what engine `global` meets, and every
//! bug is found.

use allways::{Bound, Cause, Components, Engine, Error, Options, Outcome, Verdict};
use allways_catalogue::{entries, find};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

type Set<'a> = &'a [(&'a str, &'a str)];

const OPTIMISED: bool = !cfg!(debug_assertions);

/// So many traces are compared.
const MOST_TRACES: u64 = if OPTIMISED { 60_000 } else { 1_000 };

const SYSTEMS: &[(&str, Set<'static>)] = &[
    ("accumulator", &[("replicas", "1")]),
    ("accumulator", &[]),
    ("accumulator", &[("replicas", "3"), ("numbers", "4")]),
    ("accumulator", &[("replicas", "4"), ("numbers", "6")]),
    ("chain", &[]),
    ("chain", &[("nodes", "3"), ("messages", "9")]),
    ("chord", &[("nodes", "2")]),
    ("chord", &[("timeouts", "0")]),
    ("chord", &[("fingers", "0")]),
    ("chord", &[]),
    ("lock", &[("clients", "1")]),
    ("lock", &[("clients", "1"), ("crashes", "0"), ("drops", "1"), ("duplications", "0")]),
    ("lock", &[("crashes", "0"), ("drops", "0"), ("duplications", "1")]),
    ("lock", &[("crashes", "1"), ("drops", "0"), ("duplications", "0")]),
    ("one-paxos", &[("last-suspects", "0")]),
    ("one-paxos", &[("proposals", "1")]),
    ("one-paxos", &[]),
    ("overlay", &[("nodes", "4")]),
    ("overlay", &[("nodes", "4"), ("moves", "0")]),
    ("overlay", &[]),
    ("pam", &[("nodes", "2")]),
    ("pam", &[("nodes", "2"), ("self", "network")]),
    ("pam", &[("nodes", "2"), ("crashes", "0"), ("self", "network")]),
    ("pam", &[("proposers", "1")]),
    ("pam", &[("crashes", "0")]),
    ("pastry", &[("nodes", "2")]),
    ("pastry", &[("nodes", "2"), ("timeouts", "2")]),
    ("pastry", &[("timeouts", "0")]),
    ("paxos", &[("proposals", "0")]),
    ("paxos", &[("nodes", "2")]),
    ("paxos", &[("nodes", "2"), ("proposals", "2")]),
    ("paxos", &[]),
    ("paxos", &[("nodes", "2"), ("roles", "apart")]),
    ("paxos", &[("roles", "apart")]),
    ("paxos-register", &[("clients", "1")]),
    ("paxos-register", &[("servers", "2"), ("clients", "3")]),
    ("paxos-register", &[]),
    ("paxos-roles", &[("proposers", "1")]),
    ("paxos-roles", &[("proposers", "1"), ("learners", "2")]),
    ("paxos-roles", &[("proposers", "1"), ("history", "counted")]),
    ("paxos-roles", &[("acceptors", "2")]),
    ("primary-backup", &[("nodes", "2")]),
    ("primary-backup", &[("partitions", "0"), ("values", "1")]),
    ("primary-backup", &[("partitions", "0")]),
    ("register", &[("bases", "1"), ("writes", "2")]),
    ("register", &[("bases", "2")]),
    ("register", &[]),
    ("register", &[("history", "counted")]),
    ("tree", &[]),
    ("two-phase-commit", &[("rms", "1")]),
    ("two-phase-commit", &[]),
    ("two-phase-commit", &[("rms", "5")]),
    ("zab", &[("leaders", "1")]),
    ("zab", &[("leaders", "2"), ("followers", "1")]),
    ("zab", &[("leaders", "2"), ("followers", "2")]),
];

/// Programs of threads whose components share nothing but streams and forks.
const PROGRAMS: &[(&str, Set<'static>)] = &[
    ("accumulator-threads", &[]),
    ("accumulator-threads", &[("replicas", "3"), ("numbers", "3")]),
    ("accumulator-threads", &[("replicas", "4"), ("numbers", "6"), ("sequences", "1")]),
    ("alphabet", &[]),
    ("alphabet", &[("choices", "server")]),
    ("dining", &[("components", "2")]),
    ("dining", &[("components", "3")]),
    ("dining", &[("components", "4"), ("philosophers", "2")]),
    ("kv-server", &[]),
    ("kv-server", &[("clients", "1"), ("puts", "2"), ("reads", "2")]),
    ("multi-paxos", &[("ballots", "1")]),
    ("multi-paxos", &[("nodes", "3"), ("ballots", "1")]),
    ("multi-paxos", &[]),
    ("replicated-kv", &[("checkpoints", "0")]),
    ("replicated-kv", &[]),
];

/// Programs whose threads share more than that.
const OF_ONE_COMPONENT: &[&str] = &["bounded-buffer", "filesystem", "indexer"];

fn try_check(name: &str, set: Set<'_>, options: &Options) -> Result<Outcome, Error> {
    find(name).unwrap().build(set).unwrap().check_with(options)
}

fn check(name: &str, set: Set<'_>, options: &Options) -> Outcome {
    try_check(name, set, options).unwrap_or_else(|error| panic!("{name} {set:?}: {error}"))
}

fn by(engine: Engine) -> Options {
    Options { engine, threads: 1, minimise: false, ..Options::default() }
}

fn dir(stateful: bool) -> Options {
    Options { stateful, ..by(Engine::Dir) }
}

/// Nodes 0 and 1 as one component.
fn two_as_one(stateful: bool) -> Options {
    Options { components: Components::new(vec![vec![0, 1]]).unwrap(), ..dir(stateful) }
}

/// Without states, and with components as they are written.
fn divided(components: &str) -> Options {
    Options { components: components.parse().unwrap(), ..dir(false) }
}

fn points(outcome: &Outcome) -> u64 {
    outcome.statistics.unique_states.unwrap()
}

/// Whether engine `dir` cannot do this without states: a `never_stuck` with faults.
fn needs_states(result: &Result<Outcome, Error>) -> bool {
    matches!(result, Err(Error::Options(why)) if why.contains("which states are terminal"))
}

#[test]
fn every_system_of_nodes_is_here() {
    let here: BTreeSet<&str> = SYSTEMS.iter().map(|(name, _)| *name).collect();
    let all = entries().iter().filter(|entry| !entry.is_of_threads());
    assert_eq!(here, all.map(|entry| entry.name).collect());
}

#[test]
fn every_program_is_here() {
    let here: BTreeSet<&str> = PROGRAMS.iter().map(|(name, _)| *name).collect();
    let here = here.into_iter().chain(OF_ONE_COMPONENT.iter().copied());
    let all = entries().iter().filter(|entry| entry.is_of_threads());
    assert_eq!(here.collect::<BTreeSet<_>>(), all.map(|entry| entry.name).collect());
}

#[test]
fn as_many_traces_of_programs_are_covered_as_engine_dpor_performs() {
    let mut compared = 0;
    for (name, set) in PROGRAMS {
        let bounded = Options { max_runs: Some(MOST_TRACES), ..by(Engine::Dpor) };
        let plain = check(name, set, &bounded);
        if !plain.complete {
            assert_eq!(plain.bounded_by, Some(Bound::Runs), "{name} {set:?}");
            continue;
        }
        let outcome = check(name, set, &dir(false));
        outcome.assert_holds();
        assert!(outcome.complete, "{name} {set:?}");
        let covered = outcome.statistics.covered_traces;
        assert_eq!(covered, plain.statistics.runs.map(u128::from), "{name} {set:?}");
        compared += 1;
    }
    assert_eq!(compared, if OPTIMISED { 15 } else { 12 });
}

/// The paper's first figure, as it is written: threads and streams.
#[test]
fn the_accumulator_of_threads_has_fourteen_executions() {
    let outcome = check("accumulator-threads", &[], &dir(false));
    let statistics = outcome.assert_holds().statistics.clone();
    assert_eq!((statistics.runs, statistics.covered_traces), (Some(14), Some(18)));
    for (m, n) in (1..=6u64).flat_map(|m| (1..=6u64).map(move |n| (m, n))) {
        let (replicas, numbers) = (m.to_string(), n.to_string());
        let set = [("replicas", &*replicas), ("numbers", &*numbers), ("sequences", "1")];
        let outcome = check("accumulator-threads", &set, &dir(false));
        let statistics = outcome.assert_holds().statistics.clone();
        assert_eq!(statistics.runs, Some(1 + m * (n + 1)), "{m} {n}");
        assert_eq!(statistics.covered_traces, Some(u128::from(n + 1).pow(m as u32)), "{m} {n}");
    }
}

#[test]
fn every_bug_of_a_program_is_found() {
    let mut found = 0;
    let programs = entries().iter().filter(|entry| entry.is_of_threads());
    for entry in programs.filter(|entry| !OF_ONE_COMPONENT.contains(&entry.name)) {
        for bug in entry.bugs {
            let set = [("bug", bug.name)];
            let outcome = check(entry.name, &set, &dir(false));
            let what = format!("{} {}", entry.name, bug.name);
            let violation = outcome.violation.unwrap_or_else(|| panic!("{what}"));
            let known = check(entry.name, &set, &by(Engine::Dpor)).violation.unwrap();
            assert_eq!(violation.cause, known.cause, "{what}");
            found += 1;
        }
    }
    assert_eq!(found, 12);
}

#[test]
fn who_shares_more_than_streams_is_told_what_to_do() {
    for name in OF_ONE_COMPONENT {
        match try_check(name, &[], &dir(false)) {
            Err(Error::Options(why)) => assert!(why.contains("into one component"), "{why}"),
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn as_many_traces_are_covered_as_engine_dpor_performs() {
    let (mut compared, mut refused) = (0, 0);
    for (name, set) in SYSTEMS {
        let bounded = Options { max_runs: Some(MOST_TRACES), ..by(Engine::Dpor) };
        let plain = check(name, set, &bounded);
        if !plain.complete {
            assert_eq!(plain.bounded_by, Some(Bound::Runs), "{name} {set:?}");
            continue;
        }
        for options in [dir(false), two_as_one(false), divided("(0/1)"), divided("auto")] {
            let what = format!("{name} {set:?} {:?}", options.components);
            let result = try_check(name, set, &options);
            if needs_states(&result) {
                refused += 1;
                continue;
            }
            let outcome = result.unwrap_or_else(|error| panic!("{what}: {error}"));
            outcome.assert_holds();
            assert!(outcome.complete, "{what}");
            let covered = outcome.statistics.covered_traces;
            assert_eq!(covered, plain.statistics.runs.map(u128::from), "{what}");
            assert_eq!(outcome.witnesses.len(), plain.witnesses.len(), "{what}");
            compared += 1;
        }
    }
    // Nothing of it is lost by and by.
    let expected = if OPTIMISED { (200, 12) } else { (136, 8) };
    assert_eq!((compared, refused), expected);
}

/// Messages within a component are nobody else's business, whichever nodes it has.
#[test]
fn any_two_nodes_may_be_one_component() {
    let systems: [(&str, Set<'_>, usize); 8] = [
        ("accumulator", &[("replicas", "3"), ("numbers", "3")], 4),
        ("chain", &[("nodes", "4")], 4),
        ("overlay", &[("nodes", "4"), ("moves", "2")], 4),
        ("paxos-register", &[("clients", "1")], 4),
        ("paxos-roles", &[("acceptors", "2")], 5),
        ("register", &[("bases", "2")], 4),
        ("two-phase-commit", &[], 4),
        ("zab", &[("leaders", "1")], 4),
    ];
    for (name, set, nodes) in systems {
        let plain = check(name, set, &by(Engine::Dpor)).statistics.runs;
        for (one, other) in (0..nodes).flat_map(|other| (0..other).map(move |one| (one, other))) {
            for stateful in [false, true] {
                let components = Components::new(vec![vec![one, other]]).unwrap();
                let outcome = check(name, set, &Options { components, ..dir(stateful) });
                let what = format!("{name} {set:?}, {one} and {other}, stateful {stateful}");
                outcome.assert_holds();
                assert!(outcome.complete, "{what}");
                let covered = outcome.statistics.covered_traces;
                assert_eq!(covered, plain.map(u128::from).filter(|_| !stateful), "{what}");
            }
        }
    }
}

/// Components may consist of components, to any depth, whichever nodes they have.
#[test]
fn components_may_be_deep_in_each_other() {
    let systems: [(&str, Set<'_>); 6] = [
        ("accumulator", &[("replicas", "3"), ("numbers", "3")]),
        ("chain", &[("nodes", "4")]),
        ("overlay", &[("nodes", "4"), ("moves", "1")]),
        ("paxos-register", &[("clients", "1")]),
        ("register", &[("bases", "2")]),
        ("two-phase-commit", &[]),
    ];
    for (name, set) in systems {
        let plain = check(name, set, &by(Engine::Dpor));
        for components in [
            "(0/1)/(2/3)",
            "(0/2)/(1/3)",
            "(0/1/2)/3",
            "((0/1)/2)/3",
            "((3/1)/0)/2",
            "(((0/1)/2)/3)",
            "((0,2/1)/3)",
            "((1/3)/(0/2))",
        ] {
            let what = format!("{name} {set:?}, {components}");
            let outcome = check(name, set, &divided(components));
            outcome.assert_holds();
            assert!(outcome.complete, "{what}");
            let covered = outcome.statistics.covered_traces;
            assert_eq!(covered, plain.statistics.runs.map(u128::from), "{what}");
            assert_eq!(outcome.witnesses.len(), plain.witnesses.len(), "{what}");
        }
    }
    // What was put together within one trace of the rest is used in another.
    let set = [("rms", if OPTIMISED { "5" } else { "4" })];
    let outcome = check("two-phase-commit", &set, &divided("((1/2)/(3/4))/0"));
    outcome.assert_holds();
    assert_eq!(outcome.statistics.covered_traces, Some(if OPTIMISED { 2_328 } else { 417 }));
}

/// What properties read of a system, by an engine that explores it wholly.
fn reads(name: &str, set: Set<'_>, options: &Options) -> BTreeSet<(String, String)> {
    let all = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = Arc::clone(&all);
    let system = find(name).unwrap().build(set).unwrap();
    let watched = system.watched(Arc::new(move |property: &str, reads: &dyn Debug| {
        seen.lock().unwrap().insert((property.to_owned(), format!("{reads:?}")));
    }));
    let outcome = watched.unwrap().check_with(options).unwrap();
    assert!(outcome.complete, "{name} {set:?} {}", outcome.engine);
    std::mem::take(&mut *all.lock().unwrap())
}

/// Properties read the same, whoever explores: each combination of views that can be reached, and no other.
#[test]
fn the_views_that_are_reached_are_those_of_engine_global() {
    let mut compared = 0;
    for (name, set) in SYSTEMS {
        let bounded = Options { max_runs: Some(MOST_TRACES), ..by(Engine::Dpor) };
        if !check(name, set, &bounded).complete {
            continue;
        }
        let expected = reads(name, set, &by(Engine::Global));
        assert!(!expected.is_empty());
        let without_covered = Options { antichains: true, ..dir(true) };
        let traces = [dir(false), two_as_one(false), divided("(0/1)")];
        for options in traces.into_iter().chain([dir(true), two_as_one(true), without_covered]) {
            let what = format!("{name} {set:?} {:?} {}", options.components, options.stateful);
            assert!(reads(name, set, &options) == expected, "{what}");
            compared += 1;
        }
    }
    assert_eq!(compared, if OPTIMISED { 318 } else { 216 });
}

#[test]
fn with_states_there_are_no_more_points_than_global_states() {
    for (name, set) in SYSTEMS {
        let all = check(name, set, &by(Engine::Global));
        let without_covered = Options { antichains: true, ..dir(true) };
        for options in [dir(true), two_as_one(true), without_covered] {
            let outcome = check(name, set, &options);
            let what = format!("{name} {set:?} {:?} {}", options.components, options.antichains);
            outcome.assert_holds();
            assert!(outcome.complete, "{what}");
            assert_eq!(outcome.witnesses.len(), all.witnesses.len(), "{what}");
            let (points, states) = (points(&outcome), points(&all));
            assert!(10 * points <= 11 * states, "{what}: {points} points, {states} states");
        }
    }
}

#[test]
fn with_states_the_accumulator_has_hundreds_of_times_fewer_points() {
    let set = [("replicas", "4"), ("numbers", "6")];
    let [states, points] = [by(Engine::Global), dir(true)]
        .map(|options| points(&check("accumulator", &set, &options)));
    assert!(500 * points <= states, "{points} points, {states} states");
}

/// Finds every bug that is not among these; how many there are.
fn finds_bugs(options: &Options, but: &[(&str, &str)]) -> usize {
    let mut found = 0;
    for entry in entries().iter().filter(|entry| !entry.is_of_threads()) {
        for bug in entry.bugs.iter().filter(|bug| !but.contains(&(entry.name, bug.name))) {
            let set = [("bug", bug.name)];
            let outcome = check(entry.name, &set, options);
            assert_eq!(outcome.verdict, Verdict::Violated, "{} {}", entry.name, bug.name);
            let violation = outcome.violation.unwrap();
            assert!(matches!(violation.cause, Cause::Always | Cause::Stuck), "{violation}");
            let known = check(entry.name, &set, &by(Engine::Global)).violation.unwrap();
            assert_eq!(violation.property, known.property, "{} {}", entry.name, bug.name);
            found += 1;
        }
    }
    found
}

/// Bugs with faults where terminal states matter.
const FAULTS: &[(&str, &str)] =
    &[("lock", "lost-release"), ("lock", "no-fencing"), ("lock", "unpersisted-token")];

/// Bugs of systems with too many skeletons.
const DEEP: &[(&str, &str)] = &[
    ("one-paxos", "empty-change"),
    ("one-paxos", "hasty-change"),
    ("pastry", "few-leaves"),
    ("paxos", "last-promise"),
    ("paxos-roles", "last-accepted"),
    ("primary-backup", "missed-start"),
    ("zab", "any-log"),
];

/// Bugs of systems with so many that it takes optimisation.
const DEAR: &[(&str, &str)] = &[
    ("one-paxos", "acceptor-init"),
    ("pam", "forgetful-recovery"),
    ("pam", "first-promise"),
    ("primary-backup", "lost-commit"),
    ("primary-backup", "split-brain"),
];

#[test]
fn every_bug_is_found_trace_by_trace_that_does_not_lie_too_deep() {
    let dear = if OPTIMISED { &[] } else { DEAR };
    let found = finds_bugs(&dir(false), &[FAULTS, DEEP, dear].concat());
    assert_eq!(found, if OPTIMISED { 24 } else { 19 });
}

#[test]
fn the_same_bugs_are_found_with_components_found_out_or_in_each_other() {
    for components in ["auto", "(0/1)"] {
        let found = finds_bugs(&divided(components), &[FAULTS, DEEP, DEAR].concat());
        assert_eq!(found, 19, "{components}");
    }
}

#[test]
fn every_bug_is_found_with_states() {
    // Too many states for what a point costs.
    let found = finds_bugs(&dir(true), &[("paxos-roles", "last-accepted")]);
    assert_eq!(found, 33);
}

#[test]
fn with_faults_states_are_needed_where_terminal_states_matter() {
    for (name, bug) in FAULTS {
        assert!(needs_states(&try_check(name, &[("bug", bug)], &dir(false))), "{name} {bug}");
    }
}
