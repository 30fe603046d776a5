//! The interpreter: what it means to perform a program. Whatever disagrees with it is wrong.

use super::evaluate::Scratch;
use super::{Layout, State, TooMany};
use crate::program::{ExprId, Instruction, Kind, Location, Program};
use std::fmt;

/// One step of a run: which process, and what the inputs of its instruction are.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Step {
    /// The process, by its place in [`Program::processes`].
    pub process: usize,
    /// A value for each of the instruction's inputs.
    pub inputs: Vec<i64>,
}

/// A run: where it begins, and what is done.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Run {
    /// The state at the start.
    pub initial: State,
    /// The steps.
    pub steps: Vec<Step>,
}

/// A step could not be performed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stuck {
    /// Which one, by its place.
    pub step: usize,
    /// All states before it.
    pub states: Vec<State>,
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {} cannot be performed", self.step + 1)
    }
}

impl std::error::Error for Stuck {}

/// The interpreter of a program.
#[derive(Clone, Debug)]
pub struct Interpreter<'p> {
    program: &'p Program,
    layout: Layout,
    scratch: Scratch,
}

impl<'p> Interpreter<'p> {
    /// One for this program.
    pub fn new(program: &'p Program) -> Self {
        Interpreter { program, layout: Layout::new(program), scratch: Scratch::default() }
    }

    /// The program.
    pub fn program(&self) -> &'p Program {
        self.program
    }

    /// Where the variables are in a state.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The instruction that a process performs next; `None` at its end, and if there is no such process.
    pub fn instruction(&self, state: &State, process: usize) -> Option<&'p Instruction> {
        let location = *state.locations.get(process)?;
        self.program.processes.get(process)?.code.get(location as usize)
    }

    /// The value of an expression. An input that is missing counts as 0.
    pub fn evaluate(&mut self, state: &State, inputs: &[i64], expr: ExprId) -> i64 {
        self.scratch.start(&self.program.exprs);
        self.again(state, inputs, expr)
    }

    /// The value of another expression in the same state and with the same inputs as before.
    pub(super) fn again(&mut self, state: &State, inputs: &[i64], expr: ExprId) -> i64 {
        self.scratch.value(&self.program.exprs, &self.layout, state, inputs, expr)
    }

    /// The value of what was a part of an expression that was evaluated just before.
    pub(super) fn known(&self, expr: ExprId) -> Option<i64> {
        self.scratch.known(expr)
    }

    /// The state after a step. `None` if the process is at its end, if the inputs are not those of its instruction, or
    /// if its guard does not hold.
    pub fn step(&mut self, state: &State, process: usize, inputs: &[i64]) -> Option<State> {
        let instruction = self.instruction(state, process)?;
        let fits = |(input, kind): (&i64, &Kind)| {
            let (least, most) = kind.range();
            (least..=most).contains(input)
        };
        if inputs.len() != instruction.inputs.len()
            || !inputs.iter().zip(&instruction.inputs).all(fits)
            || self.evaluate(state, inputs, instruction.guard) == 0
        {
            return None;
        }
        let mut after = state.clone();
        after.locations[process] = self.target(state, inputs, instruction)?;
        for update in &instruction.updates {
            if self.again(state, inputs, update.when) == 0 {
                continue;
            }
            let index = update.index.map_or(0, |index| self.again(state, inputs, index));
            if let Some(place) = self.layout.element(update.variable, index) {
                after.values[place] = self.again(state, inputs, update.value);
            }
        }
        Some(after)
    }

    /// Where the process goes on.
    fn target(&mut self, state: &State, inputs: &[i64], from: &Instruction) -> Option<Location> {
        let mut next = from.next.iter();
        next.find(|(condition, _)| self.again(state, inputs, *condition) != 0).map(|(_, to)| *to)
    }

    /// All states at the start: with each value that may be any.
    pub fn initial_states(&self, limit: usize) -> Result<Vec<State>, TooMany> {
        let mut choices = Vec::with_capacity(self.layout.len());
        for variable in &self.program.variables {
            for element in 0..variable.length.unwrap_or(1) as usize {
                choices.push(match variable.initial.get(element).copied().flatten() {
                    Some(value) => (value, value),
                    None => variable.kind.range(),
                });
            }
        }
        let locations = vec![0; self.program.processes.len()];
        let all = combinations(&choices, "initial states", limit)?.into_iter();
        Ok(all.map(|values| State { values, locations: locations.clone() }).collect())
    }

    /// Whether a state is one of those at the start.
    pub fn is_initial(&self, state: &State) -> bool {
        let fits = |(place, value): (usize, &i64)| {
            let (variable, element) = self.layout.variable(place);
            let variable = self.program.variable(variable);
            match variable.initial.get(element).copied().flatten() {
                Some(initial) => *value == initial,
                None => *value == variable.kind.wrap(*value),
            }
        };
        state.values.len() == self.layout.len()
            && state.values.iter().enumerate().all(fits)
            && state.locations.len() == self.program.processes.len()
            && state.locations.iter().all(|location| *location == 0)
    }

    /// All inputs that the instruction of a process at a location may get; the guard may hold for only some of them.
    /// None at the end of the process.
    pub fn inputs(
        &self,
        process: usize,
        location: Location,
        limit: usize,
    ) -> Result<Vec<Vec<i64>>, TooMany> {
        let process = self.program.processes.get(process);
        match process.and_then(|process| process.code.get(location as usize)) {
            Some(instruction) => any_of(&instruction.inputs, limit),
            None => Ok(Vec::new()),
        }
    }

    /// All steps that can be performed in a state, and the states after them.
    pub fn successors(
        &mut self,
        state: &State,
        limit: usize,
    ) -> Result<Vec<(Step, State)>, TooMany> {
        let mut all = Vec::new();
        for (process, location) in state.locations.iter().enumerate() {
            for inputs in self.inputs(process, *location, limit)? {
                if let Some(after) = self.step(state, process, &inputs) {
                    all.push((Step { process, inputs }, after));
                }
            }
        }
        Ok(all)
    }

    /// All states of a run, the one at its start first. The start need not be one of the program's.
    pub fn replay(&mut self, initial: &State, steps: &[Step]) -> Result<Vec<State>, Stuck> {
        let mut states = vec![initial.clone()];
        for (place, step) in steps.iter().enumerate() {
            match self.step(&states[place], step.process, &step.inputs) {
                Some(after) => states.push(after),
                None => return Err(Stuck { step: place, states }),
            }
        }
        Ok(states)
    }
}

