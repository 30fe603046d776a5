//! How far a campaign has come, in words.

use crate::progress::{Reading, stopping};
use allways::grouped;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// What was counted so far.
#[derive(Default)]
pub(super) struct Counts {
    pub done: AtomicU64,
    pub deviated: AtomicU64,
    pub failed: AtomicU64,
}

impl Counts {
    /// What is shown when so much time has passed.
    pub fn reading(&self, all: u64, passed: Duration, is_stopping: bool) -> Reading {
        let [done, deviated, failed] =
            [&self.done, &self.deviated, &self.failed].map(|count| count.load(Relaxed));
        let seconds = passed.as_secs_f64();
        let mut parts: Vec<(u8, String)> = stopping(is_stopping).into_iter().collect();
        parts.push((8, format!("{} of {} runs", grouped(done), grouped(all))));
        parts.push((5, format!("{} deviated", grouped(deviated))));
        parts.push((4, format!("{} failed", grouped(failed))));
        if done > 0 {
            let left = seconds / done as f64 * all.saturating_sub(done) as f64;
            parts.push((7, format!("about {left:.0} s left")));
        }
        let fraction = (all > 0).then(|| (done as f64 / all as f64).min(1.0));
        Reading { parts, fraction }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_is_said_with_what_is_left() {
        let counts = Counts::default();
        let words = |stopping| counts.reading(40, Duration::from_secs(1), stopping).line();
        assert_eq!(words(false), "0 of 40 runs, 0 deviated, 0 failed");
        counts.done.store(10, Relaxed);
        counts.deviated.store(7, Relaxed);
        counts.failed.store(2, Relaxed);
        assert!(words(true).starts_with("stopping"), "{}", words(true));
        assert!(words(false).ends_with("10 of 40 runs, 7 deviated, 2 failed, about 3 s left"));
        assert_eq!(counts.reading(40, Duration::from_secs(1), false).fraction, Some(0.25));
    }
}
