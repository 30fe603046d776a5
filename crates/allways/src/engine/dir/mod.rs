//! Engine `dir`: dynamic interface reduction (Guo, Wu, Zhou, Liu, Yang and Zhang, "Practical software model checking via dynamic interface reduction",
//! SOSP 2011).
//!
//! A system is divided into components: some nodes each, one unless the user says otherwise. What a component does that no other can tell of is explored once for what
//! it and the others have shown each other, and not once for everything that the others may do meanwhile. [`partial`] is a component by itself, the rest of the system repeating
//! a trace; it is explored like any machine, by optimal DPOR. Where all steps of a component are ordered, as those of one node are, [`alone`] keeps what it did as a tree for all tasks, and explores nothing twice. What it could show that it has not shown in that trace is a *branch*. [`global`] composes branches with all traces
//! into which they fit, which makes new traces of the whole system, with new tasks for components, until nothing new comes of it. [`verdict`] judges properties. Names of events, skeletons, projection,
//! substitution and composition are those of [`trace::skeleton`](crate::trace::skeleton). [`stateful`] is another way to the same end, with sets of states in place of traces.
//!
//! **Why it is sound.** Every run is performed by the machine, the composed ones too, and a violation is replayed.
//!
//! **Why it is complete.** (1) *Substitution*: whether an event is possible, and what comes of it for others, depends on its component's own past and on what others have shown to it. Both are
//! as they were if the component's part of a trace is put in place of another part with the same local skeleton. (2) *Components*: a component by itself is a machine whose
//! dependencies are those of the whole, since what is forbidden is told by the past of an event. So DPOR performs a run of each of its traces, and asks for each step where else it could have happened;
//! whatever it then finds possible and not wanted is a branch. What it takes from others is always wanted, in whatever order, as soon as it is given: so nothing is lost by that taking is no branch. (Where it is an interface event, as in the paper, it has to be one, against the paper's section 3.2: with outputs alone
//! skeletons would be lost.) (3) *Together*: let `T` be a trace of the system, and `t` the first of
//! its interface events, in some order, such that what comes up to it is in a known skeleton `K` and with it is in none. By (1) the component of `t` can do, with the rest of `K`, what it does in `T` before `t`, and `t`
//! is possible there. It is not in `K`. So DPOR meets it: in the largest cut of a run around that point in which the step of its process is possible; if that is another event, with more in its past, then a skeleton with
//! that one becomes known, and there is one event less between. In the end `t` is a branch, and it is composed with `K`, as with all that it fits into. What `K` has and `T` up to `t` lacks is left out only
//! if it cannot be together with `t`. So no such `T` is left: each is within a known skeleton. (4) *Ends*: a component that stops before it has shown all of its local skeleton is composed as branches are, and what is left of the trace is a skeleton of its own, as often as there are such components. Let `T` come to its end, and let `K` be a known skeleton that has all of its
//! skeleton, and *more*; a first event of that is one with nothing of it in its past. Let `m` be one, of component `c`. By itself with `K`, `c` can do its part of `T`. With that it has come to its end, unless something that is more is given to it: after that it can do nothing of `K` in place of `m`, since it has another past. So
//! it stops, and `K` without `m` and all that comes after it is known; or it shows something that comes after what is more, and a skeleton with this in place of `m` is known. In that, others may have gone on, with first events of their own; to these the same is done, one by one. None of it undoes
//! what was done before, since what they showed later is before nothing of that, and who has stopped does not go on unless with what is more. So there is a known skeleton in which one component fewer has a first event of what is more, and in the end one in which
//! only one has. Nothing of what is more is given to that one before its own first event: it stops, and what is left is the skeleton of `T`. So each skeleton with which some trace
//! ends is among the known ones, and the traces of the system are, for each of these, all combinations of the local traces of its local skeletons.

mod alone;
#[cfg(test)]
mod alone_tests;
mod codec;
mod counts;
mod crew;
mod cuts;
mod fit;
mod global;
mod grouping;
mod identity;
mod interface;
mod log;
mod nested;
mod partial;
mod pool;
pub(crate) mod stateful;
mod task;
#[cfg(test)]
mod tests;
mod verdict;

use super::budget::Budget;
use super::components::Components;
use super::goals::Sighting;
use super::options::Options;
use super::{Findings, Found};
use crate::engine::machine::handlers::{Built, Handlers};
use crate::engine::machine::{Machine, Machines};
use crate::error::Error;
use crate::model::node::Node;
use crate::model::property::PropertyKind;
use crate::model::system::System;
use crate::outcome::{Bound, Run, Statistics};
use crate::space::local::{LocalSpace, SpaceOptions};
use alone::Trees;
use counts::Counts;
use crew::{Crew, Effort};
use global::Global;
use grouping::Division;
use interface::Parts;
use log::{Header, Log};
use pool::{Pool, SharedTrees};
use std::sync::atomic::Ordering::Relaxed;
use verdict::{Judge, Verdicts};

