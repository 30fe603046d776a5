//! What reviewers have found.

use crate::{executions, explore};
use allways::{Cause, Reduction, Trouble, Verdict};
use allways_threads::sync::atomic::{AtomicU32, Ordering::SeqCst};
use allways_threads::sync::{Arc, LazyLock, Mutex, Once, OnceLock, RaceCell, RwLock};
use allways_threads::{thread, time};
use std::cell::Cell;
use std::collections::BTreeSet;

const SECOND: time::Duration = time::Duration::from_secs(1);

#[test]
fn loops_that_look_at_what_is_done_once_are_held() {
    let cell = || {
        let cell = Arc::new(OnceLock::new());
        let other = Arc::clone(&cell);
        let thread = thread::spawn(move || other.set(1).unwrap());
        while cell.get().is_none() {}
        thread.join().unwrap();
    };
    assert!(executions(cell) <= 4);
    let once = || {
        let once = Arc::new(Once::new());
        let other = Arc::clone(&once);
        let thread = thread::spawn(move || other.call_once(|| ()));
        while !once.is_completed() {}
        thread.join().unwrap();
    };
    assert!(executions(once) <= 4);
}

#[test]
fn loops_that_try_to_write_are_held() {
    let main = |readers: usize| {
        move || {
            let shared = Arc::new((RwLock::new(0), AtomicU32::new(0)));
            let spawn = |_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    let _guard = shared.0.read().unwrap();
                    shared.1.load(SeqCst);
                })
            };
            let all: Vec<_> = (0..readers).map(spawn).collect();
            while shared.0.try_write().is_err() {}
            all.into_iter().for_each(|thread| thread.join().unwrap());
        }
    };
    assert!(executions(main(1)) <= 4);
    assert!(executions(main(2)) <= 29);
}

/// What is seen in the runs of a program.
fn seen<S: Ord + Send + 'static>(
    main: impl Fn() -> S + Send + Sync + 'static,
    reduction: Reduction,
) -> BTreeSet<S> {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let into = std::sync::Arc::clone(&seen);
    let add = move || {
        let it = main();
        into.lock().unwrap().insert(it);
    };
    assert_eq!(explore(add, reduction).verdict, Verdict::Holds);
    std::mem::take(&mut *seen.lock().unwrap())
}

#[test]
fn tries_to_write_see_all_readers() {
    let main = || {
        let lock = Arc::new(RwLock::new(0));
        let all = [(); 2].map(|()| {
            let lock = Arc::clone(&lock);
            thread::spawn(move || drop(lock.read().unwrap()))
        });
        let tries = [(); 3].map(|()| lock.try_write().is_ok());
        all.into_iter().for_each(|thread| thread.join().unwrap());
        tries
    };
    let all = seen(main, Reduction::None);
    assert_eq!(all.len(), 8);
    assert_eq!(seen(main, Reduction::Optimal), all);
}

#[test]
fn who_sees_it_done_is_not_earlier_than_who_did_it() {
    let main = |waits: bool| {
        move || {
            let shared = Arc::new((OnceLock::new(), AtomicU32::new(0)));
            let (other, start) = (Arc::clone(&shared), time::Instant::now());
            let thread = thread::spawn(move || {
                other.0.get_or_init(|| thread::sleep(SECOND));
                other.1.load(SeqCst);
            });
            let is_done = match waits {
                true => {
                    let mut makes = false;
                    shared.0.get_or_init(|| makes = true);
                    !makes
                }
                false => shared.0.get().is_some(),
            };
            assert!(start.elapsed() == if is_done { SECOND } else { time::Duration::ZERO });
            thread.join().unwrap();
        }
    };
    assert_eq!(executions(main(false)), 2);
    assert_eq!(executions(main(true)), 2);
    let lazy = || {
        let lazy = Arc::new(LazyLock::new(|| thread::sleep(SECOND)));
        let (other, start) = (Arc::clone(&lazy), time::Instant::now());
        let thread = thread::spawn(move || *LazyLock::force(&other));
        LazyLock::force(&lazy);
        assert_eq!(start.elapsed(), SECOND);
        thread.join().unwrap();
    };
    assert_eq!(executions(lazy), 2);
}

#[test]
fn lazy_values_move() {
    fn make(n: u32) -> Box<LazyLock<u32, impl Fn() -> u32>> {
        let lazy = LazyLock::new(move || n);
        assert_eq!(*LazyLock::force(&lazy), n);
        Box::new(lazy)
    }
    let alone = || {
        let (a, b) = (make(1), make(2));
        let c = make(3);
        drop(a);
        let moved = *b;
        assert_eq!((*moved, **c, **make(4)), (2, 3, 4));
    };
    assert_eq!(executions(alone), 1);
    // Whoever is there first makes it, and it is made once.
    let together = || {
        let made = Arc::new(AtomicU32::new(0));
        let counts = Arc::clone(&made);
        let lazy = LazyLock::new(move || counts.fetch_add(1, SeqCst));
        thread::scope(|scope| [(); 2].map(|()| scope.spawn(|| *lazy)).map(|it| it.join().unwrap()));
        let moved = Box::new(lazy);
        assert_eq!(**moved, 0);
        assert_eq!(made.load(SeqCst), 1);
    };
    assert_eq!(executions(together), 2);
}

#[test]
fn what_is_kept_for_lazy_values_that_moved_is_dropped_with_them() {
    struct Counts(Arc<AtomicU32>);
    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let main = || {
        let dropped = Arc::new(AtomicU32::new(0));
        let of = Arc::clone(&dropped);
        let lazy = LazyLock::new(move || Counts(Arc::clone(&of)));
        LazyLock::force(&lazy);
        let moved = Box::new(lazy);
        assert_eq!(dropped.load(SeqCst), 0);
        drop(moved);
        assert_eq!(dropped.load(SeqCst), 1);
    };
    assert_eq!(executions(main), 1);
}

