//! How threads end, how they do not, and what they do on the way.

use crate::explore;
use allways::{Engine, Options, Outcome, Reduction, Verdict};
use allways_threads::net::UdpSocket;
use allways_threads::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use allways_threads::sync::mpsc::{Sender, channel};
use allways_threads::sync::{Arc, Mutex, OnceLock, RwLock};
use allways_threads::time::{Duration, Instant};
use allways_threads::{Program, future, hint, thread};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

const MOMENT: Duration = Duration::from_millis(10);

fn check(program: &Program) -> Outcome {
    program.try_check(&Options { max_depth: Some(200), ..Options::default() }).unwrap()
}

fn violated(main: impl Fn() + Send + Sync + 'static) {
    let violation = check(&Program::new(main)).violation.unwrap();
    assert!(violation.property.contains("this is to be reported"), "{violation}");
}

fn refused(main: impl Fn() + Send + Sync + 'static) -> String {
    Program::new(main).try_check(&Options::default()).unwrap_err().to_string()
}

/// What is done until somebody panics, which is caught.
fn caught(f: impl FnOnce()) {
    let result = catch_unwind(AssertUnwindSafe(|| {
        f();
        resume_unwind(Box::new(1));
    }));
    assert!(result.is_err());
}

/// Stores when it is dropped.
struct Stores(Arc<AtomicU32>);

impl Drop for Stores {
    fn drop(&mut self) {
        self.0.store(7, SeqCst);
    }
}

#[test]
fn what_is_touched_during_a_panic_that_is_caught_is_refused() {
    let sender = || {
        let (sender, receiver) = channel::<u32>();
        let thread = thread::spawn(move || {
            let _ = catch_unwind(AssertUnwindSafe(move || {
                let _sender = sender;
                resume_unwind(Box::new(1));
            }));
        });
        assert!(receiver.recv().is_err());
        thread.join().unwrap();
    };
    let once = || {
        let cell = Arc::new(OnceLock::new());
        let other = Arc::clone(&cell);
        let thread = thread::spawn(move || {
            caught(|| {
                other.get_or_init(|| resume_unwind(Box::new(1)));
            });
        });
        assert_eq!(*cell.get_or_init(|| 2), 2);
        thread.join().unwrap();
    };
    let mutex = || {
        let lock = Arc::new((Mutex::new(0), AtomicU32::new(0)));
        let other = Arc::clone(&lock);
        let thread = thread::spawn(move || {
            let _ = catch_unwind(AssertUnwindSafe(|| {
                let _guard = other.0.lock();
                other.1.store(1, SeqCst);
                resume_unwind(Box::new(1));
            }));
        });
        let _ = lock.0.try_lock().is_ok();
        thread.join().unwrap();
    };
    let rwlock = || {
        let lock = Arc::new(RwLock::new(0));
        let other = Arc::clone(&lock);
        let thread = thread::spawn(move || {
            let _ = catch_unwind(AssertUnwindSafe(|| {
                let _guard = other.write();
                resume_unwind(Box::new(1));
            }));
            // It is found out here, not only at the end.
            assert!(other.read().is_ok(), "never reached");
        });
        let _ = lock.try_read().is_ok();
        thread.join().unwrap();
    };
    let store = || {
        let number = Arc::new(AtomicU32::new(0));
        let stores = Stores(Arc::clone(&number));
        let thread = thread::spawn(move || {
            let _ = catch_unwind(AssertUnwindSafe(move || {
                let _stores = stores;
                resume_unwind(Box::new(1));
            }));
        });
        number.load(SeqCst);
        thread.join().unwrap();
    };
    let socket = || {
        let thread = thread::spawn(move || {
            let _ = catch_unwind(AssertUnwindSafe(move || {
                let _socket = UdpSocket::bind("main:1").unwrap();
                resume_unwind(Box::new(1));
            }));
        });
        let _ = UdpSocket::bind("main:1").is_ok();
        thread.join().unwrap();
    };
    let scope = || {
        let number = AtomicU32::new(0);
        let _ = catch_unwind(AssertUnwindSafe(|| {
            thread::scope(|scope| {
                scope.spawn(|| number.store(1, SeqCst));
                number.load(SeqCst);
                resume_unwind(Box::new(1));
            });
        }));
    };
    let errors = [
        refused(sender),
        refused(once),
        refused(mutex),
        refused(rwlock),
        refused(store),
        refused(socket),
        refused(scope),
    ];
    for error in errors {
        assert!(error.contains("endings.rs:"), "{error}");
        assert!(error.contains("` went on after a panic during which"), "{error}");
    }
}

