//! What an exploration has cost, for the statistics.

use super::partial::Explored;

/// Numbers for the statistics.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Counts {
    pub local_traces: u64,
    /// How many of these were in the log.
    pub resumed_traces: u64,
    pub other_runs: u64,
    pub compositions: u64,
    pub transitions: u64,
    pub deepest: usize,
    /// The local skeletons that were explored, of components that consist of no others; and the skeletons within those that do.
    pub local_skeletons: u64,
    pub inner_skeletons: u64,
}

impl Counts {
    /// Of the exploration of a component that consists of no others.
    pub fn of(found: &Explored, transitions: u64, deepest: usize) -> Self {
        Counts {
            local_traces: u64::try_from(found.traces).unwrap_or(u64::MAX),
            other_runs: found.others,
            transitions,
            deepest,
            local_skeletons: 1,
            ..Counts::default()
        }
    }

    /// Adds what another exploration has cost.
    pub fn add(&mut self, other: &Counts) {
        self.local_traces += other.local_traces;
        self.resumed_traces += other.resumed_traces;
        self.other_runs += other.other_runs;
        self.compositions += other.compositions;
        self.transitions += other.transitions;
        self.deepest = self.deepest.max(other.deepest);
        self.local_skeletons += other.local_skeletons;
        self.inner_skeletons += other.inner_skeletons;
    }

    /// How many there are to be written down.
    pub const NUMBERS: usize = 7;

    /// To be written down: all but what was in a log.
    pub fn to_numbers(self) -> [u64; Self::NUMBERS] {
        let Counts { local_traces, other_runs, compositions, transitions, .. } = self;
        let Counts { deepest, local_skeletons, inner_skeletons, .. } = self;
        let [deepest, all] = [deepest as u64, local_traces];
        [all, other_runs, compositions, transitions, deepest, local_skeletons, inner_skeletons]
    }

    /// What was written down.
    pub fn from_numbers(numbers: [u64; Self::NUMBERS]) -> Self {
        let [local_traces, other_runs, compositions, transitions, deepest, locals, inner] = numbers;
        Counts {
            local_traces,
            other_runs,
            compositions,
            transitions,
            deepest: usize::try_from(deepest).unwrap_or(usize::MAX),
            local_skeletons: locals,
            inner_skeletons: inner,
            ..Counts::default()
        }
    }
}
