//! Expressions in a state, as bits: each once a state.

use super::Unrolling;
use crate::circuit::{Bits, FALSE, Graph, Lit, bits};
use crate::program::{Binary, ExprId, Kind, Node, Unary};
use rustc_hash::FxHashMap;

/// What is known already of one state.
#[derive(Default)]
pub(crate) struct Memo {
    values: FxHashMap<ExprId, Bits>,
    /// Of an index into an array of so many elements: which element it is, each, and at last that it is none.
    decoded: FxHashMap<(ExprId, u32), Vec<Lit>>,
    /// The inputs of the step after it.
    inputs: Vec<Bits>,
}

impl Unrolling<'_> {
    /// An expression's value in a state.
    pub fn value(&mut self, state: usize, expr: ExprId) -> Bits {
        // Operands first, without recursion: expressions may be deep.
        let mut stack = vec![expr];
        while let Some(&next) = stack.last() {
            if self.states[state].memo.values.contains_key(&next) {
                stack.pop();
                continue;
            }
            let before = stack.len();
            let memo = &self.states[state].memo.values;
            let missing = |id: &ExprId| !memo.contains_key(id);
            match self.program.exprs.node(next) {
                Node::Const(_) | Node::Var(_) | Node::Input(_) | Node::At(..) => {}
                Node::Element(_, a) | Node::Unary(_, a) => {
                    stack.extend([a].iter().filter(|id| missing(id)))
                }
                Node::Binary(_, a, b) => stack.extend([a, b].iter().filter(|id| missing(id))),
                Node::If(a, b, c) => stack.extend([a, b, c].iter().filter(|id| missing(id))),
            }
            if stack.len() == before {
                let value = self.evaluate(state, next);
                self.states[state].memo.values.insert(next, value);
                stack.pop();
            }
        }
        self.states[state].memo.values[&expr].clone()
    }

    /// Which element of an array of so many an index is: a condition for each, and at last that it is none of them.
    pub fn decode(&mut self, state: usize, index: ExprId, length: u32) -> Vec<Lit> {
        if let Some(known) = self.states[state].memo.decoded.get(&(index, length)) {
            return known.clone();
        }
        let value = self.value(state, index);
        let kind = self.program.exprs.kind(index);
        let mut is: Vec<Lit> = (0..i64::from(length))
            .map(|element| bits::is(&mut self.graph, &value, element, kind))
            .collect();
        let (least, most) = kind.range();
        let none = match least >= 0 && most < i64::from(length) {
            true => FALSE,
            false => !self.graph.any(is.iter().copied()),
        };
        is.push(none);
        self.states[state].memo.decoded.insert((index, length), is.clone());
        is
    }

    /// An input of the step after a state.
    pub fn input(&mut self, state: usize, slot: u32, kind: Kind) -> Bits {
        let Unrolling { graph, states, .. } = self;
        let inputs = &mut states[state].memo.inputs;
        if inputs.len() <= slot as usize {
            inputs.resize(slot as usize + 1, Bits::new());
        }
        // Instructions share their inputs: only one of them is performed.
        let bits = &mut inputs[slot as usize];
        while bits.len() < kind.bits() {
            bits.push(graph.input());
        }
        bits[..kind.bits()].to_vec()
    }

    /// An expression whose operands are known.
    fn evaluate(&mut self, state: usize, expr: ExprId) -> Bits {
        let kind = self.program.exprs.kind(expr);
        match self.program.exprs.node(expr) {
            Node::Const(value) => bits::constant(value, kind.bits()),
            Node::Var(variable) => self.states[state].values[self.cells.of(variable)].clone(),
            Node::At(process, location) => {
                vec![self.states[state].at[process as usize][location as usize]]
            }
            Node::Input(slot) => self.input(state, slot, kind),
            Node::Element(variable, index) => {
                let length = self.program.variable(variable).length.unwrap_or(1);
                let is = self.decode(state, index, length);
                let first = self.cells.of(variable);
                (0..kind.bits())
                    .map(|bit| {
                        let cells = &self.states[state].values[first..first + length as usize];
                        let mut cases: Vec<(Lit, Lit)> =
                            is.iter().copied().zip(cells.iter().map(|cell| cell[bit])).collect();
                        cases.push((is[length as usize], FALSE));
                        self.graph.select(cases)
                    })
                    .collect()
            }
            Node::Unary(operator, a) => {
                let from = self.program.exprs.kind(a);
                let a = &self.states[state].memo.values[&a];
                unary(&mut self.graph, operator, a, from, kind)
            }
            Node::Binary(operator, a, b) => {
                let kinds = (self.program.exprs.kind(a), self.program.exprs.kind(b));
                let memo = &self.states[state].memo.values;
                binary(&mut self.graph, operator, &memo[&a], &memo[&b], kinds)
            }
            Node::If(condition, then, otherwise) => {
                let memo = &self.states[state].memo.values;
                let condition = memo[&condition][0];
                bits::either(&mut self.graph, condition, &memo[&then], &memo[&otherwise])
            }
        }
    }
}

