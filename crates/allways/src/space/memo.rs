//! What a thread remembers of the local space, laid out for speed.
//!
//! Each thread keeps its own copy of the steps that it has met, so that the hot path takes no
//! lock and shares no cache line. Most deliveries change nothing, so in front stands a dense table
//! of single bits, a row for each of a node's states, a column for each of its events, that says
//! so; the few steps that are left are in a hash table that stays small. A node whose bits would be
//! too many does without them.

use super::grid::Grid;
use super::hash::key;
use super::pairs::Pairs;
use super::vector::{Layout, domain};
use super::{EventId, EventInfo, FeedId, Source, Space, StateId, StepEnd};
use crate::error::Error;
use crate::model::network::NetworkKind;
use rustc_hash::{FxHashMap, FxHashSet};

/// The code of a step not yet asked for.
pub(crate) const UNKNOWN: u32 = 0;
/// The code of an event that changes nothing in a state.
pub(crate) const NOTHING: u32 = 1;
/// The code of an event that changes nothing in a state but asks to be counted.
pub(crate) const STUTTER: u32 = 2;
/// The code of the first step; codes from here on are places in the list of steps.
pub(crate) const FIRST: u32 = 3;

/// Properties of a step.
pub(crate) mod flag {
    /// No further result of the same event follows.
    pub const LAST: u16 = 1;
    /// `delta` is all there is to the fingerprint but for observers, unless a partition is in force.
    pub const SIMPLE: u16 = 2;
    /// Some property's view changes.
    pub const VIEWS: u16 = 4;
    /// The handler panics.
    pub const PANIC: u16 = 8;
    /// Same state, nothing sent: a step only if an observer moves or a queue does.
    pub const TRIVIAL: u16 = 16;
    /// Counted even if nothing changes.
    pub const STUTTER: u16 = 32;
    /// The event is in flight before the step and no longer so after it, unless a copy is kept.
    pub const CONSUMES: u16 = 64;
    /// The only result of its event, simple and surely a step: all there is to it is `delta` and what
    /// observers add, unless a partition is in force.
    pub const PLAIN: u16 = 128;
    /// The only result of its event, and surely a step.
    pub const SURE: u16 = 256;
}

/// A step as a thread remembers it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoStep {
    /// What it adds to a fingerprint. If it is not `SIMPLE`: only for the node's state.
    pub delta: u64,
    pub next: StateId,
    pub feed: FeedId,
    sends: u32,
    sends_len: u16,
    pub flags: u16,
}

impl MemoStep {
    /// Whether it sends anything.
    #[inline]
    pub fn has_sends(&self) -> bool {
        self.sends_len > 0
    }
}

/// An event as a thread remembers it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoEvent {
    pub key: u64,
    /// Who sent the message, or one of those below.
    pub from: u16,
}

impl MemoEvent {
    const INSIDE: u16 = u16::MAX;
    const DRIVER: u16 = u16::MAX - 1;
    const UNKNOWN: MemoEvent = MemoEvent { key: 0, from: u16::MAX - 2 };

    /// Whether it is a message.
    #[inline]
    pub fn is_message(&self) -> bool {
        self.from < MemoEvent::UNKNOWN.from
    }

    /// Whether it is in flight before it happens: a message or a call.
    fn is_in_flight(&self) -> bool {
        self.from != MemoEvent::INSIDE
    }

    /// Whether it is in flight and no longer so once it has happened.
    #[inline]
    pub fn is_consumed(&self, network: NetworkKind) -> bool {
        match network {
            NetworkKind::Unordered => self.is_in_flight(),
            // Messages stay, or are in queues.
            NetworkKind::Duplicating | NetworkKind::Ordered => self.from == MemoEvent::DRIVER,
        }
    }
}

/// A local state as a thread remembers it.
#[derive(Clone, Copy)]
struct MemoState {
    key: u64,
    /// Where its views begin, one for each property; [`MemoState::UNKNOWN`] has none.
    views: u32,
    /// Where its internal events are.
    internal: u32,
    internal_len: u16,
    up: bool,
}

