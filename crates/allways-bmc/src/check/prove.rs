//! Proofs that no longer run shows anything new, so that a goal is never reached.
//!
//! At each depth `d`, once no run of at most `d` steps reaches the goal, there are three ways to be done:
//! - No run has `d + 1` steps: then there are no longer ones.
//! - No run of `d + 1` steps is without a state that it was in before (the completeness threshold: the longest
//!   loop-free run). A state that can be reached at all is reached without going in circles, so within `d` steps.
//! - Induction over `d + 1` steps: of any `d + 1` states in a row, all different and none of them one that is looked
//!   for, but otherwise any, reachable or not, no step leads to one that is. As the first `d + 1` states of any run
//!   are none, no later one is.
//!
//! None of this uses projections: a projection's first steps need not be one, so that there is none of some length says
//! nothing of longer ones. But a projection has only steps that the goal can depend on ([`crate::footprint`]), and of runs of
//! such steps, the first steps are one, too: so there is a fourth way ([`super::deepen`]):
//! - No run of steps that the goal can depend on has `d + 1` of them: then there is no projection that is longer.

use super::Found;
use super::query::Query;
use crate::encode::{Beginning, Dummies, Unrolling};
use crate::program::{Goal, Program};
use crate::solve::{Answer, Embedded, Stop};
use std::time::Duration;

/// Why no run reaches a goal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Proof {
    /// No run has more steps than this.
    Ends {
        /// So many.
        depth: usize,
    },
    /// Every longer run is in some state twice.
    Repeats {
        /// The largest number of steps without a state twice.
        depth: usize,
    },
    /// No run has more steps that what is looked for can depend on.
    Depends {
        /// So many.
        depth: usize,
    },
    /// By induction over so many steps.
    Induction {
        /// So many.
        steps: usize,
    },
}

pub(super) struct Prover<'a> {
    goals: &'a [Goal],
    /// Runs without a state twice, from the beginning.
    forward: Query<'a>,
    /// The same, from anywhere.
    backward: Query<'a>,
}

impl<'a> Prover<'a> {
    pub fn new(program: &'a Program, goals: &'a [Goal], solver: Embedded) -> Self {
        let query =
            |beginning| Query::new(Unrolling::new(program, beginning, Dummies::None), solver);
        Prover { goals, forward: query(Beginning::Initial), backward: query(Beginning::Anywhere) }
    }

    pub fn solving(&self) -> Duration {
        self.forward.solving + self.backward.solving
    }

    /// Tries to prove of each goal that no run of at most `depth` steps reaches that none does.
    pub fn prove(&mut self, depth: usize, found: &mut [Found], stop: &Stop) {
        let is_open = |found: &Found| *found == Found::Stopped { depth: Some(depth) };
        for query in [&mut self.forward, &mut self.backward] {
            while query.unrolling.depth() <= depth {
                query.unrolling.extend();
                query.unrolling.keep_distinct();
            }
        }
        if !found.iter().any(is_open) {
            return;
        }
        if self.forward.ask(&[], stop) == Answer::Unmet {
            // Why: because nothing can be done any more, or because of states that were there before?
            let proof = match self.ends(depth, stop) {
                true => Proof::Ends { depth },
                false => Proof::Repeats { depth },
            };
            for found in found.iter_mut().filter(|found| is_open(found)) {
                *found = Found::Never(proof);
            }
            return;
        }
        for (goal, found) in self.goals.iter().zip(found).filter(|(_, found)| is_open(found)) {
            let unrolling = &mut self.backward.unrolling;
            let mut assumptions: Vec<_> =
                (0..=depth).map(|state| !unrolling.condition(state, goal.target)).collect();
            // Of a check with inputs, those of the states before are somebody's choice: taken to be harmless, they
            // would prove too much.
            if !goal.inputs.is_empty() {
                continue;
            }
            assumptions.push(unrolling.condition(depth + 1, goal.target));
            if self.backward.ask(&assumptions, stop) == Answer::Unmet {
                *found = Found::Never(Proof::Induction { steps: depth + 1 });
            }
        }
    }

    /// Whether no run has more than so many steps.
    fn ends(&self, depth: usize, stop: &Stop) -> bool {
        let unrolling = &self.forward.unrolling;
        let fresh = Unrolling::new(unrolling.program, Beginning::Initial, Dummies::None);
        let mut query = Query::new(fresh, self.forward.solver);
        for _ in 0..=depth {
            query.unrolling.extend();
        }
        query.ask(&[], stop) == Answer::Unmet
    }
}
