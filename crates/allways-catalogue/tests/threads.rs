//! The programs of threads in the catalogue through every way of exploring them: reductions, bounds on preemptions, random runs; what is
//! refused; runs that are carried out again and made smaller.

use allways::{
    Bound, Cause, Checkable, Engine, MinimiseOptions, Options, Outcome, Por, Reduction, SavedRun,
    Schedule, Search, Trouble, Verdict,
};
use allways_catalogue::{Entry, entries, find};
use allways_threads::sync::{Arc, Mutex};
use allways_threads::{Program, rand, thread};

/// The programs of threads.
fn programs() -> impl Iterator<Item = &'static Entry> {
    entries().iter().filter(|entry| entry.is_of_threads())
}

fn check(name: &str, set: &[(&str, &str)], options: &Options) -> Outcome {
    let system = find(name).unwrap().build(set).unwrap();
    system.check_with(options).unwrap_or_else(|error| panic!("{name} {set:?}: {error}"))
}

/// What goes wrong with each bug.
const BUGS: [(&str, &str, Cause); 16] = [
    ("accumulator-threads", "forward-sum", Cause::Panic),
    ("accumulator-threads", "lost-number", Cause::Panic),
    ("alphabet", "shared-answer", Cause::Panic),
    ("alphabet", "one-read", Cause::Panic),
    ("bounded-buffer", "if-instead-of-while", Cause::Panic),
    ("bounded-buffer", "one-condition", Cause::Trouble(Trouble::Deadlock)),
    ("dining", "same-order", Cause::Trouble(Trouble::Deadlock)),
    ("filesystem", "unlocked-between", Cause::Panic),
    ("indexer", "two-steps", Cause::Panic),
    ("kv-server", "early-answer", Cause::Panic),
    ("kv-server", "passed-on-later", Cause::Panic),
    ("multi-paxos", "first-promise", Cause::Panic),
    ("multi-paxos", "two-locks", Cause::Panic),
    ("replicated-kv", "own-vote", Cause::Panic),
    ("replicated-kv", "shipped-later", Cause::Panic),
    ("replicated-kv", "two-steps", Cause::Panic),
];

/// Whether there are few enough threads for a bound on preemptions: without any, they may still run in all orders.
fn has_few_threads(name: &str) -> bool {
    ["bounded-buffer", "dining"].contains(&name)
}

#[test]
fn every_bug_is_known_here() {
    let listed = programs().flat_map(|entry| entry.bugs.iter().map(|bug| (entry.name, bug.name)));
    assert!(listed.eq(BUGS.iter().map(|(name, bug, _)| (*name, *bug))));
}

/// Ways to explore: what each is called, and its options.
fn ways() -> Vec<(&'static str, Options)> {
    let walk = |schedule| Options { engine: Engine::Walk, schedule, ..Options::default() };
    vec![
        ("auto", Options::default()),
        ("dpor optimal", Options { engine: Engine::Dpor, ..Options::default() }),
        ("dpor source", Options { reduction: Reduction::Source, ..Options::default() }),
        // As many as the bugs take, and no more.
        ("1 preemption", Options { preemptions: Some(1), ..Options::default() }),
        ("walk", walk(Schedule::Random)),
        ("walk, by priorities", walk(Schedule::Pct(3))),
    ]
}

#[test]
fn every_way_finds_every_bug() {
    for (name, bug, cause) in &BUGS {
        let fits = |options: &Options| options.preemptions.is_none() || has_few_threads(name);
        for (way, options) in ways().into_iter().filter(|(_, options)| fits(options)) {
            let options = Options { minimise: false, runs: 20_000, ..options };
            let outcome = check(name, &[("bug", bug)], &options);
            assert_eq!(outcome.verdict, Verdict::Violated, "{name} {bug}, {way}");
            assert_eq!(outcome.violation.unwrap().cause, *cause, "{name} {bug}, {way}");
        }
    }
}