impl MemoState {
    const UNKNOWN: MemoState =
        MemoState { key: 0, views: u32::MAX, internal: 0, internal_len: 0, up: false };
}

/// The events that are known to change nothing when a node is in some state.
#[derive(Clone, Copy)]
pub(crate) struct Inert<'m> {
    row: &'m [u64],
    shift: u32,
}

impl Inert<'_> {
    /// Whether this event of the node is one. The innermost question of a search.
    #[inline]
    pub fn has(self, event: EventId) -> bool {
        let local = event >> self.shift;
        self.row.get(local as usize / 64).is_some_and(|word| word >> (local % 64) & 1 == 1)
    }
}

/// A thread's memory of the local space.
pub(crate) struct Memo<'s> {
    pub space: &'s dyn Space,
    layout: &'s Layout,
    grid: Grid,
    /// For each state and event that is not only in the grid, its code.
    codes: Pairs<u32>,
    /// For each node, its events.
    events: Vec<Vec<MemoEvent>>,
    states: Vec<Vec<MemoState>>,
    /// The internal events of all states.
    internal: Vec<EventId>,
    /// The views of all states, and a hash of node and view for each.
    views: Vec<u32>,
    view_keys: Vec<u64>,
    steps: Vec<MemoStep>,
    sends: Vec<EventId>,
    /// For each observer, where it moves from a state when it sees something.
    observed: Vec<Pairs<(u32, u64)>>,
    pushed: Pairs<(u32, u64)>,
    popped: FxHashMap<u32, (u32, u64)>,
    heads: FxHashMap<u32, EventId>,
    tests: Vec<Tests>,
    /// Compare what properties read as a whole, not by its hash.
    exact: bool,
    pub lookups: u64,
    pub misses: u64,
}

/// What is known of a property's test.
#[derive(Default)]
struct Tests {
    /// Hashes of view vectors of which it is true, and false.
    known: [FxHashSet<u64>; 2],
    /// The same for whole view vectors, where hashes will not do.
    whole: FxHashMap<Box<[u32]>, bool>,
    /// The same for observer states: zero for unknown, otherwise one more than the result.
    observer: Vec<u8>,
}

impl<'s> Memo<'s> {
    pub fn new(space: &'s dyn Space, exact: bool) -> Self {
        let layout = space.layout();
        Memo {
            space,
            layout,
            grid: Grid::new(layout.nodes),
            codes: Pairs::default(),
            events: vec![Vec::new(); layout.nodes],
            states: vec![Vec::new(); layout.nodes],
            internal: Vec::new(),
            views: Vec::new(),
            view_keys: Vec::new(),
            steps: Vec::new(),
            sends: Vec::new(),
            observed: (0..layout.observers).map(|_| Pairs::default()).collect(),
            pushed: Pairs::default(),
            popped: FxHashMap::default(),
            heads: FxHashMap::default(),
            tests: layout.properties.iter().map(|_| Tests::default()).collect(),
            exact,
            lookups: 0,
            misses: 0,
        }
    }

    /// Roughly the bytes in use.
    pub fn bytes(&self) -> u64 {
        let rows = self.codes.bytes() + self.grid.bytes();
        let states: usize = self.states.iter().map(|states| states.len() * 64).sum();
        let events: usize = self.events.iter().map(Vec::len).sum();
        let rest = events * 16 + self.steps.len() * 24 + self.sends.len() * 4;
        (rows + states + rest) as u64
    }

    /// What is known of an event.
    #[inline]
    pub fn event(&mut self, event: EventId) -> MemoEvent {
        let (node, local) = (self.layout.event_node(event), self.layout.event_local(event));
        match self.events[node].get(local as usize) {
            Some(known) if known.from != MemoEvent::UNKNOWN.from => *known,
            _ => self.learn_event(event),
        }
    }

