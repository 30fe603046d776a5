//! Bounds on preemptions, random runs, replay and minimising.

use allways::{Bound, Cause, Engine, Options, SavedRun, Schedule, Trouble, Verdict};
use allways_threads::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use allways_threads::sync::{Arc, Mutex};
use allways_threads::{Program, thread};

/// Threads that increment a counter in two steps, a number of times: one preemption is enough to lose an increment.
fn counter(threads: usize, times: usize) -> Program {
    Program::new(move || {
        let counter = Arc::new(AtomicUsize::new(0));
        let spawn = |_| {
            let counter = Arc::clone(&counter);
            thread::spawn(move || {
                for _ in 0..times {
                    let before = counter.load(SeqCst);
                    counter.store(before + 1, SeqCst);
                }
            })
        };
        let all: Vec<_> = (0..threads).map(spawn).collect();
        all.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(counter.load(SeqCst), threads * times, "an increment is lost");
    })
}

/// Philosophers, of whom all take the left fork first, or all but one.
fn philosophers(n: usize, same_order: bool) -> Program {
    Program::new(move || {
        let forks: Arc<Vec<Mutex<()>>> = Arc::new((0..n).map(|_| Mutex::new(())).collect());
        let spawn = |id: usize| {
            let forks = Arc::clone(&forks);
            thread::spawn(move || {
                let (mut first, mut second) = (id, (id + 1) % forks.len());
                if !same_order && second < first {
                    (first, second) = (second, first);
                }
                let _first = forks[first].lock().unwrap();
                let _second = forks[second].lock().unwrap();
            })
        };
        let all: Vec<_> = (0..n).map(spawn).collect();
        all.into_iter().for_each(|thread| thread.join().unwrap());
    })
}

fn bounded(program: &Program, preemptions: u32) -> allways::Outcome {
    let options = Options { preemptions: Some(preemptions), ..Options::default() };
    program.try_check(&options).unwrap()
}

#[test]
fn mistakes_that_need_preemptions_need_them() {
    let program = counter(2, 2);
    let outcome = bounded(&program, 0);
    assert_eq!(
        (outcome.verdict, outcome.bounded_by),
        (Verdict::Inconclusive, Some(Bound::Preemptions))
    );
    assert_eq!(bounded(&program, 1).verdict, Verdict::Violated);
    // The first philosopher is stopped, and the others stop of their own accord, from the last on.
    for n in 2..5 {
        let program = philosophers(n, true);
        assert_eq!(bounded(&program, 0).verdict, Verdict::Inconclusive);
        let outcome = bounded(&program, 1);
        let cause = outcome.violation.unwrap().cause;
        assert_eq!(cause, Cause::Trouble(Trouble::Deadlock));
    }
}

#[test]
fn a_bound_that_holds_nothing_back_is_none() {
    let outcome = bounded(&philosophers(3, false), 100);
    assert!(outcome.assert_holds().complete);
}

#[test]
fn random_runs_find_what_is_likely() {
    for schedule in [Schedule::Random, Schedule::Pct(2)] {
        for threads in [1, 2] {
            let options = Options {
                engine: Engine::Walk,
                schedule,
                threads,
                runs: 1_000,
                minimise: false,
                ..Options::default()
            };
            let program = philosophers(3, true);
            let outcome = program.try_check(&options).unwrap();
            assert_eq!(outcome.verdict, Verdict::Violated, "{schedule:?}");
            // The same run is found whoever makes it.
            let again = program.try_check(&Options { threads: 3 - threads, ..options }).unwrap();
            assert_eq!(outcome.violation, again.violation);
        }
    }
    let options = Options { engine: Engine::Walk, runs: 100, ..Options::default() };
    let outcome = philosophers(3, false).try_check(&options).unwrap();
    assert_eq!((outcome.verdict, outcome.bounded_by), (Verdict::Inconclusive, Some(Bound::Runs)));
    assert_eq!(outcome.statistics.runs, Some(100));
}

#[test]
fn a_run_is_made_smaller_and_saved() {
    let options = Options { engine: Engine::Walk, seed: 3, ..Options::default() };
    let program = counter(3, 3);
    let outcome = program.try_check(&options).unwrap();
    let minimised = outcome.minimised.as_ref().unwrap();
    assert!(minimised.after <= minimised.before, "{minimised}");
    // One switch too early, and back.
    let violation = outcome.violation.as_ref().unwrap();
    assert!(minimised.after.switches <= 4, "{minimised}\n{violation:?}");
    let saved = SavedRun::new("counter", [("threads", "3")], &outcome).unwrap();
    let saved = SavedRun::from_json(&saved.to_json()).unwrap();
    assert!(program.replay(&saved).unwrap().still_violates());
    let text = counter(1, 1).replay(&saved).unwrap().to_string();
    assert!(text.contains("no longer"), "{text}");
}
