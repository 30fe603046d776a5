//! The components together: a walk through the product of their automata with the network.
//!
//! A *point* of the product is a set of configurations for each component, what is in flight between them, what observers know and what is left of the
//! budgets. It stands for all global states that have one configuration of each set: see [the engine](super) for why all of them are
//! reachable, and no others.

use super::antichain::Antichains;
use super::automaton::{Automaton, SubsetId};
use super::configuration::{Components, ConfigurationId, LabelId, NONE};
use crate::engine::budget::Budget;
use crate::engine::goals::{Sighting, Sightings};
use crate::engine::{Findings, Found, FoundWhat, nothing_left};
use crate::error::Error;
use crate::model::faults::FaultState;
use crate::model::network::NetworkKind;
use crate::outcome::{Bound, Run, Statistics};
use crate::space::{EventId, Source, Space, StepEnd};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

/// So often somebody looks at the clock: after so many points or new configurations.
const WORK_A_PULSE: usize = 256;

/// How a point was reached first.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    Start(usize),
    /// A component moved; whether what it took from outside stays there.
    Move {
        component: usize,
        label: LabelId,
        keep: bool,
    },
    Drop(EventId),
    Partition(usize),
    Heal,
}

/// Where something is taken from.
#[derive(Clone, Copy)]
pub(super) enum Taken {
    Nothing,
    Flight(EventId),
    Queue(usize),
}

pub(super) struct Product<'s> {
    pub space: &'s dyn Space,
    pub components: Rc<Components>,
    pub automata: Vec<Automaton<'s>>,
    budget: &'s Budget,
    /// For each point: budgets, a set for each component, observers, queues, what is in flight.
    pub points: Vec<Rc<[u32]>>,
    /// How many numbers all these have together.
    in_points: usize,
    known: FxHashSet<Rc<[u32]>>,
    /// Which of them cover others, if those are to be left out.
    antichains: Option<Antichains>,
    /// Points that another came to cover before they were gone on from.
    covered: FxHashSet<u32>,
    /// For each point, the one before it, and the depth.
    pub came: Vec<(u32, u32, Way)>,
    pub starts: Vec<Vec<ConfigurationId>>,
    edges: u64,
    /// From so many points, the first ones, it has gone on, or has begun to.
    expanded: usize,
    /// Whether all there was to find was found.
    is_over: bool,
    /// Points and configurations when somebody last looked at the clock.
    pulsed_at: usize,
    /// Combinations of sets of views that were looked at, and of views that were tested.
    pub looked_at: FxHashSet<Box<[u32]>>,
    pub tested: FxHashMap<Box<[u32]>, bool>,
    pub goals: Sightings<Run>,
    /// Which goal a property is, if it names its conjuncts.
    pub goal_of: Vec<Option<usize>>,
    pub found: Findings,
}

impl<'s> Product<'s> {
    pub fn new(
        space: &'s dyn Space,
        components: Rc<Components>,
        automata: Vec<Automaton<'s>>,
        budget: &'s Budget,
    ) -> Self {
        let counts = space.conjunct_counts();
        let goals = || counts.iter().copied().enumerate().filter(|&(_, conjuncts)| conjuncts > 0);
        Product {
            space,
            components,
            automata,
            budget,
            points: Vec::new(),
            in_points: 0,
            known: FxHashSet::default(),
            antichains: None,
            covered: FxHashSet::default(),
            came: Vec::new(),
            starts: Vec::new(),
            edges: 0,
            expanded: 0,
            is_over: false,
            pulsed_at: 0,
            looked_at: FxHashSet::default(),
            tested: FxHashMap::default(),
            goals: Sightings::of(goals()),
            goal_of: (0..counts.len()).map(|it| goals().position(|(goal, _)| goal == it)).collect(),
            found: Findings {
                witnesses: vec![None; space.layout().properties.len()],
                ..Findings::default()
            },
        }
    }

    /// Leaves out points that others cover.
    pub fn with_antichains(self) -> Self {
        Product { antichains: Some(Antichains::default()), ..self }
    }

