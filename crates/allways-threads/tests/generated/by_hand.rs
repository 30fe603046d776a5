//! Programs that were written to be told wrong.

use crate::compare;
use crate::plan::{Body, Op, Plan};
use crate::run::{Shared, options};
use allways::{Engine, Options, Outcome, Reduction, Schedule, Verdict};
use allways_threads::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering::SeqCst};
use allways_threads::sync::mpsc::{self, TrySendError};
use allways_threads::sync::{Arc, Condvar, LazyLock, Mutex, OnceLock, RwLock};
use allways_threads::time::{Duration, Instant};
use allways_threads::{Program, thread};
use std::collections::BTreeSet;

const REDUCTIONS: [Reduction; 3] = [Reduction::None, Reduction::Source, Reduction::Optimal];

type Results = BTreeSet<Vec<u64>>;

/// What a program, which is right, returns in all its runs, whichever way they are found.
fn results(main: impl Fn() -> Vec<u64> + Send + Sync + Clone + 'static) -> Results {
    let with = |options: &Options| {
        let found = Shared::<Results>::default();
        let (main, into) = (main.clone(), Shared::clone(&found));
        let program = Program::new(move || {
            let result = main();
            into.lock().unwrap().insert(result);
        });
        let outcome = program.try_check(options).unwrap();
        outcome.assert_holds();
        assert!(outcome.complete, "{:?}", outcome.bounded_by);
        let found = std::mem::take(&mut *found.lock().unwrap());
        (found, outcome)
    };
    let [none, source, (optimal, outcome)] =
        REDUCTIONS.map(|reduction| with(&options(reduction, 100_000)));
    let bounded = with(&Options { preemptions: Some(100), ..options(Reduction::Optimal, 100_000) });
    assert_eq!(outcome.statistics.blocked_runs, Some(0));
    assert_eq!(optimal, none.0);
    assert_eq!(source.0, none.0);
    assert_eq!(bounded.0, none.0);
    none.0
}

/// What each reduction, bounded search and random runs say of a program that is wrong.
fn violated(main: impl Fn() + Send + Sync + 'static) -> Vec<Outcome> {
    let program = Program::new(main);
    let mut all: Vec<Options> =
        REDUCTIONS.iter().map(|&reduction| options(reduction, 100_000)).collect();
    all.push(Options { preemptions: Some(100), ..options(Reduction::Optimal, 100_000) });
    for seed in 0..5 {
        let (engine, schedule) = (Engine::Walk, Schedule::default());
        all.push(Options { engine, schedule, seed, runs: 1_000, ..Options::default() });
    }
    all.push(Options { minimise: true, ..options(Reduction::Optimal, 100_000) });
    let check = |options: &Options| {
        let outcome = program.try_check(options).unwrap();
        assert_eq!(outcome.verdict, Verdict::Violated, "{}", outcome.engine);
        outcome
    };
    all.iter().map(check).collect()
}

fn set<const N: usize, const M: usize>(all: [[u64; N]; M]) -> Results {
    all.into_iter().map(Vec::from).collect()
}

#[test]
fn a_violation_where_unlocking_is_a_step() {
    // It is known to be one only from a run in which somebody tries.
    violated(|| {
        let mutex = Arc::new(Mutex::new(()));
        let flag = Arc::new(AtomicU8::new(0));
        let (other, others) = (Arc::clone(&mutex), Arc::clone(&flag));
        let thread = thread::spawn(move || {
            drop(other.lock().unwrap());
            others.store(1, SeqCst);
            drop(other.lock().unwrap());
            others.store(2, SeqCst);
        });
        match flag.load(SeqCst) {
            0 => drop(mutex.try_lock()),
            1 => panic!("seen in between"),
            _ => {}
        }
        thread.join().unwrap();
    });
}

