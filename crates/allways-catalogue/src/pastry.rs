//! How nodes join Pastry (Rowstron and Druschel, Middleware 2001, section 2), over messages.
//!
//! Nodes have ids of two digits to base 4, on a circle of 16. Each has a leaf set, the nearest nodes
//! on either side, and a routing table: the row says how many digits a node shares, the column what
//! its next digit is. Node 0 is there from the start. The others join when the driver calls:
//!
//! 1. A newcomer sends a request to node 0. It is routed towards the newcomer's id: within the leaf
//!    set to who is numerically closest, else to who shares more digits, else to who shares as many
//!    and is closer.
//! 2. Each node on the way sends the newcomer the rows that fit, the last one its leaf set as well.
//! 3. With all of that, the newcomer announces itself and whom it knows to everybody that it knows;
//!    these take it and the others into their tables.
//! 4. Several may join at once, so what a node sends has a timestamp: how often its tables have
//!    changed. The announcement carries it back, and a node whose tables have changed since then
//!    answers with what they are now; the newcomer announces itself anew, and to those that it did
//!    not know of.
//!
//! A node has joined when all have welcomed it. The paper leaves that open; later versions of Pastry
//! wait, too (Castro, Costa and Rowstron, DSN 2004). The timer of each node fires so many times, once
//! by default: a node that waits for rows sends its request again, one that has joined exchanges leaf
//! sets with its leaves. Nodes are all equally far from each other, so there is no neighbourhood
//! set, and a place in a table belongs to the first who comes. Nor do nodes fail.
//!
//! A request comes to no node twice, which a handler asserts, and only nodes that have announced
//! themselves are in tables. No key has two roots among the nodes that have joined, as everybody
//! announces itself to node 0: its timestamps make one of any two the later one, which knows of the
//! other. That takes leaf sets with room for everybody. Otherwise one may leave out a node that has
//! joined for one that has not yet, and with the bug `few-leaves` it does. Lu has found with TLA+
//! ("Formal verification of the Pastry protocol", 2013) that published versions may come apart as
//! nodes join. The other mistakes are ours.

use crate::{Bug, Entry, Kind, Parameter, Parameters};
use allways::prelude::*;
use allways::{Checkable, Error, Kinds};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const ENTRY: Entry = Entry {
    name: "pastry",
    about: "nodes that join Pastry, with routing tables, leaf sets and timestamps",
    parameters: &[
        Parameter {
            name: "nodes",
            about: "how many nodes there are with the first",
            kind: Kind::Number { default: 3, min: 2, max: 4 },
        },
        Parameter {
            name: "timeouts",
            about: "how often the timer of each node fires",
            kind: Kind::Number { default: 1, min: 0, max: 3 },
        },
    ],
    bugs: &[
        Bug {
            name: FEW_LEAVES,
            about: "leaf sets have room for one on either side, so not for everybody",
            defaults: &[("nodes", "4"), ("timeouts", "0")],
        },
        Bug {
            name: HASTY_JOIN,
            about: "a newcomer takes itself for joined before it is welcome",
            defaults: &[("nodes", "2"), ("timeouts", "0")],
        },
        Bug {
            name: NO_TIMESTAMPS,
            about: "a node welcomes a newcomer that was told of its tables before they changed",
            defaults: &[("nodes", "3"), ("timeouts", "0")],
        },
    ],
    make,
    live: crate::LivePart::NONE,
};

const FEW_LEAVES: &str = "few-leaves";
const HASTY_JOIN: &str = "hasty-join";
const NO_TIMESTAMPS: &str = "no-timestamps";

/// A key, or the id of a node: digits to base 4.
type Key = u8;
/// How often the tables of a node have changed.
type Stamp = u8;

const DIGITS: usize = 2;
const BASE: usize = 4;
const CIRCLE: Key = 16;
const FIRST: usize = 0;

/// 21, 12, 13 and 30 to base 4: two of them share a digit.
const KEYS: [Key; 4] = [9, 6, 7, 12];

