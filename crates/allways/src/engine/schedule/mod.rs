//! Checking what a machine does, where that is no system of handlers: search, replay, telling and minimising, for any machine.
//!
//! Every violation is carried out again on a machine that has seen nothing else, before it is reported.

mod bounded;
mod fewer;
mod follow;
mod policy;
mod walk;

use super::budget::Budget;
use super::machine::{Machine, Machines, Told};
use super::options::{Engine, Options, Reduction, Schedule, Search};
use super::{
    Findings, Found, FoundWhat, checked_by_the_environment, dir, dpor, panicked, peak_memory,
    plain, refuse_by_dir,
};
use crate::error::Error;
use crate::model::step::guarded;
use crate::outcome::minimise::{MinimiseOptions, Minimised};
use crate::outcome::past::mark_past;
use crate::outcome::replayed::Replayed;
use crate::outcome::saved::SavedRun;
use crate::outcome::story::{Story, StoryEnding, StoryStep};
use crate::outcome::tell::MAX_TOLD;
use crate::outcome::{Cause, Outcome, Run, Verdict, Violation};
use follow::{Failure, Followed, follow};

/// Checks a system that machines stand for: engine `dpor` with reduction `none`, `source` or `optimal` or with a bound on preemptions, engine `dir`, or engine `walk`.
///
/// # Errors
///
/// If the options make no sense, or a machine cannot go on.
pub fn check<S: Machines>(system: &S, options: &Options) -> Result<Outcome, Error> {
    guarded(|| checked(system, options)).unwrap_or_else(|message| Err(panicked(message)))
}

/// Checks with the default options, as the environment changes them. A check that takes long says so on standard error, every ten seconds.
///
/// # Errors
///
/// If the environment makes no sense, or a machine cannot go on.
pub fn check_by_the_environment(
    check: impl FnOnce(&Options) -> Result<Outcome, Error> + Send,
) -> Result<Outcome, Error> {
    checked_by_the_environment(check)
}

/// Carries a saved run out again.
///
/// # Errors
///
/// If a machine cannot go on.
pub fn replay<S: Machines>(system: &S, saved: &SavedRun) -> Result<Replayed, Error> {
    let replayed = || follow::replayed(&mut system.make()?, &saved.violation);
    guarded(replayed).unwrap_or_else(|message| Err(panicked(message)))
}

/// Tells a run in full.
///
/// # Errors
///
/// If it is none of this system.
pub fn story<S: Machines>(system: &S, run: &Run) -> Result<Story, Error> {
    let told = || {
        let mut machine = system.make()?;
        follow::all(&mut machine, run)?;
        machine.story()
    };
    guarded(told).unwrap_or_else(|message| Err(panicked(message)))
}

/// Tells the run of a violation in full, with what its end shows.
///
/// # Errors
///
/// If it is none of this system.
pub fn violation_story<S: Machines>(system: &S, violation: &Violation) -> Result<Story, Error> {
    let told = || {
        let mut machine = system.make()?;
        follow::all(&mut machine, &violation.run)?;
        tell(&mut machine, violation)
    };
    guarded(told).unwrap_or_else(|message| Err(panicked(message)))
}

/// Makes the run of a violation smaller: fewer preemptions, fewer events, fewer switches.
///
/// # Errors
///
/// If the run does not show the violation.
pub fn minimise<S: Machines>(
    system: &S,
    violation: &Violation,
    options: &MinimiseOptions,
) -> Result<(Violation, Minimised), Error> {
    guarded(|| fewer::minimise(system, violation, options))
        .unwrap_or_else(|message| Err(panicked(message)))
}

fn checked<S: Machines>(system: &S, options: &Options) -> Result<Outcome, Error> {
    let refused = [
        (options.symmetry, "symmetry"),
        (options.exact, "whole states (exact)"),
        (options.max_states.is_some(), "a bound on states (max states)"),
        (options.por.is_some(), "a partial order reduction of states (por)"),
        (options.verify_aux, "looking at auxiliary state (verify aux)"),
        (options.search != Search::Bfs, "an order of search (search)"),
    ];
    if let Some((_, what)) = refused.iter().find(|(is_asked, _)| *is_asked) {
        let why = format!("threads are explored run by run: {what} cannot be had with them");
        return Err(Error::Options(why));
    }
    refuse_by_dir(options)?;
    if options.schedule != Schedule::Random && options.engine != Engine::Walk {
        let why = "a schedule by priorities (pct) is for random runs: use engine walk";
        return Err(Error::Options(why.to_owned()));
    }
    let budget = Budget::new(options);
    let (name, findings) = match (options.engine, options.preemptions) {
        (Engine::Auto | Engine::Dpor, Some(preemptions)) => {
            let name = match preemptions {
                1 => "dpor, at most 1 preemption".to_owned(),
                more => format!("dpor, at most {more} preemptions"),
            };
            (name, bounded::search(system.make()?, preemptions, &budget)?.0)
        }
        (Engine::Auto | Engine::Dpor, None) => {
            let reduction = options.reduction;
            if !matches!(reduction, Reduction::None | Reduction::Source | Reduction::Optimal) {
                let why = "threads are explored with reduction none, source or optimal";
                return Err(Error::Options(why.to_owned()));
            }
            let machine = system.make()?;
            let threads = match reduction {
                // Whoever counts runs wants them one after the other.
                Reduction::Source | Reduction::Optimal if options.max_runs.is_none() => {
                    options.thread_count()
                }
                _ => 1,
            };
            let findings = match threads > 1 && machine.shares_numbers() {
                true => dpor::search_together(system, options, &budget, threads)?,
                false => dpor::search_machine(machine, options, &budget)?.0,
            };
            (reduction.engine_name().to_owned(), findings)
        }
        (Engine::Walk, None) => ("walk".to_owned(), walk::search(system, options, &budget)?),
        (Engine::Walk, Some(_)) => {
            let why = "a bound on preemptions is for engine dpor, not for random runs";
            return Err(Error::Options(why.to_owned()));
        }
        (Engine::Dir, None) if options.stateful => {
            let why = "threads have no states that could be remembered: engine dir explores them without (stateful)";
            return Err(Error::Options(why.to_owned()));
        }
        (Engine::Dir, None) => ("dir".to_owned(), dir::search_together(system, options, &budget)?),
        (Engine::Dir, Some(_)) => {
            let why = "a bound on preemptions is for engine dpor, not for components one by one";
            return Err(Error::Options(why.to_owned()));
        }
        (Engine::Global | Engine::Lmc, _) => {
            let why = "threads are explored by engine dpor, dir or walk: there are no states to be remembered";
            return Err(Error::Options(why.to_owned()));
        }
    };
    let mut outcome = conclude(system, &name, findings, options, &budget)?;
    plain::compare(&mut outcome, options, |options, budget| {
        Ok(dpor::search_machine(system.make()?, options, budget)?.0)
    })?;
    Ok(outcome)
}

