//! Primary and backups: a replicated log with views, in the style of Viewstamped Replication (Liskov
//! and Cowling, 2012), on a network that may part.
//!
//! In each view one node is the primary: node 0 in view 0, and node k in view k, which it tries to
//! bring about once, when it has heard nothing for too long. The driver asks nodes to append values;
//! only a primary does. It sends `Prepare` to the backups, and what a majority has in its log is
//! committed, with all before it; the primary then tells the backups.
//!
//! A node that wants to take over asks all for their votes. Who votes takes no further part in the
//! views before, and reports its log. With the votes of a majority, its own among them, the node is
//! the primary of the new view. It adopts the log of the latest view reported, the longest of these,
//! and sends it to all (`Start`). A backup answers with how much it has. So what was committed is in
//! the log of some voter, and every later view begins with it.
//!
//! The network delivers in order, and a partition loses what is sent across it. A node that is told
//! of a view whose start it has missed, or of a value after one that it has missed, asks the
//! primary for everything (`Missed`), and is sent a `Start`.
//!
//! A slow network is enough to show the bugs `split-brain` and `lost-commit`: messages that a
//! partition would lose are then under way for too long. The bug `missed-start` needs a partition:
//! messages arrive after others on the same channel were lost.
//!
//! Here nodes do not crash, each node tries to take over once, and nothing is sent again without
//! being asked for. The bugs are ours.

use crate::{Bug, Entry, Kind, Parameter, Parameters};
use allways::prelude::*;
use allways::{Checkable, Error};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const ENTRY: Entry = Entry {
    name: "primary-backup",
    about: "a log with a primary and backups, view changes and partitions (VR)",
    parameters: &[
        Parameter {
            name: "nodes",
            about: "how many nodes there are",
            kind: Kind::Number { default: 3, min: 1, max: 5 },
        },
        Parameter {
            name: "takeovers",
            about: "how many nodes try to take over, at most all but the first primary",
            kind: Kind::Number { default: 1, min: 0, max: 4 },
        },
        Parameter {
            name: "values",
            about: "how many values are appended, by one node after the other",
            kind: Kind::Number { default: 2, min: 0, max: 6 },
        },
        Parameter {
            name: "partitions",
            about: "how often the network may part, each time one node from the others",
            kind: Kind::Number { default: 1, min: 0, max: 3 },
        },
    ],
    bugs: &[
        Bug {
            name: LOST_COMMIT,
            about: "a new primary goes on with its own log, not with the latest of its voters",
            defaults: &[("nodes", "3"), ("takeovers", "1"), ("values", "2"), ("partitions", "0")],
        },
        Bug {
            name: MISSED_START,
            about: "a node that has missed the start of a view takes part in it with the log that it has",
            defaults: &[("nodes", "3"), ("takeovers", "1"), ("values", "2"), ("partitions", "1")],
        },
        Bug {
            name: SPLIT_BRAIN,
            about: "a primary commits alone, as if the backups that it cannot hear were gone",
            defaults: &[("nodes", "3"), ("takeovers", "1"), ("values", "2"), ("partitions", "0")],
        },
    ],
    make,
    live: crate::LivePart::NONE,
};

const LOST_COMMIT: &str = "lost-commit";
const MISSED_START: &str = "missed-start";
const SPLIT_BRAIN: &str = "split-brain";

/// The number of a view is that of its primary.
type View = u8;
type Value = char;
type Log = Vec<Value>;

/// A log, and the view that it is from.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Vote {
    view: View,
    log: Log,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Msg {
    /// A node wants to be the primary of this view.
    Elect(View),
    /// A vote for it.
    Elected(View, Vote),
    /// The view begins for the receiver: the log, and how much of it is committed.
    Start(View, Log, usize),
    /// This value comes at this place.
    Prepare(View, usize, Value),
    /// The sender has this much of the log.
    Prepared(View, usize),
    /// This much of the log is committed.
    Commit(View, usize),
    /// The sender has missed something of this view.
    Missed(View),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Append(Value);

/// Nothing was heard of the primary for too long.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Timeout;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Replica {
    /// The latest view that it has voted for or seen begin.
    view: View,
    role: Role,
    log: Log,
    /// The view that the log is from: the last that has begun here.
    log_view: View,
    /// How much of the log is known to be committed.
    committed: usize,
    /// Nodes up to this one try to take over.
    takeovers: usize,
    bug: Option<&'static str>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Role {
    /// How much of the log each backup has.
    Primary(BTreeMap<Id, usize>),
    Backup,
    /// It has voted, and the view has not begun yet.
    Voter,
    /// It wants to take over: who has voted for it, and the best log that they have.
    Candidate(BTreeSet<Id>, Vote),
}

