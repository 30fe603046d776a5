//! Zab, the atomic broadcast of ZooKeeper (Junqueira, Reed and Serafini, 2011), made small.
//!
//! Leaders and followers are different nodes, as in the thesis's section 3.5 (table 4). A follower
//! joins one leader after the other, whenever it loses patience with the one before; the first
//! follower begins with the first leader, the second with the second, and so on. A leader works
//! with the first majority of followers that joins it, in four phases, and waits for all of these
//! followers in each:
//!
//! 1. it chooses an epoch above all that they have promised, and they promise it (NEWEPOCH);
//! 2. they report their logs, and it sends them the latest (NEWLEADER). It is then established;
//! 3. it broadcasts one transaction of its own (PROPOSE);
//! 4. it tells them to deliver all that their logs hold (COMMIT).
//!
//! A follower promises only an epoch above all that it has promised before, and takes orders only
//! from the epoch that it has promised last. So no epoch has two leaders, and what one follower has
//! delivered is always a prefix of what another has, or the other way round.
//!
//! Zab also commits between synchronisation and broadcast, lets late followers join an established
//! leader and broadcasts without end. None of that is here. Both bugs are ours.

use crate::history::{self, History};
use crate::{Bug, Entry, Kind, Parameter, Parameters};
use allways::prelude::*;
use allways::{Checkable, Error, Kinds};
use std::collections::BTreeSet;

pub(crate) const ENTRY: Entry = Entry {
    name: "zab",
    about: "a small Zab: leaders gather followers, agree on an epoch, synchronise and broadcast",
    parameters: &[
        Parameter {
            name: "leaders",
            about: "how many nodes try to lead, each once",
            kind: Kind::Number { default: 3, min: 1, max: 5 },
        },
        Parameter {
            name: "followers",
            about: "how many nodes follow",
            kind: Kind::Number { default: 3, min: 1, max: 5 },
        },
        Parameter {
            name: "joins",
            about: "how many leaders a follower joins, or as many as make a majority if that is more",
            kind: Kind::Number { default: 2, min: 1, max: 5 },
        },
        history::PARAMETER,
    ],
    bugs: &[
        Bug {
            name: "any-log",
            about: "a leader sends the log that was reported last, not the latest of all",
            defaults: &[("leaders", "2"), ("followers", "3")],
        },
        Bug {
            name: "stale-epoch",
            about: "a follower promises an epoch that is not above all that it has promised",
            defaults: &[("leaders", "2"), ("followers", "1")],
        },
    ],
    make,
    live: crate::LivePart::NONE,
};

/// The number of an epoch; zero is before all of them.
type Epoch = u8;
/// Transactions in the order in which they are to be delivered.
type Log = Vec<Transaction>;

/// The one transaction that a leader broadcasts in its epoch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Transaction {
    epoch: Epoch,
    leader: Id,
}

/// A log, and the epoch in which it was accepted: the later it is, the higher in this order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Accepted {
    epoch: Epoch,
    log: Log,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Kinds)]
enum Msg {
    /// A follower joins; the epoch is the last that it has promised.
    Join(Epoch),
    NewEpoch(Epoch),
    Promise(Accepted),
    Synchronise(Accepted),
    Synchronised,
    Propose(Transaction),
    Logged,
    Commit(Epoch),
}