fn unary(graph: &mut Graph, operator: Unary, a: &[Lit], from: Kind, to: Kind) -> Bits {
    match operator {
        Unary::Not | Unary::Complement => a.iter().map(|&bit| !bit).collect(),
        Unary::Negate => bits::negate(graph, a),
        Unary::Cast => bits::cast(graph, a, from, to),
    }
}

fn binary(graph: &mut Graph, operator: Binary, a: &[Lit], b: &[Lit], kinds: (Kind, Kind)) -> Bits {
    let signed = kinds.0.is_signed();
    let mut each = |gate: fn(&mut Graph, Lit, Lit) -> Lit| -> Bits {
        a.iter().zip(b).map(|(&a, &b)| gate(graph, a, b)).collect()
    };
    match operator {
        Binary::And | Binary::BitAnd => each(Graph::and),
        Binary::Or | Binary::BitOr => each(Graph::or),
        Binary::BitXor => each(Graph::xor),
        Binary::Add => bits::add(graph, a, b),
        Binary::Subtract => bits::subtract(graph, a, b),
        Binary::Multiply => bits::multiply(graph, a, b),
        Binary::Divide => bits::divide(graph, a, b, signed).0,
        Binary::Remainder => bits::divide(graph, a, b, signed).1,
        Binary::ShiftLeft => bits::shift(graph, a, (b, kinds.1), true, FALSE),
        Binary::ShiftRight => {
            let fill = if signed { a[a.len() - 1] } else { FALSE };
            bits::shift(graph, a, (b, kinds.1), false, fill)
        }
        Binary::Equal => vec![bits::equal(graph, a, b)],
        Binary::Less => vec![bits::less(graph, a, b, signed)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an operator makes of constants, folded.
    fn folded(operator: Binary, (a, left): (i64, Kind), (b, right): (i64, Kind)) -> i64 {
        let mut graph = Graph::new();
        let (x, y) = (bits::constant(a, left.bits()), bits::constant(b, right.bits()));
        let result = binary(&mut graph, operator, &x, &y, (left, right));
        let kind = if result.len() == 1 && matches!(operator, Binary::Equal | Binary::Less) {
            Kind::Bool
        } else {
            left
        };
        bits::value(&result, kind).expect("constants fold")
    }

    #[test]
    fn arithmetic_of_small_numbers_is_that_of_the_integers_wrapped_around() {
        for signed in [false, true] {
            for width in [1, 2, 3, 4] {
                let kind = Kind::Int { bits: width, signed };
                let (least, most) = kind.range();
                for a in least..=most {
                    for b in least..=most {
                        let quotient = if b == 0 { 0 } else { a / b };
                        let rest = if b == 0 { a } else { a % b };
                        for (operator, expected) in [
                            (Binary::Add, a + b),
                            (Binary::Subtract, a - b),
                            (Binary::Multiply, a * b),
                            (Binary::Divide, quotient),
                            (Binary::Remainder, rest),
                            (Binary::BitAnd, a & b),
                            (Binary::BitOr, a | b),
                            (Binary::BitXor, a ^ b),
                            (Binary::Equal, i64::from(a == b)),
                            (Binary::Less, i64::from(a < b)),
                        ] {
                            let got = folded(operator, (a, kind), (b, kind));
                            let expected = match operator {
                                Binary::Equal | Binary::Less => expected,
                                _ => kind.wrap(expected),
                            };
                            assert_eq!(got, expected, "{a} {operator:?} {b} of {kind}");
                        }
                        let far = b < 0 || b >= i64::from(width);
                        let left = if far { 0 } else { kind.wrap(a << b) };
                        let right = if far { if a < 0 { -1 } else { 0 } } else { a >> b };
                        assert_eq!(
                            folded(Binary::ShiftLeft, (a, kind), (b, kind)),
                            left,
                            "{a} << {b} of {kind}"
                        );
                        assert_eq!(
                            folded(Binary::ShiftRight, (a, kind), (b, kind)),
                            right,
                            "{a} >> {b} of {kind}"
                        );
                    }
                }
            }
        }
    }
}
