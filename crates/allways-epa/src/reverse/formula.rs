//! The thesis' formula in SMT-LIB 2 (section 5.4.3, "Reversibility Check"), for other solvers and for eyes.
//!
//! An integer `x_i` for each step that takes part in the order between threads or in a pair; its place in a reordering.
//! Constraints: each thread's steps in their order; a step after those it waits for; of two sections that exclude each
//! other, one before the other; and that one of the pairs comes in the other order, `x_j <= x_i`. Two steps with the
//! same number may come in either order, as nothing asks for one.
//!
//! Two things are less than the thesis has, and make no difference. Steps that are in no other constraint than that of their thread have
//! no variable: there is always room for them next to the step before. And of the pairs only those
//! are named that have no write between them (`access.rs` says why that is enough). Pairs of sections are all there, so
//! the formula grows with their square, as the thesis' does.

use super::access::Accesses;
use super::model::Model;
use super::window::Order;
use super::{Reversibility, Witness};
use crate::step::Step;
use allways_bmc::solver::{Answer, External, Stop};
use std::fmt::Write;

pub(super) struct Formula {
    pub text: String,
    pub pairs: Vec<(u32, u32)>,
    /// The steps that have a variable, in the order of the trace.
    variables: Vec<u32>,
}

impl Formula {
    pub fn new(model: &Model, steps: &[Step]) -> Self {
        let mut pairs = Vec::new();
        let mut accesses = Accesses::new(steps);
        let mut compared = Vec::new();
        for now in 0..steps.len() as u32 {
            accesses.touch(now, &mut compared);
            pairs.extend(compared.iter().map(|&earlier| (earlier, now)));
        }
        let mut variables: Vec<u32> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
        variables.extend(model.points.iter().map(|point| point.step));
        variables.sort_unstable();
        variables.dedup();
        let mut formula = Formula { text: String::new(), pairs, variables };
        // Writing to a text does not fail.
        let _ = formula.write(model, steps);
        formula
    }

    fn write(&mut self, model: &Model, steps: &[Step]) -> std::fmt::Result {
        let text = &mut self.text;
        writeln!(text, "(set-option :produce-models true)\n(set-logic QF_LIA)")?;
        for at in &self.variables {
            writeln!(text, "(declare-const x_{at} Int)")?;
        }
        writeln!(text, "; Each thread's steps come in their order.")?;
        let mut last = vec![None; model.threads];
        for &at in &self.variables {
            if let Some(last) = last[steps[at as usize].thread as usize].replace(at) {
                writeln!(text, "(assert (< x_{last} x_{at}))")?;
            }
        }
        writeln!(text, "; Threads are created and joined, woken, and meet at barriers.")?;
        let order = Order { model, extra: &Default::default(), steps };
        for point in &model.points {
            for source in order.before(point.step) {
                writeln!(text, "(assert (< x_{source} x_{}))", point.step)?;
            }
        }
        writeln!(text, "; Critical sections do not overlap.")?;
        for lock in &model.locks {
            let all = || lock.iter().flat_map(|of| &of.all).map(|&n| model.sections[n as usize]);
            for (place, one) in all().enumerate() {
                for other in all().skip(place + 1).filter(|other| one.excludes(other)) {
                    let (begin, end) = (one.begin, one.end);
                    writeln!(
                        text,
                        "(assert (or (< x_{end} x_{}) (< x_{} x_{begin})))",
                        other.begin, other.end
                    )?;
                }
            }
        }
        writeln!(text, "; Two steps that depend on each other come in the other order.")?;
        writeln!(text, "(assert (or false")?;
        for (first, second) in &self.pairs {
            writeln!(text, "  (<= x_{second} x_{first})")?;
        }
        writeln!(text, "))\n(check-sat)")
    }

    fn question(&self) -> String {
        let mut question = "(get-value (".to_owned();
        for at in &self.variables {
            let _ = write!(question, "x_{at} ");
        }
        question + "))\n"
    }

    /// What another solver says.
    pub fn decide(
        &self,
        steps: &[Step],
        solver: &External,
        stop: &Stop,
    ) -> Result<Option<Reversibility>, String> {
        let pairs = self.pairs.len() as u64;
        if self.pairs.is_empty() {
            return Ok(Some(Reversibility::Never { pairs, settled_by_order: 0, asked: 0 }));
        }
        let (answer, values) = solver.solve(&self.text, &self.question(), stop)?;
        match answer {
            Answer::Stopped => Ok(None),
            Answer::Unmet => {
                Ok(Some(Reversibility::Never { pairs, settled_by_order: 0, asked: pairs }))
            }
            Answer::Met => Ok(Some(Reversibility::Possible(self.witness(steps, &values)?))),
        }
    }

    /// The order that a solver's values tell.
    fn witness(&self, steps: &[Step], values: &[i64]) -> Result<Witness, String> {
        if values.len() != self.variables.len() {
            return Err("the solver did not give a value for each step".to_owned());
        }
        let value = |at: u32| values[self.variables.partition_point(|&variable| variable < at)];
        let reversed = self.pairs.iter().find(|&&(first, second)| value(second) <= value(first));
        let Some(&(first, second)) = reversed else {
            return Err("the solver's values reverse nothing".to_owned());
        };
        // Of steps with the same number, the second comes first and the first last; others come as in the trace. Steps
        // without a variable come with the one before.
        let mut last = Vec::new();
        let mut keys = Vec::with_capacity(steps.len());
        let mut variables = self.variables.iter().zip(values).peekable();
        for (at, step) in steps.iter().enumerate() {
            let thread = step.thread as usize;
            if thread >= last.len() {
                last.resize(thread + 1, (i64::MIN, 1, 0));
            }
            if let Some((_, &value)) = variables.next_if(|(variable, _)| **variable == at as u32) {
                let tie = match at as u32 {
                    at if at == second => 0,
                    at if at == first => 2,
                    _ => 1,
                };
                last[thread] = (value, tie, at);
            }
            let (value, tie, node) = last[thread];
            keys.push((value, tie, node, at));
        }
        keys.sort_unstable();
        let order = keys.into_iter().map(|(_, _, _, at)| at).collect();
        Ok(Witness { first: first as usize, second: second as usize, order })
    }
}
