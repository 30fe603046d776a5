//! Programs with known numbers of executions.

mod endings;
mod loops;
mod outside;
mod popl;
mod reviewed;
mod schedules;
mod together;
mod trouble;

use allways::{Engine, Options, Outcome, Reduction};
use allways_threads::Program;

/// Explores a program alone, with a reduction.
pub fn explore(main: impl Fn() + Send + Sync + 'static, reduction: Reduction) -> Outcome {
    let options = Options { engine: Engine::Dpor, reduction, threads: 1, ..Options::default() };
    Program::new(main).try_check(&options).unwrap()
}

/// The number of executions of a program that holds.
pub fn executions(main: impl Fn() + Send + Sync + 'static) -> u64 {
    let outcome = explore(main, Reduction::Optimal);
    outcome.assert_holds();
    assert!(outcome.complete);
    assert_eq!(outcome.statistics.blocked_runs, Some(0));
    outcome.statistics.runs.unwrap()
}
