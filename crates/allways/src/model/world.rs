//! Whole global states as values: the reference semantics.
//!
//! A [`World`] holds every local state, the network and the observers as the user's own values,
//! and is cloned for each step. The classic search and replay run on it; the local space runs on
//! integers and must agree with it.

use super::erased::Erased;
use super::event::{Event, Local};
use super::faults::FaultState;
use super::network::NetworkKind;
use super::node::{Id, Node};
use super::observer::Seen;
use super::property::{ErasedTest, Reads};
use super::rebuilt::diverged;
use super::run_event::{RunEvent, RunEventKind};
use super::step::{self, Done, Effect, End, guarded};
use super::system::System;
use crate::error::Error;
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

/// A message or call on its way to a node.
#[derive(Debug)]
pub(crate) struct Envelope<N: Node> {
    pub to: Id,
    pub event: Event<N>,
}

impl<N: Node> Clone for Envelope<N> {
    fn clone(&self) -> Self {
        Envelope { to: self.to, event: self.event.clone() }
    }
}

impl<N: Node> PartialEq for Envelope<N> {
    fn eq(&self, other: &Self) -> bool {
        self.to == other.to && self.event == other.event
    }
}

/// A global state.
#[derive(Debug)]
pub(crate) struct World<N: Node> {
    pub locals: Vec<Local<N>>,
    /// What is in flight in no order, each with its number of copies: messages on unordered and
    /// duplicating networks, calls on all.
    pub flight: Vec<(Envelope<N>, u32)>,
    /// Messages from node `i` to node `j` at `i * nodes + j`, on an ordered network.
    pub queues: Vec<VecDeque<N::Msg>>,
    pub observers: Vec<Erased>,
    pub faults: FaultState,
}

impl<N: Node> Clone for World<N> {
    fn clone(&self) -> Self {
        World {
            locals: self.locals.clone(),
            flight: self.flight.clone(),
            queues: self.queues.clone(),
            observers: self.observers.clone(),
            faults: self.faults,
        }
    }
}

impl<N: Node> PartialEq for World<N> {
    fn eq(&self, other: &Self) -> bool {
        self.faults == other.faults
            && self.flight.len() == other.flight.len()
            && self.locals == other.locals
            && self.queues == other.queues
            && self.observers == other.observers
            && self.flight.iter().all(|entry| other.flight.contains(entry))
    }
}

impl<N: Node> Eq for World<N> {}

impl<N: Node> Hash for World<N> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.faults.hash(hasher);
        self.locals.hash(hasher);
        self.queues.hash(hasher);
        self.observers.hash(hasher);
        // What is in flight has no order: add up.
        let sum = self.flight.iter().fold(0u64, |sum, (envelope, count)| {
            let mut one = rustc_hash::FxHasher::default();
            (envelope.to, &envelope.event, count).hash(&mut one);
            sum.wrapping_add(one.finish())
        });
        sum.hash(hasher);
    }
}

/// Something that can happen in a world.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Action<N: Node> {
    /// A node handles an event; with `keep`, a copy of the message stays in flight.
    Step { node: Id, event: Event<N>, keep: bool },
    /// The network loses a message.
    Drop(Envelope<N>),
    /// The network parts along the cut with this number.
    Partition(usize),
    /// The partition heals.
    Heal,
}

/// What an action may lead to.
pub(crate) struct Successor<N: Node> {
    pub choices: Vec<u32>,
    pub end: SuccessorEnd<N>,
}

pub(crate) enum SuccessorEnd<N: Node> {
    World(World<N>),
    /// Handled, and asked to be counted, though nothing changed.
    Stutter,
    Panicked(String),
}

impl<N: Node> Action<N> {
    /// Whether this is something going wrong: the system may not rely on it to get unstuck.
    pub fn is_fault(&self) -> bool {
        matches!(
            self,
            Action::Step { event: Event::Crash, .. } | Action::Drop(_) | Action::Partition(_)
        )
    }

