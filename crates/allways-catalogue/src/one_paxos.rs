//! 1Paxos: consensus with a single acceptor, as the LMC paper checks it (section 5.6).
//!
//! A leader proposes a value to the one active acceptor. The acceptor accepts the first that it
//! gets and tells all nodes; who is told has chosen. So what an acceptor accepts is chosen at that
//! moment, and all that is ever accepted must be the same. Leader and acceptor are different nodes;
//! at first they are nodes 0 and 1. Which ones they are later is agreed on through a utility, a log
//! of entries with an instance of Paxos for each (`utility.rs`). The number of entries is the epoch.
//! When the failure detector suspects somebody, which it may do wrongly:
//!
//! - A node with neither role inserts a `LeaderChange`: it wants to lead. Once that is agreed on it
//!   asks the acceptor, which promises to take nothing from earlier epochs and reports what it has
//!   accepted. Before that promise a leader neither proposes nor replaces the acceptor: the leader
//!   before it may still be proposing.
//! - The leader inserts an `AcceptorChange`, with the value that it has proposed or knows to be
//!   accepted. After the promise the old acceptor can accept nothing else: no other leader asks
//!   it, unless its entry came first, and then this one is not inserted. And the leader proposes
//!   nothing until its entry is agreed on; it then proposes that value to the new acceptor. Who
//!   leads after it proposes the value, too, if the new acceptor has not accepted it yet.
//! - The acceptor does nothing: it must not lead.
//!
//! So the old acceptor and the new one accept the same. Two bugs are ours: `hasty-change` does not
//! wait for the promise, and the entries of `empty-change` have no value. The bug `acceptor-init`
//! is the one that was found in the paper's implementation: every node initialises the acceptor to
//! the first member and not to the second, with `++` on the wrong side. Whoever becomes leader gets
//! the right one from the utility, so only node 0 is wrong for long: it proposes to itself,
//! accepts, and chooses.
//!
//! One value is agreed on. A node acts on entries in the order of the log, each once, and what
//! comes too early waits in the network. A value that a node shall propose waits until it leads.
//! Nobody tries twice to insert an entry in the same place: a log that others extended
//! may have changed the roles that the suspicion was about.

mod utility;

use crate::{Bug, Kind, Parameter, Parameters};
use allways::prelude::*;
use allways::{Checkable, Error, Kinds};
use utility::{Entry, Instance, Utility};

pub(crate) const ENTRY: crate::Entry = crate::Entry {
    name: "one-paxos",
    about: "1Paxos: one acceptor, replaced through a utility that is Paxos (LMC paper, section 5.6)",
    parameters: &[
        Parameter {
            name: "nodes",
            about: "how many nodes there are",
            kind: Kind::Number { default: 3, min: 3, max: 5 },
        },
        Parameter {
            name: "proposals",
            about: "how many nodes shall propose a value: the first, the last if it suspects, the second, and so on",
            kind: Kind::Number { default: 2, min: 1, max: 5 },
        },
        Parameter {
            name: LAST,
            about: "how often the last node suspects the leader or, if it leads, the acceptor",
            kind: Kind::Number { default: 1, min: 0, max: 3 },
        },
        Parameter {
            name: FIRST,
            about: "how often the first node does, which leads at first",
            kind: Kind::Number { default: 0, min: 0, max: 3 },
        },
        Parameter {
            name: SECOND,
            about: "how often the second node does, which is the acceptor at first",
            kind: Kind::Number { default: 0, min: 0, max: 3 },
        },
    ],
    bugs: &[
        Bug {
            name: ACCEPTOR_INIT,
            about: "every node takes the first member for the acceptor at first, not the second",
            defaults: &[
                ("nodes", "3"),
                ("proposals", "2"),
                (LAST, "1"),
                (FIRST, "0"),
                (SECOND, "0"),
            ],
        },
        Bug {
            name: EMPTY_CHANGE,
            about: "a leader replaces the acceptor without a word about what it has proposed",
            defaults: &[
                ("nodes", "3"),
                ("proposals", "2"),
                (LAST, "0"),
                (FIRST, "1"),
                (SECOND, "1"),
            ],
        },
        Bug {
            name: HASTY_CHANGE,
            about: "a leader replaces the acceptor before it knows what that has accepted",
            defaults: &[
                ("nodes", "3"),
                ("proposals", "2"),
                (LAST, "2"),
                (FIRST, "0"),
                (SECOND, "0"),
            ],
        },
    ],
    make,
    #[cfg(not(feature = "live"))]
    live: crate::LivePart::NONE,
    #[cfg(feature = "live")]
    live: crate::LivePart {
        make: Some(|parameters| {
            crate::live::repeated(system(parameters), |state, node| state.bug = node.bug)
        }),
        defaults: &[],
    },
};