    /// Where the sets, the observers, the queues and what is in flight begin.
    pub fn places(&self) -> [usize; 4] {
        let layout = self.space.layout();
        let sets = if layout.has_faults { 3 } else { 0 };
        let observers = sets + self.automata.len();
        let queues = observers + layout.observers;
        let flight = match layout.network {
            NetworkKind::Ordered => queues + layout.nodes * layout.nodes,
            _ => queues,
        };
        [sets, observers, queues, flight]
    }

    /// Begins with these initial states.
    pub fn begin(&mut self, vectors: &[Vec<u32>]) -> Result<(), Error> {
        for (start, vector) in vectors.iter().enumerate() {
            self.is_over = self.is_over || self.start(start, vector)?;
        }
        Ok(())
    }

    /// Goes on from one more point; false if there is nothing left to do.
    pub fn step(&mut self) -> Result<bool, Error> {
        if self.is_over || self.expanded == self.points.len() {
            return Ok(false);
        }
        let work = self.expanded + self.configurations();
        if self.found.bound.is_none() && work >= self.pulsed_at {
            self.pulsed_at = work + WORK_A_PULSE;
            self.found.bound = self.pulse();
        }
        if u64::from(self.came[self.expanded].1) >= self.budget.max_depth {
            self.found.bound.get_or_insert(Bound::Depth);
        }
        if self.found.bound.is_some() {
            return Ok(false);
        }
        let number = self.expanded as u32;
        self.expanded += 1;
        if !self.covered.contains(&number) {
            self.is_over = self.expand(number)?;
        }
        Ok(true)
    }

    /// What has come of it.
    pub fn finish(mut self) -> Findings {
        let costs = self.space.costs();
        let configurations = self.configurations();
        self.pulse();
        self.found.statistics = Statistics {
            unique_states: Some((self.points.len() - self.covered.len()) as u64),
            generated_states: Some(self.edges + self.starts.len() as u64),
            transitions: Some(self.edges),
            handler_executions: Some(costs.handler_executions),
            guard_executions: Some(costs.guard_executions),
            replayed_handlers: Some(costs.replayed_handlers),
            local_states: Some(configurations as u64),
            local_events: Some(costs.local_events),
            system_states: Some(self.tested.len() as u64),
            depth: self.came.iter().map(|(_, depth, _)| u64::from(*depth)).max(),
            user_time: Some(std::time::Duration::from_nanos(costs.user_nanos)),
            ..Statistics::default()
        };
        if self.found.violation.is_none() && self.found.bound.is_none() {
            let properties = self.space.layout().properties.iter().zip(&self.found.witnesses);
            self.found.stopped_early =
                nothing_left(properties.map(|((kind, _), witness)| (*kind, witness.is_some())));
        }
        let goals = self.goals.into_goals().into_iter().map(Sighting::found);
        Findings { goals: goals.collect(), ..self.found }
    }

    /// How many configurations were met.
    fn configurations(&self) -> usize {
        self.automata.iter().map(|it| it.configurations.len()).sum()
    }

    pub fn pulse(&self) -> Option<Bound> {
        let progress = &self.budget.progress;
        let automata: u64 = self.automata.iter().map(Automaton::bytes).sum();
        let index = self.antichains.as_ref().map_or(0, Antichains::bytes);
        let memory = automata + index + (self.in_points * 4 + self.points.len() * 96) as u64;
        progress.states.store(self.points.len() as u64, Relaxed);
        progress.generated.store(self.edges, Relaxed);
        progress.memory.store(memory, Relaxed);
        let depth = self.came.last().map_or(0, |(_, depth, _)| u64::from(*depth));
        progress.depth.store(depth, Relaxed);
        let states = self.points.len().max(self.configurations());
        self.budget.reached(states as u64, memory)
    }

