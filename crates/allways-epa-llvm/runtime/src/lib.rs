//! What is linked into instrumented programs: it writes the streams of threads, and makes values wrong.
//!
//! Instrumented code calls [`record`]'s hooks with the number of a site and its values. Each thread writes them into
//! a file of its own that is mapped into memory, shared: so there is no lock and no counter that threads share where programs spend their
//! time, and whatever happens to the process (a crash, a kill, `_exit`), what was written is in the file. What
//! threads do to each other, and memory, is seen by taking the place of the functions of the C library.
//!
//! | file | what |
//! |---|---|
//! | `thread.rs` | what each thread knows of itself |
//! | `stream.rs` | a thread's stream: a window of its file in memory |
//! | `record.rs` | the hooks that instrumented code calls |
//! | `fault.rs` | values that are made wrong |
//! | `begin.rs` | the beginning and the end of the process |
//! | `spawn.rs` | threads are created, joined, and end |
//! | `standard.rs`, `scope.rs` | the same of Rust's standard library |
//! | `wait.rs` | locks, condition variables, barriers |
//! | `memory.rs` | allocations |
//! | `real.rs` | the functions of the C library whose place is taken |

#![warn(clippy::undocumented_unsafe_blocks)]

pub mod begin;
pub mod fault;
pub mod memory;
pub mod real;
pub mod record;
pub mod scope;
pub mod spawn;
pub mod standard;
pub mod stream;
pub mod thread;
pub mod wait;