/// A follower has lost patience with its leader.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Kinds)]
struct Impatience;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Zab {
    role: Role,
    history: History<Msg>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Role {
    Leader(Leader),
    Follower(Follower),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Leader {
    phase: Phase,
    epoch: Epoch,
    /// The followers that it works with, and how many they have to be.
    quorum: BTreeSet<Id>,
    majority: usize,
    /// Those that have answered in this phase.
    answered: BTreeSet<Id>,
    /// The latest log reported.
    latest: Accepted,
    any_log: bool,
}

/// What a leader waits for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Phase {
    Gathering,
    Discovering,
    Synchronising,
    Broadcasting,
    Done,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Follower {
    /// The leaders that it has not joined yet, the next one last.
    to_join: Vec<Id>,
    promised: Epoch,
    accepted: Accepted,
    delivered: Log,
    stale_epoch: bool,
}

impl Node for Zab {
    type Msg = Msg;
    type Timer = Impatience;
    type Call = Never;
    type Output = Never;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        if let Role::Follower(follower) = &mut self.role {
            follower.join(cx);
        }
    }

    fn on_timer(&mut self, Impatience: Impatience, cx: &mut Cx<'_, Self>) {
        if let Role::Follower(follower) = &mut self.role {
            follower.join(cx);
        }
    }

    fn on_message(&mut self, from: Id, msg: Msg, cx: &mut Cx<'_, Self>) {
        let handled = match &mut self.role {
            Role::Leader(leader) => leader.on_message(from, &msg, cx),
            Role::Follower(follower) => follower.on_message(from, &msg, cx),
        };
        if handled {
            *self.history = Some((from, msg));
        }
    }
}

// Both roles say whether they have handled a message; if not, they have ignored it.

impl Leader {
    fn on_message(&mut self, from: Id, msg: &Msg, cx: &mut Cx<'_, Zab>) -> bool {
        match (self.phase, msg) {
            (Phase::Gathering, Msg::Join(promised)) => {
                self.epoch = self.epoch.max(promised + 1);
                self.quorum.insert(from);
                if self.quorum.len() == self.majority {
                    self.enter(Phase::Discovering, &Msg::NewEpoch(self.epoch), cx);
                }
            }
            (Phase::Discovering, Msg::Promise(accepted)) => {
                if self.any_log || *accepted > self.latest {
                    self.latest = accepted.clone();
                }
                if self.all_answered(from) {
                    self.latest.epoch = self.epoch;
                    let latest = std::mem::replace(&mut self.latest, Accepted::nothing());
                    self.enter(Phase::Synchronising, &Msg::Synchronise(latest), cx);
                }
            }
            (Phase::Synchronising, Msg::Synchronised) => {
                if self.all_answered(from) {
                    let transaction = Transaction { epoch: self.epoch, leader: cx.id() };
                    self.enter(Phase::Broadcasting, &Msg::Propose(transaction), cx);
                }
            }
            (Phase::Broadcasting, Msg::Logged) => {
                if self.all_answered(from) {
                    self.enter(Phase::Done, &Msg::Commit(self.epoch), cx);
                }
            }
            _ => return false,
        }
        true
    }

    /// Counts an answer; whether it was the last one of the quorum.
    fn all_answered(&mut self, from: Id) -> bool {
        self.answered.insert(from);
        self.answered == self.quorum
    }

    /// Sends an order to the quorum and waits for its answers.
    fn enter(&mut self, phase: Phase, order: &Msg, cx: &mut Cx<'_, Zab>) {
        self.phase = phase;
        self.answered.clear();
        for &follower in &self.quorum {
            cx.send(follower, order.clone());
        }
    }
}

impl Follower {
    /// A follower that has not joined any leader.
    fn new(to_join: Vec<Id>, stale_epoch: bool) -> Self {
        let (accepted, delivered) = (Accepted::nothing(), Log::new());
        Follower { to_join, promised: 0, accepted, delivered, stale_epoch }
    }

    /// Joins the next leader.
    fn join(&mut self, cx: &mut Cx<'_, Zab>) {
        if let Some(leader) = self.to_join.pop() {
            cx.send(leader, Msg::Join(self.promised));
        }
        if !self.to_join.is_empty() {
            cx.set_timer(Impatience);
        }
    }

    fn on_message(&mut self, from: Id, msg: &Msg, cx: &mut Cx<'_, Zab>) -> bool {
        match msg {
            Msg::NewEpoch(epoch) if *epoch > self.promised || self.stale_epoch => {
                self.promised = *epoch;
                cx.send(from, Msg::Promise(self.accepted.clone()));
            }
            Msg::Synchronise(latest) if latest.epoch == self.promised => {
                self.accepted = latest.clone();
                cx.send(from, Msg::Synchronised);
            }
            Msg::Propose(transaction) if transaction.epoch == self.promised => {
                self.accepted.log.push(*transaction);
                cx.send(from, Msg::Logged);
            }
            Msg::Commit(epoch) if *epoch == self.accepted.epoch => {
                let from = self.delivered.len().min(self.accepted.log.len());
                self.delivered.extend_from_slice(&self.accepted.log[from..]);
            }
            _ => return false,
        }
        true
    }
}

impl Accepted {
    fn nothing() -> Self {
        Accepted { epoch: 0, log: Log::new() }
    }
}

impl Zab {
    /// The epoch in which this node is an established leader.
    fn established(&self) -> Option<Epoch> {
        match &self.role {
            Role::Leader(leader) => (leader.phase > Phase::Synchronising).then_some(leader.epoch),
            Role::Follower(_) => None,
        }
    }

