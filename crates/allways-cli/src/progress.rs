//! Progress on standard error: a line rewritten in place on a terminal, or plain lines if asked.

use crate::text::bytes;
use allways::{Options, Progress, grouped};
use std::io::Write;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How a check is watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Watch {
    /// Not at all.
    No,
    /// A line on a terminal of this width, rewritten five times a second.
    Terminal(usize),
    /// A line a second.
    Lines,
}

/// How much of the rate shown is new with each line; the rest is what was shown before.
const FRESH: f64 = 0.3;

impl Watch {
    pub fn wanted(quiet: bool, asked: bool, terminal: Option<usize>) -> Self {
        match terminal {
            _ if quiet => Watch::No,
            Some(width) => Watch::Terminal(width),
            None if asked => Watch::Lines,
            None => Watch::No,
        }
    }

    fn interval(self) -> Duration {
        Duration::from_millis(if self == Watch::Lines { 1000 } else { 200 })
    }

    /// Does the work, and shows on `err` how far it has come until it is done.
    pub fn during<R>(
        self,
        options: &Options,
        err: &mut (dyn Write + Send),
        work: impl FnOnce() -> R,
    ) -> R {
        let Some(progress) = options.progress.as_deref().filter(|_| self != Watch::No) else {
            return work();
        };
        let stopping = || options.stop.as_ref().is_some_and(|stop| stop.load(Relaxed));
        std::thread::scope(|scope| {
            // Dropped when the work ends, however it ends: that is what ends the watching.
            let (working, done) = channel::<()>();
            scope.spawn(move || {
                let mut meter = Meter::new();
                let mut shown = false;
                while done.recv_timeout(self.interval()) == Err(RecvTimeoutError::Timeout) {
                    let mut line = meter.line(progress);
                    if stopping() {
                        line.push_str(", stopping; Ctrl-C again kills");
                    }
                    let _ = self.show(&line, err);
                    shown = true;
                }
                if shown && matches!(self, Watch::Terminal(_)) {
                    let _ = err.write_all(b"\r\x1b[K").and_then(|()| err.flush());
                }
            });
            let result = work();
            drop(working);
            result
        })
    }

    fn show(self, line: &str, err: &mut (dyn Write + Send)) -> std::io::Result<()> {
        match self {
            Watch::No => return Ok(()),
            Watch::Terminal(width) => {
                let line: String = line.chars().take(width.saturating_sub(1)).collect();
                write!(err, "\r{line}\x1b[K")?;
            }
            Watch::Lines => writeln!(err, "{line}")?,
        }
        err.flush()
    }
}

/// What it takes to say how fast it goes.
struct Meter {
    started: Instant,
    last: Instant,
    counted: u64,
    rate: Option<f64>,
}

impl Meter {
    fn new() -> Self {
        let now = Instant::now();
        Meter { started: now, last: now, counted: 0, rate: None }
    }

    /// How far it has come by now.
    fn line(&mut self, progress: &Progress) -> String {
        // Engine walk counts runs, and may count nothing else.
        let (count, what) = match progress.states() {
            0 if progress.runs() > 0 => (progress.runs(), "runs"),
            states => (states, "states"),
        };
        let mut parts = vec![format!("{} {what}", grouped(count))];
        parts.push(format!("{}/s", grouped(self.rate(count) as u64)));
        let mut part = |number: u64, text: String| {
            if number > 0 {
                parts.push(text);
            }
        };
        part(progress.frontier(), format!("frontier {}", grouped(progress.frontier())));
        part(progress.depth(), format!("depth {}", grouped(progress.depth())));
        part(progress.memory(), bytes(progress.memory()));
        parts.push(format!("{:.1} s", self.started.elapsed().as_secs_f64()));
        parts.join(", ")
    }

    /// So many a second, smoothed.
    fn rate(&mut self, count: u64) -> f64 {
        let now = Instant::now();
        let seconds = now.duration_since(self.last).as_secs_f64().max(1e-3);
        let fresh = count.saturating_sub(self.counted) as f64 / seconds;
        let rate = self.rate.map_or(fresh, |rate| rate + FRESH * (fresh - rate));
        (self.last, self.counted, self.rate) = (now, count, Some(rate));
        rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_watches() {
        assert_eq!(Watch::wanted(false, false, None), Watch::No);
        assert_eq!(Watch::wanted(false, true, None), Watch::Lines);
        assert_eq!(Watch::wanted(false, false, Some(80)), Watch::Terminal(80));
        assert_eq!(Watch::wanted(true, false, Some(80)), Watch::No);
    }

    #[test]
    fn the_line_on_a_terminal_is_cut_to_its_width_and_wiped_at_the_end() {
        let options = Options { progress: Some(Default::default()), ..Options::default() };
        let mut err = Vec::new();
        Watch::Terminal(9).during(&options, &mut err, || {
            std::thread::sleep(Duration::from_millis(300));
        });
        let err = String::from_utf8(err).unwrap();
        assert!(err.starts_with("\r0 states\x1b[K"), "{err:?}");
        assert!(err.ends_with("\r\x1b[K"), "{err:?}");
    }
}
