//! Bounds, written once for all engines.

use super::options::Options;
use super::progress::Progress;
use crate::outcome::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

/// What a search may use up. Checked between batches of work, by every thread.
pub(crate) struct Budget {
    pub max_depth: u64,
    pub max_runs: u64,
    max_states: u64,
    max_memory: u64,
    deadline: Option<Instant>,
    stop: Option<Arc<AtomicBool>>,
    /// Set when another engine has won.
    lost: Option<Arc<AtomicBool>>,
    pub progress: Arc<Progress>,
    pub started: Instant,
}

impl Budget {
    pub fn new(options: &Options) -> Self {
        let started = Instant::now();
        Budget {
            max_depth: options.max_depth.unwrap_or(u64::MAX),
            max_runs: options.max_runs.unwrap_or(u64::MAX),
            max_states: options.max_states.unwrap_or(u64::MAX),
            max_memory: options.max_memory.unwrap_or(u64::MAX),
            deadline: options.max_time.and_then(|time| started.checked_add(time)),
            stop: options.stop.clone(),
            lost: None,
            progress: options.progress.clone().unwrap_or_default(),
            started,
        }
    }

    /// The same for one of several engines, which stops when this is set.
    pub fn beside(&self, lost: Arc<AtomicBool>, progress: Arc<Progress>) -> Self {
        Budget { lost: Some(lost), progress, stop: self.stop.clone(), ..*self }
    }

    /// The bound that is reached, if one is, with this many states found and bytes stored.
    pub fn reached(&self, states: u64, memory: u64) -> Option<Bound> {
        if states > self.max_states {
            Some(Bound::States)
        } else if memory >= self.max_memory {
            Some(Bound::Memory)
        } else if [&self.stop, &self.lost].into_iter().flatten().any(|stop| stop.load(Relaxed)) {
            Some(Bound::Interrupt)
        } else if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            Some(Bound::Seconds)
        } else {
            None
        }
    }
}
