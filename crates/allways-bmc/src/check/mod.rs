//! Bounded model checking: is there a run of at most so many steps to a state that is looked for?
//!
//! Deeper and deeper, or at once. Deeper and deeper, every depth is a question to the same solver, which keeps what it
//! has learnt, and the first depth at which there is a run is the smallest. At once, there is one question for the
//! greatest depth, with dummy steps for runs that are shorter.
//!
//! Whatever a solver finds is performed by the interpreter before it is reported.
//!
//! | file | what |
//! |---|---|
//! | `query.rs` | an unrolling and a solver that has its clauses |
//! | `split.rs` | which conditions are looked for in which unrolling |
//! | `deepen.rs` | asks a solver that is compiled in |
//! | `external.rs` | asks a solver that is a process |
//! | `prove.rs` | whether longer runs have anything new to show |
//! | `all.rs` | all runs, not only one |
//! | `portfolio.rs` | several ways at once, and the first answer counts |

mod all;
mod deepen;
mod external;
mod portfolio;
mod prove;
mod query;
mod split;

use crate::encode::Projection;
use crate::program::{Goal, Program};
use crate::run::{Interpreter, Run};
use crate::smt::Theory;
use crate::solve::{Embedded, Stop};
pub use all::all;
pub use prove::Proof;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// How to look.
///
/// ```
/// let options = allways_bmc::check::Options { depth: 30, ..Default::default() };
/// assert!(!options.at_once);
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    /// The largest number of steps.
    pub depth: usize,
    /// The smallest number of steps to ask for: that there is no run with fewer is taken for granted, but not by a proof.
    pub from: usize,
    /// Whether to ask for the largest number of steps only.
    pub at_once: bool,
    /// Which runs are left out because they do more than is needed.
    pub projection: Projection,
    /// Whether to look with and without projection at once; then `projection` is the one of the two.
    pub portfolio: bool,
    /// Whether of steps that do not depend on each other only one order counts.
    pub order: bool,
    /// Whether to prove that longer runs show nothing new, either.
    pub prove: bool,
    /// Who decides.
    pub solver: Solver,
    /// How long it may take.
    pub time: Option<Duration>,
    /// Whoever sets one of these stops it.
    pub stop: Vec<Arc<AtomicBool>>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            depth: 20,
            from: 0,
            at_once: false,
            projection: Projection::default(),
            portfolio: false,
            order: false,
            prove: false,
            solver: Solver::Embedded(Embedded::ALL[0]),
            time: None,
            stop: Vec::new(),
        }
    }
}

impl Options {
    fn stop(&self, begin: Instant) -> Stop {
        Stop { at: self.time.map(|time| begin + time), flags: self.stop.clone() }
    }
}

/// Who decides.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Solver {
    /// A solver that is compiled in.
    Embedded(Embedded),
    /// Any SMT-LIB 2 solver, as a process.
    External {
        /// Its program, which is given the name of a file.
        program: PathBuf,
        /// What the formula is made of.
        theory: Theory,
    },
}

/// A run to a goal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Witness {
    /// The run.
    pub run: Run,
    /// The inputs with which the goal is met in the last state, if it has any.
    pub inputs: Vec<i64>,
}

/// What came of looking for one goal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Found {
    /// A run to there.
    Run(Witness),
    /// There is none, however long.
    Never(Proof),
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

impl Found {
    /// Whether there is nothing more to find out.
    fn is_settled(&self) -> bool {
        matches!(self, Found::Run(_) | Found::Never(_))
    }
}

/// What came of looking.
#[derive(Clone, Debug)]
pub struct Looked {
    /// Of each goal, in order.
    pub found: Vec<Found>,
    /// Whether it was the way with projection that answered.
    pub projected: bool,
    /// How long the solver took.
    pub solving: Duration,
    /// How long everything took.
    pub elapsed: Duration,
    /// How many variables the solver got.
    pub variables: u64,
    /// How many clauses the solver got.
    pub clauses: u64,
}

/// Looks for a run to each of some goals of a program.
///
/// `told` is called now and then with the depth that is looked at. An error is what an external solver did wrong, or
/// that a solver's run could not be performed, which is a mistake in here.
pub fn look(
    program: &Program,
    goals: &[Goal],
    options: &Options,
    told: &(dyn Fn(usize) + Sync),
) -> Result<Looked, String> {
    let begin = Instant::now();
    if let (Solver::External { .. }, true) = (&options.solver, options.prove || options.order) {
        let what = "proofs (--prove) and one order of independent steps (--order) need a solver that is compiled in";
        return Err(what.to_owned());
    }
    let mut looked = match (&options.solver, options.portfolio) {
        (_, true) => portfolio::look(program, goals, options, told)?,
        (Solver::Embedded(embedded), false) => {
            deepen::look(program, goals, options, *embedded, told)
        }
        (Solver::External { program: path, theory }, false) => {
            let external = crate::smt::External { program: path.clone() };
            external::look(program, goals, options, (&external, *theory), told)?
        }
    };
    looked.elapsed = begin.elapsed();
    for (goal, found) in goals.iter().zip(&mut looked.found) {
        if let Found::Run(witness) = found {
            perform(program, goal, witness)?;
        }
    }
    Ok(looked)
}

/// Performs a run, and says what is wrong with it; what comes after the goal is cut off.
fn perform(program: &Program, goal: &Goal, witness: &mut Witness) -> Result<(), String> {
    let mut interpreter = Interpreter::new(program);
    let name = &goal.name;
    if !interpreter.is_initial(&witness.run.initial) {
        return Err(format!("internal error: the run to `{name}` does not begin where runs do"));
    }
    let states = interpreter
        .replay(&witness.run.initial, &witness.run.steps)
        .map_err(|stuck| format!("internal error: of the run to `{name}`, {stuck}"))?;
    let last = states.last().unwrap_or(&witness.run.initial);
    if interpreter.evaluate(last, &witness.inputs, goal.target) == 0 {
        return Err(format!("internal error: the run to `{name}` does not get there"));
    }
    // Asked for at once, it may have been there before.
    let mut before = states[..witness.run.steps.len()].iter();
    let is_met = |state| interpreter.evaluate(state, &witness.inputs, goal.target) != 0;
    if let Some(steps) = before.position(is_met) {
        witness.run.steps.truncate(steps);
    }
    Ok(())
}

/// The formula of a goal as SMT-LIB 2.
pub fn smt2(program: &Program, goal: &Goal, options: &Options, theory: Theory) -> String {
    let project = options.projection != Projection::Off;
    crate::smt::Formula::new(program, goal, options.depth, project, theory).text
}

/// The formula of a goal as clauses, in the format of DIMACS.
pub fn dimacs(program: &Program, goal: &Goal, options: &Options) -> String {
    deepen::dimacs(program, goal, options)
}
