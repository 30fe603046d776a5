//! Where candidates are tried: a run as typed moves, the worlds that it passes through, and what is
//! counted while others are carried out.

use super::MinimiseOptions;
use crate::error::Error;
use crate::model::event::Event;
use crate::model::node::Node;
use crate::model::run_event::RunEvent;
use crate::model::system::System;
use crate::model::world::{Action, Start, SuccessorEnd, World};
use crate::outcome::replayed::{Target, head};
use crate::outcome::{Cause, Run, Violation};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

/// An event of a run, as what it is and not as it reads.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Move<N: Node> {
    pub action: Action<N>,
    pub choices: Vec<u32>,
}

impl<N: Node> Move<N> {
    pub fn describe(&self, system: &System<N>) -> RunEvent {
        RunEvent { choices: self.choices.clone(), ..self.action.describe(system) }
    }

    /// The node at which it happens; `None` for what the network does by itself.
    pub fn lane(&self) -> Option<usize> {
        match &self.action {
            Action::Step { node, .. } => Some(node.index()),
            Action::Drop(_) | Action::Partition(_) | Action::Heal => None,
        }
    }
}

/// A run that violates.
#[derive(Clone)]
pub(super) struct Course<N: Node> {
    pub start: usize,
    pub moves: Vec<Move<N>>,
    /// The world before each move. The last move leads to the violation.
    pub worlds: Vec<World<N>>,
}

impl<N: Node> Course<N> {
    pub fn switches(&self) -> usize {
        self.moves.windows(2).filter(|pair| pair[0].lane() != pair[1].lane()).count()
    }
}

/// What may be used up, and what has been.
pub(super) struct Limits {
    pub candidates: u64,
    pub states: u64,
    pub max_candidates: u64,
    pub max_states: u64,
    pub deadline: Option<Instant>,
    pub stop: Option<Arc<AtomicBool>>,
    pub out_of_time: bool,
}

impl Limits {
    /// Whether time is left. Once it is not, it never is again.
    pub fn has_time(&mut self) -> bool {
        let late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        self.out_of_time |= late || self.stop.as_ref().is_some_and(|stop| stop.load(Relaxed));
        !self.out_of_time
    }
}

/// Whether an event that cannot happen as it was may be replaced by the one most like it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    Strict,
    Loose,
}

/// What a move leads to.
pub(super) enum Led<N: Node> {
    World(World<N>),
    /// The handler panics with the message that is looked for.
    Shown,
    /// The move is not possible, or does nothing.
    Nowhere,
}

/// A system, what its runs are to show, and the limits.
pub(super) struct Bench<'a, N: Node> {
    pub system: &'a System<N>,
    pub target: Target,
    /// The panic's message, where the target is a panic.
    pub message: &'a str,
    pub starts: Vec<World<N>>,
    pub limits: Limits,
}

impl<'a, N: Node> Bench<'a, N> {
    /// The bench, and the run of the violation as typed moves; `None` if the violation is a panic
    /// while a node starts.
    pub fn new(
        system: &'a System<N>,
        violation: &'a Violation,
        target: Target,
        options: &MinimiseOptions,
    ) -> Result<Option<(Self, Course<N>)>, Error> {
        let starts = match World::start(system)? {
            Start::Worlds(worlds) => worlds,
            Start::Panicked(_) if violation.cause == Cause::Panic => return Ok(None),
            Start::Panicked(message) => {
                return Err(does_not_violate(&format!("a node panics while it starts: {message}")));
            }
        };
        let limits = Limits {
            candidates: 0,
            states: 0,
            max_candidates: options.max_candidates,
            max_states: options.max_states,
            deadline: Instant::now().checked_add(options.max_time),
            stop: options.stop.clone(),
            out_of_time: false,
        };
        let bench = Bench { system, target, message: &violation.property, starts, limits };
        let course = bench.trace(&violation.run)?;
        Ok(Some((bench, course)))
    }

    /// Whether a world shows what is looked for. An error of the system's own code is none.
    pub fn shows(&self, world: &World<N>) -> bool {
        self.target.shows(self.system, world).unwrap_or(false)
    }

    /// Carries out one move.
    pub fn lead(&self, world: &World<N>, m: &Move<N>) -> Led<N> {
        if !world.allows(self.system, &m.action) {
            return Led::Nowhere;
        }
        let Ok(successors) = world.successors(self.system, &m.action) else { return Led::Nowhere };
        match successors.into_iter().find(|s| s.choices == m.choices).map(|s| s.end) {
            Some(SuccessorEnd::World(next)) => Led::World(next),
            Some(SuccessorEnd::Panicked(message))
                if self.target == Target::Panic && message == self.message =>
            {
                Led::Shown
            }
            _ => Led::Nowhere,
        }
    }

