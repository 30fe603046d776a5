//! Progress on standard error: a bar on a terminal, or plain lines if asked.
//!
//! [`Meter`] finds the words and how much is done, [`Bar`] draws them; here is when and where.

mod bar;
mod meter;

use crate::console::Width;
use allways::Options;
pub(crate) use bar::Bar;
use meter::Meter;
#[cfg(feature = "epa")]
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

    /// Does the work, and shows on `err` how far it has come until it is done. What takes less
    /// than an interval shows nothing.
    pub fn during<R>(
        self,
        options: &Options,
        err: &mut (dyn Write + Send),
        work: impl FnOnce() -> R,
    ) -> R {
        let Some(progress) = options.progress.as_deref() else { return work() };
        let (bar, interval) = match self {
            Watch::No => return work(),
            Watch::Terminal(width) => (Some(Bar::new(width)), Duration::from_millis(200)),
            Watch::Lines => (None, Duration::from_secs(1)),
        };
        let stopping = || options.stop.as_ref().is_some_and(|stop| stop.load(Relaxed));
        std::thread::scope(|scope| {
            // Dropped when the work ends, however it ends: that is what ends the watching.
            let (working, done) = channel::<()>();
            scope.spawn(move || {
                let mut meter = Meter::new(options);
                while done.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                    let reading = meter.read(progress, stopping());
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
            watch.during(&options, &mut err, || ());
            assert_eq!(err, b"");
        }
    }

    #[test]
    fn the_bar_is_wiped_when_the_work_is_done() {
        let options = Options { progress: Some(Default::default()), ..Options::default() };
        let mut err = Vec::new();
        Watch::Terminal(|| 40).during(&options, &mut err, || {
            std::thread::sleep(Duration::from_millis(500));
        });
        let err = String::from_utf8(err).unwrap();
        assert!(err.contains(" 0 states, 0/s, "), "{err:?}");
        assert!(err.ends_with("\r\x1b[2K"), "{err:?}");
        assert!(!err.contains('\n'), "{err:?}");
    }
}
