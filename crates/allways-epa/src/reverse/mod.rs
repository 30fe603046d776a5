//! Could two steps that depend on each other come in the other order? The second condition of pseudo-determinism
//! (thesis, definition 5) and its check (section 5.4.3, "Reversibility Check").
//!
//! The thesis writes a formula and asks an SMT solver: is there an order of all steps of the trace, in which
//!
//! - each thread's steps come in their order,
//! - a thread begins after it was created, and is joined after it ends,
//! - one who was woken from a condition variable ends to wait after the signal, if there is but one in the trace that can have
//!   woken it (that it began to wait before the signal is not asked for: who comes later may not wait at all),
//! - everybody arrives at a barrier before anybody leaves it, round by round,
//! - what is received from a channel was sent before,
//! - critical sections of the same lock do not overlap, unless both share it; waiting for a condition variable ends a
//!   section and begins another,
//!
//! and in which two accesses to the same bytes by different threads, at least one a write, do not come as in the trace? Values that
//! are read do not matter: the thesis shows that up to the first reversal everything reads what it read in the trace, so that
//! an order in which something is reversed has a beginning that can really happen, with a reversal right after it.
//!
//! Only that beginning matters, so here it is asked for it, and not for an order of all steps: is there a **beginning of a run**, some first
//! steps of each thread, in an order that follows the rules, in which there is the second of two such accesses and not the first? Each
//! order of all steps with a reversal has such a beginning. The other way round it is not so: after the reversal threads may not be able to do
//! all that they did in the trace, because locks that were taken the other way round block them, or because a lock is never given back
//! in the trace. The thesis' formula does not hold then, and the program can still read something else: so it is too weak.
//!
//! Here the same question is answered without asking for all pairs at once:
//!
//! 1. Only pairs without a write between them are looked at (`access.rs`). If all of them always come as in the trace, all
//!    pairs do.
//! 2. Most of these are ordered by the first four rules, and by sections of which it is known which comes first. Vector
//!    clocks tell (`clocks.rs`). What they tell holds in every order, so a pair that they order is never reversed.
//! 3. The others are asked for, one by one: in the part of the trace that matters (`window.rs`), which is all of it if need
//!    be, a SAT solver chooses which sections come first (`ask.rs`). It says that the pair is never reversed, which is one more thing that
//!    always holds and is told to the clocks, or how to reverse it; that beginning is completed by all other steps of it,
//!    and checked against the rules (`witness.rs`).
//!
//! **Sound**: [`Reversibility::Possible`] comes with a beginning of a run that was checked.
//! **Complete**: if [`Reversibility::Never`] is the answer, each pair of step 1 was ordered by clocks, by induction over the trace with
//! what always holds, or by a solver, for a window that loses nothing; so there is no such beginning. Both are
//! also tested, against all beginnings of small traces and against SMT solvers.
//!
//! | file | what |
//! |---|---|
//! | `model.rs` | what orders steps: rules as edges, and critical sections |
//! | `access.rs` | which accesses are compared with which |
//! | `clocks.rs` | what holds in every order |
//! | `pairs.rs` | goes through a trace and looks at its pairs |
//! | `window.rs` | the part of the trace that matters for a pair |
//! | `ask.rs` | asks a SAT solver for a pair |
//! | `witness.rs` | beginnings of runs, and whether they follow the rules |
//! | `formula.rs` | the question as a formula, for SMT solvers |

mod access;
mod ask;
mod clocks;
mod formula;
mod model;
mod pairs;
mod window;
mod witness;

use crate::step::Step;
use allways_bmc::solver::{Embedded, External, Stop};
use model::Model;
use pairs::Pairs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Who is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Solver {
    /// A solver that is compiled in, for the pairs that are not settled by order.
    Embedded(Embedded),
    /// An SMT solver, for everything at once, as in the thesis: its program, which is given the name of a file.
    External(PathBuf),
}

