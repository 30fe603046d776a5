//! One measurement of a search, or of what limits all searches.

use crate::insert::insert;
use crate::paxos_register;
use crate::two_phase_commit::TwoPhaseCommit;
use allways::{Engine, Options, Search, Verdict};
use allways_bench::measure::{Meter, in_child as measured_in_child, print_measured};
use stateright::{Checker, Model};
use std::fmt::Debug;
use std::hash::Hash;
use std::time::Duration;

/// What was measured.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measurement {
    /// Distinct global states.
    pub unique: u64,
    /// Global states generated.
    pub generated: u64,
    /// Wall time in seconds.
    pub wall: f64,
    /// CPU time of all threads in seconds, user and system.
    pub cpu: f64,
    /// Peak memory beyond what the process had before it began, in bytes.
    pub memory: u64,
    /// Time in user code in seconds, where it was measured.
    pub user: Option<f64>,
}

impl Measurement {
    /// Peak memory for each distinct state.
    pub fn bytes_a_state(&self) -> f64 {
        self.memory as f64 / self.unique as f64
    }

    /// Generated states for each second of wall time.
    pub fn rate(&self) -> f64 {
        self.generated as f64 / self.wall
    }

    fn words(&self) -> Vec<String> {
        let Measurement { unique, generated, wall, cpu, memory, user } = self;
        let user = user.map_or_else(|| "-".to_owned(), |user| user.to_string());
        let counts = [unique, generated].map(u64::to_string);
        let times = [wall, cpu].map(f64::to_string);
        [&counts[..], &times, &[memory.to_string(), user]].concat()
    }

    fn parse(words: &[String]) -> Option<Self> {
        let mut words = words.iter();
        Some(Measurement {
            unique: words.next()?.parse().ok()?,
            generated: words.next()?.parse().ok()?,
            wall: words.next()?.parse().ok()?,
            cpu: words.next()?.parse().ok()?,
            memory: words.next()?.parse().ok()?,
            user: words.next()?.parse().ok(),
        })
    }
}

/// Measures in a child process: `[tool, protocol, size, search, threads]` or
/// `["insert", generated, unique]`.
pub fn in_child(what: &[&str]) -> Result<Measurement, String> {
    let words = measured_in_child(what)?;
    Measurement::parse(&words).ok_or_else(|| format!("not a measurement: {}", words.join(" ")))
}

/// What the child does: measures, and prints one line.
pub fn child(what: &[String]) -> Result<(), String> {
    let words: Vec<&str> = what.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<u64>().map_err(|_| format!("`{text}` is no number"));
    let meter = Meter::start();
    let (unique, generated, user) = match words[..] {
        ["insert", generated, unique] => {
            let generated = number(generated)?;
            (insert(generated, number(unique)?), generated, None)
        }
        ["stateright", protocol, size, search, threads] => {
            let (size, threads) = (number(size)? as usize, number(threads)? as usize);
            let (unique, generated) = match protocol {
                "two-phase-commit" => stateright(TwoPhaseCommit(size), search, threads)?,
                "paxos-register" => stateright(paxos_register::model(size), search, threads)?,
                _ => return Err(format!("Stateright has no protocol `{protocol}` here")),
            };
            (unique, generated, None)
        }
        ["allways", protocol, size, search, threads] => {
            allways(protocol, size, search, number(threads)? as usize)?
        }
        _ => return Err(format!("cannot measure `{}`", words.join(" "))),
    };
    let measurement = Measurement {
        unique,
        generated,
        wall: meter.wall(),
        cpu: meter.cpu(),
        memory: meter.memory(),
        user: user.map(|user| user.as_secs_f64()),
    };
    print_measured(&measurement.words());
    Ok(())
}

fn stateright<M>(model: M, search: &str, threads: usize) -> Result<(u64, u64), String>
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync + 'static,
    M::Action: Clone + Debug + PartialEq + Send + Sync + 'static,
{
    fn end<M: Model>(checker: impl Checker<M>) -> (u64, u64)
    where
        M::State: Clone + Debug + Hash + PartialEq,
        M::Action: Clone + Debug + PartialEq,
    {
        let checker = checker.join();
        checker.assert_properties();
        (checker.unique_state_count() as u64, checker.state_count() as u64)
    }
    let checker = model.checker().threads(threads);
    match search {
        "bfs" => Ok(end(checker.spawn_bfs())),
        "dfs" => Ok(end(checker.spawn_dfs())),
        _ => Err(format!("there is no search `{search}`")),
    }
}

fn allways(
    protocol: &str,
    size: &str,
    search: &str,
    threads: usize,
) -> Result<(u64, u64, Option<Duration>), String> {
    let parameter = if protocol == "two-phase-commit" { "rms" } else { "clients" };
    let search: Search = search.parse().map_err(|error: allways::Error| error.to_string())?;
    let options = Options { engine: Engine::Global, search, threads, ..Options::default() };
    let outcome = allways_catalogue::find(protocol)
        .and_then(|entry| entry.build(&[(parameter, size)]))
        .and_then(|system| system.check_with(&options))
        .map_err(|error| error.to_string())?;
    if outcome.verdict != Verdict::Holds || !outcome.complete {
        return Err(format!("the outcome is not what it should be: {outcome}"));
    }
    let statistics = outcome.statistics;
    let unique = statistics.unique_states.unwrap_or_default();
    Ok((unique, statistics.generated_states.unwrap_or_default(), statistics.user_time))
}
