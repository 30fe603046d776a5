//! What the versions under test have in common, in plain numbers: all that a deployment needs.

use crate::disk::{Broken, Disk};
use allways::Value;
use std::fmt::{self, Debug};

/// The Raft node of a library that does no input and output itself: whoever deploys it hands it
/// timeouts, proposals and messages, and then does what it asks for.
pub trait Raft: Clone + Debug + Send + Sync + 'static {
    /// What nodes send each other.
    type Message: Value + Show;

    /// Starts from what is on the disk, for the first time or after a crash.
    fn restart(id: usize, disk: &Disk) -> Self;

    /// The election timeout has passed: a leader sends heartbeats, others stand for election.
    fn timeout(&mut self);

    /// The application proposes a command. Only a leader accepts it.
    fn propose(&mut self);

    /// A message has arrived.
    fn handle(&mut self, message: Self::Message);

    /// Does what the node asks for since the last time: writes to the disk, and returns what is
    /// to be sent, and whether to set the timer.
    fn act(&mut self, disk: &mut Disk, broken: Option<Broken>) -> Asked<Self::Message>;

    /// Its current term.
    fn term(&self) -> u64;

    /// Its role, as far as it knows.
    fn role(&self) -> Role;

    /// The terms of the entries in its log. An index and a term identify an entry.
    fn log(&self) -> Vec<u64>;

    /// How many entries it knows to be committed.
    fn committed(&self) -> usize;
}

/// What a node is in its current term.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// Follows whoever leads.
    Follower,
    /// Asks for votes.
    Candidate,
    /// Has been elected.
    Leader,
}

/// What a node asks for.
pub struct Asked<M> {
    /// Messages, and to whom.
    pub sends: Vec<(usize, M)>,
    /// Whether the election timeout begins anew.
    pub sets_timer: bool,
}

/// A message that can be written so that a run can be read.
pub trait Show {
    /// Writes it: an entry as its index and term, `2:t1`.
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}
