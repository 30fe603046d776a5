//! A copy of a node, though raft has none to offer: a new one is made from the same disk, and what raft has in memory is put in
//! field by field, as far as it is no function of the rest.
//!
//! This needs that raft has nothing left to be done, as is the case after each event. What cannot be copied, since it is private, is
//! then the same in all nodes, or is never read: clocks do not tick, the election timeout is fixed, and the size of what
//! is uncommitted has no limit.

use crate::peer::{Peer, raw_node};

impl Peer {
    /// The same once more.
    ///
    /// # Panics
    ///
    /// If raft has something left to be done.
    pub fn copy(&self) -> Self {
        let from = &self.raft.raft;
        assert!(!self.raft.has_ready(), "there is work left");
        // Raft wants to find on the disk what it had in memory, even if a mistake kept it from being there.
        let mut disk = self.disk().clone();
        disk.store(&from.hard_state());
        let mut raft = raw_node(from.id, disk);
        let to = &mut raft.raft;
        (to.state, to.leader_id) = (from.state, from.leader_id);
        (to.lead_transferee, to.pending_conf_index) =
            (from.lead_transferee, from.pending_conf_index);
        (to.election_elapsed, to.priority) = (from.election_elapsed, from.priority);
        to.pending_request_snapshot = from.pending_request_snapshot;
        to.read_only = from.read_only.clone();
        to.raft_log.persisted = from.raft_log.persisted;
        *to.mut_prs() = from.prs().clone();
        // One round without anything in it, so that raft takes note of what it is.
        while raft.has_ready() {
            let mut ready = raft.ready();
            assert!(ready.take_messages().is_empty() && ready.take_persisted_messages().is_empty());
            let mut light = raft.advance(ready);
            assert!(light.take_messages().is_empty() && light.take_committed_entries().is_empty());
        }
        *raft.mut_store() = self.disk().clone();
        Peer { raft, led: self.led.clone(), ..*self }
    }
}
