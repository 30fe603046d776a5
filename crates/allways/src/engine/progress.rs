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
    /// Zero where there is no estimate.
    pub(crate) estimated_runs: AtomicU64,
}

impl Progress {
    /// Distinct global states so far.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// use std::sync::Arc;
    /// let progress = Arc::new(allways::Progress::default());
    /// let options = Options { progress: Some(Arc::clone(&progress)), ..Options::default() };
    /// System::new([Cell(0), Cell(0)]).call(0, 7).try_check(&options).unwrap();
    /// assert_eq!(progress.states(), 3);
    /// ```
    pub fn states(&self) -> u64 {
        self.states.load(Relaxed)
    }

    /// Global states generated so far.
    ///
    /// ```
    /// let progress = allways::Progress::default();
    /// assert_eq!(progress.generated(), 0); // nothing has begun
    /// ```
    pub fn generated(&self) -> u64 {
        self.generated.load(Relaxed)
    }

    /// Global states found but not yet expanded.
    ///
    /// ```
    /// let progress = allways::Progress::default();
    /// assert_eq!(progress.frontier(), 0); // nothing has begun
    /// ```
    pub fn frontier(&self) -> u64 {
        self.frontier.load(Relaxed)
    }

    /// The length of the longest run so far.
    ///
    /// ```
    /// let progress = allways::Progress::default();
    /// assert_eq!(progress.depth(), 0); // nothing has begun
    /// ```
    pub fn depth(&self) -> u64 {
        self.depth.load(Relaxed)
    }

    /// Bytes that the engine stores.
    ///
    /// ```
    /// let progress = allways::Progress::default();
    /// assert_eq!(progress.memory(), 0); // nothing has begun
    /// ```
    pub fn memory(&self) -> u64 {
        self.memory.load(Relaxed)
    }

    /// Runs so far; in engine `dir`, of components.
    ///
    /// ```
    /// let progress = allways::Progress::default();
    /// assert_eq!(progress.runs(), 0); // only engines `dpor`, `dir` and `walk` make any
    /// ```
    pub fn runs(&self) -> u64 {
        self.runs.load(Relaxed)
    }

    /// About how many runs engine `dpor` will have made in the end, guessed from the branches that
    /// it knows of. It finds out about more as it goes, so this is too low at first; in the end it is the
    /// number of runs. None if there is nothing to guess from.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// use std::sync::Arc;
    /// let progress = Arc::new(allways::Progress::default());
    /// assert_eq!(progress.estimated_runs(), None);
    /// let engine = Engine::Dpor;
    /// let options = Options { engine, progress: Some(Arc::clone(&progress)), ..Options::default() };
    /// System::new([Cell(0), Cell(0)]).call(0, 7).call(0, 8).try_check(&options).unwrap();
    /// assert_eq!(progress.estimated_runs(), Some(4)); // either comes first, at both nodes
    /// ```
    pub fn estimated_runs(&self) -> Option<u64> {
        Some(self.estimated_runs.load(Relaxed)).filter(|&runs| runs > 0)
    }
}
