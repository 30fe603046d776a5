//! Engine `global`: stateful search over global vectors.
//!
//! A global state is a vector of interned numbers; what is remembered of it is a 64-bit
//! fingerprint (or, exactly, the vector). The search is complete because every inserted state is
//! expanded and every step of the reference semantics ([`World`](crate::model::world::World)) is a
//! candidate; it is sound because a violation is replayed on that semantics before it is reported.
//! A collision of fingerprints can hide a state; its probability is part of the outcome.
//!
//! Properties are tested in a state only if the step to it changed something that a property
//! reads: otherwise they read what they read in its parent, where they were tested before.

mod bfs;
mod dfs;
mod frontier;
mod rebuild;
mod worker;

use super::budget::Budget;
use super::options::{Options, Por, Search};
use super::por::{Plan, Preserve, minds_terminals, ranks::Ranks};
use super::{Findings, Found, Terminal, nothing_left};
use crate::error::Error;
use crate::model::node::Node;
use crate::model::property::PropertyKind;
use crate::model::system::System;
use crate::outcome::Statistics;
use crate::space::Space;
use crate::space::local::{LocalSpace, SpaceOptions};
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use worker::Shared;

/// What the search is called that the options ask for.
pub(crate) fn name(options: &Options) -> &'static str {
    match (options.search, options.por) {
        (Search::Dfs, None) => "global dfs",
        (Search::Dfs, Some(_)) => "global dfs, reduced",
        (_, None) => "global bfs",
        (_, Some(_)) => "global bfs, reduced",
    }
}

/// Runs the search that the options ask for.
pub(crate) fn search<N: Node>(
    system: &System<N>,
    options: &Options,
    budget: &Budget,
) -> Result<Findings, Error> {
    let symmetry = symmetry_of(system, options)?;
    let space = LocalSpace::new(
        system,
        SpaceOptions {
            determinism_guard: options.determinism_guard,
            verify_aux: options.verify_aux,
            symmetry: symmetry.is_some(),
            exact: options.exact,
        },
    )?;
    if let Some(por) = options.por {
        // The local space knows states that are not reachable, so it knows nothing of coverage.
        return reduced(&space, options, por, budget, symmetry);
    }
    let mut findings = explore(&space, options, budget, symmetry, None)?;
    if options.verify_aux {
        space.verify_aux()?;
    }
    findings.tally = Some(space.tally());
    findings.constant = space.constant_reads();
    Ok(findings)
}

/// A search that follows only what has to be followed to preserve what is asked for.
///
/// What a `sometimes` property needs is known only once it has been witnessed, and most are on the way to
/// other things. So the first search looks at the other properties; a second one looks for those
/// that it has not witnessed, and for nothing else.
fn reduced(
    space: &dyn Space,
    options: &Options,
    por: Por,
    budget: &Budget,
    symmetry: Option<&[Vec<usize>]>,
) -> Result<Findings, Error> {
    let layout = space.layout();
    let refuse = |why: String| Err(Error::Options(format!("{why} in a reduced search")));
    if options.verify_aux {
        let why = "auxiliary fields cannot be verified, since states are looked at that may not be reachable,";
        return refuse(why.to_owned());
    }
    let preserve = match por {
        Por::Needed if minds_terminals(layout) => Preserve::Terminals,
        Por::Needed => Preserve::Invariant,
        Por::Invariant => {
            let stuck = layout.properties.iter().position(|(k, _)| *k == PropertyKind::NeverStuck);
            if let Some(property) = stuck {
                let name = space.property_name(property);
                let why = format!(
                    "property `{name}` needs terminal states, which a reduction to the invariant does not preserve; preserve terminals"
                );
                return Err(Error::Options(why));
            }
            Preserve::Invariant
        }
        Por::Terminals => Preserve::Terminals,
        Por::Views => Preserve::Views,
    };
    // Under symmetry a state is not met as itself, and with exact states fingerprints do not name them.
    let sleeps = symmetry.is_none() && !options.exact;
    // The local graphs from the start say nothing of nodes that take each other's place.
    let ranks = if symmetry.is_none() { Ranks::new(space) } else { Ranks::default() };
    let wanted = Vec::new();
    let mut plan = Plan { preserve, ranks, always: true, sleeps, wanted };
    let mut findings = explore(space, options, budget, symmetry, Some(&plan))?;
    let over = findings.violation.is_some() || findings.bound.is_some() || findings.stopped_early;
    if over || preserve == Preserve::Views {
        return Ok(findings);
    }
    let kinds = layout.properties.iter().enumerate();
    let unseen = kinds.filter(|(property, (kind, _))| {
        *kind == PropertyKind::Sometimes && findings.witnesses[*property].is_none()
    });
    plan.wanted = unseen.map(|(property, _)| property).collect();
    if plan.wanted.is_empty() {
        return Ok(findings);
    }
    // Of a property that names its conjuncts one wants to know which of them is missing.
    let counts = space.conjunct_counts();
    plan.preserve = match plan.wanted.iter().any(|&property| counts[property] > 0) {
        true => Preserve::Views,
        false => Preserve::Invariant,
    };
    plan.always = false;
    let second = explore(space, options, budget, symmetry, Some(&plan))?;
    for (first, second) in findings.witnesses.iter_mut().zip(second.witnesses) {
        *first = first.take().or(second);
    }
    for (first, second) in findings.goals.iter_mut().zip(second.goals) {
        first.add(second);
    }
    let kinds = layout.properties.iter().zip(&findings.witnesses);
    let witnessed = kinds.map(|((kind, _), run)| (*kind, run.is_some()));
    findings.stopped_early = nothing_left(witnessed);
    findings.bound = second.bound;
    findings.violation = second.violation;
    findings.statistics.add(&second.statistics);
    Ok(findings)
}

