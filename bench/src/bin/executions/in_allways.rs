//! A protocol for Allways: a node for each process.

use crate::actor::{Actor, Transport, World};
use allways::prelude::*;
use allways::{Engine, Error, Options};

/// A process as a node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Process<A>(A);

impl<A: Actor> Node for Process<A> {
    type Msg = A::Msg;
    type Timer = Never;
    type Call = Never;
    type Output = Never;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        self.0.start(&mut Handler(cx));
    }

    fn on_message(&mut self, from: Id, msg: A::Msg, cx: &mut Cx<'_, Self>) {
        if self.0.wants(A::tag(msg)) {
            self.0.receive(from.index(), msg, &mut Handler(cx));
        }
    }
}

/// How a handler acts on the world.
struct Handler<'a, 'b, A: Actor>(&'a mut Cx<'b, Process<A>>);

impl<A: Actor> World<A::Msg> for Handler<'_, '_, A> {
    fn send(&mut self, to: usize, msg: A::Msg) {
        self.0.send(to, msg);
    }

    fn choose(&mut self, arity: usize) -> usize {
        self.0.choose(arity)
    }
}

/// Explores all executions of these processes: how many there are, or `None` if in one of them the
/// property does not hold.
///
/// # Errors
///
/// If the check fails or is not complete.
pub fn explore<A: Actor>(processes: &[A], transport: Transport) -> Result<Option<u64>, String> {
    let network = match transport {
        Transport::Ordered => Network::ordered(),
        Transport::Selective | Transport::Any => Network::unordered(),
    };
    // Its reduction is `optimal` unless told otherwise.
    let engine: Engine = "dpor".parse().map_err(|error: Error| error.to_string())?;
    let options = Options { engine, threads: 1, ..Options::default() };
    let outcome = System::new(processes.iter().cloned().map(Process))
        .network(network)
        .always("holds", view(|process: &Process<A>| process.0.view()), |views| A::holds(views))
        .try_check(&options)
        .map_err(|error| error.to_string())?;
    match outcome.verdict {
        Verdict::Violated => Ok(None),
        Verdict::Holds if outcome.complete => {
            outcome.statistics.runs.map(Some).ok_or_else(|| "no runs were counted".to_owned())
        }
        _ => Err(format!("the outcome is not what it should be: {outcome}")),
    }
}