const ACCEPTOR_INIT: &str = "acceptor-init";
const EMPTY_CHANGE: &str = "empty-change";
const HASTY_CHANGE: &str = "hasty-change";

const LAST: &str = "last-suspects";
const FIRST: &str = "first-suspects";
const SECOND: &str = "second-suspects";

/// Under this name, for serde would take a reference for something to borrow.
type BugName = &'static str;
type Value = char;
/// How many entries of the utility are known.
type Epoch = u8;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "live", derive(serde::Serialize, serde::Deserialize))]
struct OnePaxos {
    utility: Utility,
    /// The active acceptor, as far as this node knows.
    acceptor: Id,
    lead: Lead,
    /// The value that it shall propose when it leads.
    wanted: Option<Value>,
    /// As an acceptor: it takes nothing from epochs before this one.
    promised: Epoch,
    /// As an acceptor: the value that it has accepted.
    accepted: Option<Value>,
    chosen: Option<Value>,
    #[cfg_attr(feature = "live", serde(with = "crate::live::bug"))]
    bug: Option<BugName>,
}

/// What a node is as a leader.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "live", derive(serde::Serialize, serde::Deserialize))]
enum Lead {
    /// It does not lead.
    No,
    /// It waits for the acceptor's promise.
    Preparing,
    /// The acceptor has accepted this, or will accept nothing else; `None`, it has accepted
    /// nothing and waits for the proposal of this leader.
    Ready(Option<Value>),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Kinds)]
#[cfg_attr(feature = "live", derive(serde::Serialize, serde::Deserialize))]
enum Msg {
    /// A new leader asks the acceptor to promise.
    Prepare(Epoch),
    Promise(Epoch, Option<Value>),
    Propose(Epoch, Value),
    Learn(Value),
    /// What the instances of the utility say to each other, by the place of the entry.
    UtilityPrepare(Instance),
    UtilityPromise(Instance, Option<Accepted>),
    UtilityAccept(Instance, Entry),
    UtilityAccepted(Instance),
    /// The entry in this place.
    Decided(Epoch, Entry),
}

/// What an acceptor of the utility has accepted: the ballot and the entry.
type Accepted = (utility::Ballot, Entry);

#[derive(Clone, PartialEq, Eq, Hash, Debug, Kinds)]
#[cfg_attr(feature = "live", derive(serde::Serialize, serde::Deserialize))]
enum Call {
    /// Propose this value.
    Propose(Value),
    /// The failure detector suspects the leader or, at the leader, the acceptor.
    Suspect,
}

impl OnePaxos {
    fn new(id: usize, bug: Option<&'static str>) -> Self {
        let utility = Utility::new();
        let initialised_to = if bug == Some(ACCEPTOR_INIT) { 0 } else { 1 };
        OnePaxos {
            utility,
            acceptor: Id::new(initialised_to),
            // Nothing can have been accepted before the first leader.
            lead: if id == 0 { Lead::Ready(None) } else { Lead::No },
            wanted: None,
            promised: 0,
            accepted: None,
            chosen: None,
            bug,
        }
    }

    fn epoch(&self) -> Epoch {
        self.utility.place()
    }

    fn suspect(&mut self, cx: &mut Cx<'_, Self>) {
        let entry = match self.lead {
            Lead::No if cx.id() == self.utility.acceptor() => return,
            Lead::No => Entry::LeaderChange(cx.id()),
            Lead::Preparing if self.bug != Some(HASTY_CHANGE) => return,
            Lead::Preparing => self.acceptor_change(None, cx),
            Lead::Ready(value) => self.acceptor_change(value, cx),
        };
        self.utility.insert(entry, cx);
    }

    /// The first node without a role becomes the acceptor.
    fn acceptor_change(&self, value: Option<Value>, cx: &Cx<'_, Self>) -> Entry {
        let roles = [cx.id(), self.utility.acceptor()];
        let free = (0..cx.nodes()).map(Id::new).find(|node| !roles.contains(node));
        let value = value.filter(|_| self.bug != Some(EMPTY_CHANGE));
        Entry::AcceptorChange(free.expect("three nodes or more"), value)
    }

    /// Proposes what it wants to, if it may.
    fn propose_wanted(&mut self, cx: &mut Cx<'_, Self>) {
        let may = self.lead == Lead::Ready(None) && !self.utility.is_inserting();
        if may && let Some(value) = self.wanted.take() {
            self.propose(value, cx);
        }
    }

