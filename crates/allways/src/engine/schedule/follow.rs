//! Leading a machine along a run that was kept.

use crate::engine::machine::{Machine, Told};
use crate::error::Error;
use crate::model::run_event::RunEvent;
use crate::outcome::replayed::Replayed;
use crate::outcome::{Cause, Run, Violation};

/// What went wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Failure {
    pub cause: Cause,
    pub message: String,
}

impl Failure {
    /// Whether both are the same mistake: a panic at the same place, with whatever values; the same trouble, whoever is in it.
    pub fn is_like(&self, other: &Failure) -> bool {
        // The place stands last, as `guarded` has it.
        let place = |message: &str| message.rsplit_once(" at ").map(|(_, at)| at.to_owned());
        self.cause == other.cause
            && (self.cause != Cause::Panic || place(&self.message) == place(&other.message))
    }
}

/// How far a machine could be led, and what went wrong there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Followed {
    /// After so many events.
    pub at: usize,
    pub failure: Option<Failure>,
}

/// Leads a machine along a run, as far as that goes.
pub(super) fn follow<M: Told>(machine: &mut M, run: &Run) -> Result<Followed, Error> {
    machine.forget();
    loop {
        let followed = follow_once(machine, run)?;
        if !machine.was_taught() {
            return Ok(followed);
        }
    }
}

/// The same; if the machine is taught something by the run, what comes of it says nothing.
fn follow_once<M: Told>(machine: &mut M, run: &Run) -> Result<Followed, Error> {
    machine.restart(run.start)?;
    let failure = |(cause, message)| Failure { cause, message };
    for (at, event) in run.events.iter().enumerate() {
        let Some(transition) = machine.transition(event)? else {
            return Ok(Followed { at, failure: wrong_end(machine)? });
        };
        if machine.perform(transition)?.failed {
            teach(machine, &run.events[at + 1..])?;
            return Ok(Followed { at: at + 1, failure: Some(failure(machine.failure()?)) });
        }
    }
    Ok(Followed { at: run.events.len(), failure: wrong_end(machine)? })
}

/// Something went wrong before the run has come to its end: what the processes were to do next may show that something is a step.
fn teach<M: Told>(machine: &mut M, rest: &[RunEvent]) -> Result<(), Error> {
    for (at, event) in rest.iter().enumerate() {
        if rest[..at].iter().all(|other| other.node != event.node) {
            machine.transition(event)?;
        }
    }
    Ok(())
}

/// What is wrong if nothing can happen.
fn wrong_end<M: Machine>(machine: &mut M) -> Result<Option<Failure>, Error> {
    let mut possible = Vec::new();
    machine.possible(&mut possible)?;
    match possible.is_empty() {
        true => {
            let failure = |(cause, message)| Failure { cause, message };
            Ok(machine.wrong_end()?.map(failure))
        }
        false => Ok(machine.endless()?.map(|(cause, message)| Failure { cause, message })),
    }
}

/// Leads a machine along a whole run.
pub(super) fn all<M: Told>(machine: &mut M, run: &Run) -> Result<(), Error> {
    let Followed { at, .. } = follow(machine, run)?;
    match run.events.get(at) {
        None => Ok(()),
        Some(event) => Err(Error::System(format!(
            "the run is not one of this system: {event} cannot happen as event {}",
            at + 1
        ))),
    }
}

/// What becomes of a violation that was saved.
pub(super) fn replayed<M: Told>(machine: &mut M, saved: &Violation) -> Result<Replayed, Error> {
    let found = Failure { cause: saved.cause.clone(), message: saved.property.clone() };
    let Followed { at, failure } = follow(machine, &saved.run)?;
    match failure {
        Some(failure) if failure.cause == found.cause => {
            let mut run = saved.run.clone();
            run.events.truncate(at);
            let reads = machine.reads()?;
            let Failure { cause, message: property } = failure;
            Ok(Replayed::StillViolates { violation: Violation { property, cause, run, reads } })
        }
        Some(failure) => Ok(Replayed::NoLongerViolates {
            why: format!("something else goes wrong: {}", failure.message),
        }),
        None => match saved.run.events.get(at) {
            None => Ok(Replayed::NoLongerViolates {
                why: "nothing is wrong at the end of the run".to_owned(),
            }),
            Some(event) => {
                let mut possible = Vec::new();
                machine.possible(&mut possible)?;
                let mut instead = Vec::new();
                for &transition in possible.iter().take(3) {
                    machine.perform(transition)?;
                    instead.push(machine.describe(at)?);
                    machine.go_back(at)?;
                }
                let why = format!("{event}: it cannot happen");
                Ok(Replayed::NoLongerApplies { at: at + 1, why, instead })
            }
        },
    }
}
