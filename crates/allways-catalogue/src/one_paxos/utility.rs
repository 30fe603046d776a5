//! The utility of 1Paxos: a log of entries that all nodes agree on, one instance of Paxos for each.
//!
//! A node takes part in the instance of the first place that it knows no entry of. It ignores what
//! is about earlier places, and what is about later ones waits in the network. So the state of one
//! instance is enough, and whoever inserts an entry knows all that stand before it.
//!
//! To save messages, a proposer promises to itself and accepts from itself at once, acceptors
//! answer the proposer alone, and it tells the others what was decided. Each node tries once in a
//! place, so its id makes its ballot.

use super::{Accepted, Epoch, Msg, OnePaxos, Value};
use allways::prelude::*;
use std::collections::BTreeSet;

/// The id of the proposer and one more; zero is below all.
pub(super) type Ballot = u8;

/// A ballot in the instance for a place of the log.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "live", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Instance {
    place: Epoch,
    ballot: Ballot,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "live", derive(serde::Serialize, serde::Deserialize))]
pub(super) enum Entry {
    /// This node leads.
    LeaderChange(Id),
    /// This node accepts, and the old acceptor has accepted, or will, nothing but this.
    AcceptorChange(Id, Option<Value>),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "live", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Utility {
    /// How many entries the log has: the place that is agreed on now.
    place: Epoch,
    /// The acceptor of 1Paxos after the last `AcceptorChange`, and the value with it.
    acceptor: Id,
    carried: Option<Value>,
    /// The highest ballot promised here.
    promised: Ballot,
    accepted: Option<Accepted>,
    attempt: Attempt,
}

/// What a node does to insert an entry here.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "live", derive(serde::Serialize, serde::Deserialize))]
enum Attempt {
    None,
    /// It waits for promises; the highest that was accepted, or its own entry.
    Preparing {
        own: Entry,
        highest: Option<Accepted>,
        promised_by: BTreeSet<Id>,
    },
    Accepting {
        entry: Entry,
        accepted_by: BTreeSet<Id>,
    },
}

impl Utility {
    /// An empty log: the acceptor is the second member.
    pub(super) fn new() -> Self {
        Utility {
            place: 0,
            acceptor: Id::new(1),
            carried: None,
            promised: 0,
            accepted: None,
            attempt: Attempt::None,
        }
    }

    pub(super) fn place(&self) -> Epoch {
        self.place
    }

    pub(super) fn acceptor(&self) -> Id {
        self.acceptor
    }

    pub(super) fn carried(&self) -> Option<Value> {
        self.carried
    }

    pub(super) fn is_inserting(&self) -> bool {
        self.attempt != Attempt::None
    }

    /// What this ballot is in the present place; `None` if it is about another place.
    fn here(&self, instance: Instance) -> Option<Ballot> {
        (instance.place == self.place).then_some(instance.ballot)
    }

    /// Tries to insert an entry, unless it tries already or has promised not to.
    pub(super) fn insert(&mut self, own: Entry, cx: &mut Cx<'_, OnePaxos>) {
        let ballot = ballot_of(cx.id());
        if self.is_inserting() || self.promised >= ballot {
            return;
        }
        self.promised = ballot;
        let promised_by = BTreeSet::from([cx.id()]);
        self.attempt = Attempt::Preparing { own, highest: self.accepted, promised_by };
        cx.broadcast(Msg::UtilityPrepare(Instance { place: self.place, ballot }));
    }

    pub(super) fn on_prepare(&mut self, from: Id, instance: Instance, cx: &mut Cx<'_, OnePaxos>) {
        if self.here(instance).is_some_and(|ballot| ballot > self.promised) {
            self.promised = instance.ballot;
            cx.send(from, Msg::UtilityPromise(instance, self.accepted));
        }
    }

    pub(super) fn on_promise(
        &mut self,
        from: Id,
        instance: Instance,
        accepted: Option<Accepted>,
        cx: &mut Cx<'_, OnePaxos>,
    ) {
        let here = self.here(instance).is_some();
        let Attempt::Preparing { own, highest, promised_by } = &mut self.attempt else { return };
        if !here {
            return;
        }
        promised_by.insert(from);
        *highest = accepted.max(*highest);
        if promised_by.len() < cx.majority() {
            return;
        }
        let entry = highest.map_or(*own, |(_, entry)| entry);
        // It has promised a higher ballot meanwhile, perhaps: then others have to accept.
        let mut accepted_by = BTreeSet::new();
        if self.promised == instance.ballot {
            self.accepted = Some((instance.ballot, entry));
            accepted_by.insert(cx.id());
        }
        self.attempt = Attempt::Accepting { entry, accepted_by };
        cx.broadcast(Msg::UtilityAccept(instance, entry));
    }

    pub(super) fn on_accept(
        &mut self,
        from: Id,
        instance: Instance,
        entry: Entry,
        cx: &mut Cx<'_, OnePaxos>,
    ) {
        let again = self.accepted.is_some_and(|(ballot, _)| ballot == instance.ballot);
        if self.here(instance).is_some_and(|ballot| ballot >= self.promised) && !again {
            self.promised = instance.ballot;
            self.accepted = Some((instance.ballot, entry));
            cx.send(from, Msg::UtilityAccepted(instance));
        }
    }

    /// The entry, if it is decided now; the others are told.
    pub(super) fn on_accepted(
        &mut self,
        from: Id,
        instance: Instance,
        cx: &mut Cx<'_, OnePaxos>,
    ) -> Option<Entry> {
        self.here(instance)?;
        let Attempt::Accepting { entry, accepted_by } = &mut self.attempt else { return None };
        accepted_by.insert(from);
        if accepted_by.len() < cx.majority() {
            return None;
        }
        let entry = *entry;
        cx.broadcast(Msg::Decided(self.place, entry));
        Some(entry)
    }

    /// The entry in this place is known: on to the next.
    pub(super) fn append(&mut self, entry: Entry) {
        if let Entry::AcceptorChange(acceptor, carried) = entry {
            self.acceptor = acceptor;
            self.carried = carried;
        }
        self.place += 1;
        self.promised = 0;
        self.accepted = None;
        self.attempt = Attempt::None;
    }
}

fn ballot_of(proposer: Id) -> Ballot {
    proposer.index() as Ballot + 1
}
