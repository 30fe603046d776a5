//! How far a check has come, in words, and how much of the way that is where anybody can know.
//!
//! Nobody knows how many states there are. Where a bound was given, the check ends there at the
//! latest, and that can be said exactly. Where none was, a breadth-first search often has a shape:
//! its frontier grows, and then shrinks about as it grew. Once it shrinks, the states met until
//! the peak are taken for half of all. An engine that makes one run after the other estimates itself how
//! many there will be. Those are guesses, and are called so.

use crate::text::bytes;
use allways::{Engine, Options, Progress, Search, grouped};
use std::time::{Duration, Instant};

/// How much of the rate shown is new with each line; the rest is what was shown before.
const FRESH: f64 = 0.3;
/// The frontier is past its peak when it is smaller than this much of it.
const PAST_PEAK: f64 = 0.8;
/// A smaller peak says nothing about the shape.
const PEAK: u64 = 10_000;

/// What is shown.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Reading {
    /// In the order in which they are read, each with how much it is worth where room is short.
    pub parts: Vec<(u8, String)>,
    /// How much of the way to the end is done, from 0 to 1, where that is known.
    pub fraction: Option<f64>,
}

impl Reading {
    /// Everything in one line.
    pub fn line(&self) -> String {
        self.fitting(usize::MAX)
    }

    /// One line with what is worth the most, of this many characters if that is possible.
    pub fn fitting(&self, width: usize) -> String {
        let mut parts: Vec<&(u8, String)> = self.parts.iter().collect();
        loop {
            let texts: Vec<&str> = parts.iter().map(|(_, text)| text.as_str()).collect();
            let line = texts.join(", ");
            let least = parts.iter().enumerate().min_by_key(|(_, (worth, _))| *worth);
            match least {
                Some((at, _)) if parts.len() > 1 && line.chars().count() > width => {
                    parts.remove(at);
                }
                _ => return line,
            }
        }
    }
}

/// What it takes to say how fast it goes, and how far.
pub(crate) struct Meter<'a> {
    options: &'a Options,
    started: Instant,
    last: Instant,
    counted: u64,
    rate: Option<f64>,
    /// The largest frontier so far, and how many states there were then.
    peak: (u64, u64),
}

impl<'a> Meter<'a> {
    pub fn new(options: &'a Options) -> Self {
        let now = Instant::now();
        Meter { options, started: now, last: now, counted: 0, rate: None, peak: (0, 0) }
    }

    /// How far it has come by now.
    pub fn read(&mut self, progress: &Progress, is_stopping: bool) -> Reading {
        self.read_at(Instant::now(), &Numbers::of(progress), is_stopping)
    }

    fn read_at(&mut self, now: Instant, numbers: &Numbers, is_stopping: bool) -> Reading {
        // These engines have no end of states, but of runs.
        let counts_runs = match self.options.engine {
            Engine::Dpor | Engine::Walk => true,
            Engine::Dir => !self.options.stateful,
            _ => false,
        };
        let count = if counts_runs { numbers.runs } else { numbers.states };
        let rate = self.rate(now, count);
        if numbers.frontier >= self.peak.0 {
            self.peak = (numbers.frontier, numbers.states);
        }
        let elapsed = now.duration_since(self.started);
        let mut parts = Vec::new();
        let mut part = |worth: u8, text: String| parts.push((worth, text));
        if let Some((worth, text)) = super::stopping(is_stopping) {
            part(worth, text);
        }
        let what = match (self.options.engine, counts_runs) {
            (Engine::Dir, true) => "runs of components",
            (Engine::Dir, false) => "points",
            (_, true) => "runs",
            (_, false) => "states",
        };
        part(8, format!("{} {what}", grouped(count)));
        part(6, format!("{}/s", grouped(rate as u64)));
        if numbers.depth > 0 {
            part(4, format!("depth {}", grouped(numbers.depth)));
        }
        if numbers.frontier > 0 {
            part(3, format!("frontier {}", grouped(numbers.frontier)));
        }
        if numbers.memory > 0 {
            part(2, bytes(numbers.memory));
        }
        part(5, duration(elapsed));
        let estimate = match (self.bounded(numbers, elapsed, rate), self.guessed(numbers)) {
            // The end of all runs is as good as a bound, if it is nearer.
            (Some(bound), Some(guess)) if counts_runs && guess.0 > bound.0 => Some(guess),
            (bound, guess) => bound.or(guess),
        };
        let fraction = estimate.map(|(fraction, words)| {
            part(7, words);
            fraction
        });
        Reading { parts, fraction }
    }