    #[cold]
    fn learn_event(&mut self, event: EventId) -> MemoEvent {
        let (node, local) = (self.layout.event_node(event), self.layout.event_local(event));
        let EventInfo { key, source } = self.space.event(event);
        let from = match source {
            Source::Node(from) => from as u16,
            Source::Driver => MemoEvent::DRIVER,
            Source::Inside => MemoEvent::INSIDE,
        };
        let known = MemoEvent { key, from };
        let events = &mut self.events[node];
        if events.len() <= local as usize {
            events.resize(local as usize + 1, MemoEvent::UNKNOWN);
        }
        events[local as usize] = known;
        known
    }

    #[inline]
    fn state(&mut self, node: usize, state: StateId) -> MemoState {
        match self.states[node].get(state as usize) {
            Some(known) if known.views != u32::MAX => *known,
            _ => self.learn_state(node, state),
        }
    }

    #[cold]
    fn learn_state(&mut self, node: usize, state: StateId) -> MemoState {
        let info = self.space.state(node, state);
        let known = MemoState {
            key: info.key,
            views: self.views.len() as u32,
            internal: self.internal.len() as u32,
            internal_len: info.internal.len() as u16,
            up: info.up,
        };
        self.internal.extend_from_slice(&info.internal);
        self.views.extend_from_slice(&info.views);
        let keys = info.views.iter().enumerate();
        self.view_keys
            .extend(keys.map(|(property, view)| key(domain::VIEWS, &(property, node, view))));
        let states = &mut self.states[node];
        if states.len() <= state as usize {
            states.resize(state as usize + 1, MemoState::UNKNOWN);
        }
        states[state as usize] = known;
        known
    }

    /// What a node's move from one state to another adds to a fingerprint.
    #[inline]
    pub fn state_delta(&mut self, node: usize, from: StateId, to: StateId) -> u64 {
        let before = self.state(node, from).key;
        self.state(node, to).key.wrapping_sub(before)
    }

    /// The places, for [`Memo::internal_event`], of the events that can happen in this state
    /// without anything in flight.
    #[inline]
    pub fn internal(&mut self, node: usize, state: StateId) -> std::ops::Range<u32> {
        let known = self.state(node, state);
        known.internal..known.internal + u32::from(known.internal_len)
    }

    /// The event at such a place.
    #[inline]
    pub fn internal_event(&self, place: u32) -> EventId {
        self.internal[place as usize]
    }

    /// Whether a node in this state is up.
    pub fn is_up(&mut self, node: usize, state: StateId) -> bool {
        self.state(node, state).up
    }

