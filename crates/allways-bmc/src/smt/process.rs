//! Any SMT-LIB 2 solver, as a process.

use super::answer;
use crate::solve::{Answer, Stop};
use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// A solver that is not compiled in.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct External {
    /// Its program, which is given the name of a file.
    pub program: PathBuf,
}

/// A file that is gone when it is no longer needed.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A process that is gone when it is no longer needed.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl External {
    /// What it says of a formula in SMT-LIB 2, and the values of what the question asks for.
    ///
    /// The formula ends with `(check-sat)`; the question is a `(get-value (…))`, or nothing.
    ///
    /// # Errors
    ///
    /// If it cannot be started, or says nothing that is an answer.
    pub fn solve(
        &self,
        formula: &str,
        question: &str,
        stop: &Stop,
    ) -> Result<(Answer, Vec<i64>), String> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("allways-{}-{count}.smt2", std::process::id());
        let file = Temporary(std::env::temp_dir().join(name));
        let who = self.program.display();
        fs::write(&file.0, format!("{formula}{question}(exit)\n"))
            .map_err(|error| format!("cannot write a formula to {}: {error}", file.0.display()))?;
        let child = Command::new(&self.program)
            .arg(&file.0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("cannot start the solver {who}, is it installed? {error}"))?;
        let mut running = Running(child);
        let mut stdout = running.0.stdout.take().ok_or("the solver has no output")?;
        // Read beside, so that it never waits for room.
        let reader = thread::spawn(move || {
            let mut text = String::new();
            stdout.read_to_string(&mut text).map(|_| text)
        });
        let mut pause = Duration::from_millis(1);
        while !reader.is_finished() {
            if stop.is_due() {
                return Ok((Answer::Stopped, Vec::new()));
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
        let text = reader.join().map_err(|_| "the solver's output was not read")?;
        let text =
            text.map_err(|error| format!("cannot read what the solver {who} says: {error}"))?;
        let (word, rest) = text.trim_start().split_once('\n').unwrap_or((text.trim(), ""));
        match word.trim() {
            "unsat" => Ok((Answer::Unmet, Vec::new())),
            "sat" if question.is_empty() => Ok((Answer::Met, Vec::new())),
            "sat" => match answer::values(rest) {
                Some(values) => Ok((Answer::Met, values)),
                None => Err(format!("the solver {who} gave no values: {}", short(rest))),
            },
            "unknown" => Err(format!("the solver {who} does not know")),
            _ => Err(format!("the solver {who} said neither sat nor unsat: {}", short(&text))),
        }
    }
}

fn short(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or("nothing");
    line.chars().take(120).collect()
}
