//! Random programs: what other solvers say of the thesis' formula is what enumeration of all states says.
//!
//! They need `z3` and `cvc5`, so they are ignored unless asked for.

#[path = "generated/sample.rs"]
mod sample;

use allways_bmc::check::{Found, Options, Solver, look};
use allways_bmc::run::{End, enumerate};
use allways_bmc::{Projection, Theory};
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestCaseResult, TestRunner};
use sample::{Sample, Size, programs_of};

const DEPTH: usize = 4;

/// All goals of small programs, all at once.
fn agrees(program: &str, theory: Theory) {
    let default = ProptestConfig::default();
    let (cases, rng_seed) = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => (default.cases, RngSeed::Random),
        None => (8, RngSeed::Fixed(1)),
    };
    let config = ProptestConfig { cases, rng_seed, failure_persistence: None, ..default };
    let test = |sample: Sample| -> TestCaseResult {
        let mut checked = sample.program;
        let goals = checked.goals();
        let Ok(known) = enumerate(&checked, &goals, DEPTH, 20_000) else { return Ok(()) };
        if known.end == End::Limit {
            return Ok(());
        }
        for projection in [Projection::Off, Projection::Reads] {
            let solver = Solver::External { program: program.into(), theory };
            let options =
                Options { depth: DEPTH, at_once: true, projection, solver, ..Options::default() };
            let looked = look(&checked, &goals, &options, &|_| ()).map_err(TestCaseError::fail)?;
            for (number, found) in looked.found.iter().enumerate() {
                let is_there = known.steps(number).is_some();
                let is_found = matches!(found, Found::Run(_));
                prop_assert_eq!(is_there, is_found, "{} {:?}", goals[number].name, found);
            }
        }
        Ok(())
    };
    let size = Size { processes: 3, instructions: 4, at: true };
    TestRunner::new(config).run(&programs_of(size), test).unwrap();
}

#[test]
#[ignore = "needs z3"]
fn z3_with_integers_agrees() {
    agrees("z3", Theory::Integers);
}

#[test]
#[ignore = "needs z3"]
fn z3_with_bit_vectors_agrees() {
    agrees("z3", Theory::BitVectors);
}

#[test]
#[ignore = "needs cvc5"]
fn cvc5_with_bit_vectors_agrees() {
    agrees("cvc5", Theory::BitVectors);
}

#[test]
fn a_solver_that_is_not_there_or_is_none_is_told_so() {
    let program = allways_bmc::program::Program::default();
    let mut program = program;
    let always = program.exprs.truth(true);
    program.properties.push(allways_bmc::program::Property {
        name: "anything".to_owned(),
        claim: allways_bmc::program::Claim::Reachable,
        condition: always,
        span: 0..0,
    });
    let goals = program.goals();
    for (path, sentence) in [
        ("/nowhere/solver", "cannot start the solver /nowhere/solver"),
        ("cat", "the solver cat said neither sat nor unsat"),
        ("true", "the solver true said neither sat nor unsat: nothing"),
    ] {
        let solver = Solver::External { program: path.into(), theory: Theory::Integers };
        let options = Options { depth: 1, solver, ..Options::default() };
        let error = look(&program, &goals, &options, &|_| ()).unwrap_err();
        assert!(error.starts_with(sentence), "{error}");
    }
}
