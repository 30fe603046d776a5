//! What a node has stored: raft's [`Storage`], by value.
//!
//! The storage that comes with raft shares its contents among clones. This one is a plain value, so that a copy of a
//! node is a copy, and what a crash leaves is easy to say.

use raft::prelude::{ConfState, Entry, HardState, Snapshot};
use raft::storage::{GetEntriesContext, RaftState, Storage};
use raft::{Error, Result, StorageError};
use std::fmt;

/// An entry of a log as the properties see it: what tells it from another one at the same index.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    /// The term of the leader that made it.
    pub term: u64,
    /// What was proposed; nothing in the entry with which every leader begins.
    pub data: Vec<u8>,
}

impl From<&Entry> for Slot {
    fn from(entry: &Entry) -> Self {
        Slot { term: entry.term, data: entry.data.to_vec() }
    }
}

impl fmt::Debug for Slot {
    /// `1:a1`, or `1:-` if nothing was proposed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let data =
            if self.data.is_empty() { "-".into() } else { String::from_utf8_lossy(&self.data) };
        write!(f, "{}:{data}", self.term)
    }
}

/// The log, how far it is committed, and what the application has made of it.
#[derive(Clone, Default, Debug)]
pub struct Log {
    /// The entries, from index 1.
    pub entries: Vec<Entry>,
    /// The index up to which the node knew them to be committed.
    pub commit: u64,
    /// What the application has applied, from index 1. It is the application that stores this, so it does not follow
    /// when entries are overwritten that should never have been.
    pub applied: Vec<Slot>,
}

impl Log {
    /// The entries as the properties see them.
    pub fn slots(&self) -> Vec<Slot> {
        self.entries.iter().map(Slot::from).collect()
    }
}

/// All that survives a crash.
#[derive(Clone, Default, Debug)]
pub struct Disk {
    /// All nodes, as raft numbers them.
    pub voters: Vec<u64>,
    /// The highest term that the node has seen.
    pub term: u64,
    /// For whom it voted in this term; 0 for nobody.
    pub vote: u64,
    /// The log.
    pub log: Log,
    /// If writes to the log linger in a cache: what a crash would leave of it.
    pub synced: Option<Log>,
}

impl Disk {
    /// Nothing yet, at each of so many nodes.
    pub fn empty(nodes: usize) -> Self {
        Disk { voters: (1..=nodes as u64).collect(), ..Disk::default() }
    }

    /// Stores these entries in place of what is there from their index on.
    pub fn append(&mut self, entries: Vec<Entry>) {
        if let Some(first) = entries.first() {
            self.log.entries.truncate(first.index as usize - 1);
            self.log.entries.extend(entries);
        }
    }

    /// Stores a term, a vote and a commit index.
    pub fn store(&mut self, state: &HardState) {
        (self.term, self.vote, self.log.commit) = (state.term, state.vote, state.commit);
    }

    /// What was written before gets to the disk; what will be written lingers.
    pub fn linger(&mut self) {
        self.synced = Some(self.log.clone());
    }

    /// What a crash leaves.
    pub fn after_crash(mut self) -> Self {
        if let Some(synced) = self.synced.take() {
            self.log = synced;
        }
        self
    }
}

impl Storage for Disk {
    fn initial_state(&self) -> Result<RaftState> {
        let mut hard = HardState::default();
        (hard.term, hard.vote, hard.commit) = (self.term, self.vote, self.log.commit);
        Ok(RaftState::new(hard, ConfState::from((self.voters.clone(), Vec::new()))))
    }

    fn entries(
        &self,
        low: u64,
        high: u64,
        max_size: impl Into<Option<u64>>,
        _: GetEntriesContext,
    ) -> Result<Vec<Entry>> {
        let mut entries = self.log.entries[low as usize - 1..high as usize - 1].to_vec();
        raft::util::limit_size(&mut entries, max_size.into());
        Ok(entries)
    }

    fn term(&self, index: u64) -> Result<u64> {
        match index {
            0 => Ok(0),
            _ => (self.log.entries.get(index as usize - 1))
                .map(|entry| entry.term)
                .ok_or(Error::Store(StorageError::Unavailable)),
        }
    }

    fn first_index(&self) -> Result<u64> {
        Ok(1)
    }

    fn last_index(&self) -> Result<u64> {
        Ok(self.log.entries.len() as u64)
    }

    /// There is none: logs are never compacted.
    fn snapshot(&self, _: u64, _: u64) -> Result<Snapshot> {
        Err(Error::Store(StorageError::SnapshotTemporarilyUnavailable))
    }
}
