//! Threads under the control of Allways.
#![allow(dead_code)]

pub mod future;
mod handle;
pub mod hint;
mod machine;
mod program;
pub mod rand;
mod runtime;
mod story;
pub mod sync;
mod task_words;
pub mod thread;
pub mod time;
mod words;

pub use program::Program;
