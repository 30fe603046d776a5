//! Bitcode of C, C++ and Rust.

use crate::options::{Language, Options};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory for files on the way, which is gone in the end.
pub struct WorkDirectory(PathBuf);

impl WorkDirectory {
    /// Makes one.
    pub fn new() -> Result<Self, String> {
        let path = std::env::temp_dir().join(format!("allways-instrument-{}", std::process::id()));
        std::fs::create_dir_all(&path)
            .map_err(|error| format!("{} cannot be made: {error}", path.display()))?;
        Ok(WorkDirectory(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for WorkDirectory {
    fn drop(&mut self) {
        // If it stays there is nothing more to do about it.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs a compiler; its messages are what is said if it fails.
pub fn run(command: &mut Command, what: &str) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => format!("{program} is not installed, and {what} needs it"),
        _ => format!("{program} cannot be run: {error}"),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let messages = String::from_utf8_lossy(&output.stderr);
    Err(format!("{what} failed:\n{}", messages.trim_end()))
}

/// The compiler of a language that makes bitcode.
pub fn clang(language: Language) -> &'static str {
    if language == Language::Cpp { "clang++-22" } else { "clang-22" }
}

/// Compiles a program to bitcode: not optimised, so that instructions are those of the source, and with lines.
pub fn bitcode(options: &Options, work: &WorkDirectory) -> Result<PathBuf, String> {
    if let Err(error) = std::fs::metadata(&options.source) {
        return Err(format!("{} cannot be read: {error}", options.source.display()));
    }
    let path = work.path().join("program.bc");
    let what = format!("compiling {}", options.name());
    match options.language {
        Language::C | Language::Cpp => {
            let mut command = Command::new(clang(options.language));
            // Whatever may be optimised later is not marked as what never may.
            command.args([
                "-O0",
                "-g",
                "-fPIC",
                "-Xclang",
                "-disable-O0-optnone",
                "-emit-llvm",
                "-c",
            ]);
            command.args(&options.flags).arg(&options.source).arg("-o").arg(&path);
            run(&mut command, &what)?;
        }
        Language::Rust => {
            let mut command = rustc(options);
            // With `-o`, files on the way are in the same directory, where those of no other run are.
            command.arg("--emit=llvm-bc").arg("-o").arg(&path);
            run(&mut command, &what)?;
        }
    }
    Ok(path)
}

/// The compiler of Rust, with what both of its runs have in common.
pub fn rustc(options: &Options) -> Command {
    let mut command = Command::new("rustc");
    command.arg(format!("--crate-name={}", crate::standard::CRATE));
    command.args(["--crate-type=bin", "--edition=2024"]);
    command.args(["-Ccodegen-units=1", "-Cdebuginfo=1", "-Cpanic=unwind", "-Copt-level=0"]);
    command.args(&options.flags).arg(&options.source);
    command
}
