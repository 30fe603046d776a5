//! The whole formula: Φ of section 4.5.2, for one goal and one depth.

use super::Theory;
use super::expr::Terms;
use crate::check::Witness;
use crate::footprint::{Access, accesses};
use crate::program::{ExprId, Goal, Instruction, Kind, Program, VarId};
use crate::run::{Run, State, Step};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::rc::Rc;

/// A formula, and what to ask of its solution.
pub(crate) struct Formula<'a> {
    program: &'a Program,
    /// Everything up to and with `(check-sat)`.
    pub text: String,
    /// Terms whose values say what the run is.
    wanted: Vec<(String, Wanted)>,
    depth: usize,
}

/// What a value of the solution says.
#[derive(Clone, Copy)]
enum Wanted {
    /// The value of a cell at the start.
    Cell(Kind),
    /// Which instruction is performed at a step.
    Selected(usize),
    /// An input of a step, or of the goal after the last.
    Input(usize, u32, Kind),
}

/// An instruction with its number (from 1 on), process and location.
struct Numbered<'a> {
    number: usize,
    process: usize,
    location: usize,
    instruction: &'a Instruction,
    reads: Vec<Access>,
}

impl<'a> Formula<'a> {
    pub fn new(
        program: &'a Program,
        goal: &Goal,
        depth: usize,
        project: bool,
        theory: Theory,
    ) -> Self {
        let mut writer =
            Writer { terms: Terms::new(program, theory), all: numbered(program).into() };
        let logic = if theory == Theory::Integers { "ALL" } else { "QF_ABV" };
        let _ = writeln!(
            writer.terms.text,
            "; {}: {}, in at most {depth} steps\n(set-option :produce-models true)\n(set-logic {logic})",
            program.name.replace(['\n', '\r'], " "),
            goal.name.replace(['\n', '\r'], " "),
        );
        for state in 0..=depth {
            writer.declare(state);
        }
        let mut wanted = writer.begin();
        for step in 0..depth {
            writer.step(step);
            wanted.push((format!("sel_{step}"), Wanted::Selected(step)));
        }
        let target = writer.terms.name(goal.target, depth);
        writer.assert(&target);
        if project {
            writer.project(depth, goal.target);
        }
        let mut inputs: Vec<(usize, u32, Kind)> = writer.terms.inputs.iter().copied().collect();
        inputs.sort_unstable();
        for (state, slot, kind) in inputs {
            let name = writer.terms.input(state, slot, kind);
            wanted.push((name, Wanted::Input(state, slot, kind)));
        }
        let mut text = writer.terms.text;
        text.push_str("(check-sat)\n");
        Formula { program, text, wanted, depth }
    }

    /// The question that is to follow `(check-sat)`; empty if nothing is to be asked.
    pub fn question(&self) -> String {
        let terms: Vec<&str> = self.wanted.iter().map(|(term, _)| term.as_str()).collect();
        match terms.is_empty() {
            true => String::new(),
            false => format!("(get-value ({}))\n", terms.join(" ")),
        }
    }

    /// The run that the answers to the question describe, in their order.
    pub fn witness(&self, values: &[i64], goal: &Goal) -> Option<Witness> {
        let all = numbered(self.program);
        let mut initial = Vec::new();
        let mut selected = Vec::new();
        let mut inputs: Vec<(usize, u32, Kind, i64)> = Vec::new();
        if values.len() != self.wanted.len() {
            return None;
        }
        for (&value, (_, wanted)) in values.iter().zip(&self.wanted) {
            match *wanted {
                Wanted::Cell(kind) => initial.push(kind.wrap(value)),
                Wanted::Selected(step) => selected.push((step, usize::try_from(value).ok()?)),
                Wanted::Input(state, slot, kind) => {
                    inputs.push((state, slot, kind, kind.wrap(value)))
                }
            }
        }
        let at = |state: usize, kinds: &[Kind]| -> Vec<i64> {
            let slots = kinds.iter().zip(0..);
            let find = |(&kind, slot)| {
                let of =
                    |(s, n, k, _): &&(usize, u32, Kind, i64)| (*s, *n, *k) == (state, slot, kind);
                inputs.iter().find(of).map_or(0, |(.., value)| *value)
            };
            slots.map(find).collect()
        };
        let mut steps = Vec::new();
        for (step, number) in selected {
            // Whatever is no instruction is a dummy step.
            let Some(one) = number.checked_sub(1).and_then(|place| all.get(place)) else {
                continue;
            };
            steps.push(Step { process: one.process, inputs: at(step, &one.instruction.inputs) });
        }
        let locations = vec![0; self.program.processes.len()];
        let run = Run { initial: State { values: initial, locations }, steps };
        Some(Witness { run, inputs: at(self.depth, &goal.inputs) })
    }
}

