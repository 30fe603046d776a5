//! Solvers: who decides whether clauses can be met.

#[cfg(not(any(feature = "cadical", feature = "batsat")))]
compile_error!("a solver has to be compiled in: feature `cadical` or `batsat`");

#[cfg(feature = "batsat")]
mod batsat;
#[cfg(feature = "cadical")]
mod cadical;

use crate::circuit::Sink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// What a solver says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The clauses and assumptions can be met.
    Met,
    /// They cannot.
    Unmet,
    /// It was told to stop, or ran out of time.
    Stopped,
}

/// When a solver is to stop: at a time, or when somebody says so.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    /// At this time.
    pub at: Option<Instant>,
    /// When one of these is set. Several: of one's own, and of whoever interrupts everything.
    pub flags: Vec<Arc<AtomicBool>>,
}

impl Stop {
    /// Whether it is time.
    pub fn is_due(&self) -> bool {
        self.flags.iter().any(|flag| flag.load(Ordering::Relaxed))
            || self.at.is_some_and(|at| Instant::now() >= at)
    }
}

/// A solver that takes clauses piece by piece and may be asked again and again.
pub trait Sat: Sink {
    /// Whether everything so far, and these assumptions, can be met.
    fn solve(&mut self, assumptions: &[i32], stop: &Stop) -> Answer;

    /// What a literal is in the solution; of a variable that no clause has, anything.
    fn value(&self, lit: i32) -> bool;
}

/// The solvers that are compiled in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Embedded {
    /// CaDiCaL.
    #[cfg(feature = "cadical")]
    Cadical,
    /// batsat, in pure Rust.
    #[cfg(feature = "batsat")]
    Batsat,
}

impl Embedded {
    /// All that are compiled in, the fastest first.
    pub const ALL: &[Embedded] = &[
        #[cfg(feature = "cadical")]
        Embedded::Cadical,
        #[cfg(feature = "batsat")]
        Embedded::Batsat,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            #[cfg(feature = "cadical")]
            Embedded::Cadical => "cadical",
            #[cfg(feature = "batsat")]
            Embedded::Batsat => "batsat",
        }
    }

    /// A solver without any clauses.
    pub fn start(self) -> Box<dyn Sat> {
        match self {
            #[cfg(feature = "cadical")]
            Embedded::Cadical => Box::new(cadical::Cadical::new()),
            #[cfg(feature = "batsat")]
            Embedded::Batsat => Box::new(batsat::Batsat::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_solver_answers_again_and_again() {
        for embedded in Embedded::ALL {
            let mut solver = embedded.start();
            let stop = Stop::default();
            solver.clause(&[1, 2]);
            solver.clause(&[-1, 3]);
            assert_eq!(solver.solve(&[1], &stop), Answer::Met);
            assert!(solver.value(1) && solver.value(3) && !solver.value(-3));
            assert_eq!(solver.solve(&[1, -3], &stop), Answer::Unmet);
            solver.clause(&[-2]);
            assert_eq!(solver.solve(&[], &stop), Answer::Met);
            assert!(solver.value(1) && !solver.value(2));
            solver.clause(&[-3]);
            assert_eq!(solver.solve(&[], &stop), Answer::Unmet, "{}", embedded.name());
        }
    }

    /// More pigeons than holes: hard for all of them.
    fn pigeons(solver: &mut dyn Sat, holes: i32) {
        let at = |pigeon: i32, hole: i32| pigeon * holes + hole + 1;
        for pigeon in 0..=holes {
            let clause: Vec<i32> = (0..holes).map(|hole| at(pigeon, hole)).collect();
            solver.clause(&clause);
            for other in 0..pigeon {
                for hole in 0..holes {
                    solver.clause(&[-at(pigeon, hole), -at(other, hole)]);
                }
            }
        }
    }

    #[test]
    fn every_solver_can_be_stopped_by_time_and_by_flag() {
        for embedded in Embedded::ALL {
            let mut solver = embedded.start();
            pigeons(&mut *solver, 12);
            let soon = Instant::now() + std::time::Duration::from_millis(50);
            let stop = Stop { at: Some(soon), flags: Vec::new() };
            assert_eq!(solver.solve(&[], &stop), Answer::Stopped, "{}", embedded.name());
            let stop = Stop { at: None, flags: vec![Arc::new(AtomicBool::new(true))] };
            assert_eq!(solver.solve(&[], &stop), Answer::Stopped, "{}", embedded.name());
        }
    }
}
