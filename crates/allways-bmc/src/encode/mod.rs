//! Runs of a program as a circuit: the encoding of the thesis' sections 4.5.1 and 4.5.2.
//!
//! An [`Unrolling`] holds the states `0..=k` of a run and the `k` steps between them. For every step there is one
//! decision for each process, whether it is the one to move, and one more, that nobody moves (a dummy step). The thesis
//! selects an *instruction* a step; as a process stands at one location and there is one instruction, the process says it
//! all. Program counters are one bit a location. Everything else is a function of decisions and inputs, so that what is
//! known is folded away: at the first steps a process can only stand near its beginning, and instructions further on
//! are not there at all. Frame conditions are the last case of what each variable becomes: what it was.
//!
//! | file | what |
//! |---|---|
//! | `value.rs` | expressions in a state, as bits |
//! | `step.rs` | from one state to the next |
//! | `access.rs` | what steps read and write |
//! | `project.rs` | only steps that the goal depends on: the constraint C_F |
//! | `order.rs` | one order of steps that do not depend on each other |
//! | `distinct.rs` | no state twice |

mod access;
mod distinct;
mod order;
mod project;
mod step;
mod value;

use crate::circuit::{Bits, Graph, Lit};
use crate::footprint::{Accesses, Cells, Slice};
use crate::program::{ExprId, Program};
pub use project::Projection;
pub(crate) use step::Step;
use value::Memo;

/// A state of the run.
pub(crate) struct StateBits {
    /// By cell.
    pub values: Vec<Bits>,
    /// By process and location, the end too: whether it stands there.
    pub at: Vec<Vec<Lit>>,
    memo: Memo,
}

/// How a run begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Beginning {
    /// In an initial state.
    Initial,
    /// Anywhere: in any state at all, reachable or not.
    Anywhere,
}

/// Where dummy steps are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dummies {
    /// There are none: a run has exactly as many steps as there are.
    None,
    /// After the last real step.
    Last,
}

/// The states and steps of a run, as circuits.
pub(crate) struct Unrolling<'a> {
    pub program: &'a Program,
    pub cells: Cells,
    pub graph: Graph,
    pub states: Vec<StateBits>,
    pub steps: Vec<Step>,
    /// Clauses that must hold, and that nobody has taken yet.
    pub constraints: Vec<Vec<Lit>>,
    accesses: Accesses,
    dummies: Dummies,
    /// Which instructions may be performed, if not all.
    slice: Option<Slice>,
}

impl<'a> Unrolling<'a> {
    pub fn new(program: &'a Program, beginning: Beginning, dummies: Dummies) -> Self {
        let cells = Cells::new(program);
        let mut unrolling = Unrolling {
            program,
            accesses: Accesses::new(program),
            graph: Graph::new(),
            states: Vec::new(),
            steps: Vec::new(),
            constraints: Vec::new(),
            cells,
            dummies,
            slice: None,
        };
        unrolling.begin(beginning);
        unrolling
    }

    /// The same, but with these instructions alone.
    pub fn with_slice(self, slice: Slice) -> Self {
        let is_whole = slice.iter().flatten().all(|is_in| *is_in);
        Unrolling { slice: (!is_whole).then_some(slice), ..self }
    }

    /// Whether some instructions are left out.
    pub fn is_sliced(&self) -> bool {
        self.slice.is_some()
    }

    /// How many steps there are.
    pub fn depth(&self) -> usize {
        self.steps.len()
    }

    /// These must not all be false.
    fn require(&mut self, clause: Vec<Lit>) {
        use crate::circuit::{FALSE, TRUE};
        if !clause.contains(&TRUE) {
            self.constraints.push(clause.into_iter().filter(|&lit| lit != FALSE).collect());
        }
    }

    /// A condition in a state; inputs are those of the step after it.
    pub fn condition(&mut self, state: usize, expr: ExprId) -> Lit {
        self.value(state, expr)[0]
    }
}
