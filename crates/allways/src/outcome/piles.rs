//! Messages that pile up: why a search of few local states may have no end.
//!
//! A timer that is set again by its own handler, which sends a message and changes nothing else,
//! can fire any number of times before the message is delivered. On an unordered network each
//! number of copies in flight is a global state of its own.

use crate::error::Error;
use crate::model::event::Event;
use crate::model::network::NetworkKind;
use crate::model::node::Node;
use crate::model::system::System;
use crate::model::world::{Action, Start, SuccessorEnd, World};
use rustc_hash::FxHashSet;
use std::collections::VecDeque;

/// So many global states are looked at, those with the shortest runs: retries begin early.
const LOOKED_AT: usize = 300;

/// What piles up, and what to do about it, if something does.
pub(crate) fn piles_up<N: Node>(system: &System<N>) -> Result<Option<String>, Error> {
    if system.network.kind != NetworkKind::Unordered || system.timer_bound.is_some() {
        return Ok(None);
    }
    let Start::Worlds(worlds) = World::start(system)? else { return Ok(None) };
    let mut met: FxHashSet<World<N>> = worlds.iter().cloned().collect();
    let mut queue = VecDeque::from(worlds);
    while let Some(world) = queue.pop_front() {
        for action in world.actions(system).iter().filter(|action| !action.is_fault()) {
            for successor in world.successors(system, action)? {
                let SuccessorEnd::World(next) = successor.end else { continue };
                if let Action::Step { event: timer @ Event::Timer(_), .. } = action
                    && let Some(message) = one_more(&world, &next)
                {
                    let ((_, message), (_, timer)) = (system.kind(message), system.kind(timer));
                    return Ok(Some(format!(
                        "copies of message `{message}` pile up in flight, without end: timer `{timer}` sends one each time it fires, and is set again; bound the timers (System::timers), or use Network::duplicating(), where a message in flight counts once"
                    )));
                }
                if met.len() < LOOKED_AT && met.insert(next.clone()) {
                    queue.push_back(next);
                }
            }
        }
    }
    Ok(None)
}

/// A message of which a step puts more copies in flight, if it changes no local state: it can be
/// taken again, then.
fn one_more<'a, N: Node>(before: &World<N>, after: &'a World<N>) -> Option<&'a Event<N>> {
    if before.locals != after.locals {
        return None;
    }
    let copies = |of| {
        let found = before.flight.iter().find(|(envelope, _)| envelope == of);
        found.map_or(0, |(_, copies)| *copies)
    };
    let more = after.flight.iter().find(|(envelope, now)| *now > copies(envelope));
    more.map(|(envelope, _)| &envelope.event)
}
