//! A source as a tree: what is written, before it is known whether it makes sense.
//!
//! Names and numbers are as in the source; each part knows its place. Operators of one precedence that follow each other
//! are one [`Shape::Chain`], so that a long sum makes no deep tree.

use crate::program::{Binary, Span};

/// A name with its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Name<'a> {
    /// The name.
    pub text: &'a str,
    /// Where it begins.
    pub start: usize,
}

impl Name<'_> {
    /// Where it is.
    pub fn span(&self) -> Span {
        self.start..self.start + self.text.len()
    }
}

/// A whole source.
#[derive(Default, Debug)]
pub struct Source<'a> {
    /// `const` declarations.
    pub constants: Vec<(Name<'a>, Expr<'a>)>,
    /// `shared` and `mutex` declarations.
    pub variables: Vec<Declaration<'a>>,
    /// What `init` blocks set.
    pub initial: Vec<(Place<'a>, Value<'a>, Span)>,
    /// The processes.
    pub processes: Vec<Process<'a>>,
    /// The properties.
    pub properties: Vec<Property<'a>>,
}

/// Variables that are declared together.
#[derive(Debug)]
pub struct Declaration<'a> {
    /// Their kind; `None` for a `mutex`.
    pub kind: Option<KindName<'a>>,
    /// The variables.
    pub variables: Vec<Declared<'a>>,
}

/// One variable of a declaration.
#[derive(Debug)]
pub struct Declared<'a> {
    /// What it is called.
    pub name: Name<'a>,
    /// How many elements it has, if it is an array.
    pub length: Option<Expr<'a>>,
    /// What it is at the start.
    pub initial: Option<Initial<'a>>,
}

/// What a variable is at the start.
#[derive(Debug)]
pub enum Initial<'a> {
    /// One value, of each element if it is an array.
    One(Value<'a>),
    /// A value for each element of an array, and where the list is.
    List(Vec<Value<'a>>, Span),
}

/// An expression, or `*`: any value.
#[derive(Debug)]
pub enum Value<'a> {
    /// `*`, and where it is.
    Any(Span),
    /// An expression.
    Expr(Expr<'a>),
}

/// The name of a kind.
#[derive(Debug)]
pub struct KindName<'a> {
    /// What it is.
    pub base: Base,
    /// How many bits; 32 if it does not say.
    pub width: Option<Box<Expr<'a>>>,
    /// Where it is.
    pub span: Span,
}

/// What a kind is, but for its width.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Base {
    /// `bool`.
    Bool,
    /// `int`.
    Signed,
    /// `uint`.
    Unsigned,
}

/// A process, or several that differ in a number.
#[derive(Debug)]
pub struct Process<'a> {
    /// What it is called.
    pub name: Name<'a>,
    /// `i in from..to`, if it is replicated.
    pub replicas: Option<Range<'a>>,
    /// What it does.
    pub body: Vec<Statement<'a>>,
}

/// `i in from..to`.
#[derive(Debug)]
pub struct Range<'a> {
    /// What the number is called.
    pub name: Name<'a>,
    /// The first.
    pub from: Box<Expr<'a>>,
    /// One more than the last.
    pub to: Box<Expr<'a>>,
}

/// A statement.
#[derive(Debug)]
pub struct Statement<'a> {
    /// Its labels.
    pub labels: Vec<Name<'a>>,
    /// What it does.
    pub action: Action<'a>,
    /// Where it is, without label and semicolon; of `if` and `while` up to the condition.
    pub span: Span,
}

