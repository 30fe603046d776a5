//! Circuits: from expressions over bits to clauses.
//!
//! A [`Graph`] holds each distinct gate once and folds constants while it is built; so whatever is known of a state (at
//! the first steps: nearly everything) costs nothing. Gates become clauses only when a clause refers to them, so what no
//! constraint depends on never reaches the solver.

pub(crate) mod bits;
mod clauses;
mod graph;

pub(crate) use bits::Bits;
pub(crate) use clauses::Clauses;
pub use clauses::Sink;
pub(crate) use graph::{FALSE, Graph, Lit, TRUE};