#[test]
fn a_violation_where_the_end_of_a_thread_is_a_step() {
    violated(|| {
        let flag = Arc::new(AtomicU8::new(0));
        let other = Arc::clone(&flag);
        let thread = thread::spawn(move || other.store(1, SeqCst));
        let before = flag.load(SeqCst);
        let is_finished = thread.is_finished();
        thread.join().unwrap();
        assert!(before == 0 || is_finished, "it may take a while to end");
    });
}

#[test]
fn trying_is_learnt_late() {
    let found = results(|| {
        let mutex = Arc::new(Mutex::new(0));
        let flag = Arc::new(AtomicU8::new(0));
        let threads = [0, 1].map(|_| {
            let (mutex, flag) = (Arc::clone(&mutex), Arc::clone(&flag));
            thread::spawn(move || {
                *mutex.lock().unwrap() += 1;
                flag.fetch_add(1, SeqCst);
            })
        });
        let seen = if flag.load(SeqCst) == 1 { u64::from(mutex.try_lock().is_ok()) } else { 2 };
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        vec![seen]
    });
    assert_eq!(found, set([[0], [1], [2]]));
}

#[test]
fn an_atomic_is_changed_by_its_owner() {
    let found = results(|| {
        let mut atomic = Arc::new(AtomicU8::new(0));
        let other = Arc::clone(&atomic);
        thread::spawn(move || other.store(1, SeqCst)).join().unwrap();
        *Arc::get_mut(&mut atomic).unwrap().get_mut() = 7;
        let other = Arc::clone(&atomic);
        let thread = thread::spawn(move || other.compare_exchange(7, 8, SeqCst, SeqCst).is_ok());
        let seen = atomic.load(SeqCst);
        let exchanged = thread.join().unwrap();
        vec![seen.into(), exchanged.into()]
    });
    assert_eq!(found, set([[7, 1], [8, 1]]));
}

#[test]
fn a_cell_that_was_made_full_or_emptied() {
    let found = results(|| {
        let cell = OnceLock::from(1);
        let set = cell.set(2).is_ok();
        let first = *cell.get_or_init(|| panic!("it is there"));
        let mut cell = OnceLock::new();
        let second = *cell.get_or_init(|| 3);
        let taken = cell.take();
        let third = *cell.get_or_init(|| 4);
        vec![set.into(), first, second, taken.unwrap_or(0), third]
    });
    assert_eq!(found, set([[0, 1, 3, 3, 4]]));
}

#[test]
fn nobody_waits_for_what_is_handed_over() {
    let found = results(|| {
        let (sender, receiver) = mpsc::sync_channel(0);
        let thread = thread::spawn(move || receiver.recv().unwrap_or(0));
        let full = matches!(sender.try_send(1), Err(TrySendError::Full(_)));
        drop(sender);
        let received = thread.join().unwrap();
        vec![full.into(), received]
    });
    assert_eq!(found, set([[0, 1], [1, 0]]));
}

#[test]
fn a_loop_that_waits_until_it_is_late() {
    let found = results(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let thread = thread::spawn(move || other.store(true, SeqCst));
        let begin = Instant::now();
        let mut in_time = true;
        while !flag.load(SeqCst) {
            if begin.elapsed() > Duration::from_millis(5) {
                in_time = false;
                break;
            }
            thread::sleep(Duration::from_millis(2));
        }
        thread.join().unwrap();
        vec![in_time.into()]
    });
    assert_eq!(found, set([[0], [1]]));
}

#[test]
fn a_loop_that_waits_for_the_end_of_a_thread() {
    let found = results(|| {
        let thread = thread::spawn(|| 1);
        while !thread.is_finished() {}
        vec![thread.join().unwrap()]
    });
    assert_eq!(found, set([[1]]));
}

