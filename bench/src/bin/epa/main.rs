//! Error propagation analysis: tables 8 and 10 and figure 17 of the thesis, on programs written here from its descriptions.
//!
//! ```text
//! epa INSTRUMENTER                 everything: 200 runs without a fault, 200 with one for each program and kind of fault
//! epa INSTRUMENTER 50              50 runs
//! epa INSTRUMENTER 50 z3           and the thesis' formula to z3, for at most a minute each
//! epa INSTRUMENTER 50 traces       without the campaigns
//! epa INSTRUMENTER growth          instead: times for traces of ten thousand records, ten times as many, and so on up to ten million
//! epa INSTRUMENTER 1000000 growth  up to so many records
//! ```
//!
//! The first argument is the program `allways-instrument`, which is built in `crates/allways-epa-llvm` and needs LLVM.

mod campaigns;
mod growth;
mod traces;

use allways_epa::campaign::Target;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The five programs, and what the thesis measured of them: instructions, minutes of the check for reversible pairs, seconds of sanitising and of
/// comparing.
const PROGRAMS: [(&str, [f64; 4]); 5] = [
    ("quicksort", [45e3, 30.38, 1.57, 0.3]),
    ("pca", [89e3, 150.43, 1.29, 0.17]),
    ("kmeans", [44e3, 81.94, 0.79, 0.13]),
    ("blackscholes", [91e3, 0.99, 1.58, 0.2]),
    ("swaptions", [1.1e6, 144.61, 8.57, 2.86]),
];

/// What is measured.
struct Settings {
    instrumenter: PathBuf,
    runs: usize,
    z3: bool,
    /// Where executables and campaigns are kept until the end.
    directory: PathBuf,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(instrumenter) = arguments.first().map(PathBuf::from) else {
        eprintln!("the first argument is the program allways-instrument");
        return ExitCode::from(2);
    };
    let has = |word: &str| arguments.iter().any(|argument| argument == word);
    let number: Option<usize> = arguments.iter().find_map(|argument| argument.parse().ok());
    let settings = Settings {
        instrumenter,
        runs: number.unwrap_or(200),
        z3: has("z3"),
        directory: std::env::temp_dir().join(format!("allways-bench-{}", std::process::id())),
    };
    let mut done = std::fs::create_dir_all(&settings.directory).map_err(|error| error.to_string());
    done = done.and_then(|()| match has("growth") {
        true => growth::measure(&settings, number.unwrap_or(10_000_000) as u64),
        false => traces::measure(&settings),
    });
    if !has("traces") && !has("growth") {
        done = done.and_then(|()| campaigns::measure(&settings));
    }
    let _ = std::fs::remove_dir_all(&settings.directory);
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// A program, instrumented or not.
fn built(settings: &Settings, name: &str, is_plain: bool) -> Result<Target, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../crates/allways-epa-llvm/programs")
        .join(format!("{name}.c"));
    let executable =
        settings.directory.join(if is_plain { format!("{name}-plain") } else { name.to_owned() });
    let mut command = Command::new(&settings.instrumenter);
    command.arg(&source).arg("-o").arg(&executable);
    if is_plain {
        command.arg("--plain");
    }
    let output =
        command.output().map_err(|error| format!("cannot start the instrumenter: {error}"))?;
    match output.status.success() {
        true => Ok(Target { executable, arguments: Vec::new() }),
        false => Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr))),
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}
