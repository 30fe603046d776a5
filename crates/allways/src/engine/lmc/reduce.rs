//! Local graphs made small: what a search for an aim cannot tell apart becomes one *class*.
//!
//! Two states of a node are in one class if they have the same label, and for each edge of one (what it
//! needs, what it sends, to which class) the other has such an edge, too; edges that stay in the class
//! and send nothing are left out, since taking one leads to what does the same. So each path of a graph
//! is one of its classes, and each path of the classes is one of the graph, from any state of the
//! first class: the relation is a bisimulation up to steps that nobody can notice.
//!
//! Then mail that no edge needs any more is left out of what is sent, which makes more states alike;
//! and so on until nothing changes. Edges that need no mail need not be told apart by their event, nor
//! timers from restarts.

use super::combine::{Aim, Label};
use super::components::{Components, Successors};
use super::graph::{Graphs, MailId, Need, Numbers};
use super::prune::prune;
use rustc_hash::{FxHashMap, FxHashSet};

/// A step between classes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct ClassEdge {
    pub from: u32,
    pub to: u32,
    pub need: Need,
    /// Number of a list of mail: see [`Reduced::sends`].
    pub sends: u32,
}

/// The classes of a node.
#[derive(Clone)]
pub(super) struct Classes {
    /// The class of each place.
    pub of: Vec<u32>,
    pub labels: Vec<Label>,
    /// Sorted.
    pub edges: Vec<ClassEdge>,
}

/// The graphs, reduced for an aim.
#[derive(Clone)]
pub(super) struct Reduced {
    pub nodes: Vec<Classes>,
    /// Lists of mail, only of what is needed.
    pub sends: Vec<Vec<MailId>>,
    /// For each list of the graphs, the number of what is left of it.
    pub list_of: Vec<u32>,
}

/// The mail that edges need.
fn needed(edges: impl Iterator<Item = Need>) -> FxHashSet<MailId> {
    let mail = edges.filter_map(|need| match need {
        Need::Mail(mail, _) => Some(mail),
        _ => None,
    });
    mail.collect()
}

pub(super) fn reduce(graphs: &Graphs<'_>, aim: &Aim, threads: usize) -> Reduced {
    let mut sends: Vec<Vec<MailId>> =
        graphs.sends.values.iter().map(|list| Vec::clone(list)).collect();
    let mut list_of: Vec<u32> = (0..sends.len() as u32).collect();
    // What nobody can ever need is left out at once: it would keep states apart in the first pass,
    // which is the dear one.
    let wanted = needed(graphs.nodes.iter().flat_map(|g| g.edges.iter().map(|e| e.need)));
    forget(&wanted, &mut sends, &mut list_of);
    let nodes = graphs.nodes.iter().zip(&aim.labels);
    let nodes = nodes.map(|(graph, labels)| Classes {
        of: (0..graph.states.len() as u32).collect(),
        labels: labels.clone(),
        edges: graph
            .edges
            .iter()
            .map(|edge| ClassEdge {
                from: edge.from,
                to: edge.to,
                need: edge.need,
                sends: list_of[edge.sends as usize],
            })
            .filter(|edge| edge.from != edge.to || edge.sends != 0)
            .collect(),
    });
    let mut reduced = Reduced { nodes: nodes.collect(), sends, list_of };
    reduced.join(threads);
    reduced
}

impl Reduced {
    /// The same for one of the boxes only, with what cannot be on the way there left out.
    pub fn only(&self, graphs: &Graphs<'_>, side: Label) -> Reduced {
        let mut reduced = self.clone();
        for label in reduced.nodes.iter_mut().flat_map(|classes| &mut classes.labels) {
            *label &= side;
        }
        while prune(graphs, &mut reduced, side) {
            reduced.join(1);
        }
        reduced.join(1);
        reduced
    }

    /// Joins what is alike and forgets what nobody needs, until nothing changes.
    fn join(&mut self, threads: usize) {
        let Reduced { nodes, sends, list_of } = self;
        loop {
            let before: usize = nodes.iter().map(|classes| classes.labels.len()).sum();
            if threads > 1 && before > 4_096 {
                std::thread::scope(|scope| {
                    for classes in nodes.iter_mut() {
                        scope.spawn(|| join(classes));
                    }
                });
            } else {
                nodes.iter_mut().for_each(join);
            }
            let after: usize = nodes.iter().map(|classes| classes.labels.len()).sum();
            let wanted = needed(nodes.iter().flat_map(|c| c.edges.iter().map(|e| e.need)));
            let renamed = forget(&wanted, sends, list_of);
            if let Some(renamed) = &renamed {
                for edge in nodes.iter_mut().flat_map(|classes| &mut classes.edges) {
                    edge.sends = renamed[edge.sends as usize];
                }
                for classes in nodes.iter_mut() {
                    classes.edges.retain(|edge| edge.from != edge.to || edge.sends != 0);
                }
            }
            if after == before && renamed.is_none() {
                return;
            }
        }
    }
}

