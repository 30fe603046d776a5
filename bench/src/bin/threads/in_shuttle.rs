//! The programs under Shuttle.

use allways_bench::threads::tool::{Explored, Tool, caught};
use shuttle::scheduler::DfsScheduler;
use shuttle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use shuttle::sync::{Mutex, MutexGuard};
use shuttle::thread::{JoinHandle, spawn};
use shuttle::{Config, FailurePersistence, Runner};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;

/// Shuttle's depth-first scheduler, without bounds.
pub struct Shuttle;

impl Tool for Shuttle {
    type Atomic = AtomicUsize;
    type Lock = Mutex<usize>;
    type Guard<'a> = MutexGuard<'a, usize>;
    type Thread = JoinHandle<()>;

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
        let mut config = Config::new();
        config.failure_persistence = FailurePersistence::None;
        let runner = Runner::new(DfsScheduler::new(None, false), config);
        caught(catch_unwind(AssertUnwindSafe(|| Explored::Complete(Some(runner.run(main) as u64)))))
    }
}
