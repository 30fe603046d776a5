//! From the directory of a run.
//!
//! Threads make their files longer ahead of what they write, and a process can be killed at any time. So the end of a
//! stream is not the end of its file: it is found by reading the records. What follows, zeros or a part of a record, is cut
//! off. Trailing zeros cannot just be dropped, because the last value of the last record can be 0.

use super::{Stream, Trace, TraceError};
use allways_epa_format::{
    ADDRESSES_FILE, INCOMPLETE_FILE, PROGRAM_FILE, Program, RUNNING, Records, stream_name,
};
use std::fs;
use std::io;
use std::path::Path;

impl Trace {
    /// The trace that a run has left in a directory.
    pub fn gather(directory: &Path) -> Result<Trace, TraceError> {
        let path = directory.join(PROGRAM_FILE);
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(TraceError::NoTrace(directory.to_owned()));
            }
            other => other.map_err(|error| access(&path, &error))?,
        };
        let program = Program::from_bytes(&bytes).ok_or(TraceError::NotAProgram(path))?;
        let path = directory.join(ADDRESSES_FILE);
        let bytes = fs::read(&path).map_err(|error| access(&path, &error))?;
        let addresses = addresses(&bytes, &program)?;
        let mut streams = Vec::new();
        let entries = fs::read_dir(directory).map_err(|error| access(directory, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| access(directory, &error))?;
            let Some(thread) = entry.file_name().to_str().and_then(thread_of) else { continue };
            let path = entry.path();
            let mut bytes = fs::read(&path).map_err(|error| access(&path, &error))?;
            let end = end(&program, &bytes)
                .map_err(|malformed| TraceError::Stream { thread, malformed })?;
            bytes.truncate(end);
            bytes.shrink_to_fit();
            streams.push(Stream { thread, bytes });
        }
        streams.sort_by_key(|stream| stream.thread);
        let incomplete = incomplete(directory)?;
        Ok(Trace { program, addresses, streams, incomplete })
    }
}

pub(super) fn access(path: &Path, error: &io::Error) -> TraceError {
    TraceError::Access { path: path.to_owned(), reason: error.to_string() }
}

/// The addresses of globals, 8 bytes each, the lowest first.
pub(super) fn addresses(bytes: &[u8], program: &Program) -> Result<Vec<u64>, TraceError> {
    let (words, rest) = bytes.as_chunks::<8>();
    if words.len() != program.globals.len() || !rest.is_empty() {
        let (has, needs) = (words.len() as u64, program.globals.len() as u64);
        return Err(TraceError::Addresses { has, needs });
    }
    Ok(words.iter().map(|word| u64::from_le_bytes(*word)).collect())
}

/// Whether the process never said that it exits.
pub(crate) fn is_running(directory: &Path) -> Result<bool, TraceError> {
    Ok(notes(directory)?.last() == Some(&RUNNING))
}

/// What the program noted; nothing if there is no such file.
fn notes(directory: &Path) -> Result<Vec<u8>, TraceError> {
    let path = directory.join(INCOMPLETE_FILE);
    match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        other => other.map_err(|error| access(&path, &error)),
    }
}

/// What the program noted to be missing: lines, in a file that is longer than they are. Without such a file nothing is.
pub(crate) fn incomplete(directory: &Path) -> Result<Vec<String>, TraceError> {
    let bytes = notes(directory)?;
    // A process that was killed while it wrote a line leaves a part of it, which says enough.
    let lines =
        bytes.split(|byte| matches!(*byte, b'\n' | 0 | RUNNING)).filter(|line| !line.is_empty());
    let mut reasons: Vec<String> = Vec::new();
    for line in lines.map(String::from_utf8_lossy) {
        if !reasons.iter().any(|known| *known == line) {
            reasons.push(line.into_owned());
        }
    }
    Ok(reasons)
}

/// The thread whose stream has this name.
fn thread_of(name: &str) -> Option<u64> {
    let digits = name.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    digits.parse().ok().filter(|&thread| stream_name(thread) == name)
}

/// Where the last complete record ends.
fn end(program: &Program, bytes: &[u8]) -> Result<usize, allways_epa_format::Malformed> {
    let mut records = Records::new(program, bytes);
    let mut end = 0;
    while records.next()?.is_some() {
        end = records.position();
    }
    Ok(end)
}
