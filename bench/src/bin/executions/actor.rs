//! A protocol written once for both tools: what a process does with a message.
//!
//! The two tools then run the same handlers on the same messages, and what differs between them is
//! how they explore.

use allways::Value;
use std::fmt::Debug;

/// How an actor acts on the world.
pub trait World<M> {
    /// Sends a message to the process with this number.
    fn send(&mut self, to: usize, msg: M);
    /// A number below `arity`; all of them are explored.
    fn choose(&mut self, arity: usize) -> usize;
}

/// One process of a protocol.
pub trait Actor: Value {
    /// What processes send each other.
    type Msg: Copy + Value;
    /// What the property reads of a process. A property that does not hold at some time must not
    /// hold at the end either: TraceForge tests it on what is known at the end of an execution.
    type View: Default + Value;

    /// Acts before the first message.
    fn start(&mut self, world: &mut dyn World<Self::Msg>) {
        let _ = world;
    }

    /// What is known of a message before it is received.
    fn tag(msg: Self::Msg) -> u32;

    /// Whether it would do anything with a message that has this tag. If not, it ignores it.
    fn wants(&self, tag: u32) -> bool;

    /// Receives a message that it wants.
    fn receive(&mut self, from: usize, msg: Self::Msg, world: &mut dyn World<Self::Msg>);

    /// Whether no message that is sent to it from now on is one that it wants.
    fn done(&self) -> bool;

    /// How many messages are sent to it at most.
    fn most(&self) -> usize;

    /// What the property reads.
    fn view(&self) -> Self::View;

    /// Whether the property holds of the views of all processes.
    fn holds(views: &[Self::View]) -> bool;
}

/// How messages travel, and what becomes of those that a process ignores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    /// In any order; what is ignored stays in flight. TraceForge receives selectively.
    Selective,
    /// In any order. Allways leaves in flight what is ignored, TraceForge receives everything.
    Any,
    /// First in, first out between each two processes; everything is received.
    Ordered,
}

impl Transport {
    /// All of them.
    pub const ALL: [Transport; 3] = [Transport::Selective, Transport::Any, Transport::Ordered];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Transport::Selective => "selective",
            Transport::Any => "any",
            Transport::Ordered => "ordered",
        }
    }
}
