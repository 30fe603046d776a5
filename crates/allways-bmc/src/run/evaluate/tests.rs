//! Every operator at the edges.

use super::*;
use crate::program::{Program, Role, VarId, Variable};
use crate::run::Interpreter;

const BOOL: Kind = Kind::Bool;
const U1: Kind = Kind::Int { bits: 1, signed: false };
const U3: Kind = Kind::Int { bits: 3, signed: false };
const I3: Kind = Kind::Int { bits: 3, signed: true };
const I1: Kind = Kind::Int { bits: 1, signed: true };
const U32: Kind = Kind::Int { bits: 32, signed: false };
const I32: Kind = Kind::Int { bits: 32, signed: true };

/// The value of an expression without variables.
fn value(make: impl FnOnce(&mut Exprs) -> ExprId) -> i64 {
    let mut program = Program::default();
    let expr = make(&mut program.exprs);
    let state = State { values: Vec::new(), locations: Vec::new() };
    Interpreter::new(&program).evaluate(&state, &[], expr)
}

/// An operator with two operands of this kind, the result of which has it too.
fn of(operator: Binary, a: i64, b: i64, kind: Kind) -> i64 {
    mixed(operator, (a, kind), (b, kind), kind)
}

fn mixed(operator: Binary, a: (i64, Kind), b: (i64, Kind), kind: Kind) -> i64 {
    value(|exprs| {
        let (a, b) = (exprs.number(a.0, a.1), exprs.number(b.0, b.1));
        exprs.intern(Node::Binary(operator, a, b), kind)
    })
}

fn one(operator: Unary, a: i64, from: Kind, to: Kind) -> i64 {
    value(|exprs| {
        let a = exprs.number(a, from);
        exprs.intern(Node::Unary(operator, a), to)
    })
}

fn min(kind: Kind) -> i64 {
    kind.range().0
}

fn max(kind: Kind) -> i64 {
    kind.range().1
}

#[test]
fn sums_wrap_around() {
    assert_eq!(of(Binary::Add, 7, 1, U3), 0);
    assert_eq!(of(Binary::Add, 3, 1, I3), -4);
    assert_eq!(of(Binary::Add, -4, -4, I3), 0);
    assert_eq!(of(Binary::Add, -1, -1, I1), 0);
    assert_eq!(of(Binary::Add, max(U32), max(U32), U32), max(U32) - 1);
    assert_eq!(of(Binary::Add, max(I32), 1, I32), min(I32));
}

#[test]
fn differences_wrap_around() {
    assert_eq!(of(Binary::Subtract, 0, 1, U3), 7);
    assert_eq!(of(Binary::Subtract, -4, 1, I3), 3);
    assert_eq!(of(Binary::Subtract, 0, -4, I3), -4);
    assert_eq!(of(Binary::Subtract, 0, 1, U1), 1);
    assert_eq!(of(Binary::Subtract, 0, 1, U32), max(U32));
    assert_eq!(of(Binary::Subtract, min(I32), 1, I32), max(I32));
}

#[test]
fn products_wrap_around() {
    assert_eq!(of(Binary::Multiply, 7, 7, U3), 1);
    assert_eq!(of(Binary::Multiply, -4, -1, I3), -4);
    assert_eq!(of(Binary::Multiply, 3, 3, I3), 1);
    assert_eq!(of(Binary::Multiply, -4, -4, I3), 0);
    // (2^32 - 1)^2 = 2^64 - 2^33 + 1 does not fit into an `i64`.
    assert_eq!(of(Binary::Multiply, max(U32), max(U32), U32), 1);
    assert_eq!(of(Binary::Multiply, min(I32), min(I32), I32), 0);
    assert_eq!(of(Binary::Multiply, min(I32), -1, I32), min(I32));
}

#[test]
fn quotients_are_towards_zero() {
    assert_eq!(of(Binary::Divide, 7, 2, U3), 3);
    assert_eq!(of(Binary::Divide, -3, 2, I3), -1);
    assert_eq!(of(Binary::Divide, 3, -2, I3), -1);
    assert_eq!(of(Binary::Divide, -4, -1, I3), -4);
    assert_eq!(of(Binary::Divide, -1, -1, I1), -1);
    assert_eq!(of(Binary::Divide, min(I32), -1, I32), min(I32));
    for kind in [U1, U3, I3, U32, I32] {
        for a in [min(kind), 0, max(kind)] {
            assert_eq!(of(Binary::Divide, a, 0, kind), 0);
        }
    }
}

