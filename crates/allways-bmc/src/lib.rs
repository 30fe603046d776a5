//! Projection-based bounded model checking of concurrent programs.

pub mod check;
mod circuit;
mod encode;
pub mod lang;
pub mod litmus;
mod model;
pub mod program;
pub mod run;
mod smt;
mod solve;

pub use encode::Projection;
pub use model::{Checked, Judged, Model};
pub use smt::Theory;
pub use solve::Embedded;