/// All combinations of values of these kinds.
pub fn any_of(kinds: &[Kind], limit: usize) -> Result<Vec<Vec<i64>>, TooMany> {
    let choices: Vec<(i64, i64)> = kinds.iter().map(|kind| kind.range()).collect();
    combinations(&choices, "combinations of inputs", limit)
}

/// All lists of numbers, each from a range of its own; the last number changes first.
fn combinations(
    ranges: &[(i64, i64)],
    what: &'static str,
    limit: usize,
) -> Result<Vec<Vec<i64>>, TooMany> {
    let count = ranges.iter().fold(1_u128, |count, (least, most)| {
        count.saturating_mul(u128::from(least.abs_diff(*most)) + 1)
    });
    if count > limit as u128 {
        return Err(TooMany { what, limit });
    }
    let mut all = Vec::with_capacity(count as usize);
    let mut now: Vec<i64> = ranges.iter().map(|(least, _)| *least).collect();
    loop {
        all.push(now.clone());
        let Some(place) = (0..ranges.len()).rev().find(|place| now[*place] < ranges[*place].1)
        else {
            return Ok(all);
        };
        now[place] += 1;
        for (value, (least, _)) in now.iter_mut().zip(ranges).skip(place + 1) {
            *value = *least;
        }
    }
}

#[cfg(test)]
mod tests;
