//! Vector clocks: what must have happened before a step, in every order of the trace.
//!
//! The clock of a step says for each thread up to which step all of it comes before, as the number of that step plus one.
//! It changes only when a thread waits for another, so each thread has a list of changes; that is also what it is looked up
//! in later. A clock follows the order that is there whatever happens, and one rule more, for
//! sections that exclude each other: if the beginning of one comes before the end of another, then the other cannot come first as
//! a whole, so all of the one comes before all of the other. What this tells about the *beginning* of a section
//! can become known only later in it, so everything is gone through again until nothing new is found, or often enough:
//! clocks that know less are still right, and what they do not know is asked for.

use super::model::{Before, Model, Point, Role, Section};

/// Gone through at most so often.
const ROUNDS: usize = 20;

#[derive(Default)]
struct History {
    /// At which steps the clock changed.
    steps: Vec<u32>,
    /// What it was then, one after the other.
    clocks: Vec<u32>,
}

pub(super) struct Clocks<'m> {
    model: &'m Model,
    histories: Vec<History>,
    /// Whether to use the rule for sections.
    follow: bool,
    /// Order that follows, beside that of the model.
    pub extra: Before,
}

impl<'m> Clocks<'m> {
    /// Clocks that know nothing yet, but all order that the rule tells.
    pub fn new(model: &'m Model, follow: bool) -> Self {
        let mut extra = Before::default();
        if !follow {
            return Clocks::with(model, extra, false);
        }
        for _ in 0..ROUNDS {
            let mut clocks = Clocks::with(model, std::mem::take(&mut extra), true);
            let mut is_new = false;
            for point in &model.points {
                is_new |= clocks.point(point);
            }
            extra = clocks.extra;
            if !is_new {
                break;
            }
        }
        Clocks::with(model, extra, true)
    }

    fn with(model: &'m Model, extra: Before, follow: bool) -> Self {
        let mut histories = Vec::new();
        histories.resize_with(model.threads, History::default);
        Clocks { model, histories, extra, follow }
    }

    /// Up to where a thread is known to another now: all steps below.
    pub fn known(&self, thread: u32, other: u32) -> u32 {
        let clocks = &self.histories[thread as usize].clocks;
        let last = clocks.len().checked_sub(self.model.threads);
        last.map_or(0, |last| clocks[last + other as usize])
    }

    fn clock_at(&self, thread: u32, step: u32) -> Option<&[u32]> {
        let history = &self.histories[thread as usize];
        let change = history.steps.partition_point(|&change| change <= step).checked_sub(1)?;
        history.clocks.chunks_exact(self.model.threads).nth(change)
    }

    /// From now on, which is this step of the thread, it comes after that step of another.
    pub fn join(&mut self, thread: u32, now: u32, other: u32, step: u32) {
        if thread == other || self.known(thread, other) > step {
            return;
        }
        let threads = self.model.threads;
        let theirs = self.clock_at(other, step).map(<[u32]>::to_vec);
        let History { steps, clocks } = &mut self.histories[thread as usize];
        if steps.last() != Some(&now) {
            steps.push(now);
            match clocks.len().checked_sub(threads) {
                Some(last) => clocks.extend_from_within(last..),
                None => clocks.resize(threads, 0),
            }
        }
        let last = clocks.len() - threads;
        let mine = &mut clocks[last..];
        for (mine, theirs) in mine.iter_mut().zip(theirs.unwrap_or_default()) {
            *mine = (*mine).max(theirs);
        }
        mine[other as usize] = mine[other as usize].max(step + 1);
    }

    /// A point happens. Whether something new is known of a section that had begun before.
    pub fn point(&mut self, point: &Point) -> bool {
        let &Point { step, thread, role } = point;
        for sources in [self.model.before.get(&step).cloned(), self.extra.get(&step).cloned()] {
            for source in sources.unwrap_or_default() {
                self.join(thread, step, self.thread_of(source), source);
            }
        }
        match role {
            Role::Begin(section) | Role::End(section) if self.follow => {
                self.sections(section, step)
            }
            _ => false,
        }
    }

    /// The thread of a step that others come after.
    fn thread_of(&self, step: u32) -> u32 {
        let points = &self.model.points;
        let place = points.partition_point(|point| point.step < step);
        points[place].thread
    }

    /// Sections of which the beginning is known, and which this one excludes, have come before it as a whole.
    fn sections(&mut self, section: u32, now: u32) -> bool {
        let mut is_new = false;
        let model = self.model;
        let Section { lock, thread, shared, begin, .. } = model.sections[section as usize];
        for of in &model.locks[lock as usize] {
            let numbers = if shared { &of.exclusive } else { &of.all };
            let known = self.known(thread, of.thread);
            if of.thread == thread || known == 0 {
                continue;
            }
            let begun = numbers.partition_point(|&n| model.sections[n as usize].begin < known);
            let Some(last) = begun.checked_sub(1) else { continue };
            let end = model.sections[numbers[last] as usize].end;
            let at_begin = self.clock_at(thread, begin).map_or(0, |c| c[of.thread as usize]);
            if at_begin <= end {
                is_new = true;
                self.extra.entry(begin).or_default().push(end);
                self.join(thread, now, of.thread, end);
            }
        }
        // At its beginning it is not too late.
        is_new && now != begin
    }
}
