//! Gates with structural hashing and constant folding.
//!
//! Besides *and* there are gates for what becomes fewer or stronger clauses as one: *xor*, *if* and *select*. A
//! select takes the value beside the one condition that holds. That exactly one does is what whoever builds it
//! knows, and what the gate relies on.

use rustc_hash::FxHashMap;
use std::ops::Not;

/// A gate's output or its opposite.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Lit(u32);

/// The constants are the two sides of the first gate.
pub(crate) const FALSE: Lit = Lit(0);
pub(crate) const TRUE: Lit = Lit(1);

impl Lit {
    /// The gate.
    pub fn gate(self) -> usize {
        (self.0 >> 1) as usize
    }

    /// Whether it is the opposite of the gate's output.
    pub fn is_negative(self) -> bool {
        self.0 & 1 == 1
    }

    pub fn constant(self) -> Option<bool> {
        (self.gate() == 0).then_some(self == TRUE)
    }
}

impl Not for Lit {
    type Output = Lit;

    fn not(self) -> Lit {
        Lit(self.0 ^ 1)
    }
}

impl From<bool> for Lit {
    fn from(value: bool) -> Self {
        if value { TRUE } else { FALSE }
    }
}

/// A gate. Its operands come before it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Gate {
    /// `false`.
    Constant,
    /// Free.
    Input,
    /// All of two and more, sorted.
    And(Box<[Lit]>),
    /// Exactly one of two, neither of them negative.
    Xor(Lit, Lit),
    /// The second if the first holds, otherwise the third. The first is not negative.
    If(Lit, Lit, Lit),
    /// The value beside the one condition that holds.
    Select(Box<[(Lit, Lit)]>),
}

/// All gates.
#[derive(Default)]
pub(crate) struct Graph {
    gates: Vec<Gate>,
    known: FxHashMap<Gate, Lit>,
}

impl Graph {
    pub fn new() -> Self {
        Graph { gates: vec![Gate::Constant], known: FxHashMap::default() }
    }

    pub fn len(&self) -> usize {
        self.gates.len()
    }

    pub fn gate(&self, place: usize) -> &Gate {
        &self.gates[place]
    }

    fn push(&mut self, gate: Gate) -> Lit {
        let place = u32::try_from(self.gates.len()).expect("fewer gates than 2^31");
        self.gates.push(gate);
        Lit(place << 1)
    }

    fn intern(&mut self, gate: Gate) -> Lit {
        if let Some(&lit) = self.known.get(&gate) {
            return lit;
        }
        let lit = self.push(gate.clone());
        self.known.insert(gate, lit);
        lit
    }

    /// Something that may be anything.
    pub fn input(&mut self) -> Lit {
        self.push(Gate::Input)
    }

    pub fn and(&mut self, a: Lit, b: Lit) -> Lit {
        match (a, b) {
            (FALSE, _) | (_, FALSE) => FALSE,
            (TRUE, other) | (other, TRUE) => other,
            _ if a == b => a,
            _ if a == !b => FALSE,
            _ => self.intern(Gate::And(Box::new([a.min(b), a.max(b)]))),
        }
    }

    pub fn or(&mut self, a: Lit, b: Lit) -> Lit {
        !self.and(!a, !b)
    }

    /// All of these.
    pub fn all(&mut self, lits: impl IntoIterator<Item = Lit>) -> Lit {
        let mut lits: Vec<Lit> = lits.into_iter().filter(|&lit| lit != TRUE).collect();
        lits.sort_unstable();
        lits.dedup();
        // The two sides of a gate are neighbours.
        if lits.first() == Some(&FALSE) || lits.windows(2).any(|pair| pair[0] == !pair[1]) {
            return FALSE;
        }
        match lits[..] {
            [] => TRUE,
            [one] => one,
            _ => self.intern(Gate::And(lits.into())),
        }
    }

    /// At least one of these.
    pub fn any(&mut self, lits: impl IntoIterator<Item = Lit>) -> Lit {
        !self.all(lits.into_iter().map(|lit| !lit))
    }