fn key(node: Id) -> Key {
    KEYS[node.index()]
}

fn digit(key: Key, index: usize) -> usize {
    key as usize / BASE.pow((DIGITS - 1 - index) as u32) % BASE
}

/// How many digits two keys have in common at the front.
fn shared(a: Key, b: Key) -> usize {
    (0..DIGITS).take_while(|&index| digit(a, index) == digit(b, index)).count()
}

/// How far it is upwards from one key to another.
fn upwards(from: Key, to: Key) -> Key {
    (to + CIRCLE - from) % CIRCLE
}

/// How near a node is to a key; the lower one of two that are equally far.
fn nearness(node: Id, to: Key) -> (Key, Key) {
    (upwards(key(node), to).min(upwards(to, key(node))), key(node))
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Pastry {
    phase: Phase,
    leaves: BTreeSet<Id>,
    table: [[Option<Id>; BASE]; DIGITS],
    stamp: Stamp,
    /// How often its timer may still fire.
    timeouts: u8,
    /// How many leaves it has on either side.
    half: usize,
    bug: Option<&'static str>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Phase {
    Out,
    /// It waits for what the nodes on the way have.
    Joining {
        /// Whose it has, by their place on the way.
        heard: BTreeSet<usize>,
        /// How many there are.
        hops: Option<usize>,
        stamps: BTreeMap<Id, Stamp>,
    },
    /// It has announced itself to some, and waits until they have all welcomed it.
    Announcing {
        told: BTreeSet<Id>,
        waiting: BTreeSet<Id>,
    },
    Joined,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Kinds)]
enum Msg {
    /// This node wants to join; so many nodes have passed it on.
    Join(Id, usize),
    /// What a node on the way has.
    Rows(Rows),
    /// I am here, and know these; what I know of you has this stamp.
    Announce(BTreeSet<Id>, Option<Stamp>),
    Welcome,
    /// My tables have changed since then.
    Changed(BTreeSet<Id>, Stamp),
    /// These are my leaves, what are yours?
    Exchange(BTreeSet<Id>),
    Exchanged(BTreeSet<Id>),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Rows {
    /// How far on the way the node is.
    hop: usize,
    /// Who is in its rows, and in its leaf set if it is the last.
    nodes: BTreeSet<Id>,
    stamp: Stamp,
    is_last: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Kinds)]
struct Timeout;

#[derive(Clone, PartialEq, Eq, Hash, Debug, Kinds)]
struct Join;

impl Pastry {
    fn new(phase: Phase, timeouts: u8, half: usize, bug: Option<&'static str>) -> Self {
        let (leaves, table) = (BTreeSet::new(), [[None; BASE]; DIGITS]);
        Pastry { phase, leaves, table, stamp: 0, timeouts, half, bug }
    }

    /// Whether others may know of it.
    fn is_up(&self) -> bool {
        matches!(self.phase, Phase::Announcing { .. } | Phase::Joined)
    }

    fn known(&self) -> BTreeSet<Id> {
        self.rows(DIGITS).chain(self.leaves.iter().copied()).collect()
    }

    /// Who is in the first rows of the table.
    fn rows(&self, count: usize) -> impl Iterator<Item = Id> {
        self.table.iter().take(count).flatten().flatten().copied()
    }

    /// The leaves above, or below, the nearest first.
    fn side(&self, me: Id, above: bool) -> Vec<Id> {
        let far = |node: &Id| match above {
            true => upwards(key(me), key(*node)),
            false => upwards(key(*node), key(me)),
        };
        let mut side: Vec<Id> = self.leaves.iter().copied().collect();
        side.sort_by_key(far);
        side.truncate(self.half);
        side
    }

