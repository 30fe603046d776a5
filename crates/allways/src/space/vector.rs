//! How a global state is laid out as a vector of numbers, and its fingerprint.
//!
//! ```text
//! [faults ×3] [state of each node] [state of each observer] [queue of each pair]
//! [for each node, where its inert events end] [inert events, node by node …] [live events …]
//! ```
//!
//! Faults are there only in systems that have some, queues only on ordered networks. What is in
//! flight is a list of event ids in two parts. *Inert* events are known to change nothing in the
//! state that their node is in; they wait for it to move. *Live* ones are all others, equal ones side
//! by side. Which events are inert is a matter of what a thread knows, so one global state may have
//! several vectors; its fingerprint, and [`Layout::plain`], do not depend on it. A step changes the
//! state of one node, so only that node's events have to be looked at again: see
//! [`apply`](crate::engine::apply).

use super::hash::key;
use super::{EventId, Space};
use crate::model::faults::FaultState;
use crate::model::network::NetworkKind;
use crate::model::property::PropertyKind;

/// Domains of fingerprint keys.
pub(crate) mod domain {
    pub const FAULTS: u64 = 1;
    pub const EVENT: u64 = 2;
    pub const QUEUE: u64 = 3;
    pub const VIEWS: u64 = 4;
    pub const FEED: u64 = 5;
    /// Plus the number of the node.
    pub const STATE: u64 = 1 << 32;
    /// Plus the number of the observer.
    pub const OBSERVER: u64 = 2 << 32;
}

/// Where the parts of a vector are.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub nodes: usize,
    /// How many low bits of an event's number name the node that handles it.
    node_bits: u32,
    /// Those bits.
    node_mask: u32,
    pub observers: usize,
    pub network: NetworkKind,
    pub has_faults: bool,
    /// For each cut, whether it keeps apart each pair of nodes.
    pub cuts: Vec<Vec<bool>>,
    /// For each cut, what is sent when it heals.
    pub greetings: Vec<Vec<EventId>>,
    /// What each property claims, and which observer it reads if it reads one.
    pub properties: Vec<(PropertyKind, Option<usize>)>,
    /// The first word of the nodes.
    pub node_base: usize,
    /// The first word of the observers.
    pub observer_base: usize,
    /// The first word of the queues.
    pub queue_base: usize,
    /// The first of the words that say where each node's inert events end.
    pub ends_base: usize,
    /// The first word of the inert events.
    pub inert_base: usize,
}

impl Layout {
    pub fn new(
        nodes: usize,
        observers: usize,
        network: NetworkKind,
        has_faults: bool,
        cuts: Vec<Vec<bool>>,
        properties: Vec<(PropertyKind, Option<usize>)>,
    ) -> Self {
        let node_base = if has_faults { 3 } else { 0 };
        let observer_base = node_base + nodes;
        let queue_base = observer_base + observers;
        let queues = if network == NetworkKind::Ordered { nodes * nodes } else { 0 };
        let node_bits = nodes.next_power_of_two().trailing_zeros();
        Layout {
            nodes,
            node_bits,
            node_mask: (1 << node_bits) - 1,
            observers,
            network,
            has_faults,
            greetings: vec![Vec::new(); cuts.len()],
            cuts,
            properties,
            node_base,
            observer_base,
            queue_base,
            ends_base: queue_base + queues,
            inert_base: queue_base + queues + nodes,
        }
    }

    /// The number of an event: the node that handles it, and its number among that node's events.
    pub fn event_id(&self, node: usize, local: u32) -> Option<EventId> {
        let shifted = local.checked_shl(self.node_bits)?;
        (shifted >> self.node_bits == local).then_some(shifted | node as u32)
    }

    /// A mask for the node in an event's number, and how far its number there is shifted.
    #[inline]
    pub fn event_bits(&self) -> (u32, u32) {
        (self.node_mask, self.node_bits)
    }

