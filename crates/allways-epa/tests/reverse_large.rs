//! How long the check takes for long traces. Ignored, because only a person can judge what it prints:
//! `cargo test --release -p allways-epa --test reverse_large -- --ignored --nocapture`.

mod reverse_support;

use allways_epa::reverse::{Options, Reversibility, check};
use allways_epa::step::{Action, Event, Place};
use reverse_support::Trace;
use std::time::Instant;

/// Says what the check found, and how long it took.
fn timed(name: &str, trace: &Trace) -> Reversibility {
    let begin = Instant::now();
    let checked = check(&trace.steps, &Options::default()).unwrap();
    let elapsed = begin.elapsed();
    let found = match &checked {
        Reversibility::Possible(witness) => format!("{} and {}", witness.first, witness.second),
        never => format!("{never:?}"),
    };
    println!("{name}: {} steps in {elapsed:.2?}: {found}", trace.steps.len());
    checked
}

/// So many rounds: workers are created, map parts of an array, take locks for what only they touch, and are joined; then the
/// first thread reduces. In the end there may be something that two of them do to the same memory.
fn map_reduce(rounds: u32, parts: u64, workers: u32, lock_each: u64, racy: bool) -> Trace {
    let mut trace = Trace::default();
    let element = |object, index: u64| Place { object, offset: index * 8, bytes: 8 };
    trace.begin(0);
    for round in 0..rounds {
        for index in 0..parts {
            trace.add(0, Action::Write(element(0, index)));
        }
        let first = 1 + round * workers % 4000;
        let threads: Vec<u32> = (0..workers).map(|worker| first + worker).collect();
        threads.iter().for_each(|&thread| trace.create(0, thread));
        // Threads take turns, a few elements each.
        let share = parts / u64::from(workers);
        for index in 0..share {
            for (worker, &thread) in threads.iter().enumerate() {
                let index = index + worker as u64 * share;
                trace.add(thread, Action::Read(element(0, index)));
                if index.is_multiple_of(lock_each) {
                    trace.lock(thread, 0x100);
                    trace.read(thread, 1_000_000 + thread);
                    trace.write(thread, 1_000_000 + thread);
                    trace.unlock(thread, 0x100);
                }
                trace.add(thread, Action::Write(element(1, index)));
            }
        }
        if racy && round + 1 == rounds {
            for &thread in &threads[..2] {
                trace.lock(thread, 0x100);
                trace.write(thread, 7);
                trace.unlock(thread, 0x100);
            }
        }
        for &thread in &threads {
            trace.join(0, thread);
        }
        for index in 0..parts {
            trace.add(0, Action::Read(element(1, index)));
        }
    }
    trace
}

#[test]
#[ignore = "prints times"]
fn map_reduce_of_millions_of_steps() {
    for lock_each in [1000, 10, 1] {
        let parts = if lock_each == 1 { 600_000 } else { 1_200_000 };
        for racy in [false, true] {
            let trace = map_reduce(1, parts, 8, lock_each, racy);
            let name = format!("map-reduce, a lock each {lock_each} elements, racy: {racy}");
            let checked = timed(&name, &trace);
            assert_eq!(matches!(checked, Reversibility::Possible(_)), racy);
        }
    }
}

#[test]
#[ignore = "prints times"]
fn hundreds_of_threads() {
    let trace = map_reduce(20, 50_000, 64, 10, false);
    assert!(matches!(timed("64 workers at a time", &trace), Reversibility::Never { .. }));
}

/// A hand-over by a channel for each item, and one back.
#[test]
#[ignore = "prints times"]
fn hand_overs() {
    let mut trace = Trace::default();
    trace.begin(0);
    trace.create(0, 1);
    trace.create(0, 2);
    let hand_over = |trace: &mut Trace, from, to, channel| {
        trace.write(from, 1);
        trace.event(from, Event::Send { stamp: 0, channel });
        trace.event(to, Event::Receive { stamp: 0, channel });
        trace.read(to, 1);
    };
    for _ in 0..500_000 {
        hand_over(&mut trace, 1, 2, 0x200);
        hand_over(&mut trace, 2, 1, 0x300);
    }
    assert!(matches!(timed("hand-overs", &trace), Reversibility::Never { .. }));
}

/// Two sections far from each other, and many others of the same lock between them.
#[test]
#[ignore = "prints times"]
fn far_from_each_other() {
    let mut trace = Trace::default();
    trace.begin(0);
    (1..9).for_each(|thread| trace.create(0, thread));
    let section = |trace: &mut Trace, thread, object| {
        trace.lock(thread, 0x100);
        trace.write(thread, object);
        trace.unlock(thread, 0x100);
    };
    section(&mut trace, 1, 0);
    for at in 0..1_000_000 {
        let thread = 1 + at % 8;
        section(&mut trace, thread, 10 + thread);
    }
    section(&mut trace, 8, 0);
    assert!(matches!(timed("far from each other", &trace), Reversibility::Possible(_)));
}