#[test]
fn time_passes_for_those_who_wait() {
    let millis = |begin: Instant| begin.elapsed().as_millis() as u64;
    let found = results(move || {
        let begin = Instant::now();
        thread::spawn(|| thread::sleep(Duration::from_millis(10))).join().unwrap();
        let joined = millis(begin);
        thread::sleep(Duration::from_millis(10));
        let spawned = thread::spawn(move || millis(begin)).join().unwrap();
        let mutex = Arc::new(Mutex::new(()));
        let guard = mutex.lock().unwrap();
        let other = Arc::clone(&mutex);
        let thread = thread::spawn(move || {
            let _guard = other.lock().unwrap();
            millis(begin)
        });
        thread::sleep(Duration::from_millis(10));
        drop(guard);
        let locked = thread.join().unwrap();
        vec![joined, spawned, locked]
    });
    assert_eq!(found, set([[10, 20, 30]]));
}

#[test]
fn lazy_values_that_come_to_the_same_place() {
    let found = results(|| {
        let mut place = Box::new(LazyLock::new((|| 7) as fn() -> u64));
        let first = **place;
        *place = LazyLock::new(|| 8);
        vec![first, **place]
    });
    assert_eq!(found, set([[7, 8]]));
}

#[test]
fn a_lazy_value_in_the_heap() {
    let found = results(|| {
        let count = Arc::new(AtomicUsize::new(0));
        let counts = Arc::clone(&count);
        let lazy = Arc::new(LazyLock::new(move || counts.fetch_add(1, SeqCst) as u64));
        let threads = [0, 1].map(|_| {
            let lazy = Arc::clone(&lazy);
            thread::spawn(move || **lazy)
        });
        let seen = threads.map(|thread| thread.join().unwrap());
        vec![seen[0], seen[1], count.load(SeqCst) as u64]
    });
    assert_eq!(found, set([[0, 0, 1]]));
}

#[test]
fn waits_that_hold_something_else() {
    // A lock is given back in the event of another thread that lets its holder go on.
    let found = results(|| {
        let all = Arc::new((Mutex::new(0u64), Mutex::new(false), Condvar::new(), RwLock::new(0)));
        let other = Arc::clone(&all);
        let waiter = thread::spawn(move || {
            let held = other.0.lock().unwrap();
            let mut ready = other.1.lock().unwrap();
            while !*ready {
                ready = other.2.wait(ready).unwrap();
            }
            *held
        });
        let other = Arc::clone(&all);
        let adder = thread::spawn(move || {
            *other.0.lock().unwrap() += 1;
        });
        *all.1.lock().unwrap() = true;
        all.2.notify_one();
        let held = waiter.join().unwrap();
        let now = all.0.lock().map(|held| *held).unwrap();
        adder.join().unwrap();
        vec![held, now]
    });
    assert_eq!(found, set([[0, 0], [0, 1], [1, 1]]));
}

#[test]
fn a_race_that_only_other_orders_of_a_run_show() {
    // If the one reads before the other has notified anybody, they do not access the cell at once; but they do if it reads later, and that makes no
    // other difference.
    let reads = vec![Op::RaceRead, Op::Lock(1, vec![Op::Wait])];
    let writes = vec![Op::NotifyOne(0), Op::RaceWrite, Op::NotifyOne(1)];
    compare(&plan(vec![body(reads), body(writes)])).unwrap();
}

#[test]
fn a_thread_that_is_spawned_by_what_is_done_once() {
    // It may find that it is not done.
    let once = body(vec![Op::Once(1, vec![Op::Spawn(1)])]);
    compare(&plan(vec![once, Body { early: false, ..body(vec![Op::OnceGet(1)]) }])).unwrap();
}

#[test]
fn a_run_that_ends_while_a_mutex_that_is_tried_is_held() {
    let threads = [
        vec![Op::Lock(0, Vec::new())],
        vec![Op::TryLock(0, vec![Op::Barrier]), Op::RaceWrite],
        vec![Op::RaceRead],
    ];
    compare(&plan(threads.map(body).into())).unwrap();
}

fn plan(threads: Vec<Body>) -> Plan {
    Plan { threads, channels: Vec::new(), barrier: 2 }
}

fn body(ops: Vec<Op>) -> Body {
    Body { ops, parent: 0, early: true, sends: 0, returns: false }
}
