//! Projection-based bounded model checking of concurrent programs.

pub mod lang;
pub mod program;
