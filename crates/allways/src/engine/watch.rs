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

/// Said where nothing has happened since the last line.
const STUCK: &str = "; nothing has happened since: code under test may loop for ever, or wait for something that is not under control, and then no bound ends it";

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
            let (mut before, mut done_before) = (0, None);
            while is_done.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                let count = count(progress).0;
                let rate = count.saturating_sub(before) as f64 / every.as_secs_f64();
                before = count;
                let done = Some((count, progress.generated(), progress.runs()));
                let hint = if done_before == done { STUCK } else { hint };
                done_before = done;
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

/// What there are more and more of: states, or runs where these are all that an engine makes.
fn count(progress: &Progress) -> (u64, &'static str) {
    match progress.estimated_runs() {
        Some(_) => (progress.runs(), "runs"),
        // Random runs of threads meet no states.
        None if progress.states() == 0 && progress.runs() > 0 => (progress.runs(), "runs"),
        None => (progress.states(), "states"),
    }
}

/// How far the search is, in one line.
fn line(progress: &Progress, elapsed: Duration, rate: u64) -> String {
    let (count, what) = count(progress);
    let mut parts = vec![format!("{} {what}", grouped(count))];
    parts.push(format!("{} a second", grouped(rate)));
    match progress.estimated_runs() {
        Some(runs) => parts.push(format!("a guess: about {} in all", grouped(runs))),
        None if progress.runs() > 0 && what == "states" => {
            parts.push(format!("{} runs", grouped(progress.runs())))
        }
        None => {}
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
        let second = said.lines().nth(1).unwrap();
        assert!(second.ends_with(STUCK), "{second}");
    }

    #[test]
    fn what_makes_runs_says_how_many_and_about_how_many_there_will_be() {
        let progress = Progress::default();
        progress.runs.store(5_000, Relaxed);
        progress.estimated_runs.store(20_000, Relaxed);
        progress.depth.store(7, Relaxed);
        let said = line(&progress, Duration::from_secs(20), 250);
        let expected = "allways: still checking after 20 s: 5,000 runs, 250 a second, \
                        a guess: about 20,000 in all, depth 7, 0 MiB";
        assert_eq!(said, expected);
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
