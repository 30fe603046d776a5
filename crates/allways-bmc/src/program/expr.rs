//! Expressions: each distinct one is there once, so that what is shared is evaluated and encoded once.

use super::{Location, VarId};
use rustc_hash::FxHashMap;
use std::fmt;

/// The kind of a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// `false` (0) or `true` (1).
    Bool,
    /// A whole number of 1 to 32 bits.
    Int {
        /// How many bits it has.
        bits: u8,
        /// Whether it is in two's complement.
        signed: bool,
    },
}

impl Kind {
    /// How many bits a value has.
    pub fn bits(self) -> usize {
        match self {
            Kind::Bool => 1,
            Kind::Int { bits, .. } => usize::from(bits),
        }
    }

    /// Whether it is in two's complement.
    pub fn is_signed(self) -> bool {
        matches!(self, Kind::Int { signed: true, .. })
    }

    /// The smallest and the largest value.
    pub fn range(self) -> (i64, i64) {
        match self {
            Kind::Bool => (0, 1),
            Kind::Int { bits, signed: false } => (0, (1 << bits) - 1),
            Kind::Int { bits, signed: true } => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        }
    }

    /// A number as a value of this kind: what does not fit wraps around.
    pub fn wrap(self, value: i64) -> i64 {
        let bits = self.bits();
        let low = value & ((1_i64 << bits) - 1);
        if self.is_signed() && low >> (bits - 1) == 1 { low - (1 << bits) } else { low }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Bool => write!(f, "bool"),
            Kind::Int { bits, signed } => {
                write!(f, "{}<{bits}>", if *signed { "int" } else { "uint" })
            }
        }
    }
}

/// An expression: a place in [`Exprs`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ExprId(u32);

impl ExprId {
    /// Its place.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What an expression is made of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    /// A constant within the range of its kind.
    Const(i64),
    /// A variable that is no array.
    Var(VarId),
    /// An element of an array.
    Element(VarId, ExprId),
    /// An input of the instruction: a place in `Instruction::inputs`.
    Input(u32),
    /// Whether a process stands at a location.
    At(u32, Location),
    /// One operand.
    Unary(Unary, ExprId),
    /// Two operands.
    Binary(Binary, ExprId, ExprId),
    /// The second if the first holds, otherwise the third.
    If(ExprId, ExprId, ExprId),
}

/// An operator with one operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unary {
    /// Not, of a `bool`.
    Not,
    /// The number with its sign turned.
    Negate,
    /// Every bit turned.
    Complement,
    /// The number, wrapped around, as one of the result's kind; `true` is 1. As a `bool`: whether it is not 0.
    Cast,
}

/// An operator with two operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Binary {
    /// Both, of `bool`s.
    And,
    /// At least one, of `bool`s.
    Or,
    /// Sum.
    Add,
    /// Difference.
    Subtract,
    /// Product.
    Multiply,
    /// Quotient, towards zero.
    Divide,
    /// Remainder, with the sign of what is divided.
    Remainder,
    /// Bits of both.
    BitAnd,
    /// Bits of either.
    BitOr,
    /// Bits of one of them.
    BitXor,
    /// To the left; the right operand may be of another kind.
    ShiftLeft,
    /// To the right, with the sign; the right operand may be of another kind.
    ShiftRight,
    /// The same value; of two operands of one kind. The result is a `bool`.
    Equal,
    /// Less; of two numbers of one kind. The result is a `bool`.
    Less,
}

/// All expressions of a program.
#[derive(Clone, Default, Debug)]
pub struct Exprs {
    nodes: Vec<(Node, Kind)>,
    known: FxHashMap<(Node, Kind), ExprId>,
}

impl Exprs {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// What an expression is made of. Its operands come before it.
    pub fn node(&self, id: ExprId) -> Node {
        self.nodes[id.index()].0
    }

    /// The kind of an expression's value.
    pub fn kind(&self, id: ExprId) -> Kind {
        self.nodes[id.index()].1
    }

    /// The constant that an expression is.
    pub fn constant(&self, id: ExprId) -> Option<i64> {
        match self.node(id) {
            Node::Const(value) => Some(value),
            _ => None,
        }
    }

    /// The expression made of this, as it is.
    pub fn intern(&mut self, node: Node, kind: Kind) -> ExprId {
        let next = ExprId(u32::try_from(self.nodes.len()).expect("fewer expressions than 2^32"));
        *self.known.entry((node, kind)).or_insert_with(|| {
            self.nodes.push((node, kind));
            next
        })
    }

    /// A constant, wrapped around.
    pub fn number(&mut self, value: i64, kind: Kind) -> ExprId {
        self.intern(Node::Const(kind.wrap(value)), kind)
    }

    /// `true` or `false`.
    pub fn truth(&mut self, value: bool) -> ExprId {
        self.intern(Node::Const(i64::from(value)), Kind::Bool)
    }

    /// The opposite.
    pub fn not(&mut self, a: ExprId) -> ExprId {
        match self.node(a) {
            Node::Const(value) => self.truth(value == 0),
            Node::Unary(Unary::Not, inner) => inner,
            _ => self.intern(Node::Unary(Unary::Not, a), Kind::Bool),
        }
    }

    /// Both.
    pub fn and(&mut self, a: ExprId, b: ExprId) -> ExprId {
        match (self.constant(a), self.constant(b)) {
            (Some(0), _) | (_, Some(1)) => a,
            (Some(_), _) | (_, Some(_)) => b,
            _ if a == b => a,
            _ => self.intern(Node::Binary(Binary::And, a, b), Kind::Bool),
        }
    }

    /// At least one.
    pub fn or(&mut self, a: ExprId, b: ExprId) -> ExprId {
        match (self.constant(a), self.constant(b)) {
            (Some(1), _) | (_, Some(0)) => a,
            (Some(_), _) | (_, Some(_)) => b,
            _ if a == b => a,
            _ => self.intern(Node::Binary(Binary::Or, a, b), Kind::Bool),
        }
    }

    /// The same value.
    pub fn equal(&mut self, a: ExprId, b: ExprId) -> ExprId {
        match (self.constant(a), self.constant(b)) {
            (Some(a), Some(b)) => self.truth(a == b),
            _ if a == b => self.truth(true),
            _ => self.intern(Node::Binary(Binary::Equal, a, b), Kind::Bool),
        }
    }

    /// The second if the first holds, otherwise the third.
    pub fn either(&mut self, condition: ExprId, then: ExprId, otherwise: ExprId) -> ExprId {
        match self.constant(condition) {
            Some(0) => otherwise,
            Some(_) => then,
            None if then == otherwise => then,
            None => self.intern(Node::If(condition, then, otherwise), self.kind(then)),
        }
    }
}
