//! Error propagation analysis that survives threads: Trace Sanitizer (thesis, chapter 5).
//!
//! If this value were wrong, how far would the error travel, and does a program with threads notice? A run without a fault
//! (the golden run) is compared with a run in which one value was made wrong. Two runs of a program with threads differ even if
//! nothing is wrong: memory is somewhere else, and threads take turns in another way. So traces are *sanitised*
//! first: addresses become places in objects, and threads get names by who created them. What differs then was changed by the fault,
//! if the golden run is pseudo-deterministic, which is checked.
//!
//! | folder | what |
//! |---|---|
//! | `trace/` | traces as files, and all records of a trace in one order |
//! | `sanitise/` | objects in place of addresses (algorithm 4), names of threads (algorithm 5) |
//! | `reverse/` | could two steps that depend on each other come in the other order? |
//! | `determinism.rs` | calls of functions that are not deterministic |
//! | `compare/` | what differs between two traces, and how far it spreads |
//! | `campaign/` | many runs, each with a fault; what came of them |

pub use allways_epa_format as format;

pub mod campaign;
pub mod compare;
pub mod determinism;
pub mod reverse;
pub mod sanitise;
pub mod step;
pub mod trace;

/// The examples of the guide, as tests.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../../docs/src/epa.md")]
    pub struct Guide;
}
