//! A global state to start from: what a snapshot of a running system has seen; and what is left of
//! a system there.

use super::event::Local;
use super::node::{Id, Node};
use super::property::PropertyKind;
use super::step::{Done, Effect, End};
use super::system::System;
use std::sync::Arc;

#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(bound(
        serialize = "N: serde::Serialize, N::Timer: serde::Serialize, N::Msg: serde::Serialize",
        deserialize = "N: serde::de::DeserializeOwned, N::Timer: serde::de::DeserializeOwned, \
                       N::Msg: serde::de::DeserializeOwned"
    ))
)]
/// The local states of all nodes and the envelopes in flight between them, at one consistent cut.
///
/// ```
/// use allways::prelude::*;
/// use allways::{Id, Local, Snapshot};
/// # use allways::sample::Cell;
/// let local = |value| Local { node: Cell(value), timers: vec![], fires_left: None, up: true };
/// // Node 0 was called and has told node 1, which does not know yet.
/// let snapshot = Snapshot {
///     locals: vec![local(7), local(0)],
///     envelopes: vec![(Id::new(0), Id::new(1), 7)],
/// };
/// System::new([Cell(0), Cell(0)])
///     .starting_at(snapshot)
///     .never_stuck("both know", view(|c: &Cell| c.0), |cells| cells == [7, 7])
///     .check()
///     .assert_holds();
/// ```
#[derive(Debug)]
pub struct Snapshot<N: Node> {
    /// The local state of each node. How many timers may still fire is not looked at: that is for
    /// the system to say.
    pub locals: Vec<Local<N>>,
    /// Source, destination and message of what is in flight; on an ordered network, the envelopes
    /// between two nodes are in the order in which they were sent.
    pub envelopes: Vec<(Id, Id, N::Msg)>,
}

impl<N: Node> Clone for Snapshot<N> {
    fn clone(&self) -> Self {
        Snapshot { locals: self.locals.clone(), envelopes: self.envelopes.clone() }
    }
}

impl<N: Node> PartialEq for Snapshot<N> {
    fn eq(&self, other: &Self) -> bool {
        self.locals == other.locals && self.envelopes == other.envelopes
    }
}

impl<N: Node> Eq for Snapshot<N> {}

impl<N: Node> System<N> {
    /// Starts at this global state in place of the initial one: no node starts, each is as the
    /// snapshot has it, and what it has in flight is in flight. A node that crashes without having
    /// persisted anything still restarts as it was given to [`System::new`].
    ///
    /// Such a system has no observers: what they should have seen has happened before.
    ///
    /// ```
    /// use allways::prelude::*;
    /// use allways::{Local, Snapshot};
    /// # use allways::sample::Cell;
    /// let local = Local { node: Cell(7), timers: vec![], fires_left: None, up: true };
    /// let snapshot = Snapshot { locals: vec![local], envelopes: vec![] };
    /// let outcome = System::new([Cell(0)])
    ///     .starting_at(snapshot)
    ///     .always("small", view(|c: &Cell| c.0), |cells| cells[0] < 5)
    ///     .check();
    /// // It is violated where it starts: no event is needed.
    /// assert!(outcome.assert_violated("small").run.events.is_empty());
    /// ```
    #[must_use]
    pub fn starting_at(mut self, mut snapshot: Snapshot<N>) -> Self {
        for local in &mut snapshot.locals {
            local.timers.sort();
            local.timers.dedup();
        }
        self.snapshot = Some(Arc::new(snapshot));
        self
    }

    /// What is wrong with the snapshot that this system starts at, if something is.
    pub(super) fn wrong_snapshot(&self) -> Option<String> {
        let snapshot = self.snapshot.as_ref()?;
        let (nodes, locals) = (self.nodes.len(), snapshot.locals.len());
        if nodes != locals {
            return Some(format!(
                "the snapshot is of {locals} nodes, but the system has {nodes} nodes"
            ));
        }
        let ends = snapshot.envelopes.iter().flat_map(|(from, to, _)| [from, to]);
        if let Some(id) = ends.into_iter().find(|id| id.index() >= nodes) {
            return Some(format!(
                "an envelope of the snapshot names node {id}, but the system has {nodes} nodes"
            ));
        }
        (!self.observers.is_empty()).then(|| {
            "a system that starts at a snapshot cannot have observers: they have not seen what came before it".to_owned()
        })
    }

    /// How a node starts if the system starts at a snapshot: what it has in flight is as if sent.
    pub(super) fn start_at_snapshot(&self, id: Id) -> Option<Effect<N>> {
        let snapshot = self.snapshot.as_ref()?;
        let mut local = snapshot.locals[id.index()].clone();
        local.fires_left = self.timer_bound_at(id);
        let envelopes = snapshot.envelopes.iter().filter(|(from, ..)| *from == id);
        let sends = envelopes.map(|(_, to, msg)| (*to, msg.clone())).collect();
        let done = Done { local, sends, outputs: Vec::new(), stutter: false };
        Some(Effect { choices: Vec::new(), end: End::Done(done) })
    }
}

impl<N: Node> System<N> {
    /// The nodes as they were given to [`System::new`].
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// assert_eq!(System::new([Cell(0), Cell(1)]).nodes(), [Cell(0), Cell(1)]);
    /// ```
    pub fn nodes(&self) -> &[N] {
        &self.nodes
    }

    /// The driver's scripts: the calls of each come one after the other.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// let system = System::new([Cell(0)]).call(0, 1).calls_in_sequence([(0, 2), (0, 3)]);
    /// let me = Id::new(0);
    /// assert_eq!(system.scripts(), [vec![(me, 1)], vec![(me, 2), (me, 3)]]);
    /// ```
    pub fn scripts(&self) -> &[Vec<(Id, N::Call)>] {
        &self.scripts
    }

    /// The same system with other scripts of its driver: for one that starts at a snapshot, what is
    /// left of them.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// let system = System::new([Cell(0)]).call(0, 1).call(0, 2);
    /// let rest = system.scripts()[1..].to_vec();
    /// assert_eq!(system.with_scripts(rest).scripts(), [vec![(Id::new(0), 2)]]);
    /// ```
    #[must_use]
    pub fn with_scripts(mut self, scripts: Vec<Vec<(Id, N::Call)>>) -> Self {
        self.scripts.clear();
        for script in scripts {
            self =
                self.calls_in_sequence(script.into_iter().map(|(node, call)| (node.index(), call)));
        }
        self
    }

    /// Only what must always hold: the other properties are about runs from the initial state to an
    /// end, and say nothing about what can happen from the middle of one.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// let system = System::new([Cell(0)])
    ///     .always("small", view(|c: &Cell| c.0), |cells| cells[0] < 9)
    ///     .sometimes("one", view(|c: &Cell| c.0), |cells| cells[0] == 1);
    /// assert_eq!(system.only_always().properties().count(), 1);
    /// ```
    #[must_use]
    pub fn only_always(mut self) -> Self {
        self.properties.retain(|property| property.kind == PropertyKind::Always);
        self
    }
}
