//! What a running node counts.

use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// What a node has done since it started, and what it has refused.
///
/// ```
/// use allways_live::Statistics;
/// let mut sum = Statistics { sent: 2, ..Statistics::default() };
/// sum += Statistics { sent: 1, malformed: 1, ..Statistics::default() };
/// assert_eq!((sum.sent, sum.malformed), (3, 1));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Statistics {
    /// Messages handled, those to oneself included.
    pub handled: u64,
    /// Timers fired.
    pub timers: u64,
    /// Calls handled.
    pub calls: u64,
    /// Messages handed to the network, those to oneself not included.
    pub sent: u64,
    /// Messages dropped on purpose.
    pub dropped: u64,
    /// Messages dropped since too many were waiting to be sent.
    pub overflowed: u64,
    /// Messages, in or out, dropped since they are larger than messages may be.
    pub oversized: u64,
    /// What came in and is no message.
    pub malformed: u64,
    /// What came in without the authentication that the key asks for.
    pub forged: u64,
    /// What came in from another deployment, or from an address that is no node's.
    pub stray: u64,
    /// How often the state was written to disk.
    pub persisted: u64,
    /// Snapshots recorded.
    pub snapshots: u64,
}

impl AddAssign for Statistics {
    fn add_assign(&mut self, other: Self) {
        self.handled += other.handled;
        self.timers += other.timers;
        self.calls += other.calls;
        self.sent += other.sent;
        self.dropped += other.dropped;
        self.overflowed += other.overflowed;
        self.oversized += other.oversized;
        self.malformed += other.malformed;
        self.forged += other.forged;
        self.stray += other.stray;
        self.persisted += other.persisted;
        self.snapshots += other.snapshots;
    }
}
