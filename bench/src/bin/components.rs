//! What components save: engine `dir` on systems of the catalogue beside engine `dpor`, as in table 2 of the paper on DEMETER, whose own numbers stand
//! beside. The last columns are those of `dir` with states, beside engine `global`; threads have none.
//!
//! ```text
//! components              the whole table; each measurement takes a minute at most
//! components 10           ten seconds at most
//! ```
//!
//! *Reduction*, *run time* and *speed-up* are the ratios that engine `dir` tells itself ([`Statistics::run_time_ratio`](allways::Statistics::run_time_ratio)), on one thread; but plain exploration goes on here for as long as a measurement may take, and not for a
//! tenth of the time.

use allways::{Engine, Options, Outcome};
use std::process::ExitCode;
use std::time::Duration;

/// A row: what the paper calls it and its numbers (reduction, skeletons, local traces, run time), and what stands for it here.
type Row = (
    &'static str,
    Option<(f64, u64, u64, f64)>,
    &'static str,
    &'static [(&'static str, &'static str)],
);

const ROWS: &[Row] = &[
    ("figure 1", None, "accumulator", &[]),
    ("4 servers", None, "accumulator", &[("replicas", "4"), ("numbers", "6")]),
    ("figure 1, threads", None, "accumulator-threads", &[]),
    (
        "DPhi-2",
        Some((41.7, 6, 1_510, 2.0)),
        "dining",
        &[("philosophers", "8"), ("components", "2")],
    ),
    (
        "DPhi-3",
        Some((7_098.0, 25, 2_236, 1.2)),
        "dining",
        &[("philosophers", "8"), ("components", "3")],
    ),
    ("MPS-2", Some((487.9, 5, 5_599, 3.2)), "multi-paxos", &[("nodes", "2")]),
    ("MPS-3", Some((542_944.0, 457, 377_965, 2.5)), "multi-paxos", &[("nodes", "3")]),
    ("BDB-2", Some((277.2, 527, 25_113, 5.6)), "replicated-kv", &[("nodes", "2")]),
    ("BDB-3", Some((278_481.2, 664, 50_592, 6.3)), "replicated-kv", &[("nodes", "3")]),
    ("BDB-3, 3 workers", None, "replicated-kv", &[("nodes", "3"), ("workers", "3")]),
    ("Pam-2", Some((5.4, 39, 856, 2.3)), "pam", &[("nodes", "2"), ("self", "network")]),
    ("Pam-3", Some((97.8, 65, 6_081, 5.2)), "pam", &[("nodes", "3"), ("self", "network")]),
    ("Pastry-2", Some((4.9, 48, 713, 1.5)), "pastry", &[("nodes", "2")]),
    ("Pastry-3", Some((132.4, 2_220, 7_360, 9.7)), "pastry", &[("nodes", "3")]),
    ("Chord-2", Some((19.0, 48, 3_282, 2.7)), "chord", &[("nodes", "2")]),
    ("Chord-3, a finger", None, "chord", &[("nodes", "3"), ("fingers", "1")]),
    ("Chord-3", Some((1_587.0, 1_326, 17_384, 2.9)), "chord", &[("nodes", "3")]),
];

fn main() -> ExitCode {
    let seconds = match std::env::args().nth(1).map(|text| text.parse()) {
        None => 60,
        Some(Ok(seconds)) => seconds,
        Some(Err(_)) => {
            eprintln!("write nothing, or how many seconds a measurement may take");
            return ExitCode::FAILURE;
        }
    };
    println!(
        "| in the paper | here | traces | covered | skeletons | local traces | reduction | run time | speed-up | paper: skeletons, local traces, reduction, run time | states | points |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    for row in ROWS {
        match measured(row, Duration::from_secs(seconds)) {
            Ok(line) => println!("{line}"),
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

fn measured(&(name, paper, system, set): &Row, most: Duration) -> Result<String, String> {
    let entry = allways_catalogue::find(system).map_err(|error| error.to_string())?;
    let system = entry.build(set).map_err(|error| error.to_string())?;
    let check = |engine, stateful| -> Result<Outcome, String> {
        let options =
            Options { engine, stateful, threads: 1, max_time: Some(most), ..Options::default() };
        system.check_with(&options).map_err(|error| error.to_string())
    };
    let (plain, mut apart) = (check(Engine::Dpor, false)?, check(Engine::Dir, false)?);
    let of_states = match entry.is_of_threads() {
        true => None,
        false => Some((check(Engine::Global, false)?, check(Engine::Dir, true)?)),
    };
    let traces = plain.statistics.runs.unwrap_or(0);
    apart.statistics.plain_runs = plain.statistics.runs;
    apart.statistics.plain_time = Some(plain.statistics.elapsed);
    let local = apart.statistics.runs.unwrap_or(0);
    let covered = apart.statistics.covered_traces.unwrap_or(0);
    // So far as it has come, if it has not come to the end.
    let so_far = |outcome: &Outcome| if outcome.complete { "" } else { "> " };
    let [reduction, run_time, speed_up] = [
        apart.statistics.reduction_ratio(),
        apart.statistics.run_time_ratio(),
        apart.statistics.speed_up(),
    ]
    .map(|ratio| ratio.unwrap_or(0.0));
    let paper = paper.map_or_else(String::new, |(reduction, skeletons, traces, run_time)| {
        format!("{skeletons}, {traces}, {reduction}, {run_time}")
    });
    let settings: Vec<String> = set.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let number = |outcome: &Outcome, number: Option<u64>| {
        format!("{}{}", so_far(outcome), number.unwrap_or(0))
    };
    Ok(format!(
        "| {name} | {} {} | {} | {}{covered} | {} | {} | {reduction:.1} | {run_time:.1} | {speed_up:.1} | {paper} | {} | {} |",
        entry.name,
        settings.join(" "),
        number(&plain, Some(traces)),
        so_far(&apart),
        number(&apart, apart.statistics.global_skeletons),
        number(&apart, Some(local)),
        of_states
            .as_ref()
            .map_or_else(String::new, |(it, _)| number(it, it.statistics.unique_states)),
        of_states
            .as_ref()
            .map_or_else(String::new, |(_, it)| number(it, it.statistics.unique_states)),
    ))
}
