//! A check that takes long says so: whoever waits for it sees that it runs, and how to bound it.
//!
//! Only for [`System::check`](crate::System::check), which nobody watches otherwise: a test that
//! hangs without a word looks broken.

use super::progress::Progress;
use crate::outcome::grouped;
use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How long a check is silent.
pub(crate) const SILENCE: Duration = Duration::from_secs(10);

/// Does something; while it lasts, writes a line after each such time, which ends in `hint`.
pub(crate) fn during<R>(
    progress: &Progress,
    every: Duration,
    hint: &str,
    mut to: impl Write + Send,
    work: impl FnOnce() -> R,
) -> R {
    let (done, is_done) = channel::<()>();
    std::thread::scope(|scope| {
        let started = Instant::now();
        let watcher = scope.spawn(move || {
            let mut before = 0;
            while is_done.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                let states = progress.states();
                let rate = states.saturating_sub(before) as f64 / every.as_secs_f64();
                before = states;
                // Nobody can be told that nobody can be told.
                let _ = writeln!(to, "{}", line(progress, started.elapsed(), rate as u64) + hint);
            }
        });
        // Also if it panics: the watcher must not wait for what never comes.
        let result = {
            let _done = done;
            work()
        };
        let _ = watcher.join();
        result
    })
}

/// How far the search is, in one line.
fn line(progress: &Progress, elapsed: Duration, rate: u64) -> String {
    let mut parts = vec![format!("{} states", grouped(progress.states()))];
    parts.push(format!("{} a second", grouped(rate)));
    if progress.runs() > 0 {
        parts.push(format!("{} runs", grouped(progress.runs())));
    }
    parts.push(format!("depth {}", grouped(progress.depth())));
    if progress.frontier() > 0 {
        parts.push(format!("frontier {}", grouped(progress.frontier())));
    }
    parts.push(format!("{} MiB", grouped(progress.memory() >> 20)));
    format!("allways: still checking after {} s: {}", elapsed.as_secs(), parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn what_takes_long_says_how_far_it_is() {
        let progress = Progress::default();
        progress.states.store(1_234, Relaxed);
        progress.frontier.store(56, Relaxed);
        progress.depth.store(7, Relaxed);
        progress.memory.store(3 << 20, Relaxed);
        let mut said = Vec::new();
        let wait = || std::thread::sleep(Duration::from_millis(300));
        during(&progress, Duration::from_millis(20), "; hint", &mut said, wait);
        let said = String::from_utf8(said).unwrap();
        assert!(said.lines().count() >= 2, "{said}");
        let first = said.lines().next().unwrap();
        assert!(first.starts_with("allways: still checking after 0 s: 1,234 states, "), "{first}");
        let rest = ", depth 7, frontier 56, 3 MiB; hint";
        assert!(first.ends_with(rest), "{first}");
    }

    #[test]
    fn what_is_done_soon_says_nothing() {
        let mut said = Vec::new();
        let answer = during(&Progress::default(), SILENCE, "", &mut said, || 42);
        assert_eq!((answer, said.len()), (42, 0));
    }

    #[test]
    fn what_panics_is_not_watched_for_ever() {
        let work = || during(&Progress::default(), SILENCE, "", Vec::new(), || panic!("enough"));
        assert!(std::panic::catch_unwind(work).is_err());
    }
}