fn numbered(program: &Program) -> Vec<Numbered<'_>> {
    let mut all = Vec::new();
    for (process, code) in program.processes.iter().enumerate() {
        for (location, instruction) in code.code.iter().enumerate() {
            let reads = crate::footprint::reads(&program.exprs, instruction);
            all.push(Numbered { number: all.len() + 1, process, location, instruction, reads });
        }
    }
    all
}

struct Writer<'a> {
    terms: Terms<'a>,
    all: Rc<[Numbered<'a>]>,
}

impl Writer<'_> {
    fn assert(&mut self, term: &str) {
        let _ = writeln!(self.terms.text, "(assert {term})");
    }

    /// The variables of a state, and who is selected after it.
    fn declare(&mut self, state: usize) {
        let program = self.terms.program;
        for (place, variable) in program.variables.iter().enumerate() {
            let name = self.terms.variable(VarId(place as u32), state);
            let mut sort = self.terms.sort(variable.kind);
            if variable.length.is_some() {
                sort = format!("(Array {} {sort})", self.terms.place_sort());
            }
            let _ = writeln!(self.terms.text, "(declare-fun {name} () {sort})");
        }
        let sort = self.terms.small_sort();
        for process in 0..program.processes.len() {
            let name = self.terms.counter(process, state);
            let _ = writeln!(self.terms.text, "(declare-fun {name} () {sort})");
        }
        let _ = writeln!(self.terms.text, "(declare-fun sel_{state} () {sort})");
    }

    /// I: the first state is initial.
    fn begin(&mut self) -> Vec<(String, Wanted)> {
        let program = self.terms.program;
        let mut wanted = Vec::new();
        for (place, variable) in program.variables.iter().enumerate() {
            let name = self.terms.variable(VarId(place as u32), 0);
            for (element, initial) in variable.initial.iter().enumerate() {
                let cell = match variable.length {
                    Some(_) => format!("(select {name} {})", self.terms.place_of(element as u32)),
                    None => name.clone(),
                };
                match initial {
                    Some(value) => {
                        let value = self.terms.constant(*value, variable.kind);
                        self.assert(&format!("(= {cell} {value})"));
                    }
                    None => self.terms.bound(&cell, variable.kind),
                }
                wanted.push((cell, Wanted::Cell(variable.kind)));
            }
        }
        for process in 0..program.processes.len() {
            let counter = self.terms.counter(process, 0);
            let zero = self.terms.small(0);
            self.assert(&format!("(= {counter} {zero})"));
        }
        wanted
    }

    fn selected(&self, step: usize, number: usize) -> String {
        format!("(= sel_{step} {})", self.terms.small(number))
    }

    /// T and M: what each instruction does if it is selected, and that nothing changes if none is.
    fn step(&mut self, step: usize) {
        let last = self.terms.small(self.all.len());
        let range = match self.terms.theory {
            Theory::Integers => format!("(and (<= 0 sel_{step}) (<= sel_{step} {last}))"),
            Theory::BitVectors => format!("(bvule sel_{step} {last})"),
        };
        self.assert(&range);
        if let Some(before) = step.checked_sub(1) {
            // Dummy steps come first.
            let (now, then) = (self.selected(step, 0), self.selected(before, 0));
            self.assert(&format!("(=> {now} {then})"));
        }
        for one in Rc::clone(&self.all).iter() {
            let parts = self.instruction(one, step).join(" ");
            let selected = self.selected(step, one.number);
            self.assert(&format!("(=> {selected} (and {parts}))"));
        }
        let frames: Vec<String> = self.frames(step, &[], None);
        if !frames.is_empty() {
            let selected = self.selected(step, 0);
            self.assert(&format!("(=> {selected} (and true {}))", frames.join(" ")));
        }
    }

    /// What is as before: all but these variables, and all program counters but one.
    fn frames(&self, step: usize, but: &[VarId], process: Option<usize>) -> Vec<String> {
        let program = self.terms.program;
        let variables = (0..program.variables.len()).map(|place| VarId(place as u32));
        let variables = variables.filter(|id| !but.contains(id)).map(|id| {
            format!("(= {} {})", self.terms.variable(id, step + 1), self.terms.variable(id, step))
        });
        let others = (0..program.processes.len()).filter(|&other| Some(other) != process);
        let counters = others.map(|other| {
            format!(
                "(= {} {})",
                self.terms.counter(other, step + 1),
                self.terms.counter(other, step)
            )
        });
        variables.chain(counters).collect()
    }

    /// What an instruction says of a step.
    fn instruction(&mut self, one: &Numbered<'_>, step: usize) -> Vec<String> {
        let Numbered { process, location, instruction, .. } = *one;
        let (counter, next) =
            (self.terms.counter(process, step), self.terms.counter(process, step + 1));
        let mut parts = vec![format!("(= {counter} {})", self.terms.small(location))];
        parts.push(self.terms.name(instruction.guard, step));
        let mut written: Vec<(VarId, String)> = Vec::new();
        for (number, update) in instruction.updates.iter().enumerate() {
            let id = update.variable;
            let place = match written.iter().position(|(known, _)| *known == id) {
                Some(place) => place,
                None => {
                    written.push((id, self.terms.variable(id, step)));
                    written.len() - 1
                }
            };
            let when = self.terms.name(update.when, step);
            let value = self.terms.name(update.value, step);
            let before = written[place].1.clone();
            written[place].1 = match update.index {
                None => format!("(ite {when} {value} {before})"),
                Some(index) => {
                    self.terms.name(index, step);
                    let at = self.terms.place(index, step);
                    let when = match self.terms.within(id, index, step) {
                        Some(within) => format!("(and {when} {within})"),
                        None => when,
                    };
                    // A name for each, or the text would double with each of them.
                    let term = format!("(ite {when} (store {before} {at} {value}) {before})");
                    let name = format!("a{}_{}_{number}_{step}", id.0, one.number);
                    let sort = self.terms.sort(self.terms.program.variable(id).kind);
                    let sort = format!("(Array {} {sort})", self.terms.place_sort());
                    let _ = writeln!(self.terms.text, "(define-fun {name} () {sort} {term})");
                    name
                }
            };
        }
        let ids: Vec<VarId> = written.iter().map(|(id, _)| *id).collect();
        for (id, value) in written {
            parts.push(format!("(= {} {value})", self.terms.variable(id, step + 1)));
        }
        let mut to = next.clone();
        for &(condition, location) in instruction.next.iter().rev() {
            let condition = self.terms.name(condition, step);
            to = format!("(ite {condition} {} {to})", self.terms.small(location as usize));
        }
        parts.push(format!("(= {next} {to})"));
        parts.extend(self.frames(step, &ids, Some(process)));
        parts
    }

    /// C_F: every step that is no dummy writes what the goal or a later step reads.
    fn project(&mut self, depth: usize, goal: ExprId) {
        let program = self.terms.program;
        let written: Vec<Touched> = (0..depth).map(|step| self.written(step)).collect();
        let read: Vec<Touched> = (0..depth).map(|step| self.read(step)).collect();
        let mut end = Touched::default();
        for access in accesses(&program.exprs, [goal]) {
            self.touch(&mut end, access, depth, "true");
        }
        for (step, written) in written.iter().enumerate() {
            let mut needed = vec![self.selected(step, 0)];
            needed.extend(written.meets(&end));
            for (later, read) in read.iter().enumerate().skip(step + 1) {
                let pairs = written.meets(read).join(" ");
                let name = format!("d_{step}_{later}");
                let _ = writeln!(self.terms.text, "(define-fun {name} () Bool (or false {pairs}))");
                needed.push(name);
            }
            self.assert(&format!("(or {})", needed.join(" ")));
        }
    }

    /// What a step writes.
    fn written(&mut self, step: usize) -> Touched {
        let mut touched = Touched::default();
        for one in Rc::clone(&self.all).iter() {
            let selected = self.selected(step, one.number);
            touched.counters.entry(one.process).or_default().push(selected.clone());
            for update in &one.instruction.updates {
                let when = self.terms.name(update.when, step);
                let when = format!("(and {selected} {when})");
                match update.index {
                    None => touched.variables.entry(update.variable).or_default().push(when),
                    Some(index) => {
                        self.terms.name(index, step);
                        let place = self.terms.place(index, step);
                        touched.elements.entry(update.variable).or_default().push((when, place));
                    }
                }
            }
        }
        self.named(touched, 'w', step)
    }

    /// What a step reads.
    fn read(&mut self, step: usize) -> Touched {
        let mut touched = Touched::default();
        for one in Rc::clone(&self.all).iter() {
            let selected = self.selected(step, one.number);
            touched.counters.entry(one.process).or_default().push(selected.clone());
            for &access in &one.reads {
                self.touch(&mut touched, access, step, &selected);
            }
        }
        self.named(touched, 'r', step)
    }

    /// Adds something that is read in a state if a condition holds.
    fn touch(&mut self, touched: &mut Touched, access: Access, state: usize, condition: &str) {
        let condition = condition.to_owned();
        match access {
            Access::Location(process) => {
                touched.counters.entry(process as usize).or_default().push(condition);
            }
            Access::Variable(id) => touched.variables.entry(id).or_default().push(condition),
            Access::Element(id, index) => {
                self.terms.name(index, state);
                let place = self.terms.place(index, state);
                touched.elements.entry(id).or_default().push((condition, place));
            }
        }
    }

    /// Gives names to disjunctions, as they are used for every other step.
    fn named(&mut self, mut touched: Touched, letter: char, step: usize) -> Touched {
        for (process, conditions) in &mut touched.counters {
            let name = format!("{letter}_pc{process}_{step}");
            define(&mut self.terms.text, name, conditions);
        }
        for (id, conditions) in &mut touched.variables {
            define(&mut self.terms.text, format!("{letter}_v{}_{step}", id.0), conditions);
        }
        touched
    }
}

