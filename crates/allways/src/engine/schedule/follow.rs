//! Leading a machine along a run that was kept.

use crate::engine::machine::{Machine, Told};
use crate::error::Error;
use crate::outcome::replayed::Replayed;
use crate::outcome::{Cause, Run, RunEvent, RunEventKind, Violation};

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
        if let Some(followed) = follow_once(machine, run)? {
            return Ok(followed);
        }
    }
}

/// The same; `None` if the machine was taught something on the way.
fn follow_once<M: Told>(machine: &mut M, run: &Run) -> Result<Option<Followed>, Error> {
    machine.restart(run.start)?;
    // For each process, what it does next.
    let mut next: Vec<Option<usize>> = Vec::new();
    for (at, event) in run.events.iter().enumerate().rev() {
        *slot(&mut next, event) = Some(at);
    }
    for at in 0..=run.events.len() {
        if is_taught(machine, run, &next)? {
            return Ok(None);
        }
        let Some(event) = run.events.get(at) else { break };
        let Some(transition) = machine.transition(event)? else {
            return Ok(Some(Followed { at, failure: wrong_end(machine)? }));
        };
        let later = run.events[at + 1..].iter().position(|other| other.node == event.node);
        *slot(&mut next, event) = later.map(|later| at + 1 + later);
        if machine.perform(transition)?.failed {
            if is_taught(machine, run, &next)? {
                return Ok(None);
            }
            let (cause, message) = machine.failure()?;
            let failure = Some(Failure { cause, message });
            return Ok(Some(Followed { at: at + 1, failure }));
        }
    }
    Ok(Some(Followed { at: run.events.len(), failure: wrong_end(machine)? }))
}

/// Whether what the processes do next teaches a machine something.
fn is_taught<M: Told>(machine: &mut M, run: &Run, next: &[Option<usize>]) -> Result<bool, Error> {
    for &event in next.iter().flatten() {
        if machine.teach(&run.events[event])? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What the process of an event does next.
fn slot<'a>(next: &'a mut Vec<Option<usize>>, event: &RunEvent) -> &'a mut Option<usize> {
    let node = event.node.map_or(0, |node| node + 1);
    if next.len() <= node {
        next.resize(node + 1, None);
    }
    &mut next[node]
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
    if !matches!(saved.cause, Cause::Panic | Cause::Trouble(_)) {
        let property = &saved.property;
        let why = format!("the run violates property `{property}`, and threads have no properties");
        return Err(Error::Run(why));
    }
    let is_of_nodes = |event: &&RunEvent| event.kind != RunEventKind::Thread;
    if let Some(event) = saved.run.events.iter().find(is_of_nodes) {
        let why = format!("the run is none of threads: {event} is a step of a node");
        return Err(Error::Run(why));
    }
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
                let reads = machine.reads()?;
                let waits = event.node.and_then(|node| reads.get(node)).filter(|r| !r.is_empty());
                let waits = waits.map_or_else(String::new, |waits| format!("; {waits}"));
                let mut instead = Vec::new();
                for &transition in possible.iter().take(3) {
                    machine.perform(transition)?;
                    instead.push(machine.describe(at)?);
                    machine.go_back(at)?;
                }
                let why = format!("{event}: it cannot happen{waits}");
                Ok(Replayed::NoLongerApplies { at: at + 1, why, instead })
            }
        },
    }
}
