//! A [`Raft`] node with its disk and its application, as a [`Node`] that can be checked.

use crate::disk::{Broken, Disk};
use crate::raft::{Raft, Show};
use allways::prelude::*;
use std::fmt::{self, Debug};
use std::hash::{Hash, Hasher};

/// One process of the deployment.
#[derive(Clone)]
pub struct Replica<R: Raft> {
    id: usize,
    /// The library's node.
    pub raft: R,
    /// What `Debug` prints of it. The node cannot be compared, but it prints all that is in it, so
    /// two that print alike do alike.
    printed: String,
    disk: Disk,
    broken: Option<Broken>,
    /// How often its timeout may still pass: what bounds the check.
    timeouts: u32,
    /// The terms of the committed entries that the application has been told of. It does not
    /// forget: this survives crashes, although the library does not ask for it.
    pub told: Vec<u64>,
    /// Whether an entry that it was told of was later another one, or no longer committed.
    pub contradicted: bool,
}

/// What the application asks of a replica: to have a command committed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Propose;

/// The timer of a replica.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Timeout;

/// A message, shown in short.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Packet<M>(M);

impl<R: Raft> Replica<R> {
    /// A replica that has never run, one of so many, whose timeout passes so often at most.
    pub fn new(id: usize, nodes: usize, timeouts: u32, broken: Option<Broken>) -> Self {
        let disk = Disk::blank(nodes);
        let raft = R::restart(id, &disk);
        let printed = format!("{raft:?}");
        let told = Vec::new();
        Replica { id, raft, printed, disk, broken, timeouts, told, contradicted: false }
    }

    /// Lets the node do something, then does what it asks for.
    fn step(&mut self, cx: &mut Cx<'_, Self>, something: impl FnOnce(&mut R)) {
        let before = self.raft.committed();
        something(&mut self.raft);
        let actions = self.raft.act(&mut self.disk, self.broken);
        for (to, message) in actions.sends {
            cx.send(to, Packet(message));
        }
        if actions.sets_timer && self.timeouts > 0 {
            cx.set_timer(Timeout);
        }
        self.tell(before);
        self.printed = format!("{:?}", self.raft);
    }

    /// Tells the application what is committed now, where so many entries were before.
    fn tell(&mut self, before: usize) {
        let log = self.raft.log();
        let Some(now) = log.get(..self.raft.committed()) else {
            self.contradicted = true; // it has lost a committed entry
            return;
        };
        let both = now.len().min(self.told.len());
        self.contradicted |= now.len() < before || now[..both] != self.told[..both];
        self.told.extend(&now[both..]);
    }

    /// All that tells one state from another.
    fn identity(&self) -> (&str, &Disk, u32, &[u64], bool) {
        (&self.printed, &self.disk, self.timeouts, &self.told, self.contradicted)
    }
}

impl<R: Raft> Node for Replica<R> {
    type Msg = Packet<R::Message>;
    type Timer = Timeout;
    type Call = Propose;
    type Output = Never;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        self.step(cx, |_| {});
    }

    fn on_message(&mut self, _: Id, Packet(message): Self::Msg, cx: &mut Cx<'_, Self>) {
        self.step(cx, |raft| raft.handle(message));
    }

    fn on_timer(&mut self, Timeout: Timeout, cx: &mut Cx<'_, Self>) {
        self.timeouts -= 1;
        self.step(cx, R::timeout);
    }

    fn on_call(&mut self, Propose: Propose, cx: &mut Cx<'_, Self>) {
        self.step(cx, R::propose);
    }

    fn persisted(&self) -> Option<Self> {
        let disk = Disk { generation: self.disk.generation + 1, ..self.disk.clone() };
        let raft = R::restart(self.id, &disk);
        let printed = format!("{raft:?}");
        Some(Replica { raft, printed, disk, told: self.told.clone(), ..*self })
    }
}

impl<R: Raft> PartialEq for Replica<R> {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl<R: Raft> Eq for Replica<R> {}

impl<R: Raft> Hash for Replica<R> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}

impl<R: Raft> Debug for Replica<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Replica { raft, .. } = self;
        let (role, term, log) = (raft.role(), raft.term(), raft.log());
        write!(f, "{role:?} t{term} log {log:?} commit {}", raft.committed())
    }
}

impl<M: Show> Debug for Packet<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.show(f)
    }
}