#[test]
fn remainders_have_the_sign_of_what_is_divided() {
    assert_eq!(of(Binary::Remainder, 7, 4, U3), 3);
    assert_eq!(of(Binary::Remainder, -3, 2, I3), -1);
    assert_eq!(of(Binary::Remainder, 3, -2, I3), 1);
    assert_eq!(of(Binary::Remainder, -4, -1, I3), 0);
    assert_eq!(of(Binary::Remainder, 3, -4, I3), 3);
    assert_eq!(of(Binary::Remainder, min(I32), -1, I32), 0);
    for kind in [U1, U3, I3, U32, I32] {
        for a in [min(kind), 0, max(kind)] {
            assert_eq!(of(Binary::Remainder, a, 0, kind), a);
        }
    }
}

#[test]
fn quotient_and_remainder_fit_together() {
    for a in -4..=3 {
        for b in (-4..=3).filter(|b| *b != 0) {
            let (quotient, rest) = (of(Binary::Divide, a, b, I3), of(Binary::Remainder, a, b, I3));
            assert_eq!(I3.wrap(quotient * b + rest), a, "{a} / {b}");
        }
    }
}

#[test]
fn bits() {
    assert_eq!(of(Binary::BitAnd, 6, 3, U3), 2);
    assert_eq!(of(Binary::BitOr, 4, 1, U3), 5);
    assert_eq!(of(Binary::BitXor, 6, 3, U3), 5);
    assert_eq!(of(Binary::BitAnd, -1, 3, I3), 3);
    assert_eq!(of(Binary::BitOr, -4, 3, I3), -1);
    assert_eq!(of(Binary::BitXor, -4, -1, I3), 3);
    assert_eq!(of(Binary::BitXor, max(U32), max(U32), U32), 0);
}

#[test]
fn of_bools() {
    for (a, b) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        assert_eq!(of(Binary::And, a, b, BOOL), a.min(b));
        assert_eq!(of(Binary::Or, a, b, BOOL), a.max(b));
        assert_eq!(of(Binary::Equal, a, b, BOOL), i64::from(a == b));
    }
    assert_eq!(one(Unary::Not, 0, BOOL, BOOL), 1);
    assert_eq!(one(Unary::Not, 1, BOOL, BOOL), 0);
}

#[test]
fn to_the_left() {
    let by = |a, kind, b, other| mixed(Binary::ShiftLeft, (a, kind), (b, other), kind);
    assert_eq!(by(3, U3, 2, U3), 4);
    assert_eq!(by(1, I3, 2, U3), -4);
    assert_eq!(by(-1, I3, 1, U3), -2);
    assert_eq!(by(7, U3, 3, U3), 0);
    assert_eq!(by(-1, I3, 7, U3), 0);
    assert_eq!(by(1, U3, -1, I3), 0);
    assert_eq!(by(1, U3, min(I32), I32), 0);
    assert_eq!(by(1, U3, max(U32), U32), 0);
    assert_eq!(by(1, U32, 31, U32), 1 << 31);
    assert_eq!(by(max(U32), U32, 31, U32), 1 << 31);
    assert_eq!(by(1, I32, 31, U32), min(I32));
    assert_eq!(by(1, U32, 32, U32), 0);
    assert_eq!(by(1, U1, 0, U3), 1);
    assert_eq!(by(1, U1, 1, U3), 0);
}

#[test]
fn to_the_right() {
    let by = |a, kind, b, other| mixed(Binary::ShiftRight, (a, kind), (b, other), kind);
    assert_eq!(by(7, U3, 2, U3), 1);
    assert_eq!(by(-4, I3, 1, U3), -2);
    assert_eq!(by(-4, I3, 2, U3), -1);
    assert_eq!(by(3, I3, 2, U3), 0);
    assert_eq!(by(7, U3, 3, U3), 0);
    assert_eq!(by(-4, I3, 3, U3), -1);
    assert_eq!(by(-4, I3, -1, I3), -1);
    assert_eq!(by(3, I3, -1, I3), 0);
    assert_eq!(by(7, U3, -4, I3), 0);
    assert_eq!(by(-1, I1, 0, U3), -1);
    assert_eq!(by(min(I32), I32, 31, U32), -1);
    assert_eq!(by(min(I32), I32, max(U32), U32), -1);
    assert_eq!(by(max(U32), U32, 31, U32), 1);
}

#[test]
fn comparisons() {
    let less = |a, b, kind| mixed(Binary::Less, (a, kind), (b, kind), BOOL);
    assert_eq!(less(-1, 0, I3), 1);
    assert_eq!(less(7, 0, U3), 0);
    assert_eq!(less(3, -4, I3), 0);
    assert_eq!(less(2, 2, U3), 0);
    assert_eq!(less(-1, 0, I1), 1);
    assert_eq!(less(max(I32), max(U32), U32), 1);
    assert_eq!(mixed(Binary::Equal, (-1, I3), (-1, I3), BOOL), 1);
    assert_eq!(mixed(Binary::Equal, (-1, I3), (3, I3), BOOL), 0);
}

