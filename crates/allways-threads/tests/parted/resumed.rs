//! Checks that go on from a log: a new program each time, so nothing is known but what the log says.

use crate::plan::{Plan, plan};
use crate::{MAX_RUNS, by, cases};
use allways::{Bound, Cause, Engine, Options, Outcome, Trouble, Verdict};
use allways_threads::sync::{Arc, Mutex};
use allways_threads::{Program, rand, thread};
use proptest::prelude::*;
use std::path::PathBuf;

/// A path for a log, which is removed in the end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let place = format!("allways-parted-{}-{name}", std::process::id());
        let place = Place(std::env::temp_dir().join(place));
        let _ = std::fs::remove_file(&place.0);
        place
    }

    fn check(&self, program: &Program, threads: usize) -> Outcome {
        let max_runs = Some(20 * MAX_RUNS);
        let resume = Some(self.0.clone());
        let options = Options { resume, max_runs, threads, ..by(Engine::Dir) };
        program.try_check(&options).unwrap()
    }

    fn read(&self) -> Vec<u8> {
        std::fs::read(&self.0).unwrap()
    }

    fn write(&self, log: &[u8]) {
        std::fs::write(&self.0, log).unwrap();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// What must be the same.
fn lasting(outcome: &Outcome) -> impl PartialEq + std::fmt::Debug + use<> {
    let statistics = &outcome.statistics;
    let violation = outcome.violation.clone();
    let numbers = [statistics.runs, statistics.blocked_runs, statistics.transitions];
    let skeletons = [statistics.global_skeletons, statistics.local_skeletons];
    let holds = outcome.verdict == Verdict::Holds;
    // Where something goes wrong, how much was done before may differ: what was known from the beginning had not to be found out.
    (
        outcome.verdict,
        outcome.complete,
        holds.then_some((numbers, skeletons, statistics.covered_traces, statistics.depth)),
        violation.map(|violation| violation.cause),
    )
}

fn resumes(plan: &Plan, cuts: &[prop::sample::Index]) -> Result<(), TestCaseError> {
    let options = Options { max_runs: Some(20 * MAX_RUNS), ..by(Engine::Dir) };
    let expected = plan.program().try_check(&options).unwrap();
    prop_assume!(expected.bounded_by != Some(Bound::Runs));
    let place = Place::new("generated");
    prop_assert_eq!(lasting(&place.check(&plan.program(), 1)), lasting(&expected));
    let mut log = place.read();
    for (index, cut) in cuts.iter().enumerate() {
        // As if it had been killed at some moment, and then again after it went on.
        log.truncate(cut.index(log.len()));
        place.write(&log);
        let again = place.check(&plan.program(), 1 + index % 3);
        prop_assert_eq!(lasting(&again), lasting(&expected));
        log = place.read();
    }
    let ended = place.check(&plan.program(), 1);
    prop_assert_eq!(lasting(&ended), lasting(&expected));
    if ended.verdict == Verdict::Holds {
        prop_assert_eq!(ended.statistics.resumed_runs, ended.statistics.runs);
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn whatever_is_left_of_a_log(plan in plan(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 3)) {
        resumes(&plan, &cuts)?;
    }
}

/// Two threads that take two mutexes the wrong way round, each if it chooses to: no run in which only one does tells that they are shared.
fn sometimes_both() -> Program {
    Program::new(|| {
        let mutexes = Arc::new([Mutex::new(()), Mutex::new(())]);
        let threads = [0, 1].map(|first| {
            let mutexes = Arc::clone(&mutexes);
            thread::spawn(move || {
                if rand::below(2) == 1 {
                    let _first = mutexes[first].lock().unwrap();
                    let _second = mutexes[1 - first].lock().unwrap();
                }
            })
        });
        let _ = threads.map(|thread| thread.join().unwrap());
    })
}

/// Where the records of a log end, the header first.
fn ends(log: &[u8]) -> Vec<usize> {
    let mut ends = vec![16];
    while let Some(head) = log.get(ends[ends.len() - 1]..).and_then(|rest| rest.first_chunk::<4>())
    {
        ends.push(ends[ends.len() - 1] + 12 + u32::from_le_bytes(*head) as usize);
    }
    ends.remove(0);
    ends
}

#[test]
fn who_touched_what_in_another_process_counts() {
    let deadlock = Some(Cause::Trouble(Trouble::Deadlock));
    let cause = |outcome: Outcome| outcome.violation.map(|violation| violation.cause);
    let place = Place::new("both");
    assert_eq!(cause(place.check(&sometimes_both(), 1)), deadlock);
    let log = place.read();
    let ends = ends(&log);
    let is_task = |pair: &[usize]| log[pair[0] + 12] == 1;
    assert!(ends.windows(2).any(is_task));
    for &end in &ends {
        place.write(&log[..end]);
        assert_eq!(cause(place.check(&sometimes_both(), 1)), deadlock, "{end} of {}", log.len());
        // The same program, which knows more than the log.
        place.write(&log[..end]);
        let program = sometimes_both();
        assert!(program.check().violation.is_some());
        assert_eq!(cause(place.check(&program, 1)), deadlock);
    }
}

/// A loop that only reads is held where it was held in another process.
#[test]
fn rounds_are_as_they_were() {
    use allways_threads::net::UdpSocket;
    use allways_threads::sync::atomic::{AtomicBool, Ordering::SeqCst};
    let make = || {
        let waits = |name: &'static str, other: &'static str| {
            move || {
                let socket = UdpSocket::bind(name).unwrap();
                let flag = Arc::new(AtomicBool::new(false));
                let setter = thread::spawn({
                    let flag = Arc::clone(&flag);
                    move || flag.store(true, SeqCst)
                });
                while !flag.load(SeqCst) {
                    thread::yield_now();
                }
                socket.send_to(b"x", other).unwrap();
                socket.recv(&mut [0]).unwrap();
                setter.join().unwrap();
            }
        };
        let program = Program::of_processes();
        let program = program.process("a", waits("a:1", "b:1")).process("b", waits("b:1", "a:1"));
        program.binds_first()
    };
    let place = Place::new("rounds");
    let expected = place.check(&make(), 1);
    assert_eq!((expected.verdict, expected.complete), (Verdict::Holds, true));
    let plain = make().try_check(&by(Engine::Dpor)).unwrap();
    assert_eq!(expected.statistics.covered_traces, plain.statistics.runs.map(u128::from));
    let log = place.read();
    for &end in &ends(&log) {
        place.write(&log[..end]);
        assert_eq!(lasting(&place.check(&make(), 2)), lasting(&expected));
    }
}