    /// Takes these into its tables, where they fit.
    fn learn(&mut self, nodes: impl IntoIterator<Item = Id>, cx: &Cx<'_, Self>) {
        let me = cx.id();
        let before = (self.leaves.clone(), self.table);
        for node in nodes.into_iter().filter(|node| *node != me) {
            let row = shared(key(me), key(node));
            self.table[row][digit(key(node), row)].get_or_insert(node);
            self.leaves.insert(node);
        }
        let sides = [true, false].map(|above| self.side(me, above));
        self.leaves = sides.into_iter().flatten().collect();
        // Nobody has been told what a newcomer knows.
        if self.is_up() && before != (self.leaves.clone(), self.table) {
            self.stamp += 1;
        }
    }

    /// Where to send a newcomer's request next; `None` if nobody is closer.
    fn route(&self, newcomer: Id, me: Id) -> Option<Id> {
        let to = key(newcomer);
        // It may be in the tables already, if it has sent two requests.
        let others = |nodes: BTreeSet<Id>| nodes.into_iter().filter(|node| *node != newcomer);
        let closest = |nodes: &mut dyn Iterator<Item = Id>| nodes.min_by_key(|n| nearness(*n, to));
        if self.is_within_leaves(to, me) {
            let leaf = closest(&mut others(self.leaves.clone()));
            return leaf.filter(|leaf| nearness(*leaf, to) < nearness(me, to));
        }
        let row = shared(key(me), to);
        let entry = self.table[row][digit(to, row)].filter(|node| *node != newcomer);
        entry.or_else(|| {
            let fits = |n: &Id| shared(key(*n), to) >= row && nearness(*n, to) < nearness(me, to);
            closest(&mut others(self.known()).filter(fits))
        })
    }

    /// Whether a key lies between the outermost leaves. Those that are not full are all there is.
    fn is_within_leaves(&self, to: Key, me: Id) -> bool {
        let [above, below] = [true, false].map(|above| self.side(me, above));
        let (Some(&top), Some(&bottom)) = (above.last(), below.last()) else { return true };
        self.leaves.len() < 2 * self.half
            || upwards(key(bottom), to) <= upwards(key(bottom), key(top))
    }

    /// A request arrives: helps the newcomer, and passes it on.
    fn on_join(&mut self, newcomer: Id, hop: usize, cx: &mut Cx<'_, Self>) {
        if !self.is_up() {
            return;
        }
        assert!(hop < cx.nodes(), "a request comes by twice");
        let me = cx.id();
        let mut nodes: BTreeSet<Id> = self.rows(shared(key(me), key(newcomer)) + 1).collect();
        let next = self.route(newcomer, me);
        match next {
            Some(next) => cx.send(next, Msg::Join(newcomer, hop + 1)),
            None => nodes.extend(&self.leaves),
        }
        let (stamp, is_last) = (self.stamp, next.is_none());
        cx.send(newcomer, Msg::Rows(Rows { hop, nodes, stamp, is_last }));
    }

    /// What comes when all is there is late.
    fn on_rows(&mut self, from: Id, rows: Rows, cx: &mut Cx<'_, Self>) {
        let Phase::Joining { heard, hops, stamps } = &mut self.phase else { return };
        let Rows { hop, nodes, stamp, is_last } = rows;
        heard.insert(hop);
        if is_last {
            *hops = Some(hop + 1);
        }
        let newest = stamps.entry(from).or_default();
        *newest = stamp.max(*newest);
        let all = hops.is_some_and(|hops| (0..hops).all(|hop| heard.contains(&hop)));
        let stamps = all.then(|| std::mem::take(stamps));
        self.learn(nodes.into_iter().chain([from]), cx);
        if let Some(stamps) = stamps {
            self.announce(&stamps, cx);
        }
    }

    fn announce(&mut self, stamps: &BTreeMap<Id, Stamp>, cx: &mut Cx<'_, Self>) {
        let known = self.known();
        let all: BTreeSet<Id> = known.iter().chain(stamps.keys()).copied().collect();
        for &node in &all {
            cx.send(node, Msg::Announce(known.clone(), stamps.get(&node).copied()));
        }
        cx.cancel_timers();
        self.phase = Phase::Announcing { told: all.clone(), waiting: all };
        if self.bug == Some(HASTY_JOIN) {
            self.end_join(cx);
        }
    }