/// What a statement does.
#[derive(Debug)]
pub enum Action<'a> {
    /// Declares variables of the process.
    Declare(Declaration<'a>),
    /// `place = value;`
    Assign(Place<'a>, Value<'a>),
    /// `if (…) {…} else if (…) {…} else {…}`: conditions (with the place of each `if`) and blocks, and the last `else`.
    If(Vec<(Value<'a>, Span, Vec<Statement<'a>>)>, Option<Vec<Statement<'a>>>),
    /// `while (…) {…}`
    While(Value<'a>, Vec<Statement<'a>>),
    /// `either {…} or {…}`
    Either(Vec<Vec<Statement<'a>>>),
    /// `await …;` or `assume …;`
    Await(Expr<'a>),
    /// `assert …;`
    Assert(Expr<'a>),
    /// `lock …;`
    Lock(Place<'a>),
    /// `unlock …;`
    Unlock(Place<'a>),
    /// `skip;`
    Skip,
    /// `atomic {…}`
    Atomic(Vec<Statement<'a>>),
    /// `{…}`
    Block(Vec<Statement<'a>>),
}

/// A variable or an element of an array.
#[derive(Debug)]
pub struct Place<'a> {
    /// The variable.
    pub name: Name<'a>,
    /// Which element.
    pub index: Option<Box<Expr<'a>>>,
    /// Where it is.
    pub span: Span,
}

/// A property.
#[derive(Debug)]
pub struct Property<'a> {
    /// What is claimed.
    pub claim: crate::program::Claim,
    /// What it is called.
    pub name: Name<'a>,
    /// The condition.
    pub condition: Expr<'a>,
    /// Where it is.
    pub span: Span,
}

/// An expression.
#[derive(Debug)]
pub struct Expr<'a> {
    /// What it is made of.
    pub shape: Shape<'a>,
    /// Where it is.
    pub span: Span,
    /// How many nodes are on the way to its deepest part.
    pub height: u32,
}

/// What an expression is made of.
#[derive(Debug)]
pub enum Shape<'a> {
    /// A number.
    Number(i64),
    /// `true` or `false`.
    Truth(bool),
    /// A variable, an element, or a constant.
    Place(Place<'a>),
    /// `P[0].t`: the process, and the variable in it.
    Local(Place<'a>, Place<'a>),
    /// `P[0]@label`; `None` is the end.
    At(Place<'a>, Option<Name<'a>>),
    /// `!`, `-` or `~`.
    Unary(UnaryOp, Box<Expr<'a>>),
    /// Operators of one precedence, from left to right.
    Chain(Box<Expr<'a>>, Vec<(Op, Expr<'a>)>),
    /// `condition ? then : otherwise`
    Ternary(Box<[Expr<'a>; 3]>),
    /// Conversions one after the other.
    Cast(Box<Expr<'a>>, Vec<KindName<'a>>),
    /// `forall` (`true`) or `exists` over a range.
    Quantified(bool, Range<'a>, Box<Expr<'a>>),
}

/// An operator with one operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnaryOp {
    /// `!`
    Not,
    /// `-`
    Negate,
    /// `~`
    Complement,
}

/// An operator with two operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// `&&` or `||`.
    Logic(Binary),
    /// A comparison: which one, whether the operands are swapped, whether the result is turned.
    Compare(Binary, bool, bool),
    /// Whatever has a result of the kind of its operands.
    Arithmetic(Binary),
    /// A shift.
    Shift(Binary),
}

impl Op {
    /// The operator with this sign, and its precedence; a higher one binds tighter.
    pub fn of(sign: &str) -> Option<(Op, u8)> {
        use Binary::{Equal, Less};
        use Op::{Arithmetic, Compare, Logic, Shift};
        Some(match sign {
            "||" => (Logic(Binary::Or), 1),
            "&&" => (Logic(Binary::And), 2),
            "==" => (Compare(Equal, false, false), COMPARISON),
            "!=" => (Compare(Equal, false, true), COMPARISON),
            "<" => (Compare(Less, false, false), COMPARISON),
            ">=" => (Compare(Less, false, true), COMPARISON),
            ">" => (Compare(Less, true, false), COMPARISON),
            "<=" => (Compare(Less, true, true), COMPARISON),
            "|" => (Arithmetic(Binary::BitOr), 4),
            "^" => (Arithmetic(Binary::BitXor), 5),
            "&" => (Arithmetic(Binary::BitAnd), 6),
            "<<" => (Shift(Binary::ShiftLeft), 7),
            ">>" => (Shift(Binary::ShiftRight), 7),
            "+" => (Arithmetic(Binary::Add), SUM),
            "-" => (Arithmetic(Binary::Subtract), SUM),
            "*" => (Arithmetic(Binary::Multiply), 9),
            "/" => (Arithmetic(Binary::Divide), 9),
            "%" => (Arithmetic(Binary::Remainder), 9),
            _ => return None,
        })
    }
}

/// The precedence of comparisons.
pub const COMPARISON: u8 = 3;
/// The precedence of sums.
pub const SUM: u8 = 8;
