//! What the error reached, as a graph: instructions, objects and threads.
//!
//! An instruction that deviates and writes an object passes the error to it, and one that deviates and reads an object got
//! it from there (or from the address). So paths of the graph are ways that the error can have gone.

use crate::sanitise::{Canonical, ObjectName, Sanitised, Value, accesses};
use rustc_hash::FxHashMap;
use std::fmt::Write;
use std::hash::Hash;

/// What a node is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum NodeKind {
    /// A thread: a place in [`Sanitised::threads`] of the faulty run.
    Thread(u32),
    /// An instruction: its site.
    Instruction(u32),
    /// An object of the faulty run.
    Object(ObjectName),
}

/// Something that the error reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// What it is.
    pub kind: NodeKind,
    /// Its name for people.
    pub label: String,
    /// How many records reached it.
    pub count: u64,
}

/// How the error goes from one node to another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Relation {
    /// A thread performs an instruction.
    Performs,
    /// An instruction writes an object.
    Writes,
    /// An object is read by an instruction.
    IsRead,
    /// A thread has created another.
    Creates,
}

/// A way that the error can have gone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Edge {
    /// From which node: a place in [`Spread::nodes`].
    pub from: usize,
    /// To which.
    pub to: usize,
    /// How.
    pub relation: Relation,
    /// How many records did that.
    pub count: u64,
}

/// What the error reached.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Spread {
    /// Threads, instructions and objects, in this order.
    pub nodes: Vec<Node>,
    /// How the error can have gone between them.
    pub edges: Vec<Edge>,
}

impl Spread {
    /// How many threads were reached.
    pub fn threads(&self) -> usize {
        self.count(|kind| matches!(kind, NodeKind::Thread(_)))
    }

    /// How many instructions of the program were reached.
    pub fn instructions(&self) -> usize {
        self.count(|kind| matches!(kind, NodeKind::Instruction(_)))
    }

    /// How many objects were reached.
    pub fn objects(&self) -> usize {
        self.count(|kind| matches!(kind, NodeKind::Object(_)))
    }

    fn count(&self, is_counted: impl Fn(NodeKind) -> bool) -> usize {
        self.nodes.iter().filter(|node| is_counted(node.kind)).count()
    }

    /// The graph in the language of Graphviz.
    pub fn to_dot(&self) -> String {
        let mut dot = "digraph spread {\n  rankdir=LR;\n".to_owned();
        for (place, node) in self.nodes.iter().enumerate() {
            let shape = match node.kind {
                NodeKind::Thread(_) => "hexagon",
                NodeKind::Instruction(_) => "box",
                NodeKind::Object(_) => "ellipse",
            };
            let label = node.label.replace('\\', "\\\\").replace('"', "\\\"");
            let count = node.count;
            let _ = writeln!(dot, "  n{place} [shape={shape}, label=\"{label}\\n{count}\"];");
        }
        for Edge { from, to, relation, count } in &self.edges {
            let style = match relation {
                Relation::Performs => "dotted",
                Relation::Creates => "dashed",
                Relation::Writes | Relation::IsRead => "solid",
            };
            let _ = writeln!(dot, "  n{from} -> n{to} [style={style}, label=\"{count}\"];");
        }
        dot.push_str("}\n");
        dot
    }
}

/// Counts while traces are compared.
#[derive(Debug, Default)]
pub(super) struct Builder {
    nodes: FxHashMap<NodeKind, u64>,
    edges: FxHashMap<(NodeKind, NodeKind, Relation), u64>,
}

impl Builder {
    /// The error reached a record of the faulty run.
    pub(super) fn reach(&mut self, faulty: &Sanitised, thread: u32, record: &Canonical<'_>) {
        let thread = NodeKind::Thread(thread);
        count(&mut self.nodes, thread);
        let Some(site) = record.site else { return };
        let Some(known) = faulty.program().sites.get(site as usize) else { return };
        let site = NodeKind::Instruction(site);
        count(&mut self.nodes, site);
        count(&mut self.edges, (thread, site, Relation::Performs));
        let mut last = None;
        for &(place, is_write) in accesses(known.opcode) {
            let Some(&Value::Place { object, .. }) = record.values.get(place) else { continue };
            let object = NodeKind::Object(object);
            if last != Some(object) {
                count(&mut self.nodes, object);
                last = Some(object);
            }
            let edge = match is_write {
                true => (site, object, Relation::Writes),
                false => (object, site, Relation::IsRead),
            };
            count(&mut self.edges, edge);
        }
    }

    /// The graph, in an order that depends on nothing else.
    pub(super) fn build(mut self, faulty: &Sanitised) -> Spread {
        for (place, thread) in (0_u32..).zip(&faulty.threads) {
            let Some(parent) = thread.parent else { continue };
            let (parent, child) = (NodeKind::Thread(parent), NodeKind::Thread(place));
            if self.nodes.contains_key(&parent) && self.nodes.contains_key(&child) {
                self.edges.insert((parent, child, Relation::Creates), 1);
            }
        }
        let mut nodes = self.nodes.into_iter().collect::<Vec<_>>();
        nodes.sort_unstable();
        let places = nodes.iter().enumerate().map(|(place, (kind, _))| (*kind, place));
        let places = places.collect::<FxHashMap<_, _>>();
        let edges = self.edges.into_iter().filter_map(|((from, to, relation), count)| {
            let (from, to) = (*places.get(&from)?, *places.get(&to)?);
            Some(Edge { from, to, relation, count })
        });
        let mut edges = edges.collect::<Vec<_>>();
        edges.sort_unstable_by_key(|edge| (edge.from, edge.to, edge.relation));
        let nodes =
            nodes.into_iter().map(|(kind, count)| Node { kind, label: label(faulty, kind), count });
        Spread { nodes: nodes.collect(), edges }
    }
}

fn count<K: Hash + Eq>(counts: &mut FxHashMap<K, u64>, key: K) {
    *counts.entry(key).or_insert(0) += 1;
}

fn label(faulty: &Sanitised, kind: NodeKind) -> String {
    match kind {
        NodeKind::Thread(place) => match faulty.threads.get(place as usize) {
            Some(thread) => thread.name.clone(),
            None => "T_?".to_owned(),
        },
        NodeKind::Object(object) => faulty.name(object),
        NodeKind::Instruction(site) => match faulty.program().sites.get(site as usize) {
            Some(known) if known.line != 0 => {
                format!("{} {}:{} ({})", known.name, known.file, known.line, known.function)
            }
            Some(known) => format!("{} ({}, site {site})", known.name, known.function),
            None => format!("site {site}"),
        },
    }
}
