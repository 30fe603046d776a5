//! Replay: a run, event by event, on whole worlds.
//!
//! Independent of the local space, so that a mistake there cannot confirm itself. Every violation
//! is replayed before it is reported, whichever engine found it.

use super::{Cause, Run, RunEvent};
use crate::error::Error;
use crate::model::node::Node;
use crate::model::property::PropertyKind;
use crate::model::system::System;
use crate::model::world::{Action, Start, SuccessorEnd, World};

/// A run carried out.
///
/// Events are told apart by what they say. Two may read alike and lead to different worlds (calls
/// that differ in what the driver's script does next, messages whose `Debug` hides something), so
/// a run is followed every way that it can be read.
pub(crate) struct Replayed<N: Node> {
    /// After each number of events: the worlds that the run may have reached. If only the end was
    /// asked for, only the last.
    pub layers: Vec<Vec<Way<N>>>,
    /// The ways in which the last event panics; with no events, in which a node does that starts.
    pub panics: Vec<Panicked<N>>,
}

/// A world that a run may have reached, and how.
pub(crate) struct Way<N: Node> {
    pub world: World<N>,
    pub step: Option<Taken<N>>,
}

/// The last event of a way.
pub(crate) struct Taken<N: Node> {
    pub action: Action<N>,
    /// The world before it: a place in the layer before.
    pub from: usize,
}

/// A way that ends in a panic.
pub(crate) struct Panicked<N: Node> {
    pub message: String,
    /// The event that panics; `None` while nodes start.
    pub step: Option<Taken<N>>,
}

/// How much of a replay is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    Everything,
    TheEnd,
}

/// Carries out a run. The inner error says at which event, counted from one, it does not apply.
pub(crate) fn replay<N: Node>(
    system: &System<N>,
    run: &Run,
    keep: Keep,
) -> Result<Result<Replayed<N>, String>, Error> {
    let worlds = match World::start(system)? {
        Start::Worlds(worlds) => worlds,
        Start::Panicked(message) => {
            let panics = vec![Panicked { message, step: None }];
            return Ok(Ok(Replayed { layers: Vec::new(), panics }));
        }
    };
    let Some(world) = worlds.into_iter().nth(run.start) else {
        return Ok(Err(format!("there is no initial state {}", run.start)));
    };
    let mut last = vec![Way { world, step: None }];
    let mut layers = Vec::new();
    let mut panics = Vec::new();
    for (index, event) in run.events.iter().enumerate() {
        let mut next = Vec::new();
        panics.clear();
        for (from, way) in last.iter().enumerate() {
            follow(system, &way.world, from, event, &mut next, &mut panics)?;
        }
        let number = index + 1;
        match panics.first() {
            Some(Panicked { message, .. }) if next.is_empty() && number < run.events.len() => {
                return Ok(Err(format!("event {number} panics: {message}")));
            }
            None if next.is_empty() => {
                return Ok(Err(format!("event {number} cannot happen: {event}")));
            }
            _ => {}
        }
        let before = std::mem::replace(&mut last, next);
        if keep == Keep::Everything {
            layers.push(before);
        }
    }
    layers.push(last);
    Ok(Ok(Replayed { layers, panics }))
}

/// Adds every world that an event of a run may lead to, and every way in which it may panic.
pub(super) fn follow<N: Node>(
    system: &System<N>,
    world: &World<N>,
    from: usize,
    event: &RunEvent,
    next: &mut Vec<Way<N>>,
    panics: &mut Vec<Panicked<N>>,
) -> Result<(), Error> {
    for action in world.actions(system) {
        if !action.describe(system).same_event(event) {
            continue;
        }
        // Each sequence of choices is made once.
        let successors = world.successors(system, &action)?;
        let successor = successors.into_iter().find(|s| s.choices == event.choices);
        let step = Some(Taken { action, from });
        let world = match successor.map(|successor| successor.end) {
            Some(SuccessorEnd::World(world)) => world,
            Some(SuccessorEnd::Stutter) => world.clone(),
            Some(SuccessorEnd::Panicked(message)) => {
                panics.push(Panicked { message, step });
                continue;
            }
            None => continue,
        };
        if !next.iter().any(|way| way.world == world) {
            next.push(Way { world, step });
        }
    }
    Ok(())
}

/// An end of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ending {
    /// A place in the last layer.
    World(usize),
    /// A place among the panics.
    Panic(usize),
}

impl<N: Node> Replayed<N> {
    /// The worlds that the run may end in.
    pub fn ends(&self) -> impl Iterator<Item = &World<N>> {
        self.layers.last().into_iter().flatten().map(|way| &way.world)
    }

    /// All ends that the run may have.
    pub fn endings(&self) -> impl Iterator<Item = Ending> + use<N> {
        let worlds = self.layers.last().map_or(0, Vec::len);
        (0..worlds).map(Ending::World).chain((0..self.panics.len()).map(Ending::Panic))
    }

    /// The end at which a property is violated or met, or a handler panics; and what the property
    /// reads there. A run without such an end is a bug of the checker.
    pub fn confirmed(
        &self,
        system: &System<N>,
        cause: &Cause,
        property: Option<usize>,
    ) -> Result<(Ending, Vec<String>), Error> {
        let mut why = "it has no end".to_owned();
        for ending in self.endings() {
            match self.confirm(system, ending, cause, property)? {
                Ok(reads) => return Ok((ending, reads)),
                Err(reason) => why = reason,
            }
        }
        Err(does_not_replay(&why))
    }

    /// What the property reads at this end, or why this is no such end.
    fn confirm(
        &self,
        system: &System<N>,
        ending: Ending,
        cause: &Cause,
        property: Option<usize>,
    ) -> Result<Result<Vec<String>, String>, Error> {
        let world = match ending {
            Ending::World(at) => self.layers.last().and_then(|layer| layer.get(at)),
            Ending::Panic(at) => {
                let message = &self.panics[at].message;
                return Ok(match (cause, property) {
                    (Cause::Panic, None) => Ok(Vec::new()),
                    _ => Err(format!("it panics: {message}")),
                });
            }
        };
        let (Some(Way { world, .. }), Some(property)) = (world, property) else {
            return Ok(Err("it does not panic".to_owned()));
        };
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

/// What to say of a run that an engine found and that is none.
pub(crate) fn does_not_replay(why: &str) -> Error {
    Error::Internal(format!("the run does not replay: {why}"))
}

/// Replays a run that should violate a property, meet one or panic; returns what the property
/// reads at the end. A run that does not is a bug of the checker.
pub(crate) fn confirm<N: Node>(
    system: &System<N>,
    run: &Run,
    cause: &Cause,
    property: Option<usize>,
) -> Result<Vec<String>, Error> {
    let replayed = replay(system, run, Keep::TheEnd)?.map_err(|why| does_not_replay(&why))?;
    Ok(replayed.confirmed(system, cause, property)?.1)
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
