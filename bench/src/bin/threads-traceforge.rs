//! What program `threads` runs to measure TraceForge, and nothing but it: the libraries on which
//! TraceForge and Loom build define the same symbols, so no program can have both.
//!
//! ```text
//! threads-traceforge measure traceforge counter 3x2 10
//! ```
//!
//! It knows threads that send messages to each other. Its atomics and locks are made of these: each
//! is a thread of its own, which lives as long as the execution and receives requests.

use allways_bench::threads::explore;
use allways_bench::threads::tool::{Explored, Tool, caught};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::atomic::Ordering::SeqCst;
use traceforge::Stats;
use traceforge::sync::atomic::AtomicUsize;
use traceforge::sync::{Mutex, MutexGuard};
use traceforge::thread::{JoinHandle, spawn};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["measure", "traceforge", ref what @ ..] => explore::<TraceForge>(what),
        _ => Err(format!("`{}`: write measure traceforge", words.join(" "))),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// TraceForge as it is by default.
struct TraceForge;

impl Tool for TraceForge {
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
        lock.blocking_lock()
    }

    fn spawn(body: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
        spawn(body)
    }

    fn join(thread: JoinHandle<()>) {
        thread.join().expect("no thread panics");
    }

    fn explore(main: impl Fn() + Send + Sync + 'static) -> Result<Explored, String> {
        // Otherwise it prints how far it has come.
        let config = traceforge::Config::builder().with_progress_report(usize::MAX).build();
        caught(catch_unwind(AssertUnwindSafe(|| {
            // A deadlock is no error to it: it counts the executions that end in one.
            match traceforge::verify(config, main) {
                Stats { execs, block: 0, .. } => Explored::Complete(Some(execs as u64)),
                _ => Explored::Deadlock,
            }
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::TraceForge;
    use allways_bench::threads::program::Program;
    use allways_bench::threads::{End, explore_once};

    fn explored(program: Program) -> (End, u64) {
        let measured = explore_once::<TraceForge>(program, 100.0).unwrap();
        (measured.end, measured.executions)
    }

    #[test]
    fn requests_to_a_lock_or_an_atomic_are_received_in_each_order() {
        let counter = Program::Counter { threads: 2, times: 2 };
        assert_eq!(explored(counter), (End::Complete, 6));
        assert_eq!(explored(Program::Writers(3)), (End::Complete, 6));
        // Those of readers among themselves, too.
        assert_eq!(explored(Program::Readers(3)), (End::Complete, 24));
    }

    #[test]
    fn a_deadlock_is_an_execution_that_blocks() {
        assert_eq!(explored(Program::Philosophers(3)), (End::Complete, 6));
        assert_eq!(explored(Program::Deadlock(2)), (End::Deadlock, 3));
    }
}
