//! Asks a solver that is compiled in: deeper and deeper, or at once.

use super::prove::Prover;
use super::split::{Task, tasks};
use super::{Found, Looked, Options, Proof};
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
    let mut tasks = tasks(program, goals, options, solver, &stop);
    let mut prover = options.prove.then(|| Prover::new(program, goals, solver));
    let mut found = vec![Found::Stopped { depth: None }; goals.len()];
    let mut depth = 0;
    loop {
        // A proof takes nothing for granted.
        let from = if options.prove { 0 } else { options.from };
        if depth == options.depth || (depth >= from && !options.at_once) {
            told(depth);
            ask(&mut tasks, goals, options, depth, &mut found, &stop);
            if options.prove {
                exhaust(&mut tasks, depth, &mut found, &stop);
            }
            if let Some(prover) = &mut prover {
                prover.prove(depth, &mut found, &stop);
            }
        }
        if found.iter().all(Found::is_settled) || depth == options.depth || stop.is_due() {
            break;
        }
        for task in tasks.iter_mut().filter(|task| !task.is_exhausted && !stop.is_due()) {
            task.extend(options);
        }
        // Not all of them may be one step longer.
        if stop.is_due() {
            break;
        }
        depth += 1;
    }
    for found in &mut found {
        if *found == (Found::Stopped { depth: Some(options.depth) }) {
            *found = Found::Nothing { depth: options.depth };
        }
    }
    let sizes = tasks.iter().map(|task| task.query.size());
    let (variables, clauses) = sizes.fold((0, 0), |(v, c), size| (v + size.0, c + size.1));
    let solving: Duration = tasks.iter().map(|task| task.query.solving).sum();
    let proving = prover.map_or(Duration::ZERO, |prover| prover.solving());
    Looked {
        found,
        projected: options.projection != Projection::Off,
        solving: solving + proving,
        elapsed: begin.elapsed(),
        variables,
        clauses,
    }
}

/// Looks for runs of so many steps to whatever was not found yet.
fn ask(
    tasks: &mut [Task<'_>],
    goals: &[Goal],
    options: &Options,
    depth: usize,
    found: &mut [Found],
    stop: &Stop,
) {
    // Of a goal that is looked for in several places, it is known that there is no run once all of them say so.
    let mut is_unmet = vec![true; goals.len()];
    for task in tasks.iter_mut().filter(|task| !task.is_exhausted) {
        for wanted in 0..task.wanted.len() {
            let goal = task.wanted[wanted].goal;
            if found[goal].is_settled() {
                continue;
            }
            match task.ask(wanted, options.projection, stop) {
                Answer::Met => found[goal] = Found::Run(task.query.witness(&goals[goal])),
                Answer::Unmet => {}
                Answer::Stopped => is_unmet[goal] = false,
            }
        }
    }
    for (found, is_unmet) in found.iter_mut().zip(is_unmet) {
        if is_unmet && !found.is_settled() {
            *found = Found::Stopped { depth: Some(depth) };
        }
    }
}

/// Notes which goals cannot be reached by longer runs, as there are none of steps that they can depend on.
fn exhaust(tasks: &mut [Task<'_>], depth: usize, found: &mut [Found], stop: &Stop) {
    let is_open = |found: &Found| *found == Found::Stopped { depth: Some(depth) };
    let mut is_exhausted = vec![true; found.len()];
    for task in tasks {
        if task.wanted.iter().any(|wanted| is_open(&found[wanted.goal])) {
            task.exhaust(stop);
        }
        for wanted in &task.wanted {
            is_exhausted[wanted.goal] &= task.is_exhausted;
        }
    }
    for (found, is_exhausted) in found.iter_mut().zip(is_exhausted) {
        if is_exhausted && is_open(found) {
            *found = Found::Never(Proof::Depends { depth: depth.saturating_sub(1) });
        }
    }
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
    unrolling.project(options.projection, &[goal.target], TRUE);
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