    /// The node that handles an event.
    #[inline]
    pub fn event_node(&self, event: EventId) -> usize {
        (event & self.node_mask) as usize
    }

    /// The number of an event among those of its node.
    #[inline]
    pub fn event_local(&self, event: EventId) -> u32 {
        event >> self.node_bits
    }

    /// The first word of the live events.
    #[inline]
    pub fn live_base(&self, vector: &[u32]) -> usize {
        self.inert_base + vector[self.inert_base - 1] as usize
    }

    /// The live events.
    #[inline]
    pub fn live<'v>(&self, vector: &'v [u32]) -> &'v [EventId] {
        &vector[self.live_base(vector)..]
    }

    /// Where a node's inert events are.
    #[inline]
    pub fn inert(&self, vector: &[u32], node: usize) -> std::ops::Range<usize> {
        let start = if node == 0 { 0 } else { vector[self.ends_base + node - 1] };
        let end = vector[self.ends_base + node];
        self.inert_base + start as usize..self.inert_base + end as usize
    }

    /// Everything in flight, in no particular order.
    pub fn flight<'v>(&self, vector: &'v [u32]) -> &'v [EventId] {
        &vector[self.inert_base..]
    }

    /// Whether an event is in flight.
    pub fn is_in_flight(&self, vector: &[u32], event: EventId) -> bool {
        let inert = self.inert(vector, self.event_node(event));
        vector[inert].contains(&event) || self.live(vector).contains(&event)
    }

    /// A vector without what differs between vectors of one global state: to compare by.
    pub fn plain(&self, vector: &[u32], plain: &mut Vec<u32>) {
        plain.clear();
        plain.extend_from_slice(&vector[..self.ends_base]);
        plain.extend_from_slice(self.flight(vector));
        plain[self.ends_base..].sort_unstable();
    }

    /// A vector of these parts: all that is before what is in flight, and all that is in flight. All
    /// events are taken for live.
    pub fn assemble(&self, before: &[u32], flight: &[EventId]) -> Vec<u32> {
        let mut vector = before[..self.ends_base].to_vec();
        vector.resize(self.inert_base, 0);
        vector.extend_from_slice(flight);
        // Equal events side by side.
        vector[self.inert_base..].sort_unstable();
        vector
    }

    /// The fault budgets and the partition in force.
    pub fn faults(&self, vector: &[u32]) -> FaultState {
        match self.has_faults {
            true => FaultState::unpack([vector[0], vector[1], vector[2]]),
            false => FaultState::default(),
        }
    }

    pub fn set_faults(&self, vector: &mut [u32], faults: FaultState) {
        if self.has_faults {
            vector[..3].copy_from_slice(&faults.pack());
        }
    }

    /// Whether a partition keeps two nodes apart.
    pub fn parted(&self, faults: FaultState, a: u32, b: u32) -> bool {
        faults.cut > 0
            && self.cuts[usize::from(faults.cut) - 1][a as usize * self.nodes + b as usize]
    }

    /// The fingerprint of a vector, computed from nothing.
    pub fn fingerprint(&self, space: &dyn Space, vector: &[u32]) -> u64 {
        let mut sum = faults_key(self.faults(vector));
        for node in 0..self.nodes {
            sum = sum.wrapping_add(space.state(node, vector[self.node_base + node]).key);
        }
        for observer in 0..self.observers {
            let state = vector[self.observer_base + observer];
            sum = sum.wrapping_add(space.observer_key(observer, state));
        }
        for &queue in &vector[self.queue_base..self.ends_base] {
            sum = sum.wrapping_add(space.queues().key(queue));
        }
        for &event in self.flight(vector) {
            sum = sum.wrapping_add(space.event(event).key);
        }
        sum
    }
}

/// The part that the faults have in a fingerprint.
pub(crate) fn faults_key(faults: FaultState) -> u64 {
    key(domain::FAULTS, &faults)
}
