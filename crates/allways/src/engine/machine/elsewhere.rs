//! What could have happened in a state that the run does not stand in: the one to which it leads without some of
//! its events.
//!
//! Those who left them out left out all that happens after them. The events that write one object are totally
//! ordered, so of those that do, a first part is still there, and the object is as it was before the first that
//! is not. The log knows how that was. All that decides whether a process can take its next step is looked up
//! in this way: its node, the observers, the budgets, the partition in force, and what was taken from its lane.

use super::handlers::{Handlers, Kind, Shared};
use super::lanes::NONE;
use super::{Blockers, Elsewhere, Process};
use crate::error::Error;
use crate::model::faults::FaultState;
use crate::space::StateId;

/// The part of a state that decides about one process.
pub(super) struct Place {
    pub state: Option<StateId>,
    /// Where the states of the observers are, [`NONE`] if they are the present ones.
    fed: u32,
    faults: FaultState,
    pub head: Option<u32>,
}

impl Handlers<'_> {
    /// See [`Machine::elsewhere`](super::Machine::elsewhere).
    pub(super) fn look_elsewhere(
        &mut self,
        process: Process,
        without: &[u32],
        into: &mut Vec<u32>,
    ) -> Result<Elsewhere, Error> {
        into.clear();
        let doer = self.doers[process as usize];
        let place = self.place(process, without);
        let blocked = |shared| Ok(Elsewhere::Blocked(Blockers::of(&[shared])));
        let (budget, object) = match doer.kind {
            Kind::Crash => (place.faults.crashes, Shared::Crashes),
            Kind::Lose => (place.faults.drops, Shared::Losses),
            Kind::Keep => (place.faults.duplications, Shared::Copies),
            Kind::Partition if place.faults.cut > 0 => (0, Shared::Network),
            Kind::Partition => (place.faults.partitions, Shared::Network),
            Kind::Heal => (place.faults.cut, Shared::Network),
            Kind::Deliver | Kind::Inside => (1, Shared::Network),
        };
        if budget == 0 {
            return blocked(self.object(object));
        }
        let mut event = doer.event;
        let mut created_by = None;
        if doer.lane != NONE {
            let lane = &self.lanes.all[doer.lane as usize];
            let item = lane.items.get(place.head.unwrap_or(lane.head) as usize);
            let Some(item) = item.filter(|item| without.binary_search(&item.created_by).is_err())
            else {
                return Ok(Elsewhere::Blocked(self.blockers_of_nothing(doer.lane)));
            };
            event = item.event;
            created_by = (item.created_by != NONE).then_some(item.created_by as usize);
        }
        if doer.node == NONE {
            into.push(0);
            let footprint = self.plain_footprint(process);
            return Ok(Elsewhere::Possible(footprint, created_by));
        }
        let node = doer.node as usize;
        let state = place.state.unwrap_or(self.states[node]);
        let ready = match doer.kind {
            Kind::Crash => self.memo.is_up(node, state),
            Kind::Inside => {
                let mut places = self.memo.internal(node, state);
                places.any(|place| self.memo.internal_event(place) == event)
            }
            _ => true,
        };
        if !ready {
            return blocked(doer.node);
        }
        match self.results(process, state, event, place.fed)? {
            Some(footprint) => {
                self.take_alternatives(into);
                Ok(Elsewhere::Possible(footprint, created_by))
            }
            None if self.only_feeds(state, event)? => {
                let objects = [doer.node, self.object(Shared::Observers)];
                Ok(Elsewhere::Blocked(Blockers::of(&objects)))
            }
            None => blocked(doer.node),
        }
    }

    /// What must be otherwise for an empty lane to have something: envelopes are lost to mishaps and partitions.
    fn blockers_of_nothing(&self, lane: u32) -> Blockers {
        let (lane, network) = (self.lane_object(lane), self.object(Shared::Network));
        match (self.has_mishaps(), self.has_partitions()) {
            (true, true) => Blockers::of(&[lane, network]),
            (true, false) => Blockers::of(&[lane]),
            (false, true) => Blockers::of(&[network]),
            (false, false) => Blockers::of(&[]),
        }
    }

    /// How things are without some events of the run.
    pub(super) fn place(&self, process: Process, without: &[u32]) -> Place {
        let doer = &self.doers[process as usize];
        let mut place = Place { state: None, fed: NONE, faults: self.faults, head: None };
        // From the last to the first: the first decides.
        for &event in without.iter().rev() {
            let entry = &self.log[event as usize];
            if entry.node == doer.node && doer.node != NONE {
                place.state = Some(entry.state);
            }
            if entry.fed != NONE {
                place.fed = entry.fed;
            }
            match entry.kind {
                Kind::Crash => place.faults.crashes = entry.faults.crashes,
                Kind::Lose => place.faults.drops = entry.faults.drops,
                Kind::Keep => place.faults.duplications = entry.faults.duplications,
                Kind::Partition | Kind::Heal => {
                    place.faults.partitions = entry.faults.partitions;
                    place.faults.cut = entry.faults.cut;
                    let end = self.log.get(event as usize + 1);
                    let end = end.map_or(self.emptied.len(), |next| next.emptied as usize);
                    let emptied = &self.emptied[entry.emptied as usize..end];
                    let lane = emptied.iter().find(|emptied| emptied.lane == doer.lane);
                    place.head = lane.map(|emptied| emptied.head).or(place.head);
                }
                Kind::Deliver | Kind::Inside => {}
            }
            if entry.lane == doer.lane && doer.lane != NONE {
                place.head = Some(entry.head);
            }
        }
        place
    }
}
