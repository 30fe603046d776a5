//! Successors of a global state, as numbers. Written once for every engine that has vectors.
//!
//! Expanding a state lists [`Candidate`]s with their fingerprints; most cost one addition, the
//! difference that a local step makes, and need no vector. Only a candidate that turns out to be
//! new is made into one: see [`apply`](super::apply).

use super::commute::Mark;
use crate::error::Error;
use crate::model::faults::FaultState;
use crate::model::network::NetworkKind;
use crate::model::run_event::RunEvent;
use crate::space::memo::{FIRST, Memo, NOTHING, STUTTER, flag};
use crate::space::vector::Layout;
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
    /// Which of the live events it is, if it is one and that is known.
    pub at: u16,
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
}

/// What an expansion has found besides candidates.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Expansion {
    /// Generated states that are the state itself.
    pub stutters: u64,
    /// Generated states that are met another way: see [`commute`](super::commute).
    pub asleep: u64,
    /// Whether anything can happen but a fault.
    pub goes_on: bool,
    /// Whether some candidate panics.
    pub panics: bool,
}

/// Expands global states. One for each thread.
pub(crate) struct Expander<'s> {
    pub memo: Memo<'s>,
    pub(super) layout: &'s Layout,
    pub(super) scratch: Vec<u32>,
    /// What is in flight while a vector is made.
    pub(super) loose: Vec<EventId>,
    /// Whether there is anything that can happen without anything in flight.
    acts_alone: &'s AtomicBool,
}

impl<'s> Expander<'s> {
    pub fn new(space: &'s dyn Space, exact: bool) -> Self {
        let layout = space.layout();
        Expander {
            memo: Memo::new(space, exact),
            layout,
            scratch: Vec::new(),
            loose: Vec::new(),
            acts_alone: space.acts_alone(),
        }
    }

