//! A race of messages to one process: all that happens is that they arrive, in some order.
//!
//! One process sends them all: with a process for each, TraceForge is half as fast.

use crate::actor::{Actor, World};

/// A message is its number.
type Msg = u8;

/// Process 0 sends, process 1 receives.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Race {
    /// Sends so many messages.
    Sender(Msg),
    /// Receives so many messages.
    Receiver(Msg, Received),
}

/// What a receiver keeps of what it has received. It makes no difference to the number of
/// executions, one for each permutation, but to how many states the receiver has.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Received {
    /// How many there were, and the last: few states, in which most executions meet.
    Last(Msg, Option<Msg>),
    /// All, in order: no two executions lead to the same state.
    All(Vec<Msg>),
}

/// The sender, and a receiver that has received nothing.
fn processes(messages: usize, received: Received) -> Vec<Race> {
    let messages = messages as Msg;
    vec![Race::Sender(messages), Race::Receiver(messages, received)]
}

/// A receiver that keeps the last message.
pub fn race(messages: usize) -> Vec<Race> {
    processes(messages, Received::Last(0, None))
}

/// A receiver that keeps all messages.
pub fn race_kept(messages: usize) -> Vec<Race> {
    processes(messages, Received::All(Vec::new()))
}

impl Actor for Race {
    type Msg = Msg;
    type View = ();

    fn start(&mut self, world: &mut dyn World<Msg>) {
        if let Race::Sender(messages) = *self {
            (0..messages).for_each(|msg| world.send(1, msg));
        }
    }

    fn tag(_: Msg) -> u32 {
        0
    }

    fn wants(&self, _: u32) -> bool {
        true
    }

    fn receive(&mut self, _: usize, msg: Msg, _: &mut dyn World<Msg>) {
        match self {
            Race::Sender(_) => {}
            Race::Receiver(_, Received::All(received)) => received.push(msg),
            Race::Receiver(_, Received::Last(count, last)) => {
                *count += 1;
                *last = Some(msg);
            }
        }
    }

    fn done(&self) -> bool {
        match self {
            Race::Sender(_) => true,
            Race::Receiver(messages, Received::All(all)) => all.len() == usize::from(*messages),
            Race::Receiver(messages, Received::Last(count, _)) => count == messages,
        }
    }

    fn most(&self) -> usize {
        match self {
            Race::Sender(_) => 0,
            Race::Receiver(messages, _) => usize::from(*messages),
        }
    }

    fn view(&self) {}

    fn holds(_: &[()]) -> bool {
        true
    }
}
