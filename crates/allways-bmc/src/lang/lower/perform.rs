//! What statements do within a step.

use super::step::does_something;
use super::{Lowered, Lowerer, Reported};
use crate::lang::ast::{Action, Place, Statement, Value};
use crate::lang::diagnostic::Diagnostic;
use crate::program::{Checked, ExprId, Kind, Role};

impl<'a> Lowerer<'a, '_> {
    /// Performs statements one after the other, within this step.
    pub(super) fn perform_all(&mut self, block: &[Statement<'a>]) {
        for statement in block {
            if self.stopped {
                return;
            }
            // What is wrong with it has been reported; the next one is looked at.
            let _ = self.perform(statement);
        }
    }

    /// Performs one statement within this step.
    pub(super) fn perform(&mut self, statement: &Statement<'a>) -> Lowered<()> {
        self.work(1)?;
        match &statement.action {
            Action::Declare(_) | Action::Skip => Ok(()),
            Action::Assign(place, value) => self.assign(place, value),
            Action::Await(condition) => {
                let condition = self.typed(condition, Kind::Bool)?;
                self.require(condition);
                Ok(())
            }
            Action::Assert(condition) => {
                let holds = self.typed(condition, Kind::Bool)?;
                let bad = self.exprs.not(holds);
                self.check(Checked::Assertion, bad, statement.span.clone());
                Ok(())
            }
            Action::Lock(place) => self.lock(place),
            Action::Unlock(place) => self.unlock(place, statement),
            Action::Block(block) | Action::Atomic(block) => {
                self.no_labels(block);
                self.perform_all(block);
                Ok(())
            }
            Action::If(arms, otherwise) => {
                let mut blocks: Vec<_> = arms.iter().map(|(.., block)| block.as_slice()).collect();
                blocks.extend(otherwise.as_deref());
                blocks.iter().for_each(|block| self.no_labels(block));
                self.branches(&blocks, |lowerer, number| match arms.get(number) {
                    Some((condition, ..)) => lowerer.condition(condition).map(Some),
                    None => Ok(None),
                })
            }
            Action::Either(branches) => {
                let blocks: Vec<_> = branches.iter().map(Vec::as_slice).collect();
                blocks.iter().for_each(|block| self.no_labels(block));
                let choice = self.choice(blocks.len());
                self.branches(&blocks, |lowerer, number| {
                    Ok(lowerer.chosen(choice, number, blocks.len()))
                })
            }
            Action::While(..) => {
                let message = "`while` cannot be in an atomic block";
                let label = "it may go on forever, and is not one step";
                let help = "repeat its body as often as needed, or put `atomic` inside the loop";
                let diagnostic = Diagnostic::new(message, statement.span.clone(), label);
                Err(self.report(diagnostic.help(help)))
            }
        }
    }

    /// Labels within a step are at no location.
    pub(super) fn no_labels(&mut self, block: &[Statement<'a>]) {
        for label in block.iter().flat_map(|statement| &statement.labels) {
            let message = "a label cannot be in an atomic block";
            let label_text = "no process ever stands here";
            let help = "put it before `atomic`";
            let diagnostic = Diagnostic::new(message, label.span(), label_text).help(help);
            self.report(diagnostic);
        }
    }

    /// A condition, or any.
    pub(super) fn condition(&mut self, condition: &Value<'a>) -> Lowered<ExprId> {
        match condition {
            Value::Any(_) => Ok(self.input(Kind::Bool)),
            Value::Expr(expr) => self.typed(expr, Kind::Bool),
        }
    }

    /// An input that picks one of so many.
    pub(super) fn choice(&mut self, count: usize) -> ExprId {
        let last = count as i64 - 1;
        let bits = (64 - last.leading_zeros()).max(1) as u8;
        let kind = Kind::Int { bits, signed: false };
        let choice = self.input(kind);
        if last < kind.range().1 {
            let count = self.exprs.number(last + 1, kind);
            let fits = self.exprs.binary(crate::program::Binary::Less, choice, count);
            self.require(fits);
        }
        choice
    }

    /// Whether the one with this number is picked; `None` for the last, which is if no other is.
    pub(super) fn chosen(&mut self, choice: ExprId, number: usize, count: usize) -> Option<ExprId> {
        if number + 1 == count {
            return None;
        }
        let number = self.exprs.number(number as i64, self.exprs.kind(choice));
        Some(self.exprs.equal(choice, number))
    }

    fn assign(&mut self, place: &Place<'a>, value: &Value<'a>) -> Lowered<()> {
        let cell = self.cell(place)?;
        let variable = self.variable(cell.variable());
        if variable.role == Role::Lock {
            let message = format!("the mutex `{}` cannot be assigned", place.name.text);
            let text = self.text(&place.span);
            let help = format!("write `lock {text};` or `unlock {text};`");
            let diagnostic = Diagnostic::new(message, place.span.clone(), "this is a mutex");
            return Err(self.report(diagnostic.help(help)));
        }
        let kind = variable.kind;
        let value = match value {
            Value::Any(_) => self.input(kind),
            Value::Expr(expr) => self.typed(expr, kind)?,
        };
        self.write(&cell, value);
        Ok(())
    }

    fn lock(&mut self, place: &Place<'a>) -> Lowered<()> {
        let (cell, held, free, mine) = self.mutex(place)?;
        let is_free = self.exprs.equal(held, free);
        self.require(is_free);
        self.write(&cell, mine);
        Ok(())
    }

    fn unlock(&mut self, place: &Place<'a>, statement: &Statement<'a>) -> Lowered<()> {
        let (cell, held, free, mine) = self.mutex(place)?;
        let is_mine = self.exprs.equal(held, mine);
        let bad = self.exprs.not(is_mine);
        self.check(Checked::Unlock, bad, statement.span.clone());
        self.write(&cell, free);
        Ok(())
    }

    /// A mutex: where it is, what it is, what it is if it is free, and if this process holds it.
    fn mutex(&mut self, place: &Place<'a>) -> Lowered<(super::expr::Cell, ExprId, ExprId, ExprId)> {
        let cell = self.cell(place)?;
        let variable = self.variable(cell.variable());
        if variable.role != Role::Lock {
            let name = place.name.text;
            let message = format!("`{name}` is no mutex");
            let label = format!("this is a `{}`", variable.kind);
            let help = format!("declare it with `mutex {name};`");
            let diagnostic = Diagnostic::new(message, place.span.clone(), label).help(help);
            return Err(self.report(diagnostic));
        }
        let kind = variable.kind;
        let me = self.process.ok_or(Reported)? as i64;
        let held = self.read(&cell)?;
        let (free, mine) = (self.exprs.number(0, kind), self.exprs.number(me + 1, kind));
        Ok((cell, held, free, mine))
    }

    /// Reports labels of a statement that makes no instruction.
    pub(super) fn no_place(&mut self, statement: &Statement<'a>) {
        if does_something(statement) {
            return;
        }
        for label in &statement.labels {
            let message = format!("the label `{}` is at nothing", label.text);
            let help = "put a statement behind it, for example `skip;`";
            let text = "what follows is no instruction";
            let diagnostic = Diagnostic::new(message, label.span(), text).help(help);
            self.report(diagnostic);
        }
    }
}
