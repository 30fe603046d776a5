//! Random programs: what solvers say of them is what enumeration of all states says.
//!
//! For every goal, whether there is a run of at most so many steps to it, and of how many at least; and for proofs
//! that there is none, however long, that no state at all shows it. `PROPTEST_CASES` sets how many programs are
//! generated.

#[path = "generated/sample.rs"]
mod sample;

use allways_bmc::check::{Found, Options, Proof, Solver, look};
use allways_bmc::program::{Goal, Program};
use allways_bmc::run::{End, Enumeration, enumerate};
use allways_bmc::{Embedded, Projection};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use sample::{Size, programs_of};

/// More states than this are not looked at.
const LIMIT: usize = 20_000;
const DEPTH: usize = 7;

fn cases(count: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    let (cases, rng_seed) = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => (default.cases, RngSeed::Random),
        None => (count, RngSeed::Fixed(1)),
    };
    ProptestConfig {
        cases,
        rng_seed,
        failure_persistence: None,
        max_global_rejects: 100_000,
        ..default
    }
}

/// Every way to look for something with a solver that is compiled in.
fn ways() -> Vec<Options> {
    let mut ways = Vec::new();
    for projection in [Projection::Off, Projection::Reads, Projection::Live] {
        for order in [false, true] {
            for at_once in [false, true] {
                ways.push(Options {
                    depth: DEPTH,
                    projection,
                    order,
                    at_once,
                    ..Options::default()
                });
            }
        }
    }
    for solver in &Embedded::ALL[1..] {
        let solver = Solver::Embedded(*solver);
        ways.push(Options { depth: DEPTH, solver, ..Options::default() });
    }
    ways.push(Options { depth: DEPTH, portfolio: true, ..Options::default() });
    ways
}

/// What is found is what is there.
fn compare(
    program: &Program,
    goals: &[Goal],
    known: &Enumeration,
    options: &Options,
) -> Result<(), TestCaseError> {
    let looked = look(program, goals, options, &|_| ()).map_err(TestCaseError::fail)?;
    for ((number, goal), found) in goals.iter().enumerate().zip(&looked.found) {
        let context = format!("{} by {options:?}: {found:?}", goal.name);
        match (known.steps(number), found) {
            // The run was performed already.
            (Some(steps), Found::Run(witness)) => {
                let length = witness.run.steps.len();
                prop_assert!(length >= steps, "{}", context);
                prop_assert!(options.at_once || length == steps, "{} not {}", context, steps);
            }
            (None, Found::Nothing { depth }) => prop_assert_eq!(*depth, options.depth),
            (None, Found::Never(_)) if known.end == End::Exhausted => {}
            (steps, _) => prop_assert!(false, "{}, but enumeration says {:?}", context, steps),
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn solvers_find_what_is_there(sample in programs_of(Size::default())) {
        let mut program = sample.program;
        let goals = program.goals();
        let Ok(known) = enumerate(&program, &goals, DEPTH, LIMIT) else { return Err(TestCaseError::reject("large")) };
        prop_assume!(known.end != End::Limit);
        for options in ways() {
            compare(&program, &goals, &known, &options)?;
        }
    }

    #[test]
    fn proofs_are_right(sample in programs_of(Size { processes: 2, instructions: 3, at: true })) {
        let mut program = sample.program;
        let goals = program.goals();
        let Ok(known) = enumerate(&program, &goals, 1_000, 3_000) else { return Err(TestCaseError::reject("large")) };
        prop_assume!(known.end == End::Exhausted);
        let options = Options { depth: 9, prove: true, ..Options::default() };
        let looked = look(&program, &goals, &options, &|_| ()).map_err(TestCaseError::fail)?;
        for (number, found) in looked.found.iter().enumerate() {
            match (found, known.steps(number)) {
                (Found::Never(Proof::Ends { depth }), None) => prop_assert!(*depth >= known.depth()),
                (Found::Never(_), None) => {}
                (Found::Never(_), Some(steps)) => {
                    prop_assert!(false, "{} is proved never to be: after {steps} it is", goals[number].name);
                }
                (Found::Run(witness), steps) => prop_assert_eq!(Some(witness.run.steps.len()), steps),
                (Found::Nothing { .. }, steps) => prop_assert!(steps.is_none_or(|steps| steps > 9)),
                (Found::Stopped { .. }, _) => prop_assert!(false, "nobody stops it"),
            }
        }
    }
}
