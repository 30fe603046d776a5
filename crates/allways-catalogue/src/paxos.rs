//! Single-decree Paxos as the LMC paper checks it (section 5): every node is proposer, acceptor
//! and learner.
//!
//! The first nodes propose a value of their own once, when the driver calls. A proposer sends
//! `Prepare` to all nodes and, when a majority has promised, `Accept` with the value that was
//! accepted under the highest ballot, or its own if none was. An acceptor that accepts sends
//! `Learn` to all nodes, and a learner that has it from a majority of acceptors under one ballot
//! has chosen the value. Everything goes through the network, messages to oneself too: one
//! proposal among three nodes is 1 call and 3 + 3 + 3 + 9 messages, 19 events.
//!
//! A node's first ballot is its id and one more, and the next one is higher by the number of nodes. Only the first
//! node proposes more than once, and gives up what it has begun. The states are kept small: a proposer
//! keeps the highest accepted value that it was told of, not all of them, and forgets it and who
//! has promised once it has sent `Accept`; a learner keeps who has accepted under which ballot,
//! and forgets that once it has chosen. Everything later than that changes nothing, and so does
//! everything that is delivered twice. A delivery that changes nothing is not a step, so with one
//! proposal among three nodes the last promise and the last `Learn` to each node stay in flight,
//! and runs are 15 steps long.
//!
//! A node's roles share nothing: each message is for one of them. With `roles=apart` they are nodes
//! of their own, first the proposers, then the acceptors, then the learners. Nothing else changes, but the
//! local states of the roles no longer multiply.

use crate::{Bug, Entry, Kind, Parameter, Parameters};
use allways::prelude::*;
use allways::{Checkable, Error, Kinds};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const ENTRY: Entry = Entry {
    name: "paxos",
    about: "single-decree Paxos, every node in every role (LMC paper, section 5)",
    parameters: &[
        Parameter {
            name: "nodes",
            about: "how many nodes there are",
            kind: Kind::Number { default: 3, min: 1, max: 7 },
        },
        Parameter {
            name: "proposals",
            about: "how many of them propose a value, at most all",
            kind: Kind::Number { default: 1, min: 0, max: 7 },
        },
        Parameter {
            name: "again",
            about: "how many more times the first node proposes",
            kind: Kind::Number { default: 0, min: 0, max: 3 },
        },
        Parameter {
            name: "roles",
            about: "whether a node's roles are one node or three",
            kind: Kind::Word(&["together", "apart"]),
        },
    ],
    bugs: &[Bug {
        name: LAST_PROMISE,
        about: "a proposer takes the value of the last promise, not of the highest ballot",
        defaults: &[("nodes", "3"), ("proposals", "2")],
    }],
    make,
    #[cfg(not(feature = "live"))]
    live: crate::LivePart::NONE,
    #[cfg(feature = "live")]
    live: crate::LivePart {
        make: Some(|parameters| {
            crate::live::repeated(system(parameters), |state, node| {
                state.last_promise = node.last_promise;
            })
        }),
        defaults: &[("proposals", "2")],
    },
};

const LAST_PROMISE: &str = "last-promise";

/// Zero is below all.
type Ballot = usize;
type Value = char;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "live", derive(serde::Serialize, serde::Deserialize))]
struct Paxos {
    proposer: Proposer,
    /// The highest ballot that was promised.
    promised: Ballot,
    accepted: Option<(Ballot, Value)>,
    /// Who has accepted, by ballot; empty once a value is chosen.
    learned: BTreeMap<Ballot, BTreeSet<Id>>,
    chosen: Option<Value>,
    /// How often it has proposed.
    round: usize,
    members: Members,
    last_promise: bool,
}

/// How many there are in each role, and where: the same in all states.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "live", derive(serde::Serialize, serde::Deserialize))]
struct Members {
    count: usize,
    apart: bool,
}

impl Members {
    fn all(self, role: usize) -> impl Iterator<Item = Id> {
        let first = if self.apart { role * self.count } else { 0 };
        (first..first + self.count).map(Id::new)
    }

