//! What survives a crash.

/// The persistent storage of a node, as the libraries ask for it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Disk {
    /// How many nodes vote. The libraries call this the cluster configuration.
    pub voters: usize,
    /// How often the node has been started before: newer versions want to know.
    pub generation: u64,
    /// The current term.
    pub term: u64,
    /// Whom the node has voted for in it.
    pub vote: Option<u64>,
    /// The log.
    pub log: Vec<Entry>,
}

/// An entry of the log. The libraries keep the contents of commands outside.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Entry {
    /// The first entry of a leader: its term.
    Term(u64),
    /// A command.
    Command,
}

/// What a deployment may get wrong.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Broken {
    /// It does not write votes to the disk.
    ForgetsVote,
    /// It does not write entries to the disk.
    ForgetsLog,
}

impl Disk {
    /// A disk with nothing on it but who votes.
    pub fn blank(voters: usize) -> Self {
        Disk { voters, generation: 0, term: 0, vote: None, log: Vec::new() }
    }

    /// Writes entries after the first `kept`; what was there is overwritten.
    pub fn append(&mut self, kept: u64, entries: impl Iterator<Item = Entry>) {
        self.log.truncate(kept as usize);
        self.log.extend(entries);
    }
}
