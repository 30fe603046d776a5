//! Runs as they are saved, and back.

use super::Model;
use crate::check::Witness;
use crate::program::{Claim, Goal, Kind};
use crate::run::interpret::any_of;
use crate::run::slice::live;
use crate::run::{Interpreter, Run, State, Step};
use allways::{Replayed, RunEvent, RunEventKind, Violation};

/// Of inputs with more combinations than this only those that were saved are tried.
const MAX_INPUTS: usize = 1 << 16;

/// A list of choices in a saved run may be as long as this.
const MAX_LIST: usize = 1_000;

/// Which event cannot happen (counted from one), why, and what can in its place.
pub(super) type Refused = (usize, String, Vec<RunEvent>);

impl Model {
    pub(super) fn goal(&self, name: &str) -> Option<&Goal> {
        self.goals.iter().find(|goal| goal.name == name)
    }

    /// The state at the end of a run that can be performed.
    pub(super) fn last_state(&self, run: &Run) -> State {
        let mut interpreter = Interpreter::new(&self.program);
        let states = interpreter.replay(&run.initial, &run.steps);
        states.ok().and_then(|mut states| states.pop()).unwrap_or_else(|| run.initial.clone())
    }

    /// A run as it is saved: an event for each step, with what the instruction is.
    pub(super) fn saved_run(&self, run: &Run, inputs: &[i64]) -> allways::Run {
        let mut interpreter = Interpreter::new(&self.program);
        let mut state = run.initial.clone();
        let mut events = Vec::new();
        for step in &run.steps {
            events.push(self.event(&interpreter, &state, step));
            let Some(next) = interpreter.step(&state, step.process, &step.inputs) else { break };
            state = next;
        }
        let free = self.free().map(|(place, _)| run.initial.values[place] as u32);
        // What may be any at the start, then the inputs of the goal; in lists as long as they may be.
        let chosen: Vec<u32> = free.chain(inputs.iter().map(|&input| input as u32)).collect();
        let start_choices = chosen.chunks(MAX_LIST).map(<[u32]>::to_vec).collect();
        allways::Run { start: 0, start_choices, events }
    }

    /// The places of values that may be any at the start.
    fn free(&self) -> impl Iterator<Item = (usize, Kind)> {
        let variables = self.program.variables.iter();
        let cells = variables.flat_map(|v| v.initial.iter().map(|initial| (*initial, v.kind)));
        let free = cells.enumerate().filter(|(_, (initial, _))| initial.is_none());
        free.map(|(place, (_, kind))| (place, kind))
    }

    fn event(&self, interpreter: &Interpreter<'_>, state: &State, step: &Step) -> RunEvent {
        let name = self.program.processes.get(step.process).map_or("", |p| p.name.as_str());
        let text = interpreter.instruction(state, step.process).map_or("", |i| i.text.as_str());
        RunEvent {
            kind: RunEventKind::Thread,
            node: Some(step.process),
            from: None,
            what: format!("{name} {text}"),
            choices: step.inputs.iter().map(|&input| input as u32).collect(),
        }
    }

