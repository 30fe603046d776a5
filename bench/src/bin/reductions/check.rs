//! One check of a system of the catalogue in a process of its own.

use allways::{Bound, Engine, Options, Search, Verdict};
use allways_bench::measure::{Meter, in_child, limit_memory, median, print_measured};
use std::time::Duration;

/// A check: what is checked, and how.
#[derive(Clone, Copy, Debug)]
pub struct Check<'a> {
    /// `dpor` or `global`.
    pub engine: &'a str,
    /// The reduction of engine `dpor`, or what one in engine `global` preserves.
    pub reduction: &'a str,
    /// No runs longer than this.
    pub depth: Option<u64>,
    /// No longer than this, in seconds.
    pub seconds: u64,
    /// The name of the system.
    pub system: &'a str,
    /// Its parameters.
    pub set: &'a [&'a str],
}

/// What came of a check.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The verdict; bounded by time, it is inconclusive.
    pub verdict: String,
    /// Whether it ended before its time was over.
    pub ended: bool,
    /// Distinct global states.
    pub states: Option<u64>,
    /// Runs explored.
    pub runs: Option<u64>,
    /// Steps.
    pub transitions: Option<u64>,
    /// CPU time in seconds.
    pub cpu: f64,
}

/// A check may have so many bytes.
const MEMORY: u64 = 6 << 30;

/// What is measured once only if it takes longer than this, in seconds.
const LONG: f64 = 1.0;

impl Check<'_> {
    /// The median of three, but what takes long only once.
    ///
    /// # Errors
    ///
    /// If a child fails.
    pub fn run(&self) -> Result<Checked, String> {
        let first = self.once()?;
        match first.cpu < LONG {
            true => Ok(median(vec![first, self.once()?, self.once()?], |checked| checked.cpu)),
            false => Ok(first),
        }
    }

    /// Checks in a child process.
    fn once(&self) -> Result<Checked, String> {
        let Check { engine, reduction, system, set, .. } = *self;
        let seconds = self.seconds.to_string();
        let depth = self.depth.map_or_else(|| "-".to_owned(), |depth| depth.to_string());
        let words = [&[&*seconds, engine, reduction, &*depth, system], set].concat();
        let measured = in_child(&words)?;
        let [verdict, ended, states, runs, transitions, cpu] = &measured[..] else {
            return Err(format!("not a measurement: {}", measured.join(" ")));
        };
        Ok(Checked {
            verdict: verdict.clone(),
            ended: ended == "true",
            states: states.parse().ok(),
            runs: runs.parse().ok(),
            transitions: transitions.parse().ok(),
            cpu: cpu.parse().map_err(|_| format!("`{cpu}` is no number"))?,
        })
    }
}

/// What the child does: `[seconds, engine, reduction, depth, system, parameters...]`.
pub fn child(words: &[&str]) -> Result<(), String> {
    let [seconds, engine, reduction, depth, system, ref set @ ..] = *words else {
        return Err(format!("cannot measure `{}`", words.join(" ")));
    };
    let seconds = seconds.parse().map_err(|_| format!("`{seconds}` is no number"))?;
    let set: Option<Vec<(&str, &str)>> = set.iter().map(|word| word.split_once('=')).collect();
    let set = set.ok_or("a parameter is written name=value")?;
    let options = Options {
        threads: 1,
        max_depth: depth.parse().ok(),
        max_time: Some(Duration::from_secs(seconds)),
        minimise: false,
        ..reduced(engine, reduction).map_err(|error| error.to_string())?
    };
    limit_memory(MEMORY);
    let meter = Meter::start();
    let outcome = allways_catalogue::find(system)
        .and_then(|entry| entry.build(&set))
        .and_then(|system| system.check_with(&options))
        .map_err(|error| error.to_string())?;
    let cpu = meter.cpu();
    let statistics = &outcome.statistics;
    let number = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |n| n.to_string());
    print_measured(&[
        outcome.verdict.to_string(),
        (outcome.verdict == Verdict::Violated || outcome.bounded_by != Some(Bound::Seconds))
            .to_string(),
        number(statistics.unique_states),
        number(statistics.runs),
        number(statistics.transitions),
        cpu.to_string(),
    ]);
    Ok(())
}

/// How an engine explores: `global` depth-first, as the thesis does, with a reduction that preserves
/// this, or `off`; `dpor` with this reduction.
fn reduced(engine: &str, reduction: &str) -> Result<Options, allways::Error> {
    let engine: Engine = engine.parse()?;
    let options = Options { engine, search: Search::Dfs, ..Options::default() };
    match engine {
        Engine::Dpor => Ok(Options { reduction: reduction.parse()?, ..options }),
        _ => Ok(Options { por: allways::parse_por(reduction)?, ..options }),
    }
}
