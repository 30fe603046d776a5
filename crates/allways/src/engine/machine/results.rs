//! What steps of handlers can lead to, and which are possible: what the machine knows without making anything happen.

use super::footprint::Footprint;
use super::handlers::{Entry, Handlers, Kind};
use super::lanes::NONE;
use super::{Process, Transition};
use crate::error::Error;
use crate::model::network::NetworkKind;
use crate::space::memo::{FIRST, MemoStep, flag};
use crate::space::{EventId, StateId, StepEnd};
use std::sync::atomic::Ordering::Relaxed;

impl Handlers<'_> {
    /// The results that an event can have in a state of its node, in `self.alternatives`, and what it touches; nothing if
    /// it has none. `fed` is where the states of the observers are, [`NONE`] if they are the present ones.
    pub(super) fn results(
        &mut self,
        process: Process,
        state: StateId,
        event: EventId,
        fed: u32,
    ) -> Result<Option<Footprint>, Error> {
        let doer = self.doers[process as usize];
        self.alternatives.clear();
        let node = self.layout.event_node(event);
        let before = std::mem::replace(&mut self.states[node], state);
        let code = self.memo.code(&self.states, event);
        self.states[node] = before;
        let first = code?;
        if first < FIRST {
            return Ok(None);
        }
        self.first = first;
        let step = *self.memo.step(first);
        if step.flags & flag::SURE != 0 && !self.sends_touch() {
            self.alternatives.push(0);
            return Ok(Some(doer.touches[usize::from(step.feed != 0)]));
        }
        let always = doer.kind == Kind::Deliver && self.is_queue(doer.lane);
        let mut code = first;
        let mut feeds = false;
        loop {
            let step = *self.memo.step(code);
            feeds |= step.feed != 0;
            if step.flags & flag::TRIVIAL == 0 || always || self.moves_observers(&step, fed)? {
                self.alternatives.push(code - first);
            }
            if step.flags & flag::LAST != 0 {
                break;
            }
            code += 1;
        }
        let footprint = match self.sends_touch() {
            true => self.footprint_with_sends(process, first, code, feeds),
            false => doer.touches[usize::from(feeds)],
        };
        Ok((!self.alternatives.is_empty()).then_some(footprint))
    }

    /// Whether sending touches lanes: what is sent again only counts if it is not there any more.
    pub(super) fn sends_touch(&self) -> bool {
        self.layout.network == NetworkKind::Duplicating && self.budgets.drops > 0
    }

    /// What a step touches where sending touches lanes: those of all of its results.
    fn footprint_with_sends(
        &mut self,
        process: Process,
        first: u32,
        last: u32,
        feeds: bool,
    ) -> Footprint {
        let doer = self.doers[process as usize];
        let plain = doer.touches[usize::from(feeds)];
        let mut writes = self.footprints.writes(plain).to_vec();
        let reads = self.footprints.reads(plain).to_vec();
        for code in first..=last {
            let step = *self.memo.step(code);
            for index in 0..self.memo.sends(&step).len() {
                let event = self.memo.sends(&step)[index];
                if self.memo.event(event).is_message() {
                    let lane = self.lane_of(event, NONE);
                    writes.push(self.lane_object(lane));
                }
            }
        }
        self.footprints.intern(&writes, &reads)
    }

    /// Whether some observer moves when it sees a step.
    fn moves_observers(&mut self, step: &MemoStep, fed: u32) -> Result<bool, Error> {
        if step.feed == 0 {
            return Ok(false);
        }
        for observer in 0..self.layout.observers {
            let state = match fed {
                NONE => self.observers[observer],
                at => self.fed[at as usize + observer],
            };
            if self.memo.observe(observer, state, step.feed)?.0 != state {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether an event that has no result in a state might have one if observers were in other states.
    pub(super) fn only_feeds(&mut self, state: StateId, event: EventId) -> Result<bool, Error> {
        let steps = self.memo.space.steps(state, event)?;
        Ok(steps.iter().any(|step| matches!(&step.end, StepEnd::Next(next) if next.feed != 0)))
    }

    /// What a process touches that feeds no observers.
    pub(super) fn plain_footprint(&self, process: Process) -> Footprint {
        self.doers[process as usize].touches[0]
    }

    pub(super) fn take_alternatives(&mut self, into: &mut Vec<u32>) {
        into.clear();
        into.extend_from_slice(&self.alternatives);
    }

    /// See [`Machine::possible`](super::Machine::possible).
    pub(super) fn list_possible(&mut self, into: &mut Vec<Transition>) -> Result<bool, Error> {
        into.clear();
        self.stamp += 1;
        self.list_regular(into)?;
        let goes_on = !into.is_empty();
        self.list_faults(into)?;
        Ok(goes_on)
    }

    /// See [`Machine::blocked`](super::Machine::blocked).
    pub(super) fn list_blocked(&mut self, into: &mut Vec<Process>) -> Result<(), Error> {
        let mut listed = std::mem::take(&mut self.listed);
        self.list_possible(&mut listed)?;
        self.listed = listed;
        into.clear();
        for index in 0..self.lanes.filled.len() {
            self.add_blocked_lane(self.lanes.filled[index], into);
        }
        if self.has_mishaps() {
            for index in 0..self.log.len() {
                let lane = self.log[index].lane;
                if lane != NONE {
                    self.add_blocked_lane(lane, into);
                }
            }
        }
        for index in 0..self.emptied.len() {
            self.add_blocked_lane(self.emptied[index].lane, into);
        }
        if self.memo.space.acts_alone().load(Relaxed) {
            for index in 0..self.log.len() {
                let Entry { node, state, .. } = self.log[index];
                if node == NONE {
                    continue;
                }
                for place in self.memo.internal(node as usize, state) {
                    let process = self.inside(self.memo.internal_event(place));
                    self.add_blocked(process, into);
                }
            }
        }
        for index in 0..self.crashes.len() {
            self.add_blocked(self.crashes[index], into);
        }
        for index in 0..self.partitions.len() {
            self.add_blocked(self.partitions[index], into);
        }
        self.add_blocked(self.heal, into);
        Ok(())
    }

    /// Lists the steps of a process of a node, if it has any now.
    fn list(
        &mut self,
        process: Process,
        event: EventId,
        into: &mut Vec<Transition>,
    ) -> Result<(), Error> {
        let state = self.states[self.layout.event_node(event)];
        if self.results(process, state, event, NONE)?.is_some() {
            self.doers[process as usize].stamp = self.stamp;
            let one = |&alternative| Transition { process, alternative };
            into.extend(self.alternatives.iter().map(one));
        }
        Ok(())
    }

    /// Lists something that is not a step of a node.
    fn list_other(&mut self, process: Process, into: &mut Vec<Transition>) {
        self.doers[process as usize].stamp = self.stamp;
        into.push(Transition { process, alternative: 0 });
    }

    /// Everything that may happen but faults.
    fn list_regular(&mut self, into: &mut Vec<Transition>) -> Result<(), Error> {
        if self.memo.space.acts_alone().load(Relaxed) {
            for node in 0..self.layout.nodes {
                for place in self.memo.internal(node, self.states[node]) {
                    let event = self.memo.internal_event(place);
                    let process = self.inside(event);
                    self.list(process, event, into)?;
                }
            }
        }
        for index in 0..self.lanes.filled.len() {
            let lane = self.lanes.filled[index];
            let event = self.lanes.first(lane).event;
            self.list(self.lanes.all[lane as usize].deliver, event, into)?;
        }
        if self.faults.duplications > 0 {
            for index in 0..self.lanes.filled.len() {
                let lane = self.lanes.filled[index];
                let keep = self.lanes.all[lane as usize].keep;
                if keep != NONE {
                    self.list(keep, self.lanes.first(lane).event, into)?;
                }
            }
        }
        if self.faults.cut > 0 {
            self.list_other(self.heal, into);
        }
        Ok(())
    }

    fn list_faults(&mut self, into: &mut Vec<Transition>) -> Result<(), Error> {
        if self.faults.crashes > 0 {
            for node in 0..self.layout.nodes {
                if self.memo.is_up(node, self.states[node]) {
                    let crash = self.crashes[node];
                    self.list(crash, self.memo.space.crash(node), into)?;
                }
            }
        }
        if self.faults.drops > 0 {
            for index in 0..self.lanes.filled.len() {
                let lose = self.lanes.all[self.lanes.filled[index] as usize].lose;
                if lose != NONE {
                    self.list_other(lose, into);
                }
            }
        }
        if self.faults.cut == 0 && self.faults.partitions > 0 {
            for cut in 0..self.partitions.len() {
                self.list_other(self.partitions[cut], into);
            }
        }
        Ok(())
    }

    /// Adds a process to a list of those that are blocked, unless it was listed.
    fn add_blocked(&mut self, process: Process, into: &mut Vec<Process>) {
        if process != NONE && self.doers[process as usize].stamp != self.stamp {
            self.doers[process as usize].stamp = self.stamp;
            into.push(process);
        }
    }

    fn add_blocked_lane(&mut self, lane: u32, into: &mut Vec<Process>) {
        let lane = &self.lanes.all[lane as usize];
        for process in [lane.deliver, lane.keep, lane.lose] {
            self.add_blocked(process, into);
        }
    }
}
