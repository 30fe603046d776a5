//! The programs under Loom.

use allways_bench::threads::tool::{Explored, Tool, caught};
use loom::model::Builder;
use loom::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use loom::sync::{Mutex, MutexGuard};
use loom::thread::{JoinHandle, spawn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;

/// Loom without bounds.
pub struct Loom;

/// More branches than an execution of any program here has. Loom reserves memory for so many.
const BRANCHES: usize = 10_000;

impl Tool for Loom {
    type Atomic = AtomicUsize;
    type Lock = Mutex<usize>;
    type Guard<'a> = MutexGuard<'a, usize>;
    type Thread = JoinHandle<()>;

    const MOST_THREADS: usize = loom::MAX_THREADS;

    fn atomic(value: usize) -> AtomicUsize {
        AtomicUsize::new(value)
    }

    fn load(atomic: &AtomicUsize) -> usize {
        atomic.load(SeqCst)
    }

    fn store(atomic: &AtomicUsize, value: usize) {
        atomic.store(value, SeqCst);
    }

    fn claim(atomic: &AtomicUsize, value: usize) -> bool {
        atomic.compare_exchange(0, value, SeqCst, SeqCst).is_ok()
    }

    fn mutex(value: usize) -> Mutex<usize> {
        Mutex::new(value)
    }

    fn lock(lock: &Mutex<usize>) -> MutexGuard<'_, usize> {
        lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spawn(body: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
        spawn(body)
    }

    fn join(thread: JoinHandle<()>) {
        thread.join().expect("no thread panics");
    }

    fn explore(main: impl Fn() + Send + Sync + 'static) -> Result<Explored, String> {
        let mut builder = Builder::new();
        builder.max_threads = loom::MAX_THREADS;
        builder.max_branches = BRANCHES;
        builder.max_permutations = None;
        builder.max_duration = None;
        builder.preemption_bound = None;
        caught(catch_unwind(AssertUnwindSafe(|| {
            builder.check(main);
            // It does not tell how many there were.
            Explored::Complete(None)
        })))
    }
}
