//! Vector clocks: how many events of each of several chains have happened.
//!
//! A chain is a sequence of events of which each happens before the next, such as the events of a node
//! (Mattern, "Virtual time and global states of distributed systems", 1988). The clock of an event
//! counts, for each chain, the events that happen before it, and the event itself. One event happens
//! before another iff its clock is less. A consistent cut is a clock too: the merge of the clocks
//! of its events.

use std::cmp::Ordering;
use std::ops::Deref;

/// How many events of each chain have happened.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct VectorClock(Vec<u32>);

impl VectorClock {
    /// Nothing has happened on any of so many chains.
    pub fn new(chains: usize) -> Self {
        VectorClock(vec![0; chains])
    }

    /// Becomes the clock by which nothing has happened on so many chains.
    pub fn reset(&mut self, chains: usize) {
        self.0.clear();
        self.0.resize(chains, 0);
    }

    /// One more event of a chain has happened.
    pub fn tick(&mut self, chain: usize) {
        self.0[chain] += 1;
    }

    /// Says how many events of a chain have happened.
    pub fn set(&mut self, chain: usize, count: u32) {
        self.0[chain] = count;
    }

    /// Becomes a clock given as counts, one for each chain.
    pub fn assign(&mut self, counts: &[u32]) {
        self.0.clear();
        self.0.extend_from_slice(counts);
    }

    /// What has happened by either of two clocks.
    pub fn merge(&mut self, other: &[u32]) {
        merge(&mut self.0, other);
    }
}

impl Deref for VectorClock {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.0
    }
}

impl PartialOrd for VectorClock {
    /// As a partial order: one clock is less than another if no count is greater and some is less.
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (within(&self.0, &other.0), within(&other.0, &self.0)) {
            (true, true) => Some(Ordering::Equal),
            (true, false) => Some(Ordering::Less),
            (false, true) => Some(Ordering::Greater),
            (false, false) => None,
        }
    }
}

/// Raises each count of a clock to that of another, where it is greater.
pub(crate) fn merge(clock: &mut [u32], other: &[u32]) {
    for (count, &other) in clock.iter_mut().zip(other) {
        *count = (*count).max(other);
    }
}

/// Whether all that has happened by one clock has happened by the other.
pub(crate) fn within(clock: &[u32], other: &[u32]) -> bool {
    clock.iter().zip(other).all(|(count, other)| count <= other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_carries_the_clock_of_its_sender() {
        let mut sender = VectorClock::new(3);
        sender.tick(0);
        let sent = sender.clone();
        sender.tick(0);
        let mut receiver = VectorClock::new(3);
        receiver.tick(1);
        assert_eq!(sent.partial_cmp(&receiver), None);
        receiver.merge(&sent);
        receiver.tick(1);
        assert_eq!(&receiver[..], [1, 2, 0]);
        assert_eq!(sent.partial_cmp(&receiver), Some(Ordering::Less));
        assert_eq!(receiver.partial_cmp(&sent), Some(Ordering::Greater));
        assert_eq!(sender.partial_cmp(&receiver), None);
        assert_eq!(sent.partial_cmp(&sent.clone()), Some(Ordering::Equal));
    }
}