    /// This action in words; `choices` is left empty.
    pub fn describe(&self, system: &System<N>) -> RunEvent {
        let (kind, node, from, what) = match self {
            Action::Step { node, event, keep } => {
                let (kind, from, what) = match event {
                    Event::Message { from, msg } => {
                        let kind =
                            if *keep { RunEventKind::Duplicate } else { RunEventKind::Message };
                        (kind, Some(from.index()), format!("{msg:?}"))
                    }
                    Event::Timer(timer) => (RunEventKind::Timer, None, format!("{timer:?}")),
                    Event::Call { call, .. } => (RunEventKind::Call, None, format!("{call:?}")),
                    Event::Crash => (RunEventKind::Crash, None, String::new()),
                    Event::Restart => (RunEventKind::Restart, None, String::new()),
                };
                (kind, Some(node.index()), from, what)
            }
            Action::Drop(Envelope { to, event }) => {
                let (from, what) = match event {
                    Event::Message { from, msg } => (Some(from.index()), format!("{msg:?}")),
                    other => (None, other.to_string()),
                };
                (RunEventKind::Drop, Some(to.index()), from, what)
            }
            Action::Partition(cut) => {
                (RunEventKind::Partition, None, None, format!("{:?}", system.faults.cuts[*cut]))
            }
            Action::Heal => (RunEventKind::Heal, None, None, String::new()),
        };
        RunEvent { kind, node, from, what, choices: Vec::new() }
    }
}

/// The start of a system.
pub(crate) enum Start<N: Node> {
    /// One world for each way to choose while starting.
    Worlds(Vec<World<N>>),
    /// A node panicked while starting.
    Panicked(String),
}

impl<N: Node> World<N> {
    /// The initial global states.
    pub fn start(system: &System<N>) -> Result<Start<N>, Error> {
        let nodes = system.nodes.len();
        let mut observers = Vec::new();
        for observer in &system.observers {
            let start = guarded(|| observer.start());
            observers.push(start.map_err(|message| observer_panicked(&message))?);
        }
        let queues = match system.network.kind {
            NetworkKind::Ordered => nodes * nodes,
            NetworkKind::Unordered | NetworkKind::Duplicating => 0,
        };
        let mut empty = World {
            locals: Vec::new(),
            flight: Vec::new(),
            queues: vec![VecDeque::new(); queues],
            observers,
            faults: FaultState {
                crashes: system.faults.crashes,
                drops: if system.explores_drops() { system.network.drops } else { 0 },
                duplications: match system.network.kind {
                    NetworkKind::Duplicating => 0,
                    NetworkKind::Unordered | NetworkKind::Ordered => system.network.duplications,
                },
                partitions: if system.faults.cuts.is_empty() {
                    0
                } else {
                    system.faults.partitions
                },
                cut: 0,
            },
        };
        for (to, event) in system.first_calls() {
            empty.put(Envelope { to, event }, false);
        }
        let mut worlds = vec![empty];
        for id in (0..nodes).map(Id::new) {
            let effects = step::start(system, id)?;
            let mut next = Vec::new();
            for world in worlds {
                for Effect { end, .. } in &effects {
                    let mut world = world.clone();
                    match end {
                        End::Done(done) => {
                            world.locals.push(done.local.clone());
                            world.send(system, id, &done.sends);
                            world.observe_outputs(system, id, &done.outputs)?;
                            next.push(world);
                        }
                        End::Panicked(message) => return Ok(Start::Panicked(message.clone())),
                    }
                }
            }
            worlds = next;
        }
        Ok(Start::Worlds(worlds))
    }

    /// What each node chose on the way to the initial state with this number; empty where none did.
    pub fn start_choices(system: &System<N>, number: usize) -> Result<Vec<Vec<u32>>, Error> {
        let mut choices = Vec::new();
        let mut rest = number;
        // The choices of later nodes vary faster.
        for id in (0..system.nodes.len()).rev().map(Id::new) {
            let effects = step::start(system, id)?;
            choices.push(effects[rest % effects.len()].choices.clone());
            rest /= effects.len();
        }
        choices.reverse();
        Ok(if choices.iter().all(Vec::is_empty) { Vec::new() } else { choices })
    }

    /// The number of the initial state in which each node chose this while it started, if there is
    /// one; the inverse of [`World::start_choices`].
    pub fn start_number(system: &System<N>, choices: &[Vec<u32>]) -> Result<Option<usize>, Error> {
        let mut number = 0usize;
        for (id, choices) in choices.iter().enumerate() {
            let effects = step::start(system, Id::new(id))?;
            match effects.iter().position(|effect| effect.choices == *choices) {
                Some(at) => number = number * effects.len() + at,
                None => return Ok(None),
            }
        }
        Ok(Some(number))
    }

