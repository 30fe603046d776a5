//! Chord's ring as nodes join it: the protocol of the paper (SIGCOMM 2001, in the form of figure 6 of
//! the version in Transactions on Networking, 2003) over messages.
//!
//! Nodes have places on a circle of 16. Node 0 creates the ring. The others join when the driver
//! calls: they ask node 0 for their successor, and the question is routed from node to node until one
//! knows the answer. Two timers fire at a node that has joined. With one it stabilises: it asks its
//! successor for that one's predecessor, takes this for its successor if it lies between, and
//! notifies its successor, which takes the node for its predecessor if it lies nearer than the one
//! it has. With the other it looks up one of its fingers, in turn; these are shortcuts for routing.
//! What a node would ask itself it does at once.
//!
//! Each node stabilises and looks up each finger so many times, once by default: as in the DEMETER
//! paper's check of Chord (section 5.3), that makes the system finite. Timers may fire before
//! anybody else has joined, so the ring need not be complete at the end. What holds all the time:
//!
//! - Successors lead from every node that has joined to node 0, and not past it. So there is one
//!   ring, in the order of the circle, and who is not on it yet leads to it. That is because
//!   successors only come nearer.
//! - Whoever is a successor, a predecessor or a finger has joined.
//! - Among three nodes, no key is kept by two, where a node keeps those after its predecessor up to
//!   itself. Among four that is not so until the ring is stable: a node need not know yet who has
//!   joined just before it, when that one has a predecessor already. So with more than three
//!   nodes there is no such property.
//!
//! All this is true because nodes only join. Where they fail or leave, none of the invariants that
//! were claimed of Chord holds (Zave, "Using lightweight modeling to understand Chord", 2012): the
//! ring may come apart, or out of order, and is not mended. Nor is it promised that a question is
//! answered with the right node before the ring is stable.

use crate::{Bug, Entry, Kind, Parameter, Parameters};
use allways::prelude::*;
use allways::{Checkable, Error, Kinds};

pub(crate) const ENTRY: Entry = Entry {
    name: "chord",
    about: "the ring of Chord as nodes join it and stabilise",
    parameters: &[
        Parameter {
            name: "nodes",
            about: "how many nodes there are with the one that creates the ring",
            kind: Kind::Number { default: 3, min: 2, max: 5 },
        },
        Parameter {
            name: "timeouts",
            about: "how often each node stabilises, and looks up each finger",
            kind: Kind::Number { default: 1, min: 0, max: 3 },
        },
        Parameter {
            name: "fingers",
            about: "how many fingers each node has besides its successor",
            kind: Kind::Number { default: 3, min: 0, max: 3 },
        },
    ],
    bugs: &[
        Bug {
            name: ANY_PREDECESSOR,
            about: "a node takes whoever notifies it for its predecessor, farther or not",
            defaults: &[("nodes", "3"), ("timeouts", "1"), ("fingers", "0")],
        },
        Bug {
            name: ANY_SUCCESSOR,
            about: "a node takes the predecessor of its successor for its own successor, between or not",
            defaults: &[("nodes", "3"), ("timeouts", "1"), ("fingers", "0")],
        },
    ],
    make,
    live: crate::LivePart::NONE,
};

const ANY_PREDECESSOR: &str = "any-predecessor";
const ANY_SUCCESSOR: &str = "any-successor";

/// A key, or the place of a node.
type Place = u8;

const CIRCLE: Place = 16;
/// The places of the nodes, as a hash might choose them.
const PLACES: [Place; 5] = [1, 6, 11, 3, 14];
const CREATOR: usize = 0;

fn place(node: Id) -> Place {
    PLACES[node.index()]
}

/// How far it is from one place to another; all the way round to the same.
fn distance(from: Place, to: Place) -> Place {
    match (to + CIRCLE - from) % CIRCLE {
        0 => CIRCLE,
        distance => distance,
    }
}

/// Whether a place lies after one and before the other. From a place to itself is the whole circle.
fn is_between(place: Place, after: Place, before: Place) -> bool {
    distance(after, place) < distance(after, before)
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Chord {
    /// `None` for a node that has not joined.
    successor: Option<Id>,
    predecessor: Option<Id>,
    /// The longest first; `None` where nothing is known yet.
    fingers: Vec<Option<Id>>,
    /// How often it may still stabilise.
    stabilises: usize,
    /// How often it may still look up a finger.
    looks_up: usize,
    bug: Option<&'static str>,
}

/// What a lookup is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Purpose {
    Join,
    Finger(usize),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Kinds)]
enum Msg {
    /// Who is the successor of this key? The answer goes to the node that wants to know.
    FindSuccessor(Place, Id, Purpose),
    Found(Id, Purpose),
    GetPredecessor,
    Predecessor(Option<Id>),
    /// I may be your predecessor.
    Notify,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Kinds)]
