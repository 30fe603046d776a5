//! Operators, `?:`, `forall` and `exists`.

use super::expr::Value;
use super::{Lowered, Lowerer, Reported};
use crate::lang::ast::{Expr, Op, Range, Shape, UnaryOp};
use crate::lang::diagnostic::Diagnostic;
use crate::program::{Binary, ExprId, Kind, Span, Unary};

/// The kind that the distance of a shift has if it is a number.
const DISTANCE: Kind = Kind::Int { bits: 32, signed: false };

impl<'a> Lowerer<'a, '_> {
    /// Does something that is only evaluated if a condition holds too.
    fn under<T>(
        &mut self,
        condition: ExprId,
        inner: impl FnOnce(&mut Self) -> Lowered<T>,
    ) -> Lowered<T> {
        let before = self.step.path;
        self.step.path = self.exprs.and(before, condition);
        let result = inner(self);
        self.step.path = before;
        result
    }

    pub(super) fn prefix(
        &mut self,
        op: UnaryOp,
        inner: &Expr<'a>,
        expected: Option<Kind>,
    ) -> Lowered<Value> {
        if op == UnaryOp::Not {
            let value = self.value(inner, Some(Kind::Bool))?;
            if let Some(kind @ Kind::Int { .. }) = self.kind_of(value) {
                let message = format!("`!` needs a `bool`, found `{kind}`");
                let label = format!("this is a `{kind}`");
                let text = self.operand(inner);
                let help = format!("write `{text} == 0`, or `~{text}` to turn its bits");
                let diagnostic = Diagnostic::new(message, inner.span.clone(), label);
                return Err(self.report(diagnostic.help(help)));
            }
            let inner = self.coerce(value, Kind::Bool, inner)?;
            return Ok(Value::Expr(self.exprs.not(inner)));
        }
        let id = match (self.value(inner, expected)?, op) {
            (Value::Number(number), UnaryOp::Negate) => return Ok(Value::Number(-number)),
            (value @ Value::Number(number), _) => match expected {
                Some(kind @ Kind::Int { .. }) => self.coerce(value, kind, inner)?,
                _ => return Ok(Value::Number(!number)),
            },
            (Value::Expr(id), _) => id,
        };
        let kind = self.exprs.kind(id);
        if kind == Kind::Bool {
            let sign = if op == UnaryOp::Negate { "-" } else { "~" };
            let message = format!("`{sign}` needs a number, found `bool`");
            let help = format!("write `!{}`", self.operand(inner));
            let diagnostic = Diagnostic::new(message, inner.span.clone(), "this is a `bool`");
            return Err(self.report(diagnostic.help(help)));
        }
        let op = if op == UnaryOp::Negate { Unary::Negate } else { Unary::Complement };
        Ok(Value::Expr(self.exprs.unary(op, id, kind)))
    }

    pub(super) fn chain(
        &mut self,
        first: &Expr<'a>,
        rest: &[(Op, Expr<'a>)],
        expected: Option<Kind>,
    ) -> Lowered<Value> {
        match rest {
            [(Op::Logic(op), _), ..] => self.logic(*op, first, rest),
            [(Op::Compare(op, swapped, turned), right)] => {
                self.comparison(*op, *swapped, *turned, first, right)
            }
            _ => self.arithmetic(first, rest, expected),
        }
    }

    /// `&&` or `||`: what is to the right is only evaluated if it matters.
    fn logic(&mut self, op: Binary, first: &Expr<'a>, rest: &[(Op, Expr<'a>)]) -> Lowered<Value> {
        let mut value = self.typed(first, Kind::Bool)?;
        for (_, expr) in rest {
            let open = if op == Binary::And { value } else { self.exprs.not(value) };
            let next = self.under(open, |lowerer| lowerer.typed(expr, Kind::Bool))?;
            value = self.exprs.binary(op, value, next);
        }
        Ok(Value::Expr(value))
    }

    fn comparison(
        &mut self,
        op: Binary,
        swapped: bool,
        turned: bool,
        left: &Expr<'a>,
        right: &Expr<'a>,
    ) -> Lowered<Value> {
        // What has numbers in it that take their kind from elsewhere comes second.
        let second = matches!(left.shape, Shape::Ternary(_))
            || matches!(&left.shape, Shape::Chain(_, rest) if matches!(rest[0].0, Op::Shift(_)));
        let (a, b) = if second {
            let b = self.value(right, None)?;
            (self.value(left, self.kind_of(b))?, b)
        } else {
            let a = self.value(left, None)?;
            (a, self.value(right, self.kind_of(a))?)
        };
        let result = if let (Value::Number(a), Value::Number(b)) = (a, b) {
            let (a, b) = if swapped { (b, a) } else { (a, b) };
            self.exprs.truth(if op == Binary::Equal { a == b } else { a < b })
        } else {
            let (a, b) = self.same_kind(a, b, left, right)?;
            if op == Binary::Less && self.exprs.kind(a) == Kind::Bool {
                let message = "only numbers are less or greater, found `bool`";
                let diagnostic = Diagnostic::new(message, left.span.clone(), "this is a `bool`");
                return Err(self.report(diagnostic));
            }
            let (a, b) = if swapped { (b, a) } else { (a, b) };
            self.exprs.binary(op, a, b)
        };
        Ok(Value::Expr(if turned { self.exprs.not(result) } else { result }))
    }

    fn kind_of(&self, value: Value) -> Option<Kind> {
        match value {
            Value::Number(_) => None,
            Value::Expr(id) => Some(self.exprs.kind(id)),
        }
    }

    /// Two operands of one kind; at least one of them has one.
    fn same_kind(
        &mut self,
        a: Value,
        b: Value,
        left: &Expr<'a>,
        right: &Expr<'a>,
    ) -> Lowered<(ExprId, ExprId)> {
        match (a, b) {
            (Value::Expr(a), Value::Expr(b)) => {
                let (x, y) = (self.exprs.kind(a), self.exprs.kind(b));
                if x == y { Ok((a, b)) } else { Err(self.mixed(x, y, left, right)) }
            }
            (Value::Expr(a), number) => {
                let b = self.coerce(number, self.exprs.kind(a), right)?;
                Ok((a, b))
            }
            (number, Value::Expr(b)) => {
                let a = self.coerce(number, self.exprs.kind(b), left)?;
                Ok((a, b))
            }
            (Value::Number(_), Value::Number(_)) => unreachable!("one of them has a kind"),
        }
    }

    fn mixed(&mut self, x: Kind, y: Kind, left: &Expr<'a>, right: &Expr<'a>) -> Reported {
        let message = format!("`{x}` and `{y}` cannot be mixed");
        let help = match (x, y) {
            (Kind::Bool, _) => format!("write `{} != 0`", self.operand(right)),
            (_, Kind::Bool) => format!("write `{} != 0`", self.operand(left)),
            _ if x.bits() < y.bits() => format!("convert: `{} as {y}`", self.operand(left)),
            _ => format!("convert: `{} as {x}`", self.operand(right)),
        };
        let diagnostic = Diagnostic::new(message, right.span.clone(), format!("this is `{y}`"))
            .related(left.span.clone(), format!("and this is `{x}`"));
        self.report(diagnostic.help(help))
    }

    fn arithmetic(
        &mut self,
        first: &Expr<'a>,
        rest: &[(Op, Expr<'a>)],
        expected: Option<Kind>,
    ) -> Lowered<Value> {
        let mut value = self.value(first, expected)?;
        for (op, right) in rest {
            value = match *op {
                Op::Shift(op) => self.shift(op, value, first, right, expected)?,
                Op::Arithmetic(op) => {
                    let kind = self.kind_of(value).or(expected);
                    let operand = self.value(right, kind)?;
                    self.calculate(op, value, operand, first, right)?
                }
                Op::Logic(_) | Op::Compare(..) => unreachable!("those have another precedence"),
            };
        }
        Ok(value)
    }

    fn calculate(
        &mut self,
        op: Binary,
        a: Value,
        b: Value,
        left: &Expr<'a>,
        right: &Expr<'a>,
    ) -> Lowered<Value> {
        if let (Value::Number(x), Value::Number(y)) = (a, b) {
            return self.exact(op, x, y, left, right);
        }
        let truth = [(a, left), (b, right)];
        let truth = truth.into_iter().find(|(value, _)| self.kind_of(*value) == Some(Kind::Bool));
        if let Some((_, expr)) = truth {
            let help = match op {
                Binary::BitAnd => "write `&&`",
                Binary::BitOr => "write `||`",
                Binary::BitXor => "write `!=`",
                _ => "a `bool` as a number is `b as uint<1>`",
            };
            let message = "this operator needs numbers, found `bool`";
            let diagnostic = Diagnostic::new(message, expr.span.clone(), "this is a `bool`");
            return Err(self.report(diagnostic.help(help)));
        }
        let written = matches!(b, Value::Number(_)) || self.is_untouched();
        let (a, b) = self.same_kind(a, b, left, right)?;
        let divides = matches!(op, Binary::Divide | Binary::Remainder);
        if divides && written && self.exprs.constant(b) == Some(0) {
            self.divided_by_zero(&right.span)?;
        }
        Ok(Value::Expr(self.exprs.binary(op, a, b)))
    }

    fn divided_by_zero(&mut self, span: &Span) -> Lowered<()> {
        if self.is_dead() {
            return Ok(());
        }
        let diagnostic = Diagnostic::new("division by zero", span.clone(), "this is 0");
        Err(self.report(diagnostic))
    }

    /// What two numbers without a kind make.
    fn exact(
        &mut self,
        op: Binary,
        x: i64,
        y: i64,
        left: &Expr<'a>,
        right: &Expr<'a>,
    ) -> Lowered<Value> {
        let result = match op {
            Binary::Add => x.checked_add(y),
            Binary::Subtract => x.checked_sub(y),
            Binary::Multiply => x.checked_mul(y),
            Binary::Divide | Binary::Remainder if y == 0 => {
                self.divided_by_zero(&right.span)?;
                Some(0)
            }
            Binary::Divide => x.checked_div(y),
            Binary::Remainder => x.checked_rem(y),
            Binary::ShiftLeft if (0..32).contains(&y) => x.checked_mul(1 << y),
            Binary::ShiftRight if (0..64).contains(&y) => Some(x >> y),
            Binary::BitAnd => Some(x & y),
            Binary::BitOr => Some(x | y),
            Binary::BitXor => Some(x ^ y),
            _ => None,
        };
        // Far below the bounds of `i64`, so that a sign can be turned.
        match result.filter(|result| result.unsigned_abs() < 1 << 62) {
            Some(result) => Ok(Value::Number(result)),
            None if self.is_dead() => Ok(Value::Number(0)),
            None => {
                let span = left.span.start..right.span.end;
                let diagnostic = Diagnostic::new("this constant is too large", span, "");
                Err(self.report(diagnostic))
            }
        }
    }

    fn shift(
        &mut self,
        op: Binary,
        value: Value,
        left: &Expr<'a>,
        right: &Expr<'a>,
        expected: Option<Kind>,
    ) -> Lowered<Value> {
        let distance = self.value(right, Some(DISTANCE))?;
        let a = match (value, expected) {
            (Value::Number(x), _) if matches!(distance, Value::Number(_)) => {
                let Value::Number(y) = distance else { unreachable!("it was looked at") };
                return self.exact(op, x, y, left, right);
            }
            (Value::Number(_), Some(kind @ Kind::Int { .. })) => self.coerce(value, kind, left)?,
            (Value::Number(_), _) => return Err(self.no_kind(&left.span, left)),
            (Value::Expr(id), _) => id,
        };
        let b = match distance {
            Value::Number(_) => self.coerce(distance, DISTANCE, right)?,
            Value::Expr(id) => id,
        };
        for (id, expr) in [(a, left), (b, right)] {
            if self.exprs.kind(id) == Kind::Bool {
                let message = "a shift needs numbers, found `bool`";
                let diagnostic = Diagnostic::new(message, expr.span.clone(), "this is a `bool`");
                return Err(self.report(diagnostic));
            }
        }
        Ok(Value::Expr(self.exprs.binary(op, a, b)))
    }

    fn no_kind(&mut self, span: &Span, expr: &Expr<'a>) -> Reported {
        let message = "it is not known of which kind this number is";
        let help = format!("say it: `{} as uint<8>`", self.operand(expr));
        self.report(Diagnostic::new(message, span.clone(), "").help(help))
    }

    pub(super) fn ternary(
        &mut self,
        parts: &[Expr<'a>; 3],
        expected: Option<Kind>,
        span: &Span,
    ) -> Lowered<Value> {
        let [condition, then, otherwise] = parts;
        let chosen = self.typed(condition, Kind::Bool)?;
        let a = self.under(chosen, |lowerer| lowerer.value(then, expected))?;
        let not = self.exprs.not(chosen);
        let context = self.kind_of(a).or(expected);
        let b = self.under(not, |lowerer| lowerer.value(otherwise, context))?;
        let (a, b) = match (a, b, expected) {
            (Value::Number(x), Value::Number(y), _) if self.exprs.constant(chosen).is_some() => {
                let taken = self.exprs.constant(chosen) == Some(1);
                return Ok(Value::Number(if taken { x } else { y }));
            }
            (Value::Number(x), Value::Number(y), _) if x == y => return Ok(a),
            (Value::Number(_), Value::Number(_), Some(kind @ Kind::Int { .. })) => {
                (self.coerce(a, kind, then)?, self.coerce(b, kind, otherwise)?)
            }
            (Value::Number(_), Value::Number(_), _) => return Err(self.no_kind(span, then)),
            // A number in a branch that is never taken may be any.
            (Value::Number(_), Value::Expr(b), _) => {
                let kind = self.exprs.kind(b);
                (self.under(chosen, |lowerer| lowerer.coerce(a, kind, then))?, b)
            }
            (Value::Expr(a), Value::Number(_), _) => {
                let kind = self.exprs.kind(a);
                (a, self.under(not, |lowerer| lowerer.coerce(b, kind, otherwise))?)
            }
            _ => self.same_kind(a, b, then, otherwise)?,
        };
        Ok(Value::Expr(self.exprs.either(chosen, a, b)))
    }

    pub(super) fn quantified(
        &mut self,
        all: bool,
        range: &Range<'a>,
        inner: &Expr<'a>,
    ) -> Lowered<Value> {
        let numbers = self.range(range)?;
        self.fresh(range.name)?;
        let mut value = self.exprs.truth(all);
        for number in numbers {
            let open = if all { value } else { self.exprs.not(value) };
            self.bound.push((range.name.text, number));
            let next = self.under(open, |lowerer| lowerer.typed(inner, Kind::Bool));
            self.bound.pop();
            let next = next?;
            let op = if all { Binary::And } else { Binary::Or };
            value = self.exprs.binary(op, value, next);
        }
        Ok(Value::Expr(value))
    }
}