    /// Everything that can happen next. A delivery that changes nothing is among them; it has no
    /// successor.
    pub fn actions(&self, system: &System<N>) -> Vec<Action<N>> {
        let mut actions = Vec::new();
        let step = |node, event| Action::Step { node, event, keep: false };
        for (index, local) in self.locals.iter().enumerate() {
            let id = Id::new(index);
            if local.up {
                if local.fires_left != Some(0) {
                    actions.extend(local.timers.iter().map(|t| step(id, Event::Timer(t.clone()))));
                }
                if self.faults.crashes > 0 {
                    actions.push(step(id, Event::Crash));
                }
            } else if system.faults.restarts {
                actions.push(step(id, Event::Restart));
            }
        }
        let mut messages: Vec<Envelope<N>> = Vec::new();
        for (envelope, _) in &self.flight {
            match envelope.event {
                Event::Message { .. } => messages.push(envelope.clone()),
                _ => actions.push(step(envelope.to, envelope.event.clone())),
            }
        }
        let nodes = self.locals.len();
        for (channel, queue) in self.queues.iter().enumerate() {
            let (from, to) = (Id::new(channel / nodes), Id::new(channel % nodes));
            messages.extend(queue.front().map(|msg| {
                let event = Event::Message { from, msg: msg.clone() };
                Envelope { to, event }
            }));
        }
        for Envelope { to, event } in messages {
            actions.push(step(to, event.clone()));
            if self.faults.duplications > 0 {
                actions.push(Action::Step { node: to, event: event.clone(), keep: true });
            }
            if self.faults.drops > 0 {
                actions.push(Action::Drop(Envelope { to, event }));
            }
        }
        if self.faults.cut > 0 {
            actions.push(Action::Heal);
        } else if self.faults.partitions > 0 {
            actions.extend((0..system.faults.cuts.len()).map(Action::Partition));
        }
        actions
    }

    /// Whether an action is among [`World::actions`], without listing them.
    pub fn allows(&self, system: &System<N>, action: &Action<N>) -> bool {
        let faults = &self.faults;
        match action {
            Action::Step { node, event, keep } => {
                let Some(local) = self.locals.get(node.index()) else { return false };
                match event {
                    Event::Timer(timer) => {
                        local.up && local.fires_left != Some(0) && local.timers.contains(timer)
                    }
                    Event::Crash => local.up && faults.crashes > 0,
                    Event::Restart => !local.up && system.faults.restarts,
                    Event::Message { .. } => {
                        (!keep || faults.duplications > 0) && self.carries(*node, event)
                    }
                    Event::Call { .. } => self.carries(*node, event),
                }
            }
            Action::Drop(envelope) => {
                faults.drops > 0 && self.carries(envelope.to, &envelope.event)
            }
            Action::Partition(cut) => {
                faults.cut == 0 && faults.partitions > 0 && *cut < system.faults.cuts.len()
            }
            Action::Heal => faults.cut > 0,
        }
    }

    /// Whether the network has this for a node, ready to be handled.
    pub fn carries(&self, to: Id, event: &Event<N>) -> bool {
        match event {
            Event::Message { from, msg } if !self.queues.is_empty() => {
                let channel = from.index() * self.locals.len() + to.index();
                self.queues.get(channel).is_some_and(|queue| queue.front() == Some(msg))
            }
            _ => self.flight.iter().any(|(other, _)| other.to == to && other.event == *event),
        }
    }

    /// All worlds that an action of this world may lead to.
    pub fn successors(
        &self,
        system: &System<N>,
        action: &Action<N>,
    ) -> Result<Vec<Successor<N>>, Error> {
        let mut next = self.clone();
        match action {
            Action::Step { node, event, keep } => {
                return self.steps(system, *node, event, *keep);
            }
            Action::Drop(envelope) => {
                next.faults.drops -= 1;
                next.take(envelope);
            }
            Action::Partition(cut) => {
                next.faults.partitions -= 1;
                next.faults.cut = *cut as u8 + 1;
                next.lose_across(system);
            }
            Action::Heal => {
                let cut = usize::from(std::mem::take(&mut next.faults.cut)) - 1;
                for (from, to, msg) in system.greetings(cut) {
                    next.send(system, from, &[(to, msg)]);
                }
            }
        }
        Ok(vec![Successor { choices: Vec::new(), end: SuccessorEnd::World(next) }])
    }

