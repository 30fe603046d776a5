//! Engine `walk` for machines: random runs, one after the other, on all cores.
//!
//! A run is determined by the seed and its number, whatever the number of threads. The violation of the run with the lowest number is reported.
//! Never complete.

use super::policy::policy;
use crate::engine::budget::Budget;
use crate::engine::dpor::run_of;
use crate::engine::machine::{Machine, Machines, Transition};
use crate::engine::options::Options;
use crate::engine::random::Random;
use crate::engine::{Findings, Found, FoundWhat};
use crate::error::Error;
use crate::outcome::{Bound, Cause, Statistics};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Runs are cut off here unless the options say otherwise.
const DEFAULT_DEPTH: usize = 10_000;

/// What the threads share.
struct Walks<'a> {
    options: &'a Options,
    budget: &'a Budget,
    next: AtomicU64,
    finished: AtomicU64,
    transitions: AtomicU64,
    longest: AtomicUsize,
    /// Runs from this on need not be made.
    limit: AtomicU64,
    ends: Mutex<Ends>,
}

#[derive(Default)]
struct Ends {
    /// The first violation, by the number of its run.
    found: Option<(u64, Found)>,
    bound: Option<Bound>,
    error: Option<Error>,
}

/// Makes random runs.
pub(super) fn search<S: Machines>(
    system: &S,
    options: &Options,
    budget: &Budget,
) -> Result<Findings, Error> {
    let walks = Walks {
        options,
        budget,
        next: AtomicU64::new(0),
        finished: AtomicU64::new(0),
        transitions: AtomicU64::new(0),
        longest: AtomicUsize::new(0),
        limit: AtomicU64::new(options.runs),
        ends: Mutex::default(),
    };
    std::thread::scope(|scope| {
        for _ in 1..options.thread_count() {
            scope.spawn(|| walks.work_guarded(system));
        }
        walks.work_guarded(system);
    });
    let ends = walks.ends.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = ends.error {
        return Err(error);
    }
    let runs = walks.finished.into_inner();
    let statistics = Statistics {
        runs: Some(runs),
        transitions: Some(walks.transitions.into_inner()),
        depth: Some(walks.longest.into_inner() as u64),
        ..Statistics::default()
    };
    Ok(Findings {
        violation: ends.found.map(|(_, found)| found),
        bound: Some(ends.bound.unwrap_or(Bound::Runs)),
        statistics,
        ..Findings::default()
    })
}

impl Walks<'_> {
    fn ends(&self) -> std::sync::MutexGuard<'_, Ends> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stop(&self) {
        self.limit.store(0, Relaxed);
    }

    fn work_guarded<S: Machines>(&self, system: &S) {
        let worked = crate::model::step::guarded(|| self.work(system));
        let error = match worked {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error,
            Err(message) => crate::engine::panicked(message),
        };
        self.ends().error.get_or_insert(error);
        self.stop();
    }

    fn work<S: Machines>(&self, system: &S) -> Result<(), Error> {
        let mut machine = system.make()?;
        let mut policy = policy(self.options.schedule);
        let mut possible = Vec::new();
        let max_depth = usize::try_from(self.budget.max_depth).unwrap_or(usize::MAX);
        let max_depth = if max_depth == usize::MAX { DEFAULT_DEPTH } else { max_depth };
        loop {
            let number = self.next.fetch_add(1, Relaxed);
            if number >= self.limit.load(Relaxed) {
                return Ok(());
            }
            let mut random = Random::new(self.options.seed, number);
            policy.begin(&mut random, self.longest.load(Relaxed));
            machine.restart(0)?;
            let failure = loop {
                machine.possible(&mut possible)?;
                let at = machine.len();
                if possible.is_empty() {
                    // What was learnt holds for the runs to come, and of this one nobody can tell whether it has come to its end.
                    break if machine.is_stale() { None } else { machine.wrong_end()? };
                }
                if at >= max_depth {
                    self.ends().bound = Some(Bound::Depth);
                    break machine.endless()?;
                }
                let chosen: Transition = possible[policy.choose(&mut random, at, &possible)];
                let performed = machine.perform(chosen)?;
                self.transitions.fetch_add(1, Relaxed);
                if performed.failed {
                    break Some(machine.failure()?);
                }
                if at % 64 == 63 && self.is_over(&machine) {
                    return Ok(());
                }
            };
            self.longest.fetch_max(machine.len(), Relaxed);
            let runs = self.finished.fetch_add(1, Relaxed) + 1;
            self.budget.progress.runs.store(runs, Relaxed);
            if let Some((cause, message)) = failure {
                self.violate(number, cause, message, &mut machine)?;
            }
            if self.is_over(&machine) {
                return Ok(());
            }
        }
    }

    fn violate<M: Machine>(
        &self,
        number: u64,
        cause: Cause,
        message: String,
        machine: &mut M,
    ) -> Result<(), Error> {
        let what = match cause {
            Cause::Panic => FoundWhat::Panic(message),
            cause => FoundWhat::Failed(cause, message),
        };
        let run = run_of(machine, 0..machine.len())?;
        let mut ends = self.ends();
        if ends.found.as_ref().is_none_or(|(other, _)| number < *other) {
            ends.found = Some((number, Found { what, run }));
            self.limit.fetch_min(number, Relaxed);
        }
        Ok(())
    }

    /// Whether a bound is reached; tells progress.
    fn is_over<M: Machine>(&self, machine: &M) -> bool {
        let progress = &self.budget.progress;
        progress.generated.store(self.transitions.load(Relaxed), Relaxed);
        progress.depth.store(self.longest.load(Relaxed) as u64, Relaxed);
        let Some(bound) = self.budget.reached(0, machine.bytes()) else { return false };
        self.ends().bound = Some(bound);
        self.stop();
        true
    }
}
