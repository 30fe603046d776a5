//! What a thread remembers of the local space, laid out for speed.
//!
//! Each thread keeps its own copy of the steps that it has met, so that the hot path takes no
//! lock and shares no cache line. A node's steps are a dense table, a row for each state, a column
//! for each event; in front of it stands a table of single bits that says which deliveries change
//! nothing, thirty-two times smaller, since most deliveries do not. A node whose dense table would
//! grow too large falls back to a hash table.

use super::hash::key;
use super::vector::{Layout, domain};
use super::{EventId, EventInfo, FeedId, Source, Space, StateId, StepEnd};
use crate::error::Error;
use crate::model::network::NetworkKind;
use rustc_hash::{FxHashMap, FxHashSet};

/// A dense table may have this many entries (four bytes each) before a hash table takes over.
const MAX_DENSE: usize = 1 << 24;

/// The code of a step not yet asked for.
const UNKNOWN: u32 = 0;
/// The code of an event that changes nothing in a state.
pub(crate) const NOTHING: u32 = 1;
/// The code of an event that changes nothing in a state but asks to be counted.
pub(crate) const STUTTER: u32 = 2;
/// The code of the first step; codes from here on are places in the list of steps.
const FIRST: u32 = 3;

/// Properties of a step.
pub(crate) mod flag {
    /// No further result of the same event follows.
    pub const LAST: u16 = 1;
    /// `delta` is all there is to the fingerprint, unless a partition is in force.
    pub const SIMPLE: u16 = 2;
    /// Some property's view changes.
    pub const VIEWS: u16 = 4;
    /// The handler panics.
    pub const PANIC: u16 = 8;
    /// Same state, nothing sent: a step only if an observer moves or a queue does.
    pub const TRIVIAL: u16 = 16;
    /// Counted even if nothing changes.
    pub const STUTTER: u16 = 32;
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

/// An event as a thread remembers it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoEvent {
    pub key: u64,
    pub local: u32,
    pub node: u16,
    /// Who sent the message, or one of the two below.
    pub from: u16,
}

impl MemoEvent {
    const INSIDE: u16 = u16::MAX;
    const DRIVER: u16 = u16::MAX - 1;
    const UNKNOWN: MemoEvent = MemoEvent { key: 0, local: u32::MAX, node: 0, from: 0 };

    /// Whether it is a message.
    #[inline]
    pub fn is_message(&self) -> bool {
        self.from < MemoEvent::DRIVER
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
struct MemoState {
    key: u64,
    up: bool,
    internal: Box<[EventId]>,
    /// For each property, the view.
    views: Box<[u32]>,
    /// For each property, a hash of node and view.
    view_keys: Box<[u64]>,
}

/// A thread's memory of the local space.
pub(crate) struct Memo<'s> {
    pub space: &'s dyn Space,
    network: NetworkKind,
    rows: Vec<Rows>,
    events: Vec<MemoEvent>,
    states: Vec<Vec<Option<MemoState>>>,
    /// For each node and state, how many events can happen without anything in flight; more than
    /// that fits, for a state not yet known.
    internal_counts: Vec<Vec<u8>>,
    steps: Vec<MemoStep>,
    sends: Vec<EventId>,
    observed: FxHashMap<(u32, u32, FeedId), (u32, u64)>,
    pushed: FxHashMap<(u32, EventId), (u32, u64)>,
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
            network: layout.network,
            rows: (0..layout.nodes).map(|_| Rows::default()).collect(),
            events: Vec::new(),
            states: (0..layout.nodes).map(|_| Vec::new()).collect(),
            internal_counts: vec![Vec::new(); layout.nodes],
            steps: Vec::new(),
            sends: Vec::new(),
            observed: FxHashMap::default(),
            pushed: FxHashMap::default(),
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
        let rows: usize = self.rows.iter().map(Rows::bytes).sum();
        let states: usize = self.states.iter().map(|states| states.len() * 96).sum();
        let rest = self.events.len() * 16 + self.steps.len() * 24 + self.sends.len() * 4;
        (rows + states + rest) as u64
    }

    /// What is known of an event.
    #[inline]
    pub fn event(&mut self, event: EventId) -> MemoEvent {
        match self.events.get(event as usize) {
            Some(known) if known.local != u32::MAX => *known,
            _ => self.learn_event(event),
        }
    }

    #[cold]
    fn learn_event(&mut self, event: EventId) -> MemoEvent {
        let EventInfo { key, node, local, source } = self.space.event(event);
        let from = match source {
            Source::Node(from) => from as u16,
            Source::Driver => MemoEvent::DRIVER,
            Source::Inside => MemoEvent::INSIDE,
        };
        let known = MemoEvent { key, local, node: node as u16, from };
        if self.events.len() <= event as usize {
            self.events.resize(event as usize + 1, MemoEvent::UNKNOWN);
        }
        self.events[event as usize] = known;
        known
    }