    /// Carries out moves after the first `kept` moves of a course: each if it can happen, until the
    /// violation shows. `None` unless it does within `most` events.
    pub fn attempt<'m>(
        &mut self,
        course: &Course<N>,
        kept: usize,
        rest: impl IntoIterator<Item = &'m Move<N>>,
        most: usize,
        reading: Reading,
    ) -> Option<Course<N>>
    where
        N: 'm,
    {
        let limits = &mut self.limits;
        if limits.candidates >= limits.max_candidates || !limits.has_time() {
            return None;
        }
        limits.candidates += 1;
        let (mut moves, mut worlds) = (Vec::new(), Vec::new());
        let mut world = course.worlds[kept].clone();
        for m in rest {
            if kept + moves.len() == most {
                return None;
            }
            let (m, led) = match self.lead(&world, m) {
                Led::Nowhere if reading == Reading::Loose => match self.likest(&world, m) {
                    Some((other, next)) => (other, Led::World(next)),
                    None => continue,
                },
                Led::Nowhere => continue,
                led => (m.clone(), led),
            };
            moves.push(m);
            match led {
                Led::World(next) => {
                    let shown = self.shows(&next);
                    worlds.push(std::mem::replace(&mut world, next));
                    if shown {
                        return Some(course.with(kept, moves, worlds));
                    }
                }
                Led::Shown | Led::Nowhere => {
                    worlds.push(world);
                    return Some(course.with(kept, moves, worlds));
                }
            }
        }
        match self.target {
            Target::Stuck(_) => self.run_out(course, kept, world, moves, worlds, most),
            Target::Always(_) | Target::Panic => None,
        }
    }

    /// Lets happen what can until nothing can, for a violation that shows in terminal states only.
    fn run_out(
        &self,
        course: &Course<N>,
        kept: usize,
        mut world: World<N>,
        mut moves: Vec<Move<N>>,
        mut worlds: Vec<World<N>>,
        most: usize,
    ) -> Option<Course<N>> {
        while kept + moves.len() < most {
            let mut actions = world.actions(self.system).into_iter().filter(|a| !a.is_fault());
            let (m, next) = actions.find_map(|action| {
                let successors = world.successors(self.system, &action).ok()?;
                successors.into_iter().find_map(|successor| match successor.end {
                    SuccessorEnd::World(next) => {
                        let choices = successor.choices;
                        Some((Move { action: action.clone(), choices }, next))
                    }
                    _ => None,
                })
            })?;
            moves.push(m);
            let shown = self.shows(&next);
            worlds.push(std::mem::replace(&mut world, next));
            if shown {
                return Some(course.with(kept, moves, worlds));
            }
        }
        None
    }

    /// The possible move most like one that is not: of the same kind at the same node, from the same
    /// node, a message or call of the same name, with the same choices.
    fn likest(&self, world: &World<N>, m: &Move<N>) -> Option<(Move<N>, World<N>)> {
        let Action::Step { node, event, keep } = &m.action else { return None };
        let name = match event {
            Event::Message { msg, .. } => format!("{msg:?}"),
            Event::Timer(timer) => format!("{timer:?}"),
            Event::Call { call, .. } => format!("{call:?}"),
            Event::Crash | Event::Restart => return None,
        };
        world.actions(self.system).into_iter().find_map(|action| {
            let Action::Step { node: other_node, event: other, keep: other_keep } = &action else {
                return None;
            };
            let alike = node == other_node
                && keep == other_keep
                && match (event, other) {
                    (Event::Message { from, .. }, Event::Message { from: other, msg }) => {
                        from == other && head(&name) == head(&format!("{msg:?}"))
                    }
                    (Event::Timer(_), Event::Timer(timer)) => {
                        head(&name) == head(&format!("{timer:?}"))
                    }
                    (Event::Call { .. }, Event::Call { call, .. }) => {
                        head(&name) == head(&format!("{call:?}"))
                    }
                    _ => false,
                };
            let other = Move { action: alike.then_some(action)?, choices: m.choices.clone() };
            match self.lead(world, &other) {
                Led::World(next) => Some((other, next)),
                Led::Shown | Led::Nowhere => None,
            }
        })
    }

    /// The run as typed moves. Events are told apart by what they say, so it is followed every way
    /// that it can be read, until one of them violates.
    pub fn trace(&self, run: &Run) -> Result<Course<N>, Error> {
        let Some(first) = self.starts.get(run.start) else {
            return Err(does_not_violate(&format!("there is no initial state {}", run.start)));
        };
        let empty = Course { start: run.start, moves: Vec::new(), worlds: Vec::new() };
        if self.shows(first) {
            return Ok(empty);
        }
        // For each event the ways in which it can be read: the way of reading what comes before,
        // and the move, if it is one.
        let mut readings: Vec<Vec<(usize, Option<Move<N>>)>> = Vec::new();
        let mut worlds = vec![first.clone()];
        for (index, event) in run.events.iter().enumerate() {
            let mut next: Vec<World<N>> = Vec::new();
            let mut ways = Vec::new();
            for (before, world) in worlds.iter().enumerate() {
                for action in world.actions(self.system) {
                    if !action.describe(self.system).same_event(event) {
                        continue;
                    }
                    for successor in world.successors(self.system, &action)? {
                        if successor.choices != event.choices {
                            continue;
                        }
                        let m = Move { action: action.clone(), choices: successor.choices };
                        let (m, led, shown) = match successor.end {
                            SuccessorEnd::Stutter => (None, world.clone(), false),
                            SuccessorEnd::World(led) => {
                                let shown = self.target.shows(self.system, &led)?;
                                (Some(m), led, shown)
                            }
                            SuccessorEnd::Panicked(message) => {
                                if self.target != Target::Panic || message != self.message {
                                    continue;
                                }
                                (Some(m), world.clone(), true)
                            }
                        };
                        if shown {
                            ways.push((before, m));
                            readings.push(ways);
                            return Ok(self.read(empty, first, readings));
                        }
                        if !next.contains(&led) {
                            next.push(led);
                            ways.push((before, m));
                        }
                    }
                }
            }
            if next.is_empty() {
                let why = format!("event {} cannot happen: {event}", index + 1);
                return Err(does_not_violate(&why));
            }
            readings.push(ways);
            worlds = next;
        }
        Err(does_not_violate("it can be carried out, but shows no violation"))
    }

    /// The course whose last move is the last reading of the last event.
    fn read(
        &self,
        empty: Course<N>,
        first: &World<N>,
        mut readings: Vec<Vec<(usize, Option<Move<N>>)>>,
    ) -> Course<N> {
        let mut moves = Vec::new();
        let mut at = readings.last().map_or(0, |ways| ways.len() - 1);
        while let Some(mut ways) = readings.pop() {
            let (before, m) = ways.swap_remove(at);
            moves.extend(m);
            at = before;
        }
        moves.reverse();
        let mut worlds = Vec::new();
        let mut world = first.clone();
        for m in &moves {
            let next = self.lead(&world, m);
            worlds.push(world);
            match next {
                Led::World(next) => world = next,
                Led::Shown | Led::Nowhere => break,
            }
        }
        Course { moves, worlds, ..empty }
    }
}

