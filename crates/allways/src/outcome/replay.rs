//! Replay: a run, event by event, on whole worlds.
//!
//! Independent of the local space, so that a mistake there cannot confirm itself. Every violation
//! is replayed before it is reported, whichever engine found it.

use super::{Cause, Run, RunEvent};
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

/// Carries out a run; all the ends that it may have. The error says at which event, counted from
/// one, it does not apply.
///
/// Events are told apart by what they say. Two may read alike and lead to different worlds (calls
/// that differ in what the driver's script does next, messages whose `Debug` hides something), so
/// a run is followed every way that it can be read.
pub(crate) fn replay<N: Node>(
    system: &System<N>,
    run: &Run,
) -> Result<Result<Vec<Ending<N>>, String>, Error> {
    let worlds = match World::start(system)? {
        Start::Worlds(worlds) => worlds,
        Start::Panicked(message) => return Ok(Ok(vec![Ending::Panicked(message)])),
    };
    let Some(world) = worlds.into_iter().nth(run.start) else {
        return Ok(Err(format!("there is no initial state {}", run.start)));
    };
    let mut worlds = vec![world];
    let mut panics = Vec::new();
    for (index, event) in run.events.iter().enumerate() {
        let mut next = Vec::new();
        panics.clear();
        for world in &worlds {
            follow(system, world, event, &mut next, &mut panics)?;
        }
        let number = index + 1;
        match panics.first() {
            Some(message) if next.is_empty() && number < run.events.len() => {
                return Ok(Err(format!("event {number} panics: {message}")));
            }
            None if next.is_empty() => {
                return Ok(Err(format!("event {number} cannot happen: {event}")));
            }
            _ => worlds = next,
        }
    }
    let panics = panics.into_iter().map(Ending::Panicked);
    Ok(Ok(worlds.into_iter().map(Ending::World).chain(panics).collect()))
}

/// Adds every world that an event of a run may lead to, and what it may panic with.
pub(super) fn follow<N: Node>(
    system: &System<N>,
    world: &World<N>,
    event: &RunEvent,
    next: &mut Vec<World<N>>,
    panics: &mut Vec<String>,
) -> Result<(), Error> {
    for action in world.actions(system) {
        if !action.describe(system).same_event(event) {
            continue;
        }
        for successor in world.successors(system, &action)? {
            if successor.choices != event.choices {
                continue;
            }
            let world = match successor.end {
                SuccessorEnd::World(world) => world,
                SuccessorEnd::Stutter => world.clone(),
                SuccessorEnd::Panicked(message) => {
                    panics.push(message);
                    continue;
                }
            };
            if !next.contains(&world) {
                next.push(world);
            }
        }
    }
    Ok(())
}

/// Replays a run that should violate a property or panic; returns what the property reads at the
/// end. A run that does not is a bug of the checker.
pub(crate) fn confirm<N: Node>(
    system: &System<N>,
    run: &Run,
    cause: &Cause,
    property: Option<usize>,
) -> Result<Vec<String>, Error> {
    let mut why = "it has no end".to_owned();
    match replay(system, run)? {
        Err(reason) => why = reason,
        Ok(endings) => {
            for ending in endings {
                match confirm_ending(system, ending, cause, property)? {
                    Ok(reads) => return Ok(reads),
                    Err(reason) => why = reason,
                }
            }
        }
    }
    Err(Error::Internal(format!("the run does not replay: {why}")))
}

/// What the property reads at this end, or why this is no such end.
fn confirm_ending<N: Node>(
    system: &System<N>,
    ending: Ending<N>,
    cause: &Cause,
    property: Option<usize>,
) -> Result<Result<Vec<String>, String>, Error> {
    match (ending, property) {
        (Ending::Panicked(_), None) if *cause == Cause::Panic => Ok(Ok(Vec::new())),
        (Ending::Panicked(message), _) => Ok(Err(format!("it panics: {message}"))),
        (Ending::World(_), None) => Ok(Err("it does not panic".to_owned())),
        (Ending::World(world), Some(property)) => {
            let holds = world.test(system, property)?;
            let wanted = system.properties[property].kind == PropertyKind::Sometimes;
            if holds != wanted {
                let name = &system.properties[property].name;
                return Ok(Err(format!("property `{name}` is {holds} at its end")));
            }
            if *cause == Cause::Stuck && !world.is_terminal(system)? {
                return Ok(Err("its end is not terminal".to_owned()));
            }
            let reads = world.reads(system, property)?;
            Ok(Ok(reads.iter().map(|read| format!("{read:?}")).collect()))
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;

    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Last(u8);

    impl Node for Last {
        type Msg = Never;
        type Timer = Never;
        type Call = u8;
        type Output = Never;
        fn on_message(&mut self, _: Id, msg: Never, _: &mut Cx<'_, Self>) {
            match msg {}
        }
        fn on_call(&mut self, call: u8, _: &mut Cx<'_, Self>) {
            self.0 = call;
        }
    }

    #[test]
    fn calls_that_read_alike_may_be_followed_by_different_calls() {
        // Only the second script goes on with 2, and nothing but that tells its 1 from the other.
        let outcome = System::new([Last(0)])
            .call(0, 1)
            .calls_in_sequence([(0, 1), (0, 2)])
            .always("never 2", view(|n: &Last| n.0), |views| views[0] != 2)
            .check();
        outcome.assert_violated("never 2");
    }
}
