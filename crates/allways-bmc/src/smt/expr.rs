//! Expressions in a state, as SMT-LIB terms. Each gets a name, so that what is shared is written once.

use super::Theory;
use crate::program::{Binary, ExprId, Kind, Node, Program, Unary, VarId};
use rustc_hash::FxHashSet;
use std::fmt::Write;

/// Writes definitions of expressions.
pub(super) struct Terms<'a> {
    pub program: &'a Program,
    pub theory: Theory,
    pub text: String,
    /// Which expressions are defined, of which state.
    defined: FxHashSet<(ExprId, usize)>,
    /// Which inputs are declared, of which state.
    pub inputs: FxHashSet<(usize, u32, Kind)>,
}

impl<'a> Terms<'a> {
    pub fn new(program: &'a Program, theory: Theory) -> Self {
        let (text, defined) = (String::new(), FxHashSet::default());
        Terms { program, theory, text, defined, inputs: FxHashSet::default() }
    }

    /// The sort of a kind.
    pub fn sort(&self, kind: Kind) -> String {
        match (kind, self.theory) {
            (Kind::Bool, _) => "Bool".to_owned(),
            (Kind::Int { .. }, Theory::Integers) => "Int".to_owned(),
            (Kind::Int { bits, .. }, Theory::BitVectors) => format!("(_ BitVec {bits})"),
        }
    }

    /// A constant.
    pub fn constant(&self, value: i64, kind: Kind) -> String {
        match (kind, self.theory) {
            (Kind::Bool, _) => (value != 0).to_string(),
            (_, Theory::Integers) if value < 0 => format!("(- {})", -value),
            (_, Theory::Integers) => value.to_string(),
            (Kind::Int { bits, .. }, Theory::BitVectors) => {
                format!("(_ bv{} {bits})", value & ((1 << bits) - 1))
            }
        }
    }

    /// The sort of program counters and selections.
    pub fn small_sort(&self) -> &'static str {
        match self.theory {
            Theory::Integers => "Int",
            Theory::BitVectors => "(_ BitVec 32)",
        }
    }

    /// A location or an instruction.
    pub fn small(&self, number: usize) -> String {
        match self.theory {
            Theory::Integers => number.to_string(),
            Theory::BitVectors => format!("(_ bv{number} 32)"),
        }
    }

    /// A variable in a state.
    pub fn variable(&self, id: VarId, state: usize) -> String {
        format!("v{}_{state}", id.0)
    }

    /// Where a process stands in a state.
    pub fn counter(&self, process: usize, state: usize) -> String {
        format!("pc{process}_{state}")
    }

    /// An input of the step after a state.
    pub fn input(&self, state: usize, slot: u32, kind: Kind) -> String {
        let letter = if kind.is_signed() { 's' } else { 'u' };
        format!("in{slot}_{letter}{}_{state}", if kind == Kind::Bool { 0 } else { kind.bits() })
    }

    /// The name of an expression in a state, which is defined then.
    pub fn name(&mut self, expr: ExprId, state: usize) -> String {
        let mut stack = vec![expr];
        while let Some(&next) = stack.last() {
            if self.defined.contains(&(next, state)) {
                stack.pop();
                continue;
            }
            let operands = operands(self.program.exprs.node(next));
            let missing: Vec<ExprId> = operands
                .into_iter()
                .flatten()
                .filter(|&operand| !self.defined.contains(&(operand, state)))
                .collect();
            if missing.is_empty() {
                let term = self.term(next, state);
                let sort = self.sort(self.program.exprs.kind(next));
                let _ =
                    writeln!(self.text, "(define-fun e{}_{state} () {sort} {term})", next.index());
                self.defined.insert((next, state));
                stack.pop();
            } else {
                stack.extend(missing);
            }
        }
        format!("e{}_{state}", expr.index())
    }

    fn term(&mut self, expr: ExprId, state: usize) -> String {
        let program = self.program;
        let kind = program.exprs.kind(expr);
        let name = |expr: ExprId| format!("e{}_{state}", expr.index());
        match program.exprs.node(expr) {
            Node::Const(value) => self.constant(value, kind),
            Node::Var(variable) => self.variable(variable, state),
            Node::At(process, location) => {
                let counter = self.counter(process as usize, state);
                format!("(= {counter} {})", self.small(location as usize))
            }
            Node::Input(slot) => {
                let input = self.input(state, slot, kind);
                if self.inputs.insert((state, slot, kind)) {
                    let sort = self.sort(kind);
                    let _ = writeln!(self.text, "(declare-fun {input} () {sort})");
                    self.bound(&input, kind);
                }
                input
            }
            Node::Element(variable, index) => {
                let array = self.variable(variable, state);
                let place = self.place(index, state);
                let read = format!("(select {array} {place})");
                match self.within(variable, index, state) {
                    None => read,
                    Some(within) => format!("(ite {within} {read} {})", self.constant(0, kind)),
                }
            }
            Node::Unary(operator, a) => {
                let from = program.exprs.kind(a);
                match self.theory {
                    Theory::Integers => integers_unary(operator, &name(a), from, kind),
                    Theory::BitVectors => vectors_unary(operator, &name(a), from, kind),
                }
            }
            Node::Binary(operator, a, b) => {
                let kinds = (program.exprs.kind(a), program.exprs.kind(b));
                match self.theory {
                    Theory::Integers => integers_binary(operator, &name(a), &name(b), kinds),
                    Theory::BitVectors => vectors_binary(operator, &name(a), &name(b), kinds),
                }
            }
            Node::If(c, a, b) => format!("(ite {} {} {})", name(c), name(a), name(b)),
        }
    }

    /// Says that something free is within the range of its kind.
    pub fn bound(&mut self, name: &str, kind: Kind) {
        if let (Kind::Int { .. }, Theory::Integers) = (kind, self.theory) {
            let (least, most) = kind.range();
            let (least, most) = (self.constant(least, kind), self.constant(most, kind));
            let _ = writeln!(self.text, "(assert (and (<= {least} {name}) (<= {name} {most})))");
        }
    }

    /// An index as the place in an array: places are integers, or bit vectors of 33 bits.
    pub fn place(&self, index: ExprId, state: usize) -> String {
        let kind = self.program.exprs.kind(index);
        let name = format!("e{}_{state}", index.index());
        match self.theory {
            Theory::Integers => name,
            Theory::BitVectors => extended(&name, kind, PLACE_BITS),
        }
    }

    /// The sort of places in arrays.
    pub fn place_sort(&self) -> String {
        match self.theory {
            Theory::Integers => "Int".to_owned(),
            Theory::BitVectors => format!("(_ BitVec {PLACE_BITS})"),
        }
    }

    /// A place in an array.
    pub fn place_of(&self, element: u32) -> String {
        match self.theory {
            Theory::Integers => element.to_string(),
            Theory::BitVectors => format!("(_ bv{element} {PLACE_BITS})"),
        }
    }

    /// Whether an index is within an array; `None` if it is in any case.
    pub fn within(&self, array: VarId, index: ExprId, state: usize) -> Option<String> {
        let length = i64::from(self.program.variable(array).length.unwrap_or(1));
        let (least, most) = match self.program.exprs.constant(index) {
            Some(value) => (value, value),
            None => self.program.exprs.kind(index).range(),
        };
        if least >= 0 && most < length {
            return None;
        }
        let place = self.place(index, state);
        Some(match self.theory {
            Theory::Integers => format!("(and (<= 0 {place}) (< {place} {length}))"),
            // A negative one is a large one.
            Theory::BitVectors => format!("(bvult {place} (_ bv{length} {PLACE_BITS}))"),
        })
    }
}

