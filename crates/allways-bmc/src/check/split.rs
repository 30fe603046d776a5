//! Which conditions are looked for in which unrolling.
//!
//! Without projection there is one unrolling for all goals. With it, goals are split into conditions of which one must
//! hold, and each is looked for among the instructions that it can depend on ([`crate::footprint`]); conditions that depend on
//! the same ones share an unrolling.

use super::Options;
use super::query::Query;
use crate::circuit::Lit;
use crate::encode::{Beginning, Dummies, Projection, Unrolling};
use crate::footprint::{Footprints, Part, Slice, parts, slice};
use crate::program::{ExprId, Goal, Program};
use crate::solve::{Answer, Embedded, Stop};

/// An unrolling, and what is looked for in it.
pub(super) struct Task<'a> {
    pub query: Query<'a>,
    pub wanted: Vec<Wanted>,
    /// Whether it is known that there are no longer runs.
    pub is_exhausted: bool,
}

/// Conditions of which one must hold, and the goal that they are of.
pub(super) struct Wanted {
    pub goal: usize,
    parts: Vec<Part>,
}

/// Everything that is to be looked for.
pub(super) fn tasks<'a>(
    program: &'a Program,
    goals: &[Goal],
    options: &Options,
    solver: Embedded,
) -> Vec<Task<'a>> {
    let dummies = if options.at_once { Dummies::Last } else { Dummies::None };
    let unrolling = || Unrolling::new(program, Beginning::Initial, dummies);
    if options.projection == Projection::Off {
        let whole = |goal: &Goal| vec![Part { expr: goal.target, is_negated: false }];
        let goals = goals.iter().enumerate();
        let wanted = goals.map(|(number, goal)| Wanted { goal: number, parts: whole(goal) });
        return vec![Task::new(unrolling(), wanted.collect(), solver)];
    }
    // What is proved is proved of any number of steps.
    let depth = if options.prove { usize::MAX } else { options.depth };
    let footprints = Footprints::new(program, depth);
    let mut sliced: Vec<(Slice, Vec<Wanted>)> = Vec::new();
    for (number, goal) in goals.iter().enumerate() {
        for part in parts(&program.exprs, goal.target) {
            let slice = slice(&footprints, goal.origin, part.expr);
            let place = sliced.iter().position(|(known, _)| *known == slice);
            let place = place.unwrap_or_else(|| {
                sliced.push((slice, Vec::new()));
                sliced.len() - 1
            });
            let wanted = &mut sliced[place].1;
            match wanted.iter_mut().find(|wanted| wanted.goal == number) {
                Some(wanted) => wanted.parts.push(part),
                None => wanted.push(Wanted { goal: number, parts: vec![part] }),
            }
        }
    }
    let sliced = sliced.into_iter();
    sliced.map(|(slice, wanted)| Task::new(unrolling().with_slice(slice), wanted, solver)).collect()
}

impl<'a> Task<'a> {
    fn new(unrolling: Unrolling<'a>, wanted: Vec<Wanted>, solver: Embedded) -> Self {
        Task { query: Query::new(unrolling, solver), wanted, is_exhausted: false }
    }

    /// One step more.
    pub fn extend(&mut self, options: &Options) {
        self.query.unrolling.extend();
        if options.order {
            self.query.unrolling.keep_order();
        }
    }

    /// Finds out whether there is any run of as many steps as there are. That all runs of a program end is for others to prove.
    pub fn exhaust(&mut self, stop: &Stop) {
        let is_known = self.is_exhausted || !self.query.unrolling.is_sliced();
        self.is_exhausted |= !is_known && self.query.ask(&[], stop) == Answer::Unmet;
    }

    /// Whether there is a run to what is wanted in the last state.
    pub fn ask(&mut self, wanted: usize, projection: Projection, stop: &Stop) -> Answer {
        let Task { query, wanted: all, .. } = self;
        let parts = &all[wanted].parts;
        let depth = query.unrolling.depth();
        let conditions: Vec<Lit> = parts
            .iter()
            .map(|part| match query.unrolling.condition(depth, part.expr) {
                lit if part.is_negated => !lit,
                lit => lit,
            })
            .collect();
        let target = query.unrolling.graph.any(conditions);
        if target.constant() == Some(false) {
            return Answer::Unmet;
        }
        let exprs: Vec<ExprId> = parts.iter().map(|part| part.expr).collect();
        let active = query.unrolling.graph.input();
        query.unrolling.project(projection, &exprs, active);
        let answer = query.ask(&[active, target], stop);
        if answer != Answer::Met {
            // What was asked of this state is of no use for others.
            query.require(!active);
        }
        answer
    }
}
