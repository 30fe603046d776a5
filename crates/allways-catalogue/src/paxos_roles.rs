//! Single-decree Paxos with its three roles apart, as in Lamport's "Paxos Made Simple".
//!
//! A proposer asks all acceptors to promise that they will accept nothing below its ballot. With
//! the promises of a majority it proposes the value of the highest proposal that they report, or
//! its own if they report none. An acceptor accepts what no promise of its own prohibits and tells
//! the learners; a learner learns what a majority has accepted. Each proposer issues at most one
//! proposal, when the driver calls it.
//!
//! To accept is not to promise: an acceptor may accept a low proposal after a high one, and must
//! then go on reporting the high one. That is what the bug `last-accepted` gets wrong.
//!
//! The roles, the sizes and both bugs are those of the thesis's section 3.5 (table 4): Paxos (6),
//! Faulty-Paxos (6) and Faulty-Paxos (7).

use crate::history::{self, History};
use crate::{Bug, Entry, Kind, Parameter, Parameters};
use allways::prelude::*;
use allways::{Checkable, Error, Kinds};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const ENTRY: Entry = Entry {
    name: "paxos-roles",
    about: "single-decree Paxos with separate proposers, acceptors and learners",
    parameters: &[
        Parameter {
            name: "proposers",
            about: "how many nodes propose, each once",
            kind: Kind::Number { default: 2, min: 1, max: 4 },
        },
        Parameter {
            name: "acceptors",
            about: "how many nodes accept",
            kind: Kind::Number { default: 3, min: 1, max: 7 },
        },
        Parameter {
            name: "learners",
            about: "how many nodes learn",
            kind: Kind::Number { default: 1, min: 1, max: 3 },
        },
        history::PARAMETER,
    ],
    bugs: &[
        Bug {
            name: "last-accepted",
            about: "the first acceptor reports the last proposal that it accepted, not the highest",
            defaults: &[("proposers", "3"), ("acceptors", "3"), ("learners", "1")],
        },
        Bug {
            name: "promiscuous-acceptor",
            about: "the first acceptor accepts every proposal, whatever it has promised",
            defaults: &[("proposers", "2"), ("acceptors", "1"), ("learners", "1")],
        },
    ],
    make,
    live: crate::LivePart::NONE,
};

/// A number for one attempt of one proposer; zero is below all of them.
type Ballot = u8;
/// What is to be agreed on.
type Chosen = u8;

/// A value that somebody proposes. Ordered by ballot, as no ballot has two values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Proposal {
    ballot: Ballot,
    value: Chosen,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Kinds)]
enum Msg {
    Prepare(Ballot),
    Promise { ballot: Ballot, accepted: Option<Proposal> },
    Accept(Proposal),
    Accepted(Proposal),
}

/// The driver asks a proposer to begin.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Kinds)]
struct Propose;

/// How many nodes have each role. Proposers come first, then acceptors, then learners.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Sizes {
    proposers: usize,
    acceptors: usize,
    learners: usize,
}

impl Sizes {
    fn acceptors(self) -> std::ops::Range<usize> {
        self.proposers..self.proposers + self.acceptors
    }

    fn learners(self) -> std::ops::Range<usize> {
        self.acceptors().end..self.acceptors().end + self.learners
    }

