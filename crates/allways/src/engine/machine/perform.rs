//! Making steps of handlers happen, and undoing them.

use super::handlers::{Emptied, Entry, Handlers, Kind};
use super::lanes::{Item, NONE};
use super::{Performed, Transition};
use crate::error::Error;
use crate::space::EventId;
use crate::space::memo::{FIRST, flag};

impl Handlers<'_> {
    /// See [`Machine::perform`](super::Machine::perform).
    pub(super) fn carry_out(&mut self, transition: Transition) -> Result<Performed, Error> {
        let doer = self.doers[transition.process as usize];
        let mut entry = Entry {
            transition,
            kind: doer.kind,
            event: doer.event,
            node: doer.node,
            state: 0,
            lane: NONE,
            head: 0,
            place: NONE,
            sent: self.sent.len() as u32,
            fed: NONE,
            emptied: self.emptied.len() as u32,
            faults: self.faults,
        };
        let mut created_by = NONE;
        if doer.lane != NONE {
            let first = self.lanes.first(doer.lane);
            (entry.event, created_by) = (first.event, first.created_by);
        }
        let mut footprint = doer.touches[0];
        let mut is_only = true;
        let mut done = (false, false, false);
        let mut first = FIRST;
        if doer.node != NONE {
            let state = self.states[doer.node as usize];
            entry.state = state;
            let Some(touches) = self.results(transition.process, state, entry.event, NONE)? else {
                let what = "a step was asked for that is not possible";
                return Err(Error::Internal(what.to_owned()));
            };
            footprint = touches;
            is_only = self.alternatives.len() == 1;
            first = self.first;
        }
        if doer.lane != NONE && doer.kind != Kind::Keep {
            let lane = &self.lanes.all[doer.lane as usize];
            if lane.is_consumed || doer.kind == Kind::Lose {
                (entry.lane, entry.head) = (doer.lane, lane.head);
                entry.place = self.lanes.take(doer.lane, 1);
            }
        }
        match doer.kind {
            Kind::Crash => self.faults.crashes -= 1,
            Kind::Lose => self.faults.drops -= 1,
            Kind::Keep => self.faults.duplications -= 1,
            Kind::Partition => {
                self.faults.partitions -= 1;
                self.faults.cut = doer.event as u8 + 1;
                self.lose_across();
            }
            Kind::Heal => {
                let cut = usize::from(std::mem::take(&mut self.faults.cut)) - 1;
                for index in 0..self.layout.greetings[cut].len() {
                    self.send(self.layout.greetings[cut][index], NONE);
                }
            }
            Kind::Deliver | Kind::Inside => {}
        }
        if doer.node != NONE {
            done = self.step(first, &mut entry)?;
        }
        self.log.push(entry);
        let (moved, fed, panicked) = done;
        Ok(Performed {
            footprint,
            is_only,
            created_by: (created_by != NONE).then_some(created_by as usize),
            moved: moved.then_some(doer.node as usize),
            fed,
            is_fault: doer.kind.is_fault(),
            failed: panicked,
        })
    }

    /// Carries out a result of an event at its node.
    fn step(&mut self, first: u32, entry: &mut Entry) -> Result<(bool, bool, bool), Error> {
        let step = *self.memo.step(first + entry.transition.alternative);
        if step.flags & flag::PANIC != 0 {
            return Ok((false, false, true));
        }
        let node = self.layout.event_node(entry.event);
        self.states[node] = step.next;
        for index in 0..self.memo.sends(&step).len() {
            let event = self.memo.sends(&step)[index];
            self.send(event, self.doers[entry.transition.process as usize].lane);
        }
        if step.feed != 0 {
            entry.fed = self.fed.len() as u32;
            self.fed.extend_from_slice(&self.observers);
            for observer in 0..self.observers.len() {
                let (state, _) =
                    self.memo.observe(observer, self.observers[observer], step.feed)?;
                self.observers[observer] = state;
            }
        }
        Ok((step.flags & flag::VIEWS != 0, step.feed != 0, false))
    }

    /// Puts an envelope on its lane; if it is a call, the one that came through this lane releases it.
    fn send(&mut self, event: EventId, released_by: u32) {
        let lane = self.lane_of(event, released_by);
        let known = &self.lanes.all[lane as usize];
        let parted =
            known.from.is_some_and(|from| self.layout.parted(self.faults, from, known.node));
        if parted || (!known.is_consumed && !self.lanes.is_empty(lane)) {
            return;
        }
        self.lanes.push(lane, Item { event, created_by: self.log.len() as u32 });
        self.sent.push(lane);
    }

    /// Loses everything in flight between parted nodes.
    fn lose_across(&mut self) {
        for index in (0..self.lanes.filled.len()).rev() {
            let lane = self.lanes.filled[index];
            let known = &self.lanes.all[lane as usize];
            let (head, count) = (known.head, known.items.len() as u32 - known.head);
            let from = known.from;
            if from.is_some_and(|from| self.layout.parted(self.faults, from, known.node)) {
                let place = self.lanes.take(lane, count);
                self.emptied.push(Emptied { lane, head, place });
            }
        }
    }

    pub(super) fn undo(&mut self, entry: &Entry) {
        for index in (entry.emptied as usize..self.emptied.len()).rev() {
            let Emptied { lane, head, place } = self.emptied[index];
            self.lanes.untake(lane, head, place);
        }
        self.emptied.truncate(entry.emptied as usize);
        if entry.fed != NONE {
            let before = &self.fed[entry.fed as usize..];
            self.observers.copy_from_slice(before);
            self.fed.truncate(entry.fed as usize);
        }
        for index in (entry.sent as usize..self.sent.len()).rev() {
            self.lanes.unpush(self.sent[index]);
        }
        self.sent.truncate(entry.sent as usize);
        if entry.lane != NONE {
            self.lanes.untake(entry.lane, entry.head, entry.place);
        }
        if entry.node != NONE {
            self.states[entry.node as usize] = entry.state;
        }
        self.faults = entry.faults;
    }
}
