//! The table that is printed, line by line as measured, then the targets.

use crate::Measurement;
use crate::actor::Transport;
use allways::grouped;
use allways_bench::report::{at_least, at_most, load, machine, targets};

/// Everything measured so far.
pub struct Report {
    /// What was measured, and the two ratios.
    lines: Vec<(String, f64, f64)>,
    /// Numbers of executions that are not what they must be.
    wrong: Vec<String>,
}

impl Report {
    /// Prints the environment and the head of the table.
    pub fn new() -> Self {
        println!("{}", machine());
        println!("executions, and thousands of them in a second of CPU time, one thread;");
        println!("Allways to TraceForge: how many executions, how many in a second");
        println!("race: the receiver keeps how many messages came, and the last of them;");
        println!(
            "race-kept: it keeps all of them in order, so each execution has states of its own\n"
        );
        println!("{:33} {:^20} {:^20}", "", "TraceForge 0.2", "Allways");
        println!(
            "{:<16} {:>5} {:>10} {TOOL} {TOOL} {:>10} {:>8}",
            "protocol",
            "size",
            "transport",
            "executions",
            "a second",
            TOOL = format_args!("{:>10} {:>9}", "executions", "k/s"),
        );
        Report { lines: Vec::new(), wrong: Vec::new() }
    }

    /// Adds a line.
    ///
    /// # Errors
    ///
    /// If a tool finds a bug where there is none.
    pub fn add(
        &mut self,
        protocol: &str,
        size: &str,
        transport: Transport,
        theirs: Measurement,
        ours: Measurement,
    ) -> Result<(), String> {
        let name = format!("{protocol} {size} {}", transport.name());
        let (Some(traceforge), Some(allways)) = (theirs.executions, ours.executions) else {
            return Err(format!("{name} holds, but TraceForge says {theirs:?}, Allways {ours:?}"));
        };
        let is_race = protocol.starts_with("race");
        let factorial = size.parse().map(|size: u64| (1..=size).product::<u64>());
        let wanted = factorial.ok().filter(|_| is_race).unwrap_or(traceforge);
        // Fewer executions are as wrong as more: some were missed. Only where TraceForge receives
        // what Allways leaves in flight are there fewer to explore.
        let right = match transport {
            Transport::Any if !is_race => allways <= traceforge,
            _ => allways == wanted && traceforge == wanted,
        };
        if !right {
            self.wrong.push(format!("{name}: TraceForge {traceforge}, Allways {allways}"));
        }
        let rates = [traceforge as f64 / theirs.cpu, allways as f64 / ours.cpu];
        let fewer = allways as f64 / traceforge as f64;
        let faster = rates[1] / rates[0];
        println!(
            "{protocol:<16} {size:>5} {:>10} {:>10} {:>9.1} {:>10} {:>9.1} {fewer:>9.3}x {faster:>7.1}x{}",
            transport.name(),
            grouped(traceforge),
            rates[0] / 1e3,
            grouped(allways),
            rates[1] / 1e3,
            if right { "" } else { "  WRONG" },
        );
        if right {
            self.lines.push((name, fewer, faster));
        }
        Ok(())
    }

    /// Prints which targets are met, by what is right.
    ///
    /// # Errors
    ///
    /// If a number of executions is not what it must be.
    pub fn finish(&self) -> Result<(), String> {
        println!("\nboth find the bugs of two-phase commit and of Paxos{}", load());
        targets();
        for (name, fewer, faster) in &self.lines {
            at_most(&format!("{name}: executions against TraceForge's"), 1.0, *fewer);
            at_least(&format!("{name}: executions a second"), 10.0, *faster);
        }
        match self.wrong.is_empty() {
            true => Ok(()),
            false => Err(format!("wrong numbers of executions:\n{}", self.wrong.join("\n"))),
        }
    }
}
