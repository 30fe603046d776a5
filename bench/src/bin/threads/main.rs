//! Allways, Loom, Shuttle and TraceForge on the same programs of threads, measured in the same run,
//! one after the other: how many executions each explores, and how many in a second of CPU time.
//!
//! Build both programs first (`cargo build --release -p allways-bench`): TraceForge is measured by
//! `threads-traceforge`, which this one runs.
//!
//! ```text
//! threads                 all programs, in about five minutes
//! threads --seconds 2     no tool longer than this on a program; otherwise 10 seconds
//! threads measure loom counter 3x2 10
//! threads measure allways deadlock 2 10
//! ```
//!
//! A program is written once, for a [tool](allways_bench::threads::tool::Tool), and compiled for each
//! of them. An execution is one run of its main thread with all that it spawns: each tool runs it as
//! often as it thinks it must. Fails if Allways does so more often than once for each execution that
//! differs from the others, or than a tool that finishes, or if it finds no deadlock where there is one.
//!
//! - **Allways** is engine `dpor` with reduction `optimal`, on one thread.
//! - **Loom** is told no bound on preemptions. It has dynamic partial order reduction, and explores
//!   more than the others can see: a load may return an old value as in C11, even if all is `SeqCst`.
//! - **Shuttle** is its depth-first scheduler: every schedule, without reduction. It is made for random
//!   schedules, which cannot be complete.
//! - **TraceForge** makes each atomic and each lock a thread that receives requests, and explores each
//!   order in which they are received.

mod in_allways;
mod in_loom;
mod in_shuttle;
mod report;
#[cfg(test)]
mod tests;

use allways_bench::measure::median;
use allways_bench::threads::program::Program;
use allways_bench::threads::{End, Measurement, explore, in_child_of};
use in_allways::Allways;
use in_loom::Loom;
use in_shuttle::Shuttle;
use report::Report;
use std::path::PathBuf;
use std::process::ExitCode;

/// The tools; Allways first, since the others are compared to it.
const TOOLS: [&str; 4] = ["allways", "loom", "shuttle", "traceforge"];

/// The programs, with how many executions there are that differ in more than the order of what
/// commutes. The smallest ones of a kind are there for Loom, which has at most five threads; the
/// largest one is there because it shows what an execution takes, not what it takes to begin.
const CASES: [(Program, u64); 11] = [
    (Program::Counter { threads: 3, times: 2 }, 90),
    (Program::LastZero(3), 12),
    (Program::LastZero(5), 64),
    (Program::LastZero(10), 3_328),
    (Program::Readers(3), 8),
    (Program::Readers(6), 64),
    (Program::Writers(4), 24),
    (Program::Writers(5), 120),
    (Program::Philosophers(3), 6),
    (Program::Indexer(12), 8),
    (Program::FileSystem(16), 8),
];

/// Programs with a deadlock.
const DEADLOCKS: [Program; 2] = [Program::Deadlock(2), Program::Deadlock(3)];

/// How long a tool may take for a program, in seconds, unless told otherwise.
const SECONDS: u64 = 10;

/// What is measured once only if it takes more CPU time than this, in seconds.
const LONG: f64 = 3.0;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["measure", ref what @ ..] => child(what),
        [] => compare(SECONDS),
        ["--seconds", seconds] => match seconds.parse() {
            Ok(seconds) => compare(seconds),
            Err(_) => Err(format!("`{seconds}` is no number of seconds")),
        },
        _ => Err(format!("`{}`: write nothing, --seconds or measure", words.join(" "))),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn compare(seconds: u64) -> Result<(), String> {
    for tool in TOOLS {
        executable(tool)?;
    }
    let mut report = Report::new(seconds);
    for (program, executions) in CASES {
        report.add(program, executions, &all_tools(program, seconds)?);
    }
    for program in DEADLOCKS {
        report.add_deadlock(program, &all_tools(program, seconds)?);
    }
    report.finish()
}

/// What each tool does with a program, alternating; the median of three, but what takes long only once.
fn all_tools(program: Program, seconds: u64) -> Result<Vec<(&'static str, Measurement)>, String> {
    let mut measured = TOOLS.map(|tool| (tool, Vec::new()));
    for _ in 0..3 {
        for (tool, measured) in &mut measured {
            let quick = |m: &Measurement| m.end != End::Unfinished && m.cpu < LONG;
            if measured.last().is_none_or(quick) {
                measured.push(measure(tool, program, seconds)?);
            }
        }
    }
    Ok(measured.into_iter().map(|(tool, all)| (tool, median(all, |m| m.cpu))).collect())
}

/// Measures in a child process.
fn measure(tool: &str, program: Program, seconds: u64) -> Result<Measurement, String> {
    in_child_of(&executable(tool)?, tool, program, seconds)
}

/// The program that has a tool.
fn executable(tool: &str) -> Result<PathBuf, String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let executable = match tool {
        "traceforge" => this.with_file_name("threads-traceforge"),
        _ => this,
    };
    match executable.exists() {
        true => Ok(executable),
        false => Err(format!(
            "there is no {}: run `cargo build --release -p allways-bench`",
            executable.display()
        )),
    }
}

/// What the child does.
fn child(words: &[&str]) -> Result<(), String> {
    match *words {
        ["allways", ref what @ ..] => explore::<Allways>(what),
        ["loom", ref what @ ..] => explore::<Loom>(what),
        ["shuttle", ref what @ ..] => explore::<Shuttle>(what),
        _ => Err(format!("cannot measure `{}` here", words.join(" "))),
    }
}
