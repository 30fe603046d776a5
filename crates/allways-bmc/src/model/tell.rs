//! Runs told in full: processes as threads, with what each step changes, and what the goal reads.

use super::Model;
use crate::check::Witness;
use crate::program::{Claim, Goal, Kind, Origin, Role};
use crate::run::{Cell, Interpreter, Run, State};
use allways::{Cause, Change, Observed, PropertyKind, Story, StoryEnding, StoryStart, StoryStep};
use std::collections::BTreeMap;

/// What the variables are called that a goal reads, all together.
const READ: &str = "variables";

impl Model {
    /// What a value is called and what it is.
    fn shown(
        &self,
        interpreter: &Interpreter<'_>,
        state: &State,
        place: usize,
    ) -> (String, String) {
        let (id, element) = interpreter.layout().variable(place);
        let variable = self.program.variable(id);
        let name = match variable.length {
            Some(_) => format!("{}[{element}]", variable.name),
            None => variable.name.clone(),
        };
        let value = state.values[place];
        let value = match (variable.role, variable.kind) {
            (Role::Lock, _) => match usize::try_from(value - 1) {
                Ok(holder) => {
                    self.program.processes.get(holder).map_or("held", |p| &p.name).to_owned()
                }
                Err(_) => "free".to_owned(),
            },
            (Role::Data, Kind::Bool) => (value != 0).to_string(),
            (Role::Data, Kind::Int { .. }) => value.to_string(),
        };
        (name, value)
    }

    /// What a goal reads in a state: `x = 3; P[0] is at its end`.
    pub(super) fn reads(&self, goal: &Goal, state: &State, inputs: &[i64]) -> String {
        let mut interpreter = Interpreter::new(&self.program);
        let cells = interpreter.read_by(state, inputs, goal.target);
        let cells = cells.into_iter().map(|cell| match cell {
            Cell::Value(place) => {
                let (name, value) = self.shown(&interpreter, state, place);
                format!("{name} = {value}")
            }
            Cell::Location(process) => {
                let name = &self.program.processes[process].name;
                match interpreter.instruction(state, process) {
                    Some(instruction) => {
                        // Parts are told apart by semicolons.
                        format!("{name} is before `{}`", instruction.text.replace("; ", ", "))
                    }
                    None => format!("{name} is at its end"),
                }
            }
        });
        let cells: Vec<String> = cells.collect();
        if cells.is_empty() { "nothing".to_owned() } else { cells.join("; ") }
    }

    /// A run in full; with a goal, what of it the goal needs, and what the goal reads.
    pub(super) fn told(&self, run: &Run, goal: Option<&Goal>, inputs: &[i64]) -> Story {
        let mut interpreter = Interpreter::new(&self.program);
        let mut story = Story::default();
        story.nodes = self.program.processes.iter().map(|process| process.name.clone()).collect();
        story.starts = vec![StoryStart::default(); story.nodes.len()];
        let needed = goal.and_then(|goal| Some((goal, self.met(goal, run, inputs)?)));
        let needed = needed.map(|(goal, witness): (&Goal, Witness)| self.needed(goal, &witness));
        if let Some(goal) = goal {
            story.observers = vec![READ.to_owned()];
            story.observer_starts = vec![self.reads(goal, &run.initial, inputs)];
        }
        let events = self.saved_run(run, &[]).events;
        let mut state = run.initial.clone();
        // Who wrote each value last, and who stepped last of each process.
        let mut writers: BTreeMap<Cell, usize> = BTreeMap::new();
        for (place, (step, event)) in run.steps.iter().zip(events).enumerate() {
            let accesses = interpreter.accesses(&state, step).unwrap_or_default();
            let Some(next) = interpreter.step(&state, step.process, &step.inputs) else { break };
            let mut told = StoryStep::new(event);
            for value in (0..state.values.len()).filter(|&v| state.values[v] != next.values[v]) {
                let (name, before) = self.shown(&interpreter, &state, value);
                let (_, after) = self.shown(&interpreter, &next, value);
                told.changes.push(Change::new(name, before, after));
            }
            let changes: Vec<String> = told.changes.iter().map(ToString::to_string).collect();
            if !changes.is_empty() {
                told.event.what = format!("{}   [{}]", told.event.what, changes.join(", "));
            }
            told.causes =
                accesses.reads.iter().filter_map(|cell| writers.get(cell).copied()).collect();
            told.causes.sort_unstable();
            told.causes.dedup();
            told.matters = needed.as_ref().is_none_or(|needed| needed.contains(&place));
            if let Some(goal) = goal {
                let (before, after) =
                    (self.reads(goal, &state, inputs), self.reads(goal, &next, inputs));
                if before != after {
                    told.observed.push(Observed::new(0, before, after));
                }
            }
            writers.extend(accesses.writes.into_iter().map(|cell| (cell, place)));
            story.steps.push(told);
            state = next;
        }
        story.ending = goal.map(|goal| self.ending(goal, run, &state, inputs));
        story
    }

    fn ending(&self, goal: &Goal, run: &Run, last: &State, inputs: &[i64]) -> StoryEnding {
        let mut ending = StoryEnding::new(goal.name.clone());
        let is_claimed = self.claim(goal) == Claim::Reachable;
        ending.kind = match self.claim(goal) {
            Claim::Always => Some(PropertyKind::Always),
            // It is written the other way round.
            Claim::Never => None,
            Claim::Reachable => Some(PropertyKind::Sometimes),
        };
        let is_met = self.met(goal, run, inputs).is_some();
        ending.cause = (is_met && !is_claimed).then_some(Cause::Always);
        ending.observer = Some(0);
        ending.reads = vec![self.reads(goal, last, inputs)];
        ending.reads_at_start = vec![self.reads(goal, &run.initial, inputs)];
        if let Origin::Check(process, ..) = goal.origin {
            ending.culprits = vec![process];
        }
        ending
    }
}
