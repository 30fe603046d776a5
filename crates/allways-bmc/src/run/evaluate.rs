//! The value of an expression, each part computed once: expressions share much, and may be deep.

use super::State;
use super::state::Layout;
use crate::program::{Binary, ExprId, Exprs, Kind, Node, Unary};

/// Values of expressions in one state with some inputs. Nothing is cleared between states: each value remembers for
/// which round it was computed.
#[derive(Clone, Default, Debug)]
pub(super) struct Scratch {
    values: Vec<(u64, i64)>,
    round: u64,
    stack: Vec<ExprId>,
}

impl Scratch {
    /// Forgets all values: what follows is in another state or with other inputs.
    pub(super) fn start(&mut self, exprs: &Exprs) {
        self.round += 1;
        if self.values.len() < exprs.len() {
            self.values.resize(exprs.len(), (0, 0));
        }
    }

    /// The value of an expression that was computed in this round.
    pub(super) fn known(&self, expr: ExprId) -> Option<i64> {
        let (round, value) = self.values[expr.index()];
        (round == self.round).then_some(value)
    }

    /// The value of an expression. Since [`Scratch::start`], state and inputs must be the same.
    pub(super) fn value(
        &mut self,
        exprs: &Exprs,
        layout: &Layout,
        state: &State,
        inputs: &[i64],
        expr: ExprId,
    ) -> i64 {
        self.stack.push(expr);
        while let Some(&next) = self.stack.last() {
            let before = self.stack.len();
            if self.known(next).is_none() {
                for operand in operands(exprs.node(next)).into_iter().flatten() {
                    if self.known(operand).is_none() {
                        self.stack.push(operand);
                    }
                }
                if self.stack.len() > before {
                    continue;
                }
                let of = |id: ExprId| self.values[id.index()].1;
                let kind = exprs.kind(next);
                let value = match exprs.node(next) {
                    Node::Const(value) => value,
                    Node::Var(variable) => state.values[layout.range(variable).start],
                    Node::Element(variable, index) => {
                        layout.element(variable, of(index)).map_or(0, |place| state.values[place])
                    }
                    Node::Input(place) => inputs.get(place as usize).copied().unwrap_or(0),
                    Node::At(process, location) => {
                        i64::from(state.locations.get(process as usize) == Some(&location))
                    }
                    Node::Unary(operator, a) => unary(operator, of(a), kind),
                    Node::Binary(operator, a, b) => binary(operator, of(a), of(b), kind),
                    Node::If(condition, then, otherwise) => {
                        of(if of(condition) == 0 { otherwise } else { then })
                    }
                };
                self.values[next.index()] = (self.round, value);
            }
            self.stack.pop();
        }
        self.values[expr.index()].1
    }
}

/// The operands of an expression.
pub(super) fn operands(node: Node) -> [Option<ExprId>; 3] {
    match node {
        Node::Const(_) | Node::Var(_) | Node::Input(_) | Node::At(..) => [None; 3],
        Node::Element(_, a) | Node::Unary(_, a) => [Some(a), None, None],
        Node::Binary(_, a, b) => [Some(a), Some(b), None],
        Node::If(a, b, c) => [Some(a), Some(b), Some(c)],
    }
}

/// An operator with one operand; `kind` is that of the result.
fn unary(operator: Unary, a: i64, kind: Kind) -> i64 {
    match operator {
        Unary::Not => i64::from(a == 0),
        Unary::Negate => kind.wrap(-a),
        Unary::Complement => kind.wrap(!a),
        Unary::Cast if kind == Kind::Bool => i64::from(a != 0),
        Unary::Cast => kind.wrap(a),
    }
}

/// An operator with two operands; `kind` is that of the result.
fn binary(operator: Binary, a: i64, b: i64, kind: Kind) -> i64 {
    /// How far to shift, if that is not too far.
    fn distance(b: i64, kind: Kind) -> Option<u32> {
        u32::try_from(b).ok().filter(|distance| (*distance as usize) < kind.bits())
    }
    match operator {
        Binary::And | Binary::BitAnd => a & b,
        Binary::Or | Binary::BitOr => a | b,
        Binary::BitXor => a ^ b,
        Binary::Add => kind.wrap(a + b),
        Binary::Subtract => kind.wrap(a - b),
        // The largest product of two unsigned numbers does not fit; its low bits are right all the same.
        Binary::Multiply => kind.wrap(a.wrapping_mul(b)),
        Binary::Divide if b == 0 => 0,
        Binary::Divide => kind.wrap(a / b),
        Binary::Remainder if b == 0 => a,
        Binary::Remainder => a % b,
        Binary::ShiftLeft => distance(b, kind).map_or(0, |distance| kind.wrap(a << distance)),
        Binary::ShiftRight => match distance(b, kind) {
            Some(distance) => a >> distance,
            None if a < 0 => -1,
            None => 0,
        },
        Binary::Equal => i64::from(a == b),
        Binary::Less => i64::from(a < b),
    }
}

#[cfg(test)]
mod tests;
