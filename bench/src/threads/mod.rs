//! Programs of threads, each written once for all [tools](tool::Tool), and what exploring them takes.
//!
//! Two programs use this: Loom and TraceForge cannot be linked into one.

mod child;
pub mod program;
pub mod tool;

pub use child::{End, Measurement, explore, explore_once, in_child_of};
