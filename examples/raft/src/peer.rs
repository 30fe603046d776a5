//! A deployment of raft: a [`RawNode`] with its storage, and the loop around it that an application has to write.
//!
//! This file is what is under test, together with the crate itself. Nothing in it knows of a checker.

use crate::disk::{Disk, Slot};
use raft::prelude::{Config, Entry, Message, RawNode};
use raft::{NO_LIMIT, StateRole};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// What is wrong with the deployment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mistake {
    /// The storage forgets after a restart for whom the node voted.
    ForgetsVote,
    /// Entries linger in a cache when they are acknowledged: a crash loses those of the last event.
    UnsyncedEntries,
    /// The commit index that comes with a `LightReady` is not stored, though the entries are applied.
    UnstoredCommit,
}

/// One node.
pub struct Peer {
    /// Raft itself, and the disk in it.
    pub raft: RawNode<Disk>,
    /// The terms in which this node has ever been the leader. It is there for a property to read, and survives
    /// everything.
    pub led: BTreeSet<u64>,
    /// How often it has sent heartbeats.
    pub heartbeats: usize,
    pub(crate) mistake: Option<Mistake>,
}

impl Peer {
    /// A node that starts with what is on this disk.
    ///
    /// # Panics
    ///
    /// If raft refuses what is on the disk.
    pub fn new(id: u64, disk: Disk, mistake: Option<Mistake>) -> Self {
        let raft = raw_node(id, disk);
        Peer { raft, led: BTreeSet::new(), heartbeats: 0, mistake }
    }

    /// Whether it leads.
    pub fn leads(&self) -> bool {
        self.raft.raft.state == StateRole::Leader
    }

    /// What it has stored.
    pub fn disk(&self) -> &Disk {
        self.raft.store()
    }

    /// Something happens; what comes of it is stored, applied and sent.
    pub fn handle(&mut self, happens: impl FnOnce(&mut RawNode<Disk>)) -> Vec<Message> {
        if self.mistake == Some(Mistake::UnsyncedEntries) {
            self.raft.mut_store().linger();
        }
        happens(&mut self.raft);
        let messages = self.work();
        if self.leads() {
            self.led.insert(self.raft.raft.term);
        }
        messages
    }

    /// Does what raft wants done until there is nothing left.
    fn work(&mut self) -> Vec<Message> {
        let mut messages = Vec::new();
        while self.raft.has_ready() {
            let mut ready = self.raft.ready();
            assert!(ready.snapshot().is_empty(), "nobody makes snapshots");
            messages.extend(ready.take_messages());
            let disk = self.raft.mut_store();
            disk.append(ready.take_entries());
            if let Some(state) = ready.hs() {
                disk.store(state);
            }
            messages.extend(ready.take_persisted_messages());
            self.apply(&ready.take_committed_entries());
            let mut light = self.raft.advance(ready);
            if let Some(commit) = light.commit_index()
                && self.mistake != Some(Mistake::UnstoredCommit)
            {
                self.raft.mut_store().log.commit = commit;
            }
            messages.extend(light.take_messages());
            self.apply(&light.take_committed_entries());
            self.raft.advance_apply();
        }
        messages
    }

    /// The application takes committed entries in, and stores what comes of them.
    fn apply(&mut self, entries: &[Entry]) {
        let applied = &mut self.raft.mut_store().log.applied;
        for entry in entries {
            assert_eq!(entry.index, applied.len() as u64 + 1, "entries are applied in order");
            applied.push(Slot::from(entry));
        }
    }

    /// The node after a crash.
    pub fn after_crash(self) -> Self {
        let id = self.raft.raft.id;
        let mut disk = self.disk().clone().after_crash();
        if self.mistake == Some(Mistake::ForgetsVote) {
            disk.vote = 0;
        }
        Peer { raft: raw_node(id, disk), ..self }
    }
}

/// Raft as it starts with what is on this disk.
pub(crate) fn raw_node(id: u64, disk: Disk) -> RawNode<Disk> {
    let config = Config {
        id,
        applied: disk.log.applied.len() as u64,
        election_tick: 10,
        heartbeat_tick: 1,
        // From 10 up to but without 11: nothing is left to chance.
        min_election_tick: 10,
        max_election_tick: 11,
        max_size_per_msg: NO_LIMIT,
        max_inflight_msgs: 8,
        ..Config::default()
    };
    // Made once: copies of nodes are made often.
    static LOGGER: LazyLock<slog::Logger> =
        LazyLock::new(|| slog::Logger::root(slog::Discard, slog::o!()));
    RawNode::new(&config, disk, &LOGGER).expect("raft starts with what it had stored")
}