    pub fn layout(&self) -> &'s Layout {
        self.layout
    }

    /// Appends everything that may happen in `vector` and must be followed to `candidates`. What
    /// need not be is told by the step that led here.
    #[inline]
    pub fn expand(
        &mut self,
        vector: &[u32],
        fingerprint: u64,
        mark: Mark,
        parent: u32,
        candidates: &mut Vec<Candidate>,
    ) -> Result<Expansion, Error> {
        let layout = self.layout;
        let faults = layout.faults(vector);
        let mut all = Listing {
            vector,
            states: &vector[layout.node_base..][..layout.nodes],
            fingerprint,
            mark,
            parent,
            faults,
            candidates,
            found: Expansion::default(),
        };
        if faults.crashes > 0 || self.acts_alone.load(Relaxed) {
            self.internal(&mut all)?;
        }
        self.live(&mut all)?;
        if faults.drops > 0 || faults.duplications > 0 {
            self.mishaps_in_flight(&mut all)?;
        }
        if layout.network == NetworkKind::Ordered {
            self.queues(&mut all)?;
        }
        if faults.cut > 0 {
            self.other(&mut all, 0, Kind::Heal)?;
        } else if faults.partitions > 0 {
            for cut in 0..layout.cuts.len() {
                self.other(&mut all, cut as u32, Kind::Partition)?;
            }
        }
        all.found.goes_on |= all.found.asleep > 0;
        Ok(all.found)
    }

    /// The live events in flight.
    #[inline]
    fn live(&mut self, all: &mut Listing<'_>) -> Result<(), Error> {
        let layout = self.layout;
        let live = layout.live(all.vector);
        self.memo.lookups += live.len() as u64;
        let (below, fresh) = (all.mark.node(), all.mark.fresh());
        let mut before = EventId::MAX;
        for (at, &event) in live.iter().enumerate() {
            // Of equal events, which are side by side, the first.
            if event == before {
                continue;
            }
            before = event;
            let asleep = layout.event_node(event) < below && at < fresh;
            if !self.quick(all, event, at, Kind::Flight, asleep)? {
                self.steps(all, event, at, Kind::Flight, asleep)?;
            }
        }
        Ok(())
    }

    /// The step of one event, `at` a place among the live ones, if it has just one and all that is
    /// needed of it now is to count it, or its fingerprint, and that is easily told; false if it is not.
    /// Most events are such.
    #[inline(always)]
    fn quick(
        &mut self,
        all: &mut Listing<'_>,
        event: EventId,
        at: usize,
        kind: Kind,
        asleep: bool,
    ) -> Result<bool, Error> {
        let code = self.memo.quick_code(all.states, event);
        if code < FIRST {
            all.found.stutters += u64::from(code == STUTTER);
            return Ok(code == STUTTER);
        }
        let step = self.memo.step(code);
        let (flags, feed) = (step.flags, step.feed);
        if asleep & (flags & flag::SURE != 0) & !(all.mark.feeds() & (feed != 0)) {
            all.found.asleep += 1;
            return Ok(true);
        }
        if flags & flag::PLAIN == 0 || all.faults.cut > 0 {
            return Ok(false);
        }
        let reads = (flags & flag::VIEWS != 0) | (feed != 0);
        let mut fingerprint = all.fingerprint.wrapping_add(step.delta);
        if feed != 0 {
            fingerprint = fingerprint.wrapping_add(self.observed(all.vector, feed)?);
        }
        all.found.goes_on = true;
        all.candidates.push(Candidate {
            fingerprint,
            parent: all.parent,
            event,
            code,
            at: at.min(NO_PLACE) as u16,
            kind,
            touches: if reads { Touches::Reads } else { Touches::Nothing },
        });
        Ok(true)
    }

    /// What may go wrong with messages in flight, inert ones too.
    fn mishaps_in_flight(&mut self, all: &mut Listing<'_>) -> Result<(), Error> {
        let mut loose = std::mem::take(&mut self.loose);
        loose.clear();
        loose.extend_from_slice(self.layout.flight(all.vector));
        loose.sort_unstable();
        loose.dedup();
        for &event in &loose {
            if self.memo.event(event).is_message() {
                self.mishaps(all, event, Kind::FlightKept, Kind::DropFlight)?;
            }
        }
        self.loose = loose;
        Ok(())
    }

    /// The first messages of the queues.
    fn queues(&mut self, all: &mut Listing<'_>) -> Result<(), Error> {
        let layout = self.layout;
        let queues = &all.vector[layout.queue_base..layout.ends_base];
        for (pair, &queue) in queues.iter().enumerate() {
            if let Some(event) = self.memo.head(queue) {
                let (from, node) = (pair / layout.nodes, pair % layout.nodes);
                let asleep = node < all.mark.node() && from != all.mark.node();
                self.steps(all, event, NO_PLACE, Kind::Queue, asleep)?;
                if layout.has_faults {
                    self.mishaps(all, event, Kind::QueueKept, Kind::DropQueue)?;
                }
            }
        }
        Ok(())
    }

    /// What can happen without anything in flight.
    fn internal(&mut self, all: &mut Listing<'_>) -> Result<(), Error> {
        for node in 0..self.layout.nodes {
            let state = all.states[node];
            for place in self.memo.internal(node, state) {
                let event = self.memo.internal_event(place);
                let asleep = node < all.mark.node();
                if !self.quick(all, event, NO_PLACE, Kind::Inside, asleep)? {
                    self.steps(all, event, NO_PLACE, Kind::Inside, asleep)?;
                }
            }
            if all.faults.crashes > 0 && self.memo.is_up(node, state) {
                self.steps(all, self.memo.space.crash(node), NO_PLACE, Kind::Crash, false)?;
            }
        }
        Ok(())
    }

    /// The steps of one event, `at` a place among the live ones. Those that are `asleep` are counted
    /// only.
    fn steps(
        &mut self,
        all: &mut Listing<'_>,
        event: EventId,
        at: usize,
        kind: Kind,
        asleep: bool,
    ) -> Result<(), Error> {
        match self.memo.code(all.states, event)? {
            NOTHING => Ok(()),
            STUTTER => {
                all.found.stutters += 1;
                Ok(())
            }
            code => self.some_steps(all, event, at, kind, code, asleep),
        }
    }

    fn some_steps(
        &mut self,
        all: &mut Listing<'_>,
        event: EventId,
        at: usize,
        kind: Kind,
        mut code: u32,
        asleep: bool,
    ) -> Result<(), Error> {
        let plain = matches!(kind, Kind::Flight | Kind::Inside) && all.faults.cut == 0;
        let at = u16::try_from(at).unwrap_or(u16::MAX);
        loop {
            let step = *self.memo.step(code);
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
            } else if asleep && !(all.mark.feeds() && step.feed != 0) {
                all.found.asleep += 1;
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
    #[inline]
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
            if !(info.is_message() && self.layout.is_in_flight(all.vector, event)) {
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
            self.steps(all, event, NO_PLACE, kept, false)?;
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

    /// Whether only the bound on timers keeps something from happening.
    pub fn is_withheld(&mut self, vector: &[u32]) -> bool {
        let states = &vector[self.layout.node_base..][..self.layout.nodes];
        let mut nodes = states.iter().enumerate();
        nodes.any(|(node, &state)| self.memo.space.state(node, state).withheld)
    }

    /// What tells candidates apart by content, whatever numbers a thread has for them.
    pub fn key_of(&mut self, candidate: &Candidate) -> u64 {
        match candidate.kind {
            Kind::Partition | Kind::Heal => u64::from(candidate.event),
            _ => self.memo.event(candidate.event).key,
        }
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
    /// How the state was met.
    mark: Mark,
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
