//! What tells states of a node apart: all that its handlers and the views depend on, and no more.
//!
//! Left out is what raft keeps and does not read again. How far a leader is with its followers is begun anew by whoever
//! becomes leader, so it counts for leaders only. (One field of it is not: the commit index that a follower was last known to
//! have. Raft only writes it.) Which followers were active lately matters only if raft is to check its quorum, or sends
//! snapshots; neither is so here. Of the appends on the way to a follower only those count that were not acknowledged, not where in
//! a ring buffer they are.
//!
//! That this is enough is a claim. `--verify-aux` tries to refute it, and so do the tests, which compare with searches
//! that tell states apart by all that has happened.

use crate::disk::{Log, Slot};
use crate::peer::Peer;
use raft::{Progress, ProgressState, StateRole};
use std::fmt;

/// See the [module](self).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Fingerprint {
    role: u8,
    term: u64,
    vote: u64,
    leader: u64,
    committed: u64,
    persisted: u64,
    pending_conf_index: u64,
    /// Who has voted for this candidate, and who against.
    votes: Vec<(u64, bool)>,
    /// How far this leader is with the others, in the order of their numbers.
    followers: Vec<Follower>,
    /// What is stored: term, vote and commit index.
    stored: [u64; 3],
    log: Vec<Slot>,
    applied: Vec<Slot>,
    /// What a crash would leave of the log, if that is something else.
    synced: Option<(u64, Vec<Slot>, Vec<Slot>)>,
    led: Vec<u64>,
    heartbeats: usize,
}

/// How far a leader is with another node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Follower {
    id: u64,
    matched: u64,
    next: u64,
    state: u8,
    paused: bool,
    snapshots: [u64; 2],
    /// The last index of each append on the way to it.
    in_flight: Vec<u64>,
}

impl Fingerprint {
    /// That of a node between two events.
    pub fn of(peer: &Peer) -> Self {
        let (raft, disk) = (&peer.raft.raft, peer.disk());
        let mut votes: Vec<_> = raft.prs().votes().iter().map(|(&id, &vote)| (id, vote)).collect();
        votes.sort_unstable();
        let mut followers = Vec::new();
        if peer.leads() {
            let last = raft.raft_log.last_index();
            followers.extend(raft.prs().iter().map(|(&id, to)| Follower::of(id, to, last)));
            followers.sort_unstable_by_key(|follower| follower.id);
        }
        let parts = |log: &Log| (log.commit, log.slots(), log.applied.clone());
        Fingerprint {
            role: raft.state as u8,
            term: raft.term,
            vote: raft.vote,
            leader: raft.leader_id,
            committed: raft.raft_log.committed,
            persisted: raft.raft_log.persisted,
            pending_conf_index: raft.pending_conf_index,
            votes,
            followers,
            stored: [disk.term, disk.vote, disk.log.commit],
            log: disk.log.slots(),
            applied: disk.log.applied.clone(),
            synced: disk.synced.as_ref().map(parts),
            led: peer.led.iter().copied().collect(),
            heartbeats: peer.heartbeats,
        }
    }

    /// In one line, for those who read a run.
    ///
    /// # Errors
    ///
    /// If what it is written to has one.
    pub fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let role = [StateRole::Follower, StateRole::Candidate, StateRole::Leader];
        let role = role.into_iter().find(|&role| role as u8 == self.role);
        write!(f, "{} in term {}", role.map_or("?", role_name), self.term)?;
        if self.vote != 0 {
            write!(f, ", voted for {}", self.vote - 1)?;
        }
        if !self.log.is_empty() {
            write!(f, ", log {:?}", self.log)?;
        }
        if !self.applied.is_empty() {
            write!(f, ", applied {:?}", self.applied)?;
        }
        Ok(())
    }
}

fn role_name(role: StateRole) -> &'static str {
    match role {
        StateRole::Follower => "follower",
        StateRole::Candidate => "candidate",
        StateRole::Leader => "leader",
        StateRole::PreCandidate => "pre-candidate",
    }
}

impl Follower {
    fn of(id: u64, progress: &Progress, last: u64) -> Self {
        Follower {
            id,
            matched: progress.matched,
            next: progress.next_idx,
            state: match progress.state {
                ProgressState::Probe => 0,
                ProgressState::Replicate => 1,
                ProgressState::Snapshot => 2,
            },
            paused: progress.paused,
            snapshots: [progress.pending_snapshot, progress.pending_request_snapshot],
            in_flight: in_flight(progress, last),
        }
    }
}

/// The last index of each append that was not acknowledged. Raft does not show them, but says how many there would be if
/// all up to some index were acknowledged.
fn in_flight(progress: &Progress, last: u64) -> Vec<u64> {
    let mut window = progress.ins.clone();
    let mut indices = Vec::new();
    for index in 0..=last {
        let before = window.count();
        window.free_to(index);
        indices.extend((window.count()..before).map(|_| index));
    }
    assert_eq!(window.count(), 0, "an append beyond the end of the log");
    indices
}
