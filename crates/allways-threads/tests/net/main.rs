//! Processes that talk over the network, with known numbers of executions.

mod datagrams;
mod random;
mod reads;
mod same;
mod streams;
mod trouble;

use allways::{Cause, Engine, Options, Outcome, Trouble, Verdict};
use allways_threads::Program;

fn explore(program: &Program) -> Outcome {
    // One who explores alone makes no run in vain.
    let options = Options { engine: Engine::Dpor, threads: 1, ..Options::default() };
    program.try_check(&options).unwrap()
}

/// The number of executions of a program that holds.
fn executions(program: &Program) -> u64 {
    let outcome = explore(program);
    outcome.assert_holds();
    assert!(outcome.complete);
    assert_eq!(outcome.statistics.blocked_runs, Some(0));
    outcome.statistics.runs.unwrap()
}

fn violated(program: &Program) -> Outcome {
    let outcome = explore(program);
    assert_eq!(outcome.verdict, Verdict::Violated);
    outcome
}

fn trouble(outcome: &Outcome) -> Option<Trouble> {
    match outcome.violation.as_ref().unwrap().cause {
        Cause::Trouble(trouble) => Some(trouble),
        _ => None,
    }
}
