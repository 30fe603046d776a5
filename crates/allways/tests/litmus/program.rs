//! A litmus system as plain data, and the node that does what the data says.

use allways::View;
use allways::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is sent: to which node, and which message.
pub type Send = (usize, u8);

/// What a node takes. What it does not take changes nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Takes {
    All,
    /// Each message the first time that it comes.
    EachOnce,
    /// The first so many.
    First(usize),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wire {
    Unordered,
    Ordered,
    Duplicating,
}

/// A litmus system: messages are numbers, and each is only ever sent by one step.
#[derive(Clone, Debug)]
pub struct Program {
    pub takes: Vec<Takes>,
    pub wire: Wire,
    /// Made at any time, each once.
    pub calls: Vec<Send>,
    /// Sent when the nodes start: from which node, and what.
    pub starts: Vec<(usize, Send)>,
    /// What a node sends when it takes a message or a call: one of these, as it chooses.
    pub answers: BTreeMap<u8, Vec<Vec<Send>>>,
}

impl Program {
    /// So many nodes, on an unordered network, to which nothing happens yet.
    pub fn new(nodes: usize) -> Self {
        Program {
            takes: vec![Takes::All; nodes],
            wire: Wire::Unordered,
            calls: vec![],
            starts: vec![],
            answers: BTreeMap::new(),
        }
    }

    pub fn wire(mut self, wire: Wire) -> Self {
        self.wire = wire;
        self
    }

    pub fn takes(mut self, node: usize, takes: Takes) -> Self {
        self.takes[node] = takes;
        self
    }

    pub fn call(mut self, node: usize, msg: u8) -> Self {
        self.calls.push((node, msg));
        self
    }

    pub fn start(mut self, from: usize, to: usize, msg: u8) -> Self {
        self.starts.push((from, (to, msg)));
        self
    }

    /// Who takes the message sends these.
    pub fn on(mut self, msg: u8, sends: impl IntoIterator<Item = Send>) -> Self {
        self.answers.entry(msg).or_default().push(sends.into_iter().collect());
        self
    }

    /// What may be sent by who takes a message: at least one alternative.
    pub fn alternatives(&self, msg: u8) -> Vec<Vec<Send>> {
        self.answers.get(&msg).cloned().unwrap_or_else(|| vec![vec![]])
    }

    /// The system that does this.
    pub fn system(&self) -> System<Keeper> {
        let answers = Arc::new(self.answers.clone());
        let nodes = self.takes.iter().enumerate().map(|(node, &takes)| {
            let mine = self.starts.iter().filter(|(from, _)| *from == node);
            let starts = mine.map(|&(_, send)| send).collect();
            Keeper { takes, starts, answers: Arc::clone(&answers), log: vec![] }
        });
        let network = match self.wire {
            Wire::Unordered => Network::unordered(),
            Wire::Ordered => Network::ordered(),
            Wire::Duplicating => Network::duplicating(),
        };
        let system = System::new(nodes).network(network);
        self.calls.iter().fold(system, |system, &(node, msg)| system.call(node, msg))
    }
}

/// Whether a node that has taken what is in its log takes a message now.
pub fn takes(takes: Takes, log: &[u8], msg: u8) -> bool {
    match takes {
        Takes::All => true,
        Takes::EachOnce => !log.contains(&msg),
        Takes::First(most) => log.len() < most,
    }
}

/// Keeps what it takes, in the order in which it comes, so that no two orders lead to the same state.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Keeper {
    takes: Takes,
    starts: Vec<Send>,
    answers: Arc<BTreeMap<u8, Vec<Vec<Send>>>>,
    log: Vec<u8>,
}

impl Keeper {
    fn take(&mut self, msg: u8, cx: &mut Cx<'_, Self>) {
        if !takes(self.takes, &self.log, msg) {
            return;
        }
        self.log.push(msg);
        if let Some(alternatives) = self.answers.get(&msg) {
            let chosen = if alternatives.len() == 1 { 0 } else { cx.choose(alternatives.len()) };
            for &(to, msg) in &alternatives[chosen] {
                cx.send(to, msg);
            }
        }
    }
}

impl Node for Keeper {
    type Msg = u8;
    type Timer = Never;
    type Call = u8;
    type Output = Never;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        for &(to, msg) in &self.starts {
            cx.send(to, msg);
        }
    }

    fn on_message(&mut self, _: Id, msg: u8, cx: &mut Cx<'_, Self>) {
        self.take(msg, cx);
    }

    fn on_call(&mut self, call: u8, cx: &mut Cx<'_, Self>) {
        self.take(call, cx);
    }
}

/// What a node has taken.
pub fn log() -> View<Keeper, Vec<u8>> {
    view(|node: &Keeper| node.log.clone())
}
