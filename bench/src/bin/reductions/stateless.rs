//! Engine `dpor`: runs, transitions and time with each of its reductions.

use crate::check::{Check, Checked};
use allways::grouped;
use allways_bench::report::machine;

const REDUCTIONS: [&str; 7] = ["none", "naive", "force", "ds", "source", "cached", "optimal"];

/// No check takes longer than this, in seconds.
const SECONDS: u64 = 5;

/// Systems with their parameters, and a bound on depth.
const SYSTEMS: [(&str, &[&str], Option<u64>); 14] = [
    ("tree", &[], None),
    ("paxos", &["proposals=1"], Some(6)),
    ("paxos", &["proposals=1"], Some(8)),
    ("paxos", &["proposals=1"], Some(10)),
    ("paxos", &["proposals=1"], None),
    ("paxos-roles", &["proposers=1"], None),
    ("paxos-roles", &["proposers=2", "acceptors=2"], None),
    ("register", &["bases=2"], None),
    ("register", &["bases=3"], None),
    ("two-phase-commit", &["rms=2"], None),
    ("two-phase-commit", &["rms=3"], None),
    ("paxos-roles", &[], None),
    ("register", &["bases=4"], None),
    ("zab", &[], None),
];

/// Prints the table.
///
/// # Errors
///
/// If checks fail, or if one says that a system does not hold.
pub fn table() -> Result<(), String> {
    println!("{}", machine());
    println!("engine dpor: runs, transitions and CPU time in seconds; at most {SECONDS} s each\n");
    println!("{:<44} {:<8} {:>16} {:>16} {:>8}", "system", "", "runs", "transitions", "cpu");
    let mut failed = 0;
    for (system, set, depth) in SYSTEMS {
        let bound = depth.map_or_else(String::new, |depth| format!(", depth {depth}"));
        let name = format!("{system} {}{bound}", set.join(" "));
        for reduction in REDUCTIONS {
            let check = Check { engine: "dpor", reduction, depth, seconds: SECONDS, system, set };
            let checked = match check.run() {
                Ok(checked) => checked,
                Err(error) => {
                    let error = error.lines().next().unwrap_or_default();
                    println!("{name:<44} {reduction:<8} {error}");
                    failed += 1;
                    continue;
                }
            };
            // Bounded by depth, a check is inconclusive.
            if checked.verdict == "violated" {
                return Err(format!("{name} holds, but {reduction} says {checked:?}"));
            }
            println!("{}", line(&name, reduction, &checked));
        }
        println!();
    }
    match failed {
        0 => Ok(()),
        failed => Err(format!("{failed} checks have failed")),
    }
}

fn line(name: &str, reduction: &str, checked: &Checked) -> String {
    let runs = grouped(checked.runs.unwrap_or_default());
    let transitions = grouped(checked.transitions.unwrap_or_default());
    match checked.ended {
        true => {
            let cpu = checked.cpu;
            format!("{name:<44} {reduction:<8} {runs:>16} {transitions:>16} {cpu:>8.3}")
        }
        false => {
            let more = format!("more than {runs} in {SECONDS} s");
            format!("{name:<44} {reduction:<8} {more:>33}")
        }
    }
}