/// Runs the search.
pub(crate) fn search<N: Node>(
    system: &System<N>,
    options: &Options,
    budget: &Budget,
) -> Result<Findings, Error> {
    let watch = SpaceOptions {
        determinism_guard: options.determinism_guard,
        verify_aux: false,
        symmetry: false,
        exact: false,
    };
    let space = LocalSpace::new(system, watch)?;
    let mut machine = match Handlers::build(&space)? {
        Built::Panicked(what) => {
            let violation = Some(Found { what, run: Run::default() });
            return Ok(Findings { violation, ..Findings::default() });
        }
        Built::Machine(machine) => machine,
    };
    let faults = &system.faults;
    let has_faults = faults.crashes > 0 || faults.partitions > 0 || system.explores_drops();
    if has_faults && machine.readings().iter().any(|it| it.kind == PropertyKind::NeverStuck) {
        let why = "engine dir cannot tell with faults which states are terminal unless it is stateful (`--stateful`, `Options::stateful`); engine dpor can, too";
        return Err(Error::Options(why.to_owned()));
    }
    if faults.partitions > 0 && system.greeting.is_some() {
        let why = "engine dir cannot have nodes told that a partition has healed unless it is stateful (`--stateful`, `Options::stateful`); engine dpor can, too";
        return Err(Error::Options(why.to_owned()));
    }
    let nodes = machine.places();
    let components = match options.components.is_auto() {
        true => grouping::find_out(&mut *machine, Some(nodes), budget)?,
        false => options.components.clone(),
    };
    let members = components.among(nodes)?;
    let mut parts = Parts::nested(&members, machine.groups());
    // What feeds observers has to be told to somebody, for they are looked at where skeletons are.
    if parts.len() == 1 && machine.readings().iter().any(|it| it.observer.is_some()) {
        parts = parts.with_nobody();
    }
    let log = match &options.resume {
        None => None,
        Some(path) => {
            let title = options.title.as_deref().unwrap_or_default();
            let fingerprint = identity::fingerprint(system, &space, title)?;
            let components = Components::nested(members)?;
            Some(Log::open(path, &header(fingerprint, options, &components))?)
        }
    };
    let make = || match Handlers::build(&space)? {
        Built::Machine(machine) => Ok(*machine),
        Built::Panicked(_) => Err(Error::Internal("a node panics while starting".to_owned())),
    };
    let effort = Effort::default();
    let has_tree = Trees::which(&*machine, &parts);
    let pool = || Box::new(Pool::new(&make, has_tree.clone())) as Box<dyn SharedTrees>;
    let help = Help {
        make: &make,
        pool: Some(&pool),
        threads: options.thread_count().max(1),
        log: log.as_ref(),
        effort: &effort,
    };
    let mut findings = match search_machine(&mut *machine, &parts, budget, &help)? {
        Some(findings) => findings,
        None => return Err(Error::Internal("handlers are never divided anew".to_owned())),
    };
    let is_said = options.components != Components::default();
    findings.statistics.components = is_said.then(|| components.to_string());
    // What was done in another process is not known to this one.
    if log.as_ref().is_none_or(Log::is_new) {
        findings.tally = Some(space.tally());
        findings.constant = space.constant_reads();
    }
    Ok(findings)
}

/// Explores what machines stand for that are no systems of handlers.
pub(crate) fn search_together<S: Machines>(
    system: &S,
    options: &Options,
    budget: &Budget,
) -> Result<Findings, Error> {
    let asked = match options.components == Components::default() {
        true => system.components(),
        false => options.components.clone(),
    };
    let log = match &options.resume {
        None => None,
        Some(path) => {
            let Some(identity) = system.identity() else {
                let why = "what this program is cannot be told from another one, so no check of it goes on from a log (resume)";
                return Err(Error::Options(why.to_owned()));
            };
            let title = options.title.as_deref().unwrap_or_default();
            let fingerprint = identity::of_machines(identity, title);
            let log = Log::open(path, &header(fingerprint, options, &asked))?;
            log.teach(|lesson| system.learn(lesson))?;
            Some(log)
        }
    };
    let make = || {
        let mut machine = system.make()?;
        machine.divide()?;
        Ok(machine)
    };
    let mut machine = make()?;
    let effort = Effort::default();
    let help = Help {
        make: &make,
        pool: None,
        threads: options.thread_count().max(1),
        log: log.as_ref(),
        effort: &effort,
    };
    let mut division = Division::new(&asked);
    loop {
        let (components, parts) = division.of(&mut machine, budget)?;
        // Components that are found out are decided by that, too.
        if let Some(log) = &log {
            log.go_by(machine.learnt());
        }
        let findings = search_machine(&mut machine, &parts, budget, &help);
        // What was learnt on the way may be why it went wrong.
        if machine.is_stale() || findings.is_err() && division.lags(&mut machine, budget)? {
            continue;
        }
        if let Some(mut findings) = findings? {
            let is_said = asked != Components::default();
            findings.statistics.components = is_said.then(|| components.to_string());
            return Ok(findings);
        }
    }
}

