//! How far a search has come: numbers that anybody may read while it runs.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Updated by an engine as it goes; read by whoever shows progress.
///
/// ```
/// let progress = allways::Progress::default();
/// assert_eq!(progress.states(), 0);
/// ```
#[derive(Debug, Default)]
pub struct Progress {
    pub(crate) states: AtomicU64,
    pub(crate) generated: AtomicU64,
    pub(crate) frontier: AtomicU64,
    pub(crate) depth: AtomicU64,
    pub(crate) memory: AtomicU64,
    pub(crate) runs: AtomicU64,
}

impl Progress {
    /// Distinct global states so far.
    pub fn states(&self) -> u64 {
        self.states.load(Relaxed)
    }

    /// Global states generated so far.
    pub fn generated(&self) -> u64 {
        self.generated.load(Relaxed)
    }

    /// Global states found but not yet expanded.
    pub fn frontier(&self) -> u64 {
        self.frontier.load(Relaxed)
    }

    /// The length of the longest run so far.
    pub fn depth(&self) -> u64 {
        self.depth.load(Relaxed)
    }

    /// Bytes that the engine stores.
    pub fn memory(&self) -> u64 {
        self.memory.load(Relaxed)
    }

    /// Random runs so far.
    pub fn runs(&self) -> u64 {
        self.runs.load(Relaxed)
    }
}