impl<N: Node> Course<N> {
    /// The first `kept` moves of this course, and then others.
    fn with(&self, kept: usize, moves: Vec<Move<N>>, worlds: Vec<World<N>>) -> Self {
        Course {
            start: self.start,
            moves: self.moves[..kept].iter().cloned().chain(moves).collect(),
            worlds: self.worlds[..kept].iter().cloned().chain(worlds).collect(),
        }
    }
}

fn does_not_violate(why: &str) -> Error {
    Error::Run(format!("the run does not violate what it is said to violate: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Busy(u8);

    impl Node for Busy {
        type Msg = u8;
        type Timer = u8;
        type Call = u8;
        type Output = Never;
        fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
            cx.set_timer(7);
        }
        fn on_message(&mut self, from: Id, msg: u8, cx: &mut Cx<'_, Self>) {
            self.0 = msg;
            if msg > 0 {
                cx.send(from, msg - 1);
            }
        }
        fn on_timer(&mut self, _: u8, cx: &mut Cx<'_, Self>) {
            cx.broadcast(1);
        }
        fn on_call(&mut self, call: u8, cx: &mut Cx<'_, Self>) {
            self.0 = cx.choose(2) as u8;
            cx.broadcast(call);
        }
    }

    fn busy(network: Network) -> System<Busy> {
        System::new([Busy(0), Busy(0), Busy(0)])
            .network(network.drops(1).duplications(1))
            .faults(Faults::none().crashes(1).restarts().partition([vec![0], vec![1, 2]]))
            .calls_in_sequence([(0, 2), (0, 2), (1, 3)])
            .timers(1)
            .never_stuck("so that drops count", view(|n: &Busy| n.0), |_| true)
    }

    #[test]
    fn what_a_world_allows_is_what_it_lists() {
        for network in [Network::unordered(), Network::duplicating(), Network::ordered()] {
            let system = busy(network);
            let Ok(Start::Worlds(mut worlds)) = World::start(&system) else { panic!("no start") };
            let mut actions: Vec<Action<Busy>> = Vec::new();
            let mut at = 0;
            while at < worlds.len().min(150) {
                for action in worlds[at].actions(&system) {
                    for successor in worlds[at].successors(&system, &action).unwrap() {
                        if let SuccessorEnd::World(next) = successor.end {
                            worlds.push(next);
                        }
                    }
                    if !actions.contains(&action) {
                        actions.push(action);
                    }
                }
                at += 1;
            }
            // Every action that was ever possible, in worlds where it is and where it is not.
            let (mut yes, mut no) = (0, 0);
            for world in worlds.iter().step_by(7).take(300) {
                let listed = world.actions(&system);
                for action in &actions {
                    let allowed = world.allows(&system, action);
                    assert_eq!(allowed, listed.contains(action), "{action:?} in {world:?}");
                    if allowed { yes += 1 } else { no += 1 }
                }
            }
            assert!(yes > 1_000 && no > 1_000, "{yes} {no}");
        }
    }
}
