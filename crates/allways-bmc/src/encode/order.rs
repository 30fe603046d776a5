//! Partial order: of steps that do not depend on each other, one order only (the thesis names MPOR as orthogonal).
//!
//! Two neighbouring steps of different processes are independent if neither writes what the other reads or writes; then
//! they can be performed the other way round, to the same end. Every run can be made, by such exchanges, into one in
//! which the first of two independent neighbours belongs to the process with the lower number: exchange as long as
//! there are neighbours in the wrong order; each exchange makes the list of processes lexicographically smaller, so it
//! ends. What is left out here are runs with independent neighbours in the wrong order. The goal only sees the last
//! state, which is the same.
//!
//! It can be combined with projections: exchanging independent neighbours changes neither what any step reads nor who
//! reads and overwrites what any step wrote, so every step of a projection is still needed.

use super::Unrolling;
use crate::circuit::Lit;

impl Unrolling<'_> {
    /// Clauses by which the last step and the one before it are not independent and in the wrong order.
    pub fn keep_order(&mut self) {
        let Some(before) = self.depth().checked_sub(2) else { return };
        let after = before + 1;
        self.find_reads(before);
        self.find_reads(after);
        let Unrolling { graph, steps, .. } = self;
        let (first, second) = (&steps[before], &steps[after]);
        let (Some(reads), Some(later)) = (&first.reads, &second.reads) else { return };
        let mut depends: Vec<Lit> = Vec::new();
        for cell in 0..first.writes.len() {
            let touches = graph.or(later.cells[cell], second.writes[cell]);
            depends.push(graph.and(first.writes[cell], touches));
            depends.push(graph.and(reads.cells[cell], second.writes[cell]));
        }
        for process in 0..first.go.len() {
            depends.push(graph.and(first.go[process], later.counters[process]));
            depends.push(graph.and(reads.counters[process], second.go[process]));
        }
        let depends = graph.any(depends);
        let processes = self.program.processes.len();
        for low in 0..processes {
            for high in low + 1..processes {
                let wrong = [self.steps[before].go[high], self.steps[after].go[low]];
                self.require(vec![!wrong[0], !wrong[1], depends]);
            }
        }
    }
}
