//! How far a campaign has come, on a terminal.

use crate::console::Width;
use crate::progress::{Bar, Reading};
use allways::grouped;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// What was counted so far.
#[derive(Default)]
pub(super) struct Counts {
    pub done: AtomicU64,
    pub deviated: AtomicU64,
    pub failed: AtomicU64,
}

impl Counts {
    fn reading(&self, all: u64, begin: Instant, stopping: bool) -> Reading {
        let [done, deviated, failed] =
            [&self.done, &self.deviated, &self.failed].map(|count| count.load(Relaxed));
        let seconds = begin.elapsed().as_secs_f64();
        let mut parts = Vec::new();
        if stopping {
            parts.push((9, "stopping, Ctrl-C again ends at once".to_owned()));
        }
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

    /// Does the work, and draws a bar five times a second until it is done.
    pub fn during<R>(
        &self,
        all: u64,
        terminal: Option<Width>,
        stop: &AtomicBool,
        err: &mut (dyn Write + Send),
        work: impl FnOnce() -> R,
    ) -> R {
        let Some(width) = terminal else { return work() };
        let begin = Instant::now();
        std::thread::scope(|scope| {
            // Dropped when the work ends, however it ends: that is what ends the watching.
            let (working, done) = channel::<()>();
            scope.spawn(move || {
                let bar = Bar::new(width);
                let interval = Duration::from_millis(200);
                while done.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                    // Where nobody listens there is nobody to tell.
                    let _ = bar.draw(&self.reading(all, begin, stop.load(Relaxed)), err);
                }
                let _ = bar.wipe(err);
            });
            let result = work();
            drop(working);
            result
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_is_said_with_what_is_left() {
        let counts = Counts::default();
        let words = |stopping| counts.reading(40, Instant::now(), stopping).line();
        assert_eq!(words(false), "0 of 40 runs, 0 deviated, 0 failed");
        counts.done.store(10, Relaxed);
        counts.deviated.store(7, Relaxed);
        counts.failed.store(2, Relaxed);
        assert!(words(true).starts_with("stopping"), "{}", words(true));
        assert!(words(false).starts_with("10 of 40 runs, 7 deviated, 2 failed, about "));
        assert_eq!(counts.reading(40, Instant::now(), false).fraction, Some(0.25));
    }
}