#[test]
fn signs_and_complements() {
    assert_eq!(one(Unary::Negate, 1, U3, U3), 7);
    assert_eq!(one(Unary::Negate, 0, U3, U3), 0);
    assert_eq!(one(Unary::Negate, -4, I3, I3), -4);
    assert_eq!(one(Unary::Negate, 3, I3, I3), -3);
    assert_eq!(one(Unary::Negate, min(I32), I32, I32), min(I32));
    assert_eq!(one(Unary::Complement, 0, U3, U3), 7);
    assert_eq!(one(Unary::Complement, 3, I3, I3), -4);
    assert_eq!(one(Unary::Complement, 0, U32, U32), max(U32));
}

#[test]
fn casts() {
    assert_eq!(one(Unary::Cast, 7, U3, I3), -1);
    assert_eq!(one(Unary::Cast, -1, I3, U3), 7);
    assert_eq!(one(Unary::Cast, -1, I3, U32), max(U32));
    assert_eq!(one(Unary::Cast, -4, I3, I32), -4);
    assert_eq!(one(Unary::Cast, 7, U3, I32), 7);
    assert_eq!(one(Unary::Cast, 6, U3, U1), 0);
    assert_eq!(one(Unary::Cast, 5, U3, I1), -1);
    assert_eq!(one(Unary::Cast, max(U32), U32, I32), -1);
    assert_eq!(one(Unary::Cast, 1, BOOL, U3), 1);
    assert_eq!(one(Unary::Cast, 1, BOOL, I1), -1);
    // As a `bool`: not the lowest bit, but whether any is set.
    assert_eq!(one(Unary::Cast, 6, U3, BOOL), 1);
    assert_eq!(one(Unary::Cast, -4, I3, BOOL), 1);
    assert_eq!(one(Unary::Cast, 0, I3, BOOL), 0);
    assert_eq!(one(Unary::Cast, 1, BOOL, BOOL), 1);
}

#[test]
fn one_of_two() {
    for (condition, expected) in [(0, 5), (1, 3)] {
        let chosen = value(|exprs| {
            let condition = exprs.number(condition, BOOL);
            let (then, otherwise) = (exprs.number(3, U3), exprs.number(5, U3));
            exprs.intern(Node::If(condition, then, otherwise), U3)
        });
        assert_eq!(chosen, expected);
    }
}

#[test]
fn variables_elements_inputs_and_locations() {
    let mut program = Program::default();
    for (kind, length) in [(U3, None), (I3, Some(0)), (I3, Some(3))] {
        program.variables.push(Variable {
            name: String::new(),
            owner: None,
            kind,
            length,
            initial: vec![Some(0); length.unwrap_or(1) as usize],
            role: Role::Data,
            span: 0..0,
        });
    }
    let state = State { values: vec![7, -1, -2, -3], locations: vec![4] };
    let exprs = &mut program.exprs;
    let mut wanted = vec![(exprs.intern(Node::Var(VarId(0)), U3), 7)];
    for (index, expected) in [(-4, 0), (-1, 0), (0, -1), (1, -2), (2, -3), (3, 0)] {
        let index = exprs.number(index, I3);
        wanted.push((exprs.intern(Node::Element(VarId(2), index), I3), expected));
        wanted.push((exprs.intern(Node::Element(VarId(1), index), I3), 0));
    }
    // Elements of elements: B[B[...] + 3], with the sum of -1 and 3.
    let (zero, three) = (exprs.number(0, I3), exprs.number(3, I3));
    let inner = exprs.intern(Node::Element(VarId(2), zero), I3);
    let sum = exprs.intern(Node::Binary(Binary::Add, inner, three), I3);
    wanted.push((exprs.intern(Node::Element(VarId(2), sum), I3), -3));
    wanted.push((exprs.intern(Node::Input(1), U3), 6));
    wanted.push((exprs.intern(Node::Input(2), U3), 0));
    wanted.push((exprs.intern(Node::At(0, 4), BOOL), 1));
    wanted.push((exprs.intern(Node::At(0, 3), BOOL), 0));
    let mut interpreter = Interpreter::new(&program);
    for (expr, expected) in wanted {
        let value = interpreter.evaluate(&state, &[5, 6], expr);
        assert_eq!(value, expected, "{:?}", program.exprs.node(expr));
    }
}

#[test]
fn deep_and_shared_expressions() {
    // Each is the sum of the one before with itself: 2^100000 ways through it, and deeper than any stack.
    let sum = value(|exprs| {
        let mut sum = exprs.number(1, U3);
        for _ in 0..100_000 {
            let twice = exprs.intern(Node::Binary(Binary::Add, sum, sum), U3);
            let one = exprs.number(1, U3);
            sum = exprs.intern(Node::Binary(Binary::Add, twice, one), U3);
        }
        sum
    });
    assert_eq!(sum, 7);
}