    /// Which events are known to change nothing when a node is in this state.
    #[inline]
    pub fn inert(&self, node: usize, state: StateId) -> Inert<'_> {
        Inert { row: self.grid.row(node, state), shift: self.layout.event_bits().1 }
    }

    /// The code of what the event does when its node is in the state that it is in among
    /// `states`: [`NOTHING`], [`STUTTER`], or a place for [`Memo::step`].
    #[inline]
    pub fn code(&mut self, states: &[StateId], event: EventId) -> Result<u32, Error> {
        self.code_at(states[self.layout.event_node(event)], event)
    }

    /// The same when its node is in this state.
    #[inline]
    pub fn code_at(&mut self, state: StateId, event: EventId) -> Result<u32, Error> {
        match self.codes.get(state, event) {
            Some(code) => Ok(code),
            None => self.learn_steps(state, event),
        }
    }

    /// The code of what an event does when its node is in this state, whichever state that is: a timer that
    /// cannot fire there does [`NOTHING`]. The local space takes it for granted that it can.
    #[inline]
    pub fn code_anywhere(&mut self, state: StateId, event: EventId) -> Result<u32, Error> {
        let node = self.layout.event_node(event);
        if self.event(event).from == MemoEvent::INSIDE && event != self.space.crash(node) {
            let known = self.internal(node, state);
            if !self.internal[known.start as usize..known.end as usize].contains(&event) {
                return Ok(NOTHING);
            }
        }
        self.code_at(state, event)
    }

    /// How many steps an event has whose code is this.
    #[inline]
    pub fn results(&self, code: u32) -> u32 {
        if code < FIRST {
            return 0;
        }
        let steps = &self.steps[(code - FIRST) as usize..];
        1 + steps.iter().take_while(|step| step.flags & flag::LAST == 0).count() as u32
    }

    /// The same, [`UNKNOWN`] where it has to be found out.
    #[inline]
    pub fn quick_code(&self, states: &[StateId], event: EventId) -> u32 {
        self.codes.get(states[self.layout.event_node(event)], event).unwrap_or(UNKNOWN)
    }

    #[cold]
    fn learn_steps(&mut self, state: StateId, event: EventId) -> Result<u32, Error> {
        let info = self.event(event);
        let (node, local) = (self.layout.event_node(event), self.layout.event_local(event));
        if self.inert(node, state).has(event) {
            return Ok(NOTHING);
        }
        if let Some(code) = self.codes.get(state, event) {
            return Ok(code);
        }
        self.misses += 1;
        let steps = self.space.steps(state, event)?;
        let mut code = match steps.is_empty() {
            true => NOTHING,
            false => FIRST + self.steps.len() as u32,
        };
        let key = self.state(node, state).key;
        for (index, step) in steps.iter().enumerate() {
            let mut flags = if index + 1 == steps.len() { flag::LAST } else { 0 };
            let memo = match &step.end {
                StepEnd::Panicked(_) => {
                    flags |= flag::PANIC;
                    MemoStep { delta: 0, next: state, feed: 0, sends: 0, sends_len: 0, flags }
                }
                StepEnd::Next(next) => {
                    let sends = self.sends.len() as u32;
                    self.sends.extend_from_slice(&next.sends);
                    let before = self.state(node, state);
                    let after = self.state(node, next.state);
                    if self.views_of(before) != self.views_of(after) {
                        flags |= flag::VIEWS;
                    }
                    let mut delta = after.key.wrapping_sub(key);
                    if next.state == state && next.sends.is_empty() {
                        flags |= flag::TRIVIAL;
                    }
                    if next.stutter {
                        flags |= flag::STUTTER;
                    }
                    let plain = match self.layout.network {
                        NetworkKind::Unordered => true,
                        NetworkKind::Duplicating => next.sends.is_empty(),
                        NetworkKind::Ordered => next.sends.is_empty() && !info.is_message(),
                    };
                    if info.is_consumed(self.layout.network) {
                        flags |= flag::CONSUMES;
                    }
                    if plain {
                        flags |= flag::SIMPLE;
                        if flags & flag::CONSUMES != 0 {
                            delta = delta.wrapping_sub(info.key);
                        }
                        for &send in &next.sends {
                            delta = delta.wrapping_add(self.event(send).key);
                        }
                    }
                    if steps.len() == 1 && flags & flag::TRIVIAL == 0 {
                        flags |= if plain { flag::SURE | flag::PLAIN } else { flag::SURE };
                    }
                    let sends_len = next.sends.len() as u16;
                    MemoStep { delta, next: next.state, feed: next.feed, sends, sends_len, flags }
                }
            };
            self.steps.push(memo);
        }
        if let [only] = &self.steps[(code.max(FIRST) - FIRST) as usize..] {
            let pure = flag::LAST | flag::SIMPLE | flag::TRIVIAL | flag::STUTTER;
            let flags = only.flags & !flag::CONSUMES;
            if code >= FIRST && flags == pure && only.feed == 0 {
                self.steps.pop();
                code = STUTTER;
            }
        }
        if code != NOTHING || !self.grid.set(node, state, local) {
            self.codes.insert(state, event, code);
        }
        Ok(code)
    }

    /// The step with this code.
    #[inline]
    pub fn step(&self, code: u32) -> &MemoStep {
        &self.steps[(code - FIRST) as usize]
    }

    /// What a step sends.
    #[inline]
    pub fn sends(&self, step: &MemoStep) -> &[EventId] {
        &self.sends[step.sends as usize..][..step.sends_len as usize]
    }

    /// Where an observer moves when it sees a step, and what that adds to a fingerprint.
    #[inline]
    pub fn observe(
        &mut self,
        observer: usize,
        state: u32,
        feed: FeedId,
    ) -> Result<(u32, u64), Error> {
        if let Some(known) = self.observed[observer].get(state, feed) {
            return Ok(known);
        }
        let next = self.space.observe(observer, state, feed)?;
        let before = self.space.observer_key(observer, state);
        let moved = (next, self.space.observer_key(observer, next).wrapping_sub(before));
        self.observed[observer].insert(state, feed, moved);
        Ok(moved)
    }

    /// The queue with an event behind all others, and what that adds to a fingerprint.
    pub fn push(&mut self, queue: u32, event: EventId) -> (u32, u64) {
        if let Some(known) = self.pushed.get(queue, event) {
            return known;
        }
        let (space, queues) = (self.space, self.space.queues());
        let next = queues.push(queue, event, |event| space.event(event).key);
        let pushed = (next, queues.key(next).wrapping_sub(queues.key(queue)));
        self.pushed.insert(queue, event, pushed);
        pushed
    }

    /// The queue without its first event, and what that adds to a fingerprint.
    pub fn pop(&mut self, queue: u32) -> (u32, u64) {
        let space = self.space;
        *self.popped.entry(queue).or_insert_with(|| {
            let queues = space.queues();
            let next = queues.pop(queue, |event| space.event(event).key);
            (next, queues.key(next).wrapping_sub(queues.key(queue)))
        })
    }

    /// The first event of a queue that is not empty.
    pub fn head(&mut self, queue: u32) -> Option<EventId> {
        if queue == 0 {
            return None;
        }
        if let Some(&head) = self.heads.get(&queue) {
            return Some(head);
        }
        let head = self.space.queues().head(queue)?;
        self.heads.insert(queue, head);
        Some(head)
    }

    /// Whether the test of a property is true in a global state. Asked once for each distinct
    /// combination of what the property reads.
    pub fn test(
        &mut self,
        property: usize,
        layout: &Layout,
        vector: &[u32],
    ) -> Result<bool, Error> {
        if let Some(observer) = layout.properties[property].1 {
            let state = vector[layout.observer_base + observer] as usize;
            let known = &mut self.tests[property].observer;
            if known.len() <= state {
                known.resize(state + 1, 0);
            }
            if known[state] == 0 {
                known[state] = 1 + u8::from(self.space.test(property, &[state as u32])?);
            }
            return Ok(known[state] == 2);
        }
        let states = &vector[layout.node_base..][..layout.nodes];
        if self.exact {
            let views = self.views(property, states);
            if let Some(&holds) = self.tests[property].whole.get(&*views) {
                return Ok(holds);
            }
            let holds = self.space.test(property, &views)?;
            self.tests[property].whole.insert(views.into(), holds);
            return Ok(holds);
        }
        let mut hash = 0u64;
        for (node, &state) in states.iter().enumerate() {
            // All that is needed of a known state is where its views are.
            let views = match self.states[node].get(state as usize) {
                Some(known) if known.views != u32::MAX => known.views,
                _ => self.learn_state(node, state).views,
            };
            hash = hash.wrapping_add(self.view_keys[views as usize + property]);
        }
        let known = &self.tests[property].known;
        if known[1].contains(&hash) {
            return Ok(true);
        }
        if known[0].contains(&hash) {
            return Ok(false);
        }
        let views = self.views(property, states);
        let holds = self.space.test(property, &views)?;
        self.tests[property].known[usize::from(holds)].insert(hash);
        Ok(holds)
    }

    /// For each property, what it sees of a node in this state.
    pub fn views_at(&mut self, node: usize, state: StateId) -> &[u32] {
        let known = self.state(node, state);
        self.views_of(known)
    }

    fn views(&mut self, property: usize, states: &[StateId]) -> Vec<u32> {
        let mut views = Vec::new();
        for (node, &state) in states.iter().enumerate() {
            let first = self.state(node, state).views as usize;
            views.push(self.views[first + property]);
        }
        views
    }

    fn views_of(&self, state: MemoState) -> &[u32] {
        &self.views[state.views as usize..][..self.layout.properties.len()]
    }
}
