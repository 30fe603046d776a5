//! What must hold of every deployment of Raft: figure 3 of the
//! [paper](https://raft.github.io/raft.pdf), and that what was committed stays so.

use crate::raft::{Raft, Role};
use crate::replica::Replica;
use allways::prelude::*;

/// Adds all of the properties to a system.
pub fn required<R: Raft>(system: System<Replica<R>>) -> System<Replica<R>> {
    system
        .always("one leader a term", view(leads), |terms| all_differ(terms))
        .always("logs match", view(|n: &Replica<R>| n.raft.log()), |logs| pairs(logs, logs_match))
        .always("leaders have what is committed", view(claim), |claims| pairs(claims, complete))
        .always("committed entries agree", view(|n: &Replica<R>| n.told.clone()), |told| {
            pairs(told, |a, b| is_prefix(a, b) || is_prefix(b, a))
        })
        .always("committed stays committed", view(|n: &Replica<R>| n.contradicted), |bad| {
            !bad.contains(&true)
        })
}

/// The term in which a replica leads.
fn leads<R: Raft>(replica: &Replica<R>) -> Option<u64> {
    (replica.raft.role() == Role::Leader).then(|| replica.raft.term())
}

/// What one replica has told of, and what another needs to have if it leads.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Claim {
    /// Committed entries.
    told: Vec<u64>,
    /// If it leads, or there are such entries: its term.
    term: Option<u64>,
    /// If it leads: its log.
    log: Option<Vec<u64>>,
}

fn claim<R: Raft>(replica: &Replica<R>) -> Claim {
    let leads = replica.raft.role() == Role::Leader;
    let told = replica.told.clone();
    let term = (leads || !told.is_empty()).then(|| replica.raft.term());
    Claim { told, term, log: leads.then(|| replica.raft.log()) }
}

/// An entry that somebody knows to be committed was committed in that replica's term or earlier: a
/// leader of that term or a later one has it.
fn complete(a: &Claim, b: &Claim) -> bool {
    let has = |leader: &Claim, other: &Claim| match &leader.log {
        Some(log) if leader.term >= other.term => is_prefix(&other.told, log),
        _ => true,
    };
    has(a, b) && has(b, a)
}

/// Two logs that have the same entry have the same entries before it.
fn logs_match(a: &Vec<u64>, b: &Vec<u64>) -> bool {
    let same = a.iter().zip(b).rposition(|(a, b)| a == b);
    same.is_none_or(|last| a[..last] == b[..last])
}

fn is_prefix(short: &[u64], long: &[u64]) -> bool {
    long.starts_with(short)
}

fn all_differ(terms: &[Option<u64>]) -> bool {
    pairs(terms, |a, b| a.is_none() || a != b)
}

/// Whether this holds of any two.
fn pairs<T>(items: &[T], holds: impl Fn(&T, &T) -> bool) -> bool {
    items.iter().enumerate().all(|(at, a)| items[..at].iter().all(|b| holds(a, b)))
}
