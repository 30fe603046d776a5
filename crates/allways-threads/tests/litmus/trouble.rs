//! What goes wrong, and how it is told.

use crate::{executions, explore};
use allways::{Cause, Outcome, Reduction, Trouble, Verdict};
use allways_threads::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use allways_threads::sync::{Arc, Barrier, Condvar, Mutex, OnceLock, RaceCell, RwLock, mpsc};
use allways_threads::{hint, rand, thread, time};
use std::hash::{BuildHasher, Hasher, RandomState};

const SECOND: time::Duration = time::Duration::from_secs(1);

fn violated(main: impl Fn() + Send + Sync + 'static) -> Outcome {
    let outcome = explore(main, Reduction::Optimal);
    assert_eq!(outcome.verdict, Verdict::Violated);
    outcome
}

fn trouble(outcome: &Outcome) -> Option<Trouble> {
    match outcome.violation.as_ref().unwrap().cause {
        Cause::Trouble(trouble) => Some(trouble),
        _ => None,
    }
}

#[test]
fn two_locks_in_opposite_orders() {
    let outcome = violated(|| {
        let locks = Arc::new((Mutex::new(0), Mutex::new(0)));
        let other = Arc::clone(&locks);
        let thread = thread::spawn(move || {
            let _b = other.1.lock().unwrap();
            let _a = other.0.lock().unwrap();
        });
        let a = locks.0.lock().unwrap();
        let b = locks.1.lock().unwrap();
        drop((a, b));
        thread.join().unwrap();
    });
    assert_eq!(trouble(&outcome), Some(Trouble::Deadlock));
    let violation = outcome.violation.as_ref().unwrap();
    assert!(violation.reads[0].contains("which thread 1 holds since trouble.rs:"), "{violation:?}");
    assert!(violation.reads[1].contains("which main holds since trouble.rs:"), "{violation:?}");
    println!("{outcome}");
}

