//! One measurement in a process of its own.

use super::program::Program;
use super::tool::{Explored, Tool};
use crate::measure::{Meter, in_child_of as numbers_of, print_measured};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What takes less CPU time than this, in seconds, is explored again until it does not.
const ENOUGH: f64 = 1.0;

/// Time is looked at once in so many executions.
const SELDOM: u64 = 16;

/// How an exploration ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Everything was explored, and nothing is wrong.
    Complete,
    /// Time was over.
    Unfinished,
    /// A deadlock was found.
    Deadlock,
    /// The program has too many threads for the tool.
    TooManyThreads,
}

impl End {
    const ALL: [End; 4] = [End::Complete, End::Unfinished, End::Deadlock, End::TooManyThreads];

    /// One word for it, which a child prints.
    pub fn word(self) -> &'static str {
        match self {
            End::Complete => "complete",
            End::Unfinished => "unfinished",
            End::Deadlock => "deadlock",
            End::TooManyThreads => "too-many-threads",
        }
    }
}

/// What one tool was measured to do.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measurement {
    /// How it ended.
    pub end: End,
    /// How many executions there are, or were until it ended.
    pub executions: u64,
    /// CPU time to explore them once, in seconds.
    pub cpu: f64,
}

impl Measurement {
    /// Executions in a second of CPU time.
    pub fn rate(&self) -> f64 {
        self.executions as f64 / self.cpu
    }

    fn print(&self) {
        let Measurement { end, executions, cpu } = self;
        print_measured(&[end.word().to_owned(), executions.to_string(), cpu.to_string()]);
    }

    fn parse(words: &[String]) -> Option<Self> {
        let [end, executions, cpu] = words else { return None };
        Some(Measurement {
            end: End::ALL.into_iter().find(|known| known.word() == end)?,
            executions: executions.parse().ok()?,
            cpu: cpu.parse().ok()?,
        })
    }
}

/// Runs a program as `measure` with a tool, a program of threads and so many seconds.
///
/// # Errors
///
/// If the child prints no measurement: with what it says instead.
pub fn in_child_of(
    executable: &Path,
    tool: &str,
    program: Program,
    seconds: u64,
) -> Result<Measurement, String> {
    let (size, seconds) = (program.size(), seconds.to_string());
    let words = numbers_of(executable, &[tool, program.name(), &size, &seconds])?;
    Measurement::parse(&words).ok_or_else(|| format!("not a measurement: {}", words.join(" ")))
}

/// What the child does: `[program, size, seconds]`. It explores once with a limit, then, if that was
/// quick, again and again without, and prints one line.
///
/// # Errors
///
/// If the words say nothing that can be measured, or the tool fails.
pub fn explore<T: Tool>(words: &[&str]) -> Result<(), String> {
    let [name, size, seconds] = *words else {
        return Err(format!("cannot measure `{}`", words.join(" ")));
    };
    let program = Program::parse(name, size).ok_or(format!("there is no {name} of size {size}"))?;
    let seconds = seconds.parse().map_err(|_| format!("`{seconds}` is no number of seconds"))?;
    // A deadlock is told by a panic: to show where it comes from takes longer than to find it.
    std::panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
    let meter = Meter::start();
    let mut measured = explore_once::<T>(program, seconds)?;
    if measured.end == End::Complete {
        let mut times = 1;
        while meter.cpu() < ENOUGH {
            T::explore(move || program.run::<T>())?;
            times += 1;
        }
        measured.cpu = meter.cpu() / f64::from(times);
    }
    measured.print();
    Ok(())
}

/// Explores all executions, for so many seconds: if they are over, what was measured until then is
/// printed and the process ends.
///
/// # Errors
///
/// If the tool fails.
pub fn explore_once<T: Tool>(program: Program, seconds: f64) -> Result<Measurement, String> {
    if program.threads() > T::MOST_THREADS {
        return Ok(Measurement { end: End::TooManyThreads, executions: 0, cpu: 0.0 });
    }
    let clock = Arc::new(Clock { executions: AtomicU64::new(0), meter: Meter::start(), seconds });
    let inside = Arc::clone(&clock);
    let explored = T::explore(move || {
        inside.count();
        program.run::<T>();
    })?;
    let cpu = clock.meter.cpu();
    let counted = clock.executions.load(Relaxed);
    Ok(match explored {
        // With those that a tool needs to tell what it has found.
        Explored::Deadlock => Measurement { end: End::Deadlock, executions: counted, cpu },
        Explored::Complete(told) => {
            Measurement { end: End::Complete, executions: told.unwrap_or(counted), cpu }
        }
    })
}

/// Counts executions, from inside of them, until time is over.
struct Clock {
    executions: AtomicU64,
    meter: Meter,
    seconds: f64,
}

impl Clock {
    /// Counts one more. If time is over, the process ends: no tool has to be told how to stop.
    fn count(&self) {
        let executions = self.executions.fetch_add(1, Relaxed);
        if executions.is_multiple_of(SELDOM) && self.meter.wall() >= self.seconds {
            let cpu = self.meter.cpu();
            Measurement { end: End::Unfinished, executions, cpu }.print();
            std::process::exit(0);
        }
    }
}
