//! Vector clocks: what must have happened before a step, in every beginning of a run that has this step.
//!
//! The clock of a step says for each thread up to which step all of it comes before, as the number of that step plus one.
//! It changes only when a thread waits for another, so each thread has a list of changes; that is also what it is looked up
//! in later. A clock follows the order that is there whatever happens, and one rule more, for sections that exclude
//! each other. If the beginning of one is known at a step in another, both have begun whenever this step is reached, and the
//! other has not ended: so the one came first, as a whole, and its end is known at this step, too. It is not known any sooner: a run that
//! takes the locks the other way round may get as far as to the beginning of the other section and then never reach this step.

use super::model::{Before, Model, OPEN, Point, Role, Section};

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
    /// Sections that each thread is in.
    pub open: Vec<Vec<u32>>,
}

impl<'m> Clocks<'m> {
    /// Clocks that know nothing yet.
    pub fn new(model: &'m Model, follow: bool) -> Self {
        let mut histories = Vec::new();
        histories.resize_with(model.threads, History::default);
        let open = vec![Vec::new(); model.threads];
        Clocks { model, histories, extra: Before::default(), follow, open }
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

    /// A point happens.
    pub fn point(&mut self, point: &Point) {
        let &Point { step, thread, role } = point;
        let model = self.model;
        for &source in model.before.get(&step).into_iter().flatten() {
            self.join(thread, step, self.thread_of(source), source);
        }
        // What was learnt of accesses before this point is known to the thread already.
        if let Role::Begin(section) = role {
            self.open[thread as usize].push(section);
        }
        if self.follow {
            self.sections(thread, step);
        }
        if let Role::End(section) = role {
            self.open[thread as usize].retain(|&other| other != section);
        }
    }

    /// The thread of a step that others come after.
    fn thread_of(&self, step: u32) -> u32 {
        let points = &self.model.points;
        let place = points.partition_point(|point| point.step < step);
        points[place].thread
    }

    /// Sections of which the beginning is known, and which exclude one that the thread is in, have come before it as a whole.
    pub fn sections(&mut self, thread: u32, now: u32) {
        let model = self.model;
        // What is known by one section can tell of another.
        let mut is_new = true;
        while std::mem::take(&mut is_new) {
            for place in 0..self.open[thread as usize].len() {
                let section = self.open[thread as usize][place];
                let Section { lock, shared, .. } = model.sections[section as usize];
                for of in &model.locks[lock as usize] {
                    let numbers = if shared { &of.exclusive } else { &of.all };
                    let known = self.known(thread, of.thread);
                    if of.thread == thread || known == 0 {
                        continue;
                    }
                    let has_begun = |&n: &u32| model.sections[n as usize].begin < known;
                    let Some(last) = numbers.partition_point(has_begun).checked_sub(1) else {
                        continue;
                    };
                    let end = model.sections[numbers[last] as usize].end;
                    if end != OPEN && known <= end {
                        self.extra.entry(now).or_default().push(end);
                        self.join(thread, now, of.thread, end);
                        is_new = true;
                    }
                }
            }
        }
    }
}
