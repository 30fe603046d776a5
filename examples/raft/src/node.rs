//! The deployment as a node of a system that Allways checks: this is all the wrapping that it takes.

use crate::peer::{Mistake, Peer};
use crate::wire::{Wire, wire};
use crate::{Disk, Fingerprint};
use allways::prelude::*;
use allways::{Rebuild, Rebuilt};
use raft::prelude::{Message, RawNode};

/// What may come to a node besides messages, whenever it would make a difference.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Timer {
    /// The node has heard nothing of a leader for too long, and stands for election.
    Election,
    /// A client has found out that this node leads, and proposes something.
    Proposal,
    /// It is time for a leader to send heartbeats.
    Heartbeat,
}

/// How far nodes go: what makes runs end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// No node stands for election in a later term than this.
    pub terms: u64,
    /// A leader takes no more proposals once this many are in its log.
    pub proposals: usize,
    /// So often each node sends heartbeats at most.
    pub heartbeats: usize,
}

/// How states are told apart and rebuilt. Neither changes what can happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Means {
    /// By what handlers and views depend on; otherwise by all that a node has handled.
    pub fingerprints: bool,
    /// From copies; otherwise from values that were kept, and from the beginning.
    pub checkpoints: bool,
    /// So many values each thread keeps at most.
    pub keeps: usize,
}

/// A node and its bounds.
pub struct Bounded {
    /// The node.
    pub peer: Peer,
    bounds: Bounds,
    checkpoints: bool,
}

impl Bounded {
    /// One of so many nodes, numbered from zero as Allways does.
    pub fn node(
        number: usize,
        nodes: usize,
        bounds: Bounds,
        mistake: Option<Mistake>,
        means: Means,
    ) -> Rebuilt<Self> {
        let rebuilt = Rebuilt::new(move || {
            let peer = Peer::new(number as u64 + 1, Disk::empty(nodes), mistake);
            Bounded { peer, bounds, checkpoints: means.checkpoints }
        })
        .keeps(means.keeps)
        .show(|node, f| Fingerprint::of(&node.peer).show(f));
        match means.fingerprints {
            true => rebuilt.fingerprint(|node| Fingerprint::of(&node.peer)),
            false => rebuilt,
        }
    }

    /// Whether this would make a difference now.
    fn may(&self, timer: Timer) -> bool {
        let (peer, bounds) = (&self.peer, self.bounds);
        match timer {
            Timer::Election => !peer.leads() && peer.raft.raft.term < bounds.terms,
            Timer::Proposal => peer.leads() && self.proposals() < bounds.proposals,
            Timer::Heartbeat => peer.leads() && peer.heartbeats < bounds.heartbeats,
        }
    }

    /// How many proposals are in the log.
    fn proposals(&self) -> usize {
        self.peer.disk().log.entries.iter().filter(|entry| !entry.data.is_empty()).count()
    }

    fn handle(&mut self, cx: &mut Cx<'_, Rebuilt<Self>>, happens: impl FnOnce(&mut RawNode<Disk>)) {
        let mut messages: Vec<Message> = self.peer.handle(happens);
        // To whom raft sends first depends on the order of a hash map. What goes to the same node stays in order.
        messages.sort_by_key(|message| message.to);
        for message in messages {
            cx.send(message.to as usize - 1, wire(message));
        }
        for timer in [Timer::Election, Timer::Proposal, Timer::Heartbeat] {
            match self.may(timer) {
                true => cx.set_timer(timer),
                false => cx.cancel_timer(&timer),
            }
        }
    }
}

impl Rebuild for Bounded {
    type Msg = Wire;
    type Timer = Timer;
    type Call = Never;
    type Output = Never;

    fn on_start(&mut self, cx: &mut Cx<'_, Rebuilt<Self>>) {
        self.handle(cx, |_| ());
    }

    fn on_message(&mut self, _: Id, message: Wire, cx: &mut Cx<'_, Rebuilt<Self>>) {
        self.handle(cx, |raft| raft.step(message.0.clone()).expect("raft takes every message"));
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_, Rebuilt<Self>>) {
        match timer {
            Timer::Election => {
                self.handle(cx, |raft| raft.campaign().expect("a node may always stand"));
            }
            Timer::Proposal => {
                let by = (b'a' + cx.id().index() as u8) as char;
                let data = format!("{by}{}", self.proposals() + 1).into_bytes();
                self.handle(cx, |raft| raft.propose(Vec::new(), data).expect("a leader proposes"));
            }
            Timer::Heartbeat => {
                self.peer.heartbeats += 1;
                self.handle(cx, RawNode::ping);
            }
        }
    }

    fn persisted(self) -> Option<Self> {
        Some(Bounded { peer: self.peer.after_crash(), ..self })
    }

    fn checkpoint(&self) -> Option<Self> {
        self.checkpoints.then(|| Bounded { peer: self.peer.copy(), ..*self })
    }
}
