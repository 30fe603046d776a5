//! Indices: whether they are within their array, and what is checked if that is not known.

use super::expr::Value;
use super::step::Index;
use super::{Lowered, Lowerer, Mode};
use crate::lang::ast::Expr;
use crate::lang::diagnostic::Diagnostic;
use crate::program::{Binary, Checked, ExprId, Exprs, Kind, Node, Unary, VarId};

/// How deep an expression is looked into.
const DEPTH: u32 = 8;

impl<'a> Lowerer<'a, '_> {
    /// The index of an element of an array with so many; `None` if it is outside, which is checked or never evaluated.
    pub(super) fn index(
        &mut self,
        array: VarId,
        length: u32,
        index: &Expr<'a>,
    ) -> Lowered<Option<Index>> {
        let length = i64::from(length);
        let at = match self.value(index, None)? {
            Value::Expr(at) => at,
            Value::Number(number) => {
                let bits = (64 - (length - 1).leading_zeros()).max(1) as u8;
                let kind = Kind::Int { bits, signed: false };
                if !(0..length).contains(&number) {
                    return self.outside(array, length, number, index);
                }
                self.exprs.number(number, kind)
            }
        };
        if self.exprs.kind(at) == Kind::Bool {
            let message = "expected a number as index, found `bool`";
            let help = format!("write `{} as uint<1>`", self.operand(index));
            let diagnostic = Diagnostic::new(message, index.span.clone(), "this is a `bool`");
            return Err(self.report(diagnostic.help(help)));
        }
        // What is constant only because of what was written before is no error, but checked.
        if let Some(number) = self.exprs.constant(at)
            && !(0..length).contains(&number)
            && self.is_untouched()
        {
            return self.outside(array, length, number, index);
        }
        let (least, most) = bounds(&self.exprs, at, DEPTH);
        let kind = self.exprs.kind(at);
        let mut inside = self.truth();
        if least < 0 {
            let zero = self.exprs.number(0, kind);
            let negative = self.exprs.binary(Binary::Less, at, zero);
            inside = self.exprs.not(negative);
        }
        if most >= length {
            // The length is within the kind's range, for something in it is not less.
            let end = self.exprs.number(length, kind);
            let less = self.exprs.binary(Binary::Less, at, end);
            inside = self.exprs.and(inside, less);
        }
        if self.mode == Mode::Code {
            let bad = self.exprs.not(inside);
            self.check(Checked::Index, bad, index.span.clone());
        }
        let never = self.exprs.constant(inside) == Some(0);
        Ok(if never { None } else { Some(Index { at, inside }) })
    }

    fn outside(
        &mut self,
        array: VarId,
        length: i64,
        number: i64,
        index: &Expr<'a>,
    ) -> Lowered<Option<Index>> {
        if self.is_dead() {
            return Ok(None);
        }
        let name = self.variable(array).name.clone();
        let message = format!("index {number} is outside of `{name}`");
        let label = format!("`{name}` has {length} elements: 0 to {}", length - 1);
        Err(self.report(Diagnostic::new(message, index.span.clone(), label)))
    }
}

/// Numbers between which the value of an expression is.
fn bounds(exprs: &Exprs, id: ExprId, depth: u32) -> (i64, i64) {
    let whole = exprs.kind(id).range();
    if depth == 0 {
        return whole;
    }
    let of = |id| bounds(exprs, id, depth - 1);
    match exprs.node(id) {
        Node::Const(value) => (value, value),
        Node::If(_, then, otherwise) => {
            let (a, b) = (of(then), of(otherwise));
            (a.0.min(b.0), a.1.max(b.1))
        }
        Node::Unary(Unary::Cast, inner) => {
            let inner = of(inner);
            if whole.0 <= inner.0 && inner.1 <= whole.1 { inner } else { whole }
        }
        Node::Binary(op, a, b) => {
            let (x, y) = (of(a), exprs.constant(b));
            match (op, y) {
                // The sign is that of what is divided.
                (Binary::Remainder, Some(y)) if y > 0 => (x.0.clamp(1 - y, 0), x.1.clamp(0, y - 1)),
                (Binary::Divide, Some(y)) if y > 0 => (x.0 / y, x.1 / y),
                (Binary::ShiftRight, Some(y)) if (0..32).contains(&y) => (x.0 >> y, x.1 >> y),
                (Binary::BitAnd, Some(y)) if y >= 0 => (0, y),
                (Binary::BitAnd, None) => match exprs.constant(a) {
                    Some(a) if a >= 0 => (0, a),
                    _ => whole,
                },
                (Binary::Add, Some(y)) if x.0 + y >= whole.0 && x.1 + y <= whole.1 => {
                    (x.0 + y, x.1 + y)
                }
                (Binary::Subtract, Some(y)) if x.0 - y >= whole.0 && x.1 - y <= whole.1 => {
                    (x.0 - y, x.1 - y)
                }
                _ => whole,
            }
        }
        _ => whole,
    }
}
