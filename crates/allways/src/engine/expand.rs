//! Successors of a global state, as numbers. Written once for every engine that has vectors.
//!
//! Expanding a state lists [`Candidate`]s with their fingerprints; most cost one addition, the
//! difference that a local step makes, and need no vector. Only a candidate that turns out to be
//! new is made into one, by [`Expander::apply`].

use crate::error::Error;
use crate::model::faults::FaultState;
use crate::model::network::NetworkKind;
use crate::model::run_event::RunEvent;
use crate::space::memo::{FIRST, Memo, NOTHING, STUTTER, flag};
use crate::space::vector::{Layout, faults_key, put};
use crate::space::{EventId, FeedId, Happening, Space, StepEnd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What may happen next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    /// The fingerprint of where it leads; meaningless for a panic.
    pub fingerprint: u64,
    /// The number of the expanded state, as the engine likes it.
    pub parent: u32,
    /// The event, or the number of the cut.
    pub event: u32,
    /// The code of the step, for one.
    pub code: u32,
    /// Where in flight the event is, if that is known.
    at: u16,
    pub kind: Kind,
    /// What must be looked at if it is new.
    pub touches: Touches,
}

/// A place for what is not in flight.
const NO_PLACE: usize = u16::MAX as usize;

/// What kind of thing happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Something in flight is handled.
    Flight,
    /// The same, and a copy stays in flight.
    FlightKept,
    /// The first of a queue is handled.
    Queue,
    /// The same, and it stays there.
    QueueKept,
    /// A timer fires, a node restarts.
    Inside,
    Crash,
    /// Something in flight is lost.
    DropFlight,
    /// The first of a queue is lost.
    DropQueue,
    Partition,
    Heal,
}

impl Kind {
    fn is_fault(self) -> bool {
        matches!(self, Kind::Crash | Kind::DropFlight | Kind::DropQueue | Kind::Partition)
    }
}

/// What of a state differs from its parent, so that a check can skip the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Touches {
    /// Nothing that a property reads.
    Nothing,
    /// Something that a property reads.
    Reads,
    /// There is no new state: the handler panics.
    Panic,
    /// There is no new state: it is known to have been met.
    Known,
}

/// What an expansion has found besides candidates.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Expansion {
    /// Generated states that are the state itself.
    pub stutters: u64,
    /// Whether anything can happen but a fault.
    pub goes_on: bool,
    /// Whether some candidate panics.
    pub panics: bool,
}

/// Expands global states. One for each thread.
pub(crate) struct Expander<'s> {
    pub memo: Memo<'s>,
    layout: &'s Layout,
    scratch: Vec<u32>,
    /// Whether there is anything that can happen without anything in flight.
    acts_alone: &'s AtomicBool,
    hits: Vec<u32>,
}

impl<'s> Expander<'s> {
    pub fn new(space: &'s dyn Space, exact: bool) -> Self {
        let layout = space.layout();
        Expander {
            memo: Memo::new(space, exact),
            layout,
            scratch: Vec::new(),
            acts_alone: space.acts_alone(),
            hits: Vec::new(),
        }
    }

