//! A message sent down a tree: the LMC paper's primer (figures 2 to 4).
//!
//! Node 0 sends a message for node 4 to its children, each node forwards it to its own, and node 4
//! remembers that it has received it. Node 0's children are 1, a leaf, and 2; below 2 lie 3 and
//! then 4. The network is ordered, so that a delivery to a leaf, which changes nothing, consumes
//! its message as in figure 3: its 12 global states, drawn with duplicates, are 9 when joined.

use crate::{Entry, Parameters};
use allways::prelude::*;
use allways::{Checkable, Error, Kinds};

pub(crate) const ENTRY: Entry = Entry {
    name: "tree",
    about: "a message sent down a tree of five nodes (LMC paper, figure 2)",
    parameters: &[],
    bugs: &[],
    make,
    live: crate::LivePart::NONE,
};

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Tree {
    Idle,
    /// Node 0 has sent the message.
    Sent,
    /// Node 4 has received it.
    Received,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Kinds)]
struct Forward;

#[derive(Clone, PartialEq, Eq, Hash, Debug, Kinds)]
struct Send;

fn children(node: Id) -> &'static [usize] {
    match node.index() {
        0 => &[1, 2],
        2 => &[3],
        3 => &[4],
        _ => &[],
    }
}

impl Node for Tree {
    type Msg = Forward;
    type Timer = Never;
    type Call = Send;
    type Output = Never;

    fn on_call(&mut self, Send: Send, cx: &mut Cx<'_, Self>) {
        *self = Tree::Sent;
        for &child in children(cx.id()) {
            cx.send(child, Forward);
        }
    }

    fn on_message(&mut self, _: Id, Forward: Forward, cx: &mut Cx<'_, Self>) {
        for &child in children(cx.id()) {
            cx.send(child, Forward);
        }
        if cx.id().index() == 4 {
            *self = Tree::Received;
        }
    }
}

fn make(_: &Parameters) -> Result<Box<dyn Checkable>, Error> {
    let system = System::new(vec![Tree::Idle; 5])
        .network(Network::ordered())
        .call(0, Send)
        .always("received only if sent", view(Tree::clone), |nodes| {
            nodes[4] != Tree::Received || nodes[0] == Tree::Sent
        })
        .sometimes("received", view(Tree::clone), |nodes| nodes[4] == Tree::Received);
    Ok(Box::new(system.expect_kinds()))
}

#[cfg(test)]
mod tests {
    use allways::{Options, Search, Verdict};

    #[test]
    fn figure_3_has_twelve_states_and_nine_when_joined() {
        let tree = crate::find("tree").unwrap().build(&[]).unwrap();
        let options = Options { search: Search::Classic, ..Options::default() };
        let outcome = tree.check_with(&options).unwrap();
        assert_eq!(outcome.verdict, Verdict::Holds);
        assert_eq!(outcome.statistics.unique_states, Some(9));
        assert_eq!(outcome.statistics.generated_states, Some(12));
    }
}
