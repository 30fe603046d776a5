//! Projection-based bounded model checking of concurrent programs.
//!
//! ```
//! use allways::Verdict;
//! use allways_bmc::{Model, check::Options, lang};
//!
//! let source = "
//!     shared uint<4> x;
//!     process P[i in 0..2] { uint<4> t; t = x; x = t + 1; }
//!     always both_count: P[0]@end && P[1]@end ? x == 2 : true;
//! ";
//! let model = Model::new(lang::compile("race.pbmc", source, &[]).unwrap());
//! let outcome = model.check(&Options::default(), &|_| ()).unwrap().outcome;
//! assert_eq!(outcome.verdict, Verdict::Violated);
//! println!("{outcome}"); // both read before either writes
//! ```
//!
//! The guide has more: `docs/src/bmc.md`, and `docs/src/bmc-language.md` for the language.

pub mod check;
mod circuit;
mod encode;
mod footprint;
pub mod lang;
pub mod litmus;
mod model;
pub mod program;
pub mod run;
mod smt;
mod solve;

/// Solvers for clauses, and for SMT-LIB 2: for other crates of Allways that have something to decide.
///
/// ```
/// use allways_bmc::solver::{Answer, Embedded, Stop};
/// let mut solver = Embedded::ALL[0].start();
/// solver.clause(&[1, 2]);
/// assert_eq!(solver.solve(&[-1], &Stop::default()), Answer::Met);
/// assert!(solver.value(2));
/// ```
pub mod solver {
    pub use crate::circuit::Sink;
    pub use crate::smt::External;
    pub use crate::solve::{Answer, Embedded, Sat, Stop};
}

pub use encode::Projection;
pub use model::{Checked, Judged, Model};
pub use smt::Theory;
pub use solve::Embedded;

/// The examples of the guide, as tests.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../../docs/src/bmc.md")]
    pub struct Guide;
    #[doc = include_str!("../../../docs/src/bmc-language.md")]
    pub struct Language;
}
