//! Traces: what the threads of one run wrote, as one thing that can be kept in a file.
//!
//! An instrumented program leaves a directory with a stream for each thread. [`Trace::gather`] makes a [`Trace`] of it,
//! [`Trace::save`] keeps it in one file, and [`Trace::open`] reads that again, or says in one sentence why not. All
//! records of all threads in one order are [`Trace::merged`]; for people there is [`Trace::write_text`].
//!
//! | file | what |
//! |---|---|
//! | `error.rs` | why a trace cannot be read |
//! | `gather.rs` | from the directory of a run |
//! | `file.rs` | one file, with a checksum |
//! | `merged.rs` | all records in one order |
//! | `text.rs` | for people (listing 5 of the thesis) |

mod error;
mod file;
mod gather;
mod merged;
mod text;

pub use error::TraceError;
pub(crate) use gather::{incomplete, is_running};
pub use merged::Merged;
pub(crate) use text::{write_number, write_source};

use allways_epa_format::Program;

/// What one run of a program left behind.
///
/// ```
/// use allways_epa::format::{Event, Program, Record};
/// use allways_epa::trace::{Stream, Trace};
/// let mut bytes = Vec::new();
/// let begin = Event::Begin { thread: 0, parent: None, child: 0, stamp: 1 };
/// begin.put(&mut bytes);
/// let streams = vec![Stream { thread: 0, bytes }];
/// let (program, addresses, incomplete) = (Program::default(), Vec::new(), Vec::new());
/// let trace = Trace { program, addresses, streams, incomplete };
/// let mut merged = trace.merged();
/// assert_eq!(merged.next(), Ok(Some((0, 0, Record::Event(begin)))));
/// assert_eq!(merged.next(), Ok(None));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    /// What was known of the program before it ran.
    pub program: Program,
    /// Where each of [`Program::globals`] was in this run; 0 if it was nowhere.
    pub addresses: Vec<u64>,
    /// What the threads wrote, sorted by their numbers.
    pub streams: Vec<Stream>,
    /// What the program could not write, each in a sentence without its full stop. Of a trace in which something is missing nothing can be
    /// said that has to hold of all runs: see [`Trace::require_complete`].
    pub incomplete: Vec<String>,
}

/// What one thread wrote.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stream {
    /// The number that the thread had in this run.
    pub thread: u64,
    /// Its records.
    pub bytes: Vec<u8>,
}

impl Trace {
    /// A number that is the same for traces of the same program, and another one for others.
    pub fn fingerprint(&self) -> u64 {
        fingerprint(&self.program)
    }

    /// Nothing if the program wrote all that it did; otherwise why not.
    ///
    /// ```
    /// use allways_epa::format::Program;
    /// use allways_epa::trace::Trace;
    /// let (program, addresses, streams) = (Program::default(), Vec::new(), Vec::new());
    /// let incomplete = vec!["the disk was full; make room".to_owned()];
    /// let trace = Trace { program, addresses, streams, incomplete };
    /// let error = trace.require_complete().unwrap_err();
    /// assert_eq!(error.to_string(), "the trace is incomplete: the disk was full; make room");
    /// ```
    pub fn require_complete(&self) -> Result<(), TraceError> {
        match self.incomplete.is_empty() {
            true => Ok(()),
            false => Err(TraceError::Incomplete(self.incomplete.clone())),
        }
    }

    /// All records of all threads in one order: by their last stamp, then by thread, then as they are in their stream.
    pub fn merged(&self) -> Merged<'_> {
        Merged::new(self)
    }
}

/// A number that is the same for the same program, and another one for others.
pub(crate) fn fingerprint(program: &Program) -> u64 {
    file::hash(&program.to_bytes())
}