    fn end_join(&mut self, cx: &mut Cx<'_, Self>) {
        self.phase = Phase::Joined;
        self.set_timer(cx);
    }

    fn on_announce(
        &mut self,
        from: Id,
        nodes: BTreeSet<Id>,
        stamp: Option<Stamp>,
        cx: &mut Cx<'_, Self>,
    ) {
        let stale = stamp.is_some_and(|stamp| stamp != self.stamp);
        if stale && self.bug != Some(NO_TIMESTAMPS) {
            return cx.send(from, Msg::Changed(self.known(), self.stamp));
        }
        self.learn(nodes.into_iter().chain([from]), cx);
        cx.send(from, Msg::Welcome);
    }

    /// Announces itself anew, and to those that it did not know of.
    fn on_changed(&mut self, from: Id, nodes: BTreeSet<Id>, stamp: Stamp, cx: &mut Cx<'_, Self>) {
        self.learn(nodes, cx);
        let known = self.known();
        let Phase::Announcing { told, waiting } = &mut self.phase else { return };
        cx.send(from, Msg::Announce(known.clone(), Some(stamp)));
        for &new in known.difference(told) {
            cx.send(new, Msg::Announce(known.clone(), None));
            waiting.insert(new);
        }
        told.extend(known);
    }

    fn set_timer(&self, cx: &mut Cx<'_, Self>) {
        if self.timeouts > 0 {
            cx.set_timer(Timeout);
        }
    }
}

impl Node for Pastry {
    type Msg = Msg;
    type Timer = Timeout;
    type Call = Join;
    type Output = Never;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        if self.phase == Phase::Joined {
            self.set_timer(cx);
        }
    }

    fn on_call(&mut self, Join: Join, cx: &mut Cx<'_, Self>) {
        let (heard, stamps) = (BTreeSet::new(), BTreeMap::new());
        self.phase = Phase::Joining { heard, hops: None, stamps };
        self.set_timer(cx);
        cx.send(FIRST, Msg::Join(cx.id(), 0));
    }

    fn on_timer(&mut self, Timeout: Timeout, cx: &mut Cx<'_, Self>) {
        self.timeouts -= 1;
        self.set_timer(cx);
        if self.phase == Phase::Joined {
            for &leaf in &self.leaves {
                cx.send(leaf, Msg::Exchange(self.leaves.clone()));
            }
        } else {
            cx.send(FIRST, Msg::Join(cx.id(), 0));
        }
    }

    fn on_message(&mut self, from: Id, msg: Msg, cx: &mut Cx<'_, Self>) {
        match msg {
            Msg::Join(newcomer, hop) => self.on_join(newcomer, hop, cx),
            Msg::Rows(rows) => self.on_rows(from, rows, cx),
            Msg::Announce(nodes, stamp) => self.on_announce(from, nodes, stamp, cx),
            Msg::Welcome => {
                let Phase::Announcing { waiting, .. } = &mut self.phase else { return };
                waiting.remove(&from);
                if waiting.is_empty() {
                    self.end_join(cx);
                }
            }
            Msg::Changed(nodes, stamp) => self.on_changed(from, nodes, stamp, cx),
            Msg::Exchange(nodes) => {
                cx.send(from, Msg::Exchanged(self.leaves.clone()));
                self.learn(nodes.into_iter().chain([from]), cx);
            }
            Msg::Exchanged(nodes) => self.learn(nodes, cx),
        }
    }
}

/// Whether every key has one root at most: a node that has joined and has no leaf that is closer.
fn one_root(nodes: &[(bool, BTreeSet<Id>)]) -> bool {
    let is_root = |node: &Id, to: Key| {
        let (joined, leaves) = &nodes[node.index()];
        *joined && leaves.iter().all(|leaf| nearness(*node, to) < nearness(*leaf, to))
    };
    let roots = |to| (0..nodes.len()).map(Id::new).filter(|node| is_root(node, to)).count();
    (0..CIRCLE).all(|to| roots(to) <= 1)
}