enum Timer {
    Stabilise,
    FixFinger,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Kinds)]
struct Join;

impl Chord {
    fn new(timeouts: usize, fingers: usize, bug: Option<&'static str>) -> Self {
        Chord {
            successor: None,
            predecessor: None,
            fingers: vec![None; fingers],
            stabilises: timeouts,
            looks_up: timeouts * fingers,
            bug,
        }
    }

    /// Sends, or handles at once what it tells itself.
    fn tell(&mut self, to: Id, msg: Msg, cx: &mut Cx<'_, Self>) {
        match to == cx.id() {
            true => self.on_message(to, msg, cx),
            false => cx.send(to, msg),
        }
    }

    fn set_timers(&self, cx: &mut Cx<'_, Self>) {
        if self.stabilises > 0 {
            cx.set_timer(Timer::Stabilise);
        }
        if self.looks_up > 0 {
            cx.set_timer(Timer::FixFinger);
        }
    }

    fn find_successor(&mut self, key: Place, who: Id, purpose: Purpose, cx: &mut Cx<'_, Self>) {
        // Nobody asks a node that has not joined.
        let Some(successor) = self.successor else { return };
        let me = place(cx.id());
        if distance(me, key) <= distance(me, place(successor)) {
            return self.tell(who, Msg::Found(successor, purpose), cx);
        }
        // The closest preceding node; the successor precedes, or it would have been the answer.
        let known = self.fingers.iter().flatten().copied().chain([successor]);
        let preceding = known.filter(|node| is_between(place(*node), me, key));
        let closest = preceding.max_by_key(|node| distance(me, place(*node)));
        cx.send(closest.unwrap_or(successor), Msg::FindSuccessor(key, who, purpose));
    }

    fn on_found(&mut self, found: Id, purpose: Purpose, cx: &mut Cx<'_, Self>) {
        match purpose {
            Purpose::Join => {
                self.successor = Some(found);
                self.set_timers(cx);
            }
            Purpose::Finger(index) => self.fingers[index] = Some(found),
        }
    }

    /// The successor says who its predecessor is.
    fn on_predecessor(&mut self, predecessor: Option<Id>, cx: &mut Cx<'_, Self>) {
        let Some(successor) = self.successor else { return };
        let (me, far) = (place(cx.id()), place(successor));
        let nearer =
            |node: &Id| is_between(place(*node), me, far) || self.bug == Some(ANY_SUCCESSOR);
        let successor = predecessor.filter(nearer).unwrap_or(successor);
        self.successor = Some(successor);
        if successor != cx.id() {
            cx.send(successor, Msg::Notify);
        }
    }

    fn on_notify(&mut self, from: Id, cx: &mut Cx<'_, Self>) {
        let nearer = |old: Id| is_between(place(from), place(old), place(cx.id()));
        if self.predecessor.is_none_or(nearer) || self.bug == Some(ANY_PREDECESSOR) {
            self.predecessor = Some(from);
        }
    }
}

impl Node for Chord {
    type Msg = Msg;
    type Timer = Timer;
    type Call = Join;
    type Output = Never;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        if cx.id().index() == CREATOR {
            self.successor = Some(cx.id());
            self.set_timers(cx);
        }
    }

    fn on_call(&mut self, Join: Join, cx: &mut Cx<'_, Self>) {
        cx.send(CREATOR, Msg::FindSuccessor(place(cx.id()), cx.id(), Purpose::Join));
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_, Self>) {
        let Some(successor) = self.successor else { return };
        match timer {
            Timer::Stabilise => {
                self.stabilises -= 1;
                self.tell(successor, Msg::GetPredecessor, cx);
            }
            Timer::FixFinger => {
                self.looks_up -= 1;
                let next = self.looks_up % self.fingers.len();
                let start = (place(cx.id()) + (CIRCLE >> (next + 1))) % CIRCLE;
                self.find_successor(start, cx.id(), Purpose::Finger(next), cx);
            }
        }
        self.set_timers(cx);
    }

    fn on_message(&mut self, from: Id, msg: Msg, cx: &mut Cx<'_, Self>) {
        match msg {
            Msg::FindSuccessor(key, who, purpose) => self.find_successor(key, who, purpose, cx),
            Msg::Found(found, purpose) => self.on_found(found, purpose, cx),
            Msg::GetPredecessor => self.tell(from, Msg::Predecessor(self.predecessor), cx),
            Msg::Predecessor(predecessor) => self.on_predecessor(predecessor, cx),
            Msg::Notify => self.on_notify(from, cx),
        }
    }
}