#[test]
fn a_counter_without_a_lock() {
    let outcome = violated(|| {
        let counter = Arc::new(AtomicUsize::new(0));
        let threads = [(); 2].map(|()| {
            let counter = Arc::clone(&counter);
            thread::spawn(move || {
                let before = counter.load(SeqCst);
                counter.store(before + 1, SeqCst);
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(counter.load(SeqCst), 2, "an increment is lost");
    });
    let violation = outcome.violation.as_ref().unwrap();
    assert_eq!(violation.cause, Cause::Panic);
    assert!(violation.property.contains("an increment is lost"), "{violation:?}");
    println!("{outcome}");
}

#[test]
fn a_wake_up_that_is_lost() {
    let outcome = violated(|| {
        let pair = Arc::new((Mutex::new(()), Condvar::new()));
        let other = Arc::clone(&pair);
        let thread = thread::spawn(move || other.1.notify_one());
        let guard = pair.0.lock().unwrap();
        let _guard = pair.1.wait(guard).unwrap();
        thread.join().unwrap();
    });
    assert_eq!(trouble(&outcome), Some(Trouble::LostWakeUp));
    println!("{outcome}");
}

#[test]
fn a_condition_that_is_waited_for() {
    let main = || {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = Arc::clone(&pair);
        let thread = thread::spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        let mut ready = pair.0.lock().unwrap();
        while !*ready {
            ready = pair.1.wait(ready).unwrap();
        }
        drop(ready);
        thread.join().unwrap();
    };
    // Either of them locks first; if it is the one that waits, it waits before the other can lock.
    assert_eq!(executions(main), 2);
}

#[test]
fn a_lock_that_is_taken_twice() {
    let outcome = violated(|| {
        let lock = Mutex::new(0);
        let _first = lock.lock().unwrap();
        let _second = lock.lock().unwrap();
    });
    assert_eq!(trouble(&outcome), Some(Trouble::DoubleLock));
    let outcome = violated(|| {
        let lock = RwLock::new(0);
        let _first = lock.read().unwrap();
        let _second = lock.write().unwrap();
    });
    assert_eq!(trouble(&outcome), Some(Trouble::DoubleLock));
}

#[test]
fn a_thread_that_nobody_joins() {
    let outcome = violated(|| {
        thread::spawn(|| AtomicUsize::new(0).load(SeqCst));
    });
    assert_eq!(trouble(&outcome), Some(Trouble::LeakedThread));
}

#[test]
fn a_data_race() {
    let racy = |ordered: bool| {
        move || {
            let cell = Arc::new((RaceCell::new(0), AtomicBool::new(false)));
            let other = Arc::clone(&cell);
            let thread = thread::spawn(move || {
                other.0.set(1);
                other.1.store(true, SeqCst);
            });
            if !ordered || cell.1.load(SeqCst) {
                cell.0.set(2);
            }
            thread.join().unwrap();
        }
    };
    assert_eq!(trouble(&violated(racy(false))), Some(Trouble::DataRace));
    assert_eq!(executions(racy(true)), 2);
}

#[test]
fn loops_that_only_read_are_held() {
    let spins = || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let thread = thread::spawn(move || other.store(true, SeqCst));
        while !flag.load(SeqCst) {
            hint::spin_loop();
        }
        thread.join().unwrap();
    };
    assert!(executions(spins) <= 4);
    let outcome = violated(|| {
        let flag = AtomicBool::new(false);
        while !flag.load(SeqCst) {
            hint::spin_loop();
        }
    });
    assert_eq!(trouble(&outcome), Some(Trouble::Livelock));
}

#[test]
fn loops_that_only_look_into_channels_are_held() {
    let receives = |receive: fn(&mpsc::Receiver<u8>) -> bool| {
        move || {
            let (sender, receiver) = mpsc::channel();
            let thread = thread::spawn(move || sender.send(1).unwrap());
            while !receive(&receiver) {}
            thread.join().unwrap();
        }
    };
    assert!(executions(receives(|receiver| receiver.try_recv().is_ok())) <= 5);
    assert!(executions(receives(|receiver| receiver.recv_timeout(SECOND).is_ok())) <= 5);
    let sends = |room: usize| {
        move || {
            let (sender, receiver) = mpsc::sync_channel(room);
            let thread = thread::spawn(move || [(); 2].map(|()| receiver.recv().unwrap()));
            for n in 0..2 {
                while sender.try_send(n).is_err() {}
            }
            assert_eq!(thread.join().unwrap(), [0, 1]);
        }
    };
    assert!(executions(sends(1)) <= 5);
    // That one begins to wait is a step, and there are many orders; but they end.
    assert!(executions(sends(0)) > 1);
    // Nobody sends, and nobody receives.
    let outcome = violated(|| {
        let (_sender, receiver) = mpsc::channel::<u8>();
        while receiver.try_recv().is_err() {}
    });
    assert_eq!(trouble(&outcome), Some(Trouble::Livelock));
    let outcome = violated(|| {
        let (sender, _receiver) = mpsc::sync_channel(1);
        (0..2).for_each(|n| while sender.try_send(n).is_err() {});
    });
    assert_eq!(trouble(&outcome), Some(Trouble::Livelock));
}

#[test]
fn loops_that_count_are_not_held() {
    let counts = || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let thread = thread::spawn(move || other.store(true, SeqCst));
        let mut tries = 0;
        while !flag.load(SeqCst) && tries < 5 {
            tries += 1;
        }
        thread.join().unwrap();
        assert!(tries <= 5);
    };
    // The store comes before one of six loads, or after all five that it takes to give up: the sixth is not made.
    assert_eq!(executions(counts), 7);
}

#[test]
fn locks_that_are_tried() {
    let tries = || {
        let lock = Arc::new(Mutex::new(0));
        let other = Arc::clone(&lock);
        let thread = thread::spawn(move || *other.lock().unwrap() += 1);
        let got = lock.try_lock().is_ok();
        thread.join().unwrap();
        std::hint::black_box(got);
    };
    // Before, between and after.
    assert_eq!(executions(tries), 3);
}

#[test]
fn readers_do_not_hinder_each_other() {
    let main = |readers: usize| {
        move || {
            let lock = Arc::new(RwLock::new(0));
            let spawn = |_| {
                let lock = Arc::clone(&lock);
                thread::spawn(move || *lock.read().unwrap())
            };
            let all: Vec<_> = (0..readers).map(spawn).collect();
            *lock.write().unwrap() += 1;
            all.into_iter().for_each(|thread| assert!(thread.join().unwrap() < 2));
        }
    };
    assert_eq!([1, 2, 3].map(|readers| executions(main(readers))), [2, 4, 8]);
}

#[test]
fn a_barrier_opens_for_all() {
    let main = || {
        let shared = Arc::new((Barrier::new(2), AtomicUsize::new(0)));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            other.1.fetch_add(1, SeqCst);
            other.0.wait().is_leader()
        });
        shared.1.fetch_add(1, SeqCst);
        let leads = shared.0.wait().is_leader();
        assert_eq!(shared.1.load(SeqCst), 2);
        assert!(leads != thread.join().unwrap());
    };
    assert_eq!(executions(main), 4);
}

#[test]
fn channels_keep_order_and_end() {
    let main = |senders: usize, messages: usize| {
        move || {
            let (sender, receiver) = mpsc::channel();
            let spawn = |id| {
                let sender = sender.clone();
                thread::spawn(move || (0..messages).for_each(|n| sender.send((id, n)).unwrap()))
            };
            let all: Vec<_> = (0..senders).map(spawn).collect();
            drop(sender);
            let mut next = vec![0; senders];
            for (id, n) in receiver {
                assert_eq!(next[id], n);
                next[id] += 1;
            }
            assert!(next.iter().all(|n| *n == messages));
            all.into_iter().for_each(|thread| thread.join().unwrap());
        }
    };
    // As many as there are orders of the messages.
    assert_eq!(executions(main(1, 3)), 1);
    assert_eq!(executions(main(2, 1)), 2);
    assert_eq!(executions(main(2, 2)), 6);
    assert_eq!(executions(main(3, 1)), 6);
}

