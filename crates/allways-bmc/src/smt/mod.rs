//! The formula of the thesis as SMT-LIB 2, for other solvers and for eyes.
//!
//! It is written as section 4.5.2 has it, not as the circuits are: a variable `sel` a step that says which instruction
//! is performed, an implication for each instruction with frame conditions for all that it does not change, dummy steps
//! at the beginning, arrays as arrays, and a variable for each pair of steps that says whether the later one reads
//! what the earlier one writes. So it is also a second opinion: both are compared in tests.
//!
//! Numbers are either integers, wrapped around by remainders, as in the thesis ([`Theory::Integers`]), or bit vectors
//! ([`Theory::BitVectors`]), which is all that some solvers know.

mod answer;
mod expr;
mod formula;
mod process;

pub(crate) use formula::Formula;
pub use process::External;

/// What numbers are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Theory {
    /// Integers.
    Integers,
    /// Bit vectors.
    BitVectors,
}
