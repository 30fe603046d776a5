//! All states within some number of steps, one by one: slow, and beyond doubt.

use super::interpret::any_of;
use super::{Interpreter, Run, State, Step, TooMany};
use crate::program::{Goal, Program};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// What all states within some number of steps look like.
#[derive(Clone, Debug)]
pub struct Enumeration {
    /// For each goal the shortest way to it.
    pub found: Vec<Option<Found>>,
    /// How many states are first reached after 0, 1, 2, ... steps. After each number of steps that is listed, all
    /// states are known.
    pub levels: Vec<usize>,
    /// Why the search ended.
    pub end: End,
}

impl Enumeration {
    /// How many states there are.
    pub fn states(&self) -> usize {
        self.levels.iter().sum()
    }

    /// Within how many steps all states are known; what is not found within them is not there.
    pub fn depth(&self) -> usize {
        self.levels.len().saturating_sub(1)
    }

    /// After how many steps a goal can be reached first.
    pub fn steps(&self, goal: usize) -> Option<usize> {
        self.found.get(goal)?.as_ref().map(|found| found.run.steps.len())
    }
}

/// Why an enumeration ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// There are no more states: [`Enumeration::depth`] is how deep the space is.
    Exhausted,
    /// All states within the depth that was asked for are known, and there may be more.
    Depth,
    /// There are more states than allowed. Those of the last number of steps, and what they show, are not counted.
    Limit,
}

/// A goal that is reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// A shortest run to there.
    pub run: Run,
    /// The state at its end.
    pub state: State,
    /// Values of the goal's inputs with which its target holds.
    pub inputs: Vec<i64>,
}

/// The states by number, and how each was reached first.
#[derive(Default)]
struct Known {
    states: Vec<Rc<State>>,
    numbers: FxHashMap<Rc<State>, usize>,
    reached: Vec<Option<(usize, Step)>>,
}

impl Known {
    fn add(&mut self, state: State, from: Option<(usize, Step)>) {
        if !self.numbers.contains_key(&state) {
            let state = Rc::new(state);
            self.numbers.insert(Rc::clone(&state), self.states.len());
            self.states.push(state);
            self.reached.push(from);
        }
    }

    fn run_to(&self, mut number: usize) -> Run {
        let mut steps = Vec::new();
        while let Some((from, step)) = &self.reached[number] {
            steps.push(step.clone());
            number = *from;
        }
        steps.reverse();
        Run { initial: self.states[number].as_ref().clone(), steps }
    }
}

/// Looks at all states that are reached within `depth` steps, breadth first.
///
/// `limit` is how many states there may be, and how many combinations of inputs. `goals` are those of
/// [`Program::goals`], computed before.
pub fn enumerate(
    program: &Program,
    goals: &[Goal],
    depth: usize,
    limit: usize,
) -> Result<Enumeration, TooMany> {
    let mut interpreter = Interpreter::new(program);
    let mut inputs = Vec::with_capacity(goals.len());
    for goal in goals {
        inputs.push(any_of(&goal.inputs, limit)?);
    }
    let mut known = Known::default();
    for state in interpreter.initial_states(limit)? {
        known.add(state, None);
    }
    let mut found = vec![None; goals.len()];
    let mut levels = Vec::new();
    let mut done = 0;
    let end = 'search: loop {
        let level = done..known.states.len();
        if level.is_empty() {
            break End::Exhausted;
        }
        levels.push(level.len());
        for number in level.clone() {
            let state = Rc::clone(&known.states[number]);
            for ((goal, inputs), found) in goals.iter().zip(&inputs).zip(&mut found) {
                if found.is_none() {
                    let holds =
                        |inputs: &&Vec<i64>| interpreter.evaluate(&state, inputs, goal.target) != 0;
                    *found = inputs.iter().find(holds).map(|inputs| Found {
                        run: known.run_to(number),
                        state: state.as_ref().clone(),
                        inputs: inputs.clone(),
                    });
                }
            }
        }
        let last = levels.len() > depth;
        done = level.end;
        for number in level {
            let state = Rc::clone(&known.states[number]);
            for (step, after) in interpreter.successors(&state, limit)? {
                known.add(after, Some((number, step)));
            }
            // One state more than these is enough to know that they are not all.
            if last && known.states.len() > done {
                break 'search End::Depth;
            }
            if known.states.len() > limit {
                break 'search End::Limit;
            }
        }
    };
    Ok(Enumeration { found, levels, end })
}

/// How many runs there are: initial states with sequences of steps, each as long as possible, up to `depth` steps.
///
/// Runs that differ in an input count as different ones, even if what follows is the same. `limit` is how many
/// different states there may be after the same number of steps, and how many combinations of inputs. A number beyond
/// `u128` counts as the largest of them.
pub fn runs(program: &Program, depth: usize, limit: usize) -> Result<u128, TooMany> {
    let mut interpreter = Interpreter::new(program);
    let mut total = 0_u128;
    let mut now: FxHashMap<State, u128> =
        interpreter.initial_states(limit)?.into_iter().map(|state| (state, 1)).collect();
    for _ in 0..depth {
        let mut after = FxHashMap::default();
        for (state, count) in &now {
            let successors = interpreter.successors(state, limit)?;
            if successors.is_empty() {
                total = total.saturating_add(*count);
            }
            for (_, state) in successors {
                let sum: &mut u128 = after.entry(state).or_default();
                *sum = sum.saturating_add(*count);
            }
            if after.len() > limit {
                return Err(TooMany { what: "states", limit });
            }
        }
        now = after;
    }
    Ok(now.values().fold(total, |total, count| total.saturating_add(*count)))
}

/// Calls `with` for each of the runs that [`runs`] counts, with all its states. `limit` is how many runs there may be,
/// and how many combinations of inputs.
pub fn each_run(
    program: &Program,
    depth: usize,
    limit: usize,
    mut with: impl FnMut(&Run, &[State]),
) -> Result<(), TooMany> {
    let mut interpreter = Interpreter::new(program);
    let mut left = limit;
    for initial in interpreter.initial_states(limit)? {
        let mut run = Run { initial: initial.clone(), steps: Vec::new() };
        let mut states = vec![initial];
        // What is still to be tried, and after how many steps.
        let mut open: Vec<(usize, Step, State)> = Vec::new();
        loop {
            let mut more = Vec::new();
            if let Some(state) = states.last().filter(|_| run.steps.len() < depth) {
                more = interpreter.successors(state, limit)?;
            }
            if more.is_empty() {
                left = left.checked_sub(1).ok_or(TooMany { what: "runs", limit })?;
                with(&run, &states);
            }
            let steps = run.steps.len();
            open.extend(more.into_iter().rev().map(|(step, state)| (steps, step, state)));
            let Some((steps, step, state)) = open.pop() else { break };
            run.steps.truncate(steps);
            states.truncate(steps + 1);
            run.steps.push(step);
            states.push(state);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