/// A disjunction gets a name.
fn define(text: &mut String, name: String, conditions: &mut Vec<String>) {
    let _ = writeln!(text, "(define-fun {name} () Bool (or false {}))", conditions.join(" "));
    *conditions = vec![name];
}

/// What is read or written, each under one of some conditions; of arrays, with the place.
#[derive(Default)]
struct Touched {
    counters: BTreeMap<usize, Vec<String>>,
    variables: BTreeMap<VarId, Vec<String>>,
    elements: BTreeMap<VarId, Vec<(String, String)>>,
}

impl Touched {
    /// Conditions under which something is in both; one of them holds if and only if anything is.
    fn meets(&self, other: &Touched) -> Vec<String> {
        let mut both = Vec::new();
        let mut pairs = |a: &[String], b: &[String]| {
            let pairs = a.iter().flat_map(|a| b.iter().map(move |b| format!("(and {a} {b})")));
            both.extend(pairs);
        };
        for (process, conditions) in &self.counters {
            pairs(conditions, other.counters.get(process).map_or(&[], Vec::as_slice));
        }
        for (id, conditions) in &self.variables {
            pairs(conditions, other.variables.get(id).map_or(&[], Vec::as_slice));
        }
        for (id, written) in &self.elements {
            for (a, at) in written {
                for (b, place) in other.elements.get(id).into_iter().flatten() {
                    both.push(format!("(and {a} {b} (= {at} {place}))"));
                }
            }
        }
        both
    }
}
