//! What must hold of every deployment of Raft: figure 3 of the
//! [paper](https://raft.github.io/raft.pdf), and that what was committed stays so.

use crate::raft::{Raft, Role};
use crate::replica::Replica;
use allways::prelude::*;

/// What Raft relies on: one leader a term, logs that match, leaders that have what is committed.
pub fn of_raft<R: Raft>(system: System<Replica<R>>) -> System<Replica<R>> {
    system
        .always("one leader a term", view(leads), |terms| {
            pairs(terms, |a, b| a.is_none() || a != b)
        })
        .always("logs match", view(|n: &Replica<R>| n.raft.log()), |logs| {
            pairs(logs, |a, b| logs_match(a, b))
        })
        .always("leaders have what is committed", view(claim), |claims| pairs(claims, complete))
}

/// What the application relies on: what one replica has told it of, all others will, and for ever.
pub fn agreement<R: Raft>(system: System<Replica<R>>) -> System<Replica<R>> {
    system
        .always("committed entries agree", view(|n: &Replica<R>| n.told.clone()), |told| {
            pairs(told, |a, b| a.starts_with(b) || b.starts_with(a))
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
        Some(log) if leader.term >= other.term => log.starts_with(&other.told),
        _ => true,
    };
    has(a, b) && has(b, a)
}

/// Two logs that have the same entry have the same entries before it.
fn logs_match(a: &[u64], b: &[u64]) -> bool {
    let same = a.iter().zip(b).rposition(|(a, b)| a == b);
    same.is_none_or(|last| a[..last] == b[..last])
}

/// Whether this holds of any two.
fn pairs<T>(items: &[T], holds: impl Fn(&T, &T) -> bool) -> bool {
    items.iter().enumerate().all(|(at, a)| items[..at].iter().all(|b| holds(a, b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_match_up_to_the_last_entry_that_they_share() {
        assert!(logs_match(&[1, 2], &[1, 3]));
        assert!(logs_match(&[1, 2, 4], &[1, 2]));
        assert!(!logs_match(&[1, 3], &[2, 3]));
    }

    #[test]
    fn only_leaders_of_later_terms_need_what_is_committed() {
        let leader = |term| Claim { told: Vec::new(), term: Some(term), log: Some(vec![1, term]) };
        let told = Claim { told: vec![2], term: Some(2), log: None };
        assert!(complete(&leader(1), &told));
        assert!(!complete(&leader(2), &told) && !complete(&told, &leader(3)));
    }
}
