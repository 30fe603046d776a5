//! The classic search: depth-bounded depth-first search on whole cloned global states.
//!
//! This is what MaceMC does, and what the LMC paper calls B-DFS (its section 3.2): every step
//! clones the global state, runs the handler for real and compares the result with every state
//! met before. It shares nothing with the local space but the handlers themselves, so it is both
//! the baseline that other engines are measured against and the oracle that they are tested
//! against.
//!
//! It is complete up to the depth bound: a state met again nearer to the start is expanded again,
//! because more of what lies behind it is then within the bound. Without a bound every state is
//! expanded once. States are compared as values, so no collision can hide one. An `always` property is tested in every state, a `never_stuck`
//! property in every state without successors.

use super::budget::Budget;
use super::goals::{Sighting, Sightings};
use super::options::Options;
use super::{Findings, Found, FoundWhat, nothing_left};
use crate::error::Error;
use crate::model::erased::Erased;
use crate::model::node::Node;
use crate::model::property::PropertyKind;
use crate::model::run_event::RunEvent;
use crate::model::system::System;
use crate::model::tally::Recorder;
use crate::model::world::{self, Action, Start, SuccessorEnd, World};
use crate::outcome::{Bound, Run};
use rustc_hash::FxHashMap;
use std::sync::atomic::Ordering::Relaxed;

struct Classic<'a, N: Node> {
    system: &'a System<N>,
    budget: &'a Budget,
    met: FxHashMap<World<N>, Met>,
    findings: Findings,
    generated: u64,
    handler_executions: u64,
    deepest: u64,
    start: usize,
    path: Vec<RunEvent>,
    recorder: Recorder<'a, N>,
    goals: Sightings<Run>,
    /// For each property, what it reads at first; nothing once that was something else.
    constant: Vec<Option<Vec<Erased>>>,
}

/// What is known of a state.
#[derive(Clone, Copy)]
struct Met {
    /// The least depth at which it was met.
    depth: u64,
    /// Set if something lies behind it, but beyond the depth bound.
    cut: bool,
}

/// Whether a state leads to one that was not met.
fn lies_beyond<N: Node>(
    system: &System<N>,
    world: &World<N>,
    met: &FxHashMap<World<N>, Met>,
) -> Result<bool, Error> {
    for action in world.actions(system) {
        for successor in world.successors(system, &action)? {
            match successor.end {
                SuccessorEnd::World(next) if met.contains_key(&next) => {}
                SuccessorEnd::Stutter => {}
                SuccessorEnd::World(_) | SuccessorEnd::Panicked(_) => return Ok(true),
            }
        }
    }
    Ok(false)
}

/// A state on the stack, with what is left to do there.
struct Frame<N: Node> {
    depth: u64,
    /// Successors still to be visited, last first.
    todo: Vec<(RunEvent, World<N>)>,
}

