//! An overlay tree in the style of RandTree, which the LMC paper names as an example of a property
//! that every node has on its own (section 4.2): children and siblings are disjoint.
//!
//! Node 0 is the root. The others join when the driver calls: they ask the root. A node that has
//! room adopts who asks, welcomes it with a list of its siblings and tells these of the new one. A
//! node without room passes the request on to one of its children, any of them. So much is said in
//! parallel, and little of it can violate anything.
//!
//! Nodes move, too. A leaf that is told to asks the root as if it had not joined yet, and stays
//! where it is until it is welcomed elsewhere; then it leaves its old parent, which tells the
//! siblings that are left. A parent that gets the request of its own child passes it on to another
//! child, or welcomes it back if there is none. So a node may be adopted by its sibling, and two
//! things keep children and siblings disjoint:
//!
//! - who adopts a sibling strikes it off its siblings;
//! - who is told of a sibling that it has adopted already takes no notice. That happens because the
//!   network may reorder: what the parent said long ago arrives last.
//!
//! While a node joins or moves it adopts nobody, so it stays a leaf, and nobody gets below itself:
//! else two siblings that move at once adopt each other. Requests wait in the network for that
//! long. Two that wait for each other wait forever: here, to be safe is enough. A node listens to
//! its parent alone; what another says waits too, until that one becomes its parent, if ever. RandTree
//! also recovers from failures, which is not here, and the mistakes are ours but the first, of the
//! kind that was found in it.

use crate::{Bug, Entry, Kind, Parameter, Parameters};
use allways::prelude::*;
use allways::{Checkable, Error, Kinds};
use std::collections::BTreeSet;

pub(crate) const ENTRY: Entry = Entry {
    name: "overlay",
    about: "an overlay tree that nodes join and move in, in the style of RandTree",
    parameters: &[
        Parameter {
            name: "nodes",
            about: "how many nodes there are with the root",
            kind: Kind::Number { default: 5, min: 2, max: 7 },
        },
        Parameter {
            name: "degree",
            about: "how many children a node may have",
            kind: Kind::Number { default: 2, min: 1, max: 4 },
        },
        Parameter {
            name: "moves",
            about: "how many nodes move once, the last ones, at most all but the root",
            kind: Kind::Number { default: 1, min: 0, max: 6 },
        },
    ],
    bugs: &[
        Bug {
            name: KEPT_SIBLING,
            about: "a node that adopts a sibling does not strike it off its siblings",
            defaults: &[("nodes", "3"), ("degree", "2"), ("moves", "1")],
        },
        Bug {
            name: LATE_SIBLING,
            about: "a node that is told of a sibling notes it, even if it is its child by then",
            defaults: &[("nodes", "3"), ("degree", "2"), ("moves", "1")],
        },
        Bug {
            name: RESTLESS_PARENT,
            about: "a node adopts others while it moves itself",
            defaults: &[("nodes", "3"), ("degree", "2"), ("moves", "2")],
        },
    ],
    make,
    live: crate::LivePart::NONE,
};

const KEPT_SIBLING: &str = "kept-sibling";
const LATE_SIBLING: &str = "late-sibling";
const RESTLESS_PARENT: &str = "restless-parent";

const ROOT: usize = 0;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Overlay {
    /// `None` for the root, and for a node that has not joined.
    parent: Option<Id>,
    children: BTreeSet<Id>,
    siblings: BTreeSet<Id>,
    /// It has asked to be adopted and not been welcomed yet.
    asking: bool,
    degree: usize,
    bug: Option<&'static str>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Kinds)]
enum Msg {
    /// This node wants to be adopted.
    Ask(Id),
    /// You are my child; these are your siblings.
    Welcome(BTreeSet<Id>),
    /// You have a new sibling.
    Sibling(Id),
    /// That is your sibling no longer.
    Gone(Id),
    /// I am your child no longer.
    Leave,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Kinds)]
enum Call {
    Join,
    Move,
}

impl Overlay {
    fn new(degree: usize, bug: Option<&'static str>) -> Self {
        let (children, siblings) = (BTreeSet::new(), BTreeSet::new());
        Overlay { parent: None, children, siblings, asking: false, degree, bug }
    }

    fn has(&self, bug: &str) -> bool {
        self.bug == Some(bug)
    }

    /// The children other than this one.
    fn others(&self, child: Id) -> BTreeSet<Id> {
        self.children.iter().copied().filter(|other| *other != child).collect()
    }

    fn ask(&mut self, cx: &mut Cx<'_, Self>) {
        self.asking = true;
        cx.send(ROOT, Msg::Ask(cx.id()));
    }

    /// A request arrives: adopts who asks, or passes it on.
    fn on_ask(&mut self, who: Id, cx: &mut Cx<'_, Self>) {
        let joined = self.parent.is_some() || cx.id().index() == ROOT;
        let settled = !self.asking || self.has(RESTLESS_PARENT);
        if !joined || !settled {
            return;
        }
        let others = self.others(who);
        let is_child = self.children.contains(&who);
        if !is_child && others.len() < self.degree {
            self.adopt(who, others, cx);
        } else if others.is_empty() {
            cx.send(who, Msg::Welcome(others));
        } else {
            let to = cx.choose(others.len());
            cx.send(others.into_iter().nth(to).expect("a child"), Msg::Ask(who));
        }
    }

    fn adopt(&mut self, child: Id, others: BTreeSet<Id>, cx: &mut Cx<'_, Self>) {
        for &other in &others {
            cx.send(other, Msg::Sibling(child));
        }
        cx.send(child, Msg::Welcome(others));
        self.children.insert(child);
        if !self.has(KEPT_SIBLING) {
            self.siblings.remove(&child);
        }
    }