#[test]
fn a_panic_that_is_caught_is_fine_if_nothing_was_touched() {
    let outcome = explore(
        || {
            let number = Arc::new(AtomicU32::new(0));
            let other = Arc::clone(&number);
            let thread = thread::spawn(move || {
                caught(|| other.store(1, SeqCst));
                other.store(2, SeqCst);
            });
            number.load(SeqCst);
            thread.join().unwrap();
            assert_eq!(number.load(SeqCst), 2);
        },
        Reduction::Optimal,
    );
    outcome.assert_holds();
    assert_eq!(outcome.statistics.runs, Some(3));
    // That a mutex is given back is no event if nobody tries to take it, panic or not.
    let outcome = explore(
        || {
            let lock = Arc::new(Mutex::new(0));
            let other = Arc::clone(&lock);
            let thread = thread::spawn(move || {
                let _ = catch_unwind(AssertUnwindSafe(|| {
                    let _guard = other.lock().unwrap();
                    resume_unwind(Box::new(1));
                }));
            });
            let was_poisoned = lock.lock().is_err();
            thread.join().unwrap();
            assert!(lock.lock().is_err());
            std::hint::black_box(was_poisoned);
        },
        Reduction::Optimal,
    );
    outcome.assert_holds();
    assert_eq!(outcome.statistics.runs, Some(2));
}

#[test]
fn what_is_touched_during_a_panic_that_ends_the_run_is_not_told() {
    violated(|| {
        let number = Arc::new(AtomicU32::new(0));
        let _stores = Stores(Arc::clone(&number));
        let other = Arc::clone(&number);
        let thread = thread::spawn(move || other.store(1, SeqCst));
        assert_ne!(number.load(SeqCst), 1, "this is to be reported");
        thread.join().unwrap();
    });
}

/// Tells its thread to stop and waits for it.
struct Pool(Arc<AtomicBool>, Vec<thread::JoinHandle<()>>);

impl Pool {
    fn new() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stops = Arc::clone(&stop);
        Pool(stop, vec![thread::spawn(move || while !stops.load(SeqCst) {})])
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
        self.1.drain(..).for_each(|thread| thread.join().unwrap());
    }
}

#[test]
fn destructors_wait_for_threads() {
    violated(|| {
        let _pool = Pool::new();
        panic!("this is to be reported");
    });
    let program = Program::new(|| ()).server("server", || {
        let _pool = Pool::new();
        thread::park();
    });
    check(&program).assert_holds();
}

#[test]
fn destructors_of_tasks_send() {
    struct Tells(Sender<u32>);
    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.send(1).unwrap();
        }
    }
    check(&Program::new(|| {
        let (sender, receiver) = channel();
        future::spawn(async move {
            let _tells = Tells(sender);
            std::future::pending::<()>().await;
        });
        std::mem::forget(receiver);
    }))
    .assert_holds();
}

/// Counts when it is dropped.
struct Counts(Arc<RwLock<u32>>);

impl Drop for Counts {
    fn drop(&mut self) {
        let mut guard = self.0.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        *guard += 1;
    }
}

