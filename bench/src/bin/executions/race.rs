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
    /// Receives so many: those received, in order.
    Receiver(Msg, Vec<Msg>),
}

/// The sender and the receiver.
pub fn race(messages: usize) -> Vec<Race> {
    let messages = messages as Msg;
    vec![Race::Sender(messages), Race::Receiver(messages, Vec::new())]
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
        if let Race::Receiver(_, received) = self {
            received.push(msg);
        }
    }

    fn done(&self) -> bool {
        match self {
            Race::Sender(_) => true,
            Race::Receiver(messages, received) => received.len() == usize::from(*messages),
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