    pub fn xor(&mut self, a: Lit, b: Lit) -> Lit {
        match (a.constant(), b.constant()) {
            (Some(a), _) => return if a { !b } else { b },
            (_, Some(b)) => return if b { !a } else { a },
            _ => {}
        }
        let flip = a.is_negative() != b.is_negative();
        let (a, b) = (Lit(a.0 & !1), Lit(b.0 & !1));
        let lit = if a == b { FALSE } else { self.intern(Gate::Xor(a.min(b), a.max(b))) };
        if flip { !lit } else { lit }
    }

    pub fn equal(&mut self, a: Lit, b: Lit) -> Lit {
        !self.xor(a, b)
    }

    /// The second if the first holds, otherwise the third.
    pub fn either(&mut self, condition: Lit, then: Lit, otherwise: Lit) -> Lit {
        match (condition, then, otherwise) {
            (TRUE, then, _) => then,
            (FALSE, _, otherwise) => otherwise,
            _ if then == otherwise => then,
            _ if then == !otherwise => self.equal(condition, then),
            (_, TRUE, otherwise) => self.or(condition, otherwise),
            (_, FALSE, otherwise) => self.and(!condition, otherwise),
            (_, then, TRUE) => self.or(!condition, then),
            (_, then, FALSE) => self.and(condition, then),
            _ if condition == then => self.or(condition, otherwise),
            _ if condition == !then => self.and(!condition, otherwise),
            _ if condition == otherwise => self.and(condition, then),
            _ if condition == !otherwise => self.or(!condition, then),
            _ if condition.is_negative() => self.intern(Gate::If(!condition, otherwise, then)),
            _ => self.intern(Gate::If(condition, then, otherwise)),
        }
    }

    /// The value beside the one condition that holds. Exactly one of the conditions holds, always.
    pub fn select(&mut self, cases: impl IntoIterator<Item = (Lit, Lit)>) -> Lit {
        let mut kept: Vec<(Lit, Lit)> = Vec::new();
        for (condition, value) in cases {
            match condition {
                FALSE => {}
                TRUE => return value,
                _ => kept.push((condition, value)),
            }
        }
        kept.sort_unstable();
        kept.dedup();
        let Some(&(first, value)) = kept.first() else { return FALSE };
        if kept.iter().all(|(_, other)| *other == value) {
            return value;
        }
        // Constants are plain disjunctions of what they depend on.
        if kept.iter().all(|(_, value)| value.constant().is_some()) {
            let ones = kept.iter().filter(|(_, value)| *value == TRUE);
            return self.any(ones.map(|(condition, _)| *condition).collect::<Vec<_>>());
        }
        match kept[..] {
            [(_, value), (_, other)] => self.either(first, value, other),
            _ => self.intern(Gate::Select(kept.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_gate_is_there_once_and_constants_fold() {
        let mut graph = Graph::new();
        let (a, b, c) = (graph.input(), graph.input(), graph.input());
        assert_eq!(graph.and(a, b), graph.and(b, a));
        assert_eq!(graph.and(a, !a), FALSE);
        assert_eq!(graph.all([a, b, TRUE, a]), graph.and(a, b));
        assert_eq!(graph.all([a, c, !a]), FALSE);
        assert_eq!(graph.xor(!a, b), !graph.xor(a, b));
        assert_eq!(graph.xor(a, a), FALSE);
        assert_eq!(graph.either(!a, b, c), graph.either(a, c, b));
        assert_eq!(graph.either(a, TRUE, b), graph.or(a, b));
        assert_eq!(graph.select([(a, c), (!a, c)]), c);
        assert_eq!(graph.select([(a, TRUE), (b, FALSE), (c, TRUE)]), graph.or(a, c));
        assert_eq!(graph.select([(FALSE, a), (TRUE, b)]), b);
        assert_eq!(graph.select([(a, b), (!a, c)]), graph.either(a, b, c));
    }
}