/// Wide enough for every index, with its sign.
const PLACE_BITS: usize = 33;

pub(super) fn operands(node: Node) -> [Option<ExprId>; 3] {
    match node {
        Node::Const(_) | Node::Var(_) | Node::At(..) | Node::Input(_) => [None; 3],
        Node::Element(_, a) | Node::Unary(_, a) => [Some(a), None, None],
        Node::Binary(_, a, b) => [Some(a), Some(b), None],
        Node::If(a, b, c) => [Some(a), Some(b), Some(c)],
    }
}

/// An integer wrapped around to a kind.
fn wrapped(term: &str, kind: Kind) -> String {
    let modulus = 1_u64 << kind.bits();
    match kind.is_signed() {
        false => format!("(mod {term} {modulus})"),
        true => format!("(- (mod (+ {term} {half}) {modulus}) {half})", half = modulus / 2),
    }
}

fn integers_unary(operator: Unary, a: &str, from: Kind, to: Kind) -> String {
    match operator {
        Unary::Not => format!("(not {a})"),
        Unary::Negate => wrapped(&format!("(- {a})"), to),
        // In two's complement, one less than the opposite.
        Unary::Complement => wrapped(&format!("(- (- {a}) 1)"), to),
        Unary::Cast => match (from, to) {
            (Kind::Bool, Kind::Bool) => a.to_owned(),
            (Kind::Bool, _) => wrapped(&format!("(ite {a} 1 0)"), to),
            (_, Kind::Bool) => format!("(not (= {a} 0))"),
            _ if from.range().0 >= to.range().0 && from.range().1 <= to.range().1 => a.to_owned(),
            _ => wrapped(a, to),
        },
    }
}

