//! All runs to a goal, one after the other: each that is found is ruled out by a clause.

use super::query::Query;
use super::{Options, Solver, Witness, perform};
use crate::encode::{Beginning, Dummies, Unrolling};
use crate::program::{Goal, Program};
use crate::solve::Answer;
use std::time::Instant;

/// All runs of at most so many steps to a goal that the options leave, up to a limit; the shortest first.
///
/// Two runs are different if others move, or inputs that matter to the solver are different; initial values and other
/// inputs alone make no difference.
///
/// # Errors
///
/// If it is to be done by an external solver, or if time runs out.
pub fn all(
    program: &Program,
    goal: &Goal,
    options: &Options,
    limit: usize,
) -> Result<Vec<Witness>, String> {
    let Solver::Embedded(solver) = options.solver else {
        return Err("only solvers that are compiled in can find all runs".to_owned());
    };
    let stop = options.stop(Instant::now());
    let unrolling = Unrolling::new(program, Beginning::Initial, Dummies::None);
    let mut query = Query::new(unrolling, solver);
    let mut found = Vec::new();
    loop {
        let depth = query.unrolling.depth();
        let target = query.unrolling.condition(depth, goal.target);
        let active = query.unrolling.graph.input();
        if depth >= options.from {
            query.unrolling.project(options.projection, &[goal.target], active);
            while found.len() < limit {
                match query.ask(&[active, target], &stop) {
                    Answer::Met => {
                        let witness = query.witness(goal);
                        // A run that gets there before its end is another one.
                        perform(program, goal, &mut witness.clone())?;
                        let mut other = vec![!active];
                        other.extend(query.decided.iter().map(|&lit| !lit));
                        query.unrolling.constraints.push(other);
                        found.push(witness);
                    }
                    Answer::Unmet => break,
                    Answer::Stopped => return Err("time ran out".to_owned()),
                }
            }
        }
        if depth == options.depth || found.len() == limit {
            return Ok(found);
        }
        query.require(!active);
        query.unrolling.extend();
        if options.order {
            query.unrolling.keep_order();
        }
    }
}