#[test]
fn destructors_take_locks_that_others_have() {
    fn shared() -> (Counts, Arc<RwLock<u32>>, Arc<AtomicU32>) {
        let lock = Arc::new(RwLock::new(0));
        (Counts(Arc::clone(&lock)), lock, Arc::new(AtomicU32::new(0)))
    }
    violated(|| {
        let (_counts, lock, number) = shared();
        let other = Arc::clone(&number);
        let thread = thread::spawn(move || {
            let _guard = lock.write().unwrap();
            other.store(1, SeqCst);
            other.store(2, SeqCst);
        });
        assert_ne!(number.load(SeqCst), 1, "this is to be reported");
        thread.join().unwrap();
    });
    violated(|| {
        let (_counts, lock, number) = shared();
        let threads = [0, 1].map(|_| {
            let (lock, other) = (Arc::clone(&lock), Arc::clone(&number));
            thread::spawn(move || {
                let _guard = lock.read().unwrap();
                other.fetch_add(1, SeqCst);
                other.load(SeqCst);
            })
        });
        assert_ne!(number.load(SeqCst), 2, "this is to be reported");
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn threads_that_catch_what_ends_them_are_given_up() {
    let program = Program::new(|| ()).server("server", || {
        let (_sender, receiver) = channel::<u32>();
        loop {
            let _ = catch_unwind(AssertUnwindSafe(|| receiver.recv()));
        }
    });
    check(&program).assert_holds();
}

#[test]
fn threads_of_a_scope_end_when_it_is_left_by_a_panic() {
    violated(|| {
        let (flag, number) = (AtomicBool::new(false), AtomicU32::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                while !flag.load(SeqCst) {
                    thread::yield_now();
                }
            });
            scope.spawn(|| {
                number.load(SeqCst);
                flag.store(true, SeqCst);
            });
            number.load(SeqCst);
            panic!("this is to be reported");
        });
    });
}

#[test]
fn loops_that_touch_nothing_are_refused() {
    let clock = || {
        let start = Instant::now();
        while start.elapsed() < MOMENT {
            thread::yield_now();
        }
    };
    let count = || {
        let shared = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || other.store(1, SeqCst));
        while Arc::strong_count(&shared) > 1 {
            hint::spin_loop();
        }
        thread.join().unwrap();
    };
    for error in [refused(clock), refused(count)] {
        assert!(error.contains("endings.rs:") && error.contains("thread `main`"), "{error}");
        assert!(error.contains("without touching anything that a check can see"), "{error}");
    }
    // Those who touch something may do so for long.
    check(&Program::new(|| {
        let number = AtomicU32::new(0);
        for _ in 0..100 {
            number.fetch_add(1, SeqCst);
            (0..1_000).for_each(|_| thread::yield_now());
        }
    }))
    .assert_holds();
}

/// Explores a program that has runs without an end.
fn bounded(program: &Program) {
    let options = Options {
        engine: Engine::Dpor,
        reduction: Reduction::Optimal,
        threads: 1,
        max_depth: Some(200),
        max_runs: Some(20_000),
        ..Options::default()
    };
    let outcome = program.try_check(&options).unwrap();
    assert_eq!(outcome.verdict, Verdict::Violated);
}

#[test]
fn loops_without_an_end_let_others_have_their_turn() {
    bounded(
        &Program::of_processes()
            .process("client", || {
                let socket = UdpSocket::bind("client:1").unwrap();
                socket.set_read_timeout(Some(MOMENT)).unwrap();
                loop {
                    socket.send_to(&[1], "server:1").unwrap();
                    if socket.recv(&mut [0]).is_ok() {
                        break;
                    }
                }
            })
            .process("server", || {
                let socket = UdpSocket::bind("server:1").unwrap();
                socket.recv(&mut [0]).unwrap();
                panic!("this is to be reported");
            }),
    );
    bounded(&Program::new(|| {
        let ((sender, receiver), number) = (channel(), AtomicU32::new(0));
        let _thread = thread::spawn(move || {
            receiver.recv().unwrap();
            panic!("this is to be reported");
        });
        loop {
            sender.send(1).unwrap();
            number.fetch_add(1, SeqCst);
        }
    }));
}

#[test]
fn only_main_threads_bind_first() {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let into = std::sync::Arc::clone(&seen);
    let program = Program::new(move || {
        let threads = [0, 1].map(|_| thread::spawn(|| UdpSocket::bind("main:7").is_ok()));
        into.lock().unwrap().insert(threads.map(|thread| thread.join().unwrap()));
    });
    check(&program.binds_first()).assert_holds();
    assert_eq!(*seen.lock().unwrap(), [[false, true], [true, false], [true, true]].into());
}
