//! Can `b` come before `a`? Asked of a SAT solver, which is told as little as possible.
//!
//! For two sections that exclude each other a variable says which comes first. There can be very many of them, so there
//! are none at first. Again and again, the points of the window are ordered: after what is known, `a` after `b`, and sections
//! as the solver chose.
//!
//! - If that is a cycle, the choices on it cannot be made together, which is a clause. Cycles have at least one
//!   edge against the order of the trace, because all known order goes along with it; so they are looked for at those edges only, and
//!   those with the fewest choices first.
//! - Otherwise there is an order. If two sections overlap in it that exclude each other, they get a variable: nothing
//!   was said of them yet.
//! - If none do, `b` can come before `a`, and this is how.
//!
//! There are finitely many variables, and each clause rules out what the solver chose, so it ends; clauses tell only what
//! holds in every order, so if the solver finds that they cannot be met, there is no order. A cycle without any
//! choice says so, too.
//!
//! Of the orders, one is taken that needs little luck: first what has to come before `b`, then the rest of sections that are not over then
//! (unless they have to wait for `a`), then the others; each as in the trace.

use super::model::{Role, Section};
use super::window::{Graph, Order};
use allways_bmc::solver::{Answer, Embedded, Sat, Stop};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// At most so many edges against the trace are looked at for cycles at once.
const CYCLES: usize = 16;
/// At most so many clauses of one such edge.
const CLAUSES: usize = 256;
/// At most so many new variables at once.
const VARIABLES: usize = 4096;

/// What was found out.
pub(super) enum Asked {
    /// It cannot.
    Never,
    /// It can, if the nodes come in this order.
    Possible(Vec<u32>),
    /// There was no time.
    Stopped,
}

/// Edges that are chosen: to where, and by which literal. That of the question is 0.
#[derive(Default)]
struct Chosen {
    before: FxHashMap<u32, Vec<(u32, i32)>>,
    after: FxHashMap<u32, Vec<(u32, i32)>>,
    /// Those against the trace.
    against: Vec<(u32, u32, i32)>,
    all: Vec<(u32, u32, i32)>,
}

impl Chosen {
    fn add(&mut self, from: u32, to: u32, literal: i32) {
        self.after.entry(from).or_default().push((to, literal));
        self.before.entry(to).or_default().push((from, literal));
        self.all.push((from, to, literal));
        if from > to {
            self.against.push((from, to, literal));
        }
    }
}

struct Question<'q> {
    order: &'q Order<'q>,
    graph: &'q Graph,
    /// Pairs of sections that have a variable: the one that comes first in the trace is first.
    pairs: Vec<(u32, u32)>,
    known: FxHashSet<(u32, u32)>,
    /// Of each pair, whether a clause has it. If none has, the solver has no opinion, and it is as in the trace.
    is_told: Vec<bool>,
}

/// Asks whether `b` can come before `a`.
pub(super) fn ask(order: &Order<'_>, graph: &Graph, solver: Embedded, stop: &Stop) -> Asked {
    // Started when there is something to say.
    let mut started: Option<Box<dyn Sat>> = None;
    let mut question = Question {
        order,
        graph,
        pairs: Vec::new(),
        known: FxHashSet::default(),
        is_told: Vec::new(),
    };
    loop {
        if stop.is_due() {
            return Asked::Stopped;
        }
        let mut chosen = Chosen::default();
        chosen.add(graph.b, graph.a, 0);
        if let Some(solver) = &mut started {
            match solver.solve(&[], stop) {
                Answer::Unmet => return Asked::Never,
                Answer::Stopped => return Asked::Stopped,
                Answer::Met => {}
            }
        }
        for (place, &(first, second)) in question.pairs.iter().enumerate() {
            let variable = place as i32 + 1;
            let (first, second) = (question.section(first), question.section(second));
            let value = started.as_ref().is_none_or(|solver| solver.value(variable));
            if question.is_told[place] && !value {
                chosen.add(graph.node(second.end), graph.node(first.begin), -variable);
            } else {
                chosen.add(graph.node(first.end), graph.node(second.begin), variable);
            }
        }
        let Some(nodes) = question.sort(&chosen) else {
            for clause in question.cycles(&chosen) {
                if clause.is_empty() {
                    return Asked::Never;
                }
                clause
                    .iter()
                    .for_each(|lit| question.is_told[lit.unsigned_abs() as usize - 1] = true);
                started.get_or_insert_with(|| solver.start()).clause(&clause);
            }
            continue;
        };
        if !question.overlaps(&nodes) {
            return Asked::Possible(nodes);
        }
    }
}

