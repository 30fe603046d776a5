//! No state twice: for proofs that no longer run has anything new to show.

use super::Unrolling;
use crate::circuit::Lit;

impl Unrolling<'_> {
    /// Clauses by which the last state is none of those before it.
    pub fn keep_distinct(&mut self) {
        let last = self.states.len() - 1;
        for earlier in 0..last {
            let mut differ: Vec<Lit> = Vec::new();
            let (a, b) = (&self.states[earlier], &self.states[last]);
            let bits = a.values.iter().flatten().zip(b.values.iter().flatten());
            for (&a, &b) in bits.chain(a.at.iter().flatten().zip(b.at.iter().flatten())) {
                differ.push(self.graph.xor(a, b));
            }
            self.require(differ);
        }
    }
}