/// Variables of a thread, of `std` or of this crate, that note when they are dropped and which of them can be accessed then.
macro_rules! variables {
    ($first:ident, $($declare:tt)*) => {{
        static NOTES: std::sync::Mutex<Vec<String>> = std::sync::Mutex::new(Vec::new());
        struct Notes(&'static str);
        impl Drop for Notes {
            fn drop(&mut self) {
                let mut note = format!("{}:", self.0);
                if self.0 == "A" {
                    let all = [&A, &B, &C].map(|key| key.try_with(|_| ()).is_ok());
                    note += &format!(" {all:?} {:?}", PLAIN.try_with(|plain| plain.get()));
                }
                if self.0 == "C" {
                    note += &format!(" {:?}", B.try_with(|_| ()).is_ok());
                }
                NOTES.lock().unwrap().push(note);
            }
        }
        $($declare)* {
            static A: Notes = Notes("A");
            static B: Notes = Notes("B");
            static C: Notes = Notes("C");
            static PLAIN: Cell<u32> = Cell::new(1);
        }
        let body = || match $first {
            true => [&A, &B].into_iter().for_each(|key| key.with(|_| ())),
            false => [&B, &A].into_iter().for_each(|key| key.with(|_| ())),
        };
        (body, &NOTES)
    }};
}

#[test]
fn variables_of_threads_are_dropped_as_in_std() {
    fn both<const FIRST: bool>() {
        let (body, real) = variables!(FIRST, std::thread_local!);
        real.lock().unwrap().clear();
        std::thread::spawn(body).join().unwrap();
        let (body, noted) = variables!(FIRST, allways_threads::thread_local!);
        let main = move || {
            noted.lock().unwrap().clear();
            thread::spawn(body).join().unwrap();
        };
        assert_eq!(executions(main), 1);
        let (real, noted) = (real.lock().unwrap(), noted.lock().unwrap());
        assert_eq!((real.len(), &*noted), (3, &*real));
    }
    both::<true>();
    both::<false>();
}

fn assert_races(main: impl Fn() + Send + Sync + 'static) {
    let violation = explore(main, Reduction::Optimal).violation.unwrap();
    assert_eq!(violation.cause, Cause::Trouble(Trouble::DataRace), "{violation}");
    assert_eq!(violation.property.matches(" it at reviewed.rs:").count(), 2, "{violation}");
}

/// A cell, what others may look at, and a lock.
type Shared = (RaceCell<u32>, [AtomicU32; 2], Mutex<()>);

fn share() -> [Arc<Shared>; 2] {
    let flags = [AtomicU32::new(0), AtomicU32::new(0)];
    let shared = Arc::new((RaceCell::new(0), flags, Mutex::new(())));
    [Arc::clone(&shared), shared]
}

#[test]
fn accesses_are_not_over_before_they_end() {
    // Whether the one inside writes, what the other one does, and whether they race.
    let set: fn(&Shared) = |shared| shared.0.set(5);
    let get: fn(&Shared) = |shared| assert_eq!(shared.0.get() / 9, 0);
    for (writes, other, races) in
        [(true, set, true), (true, get, true), (false, set, true), (false, get, false)]
    {
        let main = move || {
            let [shared, theirs] = share();
            let thread = thread::spawn(move || {
                if theirs.1[0].load(SeqCst) == 1 {
                    other(&theirs);
                }
            });
            let inside = || {
                shared.1[0].store(1, SeqCst);
                shared.1[1].load(SeqCst);
            };
            match writes {
                true => shared.0.with_mut(|it| {
                    inside();
                    *it += 1;
                }),
                false => shared.0.with(|_| inside()),
            }
            thread.join().unwrap();
        };
        match races {
            true => assert_races(main),
            false => assert_eq!(executions(main), 2),
        }
    }
}

#[test]
fn others_are_let_in_without_an_event() {
    // By giving a lock back.
    assert_races(|| {
        let [shared, theirs] = share();
        let thread = thread::spawn(move || {
            let _guard = theirs.2.lock().unwrap();
            theirs.0.set(1);
        });
        let guard = shared.2.lock().unwrap();
        shared.0.with_mut(|it| {
            drop(guard);
            *it += 1;
        });
        thread.join().unwrap();
    });
    // By spawning a thread.
    assert_races(|| {
        let [shared, theirs] = share();
        let thread = shared.0.with_mut(|it| {
            let thread = thread::spawn(move || theirs.0.set(1));
            *it += 1;
            thread
        });
        thread.join().unwrap();
    });
    // By waiting for one.
    assert_races(|| {
        let [shared, theirs] = share();
        let thread = thread::spawn(move || {
            if theirs.1[0].load(SeqCst) == 1 {
                theirs.0.set(1);
            }
        });
        shared.1[0].store(1, SeqCst);
        shared.0.with_mut(|_| thread.join().unwrap());
    });
}

#[test]
fn accesses_that_something_protects_do_not_race() {
    let main = || {
        let [shared, theirs] = share();
        let access = |shared: &Shared| {
            let _guard = shared.2.lock().unwrap();
            shared.0.with_mut(|it| {
                shared.1[0].fetch_add(1, SeqCst);
                *it += 1;
            });
            shared.0.with(|it| shared.1[1].store(*it, SeqCst));
        };
        let thread = thread::spawn(move || access(&theirs));
        access(&shared);
        thread.join().unwrap();
        assert_eq!((shared.0.get(), shared.1[1].load(SeqCst)), (2, 2));
    };
    assert_eq!(executions(main), 2);
}
