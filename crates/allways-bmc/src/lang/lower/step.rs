//! One instruction while it is being made: statements performed one after the other, as formulas.
//!
//! A step begins in any state and knows, for each variable that was written, under which condition that happened and
//! what the value is then, over the state before the step. A statement reads what those before it wrote. Where paths
//! meet, what they wrote is merged under their conditions. In the end these are the updates of one instruction; so an
//! `atomic` block is one instruction however long it is, and a statement alone is an `atomic` block of one.

use super::{Lowered, Lowerer};
use crate::lang::ast::{Action, Statement};
use crate::program::{
    Binary, Check, Checked, ExprId, Exprs, Instruction, Kind, Node, Span, Unary, Update, VarId,
};
use std::collections::BTreeMap;
use std::mem::take;

/// How many parts of a path are looked at.
const PARTS: usize = 16;

/// An instruction that is being made.
pub(super) struct Step {
    /// Under which condition what comes next is performed or evaluated.
    pub path: ExprId,
    /// Whether the step can be performed.
    guard: ExprId,
    inputs: Vec<Kind>,
    checks: Vec<Check>,
    store: Store,
}

/// What was written so far.
#[derive(Clone, Default)]
pub(super) struct Store {
    scalars: BTreeMap<VarId, Write>,
    arrays: BTreeMap<VarId, Writes>,
}

/// What a variable that is no array was written.
#[derive(Clone, Copy)]
struct Write {
    /// Whether it was written at all.
    when: ExprId,
    /// What, if it was.
    value: ExprId,
}

/// What elements of an array were written, the last one last.
#[derive(Clone, Default)]
struct Writes {
    all: Vec<(Index, Write)>,
    /// How many of them were made before the paths parted.
    settled: usize,
}

/// Which element.
#[derive(Clone, Copy)]
pub(super) struct Index {
    /// The index.
    pub at: ExprId,
    /// Whether it is within the array.
    pub inside: ExprId,
}

impl Step {
    /// One that does nothing.
    pub fn new(exprs: &mut Exprs) -> Step {
        let (path, guard) = (exprs.truth(true), exprs.truth(true));
        Step { path, guard, inputs: Vec::new(), checks: Vec::new(), store: Store::default() }
    }
}

impl Store {
    /// Whatever is written from now on is on one of several paths.
    fn part(&mut self) {
        for writes in self.arrays.values_mut() {
            writes.settled = writes.all.len();
        }
    }

    fn len(&self) -> usize {
        self.scalars.len() + self.arrays.values().map(|writes| writes.all.len()).sum::<usize>()
    }
}

