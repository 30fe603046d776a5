//! What a state of the machine is, apart from how the run came to it; and what a process may ever touch.

use super::handlers::{Handlers, Kind};
use super::lanes::NONE;
use super::{Process, Reach};

impl Handlers<'_> {
    /// See [`Machine::key`](super::Machine::key).
    pub(super) fn write_key(&mut self, into: &mut Vec<u32>) {
        into.clear();
        into.extend_from_slice(&self.states);
        into.extend_from_slice(&self.observers);
        into.extend_from_slice(&self.faults.pack());
        let mut filled = std::mem::take(&mut self.sorted);
        filled.clear();
        filled.extend_from_slice(&self.lanes.filled);
        filled.sort_unstable();
        for &number in &filled {
            let lane = &self.lanes.all[number as usize];
            let items = &lane.items[lane.head as usize..];
            into.extend([number, items.len() as u32]);
            into.extend(items.iter().map(|item| item.event));
        }
        self.sorted = filled;
    }

    /// See [`Machine::reach`](super::Machine::reach).
    pub(super) fn reach_of(&self, process: Process) -> Reach {
        let doer = &self.doers[process as usize];
        let steps = !matches!(doer.kind, Kind::Lose | Kind::Partition | Kind::Heal);
        let feeds = steps && !self.observers.is_empty();
        let touches = match steps && self.sends_touch() {
            true => None,
            false => Some(doer.touches[usize::from(feeds)]),
        };
        let creator = match doer.lane {
            NONE => None,
            lane => self.lanes.all[lane as usize].creator,
        };
        Reach { touches, creator }
    }
}
