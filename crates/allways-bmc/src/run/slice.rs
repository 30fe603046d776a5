//! Which steps of a run matter for some variables: the projections of the thesis' definition 4, of one run.
//!
//! There are two, and both can be performed on their own and end with the same values of these variables:
//! - [`projection`] is the definition of the thesis: a step is kept if it may write one of the variables, or something
//!   that a later step reads which is kept;
//! - [`live`] leaves out more: a step is kept only if what it writes is still there when it is read, or at the end.
//!
//! Arrays count element by element. Where a process stands is a variable too, which each of its steps reads and writes;
//! so with a step all steps of the same process before it are kept.

use super::evaluate::operands;
use super::{Interpreter, Run, State, Step, Stuck};
use crate::program::{ExprId, Node, VarId};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// A part of a state that can be read and written on its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Cell {
    /// A variable or an element of one, by its place in [`State::values`].
    Value(usize),
    /// Where a process stands.
    Location(usize),
}

/// What a step reads and writes.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Accesses {
    /// What its guard, its conditions, its indices and its values are over, whether or not they matter in this state.
    pub reads: BTreeSet<Cell>,
    /// What it writes, even if with the value that is there already.
    pub writes: BTreeSet<Cell>,
    /// The same, and what it would write if the conditions of its updates held.
    pub may_write: BTreeSet<Cell>,
}

impl<'p> Interpreter<'p> {
    /// All cells of a variable.
    pub fn cells(&self, variable: VarId) -> impl Iterator<Item = Cell> + use<> {
        self.layout().range(variable).map(Cell::Value)
    }

    /// What the value of an expression is over: of arrays the elements that it picks in this state.
    pub fn read_by(&mut self, state: &State, inputs: &[i64], expr: ExprId) -> BTreeSet<Cell> {
        let mut reads = BTreeSet::new();
        self.evaluate(state, inputs, expr);
        self.collect(vec![expr], &mut reads);
        reads
    }

    /// What a step reads and writes; `None` if it cannot be performed.
    pub fn accesses(&mut self, state: &State, step: &Step) -> Option<Accesses> {
        let Step { process, inputs } = step;
        // Its expressions are evaluated in what follows as in the step: in the same state, with the same inputs.
        self.step(state, *process, inputs)?;
        let instruction = self.instruction(state, *process)?;
        let here = BTreeSet::from([Cell::Location(*process)]);
        let mut accesses = Accesses { reads: here.clone(), writes: here.clone(), may_write: here };
        let mut roots = vec![instruction.guard];
        roots.extend(instruction.next.iter().map(|(condition, _)| *condition));
        for update in &instruction.updates {
            roots.extend([update.when, update.value]);
            roots.extend(update.index);
            let index = update.index.map_or(0, |index| self.again(state, inputs, index));
            if let Some(place) = self.layout().element(update.variable, index) {
                accesses.may_write.insert(Cell::Value(place));
                if self.again(state, inputs, update.when) != 0 {
                    accesses.writes.insert(Cell::Value(place));
                }
            }
        }
        for root in &roots {
            self.again(state, inputs, *root);
        }
        self.collect(roots, &mut accesses.reads);
        Some(accesses)
    }

    /// What these expressions are over, which were evaluated just before.
    fn collect(&self, mut open: Vec<ExprId>, reads: &mut BTreeSet<Cell>) {
        let mut seen = FxHashSet::default();
        while let Some(expr) = open.pop() {
            if !seen.insert(expr) {
                continue;
            }
            let node = self.program().exprs.node(expr);
            match node {
                Node::Var(variable) => reads.extend(self.cells(variable).next()),
                Node::Element(variable, index) => {
                    let index = self.known(index).unwrap_or(-1);
                    reads.extend(self.layout().element(variable, index).map(Cell::Value));
                }
                Node::At(process, _) => {
                    reads.insert(Cell::Location(process as usize));
                }
                _ => {}
            }
            open.extend(operands(node).into_iter().flatten());
        }
    }
}

/// The projection of a run as the thesis defines it: the places of the steps that are kept.
pub fn projection(
    interpreter: &mut Interpreter<'_>,
    run: &Run,
    onto: &BTreeSet<Cell>,
) -> Result<Vec<usize>, Stuck> {
    let mut wanted = onto.clone();
    keep(interpreter, run, |step| {
        let kept = !step.may_write.is_disjoint(&wanted);
        if kept {
            wanted.extend(&step.reads);
        }
        kept
    })
}

/// The projection of a run by what is live: the places of the steps that are kept. They are some of [`projection`]'s.
pub fn live(
    interpreter: &mut Interpreter<'_>,
    run: &Run,
    onto: &BTreeSet<Cell>,
) -> Result<Vec<usize>, Stuck> {
    let mut live = onto.clone();
    keep(interpreter, run, |step| {
        let kept = !step.writes.is_disjoint(&live);
        if kept {
            live.retain(|cell| !step.writes.contains(cell));
            live.extend(&step.reads);
        }
        kept
    })
}

/// Asks for each step, from the last to the first, whether it is kept.
fn keep(
    interpreter: &mut Interpreter<'_>,
    run: &Run,
    mut is_kept: impl FnMut(&Accesses) -> bool,
) -> Result<Vec<usize>, Stuck> {
    let states = interpreter.replay(&run.initial, &run.steps)?;
    let mut kept = Vec::new();
    for (place, step) in run.steps.iter().enumerate().rev() {
        // Each step was just performed, so there is none without accesses.
        let accesses = interpreter.accesses(&states[place], step).unwrap_or_default();
        if is_kept(&accesses) {
            kept.push(place);
        }
    }
    kept.reverse();
    Ok(kept)
}

impl Run {
    /// The run with only some of its steps, given by their places.
    pub fn only(&self, kept: &[usize]) -> Run {
        let steps = kept.iter().filter_map(|place| self.steps.get(*place)).cloned().collect();
        Run { initial: self.initial.clone(), steps }
    }
}

#[cfg(test)]
mod tests;
