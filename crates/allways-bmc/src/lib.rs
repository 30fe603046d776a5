//! Projection-based bounded model checking of concurrent programs.

mod circuit;
mod encode;
pub mod program;
mod solve;