    fn state(&mut self, node: usize, state: StateId) -> &MemoState {
        let states = &mut self.states[node];
        if states.len() <= state as usize {
            states.resize_with(state as usize + 1, || None);
        }
        let space = self.space;
        states[state as usize].get_or_insert_with(|| {
            let info = space.state(node, state);
            let view_keys = info.views.iter().enumerate();
            MemoState {
                key: info.key,
                up: info.up,
                internal: (*info.internal).into(),
                view_keys: view_keys
                    .map(|(property, view)| key(domain::VIEWS, &(property, node, view)))
                    .collect(),
                views: (*info.views).into(),
            }
        })
    }

    /// What a node's move from one state to another adds to a fingerprint.
    #[inline]
    pub fn state_delta(&mut self, node: usize, from: StateId, to: StateId) -> u64 {
        let before = self.state(node, from).key;
        self.state(node, to).key.wrapping_sub(before)
    }

    /// Events that can happen in this state without anything in flight.
    pub fn internal(&mut self, node: usize, state: StateId) -> &[EventId] {
        &self.state(node, state).internal
    }

    /// Whether there are such events.
    #[inline]
    pub fn has_internal(&mut self, node: usize, state: StateId) -> bool {
        match self.internal_counts[node].get(state as usize) {
            Some(0) => false,
            Some(&count) if count != u8::MAX => true,
            _ => {
                let count = self.internal(node, state).len().min(usize::from(u8::MAX) - 1);
                let counts = &mut self.internal_counts[node];
                if counts.len() <= state as usize {
                    counts.resize(state as usize + 1, u8::MAX);
                }
                counts[state as usize] = count as u8;
                count > 0
            }
        }
    }

    /// Whether a node in this state is up.
    pub fn is_up(&mut self, node: usize, state: StateId) -> bool {
        self.state(node, state).up
    }

    /// The code of what the event does when its node is in the state that it is in among
    /// `states`: [`NOTHING`], [`STUTTER`], or a place for [`Memo::step`].
    #[inline]
    pub fn code(&mut self, states: &[StateId], event: EventId) -> Result<u32, Error> {
        self.lookups += 1;
        // An event that is not yet known has a place that no row has.
        let info = self.events.get(event as usize).unwrap_or(&MemoEvent::UNKNOWN);
        let state = states[info.node as usize];
        match self.rows[info.node as usize].get(state, info.local) {
            UNKNOWN => self.learn_steps(states, event),
            code => Ok(code),
        }
    }

    #[cold]
    fn learn_steps(&mut self, states: &[StateId], event: EventId) -> Result<u32, Error> {
        let info = self.event(event);
        let node = info.node as usize;
        let state = states[node];
        if let code @ 1.. = self.rows[node].get(state, info.local) {
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
                    let views_before = self.state(node, state).views.clone();
                    let after = self.state(node, next.state);
                    if after.views != views_before {
                        flags |= flag::VIEWS;
                    }
                    let mut delta = after.key.wrapping_sub(key);
                    if next.state == state && next.sends.is_empty() {
                        flags |= flag::TRIVIAL;
                    }
                    if next.stutter {
                        flags |= flag::STUTTER;
                    }
                    let plain = match self.network {
                        NetworkKind::Unordered => true,
                        NetworkKind::Duplicating => next.sends.is_empty(),
                        NetworkKind::Ordered => next.sends.is_empty() && !info.is_message(),
                    };
                    if plain && next.feed == 0 {
                        flags |= flag::SIMPLE;
                        if info.is_consumed(self.network) {
                            delta = delta.wrapping_sub(info.key);
                        }
                        for &send in &next.sends {
                            delta = delta.wrapping_add(self.event(send).key);
                        }
                    }
                    let sends_len = next.sends.len() as u16;
                    MemoStep { delta, next: next.state, feed: next.feed, sends, sends_len, flags }
                }
            };
            self.steps.push(memo);
        }
        if let [only] = &self.steps[(code.max(FIRST) - FIRST) as usize..] {
            let pure = flag::LAST | flag::SIMPLE | flag::TRIVIAL | flag::STUTTER;
            if code >= FIRST && only.flags == pure {
                self.steps.pop();
                code = STUTTER;
            }
        }
        self.rows[node].set(state, info.local, code);
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
    pub fn observe(
        &mut self,
        observer: usize,
        state: u32,
        feed: FeedId,
    ) -> Result<(u32, u64), Error> {
        let key = (observer as u32, state, feed);
        if let Some(&known) = self.observed.get(&key) {
            return Ok(known);
        }
        let next = self.space.observe(observer, state, feed)?;
        let before = self.space.observer_key(observer, state);
        let moved = (next, self.space.observer_key(observer, next).wrapping_sub(before));
        self.observed.insert(key, moved);
        Ok(moved)
    }

    /// The queue with an event behind all others, and what that adds to a fingerprint.
    pub fn push(&mut self, queue: u32, event: EventId) -> (u32, u64) {
        let space = self.space;
        *self.pushed.entry((queue, event)).or_insert_with(|| {
            let queues = space.queues();
            let next = queues.push(queue, event, |event| space.event(event).key);
            (next, queues.key(next).wrapping_sub(queues.key(queue)))
        })
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
            hash = hash.wrapping_add(self.state(node, state).view_keys[property]);
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

    fn views(&mut self, property: usize, states: &[StateId]) -> Vec<u32> {
        let states = states.iter().enumerate();
        states.map(|(node, &state)| self.state(node, state).views[property]).collect()
    }
}

