//! What tells states of a server apart.
//!
//! The crate does not show its whole state, so by default a state is known by all that led to it. Much of that does not matter any more: a server
//! that promises a new round, or begins one, starts afresh with what it has stored. So its state is what is stored, and what it has handled
//! since then and not ignored. This was read in the crate's code:
//!
//! - Who takes over has a new leader's state, and ballots begin where its promise is.
//! - Who answers a `Prepare` with a `Promise` is a follower that waits; that it ever was a leader does not matter, since what is for leaders is ignored by
//!   followers, and a leader's state is replaced when it takes over again. Nor does it matter to who asks its own leader for a
//!   `Prepare`, since the connection was lost or a message is missing.
//! - Followers ignore what is for leaders, and both ignore what is of a lower round, or only answer that it is: no reason to remember it.
//! - Of what a leader asks, followers keep in mind which came last; the rest is stored.
//! - Proposals wait until they can be put into the log or passed on, whatever happens meanwhile.
//!
//! Whether that is so is tested: by `--verify-aux`, and by comparing what can be reached with and without it.

use crate::disk::{Disk, Value};
use crate::server::{Server, short};
use omnipaxos::ballot_leader_election::Ballot;
use omnipaxos::messages::sequence_paxos::{PaxosMessage, PaxosMsg};

/// What a server has handled since it started afresh, as far as it matters.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Since {
    phase: Phase,
    handled: Vec<String>,
    /// Proposals that are not in the log yet, nor passed on.
    pub waiting: Vec<u32>,
}

/// How it started afresh.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
enum Phase {
    #[default]
    New,
    TookOver,
    Promised,
    Asked,
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
            decided_index: stored.decided as usize,
            takes_back: server.takes_back,
            since: server.since.clone(),
        }
    }
}

impl Since {
    fn afresh(&mut self, phase: Phase) {
        self.phase = phase;
        self.handled.clear();
    }

    pub fn took_over(&mut self) {
        self.afresh(Phase::TookOver);
    }

    /// Some proposals came, from a client or from another server.
    pub fn appended(&mut self, values: &[u32], sent: &[PaxosMessage<Value>], disk: &Disk) {
        self.waiting.extend(values);
        if self.phase == Phase::TookOver {
            // What is sent with it depends on it.
            self.handled.push(format!("{values:?}"));
        }
        self.settle(sent, disk);
    }

    pub fn reconnected(&mut self, promised: Ballot, sent: &[PaxosMessage<Value>]) {
        if asks_leader(promised, sent) {
            self.afresh(Phase::Asked);
        }
    }

    /// A message came when so much was promised; this was sent in turn.
    pub fn received(
        &mut self,
        promised: Ballot,
        message: &PaxosMessage<Value>,
        sent: &[PaxosMessage<Value>],
        disk: &Disk,
    ) {
        if sent.iter().any(|sent| matches!(sent.msg, PaxosMsg::Promise(_))) {
            self.afresh(Phase::Promised);
        } else if asks_leader(promised, sent) {
            self.afresh(Phase::Asked);
        } else if let PaxosMsg::ProposalForward(values) = &message.msg {
            let values: Vec<u32> = values.iter().map(|value| value.0).collect();
            return self.appended(&values, sent, disk);
        } else if let Some(handled) = self.matters(promised, message) {
            self.handled.push(handled);
        }
        self.settle(sent, disk);
    }

    /// What is to be remembered of a message.
    fn matters(&self, promised: Ballot, message: &PaxosMessage<Value>) -> Option<String> {
        let leads = self.phase == Phase::TookOver;
        let follows = |n: Ballot, seq: &dyn std::fmt::Debug| {
            (!leads && n == promised).then(|| format!("{seq:?}"))
        };
        match &message.msg {
            PaxosMsg::AcceptSync(it) => follows(it.n, &it.seq_num),
            PaxosMsg::AcceptDecide(it) => follows(it.n, &it.seq_num),
            PaxosMsg::Decide(it) => follows(it.n, &it.seq_num),
            PaxosMsg::Promise(it) => (leads && it.n == promised).then(|| format!("{message:?}")),
            PaxosMsg::Accepted(it) => (leads && it.n == promised).then(|| format!("{message:?}")),
            PaxosMsg::NotAccepted(it) => (leads && it.n > promised).then(|| format!("{message:?}")),
            PaxosMsg::PrepareReq(it) => (leads && it.n <= promised).then(|| format!("{message:?}")),
            PaxosMsg::Prepare(_) => None,
            _ => Some(format!("{message:?}")),
        }
    }

    /// What is in the log, or was passed on, waits no longer.
    fn settle(&mut self, sent: &[PaxosMessage<Value>], disk: &Disk) {
        let stored = disk.0.borrow();
        self.waiting.retain(|&value| {
            let passed_on = sent.iter().any(|sent| match &sent.msg {
                PaxosMsg::ProposalForward(values) => values.contains(&Value(value)),
                _ => false,
            });
            !passed_on && !stored.log.contains(&Value(value))
        });
    }
}

/// Whether it asks the leader whom it follows to begin again.
fn asks_leader(promised: Ballot, sent: &[PaxosMessage<Value>]) -> bool {
    sent.iter().any(|sent| matches!(sent.msg, PaxosMsg::PrepareReq(_)) && sent.to == promised.pid)
}
