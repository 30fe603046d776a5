//! Can `b` come without `a` before it? Asked of a SAT solver, which is told as little as possible.
//!
//! For two sections that exclude each other a variable says which comes first: as a whole, before the other begins. There can be very
//! many of them, so there are none at first. Again and again, all points of the window are gathered that have to come before
//! `b`, by what is known and as the solver chose.
//!
//! - If `a` is among them, the choices on the way from `a` to `b` cannot be made together, which is a clause.
//! - If there is a cycle among them, the choices on it and on the way from it to `b` cannot be made together. Cycles have at least one
//!   edge against the order of the trace, because all known order goes along with it; so they are looked for at those edges only, and
//!   those with the fewest choices first.
//! - Otherwise they can be ordered. If two sections overlap then that exclude each other, they get a variable: nothing
//!   was said of them yet.
//! - If none do, this is the beginning of a run, up to `b` and without `a`.
//!
//! **Complete**: a beginning tells for each two sections that exclude each other which comes first: of two that begin in it, the one
//! that does; of one that does and one that does not, the former. With these choices, only steps of the beginning have to come before `b`: a choice
//! adds a step before the beginning of a section only if that is in it, and then the step is, too. So no clause forbids them. A section without an end
//! comes before no other; that it does so is no choice, but as good as a step that never comes. There are finitely many variables, and
//! each clause rules out what the solver chose, so it ends.

use super::model::{OPEN, Role, Section};
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
    /// It can, if these nodes come in this order, up to `b`.
    Possible(Vec<u32>),
    /// There was no time.
    Stopped,
}

/// Edges that are chosen: to where, and by which literal.
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

/// Asks whether `b` can come without `a` before it.
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
            let (one, other, literal) = if question.is_told[place] && !value {
                (second, first, -variable)
            } else {
                (first, second, variable)
            };
            // One without an end comes before no other: then the other does not begin.
            let end = if one.end == OPEN { graph.a } else { graph.node(one.end) };
            chosen.add(end, graph.node(other.begin), literal);
        }
        let back =
            question.search(graph.b, |node| (graph.before.of(node), chosen.before.get(&node)));
        let mut needed = vec![false; graph.nodes.len()];
        back.keys().for_each(|&node| needed[node as usize] = true);
        let Some(nodes) = question.sort(&chosen, &needed) else {
            for clause in question.conflicts(&chosen, &back) {
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

    /// All that has to come before `b`, and `b`, in an order; `None` if `a` is among them or there is a cycle.
    fn sort(&self, chosen: &Chosen, needed: &[bool]) -> Option<Vec<u32>> {
        let graph = self.graph;
        if needed[graph.a as usize] {
            return None;
        }
        let is_needed = |node: &u32| needed[*node as usize];
        let mut waits = vec![0_u32; graph.nodes.len()];
        let all = 0..graph.nodes.len() as u32;
        for node in all.clone().filter(is_needed) {
            // All of them are needed as well.
            let chosen = chosen.before.get(&node).map_or(0, Vec::len);
            waits[node as usize] = (graph.before.of(node).len() + chosen) as u32;
        }
        let ready = all.clone().filter(|node| is_needed(node) && waits[*node as usize] == 0);
        let mut ready: BinaryHeap<_> = ready.map(Reverse).collect();
        let mut nodes = Vec::new();
        while let Some(Reverse(node)) = ready.pop() {
            nodes.push(node);
            let chosen = chosen.after.get(&node).into_iter().flatten().map(|edge| edge.0);
            for next in graph.after.of(node).iter().copied().chain(chosen).filter(is_needed) {
                waits[next as usize] -= 1;
                if waits[next as usize] == 0 {
                    ready.push(Reverse(next));
                }
            }
        }
        (nodes.len() == all.filter(is_needed).count()).then_some(nodes)
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

    /// Clauses, each of which forbids choices by which `b` cannot be reached, or not without `a`.
    fn conflicts(&self, chosen: &Chosen, back: &FxHashMap<u32, (u32, i32)>) -> FxHashSet<Vec<i32>> {
        let mut clauses = FxHashSet::default();
        let mut count = 0;
        // From `b` to `a` there is no edge; but as `a` is not to come before `b`, it is as if there were.
        let question = (self.graph.b, self.graph.a, 0);
        let against = chosen.against.iter().copied();
        for (from, to, literal) in std::iter::once(question).chain(against) {
            // What is not needed may be as it likes.
            if !back.contains_key(&to) {
                continue;
            }
            let forth =
                self.search(to, |node| (self.graph.after.of(node), chosen.after.get(&node)));
            if !forth.contains_key(&from) {
                continue;
            }
            let why = path(back, to);
            let mut forbid = |mut literals: Vec<i32>| {
                literals.extend(if literal == 0 { &[][..] } else { &why });
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