impl Question<'_> {
    fn section(&self, number: u32) -> &Section {
        &self.order.model.sections[number as usize]
    }

    /// Marks all that has to come before a node, and is not marked. If one of them is the one that must not
    /// be, nothing is marked.
    fn mark(
        &self,
        chosen: &Chosen,
        node: u32,
        marks: &mut [u8],
        mark: u8,
        not: Option<u32>,
    ) -> Vec<u32> {
        let mut marked = Vec::new();
        let mut pending = vec![node];
        while let Some(node) = pending.pop() {
            if marks[node as usize] != u8::MAX {
                continue;
            }
            if Some(node) == not {
                marked.iter().for_each(|&node: &u32| marks[node as usize] = u8::MAX);
                return Vec::new();
            }
            marks[node as usize] = mark;
            marked.push(node);
            pending.extend(self.graph.before.of(node));
            pending.extend(chosen.before.get(&node).into_iter().flatten().map(|edge| edge.0));
        }
        marked
    }

    /// An order of all nodes; `None` if there is a cycle.
    fn sort(&self, chosen: &Chosen) -> Option<Vec<u32>> {
        let graph = self.graph;
        let mut marks = vec![u8::MAX; graph.nodes.len()];
        let mut pending = self.mark(chosen, graph.b, &mut marks, 0, None);
        while let Some(node) = pending.pop() {
            if let Role::Begin(section) = graph.roles[node as usize] {
                let end = graph.node(self.section(section).end);
                pending.extend(self.mark(chosen, end, &mut marks, 1, Some(graph.a)));
            }
        }
        let mut waits: Vec<u32> =
            (0..graph.nodes.len() as u32).map(|node| graph.before.of(node).len() as u32).collect();
        chosen.all.iter().for_each(|&(_, to, _)| waits[to as usize] += 1);
        let ready = (0..graph.nodes.len() as u32).filter(|&node| waits[node as usize] == 0);
        let mut ready: BinaryHeap<_> =
            ready.map(|node| Reverse((marks[node as usize], node))).collect();
        let mut nodes = Vec::with_capacity(graph.nodes.len());
        while let Some(Reverse((_, node))) = ready.pop() {
            nodes.push(node);
            let chosen = chosen.after.get(&node).into_iter().flatten().map(|edge| edge.0);
            for next in graph.after.of(node).iter().copied().chain(chosen) {
                waits[next as usize] -= 1;
                if waits[next as usize] == 0 {
                    ready.push(Reverse((marks[next as usize], next)));
                }
            }
        }
        (nodes.len() == graph.nodes.len()).then_some(nodes)
    }

    /// Whether sections overlap that exclude each other; such pairs get variables.
    fn overlaps(&mut self, nodes: &[u32]) -> bool {
        let mut open: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        let before = self.pairs.len();
        for &node in nodes {
            match self.graph.roles[node as usize] {
                Role::Begin(number) => {
                    let section = *self.section(number);
                    let open = open.entry(section.lock).or_default();
                    for &other in open.iter() {
                        let is_first = other < number;
                        let pair = if is_first { (other, number) } else { (number, other) };
                        if section.excludes(self.section(other)) && self.known.insert(pair) {
                            self.pairs.push(pair);
                            self.is_told.push(false);
                        }
                    }
                    open.push(number);
                }
                Role::End(number) => {
                    let open = open.entry(self.section(number).lock).or_default();
                    open.retain(|&other| other != number);
                }
                Role::Other => {}
            }
            if self.pairs.len() - before > VARIABLES {
                break;
            }
        }
        self.pairs.len() > before
    }

    /// Clauses, each of which forbids the choices on a cycle.
    fn cycles(&self, chosen: &Chosen) -> FxHashSet<Vec<i32>> {
        let mut clauses = FxHashSet::default();
        let mut count = 0;
        for &(from, to, literal) in &chosen.against {
            let forth =
                self.search(to, |node| (self.graph.after.of(node), chosen.after.get(&node)));
            if !forth.contains_key(&from) {
                continue;
            }
            let mut forbid = |literals: Vec<i32>| {
                let mut clause: Vec<i32> =
                    literals.into_iter().filter(|&literal| literal != 0).map(|lit| -lit).collect();
                clause.sort_unstable();
                clause.dedup();
                clauses.insert(clause);
            };
            let mut shortest = path(&forth, from);
            shortest.push(literal);
            let is_single = shortest.iter().filter(|&&literal| literal != 0).count() <= 1;
            forbid(shortest);
            if !is_single {
                let back = self
                    .search(from, |node| (self.graph.before.of(node), chosen.before.get(&node)));
                let through = chosen.all.iter().filter(|(first, second, other)| {
                    *other != literal && forth.contains_key(first) && back.contains_key(second)
                });
                for (first, second, other) in through.take(CLAUSES) {
                    let mut literals = path(&forth, *first);
                    literals.extend(path(&back, *second));
                    literals.extend([*other, literal]);
                    forbid(literals);
                }
            }
            count += 1;
            if count == CYCLES {
                break;
            }
        }
        clauses
    }

    /// All nodes that can be reached from one, and from which other and by which literal (0 if by none), with as
    /// few choices as possible.
    fn search<'e>(
        &self,
        from: u32,
        edges: impl Fn(u32) -> (&'e [u32], Option<&'e Vec<(u32, i32)>>),
    ) -> FxHashMap<u32, (u32, i32)> {
        let mut came: FxHashMap<u32, (u32, i32)> = FxHashMap::default();
        let mut pending = VecDeque::from([(from, from, 0)]);
        while let Some((node, by, literal)) = pending.pop_front() {
            if came.contains_key(&node) {
                continue;
            }
            came.insert(node, (by, literal));
            let (known, chosen) = edges(node);
            known.iter().for_each(|&next| pending.push_front((next, node, 0)));
            for &(next, literal) in chosen.into_iter().flatten() {
                pending.push_back((next, node, literal));
            }
        }
        came
    }
}

/// The literals on the way to a node.
fn path(came: &FxHashMap<u32, (u32, i32)>, mut node: u32) -> Vec<i32> {
    let mut literals = Vec::new();
    while let Some(&(by, literal)) = came.get(&node) {
        if literal != 0 {
            literals.push(literal);
        }
        if by == node {
            break;
        }
        node = by;
    }
    literals
}
