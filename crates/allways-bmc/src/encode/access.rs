//! What instructions read and write: the summaries that dependencies are made of (section 4.5.2).
//!
//! A program counter is read and written by every step of its process and by nobody else; it is told by who moves. Of
//! arrays the element counts, which is known from the index in the state of the step: that is the index equality of the
//! thesis, one element at a time.

use super::Unrolling;
use crate::circuit::{Bits, FALSE, Graph, Lit, bits};
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
pub(crate) struct Accesses(Vec<Vec<Vec<Access>>>);

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

impl Unrolling<'_> {
    /// What an instruction makes of cells in a state: which, whether, and what they become. Each cell at most once.
    pub(super) fn changes(
        &mut self,
        state: usize,
        instruction: &Instruction,
    ) -> Vec<(usize, Lit, Bits)> {
        let mut changes: Vec<(usize, Lit, Bits)> = Vec::new();
        for update in &instruction.updates {
            let when = self.condition(state, update.when);
            let value = self.value(state, update.value);
            let first = self.cells.of(update.variable);
            let targets: Vec<(usize, Lit)> = match update.index {
                None => vec![(first, when)],
                Some(index) => {
                    let length = self.program.variable(update.variable).length.unwrap_or(1);
                    let is = self.decode(state, index, length);
                    let elements = is[..length as usize].iter().enumerate();
                    elements.map(|(e, &is)| (first + e, self.graph.and(when, is))).collect()
                }
            };
            for (cell, when) in targets.into_iter().filter(|(_, when)| *when != FALSE) {
                match changes.iter_mut().find(|(known, ..)| *known == cell) {
                    // The last one counts.
                    Some((_, any, known)) => {
                        *known = bits::either(&mut self.graph, when, &value, known);
                        *any = self.graph.or(*any, when);
                    }
                    None => changes.push((cell, when, value.clone())),
                }
            }
        }
        changes
    }

    /// Finds out what a step reads, if nobody has asked yet.
    pub(super) fn find_reads(&mut self, step: usize) {
        if self.steps[step].reads.is_none() {
            let mut readers = Readers::new(self.cells.count(), self.program.processes.len());
            for process in 0..self.program.processes.len() {
                for location in 0..self.program.processes[process].code.len() {
                    let at = self.states[step].at[process][location];
                    let fires = self.graph.and(self.steps[step].go[process], at);
                    if fires != FALSE {
                        let accesses = std::mem::take(&mut self.accesses.0[process][location]);
                        self.touch(step, fires, &accesses, &mut readers);
                        self.accesses.0[process][location] = accesses;
                    }
                }
            }
            self.steps[step].reads = Some(readers.any(&mut self.graph));
        }
    }

    /// Adds a reader to what it reads in a state.
    pub(super) fn touch(
        &mut self,
        state: usize,
        reader: Lit,
        accesses: &[Access],
        readers: &mut Readers,
    ) {
        for access in accesses {
            match *access {
                Access::Variable(variable) => readers.cells[self.cells.of(variable)].push(reader),
                Access::Element(variable, index) => {
                    let length = self.program.variable(variable).length.unwrap_or(1);
                    let is = self.decode(state, index, length);
                    let first = self.cells.of(variable);
                    for (element, &is) in is[..length as usize].iter().enumerate() {
                        let reads = self.graph.and(reader, is);
                        if reads != FALSE {
                            readers.cells[first + element].push(reads);
                        }
                    }
                }
                Access::Location(process) => readers.counters[process as usize].push(reader),
            }
        }
    }
}

/// Who reads each cell and each program counter.
pub(super) struct Readers {
    cells: Vec<Vec<Lit>>,
    counters: Vec<Vec<Lit>>,
}

impl Readers {
    pub fn new(cells: usize, processes: usize) -> Self {
        Readers { cells: vec![Vec::new(); cells], counters: vec![Vec::new(); processes] }
    }

    /// Whether anybody reads them.
    pub fn any(self, graph: &mut Graph) -> Reads {
        let mut any =
            |lists: Vec<Vec<Lit>>| lists.into_iter().map(|list| graph.any(list)).collect();
        Reads { cells: any(self.cells), counters: any(self.counters) }
    }
}

/// Whether each cell and each program counter is read. That a step reads its own process' counter goes without saying.
#[derive(Clone)]
pub(crate) struct Reads {
    pub cells: Vec<Lit>,
    pub counters: Vec<Lit>,
}
