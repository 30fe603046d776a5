//! What instructions read, as it is written: the summaries that dependencies are made of (section 4.5.2).
//!
//! A program counter is read and written by every step of its process and by nobody else; it is told by who moves. Of
//! arrays the element counts, which is known from the index in the state of the step: that is the index equality of the
//! thesis, one element at a time.

use crate::program::{ExprId, Exprs, Instruction, Node, Program, VarId};
use rustc_hash::FxHashSet;

/// A variable that is read; of an array, with the index.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Access {
    Variable(VarId),
    Element(VarId, ExprId),
    Location(u32),
}

/// What each instruction reads, by process and location.
pub(crate) struct Accesses(pub Vec<Vec<Vec<Access>>>);

impl Accesses {
    pub fn new(program: &Program) -> Self {
        let of_process = program.processes.iter().map(|process| {
            let code = process.code.iter();
            code.map(|instruction| reads(&program.exprs, instruction)).collect()
        });
        Accesses(of_process.collect())
    }
}

/// Everything that an instruction reads: what it depends on whether it can be performed and what it does.
pub(crate) fn reads(exprs: &Exprs, instruction: &Instruction) -> Vec<Access> {
    let updates = instruction.updates.iter();
    let updates =
        updates.flat_map(|update| update.index.into_iter().chain([update.when, update.value]));
    let next = instruction.next.iter().map(|(condition, _)| *condition);
    accesses(exprs, [instruction.guard].into_iter().chain(updates).chain(next))
}

/// Everything that expressions read.
pub(crate) fn accesses(exprs: &Exprs, roots: impl IntoIterator<Item = ExprId>) -> Vec<Access> {
    let mut seen: FxHashSet<ExprId> = FxHashSet::default();
    let mut found = Vec::new();
    let mut stack: Vec<ExprId> = roots.into_iter().collect();
    while let Some(expr) = stack.pop() {
        if !seen.insert(expr) {
            continue;
        }
        match exprs.node(expr) {
            Node::Const(_) | Node::Input(_) => {}
            Node::Var(variable) => found.push(Access::Variable(variable)),
            Node::At(process, _) => found.push(Access::Location(process)),
            Node::Element(variable, index) => {
                found.push(Access::Element(variable, index));
                stack.push(index);
            }
            Node::Unary(_, a) => stack.push(a),
            Node::Binary(_, a, b) => stack.extend([a, b]),
            Node::If(a, b, c) => stack.extend([a, b, c]),
        }
    }
    found.sort_by_key(|access| match *access {
        Access::Variable(variable) => (0, variable.0, 0),
        Access::Element(variable, index) => (1, variable.0, index.index()),
        Access::Location(process) => (2, process, 0),
    });
    found.dedup();
    found
}
