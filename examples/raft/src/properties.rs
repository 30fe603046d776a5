//! What must hold: the safety properties of the Raft paper (its figure 3), each with the part of a node that it reads.

use crate::disk::Slot;
use crate::node::Bounded;
use allways::prelude::*;
use allways::{Rebuilt, View};

type Node = Rebuilt<Bounded>;

/// Adds what must hold, and a goal that shows that something happens at all.
pub fn with_properties(system: System<Node>) -> System<Node> {
    system
        .always("one leader a term", led(), one_leader_a_term)
        .always("applied entries agree", applied(), one_extends_the_other)
        .always("leaders have what is committed", leads(), leaders_are_complete)
        .always("logs match", log(), logs_match)
        .sometimes("all apply an entry", applied(), |all| all.iter().all(|log| !log.is_empty()))
}

/// The terms in which a node has led so far.
fn led() -> View<Node, Vec<u64>> {
    view(|node: &Node| node.with(|node| node.peer.led.iter().copied().collect()))
}

/// Election safety: for all time, since nodes do not forget in which terms they have led.
fn one_leader_a_term(led: &[Vec<u64>]) -> bool {
    let mut all: Vec<u64> = led.concat();
    all.sort_unstable();
    all.windows(2).all(|two| two[0] != two[1])
}

/// What a node has applied. It is never taken back, so what agrees in every state agrees for all time.
fn applied() -> View<Node, Vec<Slot>> {
    view(|node: &Node| node.with(|node| node.peer.disk().log.applied.clone()))
}

/// State machine safety.
fn one_extends_the_other(applied: &[Vec<Slot>]) -> bool {
    pairs(applied).all(|(a, b)| a.iter().zip(b).all(|(a, b)| a == b))
}

/// What leader completeness is about.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Leads {
    term: u64,
    committed: Vec<Slot>,
    /// If it is a leader.
    log: Option<Vec<Slot>>,
}

fn leads() -> View<Node, Leads> {
    view(|node: &Node| {
        node.with(|Bounded { peer, .. }| Leads {
            term: peer.raft.raft.term,
            committed: peer.disk().log.applied.clone(),
            log: peer.leads().then(|| peer.disk().log.slots()),
        })
    })
}

/// Leader completeness: what a node knows to be committed was committed in its term or before, so leaders of that term and of
/// later ones have it.
fn leaders_are_complete(nodes: &[Leads]) -> bool {
    nodes.iter().all(|leader| {
        let Some(log) = &leader.log else { return true };
        let known = nodes.iter().filter(|node| node.term <= leader.term);
        known.map(|node| &node.committed).all(|committed| log.starts_with(committed))
    })
}

/// The log of a node.
fn log() -> View<Node, Vec<Slot>> {
    view(|node: &Node| node.with(|node| node.peer.disk().log.slots()))
}

/// Log matching: where two logs have an entry of the same term at the same index, they are the same up to there.
fn logs_match(logs: &[Vec<Slot>]) -> bool {
    pairs(logs).all(|(a, b)| {
        let same_term = a.iter().zip(b).rposition(|(a, b)| a.term == b.term);
        same_term.is_none_or(|index| a[..=index] == b[..=index])
    })
}

/// All two of these.
fn pairs<T>(all: &[T]) -> impl Iterator<Item = (&T, &T)> {
    all.iter().enumerate().flat_map(|(index, a)| all[index + 1..].iter().map(move |b| (a, b)))
}