    fn steps(
        &self,
        system: &System<N>,
        id: Id,
        event: &Event<N>,
        keep: bool,
    ) -> Result<Vec<Successor<N>>, Error> {
        let local = &self.locals[id.index()];
        let on_queue =
            matches!(event, Event::Message { .. }) && system.network.kind == NetworkKind::Ordered;
        let mut effects = step::effects(system, id, local, event)?;
        let lost = effects.is_empty() && on_queue;
        if lost {
            // The node is down: the message is lost at its door.
            let done =
                Done { local: local.clone(), sends: vec![], outputs: vec![], stutter: false };
            effects.push(Effect { choices: Vec::new(), end: End::Done(done) });
        }
        let mut successors = Vec::new();
        for Effect { choices, end } in effects {
            let end = match end {
                End::Panicked(message) => SuccessorEnd::Panicked(message),
                End::Done(done) => {
                    let mut next = self.clone();
                    if !lost {
                        next.observe_step(system, id, event, &done.outputs)?;
                    }
                    let released = match event {
                        Event::Call { next: Some(position), .. } => {
                            system.call_at(position.script as usize, position.at as usize)
                        }
                        _ => None,
                    };
                    let trivial = done.local == *local
                        && done.sends.is_empty()
                        && released.is_none()
                        && next.observers == self.observers;
                    if trivial && (!on_queue || keep) {
                        if !done.stutter {
                            continue;
                        }
                        SuccessorEnd::Stutter
                    } else {
                        next.consume(system, id, event, keep);
                        next.locals[id.index()] = done.local;
                        next.send(system, id, &done.sends);
                        if let Some((to, event)) = released {
                            next.put(Envelope { to, event }, false);
                        }
                        SuccessorEnd::World(next)
                    }
                }
            };
            successors.push(Successor { choices, end });
        }
        Ok(successors)
    }

    /// Pays for an event: with the envelope, or with a fault budget.
    fn consume(&mut self, system: &System<N>, id: Id, event: &Event<N>, keep: bool) {
        match event {
            Event::Crash => self.faults.crashes -= 1,
            Event::Message { .. } if keep => self.faults.duplications -= 1,
            Event::Message { .. } if system.network.kind == NetworkKind::Duplicating => {}
            Event::Message { .. } | Event::Call { .. } => {
                self.take(&Envelope { to: id, event: event.clone() });
            }
            Event::Timer(_) | Event::Restart => {}
        }
    }

    /// Removes one copy of an envelope from the network.
    fn take(&mut self, envelope: &Envelope<N>) {
        if let (false, Event::Message { from, .. }) = (self.queues.is_empty(), &envelope.event) {
            let channel = from.index() * self.locals.len() + envelope.to.index();
            self.queues[channel].pop_front();
        } else if let Some(at) = self.flight.iter().position(|(other, _)| other == envelope) {
            self.flight[at].1 -= 1;
            if self.flight[at].1 == 0 {
                self.flight.swap_remove(at);
            }
        }
    }

    /// Adds an envelope to what is in flight in no order.
    fn put(&mut self, envelope: Envelope<N>, as_set: bool) {
        match self.flight.iter_mut().find(|(other, _)| *other == envelope) {
            Some((_, count)) if !as_set => *count += 1,
            Some(_) => {}
            None => self.flight.push((envelope, 1)),
        }
    }

    fn send(&mut self, system: &System<N>, from: Id, sends: &[(Id, N::Msg)]) {
        let nodes = system.nodes.len();
        for (to, msg) in sends {
            if self.parted(system, from, *to) {
                continue;
            }
            if system.network.kind == NetworkKind::Ordered {
                self.queues[from.index() * nodes + to.index()].push_back(msg.clone());
            } else {
                let event = Event::Message { from, msg: msg.clone() };
                let as_set = system.network.kind == NetworkKind::Duplicating;
                self.put(Envelope { to: *to, event }, as_set);
            }
        }
    }

    fn parted(&self, system: &System<N>, a: Id, b: Id) -> bool {
        let cut = usize::from(self.faults.cut).checked_sub(1);
        cut.is_some_and(|cut| system.faults.cuts[cut].parts(a.index(), b.index()))
    }

    fn lose_across(&mut self, system: &System<N>) {
        let whole = self.clone();
        self.flight.retain(|(envelope, _)| match envelope.event {
            Event::Message { from, .. } => !whole.parted(system, from, envelope.to),
            _ => true,
        });
        let nodes = self.locals.len();
        for (channel, queue) in self.queues.iter_mut().enumerate() {
            if whole.parted(system, Id::new(channel / nodes), Id::new(channel % nodes)) {
                queue.clear();
            }
        }
    }

