//! Allways and Stateright on the same protocols, measured in the same run, one after the other.
//!
//! ```text
//! peers            all sizes, in less than five minutes
//! peers --quick    without the largest
//! peers --all      also what takes Stateright minutes
//! peers measure stateright paxos-register 3 bfs 1
//! peers measure allways two-phase-commit 9 dfs 2
//! peers measure insert 20000000 10340352
//! ```

mod insert;
mod measure;
mod paxos_register;
mod report;
mod two_phase_commit;

use allways_bench::measure::median;
use measure::{Measurement, in_child};
use report::{Comparison, Report};
use std::process::ExitCode;

/// A protocol, its sizes, and how many distinct states each has.
type Protocol = (&'static str, &'static [(u64, u64)]);

const PROTOCOLS: [Protocol; 2] = [
    ("two-phase-commit", &[(3, 288), (5, 8_832), (7, 296_448), (9, 10_340_352)]),
    ("paxos-register", &[(2, 16_668), (3, 1_194_428), (4, 2_372_188)]),
];

/// What is measured once only if it takes longer than this, in seconds.
const LONG: f64 = 3.0;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.first().map(String::as_str) {
        Some("measure") => measure::child(&arguments[1..]),
        None => compare(false, false),
        Some("--quick") => compare(true, false),
        Some("--all") => compare(false, true),
        Some(other) => Err(format!("`{other}`: write nothing, --quick, --all or measure")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn compare(quick: bool, all: bool) -> Result<(), String> {
    let mut report = Report::new();
    for (protocol, sizes) in PROTOCOLS {
        for (index, &(size, unique)) in sizes.iter().enumerate() {
            if quick && index + 1 == sizes.len() {
                continue;
            }
            for search in ["bfs", "dfs"] {
                for threads in [1, 2] {
                    // Breadth-first on ten million states takes Stateright minutes.
                    let alone = unique > 5_000_000 && search == "bfs" && !all;
                    let pair = pair(protocol, size, search, threads, alone)?;
                    for (tool, measured) in [("stateright", pair.0), ("allways", Some(pair.1))] {
                        if measured.is_some_and(|m| m.unique != unique) {
                            return Err(format!("{tool} counts {measured:?}, not {unique} states"));
                        }
                    }
                    let (stateright, allways) = pair;
                    report.add(Comparison { protocol, size, search, threads, stateright, allways });
                }
            }
            let generated = report.generated(protocol, size).to_string();
            let insert = || in_child(&["insert", &generated, &unique.to_string()]);
            report.add_limit(protocol, size, middle(vec![insert()?, insert()?, insert()?]));
        }
    }
    report.finish();
    Ok(())
}

/// Both tools, alternating; the median of three, but what takes long only once.
fn pair(
    protocol: &str,
    size: u64,
    search: &str,
    threads: u64,
    alone: bool,
) -> Result<(Option<Measurement>, Measurement), String> {
    let (size, threads) = (size.to_string(), threads.to_string());
    let run = |tool| in_child(&[tool, protocol, &size, search, &threads]);
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        ours.push(run("allways")?);
        if !alone && theirs.last().is_none_or(|m: &Measurement| m.wall < LONG) {
            theirs.push(run("stateright")?);
        }
    }
    let theirs = (!theirs.is_empty()).then(|| middle(theirs));
    Ok((theirs, middle(ours)))
}

/// The one with the median CPU time.
fn middle(measured: Vec<Measurement>) -> Measurement {
    median(measured, |m| m.cpu)
}