    pub fn layout(&self) -> &'s Layout {
        self.layout
    }

    /// Appends everything that may happen in `vector` to `candidates`.
    #[inline]
    pub fn expand(
        &mut self,
        vector: &[u32],
        fingerprint: u64,
        parent: u32,
        candidates: &mut Vec<Candidate>,
    ) -> Result<Expansion, Error> {
        let layout = self.layout;
        let faults = layout.faults(vector);
        let mut all = Listing {
            vector,
            states: &vector[layout.node_base..][..layout.nodes],
            fingerprint,
            parent,
            faults,
            candidates,
            found: Expansion::default(),
        };
        let flight = &vector[layout.flight_base..];
        let mut hits = std::mem::take(&mut self.hits);
        let count = self.memo.sift(all.states, flight, &mut hits);
        if faults.crashes > 0 || self.acts_alone.load(Relaxed) {
            self.internal(&mut all)?;
        }
        for &at in &hits[..count] {
            let (at, event) = (at as usize, flight[at as usize]);
            // Of equal events, which are side by side, the first.
            if at == 0 || flight[at - 1] != event {
                self.steps(&mut all, event, at, Kind::Flight)?;
            }
        }
        self.hits = hits;
        if faults.drops > 0 || faults.duplications > 0 {
            for (at, &event) in flight.iter().enumerate() {
                let again = at > 0 && flight[at - 1] == event;
                if !again && self.memo.event(event).is_message() {
                    self.mishaps(&mut all, event, Kind::FlightKept, Kind::DropFlight)?;
                }
            }
        }
        for &queue in &vector[layout.queue_base..layout.flight_base] {
            if let Some(event) = self.memo.head(queue) {
                self.steps(&mut all, event, NO_PLACE, Kind::Queue)?;
                if layout.has_faults {
                    self.mishaps(&mut all, event, Kind::QueueKept, Kind::DropQueue)?;
                }
            }
        }
        if faults.cut > 0 {
            self.other(&mut all, 0, Kind::Heal)?;
        } else if faults.partitions > 0 {
            for cut in 0..layout.cuts.len() {
                self.other(&mut all, cut as u32, Kind::Partition)?;
            }
        }
        Ok(all.found)
    }

    /// What can happen without anything in flight.
    fn internal(&mut self, all: &mut Listing<'_>) -> Result<(), Error> {
        for node in 0..self.layout.nodes {
            let state = all.states[node];
            for place in self.memo.internal(node, state) {
                let event = self.memo.internal_event(place);
                self.steps(all, event, NO_PLACE, Kind::Inside)?;
            }
            if all.faults.crashes > 0 && self.memo.is_up(node, state) {
                self.steps(all, self.memo.space.crash(node), NO_PLACE, Kind::Crash)?;
            }
        }
        Ok(())
    }

    /// The steps of one event, `at` a place in flight.
    #[inline(always)]
    fn steps(
        &mut self,
        all: &mut Listing<'_>,
        event: EventId,
        at: usize,
        kind: Kind,
    ) -> Result<(), Error> {
        let code = self.memo.quick_code(all.states, event);
        if code >= FIRST {
            // Most are plain steps of which only the fingerprint is needed now.
            let step = self.memo.step(code);
            let plain = matches!(kind, Kind::Flight | Kind::Inside) && all.faults.cut == 0;
            let (wanted, unwanted) = (flag::SIMPLE | flag::LAST, flag::PANIC | flag::TRIVIAL);
            if plain && step.flags & (wanted | unwanted) == wanted && step.feed == 0 {
                let reads = step.flags & flag::VIEWS != 0;
                all.push(Candidate {
                    fingerprint: all.fingerprint.wrapping_add(step.delta),
                    parent: all.parent,
                    event,
                    code,
                    at: at.min(NO_PLACE) as u16,
                    kind,
                    touches: if reads { Touches::Reads } else { Touches::Nothing },
                });
                return Ok(());
            }
            return self.some_steps(all, event, at, kind, code);
        }
        if code == STUTTER {
            all.found.stutters += 1;
            return Ok(());
        }
        self.unknown_steps(all, event, at, kind)
    }

    #[cold]
    fn unknown_steps(
        &mut self,
        all: &mut Listing<'_>,
        event: EventId,
        at: usize,
        kind: Kind,
    ) -> Result<(), Error> {
        match self.memo.code(all.states, event)? {
            NOTHING => Ok(()),
            STUTTER => {
                all.found.stutters += 1;
                Ok(())
            }
            code => self.some_steps(all, event, at, kind, code),
        }
    }

    fn some_steps(
        &mut self,
        all: &mut Listing<'_>,
        event: EventId,
        at: usize,
        kind: Kind,
        mut code: u32,
    ) -> Result<(), Error> {
        let plain = matches!(kind, Kind::Flight | Kind::Inside) && all.faults.cut == 0;
        let at = u16::try_from(at).unwrap_or(u16::MAX);
        loop {
            let step = self.memo.step(code);
            let (flags, last) = (step.flags, step.flags & flag::LAST != 0);
            let reads = flags & flag::VIEWS != 0 || step.feed != 0;
            let mut candidate = Candidate {
                fingerprint: all.fingerprint.wrapping_add(step.delta),
                parent: all.parent,
                event,
                code,
                at,
                kind,
                touches: if reads { Touches::Reads } else { Touches::Nothing },
            };
            if flags & flag::PANIC != 0 {
                candidate.touches = Touches::Panic;
                all.found.panics = true;
                all.push(candidate);
            } else if flags & flag::TRIVIAL != 0 && !self.moves(all.vector, &candidate)? {
                all.found.stutters += u64::from(flags & flag::STUTTER != 0);
            } else {
                candidate.fingerprint = if plain && flags & flag::SIMPLE != 0 {
                    let moved = self.observed(all.vector, self.memo.step(code).feed)?;
                    candidate.fingerprint.wrapping_add(moved)
                } else if plain && self.layout.network == NetworkKind::Duplicating {
                    self.fingerprint_with_new(all, &candidate)?
                } else {
                    self.fingerprint_after(all, &candidate)?
                };
                all.push(candidate);
            }
            if last {
                return Ok(());
            }
            code += 1;
        }
    }

    /// What observers add to the fingerprint when they see a step.
    fn observed(&mut self, vector: &[u32], feed: FeedId) -> Result<u64, Error> {
        let mut sum = 0u64;
        if feed == 0 {
            return Ok(sum);
        }
        for observer in 0..self.layout.observers {
            let state = vector[self.layout.observer_base + observer];
            sum = sum.wrapping_add(self.memo.observe(observer, state, feed)?.1);
        }
        Ok(sum)
    }

    /// The fingerprint of where a step leads on a duplicating network: what it sends counts only
    /// if it is not in flight already.
    fn fingerprint_with_new(
        &mut self,
        all: &Listing<'_>,
        candidate: &Candidate,
    ) -> Result<u64, Error> {
        let step = *self.memo.step(candidate.code);
        let mut sum = all.fingerprint.wrapping_add(step.delta);
        sum = sum.wrapping_add(self.observed(all.vector, step.feed)?);
        let info = self.memo.event(candidate.event);
        if info.is_consumed(self.layout.network) {
            sum = sum.wrapping_sub(info.key);
        }
        for index in 0..self.memo.sends(&step).len() {
            let event = self.memo.sends(&step)[index];
            let info = self.memo.event(event);
            let known = all.vector[self.layout.flight_base..].contains(&event);
            if !(known && info.is_message()) {
                sum = sum.wrapping_add(info.key);
            }
        }
        Ok(sum)
    }

    /// The fingerprint of where a candidate leads, the long way.
    fn fingerprint_after(
        &mut self,
        all: &Listing<'_>,
        candidate: &Candidate,
    ) -> Result<u64, Error> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let fingerprint = self.apply(all.vector, all.fingerprint, candidate, &mut scratch);
        self.scratch = scratch;
        fingerprint
    }

    /// Whether a step that leaves its node as it is and sends nothing changes anything else: the
    /// first of a queue is taken away, or an observer moves.
    fn moves(&mut self, vector: &[u32], candidate: &Candidate) -> Result<bool, Error> {
        if candidate.kind == Kind::Queue {
            return Ok(true);
        }
        let feed = self.memo.step(candidate.code).feed;
        if feed != 0 {
            for observer in 0..self.layout.observers {
                let state = vector[self.layout.observer_base + observer];
                if self.memo.observe(observer, state, feed)?.0 != state {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// What may go wrong with a message: a copy stays, or it is lost.
    fn mishaps(
        &mut self,
        all: &mut Listing<'_>,
        event: EventId,
        kept: Kind,
        dropped: Kind,
    ) -> Result<(), Error> {
        if all.faults.duplications > 0 {
            self.steps(all, event, NO_PLACE, kept)?;
        }
        if all.faults.drops > 0 {
            self.other(all, event, dropped)?;
        }
        Ok(())
    }

    /// Something that is not a step of a node.
    fn other(&mut self, all: &mut Listing<'_>, event: u32, kind: Kind) -> Result<(), Error> {
        let mut candidate = Candidate {
            fingerprint: 0,
            parent: all.parent,
            event,
            code: NOTHING,
            at: u16::MAX,
            kind,
            touches: Touches::Nothing,
        };
        candidate.fingerprint = self.fingerprint_after(all, &candidate)?;
        all.push(candidate);
        Ok(())
    }

    /// Makes a candidate of `vector` into a vector of its own, where the fingerprint is known.
    #[inline]
    pub fn make(
        &mut self,
        vector: &[u32],
        fingerprint: u64,
        candidate: &Candidate,
        next: &mut Vec<u32>,
    ) -> Result<(), Error> {
        let layout = self.layout;
        let in_flight = candidate.kind == Kind::Flight;
        if !in_flight && candidate.kind != Kind::Inside
            || self.memo.step(candidate.code).flags & flag::SIMPLE == 0
            || layout.has_faults
        {
            self.apply(vector, fingerprint, candidate, next)?;
            return Ok(());
        }
        // What `apply` does when the step is simple, without the sum.
        let step = *self.memo.step(candidate.code);
        let info = self.memo.event(candidate.event);
        let base = layout.flight_base;
        let at = base + usize::from(candidate.at);
        next.clear();
        if in_flight && info.is_consumed(layout.network) {
            if vector.get(at) != Some(&candidate.event) {
                self.apply(vector, fingerprint, candidate, next)?;
                return Ok(());
            }
            next.extend_from_slice(&vector[..at]);
            next.extend_from_slice(&vector[at + 1..]);
        } else {
            next.extend_from_slice(vector);
        }
        next[layout.node_base + layout.event_node(candidate.event)] = step.next;
        for &event in self.memo.sends(&step) {
            put(next, base, event);
        }
        if step.feed != 0 {
            let observers = &mut next[layout.observer_base..][..layout.observers];
            for (observer, state) in observers.iter_mut().enumerate() {
                *state = self.memo.observe(observer, *state, step.feed)?.0;
            }
        }
        Ok(())
    }

    /// Makes a candidate of `vector` into a vector of its own; returns its fingerprint.
    #[inline]
    pub fn apply(
        &mut self,
        vector: &[u32],
        fingerprint: u64,
        candidate: &Candidate,
        next: &mut Vec<u32>,
    ) -> Result<u64, Error> {
        let layout = self.layout;
        let faults = layout.faults(vector);
        next.clear();
        let mut sum = fingerprint;
        match candidate.kind {
            Kind::Flight | Kind::FlightKept | Kind::DropFlight => {
                self.leave_flight(vector, candidate, next, &mut sum);
            }
            _ => next.extend_from_slice(vector),
        }
        let mut after = faults;
        match candidate.kind {
            Kind::Queue | Kind::DropQueue => {
                let channel = self.channel(candidate.event);
                let (queue, delta) = self.memo.pop(next[channel]);
                next[channel] = queue;
                sum = sum.wrapping_add(delta);
            }
            Kind::Partition => {
                after.partitions -= 1;
                after.cut = candidate.event as u8 + 1;
                self.lose_across(after, next, &mut sum);
            }
            Kind::Heal => after.cut = 0,
            _ => {}
        }
        match candidate.kind {
            Kind::Crash => after.crashes -= 1,
            Kind::FlightKept | Kind::QueueKept => after.duplications -= 1,
            Kind::DropFlight | Kind::DropQueue => after.drops -= 1,
            _ => {}
        }
        if after != faults {
            sum = sum.wrapping_add(faults_key(after)).wrapping_sub(faults_key(faults));
            layout.set_faults(next, after);
        }
        if candidate.code != NOTHING {
            self.apply_step(candidate, faults, next, &mut sum)?;
        }
        Ok(sum)
    }

    /// Copies a vector without the event that a candidate consumes.
    #[inline]
    fn leave_flight(
        &mut self,
        vector: &[u32],
        candidate: &Candidate,
        next: &mut Vec<u32>,
        sum: &mut u64,
    ) {
        let info = self.memo.event(candidate.event);
        let consumed = match candidate.kind {
            Kind::FlightKept => false,
            Kind::DropFlight => true,
            _ => info.is_consumed(self.layout.network),
        };
        let base = self.layout.flight_base;
        let at = match usize::from(candidate.at) {
            at if vector.get(base + at) == Some(&candidate.event) => Some(at),
            _ => vector[base..].iter().position(|&event| event == candidate.event),
        };
        match at {
            Some(at) if consumed => {
                next.extend_from_slice(&vector[..base + at]);
                next.extend_from_slice(&vector[base + at + 1..]);
                *sum = sum.wrapping_sub(info.key);
            }
            _ => next.extend_from_slice(vector),
        }
    }

    #[inline]
    fn apply_step(
        &mut self,
        candidate: &Candidate,
        faults: FaultState,
        next: &mut Vec<u32>,
        sum: &mut u64,
    ) -> Result<(), Error> {
        let layout = self.layout;
        let step = *self.memo.step(candidate.code);
        let node = layout.event_node(candidate.event);
        let place = layout.node_base + node;
        let delta = match step.flags & flag::SIMPLE {
            0 => step.delta,
            _ => self.memo.state_delta(node, next[place], step.next),
        };
        *sum = sum.wrapping_add(delta);
        next[place] = step.next;
        for index in 0..self.memo.sends(&step).len() {
            let event = self.memo.sends(&step)[index];
            let info = self.memo.event(event);
            if faults.cut > 0 && info.is_message() && self.is_parted(faults, event) {
                continue;
            }
            match layout.network {
                NetworkKind::Ordered if info.is_message() => {
                    let channel = self.channel(event);
                    let (queue, delta) = self.memo.push(next[channel], event);
                    next[channel] = queue;
                    *sum = sum.wrapping_add(delta);
                }
                NetworkKind::Duplicating
                    if info.is_message() && next[layout.flight_base..].contains(&event) => {}
                _ => {
                    put(next, layout.flight_base, event);
                    *sum = sum.wrapping_add(info.key);
                }
            }
        }
        if step.feed != 0 {
            for observer in 0..layout.observers {
                let place = layout.observer_base + observer;
                let (state, delta) = self.memo.observe(observer, next[place], step.feed)?;
                next[place] = state;
                *sum = sum.wrapping_add(delta);
            }
        }
        Ok(())
    }

    /// The place of the queue that a message goes through.
    fn channel(&mut self, event: EventId) -> usize {
        let (from, to) = (self.memo.event(event).from, self.layout.event_node(event));
        self.layout.queue_base + from as usize * self.layout.nodes + to
    }

    /// Whether a partition keeps a message from its node.
    fn is_parted(&mut self, faults: FaultState, event: EventId) -> bool {
        let from = u32::from(self.memo.event(event).from);
        self.layout.parted(faults, from, self.layout.event_node(event) as u32)
    }

    /// Loses everything in flight between parted nodes.
    fn lose_across(&mut self, faults: FaultState, next: &mut Vec<u32>, sum: &mut u64) {
        let layout = self.layout;
        let queues = &mut next[layout.queue_base..layout.flight_base];
        for (pair, queue) in queues.iter_mut().enumerate() {
            let (from, to) = (pair / layout.nodes, pair % layout.nodes);
            if layout.parted(faults, from as u32, to as u32) {
                *sum = sum.wrapping_sub(self.memo.space.queues().key(*queue));
                *queue = 0;
            }
        }
        let mut at = layout.flight_base;
        while at < next.len() {
            let info = self.memo.event(next[at]);
            if info.is_message() && self.is_parted(faults, next[at]) {
                *sum = sum.wrapping_sub(info.key);
                next.remove(at);
            } else {
                at += 1;
            }
        }
    }

    /// Whether only the bound on timers keeps something from happening.
    pub fn is_withheld(&mut self, vector: &[u32]) -> bool {
        let states = &vector[self.layout.node_base..][..self.layout.nodes];
        let mut nodes = states.iter().enumerate();
        nodes.any(|(node, &state)| self.memo.space.state(node, state).withheld)
    }

    /// A candidate of `vector` in words.
    pub fn describe(&mut self, vector: &[u32], candidate: &Candidate) -> Result<RunEvent, Error> {
        let space = self.memo.space;
        let keep = matches!(candidate.kind, Kind::FlightKept | Kind::QueueKept);
        Ok(match candidate.kind {
            Kind::DropFlight | Kind::DropQueue => space.describe(Happening::Drop(candidate.event)),
            Kind::Partition => space.describe(Happening::Partition(candidate.event as usize)),
            Kind::Heal => space.describe(Happening::Heal),
            _ => {
                let (steps, index) = self.alternatives(vector, candidate)?;
                let event = candidate.event;
                space.describe(Happening::Step { event, keep, choices: &steps[index].choices })
            }
        })
    }

    /// The message of a candidate that panics.
    pub fn panic_message(
        &mut self,
        vector: &[u32],
        candidate: &Candidate,
    ) -> Result<String, Error> {
        let (steps, index) = self.alternatives(vector, candidate)?;
        match &steps[index].end {
            StepEnd::Panicked(message) => Ok(message.to_string()),
            StepEnd::Next(_) => Err(Error::Internal("a step that panicked did not".to_owned())),
        }
    }

    /// Which of the results of its event a candidate is.
    pub fn alternative(&mut self, vector: &[u32], candidate: &Candidate) -> Result<usize, Error> {
        match candidate.code {
            NOTHING => Ok(0),
            _ => Ok(self.alternatives(vector, candidate)?.1),
        }
    }

    /// All results of a candidate's event, and which of them it is.
    fn alternatives(
        &mut self,
        vector: &[u32],
        candidate: &Candidate,
    ) -> Result<(std::sync::Arc<[crate::space::Step]>, usize), Error> {
        let state = vector[self.layout.node_base + self.layout.event_node(candidate.event)];
        let states = &vector[self.layout.node_base..][..self.layout.nodes];
        let first = self.memo.code(states, candidate.event)?;
        let steps = self.memo.space.steps(state, candidate.event)?;
        Ok((steps, (candidate.code - first) as usize))
    }
}

/// A state that is being expanded.
struct Listing<'a> {
    vector: &'a [u32],
    /// The states of the nodes in `vector`.
    states: &'a [u32],
    fingerprint: u64,
    parent: u32,
    faults: FaultState,
    candidates: &'a mut Vec<Candidate>,
    found: Expansion,
}

impl Listing<'_> {
    #[inline]
    fn push(&mut self, candidate: Candidate) {
        self.found.goes_on |= !candidate.kind.is_fault();
        self.candidates.push(candidate);
    }
}