#[test]
fn a_bound_on_preemptions_keeps_what_it_holds_back() {
    for (name, bug, _) in BUGS.iter().filter(|(name, ..)| has_few_threads(name)) {
        let options = Options { preemptions: Some(0), ..Options::default() };
        let outcome = check(name, &[("bug", bug)], &options);
        // Who waits for a condition stops of its own accord.
        let expected = match *name {
            "bounded-buffer" => Verdict::Violated,
            _ => Verdict::Inconclusive,
        };
        assert_eq!(outcome.verdict, expected, "{name} {bug}");
        assert_eq!(outcome.bounded_by, Some(Bound::Preemptions), "{name} {bug}");
    }
}

#[test]
fn every_default_holds() {
    for entry in programs() {
        let optimal = check(entry.name, &[], &Options::default());
        assert!(optimal.assert_holds().complete, "{}", entry.name);
        assert_eq!(optimal.engine, "dpor optimal");
        assert_eq!((optimal.warnings.len(), optimal.coverage), (0, None));
        let source = Options { reduction: Reduction::Source, ..Options::default() };
        let source = check(entry.name, &[], &source);
        assert!(source.assert_holds().complete, "{}", entry.name);
        assert!(source.statistics.runs >= optimal.statistics.runs);
        let walk = Options { engine: Engine::Walk, runs: 50, ..Options::default() };
        let walk = check(entry.name, &[], &walk);
        assert_eq!(walk.assert_not_violated().bounded_by, Some(Bound::Runs));
    }
}

/// Without a reduction, all orders of all events: only for the smallest.
#[test]
fn all_orders_of_all_events_say_the_same() {
    let none = Options { reduction: Reduction::None, ..Options::default() };
    let small = [("philosophers", "3")];
    let outcome = check("dining", &small, &none);
    assert!(outcome.assert_holds().complete);
    assert!(outcome.statistics.runs > check("dining", &small, &Options::default()).statistics.runs);
    let outcome = check("dining", &[("bug", "same-order")], &none);
    assert_eq!(outcome.violation.unwrap().cause, Cause::Trouble(Trouble::Deadlock));
}

fn refused(system: &dyn Checkable, options: &Options) -> String {
    system.check_with(options).unwrap_err().to_string()
}

#[test]
fn what_makes_no_sense_for_threads_is_refused_in_a_sentence() {
    let d = Options::default;
    let program = find("dining").unwrap().build(&[]).unwrap();
    for (options, what) in [
        (Options { symmetry: true, ..d() }, "symmetry"),
        (Options { exact: true, ..d() }, "whole states (exact)"),
        (Options { max_states: Some(1), ..d() }, "a bound on states (max states)"),
        (Options { por: Some(Por::Views), ..d() }, "a partial order reduction of states (por)"),
        (Options { verify_aux: true, ..d() }, "looking at auxiliary state (verify aux)"),
        (Options { search: Search::Dfs, ..d() }, "an order of search (search)"),
    ] {
        let expected = format!("threads are explored run by run: {what} cannot be had with them");
        assert_eq!(refused(&*program, &options), expected);
    }
    for engine in [Engine::Global, Engine::Lmc] {
        let expected = "threads are explored by engine dpor, dir or walk: there are no states to be remembered";
        assert_eq!(refused(&*program, &Options { engine, ..d() }), expected);
    }
    for reduction in [Reduction::Naive, Reduction::Force, Reduction::Ds, Reduction::Cached] {
        let expected = "threads are explored with reduction none, source or optimal";
        assert_eq!(refused(&*program, &Options { reduction, ..d() }), expected);
    }
    let schedule = Schedule::Pct(3);
    let expected = "a schedule by priorities (pct) is for random runs: use engine walk";
    assert_eq!(refused(&*program, &Options { schedule, ..d() }), expected);
    let options = Options { engine: Engine::Walk, preemptions: Some(1), ..d() };
    let expected = "a bound on preemptions is for engine dpor, not for random runs";
    assert_eq!(refused(&*program, &options), expected);
}

#[test]
fn what_is_for_threads_is_refused_for_nodes() {
    let system = find("tree").unwrap().build(&[]).unwrap();
    for engine in [Engine::Auto, Engine::Global, Engine::Dpor, Engine::Lmc, Engine::Walk] {
        let options = Options { engine, preemptions: Some(1), ..Options::default() };
        let expected =
            "a bound on preemptions is for programs of threads; this is a system of nodes";
        assert_eq!(refused(&*system, &options), expected);
        let options = Options { engine, schedule: Schedule::Pct(2), ..Options::default() };
        let expected =
            "a schedule by priorities (pct) is for programs of threads; this is a system of nodes";
        assert_eq!(refused(&*system, &options), expected);
    }
}

