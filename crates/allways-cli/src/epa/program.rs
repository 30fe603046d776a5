//! A program that is ready to run: instrumented here, or by somebody before.
//!
//! The instrumenter is a program of its own, as it needs LLVM and nothing else here does. So it has to be found first, and where it is
//! missing people have to be told how to get it.

use crate::args::ProgramArgs;
use crate::files::fresh_directory;
use allways_epa::campaign::{Limits, Run, Target, record_within};
use allways_epa::trace::Trace;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;

/// The variable with the path of the instrumenter.
const VARIABLE: &str = "ALLWAYS_INSTRUMENT";
const NAME: &str = "allways-instrument";
const PACKAGES: &str = "llvm-22-dev clang-22 libpolly-22-dev libzstd-dev zlib1g-dev";

/// How files end that are the source of a program.
const SOURCES: [&str; 5] = ["c", "cc", "cpp", "cxx", "rs"];

/// A program that is ready to run. What was made for it is removed in the end.
pub(super) struct Prepared {
    pub target: Target,
    /// What it was made of, or what it is.
    program: PathBuf,
    made: Option<PathBuf>,
}

impl Prepared {
    /// Runs it once without a fault. What goes wrong is said of the program that was given, and not of the file that was made of it.
    pub fn record(
        &self,
        limits: &Limits,
        stop: &AtomicBool,
    ) -> Result<Option<(Run, Trace)>, String> {
        record_within(&self.target, limits, stop).map_err(|error| {
            let made = self.target.executable.display().to_string();
            error.replace(&made, &self.program.display().to_string())
        })
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        if let Some(directory) = &self.made {
            let _ = std::fs::remove_dir_all(directory);
        }
    }
}

/// Instruments a program, if that was not yet done.
pub(super) fn prepare(args: &ProgramArgs, ours: &Path) -> Result<Prepared, String> {
    let program = &args.program;
    if !program.is_file() {
        let why = if program.is_dir() { "it is a directory" } else { "there is no such file" };
        return Err(format!("cannot run {}: {why}", program.display()));
    }
    let arguments = args.arguments.clone();
    let extension = program.extension().and_then(|extension| extension.to_str());
    if !extension.is_some_and(|extension| SOURCES.contains(&extension)) {
        if args.cflags.is_some() {
            let name = program.display();
            return Err(format!("--cflags is for sources, but {name} is taken for an executable"));
        }
        // A name without a directory would be looked for in PATH.
        let executable = std::path::absolute(program)
            .map_err(|error| format!("cannot run {}: {error}", program.display()))?;
        let program = program.clone();
        return Ok(Prepared { target: Target { executable, arguments }, program, made: None });
    }
    let instrumenter = find(ours)?;
    let directory = fresh_directory("allways-instrumented")?;
    let executable = directory.join("program");
    let prepared = Prepared {
        target: Target { executable: executable.clone(), arguments },
        program: program.clone(),
        made: Some(directory),
    };
    let mut command = Command::new(&instrumenter);
    command.arg(program).arg("-o").arg(&executable);
    if let Some(flags) = &args.cflags {
        command.arg("--").args(flags.split_whitespace());
    }
    let output = command.stdin(Stdio::null()).output();
    let output =
        output.map_err(|error| format!("cannot run {}: {error}", instrumenter.display()))?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if !output.status.success() {
        return Err(match said.strip_prefix(NAME).and_then(|said| said.strip_prefix(": ")) {
            Some(sentence) => first(sentence),
            // Whatever this is, it is not the instrumenter who speaks: LLVM may be missing.
            None => {
                let said = if said.is_empty() { output.status.to_string() } else { said };
                let name = instrumenter.display();
                format!("{name} does not work ({said}); it needs the Debian packages {PACKAGES}")
            }
        });
    }
    if !executable.is_file() {
        let name = program.display();
        return Err(format!("{} made no executable of {name}", instrumenter.display()));
    }
    Ok(prepared)
}

/// What a compiler says takes many lines: what it was about, and the first error, with the place that Rust's compiler says after it. A linker
/// says what it misses before it says that there is an error.
fn first(said: &str) -> String {
    let mut lines = said.lines();
    let about = lines.next().unwrap_or_default().trim();
    let is_missing =
        |line: &&str| line.contains("undefined reference") || line.contains("undefined symbol");
    if let Some(missing) = lines.clone().find(is_missing) {
        return format!("{about} {}", missing.trim());
    }
    match lines.find(|line| line.contains("error")) {
        Some(error) => {
            let place = lines.next().map(str::trim).and_then(|line| line.strip_prefix("--> "));
            let place = place.map(|place| format!(" ({place})")).unwrap_or_default();
            format!("{about} {}{place}", error.trim())
        }
        None => said.to_owned(),
    }
}

/// Where the instrumenter is.
fn find(ours: &Path) -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os(VARIABLE).filter(|named| !named.is_empty()) {
        let path = PathBuf::from(named);
        return match path.is_file() {
            true => Ok(path),
            false => Err(format!("{VARIABLE} names {}, where there is no file", path.display())),
        };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    among(ours, &path).ok_or_else(|| {
        format!(
            "there is no {NAME}, which sources are instrumented with: build it with `cargo build --release` in \
             crates/allways-epa-llvm (it needs the Debian packages {PACKAGES}), and put it beside this program, \
             into PATH, or its path into {VARIABLE}"
        )
    })
}

/// Beside our own program, or in one of these directories.
fn among(ours: &Path, path: &OsString) -> Option<PathBuf> {
    let beside = ours.parent().map(Path::to_owned);
    let name = format!("{NAME}{}", std::env::consts::EXE_SUFFIX);
    let mut places =
        beside.into_iter().chain(std::env::split_paths(path)).map(|place| place.join(&name));
    places.find(|place| place.is_file())
}
