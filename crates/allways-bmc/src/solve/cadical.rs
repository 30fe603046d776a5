//! CaDiCaL, compiled in.

use super::{Answer, Sat, Stop};
use crate::circuit::Sink;

pub(super) struct Cadical(cadical::Solver<Asked>);

/// Asked by the solver, again and again, whether it is to stop.
struct Asked(Stop);

impl cadical::Callbacks for Asked {
    fn terminate(&mut self) -> bool {
        self.0.is_due()
    }
}

impl Cadical {
    pub fn new() -> Self {
        Cadical(cadical::Solver::new())
    }
}

impl Sink for Cadical {
    fn clause(&mut self, lits: &[i32]) {
        self.0.add_clause(lits.iter().copied());
    }
}

impl Sat for Cadical {
    fn solve(&mut self, assumptions: &[i32], stop: &Stop) -> Answer {
        if stop.is_due() {
            return Answer::Stopped;
        }
        self.0.set_callbacks(Some(Asked(stop.clone())));
        match self.0.solve_with(assumptions.iter().copied()) {
            Some(true) => Answer::Met,
            Some(false) => Answer::Unmet,
            None => Answer::Stopped,
        }
    }

    fn value(&self, lit: i32) -> bool {
        // Only asked of variables: what it says of their opposites has changed between versions.
        self.0.value(lit.abs()).unwrap_or(false) == (lit > 0)
    }
}
