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
//! | `files.rs` | the files of streams, by their paths |
//! | `apart.rs` | a table of descriptors of its own |
//! | `notes.rs` | what is missing in the trace |
//! | `record.rs` | the hooks that instrumented code calls |
//! | `fault.rs` | values that are made wrong |
//! | `begin.rs` | the beginning of the process, and of its threads; the end of threads |
//! | `process.rs` | the end of the process, and others that come of it |
//! | `spawn.rs` | threads are created and joined |
//! | `signals.rs` | signals that have to wait |
//! | `standard.rs`, `scope.rs` | what Rust's standard library does |
//! | `wait.rs` | locks, condition variables, barriers |
//! | `take.rs` | how the place of functions is taken, and what is logged of locks |
//! | `renew.rs` | locks, condition variables and barriers begin and end to be |
//! | `c11.rs` | locks and condition variables of C11 |
//! | `memory.rs` | allocations |
//! | `real.rs` | the functions of the C library whose place is taken |

#![warn(clippy::undocumented_unsafe_blocks)]

pub mod apart;
pub mod begin;
pub mod c11;
pub mod fault;
pub mod files;
pub mod memory;
pub mod notes;
pub mod process;
pub mod real;
pub mod record;
pub mod renew;
pub mod scope;
pub mod signals;
pub mod spawn;
pub mod standard;
pub mod stream;
pub mod take;
pub mod thread;
pub mod wait;