impl Node for Replica {
    type Msg = Msg;
    type Timer = Timeout;
    type Call = Append;
    type Output = Never;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        if (1..=self.takeovers).contains(&cx.id().index()) {
            cx.set_timer(Timeout);
        }
    }

    /// A node that is not the primary ignores the call: it waits until the node is.
    fn on_call(&mut self, Append(value): Append, cx: &mut Cx<'_, Self>) {
        if let Role::Primary(_) = self.role {
            cx.broadcast(Msg::Prepare(self.view, self.log.len(), value));
            self.log.push(value);
            self.commit(cx);
        }
    }

    fn on_timer(&mut self, Timeout: Timeout, cx: &mut Cx<'_, Self>) {
        self.view = cx.id().index() as View;
        self.role = Role::Candidate(BTreeSet::new(), self.vote());
        cx.broadcast(Msg::Elect(self.view));
    }

    fn on_message(&mut self, from: Id, msg: Msg, cx: &mut Cx<'_, Self>) {
        match msg {
            Msg::Elect(view) if view > self.view => {
                self.enter(view, Role::Voter, cx);
                cx.send(from, Msg::Elected(view, self.vote()));
            }
            Msg::Elected(view, vote) if view == self.view => self.on_vote(from, vote, cx),
            Msg::Start(view, log, committed) if view >= self.view => {
                self.enter(view, Role::Backup, cx);
                (self.log, self.log_view) = (log, view);
                self.committed = self.committed.max(committed);
                cx.send(from, Msg::Prepared(view, self.log.len()));
            }
            Msg::Prepare(view, place, value) if view >= self.view => {
                if !self.follows(view, cx) || place > self.log.len() {
                    cx.send(from, Msg::Missed(view));
                } else if place == self.log.len() {
                    self.log.push(value);
                    cx.send(from, Msg::Prepared(view, self.log.len()));
                }
            }
            Msg::Commit(view, committed) if view >= self.view => {
                if !self.follows(view, cx) || committed > self.log.len() {
                    cx.send(from, Msg::Missed(view));
                } else {
                    self.committed = self.committed.max(committed);
                }
            }
            Msg::Prepared(view, length) if view == self.view => {
                if let Role::Primary(lengths) = &mut self.role {
                    lengths.insert(from, length);
                    self.commit(cx);
                }
            }
            // Who is asked was the primary, and is until it votes for a later view.
            Msg::Missed(view) if view == self.view => {
                cx.send(from, Msg::Start(view, self.log.clone(), self.committed));
            }
            _ => {}
        }
    }
}

impl Replica {
    fn vote(&self) -> Vote {
        Vote { view: self.log_view, log: self.log.clone() }
    }

    /// A later view, or another role in this one. A node whose own view is over never takes over.
    fn enter(&mut self, view: View, role: Role, cx: &mut Cx<'_, Self>) {
        (self.view, self.role) = (view, role);
        if usize::from(view) >= cx.id().index() {
            cx.cancel_timer(&Timeout);
        }
    }

    /// Whether this node is a backup in a view that is not over: it has seen its start.
    fn follows(&mut self, view: View, cx: &mut Cx<'_, Self>) -> bool {
        let follows = view == self.view && self.role == Role::Backup;
        if !follows && self.bug == Some(MISSED_START) {
            self.enter(view, Role::Backup, cx);
            self.log_view = view;
            return true;
        }
        follows
    }

    /// With a majority, a candidate becomes the primary.
    fn on_vote(&mut self, from: Id, vote: Vote, cx: &mut Cx<'_, Self>) {
        let Role::Candidate(voters, best) = &mut self.role else { return };
        voters.insert(from);
        let rank = |vote: &Vote| (vote.view, vote.log.len());
        if rank(&vote) > rank(best) && self.bug != Some(LOST_COMMIT) {
            *best = vote;
        }
        if voters.len() + 1 >= cx.majority() {
            self.log = std::mem::take(&mut best.log);
            self.log_view = self.view;
            self.role = Role::Primary(BTreeMap::new());
            cx.broadcast(Msg::Start(self.view, self.log.clone(), self.committed));
        }
    }

