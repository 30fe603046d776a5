//! Checking what a machine does, where that is no system of handlers: search, replay, minimising and telling, for any machine.

use super::{Machine, Machines, Told};
use crate::engine::budget::Budget;
use crate::engine::options::{Engine, Options, Reduction};
use crate::engine::{Findings, Found, FoundWhat, dpor, panicked, peak_memory};
use crate::error::Error;
use crate::model::step::guarded;
use crate::outcome::story::{Story, StoryEnding};
use crate::outcome::tell::MAX_TOLD;
use crate::outcome::{Cause, Outcome, Run, Verdict, Violation};

/// Checks a system that machines stand for.
pub fn check<S: Machines>(system: &S, options: &Options) -> Result<Outcome, Error> {
    guarded(|| checked(system, options)).unwrap_or_else(|message| Err(panicked(message)))
}

fn checked<S: Machines>(system: &S, options: &Options) -> Result<Outcome, Error> {
    let budget = Budget::new(options);
    let (name, findings) = match options.engine {
        Engine::Auto | Engine::Dpor => {
            let reduction = options.reduction;
            if !matches!(reduction, Reduction::None | Reduction::Source | Reduction::Optimal) {
                let why = "threads are explored with reduction none, source or optimal";
                return Err(Error::Options(why.to_owned()));
            }
            let machine = system.make()?;
            (reduction.engine_name(), dpor::search_machine(machine, reduction, &budget)?.0)
        }
        _ => {
            let why = "threads are explored by engine dpor or walk";
            return Err(Error::Options(why.to_owned()));
        }
    };
    conclude(system, name, findings, &budget)
}

/// Turns findings into an outcome: carries the run of a violation out again.
fn conclude<S: Machines>(
    system: &S,
    engine: &str,
    findings: Findings,
    budget: &Budget,
) -> Result<Outcome, Error> {
    let Findings { violation, bound, stopped_early, mut statistics, .. } = findings;
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
            let mut machine = system.make()?;
            follow(&mut machine, &run)?.map_err(|at| {
                Error::Internal(format!("a run cannot be carried out again, at event {at}"))
            })?;
            let reads = machine.reads()?;
            let violation = Violation { property, cause, run, reads };
            let told = violation.run.events.len() <= MAX_TOLD;
            let story = told.then(|| tell(&mut machine, &violation)).transpose()?;
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
        minimised: None,
        story,
        witnesses: Vec::new(),
        goals: Vec::new(),
        coverage: None,
        warnings: Vec::new(),
        piles_up: None,
        statistics,
    })
}

/// Leads a machine along a run. If that cannot be, says at which event, counted from zero.
fn follow<M: Told>(machine: &mut M, run: &Run) -> Result<Result<(), usize>, Error> {
    machine.restart(run.start)?;
    for (at, event) in run.events.iter().enumerate() {
        match machine.transition(event)? {
            Some(transition) => machine.perform(transition)?,
            None => return Ok(Err(at)),
        };
    }
    Ok(Ok(()))
}

/// Tells the run along which a machine was led.
fn tell<M: Told>(machine: &mut M, violation: &Violation) -> Result<Story, Error> {
    let mut story = machine.story()?;
    let culprits = (0..violation.reads.len()).filter(|&node| !violation.reads[node].is_empty());
    story.ending = Some(StoryEnding {
        property: violation.property.clone(),
        kind: None,
        cause: Some(violation.cause.clone()),
        reads: violation.reads.clone(),
        reads_at_start: Vec::new(),
        observer: None,
        culprits: culprits.collect(),
    });
    Ok(story)
}
