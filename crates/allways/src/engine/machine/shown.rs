//! What nodes can tell of the steps of others, for those who divide a system into components.

use super::handlers::{Handlers, Kind, Shared};
use super::lanes::{Item, NONE};
use super::{Object, Process, Shown, Touched, Transition};
use crate::error::Error;
use crate::model::network::NetworkKind;
use crate::space::FeedId;
use crate::space::memo::{FIRST, flag};
use crate::trace::skeleton::{mix, pair};

impl Handlers<'_> {
    /// See [`Machine::group`](super::Machine::group). What is lost belongs to the node that does not get it.
    pub(super) fn group_of(&self, process: Process) -> u32 {
        let doer = &self.doers[process as usize];
        match (doer.node, doer.lane) {
            (NONE, NONE) => self.layout.nodes as u32,
            (NONE, lane) => self.lanes.all[lane as usize].node,
            (node, _) => node,
        }
    }

    /// See [`Machine::touched`](super::Machine::touched).
    pub(super) fn touched_by(&self, object: Object) -> Touched<'_> {
        if object < self.layout.nodes as Object {
            return Touched::By(object);
        }
        match object.checked_sub(self.object(Shared::First)) {
            // Where sending touches lanes, they are not the receiver's alone.
            Some(lane) if !self.sends_touch() => Touched::By(self.lanes.all[lane as usize].node),
            _ => Touched::ByAny,
        }
    }

    /// See [`Machine::shows`](super::Machine::shows).
    pub(super) fn list_shown(
        &mut self,
        transition: Transition,
        without: &[u32],
        into: &mut Shown,
    ) -> Result<(), Error> {
        into.clear();
        let doer = self.doers[transition.process as usize];
        let place = self.place(transition.process, without);
        let mut event = doer.event;
        if doer.lane != NONE {
            let lane = &self.lanes.all[doer.lane as usize];
            let Some(item) = lane.items.get(place.head.unwrap_or(lane.head) as usize) else {
                let what = "a step was to be shown that is not possible";
                return Err(Error::Internal(what.to_owned()));
            };
            event = item.event;
        }
        let kind = match doer.kind {
            Kind::Partition => Kind::Partition.number() + u64::from(doer.event),
            kind => kind.number(),
        };
        let taken = match doer.lane {
            NONE => 0,
            _ => pair(kind, self.memo.event(event).key),
        };
        // Losses are no steps of the node, so which of them it is must be told.
        into.shared = pair(kind, taken);
        if doer.node == NONE {
            return Ok(());
        }
        let state = place.state.unwrap_or(self.states[doer.node as usize]);
        let first = self.memo.code_at(state, event)?;
        if first < FIRST || transition.alternative >= self.memo.results(first) {
            let what = "a result of a step was to be shown that it does not have";
            return Err(Error::Internal(what.to_owned()));
        }
        let step = *self.memo.step(first + transition.alternative);
        if step.flags & flag::PANIC != 0 {
            // What fails shows nothing, and nothing comes after it.
            return Ok(());
        }
        into.shared = pair(kind, self.feed_key(step.feed));
        let is_ordered = self.layout.network == NetworkKind::Ordered;
        let stays = !self.sends_touch() && !self.has_partitions();
        let count = self.memo.sends(&step).len();
        let mut lanes = std::mem::take(&mut self.sorted);
        lanes.clear();
        for index in 0..count {
            let send = self.memo.sends(&step)[index];
            let lane = self.lane_of(send, doer.lane);
            let before = lanes.iter().filter(|&&other| other == lane).count() as u64;
            lanes.push(lane);
            let sent = self.sent_before(lane, without) + before;
            let known = &self.lanes.all[lane as usize];
            // Where nothing takes away what was sent once, sending it again gives nothing to anybody.
            if stays && !known.is_consumed && sent > 0 {
                continue;
            }
            // Which of those in a lane it is can be told: where the network keeps their order, and also where they are all the same.
            let place = pair(sent, known.origin);
            let to = self.layout.event_node(send) as u32;
            into.to.push((to, pair(place, mix(self.memo.event(send).key))));
        }
        self.sorted = lanes;
        // Where the network keeps no order, nobody can tell it.
        if !is_ordered {
            into.to.sort_unstable();
        }
        Ok(())
    }

    /// What observers see, by content.
    fn feed_key(&mut self, feed: FeedId) -> u64 {
        let at = feed as usize;
        if feed == 0 {
            return 0;
        }
        if self.feed_keys.len() <= at {
            self.feed_keys.resize(at + 1, 0);
        }
        if self.feed_keys[at] == 0 {
            self.feed_keys[at] = self.memo.space.feed_key(feed);
        }
        self.feed_keys[at]
    }

    /// How many were put into a lane, without some events of the run.
    fn sent_before(&self, lane: u32, without: &[u32]) -> u64 {
        let is_there = |item: &&Item| without.binary_search(&item.created_by).is_err();
        self.lanes.all[lane as usize].items.iter().filter(is_there).count() as u64
    }
}