/// What a log must say to be one of this check.
fn header(fingerprint: u64, options: &Options, components: &Components) -> Header {
    let depth = options.max_depth.map_or("no bound".to_owned(), |it| format!("{it} events"));
    Header { fingerprint, options: format!("components {components}, {depth} on depth") }
}

/// What helps to explore.
struct Help<'h, M> {
    /// Makes more machines of the same kind.
    make: &'h (dyn Fn() -> Result<M, Error> + Sync),
    /// Makes trees that all threads have in common, if machines can be handed from one thread to another.
    pool: Option<&'h (dyn Fn() -> Box<dyn SharedTrees + 'h> + 'h)>,
    /// How many threads there may be.
    threads: usize,
    log: Option<&'h Log>,
    effort: &'h Effort,
}

/// Explores a machine that is divided into components. `None` if it has to be done again, since something was learnt of who touches what.
fn search_machine<M: Machine>(
    machine: &mut M,
    parts: &Parts,
    budget: &Budget,
    help: &Help<'_, M>,
) -> Result<Option<Findings>, Error> {
    let mut verdict = Verdicts::new(machine);
    let mut bound: Option<Bound> = None;
    let mut counts = Counts::default();
    let (mut skeletons, mut locals, mut covered) = (0_u64, 0, 0_u128);
    for start in 0..machine.starts() {
        machine.restart(start)?;
        verdict.look_at_observers(machine)?;
        let pool = help.pool.map(|make| make());
        let crew = Crew::new(help.log, pool.as_deref(), help.effort);
        crew.runs.store(counts.local_traces + counts.other_runs, Relaxed);
        let mut global =
            Global::new(machine, parts, budget, (&crew, help.log, crew::perform), start, verdict);
        global.counts = counts;
        std::thread::scope(|scope| {
            let (crew, make, mut called) = (&crew, help.make, false);
            let _until_here = crew.hired();
            global.explore(&mut || {
                if !std::mem::replace(&mut called, true) {
                    for _ in 1..help.threads {
                        scope.spawn(move || crew.work(make, parts, budget));
                    }
                }
            })
        })?;
        if global.verdict.violation.is_none() && !global.is_stale {
            Judge::new(&mut global, help.threads).judge()?;
        }
        if global.is_stale && global.verdict.violation.is_none() {
            return Ok(None);
        }
        let (ended, traces) = global.covered();
        skeletons += ended;
        locals += global.locals.len();
        covered = covered.saturating_add(traces);
        counts = global.counts;
        bound = bound.or(global.bound);
        verdict = global.verdict;
        if verdict.is_over() || !matches!(bound, None | Some(Bound::Depth)) {
            break;
        }
    }
    if bound.is_none() && verdict.violation.is_none() && !verdict.nothing_left() && covered == 0 {
        let what = "components were explored one by one, and nothing of it fits together";
        return Err(Error::Internal(what.to_owned()));
    }
    let is_nested = parts.is_nested();
    let costs = machine.costs();
    let stopped_early = verdict.violation.is_none() && verdict.nothing_left();
    let statistics = Statistics {
        transitions: Some(counts.transitions),
        runs: Some(counts.local_traces),
        resumed_runs: help.log.map(|_| counts.resumed_traces),
        blocked_runs: Some(counts.other_runs),
        system_states: Some(verdict.tested() as u64),
        global_skeletons: Some(skeletons),
        inner_skeletons: is_nested.then_some(counts.inner_skeletons),
        local_skeletons: Some(if is_nested { counts.local_skeletons } else { locals as u64 }),
        covered_traces: Some(covered),
        work_time: Some(help.effort.of_all(budget.started.elapsed())),
        handler_executions: costs.map(|costs| costs.handler_executions),
        guard_executions: costs.map(|costs| costs.guard_executions),
        replayed_handlers: costs.map(|costs| costs.replayed_handlers),
        local_states: costs.map(|costs| costs.local_states),
        local_events: costs.map(|costs| costs.local_events),
        depth: Some(counts.deepest as u64),
        user_time: costs.map(|costs| std::time::Duration::from_nanos(costs.user_nanos)),
        ..Statistics::default()
    };
    Ok(Some(Findings {
        bound: bound.filter(|_| !stopped_early),
        stopped_early,
        statistics,
        violation: verdict.violation,
        witnesses: verdict.witnesses,
        terminal: verdict.terminal,
        goals: verdict.goals.into_goals().into_iter().map(Sighting::found).collect(),
        ..Findings::default()
    }))
}
