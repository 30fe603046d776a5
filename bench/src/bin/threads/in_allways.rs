//! The programs under Allways.

use allways::{Cause, Engine, Options, Reduction, Trouble, Verdict};
use allways_bench::threads::tool::{Explored, Tool};
use allways_threads::Program;
use allways_threads::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use allways_threads::sync::{Mutex, MutexGuard, PoisonError};
use allways_threads::thread::{JoinHandle, spawn};

/// Engine `dpor`, which explores each execution once.
pub struct Allways;

impl Tool for Allways {
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
        let options = Options {
            engine: Engine::Dpor,
            reduction: Reduction::Optimal,
            threads: 1,
            minimise: false,
            ..Options::default()
        };
        let outcome = Program::new(main).try_check(&options).map_err(|error| error.to_string())?;
        // Also those that were begun in vain.
        let statistics = &outcome.statistics;
        let executions = statistics.runs.zip(statistics.blocked_runs).map(|(a, b)| a + b);
        let cause = outcome.violation.as_ref().map(|violation| &violation.cause);
        match (outcome.verdict, cause) {
            (Verdict::Holds, _) if outcome.complete => Ok(Explored::Complete(executions)),
            (Verdict::Violated, Some(Cause::Trouble(Trouble::Deadlock))) => Ok(Explored::Deadlock),
            _ => Err(format!("the outcome is not what it should be: {outcome}")),
        }
    }
}
