//! Checking Paxos without the network, in the shape of the LMC paper's figures 10 to 12: time, states and memory
//! over depth, for the classic search, engine `global`, and both modes of engine `lmc`.
//!
//! ```text
//! local                     the table for one proposal and for two
//! local --svg figure.svg    the same, and the figure
//! local measure views 2 12  one check, in a process of its own
//! ```
//!
//! In each check all runs of so many events are covered. A way of checking that takes longer than its time is left
//! out from there on.

mod plot;

use allways::{Combine, Engine, Options, Search};
use allways_bench::measure::{Meter, in_child, limit_memory, print_measured};
use allways_bench::report::{at_least, at_most, machine, missed, targets};
use std::process::ExitCode;
use std::time::Duration;

/// A check has so many seconds, and may have so many bytes.
const SECONDS: u64 = 30;
const MEMORY: u64 = 6 << 30;
/// Deeper than this nothing is left to be found with so many proposals.
const DEPTHS: [u64; 2] = [16, 36];

/// The ways of checking, in the order of the table.
const WAYS: [&str; 4] = ["classic", "global", "general", "views"];

/// What came of one check.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// All runs of so many events are covered.
    pub depth: u64,
    /// CPU time in seconds.
    pub seconds: f64,
    /// Global states, or local ones.
    pub states: u64,
    /// Transitions, or handler executions.
    pub steps: u64,
    /// Combinations of local states that were made.
    pub system_states: u64,
    /// Bytes.
    pub memory: u64,
    /// Whether everything was covered.
    pub is_complete: bool,
}

/// All checks of one way.
pub type Series = Vec<Point>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["measure", way, proposals, depth] => measure(way, proposals, depth),
        [] => table(None),
        ["--svg", path] => table(Some(path)),
        _ => Err(format!("`{}`: write nothing, --svg PATH or measure", words.join(" "))),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn table(svg: Option<&str>) -> Result<(), String> {
    println!("{}", machine());
    let mut figures = Vec::new();
    for proposals in [1, 2] {
        println!("\npaxos, 3 nodes, proposals: {proposals}");
        println!(
            "{:<8} {:>5} {:>9} {:>11} {:>12} {:>13} {:>9}",
            "", "depth", "CPU s", "states", "steps", "system states", "MiB"
        );
        let mut all = Vec::new();
        for way in WAYS {
            all.push((way, series(way, proposals)?));
        }
        ratios(&all, proposals);
        figures.push((proposals, all));
    }
    if let Some(path) = svg {
        std::fs::write(path, plot::figure(&figures)).map_err(|error| format!("{path}: {error}"))?;
        println!("\n{path} is written");
    }
    Ok(())
}

/// Checks deeper and deeper, until everything is covered or it takes too long.
fn series(way: &str, proposals: usize) -> Result<Series, String> {
    let mut series = Series::new();
    for depth in (0..=DEPTHS[proposals - 1]).step_by(proposals) {
        let words = in_child(&[way, &proposals.to_string(), &depth.to_string()])?;
        let numbers: Option<Vec<f64>> = words.iter().map(|word| word.parse().ok()).collect();
        let numbers = numbers.filter(|numbers| numbers.len() == 7);
        let Some([seconds, states, steps, system_states, memory, complete, late]) =
            numbers.and_then(|numbers| <[f64; 7]>::try_from(numbers).ok())
        else {
            return Err(format!("{way} at depth {depth}: {}", words.join(" ")));
        };
        if late != 0.0 {
            println!("{way:<8} {depth:>5} {:>9}", format!("> {SECONDS}"));
            break;
        }
        let point = Point {
            depth,
            seconds,
            states: states as u64,
            steps: steps as u64,
            system_states: system_states as u64,
            memory: memory as u64,
            is_complete: complete != 0.0,
        };
        println!(
            "{way:<8} {depth:>5} {seconds:>9.3} {:>11} {:>12} {:>13} {:>9.1}{}",
            point.states,
            point.steps,
            point.system_states,
            point.memory as f64 / f64::from(1 << 20),
            if point.is_complete { "  complete" } else { "" }
        );
        series.push(point);
        if point.is_complete {
            break;
        }
    }
    Ok(series)
}

/// How the ways compare where they have covered everything.
fn ratios(all: &[(&str, Series)], proposals: usize) {
    let complete = |way: &str| {
        let (_, series) = all.iter().find(|(name, _)| *name == way)?;
        series.last().filter(|point| point.is_complete)
    };
    targets();
    let Some(views) = complete("views") else {
        missed("views covers everything");
        return;
    };
    for (way, wanted) in [("classic", 1.0), ("global", if proposals == 2 { 130.0 } else { 1.0 })] {
        let what = format!("steps of {way} by handler executions of lmc, proposals: {proposals}");
        match complete(way) {
            Some(point) => at_least(&what, wanted, point.steps as f64 / views.steps as f64),
            None => missed(&what),
        }
    }
    match proposals {
        1 => at_most("system states in views mode", 0.0, views.system_states as f64),
        _ => at_most("CPU seconds of lmc", 10.0, views.seconds),
    }
}

/// One check; prints what it has cost.
fn measure(way: &str, proposals: &str, depth: &str) -> Result<(), String> {
    limit_memory(MEMORY);
    let depth: u64 = depth.parse().map_err(|_| format!("`{depth}` is not a depth"))?;
    let entry = allways_catalogue::find("paxos").map_err(|error| error.to_string())?;
    let system = entry.build(&[("proposals", proposals)]).map_err(|error| error.to_string())?;
    let (engine, search, combine) = match way {
        "classic" => (Engine::Global, Search::Classic, Combine::Views),
        "global" => (Engine::Global, Search::Bfs, Combine::Views),
        "general" => (Engine::Lmc, Search::Bfs, Combine::General),
        "views" => (Engine::Lmc, Search::Bfs, Combine::Views),
        _ => return Err(format!("there is no way `{way}`")),
    };
    let max_time = Some(Duration::from_secs(SECONDS));
    let options =
        Options { engine, search, combine, max_depth: Some(depth), max_time, ..Options::default() };
    let meter = Meter::start();
    let outcome = system.check_with(&options).map_err(|error| error.to_string())?;
    let (cpu, memory) = (meter.cpu(), meter.memory());
    let statistics = &outcome.statistics;
    let number = |number: Option<u64>| number.unwrap_or_default();
    let is_late = !matches!(outcome.bounded_by, None | Some(allways::Bound::Depth));
    let is_lmc = engine == Engine::Lmc;
    let states = if is_lmc { statistics.local_states } else { statistics.unique_states };
    let steps = if is_lmc { statistics.handler_executions } else { statistics.transitions };
    print_measured(&[
        format!("{cpu:.4}"),
        number(states).to_string(),
        number(steps).to_string(),
        number(statistics.system_states).to_string(),
        memory.to_string(),
        u64::from(outcome.complete).to_string(),
        u64::from(is_late).to_string(),
    ]);
    Ok(())
}