    fn majority(self) -> usize {
        self.acceptors / 2 + 1
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Paxos {
    sizes: Sizes,
    role: Role,
    history: History<Msg>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Role {
    Proposer(Proposer),
    Acceptor(Acceptor),
    Learner(Learner),
}

/// What a proposer has done; its ballot and its value follow from its number.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Proposer {
    Idle,
    /// Waits for promises.
    Preparing {
        promised: BTreeSet<Id>,
        /// The highest proposal that they report.
        highest: Option<Proposal>,
    },
    Proposed,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Acceptor {
    /// The highest ballot promised: nothing below it may be accepted.
    promised: Ballot,
    /// What promises report: the highest proposal accepted.
    accepted: Option<Proposal>,
    mistake: Option<Mistake>,
}

/// What an acceptor does wrong.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Mistake {
    /// It accepts every proposal.
    AcceptsAll,
    /// It reports the last proposal accepted.
    ReportsLast,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Learner {
    /// Who has accepted what is not learned yet.
    votes: BTreeMap<Proposal, BTreeSet<Id>>,
    learned: BTreeSet<Proposal>,
}

impl Node for Paxos {
    type Msg = Msg;
    type Timer = Never;
    type Call = Propose;
    type Output = Never;

    fn on_call(&mut self, Propose: Propose, cx: &mut Cx<'_, Self>) {
        if let Role::Proposer(proposer @ Proposer::Idle) = &mut self.role {
            *proposer = Proposer::Preparing { promised: BTreeSet::new(), highest: None };
            send_all(self.sizes.acceptors(), Msg::Prepare(ballot_of(cx.id())), cx);
        }
    }

    fn on_message(&mut self, from: Id, msg: Msg, cx: &mut Cx<'_, Self>) {
        let sizes = self.sizes;
        let handled = match (&mut self.role, msg) {
            (Role::Proposer(proposer), Msg::Promise { ballot, accepted }) => {
                ballot == ballot_of(cx.id()) && proposer.on_promise(from, accepted, sizes, cx)
            }
            (Role::Acceptor(acceptor), Msg::Prepare(ballot)) => {
                acceptor.on_prepare(from, ballot, cx)
            }
            (Role::Acceptor(acceptor), Msg::Accept(proposal)) => {
                acceptor.on_accept(proposal, sizes, cx)
            }
            (Role::Learner(learner), Msg::Accepted(proposal)) => {
                learner.on_accepted(from, proposal, sizes)
            }
            _ => false,
        };
        if handled {
            *self.history = Some((from, msg));
        }
    }
}

fn ballot_of(proposer: Id) -> Ballot {
    proposer.index() as Ballot + 1
}

fn send_all(to: std::ops::Range<usize>, msg: Msg, cx: &mut Cx<'_, Paxos>) {
    for node in to {
        cx.send(node, msg);
    }
}

// Each handler of a role says whether it has handled the message; if not, it has ignored it.

impl Proposer {
    fn on_promise(
        &mut self,
        from: Id,
        accepted: Option<Proposal>,
        sizes: Sizes,
        cx: &mut Cx<'_, Paxos>,
    ) -> bool {
        let Proposer::Preparing { promised, highest } = self else { return false };
        promised.insert(from);
        *highest = accepted.max(*highest);
        if promised.len() >= sizes.majority() {
            let ballot = ballot_of(cx.id());
            let value = highest.map_or(ballot * 10, |proposal| proposal.value);
            send_all(sizes.acceptors(), Msg::Accept(Proposal { ballot, value }), cx);
            *self = Proposer::Proposed;
        }
        true
    }
}

impl Acceptor {
    fn on_prepare(&mut self, from: Id, ballot: Ballot, cx: &mut Cx<'_, Paxos>) -> bool {
        let higher = ballot > self.promised;
        if higher {
            self.promised = ballot;
            cx.send(from, Msg::Promise { ballot, accepted: self.accepted });
        }
        higher
    }

    fn on_accept(&mut self, proposal: Proposal, sizes: Sizes, cx: &mut Cx<'_, Paxos>) -> bool {
        let prohibited = proposal.ballot < self.promised;
        if prohibited && self.mistake != Some(Mistake::AcceptsAll) {
            return false;
        }
        self.accepted = match self.mistake {
            Some(Mistake::ReportsLast) => Some(proposal),
            _ => self.accepted.max(Some(proposal)),
        };
        send_all(sizes.learners(), Msg::Accepted(proposal), cx);
        true
    }
}

impl Learner {
    fn on_accepted(&mut self, from: Id, proposal: Proposal, sizes: Sizes) -> bool {
        let new = !self.learned.contains(&proposal);
        if new {
            let votes = self.votes.entry(proposal).or_default();
            votes.insert(from);
            if votes.len() >= sizes.majority() {
                self.votes.remove(&proposal);
                self.learned.insert(proposal);
            }
        }
        new
    }
}

impl Paxos {
    /// The values that this node has learned.
    fn learned(&self) -> BTreeSet<Chosen> {
        match &self.role {
            Role::Learner(learner) => learner.learned.iter().map(|p| p.value).collect(),
            _ => BTreeSet::new(),
        }
    }
}

fn acceptor(mistake: Option<Mistake>) -> Role {
    Role::Acceptor(Acceptor { promised: 0, accepted: None, mistake })
}

fn make(parameters: &Parameters) -> Result<Box<dyn Checkable>, Error> {
    let sizes = Sizes {
        proposers: parameters.number("proposers"),
        acceptors: parameters.number("acceptors"),
        learners: parameters.number("learners"),
    };
    let mistake = match parameters.bug() {
        Some("promiscuous-acceptor") => Some(Mistake::AcceptsAll),
        Some("last-accepted") => Some(Mistake::ReportsLast),
        _ => None,
    };
    let learner = Role::Learner(Learner { votes: BTreeMap::new(), learned: BTreeSet::new() });
    let proposers = vec![Role::Proposer(Proposer::Idle); sizes.proposers];
    let acceptors =
        std::iter::once(acceptor(mistake)).chain(vec![acceptor(None); sizes.acceptors - 1]);
    let roles = proposers.into_iter().chain(acceptors).chain(vec![learner; sizes.learners]);
    let mut system =
        System::new(roles.map(|role| Paxos { sizes, role, history: history::new(parameters) }))
            .always("agreement", view(Paxos::learned), |learned| {
                learned.iter().flatten().all_equal()
            })
            .sometimes("learned", view(|p: &Paxos| !p.learned().is_empty()), |learned| {
                learned.contains(&true)
            });
    for proposer in 0..sizes.proposers {
        system = system.call(proposer, Propose);
    }
    Ok(Box::new(system.expect_kinds()))
}

#[cfg(test)]
mod tests {
    use allways::{Options, Outcome, Search, Verdict};

    fn check(set: &[(&str, &str)]) -> Outcome {
        let options = Options { search: Search::Classic, ..Options::default() };
        crate::find("paxos-roles").unwrap().build(set).unwrap().check_with(&options).unwrap()
    }

    fn states(outcome: &Outcome) -> Option<u64> {
        outcome.statistics.unique_states
    }

    #[test]
    fn agrees_by_default() {
        let outcome = check(&[]);
        assert_eq!(outcome.verdict, Verdict::Holds);
        assert!(outcome.complete);
        assert_eq!(states(&outcome), Some(57_084));
        assert_eq!(outcome.statistics.generated_states, Some(197_494));
    }

    /// Too slow without optimisation.
    #[cfg(not(debug_assertions))]
    #[test]
    fn agrees_by_default_with_a_counted_history() {
        let outcome = check(&[("history", "counted")]);
        assert_eq!(outcome.verdict, Verdict::Holds);
        assert_eq!(states(&outcome), Some(459_945));
    }

    #[test]
    fn agrees_at_other_sizes() {
        for set in [
            [("proposers", "1"), ("acceptors", "3")],
            [("proposers", "2"), ("acceptors", "2")],
            [("proposers", "4"), ("acceptors", "1")],
            [("acceptors", "1"), ("learners", "3")],
            [("proposers", "1"), ("acceptors", "4")],
        ] {
            let outcome = check(&set);
            assert_eq!(outcome.verdict, Verdict::Holds, "{set:?}");
            assert!(outcome.complete, "{set:?}");
        }
    }

    #[test]
    fn a_counted_history_costs_states_and_changes_no_verdict() {
        for (proposers, acceptors, free, counted) in [("1", "3", 228, 537), ("2", "2", 324, 937)] {
            let sizes = [("proposers", proposers), ("acceptors", acceptors)];
            assert_eq!(states(&check(&sizes)), Some(free));
            let outcome = check(&[sizes[0], sizes[1], ("history", "counted")]);
            assert_eq!(outcome.verdict, Verdict::Holds);
            assert_eq!(states(&outcome), Some(counted));
        }
    }

    #[test]
    fn a_promiscuous_acceptor_breaks_agreement() {
        for acceptors in ["1", "3"] {
            let outcome = check(&[("bug", "promiscuous-acceptor"), ("acceptors", acceptors)]);
            assert_eq!(outcome.verdict, Verdict::Violated);
            assert_eq!(outcome.violation.unwrap().property, "agreement");
        }
        let outcome = check(&[("bug", "promiscuous-acceptor")]);
        assert_eq!(outcome.violation.unwrap().run.events.len(), 10);
    }

    #[test]
    fn an_acceptor_that_reports_the_last_breaks_agreement() {
        let outcome = check(&[("bug", "last-accepted")]);
        assert_eq!(outcome.verdict, Verdict::Violated);
        assert_eq!(outcome.violation.unwrap().property, "agreement");
    }

    #[test]
    fn with_two_proposers_or_two_acceptors_the_last_is_the_highest_reported() {
        for set in [("proposers", "2"), ("acceptors", "2")] {
            let outcome = check(&[("bug", "last-accepted"), set]);
            assert_eq!(outcome.verdict, Verdict::Holds, "{set:?}");
        }
    }
}