    fn start(&mut self, start: usize, vector: &[u32]) -> Result<bool, Error> {
        let layout = self.space.layout();
        let mut point = Vec::new();
        if layout.has_faults {
            point.extend_from_slice(&vector[..3]);
        }
        let mut configurations = Vec::new();
        for automaton in &mut self.automata {
            let configuration = automaton.configurations.initial(vector);
            configurations.push(configuration);
            point.push(automaton.closed(&[configuration])?);
        }
        self.starts.push(configurations);
        point.extend_from_slice(&vector[layout.observer_base..][..layout.observers]);
        if layout.network == NetworkKind::Ordered {
            for pair in 0..layout.nodes * layout.nodes {
                let (from, to) = (pair / layout.nodes, pair % layout.nodes);
                let queue = vector[layout.queue_base + pair];
                point.push(if self.components.keeps(from, to) { 0 } else { queue });
            }
        }
        let first = point.len();
        let outside = |&&event: &&EventId| {
            !self.components.is_inside(self.space, event, layout.event_node(event))
        };
        point.extend(layout.flight(vector).iter().filter(outside));
        point[first..].sort_unstable();
        self.visit(point, NONE, Way::Start(start))
    }

    /// Comes to a point; true if the search is over.
    fn visit(&mut self, point: Vec<u32>, from: u32, way: Way) -> Result<bool, Error> {
        if self.known.contains(&point[..]) {
            return Ok(false);
        }
        let depth = if from == NONE { 0 } else { self.came[from as usize].1 + 1 };
        let number = self.points.len() as u32;
        if self.is_covered(&point, number, depth) {
            return Ok(false);
        }
        let point: Rc<[u32]> = point.into();
        self.known.insert(Rc::clone(&point));
        self.in_points += point.len();
        self.points.push(point);
        self.came.push((from, depth, way));
        self.check(number)
    }

    /// Whether a new point is left out because another covers it. If not, those that wait and that it covers are.
    fn is_covered(&mut self, point: &[u32], number: u32, depth: u32) -> bool {
        let [sets, observers, ..] = self.places();
        let Some(antichains) = &mut self.antichains else { return false };
        let rest = [&point[..sets], &point[observers..]].concat();
        let sets = &point[sets..observers];
        if antichains.covers(&rest, sets, &self.automata) {
            return true;
        }
        for other in antichains.insert(&rest, sets, number, &self.automata) {
            // Where depth is bounded, what is reached sooner goes farther.
            let is_as_far =
                self.budget.max_depth == u64::MAX || self.came[other as usize].1 >= depth;
            if other as usize >= self.expanded && is_as_far {
                self.covered.insert(other);
            }
        }
        false
    }

    fn faults(&self, point: &[u32]) -> FaultState {
        self.space.layout().faults(point)
    }

    fn is_message(&self, event: EventId) -> bool {
        matches!(self.space.event(event).source, Source::Node(_))
    }

    /// What is in flight for components, and where it would be taken from.
    pub fn available(&self, point: &[u32]) -> Vec<(EventId, Taken)> {
        let [_, _, queues, flight] = self.places();
        let mut all: Vec<(EventId, Taken)> =
            point[flight..].iter().map(|&event| (event, Taken::Flight(event))).collect();
        all.dedup_by_key(|(event, _)| *event);
        for (place, &queue) in point.iter().enumerate().take(flight).skip(queues) {
            if let Some(event) = self.space.queues().head(queue) {
                all.push((event, Taken::Queue(place)));
            }
        }
        all
    }

    /// What observers know after a step, and whether that is something else.
    fn observed(&self, point: &[u32], feed: u32) -> Result<(Vec<u32>, bool), Error> {
        let [_, observers, queues, _] = self.places();
        let before = &point[observers..queues];
        if feed == 0 {
            return Ok((before.to_vec(), false));
        }
        let after = before.iter().enumerate().map(|(o, &state)| self.space.observe(o, state, feed));
        let after: Vec<u32> = after.collect::<Result<_, _>>()?;
        let has_moved = after != before;
        Ok((after, has_moved))
    }

