//! What more threads save in engine `dir`: local traces a second with one thread and with more.
//!
//! ```text
//! crew                    with two threads
//! crew 4                  with four
//! ```
//!
//! Each is measured several times in turn, and the best counts. The counts must be the same.

use allways::{Engine, Options, Statistics};
use std::process::ExitCode;

/// So often each is measured.
const TIMES: usize = 3;

const SYSTEMS: &[(&str, &[(&str, &str)])] = &[
    ("chord", &[("fingers", "1")]),
    ("pastry", &[("timeouts", "0")]),
    ("pam", &[("nodes", "3"), ("self", "network")]),
];

fn main() -> ExitCode {
    let threads = match std::env::args().nth(1).map(|text| text.parse()) {
        None => 2,
        Some(Ok(threads)) => threads,
        Some(Err(_)) => {
            eprintln!("write nothing, or how many threads there are to be");
            return ExitCode::FAILURE;
        }
    };
    println!(
        "| system | local traces | a second, 1 thread | a second, {threads} threads | ratio |"
    );
    println!("|---|---|---|---|---|");
    for (name, set) in SYSTEMS {
        match measured(name, set, threads) {
            Ok(line) => println!("{line}"),
            Err(error) => {
                eprintln!("{name}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

fn measured(name: &str, set: &[(&str, &str)], threads: usize) -> Result<String, String> {
    let entry = allways_catalogue::find(name).map_err(|error| error.to_string())?;
    let system = entry.build(set).map_err(|error| error.to_string())?;
    let check = |threads| {
        let options = Options { engine: Engine::Dir, threads, ..Options::default() };
        system.check_with(&options).map(|it| it.statistics).map_err(|error| error.to_string())
    };
    let counts = |it: &Statistics| (it.runs, it.blocked_runs, it.transitions, it.covered_traces);
    let mut best = [0.0_f64; 2];
    let mut all = None;
    for _ in 0..TIMES {
        for (best, threads) in best.iter_mut().zip([1, threads]) {
            let statistics = check(threads)?;
            if *all.get_or_insert(counts(&statistics)) != counts(&statistics) {
                return Err("the counts differ".to_owned());
            }
            let traces = statistics.runs.unwrap_or(0) as f64;
            *best = best.max(traces / statistics.elapsed.as_secs_f64());
        }
    }
    let settings: Vec<String> = set.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let traces = all.and_then(|(runs, ..)| runs).unwrap_or(0);
    let [one, more] = best;
    Ok(format!(
        "| {name} {} | {traces} | {one:.0} | {more:.0} | {:.2} |",
        settings.join(" "),
        more / one
    ))
}
