//! Projections: only steps that what is looked for depends on (thesis, section 4.4, and C_F of section 4.5.2).
//!
//! A step of a run is *needed* if it writes something that matters after it. What matters at the end is what the goal
//! reads; what matters before a step is what matters after it and what the step reads. A run in which every step is
//! needed is a projection. For each run there is a projection that is no longer and ends in a state that looks the
//! same to the goal (lemma 7): so it is enough to look at projections, and the constraint here leaves only these.
//!
//! The thesis says this by a variable for each *pair* of steps, that the later one reads what the earlier one writes. Read
//! from the end towards the beginning, one bit a cell and step does the same: whether any later step reads it. This is
//! linear in the number of steps, not quadratic. That is [`Projection::Reads`], and it is exactly definition 4.
//!
//! [`Projection::Live`] asks for more: that a later step reads the cell *before* another one overwrites it. Why this is
//! still enough: take any run, and go through its steps from the last to the first with the set of cells that matter, at
//! the end those that the goal reads. Keep a step if it writes a cell that matters; then the cells that it writes no longer
//! matter before it, and those that it reads do. Leave it out otherwise. By induction from the beginning, every step
//! that was kept finds all cells that it reads as they were in the original run: the step that wrote such a cell last
//! in the original run was kept, because the cell mattered after it, and no step that writes it was kept in between that
//! was not there before. Program counters are cells, too: each step of a process reads and writes its own, so what a
//! process did before a step that is kept is kept. Hence what is kept can be performed, in the same order, and what the goal
//! reads at the end is the same. And in the run that is left every step is needed, since the set of cells that matter
//! was made of the kept steps alone.
//!
//! What a step writes here is what it does write (its condition holds, at the element it names), so that it is certain
//! that what was there before is overwritten.

use super::access::Readers;
use super::{Step, Unrolling};
use crate::circuit::{Lit, TRUE};
use crate::footprint::accesses;
use crate::program::ExprId;

/// Which runs are left out because they do more than the goal needs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Projection {
    /// None.
    Off,
    /// Those with a step that writes nothing that the goal or any later step reads: definition 4 of the thesis.
    Reads,
    /// Those with a step that writes nothing that the goal or a later step reads before it is overwritten.
    #[default]
    Live,
}

impl Unrolling<'_> {
    /// Clauses by which every step is needed for a goal in the last state. Each holds only if `active` does.
    pub fn project(&mut self, projection: Projection, goal: &[ExprId], active: Lit) {
        if projection == Projection::Off {
            return;
        }
        let end = self.depth();
        let program = self.program;
        let mut readers = Readers::new(self.cells.count(), program.processes.len());
        self.touch(end, TRUE, &accesses(&program.exprs, goal.iter().copied()), &mut readers);
        let mut matters = readers.any(&mut self.graph);

        for step in (0..end).rev() {
            self.find_reads(step);
            let Unrolling { graph, steps, .. } = self;
            let Step { go, idle, writes, reads: Some(reads) } = &steps[step] else { return };
            let mut needed = vec![!active, *idle];
            for (process, later) in matters.counters.iter_mut().enumerate() {
                needed.push(graph.and(go[process], *later));
                // Who moves reads its own counter, so what was there before is overwritten, but not unread.
                *later = graph.any([go[process], reads.counters[process], *later]);
            }
            for (cell, later) in matters.cells.iter_mut().enumerate() {
                needed.push(graph.and(writes[cell], *later));
                let kept = match projection {
                    Projection::Live => graph.and(*later, !writes[cell]),
                    _ => *later,
                };
                *later = graph.or(reads.cells[cell], kept);
            }
            self.require(needed);
        }
    }
}
