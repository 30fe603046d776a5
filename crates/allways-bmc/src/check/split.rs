//! Which conditions are looked for in which unrolling.
//!
//! Without projection there is one unrolling for all goals. With it, goals are split into conditions of which one must
//! hold, and each is looked for among the instructions that it can depend on ([`crate::footprint`]); conditions that depend on
//! the same ones share an unrolling.

use super::Options;
use super::query::Query;
use crate::circuit::Lit;
use crate::encode::{Beginning, Dummies, Projection, Unrolling};
use crate::footprint::{Footprints, Part, Seed, Slice, parts, slice};
use crate::program::{ExprId, Goal, Program};
use crate::solve::{Answer, Embedded, Stop};
use rustc_hash::FxHashMap;

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
    stop: &Stop,
) -> Vec<Task<'a>> {
    let dummies = if options.at_once { Dummies::Last } else { Dummies::None };
    let unrolling = || Unrolling::new(program, Beginning::Initial, dummies);
    // What is proved is proved of any number of steps.
    let depth = if options.prove { usize::MAX } else { options.depth };
    let is_on = options.projection != Projection::Off;
    let footprints = is_on.then(|| Footprints::new(program, depth, stop)).flatten();
    let Some(footprints) = footprints else {
        let whole = |goal: &Goal| vec![Part { expr: goal.target, is_negated: false }];
        let goals = goals.iter().enumerate();
        let wanted = goals.map(|(number, goal)| Wanted { goal: number, parts: whole(goal) });
        return vec![Task::new(unrolling(), wanted.collect(), solver)];
    };
    let mut slices = Slices::new(&footprints);
    let mut sliced: Vec<Vec<Wanted>> = Vec::new();
    for (number, goal) in goals.iter().enumerate() {
        for part in parts(&program.exprs, goal.target) {
            let place = slices.place(&Seed::new(&footprints, goal.origin, part.expr));
            sliced.resize_with(slices.all.len(), Vec::new);
            let wanted = &mut sliced[place];
            // Parts of one goal come one after the other.
            match wanted.last_mut().filter(|wanted| wanted.goal == number) {
                Some(wanted) => wanted.parts.push(part),
                None => wanted.push(Wanted { goal: number, parts: vec![part] }),
            }
        }
    }
    let sliced = slices.all.into_iter().zip(sliced);
    sliced.map(|(slice, wanted)| Task::new(unrolling().with_slice(slice), wanted, solver)).collect()
}

/// The slices of everything that is looked for; those that are nearly the same are made one, and of very many the last.
///
/// To look for something in more than it can depend on is right: a union of slices has all projections of each, and
/// the first steps of a run in it are a run in it.
struct Slices<'f, 'a> {
    footprints: &'f Footprints<'a>,
    /// At most so many.
    most: usize,
    all: Vec<Slice>,
    known: FxHashMap<Seed, usize>,
}

/// So many slices, and no more, whatever the program.
const MAX_SLICES: usize = 32;

/// So many cells in all unrollings together, in one state.
const MAX_CELLS: usize = 50_000;

impl<'f, 'a> Slices<'f, 'a> {
    fn new(footprints: &'f Footprints<'a>) -> Self {
        let most = (MAX_CELLS / footprints.cell_count().max(1)).clamp(1, MAX_SLICES);
        Slices { footprints, most, all: Vec::new(), known: FxHashMap::default() }
    }

    /// Where the slice of this is.
    fn place(&mut self, seed: &Seed) -> usize {
        if let Some(&place) = self.known.get(seed) {
            return place;
        }
        let slice = slice(self.footprints, seed);
        let nearly = self.all.iter().position(|known| is_nearly(known, &slice));
        let last = (self.all.len() == self.most).then(|| self.most - 1);
        let place = match nearly.or(last) {
            Some(place) => {
                let known = self.all[place].iter_mut().flatten();
                known.zip(slice.iter().flatten()).for_each(|(known, is_in)| *known |= is_in);
                place
            }
            None => {
                self.all.push(slice);
                self.all.len() - 1
            }
        };
        self.known.insert(seed.clone(), place);
        place
    }
}

/// Whether both together have at most half as many instructions more as the smaller one has.
fn is_nearly(one: &Slice, other: &Slice) -> bool {
    let both = || one.iter().flatten().zip(other.iter().flatten());
    let count = |is_in: &dyn Fn((&bool, &bool)) -> bool| both().filter(|b| is_in(*b)).count();
    let smaller = count(&|(a, _)| *a).min(count(&|(_, b)| *b));
    2 * count(&|(a, b)| *a || *b) <= 3 * smaller
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
