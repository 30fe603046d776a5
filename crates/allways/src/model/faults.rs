//! What may go wrong besides the network: crashes and partitions, each within a budget.

use std::fmt;

/// Crashes, restarts and partitions that a system must survive.
///
/// A crash leaves of a node what [`Node::persisted`](crate::Node::persisted) says, and none of its
/// pending timers. Until it restarts, it handles nothing: on unordered and duplicating networks
/// what is sent to it waits, on an ordered one it may be lost at its door; calls wait on all. A
/// node may restart after every crash. Views of a node that is down read what the crash left.
/// The bound on timers ([`System::timers`](crate::System::timers)) counts through crashes.
///
/// ```
/// use allways::Faults;
/// let faults = Faults::none()
///     .crashes(1)
///     .restarts()
///     .partition([vec![0], vec![1, 2]]) // this cut may happen …
///     .partitions(1); //                   … once
/// assert_ne!(faults, Faults::none());
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Faults {
    pub(crate) crashes: u8,
    pub(crate) restarts: bool,
    pub(crate) partitions: u8,
    /// Each way in which the network may part.
    pub(crate) cuts: Vec<Cut>,
}

/// A way in which the network may part.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Into groups of nodes. Those in no group form one more.
    Groups(Vec<Vec<usize>>),
    /// Only these two cannot reach each other.
    Link(usize, usize),
}

impl Cut {
    /// Whether it keeps two nodes apart.
    pub fn parts(&self, a: usize, b: usize) -> bool {
        match self {
            Cut::Groups(groups) => {
                let group = |node| groups.iter().position(|group| group.contains(&node));
                group(a) != group(b)
            }
            Cut::Link(one, other) => (a, b) == (*one, *other) || (b, a) == (*one, *other),
        }
    }

    /// The nodes that it names.
    pub fn named(&self) -> Vec<usize> {
        match self {
            Cut::Groups(groups) => groups.iter().flatten().copied().collect(),
            Cut::Link(one, other) => vec![*one, *other],
        }
    }
}

impl fmt::Debug for Cut {
    /// Runs are told and saved with this: groups as a list of lists, a link as a pair.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cut::Groups(groups) => groups.fmt(f),
            Cut::Link(one, other) => (one, other).fmt(f),
        }
    }
}

impl Faults {
    /// Nothing goes wrong.
    ///
    /// ```
    /// use allways::Faults;
    /// assert_eq!(Faults::none(), Faults::default());
    /// ```
    pub fn none() -> Self {
        Faults::default()
    }

    /// At most this many crashes in a run, of any nodes.
    ///
    /// ```
    /// use allways::Faults;
    /// assert_ne!(Faults::none().crashes(1), Faults::none());
    /// ```
    #[must_use]
    pub fn crashes(mut self, budget: u8) -> Self {
        self.crashes = budget;
        self
    }

    /// A crashed node may start again, with what it had persisted.
    ///
    /// ```
    /// use allways::Faults;
    /// let faults = Faults::none().crashes(1).restarts();
    /// assert_ne!(faults, Faults::none().crashes(1)); // then what is down stays down
    /// ```
    #[must_use]
    pub fn restarts(mut self) -> Self {
        self.restarts = true;
        self
    }

    /// The network may part into these groups. Nodes that are in no group form one more. While the
    /// partition lasts, what is sent between groups is lost; when it starts, so is what is in
    /// flight between them. It may heal at any time.
    ///
    /// ```
    /// use allways::Faults;
    /// // Of nodes 0 to 3: node 0 from the others, or two from two.
    /// let faults = Faults::none().partition([vec![0]]).partition([vec![0, 1], vec![2, 3]]);
    /// # let _ = faults;
    /// ```
    #[must_use]
    pub fn partition(mut self, groups: impl IntoIterator<Item = Vec<usize>>) -> Self {
        self.cuts.push(Cut::Groups(groups.into_iter().collect()));
        self.partitions = self.partitions.max(1);
        self
    }

    /// The link between these two may fail, while both reach all others. What is in flight on it is lost, as is what is sent while it lasts. It is a
    /// [partition](Faults::partition) like others: there are at most [so many](Faults::partitions) in a run, one at a time, and it
    /// may heal at any time. What nodes are told then is up to [`System::reconnect`](crate::System::reconnect).
    ///
    /// ```
    /// use allways::Faults;
    /// // Any one of the links among three nodes, twice.
    /// let faults = Faults::none().link(0, 1).link(0, 2).link(1, 2).partitions(2);
    /// # let _ = faults;
    /// ```
    #[must_use]
    pub fn link(mut self, one: usize, other: usize) -> Self {
        self.cuts.push(Cut::Link(one, other));
        self.partitions = self.partitions.max(1);
        self
    }

    /// At most this many partitions in a run (one, unless said otherwise).
    ///
    /// ```
    /// use allways::Faults;
    /// let faults = Faults::none().partition([vec![0]]).partitions(2); // twice, not once
    /// # let _ = faults;
    /// ```
    #[must_use]
    pub fn partitions(mut self, budget: u8) -> Self {
        self.partitions = budget;
        self
    }
}

/// How much of each fault budget is left, and the partition in force.
///
/// Fits three slots of a global vector: [`FaultState::pack`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct FaultState {
    pub crashes: u8,
    pub drops: u8,
    pub duplications: u8,
    pub partitions: u8,
    /// Zero: none; otherwise one more than the number of the cut.
    pub cut: u8,
}

impl FaultState {
    /// Three words of at most sixteen bits.
    pub fn pack(self) -> [u32; 3] {
        let pair = |a: u8, b: u8| u32::from(a) | u32::from(b) << 8;
        [
            pair(self.crashes, self.drops),
            pair(self.duplications, self.partitions),
            u32::from(self.cut),
        ]
    }

    pub fn unpack(words: [u32; 3]) -> Self {
        let [crashes, drops, ..] = words[0].to_le_bytes();
        let [duplications, partitions, ..] = words[1].to_le_bytes();
        FaultState { crashes, drops, duplications, partitions, cut: words[2] as u8 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_loses_nothing() {
        let state = FaultState { crashes: 1, drops: 255, duplications: 3, partitions: 4, cut: 9 };
        assert_eq!(FaultState::unpack(state.pack()), state);
    }
}