    /// Whether a move with this label is a step at a point.
    pub fn is_step(
        &self,
        point: &[u32],
        component: usize,
        label: LabelId,
        is_popped: bool,
    ) -> Result<bool, Error> {
        let label = &self.automata[component].configurations.labels[label as usize];
        Ok(!label.is_trivial || is_popped || self.observed(point, label.feed)?.1)
    }

    /// Goes on from a point; true if the search is over.
    fn expand(&mut self, number: u32) -> Result<bool, Error> {
        let point = Rc::clone(&self.points[number as usize]);
        let faults = self.faults(&point);
        let [sets, ..] = self.places();
        for component in 0..self.automata.len() {
            let subset = point[sets + component];
            if self.panics(number, component, None, faults)? {
                return Ok(true);
            }
            for &(label, to) in &*self.automata[component].own(subset)? {
                let is_crash =
                    self.automata[component].configurations.labels[label as usize].is_crash;
                if (!is_crash || faults.crashes > 0)
                    && self.follow(number, (component, label, to), Taken::Nothing, false)?
                {
                    return Ok(true);
                }
            }
        }
        for (event, taken) in self.available(&point) {
            let component = self.components.of[self.space.layout().event_node(event)].0;
            let subset = point[sets + component];
            if self.panics(number, component, Some(event), faults)? {
                return Ok(true);
            }
            for &(label, to) in &*self.automata[component].input(subset, event)? {
                let edge = (component, label, to);
                let may_stay = faults.duplications > 0 && self.is_message(event);
                if self.follow(number, edge, taken, false)?
                    || may_stay && self.follow(number, edge, taken, true)?
                {
                    return Ok(true);
                }
            }
            if faults.drops > 0 && self.is_message(event) && self.lose(number, event, taken)? {
                return Ok(true);
            }
        }
        if self.part_or_heal(number, faults)? {
            return Ok(true);
        }
        if self.wants_ends() && faults.cut == 0 { self.judge_end(number) } else { Ok(false) }
    }

    /// A component moves.
    fn follow(
        &mut self,
        number: u32,
        (component, label, to): (usize, LabelId, SubsetId),
        taken: Taken,
        keep: bool,
    ) -> Result<bool, Error> {
        let point = Rc::clone(&self.points[number as usize]);
        let is_popped = matches!(taken, Taken::Queue(_)) && !keep;
        if !self.is_step(&point, component, label, is_popped)? {
            return Ok(false);
        }
        self.edges += 1;
        let [sets, observers, queues, flight] = self.places();
        let (space, layout) = (self.space, self.space.layout());
        let key = |event: EventId| space.event(event).key;
        let its = self.automata[component].configurations.labels[label as usize].clone();
        let faults = self.faults(&point);
        let mut after = point.to_vec();
        after[sets + component] = to;
        after[observers..queues].copy_from_slice(&self.observed(&point, its.feed)?.0);
        match taken {
            Taken::Queue(place) if !keep => after[place] = space.queues().pop(after[place], key),
            Taken::Flight(event)
                if !keep
                    && (layout.network == NetworkKind::Unordered || !self.is_message(event)) =>
            {
                take_out(&mut after, flight, event);
            }
            _ => {}
        }
        self.send(&its.sends, &mut after);
        if its.is_crash || keep {
            let mut left = faults;
            left.crashes -= u8::from(its.is_crash);
            left.duplications -= u8::from(keep);
            layout.set_faults(&mut after, left);
        }
        self.visit(after, number, Way::Move { component, label, keep })
    }

    /// Puts in flight what is sent, where no partition is in between.
    fn send(&self, sends: &[EventId], point: &mut Vec<u32>) {
        let [.., queues, flight] = self.places();
        let (space, layout) = (self.space, self.space.layout());
        let faults = self.faults(point);
        for &send in sends {
            let to = layout.event_node(send);
            match space.event(send).source {
                Source::Node(from) if layout.parted(faults, from, to as u32) => {}
                Source::Node(from) if layout.network == NetworkKind::Ordered => {
                    let queue = &mut point[queues + from as usize * layout.nodes + to];
                    *queue = space.queues().push(*queue, send, |event| space.event(event).key);
                }
                Source::Node(_)
                    if layout.network == NetworkKind::Duplicating
                        && point[flight..].contains(&send) => {}
                _ => point.push(send),
            }
        }
        point[flight..].sort_unstable();
    }

