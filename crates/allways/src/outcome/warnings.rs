//! Warnings: what makes an outcome say less than a user may think.
//!
//! Each is nearly certain to be worth reading: a system that is as it should be has none.

use super::coverage::{Coverage, Handler};
use super::replay::{Keep, replay};
use super::story::Story;
use super::{Bound, Cause, Violation, grouped};
use crate::engine::Terminal;
use crate::error::Error;
use crate::model::erased::Erased;
use crate::model::kinds::short_type_name;
use crate::model::network::NetworkKind;
use crate::model::node::{Never, Node};
use crate::model::property::PropertyKind;
use crate::model::system::System;
use crate::model::world::{self, Start, World};
use std::any::{TypeId, type_name};

/// What warnings are given about.
pub(crate) struct Facts<'a> {
    pub complete: bool,
    pub transitions: Option<u64>,
    pub violation: Option<&'a Violation>,
    /// The run of the violation, told in full.
    pub story: Option<&'a Story>,
    pub coverage: Option<&'a Coverage>,
    /// For each property, whether what it reads never changed; empty if that is not known.
    pub constant: &'a [bool],
    pub bound: Option<Bound>,
    pub terminal: Terminal,
}

/// Everything worth a warning.
pub(crate) fn warnings<N: Node>(
    system: &System<N>,
    facts: &Facts<'_>,
) -> Result<Vec<String>, Error> {
    let mut warnings = Vec::new();
    if system.properties.is_empty() && facts.violation.is_none() {
        warnings.push(
            "the system has no properties: only panics of handlers were looked for".to_owned(),
        );
    }
    // Whoever finds no run to what should be possible looks here, too.
    let searched_all =
        facts.complete || facts.violation.is_some_and(|v| v.cause == Cause::NeverReached);
    if searched_all {
        warnings.extend(no_calls(system));
    }
    if searched_all && facts.transitions == Some(0) {
        // Everything else that never happens follows from this.
        warnings.push("nothing ever happens: no step leads anywhere from the start".to_owned());
    } else if searched_all {
        for (property, constant) in facts.constant.iter().enumerate() {
            if *constant && is_vacuous(system, property)? {
                warnings.push(format!(
                    "always `{}` reads what is the same in every state: it may hold for that reason alone",
                    system.properties[property].name
                ));
            }
        }
        warnings.extend(facts.coverage.iter().flat_map(|coverage| always_ignored(coverage)));
    }
    // Random runs end somewhere, too; a search stopped by a bound may just not have come so far.
    if searched_all || (facts.violation.is_none() && facts.bound == Some(Bound::Runs)) {
        warnings.extend(never_terminal(system, facts.terminal));
    }
    if let Some(violation) = facts.violation.filter(|v| v.cause == Cause::Stuck) {
        warnings.extend(left_in_flight(system, violation, facts.story)?);
    }
    Ok(warnings)
}

/// A driver without calls, where the nodes take some.
fn no_calls<N: Node>(system: &System<N>) -> Option<String> {
    let call = TypeId::of::<N::Call>();
    // The unit is what one writes who has no use for calls and does not know `Never`.
    let takes_calls = call != TypeId::of::<Never>() && call != TypeId::of::<()>();
    (system.scripts.is_empty() && takes_calls).then(|| {
        let call = short_type_name(type_name::<N::Call>());
        format!("the driver makes no calls, but nodes take some (`{call}`): see System::call")
    })
}

/// Whether a property that reads the same in every state may hold for that reason alone.
///
/// A view that is true or false may be a test of its own: it never changes because what it tests
/// for never happens, and the property would be violated if it did. That is not vacuous.
fn is_vacuous<N: Node>(system: &System<N>, property: usize) -> Result<bool, Error> {
    if system.properties[property].kind != PropertyKind::Always {
        return Ok(false);
    }
    let Start::Worlds(worlds) = World::start(system)? else { return Ok(false) };
    let Some(world) = worlds.first() else { return Ok(false) };
    let reads = world.reads(system, property)?;
    for node in 0..reads.len() {
        let Some(&read) = reads[node].get::<bool>() else { continue };
        let mut other = reads.clone();
        other[node] = Erased::new(!read);
        if !world::test(system, property, &other)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Properties of terminal states, where none was judged.
fn never_terminal<N: Node>(system: &System<N>, terminal: Terminal) -> Vec<String> {
    let Terminal { judged: 0, withheld } = terminal else { return Vec::new() };
    let properties = system.properties.iter().filter(|p| p.kind == PropertyKind::NeverStuck);
    let mut warnings: Vec<_> = properties
        .map(|property| {
            let name = &property.name;
            format!("never stuck `{name}` was never put to the test: no terminal state was met")
        })
        .collect();
    if !warnings.is_empty() && withheld > 0 {
        let states = match withheld {
            1 => "1 state was".to_owned(),
            _ => format!("{} states were", grouped(withheld)),
        };
        warnings.push(format!(
            "{states} not judged: only the bound on timers (System::timers) keeps a timer from firing there"
        ));
    }
    warnings
}

/// Messages that no node ever heeds.
fn always_ignored(coverage: &Coverage) -> impl Iterator<Item = String> {
    let messages = coverage.kinds.iter().filter(|kind| kind.handler == Handler::Message);
    messages.filter(|kind| kind.steps > 0 && kind.changed == 0).map(|kind| {
        let name = &kind.kind;
        format!("message `{name}` is ignored by every node that it is sent to, in every state")
    })
}

/// What is in flight where a run is stuck, because its delivery would change nothing.
fn left_in_flight<N: Node>(
    system: &System<N>,
    violation: &Violation,
    story: Option<&Story>,
) -> Result<Option<String>, Error> {
    if system.network.kind == NetworkKind::Ordered {
        return Ok(None);
    }
    let Ok(replayed) = replay(system, &violation.run, Keep::TheEnd)? else { return Ok(None) };
    for world in replayed.ends() {
        if !world.is_terminal(system)? {
            continue;
        }
        let to_somebody = |to: usize| world.locals[to].up;
        let left = world.flight.iter().find(|(envelope, _)| to_somebody(envelope.to.index()));
        return Ok(left.map(|(envelope, _)| {
            // The story ends with what was never handled.
            let event = envelope.event.to_string();
            let is_told = story.is_some_and(|story| {
                let to = envelope.to.index();
                story.never_handled().any(|told| told.to == to && event.contains(&told.what))
            });
            let which = match is_told {
                true => String::new(),
                false => format!(" ({event} to node {})", envelope.to),
            };
            format!(
                "the run is stuck though something is in flight{which}: its delivery would change nothing, so it is not a step"
            )
        }));
    }
    Ok(None)
}