    /// A saved run as one of the program as it is now.
    pub(super) fn read_run(&self, saved: &allways::Run) -> Result<Run, Refused> {
        let mut values: Vec<i64> = Vec::new();
        for variable in &self.program.variables {
            values.extend(variable.initial.iter().map(|initial| initial.unwrap_or(0)));
        }
        let free: Vec<(usize, Kind)> = self.free().collect();
        let chosen: Vec<u32> = saved.start_choices.iter().flatten().copied().collect();
        if chosen.len() < free.len() {
            let why = format!(
                "the run starts with {} values that may be any, but the program has {} of them",
                chosen.len(),
                free.len()
            );
            return Err((0, why, Vec::new()));
        }
        for (&(place, kind), &value) in free.iter().zip(&chosen) {
            values[place] = kind.wrap(i64::from(value));
        }
        let initial = State { values, locations: vec![0; self.program.processes.len()] };
        let mut interpreter = Interpreter::new(&self.program);
        let mut state = initial.clone();
        let mut steps = Vec::new();
        for (place, event) in saved.events.iter().enumerate() {
            let refused = |interpreter: &mut Interpreter<'_>, why: String| {
                let instead = self.possible(interpreter, &state);
                Err((place + 1, format!("{}: {why}", event.what), instead))
            };
            let Some(process) = event.node else {
                return refused(&mut interpreter, "it is of no process".to_owned());
            };
            let Some(instruction) = interpreter.instruction(&state, process) else {
                let why = "there is no such process, or it is at its end".to_owned();
                return refused(&mut interpreter, why);
            };
            let kinds = &instruction.inputs;
            let inputs = event.choices.iter().zip(kinds);
            let inputs = inputs.map(|(&choice, kind)| kind.wrap(i64::from(choice))).collect();
            let step = Step { process, inputs };
            let now = self.event(&interpreter, &state, &step).what;
            if now != event.what || event.choices.len() != kinds.len() {
                return refused(&mut interpreter, format!("now it is {now}"));
            }
            match interpreter.step(&state, process, &step.inputs) {
                Some(next) => state = next,
                None => return refused(&mut interpreter, "it has to wait".to_owned()),
            }
            steps.push(step);
        }
        Ok(Run { initial, steps })
    }

    /// What can happen in a state, with some inputs.
    fn possible(&self, interpreter: &mut Interpreter<'_>, state: &State) -> Vec<RunEvent> {
        let mut events: Vec<RunEvent> = Vec::new();
        for (step, _) in interpreter.successors(state, MAX_INPUTS).unwrap_or_default() {
            if events.last().is_none_or(|event| event.node != Some(step.process)) {
                events.push(self.event(interpreter, state, &step));
            }
        }
        events
    }

    /// The inputs of the goal that a run was saved with; zeros if there are none.
    pub(super) fn saved_inputs(&self, goal: &Goal, saved: &allways::Run) -> Vec<i64> {
        let free = self.free().count();
        let mut chosen = saved.start_choices.iter().flatten().skip(free);
        let kinds = goal.inputs.iter();
        kinds.map(|kind| chosen.next().map_or(0, |&c| kind.wrap(i64::from(c)))).collect()
    }

    /// A run that ends where a goal is met, with the inputs by which it is: these, or others.
    pub(super) fn met(&self, goal: &Goal, run: &Run, inputs: &[i64]) -> Option<Witness> {
        let mut interpreter = Interpreter::new(&self.program);
        let last = self.last_state(run);
        let others = any_of(&goal.inputs, MAX_INPUTS).unwrap_or_default();
        let mut tries = std::iter::once(inputs.to_vec()).chain(others);
        let inputs = tries.find(|inputs| interpreter.evaluate(&last, inputs, goal.target) != 0)?;
        Some(Witness { run: run.clone(), inputs })
    }

    /// The steps of a run that its goal needs.
    pub(super) fn needed(&self, goal: &Goal, witness: &Witness) -> Vec<usize> {
        let mut interpreter = Interpreter::new(&self.program);
        let last = self.last_state(&witness.run);
        let onto = interpreter.read_by(&last, &witness.inputs, goal.target);
        let all = || (0..witness.run.steps.len()).collect();
        live(&mut interpreter, &witness.run, &onto).unwrap_or_else(|_| all())
    }

    /// Whether a saved violation is still one.
    pub(super) fn replayed(&self, saved: &Violation) -> Replayed {
        let run = match self.read_run(&saved.run) {
            Ok(run) => run,
            Err((at, why, instead)) => return Replayed::NoLongerApplies { at, why, instead },
        };
        let Some(goal) = self.goal(&saved.property) else {
            let why = format!("there is no property `{}` any more", saved.property);
            return Replayed::NoLongerViolates { why };
        };
        if self.claim(goal) == Claim::Reachable {
            let why = format!("`{}` is now claimed to be reachable", goal.name);
            return Replayed::NoLongerViolates { why };
        }
        match self.met(goal, &run, &self.saved_inputs(goal, &saved.run)) {
            Some(witness) => Replayed::StillViolates { violation: self.violation(goal, &witness) },
            None => {
                let inputs = self.saved_inputs(goal, &saved.run);
                let reads = self.reads(goal, &self.last_state(&run), &inputs);
                let why = format!("`{}` holds at its end: {reads}", goal.name);
                Replayed::NoLongerViolates { why }
            }
        }
    }
}
