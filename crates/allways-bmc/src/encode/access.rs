//! What steps read and write, as circuits: which elements of arrays depends on the state.

use super::Unrolling;
use crate::circuit::{Bits, FALSE, Graph, Lit, bits};
use crate::footprint::Access;
use crate::program::Instruction;

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
                    if fires != FALSE && !self.is_left_out(process, location) {
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
