//! batsat, in pure Rust: slower, but it needs no C++ compiler.

use super::{Answer, Sat, Stop};
use crate::circuit::Sink;
use batsat::{Callbacks, Lit, Solver, SolverInterface, lbool};

pub(super) struct Batsat(Solver<Asked>);

/// Asked by the solver, again and again, whether it is to stop.
#[derive(Default)]
struct Asked(Stop);

impl Callbacks for Asked {
    fn stop(&self) -> bool {
        self.0.is_due()
    }
}

impl Batsat {
    pub fn new() -> Self {
        Batsat(Solver::new(batsat::SolverOpts::default(), Asked::default()))
    }

    fn lit(&mut self, lit: i32) -> Lit {
        let variable = self.0.var_of_int(lit.unsigned_abs());
        Lit::new(variable, lit > 0)
    }
}

impl Sink for Batsat {
    fn clause(&mut self, lits: &[i32]) {
        let mut clause: Vec<Lit> = lits.iter().map(|&lit| self.lit(lit)).collect();
        self.0.add_clause_reuse(&mut clause);
    }
}

impl Sat for Batsat {
    fn solve(&mut self, assumptions: &[i32], stop: &Stop) -> Answer {
        if stop.is_due() {
            return Answer::Stopped;
        }
        let assumptions: Vec<Lit> = assumptions.iter().map(|&lit| self.lit(lit)).collect();
        self.0.cb_mut().0 = stop.clone();
        match self.0.solve_limited(&assumptions) {
            answer if answer == lbool::TRUE => Answer::Met,
            answer if answer == lbool::FALSE => Answer::Unmet,
            _ => Answer::Stopped,
        }
    }

    fn value(&self, lit: i32) -> bool {
        let variable = batsat::Var::unsafe_from_idx(lit.unsigned_abs());
        if variable.idx() as usize >= self.0.get_model().len() {
            return lit < 0;
        }
        (self.0.value_var(variable) == lbool::TRUE) == (lit > 0)
    }
}