/// The groups of interchangeable nodes, if symmetry is asked for and possible.
fn symmetry_of<'a, N: Node>(
    system: &'a System<N>,
    options: &Options,
) -> Result<Option<&'a [Vec<usize>]>, Error> {
    if !options.symmetry {
        return Ok(None);
    }
    let refuse = |why: &str| Err(Error::Options(format!("symmetry cannot be used: {why}")));
    if system.groups.is_empty() {
        return refuse("the system declares no nodes interchangeable");
    }
    if !system.observers.is_empty() {
        return refuse("observers may tell nodes apart");
    }
    if system.faults.partitions > 0 && !system.faults.cuts.is_empty() {
        return refuse("partitions tell nodes apart");
    }
    if system.scripts.iter().any(|script| script.len() > 1) {
        return refuse("calls in sequence tell nodes apart");
    }
    Ok(Some(&system.groups))
}

/// The search itself: knows nothing of the system's types.
fn explore(
    space: &dyn Space,
    options: &Options,
    budget: &Budget,
    symmetry: Option<&[Vec<usize>]>,
    por: Option<&Plan>,
) -> Result<Findings, Error> {
    let threads = options.thread_count().max(1);
    let breadth_first = options.search != Search::Dfs;
    let shared = Shared::new(space, budget, threads, options.exact, symmetry, por, breadth_first);
    match options.search {
        Search::Dfs => dfs::search(&shared)?,
        Search::Bfs | Search::Classic => bfs::search(&shared)?,
    }
    let mut statistics = statistics(space, &shared, options);
    let terminal =
        Terminal { judged: shared.terminal.load(Relaxed), withheld: shared.withheld.load(Relaxed) };
    let (ends, goals) = shared.into_ends();
    if let Some(error) = ends.error {
        return Err(error);
    }
    let violation = match ends.violation {
        Some((what, path)) => Some(Found { what, run: rebuild::run(space, &path, symmetry)? }),
        None => None,
    };
    if let Some(Found { run, .. }) = &violation {
        statistics.depth = statistics.depth.max(Some(run.events.len() as u64));
    }
    let mut witnesses = Vec::new();
    for path in &ends.witnesses {
        witnesses.push(match path {
            Some(path) => Some(rebuild::run(space, path, symmetry)?),
            None => None,
        });
    }
    let properties = space.layout().properties.iter().zip(&witnesses);
    let stopped_early =
        nothing_left(properties.map(|((kind, _), witness)| (*kind, witness.is_some())));
    let bound = if stopped_early { None } else { ends.bound };
    let goals = goals.into_goals().into_iter().map(|goal| {
        let found = goal.found();
        found.with_run(|path| rebuild::run(space, &path, symmetry))
    });
    let goals = goals.collect::<Result<_, _>>()?;
    let rest = Findings::default();
    Ok(Findings { violation, witnesses, bound, stopped_early, statistics, goals, terminal, ..rest })
}

/// How many states there are at each depth, as far as all are known and checked.
fn levels(shared: &Shared<'_>, unique: u64) -> Vec<u64> {
    let mut levels = shared.levels.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if shared.watches_stuck() {
        // Whether a state is stuck is known once it has been looked at, so only levels count of which
        // every state has been.
        let mut left = shared.looked_at.load(Relaxed);
        levels.retain(|&level| {
            let whole = level <= left;
            left = if whole { left - level } else { 0 };
            whole
        });
        return levels;
    }
    let known = levels.iter().sum();
    // If the last level was expanded to its end, the next one is known, too.
    if !levels.is_empty() && shared.expanded.load(Relaxed) == known && unique > known {
        levels.push(unique - known);
    }
    levels
}

fn statistics(space: &dyn Space, shared: &Shared<'_>, options: &Options) -> Statistics {
    let costs = space.costs();
    let unique = shared.unique();
    // If nothing new lies beyond the depth bound, the steps to it are steps as any other.
    let probed = if shared.is_bounded() { 0 } else { shared.probed.load(Relaxed) };
    let generated = shared.generated.load(Relaxed) + probed;
    let depth_first = options.search == Search::Dfs;
    Statistics {
        unique_states: Some(unique),
        generated_states: Some(generated),
        transitions: Some(generated.saturating_sub(shared.initial.load(Relaxed))),
        asleep: Some(shared.asleep.load(Relaxed)),
        left_out: shared.por.is_some().then(|| shared.left_out.load(Relaxed)),
        handler_executions: Some(costs.handler_executions),
        guard_executions: Some(costs.guard_executions),
        replayed_handlers: Some(costs.replayed_handlers),
        memo_lookups: Some(shared.lookups.load(Relaxed)),
        memo_misses: Some(shared.misses.load(Relaxed)),
        local_states: Some(costs.local_states),
        local_events: Some(costs.local_events),
        depth: Some(shared.depth.load(Relaxed)),
        frontier: Some(match shared.is_bounded() || shared.is_over() {
            true => unique.saturating_sub(shared.expanded.load(Relaxed)),
            false => 0,
        }),
        // A reduced search does not meet all that is as near.
        levels: if shared.por.is_some() { Vec::new() } else { levels(shared, unique) },
        stack_pushes: depth_first.then(|| shared.stack_pushes.load(Relaxed)),
        user_time: Some(Duration::from_nanos(costs.user_nanos)),
        // Among n states each pair collides with probability 2^-64.
        collision_probability: Some(match options.exact {
            true => 0.0,
            false => unique as f64 * (unique as f64 - 1.0).max(0.0) / 2f64.powi(65),
        }),
        ..Statistics::default()
    }
}
