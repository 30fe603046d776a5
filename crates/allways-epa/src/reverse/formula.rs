//! The question as a formula in SMT-LIB 2 (thesis, section 5.4.3, "Reversibility Check"), for other solvers and for eyes.
//!
//! An integer `x_i` for each step that takes part in the order between threads or in a pair: its place in a reordering; and `cut`,
//! where the beginning of a run ends: those with lower numbers are in it. Constraints: each thread's steps in their order; a step after those
//! it waits for; of two sections that exclude each other, one before the other, unless one does not begin before the cut;
//! and that of one of the pairs the second is before the cut and the first is not. The thesis has no cut: it asks for an order of
//! all steps, in which `x_j <= x_i` for one pair. Whenever there is one, there is a beginning (up to `j`), but not the other way round.
//!
//! Two things are less than the thesis has, and make no difference. Steps that are in no other constraint than that of their thread have
//! no variable: there is always room for them next to the step before. And of the pairs only those
//! are named that have no write between them (`access.rs` says why that is enough). Pairs of sections are all there, so
//! the formula grows with their square, as the thesis' does.

use super::access::Accesses;
use super::model::{Model, OPEN};
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
        writeln!(text, "(declare-const cut Int)")?;
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
                    let (one_begin, other_begin) = (one.begin, other.begin);
                    write!(text, "(assert (or (<= cut x_{one_begin}) (<= cut x_{other_begin})")?;
                    for (end, begin) in [(one.end, other_begin), (other.end, one_begin)] {
                        if end != OPEN {
                            write!(text, " (< x_{end} x_{begin})")?;
                        }
                    }
                    writeln!(text, "))")?;
                }
            }
        }
        writeln!(text, "; Two steps that depend on each other come in the other order.")?;
        writeln!(text, "(assert (or false")?;
        for (first, second) in &self.pairs {
            writeln!(text, "  (and (< x_{second} cut) (<= cut x_{first}))")?;
        }
        writeln!(text, "))\n(check-sat)")
    }

    fn question(&self) -> String {
        let mut question = "(get-value (cut ".to_owned();
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

    /// The beginning of a run that a solver's values tell.
    fn witness(&self, steps: &[Step], values: &[i64]) -> Result<Witness, String> {
        let Some((&cut, values)) =
            values.split_first().filter(|(_, values)| values.len() == self.variables.len())
        else {
            return Err("the solver did not give a value for each step".to_owned());
        };
        let value = |at: u32| values[self.variables.partition_point(|&variable| variable < at)];
        let mut reversed = self.pairs.iter().copied();
        let reversed = reversed.find(|&(first, second)| value(second) < cut && cut <= value(first));
        let Some((first, second)) = reversed else {
            return Err("the solver's values reverse nothing".to_owned());
        };
        // The second may come at once when its turn comes: what else has its number or a higher one is not needed. Steps without a
        // variable come with the one after: if there is none that is needed, they are not either.
        let cut = value(second);
        let mut next: Vec<Option<(i64, usize)>> = Vec::new();
        let mut keys = Vec::new();
        let mut variables = self.variables.iter().zip(values).rev().peekable();
        for (at, step) in steps.iter().enumerate().rev() {
            let thread = step.thread as usize;
            next.resize(next.len().max(thread + 1), None);
            if let Some((_, &value)) = variables.next_if(|(variable, _)| **variable == at as u32) {
                let is_needed = value < cut || at as u32 == second;
                next[thread] = is_needed.then_some((value, at));
            }
            if let Some((value, node)) = next[thread] {
                keys.push((value, node, at));
            }
        }
        keys.sort_unstable();
        let order = keys.into_iter().map(|(_, _, at)| at).collect();
        Ok(Witness { first: first as usize, second: second as usize, order })
    }
}