    fn propose(&mut self, value: Value, cx: &mut Cx<'_, Self>) {
        self.lead = Lead::Ready(Some(value));
        self.wanted = None;
        cx.send(self.acceptor, Msg::Propose(self.epoch(), value));
    }

    /// The utility has a new entry.
    fn on_entry(&mut self, entry: Entry, cx: &mut Cx<'_, Self>) {
        self.utility.append(entry);
        self.acceptor = self.utility.acceptor();
        match (entry, self.lead) {
            (Entry::LeaderChange(leader), _) if leader == cx.id() => {
                self.lead = Lead::Preparing;
                cx.send(self.acceptor, Msg::Prepare(self.epoch()));
            }
            (Entry::LeaderChange(_), _) => self.lead = Lead::No,
            (Entry::AcceptorChange(_, _), Lead::No) => {}
            // Only the leader replaces the acceptor, so this one is its own.
            (Entry::AcceptorChange(_, Some(value)), _) => self.propose(value, cx),
            (Entry::AcceptorChange(_, None), _) => {
                self.lead = Lead::Ready(None);
                self.propose_wanted(cx);
            }
        }
    }

    fn on_promise(&mut self, epoch: Epoch, accepted: Option<Value>, cx: &mut Cx<'_, Self>) {
        if self.lead != Lead::Preparing || epoch != self.epoch() {
            return;
        }
        match (accepted, self.utility.carried()) {
            // What the only acceptor has accepted is chosen.
            (Some(value), _) => {
                self.lead = Lead::Ready(Some(value));
                self.learn(value);
            }
            (None, Some(value)) => self.propose(value, cx),
            (None, None) => {
                self.lead = Lead::Ready(None);
                self.propose_wanted(cx);
            }
        }
    }

    /// Chooses a value, unless it has; there is nothing left to propose.
    fn learn(&mut self, value: Value) {
        self.chosen.get_or_insert(value);
        self.wanted = None;
    }
}

impl Node for OnePaxos {
    type Msg = Msg;
    type Timer = Never;
    type Call = Call;
    type Output = Never;

    fn on_call(&mut self, call: Call, cx: &mut Cx<'_, Self>) {
        match call {
            Call::Propose(value) => {
                if self.chosen.is_none() {
                    self.wanted = Some(value);
                    self.propose_wanted(cx);
                }
            }
            Call::Suspect => self.suspect(cx),
        }
    }

    fn on_message(&mut self, from: Id, msg: Msg, cx: &mut Cx<'_, Self>) {
        match msg {
            Msg::Prepare(epoch) => {
                if epoch > self.promised {
                    self.promised = epoch;
                    cx.send(from, Msg::Promise(epoch, self.accepted));
                }
            }
            Msg::Promise(epoch, accepted) => self.on_promise(epoch, accepted, cx),
            Msg::Propose(epoch, value) => {
                if epoch >= self.promised && self.accepted.is_none() {
                    self.promised = epoch;
                    self.accepted = Some(value);
                    cx.broadcast_with_self(Msg::Learn(value));
                }
            }
            Msg::Learn(value) => self.learn(value),
            Msg::UtilityPrepare(instance) => self.utility.on_prepare(from, instance, cx),
            Msg::UtilityPromise(instance, accepted) => {
                self.utility.on_promise(from, instance, accepted, cx);
            }
            Msg::UtilityAccept(instance, entry) => {
                self.utility.on_accept(from, instance, entry, cx);
            }
            Msg::UtilityAccepted(instance) => {
                if let Some(entry) = self.utility.on_accepted(from, instance, cx) {
                    self.on_entry(entry, cx);
                }
            }
            Msg::Decided(place, entry) => {
                if place == self.epoch() {
                    self.on_entry(entry, cx);
                }
            }
        }
    }

