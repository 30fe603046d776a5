//! Both tools against counting by brute force.

use crate::actor::{Actor, Transport, World};
use crate::paxos::{Sizes, paxos};
use crate::race::{race, race_kept};
use crate::two_phase_commit::two_phase_commit;
use crate::{in_allways, in_traceforge};
use std::collections::HashSet;

/// What a process has received, in order: from whom, what, and what it chose then.
type Received<M> = Vec<(usize, M, Option<usize>)>;

/// A global state with its past: that is which messages were received where, in which order.
#[derive(Clone)]
struct Moment<A: Actor> {
    processes: Vec<A>,
    /// Messages in flight: from, to, content, oldest first.
    flight: Vec<(usize, usize, A::Msg)>,
    past: Vec<Received<A::Msg>>,
}

/// Sends into a list and chooses what it is told to.
struct Script<'a, M> {
    from: usize,
    sent: &'a mut Vec<(usize, usize, M)>,
    choice: usize,
    /// What the handler could choose from, if it did.
    arity: Option<usize>,
}

impl<M> World<M> for Script<'_, M> {
    fn send(&mut self, to: usize, msg: M) {
        self.sent.push((self.from, to, msg));
    }

    fn choose(&mut self, arity: usize) -> usize {
        assert!(self.arity.replace(arity).is_none(), "a handler chooses once at most");
        self.choice
    }
}

/// How many executions there are: all moments are visited, and those where nothing more can be
/// received are counted.
fn executions<A: Actor>(processes: &[A], transport: Transport) -> u64 {
    let past = vec![Vec::new(); processes.len()];
    let mut first = Moment { processes: processes.to_vec(), flight: Vec::new(), past };
    for (from, process) in first.processes.iter_mut().enumerate() {
        process.start(&mut Script { from, sent: &mut first.flight, choice: 0, arity: None });
    }
    let (mut known, mut open, mut ends) = (HashSet::new(), vec![first], 0);
    while let Some(moment) = open.pop() {
        let next = successors(&moment, transport);
        ends += u64::from(next.is_empty());
        open.extend(next.into_iter().filter(|next| known.insert(next.past.clone())));
    }
    ends
}

fn successors<A: Actor>(moment: &Moment<A>, transport: Transport) -> Vec<Moment<A>> {
    let mut successors = Vec::new();
    for (index, &(from, to, msg)) in moment.flight.iter().enumerate() {
        let wanted = moment.processes[to].wants(A::tag(msg));
        let overtakes =
            moment.flight[..index].iter().any(|before| before.0 == from && before.1 == to);
        if match transport {
            Transport::Selective => !wanted,
            Transport::Any => false,
            Transport::Ordered => overtakes,
        } {
            continue;
        }
        let mut choice = 0;
        loop {
            let mut next = moment.clone();
            next.flight.remove(index);
            let mut script = Script { from: to, sent: &mut next.flight, choice, arity: None };
            if wanted {
                next.processes[to].receive(from, msg, &mut script);
            }
            let arity = script.arity;
            next.past[to].push((from, msg, arity.map(|_| choice)));
            successors.push(next);
            choice += 1;
            if choice >= arity.unwrap_or(1) {
                break;
            }
        }
    }
    successors
}

/// The executions with each transport, by brute force and by TraceForge.
fn counted<A: Actor>(processes: &[A]) -> [u64; 3] {
    Transport::ALL.map(|transport| {
        let number = executions(processes, transport);
        assert_eq!(in_traceforge::explore(processes, transport), Some(number), "{transport:?}");
        number
    })
}

#[test]
fn a_race_has_an_execution_for_each_permutation() {
    assert_eq!(counted(&race(4)), [24, 24, 1]);
    assert_eq!(counted(&race_kept(4)), [24, 24, 1]);
}

#[test]
fn a_late_vote_makes_no_execution_where_it_is_left_in_flight() {
    assert_eq!(counted(&two_phase_commit(3, false)), [84, 132, 48]);
}

#[test]
fn proposers_race_at_acceptors_and_acceptors_at_the_learner() {
    let one = paxos(Sizes { proposers: 1, acceptors: 3 }, false);
    assert_eq!(counted(&one), [72, 72, 36]);
    let two = paxos(Sizes { proposers: 2, acceptors: 2 }, false);
    assert_eq!(counted(&two), [164, 256, 136]);
}

#[test]
fn traceforge_finds_a_commit_with_too_few_votes_and_a_promiscuous_acceptor() {
    for transport in Transport::ALL {
        assert_eq!(in_traceforge::explore(&two_phase_commit(3, true), transport), None);
        let agreement = paxos(Sizes { proposers: 2, acceptors: 1 }, true);
        assert_eq!(in_traceforge::explore(&agreement, transport), None);
    }
}

/// Allways leaves in flight what is ignored, unless messages are ordered.
fn explored_by_allways<A: Actor>(processes: &[A]) -> [u64; 2] {
    [Transport::Selective, Transport::Ordered]
        .map(|transport| in_allways::explore(processes, transport).unwrap().unwrap())
}

#[test]
fn allways_explores_each_execution_once() {
    assert_eq!(explored_by_allways(&race(4)), [24, 1]);
    assert_eq!(explored_by_allways(&race_kept(4)), [24, 1]);
    assert_eq!(explored_by_allways(&two_phase_commit(3, false)), [84, 48]);
    let one = paxos(Sizes { proposers: 1, acceptors: 3 }, false);
    assert_eq!(explored_by_allways(&one), [72, 36]);
    let two = paxos(Sizes { proposers: 2, acceptors: 2 }, false);
    assert_eq!(explored_by_allways(&two), [164, 136]);
}

#[test]
fn allways_finds_a_commit_with_too_few_votes_and_a_promiscuous_acceptor() {
    for transport in Transport::ALL {
        assert_eq!(in_allways::explore(&two_phase_commit(3, true), transport), Ok(None));
        let agreement = paxos(Sizes { proposers: 2, acceptors: 1 }, true);
        assert_eq!(in_allways::explore(&agreement, transport), Ok(None));
    }
}