    fn acceptors(self) -> impl Iterator<Item = Id> {
        self.all(1)
    }

    fn learners(self) -> impl Iterator<Item = Id> {
        self.all(2)
    }

    fn majority(self) -> usize {
        self.count / 2 + 1
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "live", derive(serde::Serialize, serde::Deserialize))]
enum Proposer {
    Idle,
    /// It waits for promises.
    Preparing {
        value: Value,
        promised_by: BTreeSet<Id>,
        highest: Option<(Ballot, Value)>,
    },
    /// It has sent `Accept`.
    Done,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Kinds)]
#[cfg_attr(feature = "live", derive(serde::Serialize, serde::Deserialize))]
enum Msg {
    Prepare(Ballot),
    Promise(Ballot, Option<(Ballot, Value)>),
    Accept(Ballot, Value),
    Learn(Ballot, Value),
}

/// Propose this value.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Kinds)]
#[cfg_attr(feature = "live", derive(serde::Serialize, serde::Deserialize))]
struct Propose(Value);

impl Paxos {
    fn new(members: Members, last_promise: bool) -> Self {
        Paxos {
            proposer: Proposer::Idle,
            promised: 0,
            accepted: None,
            learned: BTreeMap::new(),
            chosen: None,
            round: 0,
            members,
            last_promise,
        }
    }

    /// The ballot of this proposer's last proposal.
    fn ballot(&self, proposer: Id) -> Ballot {
        proposer.index() + 1 + (self.round - 1) * self.members.count
    }

    fn on_promise(&mut self, from: Id, accepted: Option<(Ballot, Value)>, cx: &mut Cx<'_, Self>) {
        let Proposer::Preparing { value, promised_by, highest } = &mut self.proposer else {
            return;
        };
        promised_by.insert(from);
        *highest = accepted.max(*highest);
        if promised_by.len() >= self.members.majority() {
            let taken = if self.last_promise { accepted } else { *highest };
            let value = taken.map_or(*value, |(_, value)| value);
            self.proposer = Proposer::Done;
            let ballot = self.ballot(cx.id());
            self.members.acceptors().for_each(|to| cx.send(to, Msg::Accept(ballot, value)));
        }
    }

    fn on_accept(&mut self, ballot: Ballot, value: Value, cx: &mut Cx<'_, Self>) {
        let again = self.accepted.is_some_and(|(accepted, _)| accepted == ballot);
        if ballot >= self.promised && !again {
            self.promised = ballot;
            self.accepted = Some((ballot, value));
            self.members.learners().for_each(|to| cx.send(to, Msg::Learn(ballot, value)));
        }
    }

    fn on_learn(&mut self, from: Id, ballot: Ballot, value: Value) {
        if self.chosen.is_some() {
            return;
        }
        let acceptors = self.learned.entry(ballot).or_default();
        acceptors.insert(from);
        if acceptors.len() >= self.members.majority() {
            self.chosen = Some(value);
            self.learned.clear();
        }
    }
}

impl Node for Paxos {
    type Msg = Msg;
    type Timer = Never;
    type Call = Propose;
    type Output = Never;

    fn on_call(&mut self, Propose(value): Propose, cx: &mut Cx<'_, Self>) {
        self.proposer = Proposer::Preparing { value, promised_by: BTreeSet::new(), highest: None };
        self.round += 1;
        let ballot = self.ballot(cx.id());
        self.members.acceptors().for_each(|to| cx.send(to, Msg::Prepare(ballot)));
    }

    fn on_message(&mut self, from: Id, msg: Msg, cx: &mut Cx<'_, Self>) {
        match msg {
            Msg::Prepare(ballot) if ballot > self.promised => {
                self.promised = ballot;
                cx.send(from, Msg::Promise(ballot, self.accepted));
            }
            Msg::Prepare(_) => {}
            Msg::Promise(ballot, accepted) if self.round > 0 && ballot == self.ballot(cx.id()) => {
                self.on_promise(from, accepted, cx);
            }
            // For a proposal that was given up.
            Msg::Promise(..) => {}
            Msg::Accept(ballot, value) => self.on_accept(ballot, value, cx),
            Msg::Learn(ballot, value) => self.on_learn(from, ballot, value),
        }
    }

