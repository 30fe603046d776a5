//! Making a candidate into a vector: the state after a step.
//!
//! A step moves one node, so what was known of other nodes' events stays true: which of them are
//! inert need not be asked again. Of the node that moves, every event in flight is looked at once,
//! and so is everything that is sent. [`Expander::make`] does that in one pass, writing the new
//! vector behind others, for the steps that make up nearly all of a search. [`Expander::apply`] does
//! everything, faults and queues too, the plain way, and works out the fingerprint as it goes.

use super::commute::Mark;
use super::expand::{Candidate, Expander, Kind};
use crate::error::Error;
use crate::model::faults::FaultState;
use crate::model::network::NetworkKind;
use crate::space::memo::{MemoStep, NOTHING, flag};
use crate::space::vector::faults_key;
use crate::space::{EventId, StateId};

impl Expander<'_> {
    /// Makes a candidate of `vector` into a vector of its own, behind what `out` has already, where
    /// the fingerprint is known. Returns what need not be followed from there.
    #[inline]
    pub fn make(
        &mut self,
        vector: &[u32],
        fingerprint: u64,
        candidate: &Candidate,
        out: &mut Vec<u32>,
    ) -> Result<Mark, Error> {
        let layout = self.layout;
        let in_flight = candidate.kind == Kind::Flight;
        if (!in_flight && candidate.kind != Kind::Inside)
            || layout.network == NetworkKind::Ordered
            || (layout.has_faults && layout.faults(vector).cut > 0)
        {
            return self.make_slowly(vector, fingerprint, candidate, out);
        }
        let step = *self.memo.step(candidate.code);
        let node = layout.event_node(candidate.event);
        let live_base = layout.live_base(vector);
        let live = &vector[live_base..];
        // Where among the live events the one is that is consumed.
        let mut consumed = usize::MAX;
        if in_flight && step.flags & flag::CONSUMES != 0 {
            consumed = usize::from(candidate.at);
            if live.get(consumed) != Some(&candidate.event) {
                return self.make_slowly(vector, fingerprint, candidate, out);
            }
        }
        let start = out.len();
        out.extend_from_slice(vector);
        let new = &mut out[start..];
        let place = layout.node_base + node;
        let moves = new[place] != step.next;
        new[place] = step.next;
        // The live events before those that are sent.
        let mut old = live.len();
        if moves && self.turns(vector, node, step.next, consumed) {
            old = self.turn(vector, node, step.next, consumed, start, out);
        } else if consumed != usize::MAX {
            // By hand: mostly there is little to move.
            let moved = &mut new[live_base + consumed..];
            for (to, &event) in moved.iter_mut().zip(&live[consumed + 1..]) {
                *to = event;
            }
            old -= 1;
            out.truncate(start + live_base + old);
        }
        if step.has_sends() {
            self.send(&step, start, &mut old, out);
        }
        if step.feed != 0 {
            let observers = &mut out[start + layout.observer_base..][..layout.observers];
            for (observer, state) in observers.iter_mut().enumerate() {
                *state = self.memo.observe(observer, *state, step.feed)?.0;
            }
        }
        Ok(Mark::new(node, old, step.feed != 0))
    }

    /// Whether some event of a node becomes live or inert when the node moves to a state.
    #[inline]
    fn turns(&mut self, vector: &[u32], node: usize, to: StateId, consumed: usize) -> bool {
        let layout = self.layout;
        let places = layout.inert(vector, node);
        self.memo.lookups += places.len() as u64;
        let inert = self.memo.inert(node, to);
        let mut turns = false;
        for &event in &vector[places] {
            turns |= !inert.has(event);
        }
        for (at, &event) in layout.live(vector).iter().enumerate() {
            let mine = layout.event_node(event) == node;
            turns |= mine && at != consumed && inert.has(event);
        }
        turns
    }

    /// Writes what is in flight anew, where some events of `node` become live or inert because it moves.
    /// Returns how many live events there are that were live before. Those that become live come behind
    /// them: they are events of `node`, whose own steps never sleep.
    fn turn(
        &mut self,
        vector: &[u32],
        node: usize,
        to: StateId,
        consumed: usize,
        start: usize,
        out: &mut Vec<u32>,
    ) -> usize {
        let layout = self.layout;
        let inert = self.memo.inert(node, to);
        let places = layout.inert(vector, node);
        let live_base = layout.live_base(vector);
        self.loose.clear();
        out.truncate(start + places.start);
        for &event in &vector[places.clone()] {
            match inert.has(event) {
                true => out.push(event),
                false => self.loose.push(event),
            }
        }
        let stays = |event| layout.event_node(event) != node || !inert.has(event);
        for (at, &event) in vector[live_base..].iter().enumerate() {
            if at != consumed && !stays(event) {
                out.push(event);
            }
        }
        let end = (out.len() - start - layout.inert_base) as u32;
        let grown = end.wrapping_sub((places.end - layout.inert_base) as u32);
        out.extend_from_slice(&vector[places.end..live_base]);
        for end in &mut out[start + layout.ends_base + node..start + layout.inert_base] {
            *end = end.wrapping_add(grown);
        }
        let live_base_now = out.len();
        for (at, &event) in vector[live_base..].iter().enumerate() {
            if at != consumed && stays(event) {
                out.push(event);
            }
        }
        let mut old = out.len() - live_base_now;
        for &event in &self.loose {
            put(out, live_base_now, event, &mut old);
        }
        old
    }

    /// Puts in flight what a step sends.
    fn send(&mut self, step: &MemoStep, start: usize, old: &mut usize, out: &mut Vec<u32>) {
        let layout = self.layout;
        let mut live_base = start + layout.live_base(&out[start..]);
        for index in 0..self.memo.sends(step).len() {
            let event = self.memo.sends(step)[index];
            if layout.network == NetworkKind::Duplicating
                && self.memo.event(event).is_message()
                && layout.is_in_flight(&out[start..], event)
            {
                continue;
            }
            let to = layout.event_node(event);
            if self.memo.inert(to, out[start + layout.node_base + to]).has(event) {
                let end = layout.inert(&out[start..], to).end;
                out.insert(start + end, event);
                for end in &mut out[start + layout.ends_base + to..start + layout.inert_base] {
                    *end += 1;
                }
                live_base += 1;
            } else {
                put(out, live_base, event, old);
            }
        }
    }

    /// The same by way of [`Expander::apply`].
    fn make_slowly(
        &mut self,
        vector: &[u32],
        fingerprint: u64,
        candidate: &Candidate,
        out: &mut Vec<u32>,
    ) -> Result<Mark, Error> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let applied = self.apply(vector, fingerprint, candidate, &mut scratch);
        out.extend_from_slice(&scratch);
        self.scratch = scratch;
        applied?;
        Ok(match candidate.kind {
            Kind::Flight | Kind::Inside | Kind::Queue => {
                // Which live events were there before is not known, so none was.
                let feeds = self.memo.step(candidate.code).feed != 0;
                Mark::new(self.layout.event_node(candidate.event), 0, feeds)
            }
            _ => Mark::NONE,
        })
    }

    /// Makes a candidate of `vector` into a vector of its own; returns its fingerprint.
    pub fn apply(
        &mut self,
        vector: &[u32],
        fingerprint: u64,
        candidate: &Candidate,
        next: &mut Vec<u32>,
    ) -> Result<u64, Error> {
        let layout = self.layout;
        let faults = layout.faults(vector);
        let mut loose = std::mem::take(&mut self.loose);
        loose.clear();
        loose.extend_from_slice(layout.flight(vector));
        next.clear();
        next.extend_from_slice(&vector[..layout.ends_base]);
        let mut sum = fingerprint;
        let mut after = faults;
        match candidate.kind {
            Kind::Flight | Kind::DropFlight => {
                let info = self.memo.event(candidate.event);
                let leaves = candidate.kind == Kind::DropFlight || info.is_consumed(layout.network);
                let at = loose.iter().position(|&event| event == candidate.event);
                if let (true, Some(at)) = (leaves, at) {
                    loose.swap_remove(at);
                    sum = sum.wrapping_sub(info.key);
                }
            }
            Kind::Queue | Kind::DropQueue => {
                let channel = self.channel(candidate.event);
                let (queue, delta) = self.memo.pop(next[channel]);
                next[channel] = queue;
                sum = sum.wrapping_add(delta);
            }
            Kind::Partition => {
                after.partitions -= 1;
                after.cut = candidate.event as u8 + 1;
                self.lose_across(after, next, &mut loose, &mut sum);
            }
            Kind::Heal => {
                let cut = usize::from(std::mem::take(&mut after.cut)) - 1;
                for index in 0..layout.greetings[cut].len() {
                    let event = layout.greetings[cut][index];
                    self.put_in_flight(event, next, &mut loose, &mut sum);
                }
            }
            Kind::FlightKept | Kind::QueueKept | Kind::Inside | Kind::Crash => {}
        }
        match candidate.kind {
            Kind::Crash => after.crashes -= 1,
            Kind::FlightKept | Kind::QueueKept => after.duplications -= 1,
            Kind::DropFlight | Kind::DropQueue => after.drops -= 1,
            _ => {}
        }
        if after != faults {
            sum = sum.wrapping_add(faults_key(after)).wrapping_sub(faults_key(faults));
            layout.set_faults(next, after);
        }
        if candidate.code != NOTHING {
            self.apply_step(candidate, faults, next, &mut loose, &mut sum)?;
        }
        self.settle(next, &mut loose);
        self.loose = loose;
        Ok(sum)
    }

    fn apply_step(
        &mut self,
        candidate: &Candidate,
        faults: FaultState,
        next: &mut [u32],
        loose: &mut Vec<EventId>,
        sum: &mut u64,
    ) -> Result<(), Error> {
        let layout = self.layout;
        let step = *self.memo.step(candidate.code);
        let node = layout.event_node(candidate.event);
        let place = layout.node_base + node;
        let delta = match step.flags & flag::SIMPLE {
            0 => step.delta,
            _ => self.memo.state_delta(node, next[place], step.next),
        };
        *sum = sum.wrapping_add(delta);
        next[place] = step.next;
        for index in 0..self.memo.sends(&step).len() {
            let event = self.memo.sends(&step)[index];
            let info = self.memo.event(event);
            if faults.cut > 0 && info.is_message() && self.is_parted(faults, event) {
                continue;
            }
            self.put_in_flight(event, next, loose, sum);
        }
        if step.feed != 0 {
            for observer in 0..layout.observers {
                let place = layout.observer_base + observer;
                let (state, delta) = self.memo.observe(observer, next[place], step.feed)?;
                next[place] = state;
                *sum = sum.wrapping_add(delta);
            }
        }
        Ok(())
    }

    /// Puts an event in flight.
    #[inline]
    fn put_in_flight(
        &mut self,
        event: EventId,
        next: &mut [u32],
        loose: &mut Vec<EventId>,
        sum: &mut u64,
    ) {
        let info = self.memo.event(event);
        match self.layout.network {
            NetworkKind::Ordered if info.is_message() => {
                let channel = self.channel(event);
                let (queue, delta) = self.memo.push(next[channel], event);
                next[channel] = queue;
                *sum = sum.wrapping_add(delta);
            }
            NetworkKind::Duplicating if info.is_message() && loose.contains(&event) => {}
            _ => {
                loose.push(event);
                *sum = sum.wrapping_add(info.key);
            }
        }
    }

    /// Completes a vector that has everything but what is in flight: which events are inert is looked
    /// up.
    fn settle(&mut self, next: &mut Vec<u32>, loose: &mut [EventId]) {
        let layout = self.layout;
        loose.sort_unstable_by_key(|&event| (layout.event_node(event), event));
        self.memo.lookups += loose.len() as u64;
        next.resize(layout.inert_base, 0);
        let mut live = 0;
        let mut at = 0;
        for node in 0..layout.nodes {
            let inert = self.memo.inert(node, next[layout.node_base + node]);
            while at < loose.len() && layout.event_node(loose[at]) == node {
                let event = loose[at];
                if inert.has(event) {
                    next.push(event);
                } else {
                    loose[live] = event;
                    live += 1;
                }
                at += 1;
            }
            next[layout.ends_base + node] = (next.len() - layout.inert_base) as u32;
        }
        next.extend_from_slice(&loose[..live]);
    }

    /// Looks up which events of a vector are inert.
    pub fn settled(&mut self, vector: Vec<u32>) -> Vec<u32> {
        let mut loose = self.layout.flight(&vector).to_vec();
        let mut next = vector;
        next.truncate(self.layout.ends_base);
        self.settle(&mut next, &mut loose);
        next
    }

    /// The place of the queue that a message goes through.
    fn channel(&mut self, event: EventId) -> usize {
        let (from, to) = (self.memo.event(event).from, self.layout.event_node(event));
        self.layout.queue_base + from as usize * self.layout.nodes + to
    }

    /// Whether a partition keeps a message from its node.
    fn is_parted(&mut self, faults: FaultState, event: EventId) -> bool {
        let from = u32::from(self.memo.event(event).from);
        self.layout.parted(faults, from, self.layout.event_node(event) as u32)
    }

    /// Loses everything in flight between parted nodes.
    fn lose_across(
        &mut self,
        faults: FaultState,
        next: &mut [u32],
        loose: &mut Vec<EventId>,
        sum: &mut u64,
    ) {
        let layout = self.layout;
        let queues = &mut next[layout.queue_base..layout.ends_base];
        for (pair, queue) in queues.iter_mut().enumerate() {
            let (from, to) = (pair / layout.nodes, pair % layout.nodes);
            if layout.parted(faults, from as u32, to as u32) {
                *sum = sum.wrapping_sub(self.memo.space.queues().key(*queue));
                *queue = 0;
            }
        }
        loose.retain(|&event| {
            let info = self.memo.event(event);
            let lost = info.is_message() && self.is_parted(faults, event);
            if lost {
                *sum = sum.wrapping_sub(info.key);
            }
            !lost
        });
    }
}

/// Puts an event among the live ones, beside its equals. `old` counts those that were there before:
/// so was one that has an equal there.
#[inline]
fn put(vector: &mut Vec<u32>, live_base: usize, event: EventId, old: &mut usize) {
    match vector[live_base..].iter().position(|&other| other == event) {
        Some(at) => {
            vector.insert(live_base + at, event);
            *old += usize::from(at < *old);
        }
        None => vector.push(event),
    }
}