/// The codes of one node's steps.
#[derive(Default)]
struct Rows {
    /// How many events a row has room for; a multiple of 64.
    stride: usize,
    /// A bit for each state and event: set if the event changes nothing.
    nothing: Vec<u64>,
    codes: Vec<u32>,
    /// Takes over when `codes` would grow too large.
    sparse: Option<FxHashMap<(StateId, u32), u32>>,
}

impl Rows {
    #[inline]
    fn get(&self, state: StateId, event: u32) -> u32 {
        if let Some(sparse) = &self.sparse {
            return sparse.get(&(state, event)).copied().unwrap_or(UNKNOWN);
        }
        let at = state as usize * self.stride + event as usize;
        if event as usize >= self.stride || at >= self.codes.len() {
            return UNKNOWN;
        }
        if self.nothing[at / 64] >> (at % 64) & 1 == 1 {
            return NOTHING;
        }
        self.codes[at]
    }

    fn set(&mut self, state: StateId, event: u32, code: u32) {
        if self.sparse.is_none() {
            self.make_room(state as usize + 1, event as usize + 1);
        }
        if let Some(sparse) = &mut self.sparse {
            sparse.insert((state, event), code);
            return;
        }
        let at = state as usize * self.stride + event as usize;
        if code == NOTHING {
            self.nothing[at / 64] |= 1 << (at % 64);
        }
        self.codes[at] = code;
    }

    fn make_room(&mut self, states: usize, events: usize) {
        let old_stride = self.stride;
        let stride =
            if events <= old_stride { old_stride } else { events.next_power_of_two().max(64) };
        let old_states = self.codes.len().checked_div(old_stride).unwrap_or(0);
        let states = if states <= old_states { old_states } else { states + states / 4 };
        if (stride, states) == (old_stride, old_states) {
            return;
        }
        if states * stride > MAX_DENSE {
            let mut sparse = FxHashMap::default();
            for at in 0..self.codes.len() {
                if self.codes[at] != UNKNOWN {
                    let place = ((at / old_stride) as StateId, (at % old_stride) as u32);
                    sparse.insert(place, self.codes[at]);
                }
            }
            *self = Rows { sparse: Some(sparse), ..Rows::default() };
            return;
        }
        if stride == old_stride {
            self.codes.resize(states * stride, UNKNOWN);
            self.nothing.resize(states * stride / 64, 0);
            return;
        }
        let mut wider = Rows {
            stride,
            nothing: vec![0; states * stride / 64],
            codes: vec![UNKNOWN; states * stride],
            sparse: None,
        };
        for row in 0..old_states {
            let (from, to) = (row * old_stride, row * stride);
            wider.codes[to..to + old_stride].copy_from_slice(&self.codes[from..from + old_stride]);
            wider.nothing[to / 64..][..old_stride / 64]
                .copy_from_slice(&self.nothing[from / 64..][..old_stride / 64]);
        }
        *self = wider;
    }

    fn bytes(&self) -> usize {
        let sparse = self.sparse.as_ref().map_or(0, |sparse| sparse.capacity() * 16);
        self.codes.len() * 4 + self.nothing.len() * 8 + sparse
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_codes_as_they_grow_and_when_they_turn_sparse() {
        let mut rows = Rows::default();
        let mut expected = Vec::new();
        let mut random = 1u64;
        for n in 0..3_000u32 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let (state, event) =
                ((random >> 40) as u32 % (n + 1), (random >> 20) as u32 % (n / 4 + 1));
            if rows.get(state, event) == UNKNOWN {
                let code = if n % 3 == 0 { NOTHING } else { FIRST + n };
                rows.set(state, event, code);
                expected.push((state, event, code));
            }
        }
        assert!(rows.sparse.is_none());
        assert!(expected.iter().all(|&(state, event, code)| rows.get(state, event) == code));
        rows.set(2_000_000, 60, 77);
        assert!(rows.sparse.is_some());
        assert_eq!(rows.get(2_000_000, 60), 77);
        assert_eq!(rows.get(2_000_000, 61), UNKNOWN);
        assert!(expected.iter().all(|&(state, event, code)| rows.get(state, event) == code));
    }
}
