//! Multi-threaded programs under the control of Allways: run every way they can run.
//!
//! The modules have the names and signatures of `std`, so that a crate switches with its `use` lines. A [`Program`] is one process or several, each with threads of its own;
//! [`Program::check`] explores all orders of their accesses to what they share, one run for each that can be told apart.
//!
//! ```
//! use allways_threads::sync::atomic::{AtomicU32, Ordering::SeqCst};
//! use allways_threads::sync::Arc;
//! use allways_threads::{Program, thread};
//!
//! let outcome = Program::new(|| {
//!     let counter = Arc::new(AtomicU32::new(0));
//!     let other = Arc::clone(&counter);
//!     let thread = thread::spawn(move || {
//!         let before = other.load(SeqCst);
//!         other.store(before + 1, SeqCst);
//!     });
//!     counter.fetch_add(1, SeqCst);
//!     thread.join().unwrap();
//!     assert_eq!(counter.load(SeqCst), 2);
//! })
//! .check();
//! let violation = outcome.violation.unwrap();
//! assert!(violation.property.contains("left: 1"));
//! ```
//!
//! Outside of a check, everything is a thin wrapper of `std`. What must be so in one is in the guide, `docs/src/threads.md`.
//!
//! How it works: threads are coroutines that stop before each access; rules say what each access touches and when it can
//! be made; and engine `dpor` explores them as a machine.

pub mod future;
mod handle;
pub mod hint;
mod machine;
pub mod net;
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

/// The examples of the guide, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/src/threads.md")]
pub struct Guide;
