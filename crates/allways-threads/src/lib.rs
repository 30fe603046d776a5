//! Threads under the control of Allways.
#![allow(dead_code)]

mod handle;
mod machine;
mod program;
mod runtime;
pub mod sync;
pub mod thread;
mod words;

pub use program::Program;
