//! Events, envelopes, and the state of one node as the checker sees it.

use super::node::{Id, Node};
use std::fmt;

/// What a node handles.
///
/// ```
/// use allways::{Event, Id, Never, Node, Cx};
/// # #[derive(Clone, PartialEq, Eq, Hash, Debug)] struct N;
/// # impl Node for N { type Msg = u8; type Timer = Never; type Call = Never; type Output = Never;
/// #   fn on_message(&mut self, _: Id, _: u8, _: &mut Cx<'_, Self>) {} }
/// let event: Event<N> = Event::Message { from: Id::new(1), msg: 7 };
/// assert_eq!(event.to_string(), "message 7 from 1");
/// ```
#[derive(Debug)]
pub enum Event<N: Node> {
    /// A message is delivered.
    Message {
        /// Who sent it.
        from: Id,
        /// What it says.
        msg: N::Msg,
    },
    /// A timer fires.
    Timer(N::Timer),
    /// The application calls.
    Call {
        /// What it asks for.
        call: N::Call,
        /// Where the driver's script goes on after this call.
        next: Option<ScriptPosition>,
    },
    /// The node crashes: what it had not persisted is lost.
    Crash,
    /// The node starts again.
    Restart,
}

/// A position in one of the driver's scripts (calls that come in sequence).
///
/// ```
/// use allways::prelude::*;
/// use allways::Event;
/// # use allways::sample::Cell;
/// // The last call of a script, or one that was given by itself, has nothing after it.
/// let event: Event<Cell> = Event::Call { call: 7, next: None };
/// assert_eq!(event.to_string(), "call 7");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ScriptPosition {
    pub(crate) script: u32,
    pub(crate) at: u32,
}

// By hand: a derive would ask that `N` itself be comparable, where only its parts need be.
impl<N: Node> Clone for Event<N> {
    fn clone(&self) -> Self {
        match self {
            Event::Message { from, msg } => Event::Message { from: *from, msg: msg.clone() },
            Event::Timer(timer) => Event::Timer(timer.clone()),
            Event::Call { call, next } => Event::Call { call: call.clone(), next: *next },
            Event::Crash => Event::Crash,
            Event::Restart => Event::Restart,
        }
    }
}

impl<N: Node> PartialEq for Event<N> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Event::Message { from: f1, msg: m1 }, Event::Message { from: f2, msg: m2 }) => {
                f1 == f2 && m1 == m2
            }
            (Event::Timer(a), Event::Timer(b)) => a == b,
            (Event::Call { call: c1, next: n1 }, Event::Call { call: c2, next: n2 }) => {
                c1 == c2 && n1 == n2
            }
            (Event::Crash, Event::Crash) | (Event::Restart, Event::Restart) => true,
            _ => false,
        }
    }
}

impl<N: Node> Eq for Event<N> {}

impl<N: Node> std::hash::Hash for Event<N> {
    fn hash<H: std::hash::Hasher>(&self, hasher: &mut H) {
        std::mem::discriminant(self).hash(hasher);
        match self {
            Event::Message { from, msg } => {
                from.hash(hasher);
                msg.hash(hasher);
            }
            Event::Timer(timer) => timer.hash(hasher),
            Event::Call { call, next } => {
                call.hash(hasher);
                next.hash(hasher);
            }
            Event::Crash | Event::Restart => {}
        }
    }
}

impl<N: Node> fmt::Display for Event<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Message { from, msg } => write!(f, "message {msg:?} from {from}"),
            Event::Timer(timer) => write!(f, "timer {timer:?}"),
            Event::Call { call, .. } => write!(f, "call {call:?}"),
            Event::Crash => write!(f, "crash"),
            Event::Restart => write!(f, "restart"),
        }
    }
}

#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(bound(
        serialize = "N: serde::Serialize, N::Timer: serde::Serialize",
        deserialize = "N: serde::de::DeserializeOwned, N::Timer: serde::de::DeserializeOwned"
    ))
)]
/// The local state of a node: the user's part, and what the checker keeps beside it.
///
/// ```
/// use allways::prelude::*;
/// use allways::Local;
/// # use allways::sample::Cell;
/// let local = Local { node: Cell(0), timers: vec![], fires_left: None, up: true };
/// assert_ne!(local, Local { up: false, ..local.clone() });
/// ```
#[derive(Debug)]
pub struct Local<N: Node> {
    /// The node as the user wrote it.
    pub node: N,
    /// Pending timers, sorted.
    pub timers: Vec<N::Timer>,
    /// How many more timers may fire here; `None` for no bound.
    pub fires_left: Option<u32>,
    /// False between a crash and a restart.
    pub up: bool,
}

impl<N: Node> Local<N> {
    /// Whether a timer is pending that only the bound on timers keeps from firing.
    pub(crate) fn is_withheld(&self) -> bool {
        self.up && self.fires_left == Some(0) && !self.timers.is_empty()
    }
}

impl<N: Node> Clone for Local<N> {
    fn clone(&self) -> Self {
        Local {
            node: self.node.clone(),
            timers: self.timers.clone(),
            fires_left: self.fires_left,
            up: self.up,
        }
    }
}

impl<N: Node> PartialEq for Local<N> {
    fn eq(&self, other: &Self) -> bool {
        self.node == other.node
            && self.timers == other.timers
            && self.fires_left == other.fires_left
            && self.up == other.up
    }
}

impl<N: Node> Eq for Local<N> {}

impl<N: Node> std::hash::Hash for Local<N> {
    fn hash<H: std::hash::Hasher>(&self, hasher: &mut H) {
        self.node.hash(hasher);
        self.timers.hash(hasher);
        self.fires_left.hash(hasher);
        self.up.hash(hasher);
    }
}