#[test]
fn a_random_run_becomes_smaller_and_still_violates() {
    for (name, bug, cause) in &BUGS {
        let entry = find(name).unwrap();
        let parameters = entry.parameters(&[("bug", bug)]).unwrap();
        let system = entry.build_with(&parameters).unwrap();
        let (engine, runs) = (Engine::Walk, 20_000);
        let options = Options { engine, runs, minimise: false, ..Options::default() };
        let mut outcome = system.check_with(&options).unwrap();
        let found = outcome.violation.clone().unwrap();
        let max_candidates = if has_few_threads(name) { u64::MAX } else { 100 };
        let minimise = MinimiseOptions { max_candidates, ..MinimiseOptions::default() };
        let (smaller, how) = system.minimise(&found, &minimise).unwrap();
        let [before, after] = how.preemptions.unwrap();
        assert!((after, how.after) <= (before, how.before), "{name} {bug}: {how}");
        assert!(after <= 1 || !has_few_threads(name), "{name} {bug}: {how}");
        outcome.violation = Some(smaller);
        let saved = SavedRun::new(*name, parameters.iter(), &outcome).unwrap();
        let saved = SavedRun::from_json(&saved.to_json()).unwrap();
        let replayed = system.replay(&saved).unwrap();
        assert!(replayed.still_violates(), "{name} {bug}: {replayed}");
        assert_eq!(saved.violation.cause, *cause, "{name} {bug}");
        let story = system.violation_story(&saved.violation).unwrap();
        assert_eq!(story.steps.len(), saved.violation.run.events.len(), "{name} {bug}");
        // Without the bug, it does not.
        let correct = entry.build(entry.bugs.iter().find(|b| b.name == *bug).unwrap().defaults);
        let replayed = correct.unwrap().replay(&saved).unwrap();
        assert!(!replayed.still_violates(), "{name} {bug}: {replayed}");
    }
}

#[test]
fn who_panics_is_who_is_said_to() {
    // The main thread finds out what is wrong, after all others have ended.
    let outcome = check("filesystem", &[("bug", "unlocked-between")], &Options::default());
    let violation = outcome.violation.unwrap();
    let said: Vec<&String> = violation.reads.iter().filter(|read| !read.is_empty()).collect();
    assert_eq!(said.len(), 1);
    assert!(said[0].starts_with("main panics: block 0 is in two files at "), "{said:?}");
    let story = outcome.story.unwrap();
    assert_eq!(story.ending.unwrap().culprits, [0]);
    assert!(story.steps.iter().all(|step| step.panic.is_none()));
    let outcome = check("bounded-buffer", &[("bug", "if-instead-of-while")], &Options::default());
    let story = outcome.story.unwrap();
    let last = story.steps.last().unwrap();
    assert!(last.panic.is_some() && last.event.what.starts_with("consumer "), "{last:?}");
}

#[test]
fn what_another_process_does_does_not_matter() {
    let stuck = || {
        let locks = Arc::new((Mutex::new(()), Mutex::new(())));
        let others = Arc::clone(&locks);
        let other = thread::spawn(move || {
            let _second = others.1.lock().unwrap();
            let _first = others.0.lock().unwrap();
        });
        let first = locks.0.lock().unwrap();
        let second = locks.1.lock().unwrap();
        drop((first, second));
        other.join().unwrap();
    };
    let busy = || {
        rand::below(2);
    };
    let program = Program::of_processes().process("busy", busy).process("stuck", stuck);
    let options = Options { minimise: false, ..Options::default() };
    let story = program.try_check(&options).unwrap().story.unwrap();
    for step in &story.steps {
        let is_stuck = story.ending.as_ref().unwrap().culprits.contains(&step.event.node.unwrap());
        assert_eq!(step.matters, is_stuck, "{step:?}");
    }
    assert!(story.steps.iter().any(|step| !step.matters));
}
