//! Steps: what a sanitised trace says of memory and of how threads wait for each other, in the order of the trace.

pub use allways_epa_format::Event;

/// A step of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Which thread: a place in the list of threads of the trace, not the number it had when it ran.
    pub thread: u32,
    /// Which record of the thread's stream, from 0.
    pub record: u64,
    /// Of an instruction, its site.
    pub site: Option<u32>,
    /// What it does.
    pub action: Action,
}

/// What a step does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Reads memory.
    Read(Place),
    /// Writes memory.
    Write(Place),
    /// Something by which threads wait for each other. Numbers of threads and addresses of memory are as they were in the trace;
    /// what is locked or waited for has a number that nothing else has in this trace, also if its address is used again.
    Event(Event),
}

/// Bytes of an object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    /// The object: the same number for the same object throughout a trace, also when its address is used again by others.
    pub object: u32,
    /// The first byte.
    pub offset: u64,
    /// How many bytes.
    pub bytes: u64,
}