    fn observe_outputs(
        &mut self,
        system: &System<N>,
        node: Id,
        outputs: &[N::Output],
    ) -> Result<(), Error> {
        for output in outputs {
            self.see(system, Seen::Output { node, output })?;
        }
        Ok(())
    }

    fn observe_step(
        &mut self,
        system: &System<N>,
        node: Id,
        event: &Event<N>,
        outputs: &[N::Output],
    ) -> Result<(), Error> {
        if system.observers.is_empty() {
            return Ok(());
        }
        self.see(system, seen(node, event))?;
        self.observe_outputs(system, node, outputs)
    }

    fn see(&mut self, system: &System<N>, seen: Seen<'_, N>) -> Result<(), Error> {
        for (observer, state) in system.observers.iter().zip(&mut self.observers) {
            let next = guarded(|| observer.wants(&seen).then(|| observer.observe(state, seen)))
                .map_err(|message| observer_panicked(&message))?;
            if let Some(next) = next {
                *state = next;
            }
        }
        Ok(())
    }

    /// What the property with this number reads here.
    pub fn reads(&self, system: &System<N>, property: usize) -> Result<Vec<Erased>, Error> {
        let property = &system.properties[property];
        match &property.reads {
            Reads::Views { view, .. } => {
                guarded(|| self.locals.iter().map(|local| view(&local.node)).collect())
                    .map_err(|message| property_panicked(&property.name, &message))
            }
            Reads::Observer { observer, .. } => Ok(vec![self.observers[*observer].clone()]),
        }
    }

    /// Whether the test of the property with this number is true here.
    pub fn test(&self, system: &System<N>, property: usize) -> Result<bool, Error> {
        let reads = self.reads(system, property)?;
        test(system, property, &reads)
    }

    /// Whether only the bound on timers keeps something from happening.
    pub fn is_withheld(&self) -> bool {
        self.locals.iter().any(Local::is_withheld)
    }

    /// Whether nothing can happen here but a fault. What only the bound on timers keeps from
    /// happening could.
    pub fn is_terminal(&self, system: &System<N>) -> Result<bool, Error> {
        if self.is_withheld() {
            return Ok(false);
        }
        for action in self.actions(system) {
            if !action.is_fault()
                && self
                    .successors(system, &action)?
                    .iter()
                    .any(|successor| !matches!(successor.end, SuccessorEnd::Stutter))
            {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// An event as observers see it.
pub(crate) fn seen<N: Node>(node: Id, event: &Event<N>) -> Seen<'_, N> {
    match event {
        Event::Message { from, msg } => Seen::Delivery { from: *from, node, msg },
        Event::Timer(timer) => Seen::Timer { node, timer },
        Event::Call { call, .. } => Seen::Call { node, call },
        Event::Crash => Seen::Crash { node },
        Event::Restart => Seen::Restart { node },
    }
}

/// Applies the test of a property to what it reads.
pub(crate) fn test<N: Node>(
    system: &System<N>,
    property: usize,
    reads: &[Erased],
) -> Result<bool, Error> {
    let property = &system.properties[property];
    let (Reads::Views { test, .. } | Reads::Observer { test, .. }) = &property.reads;
    guarded(|| test(reads)).map_err(|message| property_panicked(&property.name, &message))
}

/// Which conjuncts of a property are true of what it reads: a bit for each.
pub(crate) fn conjuncts<N: Node>(
    system: &System<N>,
    property: usize,
    reads: &[Erased],
) -> Result<u64, Error> {
    let property = &system.properties[property];
    let bits = || {
        let bit = |(at, (_, test)): (usize, &(_, ErasedTest))| u64::from(test(reads)) << at;
        property.conjuncts.iter().enumerate().map(bit).sum()
    };
    guarded(bits).map_err(|message| property_panicked(&property.name, &message))
}

pub(crate) fn property_panicked(name: &str, message: &str) -> Error {
    // A view may read a state that cannot be rebuilt: then it is a handler that went wrong.
    diverged(message).unwrap_or_else(|| Error::Panicked {
        what: format!("property `{name}`"),
        message: message.to_owned(),
    })
}

pub(crate) fn observer_panicked(message: &str) -> Error {
    Error::Panicked { what: "an observer".to_owned(), message: message.to_owned() }
}