    /// Everything is kept over crashes. Checks have none, deployments do.
    fn persisted(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// The nodes that propose: the first, those that may lead later, then the others.
fn proposers(nodes: usize, last_suspects: bool) -> impl Iterator<Item = usize> {
    let last = nodes - 1;
    let (sooner, later) = if last_suspects { (Some(last), None) } else { (None, Some(last)) };
    [0].into_iter().chain(sooner).chain(1..last).chain(later)
}

fn make(parameters: &Parameters) -> Result<Box<dyn Checkable>, Error> {
    Ok(Box::new(system(parameters)?))
}

fn system(parameters: &Parameters) -> Result<System<OnePaxos>, Error> {
    let (nodes, proposals) = (parameters.number("nodes"), parameters.number("proposals"));
    if proposals > nodes {
        return Err(Error::System(format!(
            "`proposals={proposals}` is too many: only {nodes} nodes can propose"
        )));
    }
    let suspect = |node, how_often| vec![(node, Call::Suspect); parameters.number(how_often)];
    let mut system = System::new((0..nodes).map(|id| OnePaxos::new(id, parameters.bug())))
        .calls_in_sequence(suspect(nodes - 1, LAST))
        .calls_in_sequence(suspect(0, FIRST))
        .calls_in_sequence(suspect(1, SECOND))
        .always("agreement", view(|n: &OnePaxos| n.chosen), |chosen| {
            chosen.iter().flatten().all_equal()
        })
        .sometimes("chosen", view(|n: &OnePaxos| n.chosen), |chosen| {
            chosen.iter().any(Option::is_some)
        });
    let order = proposers(nodes, parameters.number(LAST) > 0);
    for (node, value) in order.take(proposals).zip('A'..) {
        system = system.call(node, Call::Propose(value));
    }
    Ok(system.expect_kinds())
}

#[cfg(test)]
mod tests {
    use super::{FIRST, LAST, SECOND};
    use crate::tests::{classic, counts};
    use allways::{Options, Outcome};

    /// The outcome of breadth-first search.
    fn check(set: &[(&str, &str)]) -> Outcome {
        let system = crate::find("one-paxos").unwrap().build(set).unwrap();
        system.check_with(&Options::default()).unwrap()
    }

    #[test]
    fn one_leader_and_one_acceptor_agree() {
        assert_eq!(counts("one-paxos", &[(LAST, "0")]), (20, 35));
        assert_eq!(counts("one-paxos", &[(LAST, "0"), ("proposals", "3")]), (40, 81));
        assert_eq!(counts("one-paxos", &[(LAST, "0"), ("nodes", "5")]), (68, 183));
    }

    #[test]
    fn a_new_leader_agrees() {
        assert_eq!(counts("one-paxos", &[]), (5_732, 18_917));
    }

    /// The last node takes over and replaces the acceptor; it takes over while the first replaces
    /// the acceptor; the first replaces the acceptor, and the old one takes over. Each step of the
    /// protocol that keeps it safe is needed in one of these. They are too large for the classic
    /// search.
    #[test]
    fn a_new_acceptor_agrees() {
        for (last, first, second, proposals, states) in [
            ("2", "0", "0", "2", 258_692),
            ("1", "1", "0", "2", 761_436),
            ("0", "1", "1", "2", 508_204),
        ] {
            let set = [(LAST, last), (FIRST, first), (SECOND, second), ("proposals", proposals)];
            let outcome = check(&set);
            assert!(outcome.assert_holds().complete);
            assert_eq!(outcome.statistics.unique_states, Some(states), "{set:?}");
        }
    }

    #[test]
    fn only_nodes_propose() {
        let error = crate::find("one-paxos").unwrap().build(&[("proposals", "4")]).err().unwrap();
        assert!(error.to_string().contains("only 3 nodes can propose"), "{error}");
    }

    /// The paper's scenario, in which others than node 0 choose what the right acceptor accepts,
    /// and node 0 what it accepts itself.
    #[test]
    fn who_takes_the_first_for_the_acceptor_chooses_alone() {
        let outcome = classic("one-paxos", &[("bug", "acceptor-init")]);
        assert_eq!(outcome.assert_violated("agreement").run.events.len(), 13);
    }

    #[test]
    fn without_another_leader_or_another_value_nobody_else_chooses() {
        for set in [(LAST, "0"), ("proposals", "1")] {
            classic("one-paxos", &[("bug", "acceptor-init"), set]).assert_holds();
        }
    }

    #[test]
    fn who_replaces_the_acceptor_in_haste_or_in_silence_loses_what_was_chosen() {
        for (bug, length) in [("hasty-change", 17), ("empty-change", 19)] {
            let outcome = check(&[("bug", bug)]);
            assert_eq!(outcome.assert_violated("agreement").run.events.len(), length, "{bug}");
        }
    }

    #[test]
    fn haste_and_silence_need_two_entries_and_two_values() {
        for (bug, set) in [
            ("hasty-change", (LAST, "1")),
            ("hasty-change", ("proposals", "1")),
            ("empty-change", (FIRST, "0")),
            ("empty-change", (SECOND, "0")),
            ("empty-change", ("proposals", "1")),
        ] {
            check(&[("bug", bug), set]).assert_holds();
        }
    }
}