/// Runs the search.
pub(crate) fn search<N: Node>(
    system: &System<N>,
    options: &Options,
    budget: &Budget,
) -> Result<Findings, Error> {
    if options.symmetry {
        return Err(Error::Options("the classic search knows no symmetry".to_owned()));
    }
    if options.verify_aux {
        let what = "the classic search cannot verify auxiliary fields; search bfs or dfs can";
        return Err(Error::Options(what.to_owned()));
    }
    let worlds = match World::start(system)? {
        Start::Worlds(worlds) => worlds,
        Start::Panicked(message) => {
            return Ok(Findings {
                violation: Some(Found { what: FoundWhat::Panic(message), run: Run::default() }),
                ..Findings::default()
            });
        }
    };
    let mut classic = Classic {
        system,
        budget,
        met: FxHashMap::default(),
        findings: Findings {
            witnesses: vec![None; system.properties.len()],
            ..Findings::default()
        },
        generated: 0,
        handler_executions: 0,
        deepest: 0,
        start: 0,
        path: Vec::new(),
        recorder: Recorder::new(system),
        goals: Sightings::of(goals_of(system)),
        constant: Vec::new(),
    };
    if let Some(world) = worlds.first() {
        let all = 0..system.properties.len();
        let reads = all.map(|property| world.reads(system, property).map(Some));
        classic.constant = reads.collect::<Result<_, _>>()?;
    }
    for (start, world) in worlds.into_iter().enumerate() {
        classic.start = start;
        classic.path.clear();
        classic.generated += 1;
        if classic.from(world)? {
            break;
        }
    }
    let Classic { met, mut findings, generated, handler_executions, deepest, .. } = classic;
    findings.tally = Some(classic.recorder.finish());
    findings.goals = classic.goals.into_goals().into_iter().map(Sighting::found).collect();
    findings.constant = classic.constant.iter().map(Option::is_some).collect();
    findings.statistics.unique_states = Some(met.len() as u64);
    findings.statistics.generated_states = Some(generated);
    findings.statistics.transitions = Some(handler_executions);
    findings.statistics.handler_executions = Some(handler_executions);
    findings.statistics.depth = Some(deepest);
    if findings.bound.is_none() && findings.violation.is_none() {
        let cut = met.iter().filter(|(_, met)| met.cut);
        for (world, _) in cut {
            if lies_beyond(system, world, &met)? {
                findings.bound = Some(Bound::Depth);
                break;
            }
        }
    }
    if findings.violation.is_none() && findings.bound.is_none() {
        findings.stopped_early = nothing_left(witnessed(system, &findings.witnesses));
    }
    Ok(findings)
}