/// Turns findings into an outcome: carries the run of a violation out again.
fn conclude<S: Machines>(
    system: &S,
    engine: &str,
    findings: Findings,
    options: &Options,
    budget: &Budget,
) -> Result<Outcome, Error> {
    let Findings { violation, bound, stopped_early, mut statistics, .. } = findings;
    let mut minimised = None;
    let (violation, story) = match violation {
        None => (None, None),
        Some(Found { what, run }) => {
            let (cause, property) = match what {
                FoundWhat::Panic(message) => (Cause::Panic, message),
                FoundWhat::Failed(cause, message) => (cause, message),
                FoundWhat::Always(_) | FoundWhat::Stuck(_) => {
                    let what = "a machine without properties has violated one";
                    return Err(Error::Internal(what.to_owned()));
                }
            };
            let found = Failure { cause, message: property };
            let mut violation = confirmed(system, run, &found)?;
            if options.minimise && !violation.run.events.is_empty() {
                let options = MinimiseOptions::within_a_check(options, false);
                // A violation is worth more than a small one.
                if let Ok((smaller, how)) = fewer::minimise(system, &violation, &options) {
                    violation = smaller;
                    minimised = Some(how);
                }
            }
            let story = match violation.run.events.len() {
                0..=MAX_TOLD => {
                    let mut machine = system.make()?;
                    follow::all(&mut machine, &violation.run)?;
                    Some(tell(&mut machine, &violation)?)
                }
                _ => None,
            };
            (Some(violation), story)
        }
    };
    let complete = bound.is_none() && violation.is_none() && !stopped_early;
    let verdict = match (&violation, bound) {
        (Some(_), _) => Verdict::Violated,
        (None, Some(_)) => Verdict::Inconclusive,
        (None, None) => Verdict::Holds,
    };
    statistics.elapsed = budget.started.elapsed();
    statistics.peak_memory_bytes = peak_memory();
    Ok(Outcome {
        verdict,
        complete,
        bounded_by: bound,
        engine: engine.to_owned(),
        beside: Vec::new(),
        properties: Vec::new(),
        violation,
        minimised,
        story,
        witnesses: Vec::new(),
        goals: Vec::new(),
        coverage: None,
        warnings: Vec::new(),
        piles_up: None,
        of_threads: true,
        statistics,
    })
}

/// The violation that a run shows, as a new machine sees it.
fn confirmed<S: Machines>(system: &S, run: Run, found: &Failure) -> Result<Violation, Error> {
    let mut machine = system.make()?;
    match follow(&mut machine, &run)? {
        Followed { at, failure: Some(failure) }
            if failure.is_like(found) && at == run.events.len() =>
        {
            let reads = machine.reads()?;
            Ok(Violation { property: failure.message, cause: failure.cause, run, reads })
        }
        Followed { at, failure } => {
            let now = failure.map_or_else(|| "nothing".to_owned(), |failure| failure.message);
            let then = &found.message;
            Err(Error::System(format!(
                "a run that went wrong ({then}) does not when it is carried out again: {now}, after {at} events; do threads use a clock, random numbers or threads that are not under control, or something that outlives a run?"
            )))
        }
    }
}

/// Tells the run along which a machine was led.
fn tell<M: Told>(machine: &mut M, violation: &Violation) -> Result<Story, Error> {
    let mut story = machine.story()?;
    let culprits = (0..violation.reads.len()).filter(|&node| !violation.reads[node].is_empty());
    let culprits: Vec<usize> = culprits.collect();
    // A thread that waits for another one to end goes on without a step of its own.
    let last = story.steps.last_mut().filter(|last| last.event.node == culprits.first().copied());
    if let (Cause::Panic, Some(last)) = (&violation.cause, last) {
        last.panic = Some(violation.property.clone());
    }
    if let Cause::Trouble(_) = violation.cause
        && !culprits.is_empty()
    {
        let is_of = |step: &StoryStep, node| step.event.node == Some(node);
        let last = |&node: &usize| story.steps.iter().rposition(|step| is_of(step, node));
        let last: Vec<usize> = culprits.iter().filter_map(last).collect();
        mark_past(&mut story.steps, last);
    }
    story.ending = Some(StoryEnding {
        property: violation.property.clone(),
        kind: None,
        cause: Some(violation.cause.clone()),
        reads: violation.reads.clone(),
        reads_at_start: Vec::new(),
        observer: None,
        culprits,
    });
    Ok(story)
}
