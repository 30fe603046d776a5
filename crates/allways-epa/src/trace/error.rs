//! Why a trace cannot be read: each in one sentence, since that is what people see.

use allways_epa_format::{Malformed, PROGRAM_FILE};
use std::fmt;
use std::path::PathBuf;

/// Why a trace cannot be read or written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TraceError {
    /// The operating system refuses.
    Access {
        /// What is refused.
        path: PathBuf,
        /// Its words.
        reason: String,
    },
    /// A directory, where a file is needed.
    Directory(PathBuf),
    /// A file that is no trace.
    NotATrace(PathBuf),
    /// A file that ends too early.
    CutOff {
        /// The file.
        path: PathBuf,
        /// How many bytes it has.
        has: u64,
        /// How many it should have.
        needs: u64,
    },
    /// A file whose checksum is wrong.
    Corrupt(PathBuf),
    /// A directory in which no program has left a trace.
    NoTrace(PathBuf),
    /// A file that should have the table of a program, but has none that can be read.
    NotAProgram(PathBuf),
    /// There are more or fewer addresses than globals.
    Addresses {
        /// How many addresses.
        has: u64,
        /// How many globals.
        needs: u64,
    },
    /// A stream has a record that cannot be.
    Stream {
        /// Of which thread.
        thread: u64,
        /// Where.
        malformed: Malformed,
    },
    /// A stream does not begin with the beginning of its thread.
    NoBegin {
        /// Of which thread.
        thread: u64,
    },
    /// Two threads have the same place in the tree of threads.
    Twice {
        /// Their name.
        name: String,
    },
    /// The program could not write all that it did, for these reasons.
    Incomplete(Vec<String>),
    /// There are more objects than can be numbered.
    TooManyObjects,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceError::Access { path, reason } => {
                write!(f, "`{}` cannot be read or written: {reason}", path.display())
            }
            TraceError::Directory(path) => {
                write!(f, "`{}` is a directory, not the file of a trace", path.display())
            }
            TraceError::NotATrace(path) => write!(f, "`{}` is no trace", path.display()),
            TraceError::CutOff { path, has, needs } => {
                let path = path.display();
                write!(f, "the trace `{path}` is cut off: it has {has} of its {needs} bytes")
            }
            TraceError::Corrupt(path) => {
                write!(f, "the trace `{}` is corrupt: its checksum is wrong", path.display())
            }
            TraceError::NoTrace(path) => {
                let path = path.display();
                write!(f, "no program has left a trace in `{path}`: there is no `{PROGRAM_FILE}`")
            }
            TraceError::NotAProgram(path) => {
                write!(f, "`{}` has no table of a program that can be read", path.display())
            }
            TraceError::Addresses { has, needs } => {
                write!(f, "the trace has addresses of {has} globals, but the program has {needs}")
            }
            TraceError::Stream { thread, malformed } => {
                write!(f, "the stream of thread {thread} cannot be read: {malformed}")
            }
            TraceError::NoBegin { thread } => {
                write!(f, "the stream of thread {thread} does not begin with its beginning")
            }
            TraceError::Twice { name } => write!(f, "two threads of the trace are {name}"),
            TraceError::Incomplete(reasons) => {
                write!(f, "the trace is incomplete: {}", reasons.join("; and "))
            }
            TraceError::TooManyObjects => {
                write!(f, "the trace has more objects than can be numbered with 32 bits")
            }
        }
    }
}

impl std::error::Error for TraceError {}