    /// What this node has delivered.
    fn delivered(&self) -> Log {
        match &self.role {
            Role::Leader(_) => Log::new(),
            Role::Follower(follower) => follower.delivered.clone(),
        }
    }
}

fn differ(epochs: &[Option<Epoch>]) -> bool {
    let mut seen = BTreeSet::new();
    epochs.iter().flatten().all(|epoch| seen.insert(epoch))
}

fn are_prefixes(logs: &[Log]) -> bool {
    let longest = logs.iter().max_by_key(|log| log.len());
    longest.is_none_or(|longest| logs.iter().all(|log| longest.starts_with(log)))
}

fn make(parameters: &Parameters) -> Result<Box<dyn Checkable>, Error> {
    let (leaders, followers) = (parameters.number("leaders"), parameters.number("followers"));
    let majority = followers / 2 + 1;
    let leader = Role::Leader(Leader {
        phase: Phase::Gathering,
        epoch: 0,
        quorum: BTreeSet::new(),
        majority,
        answered: BTreeSet::new(),
        latest: Accepted::nothing(),
        any_log: parameters.bug() == Some("any-log"),
    });
    // With fewer joins than that, no leader might ever gather a majority.
    let joins = parameters.number("joins").max(majority).min(leaders);
    let stale_epoch = parameters.bug() == Some("stale-epoch");
    let follower = |first: usize| {
        let to_join = (first..first + joins).rev().map(|leader| Id::new(leader % leaders));
        Role::Follower(Follower::new(to_join.collect(), stale_epoch))
    };
    let roles = vec![leader; leaders].into_iter().chain((0..followers).map(follower));
    let nodes = roles.map(|role| Zab { role, history: history::new(parameters) });
    let system = System::new(nodes)
        .always("one leader an epoch", view(Zab::established), differ)
        .always("agreement", view(Zab::delivered), are_prefixes)
        .sometimes("delivered", view(|n: &Zab| !n.delivered().is_empty()), |delivered| {
            delivered.contains(&true)
        });
    Ok(Box::new(system.expect_kinds()))
}

#[cfg(test)]
mod tests {
    use allways::{Options, Outcome, Search, Verdict};

    fn check(set: &[(&str, &str)]) -> Outcome {
        let options = Options { search: Search::Classic, ..Options::default() };
        crate::find("zab").unwrap().build(set).unwrap().check_with(&options).unwrap()
    }

    fn holds_with(set: &[(&str, &str)], states: u64) {
        let outcome = check(set);
        assert_eq!(outcome.verdict, Verdict::Holds, "{set:?}");
        assert!(outcome.complete, "{set:?}");
        assert_eq!(outcome.statistics.unique_states, Some(states), "{set:?}");
    }

    /// Too slow without optimisation.
    #[cfg(not(debug_assertions))]
    #[test]
    fn holds_by_default() {
        holds_with(&[], 86_395);
        holds_with(&[("history", "counted")], 316_738);
    }

    #[test]
    fn holds_at_other_sizes() {
        holds_with(&[("leaders", "1")], 88);
        holds_with(&[("leaders", "1"), ("followers", "5")], 876);
        holds_with(&[("leaders", "3"), ("followers", "2")], 298);
        holds_with(&[("leaders", "3"), ("followers", "1"), ("joins", "3")], 1_113);
        holds_with(&[("leaders", "5"), ("followers", "1"), ("joins", "1")], 9);
    }

    #[test]
    fn a_counted_history_costs_states_and_changes_no_verdict() {
        let sizes = [("leaders", "2"), ("followers", "2")];
        holds_with(&sizes, 1_918);
        holds_with(&[sizes[0], sizes[1], ("history", "counted")], 4_537);
    }

    #[test]
    fn a_stale_epoch_gets_two_leaders() {
        let violation = check(&[("bug", "stale-epoch")]).violation.unwrap();
        assert_eq!(violation.property, "one leader an epoch");
        assert_eq!(violation.run.events.len(), 11);
    }

    #[test]
    fn any_log_loses_what_was_delivered() {
        let violation = check(&[("bug", "any-log")]).violation.unwrap();
        assert_eq!(violation.property, "agreement");
        assert!(violation.run.events.len() >= 31);
        for set in [("leaders", "1"), ("followers", "2"), ("followers", "1")] {
            let outcome = check(&[("bug", "any-log"), set]);
            assert_eq!(outcome.verdict, Verdict::Holds, "{set:?}");
        }
    }
}
