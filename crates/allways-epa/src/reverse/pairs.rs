//! Goes through a trace in its order, and looks at each pair that is to be compared: clocks settle it, or a solver is asked.

use super::access::Accesses;
use super::ask::{Asked, ask};
use super::clocks::Clocks;
use super::model::Model;
use super::window::{Graph, Order, Window};
use super::{Reversibility, Witness, witness};
use crate::step::Step;
use allways_bmc::solver::{Embedded, Stop};

pub(super) struct Pairs<'p> {
    model: &'p Model,
    steps: &'p [Step],
    solver: Embedded,
    clocks: Clocks<'p>,
    pairs: u64,
    settled_by_order: u64,
    asked: u64,
}

/// It is asked whether to stop after so many steps.
const PATIENCE: usize = 4096;

impl<'p> Pairs<'p> {
    pub fn new(model: &'p Model, steps: &'p [Step], solver: Embedded, follow: bool) -> Self {
        let clocks = Clocks::new(model, follow);
        Pairs { model, steps, solver, clocks, pairs: 0, settled_by_order: 0, asked: 0 }
    }

    /// Looks at all pairs. An error is the step at which it was stopped.
    pub fn all(&mut self, stop: &Stop) -> Result<Reversibility, usize> {
        let mut accesses = Accesses::new(self.steps);
        let mut points = self.model.points.iter().peekable();
        let mut compared = Vec::new();
        for now in 0..self.steps.len() as u32 {
            if (now as usize).is_multiple_of(PATIENCE) && stop.is_due() {
                return Err(now as usize);
            }
            if let Some(point) = points.next_if(|point| point.step == now) {
                self.clocks.point(point);
            }
            accesses.touch(now, &mut compared);
            for &earlier in &compared {
                self.pairs += 1;
                let thread = self.steps[now as usize].thread;
                let other = self.steps[earlier as usize].thread;
                if self.clocks.known(thread, other) > earlier {
                    self.settled_by_order += 1;
                    continue;
                }
                self.asked += 1;
                let (model, steps, extra) = (self.model, self.steps, &self.clocks.extra);
                let order = Order { model, extra, steps };
                let window = Window::new(&order, earlier, now);
                let graph = Graph::new(&order, &window, earlier, now);
                match ask(&order, &graph, self.solver, stop) {
                    Asked::Possible(nodes) => {
                        let order = witness::expand(&order, &window, &graph, &nodes);
                        let (first, second) = (earlier as usize, now as usize);
                        return Ok(Reversibility::Possible(Witness { first, second, order }));
                    }
                    Asked::Never => self.learn(earlier, now),
                    Asked::Stopped => return Err(now as usize),
                }
            }
        }
        let &mut Pairs { pairs, settled_by_order, asked, .. } = self;
        Ok(Reversibility::Never { pairs, settled_by_order, asked })
    }

    /// Whenever this step is reached, the earlier one has been. The clocks know from here on, and other questions by the next
    /// point of the thread.
    fn learn(&mut self, earlier: u32, now: u32) {
        let Pairs { model, steps, .. } = *self;
        let (thread, other) = (steps[now as usize].thread, steps[earlier as usize].thread);
        self.clocks.join(thread, now, other, earlier);
        self.clocks.sections(thread, now);
        let known = self.clocks.known(thread, other);
        // The last point of the other thread that is known: windows have nothing but points.
        let before = model.points.partition_point(|point| point.step < known);
        let source = model.points[..before].iter().rev().find(|point| point.thread == other);
        let after = model.points.partition_point(|point| point.step < now);
        let next = model.points[after..].iter().find(|point| point.thread == thread);
        if let (Some(source), Some(next)) = (source, next) {
            self.clocks.extra.entry(next.step).or_default().push(source.step);
        }
    }
}