    /// Commits what a majority has.
    fn commit(&mut self, cx: &mut Cx<'_, Self>) {
        let Role::Primary(lengths) = &self.role else { return };
        let needed = if self.bug == Some(SPLIT_BRAIN) { 1 } else { cx.majority() };
        let have = |length: usize| 1 + lengths.values().filter(|other| **other >= length).count();
        let committed = (0..=self.log.len()).rev().find(|length| have(*length) >= needed);
        if let Some(committed) = committed.filter(|committed| *committed > self.committed) {
            self.committed = committed;
            cx.broadcast(Msg::Commit(self.view, committed));
        }
    }

    /// The part of the log that is known to be committed.
    fn committed(&self) -> Log {
        self.log.iter().take(self.committed).copied().collect()
    }
}

fn are_prefixes(logs: &[Log]) -> bool {
    let longest = logs.iter().max_by_key(|log| log.len());
    longest.is_none_or(|longest| logs.iter().all(|log| longest.starts_with(log)))
}

fn make(parameters: &Parameters) -> Result<Box<dyn Checkable>, Error> {
    let (nodes, values) = (parameters.number("nodes"), parameters.number("values"));
    let takeovers = parameters.number("takeovers").min(nodes - 1);
    let replica = |id: usize| Replica {
        view: 0,
        role: if id == 0 { Role::Primary(BTreeMap::new()) } else { Role::Backup },
        log: Log::new(),
        log_view: 0,
        committed: 0,
        takeovers,
        bug: parameters.bug(),
    };
    let budget = parameters.number("partitions") as u8;
    let mut faults = Faults::none();
    // One of two nodes parted from the other is the other parted from it.
    let parted = if nodes > 2 { nodes } else { nodes - 1 };
    for node in 0..parted {
        let others = (0..nodes).filter(|other| *other != node).collect();
        faults = faults.partition([vec![node], others]);
    }
    let mut system = System::new((0..nodes).map(replica))
        .network(Network::ordered())
        .faults(if nodes > 1 { faults.partitions(budget) } else { faults })
        .always("agreement", view(Replica::committed), are_prefixes)
        .sometimes("all values committed by all", view(Replica::committed), move |logs| {
            logs.iter().all(|log| log.len() == values)
        });
    for (value, name) in ('a'..).take(values).enumerate() {
        system = system.call(value % (takeovers + 1), Append(name));
    }
    Ok(Box::new(system))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{classic, counts};

    /// Nodes, takeovers, values and partitions.
    fn sizes(sizes: [&str; 4]) -> [(&'static str, &str); 4] {
        let [nodes, takeovers, values, partitions] = sizes;
        [("nodes", nodes), ("takeovers", takeovers), ("values", values), ("partitions", partitions)]
    }

    #[test]
    fn agreement_holds_with_takeovers_and_partitions() {
        assert_eq!(counts("primary-backup", &sizes(["1", "4", "2", "3"])), (5, 5));
        assert_eq!(counts("primary-backup", &sizes(["2", "1", "2", "1"])), (232, 322));
        assert_eq!(counts("primary-backup", &sizes(["3", "0", "2", "0"])), (351, 827));
        assert_eq!(counts("primary-backup", &sizes(["3", "1", "1", "1"])), (5_168, 15_057));
        assert_eq!(counts("primary-backup", &sizes(["3", "1", "2", "0"])), (5_238, 17_717));
    }

    #[test]
    #[cfg_attr(debug_assertions, ignore = "slow unless optimised")]
    fn agreement_holds_by_default_and_with_two_takeovers() {
        assert_eq!(counts("primary-backup", &[]), (29_751, 96_386));
        assert_eq!(counts("primary-backup", &sizes(["3", "2", "2", "0"])), (131_903, 493_033));
    }

    #[test]
    fn each_bug_breaks_agreement_and_needs_all_that_it_says() {
        for bug in ENTRY.bugs {
            classic("primary-backup", &[("bug", bug.name)]).assert_violated("agreement");
            for (name, shows) in bug.defaults.iter().filter(|(_, shows)| *shows != "0") {
                let fewer = (shows.parse::<u8>().unwrap() - 1).to_string();
                classic("primary-backup", &[("bug", bug.name), (name, &fewer)]).assert_holds();
            }
        }
    }
}