    /// Paxos keeps its promises over crashes. Checks have none, deployments do.
    fn persisted(&self) -> Option<Self> {
        Some(self.clone())
    }
}

fn make(parameters: &Parameters) -> Result<Box<dyn Checkable>, Error> {
    Ok(Box::new(system(parameters)?))
}

fn system(parameters: &Parameters) -> Result<System<Paxos>, Error> {
    let (nodes, proposals) = (parameters.number("nodes"), parameters.number("proposals"));
    if proposals > nodes {
        return Err(Error::System(format!(
            "`proposals={proposals}` is too many: only {nodes} nodes can propose"
        )));
    }
    let again = parameters.number("again");
    if again > 0 && proposals == 0 {
        return Err(Error::System(format!("`again={again}` needs a node that proposes at all")));
    }
    let apart = parameters.word("roles") == "apart";
    let members = Members { count: nodes, apart };
    let node = Paxos::new(members, parameters.bug() == Some(LAST_PROMISE));
    let count = if apart { 3 * nodes } else { nodes };
    let mut system =
        System::new(vec![node; count]).always("agreement", view(|n: &Paxos| n.chosen), |chosen| {
            chosen.iter().flatten().all_equal()
        });
    for (node, value) in (0..proposals).zip('A'..) {
        // The first node proposes its other values after that, one after the other.
        let more = if node == 0 { again } else { 0 };
        let later = ('A'..).skip(proposals).take(more).map(|value| (0, Propose(value)));
        system = system.calls_in_sequence(std::iter::once((node, Propose(value))).chain(later));
    }
    // Without a proposal nothing is ever chosen.
    if proposals > 0 {
        system = system.sometimes("chosen", view(|n: &Paxos| n.chosen), |chosen| {
            chosen.iter().any(Option::is_some)
        });
    }
    Ok(system.expect_kinds())
}

#[cfg(test)]
mod tests {
    use crate::tests::{classic, counts};
    use allways::{Options, Search};

    #[test]
    fn one_proposal_is_chosen() {
        let outcome = classic("paxos", &[]);
        outcome.assert_holds();
        assert_eq!(outcome.statistics.unique_states, Some(3_381));
        assert_eq!(outcome.statistics.generated_states, Some(13_361));
        assert_eq!(outcome.statistics.depth, Some(15));
    }

    #[test]
    fn few_nodes_agree() {
        assert_eq!(counts("paxos", &[("nodes", "1")]), (6, 6));
        assert_eq!(counts("paxos", &[("nodes", "2"), ("proposals", "2")]), (1_125, 3_437));
        assert_eq!(counts("paxos", &[("proposals", "0")]), (1, 1));
    }

    #[test]
    fn only_nodes_propose() {
        let paxos = crate::find("paxos").unwrap();
        let error = paxos.build(&[("nodes", "2"), ("proposals", "3")]).err().unwrap();
        assert!(error.to_string().contains("only 2 nodes can propose"), "{error}");
    }

    /// The shortest run that shows the bug has 18 steps: the paper's scenario.
    #[test]
    #[cfg_attr(debug_assertions, ignore = "slow unless optimised")]
    fn the_last_promise_breaks_agreement_after_18_steps() {
        let paxos = crate::find("paxos").unwrap().build(&[("bug", "last-promise")]).unwrap();
        let options =
            Options { search: Search::Classic, max_depth: Some(18), ..Options::default() };
        let outcome = paxos.check_with(&options).unwrap();
        assert_eq!(outcome.assert_violated("agreement").run.events.len(), 18);
    }

    #[test]
    fn the_last_promise_needs_two_proposals_and_three_nodes() {
        let bug = ("bug", "last-promise");
        classic("paxos", &[bug, ("proposals", "1")]).assert_holds();
        classic("paxos", &[bug, ("nodes", "2")]).assert_holds();
    }
}