impl<'a> Lowerer<'a, '_> {
    /// Begins a new step.
    pub(super) fn begin(&mut self) {
        self.step = Step::new(&mut self.exprs);
    }

    /// The instruction of this step, which does not know yet where it goes on.
    pub(super) fn finish(&mut self, text: String, span: Span) -> Instruction {
        let step = std::mem::replace(&mut self.step, Step::new(&mut self.exprs));
        let mut updates = Vec::new();
        for (variable, Write { when, value }) in step.store.scalars {
            updates.push(Update { variable, index: None, when, value });
        }
        for (variable, writes) in step.store.arrays {
            for (index, Write { when, value }) in writes.all {
                updates.push(Update { variable, index: Some(index.at), when, value });
            }
        }
        // What is never written is no update.
        updates.retain(|update| self.exprs.constant(update.when) != Some(0));
        let Step { guard, inputs, checks, .. } = step;
        Instruction { guard, updates, next: Vec::new(), inputs, checks, text, span }
    }

    /// Whether nothing was written before: what is constant now is so in the source.
    pub(super) fn is_untouched(&self) -> bool {
        self.step.store.len() == 0
    }

    /// Any value of a kind.
    pub(super) fn input(&mut self, kind: Kind) -> ExprId {
        self.step.inputs.push(kind);
        self.exprs.intern(Node::Input(self.step.inputs.len() as u32 - 1), kind)
    }

    /// On this path the step can only be performed if the condition holds.
    pub(super) fn require(&mut self, condition: ExprId) {
        let off = self.exprs.not(self.step.path);
        let holds = self.exprs.or(off, condition);
        self.step.guard = self.exprs.and(self.step.guard, holds);
    }

    /// On this path, the condition must not hold.
    pub(super) fn check(&mut self, what: Checked, bad: ExprId, span: Span) {
        if self.excludes(self.step.path, bad) {
            return;
        }
        let bad = self.exprs.and(self.step.path, bad);
        let known = |check: &Check| check.what == what && check.bad == bad;
        let again = what == Checked::Index && self.step.checks.iter().any(known);
        if self.exprs.constant(bad) != Some(0) && !self.is_dead() && !again {
            self.step.checks.push(Check { what, bad, span });
        }
    }

    /// Whether a path says itself that something does not hold: that of `a[i]` in `i < 4 && a[i]` does.
    fn excludes(&self, path: ExprId, bad: ExprId) -> bool {
        let Node::Unary(Unary::Not, good) = self.exprs.node(bad) else { return false };
        let mut rest = path;
        // The parts of a path are a list to the left.
        for _ in 0..PARTS {
            match self.exprs.node(rest) {
                _ if rest == good => return true,
                Node::Binary(Binary::And, _, last) if last == good => return true,
                Node::Binary(Binary::And, left, _) => rest = left,
                _ => return false,
            }
        }
        false
    }

    /// What a variable is now.
    pub(super) fn get(&mut self, variable: VarId) -> ExprId {
        let before = self.exprs.intern(Node::Var(variable), self.variable(variable).kind);
        match self.step.store.scalars.get(&variable) {
            Some(write) => self.exprs.either(write.when, write.value, before),
            None => before,
        }
    }

    /// What an element is now.
    pub(super) fn get_element(&mut self, variable: VarId, index: Index) -> Lowered<ExprId> {
        let kind = self.variable(variable).kind;
        let mut value = self.exprs.intern(Node::Element(variable, index.at), kind);
        // Nothing is written while this is read.
        if let Some(writes) = self.step.store.arrays.remove(&variable) {
            for (written, write) in &writes.all {
                self.work(1)?;
                let same = self.same_number(index.at, written.at);
                let same = self.exprs.and(written.inside, same);
                let seen = self.exprs.and(write.when, same);
                value = self.exprs.either(seen, write.value, value);
            }
            self.step.store.arrays.insert(variable, writes);
        }
        Ok(value)
    }

    /// A variable is written.
    pub(super) fn set(&mut self, variable: VarId, value: ExprId) {
        let when = self.truth();
        self.step.store.scalars.insert(variable, Write { when, value });
    }

    /// An element is written.
    pub(super) fn set_element(&mut self, variable: VarId, index: Index, value: ExprId) {
        let when = self.truth();
        let writes = self.step.store.arrays.entry(variable).or_default();
        // What this path wrote there before is gone.
        if let Some(last) = writes.all.len().checked_sub(1)
            && last >= writes.settled
            && writes.all[last].0.at == index.at
        {
            writes.all.truncate(last);
        }
        writes.all.push((index, Write { when, value }));
    }

    /// Performs one of several branches: each is there with the condition under which it is taken if none before it is.
    /// `condition` evaluates that of the branch with a number; it is `None` for the last.
    pub(super) fn branches(
        &mut self,
        blocks: &[&[Statement<'a>]],
        mut condition: impl FnMut(&mut Self, usize) -> Lowered<Option<ExprId>>,
    ) -> Lowered<()> {
        let before = self.step.path;
        let mut base = take(&mut self.step.store);
        let settled: Vec<_> =
            base.arrays.iter().map(|(id, writes)| (*id, writes.settled)).collect();
        base.part();
        let mut otherwise = before;
        let mut ends = Vec::new();
        for (number, block) in blocks.iter().enumerate() {
            self.work(base.len())?;
            self.step.path = otherwise;
            self.step.store = base.clone();
            // What is wrong with it has been reported; the block is looked at nevertheless.
            let chosen = condition(self, number);
            let chosen = chosen.unwrap_or(Some(self.step.path));
            if let Some(chosen) = chosen {
                self.step.path = self.exprs.and(otherwise, chosen);
                let not = self.exprs.not(chosen);
                otherwise = self.exprs.and(otherwise, not);
            }
            self.perform_all(block);
            ends.push((chosen, take(&mut self.step.store)));
        }
        self.step.path = before;
        let mut merged = match ends.pop() {
            Some((None, last)) => last,
            Some(end) => {
                ends.push(end);
                base.clone()
            }
            None => base.clone(),
        };
        for (chosen, store) in ends.into_iter().rev() {
            let chosen = chosen.unwrap_or(before);
            merged = self.merge(chosen, store, merged, &base)?;
        }
        for (id, writes) in &mut merged.arrays {
            let known = settled.iter().find(|(known, _)| known == id);
            writes.settled = known.map_or(0, |(_, settled)| *settled);
        }
        self.step.store = merged;
        Ok(())
    }

    /// The first store if the condition holds, otherwise the second; both began as `base`.
    fn merge(&mut self, c: ExprId, a: Store, b: Store, base: &Store) -> Lowered<Store> {
        self.work(a.len() + b.len())?;
        let mut merged = Store::default();
        let nothing = Write { when: self.exprs.truth(false), value: c };
        let variables: Vec<_> = a.scalars.keys().chain(b.scalars.keys()).copied().collect();
        for variable in variables {
            let then = a.scalars.get(&variable).copied().unwrap_or(nothing);
            let otherwise = b.scalars.get(&variable).copied().unwrap_or(nothing);
            let when = self.either_truth(c, then.when, otherwise.when);
            // The value matters only where it is written.
            let value = if self.exprs.constant(then.when) == Some(0) {
                otherwise.value
            } else if self.exprs.constant(otherwise.when) == Some(0) {
                then.value
            } else {
                self.exprs.either(c, then.value, otherwise.value)
            };
            merged.scalars.insert(variable, Write { when, value });
        }
        let not = self.exprs.not(c);
        merged.arrays = base.arrays.clone();
        for (store, taken) in [(a, c), (b, not)] {
            for (variable, writes) in store.arrays {
                let known = base.arrays.get(&variable).map_or(0, |writes| writes.all.len());
                let target = merged.arrays.entry(variable).or_default();
                for (index, Write { when, value }) in writes.all.into_iter().skip(known) {
                    let when = self.exprs.and(taken, when);
                    target.all.push((index, Write { when, value }));
                }
            }
        }
        Ok(merged)
    }

    /// One of two truths.
    fn either_truth(&mut self, condition: ExprId, then: ExprId, otherwise: ExprId) -> ExprId {
        match (self.exprs.constant(then), self.exprs.constant(otherwise)) {
            _ if then == otherwise => then,
            (Some(0), _) => {
                let not = self.exprs.not(condition);
                self.exprs.and(not, otherwise)
            }
            (_, Some(0)) => self.exprs.and(condition, then),
            (Some(_), _) => self.exprs.or(condition, otherwise),
            (_, Some(_)) => {
                let not = self.exprs.not(condition);
                self.exprs.or(not, then)
            }
            _ => self.exprs.either(condition, then, otherwise),
        }
    }

    /// Whether two numbers, which may be of different kinds, are the same.
    fn same_number(&mut self, a: ExprId, b: ExprId) -> ExprId {
        let (from, to) = (self.exprs.kind(a), self.exprs.kind(b));
        if from == to {
            return self.exprs.equal(a, b);
        }
        for (value, other) in [(self.exprs.constant(a), b), (self.exprs.constant(b), a)] {
            let Some(value) = value else { continue };
            let kind = self.exprs.kind(other);
            let (least, most) = kind.range();
            if value < least || value > most {
                return self.exprs.truth(false);
            }
            let value = self.exprs.number(value, kind);
            return self.exprs.equal(other, value);
        }
        // The kind that can hold every value of the other, if there is one, is the one to compare in.
        let holds = |kind: Kind, other: Kind| {
            kind.range().0 <= other.range().0 && kind.range().1 >= other.range().1
        };
        if holds(to, from) {
            let a = self.exprs.unary(Unary::Cast, a, to);
            return self.exprs.equal(a, b);
        }
        if holds(from, to) {
            let b = self.exprs.unary(Unary::Cast, b, from);
            return self.exprs.equal(a, b);
        }
        // One is signed, and not wider than the other.
        let (signed, other) = if from.is_signed() { (a, b) } else { (b, a) };
        let zero = self.exprs.number(0, self.exprs.kind(signed));
        let negative = self.exprs.binary(Binary::Less, signed, zero);
        let positive = self.exprs.not(negative);
        let cast = self.exprs.unary(Unary::Cast, signed, self.exprs.kind(other));
        let same = self.exprs.equal(cast, other);
        self.exprs.and(positive, same)
    }
}

/// Whether a statement makes an instruction.
pub(super) fn does_something(statement: &Statement<'_>) -> bool {
    match &statement.action {
        Action::Declare(_) => false,
        Action::Block(block) => block.iter().any(does_something),
        _ => true,
    }
}