    /// The network loses a message.
    fn lose(&mut self, number: u32, event: EventId, taken: Taken) -> Result<bool, Error> {
        let space = self.space;
        let mut after = self.points[number as usize].to_vec();
        let [.., flight] = self.places();
        match taken {
            Taken::Queue(place) => {
                after[place] = space.queues().pop(after[place], |event| space.event(event).key);
            }
            _ => take_out(&mut after, flight, event),
        }
        let mut left = self.faults(&after);
        left.drops -= 1;
        space.layout().set_faults(&mut after, left);
        self.edges += 1;
        self.visit(after, number, Way::Drop(event))
    }

    fn part_or_heal(&mut self, number: u32, faults: FaultState) -> Result<bool, Error> {
        let layout = self.space.layout();
        if faults.cut > 0 {
            let mut after = self.points[number as usize].to_vec();
            layout.set_faults(&mut after, FaultState { cut: 0, ..faults });
            self.send(&layout.greetings[usize::from(faults.cut) - 1], &mut after);
            self.edges += 1;
            return self.visit(after, number, Way::Heal);
        }
        if faults.partitions == 0 {
            return Ok(false);
        }
        let [_, _, queues, flight] = self.places();
        for cut in 0..layout.cuts.len() {
            let partitions = faults.partitions - 1;
            let left = FaultState { cut: cut as u8 + 1, partitions, ..faults };
            let point = Rc::clone(&self.points[number as usize]);
            let mut after = point[..flight].to_vec();
            layout.set_faults(&mut after, left);
            for pair in 0..flight - queues {
                let (from, to) = (pair / layout.nodes, pair % layout.nodes);
                if layout.parted(left, from as u32, to as u32) {
                    after[queues + pair] = 0;
                }
            }
            after.extend(point[flight..].iter().filter(|&&event| {
                let to = layout.event_node(event) as u32;
                match self.space.event(event).source {
                    Source::Node(from) => !layout.parted(left, from, to),
                    _ => true,
                }
            }));
            self.edges += 1;
            if self.visit(after, number, Way::Partition(cut))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Looks for a handler that panics: on what comes from outside, or on something of its own.
    fn panics(
        &mut self,
        number: u32,
        component: usize,
        event: Option<EventId>,
        faults: FaultState,
    ) -> Result<bool, Error> {
        let [sets, ..] = self.places();
        let subset = self.points[number as usize][sets + component];
        for &configuration in &*self.automata[component].members(subset) {
            let configurations = &mut self.automata[component].configurations;
            let moves = match event {
                None => configurations.own(configuration)?,
                Some(event) => configurations.input(configuration, event)?,
            };
            for it in moves.iter().filter(|it| it.to == NONE) {
                if configurations.labels[it.label as usize].is_crash && faults.crashes == 0 {
                    continue;
                }
                let place = self.components.of[self.space.layout().event_node(it.event)].1;
                let state = configurations.state(configuration, place);
                let steps = self.space.steps(state, it.event)?;
                let message = steps.iter().find_map(|step| match &step.end {
                    StepEnd::Panicked(message) if step.choices == it.choices => Some(message),
                    _ => None,
                });
                let message = message.map_or_else(String::new, ToString::to_string);
                let mut aim: Vec<Option<ConfigurationId>> = vec![None; self.automata.len()];
                aim[component] = Some(configuration);
                let mut run = self.run_to(number, &aim)?;
                run.events.push(self.describe(it.event, &it.choices, false));
                self.found.violation = Some(Found { what: FoundWhat::Panic(message), run });
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn take_out(point: &mut Vec<u32>, flight: usize, event: EventId) {
    if let Some(at) = point[flight..].iter().position(|&other| other == event) {
        point.remove(flight + at);
    }
}
