//! Asks a solver that is compiled in: deeper and deeper, or at once.

use super::prove::Prover;
use super::query::Query;
use super::{Found, Looked, Options};
use crate::circuit::{Clauses, Sink, TRUE};
use crate::encode::{Beginning, Dummies, Projection, Unrolling};
use crate::program::{Goal, Program};
use crate::solve::{Answer, Embedded, Stop};
use std::fmt::Write;
use std::time::{Duration, Instant};

pub(super) fn look(
    program: &Program,
    goals: &[Goal],
    options: &Options,
    solver: Embedded,
    told: &(dyn Fn(usize) + Sync),
) -> Looked {
    let begin = Instant::now();
    let stop = options.stop(begin);
    let dummies = if options.at_once { Dummies::Last } else { Dummies::None };
    let unrolling = Unrolling::new(program, Beginning::Initial, dummies);
    let mut query = Query::new(unrolling, solver);
    let mut prover = options.prove.then(|| Prover::new(program, goals, solver));
    let mut found = vec![Found::Stopped { depth: None }; goals.len()];
    loop {
        let depth = query.unrolling.depth();
        // A proof takes nothing for granted.
        let from = if options.prove { 0 } else { options.from };
        if depth == options.depth || (depth >= from && !options.at_once) {
            told(depth);
            for (goal, found) in goals.iter().zip(&mut found) {
                if found.is_settled() {
                    continue;
                }
                match ask(&mut query, goal, options.projection, &stop) {
                    Answer::Met => *found = Found::Run(query.witness(goal)),
                    Answer::Unmet => *found = Found::Stopped { depth: Some(depth) },
                    Answer::Stopped => {}
                }
            }
            if let Some(prover) = &mut prover {
                prover.prove(depth, &mut found, &stop);
            }
        }
        if found.iter().all(Found::is_settled) || depth == options.depth || stop.is_due() {
            break;
        }
        query.unrolling.extend();
        if options.order {
            query.unrolling.keep_order();
        }
    }
    for found in &mut found {
        if *found == (Found::Stopped { depth: Some(options.depth) }) {
            *found = Found::Nothing { depth: options.depth };
        }
    }
    let (variables, clauses) = query.size();
    let proving = prover.map_or(Duration::ZERO, |prover| prover.solving());
    Looked {
        found,
        projected: options.projection != Projection::Off,
        solving: query.solving + proving,
        elapsed: begin.elapsed(),
        variables,
        clauses,
    }
}

/// Whether there is a run to a goal in the last state.
fn ask(query: &mut Query<'_>, goal: &Goal, projection: Projection, stop: &Stop) -> Answer {
    let depth = query.unrolling.depth();
    let target = query.unrolling.condition(depth, goal.target);
    if target.constant() == Some(false) {
        return Answer::Unmet;
    }
    let active = query.unrolling.graph.input();
    query.unrolling.project(projection, goal.target, active);
    let answer = query.ask(&[active, target], stop);
    if answer != Answer::Met {
        // What was asked of this state is of no use for others.
        query.require(!active);
    }
    answer
}

/// The clauses of a goal for the greatest depth, as text.
pub(super) fn dimacs(program: &Program, goal: &Goal, options: &Options) -> String {
    let mut unrolling = Unrolling::new(program, Beginning::Initial, Dummies::Last);
    for _ in 0..options.depth {
        unrolling.extend();
        if options.order {
            unrolling.keep_order();
        }
    }
    let target = unrolling.condition(options.depth, goal.target);
    unrolling.project(options.projection, goal.target, TRUE);
    unrolling.constraints.push(vec![target]);
    let (mut clauses, mut text) = (Clauses::new(), Collected::default());
    for constraint in std::mem::take(&mut unrolling.constraints) {
        let graph = &unrolling.graph;
        let lits: Vec<i32> =
            constraint.into_iter().map(|lit| clauses.lit(graph, &mut text, lit)).collect();
        clauses.add(&mut text, &lits);
    }
    let (name, Collected(text)) = (goal.name.replace(['\n', '\r'], " "), text);
    format!("c {name}\np cnf {} {}\n{text}", clauses.count, clauses.clauses)
}

/// Clauses as lines.
#[derive(Default)]
struct Collected(String);

impl Sink for Collected {
    fn clause(&mut self, lits: &[i32]) {
        for lit in lits {
            let _ = write!(self.0, "{lit} ");
        }
        self.0.push_str("0\n");
    }
}
