//! Those who perform tasks: the global explorer itself, and a thread with a machine of its own for each further core.
//!
//! Tasks wait in the order in which they were given, and whoever is free takes the first. The global explorer wants the results in the same order. If the next one is not there, it performs what waits
//! rather than wait itself. What comes of a task depends on nothing but the task, so the
//! global explorer does the same things in the same order however many there are, and so do its counts and its verdict come out; only the time differs. What goes wrong in a
//! task goes wrong when its turn comes.
//!
//! Of the tasks of a component that has a tree in the [pool](super::pool), one is performed at a time; others are preferred to those that have to wait for that.
//!
//! Where there is a [log](super::log), each result is written down by whoever has it, as soon as it is there: not when its turn comes.

use super::alone::Trees;
use super::interface::Parts;
use super::log::Log;
use super::pool::SharedTrees;
use super::task::{Done, Task};
use crate::engine::budget::Budget;
use crate::engine::machine::Machine;
use crate::engine::panicked;
use crate::error::Error;
use crate::model::step::guarded;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// After so many runs, and with so many tasks that wait, others are called.
const RUNS_ALONE: u64 = 64;
const TASKS_ALONE: usize = 2;

/// So often the one who waits looks at the clock.
const A_WHILE: Duration = Duration::from_millis(20);

/// How somebody who has a machine of this kind performs a task.
pub(super) type Perform<M> =
    fn(&Crew<'_>, &Task, (&mut M, &mut Trees), &Parts, &Budget) -> Result<Done, Error>;

/// The one who performs it with that machine.
pub(super) fn perform<M: Machine>(
    crew: &Crew<'_>,
    task: &Task,
    mate: (&mut M, &mut Trees),
    parts: &Parts,
    budget: &Budget,
) -> Result<Done, Error> {
    crew.perform(task, mate, parts, budget)
}

/// See the module.
pub(super) struct Crew<'l> {
    board: Mutex<Board>,
    /// Something was put on the board.
    changed: Condvar,
    /// The runs of all; also of those who explore within components.
    pub runs: Arc<AtomicU64>,
    /// How many results nobody has taken yet.
    pub ahead: AtomicUsize,
    over: Arc<AtomicBool>,
    log: Option<&'l Log>,
    /// Trees that all have in common.
    pool: Option<&'l dyn SharedTrees>,
    pub effort: &'l Effort,
}

/// How long others have worked beside the global explorer, and how long that has waited for them, in nanoseconds.
#[derive(Default)]
pub(super) struct Effort {
    helped: AtomicU64,
    waited: AtomicU64,
}

impl Effort {
    /// Another than the global explorer does something.
    pub fn help<T>(&self, work: impl FnOnce() -> T) -> T {
        timed(&self.helped, work)
    }

    /// The global explorer waits for others.
    pub fn wait<T>(&self, wait: impl FnOnce() -> T) -> T {
        timed(&self.waited, wait)
    }

    /// How long all have worked, if it took so long.
    pub fn of_all(&self, took: Duration) -> Duration {
        let [helped, waited] = [&self.helped, &self.waited].map(|nanos| nanos.load(Relaxed));
        (took + Duration::from_nanos(helped)).saturating_sub(Duration::from_nanos(waited))
    }
}

fn timed<T>(nanos: &AtomicU64, what: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let done = what();
    let took = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
    nanos.fetch_add(took, Relaxed);
    done
}

#[derive(Default)]
struct Board {
    waiting: VecDeque<(u64, Arc<Task>)>,
    given: u64,
    results: FxHashMap<u64, Result<Done, Error>>,
    /// The components whose trees somebody has.
    busy: Vec<u32>,
}

impl Board {
    /// The first task that can be performed now.
    fn next(&mut self, pool: Option<&dyn SharedTrees>) -> Option<(u64, Arc<Task>)> {
        let is_free = |(_, task): &(u64, Arc<Task>)| !self.busy.contains(&task.component);
        let place = self.waiting.iter().position(is_free)?;
        let (number, task) = self.waiting.remove(place)?;
        if pool.is_some_and(|pool| pool.has(task.component)) {
            self.busy.push(task.component);
        }
        Some((number, task))
    }
}

impl<'l> Crew<'l> {
    pub fn new(
        log: Option<&'l Log>,
        pool: Option<&'l dyn SharedTrees>,
        effort: &'l Effort,
    ) -> Self {
        Crew {
            board: Mutex::default(),
            changed: Condvar::new(),
            runs: Arc::default(),
            ahead: AtomicUsize::new(0),
            over: Arc::default(),
            log,
            pool,
            effort,
        }
    }

