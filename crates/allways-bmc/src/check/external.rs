//! Asks a solver that is a process: for each depth a formula of its own, or one for the greatest.

use super::{Found, Looked, Options};
use crate::encode::Projection;
use crate::program::{Goal, Program};
use crate::smt::{External, Formula, Theory};
use crate::solve::Answer;
use std::time::{Duration, Instant};

pub(super) fn look(
    program: &Program,
    goals: &[Goal],
    options: &Options,
    (solver, theory): (&External, Theory),
    told: &(dyn Fn(usize) + Sync),
) -> Result<Looked, String> {
    let begin = Instant::now();
    let stop = options.stop(begin);
    let mut found = vec![Found::Stopped { depth: None }; goals.len()];
    let mut solving = Duration::ZERO;
    let first = if options.at_once { options.depth } else { options.from.min(options.depth) };
    let project = options.projection != Projection::Off;
    for depth in first..=options.depth {
        told(depth);
        for (goal, found) in goals.iter().zip(&mut found) {
            if found.is_settled() || stop.is_due() {
                continue;
            }
            let formula = Formula::new(program, goal, depth, project, theory);
            let asked = Instant::now();
            let (answer, values) = solver.solve(&formula.text, &formula.question(), &stop)?;
            solving += asked.elapsed();
            match answer {
                Answer::Met => {
                    let witness = formula.witness(&values, goal);
                    *found = Found::Run(witness.ok_or("the solver's values are no run")?);
                }
                Answer::Unmet => *found = Found::Stopped { depth: Some(depth) },
                Answer::Stopped => {}
            }
        }
    }
    for found in &mut found {
        if *found == (Found::Stopped { depth: Some(options.depth) }) {
            *found = Found::Nothing { depth: options.depth };
        }
    }
    let elapsed = begin.elapsed();
    Ok(Looked { found, projected: project, solving, elapsed, variables: 0, clauses: 0 })
}
