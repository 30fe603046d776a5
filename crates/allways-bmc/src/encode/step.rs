//! From one state to the next.

use super::access::Reads;
use super::value::Memo;
use super::{Beginning, Dummies, StateBits, Unrolling};
use crate::circuit::{Bits, FALSE, Lit, bits};

/// Of so many, that no two hold is said of each pair.
const FEW: usize = 20;

/// One step of the run: who moves, and what that reads and writes.
pub(crate) struct Step {
    /// By process: whether it is the one that moves.
    pub go: Vec<Lit>,
    /// Whether nobody moves.
    pub idle: Lit,
    /// By cell: whether it is written.
    pub writes: Vec<Lit>,
    /// What is read. Nothing, until somebody asks.
    pub reads: Option<Reads>,
}

impl Unrolling<'_> {
    /// The first state.
    pub(super) fn begin(&mut self, beginning: Beginning) {
        let mut values = Vec::new();
        for variable in &self.program.variables {
            let width = variable.kind.bits();
            for initial in &variable.initial {
                values.push(match initial.filter(|_| beginning == Beginning::Initial) {
                    Some(value) => bits::constant(value, width),
                    None => (0..width).map(|_| self.graph.input()).collect(),
                });
            }
        }
        let mut at: Vec<Vec<Lit>> = Vec::new();
        for process in &self.program.processes {
            let locations = process.code.len() + 1;
            at.push(match beginning {
                Beginning::Initial => (0..locations).map(|place| Lit::from(place == 0)).collect(),
                Beginning::Anywhere => (0..locations).map(|_| self.graph.input()).collect(),
            });
        }
        if beginning == Beginning::Anywhere {
            for locations in &at {
                self.exactly_one(locations);
            }
        }
        self.states.push(StateBits { values, at, memo: Memo::default() });
    }

    fn exactly_one(&mut self, lits: &[Lit]) {
        self.require(lits.to_vec());
        if lits.len() > FEW {
            // Not one after another.
            let mut before = FALSE;
            for &lit in lits {
                self.require(vec![!before, !lit]);
                before = self.graph.or(before, lit);
            }
            return;
        }
        for (place, &a) in lits.iter().enumerate() {
            for &b in &lits[..place] {
                self.require(vec![!a, !b]);
            }
        }
    }

    /// One step more.
    pub fn extend(&mut self) {
        let state = self.depth();
        let idle = self.idle();
        let mut go = Vec::new();
        for process in 0..self.program.processes.len() {
            let (may, may_not) = self.standing(state, process);
            let moves = if may { self.graph.input() } else { FALSE };
            for at in may_not {
                self.require(vec![!moves, !at]);
            }
            go.push(moves);
        }
        let mut choices = go.clone();
        choices.push(idle);
        self.exactly_one(&choices);

        let mut next = StateBits { values: Vec::new(), at: Vec::new(), memo: Memo::default() };
        // Of each cell, what it becomes when.
        let mut cases: Vec<Vec<(Lit, Bits)>> = vec![Vec::new(); self.cells.count()];
        for (process, &moves) in go.iter().enumerate() {
            next.at.push(self.locations(state, process, moves, &mut cases));
        }
        let mut writes = Vec::with_capacity(cases.len());
        for (cell, cases) in cases.iter().enumerate() {
            let written = self.graph.any(cases.iter().map(|(when, _)| *when));
            let old = &self.states[state].values[cell];
            let value = (0..old.len()).map(|bit| {
                let cases = cases.iter().map(|(when, value)| (*when, value[bit]));
                self.graph.select(cases.chain([(!written, old[bit])]))
            });
            next.values.push(value.collect());
            writes.push(written);
        }
        // It follows from the first state, but solvers take long to find out.
        for at in &next.at {
            let at: Vec<Lit> = at.iter().copied().filter(|lit| *lit != FALSE).collect();
            self.exactly_one(&at);
        }
        self.states.push(next);
        self.steps.push(Step { go, idle, writes, reads: None });
    }

    /// Whether an instruction is not in the slice.
    pub(super) fn is_left_out(&self, process: usize, location: usize) -> bool {
        self.slice.as_ref().is_some_and(|slice| !slice[process][location])
    }

    /// Whether a process may stand where there is something to do, and that it stands elsewhere.
    fn standing(&self, state: usize, process: usize) -> (bool, Vec<Lit>) {
        let at = self.states[state].at[process].iter().copied().enumerate();
        let end = self.program.processes[process].code.len();
        let (may, may_not): (Vec<_>, Vec<_>) = at
            .filter(|(_, at)| *at != FALSE)
            .partition(|(place, _)| *place != end && !self.is_left_out(process, *place));
        (!may.is_empty(), may_not.into_iter().map(|(_, at)| at).collect())
    }

    /// Whether nobody moves at the next step.
    fn idle(&mut self) -> Lit {
        if self.dummies == Dummies::None {
            return FALSE;
        }
        let idle = self.graph.input();
        // Dummy steps are gathered at the end. The thesis has them at the beginning; then less is known of the first states.
        if let Some(before) = self.steps.last().map(|step| step.idle) {
            self.require(vec![!before, idle]);
        }
        idle
    }

    /// Where a process stands after the next step; adds what its instructions make of cells.
    fn locations(
        &mut self,
        state: usize,
        process: usize,
        moves: Lit,
        cases: &mut [Vec<(Lit, Bits)>],
    ) -> Vec<Lit> {
        let program = self.program;
        let code = &program.processes[process].code;
        let mut into: Vec<Vec<Lit>> = vec![Vec::new(); code.len() + 1];
        for (location, instruction) in code.iter().enumerate() {
            let fires = self.graph.and(moves, self.states[state].at[process][location]);
            if fires == FALSE || self.is_left_out(process, location) {
                continue;
            }
            let guard = self.condition(state, instruction.guard);
            self.require(vec![!fires, guard]);
            for (cell, when, value) in self.changes(state, instruction) {
                let when = self.graph.and(fires, when);
                if when != FALSE {
                    cases[cell].push((when, value));
                }
            }
            let mut left = fires;
            for &(condition, to) in &instruction.next {
                let condition = self.condition(state, condition);
                into[to as usize].push(self.graph.and(left, condition));
                left = self.graph.and(left, !condition);
            }
        }
        let old = self.states[state].at[process].clone();
        old.into_iter()
            .zip(into)
            .map(|(at, into)| {
                let stays = self.graph.and(!moves, at);
                self.graph.any(into.into_iter().chain([stays]))
            })
            .collect()
    }
}
