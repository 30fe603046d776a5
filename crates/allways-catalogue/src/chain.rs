//! A chain of nodes, each of which forwards what it receives to the next: the LMC paper's example
//! of a system in which local checking has little to gain (section 4.3).
//!
//! The driver makes node 0 send numbered messages, one after the other. The network may reorder
//! them, so a node takes only the one with the next number and lets the others wait. Each node
//! keeps what it has received; for node 0 that is what it has sent.
//!
//! There is one message for every step and little happens in parallel. So there are few global
//! states: a node never has more than the one before it, and the network has the difference. With
//! n nodes and m messages that is a number from 0 to m for each node, never growing along the
//! chain: (n + m) over m combinations, where the local states alone have (m + 1)ⁿ.

use crate::{Bug, Entry, Kind, Parameter, Parameters};
use allways::prelude::*;
use allways::{Checkable, Error, Kinds};

pub(crate) const ENTRY: Entry = Entry {
    name: "chain",
    about: "messages forwarded along a chain of nodes (LMC paper, section 4.3)",
    parameters: &[
        Parameter {
            name: "nodes",
            about: "how long the chain is",
            kind: Kind::Number { default: 5, min: 2, max: 16 },
        },
        Parameter {
            name: "messages",
            about: "how many messages the first node sends",
            kind: Kind::Number { default: 3, min: 1, max: 9 },
        },
    ],
    bugs: &[Bug {
        name: OVERTAKING,
        about: "a node takes whatever arrives, not only the next message",
        defaults: &[("nodes", "2"), ("messages", "2")],
    }],
    make,
    live: crate::LivePart::NONE,
};

const OVERTAKING: &str = "overtaking";

/// The number of a message; the first is 1.
type Number = u8;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Chain {
    /// The messages received, or sent by the first node, in this order.
    received: Vec<Number>,
    overtaking: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Kinds)]
struct Forward(Number);

/// Send the next message.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Kinds)]
struct Send;

impl Chain {
    fn next(&self) -> Number {
        self.received.len() as Number + 1
    }

    fn take(&mut self, number: Number, cx: &mut Cx<'_, Self>) {
        self.received.push(number);
        let next = cx.id().index() + 1;
        if next < cx.nodes() {
            cx.send(next, Forward(number));
        }
    }
}

impl Node for Chain {
    type Msg = Forward;
    type Timer = Never;
    type Call = Send;
    type Output = Never;

    fn on_call(&mut self, Send: Send, cx: &mut Cx<'_, Self>) {
        self.take(self.next(), cx);
    }

    fn on_message(&mut self, _: Id, Forward(number): Forward, cx: &mut Cx<'_, Self>) {
        if number == self.next() || self.overtaking {
            self.take(number, cx);
        }
    }
}

/// Each node has received what the one before it has, as far as it has got.
fn in_order(received: &[Vec<Number>]) -> bool {
    received.windows(2).all(|pair| pair[0].starts_with(&pair[1]))
}

fn make(parameters: &Parameters) -> Result<Box<dyn Checkable>, Error> {
    let (nodes, messages) = (parameters.number("nodes"), parameters.number("messages"));
    let node = Chain { received: Vec::new(), overtaking: parameters.bug() == Some(OVERTAKING) };
    let system = System::new(vec![node; nodes])
        .calls_in_sequence(vec![(0, Send); messages])
        .always("in order", view(|n: &Chain| n.received.clone()), in_order)
        .sometimes("all arrived", view(|n: &Chain| n.received.len()), move |lengths| {
            lengths.iter().all(|length| *length == messages)
        });
    Ok(Box::new(system.expect_kinds()))
}

#[cfg(test)]
mod tests {
    use crate::tests::{classic, counts};

    /// `n` over `k`.
    fn combinations(n: u64, k: u64) -> u64 {
        (1..=k).fold(1, |product, i| product * (n - k + i) / i)
    }

    #[test]
    fn every_node_has_as_much_as_the_one_before_it_or_less() {
        for (nodes, messages) in [(2, 1), (2, 9), (5, 3), (8, 4), (16, 2)] {
            let set = [("nodes", &*nodes.to_string()), ("messages", &*messages.to_string())];
            let states = combinations(nodes + messages, messages);
            assert_eq!(counts("chain", &set).0, states, "{set:?}");
        }
    }

    #[test]
    fn by_default_there_are_so_many_states() {
        assert_eq!(counts("chain", &[]), (56, 106));
    }

    #[test]
    fn who_takes_whatever_arrives_gets_the_second_before_the_first() {
        let outcome = classic("chain", &[("bug", "overtaking")]);
        assert_eq!(outcome.assert_violated("in order").run.events.len(), 3);
        classic("chain", &[("bug", "overtaking"), ("nodes", "3")]).assert_violated("in order");
    }

    #[test]
    fn one_message_cannot_be_overtaken() {
        let set = [("bug", "overtaking"), ("messages", "1"), ("nodes", "5")];
        classic("chain", &set).assert_holds();
    }
}