/// Leaves out of lists what is not wanted; returns what each list is called then, if any changed.
fn forget(
    wanted: &FxHashSet<MailId>,
    sends: &mut Vec<Vec<MailId>>,
    list_of: &mut [u32],
) -> Option<Vec<u32>> {
    if sends.iter().flatten().all(|mail| wanted.contains(mail)) {
        return None;
    }
    let mut lists = Numbers::default();
    let renamed: Vec<u32> = sends
        .iter()
        .map(|list| {
            lists.of(list.iter().copied().filter(|m| wanted.contains(m)).collect::<Vec<_>>())
        })
        .collect();
    *sends = lists.values.iter().map(|list| Vec::clone(list)).collect();
    list_of.iter_mut().for_each(|list| *list = renamed[*list as usize]);
    Some(renamed)
}

/// What tells classes apart: where edges lead, with what they need and send. The class itself is
/// called `ITSELF`.
type Signature = (Label, Ways);
type Ways = Vec<(Need, u32, u32)>;
const ITSELF: u32 = u32::MAX;

/// Makes one of what is alike.
fn join(classes: &mut Classes) {
    let states = classes.labels.len();
    classes.edges.sort_unstable();
    classes.edges.dedup();
    let successors = Successors::new(states, classes.edges.iter().map(|edge| edge.from));
    let to = |edge: u32| classes.edges[edge as usize].to;
    let components = Components::new(states, &successors, to);
    let joined = match components.is_acyclic() {
        true => backwards(classes, &successors, &components.order),
        false => refine(classes, &successors),
    };
    let count = joined.iter().max().map_or(0, |most| *most as usize + 1);
    if count == states {
        return;
    }
    let mut labels = vec![0; count];
    for (state, class) in joined.iter().enumerate() {
        labels[*class as usize] = classes.labels[state];
    }
    for edge in &mut classes.edges {
        edge.from = joined[edge.from as usize];
        edge.to = joined[edge.to as usize];
    }
    classes.edges.retain(|edge| edge.from != edge.to || edge.sends != 0);
    classes.edges.sort_unstable();
    classes.edges.dedup();
    classes.of.iter_mut().for_each(|class| *class = joined[*class as usize]);
    classes.labels = labels;
}

/// The classes of a graph without circles, from its ends back: what follows a state is known
/// when it is looked at. A state joins the class of a successor if, but for the edges to that class that
/// send nothing, it does just what that class does.
fn backwards(classes: &Classes, successors: &Successors, order: &[u32]) -> Vec<u32> {
    let mut class_of = vec![0; classes.labels.len()];
    let mut known: FxHashMap<Signature, u32> = FxHashMap::default();
    let mut signatures: Vec<Signature> = Vec::new();
    let mut edges = Vec::new();
    for &state in order {
        let label = classes.labels[state as usize];
        edges.clear();
        edges.extend(successors.of(state).iter().map(|&edge| {
            let edge = &classes.edges[edge as usize];
            let to = if edge.to == state { ITSELF } else { class_of[edge.to as usize] };
            (edge.need, to, edge.sends)
        }));
        edges.sort_unstable();
        edges.dedup();
        // Without sends, an edge to a class may be one that stays in it.
        let quiet = edges.iter().filter(|edge| edge.2 == 0 && edge.1 != ITSELF);
        let mut near: Vec<u32> = quiet.map(|edge| edge.1).collect();
        near.sort_unstable();
        near.dedup();
        let joins = near.into_iter().find(|&class| {
            let signature = &signatures[class as usize];
            if signature.0 != label || signature.1.len() > edges.len() {
                return false;
            }
            let mut mine: Vec<_> = edges
                .iter()
                .filter(|edge| !(edge.2 == 0 && edge.1 == class))
                .map(|&(need, to, sends)| (need, if to == class { ITSELF } else { to }, sends))
                .collect();
            mine.sort_unstable();
            mine.dedup();
            mine == signature.1
        });
        class_of[state as usize] = joins.unwrap_or_else(|| {
            let signature = (label, edges.clone());
            *known.entry(signature).or_insert_with_key(|signature| {
                signatures.push(signature.clone());
                signatures.len() as u32 - 1
            })
        });
    }
    class_of
}

/// The classes of any graph: told apart by label at first, then again and again by where edges lead.
fn refine(classes: &Classes, successors: &Successors) -> Vec<u32> {
    let mut class_of = Vec::with_capacity(classes.labels.len());
    let mut by_label: FxHashMap<Label, u32> = FxHashMap::default();
    for label in &classes.labels {
        let next = by_label.len() as u32;
        class_of.push(*by_label.entry(*label).or_insert(next));
    }
    let mut count = by_label.len();
    loop {
        let mut known: FxHashMap<(u32, Ways), u32> = FxHashMap::default();
        let next: Vec<u32> = (0..classes.labels.len() as u32)
            .map(|state| {
                let mine = class_of[state as usize];
                let edges = successors.of(state).iter().map(|&edge| {
                    let edge = &classes.edges[edge as usize];
                    (edge.need, class_of[edge.to as usize], edge.sends)
                });
                let mut edges: Vec<_> =
                    edges.filter(|edge| edge.1 != mine || edge.2 != 0).collect();
                edges.sort_unstable();
                edges.dedup();
                let next = known.len() as u32;
                *known.entry((mine, edges)).or_insert(next)
            })
            .collect();
        let found = known.len();
        class_of = next;
        if found == count {
            return class_of;
        }
        count = found;
    }
}
