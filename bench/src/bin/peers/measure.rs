//! One measurement in a process of its own: peak memory is the process's.

use crate::insert::insert;
use crate::paxos_register;
use crate::two_phase_commit::TwoPhaseCommit;
use allways::{Engine, Options, Search, Verdict};
use stateright::{Checker, Model};
use std::fmt::Debug;
use std::hash::Hash;
use std::process::Command;
use std::time::{Duration, Instant};

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

    fn line(&self) -> String {
        let Measurement { unique, generated, wall, cpu, memory, user } = self;
        let user = user.map_or_else(|| "-".to_owned(), |user| user.to_string());
        format!("measured {unique} {generated} {wall} {cpu} {memory} {user}")
    }

    fn parse(text: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix("measured "))?;
        let mut words = line.split(' ');
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
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new(program).arg("measure").args(what).output();
    let output = output.map_err(|error| error.to_string())?;
    Measurement::parse(&String::from_utf8_lossy(&output.stdout)).ok_or_else(|| {
        format!("`measure {}` failed: {}", what.join(" "), String::from_utf8_lossy(&output.stderr))
    })
}

/// What the child does: measures, and prints one line.
pub fn child(what: &[String]) -> Result<(), String> {
    let words: Vec<&str> = what.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<u64>().map_err(|_| format!("`{text}` is no number"));
    let before = memory("VmRSS:");
    let (cpu, wall) = (cpu_time(), Instant::now());
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
        wall: wall.elapsed().as_secs_f64(),
        cpu: (cpu_time() - cpu).as_secs_f64(),
        memory: memory("VmHWM:").saturating_sub(before),
        user: user.map(|user| user.as_secs_f64()),
    };
    println!("{}", measurement.line());
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

/// The CPU time of this process so far.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills in the struct that it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// A field of the process's status, in bytes; zero where the system does not tell.
fn memory(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok());
    kilobytes.unwrap_or(0u64) * 1024
}
