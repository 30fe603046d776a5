//! Several explore together: the same runs, whoever makes them.

use crate::popl;
use allways::{Options, Reduction};
use allways_threads::Program;

fn explored(program: &Program, reduction: Reduction, threads: usize) -> (u64, u64) {
    let options = Options { reduction, threads, ..Options::default() };
    let outcome = program.try_check(&options).unwrap();
    assert!(outcome.assert_holds().complete);
    let statistics = &outcome.statistics;
    (statistics.runs.unwrap(), statistics.blocked_runs.unwrap())
}

#[test]
fn a_team_makes_each_run_once() {
    // Nothing is optimised in a debug build.
    let rounds = if cfg!(debug_assertions) { 1 } else { 5 };
    for round in 0..rounds {
        let mut programs = vec![
            (Program::new(|| popl::writers_threads(7)), 5_040),
            (Program::new(|| popl::locked_threads(4, 2)), 2_520),
            (Program::new(|| popl::last_zero_threads(10)), 3_328),
        ];
        if !cfg!(debug_assertions) {
            programs.push((Program::new(|| popl::indexer_threads(15)), 4_096));
            programs.push((Program::new(|| popl::readers_threads(12)), 4_096));
        }
        for (program, runs) in programs {
            for threads in [1, 2, 3] {
                let (made, in_vain) = explored(&program, Reduction::Optimal, threads);
                assert_eq!(made, runs, "{threads} threads");
                // Alone, no run is made in vain.
                assert!(threads > 1 || in_vain == 0);
                // It makes many runs in vain.
                if round == 0 && runs != 3_328 {
                    let (made, _) = explored(&program, Reduction::Source, threads);
                    assert_eq!(made, runs, "{threads} threads");
                }
            }
        }
    }
}
