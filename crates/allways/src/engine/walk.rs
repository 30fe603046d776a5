//! Engine `walk`: seeded random runs, for spaces that cannot be finished.
//!
//! Each run starts at an initial state and takes one of the possible steps, all equally likely,
//! until nothing can happen or the depth bound is reached. A run is determined by the seed and its
//! number, whatever the number of threads, so a seed repeats its runs. Never complete: the outcome
//! says how many runs there were and how many distinct states they met.

use super::budget::Budget;
use super::commute::Mark;
use super::expand::{Candidate, Expander, Expansion, Touches};
use super::goals::{Goals, Sightings};
use super::options::Options;
use super::random::Random;
use super::{Findings, Found, FoundWhat, Terminal, nothing_left, panicked};
use crate::error::Error;
use crate::model::node::Node;
use crate::model::property::PropertyKind;
use crate::model::run_event::RunEvent;
use crate::model::step::guarded;
use crate::model::system::System;
use crate::outcome::{Bound, Run, Statistics};
use crate::space::local::{LocalSpace, SpaceOptions};
use crate::space::table::{Insert, Table};
use crate::space::{Initial, Space};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Runs are cut off here unless the options say otherwise.
const DEFAULT_DEPTH: u64 = 10_000;

/// So often within a run somebody looks at the clock. Steps may become slow where states grow.
const STEPS_A_PULSE: usize = 64;

/// What the threads share.
struct Walks<'a> {
    space: &'a dyn Space,
    budget: &'a Budget,
    options: &'a Options,
    threads: usize,
    initial: Vec<Vec<u32>>,
    table: Table,
    next_run: AtomicU64,
    finished: AtomicU64,
    generated: AtomicU64,
    deepest: AtomicU64,
    /// How many terminal states were judged, and how many not: see [`Terminal`].
    terminal: AtomicU64,
    withheld: AtomicU64,
    /// The number of the first run known to violate: later ones need not be made.
    limit: AtomicU64,
    over: AtomicBool,
    goals: Sightings<()>,
    ends: Mutex<Ends>,
}

#[derive(Default)]
struct Ends {
    error: Option<Error>,
    violation: Option<(u64, Found)>,
    witnesses: Vec<Option<(u64, Run)>>,
    bound: Option<Bound>,
}

/// Makes the runs.
pub(crate) fn search<N: Node>(
    system: &System<N>,
    options: &Options,
    budget: &Budget,
) -> Result<Findings, Error> {
    if options.symmetry || options.exact {
        return Err(Error::Options(
            "engine walk compares no states: symmetry and exact make no sense with it".to_owned(),
        ));
    }
    let guard = SpaceOptions {
        determinism_guard: options.determinism_guard,
        verify_aux: options.verify_aux,
        symmetry: false,
        exact: false,
    };
    if options.runs == 0 {
        return Err(Error::Options("engine walk needs at least one run".to_owned()));
    }
    let threads = options.thread_count().max(1);
    let space = LocalSpace::new(system, guard)?;
    let initial = match space.initial()? {
        Initial::Vectors(vectors) => vectors,
        Initial::Panicked(message) => {
            return Ok(Findings {
                violation: Some(Found { what: FoundWhat::Panic(message), run: Run::default() }),
                ..Findings::default()
            });
        }
    };
    let walks = Walks {
        space: &space,
        budget,
        options,
        threads,
        initial,
        table: Table::new(threads),
        next_run: AtomicU64::new(0),
        finished: AtomicU64::new(0),
        generated: AtomicU64::new(0),
        deepest: AtomicU64::new(0),
        terminal: AtomicU64::new(0),
        withheld: AtomicU64::new(0),
        limit: AtomicU64::new(options.runs),
        over: AtomicBool::new(false),
        goals: Sightings::new(&space),
        ends: Mutex::new(Ends {
            witnesses: system.properties.iter().map(|_| None).collect(),
            ..Ends::default()
        }),
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                if let Err(message) = guarded(|| walks.work()) {
                    walks.fail(panicked(message));
                }
            });
        }
    });
    if options.verify_aux {
        space.verify_aux()?;
    }
    let mut findings = walks.findings()?;
    findings.tally = Some(space.tally());
    findings.constant = space.constant_reads();
    Ok(findings)
}

