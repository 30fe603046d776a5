//! Projection-based bounded model checking of concurrent programs.

pub mod program;
pub mod run;
