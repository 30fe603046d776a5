//! What a server has stored, where a check can look at it.

use omnipaxos::ballot_leader_election::Ballot;
use omnipaxos::storage::{Entry, NoSnapshot, StopSign};
use std::cell::RefCell;
use std::rc::Rc;

/// A command of the replicated log.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Value(pub u32);

impl Entry for Value {
    type Snapshot = NoSnapshot;
}

/// All that the crate stores.
#[derive(Clone, Default)]
pub struct Stored {
    pub log: Vec<Value>,
    pub promise: Option<Ballot>,
    pub accepted_round: Option<Ballot>,
    pub decided: usize,
    pub compacted: usize,
    pub stopsign: Option<StopSign>,
}

/// A storage that the crate owns and the wrapper looks at: they share it. Its trait is [implemented](crate::version) as each version of the crate
/// wants it.
#[derive(Clone, Default)]
pub struct Disk(pub Rc<RefCell<Stored>>);