    /// One who performs all tasks himself: those within a component. His runs are counted with others.
    pub fn within(runs: &Arc<AtomicU64>, effort: &'l Effort) -> Self {
        Crew { runs: Arc::clone(runs), ..Crew::new(None, None, effort) }
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a task; it is known by a number.
    pub fn give(&self, task: Arc<Task>) -> u64 {
        let mut board = self.board();
        let number = board.given;
        board.given += 1;
        board.waiting.push_back((number, task));
        drop(board);
        self.changed.notify_one();
        number
    }

    /// Whether it is worth while to have others.
    pub fn wants_others(&self) -> bool {
        self.runs.load(Relaxed) >= RUNS_ALONE && self.board().waiting.len() >= TASKS_ALONE
    }

    /// What came of a task, if that is there; otherwise another task, or this one, to be performed meanwhile. Neither if somebody is at it and nothing waits: that
    /// takes a while.
    pub fn result(&self, number: u64) -> Next {
        let mut board = self.board();
        if let Some(result) = board.results.remove(&number) {
            self.ahead.store(board.results.len(), Relaxed);
            return Next::Result(Box::new(result));
        }
        if let Some((number, task)) = board.next(self.pool) {
            return Next::Task(number, task);
        }
        self.effort.wait(|| drop(self.changed.wait_timeout(board, A_WHILE)));
        Next::Wait
    }

    /// Performs a task that was [taken](Self::result): with the tree that all have in common, or else with a machine and its trees for these components.
    pub fn perform<M: Machine>(
        &self,
        task: &Task,
        (machine, trees): (&mut M, &mut Trees),
        parts: &Parts,
        budget: &Budget,
    ) -> Result<Done, Error> {
        let done = match self.pool.filter(|pool| pool.has(task.component)) {
            Some(pool) => {
                let _until_here = Busy(self, task.component);
                pool.perform(task, parts, budget, &self.runs)?
            }
            None => task.perform((&mut *machine, trees), parts, budget, &self.runs)?,
        };
        if let Some(log) = self.log
            && let Some(kept) = done.kept(task.component, machine)
        {
            log.keep(task.key(), &kept, machine.learnt(), |from, into| {
                machine.lessons(from, into)
            })?;
        }
        Ok(done)
    }

    /// Roughly the bytes that trees use which all have in common.
    pub fn bytes(&self) -> u64 {
        self.pool.map_or(0, SharedTrees::bytes)
    }

    /// Puts down what came of a task.
    pub fn put(&self, number: u64, result: Result<Done, Error>) {
        let mut board = self.board();
        board.results.insert(number, result);
        self.ahead.store(board.results.len(), Relaxed);
        drop(board);
        self.changed.notify_all();
    }

    /// Performs tasks until there will be no more.
    pub fn work<M: Machine>(
        &self,
        make: &(dyn Fn() -> Result<M, Error> + Sync),
        parts: &Parts,
        budget: &Budget,
    ) {
        let budget = budget.beside(Arc::clone(&self.over), Arc::default());
        let mut mate: Option<(M, Trees)> = None;
        while let Some((number, task)) = self.take() {
            let perform = || {
                let (machine, trees) = match &mut mate {
                    Some(mate) => mate,
                    none => {
                        let machine = make()?;
                        let trees = Trees::new(&machine, parts);
                        none.insert((machine, trees))
                    }
                };
                self.perform(&task, (machine, trees), parts, &budget)
            };
            let result = self.effort.help(|| guarded(perform));
            if !matches!(result, Ok(Ok(_))) {
                mate = None;
            }
            self.put(number, result.unwrap_or_else(|message| Err(panicked(message))));
        }
    }

    /// The next task; `None` if there will be no more.
    fn take(&self) -> Option<(u64, Arc<Task>)> {
        let mut board = self.board();
        loop {
            if self.over.load(Relaxed) {
                return None;
            }
            if let Some(next) = board.next(self.pool) {
                return Some(next);
            }
            board = self.changed.wait(board).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// There are tasks as long as this is not dropped.
    pub fn hired(&self) -> Hired<'_, 'l> {
        Hired(self)
    }

    /// There will be no more tasks, and nobody wants what others are at.
    fn end(&self) {
        let board = self.board();
        self.over.store(true, Relaxed);
        drop(board);
        self.changed.notify_all();
    }
}

/// Gives the tree of a component back in the end, whatever the end is.
struct Busy<'c, 'l>(&'c Crew<'l>, u32);

impl Drop for Busy<'_, '_> {
    fn drop(&mut self) {
        self.0.board().busy.retain(|&component| component != self.1);
        self.0.changed.notify_all();
    }
}

/// Sends those who wait for tasks home in the end, whatever the end is.
pub(super) struct Hired<'c, 'l>(&'c Crew<'l>);

impl Drop for Hired<'_, '_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// What to do for a result.
pub(super) enum Next {
    Result(Box<Result<Done, Error>>),
    Task(u64, Arc<Task>),
    Wait,
}
