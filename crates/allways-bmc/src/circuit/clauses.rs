//! From gates to clauses (Tseitin), each gate once and only when something refers to it.

use super::graph::{Gate, Graph, Lit};

/// Where clauses go: a solver, or a file. Variables are numbers from 1 on.
pub trait Sink {
    /// One more clause: at least one of these numbers holds, or of a negative one its opposite.
    fn clause(&mut self, lits: &[i32]);
}

/// Which gates have become clauses, and which variable each is.
pub(crate) struct Clauses {
    /// By gate; 0 if it has none yet.
    variables: Vec<i32>,
    /// How many variables there are.
    pub count: i32,
    /// How many clauses there are.
    pub clauses: u64,
    pending: Vec<usize>,
}

impl Clauses {
    pub fn new() -> Self {
        Clauses { variables: Vec::new(), count: 0, clauses: 0, pending: Vec::new() }
    }

    fn fresh(&mut self) -> i32 {
        self.count += 1;
        self.count
    }

    /// One more clause.
    pub fn add(&mut self, sink: &mut dyn Sink, lits: &[i32]) {
        self.clauses += 1;
        sink.clause(lits);
    }

    /// The variable of a gate, or its opposite; the gate's clauses are there then.
    pub fn lit(&mut self, graph: &Graph, sink: &mut dyn Sink, lit: Lit) -> i32 {
        let variable = self.variable(lit.gate(), graph.len());
        while let Some(gate) = self.pending.pop() {
            self.define(graph, sink, gate);
        }
        if lit.is_negative() { -variable } else { variable }
    }

    /// What a gate was in a solution; `None` if nothing depends on it.
    pub fn known(&self, lit: Lit) -> Option<i32> {
        let variable = self.variables.get(lit.gate()).copied().filter(|&variable| variable != 0)?;
        Some(if lit.is_negative() { -variable } else { variable })
    }

    fn variable(&mut self, gate: usize, gates: usize) -> i32 {
        if self.variables.len() < gates {
            self.variables.resize(gates, 0);
        }
        if self.variables[gate] == 0 {
            self.variables[gate] = self.fresh();
            self.pending.push(gate);
        }
        self.variables[gate]
    }

    fn define(&mut self, graph: &Graph, sink: &mut dyn Sink, gate: usize) {
        let out = self.variables[gate];
        let gates = graph.len();
        let of = |this: &mut Self, lit: Lit| {
            let variable = this.variable(lit.gate(), gates);
            if lit.is_negative() { -variable } else { variable }
        };
        match graph.gate(gate) {
            Gate::Constant => self.add(sink, &[-out]),
            Gate::Input => {}
            Gate::And(lits) => {
                let lits: Vec<i32> = lits.iter().map(|&lit| of(self, lit)).collect();
                let mut long = vec![out];
                for lit in lits {
                    self.add(sink, &[-out, lit]);
                    long.push(-lit);
                }
                self.add(sink, &long);
            }
            Gate::Xor(a, b) => {
                let (a, b) = (of(self, *a), of(self, *b));
                self.add(sink, &[-out, a, b]);
                self.add(sink, &[-out, -a, -b]);
                self.add(sink, &[out, -a, b]);
                self.add(sink, &[out, a, -b]);
            }
            Gate::If(c, a, b) => {
                let (c, a, b) = (of(self, *c), of(self, *a), of(self, *b));
                self.add(sink, &[-out, -c, a]);
                self.add(sink, &[out, -c, -a]);
                self.add(sink, &[-out, c, b]);
                self.add(sink, &[out, c, -b]);
                // Not needed, but then what both sides say is known without the condition.
                self.add(sink, &[-out, a, b]);
                self.add(sink, &[out, -a, -b]);
            }
            Gate::Select(cases) => {
                for (condition, value) in cases {
                    let condition = of(self, *condition);
                    match value.constant() {
                        Some(true) => self.add(sink, &[-condition, out]),
                        Some(false) => self.add(sink, &[-condition, -out]),
                        None => {
                            let value = of(self, *value);
                            self.add(sink, &[-condition, -out, value]);
                            self.add(sink, &[-condition, out, -value]);
                        }
                    }
                }
            }
        }
    }
}
