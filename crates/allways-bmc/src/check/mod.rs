//! Bounded model checking: is there a run of at most so many steps to a state that is looked for?
//!
//! Deeper and deeper, or at once. Deeper and deeper, every depth is a question to the same solver, which keeps what it
//! has learnt, and the first depth at which there is a run is the smallest. At once, there is one question for the
//! greatest depth, with dummy steps for runs that are shorter.

mod query;

use crate::encode::{Beginning, Dummies, Projection, Unrolling};
use crate::program::{Goal, Program};
use crate::solve::{Answer, Embedded, Stop};
pub(crate) use query::Query;
pub use query::{Move, Run};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// How to look.
#[derive(Clone, Debug)]
pub struct Options {
    /// The largest number of steps.
    pub depth: usize,
    /// Whether to ask for the largest number of steps only.
    pub at_once: bool,
    /// Which runs are left out because they do more than is needed.
    pub projection: Projection,
    /// Whether of steps that do not depend on each other only one order counts.
    pub order: bool,
    /// Who decides.
    pub solver: Embedded,
    /// How long it may take.
    pub time: Option<Duration>,
    /// Whoever sets this stops it.
    pub stop: Arc<AtomicBool>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            depth: 20,
            at_once: false,
            projection: Projection::default(),
            order: false,
            solver: Embedded::ALL[0],
            time: None,
            stop: Arc::default(),
        }
    }
}

/// What came of looking for one goal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Found {
    /// A run to there.
    Run(Run),
    /// There is none of at most so many steps.
    Nothing {
        /// So many.
        depth: usize,
    },
    /// It was stopped. So far there is none of at most so many steps.
    Stopped {
        /// So many, if any.
        depth: Option<usize>,
    },
}

/// What came of looking.
#[derive(Clone, Debug)]
pub struct Looked {
    /// Of each goal, in order.
    pub found: Vec<Found>,
    /// How long the solver took.
    pub solving: Duration,
    /// How long everything took.
    pub elapsed: Duration,
    /// How many variables the solver got.
    pub variables: u64,
    /// How many clauses the solver got.
    pub clauses: u64,
}

/// Looks for a run to each of some goals.
pub fn look(program: &Program, goals: &[Goal], options: &Options) -> Looked {
    let begin = Instant::now();
    let stop =
        Stop { at: options.time.map(|time| begin + time), flags: vec![Arc::clone(&options.stop)] };
    let dummies = if options.at_once { Dummies::Last } else { Dummies::None };
    let unrolling = Unrolling::new(program, Beginning::Initial, dummies);
    let mut query = Query::new(unrolling, options.solver);
    let mut found = vec![Found::Stopped { depth: None }; goals.len()];
    loop {
        let depth = query.unrolling.depth();
        if !options.at_once || depth == options.depth {
            for (goal, found) in goals.iter().zip(&mut found) {
                if matches!(found, Found::Run(_)) {
                    continue;
                }
                match ask(&mut query, goal, options.projection, &stop) {
                    Answer::Met => *found = Found::Run(query.run(goal)),
                    Answer::Unmet => *found = Found::Stopped { depth: Some(depth) },
                    Answer::Stopped => {}
                }
            }
        }
        let over = found.iter().all(|found| matches!(found, Found::Run(_)));
        if over || depth == options.depth || stop.is_due() {
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
    Looked { found, solving: query.solving, elapsed: begin.elapsed(), variables, clauses }
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
    // What was asked of this state is of no use for others.
    query.require(!active);
    answer
}