impl<N: Node> Classic<'_, N> {
    /// Explores everything behind `world`; true if the search is over.
    fn from(&mut self, world: World<N>) -> Result<bool, Error> {
        let mut stack = Vec::new();
        match self.visit(world, 0)? {
            Visit::Over => return Ok(true),
            Visit::Expand(frame) => stack.push(frame),
            Visit::Known => return Ok(false),
        }
        while let Some(frame) = stack.last_mut() {
            let depth = frame.depth;
            match frame.todo.pop() {
                Some((event, world)) => {
                    self.path.truncate(depth as usize);
                    self.path.push(event);
                    match self.visit(world, depth + 1)? {
                        Visit::Over => return Ok(true),
                        Visit::Expand(frame) => stack.push(frame),
                        Visit::Known => {}
                    }
                }
                None => {
                    stack.pop();
                }
            }
        }
        Ok(false)
    }

    /// Checks a state and, unless all that lies behind it within the bound was explored before,
    /// expands it.
    fn visit(&mut self, world: World<N>, depth: u64) -> Result<Visit<N>, Error> {
        let known = self.met.get(&world).copied();
        let unbounded = self.budget.max_depth == u64::MAX;
        if known.is_some_and(|known| known.depth <= depth || unbounded) {
            return Ok(Visit::Known);
        }
        self.deepest = self.deepest.max(depth);
        if known.is_none() && self.check(&world)? {
            self.met.insert(world, Met { depth, cut: false });
            return Ok(Visit::Over);
        }
        self.met.insert(world.clone(), Met { depth, cut: false });
        let progress = &self.budget.progress;
        progress.states.store(self.met.len() as u64, Relaxed);
        progress.generated.store(self.generated, Relaxed);
        progress.depth.store(self.deepest, Relaxed);
        let memory = self.met.len() as u64 * size_of::<World<N>>() as u64;
        if let Some(bound) = self.budget.reached(self.met.len() as u64, memory) {
            self.findings.bound = Some(bound);
            return Ok(Visit::Over);
        }
        self.expand(&world, depth, known.is_none())
    }

    fn expand(&mut self, world: &World<N>, depth: u64, is_new: bool) -> Result<Visit<N>, Error> {
        let at_bound = depth >= self.budget.max_depth;
        let mut todo = Vec::new();
        let mut stuck = true;
        for action in world.actions(self.system) {
            if let Action::Step { node, event, .. } = &action {
                self.recorder.step(*node, &world.locals[node.index()], event)?;
            }
            let event = action.describe(self.system);
            for successor in world.successors(self.system, &action)? {
                self.handler_executions += 1;
                self.generated += 1;
                let event = RunEvent { choices: successor.choices, ..event.clone() };
                match successor.end {
                    SuccessorEnd::Stutter => {}
                    SuccessorEnd::World(next) => {
                        stuck &= action.is_fault();
                        todo.push((event, next));
                    }
                    SuccessorEnd::Panicked(message) => {
                        stuck = false;
                        if !at_bound {
                            self.path.truncate(depth as usize);
                            self.path.push(event);
                            self.deepest = self.deepest.max(depth + 1);
                            self.violate(FoundWhat::Panic(message));
                            return Ok(Visit::Over);
                        }
                    }
                }
            }
        }
        if stuck && world.is_withheld() {
            self.findings.terminal.withheld += u64::from(is_new);
        } else if stuck {
            self.findings.terminal.judged += u64::from(is_new);
            for (index, property) in self.system.properties.iter().enumerate() {
                if property.kind == PropertyKind::NeverStuck && !world.test(self.system, index)? {
                    self.path.truncate(depth as usize);
                    self.violate(FoundWhat::Stuck(index));
                    return Ok(Visit::Over);
                }
            }
        }
        if at_bound {
            if let Some(met) = self.met.get_mut(world) {
                // Undone if the state is met again nearer to the start.
                met.cut = !todo.is_empty() || !stuck;
            }
            return Ok(Visit::Known);
        }
        // Popped from the back: keep the order of the actions.
        todo.reverse();
        Ok(Visit::Expand(Frame { depth, todo }))
    }

    /// Notes what goals and properties read in a state that is new.
    fn look(&mut self, world: &World<N>) -> Result<(), Error> {
        for (goal, (property, _)) in goals_of(self.system).enumerate() {
            let reads = world.reads(self.system, property)?;
            let combination = world::conjuncts(self.system, property, &reads)?;
            if !self.goals.knows(goal, combination) {
                let run = self.run();
                self.goals.report(goal, combination, (0, run.events.len() as u64), run);
            }
        }
        for (property, first) in self.constant.iter_mut().enumerate() {
            if first.is_some() {
                let reads = world.reads(self.system, property)?;
                first.take_if(|first| *first != reads);
            }
        }
        Ok(())
    }

    /// Tests the properties in a state that is new; true if the search is over.
    fn check(&mut self, world: &World<N>) -> Result<bool, Error> {
        self.look(world)?;
        for (index, property) in self.system.properties.iter().enumerate() {
            match property.kind {
                PropertyKind::Always if !world.test(self.system, index)? => {
                    self.violate(FoundWhat::Always(index));
                    return Ok(true);
                }
                PropertyKind::Sometimes
                    if self.findings.witnesses[index].is_none()
                        && world.test(self.system, index)? =>
                {
                    self.findings.witnesses[index] = Some(self.run());
                }
                _ => {}
            }
        }
        Ok(nothing_left(witnessed(self.system, &self.findings.witnesses)))
    }

    fn violate(&mut self, what: FoundWhat) {
        self.findings.violation = Some(Found { what, run: self.run() });
    }

    fn run(&self) -> Run {
        Run { start: self.start, events: self.path.clone(), ..Run::default() }
    }
}

enum Visit<N: Node> {
    /// The search is over.
    Over,
    /// Nothing new lies here.
    Known,
    /// There is more behind this state.
    Expand(Frame<N>),
}

/// The properties that name their conjuncts, and how many.
fn goals_of<N: Node>(system: &System<N>) -> impl Iterator<Item = (usize, usize)> {
    let properties = system.properties.iter().enumerate();
    properties.map(|(index, p)| (index, p.conjuncts.len())).filter(|(_, count)| *count > 0)
}

/// The kind of each property, and whether it was witnessed.
fn witnessed<N: Node>(
    system: &System<N>,
    witnesses: &[Option<Run>],
) -> impl ExactSizeIterator<Item = (PropertyKind, bool)> {
    let properties = system.properties.iter().zip(witnesses);
    properties.map(|(property, run)| (property.kind, run.is_some()))
}
