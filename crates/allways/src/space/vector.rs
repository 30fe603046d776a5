//! How a global state is laid out as a vector of numbers, and its fingerprint.
//!
//! ```text
//! [faults ×3] [state of each node] [state of each observer] [queue of each pair] [in flight …]
//! ```
//!
//! Faults are there only in systems that have some, queues only on ordered networks. What is in
//! flight is a list of event ids in no particular order, with equal ones side by side.

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
    pub observers: usize,
    pub network: NetworkKind,
    pub has_faults: bool,
    /// For each cut, each node's group.
    pub cuts: Vec<Vec<u32>>,
    /// What each property claims, and which observer it reads if it reads one.
    pub properties: Vec<(PropertyKind, Option<usize>)>,
    /// The first word of the nodes.
    pub node_base: usize,
    /// The first word of the observers.
    pub observer_base: usize,
    /// The first word of the queues.
    pub queue_base: usize,
    /// The first word of what is in flight.
    pub flight_base: usize,
}

impl Layout {
    pub fn new(
        nodes: usize,
        observers: usize,
        network: NetworkKind,
        has_faults: bool,
        cuts: Vec<Vec<u32>>,
        properties: Vec<(PropertyKind, Option<usize>)>,
    ) -> Self {
        let node_base = if has_faults { 3 } else { 0 };
        let observer_base = node_base + nodes;
        let queue_base = observer_base + observers;
        let queues = if network == NetworkKind::Ordered { nodes * nodes } else { 0 };
        Layout {
            nodes,
            node_bits: nodes.next_power_of_two().trailing_zeros(),
            observers,
            network,
            has_faults,
            cuts,
            properties,
            node_base,
            observer_base,
            queue_base,
            flight_base: queue_base + queues,
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
        ((1 << self.node_bits) - 1, self.node_bits)
    }

    /// The node that handles an event.
    #[inline]
    pub fn event_node(&self, event: EventId) -> usize {
        (event & ((1 << self.node_bits) - 1)) as usize
    }

    /// The number of an event among those of its node.
    #[inline]
    pub fn event_local(&self, event: EventId) -> u32 {
        event >> self.node_bits
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
        faults.cut > 0 && {
            let groups = &self.cuts[usize::from(faults.cut) - 1];
            groups[a as usize] != groups[b as usize]
        }
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
        for &queue in &vector[self.queue_base..self.flight_base] {
            sum = sum.wrapping_add(space.queues().key(queue));
        }
        for &event in &vector[self.flight_base..] {
            sum = sum.wrapping_add(space.event(event).key);
        }
        sum
    }
}

/// The part that the faults have in a fingerprint.
pub(crate) fn faults_key(faults: FaultState) -> u64 {
    key(domain::FAULTS, &faults)
}

/// Puts an event in flight, beside its equals.
pub(crate) fn put(vector: &mut Vec<u32>, flight_base: usize, event: EventId) {
    match vector[flight_base..].iter().position(|&other| other == event) {
        Some(at) => vector.insert(flight_base + at, event),
        None => vector.push(event),
    }
}
