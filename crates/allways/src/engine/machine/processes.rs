//! The processes of a system of handlers, and what their steps touch.
//!
//! They are numbered in the order in which they are met. What is always there comes first; a lane and its
//! processes are added when the first envelope goes through it, what happens inside a node when it first may.

use super::handlers::{Doer, Handlers, Kind, Shared};
use super::lanes::{Lane, NONE};
use super::{Object, Process};
use crate::model::network::NetworkKind;
use crate::space::EventId;
use crate::trace::skeleton::pair;

impl Handlers<'_> {
    /// Adds the processes that need no envelope, and the channels of an ordered network.
    pub(super) fn add_what_is_always_there(&mut self) {
        let nodes = self.layout.nodes as u32;
        if self.budgets.crashes > 0 {
            for node in 0..nodes {
                let event = self.memo.space.crash(node as usize);
                let crash = self.add_doer(Kind::Crash, node, NONE, event);
                self.crashes.push(crash);
            }
        }
        if self.has_partitions() {
            for cut in 0..self.layout.cuts.len() as u32 {
                let partition = self.add_doer(Kind::Partition, NONE, NONE, cut);
                self.partitions.push(partition);
            }
            self.heal = self.add_doer(Kind::Heal, NONE, NONE, 0);
        }
        if self.layout.network == NetworkKind::Ordered {
            for pair in 0..nodes * nodes {
                self.add_lane(pair % nodes, Some(pair / nodes), true, NONE, None);
            }
        }
    }

    pub(super) fn has_partitions(&self) -> bool {
        self.budgets.partitions > 0
    }

    /// Whether envelopes can be lost or copied.
    pub(super) fn has_mishaps(&self) -> bool {
        self.budgets.drops > 0 || self.budgets.duplications > 0
    }

    /// `released` says which node releases the calls that go through it, and which calls came before.
    fn add_lane(
        &mut self,
        node: u32,
        from: Option<u32>,
        is_consumed: bool,
        event: u32,
        released: Option<(u32, u64)>,
    ) -> u32 {
        let lane = self.lanes.add(node, from, is_consumed);
        if let Some((releaser, origin)) = released {
            let known = &mut self.lanes.all[lane as usize];
            (known.creator, known.origin) = (Some(releaser), origin);
        }
        let deliver = self.add_doer(Kind::Deliver, node, lane, event);
        self.lanes.all[lane as usize].deliver = deliver;
        if from.is_some() && self.budgets.duplications > 0 {
            self.lanes.all[lane as usize].keep = self.add_doer(Kind::Keep, node, lane, event);
        }
        if from.is_some() && self.budgets.drops > 0 {
            self.lanes.all[lane as usize].lose = self.add_doer(Kind::Lose, NONE, lane, event);
        }
        lane
    }

    fn add_doer(&mut self, kind: Kind, node: u32, lane: u32, event: u32) -> Process {
        let mut writes = Vec::new();
        let mut reads = Vec::new();
        if node != NONE {
            writes.push(node);
        }
        match kind {
            Kind::Deliver | Kind::Lose if self.has_mishaps() => writes.push(self.lane_object(lane)),
            Kind::Keep => reads.push(self.lane_object(lane)),
            _ => {}
        }
        match kind {
            Kind::Crash => writes.push(self.object(Shared::Crashes)),
            Kind::Lose => writes.push(self.object(Shared::Losses)),
            Kind::Keep => writes.push(self.object(Shared::Copies)),
            Kind::Partition | Kind::Heal => writes.push(self.object(Shared::Network)),
            Kind::Deliver | Kind::Inside => {}
        }
        if self.has_partitions() {
            reads.push(self.object(Shared::Network));
        }
        let quiet = self.footprints.intern(&writes, &reads);
        writes.push(self.object(Shared::Observers));
        let touches = [quiet, self.footprints.intern(&writes, &reads)];
        let process = self.doers.len() as Process;
        let key = self.key_of(kind, node, lane, event);
        self.doers.push(Doer { kind, node, lane, event, touches, stamp: 0 });
        self.keys.push(key);
        self.with_key.insert(key, process);
        process
    }

    /// A number for a process, made of what it is.
    fn key_of(&mut self, kind: Kind, node: u32, lane: u32, event: u32) -> u64 {
        let what = match (kind, lane) {
            (Kind::Crash | Kind::Heal, _) => 0,
            (Kind::Partition, _) => u64::from(event),
            (_, NONE) => self.memo.event(event).key,
            (_, lane) => {
                let known = &self.lanes.all[lane as usize];
                let (from, to) = (known.from.unwrap_or(NONE), known.node);
                let ends = pair(u64::from(from), u64::from(to));
                match event {
                    NONE => ends,
                    event => pair(ends, pair(known.origin, self.memo.event(event).key)),
                }
            }
        };
        pair(pair(kind.number(), u64::from(node)), what)
    }

    pub(super) fn object(&self, shared: Shared) -> Object {
        self.layout.nodes as Object + shared as Object
    }

    pub(super) fn lane_object(&self, lane: u32) -> Object {
        self.object(Shared::First) + lane
    }

    /// What is known of an event at its place, to be filled in.
    #[inline]
    fn of_event(&mut self, event: EventId) -> &mut u32 {
        let node = self.layout.event_node(event);
        let local = self.layout.event_local(event) as usize;
        let known = &mut self.of_event[node];
        if known.len() <= local {
            known.resize(local + 1, NONE);
        }
        &mut known[local]
    }

    /// The lane that an envelope goes through, if this one releases it.
    pub(super) fn lane_of(&mut self, event: EventId, released_by: u32) -> u32 {
        let node = self.layout.event_node(event) as u32;
        let info = self.memo.event(event);
        if !info.is_message() && released_by != NONE {
            if let Some(&lane) = self.of_call.get(&(event, released_by)) {
                return lane;
            }
            let Lane { node: releaser, origin, deliver, .. } = self.lanes.all[released_by as usize];
            let before = self.memo.event(self.doers[deliver as usize].event).key;
            let released = Some((releaser, pair(before, origin)));
            let lane = self.add_lane(node, None, true, event, released);
            self.of_call.insert((event, released_by), lane);
            return lane;
        }
        if info.is_message() && self.layout.network == NetworkKind::Ordered {
            return u32::from(info.from) * self.layout.nodes as u32 + node;
        }
        let known = *self.of_event(event);
        if known != NONE {
            return known;
        }
        let from = info.is_message().then_some(u32::from(info.from));
        let is_consumed = info.is_consumed(self.layout.network);
        let lane = self.add_lane(node, from, is_consumed, event, None);
        *self.of_event(event) = lane;
        lane
    }

    /// The process of something that happens inside a node.
    #[inline]
    pub(super) fn inside(&mut self, event: EventId) -> Process {
        let known = *self.of_event(event);
        if known != NONE {
            return known;
        }
        let node = self.layout.event_node(event) as u32;
        let process = self.add_doer(Kind::Inside, node, NONE, event);
        *self.of_event(event) = process;
        process
    }

    /// Whether the lanes have messages of an ordered network: each delivery is a step then.
    pub(super) fn is_queue(&self, lane: u32) -> bool {
        self.layout.network == NetworkKind::Ordered
            && lane != NONE
            && self.lanes.all[lane as usize].from.is_some()
    }
}