impl Walks<'_> {
    fn ends(&self) -> std::sync::MutexGuard<'_, Ends> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        let mut expander = Expander::new(self.space, false);
        let mut goals = Goals::new(self.space);
        while !self.over.load(Relaxed) {
            let run = self.next_run.fetch_add(1, Relaxed);
            if run >= self.limit.load(Relaxed) {
                break;
            }
            if let Err(error) = self.walk(run, &mut expander, goals.as_mut()) {
                self.fail(error);
            }
            self.finished.fetch_add(1, Relaxed);
            self.pulse();
        }
    }

    fn fail(&self, error: Error) {
        self.ends().error.get_or_insert(error);
        self.over.store(true, Relaxed);
    }

    /// Tells progress and stops the search if a bound is reached.
    fn pulse(&self) {
        let progress = &self.budget.progress;
        progress.runs.store(self.finished.load(Relaxed), Relaxed);
        progress.states.store(self.table.len(), Relaxed);
        progress.generated.store(self.generated.load(Relaxed), Relaxed);
        progress.depth.store(self.deepest.load(Relaxed), Relaxed);
        progress.memory.store(self.table.bytes(), Relaxed);
        if let Some(bound) = self.budget.reached(self.table.len(), self.table.bytes()) {
            self.ends().bound.get_or_insert(bound);
            self.over.store(true, Relaxed);
        }
    }

    /// How a run starts.
    fn start(&self, number: u64) -> (Random, usize) {
        let mut random = Random::new(self.options.seed, number);
        let start = random.below(self.initial.len());
        (random, start)
    }

    /// The first events of a run that was made before.
    fn again(&self, number: u64, events: u64) -> Result<Run, Error> {
        let mut expander = Expander::new(self.space, false);
        let (mut random, start) = self.start(number);
        let mut vector = self.initial[start].clone();
        let mut fingerprint = self.space.layout().fingerprint(self.space, &vector);
        let (mut steps, mut candidates) = (Vec::new(), Vec::new());
        for _ in 0..events {
            list(&mut expander, &vector, fingerprint, &mut candidates)?;
            let candidate = candidates[random.below(candidates.len())];
            let mut next = Vec::new();
            fingerprint = expander.apply(&vector, fingerprint, &candidate, &mut next)?;
            steps.push((std::mem::replace(&mut vector, next), candidate));
        }
        run_of(start, &steps, &mut expander)
    }

    fn walk(
        &self,
        number: u64,
        expander: &mut Expander<'_>,
        mut goals: Option<&mut Goals>,
    ) -> Result<(), Error> {
        let (mut random, start) = self.start(number);
        let mut vector = self.initial[start].clone();
        let mut fingerprint = self.space.layout().fingerprint(self.space, &vector);
        let mut steps: Vec<(Vec<u32>, Candidate)> = Vec::new();
        let mut candidates = Vec::new();
        let mut next = Vec::new();
        let max_depth = self.options.max_depth.unwrap_or(DEFAULT_DEPTH);
        let mut touches = Touches::Reads;
        loop {
            self.generated.fetch_add(1, Relaxed);
            let is_new = self.count(fingerprint);
            if let (Some(goals), Touches::Reads) = (&mut goals, touches) {
                let when = (number, steps.len() as u64);
                goals.look(self.space, &vector, |goal, combination| {
                    self.goals.report(goal, combination, when, ());
                })?;
            }
            if touches == Touches::Reads && self.judge(number, start, &vector, &steps, expander)? {
                break;
            }
            let expansion = list(expander, &vector, fingerprint, &mut candidates)?;
            let withheld = !expansion.goes_on && expander.is_withheld(&vector);
            let stuck = !expansion.goes_on && !withheld;
            if is_new && !expansion.goes_on {
                let counter = if withheld { &self.withheld } else { &self.terminal };
                counter.fetch_add(1, Relaxed);
            }
            if stuck && self.judge_stuck(number, start, &vector, &steps, expander)? {
                break;
            }
            if candidates.is_empty() || steps.len() as u64 >= max_depth {
                break;
            }
            let candidate = candidates[random.below(candidates.len())];
            steps.push((vector.clone(), candidate));
            if candidate.touches == Touches::Panic {
                let message = expander.panic_message(&vector, &candidate)?;
                let run = run_of(start, &steps, expander)?;
                self.violate(number, FoundWhat::Panic(message), run);
                break;
            }
            fingerprint = expander.apply(&vector, fingerprint, &candidate, &mut next)?;
            std::mem::swap(&mut vector, &mut next);
            touches = candidate.touches;
            if steps.len().is_multiple_of(STEPS_A_PULSE) {
                self.deepest.fetch_max(steps.len() as u64, Relaxed);
                self.pulse();
                if self.over.load(Relaxed) {
                    break;
                }
            }
        }
        self.deepest.fetch_max(steps.len() as u64, Relaxed);
        Ok(())
    }

    /// Counts a state; true if it is new.
    fn count(&self, fingerprint: u64) -> bool {
        let session = self.table.session(64, self.threads);
        match session.insert(fingerprint) {
            Insert::New => {
                self.table.add_len(1);
                true
            }
            Insert::Known => false,
            Insert::Full => {
                drop(session);
                self.table.grow_segment_of(fingerprint);
                self.count(fingerprint)
            }
        }
    }

    /// Tests the properties; true if one is violated.
    fn judge(
        &self,
        number: u64,
        start: usize,
        vector: &[u32],
        steps: &[(Vec<u32>, Candidate)],
        expander: &mut Expander<'_>,
    ) -> Result<bool, Error> {
        let layout = self.space.layout();
        for (property, (kind, _)) in layout.properties.iter().enumerate() {
            if *kind == PropertyKind::NeverStuck {
                continue;
            }
            let holds = expander.memo.test(property, layout, vector)?;
            if *kind == PropertyKind::Always && !holds {
                let run = run_of(start, steps, expander)?;
                self.violate(number, FoundWhat::Always(property), run);
                return Ok(true);
            }
            if *kind == PropertyKind::Sometimes && holds {
                self.witness(number, property, || run_of(start, steps, expander))?;
            }
        }
        Ok(false)
    }

    fn judge_stuck(
        &self,
        number: u64,
        start: usize,
        vector: &[u32],
        steps: &[(Vec<u32>, Candidate)],
        expander: &mut Expander<'_>,
    ) -> Result<bool, Error> {
        let layout = self.space.layout();
        for (property, (kind, _)) in layout.properties.iter().enumerate() {
            if *kind == PropertyKind::NeverStuck && !expander.memo.test(property, layout, vector)? {
                let run = run_of(start, steps, expander)?;
                self.violate(number, FoundWhat::Stuck(property), run);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Keeps the witness of the run with the smallest number, so that threads do not matter.
    fn witness(
        &self,
        number: u64,
        property: usize,
        run: impl FnOnce() -> Result<Run, Error>,
    ) -> Result<(), Error> {
        let mut ends = self.ends();
        if ends.witnesses[property].as_ref().is_some_and(|(known, _)| *known <= number) {
            return Ok(());
        }
        ends.witnesses[property] = Some((number, run()?));
        // With nothing left to find, only runs that may have been earlier are still of interest.
        if all_witnessed(self.space, &ends.witnesses) {
            let last = ends.witnesses.iter().flatten().map(|(known, _)| *known).max();
            self.limit.fetch_min(last.map_or(u64::MAX, |last| last + 1), Relaxed);
        }
        Ok(())
    }

    /// Keeps the violation of the run with the smallest number, so that threads do not matter.
    fn violate(&self, number: u64, what: FoundWhat, run: Run) {
        self.limit.fetch_min(number, Relaxed);
        let mut ends = self.ends();
        if ends.violation.as_ref().is_none_or(|(known, _)| number < *known) {
            ends.violation = Some((number, Found { what, run }));
        }
    }

    fn findings(mut self) -> Result<Findings, Error> {
        let ends = std::mem::take(&mut *self.ends());
        if let Some(error) = ends.error {
            return Err(error);
        }
        let costs = self.space.costs();
        let generated = self.generated.load(Relaxed);
        let runs = self.finished.load(Relaxed);
        let statistics = Statistics {
            unique_states: Some(self.table.len()),
            generated_states: Some(generated),
            transitions: Some(generated.saturating_sub(runs)),
            handler_executions: Some(costs.handler_executions),
            guard_executions: Some(costs.guard_executions),
            replayed_handlers: Some(costs.replayed_handlers),
            local_states: Some(costs.local_states),
            local_events: Some(costs.local_events),
            runs: Some(runs),
            depth: Some(self.deepest.load(Relaxed)),
            user_time: Some(Duration::from_nanos(costs.user_nanos)),
            ..Statistics::default()
        };
        let mut ends = ends;
        // What came after the run that violates would not have been seen with one thread.
        if let Some((last, _)) = &ends.violation {
            for witness in &mut ends.witnesses {
                witness.take_if(|(number, _)| *number > *last);
            }
        }
        let stopped_early = all_witnessed(self.space, &ends.witnesses);
        let bound = (!stopped_early).then(|| ends.bound.unwrap_or(Bound::Runs));
        let witnessed = ends.witnesses.iter().flatten().map(|(number, _)| *number).max();
        let last = ends.violation.as_ref().map(|(number, _)| *number);
        let last = last.or(witnessed.filter(|_| stopped_early)).unwrap_or(u64::MAX);
        let goals = std::mem::replace(&mut self.goals, Sightings::of(std::iter::empty()));
        let goals = goals.into_goals().into_iter().map(|goal| {
            goal.until(last).found().with_run(|(number, events)| self.again(number, events))
        });
        let goals = goals.collect::<Result<_, _>>()?;
        Ok(Findings {
            violation: ends.violation.map(|(_, found)| found),
            witnesses: ends.witnesses.into_iter().map(|w| w.map(|(_, run)| run)).collect(),
            bound,
            stopped_early,
            statistics,
            goals,
            terminal: Terminal {
                judged: self.terminal.load(Relaxed),
                withheld: self.withheld.load(Relaxed),
            },
            ..Findings::default()
        })
    }
}

/// Everything that may happen in `vector`, in an order that does not depend on what this thread
/// knows already.
fn list(
    expander: &mut Expander<'_>,
    vector: &[u32],
    fingerprint: u64,
    candidates: &mut Vec<Candidate>,
) -> Result<Expansion, Error> {
    candidates.clear();
    let expansion = expander.expand(vector, fingerprint, Mark::NONE, 0, candidates)?;
    candidates.sort_by_key(|candidate| (candidate.fingerprint, expander.key_of(candidate)));
    Ok(expansion)
}

fn run_of(
    start: usize,
    steps: &[(Vec<u32>, Candidate)],
    expander: &mut Expander<'_>,
) -> Result<Run, Error> {
    let events: Result<Vec<RunEvent>, Error> =
        steps.iter().map(|(vector, candidate)| expander.describe(vector, candidate)).collect();
    Ok(Run { start, events: events?, ..Run::default() })
}

/// Whether there is nothing left to find or refute.
fn all_witnessed(space: &dyn Space, witnesses: &[Option<(u64, Run)>]) -> bool {
    let properties = space.layout().properties.iter().zip(witnesses);
    nothing_left(properties.map(|((kind, _), witness)| (*kind, witness.is_some())))
}
