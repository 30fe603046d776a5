//! An unrolling and a solver that has its clauses.

use super::Witness;
use crate::circuit::{Bits, Clauses, Lit};
use crate::encode::Unrolling;
use crate::program::{Goal, Kind};
use crate::run::{Interpreter, Run, State, Step};
use crate::solve::{Answer, Embedded, Sat, Stop};
use std::time::{Duration, Instant};

pub(crate) struct Query<'a> {
    pub unrolling: Unrolling<'a>,
    clauses: Clauses,
    sat: Box<dyn Sat>,
    /// Who answers.
    pub solver: Embedded,
    /// Who moves in the last run, and with which inputs: as literals that hold in it.
    pub decided: Vec<Lit>,
    /// How long the solver took, in all.
    pub solving: Duration,
}

impl<'a> Query<'a> {
    pub fn new(unrolling: Unrolling<'a>, solver: Embedded) -> Self {
        let (clauses, sat) = (Clauses::new(), solver.start());
        Query { unrolling, clauses, sat, solver, decided: Vec::new(), solving: Duration::ZERO }
    }

    /// How many variables and clauses there are.
    pub fn size(&self) -> (u64, u64) {
        (self.clauses.count.unsigned_abs().into(), self.clauses.clauses)
    }

    /// A literal of the solver's.
    fn lit(&mut self, lit: Lit) -> i32 {
        self.clauses.lit(&self.unrolling.graph, &mut *self.sat, lit)
    }

    /// Hands over what must hold and was not handed over yet.
    fn hand_over(&mut self) {
        for clause in std::mem::take(&mut self.unrolling.constraints) {
            let lits: Vec<i32> = clause.into_iter().map(|lit| self.lit(lit)).collect();
            self.clauses.add(&mut *self.sat, &lits);
        }
    }

    /// This must hold from now on.
    pub fn require(&mut self, lit: Lit) {
        let lit = self.lit(lit);
        self.clauses.add(&mut *self.sat, &[lit]);
    }

    /// Whether there is such a run for which all of this holds.
    pub fn ask(&mut self, assumptions: &[Lit], stop: &Stop) -> Answer {
        self.hand_over();
        if assumptions.iter().any(|lit| lit.constant() == Some(false)) {
            return Answer::Unmet;
        }
        let assumptions: Vec<i32> = assumptions.iter().map(|&lit| self.lit(lit)).collect();
        let begin = Instant::now();
        let answer = self.sat.solve(&assumptions, stop);
        self.solving += begin.elapsed();
        answer
    }

    /// What is so in the solution. What nothing depends on may be anything, and is taken to be 0.
    fn holds(&self, lit: Lit) -> bool {
        match lit.constant() {
            Some(value) => value,
            None => self.clauses.known(lit).is_some_and(|lit| self.sat.value(lit)),
        }
    }

    fn number(&self, bits: &Bits, kind: Kind) -> i64 {
        let bits = bits.iter().enumerate();
        kind.wrap(bits.map(|(place, &bit)| i64::from(self.holds(bit)) << place).sum())
    }

    /// The run of the solution.
    pub fn witness(&mut self, goal: &Goal) -> Witness {
        let program = self.unrolling.program;
        let cells = self.unrolling.states[0].values.iter().zip(&self.unrolling.cells.variable);
        let values =
            cells.map(|(bits, id)| self.number(bits, program.variable(*id).kind)).collect();
        let initial = State { values, locations: vec![0; program.processes.len()] };
        // Where processes stand is found by performing the run: the solver does not know what nothing depends on.
        let mut interpreter = Interpreter::new(program);
        let mut state = Some(initial.clone());
        let mut steps = Vec::new();
        self.decided.clear();
        for step in 0..self.unrolling.depth() {
            let go = &self.unrolling.steps[step].go;
            let Some(process) = go.iter().position(|&go| self.holds(go)) else { continue };
            let instruction = state.as_ref().and_then(|s| interpreter.instruction(s, process));
            let kinds = instruction.map_or(&[][..], |instruction| &instruction.inputs);
            let inputs = self.inputs(step, kinds);
            self.decided.push(self.unrolling.steps[step].go[process]);
            for (slot, &kind) in kinds.iter().enumerate() {
                for bit in self.unrolling.input(step, slot as u32, kind) {
                    // What the solver was never told of makes no difference.
                    if self.clauses.known(bit).is_some() {
                        self.decided.push(if self.holds(bit) { bit } else { !bit });
                    }
                }
            }
            state = state.and_then(|state| interpreter.step(&state, process, &inputs));
            steps.push(Step { process, inputs });
        }
        let inputs = self.inputs(self.unrolling.depth(), &goal.inputs);
        Witness { run: Run { initial, steps }, inputs }
    }

    fn inputs(&mut self, state: usize, kinds: &[Kind]) -> Vec<i64> {
        let slots = kinds.iter().zip(0..);
        let slots = slots.map(|(&kind, slot)| {
            let bits = self.unrolling.input(state, slot, kind);
            self.number(&bits, kind)
        });
        slots.collect()
    }
}
