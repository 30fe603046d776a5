//! The table that is printed, line by line as measured, then who finds the deadlock.

use allways::grouped;
use allways_bench::report::{load, machine};
use allways_bench::threads::program::Program;
use allways_bench::threads::{End, Measurement};

/// What was wrong so far.
pub struct Report {
    wrong: Vec<String>,
}

/// A tool as people write it, with its version.
fn full_name(tool: &str) -> &str {
    match tool {
        "allways" => "Allways",
        "loom" => "Loom 0.7",
        "shuttle" => "Shuttle 0.9",
        "traceforge" => "TraceForge 0.2",
        other => other,
    }
}

impl Report {
    /// Prints the environment and the head of the table.
    pub fn new(seconds: u64) -> Self {
        println!("{}", machine());
        println!("executions, and thousands of them in a second of CPU time, one thread;");
        println!(
            "to Allways: how many executions, how much CPU time for one, and for all of them;"
        );
        println!("what has not finished after {seconds} s has been through so many executions\n");
        println!("{:65} {:^31}", "", "to Allways");
        println!(
            "{:<16} {:>5}  {:<14} {:>16} {:>9} {:>11} {:>8} {:>10}",
            "program", "size", "tool", "executions", "k/s", "executions", "one", "all"
        );
        Report { wrong: Vec::new() }
    }

    /// Adds what the tools, Allways first, do with a program that has so many executions.
    pub fn add(&mut self, program: Program, wanted: u64, tools: &[(&str, Measurement)]) {
        let name = format!("{} {}", program.name(), program.size());
        let Some(&(_, ours)) = tools.first() else { return };
        for (index, &(tool, measured)) in tools.iter().enumerate() {
            let (program, size) = match index {
                0 => (program.name(), program.size()),
                _ => ("", String::new()),
            };
            let start = format!("{program:<16} {size:>5}  {:<14}", full_name(tool));
            if measured.end == End::TooManyThreads {
                println!("{start} {:>16}", "too many threads");
                continue;
            }
            let right = self.judge(&name, wanted, ours, tool, measured);
            println!(
                "{start} {:>16} {:>9.1}{}{}{}",
                grouped(measured.executions),
                measured.rate() / 1e3,
                if index == 0 { String::new() } else { ratios(ours, measured) },
                if measured.end == End::Unfinished { "  did not finish" } else { "" },
                if right { "" } else { "  WRONG" },
            );
        }
    }

    /// Whether a tool does what it must: Allways so many executions, no other one fewer, if it
    /// finishes.
    fn judge(
        &mut self,
        name: &str,
        wanted: u64,
        ours: Measurement,
        tool: &str,
        measured: Measurement,
    ) -> bool {
        let right = match (tool, measured.end) {
            ("allways", End::Complete) => measured.executions == wanted,
            ("allways", _) => false,
            (_, End::Complete) => ours.executions <= measured.executions,
            (_, end) => end == End::Unfinished,
        };
        if !right {
            let Measurement { end, executions, .. } = measured;
            let (tool, executions) = (full_name(tool), grouped(executions));
            self.wrong.push(format!(
                "{name}: {tool} {} with {executions} executions, Allways {}, {wanted} wanted",
                end.word(),
                grouped(ours.executions),
            ));
        }
        right
    }

    /// Says who finds a deadlock.
    pub fn add_deadlock(&mut self, program: Program, tools: &[(&str, Measurement)]) {
        println!("\n{} of {} threads, each with two locks:", program.name(), program.size());
        for &(tool, Measurement { end, executions, cpu }) in tools {
            let found = match end {
                End::Deadlock => "found",
                End::Complete | End::Unfinished => "not found",
                End::TooManyThreads => "too many threads",
            };
            let (name, executions, milliseconds) =
                (full_name(tool), grouped(executions), cpu * 1e3);
            println!("  {name:<14} {found} in {executions} executions, {milliseconds:.1} ms");
            if tool == "allways" && end != End::Deadlock {
                self.wrong.push(format!("Allways finds no {} {}", program.name(), program.size()));
            }
        }
    }

    /// Says how busy the machine was.
    ///
    /// # Errors
    ///
    /// If a number of executions is not what it must be, or Allways finds no deadlock.
    pub fn finish(&self) -> Result<(), String> {
        println!("\nin the end{}", load());
        match self.wrong.is_empty() {
            true => Ok(()),
            false => Err(format!("not as it must be:\n{}", self.wrong.join("\n"))),
        }
    }
}

/// How many more executions than Allways, how much more time for one, and for all of them; if not all
/// were explored, at least so much.
fn ratios(ours: Measurement, theirs: Measurement) -> String {
    let more = theirs.executions as f64 / ours.executions as f64;
    let slower = ours.rate() / theirs.rate();
    let longer = theirs.cpu / ours.cpu;
    let least = if theirs.end == End::Unfinished { ">" } else { "" };
    let times = |ratio: f64| match ratio < 100.0 {
        true => format!("{ratio:.1}x"),
        false => format!("{}x", grouped(ratio as u64)),
    };
    format!(
        " {:>11} {:>8} {:>10}",
        format!("{least}{}", times(more)),
        times(slower),
        format!("{least}{}", times(longer)),
    )
}
