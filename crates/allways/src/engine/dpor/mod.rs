//! Engine `dpor`: dynamic partial-order reduction. Runs are performed to their end one after the other; of those
//! that differ only in the order of independent events, as few as possible.
//!
//! Nothing is remembered of the states met but the run at hand, so it needs little memory; and
//! it ends only where all runs do. The first idea is that of Flanagan and Godefroid (POPL 2005): perform some
//! run, look for pairs of dependent events in it that could come in the other order, and go back to try that. That distributed
//! systems need more than this is the subject of Yabandeh and Kostić, "DPOR-DS: Dynamic Partial Order Reduction in Distributed Systems".
//! What is a process, and what is independent, is up to the [machine](crate::engine::machine): for
//! [handlers](crate::engine::machine::handlers), each envelope is a process of its own, and steps of one node are dependent. The
//! [reductions](crate::Reduction) differ in where they branch off: [`all`], [`ds`], [`reduced`].
//!
//! **Why it is sound.** Every violation is a run that the machine performed, or the events of one of its consistent
//! cuts, and it is replayed.
//!
//! **Why it is complete.** Every reachable state is a cut of some run that ends (or is cut off at the depth bound, which
//! the outcome says). The reductions, all but `naive`, perform a run of every trace: see [`reduced`], [`races`] and [`ds`]. Properties are tested
//! in all cuts as far as they can tell them apart, and states in which only faults are possible are
//! looked for along each run: see [`judge`] and [`explore`].

mod all;
mod cache;
mod desired;
mod ds;
#[cfg(test)]
mod ds_tests;
mod estimate;
pub(crate) mod explore;
mod judge;
mod races;
mod reduced;
mod share;
mod team;
#[cfg(test)]
mod tests;
mod tree;

use crate::engine::budget::Budget;
use crate::engine::machine::handlers::{Built, Handlers};
use crate::engine::machine::{Machine, Machines};
use crate::engine::options::{Options, Reduction};
use crate::engine::{Findings, Found, panicked};
use crate::error::Error;
use crate::model::node::Node;
use crate::model::step::guarded;
use crate::model::system::System;
use crate::outcome::Run;
use crate::space::local::{LocalSpace, SpaceOptions};
use explore::Explorer;
pub(crate) use judge::run_of;
use team::Team;

/// Runs the search.
pub(crate) fn search<N: Node>(
    system: &System<N>,
    options: &Options,
    budget: &Budget,
) -> Result<Findings, Error> {
    let refused = [
        (options.symmetry, "symmetry"),
        (options.exact, "whole states (exact)"),
        (options.max_states.is_some(), "a bound on states (max states)"),
    ];
    if let Some((_, what)) = refused.iter().find(|(is_asked, _)| *is_asked) {
        let why = format!(
            "engine dpor goes from run to run, not from state to state: {what} cannot be had with it; use engine global"
        );
        return Err(Error::Options(why));
    }
    let watch = SpaceOptions {
        determinism_guard: options.determinism_guard,
        verify_aux: options.verify_aux,
        symmetry: false,
        exact: false,
    };
    let space = LocalSpace::new(system, watch)?;
    let mut findings = match Handlers::build(&space)? {
        Built::Panicked(what) => {
            let violation = Some(Found { what, run: Run::default() });
            return Ok(Findings { violation, ..Findings::default() });
        }
        Built::Machine(machine) => {
            let mut explorer = Explorer::new(*machine, budget, options.reduction.passes_by());
            explore(&mut explorer, options.reduction)?;
            explorer.finish().0
        }
    };
    if options.verify_aux {
        space.verify_aux()?;
    }
    findings.tally = Some(space.tally());
    findings.constant = space.constant_reads();
    Ok(findings)
}

/// Explores a machine.
pub(crate) fn search_machine<M: Machine>(
    mut machine: M,
    options: &Options,
    budget: &Budget,
) -> Result<(Findings, M), Error> {
    let reduction = options.reduction;
    loop {
        let mut explorer = Explorer::new(machine, budget, reduction.passes_by());
        explorer.guards_order = options.determinism_guard && explorer.machine.is_exact();
        explore(&mut explorer, reduction)?;
        let is_stale = explorer.is_stale && !explorer.judge.is_over();
        let (findings, back) = explorer.finish();
        if !is_stale {
            return Ok((findings, back));
        }
        machine = back;
    }
}

/// Explores machines of which there is one for each who explores, and which have no properties and one start.
pub(crate) fn search_together<S: Machines>(
    system: &S,
    options: &Options,
    budget: &Budget,
    threads: usize,
) -> Result<Findings, Error> {
    let reduction = options.reduction;
    loop {
        let team = Team::new();
        std::thread::scope(|scope| {
            let (team, mut called) = (&team, false);
            let member = move |is_first: bool, call: &mut dyn FnMut()| {
                let explored = || {
                    let machine = system.make()?;
                    let mut explorer = Explorer::new(machine, budget, reduction.passes_by());
                    explorer.guards_order =
                        options.determinism_guard && explorer.machine.is_exact();
                    explorer.all_runs = Some(&team.runs);
                    reduced::explore_in_team(&mut explorer, reduction, team, is_first, call)?;
                    let is_stale = explorer.is_stale && !explorer.judge.is_over();
                    Ok((explorer.finish().0, is_stale))
                };
                let explored = guarded(explored);
                team.leave(explored.unwrap_or_else(|message| Err(panicked(message))));
            };
            member(true, &mut || {
                if !std::mem::replace(&mut called, true) {
                    for _ in 1..threads {
                        scope.spawn(move || member(false, &mut || {}));
                    }
                }
            });
        });
        let (findings, is_stale) = team.finish()?;
        if !is_stale || findings.violation.is_some() {
            return Ok(findings);
        }
    }
}

/// Explores everything from every start.
pub(crate) fn explore<M: Machine>(
    explorer: &mut Explorer<'_, M>,
    reduction: Reduction,
) -> Result<(), Error> {
    for start in 0..explorer.machine.starts() {
        explorer.restart(start)?;
        if explorer.is_over() {
            break;
        }
        match reduction {
            Reduction::None => all::explore(explorer)?,
            Reduction::Source | Reduction::Cached | Reduction::Optimal => {
                reduced::explore(explorer, reduction)?;
            }
            Reduction::Naive | Reduction::Force | Reduction::Ds => {
                ds::explore(explorer, reduction)?
            }
        }
        if explorer.is_over() {
            break;
        }
    }
    Ok(())
}
