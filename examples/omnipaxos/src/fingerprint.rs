//! What tells states of a server apart.
//!
//! The crate does not show its whole state, so by default a state is known by all that led to it. Much of that does not matter any more: a server
//! that promises a new round, or begins one, starts afresh with what it has stored. So its state is what is stored, and what it keeps in mind
//! since then. This was read in the crate's code, and holds of both versions:
//!
//! - Who takes over has a new leader's state, and its ballot is the next after its promise. Of others it keeps in mind whether they have promised, how much they have accepted, and the number of the
//!   last message that they were sent; and the best promise that it had when it had enough of them, which is with the first among three.
//! - Who answers a `Prepare` with a `Promise` is a follower that waits; that it ever was a leader does not matter, since what is for leaders is ignored by
//!   followers, and a leader's state is replaced when it takes over again. Nor does it matter to who asks its own leader for a
//!   `Prepare`, since the connection was lost or a message is missing.
//! - Who has answered an `AcceptSync` follows, and keeps in mind the number of the last message that it was sent.
//! - What is of a lower round is ignored, or it is only answered that it is.
//! - Proposals wait until they can be put into the log or passed on, whatever happens meanwhile.
//!
//! Whether that is so is tested: by `--verify-aux`, and by comparing what can be reached with and without it.

use crate::disk::{Disk, Value};
use crate::server::{Server, short};
use crate::version::Index;
use omnipaxos::ballot_leader_election::Ballot;
use omnipaxos::messages::sequence_paxos::{PaxosMessage, PaxosMsg};
use omnipaxos::util::{NodeId, SequenceNumber};
use std::collections::BTreeMap;

/// What a server keeps in mind beside what it has stored.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Since {
    role: Role,
    /// Proposals that are not in the log yet, nor passed on.
    pub waiting: Vec<u32>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
