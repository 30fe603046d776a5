//! The code of processes: statements in a row, branches and loops, as instructions with locations.
//!
//! There are no instructions for jumps. An instruction is made before it is known where it goes on; those that wait for
//! the next instruction are pending, and are told when it comes.

use super::{Lowered, Lowerer, Mode, Reported};
use crate::lang::ast::{self, Action, Statement, Value};
use crate::lang::diagnostic::{Diagnostic, did_you_mean};
use crate::lang::limits::MAX_INSTRUCTIONS;
use crate::program::{ExprId, Location, Process, Span};
use std::mem::take;

/// A location that is not known yet.
const LATER: Location = Location::MAX;

impl<'a> Lowerer<'a, '_> {
    /// All processes.
    pub(super) fn processes(&mut self, tree: &ast::Source<'a>) -> Vec<Process> {
        let mut processes = Vec::new();
        for group in 0..self.groups.len() {
            let first = self.groups[group].first;
            let replicas = self.groups[group].replicas.clone();
            let source = &tree.processes[self.groups[group].source];
            let numbers = replicas.clone().unwrap_or(0..1);
            for (process, number) in (first..).zip(numbers) {
                let before = self.diagnostics.len();
                if let Some(range) = &source.replicas {
                    self.bound.push((range.name.text, number));
                }
                self.process = Some(process);
                let code = self.in_mode(Mode::Code, |lowerer| lowerer.code(&source.body));
                self.process = None;
                self.bound.clear();
                processes.push(Process { name: self.members[process].name.clone(), code });
                // The other replicas would have the same errors.
                if self.stopped || self.diagnostics.len() > before {
                    break;
                }
            }
        }
        processes
    }

    fn code(&mut self, body: &[Statement<'a>]) -> Vec<crate::program::Instruction> {
        self.unreachable = false;
        self.statements(body);
        let end = self.code.len();
        self.arrive(end);
        let process = self.process.expect("this is the code of a process");
        self.members[process].end = end as Location;
        take(&mut self.code)
    }

    /// What is pending goes on at this location.
    fn arrive(&mut self, location: usize) {
        for (instruction, place) in take(&mut self.pending) {
            self.code[instruction].next[place].1 = location as Location;
        }
    }

    /// Makes the instruction of the step that was begun; it goes on under these conditions. All of them are pending.
    fn emit(&mut self, text: String, span: Span, conditions: &[ExprId]) -> usize {
        let location = self.code.len();
        self.arrive(location);
        let mut instruction = self.finish(text, span);
        instruction.next = conditions.iter().map(|condition| (*condition, LATER)).collect();
        self.code.push(instruction);
        self.instructions += 1;
        if self.instructions > MAX_INSTRUCTIONS {
            let limit = MAX_INSTRUCTIONS;
            let message = format!("the program is too large: more than {limit} instructions");
            self.too_large(message);
        }
        location
    }

    fn statements(&mut self, block: &[Statement<'a>]) {
        for statement in block {
            if self.stopped {
                return;
            }
            self.label(statement);
            // What is wrong with it has been reported; the next one is looked at.
            let _ = self.statement(statement);
        }
    }

    /// Remembers where the labels of a statement are.
    fn label(&mut self, statement: &Statement<'a>) {
        self.no_place(statement);
        let process = self.process.expect("this is the code of a process");
        let location = self.code.len() as Location;
        for label in &statement.labels {
            let labels = &mut self.members[process].labels;
            let before = labels.insert(label.text, (location, label.span()));
            if let Some((_, span)) = before {
                let message = format!("the label `{}` is there twice", label.text);
                let diagnostic = Diagnostic::new(message, label.span(), "here again")
                    .related(span, "it is here first");
                self.report(diagnostic);
            }
        }
    }

    fn statement(&mut self, statement: &Statement<'a>) -> Lowered<()> {
        self.work(1)?;
        let span = statement.span.clone();
        match &statement.action {
            Action::Declare(_) => Ok(()),
            Action::Block(block) => {
                self.statements(block);
                Ok(())
            }
            Action::If(arms, otherwise) => self.conditional(arms, otherwise.as_deref()),
            Action::While(condition, block) => self.repeat(condition, block, span),
            Action::Either(branches) => self.either(branches, span),
            _ => {
                self.begin();
                let performed = self.perform(statement);
                let text = self.text(&span);
                let truth = self.truth();
                let location = self.emit(text, span, &[truth]);
                self.pending.push((location, 0));
                performed
            }
        }
    }

    /// The instruction that evaluates a condition, and the condition. Nothing is pending after it.
    fn decide(&mut self, word: &str, condition: &Value<'a>, span: Span) -> (usize, ExprId) {
        self.begin();
        let place = match condition {
            Value::Any(span) => span,
            Value::Expr(expr) => &expr.span,
        };
        let mut text = self.text(place);
        // The parentheses of `if ((a) || (b))` belong to the parts, those of `if ((a))` to nothing.
        if let Some(inner) = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'))
            && !inner.contains(['(', ')'])
        {
            text = inner.to_owned();
        }
        let decided = self.condition(condition);
        let decided = decided.unwrap_or_else(|Reported| self.truth());
        let truth = self.truth();
        (self.emit(format!("{word} {text}"), span, &[decided, truth]), decided)
    }

    /// Statements that are reached only from some place, and only if a condition, if it is constant, holds.
    fn branch(&mut self, from: (usize, usize), taken: bool, block: &[Statement<'a>]) {
        let before = self.unreachable;
        self.unreachable |= !taken;
        self.pending = vec![from];
        self.statements(block);
        self.unreachable = before;
    }

    fn conditional(
        &mut self,
        arms: &[(Value<'a>, Span, Vec<Statement<'a>>)],
        otherwise: Option<&[Statement<'a>]>,
    ) -> Lowered<()> {
        let mut ends = Vec::new();
        let unreachable = self.unreachable;
        for (condition, head, block) in arms {
            let (location, decided) = self.decide("if", condition, head.clone());
            let constant = self.exprs.constant(decided);
            self.branch((location, 0), constant != Some(0), block);
            ends.append(&mut self.pending);
            self.pending.push((location, 1));
            self.unreachable |= constant == Some(1);
        }
        self.statements(otherwise.unwrap_or_default());
        self.unreachable = unreachable;
        self.pending.append(&mut ends);
        Ok(())
    }

    fn repeat(
        &mut self,
        condition: &Value<'a>,
        block: &[Statement<'a>],
        span: Span,
    ) -> Lowered<()> {
        // A loop without an end needs no instruction to decide, if there is any in it.
        if let Value::Expr(expr) = condition
            && self.text(&expr.span) == "true"
        {
            let begin = self.code.len();
            self.statements(block);
            if self.code.len() > begin {
                self.arrive(begin);
                return Ok(());
            }
        }
        let (location, decided) = self.decide("while", condition, span);
        let constant = self.exprs.constant(decided);
        self.branch((location, 0), constant != Some(0), block);
        self.arrive(location);
        self.pending.push((location, 1));
        Ok(())
    }

    fn either(&mut self, branches: &[Vec<Statement<'a>>], span: Span) -> Lowered<()> {
        self.begin();
        let count = branches.len();
        let choice = self.choice(count);
        let mut conditions = Vec::new();
        for number in 0..count {
            let chosen = self.chosen(choice, number, count);
            conditions.push(chosen.unwrap_or_else(|| self.truth()));
        }
        let location = self.emit("either".to_owned(), span, &conditions);
        let mut ends = Vec::new();
        for (number, block) in branches.iter().enumerate() {
            self.branch((location, number), true, block);
            ends.append(&mut self.pending);
        }
        self.pending = ends;
        Ok(())
    }

    /// The location of a label of a process.
    pub(super) fn location(&mut self, process: usize, label: ast::Name<'a>) -> Lowered<Location> {
        let member = &self.members[process];
        if let Some((location, _)) = member.labels.get(label.text) {
            return Ok(*location);
        }
        let message = format!("`{}` has no label `{}`", member.name, label.text);
        let mut names: Vec<_> = member.labels.keys().copied().chain(["end"]).collect();
        names.sort_unstable();
        let help = did_you_mean(label.text, names.iter().copied());
        let all = || format!("it has {}", names.map_to_text());
        let help = help.unwrap_or_else(all);
        let diagnostic = Diagnostic::new(message, label.span(), "no such label").help(help);
        Err(self.report(diagnostic))
    }
}

/// A few names in a row.
pub(super) trait Listed {
    /// The names in one text.
    fn map_to_text(&self) -> String;
}

impl Listed for Vec<&str> {
    fn map_to_text(&self) -> String {
        let names: Vec<_> = self.iter().take(10).map(|name| format!("`{name}`")).collect();
        names.join(", ")
    }
}
