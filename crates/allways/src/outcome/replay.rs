//! Replay: a run, event by event, on whole worlds.
//!
//! Independent of the local space, so that a mistake there cannot confirm itself. Every violation
//! is replayed before it is reported, whichever engine found it.

use super::{Cause, Run};
use crate::error::Error;
use crate::model::node::Node;
use crate::model::property::PropertyKind;
use crate::model::system::System;
use crate::model::world::{Start, SuccessorEnd, World};

/// Where a run ends.
pub(crate) enum Ending<N: Node> {
    World(World<N>),
    /// A handler panicked on the last event.
    Panicked(String),
}

/// Carries out a run. The error says at which event, counted from one, it does not apply.
pub(crate) fn replay<N: Node>(
    system: &System<N>,
    run: &Run,
) -> Result<Result<Ending<N>, String>, Error> {
    let worlds = match World::start(system)? {
        Start::Worlds(worlds) => worlds,
        Start::Panicked(message) => return Ok(Ok(Ending::Panicked(message))),
    };
    let Some(mut world) = worlds.into_iter().nth(run.start) else {
        return Ok(Err(format!("there is no initial state {}", run.start)));
    };
    for (index, event) in run.events.iter().enumerate() {
        let number = index + 1;
        let mut next = None;
        for action in world.actions(system) {
            if !action.describe(system).same_event(event) {
                continue;
            }
            // Two calls may read alike and differ in what the driver's script does next.
            let successors = world.successors(system, &action)?;
            next = successors.into_iter().find(|successor| successor.choices == event.choices);
            if next.is_some() {
                break;
            }
        }
        match next.map(|successor| successor.end) {
            Some(SuccessorEnd::World(next)) => world = next,
            Some(SuccessorEnd::Stutter) => {}
            Some(SuccessorEnd::Panicked(message)) if number == run.events.len() => {
                return Ok(Ok(Ending::Panicked(message)));
            }
            Some(SuccessorEnd::Panicked(message)) => {
                return Ok(Err(format!("event {number} panics: {message}")));
            }
            None => return Ok(Err(format!("event {number} cannot happen: {event}"))),
        }
    }
    Ok(Ok(Ending::World(world)))
}

/// Replays a run that should violate a property or panic; returns what the property reads at the
/// end. A run that does not is a bug of the checker.
pub(crate) fn confirm<N: Node>(
    system: &System<N>,
    run: &Run,
    cause: &Cause,
    property: Option<usize>,
) -> Result<Vec<String>, Error> {
    let contradiction =
        |why: String| Err(Error::Internal(format!("the run does not replay: {why}")));
    match (replay(system, run)?, property) {
        (Err(why), _) => contradiction(why),
        (Ok(Ending::Panicked(_)), None) if *cause == Cause::Panic => Ok(Vec::new()),
        (Ok(Ending::Panicked(message)), _) => contradiction(format!("it panics: {message}")),
        (Ok(Ending::World(_)), None) => contradiction("it does not panic".to_owned()),
        (Ok(Ending::World(world)), Some(property)) => {
            let holds = world.test(system, property)?;
            let wanted = system.properties[property].kind == PropertyKind::Sometimes;
            if holds != wanted {
                return contradiction(format!(
                    "property `{}` is {holds} at its end",
                    system.properties[property].name
                ));
            }
            if *cause == Cause::Stuck && !world.is_terminal(system)? {
                return contradiction("its end is not terminal".to_owned());
            }
            let reads = world.reads(system, property)?;
            Ok(reads.iter().map(|read| format!("{read:?}")).collect())
        }
    }
}
