//! Expressions of any operator, evaluated where the operands are constants.
//!
//! What operators mean is said at the top of [`crate::program`]; [`Unary::apply`] and [`Binary::apply`] are that, in code.

use super::{Binary, ExprId, Exprs, Kind, Node, Unary};

impl Unary {
    /// The result, of kind `to`, for a value of kind `from`.
    pub fn apply(self, value: i64, from: Kind, to: Kind) -> i64 {
        match self {
            Unary::Not => i64::from(value == 0),
            Unary::Negate => from.wrap(-value),
            Unary::Complement => from.wrap(!value),
            Unary::Cast if to == Kind::Bool => i64::from(value != 0),
            Unary::Cast => to.wrap(value),
        }
    }
}

impl Binary {
    /// The kind of the result, for a left operand of this kind.
    pub fn kind(self, left: Kind) -> Kind {
        match self {
            Binary::And | Binary::Or | Binary::Equal | Binary::Less => Kind::Bool,
            _ => left,
        }
    }

    /// The result for two values; `kind` is that of the left one.
    pub fn apply(self, a: i64, b: i64, kind: Kind) -> i64 {
        let too_far = b < 0 || b >= kind.bits() as i64;
        match self {
            Binary::And | Binary::BitAnd => a & b,
            Binary::Or | Binary::BitOr => a | b,
            Binary::BitXor => a ^ b,
            Binary::Add => kind.wrap(a + b),
            Binary::Subtract => kind.wrap(a - b),
            Binary::Multiply => kind.wrap(a.wrapping_mul(b)),
            Binary::Divide if b == 0 => 0,
            Binary::Divide => kind.wrap(a / b),
            Binary::Remainder if b == 0 => a,
            Binary::Remainder => a % b,
            Binary::ShiftLeft if too_far => 0,
            Binary::ShiftLeft => kind.wrap(a.wrapping_shl(b as u32)),
            Binary::ShiftRight if too_far => -i64::from(a < 0),
            Binary::ShiftRight => a >> b,
            Binary::Equal => i64::from(a == b),
            Binary::Less => i64::from(a < b),
        }
    }
}

impl Exprs {
    /// One operand; `kind` is that of the result, which only a cast can choose.
    pub fn unary(&mut self, op: Unary, a: ExprId, kind: Kind) -> ExprId {
        let from = self.kind(a);
        match (op, self.constant(a)) {
            (Unary::Not, _) => self.not(a),
            (_, Some(value)) => self.number(op.apply(value, from, kind), kind),
            (Unary::Cast, None) if from == kind => a,
            _ => self.intern(Node::Unary(op, a), kind),
        }
    }

    /// Two operands.
    pub fn binary(&mut self, op: Binary, a: ExprId, b: ExprId) -> ExprId {
        let kind = self.kind(a);
        let (left, right) = (self.constant(a), self.constant(b));
        match (op, left, right) {
            (Binary::And, ..) => self.and(a, b),
            (Binary::Or, ..) => self.or(a, b),
            (Binary::Equal, ..) => self.equal(a, b),
            (_, Some(x), Some(y)) => self.number(op.apply(x, y, kind), op.kind(kind)),
            (Binary::Less, ..) if a == b => self.truth(false),
            (
                Binary::Add
                | Binary::Subtract
                | Binary::BitOr
                | Binary::BitXor
                | Binary::ShiftLeft
                | Binary::ShiftRight,
                _,
                Some(0),
            )
            | (Binary::Multiply | Binary::Divide, _, Some(1)) => a,
            (Binary::Add | Binary::BitOr | Binary::BitXor, Some(0), _)
            | (Binary::Multiply, Some(1), _) => b,
            (Binary::Multiply | Binary::BitAnd, _, Some(0)) => b,
            (Binary::Multiply | Binary::BitAnd, Some(0), _) => a,
            _ => self.intern(Node::Binary(op, a, b), op.kind(kind)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_wrap_around_as_written_in_the_module() {
        let (u4, i4) = (Kind::Int { bits: 4, signed: false }, Kind::Int { bits: 4, signed: true });
        assert_eq!(Binary::Add.apply(15, 1, u4), 0);
        assert_eq!(Binary::Subtract.apply(0, 1, u4), 15);
        assert_eq!(Binary::Divide.apply(-8, -1, i4), -8);
        assert_eq!(Binary::Divide.apply(-7, 2, i4), -3);
        assert_eq!(Binary::Remainder.apply(-7, 2, i4), -1);
        assert_eq!(Binary::Divide.apply(7, 0, u4), 0);
        assert_eq!(Binary::Remainder.apply(7, 0, u4), 7);
        assert_eq!(Binary::ShiftLeft.apply(3, 3, u4), 8);
        assert_eq!(Binary::ShiftLeft.apply(3, 4, u4), 0);
        assert_eq!(Binary::ShiftRight.apply(-8, 1, i4), -4);
        assert_eq!(Binary::ShiftRight.apply(-8, 9, i4), -1);
        assert_eq!(Binary::ShiftRight.apply(7, -1, i4), 0);
        assert_eq!(Unary::Complement.apply(0, u4, u4), 15);
        assert_eq!(Unary::Negate.apply(-8, i4, i4), -8);
        assert_eq!(Unary::Cast.apply(-1, i4, u4), 15);
        assert_eq!(Unary::Cast.apply(6, u4, Kind::Bool), 1);
        let u32 = Kind::Int { bits: 32, signed: false };
        assert_eq!(Binary::Multiply.apply(0xffff_ffff, 0xffff_ffff, u32), 1);
    }
}