/// Whether everybody who is known has announced itself.
fn known_are_up(nodes: &[(bool, BTreeSet<Id>)]) -> bool {
    nodes.iter().flat_map(|(_, known)| known).all(|node| nodes[node.index()].0)
}

fn make(parameters: &Parameters) -> Result<Box<dyn Checkable>, Error> {
    let nodes = parameters.number("nodes");
    let timeouts = parameters.number("timeouts") as u8;
    // Room for everybody.
    let half = if parameters.bug() == Some(FEW_LEAVES) { 1 } else { nodes / 2 };
    let phase = |node| if node == FIRST { Phase::Joined } else { Phase::Out };
    let node = |id| Pastry::new(phase(id), timeouts, half, parameters.bug());
    let has_joined = |n: &Pastry| n.phase == Phase::Joined;
    let mut system = System::new((0..nodes).map(node))
        .always(
            "one root a key",
            view(move |n: &Pastry| (has_joined(n), n.leaves.clone())),
            one_root,
        )
        .always(
            "who is known has announced itself",
            view(|n: &Pastry| (n.is_up(), n.known())),
            known_are_up,
        )
        .sometimes("all have joined", view(has_joined), |joined| joined.iter().all(|j| *j));
    for node in 1..nodes {
        system = system.call(node, Join);
    }
    Ok(Box::new(system.expect_kinds()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{classic, counts};

    #[test]
    fn keys_share_digits() {
        assert_eq!(
            [9, 6, 7, 12].map(|key| (digit(key, 0), digit(key, 1))),
            [(2, 1), (1, 2), (1, 3), (3, 0)]
        );
        assert_eq!((shared(6, 7), shared(6, 9), shared(6, 6)), (1, 0, 2));
        assert_eq!((upwards(12, 6), upwards(6, 12)), (10, 6));
        assert_eq!((nearness(Id::new(3), 0), nearness(Id::new(1), 0)), ((4, 12), (6, 6)));
    }

    /// A node with id 9 that knows 7 and 12.
    #[test]
    fn requests_are_routed_by_leaves_digits_and_nearness() {
        let [me, six, seven, twelve] = [0, 1, 2, 3].map(Id::new);
        let mut node = Pastry::new(Phase::Joined, 0, 1, None);
        assert_eq!(node.route(six, me), None);
        node.leaves = [seven, twelve].into();
        node.table[0][1] = Some(seven);
        node.table[0][3] = Some(twelve);
        assert!(!node.is_within_leaves(6, me) && node.is_within_leaves(8, me));
        assert_eq!(node.route(six, me), Some(seven));
        node.table[0][1] = None;
        assert_eq!(node.route(six, me), Some(seven));
        assert_eq!(node.route(seven, me), None);
    }

    #[test]
    fn every_key_has_one_root() {
        assert_eq!(counts("pastry", &[("nodes", "2")]), (58, 88));
        assert_eq!(counts("pastry", &[("nodes", "2"), ("timeouts", "2")]), (358, 682));
        assert_eq!(counts("pastry", &[("timeouts", "0")]), (128, 233));
    }

    #[test]
    fn without_waiting_timestamps_or_room_it_may_have_two() {
        for (bug, length) in [("few-leaves", 18), ("hasty-join", 3), ("no-timestamps", 10)] {
            let outcome = classic("pastry", &[("bug", bug)]);
            let violation = outcome.assert_violated("one root a key");
            assert_eq!(violation.run.events.len(), length, "{bug}");
        }
    }

    /// Two must join at once; three know each other however few leaves they have.
    #[test]
    fn with_fewer_nodes_it_has_one() {
        for (bug, nodes) in [("few-leaves", "3"), ("no-timestamps", "2")] {
            classic("pastry", &[("bug", bug), ("nodes", nodes)]).assert_holds();
        }
    }
}
