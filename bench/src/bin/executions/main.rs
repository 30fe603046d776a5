//! Allways and TraceForge on the same protocols, measured in the same run, one after the other:
//! how many executions each explores, and how many in a second of CPU time, on one thread.
//!
//! ```text
//! executions            all sizes, in less than five minutes
//! executions --quick    without the largest
//! executions measure traceforge race 6 any correct
//! executions measure allways paxos 2x3 selective correct
//! ```
//!
//! An execution is what TraceForge calls one: which message each receive of each thread receives.
//! For Allways it is a run of engine `dpor`, which explores one for each partial order of steps, so
//! for each order in which messages are delivered at each node.

mod actor;
mod in_allways;
mod in_traceforge;
mod paxos;
mod race;
mod report;
#[cfg(test)]
mod tests;
mod two_phase_commit;

use actor::{Actor, Transport};
use allways_bench::measure::{Meter, in_child, median, print_measured};
use report::Report;
use std::process::ExitCode;

/// A protocol, its sizes from small to large, and how its messages travel. A race is the same with
/// all transports on which messages overtake each other.
const CASES: [(&str, &[&str], &[Transport]); 4] = [
    ("race", &["4", "5", "6", "7"], &[Transport::Any]),
    ("race-kept", &["4", "5", "6", "7"], &[Transport::Any]),
    ("two-phase-commit", &["3", "4", "5"], &Transport::ALL),
    ("paxos", &["1x3", "2x2", "2x3"], &Transport::ALL),
];

/// What is wrong in these is found by both.
const BUGS: [(&str, &str); 2] = [("two-phase-commit", "3"), ("paxos", "2x1")];

/// What takes less CPU time than this, in seconds, is explored again until it does not.
const ENOUGH: f64 = 0.3;

/// What is measured once only if it takes more CPU time than this, in seconds.
const LONG: f64 = 3.0;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.first().map(String::as_str) {
        Some("measure") => child(&arguments[1..]),
        None => compare(false),
        Some("--quick") => compare(true),
        Some(other) => Err(format!("`{other}`: write nothing, --quick or measure")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// What one tool was measured to do.
#[derive(Clone, Copy, Debug)]
struct Measurement {
    /// How many executions there are; `None` if the property was found not to hold.
    executions: Option<u64>,
    /// CPU time to explore them once, in seconds.
    cpu: f64,
}

fn compare(quick: bool) -> Result<(), String> {
    for (protocol, size) in BUGS {
        for transport in Transport::ALL {
            for tool in ["traceforge", "allways"] {
                if measure(tool, protocol, size, transport, "buggy")?.executions.is_some() {
                    return Err(format!("{tool} finds no bug in {protocol} {size}"));
                }
            }
        }
    }
    let mut report = Report::new();
    for (protocol, sizes, transports) in CASES {
        for &size in &sizes[..sizes.len() - usize::from(quick)] {
            for &transport in transports {
                // It takes TraceForge most of a minute.
                if (protocol, size, transport) == ("paxos", "2x3", Transport::Any) {
                    continue;
                }
                let (theirs, ours) = pair(protocol, size, transport)?;
                report.add(protocol, size, transport, theirs, ours)?;
            }
        }
    }
    report.finish()
}

/// Both tools, alternating; the median of three, but what takes long only once.
fn pair(
    protocol: &str,
    size: &str,
    transport: Transport,
) -> Result<(Measurement, Measurement), String> {
    let run = |tool| measure(tool, protocol, size, transport, "correct");
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        for (tool, measured) in [("traceforge", &mut theirs), ("allways", &mut ours)] {
            if measured.last().is_none_or(|m: &Measurement| m.cpu < LONG) {
                measured.push(run(tool)?);
            }
        }
    }
    Ok((median(theirs, |m| m.cpu), median(ours, |m| m.cpu)))
}

fn measure(
    tool: &str,
    protocol: &str,
    size: &str,
    transport: Transport,
    variant: &str,
) -> Result<Measurement, String> {
    let words = in_child(&[tool, protocol, size, transport.name(), variant])?;
    let cpu = words.get(1).and_then(|cpu| cpu.parse().ok());
    let cpu = cpu.ok_or_else(|| format!("not a measurement: {}", words.join(" ")))?;
    Ok(Measurement { executions: words[0].parse().ok(), cpu })
}

/// What the child does: explores as often as it must to be measurable, and prints one line.
fn child(what: &[String]) -> Result<(), String> {
    let words: Vec<&str> = what.iter().map(String::as_str).collect();
    let [tool, protocol, size, transport, variant] = words[..] else {
        return Err(format!("cannot measure `{}`", words.join(" ")));
    };
    let transport = Transport::ALL.into_iter().find(|known| known.name() == transport);
    let transport = transport.ok_or("there are selective, any and ordered transports")?;
    let bug = variant == "buggy";
    let numbers: Option<Vec<usize>> = size.split('x').map(|n| n.parse().ok()).collect();
    let (executions, cpu) = match (protocol, numbers.as_deref()) {
        ("race", Some(&[messages])) => repeat(tool, &race::race(messages), transport),
        ("race-kept", Some(&[messages])) => repeat(tool, &race::race_kept(messages), transport),
        ("two-phase-commit", Some(&[managers])) => {
            repeat(tool, &two_phase_commit::two_phase_commit(managers, bug), transport)
        }
        ("paxos", Some(&[proposers, acceptors])) => {
            let sizes = paxos::Sizes { proposers, acceptors };
            repeat(tool, &paxos::paxos(sizes, bug), transport)
        }
        _ => Err(format!("there is no {protocol} of size {size} here")),
    }?;
    let executions = executions.map_or_else(|| "violated".to_owned(), |number| number.to_string());
    print_measured(&[executions, cpu.to_string()]);
    Ok(())
}

/// Explores again and again: how many executions there are, and the CPU time to explore them once.
fn repeat<A: Actor>(
    tool: &str,
    processes: &[A],
    transport: Transport,
) -> Result<(Option<u64>, f64), String> {
    let explore = || match tool {
        "traceforge" => Ok(in_traceforge::explore(processes, transport)),
        "allways" => in_allways::explore(processes, transport),
        _ => Err(format!("`{tool}` is neither traceforge nor allways")),
    };
    let meter = Meter::start();
    let mut times = 0;
    loop {
        let executions = explore()?;
        times += 1;
        // A bug is looked for once.
        if executions.is_none() || meter.cpu() >= ENOUGH {
            return Ok((executions, meter.cpu() / f64::from(times)));
        }
    }
}