enum Role {
    /// It has taken no part yet.
    #[default]
    New,
    Leads(Leader),
    /// It has promised, and waits for what is in the log of its leader.
    Promised,
    /// It has that, and all up to this message.
    Follows((u64, u64)),
    /// It has asked its leader to begin again.
    Asks,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Leader {
    peers: BTreeMap<NodeId, Peer>,
    /// The round and the length of the best log that was promised, once enough others have.
    best: Option<((u32, NodeId), Index)>,
    /// Whether it has put something into the log itself.
    has_proposed: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Peer {
    promise: Promise,
    accepted: Index,
    /// The last message that it was sent.
    last: Option<(u64, u64)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
enum Promise {
    #[default]
    None,
    Given,
    /// It has given one to another.
    Lost,
}

/// All that matters of a server.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Fingerprint {
    promised: String,
    accepted: String,
    log: Vec<u32>,
    decided: Vec<u32>,
    decided_index: usize,
    takes_back: bool,
    since: Since,
}

impl Fingerprint {
    pub fn of(server: &Server) -> Self {
        let stored = server.disk.0.borrow();
        Fingerprint {
            promised: short(server.omni.get_promise()),
            accepted: short(stored.accepted_round.unwrap_or_default()),
            log: stored.log.iter().map(|value| value.0).collect(),
            decided: server.decided.clone(),
            decided_index: stored.decided,
            takes_back: server.takes_back,
            since: server.since.clone(),
        }
    }
}

/// What was stored before a message was handled.
#[derive(Clone, Copy)]
pub struct Before {
    promised: Ballot,
    accepted: Ballot,
    length: Index,
}

impl Before {
    pub fn of(server: &Server) -> Self {
        let stored = server.disk.0.borrow();
        Before {
            promised: server.omni.get_promise(),
            accepted: stored.accepted_round.unwrap_or_default(),
            length: stored.log.len() as Index,
        }
    }
}

fn number(seq: SequenceNumber) -> (u64, u64) {
    (seq.session, seq.counter)
}

/// What a ballot is told apart by.
fn key(ballot: Ballot) -> (u32, NodeId) {
    (ballot.n, ballot.pid)
}

impl Since {
    /// It begins a new round.
    pub fn took_over(&mut self) {
        self.role = Role::Leads(Leader::default());
    }

    /// Some proposals came, from a client or from another server.
    pub fn appended(&mut self, values: &[u32], sent: &[PaxosMessage<Value>], disk: &Disk) {
        self.waiting.extend(values);
        self.settle(sent, disk);
    }

    pub fn reconnected(&mut self, before: Before, sent: &[PaxosMessage<Value>]) {
        if asks_leader(before.promised, sent) {
            self.role = Role::Asks;
        }
    }

    /// A message came, and this was sent in turn.
    pub fn received(
        &mut self,
        before: Before,
        message: &PaxosMessage<Value>,
        sent: &[PaxosMessage<Value>],
        disk: &Disk,
    ) {
        if sent.iter().any(|sent| matches!(sent.msg, PaxosMsg::Promise(_))) {
            self.role = Role::Promised;
        } else if asks_leader(before.promised, sent) {
            self.role = Role::Asks;
        } else if let PaxosMsg::ProposalForward(values) = &message.msg {
            self.waiting.extend(values.iter().map(|value| value.0));
        } else if let Role::Leads(leader) = &mut self.role {
            leader.received(before, message);
        } else {
            self.follow(before.promised, message, sent);
        }
        self.settle(sent, disk);
    }

    fn follow(
        &mut self,
        promised: Ballot,
        message: &PaxosMessage<Value>,
        sent: &[PaxosMessage<Value>],
    ) {
        let is_accepted = sent.iter().any(|sent| matches!(sent.msg, PaxosMsg::Accepted(_)));
        let next = match &message.msg {
            PaxosMsg::AcceptSync(it) if it.n == promised && is_accepted => {
                self.role = Role::Follows(number(it.seq_num));
                return;
            }
            PaxosMsg::AcceptDecide(it) if it.n == promised => number(it.seq_num),
            PaxosMsg::Decide(it) if it.n == promised => number(it.seq_num),
            _ => return,
        };
        // One that is not the next is an old one: it would have asked otherwise.
        if let Role::Follows(last) = &mut self.role {
            *last = next.max(*last);
        }
    }

    /// What is in the log, or was passed on, waits no longer; and what a leader has sent is kept in mind.
    fn settle(&mut self, sent: &[PaxosMessage<Value>], disk: &Disk) {
        let stored = disk.0.borrow();
        let is_stored = |value: u32| stored.log.contains(&Value(value));
        let has_stored = self.waiting.iter().any(|&value| is_stored(value));
        self.waiting.retain(|&value| {
            let passed_on = sent.iter().any(|sent| match &sent.msg {
                PaxosMsg::ProposalForward(values) => values.contains(&Value(value)),
                _ => false,
            });
            !passed_on && !is_stored(value)
        });
        if let Role::Leads(leader) = &mut self.role {
            leader.has_proposed |= has_stored;
            leader.sent(sent);
        }
    }
}

impl Leader {
    fn received(&mut self, before: Before, message: &PaxosMessage<Value>) {
        let Before { promised, accepted, length } = before;
        let best = &mut self.best;
        let peer = self.peers.entry(message.from).or_default();
        match &message.msg {
            PaxosMsg::Promise(it) if it.n == promised => {
                peer.promise = Promise::Given;
                let theirs = (key(it.n_accepted), it.accepted_idx);
                best.get_or_insert_with(|| theirs.max((key(accepted), length)));
            }
            PaxosMsg::PrepareReq(it) if it.n <= promised => peer.promise = Promise::None,
            PaxosMsg::NotAccepted(it) if it.n > promised => peer.promise = Promise::Lost,
            PaxosMsg::Accepted(it) if it.n == promised => peer.accepted = it.accepted_idx,
            _ => {}
        }
    }

    fn sent(&mut self, sent: &[PaxosMessage<Value>]) {
        for message in sent {
            let last = match &message.msg {
                PaxosMsg::AcceptSync(it) => it.seq_num,
                PaxosMsg::AcceptDecide(it) => it.seq_num,
                PaxosMsg::Decide(it) => it.seq_num,
                _ => continue,
            };
            self.peers.entry(message.to).or_default().last = Some(number(last));
        }
    }
}

/// Whether it asks the leader whom it follows to begin again.
fn asks_leader(promised: Ballot, sent: &[PaxosMessage<Value>]) -> bool {
    sent.iter().any(|sent| matches!(sent.msg, PaxosMsg::PrepareReq(_)) && sent.to == promised.pid)
}