fn integers_binary(operator: Binary, a: &str, b: &str, kinds: (Kind, Kind)) -> String {
    let kind = kinds.0;
    let bits = kind.bits();
    // Through bit vectors and back.
    let by_bits = |operator: &str| {
        let vector = |term: &str| format!("((_ int2bv {bits}) {term})");
        wrapped(&format!("(bv2nat ({operator} {} {}))", vector(a), vector(b)), kind)
    };
    match operator {
        Binary::And => format!("(and {a} {b})"),
        Binary::Or => format!("(or {a} {b})"),
        Binary::Equal => format!("(= {a} {b})"),
        Binary::Less => format!("(< {a} {b})"),
        Binary::Add => wrapped(&format!("(+ {a} {b})"), kind),
        Binary::Subtract => wrapped(&format!("(- {a} {b})"), kind),
        Binary::Multiply => wrapped(&format!("(* {a} {b})"), kind),
        // SMT-LIB rounds otherwise, so by absolute values.
        Binary::Divide => match kind.is_signed() {
            false => format!("(ite (= {b} 0) 0 (div {a} {b}))"),
            true => {
                let plain = format!("(div (abs {a}) (abs {b}))");
                let term = format!("(ite (= (< {a} 0) (< {b} 0)) {plain} (- {plain}))");
                format!("(ite (= {b} 0) 0 {})", wrapped(&term, kind))
            }
        },
        Binary::Remainder => match kind.is_signed() {
            false => format!("(ite (= {b} 0) {a} (mod {a} {b}))"),
            true => {
                let plain = format!("(mod (abs {a}) (abs {b}))");
                format!("(ite (= {b} 0) {a} (ite (< {a} 0) (- {plain}) {plain}))")
            }
        },
        Binary::BitAnd => by_bits("bvand"),
        Binary::BitOr => by_bits("bvor"),
        Binary::BitXor => by_bits("bvxor"),
        Binary::ShiftLeft | Binary::ShiftRight => {
            let left = operator == Binary::ShiftLeft;
            let far = if left || !kind.is_signed() {
                "0".to_owned()
            } else {
                format!("(ite (< {a} 0) (- 1) 0)")
            };
            (0..bits).rev().fold(far, |rest, distance| {
                let power = 1_u64 << distance;
                let shifted = match left {
                    true => wrapped(&format!("(* {a} {power})"), kind),
                    // Rounded down, as shifting does.
                    false => format!("(div {a} {power})"),
                };
                format!("(ite (= {b} {distance}) {shifted} {rest})")
            })
        }
    }
}

/// A bit vector made longer, with its sign if it has one, or cut off.
fn extended(term: &str, from: Kind, bits: usize) -> String {
    if from == Kind::Bool {
        return extended(
            &format!("(ite {term} #b1 #b0)"),
            Kind::Int { bits: 1, signed: false },
            bits,
        );
    }
    let by = bits as i64 - from.bits() as i64;
    match by {
        0 => term.to_owned(),
        1.. if from.is_signed() => format!("((_ sign_extend {by}) {term})"),
        1.. => format!("((_ zero_extend {by}) {term})"),
        _ => format!("((_ extract {} 0) {term})", bits - 1),
    }
}

fn vectors_unary(operator: Unary, a: &str, from: Kind, to: Kind) -> String {
    match operator {
        Unary::Not => format!("(not {a})"),
        Unary::Negate => format!("(bvneg {a})"),
        Unary::Complement => format!("(bvnot {a})"),
        Unary::Cast if from == to => a.to_owned(),
        Unary::Cast if to == Kind::Bool => format!("(not (= {a} (_ bv0 {})))", from.bits()),
        Unary::Cast => extended(a, from, to.bits()),
    }
}

fn vectors_binary(operator: Binary, a: &str, b: &str, kinds: (Kind, Kind)) -> String {
    let (signed, bits) = (kinds.0.is_signed(), kinds.0.bits());
    let by_zero = format!("(= {b} (_ bv0 {bits}))");
    let plain = |operator: &str| format!("({operator} {a} {b})");
    match operator {
        Binary::And => plain("and"),
        Binary::Or => plain("or"),
        Binary::Equal => plain("="),
        Binary::Less => plain(if signed { "bvslt" } else { "bvult" }),
        Binary::Add => plain("bvadd"),
        Binary::Subtract => plain("bvsub"),
        Binary::Multiply => plain("bvmul"),
        Binary::BitAnd => plain("bvand"),
        Binary::BitOr => plain("bvor"),
        Binary::BitXor => plain("bvxor"),
        Binary::Divide => {
            let quotient = plain(if signed { "bvsdiv" } else { "bvudiv" });
            format!("(ite {by_zero} (_ bv0 {bits}) {quotient})")
        }
        Binary::Remainder => {
            let rest = plain(if signed { "bvsrem" } else { "bvurem" });
            format!("(ite {by_zero} {a} {rest})")
        }
        Binary::ShiftLeft | Binary::ShiftRight => {
            // Both as wide as the wider one and one bit more, so that neither is cut off; a negative distance is a large one.
            let wide = bits.max(kinds.1.bits()) + 1;
            let value = extended(a, kinds.0, wide);
            let by = extended(b, kinds.1, wide);
            let operator = match (operator, signed) {
                (Binary::ShiftLeft, _) => "bvshl",
                (_, true) => "bvashr",
                (_, false) => "bvlshr",
            };
            format!("((_ extract {} 0) ({operator} {value} {by}))", bits - 1)
        }
    }
}