    /// So many a second, smoothed.
    fn rate(&mut self, now: Instant, count: u64) -> f64 {
        let seconds = now.duration_since(self.last).as_secs_f64().max(1e-3);
        let fresh = count.saturating_sub(self.counted) as f64 / seconds;
        let rate = self.rate.map_or(fresh, |rate| rate + FRESH * (fresh - rate));
        (self.last, self.counted, self.rate) = (now, count, Some(rate));
        rate
    }

    /// How near the nearest bound is, and when the check ends because of a bound.
    fn bounded(&self, numbers: &Numbers, elapsed: Duration, rate: f64) -> Option<(f64, String)> {
        let options = self.options;
        let walks = options.engine == Engine::Walk;
        let mut near: Vec<(f64, &str)> = Vec::new();
        let mut left: Vec<f64> = Vec::new();
        let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        let at_rate = |part: u64, whole: u64| whole.saturating_sub(part) as f64 / rate.max(1e-9);
        if walks {
            near.push((share(numbers.runs, options.runs), "--runs"));
            left.push(at_rate(numbers.runs, options.runs));
        }
        let has_max_runs =
            options.engine == Engine::Dpor || options.engine == Engine::Dir && !options.stateful;
        if let Some(runs) = options.max_runs.filter(|_| has_max_runs) {
            near.push((share(numbers.runs, runs), "--max-runs"));
            left.push(at_rate(numbers.runs, runs));
        }
        if let Some(states) = options.max_states {
            near.push((share(numbers.states, states), "--max-states"));
            if !walks {
                left.push(at_rate(numbers.states, states));
            }
        }
        if let Some(time) = options.max_time {
            near.push((elapsed.as_secs_f64() / time.as_secs_f64().max(1e-3), "--max-seconds"));
            left.push(time.saturating_sub(elapsed).as_secs_f64());
        }
        if let Some(memory) = options.max_memory {
            near.push((share(numbers.memory, memory), "--max-memory"));
        }
        // Only breadth-first does the depth say how far a search has come.
        if let (Some(depth), true) = (options.max_depth, self.is_breadth_first()) {
            near.push((share(numbers.depth, depth), "--max-depth"));
        }
        let (fraction, bound) = near.into_iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
        let fraction = fraction.clamp(0.0, 1.0);
        let mut words = format!("{:.0} % of {bound}", (fraction * 100.0).floor());
        // More than a month is no estimate: nothing moves yet.
        let left = left.into_iter().min_by(f64::total_cmp).filter(|&seconds| seconds < 3e6);
        if let Some(seconds) = left {
            words = format!("{words}, at most {} left", duration(Duration::from_secs_f64(seconds)));
        }
        Some((fraction, words))
    }

    /// A guess from the runs so far, or from the shape of the frontier.
    fn guessed(&self, numbers: &Numbers) -> Option<(f64, String)> {
        if let Some(all) = numbers.estimated_runs {
            let fraction = (numbers.runs as f64 / all as f64).min(1.0);
            let percent = (fraction * 100.0).floor();
            let words = format!("a guess: {percent:.0} % of about {} runs", grouped(all));
            return Some((fraction, words));
        }
        let (peak, states_then) = self.peak;
        let shrinks = peak >= PEAK && (numbers.frontier as f64) < PAST_PEAK * peak as f64;
        if !shrinks || !self.is_breadth_first() {
            return None;
        }
        let fraction = numbers.states as f64 / (2 * states_then) as f64;
        // What outlasts its own guess has no estimate any more.
        (fraction < 1.0).then(|| {
            let percent = (fraction * 100.0).floor();
            (fraction, format!("a guess: {percent:.0} %, if the frontier shrinks as it grew"))
        })
    }

