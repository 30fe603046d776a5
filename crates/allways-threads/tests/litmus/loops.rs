//! Loops that read over and over, and keep elsewhere than on their stack what tells their rounds apart.

use super::explore;
use allways::{Reduction, Verdict};
use allways_threads::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use allways_threads::sync::{Arc, mpsc};
use allways_threads::thread;
use std::collections::BTreeSet;

fn verdict(main: impl Fn() + Send + Sync + 'static) -> Verdict {
    let outcome = explore(main, Reduction::Optimal);
    assert!(outcome.complete || outcome.violation.is_some(), "{:?}", outcome.bounded_by);
    outcome.verdict
}

#[test]
fn one_that_counts_in_a_box() {
    let main = |most: u32| {
        move || {
            let flag = Arc::new(AtomicBool::new(false));
            let other = Arc::clone(&flag);
            let thread = thread::spawn(move || other.store(true, SeqCst));
            let mut tries = Box::new(0);
            while !flag.load(SeqCst) {
                *tries += 1;
                assert!(*tries < most, "it gave up");
            }
            thread.join().unwrap();
        }
    };
    assert_eq!([2, 4, 50].map(|most| verdict(main(most))), [Verdict::Violated; 3]);
}

#[test]
fn one_that_counts_on_the_stack_of_its_parent() {
    let main = || {
        let flag = AtomicBool::new(false);
        let mut tries = 0;
        thread::scope(|scope| {
            scope.spawn(|| {
                while !flag.load(SeqCst) {
                    tries += 1;
                    assert!(tries < 4, "it gave up");
                }
            });
            flag.store(true, SeqCst);
        });
    };
    assert_eq!(verdict(main), Verdict::Violated);
}

#[test]
fn one_whose_rounds_are_an_iterator_in_a_box() {
    let main = || {
        let flag = AtomicBool::new(false);
        let rounds: Box<dyn Iterator<Item = u32>> = std::hint::black_box(Box::new(0..6));
        for _ in rounds {
            if flag.load(SeqCst) {
                break;
            }
        }
    };
    assert_eq!(verdict(main), Verdict::Holds);
}

#[test]
fn one_that_takes_snapshots() {
    let main = || {
        let flags: Arc<Vec<_>> = Arc::new((0..3).map(|_| AtomicBool::new(false)).collect());
        let other = Arc::clone(&flags);
        let thread = thread::spawn(move || other.iter().for_each(|flag| flag.store(true, SeqCst)));
        loop {
            let all: Vec<bool> = flags.iter().map(|flag| flag.load(SeqCst)).collect();
            if all.iter().all(|flag| *flag) {
                break;
            }
        }
        thread.join().unwrap();
    };
    assert_eq!(verdict(main), Verdict::Holds);
}

#[test]
fn one_that_goes_on_until_it_reads_the_same_twice() {
    let main = || {
        let pair = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let other = Arc::clone(&pair);
        let thread = thread::spawn(move || other.iter().for_each(|number| number.store(1, SeqCst)));
        let mut last = Box::new([9, 9]);
        loop {
            let now = [0, 1].map(|index: usize| pair[index].load(SeqCst));
            if now == *last {
                break;
            }
            *last = now;
        }
        thread.join().unwrap();
    };
    assert_eq!(verdict(main), Verdict::Holds);
}

#[test]
fn one_that_gives_up_after_a_while() {
    struct Worker {
        receiver: mpsc::Receiver<u32>,
        idle: u32,
    }
    let seen = Arc::<std::sync::Mutex<BTreeSet<Option<u32>>>>::default();
    let into = Arc::clone(&seen);
    let main = move || {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || sender.send(1).is_ok());
        let mut workers = vec![Worker { receiver, idle: 0 }];
        let got = 'rounds: loop {
            for worker in &mut workers {
                match worker.receiver.try_recv() {
                    Ok(value) => break 'rounds Some(value),
                    Err(_) => worker.idle += 1,
                }
                if worker.idle == 4 {
                    break 'rounds None;
                }
            }
        };
        thread.join().unwrap();
        into.lock().unwrap().insert(got);
    };
    assert_eq!(verdict(main), Verdict::Holds);
    assert_eq!(*seen.lock().unwrap(), BTreeSet::from([None, Some(1)]));
}

/// Counts in the heap; whether that was the fourth time. What it has on its stack is gone when it returns.
#[inline(never)]
fn is_fourth(tries: &mut u32) -> bool {
    *tries += 1;
    tries.is_multiple_of(4)
}

#[test]
fn one_that_is_where_it_was_most_of_the_time() {
    let program = allways_threads::Program::new(|| {
        let flag = AtomicBool::new(false);
        let (mut tries, mut is_odd) = (Box::new(0), false);
        while !flag.load(SeqCst) {
            // Its stack changes in every fourth round.
            is_odd ^= is_fourth(&mut tries);
        }
        assert!(!is_odd);
    });
    let options = allways::Options { max_depth: Some(40), ..allways::Options::default() };
    let outcome = program.try_check(&options).unwrap();
    assert_eq!(outcome.bounded_by, Some(allways::Bound::Depth), "{:?}", outcome.violation);
}
