//! Measuring in a process of its own: CPU time and peak memory are then its alone.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// What a child prints before what it has measured.
const MARK: &str = "measured ";

/// Time and memory of a process from one moment on.
pub struct Meter {
    cpu: Duration,
    wall: Instant,
    memory: u64,
}

impl Meter {
    /// Begins to measure.
    pub fn start() -> Self {
        Meter { memory: memory("VmRSS:"), cpu: cpu_time(), wall: Instant::now() }
    }

    /// CPU time of all threads since then in seconds, user and system.
    pub fn cpu(&self) -> f64 {
        (cpu_time() - self.cpu).as_secs_f64()
    }

    /// Wall time since then in seconds.
    pub fn wall(&self) -> f64 {
        self.wall.elapsed().as_secs_f64()
    }

    /// Peak memory beyond what the process had then, in bytes.
    pub fn memory(&self) -> u64 {
        memory("VmHWM:").saturating_sub(self.memory)
    }
}

/// Runs this program once more, as `measure` with these words, and returns the numbers, or what
/// stands for them, that the child prints with [`print_measured`].
///
/// # Errors
///
/// If the child does not print any: with what it says instead.
pub fn in_child(what: &[&str]) -> Result<Vec<String>, String> {
    in_child_of(&std::env::current_exe().map_err(|error| error.to_string())?, what)
}

/// The same with another program.
///
/// # Errors
///
/// If it cannot be run, or as [`in_child`].
pub fn in_child_of(program: &Path, what: &[&str]) -> Result<Vec<String>, String> {
    let output = Command::new(program).arg("measure").args(what).output();
    let output = output.map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find_map(|line| line.strip_prefix(MARK));
    line.map(|line| line.split(' ').map(str::to_owned).collect()).ok_or_else(|| {
        format!("`measure {}` failed: {}", what.join(" "), String::from_utf8_lossy(&output.stderr))
    })
}

/// Lets this process have so many bytes of memory and no more, so that what explodes ends alone.
pub fn limit_memory(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: the call reads the struct that it is given.
    unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) };
}

/// Prints what a child has measured, for [`in_child`].
pub fn print_measured(words: &[String]) {
    println!("{MARK}{}", words.join(" "));
}

/// The one with the median of what is measured.
///
/// # Panics
///
/// If there is none.
pub fn median<T>(mut measured: Vec<T>, by: impl Fn(&T) -> f64) -> T {
    measured.sort_by(|a, b| by(a).total_cmp(&by(b)));
    measured.swap_remove(measured.len() / 2)
}

/// The CPU time of this process so far.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills in the struct that it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// A field of the process's status, in bytes; zero where the system does not tell.
fn memory(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok());
    kilobytes.unwrap_or(0u64) * 1024
}
