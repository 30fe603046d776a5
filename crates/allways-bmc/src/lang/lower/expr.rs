//! Expressions: their kinds and values.
//!
//! Numbers and constants have no kind of their own: they are exact, and take the kind that is needed where they meet
//! something that has one. What is evaluated only under a condition (behind `&&`, `||` and `?`) is checked only under it.

use super::step::Index;
use super::{Lowered, Lowerer, Mode, Reported, Symbol};
use crate::lang::ast::{Base, Expr, KindName, Place, Range, Shape};
use crate::lang::diagnostic::Diagnostic;
use crate::program::{ExprId, Kind, Role, Span, Unary, VarId};

/// What an expression is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Value {
    /// A number that has no kind yet.
    Number(i64),
    /// A value with a kind.
    Expr(ExprId),
}

/// A variable or an element that can be read and written.
pub(super) enum Cell {
    /// A variable.
    Scalar(VarId),
    /// An element of an array.
    Element(VarId, Index),
    /// An element outside: it is 0, and writing it does nothing.
    Nowhere(VarId),
}

impl Cell {
    /// The variable.
    pub fn variable(&self) -> VarId {
        match *self {
            Cell::Scalar(id) | Cell::Element(id, _) | Cell::Nowhere(id) => id,
        }
    }
}

impl<'a> Lowerer<'a, '_> {
    /// What an expression is. `expected` is the kind for numbers if nothing else gives them one.
    pub(super) fn value(&mut self, expr: &Expr<'a>, expected: Option<Kind>) -> Lowered<Value> {
        self.work(1)?;
        match &expr.shape {
            Shape::Number(number) => Ok(Value::Number(*number)),
            Shape::Truth(truth) => Ok(Value::Expr(self.exprs.truth(*truth))),
            Shape::Place(place) => self.place(place),
            Shape::Local(process, place) => self.local(process, place),
            Shape::At(process, label) => self.at(process, *label),
            Shape::Unary(op, inner) => self.prefix(*op, inner, expected),
            Shape::Chain(first, rest) => self.chain(first, rest, expected),
            Shape::Ternary(parts) => self.ternary(parts, expected, &expr.span),
            Shape::Cast(inner, kinds) => self.cast(inner, kinds),
            Shape::Quantified(all, range, inner) => self.quantified(*all, range, inner),
        }
    }

    /// An expression as a value of a kind.
    pub(super) fn typed(&mut self, expr: &Expr<'a>, kind: Kind) -> Lowered<ExprId> {
        let value = self.value(expr, Some(kind))?;
        self.coerce(value, kind, expr)
    }

    /// A value, which is that of the expression, as one of a kind.
    pub(super) fn coerce(&mut self, value: Value, kind: Kind, expr: &Expr<'a>) -> Lowered<ExprId> {
        let span = expr.span.clone();
        let found = match value {
            Value::Expr(id) if self.exprs.kind(id) == kind => return Ok(id),
            Value::Expr(id) => self.exprs.kind(id),
            Value::Number(number) if kind == Kind::Bool => {
                let message = format!("expected `bool`, found the number {number}");
                let help = match number {
                    0 => "write `false`".to_owned(),
                    1 => "write `true`".to_owned(),
                    _ => "compare it with something".to_owned(),
                };
                let diagnostic = Diagnostic::new(message, span, "this is a number");
                return Err(self.report(diagnostic.help(help)));
            }
            Value::Number(number) => {
                let (least, most) = kind.range();
                if (least..=most).contains(&number) || self.is_dead() {
                    return Ok(self.exprs.number(number, kind));
                }
                let message = format!("{number} does not fit `{kind}`");
                let label = format!("the range of `{kind}` is {least} to {most}");
                return Err(self.report(Diagnostic::new(message, span, label)));
            }
        };
        let message = format!("expected `{kind}`, found `{found}`");
        let help = match kind {
            Kind::Bool => format!("write `{} != 0`", self.operand(expr)),
            Kind::Int { .. } => format!("convert it: `{} as {kind}`", self.operand(expr)),
        };
        let diagnostic = Diagnostic::new(message, span, format!("this is a `{found}`"));
        Err(self.report(diagnostic.help(help)))
    }

    /// The text of an expression, as it can be an operand.
    pub(super) fn operand(&self, expr: &Expr<'a>) -> String {
        let text = self.text(&expr.span);
        if text.len() > 40 {
            return "(…)".to_owned();
        }
        match expr.shape {
            _ if text.starts_with('(') => text,
            Shape::Chain(..) | Shape::Ternary(_) | Shape::Quantified(..) => format!("({text})"),
            _ => text,
        }
    }

    /// A constant number.
    pub(super) fn constant(&mut self, expr: &Expr<'a>) -> Lowered<i64> {
        let value = self.in_mode(Mode::Constant, |lowerer| lowerer.value(expr, None))?;
        let id = match value {
            Value::Number(number) => return Ok(number),
            Value::Expr(id) => id,
        };
        match self.exprs.constant(id) {
            Some(number) if self.exprs.kind(id) != Kind::Bool => Ok(number),
            Some(_) => {
                let message = "expected a number, found `bool`";
                let diagnostic = Diagnostic::new(message, expr.span.clone(), "this is a `bool`");
                Err(self.report(diagnostic))
            }
            None => Err(self.no_constant(expr)),
        }
    }

    /// A constant of a kind.
    pub(super) fn constant_of(&mut self, expr: &Expr<'a>, kind: Kind) -> Lowered<i64> {
        let id = self.in_mode(Mode::Constant, |lowerer| lowerer.typed(expr, kind))?;
        match self.exprs.constant(id) {
            Some(value) => Ok(value),
            None => Err(self.no_constant(expr)),
        }
    }

    fn no_constant(&mut self, expr: &Expr<'a>) -> Reported {
        let message = "this is no constant";
        let label = "a constant is needed here";
        self.report(Diagnostic::new(message, expr.span.clone(), label))
    }

    /// The kind with this name.
    pub(super) fn kind(&mut self, name: &KindName<'a>) -> Lowered<Kind> {
        let signed = match name.base {
            Base::Bool => return Ok(Kind::Bool),
            Base::Signed => true,
            Base::Unsigned => false,
        };
        let Some(width) = &name.width else { return Ok(Kind::Int { bits: 32, signed }) };
        let bits = self.constant(width)?;
        match u8::try_from(bits) {
            Ok(bits @ 1..=32) => Ok(Kind::Int { bits, signed }),
            _ => {
                let message = format!("a number has 1 to 32 bits, not {bits}");
                let diagnostic = Diagnostic::new(message, width.span.clone(), "its width");
                Err(self.report(diagnostic))
            }
        }
    }

    /// From and to of a range that is not reversed.
    pub(super) fn range(&mut self, range: &Range<'a>) -> Lowered<std::ops::Range<i64>> {
        let from = self.constant(&range.from)?;
        let to = self.constant(&range.to)?;
        // One whose bounds depend on a number around it may well be empty for some.
        if to < from || (to == from && self.bound.is_empty()) {
            if self.is_dead() {
                return Ok(from..from);
            }
            let message = format!("the range {from}..{to} is empty");
            let span = range.from.span.start..range.to.span.end;
            let diagnostic = Diagnostic::new(message, span, "nothing is in it");
            return Err(
                self.report(diagnostic.help("the end of a range is not in it: `0..1` is 0"))
            );
        }
        Ok(from..to)
    }

    fn place(&mut self, place: &Place<'a>) -> Lowered<Value> {
        let symbol = self.resolve(place.name)?;
        let Symbol::Constant(value) = symbol else {
            let cell = self.cell(place)?;
            return self.read(&cell).map(Value::Expr);
        };
        if place.index.is_some() {
            return Err(self.no_array(place, "a constant"));
        }
        Ok(Value::Number(value))
    }

    /// The value of a variable or an element.
    pub(super) fn read(&mut self, cell: &Cell) -> Lowered<ExprId> {
        match *cell {
            Cell::Scalar(id) => Ok(self.get(id)),
            Cell::Element(id, index) => self.get_element(id, index),
            Cell::Nowhere(id) => Ok(self.exprs.number(0, self.variable(id).kind)),
        }
    }

    /// Writes a variable or an element.
    pub(super) fn write(&mut self, cell: &Cell, value: ExprId) {
        match *cell {
            Cell::Scalar(id) => self.set(id, value),
            Cell::Element(id, index) => self.set_element(id, index, value),
            Cell::Nowhere(_) => {}
        }
    }

    /// Which variable or element is meant.
    pub(super) fn cell(&mut self, place: &Place<'a>) -> Lowered<Cell> {
        match self.resolve(place.name)? {
            Symbol::Variable(id) => self.cell_of(id, place),
            _ => {
                let message = format!("`{}` is a constant, and no variable", place.name.text);
                let diagnostic =
                    Diagnostic::new(message, place.name.span(), "it cannot be changed");
                Err(self.report(diagnostic))
            }
        }
    }

    /// The variable, or the element of it that a place says.
    pub(super) fn cell_of(&mut self, id: VarId, place: &Place<'a>) -> Lowered<Cell> {
        let variable = self.variable(id);
        match (variable.length, &place.index) {
            (None, None) => Ok(Cell::Scalar(id)),
            (Some(length), Some(index)) => Ok(match self.index(id, length, index)? {
                Some(index) => Cell::Element(id, index),
                None => Cell::Nowhere(id),
            }),
            (None, Some(_)) => {
                let what = if variable.role == Role::Lock { "one mutex" } else { "one variable" };
                Err(self.no_array(place, what))
            }
            (Some(length), None) => {
                let name = place.name.text;
                let message = format!("`{name}` is an array, and not one value");
                let label = format!("it has {length} elements");
                let diagnostic = Diagnostic::new(message, place.span.clone(), label);
                let help = format!("take one element at a time: `{name}[0]`");
                Err(self.report(diagnostic.help(help)))
            }
        }
    }

    fn no_array(&mut self, place: &Place<'a>, what: &str) -> Reported {
        let name = place.name.text;
        let message = format!("`{name}` is no array");
        let span: Span = place.name.span().end..place.span.end;
        let diagnostic = Diagnostic::new(message, span, format!("it is {what}"));
        self.report(diagnostic.help(format!("write `{name}` without an index")))
    }

    fn cast(&mut self, inner: &Expr<'a>, kinds: &[KindName<'a>]) -> Lowered<Value> {
        let mut value = None;
        for name in kinds {
            let kind = self.kind(name)?;
            let from = match value {
                Some(value) => value,
                None => self.value(inner, Some(kind))?,
            };
            let id = match from {
                Value::Number(number) if kind == Kind::Bool => self.exprs.truth(number != 0),
                Value::Number(number) => self.exprs.number(number, kind),
                Value::Expr(id) => self.exprs.unary(Unary::Cast, id, kind),
            };
            value = Some(Value::Expr(id));
        }
        value.map_or_else(|| self.value(inner, None), Ok)
    }
}