/// Whether successors lead from every node that has joined to the creator, and not past it.
fn one_ring(successors: &[Option<Id>]) -> bool {
    let mut joined =
        (0..successors.len()).map(Id::new).filter(|node| successors[node.index()].is_some());
    joined.all(|first| {
        let (mut node, mut left) = (first, distance(place(first), PLACES[CREATOR]));
        while left > 0 {
            let Some(successor) = successors[node.index()] else { return false };
            let distance = distance(place(node), place(successor));
            if distance > left {
                return false;
            }
            (node, left) = (successor, left - distance);
        }
        true
    })
}

/// Whether everybody that a node points to has joined.
fn all_joined(nodes: &[(bool, Vec<Id>)]) -> bool {
    nodes.iter().flat_map(|(_, pointers)| pointers).all(|node| nodes[node.index()].0)
}

/// Whether no key is kept by two nodes: each keeps those after its predecessor up to itself.
fn one_keeper(predecessors: &[Option<Id>]) -> bool {
    let kept =
        predecessors.iter().zip(PLACES).filter_map(|(first, last)| Some((place((*first)?), last)));
    let kept: Vec<(Place, Place)> = kept.collect();
    kept.iter()
        .all(|(first, last)| !kept.iter().any(|(_, other)| is_between(*other, *first, *last)))
}

fn make(parameters: &Parameters) -> Result<Box<dyn Checkable>, Error> {
    let (nodes, timeouts) = (parameters.number("nodes"), parameters.number("timeouts"));
    let node = Chord::new(timeouts, parameters.number("fingers"), parameters.bug());
    let pointers = |n: &Chord| {
        let fingers = n.fingers.iter().flatten();
        fingers.chain(&n.successor).chain(&n.predecessor).copied().collect::<Vec<_>>()
    };
    let mut system = System::new(vec![node; nodes])
        .always("one ring in order", view(|n: &Chord| n.successor), one_ring)
        .always(
            "who is pointed to has joined",
            view(move |n: &Chord| (n.successor.is_some(), pointers(n))),
            all_joined,
        )
        .sometimes("all have joined", view(|n: &Chord| n.successor.is_some()), |joined| {
            joined.iter().all(|joined| *joined)
        });
    // Among more it does not hold: see above.
    if nodes <= 3 {
        system =
            system.always("no key is kept by two", view(|n: &Chord| n.predecessor), one_keeper);
    }
    for node in 1..nodes {
        system = system.call(node, Join);
    }
    Ok(Box::new(system.expect_kinds()))
}

#[cfg(test)]
mod tests {
    use super::{distance, is_between};
    use crate::tests::{classic, counts};

    #[test]
    fn between_goes_round_the_circle() {
        assert!(is_between(6, 1, 11) && is_between(14, 11, 1) && is_between(0, 11, 1));
        assert!(!is_between(6, 11, 1) && !is_between(11, 11, 1) && !is_between(1, 11, 1));
        assert!(is_between(6, 1, 1) && !is_between(1, 1, 1));
        assert_eq!((distance(11, 1), distance(1, 11), distance(1, 1)), (6, 10, 16));
    }

    #[test]
    fn there_is_one_ring() {
        assert_eq!(counts("chord", &[("nodes", "2")]), (304, 749));
        assert_eq!(counts("chord", &[("nodes", "2"), ("timeouts", "0")]), (4, 4));
        assert_eq!(counts("chord", &[("fingers", "1")]), (3_412, 10_923));
        for (nodes, timeouts, expected) in
            [("3", "1", (189, 367)), ("3", "2", (6_350, 19_197)), ("4", "1", (2_338, 5_902))]
        {
            let set = [("nodes", nodes), ("timeouts", timeouts), ("fingers", "0")];
            assert_eq!(counts("chord", &set), expected, "{set:?}");
        }
    }

    #[test]
    fn a_predecessor_that_is_farther_keeps_the_keys_of_others() {
        let outcome = classic("chord", &[("bug", "any-predecessor")]);
        let violation = outcome.assert_violated("no key is kept by two");
        assert_eq!(violation.run.events.len(), 16);
    }

    #[test]
    fn a_successor_that_is_not_between_is_past_the_ring() {
        for (nodes, timeouts, length) in [("3", "1", 13), ("2", "2", 10)] {
            let set = [("bug", "any-successor"), ("nodes", nodes), ("timeouts", timeouts)];
            let outcome = classic("chord", &set);
            let violation = outcome.assert_violated("one ring in order");
            assert_eq!(violation.run.events.len(), length);
        }
    }

    #[test]
    fn both_need_timeouts_and_a_third_node() {
        for bug in ["any-predecessor", "any-successor"] {
            for set in [("timeouts", "0"), ("nodes", "2")] {
                classic("chord", &[("bug", bug), set]).assert_holds();
            }
        }
    }
}