    fn is_breadth_first(&self) -> bool {
        let is_global = matches!(self.options.engine, Engine::Auto | Engine::Global);
        is_global && self.options.search == Search::Bfs
    }
}

/// The numbers of a [`Progress`] at one moment.
#[derive(Clone, Copy, Default)]
struct Numbers {
    states: u64,
    frontier: u64,
    depth: u64,
    memory: u64,
    runs: u64,
    estimated_runs: Option<u64>,
}

impl Numbers {
    fn of(progress: &Progress) -> Self {
        Numbers {
            states: progress.states(),
            frontier: progress.frontier(),
            depth: progress.depth(),
            memory: progress.memory(),
            runs: progress.runs(),
            estimated_runs: progress.estimated_runs(),
        }
    }
}

/// `4.2 s`, `3 min 20 s`, `2 h 5 min`.
fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{:.1} s", duration.as_secs_f64()),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", grouped(seconds / 3600), seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read after so many seconds with these numbers.
    fn readings(options: &Options, at: &[(f64, Numbers)]) -> Vec<Reading> {
        let mut meter = Meter::new(options);
        let started = meter.started;
        let read = |&(s, ref n): &(f64, Numbers)| {
            meter.read_at(started + Duration::from_secs_f64(s), n, false)
        };
        at.iter().map(read).collect()
    }

    fn last(options: &Options, at: &[(f64, Numbers)]) -> Reading {
        readings(options, at).pop().unwrap()
    }

    #[test]
    fn without_a_bound_there_is_no_estimate_while_the_frontier_grows() {
        let numbers = Numbers {
            states: 30_000,
            frontier: 20_000,
            depth: 7,
            memory: 3 << 20,
            ..Numbers::default()
        };
        let reading = last(&Options::default(), &[(2.0, numbers)]);
        let line = "30,000 states, 15,000/s, depth 7, frontier 20,000, 3.0 MiB, 2.0 s";
        assert_eq!((reading.line().as_str(), reading.fraction), (line, None));
    }

    #[test]
    fn where_room_is_short_what_is_worth_the_most_stays() {
        let options = Options { max_states: Some(60_000), ..Options::default() };
        let numbers = Numbers {
            states: 30_000,
            frontier: 20_000,
            depth: 7,
            memory: 3 << 20,
            ..Numbers::default()
        };
        let reading = last(&options, &[(2.0, numbers)]);
        let line = "30,000 states, 15,000/s, 2.0 s, 50 % of --max-states, at most 2.0 s left";
        assert_eq!(reading.fitting(80), line);
        assert_eq!(reading.fitting(20), "30,000 states");
        assert_eq!(reading.fitting(3), "30,000 states");
    }

    #[test]
    fn once_the_frontier_shrinks_there_is_a_guess_that_is_called_one() {
        let at = |states, frontier| Numbers { states, frontier, ..Numbers::default() };
        let way = [(1.0, at(50_000, 20_000)), (2.0, at(60_000, 15_000))];
        let reading = last(&Options::default(), &way);
        assert_eq!(reading.fraction, Some(0.6));
        let guess = ", a guess: 60 %, if the frontier shrinks as it grew";
        assert!(reading.line().ends_with(guess), "{reading:?}");
        let outlasted = [way[0], (2.0, at(200_000, 15_000))];
        assert_eq!(last(&Options::default(), &outlasted).fraction, None);
        let depth_first = Options { search: Search::Dfs, ..Options::default() };
        assert_eq!(last(&depth_first, &way).fraction, None);
    }

    #[test]
    fn the_nearest_bound_says_how_far_it_is_and_the_soonest_when_it_ends() {
        let options = Options {
            max_states: Some(100_000),
            max_time: Some(Duration::from_secs(8)),
            ..Options::default()
        };
        let reading = last(&options, &[(2.0, Numbers { states: 40_000, ..Numbers::default() })]);
        assert_eq!(reading.fraction, Some(0.4));
        let words = ", 40 % of --max-states, at most 3.0 s left";
        assert!(reading.line().ends_with(words), "{reading:?}");
    }

    #[test]
    fn a_bound_on_depth_is_a_measure_of_breadth_first_search_only() {
        let mut options = Options { max_depth: Some(20), ..Options::default() };
        let numbers = Numbers { states: 9, depth: 5, ..Numbers::default() };
        let reading = last(&options, &[(1.0, numbers)]);
        assert!(reading.line().ends_with(", 25 % of --max-depth"), "{reading:?}");
        options.search = Search::Classic;
        assert_eq!(last(&options, &[(1.0, numbers)]).fraction, None);
    }

    #[test]
    fn random_runs_are_counted_in_runs() {
        let options = Options { engine: Engine::Walk, runs: 1_000, ..Options::default() };
        let numbers = Numbers { states: 70, runs: 250, ..Numbers::default() };
        let reading = last(&options, &[(1.0, numbers)]);
        assert_eq!(reading.line(), "250 runs, 250/s, 1.0 s, 25 % of --runs, at most 3.0 s left");
    }

    #[test]
    fn an_engine_that_makes_all_runs_says_about_how_many_there_are() {
        let numbers =
            Numbers { runs: 250, estimated_runs: Some(1_234), depth: 9, ..Numbers::default() };
        let mut options = Options { engine: Engine::Dpor, ..Options::default() };
        let reading = last(&options, &[(1.0, numbers)]);
        let line = "250 runs, 250/s, depth 9, 1.0 s, a guess: 20 % of about 1,234 runs";
        assert_eq!(reading.line(), line);
        options.max_time = Some(Duration::from_secs(100));
        assert!(last(&options, &[(1.0, numbers)]).line().ends_with("1,234 runs"));
        options.max_time = Some(Duration::from_secs(2));
        let words = ", 50 % of --max-seconds, at most 1.0 s left";
        assert!(last(&options, &[(1.0, numbers)]).line().ends_with(words));
        options = Options { max_runs: Some(500), max_time: None, ..options };
        let words = ", 50 % of --max-runs, at most 1.0 s left";
        assert!(last(&options, &[(1.0, numbers)]).line().ends_with(words));
    }

    #[test]
    fn components_are_counted_in_runs_or_in_points() {
        let mut options =
            Options { engine: Engine::Dir, max_runs: Some(1_000), ..Options::default() };
        let numbers = Numbers { states: 70, runs: 250, depth: 4, ..Numbers::default() };
        let line =
            "250 runs of components, 250/s, depth 4, 1.0 s, 25 % of --max-runs, at most 3.0 s left";
        assert_eq!(last(&options, &[(1.0, numbers)]).line(), line);
        options.stateful = true;
        let line = "70 points, 70/s, depth 4, 1.0 s";
        assert_eq!(last(&options, &[(1.0, numbers)]).line(), line);
    }

    #[test]
    fn whoever_stops_is_told_so_first() {
        let options = Options::default();
        let mut meter = Meter::new(&options);
        let reading = meter.read(&Progress::default(), true);
        assert!(reading.line().starts_with("stopping, Ctrl-C again ends at once, "), "{reading:?}");
    }

    #[test]
    fn what_does_not_move_has_no_end_in_sight() {
        let options = Options { max_states: Some(100), ..Options::default() };
        let reading = last(&options, &[(1.0, Numbers::default())]);
        assert!(reading.line().ends_with(", 0 % of --max-states"), "{reading:?}");
    }

    #[test]
    fn durations_have_units() {
        let of = |seconds| duration(Duration::from_secs(seconds));
        assert_eq!([of(9), of(125), of(7_500)], ["9.0 s", "2 min 5 s", "2 h 5 min"]);
    }
}
