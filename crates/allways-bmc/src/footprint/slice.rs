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
use super::walk::Footprints;
use crate::program::{Binary, ExprId, Exprs, Node, Origin, Unary};

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

/// Which instructions a condition of a goal can depend on.
pub(crate) fn slice(footprints: &Footprints<'_>, origin: Origin, target: ExprId) -> Slice {
    let Footprints { program, cells, touched } = footprints;
    let mut matters = vec![false; cells.count()];
    let mut counters = vec![false; program.processes.len()];
    if let Origin::Check(process, location, _) = origin {
        // It is asked in states in which the process stands there, of which more is known than of others.
        counters[process] = true;
        if let Some(at) = &touched[process][location as usize] {
            at.checked.iter().for_each(|&(first, count)| matters[first..][..count].fill(true));
            at.counters.iter().for_each(|&other| counters[other] = true);
        }
    } else {
        for access in accesses(&program.exprs, [target]) {
            match access {
                Access::Variable(variable) => matters[cells.of(variable)] = true,
                // Whatever the index is in the last state.
                Access::Element(variable, _) => {
                    let length = program.variable(variable).length.unwrap_or(1) as usize;
                    matters[cells.of(variable)..][..length].fill(true);
                }
                Access::Location(process) => counters[process as usize] = true,
            }
        }
    }
    let mut slice: Slice = touched.iter().map(|at| vec![false; at.len()]).collect();
    loop {
        let mut is_new = false;
        for (process, locations) in touched.iter().enumerate() {
            // Later locations first: most steps lead forward.
            for (location, at) in locations.iter().enumerate().rev() {
                let Some(at) = at.as_ref().filter(|_| !slice[process][location]) else { continue };
                let is_needed = counters[process]
                    || at
                        .writes
                        .iter()
                        .any(|&(first, count)| matters[first..][..count].contains(&true))
                    || at
                        .next
                        .iter()
                        .any(|&next| slice[process].get(next as usize).copied().unwrap_or(false));
                if is_needed {
                    is_new = true;
                    slice[process][location] = true;
                    for &(first, count) in &at.reads {
                        matters[first..][..count].fill(true);
                    }
                    for &other in &at.counters {
                        counters[other] = true;
                    }
                }
            }
        }
        if !is_new {
            return slice;
        }
    }
}
