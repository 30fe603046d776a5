//! Expressions over values of which some are not known.

use super::Cells;
use crate::program::{Binary, ExprId, Node, Program};

/// What is known of each cell; empty if nothing is known of any.
pub(super) type Values = Vec<Option<i64>>;

/// Values of expressions in one abstract state. Nothing is cleared between states: each value remembers for which
/// round it was computed.
pub(super) struct Scratch {
    values: Vec<(u64, Option<i64>)>,
    round: u64,
    stack: Vec<ExprId>,
    /// How many were evaluated in this state.
    count: usize,
}

impl Scratch {
    pub fn new(program: &Program) -> Self {
        Scratch {
            values: vec![(0, None); program.exprs.len()],
            round: 0,
            stack: Vec::new(),
            count: 0,
        }
    }

    /// What follows is in another state.
    pub fn start(&mut self) {
        self.round += 1;
        self.count = 0;
    }

    /// How many expressions were evaluated in this state.
    pub fn evaluated(&self) -> usize {
        self.count
    }

    fn is_known(&self, expr: ExprId) -> bool {
        self.values[expr.index()].0 == self.round
    }

    /// The value of an expression, if it is the same whatever is not known.
    pub fn value(
        &mut self,
        program: &Program,
        cells: &Cells,
        state: &Values,
        expr: ExprId,
    ) -> Option<i64> {
        self.stack.push(expr);
        while let Some(&next) = self.stack.last() {
            let before = self.stack.len();
            if !self.is_known(next) {
                let operands = match program.exprs.node(next) {
                    Node::Const(_) | Node::Var(_) | Node::Input(_) | Node::At(..) => [None; 3],
                    Node::Element(_, a) | Node::Unary(_, a) => [Some(a), None, None],
                    Node::Binary(_, a, b) => [Some(a), Some(b), None],
                    Node::If(a, b, c) => [Some(a), Some(b), Some(c)],
                };
                for operand in operands.into_iter().flatten() {
                    if !self.is_known(operand) {
                        self.stack.push(operand);
                    }
                }
                if self.stack.len() > before {
                    continue;
                }
                let value = self.evaluate(program, cells, state, next);
                self.count += 1;
                self.values[next.index()] = (self.round, value);
            }
            self.stack.pop();
        }
        self.values[expr.index()].1
    }

    /// An expression whose operands were computed.
    fn evaluate(
        &self,
        program: &Program,
        cells: &Cells,
        state: &Values,
        expr: ExprId,
    ) -> Option<i64> {
        let of = |id: ExprId| self.values[id.index()].1;
        let known = |cell: usize| state.get(cell).copied().flatten();
        let exprs = &program.exprs;
        match exprs.node(expr) {
            Node::Const(value) => Some(value),
            Node::Var(variable) => known(cells.of(variable)),
            Node::Element(variable, index) => {
                let length = i64::from(program.variable(variable).length.unwrap_or(1));
                match of(index)? {
                    index if (0..length).contains(&index) => {
                        known(cells.of(variable) + index as usize)
                    }
                    _ => Some(0),
                }
            }
            // Where others stand is not followed, and one's own place is rarely asked for.
            Node::Input(_) | Node::At(..) => None,
            Node::Unary(operator, a) => {
                Some(operator.apply(of(a)?, exprs.kind(a), exprs.kind(expr)))
            }
            Node::Binary(operator, a, b) => match (operator, of(a), of(b)) {
                (_, Some(x), Some(y)) => Some(operator.apply(x, y, exprs.kind(a))),
                (Binary::And, Some(0), _) | (Binary::And, _, Some(0)) => Some(0),
                (Binary::Or, Some(1), _) | (Binary::Or, _, Some(1)) => Some(1),
                _ => None,
            },
            Node::If(condition, then, otherwise) => match of(condition) {
                Some(0) => of(otherwise),
                Some(_) => of(then),
                None => of(then).filter(|_| of(then) == of(otherwise)),
            },
        }
    }
}
