//! A difference, in words.

use crate::sanitise::{Canonical, Sanitised};
use std::fmt;

/// How two runs differ.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum DeviationKind {
    /// The same instruction has other values.
    Value,
    /// Another instruction follows, or another event.
    Control,
    /// A thread stops although it should go on.
    EndsEarly,
    /// A thread goes on although it should have stopped.
    GoesOn,
    /// A thread is only in the golden run.
    ThreadMissing,
    /// A thread is only in the faulty run.
    ThreadNew,
    /// The traces are of different programs.
    OtherProgram,
}

/// A difference between a golden and a faulty run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Deviation {
    /// How they differ.
    pub kind: DeviationKind,
    /// In which thread.
    pub thread: String,
    /// The index of the record in the order of the faulty run. Of what did not happen, how many records that run has.
    pub index: u64,
    /// Which record of the thread it is, from 0, without that which says that the fault happens.
    pub record: u64,
    /// The site of the record in the faulty run, or of that which is missing.
    pub site: Option<u32>,
    /// The record in the golden run, as text.
    pub golden: Option<String>,
    /// The record in the faulty run, as text.
    pub faulty: Option<String>,
}

impl Deviation {
    pub(super) fn other_program(golden: &Sanitised, faulty: &Sanitised) -> Self {
        Deviation {
            kind: DeviationKind::OtherProgram,
            thread: String::new(),
            index: 0,
            record: 0,
            site: None,
            golden: Some(golden.program().name.clone()),
            faulty: Some(faulty.program().name.clone()),
        }
    }
}

/// A record as text, without its index and its thread.
pub(super) fn text(trace: &Sanitised, record: &Canonical<'_>) -> String {
    let mut bytes = Vec::new();
    // Nothing can go wrong with writing to memory.
    let _ = trace.write_record(&mut bytes, record);
    String::from_utf8_lossy(&bytes).into_owned()
}

impl fmt::Display for Deviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Deviation { kind, thread, index, golden, faulty, .. } = self;
        let golden = golden.as_deref().unwrap_or("nothing");
        let faulty = faulty.as_deref().unwrap_or("nothing");
        match kind {
            DeviationKind::Value => {
                write!(f, "{thread} has `{faulty}` in place of `{golden}` (record {index})")
            }
            DeviationKind::Control => {
                write!(f, "{thread} goes to `{faulty}` in place of `{golden}` (record {index})")
            }
            DeviationKind::EndsEarly => {
                write!(f, "{thread} stops where `{golden}` should come")
            }
            DeviationKind::GoesOn => {
                write!(f, "{thread} goes on with `{faulty}` where it should stop (record {index})")
            }
            DeviationKind::ThreadMissing => write!(f, "{thread} never begins"),
            DeviationKind::ThreadNew => {
                write!(f, "{thread} begins, which should not be (record {index})")
            }
            DeviationKind::OtherProgram => {
                write!(f, "the traces are of different programs (`{golden}` and `{faulty}`)")
            }
        }
    }
}
