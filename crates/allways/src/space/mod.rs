//! The local space: every distinct local state and every distinct event interned once, every
//! local step computed once, shared by every engine and every thread.
//!
//! A handler depends on its node's state and the one event that it handles, so the result of
//! `(node, state, event)` is the same in every global state. [`local::LocalSpace`] runs user code
//! and knows its types; everything else sees only numbers through the trait [`Space`], and is
//! compiled once, not once for each system.
//!
//! A global state is a short vector of numbers (see [`vector::Layout`]); its fingerprint is the
//! sum of the keys of its parts (see [`hash`]).

mod coverage;
pub(crate) mod exact;
mod grid;
pub(crate) mod hash;
pub(crate) mod intern;
pub(crate) mod local;
pub(crate) mod memo;
mod pairs;
pub(crate) mod prefetch;
pub(crate) mod queues;
mod refute;
pub(crate) mod symmetry;
pub(crate) mod table;
pub(crate) mod vector;

use crate::error::Error;
use crate::model::run_event::RunEvent;
use queues::Queues;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use vector::Layout;

/// A local state of a node. Numbered for each node from zero.
pub(crate) type StateId = u32;
/// A message, call, timer, crash or restart, with the node that handles it: see
/// [`Layout::event_node`](vector::Layout::event_node).
pub(crate) type EventId = u32;
/// What observers see of a step; zero for nothing.
pub(crate) type FeedId = u32;

/// What is known of an event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventInfo {
    /// Its part of a fingerprint while it is in flight.
    pub key: u64,
    /// Where it comes from.
    pub source: Source,
}

/// Where an event comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    /// A message from this node.
    Node(u32),
    /// A call from the driver.
    Driver,
    /// The node itself or its fate: a timer, a crash, a restart.
    Inside,
}

/// What is known of a local state.
#[derive(Clone, Debug)]
pub(crate) struct StateInfo {
    /// Its part of a fingerprint.
    pub key: u64,
    /// Events that can happen in this state without anything in flight: timers, a restart.
    pub internal: Arc<[EventId]>,
    /// False between a crash and a restart.
    pub up: bool,
    /// Whether a timer is pending that only the bound on timers keeps from firing.
    pub withheld: bool,
    /// For each property, what it sees of this state (zero if it reads an observer).
    pub views: Arc<[u32]>,
}

/// One result of a node handling an event in a state.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub choices: Box<[u32]>,
    pub end: StepEnd,
}

#[derive(Clone, Debug)]
pub(crate) enum StepEnd {
    Next(Next),
    Panicked(Arc<str>),
}

impl StepEnd {
    /// Whether anything could come of it, from this state.
    pub fn changes(&self, from: StateId) -> bool {
        match self {
            StepEnd::Panicked(_) => true,
            StepEnd::Next(next) => {
                next.state != from || !next.sends.is_empty() || next.feed != 0 || next.stutter
            }
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Next {
    pub state: StateId,
    /// Messages sent and the call that the driver's script releases, as events of their nodes.
    pub sends: Box<[EventId]>,
    pub feed: FeedId,
    /// The handler asked to be counted even if nothing changes.
    pub stutter: bool,
}

/// Something that happens, in numbers.
pub(crate) enum Happening<'a> {
    /// A node handles an event; with `keep`, a copy stays in flight.
    Step { event: EventId, keep: bool, choices: &'a [u32] },
    /// The network loses a message.
    Drop(EventId),
    /// The network parts along this cut.
    Partition(usize),
    /// It is whole again.
    Heal,
}

/// How a system starts.
pub(crate) enum Initial {
    /// One vector for each way to choose while starting.
    Vectors(Vec<Vec<u32>>),
    Panicked(String),
}

/// What user code has cost.
#[derive(Clone, Copy, Default, Debug)]
pub struct Costs {
    /// How often handlers ran to find out what a step does.
    pub handler_executions: u64,
    /// How often they ran again for the determinism guard.
    pub guard_executions: u64,
    /// How often they ran again to rebuild states.
    pub replayed_handlers: u64,
    /// How long they took.
    pub user_nanos: u64,
    /// Distinct local states.
    pub local_states: u64,
    /// Distinct messages, calls and timers.
    pub local_events: u64,
}

/// A system as numbers. Every method may be called from any thread.
pub(crate) trait Space: Send + Sync {
    /// How global vectors are laid out.
    fn layout(&self) -> &Layout;

    /// The contents of the queues of an ordered network.
    fn queues(&self) -> &Queues;

    /// The initial global states.
    fn initial(&self) -> Result<Initial, Error>;

    /// What is known of an event.
    fn event(&self, event: EventId) -> EventInfo;

    /// What is known of a local state.
    fn state(&self, node: usize, state: StateId) -> StateInfo;

    /// Set once a state is known in which something can happen without anything in flight. Whoever
    /// knows such a state finds it set.
    fn acts_alone(&self) -> &AtomicBool;

    /// The event of a crash of this node.
    fn crash(&self, node: usize) -> EventId;

    /// Every result of the event's node handling it in this state; none if it cannot happen or
    /// would change nothing whatever else is the case. Computed once.
    fn steps(&self, state: StateId, event: EventId) -> Result<Arc<[Step]>, Error>;

    /// The state that an observer moves to when it sees a step.
    fn observe(&self, observer: usize, state: u32, feed: FeedId) -> Result<u32, Error>;

    /// A view that some property has of a state, as a number that is made of its content.
    fn view_key(&self, view: u32) -> u64;

    /// What observers see of a step, as a number that is made of its content.
    fn feed_key(&self, feed: FeedId) -> u64;

    /// The part that an observer's state has in a fingerprint.
    fn observer_key(&self, observer: usize, state: u32) -> u64;

    /// Whether the test of a property is true of these views, one a node (or of this observer
    /// state).
    fn test(&self, property: usize, reads: &[u32]) -> Result<bool, Error>;

    /// For each property, how many conjuncts it is known to be made of.
    fn conjunct_counts(&self) -> Vec<usize>;

    /// Which conjuncts of a property are true of these views (or of this observer state): a bit
    /// for each.
    fn conjuncts(&self, property: usize, reads: &[u32]) -> Result<u64, Error>;

    /// The name of a property.
    fn property_name(&self, property: usize) -> String;

    /// Something that happens, in words.
    fn describe(&self, what: Happening<'_>) -> RunEvent;

    /// The state that a node's state becomes when nodes are renamed (at the node's new place).
    fn rename_state(
        &self,
        node: usize,
        state: StateId,
        renaming: &crate::model::rename::Renaming,
    ) -> Result<StateId, Error>;

    /// The event that an event becomes when nodes are renamed.
    fn rename_event(
        &self,
        event: EventId,
        renaming: &crate::model::rename::Renaming,
    ) -> Result<EventId, Error>;

    /// A hash of a state with blurred ids: see [`symmetry`].
    fn blurred_state(
        &self,
        node: usize,
        state: StateId,
        renaming: &crate::model::rename::Renaming,
    ) -> u64;

    /// A hash of an event with blurred ids.
    fn blurred_event(&self, event: EventId, renaming: &crate::model::rename::Renaming) -> u64;

    /// What user code has cost so far.
    fn costs(&self) -> Costs;
}