/// How to check.
#[derive(Clone, Debug)]
pub struct Options {
    /// Who is asked.
    pub solver: Solver,
    /// Whether clocks follow sections of which one has to come first. Without it solvers are asked more often, and
    /// the answer is the same.
    pub follow: bool,
    /// How long it may take; `None` is for ever.
    pub time: Option<Duration>,
    /// It stops when one of these is set.
    pub stop: Vec<Arc<AtomicBool>>,
}

impl Default for Options {
    fn default() -> Self {
        let solver = Solver::Embedded(Embedded::ALL[0]);
        Options { solver, follow: true, time: None, stop: Vec::new() }
    }
}

/// Whether steps that depend on each other can come in another order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reversibility {
    /// They always come as in the trace.
    Never {
        /// How many pairs were looked at: of different threads, without a write between them.
        pairs: u64,
        /// How many of them clocks ordered.
        settled_by_order: u64,
        /// How many of them a solver was asked for.
        asked: u64,
    },
    /// Two of them can come in the other order.
    Possible(Witness),
}

/// How two steps can come in the other order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Witness {
    /// The one that comes first in the trace.
    pub first: usize,
    /// The one that comes second in the trace.
    pub second: usize,
    /// The beginning of a run that follows all rules: it ends with the second, and the first is not in it. It was checked.
    pub order: Vec<usize>,
}

/// Whether two steps that depend on each other could come in the other order.
///
/// ```
/// use allways_epa::reverse::{Options, Reversibility, check};
/// use allways_epa::step::{Action, Place, Step};
///
/// let counter = Place { object: 0, offset: 0, bytes: 4 };
/// let step = |thread, record| Step { thread, record, site: None, action: Action::Write(counter) };
/// // Two threads, and nothing that orders them.
/// let Reversibility::Possible(witness) = check(&[step(0, 0), step(1, 0)], &Options::default())? else { panic!() };
/// assert_eq!((witness.first, witness.second, witness.order), (0, 1, vec![1]));
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
///
/// If the steps are no trace (a lock is held twice, or given back by one who does not have it), if a solver fails,
/// or if the check was stopped.
pub fn check(steps: &[Step], options: &Options) -> Result<Reversibility, String> {
    let at = options.time.and_then(|time| Instant::now().checked_add(time));
    let stop = Stop { at, flags: options.stop.clone() };
    let model = Model::new(steps)?;
    let stopped = |at: usize| {
        let count = steps.len();
        format!("the check for reversible steps was stopped at step {at} of {count}")
    };
    let checked = match &options.solver {
        Solver::External(program) => {
            let external = External { program: program.clone() };
            let formula = formula::Formula::new(&model, steps);
            formula.decide(steps, &external, &stop)?.ok_or_else(|| stopped(0))?
        }
        &Solver::Embedded(solver) => {
            let mut pairs = Pairs::new(&model, steps, solver, options.follow);
            pairs.all(&stop).map_err(stopped)?
        }
    };
    if let Reversibility::Possible(witness) = &checked {
        witness::verify(&model, steps, witness)?;
    }
    Ok(checked)
}

/// The question as a formula in SMT-LIB 2, up to `(check-sat)`: it holds if two steps that depend on each other can come in the
/// other order. Its variable `x_7` is the place of step 7. It is the thesis' formula, but for `cut`, where the beginning of a run ends:
/// locks are not looked at after it.
///
/// ```
/// use allways_epa::step::{Action, Place, Step};
/// let place = Place { object: 0, offset: 0, bytes: 4 };
/// let step = |thread, record| Step { thread, record, site: None, action: Action::Write(place) };
/// let formula = allways_epa::reverse::formula(&[step(0, 0), step(1, 0)])?;
/// assert!(formula.contains("(and (< x_1 cut) (<= cut x_0))"));
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
///
/// If the steps are no trace, as in [`check`].
pub fn formula(steps: &[Step]) -> Result<String, String> {
    Ok(formula::Formula::new(&Model::new(steps)?, steps).text)
}
