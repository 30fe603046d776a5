//! Progress on standard error: a bar on a terminal, or plain lines if asked. All commands that take long show it in this way: `check`, `bmc` and `epa`.
//!
//! Whoever works says how far it is ([`Reading`]; of a check, [`Meter`] finds the words), [`Bar`] draws it; here is when and where.

mod bar;
mod meter;

use crate::console::Width;
use allways::Options;
use bar::Bar;
use meter::Meter;
pub(crate) use meter::Reading;
use std::io::Write;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How a check is watched.
#[derive(Clone, Copy)]
pub(crate) enum Watch {
    /// Not at all.
    No,
    /// A bar on a terminal of this width, drawn five times a second.
    Terminal(Width),
    /// A line a second.
    Lines,
}

impl Watch {
    pub fn wanted(quiet: bool, asked: bool, terminal: Option<Width>) -> Self {
        match terminal {
            _ if quiet => Watch::No,
            Some(width) => Watch::Terminal(width),
            None if asked => Watch::Lines,
            None => Watch::No,
        }
    }

    /// Does the work, and shows on `err` how far it has come until it is done, as `read` says whenever it is asked. What takes less
    /// than an interval shows nothing.
    pub fn during<R>(
        self,
        mut read: impl FnMut() -> Reading + Send,
        err: &mut (dyn Write + Send),
        work: impl FnOnce() -> R,
    ) -> R {
        let (bar, interval) = match self {
            Watch::No => return work(),
            Watch::Terminal(width) => (Some(Bar::new(width)), Duration::from_millis(200)),
            Watch::Lines => (None, Duration::from_secs(1)),
        };
        std::thread::scope(|scope| {
            // Dropped when the work ends, however it ends: that is what ends the watching.
            let (working, done) = channel::<()>();
            scope.spawn(move || {
                while done.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                    let reading = read();
                    // Where nobody listens there is nobody to tell.
                    let _ = match &bar {
                        Some(bar) => bar.draw(&reading, err),
                        None => writeln!(err, "{}", reading.line()).and_then(|()| err.flush()),
                    };
                }
                if let Some(bar) = bar {
                    let _ = bar.wipe(err);
                }
            });
            let result = work();
            drop(working);
            result
        })
    }

    /// The same for a check, which counts what it does itself.
    pub fn check<R>(
        self,
        options: &Options,
        err: &mut (dyn Write + Send),
        work: impl FnOnce() -> R,
    ) -> R {
        let Some(progress) = options.progress.as_deref() else { return work() };
        let is_stopping = || options.stop.as_ref().is_some_and(|stop| stop.load(Relaxed));
        let mut meter = Meter::new(options);
        self.during(move || meter.read(progress, is_stopping()), err, work)
    }
}

/// What is said first once somebody has pressed Ctrl-C.
pub(crate) fn stopping(is_stopping: bool) -> Option<(u8, String)> {
    is_stopping.then(|| (9, "stopping, Ctrl-C again ends at once".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_watches() {
        assert!(matches!(Watch::wanted(false, false, None), Watch::No));
        assert!(matches!(Watch::wanted(false, true, None), Watch::Lines));
        assert!(matches!(Watch::wanted(false, false, Some(|| 80)), Watch::Terminal(_)));
        assert!(matches!(Watch::wanted(true, true, Some(|| 80)), Watch::No));
    }

    #[test]
    fn what_takes_no_time_shows_nothing() {
        let options = Options { progress: Some(Default::default()), ..Options::default() };
        for watch in [Watch::No, Watch::Lines, Watch::Terminal(|| 80)] {
            let mut err = Vec::new();
            watch.check(&options, &mut err, || ());
            assert_eq!(err, b"");
        }
    }

    #[test]
    fn whoever_works_is_asked_how_far_it_is() {
        let mut asked = 0;
        let read = || {
            asked += 1;
            let parts = stopping(true).into_iter().chain([(1, format!("step {asked}"))]).collect();
            Reading { parts, fraction: None }
        };
        let mut err = Vec::new();
        let result = Watch::Terminal(|| 80).during(read, &mut err, || {
            std::thread::sleep(Duration::from_millis(500));
            7
        });
        let err = String::from_utf8(err).unwrap();
        assert!(
            result == 7 && err.contains("stopping, Ctrl-C again ends at once, step 1"),
            "{err:?}"
        );
        assert!(asked > 0 && err.ends_with("\r\x1b[2K"), "{err:?}");
    }

    #[test]
    fn the_bar_is_wiped_when_the_work_is_done() {
        let options = Options { progress: Some(Default::default()), ..Options::default() };
        let mut err = Vec::new();
        Watch::Terminal(|| 40).check(&options, &mut err, || {
            std::thread::sleep(Duration::from_millis(500));
        });
        let err = String::from_utf8(err).unwrap();
        assert!(err.contains(" 0 states, 0/s, "), "{err:?}");
        assert!(err.ends_with("\r\x1b[2K"), "{err:?}");
        assert!(!err.contains('\n'), "{err:?}");
    }
}