#[test]
fn channels_with_room_for_some() {
    let main = |room: usize| {
        move || {
            let (sender, receiver) = mpsc::sync_channel(room);
            let thread = thread::spawn(move || (0..3).for_each(|n| sender.send(n).unwrap()));
            assert!(receiver.iter().eq(0..3));
            thread.join().unwrap();
        }
    };
    assert_eq!([0, 1, 2, 3].map(|room| executions(main(room))), [1; 4]);
    let outcome = violated(|| {
        let (sender, _receiver) = mpsc::sync_channel(0);
        sender.send(1).unwrap();
    });
    assert_eq!(trouble(&outcome), Some(Trouble::Deadlock));
}

#[test]
fn what_is_done_once_is_done_once() {
    let main = |threads: usize| {
        move || {
            let shared = Arc::new((OnceLock::new(), AtomicUsize::new(0)));
            let spawn = |id| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    *shared.0.get_or_init(|| {
                        shared.1.fetch_add(1, SeqCst);
                        id
                    })
                })
            };
            let all: Vec<_> = (0..threads).map(spawn).collect();
            let all: Vec<usize> = all.into_iter().map(|thread| thread.join().unwrap()).collect();
            assert!(all.iter().all(|id| *id == all[0]));
            assert_eq!(shared.1.load(SeqCst), 1);
        }
    };
    assert_eq!([1, 2, 3].map(|threads| executions(main(threads))), [1, 2, 3]);
}

#[test]
fn choices_are_all_made() {
    assert_eq!(executions(|| assert!(rand::below(5) < 5)), 5);
    let outcome = violated(|| assert!(rand::below(5) != 3));
    assert_eq!(outcome.violation.unwrap().run.events[0].choices, [3]);
}

#[test]
fn waiting_may_take_too_long() {
    let main = || {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = Arc::clone(&pair);
        let thread = thread::spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        let begin = time::Instant::now();
        let ready = pair.0.lock().unwrap();
        let second = time::Duration::from_secs(1);
        let (_ready, result) = pair.1.wait_timeout(ready, second).unwrap();
        assert_eq!(begin.elapsed(), if result.timed_out() { second } else { time::Duration::ZERO });
        drop(_ready);
        thread.join().unwrap();
    };
    assert!(executions(main) >= 3);
}

#[test]
fn parked_threads_wait_for_their_token() {
    let main = || {
        let main = thread::current();
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let thread = thread::spawn(move || {
            other.store(true, SeqCst);
            main.unpark();
        });
        while !flag.load(SeqCst) {
            thread::park();
        }
        thread.join().unwrap();
    };
    assert!(executions(main) >= 2);
}

#[test]
fn threads_that_borrow() {
    let main = || {
        let total = AtomicUsize::new(0);
        thread::scope(|scope| {
            for n in 1..=3 {
                let total = &total;
                scope.spawn(move || total.fetch_add(n, SeqCst));
            }
        });
        assert_eq!(total.load(SeqCst), 6);
    };
    assert_eq!(executions(main), 6);
}

#[test]
fn a_clock_that_is_hidden_is_noticed() {
    let options = allways::Options::default();
    let program = allways_threads::Program::new(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&x);
        let thread = thread::spawn(move || {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
            other.store(now.subsec_nanos() as usize, SeqCst);
            other.store(1, SeqCst);
        });
        x.store(1, SeqCst);
        x.store(2, SeqCst);
        thread.join().unwrap();
    });
    let error = program.try_check(&options).unwrap_err().to_string();
    assert!(error.contains("thread 1 ") && error.contains("is not deterministic"), "{error}");
}

#[test]
fn random_numbers_that_are_hidden_are_noticed() {
    let program = allways_threads::Program::new(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&x);
        let roll = || RandomState::new().build_hasher().finish() as usize;
        let thread = thread::spawn(move || other.store(1, SeqCst));
        x.store(roll(), SeqCst);
        thread.join().unwrap();
    });
    let error = program.try_check(&allways::Options::default()).unwrap_err().to_string();
    // Whoever stores it, and where.
    assert!(error.starts_with("main writes ") && error.contains("trouble.rs:"), "{error}");
    assert!(error.contains("is not deterministic"), "{error}");
}

#[test]
fn that_nobody_sees_who_drops_the_last_is_said() {
    let program = allways_threads::Program::new(|| {
        let (sender, receiver) = mpsc::channel::<()>();
        let shared = Arc::new(sender);
        let spawn = |_| {
            let (shared, own) = (Arc::clone(&shared), AtomicUsize::new(0));
            thread::spawn(move || {
                own.store(1, SeqCst);
                drop(shared);
                own.store(2, SeqCst);
            })
        };
        let threads = [0, 1].map(spawn);
        drop(shared);
        assert!(receiver.recv().is_err());
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    for reduction in [Reduction::None, Reduction::Source, Reduction::Optimal] {
        let options = allways::Options { reduction, threads: 1, ..Default::default() };
        let error = program.try_check(&options).unwrap_err().to_string();
        assert!(error.contains("std Arc"), "{error}");
    }
}