    fn on_welcome(&mut self, from: Id, siblings: BTreeSet<Id>, cx: &mut Cx<'_, Self>) {
        if let Some(old) = self.parent.filter(|old| *old != from) {
            cx.send(old, Msg::Leave);
        }
        self.parent = Some(from);
        self.siblings = siblings;
        self.asking = false;
    }

    fn on_leave(&mut self, from: Id, cx: &mut Cx<'_, Self>) {
        self.children.remove(&from);
        for &child in &self.children {
            cx.send(child, Msg::Gone(from));
        }
    }
}

impl Node for Overlay {
    type Msg = Msg;
    type Timer = Never;
    type Call = Call;
    type Output = Never;

    fn on_call(&mut self, call: Call, cx: &mut Cx<'_, Self>) {
        match call {
            Call::Join => self.ask(cx),
            // Only a leaf that has joined can move.
            Call::Move => {
                if self.parent.is_some() && self.children.is_empty() {
                    self.ask(cx);
                }
            }
        }
    }

    fn on_message(&mut self, from: Id, msg: Msg, cx: &mut Cx<'_, Self>) {
        match msg {
            Msg::Ask(who) => self.on_ask(who, cx),
            Msg::Welcome(siblings) => self.on_welcome(from, siblings, cx),
            Msg::Leave => self.on_leave(from, cx),
            Msg::Sibling(who) if self.parent == Some(from) => {
                if !self.children.contains(&who) || self.has(LATE_SIBLING) {
                    self.siblings.insert(who);
                }
            }
            Msg::Gone(who) if self.parent == Some(from) => {
                self.siblings.remove(&who);
            }
            Msg::Sibling(_) | Msg::Gone(_) => {}
        }
    }
}

/// Whether no two nodes are each other's parent.
fn no_pair(parents: &[Option<Id>]) -> bool {
    let parent = |node: usize| parents[node].map(Id::index);
    (0..parents.len()).all(|node| parent(node).and_then(parent) != Some(node))
}

fn make(parameters: &Parameters) -> Result<Box<dyn Checkable>, Error> {
    let (nodes, moves) = (parameters.number("nodes"), parameters.number("moves"));
    if moves >= nodes {
        return Err(Error::System(format!(
            "`moves={moves}` is too many: only {} nodes can move",
            nodes - 1
        )));
    }
    let node = Overlay::new(parameters.number("degree"), parameters.bug());
    let mut system = System::new(vec![node; nodes])
        .always(
            "children and siblings are disjoint",
            view(|n: &Overlay| (n.children.clone(), n.siblings.clone())),
            |nodes: &[(BTreeSet<Id>, BTreeSet<Id>)]| {
                nodes.iter().all(|(children, siblings)| children.is_disjoint(siblings))
            },
        )
        .always("no two nodes are each other's parent", view(|n: &Overlay| n.parent), no_pair)
        .sometimes("all have joined", view(|n: &Overlay| n.parent.is_some()), |joined| {
            joined.iter().skip(1).all(|joined| *joined)
        });
    for node in 1..nodes {
        let moved = (node >= nodes - moves).then_some((node, Call::Move));
        system = system.calls_in_sequence([(node, Call::Join)].into_iter().chain(moved));
    }
    Ok(Box::new(system.expect_kinds()))
}

#[cfg(test)]
mod tests {
    use crate::tests::{classic, counts};

    #[test]
    fn children_and_siblings_are_disjoint_by_default() {
        assert_eq!(counts("overlay", &[]), (14_033, 37_441));
    }

    #[test]
    fn so_they_are_in_other_trees() {
        for (nodes, degree, moves, expected) in [
            ("2", "1", "1", (7, 7)),
            ("3", "2", "0", (23, 35)),
            ("3", "2", "1", (60, 94)),
            ("3", "2", "2", (141, 235)),
            ("3", "1", "2", (58, 77)),
            ("4", "2", "1", (786, 1_634)),
            ("4", "2", "3", (7_154, 14_074)),
            ("4", "1", "3", (599, 973)),
            ("4", "3", "3", (19_200, 50_443)),
        ] {
            let set = [("nodes", nodes), ("degree", degree), ("moves", moves)];
            assert_eq!(counts("overlay", &set), expected, "{set:?}");
        }
    }

    #[test]
    fn the_root_does_not_move() {
        let overlay = crate::find("overlay").unwrap();
        let error = overlay.build(&[("nodes", "3"), ("moves", "3")]).err().unwrap();
        assert!(error.to_string().contains("only 2 nodes can move"), "{error}");
    }

    #[test]
    fn a_sibling_that_is_adopted_is_both() {
        for (bug, length) in [("kept-sibling", 9), ("late-sibling", 10)] {
            let outcome = classic("overlay", &[("bug", bug)]);
            let violation = outcome.assert_violated("children and siblings are disjoint");
            assert_eq!(violation.run.events.len(), length, "{bug}");
        }
    }

    #[test]
    fn two_that_move_at_once_adopt_each_other() {
        let outcome = classic("overlay", &[("bug", "restless-parent")]);
        let violation = outcome.assert_violated("no two nodes are each other's parent");
        assert_eq!(violation.run.events.len(), 14);
    }

    /// Without a move nobody is adopted twice, and an only child has no siblings.
    #[test]
    fn every_bug_takes_moves_and_two_children() {
        for bug in ["kept-sibling", "late-sibling", "restless-parent"] {
            for set in [("moves", "0"), ("degree", "1")] {
                classic("overlay", &[("bug", bug), set]).assert_holds();
            }
        }
        classic("overlay", &[("bug", "restless-parent"), ("moves", "1")]).assert_holds();
    }
}
