//! Which instructions a goal can depend on.
//!
//! What matters are the cells that the goal reads. An instruction matters if it may write what matters, or if the
//! same process may get from there to one that does (its program counter is read there); then what it may read matters,
//! too. In a projection every step is needed ([`crate::encode`], `project.rs`), and by induction from the last step to the first,
//! what is needed is what matters here. So all other steps can be left out of what is encoded.
//!
//! It pays to ask for less: a goal that is reached when one of several conditions holds is split into these, as each
//! may depend on fewer processes than all of them together.

use super::access::{Access, accesses};
use super::walk::{Footprints, Place, Span};
use crate::program::{Binary, ExprId, Exprs, Node, Origin, Unary};
use rustc_hash::FxHashSet;

/// More conditions than this are not told apart.
const MAX_PARTS: usize = 64;

/// By process and location: whether it matters.
pub(crate) type Slice = Vec<Vec<bool>>;

/// A condition, or its opposite.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    pub expr: ExprId,
    pub is_negated: bool,
}

/// The conditions of which at least one holds if this one does.
pub(crate) fn parts(exprs: &Exprs, target: ExprId) -> Vec<Part> {
    let whole = Part { expr: target, is_negated: false };
    let mut stack = vec![whole];
    let mut parts = Vec::new();
    while let Some(part) = stack.pop() {
        if parts.len() + stack.len() >= MAX_PARTS {
            return vec![whole];
        }
        let Part { expr, is_negated } = part;
        match (exprs.node(expr), is_negated) {
            (Node::Unary(Unary::Not, expr), _) => {
                stack.push(Part { expr, is_negated: !is_negated })
            }
            (Node::Binary(Binary::Or, a, b), false) | (Node::Binary(Binary::And, a, b), true) => {
                stack.extend([b, a].map(|expr| Part { expr, is_negated }));
            }
            _ => parts.push(part),
        }
    }
    parts
}

/// What a condition of a goal reads: cells, and program counters. Each once, sorted.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Seed {
    spans: Vec<Span>,
    counters: Vec<usize>,
}

impl Seed {
    /// What a condition of a goal reads.
    pub fn new(footprints: &Footprints<'_>, origin: Origin, target: ExprId) -> Self {
        let Footprints { program, cells, touched, .. } = footprints;
        let mut seed = Seed { spans: Vec::new(), counters: Vec::new() };
        if let Origin::Check(process, location, _) = origin {
            // It is asked in states in which the process stands there, of which more is known than of others.
            seed.counters.push(process);
            if let Some(at) = &touched[process][location as usize] {
                seed.spans.extend(&at.checked);
                seed.counters.extend(&at.counters);
            }
        } else {
            for access in accesses(&program.exprs, [target]) {
                match access {
                    Access::Variable(variable) => seed.spans.push((cells.of(variable), 1)),
                    Access::Element(variable, index) => {
                        let (first, length) =
                            (cells.of(variable), program.variable(variable).length.unwrap_or(1));
                        seed.spans.push(match program.exprs.constant(index) {
                            Some(index) if (0..i64::from(length)).contains(&index) => {
                                (first + index as usize, 1)
                            }
                            // Whatever the index is in the last state.
                            _ => (first, length as usize),
                        });
                    }
                    Access::Location(process) => seed.counters.push(process as usize),
                }
            }
        }
        seed.spans.sort_unstable();
        seed.spans.dedup();
        seed.counters.sort_unstable();
        seed.counters.dedup();
        seed
    }
}

/// Which instructions can change what is read there.
pub(crate) fn slice(footprints: &Footprints<'_>, seed: &Seed) -> Slice {
    let touched = &footprints.touched;
    let mut found = Search {
        footprints,
        slice: touched.iter().map(|at| vec![false; at.len()]).collect(),
        spans: FxHashSet::default(),
        counters: vec![false; touched.len()],
        pending: Vec::new(),
    };
    seed.spans.iter().for_each(|span| found.span_matters(*span));
    seed.counters.iter().for_each(|process| found.counter_matters(*process));
    while let Some((process, location)) = found.pending.pop() {
        // What gets there matters, and so does what is read there.
        for before in &footprints.before[process][location] {
            found.matters((process, *before));
        }
        let Some(at) = &touched[process][location] else { continue };
        at.reads.iter().for_each(|span| found.span_matters(*span));
        at.counters.iter().for_each(|other| found.counter_matters(*other));
    }
    found.slice
}

struct Search<'f, 'a> {
    footprints: &'f Footprints<'a>,
    slice: Slice,
    /// What matters.
    spans: FxHashSet<Span>,
    counters: Vec<bool>,
    /// What matters, but what follows from that was not looked at yet.
    pending: Vec<Place>,
}

impl Search<'_, '_> {
    fn matters(&mut self, place: Place) {
        if !std::mem::replace(&mut self.slice[place.0][place.1], true) {
            self.pending.push(place);
        }
    }

    fn span_matters(&mut self, (first, count): Span) {
        if count == 0 || !self.spans.insert((first, count)) {
            return;
        }
        let footprints = self.footprints;
        let variable = footprints.cells.variable[first].0 as usize;
        let overlaps = |span: &&Span| span.0 < first + count && first < span.0 + span.1;
        for span in footprints.written[variable].iter().filter(overlaps) {
            for place in footprints.writers.get(span).into_iter().flatten() {
                self.matters(*place);
            }
        }
    }

    fn counter_matters(&mut self, process: usize) {
        if !std::mem::replace(&mut self.counters[process], true) {
            for (location, at) in self.footprints.touched[process].iter().enumerate() {
                if at.is_some() {
                    self.matters((process, location));
                }
            }
        }
    }
}
