//! Goes through a trace in its order, and looks at each pair that is to be compared: clocks settle it, or a solver is asked.

use super::access::Accesses;
use super::ask::{Asked, ask};
use super::clocks::Clocks;
use super::model::{Model, Role};
use super::window::{Graph, Order, Window};
use super::{Reversibility, Witness, witness};
use crate::step::Step;
use allways_bmc::solver::{Embedded, Stop};

pub(super) struct Pairs<'p> {
    model: &'p Model,
    steps: &'p [Step],
    solver: Embedded,
    clocks: Clocks<'p>,
    /// Sections that each thread is in.
    open: Vec<Vec<u32>>,
    pairs: u64,
    settled_by_order: u64,
    asked: u64,
}

/// It is asked whether to stop after so many steps.
const PATIENCE: usize = 4096;

impl<'p> Pairs<'p> {
    pub fn new(model: &'p Model, steps: &'p [Step], solver: Embedded, follow: bool) -> Self {
        let clocks = Clocks::new(model, follow);
        let open = vec![Vec::new(); model.threads];
        Pairs { model, steps, solver, clocks, open, pairs: 0, settled_by_order: 0, asked: 0 }
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
                let open = &mut self.open[point.thread as usize];
                match point.role {
                    Role::Begin(section) => open.push(section),
                    Role::End(section) => open.retain(|&other| other != section),
                    Role::Other => {}
                }
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

    /// The earlier step comes before this one in every order. If both are in sections that exclude each other, so do the
    /// sections, as a whole.
    fn learn(&mut self, earlier: u32, now: u32) {
        let Pairs { model, steps, .. } = *self;
        let (thread, other) = (steps[now as usize].thread, steps[earlier as usize].thread);
        self.clocks.join(thread, now, other, earlier);
        for &number in &self.open[thread as usize] {
            let section = model.sections[number as usize];
            let lock = &model.locks[section.lock as usize];
            let Some(of) = lock.iter().find(|of| of.thread == other) else { continue };
            let begun = of.all.partition_point(|&n| model.sections[n as usize].begin < earlier);
            let Some(last) = begun.checked_sub(1) else { continue };
            let first = model.sections[of.all[last] as usize];
            if earlier < first.end && first.excludes(&section) {
                self.clocks.extra.entry(section.begin).or_default().push(first.end);
                self.clocks.join(thread, now, other, first.end);
            }
        }
    }
}
