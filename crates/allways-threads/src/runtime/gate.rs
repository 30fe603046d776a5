//! Gates: permits that are given in the order in which they were asked for. Asynchronous mutexes, semaphores, notifications and
//! channels with room for some are made of them.
//!
//! Whoever wants a permit *arrives*: it takes one that is there, or queues. Whoever gives one back gives it to
//! the first who queues, or leaves it there. So the arrival with number `i` is let through by the permit that would otherwise be left
//! for it, and nothing else decides when that is.
//!
//! **What is touched.** Arrivals are ordered among themselves (`TAIL`), and so are permits given back (`HEAD`). Each arrival has a place of its
//! own. It writes that, and so does the permit that is meant for it: the first in the queue; if there is none, the next to arrive that would
//! not find another one left. A permit for one who queues and the arrival of somebody behind it are therefore independent, and
//! they do commute: neither sees the other. A permit that is left and an arrival that takes another one commute for the same reason, and the
//! place does not depend on their order: one more has arrived, and one less is left.
//!
//! Whoever leaves the queue writes its own place. A permit that passes over it reads that place: without having left, it would
//! have got the permit. Those behind the one that gets the permit may leave before or after that.
//!
//! A gate that keeps one permit at most gets one more only if there is none: whoever gives it reads the place of the last who arrived, who may
//! have taken it; and if nothing changes, the place of the next, who may take it.
//!
//! A gate may let all through who queue, and also those who have [begun](super::op::Kind::Acquire) to ask before. Then all who ask
//! read the part `ALL` when they begin and when they arrive, and who lets all through writes it.
//!
//! **A channel with a gate.** Sending is one event if there is room: it arrives and sends. Otherwise it queues, and sends
//! when it got the room. Receiving gives the room of the message back.

use super::log::Entry;
use super::op::{BLOCKS, Kind, NONE, Op};
use super::rules::{Can, Known, Look, Rules, can, part, simple};
use allways::machine::Footprint;

/// Says that a gate keeps one permit at most: what it was made with is this and its permits.
pub(crate) const KEEPS_ONE: u64 = 1 << 63;

/// A gate in a state.
struct Gate {
    /// So many have arrived.
    arrived: u64,
    /// So many permits are there.
    left: u64,
    /// Those who queue, the first first: their numbers and events.
    queue: Vec<(u64, u32)>,
    /// The numbers of those who have left the queue before they got a permit.
    gone: Vec<u64>,
    /// The last arrival.
    last: u32,
}

/// Whether an event is the arrival of somebody.
fn arrives(entry: &Entry) -> bool {
    match entry.op.kind {
        // Those who were let through with all others, or found the channel closed, have not.
        Kind::Acquire | Kind::SendOrQueue => entry.value != u64::MAX,
        Kind::TryAcquire | Kind::TrySendInTurn => entry.succeeded,
        _ => false,
    }
}

impl<K: Known> Rules<'_, K> {
    fn gate(&mut self, object: u32) -> Gate {
        let [tail, head, left] =
            [part::TAIL, part::HEAD, part::LEFT].map(|part| self.known.part(object, part));
        let cut = self.cut;
        let gives = |entry: &Entry| {
            entry.succeeded && matches!(entry.op.kind, Kind::Release | Kind::PollReceive)
        };
        let mut given = cut.on(head).filter(|(_, entry)| gives(entry)).count() as u64;
        let mut left_by = Vec::new();
        for (_, entry) in cut.on(left) {
            given += u64::from(entry.succeeded);
            left_by.push(entry.op.argument as u32);
        }
        let arrived = cut.on(tail).filter(|(_, entry)| arrives(entry)).count() as u64;
        let (mut taken, mut queue, mut gone) = (0, Vec::new(), Vec::new());
        let arrivals = cut.on(tail).filter(|(_, entry)| arrives(entry));
        for (number, (event, entry)) in (0..arrived).rev().zip(arrivals) {
            let by = cut.released(entry);
            taken += u64::from(match by {
                Some(by) => cut.entry(by).op.kind != Kind::ReleaseAll,
                None => entry.succeeded,
            });
            if !entry.succeeded && by.is_none() {
                match left_by.contains(&event) {
                    true => gone.push(number),
                    false => queue.push((number, event)),
                }
            }
        }
        queue.reverse();
        let last = cut.on(tail).find(|(_, entry)| arrives(entry)).map_or(NONE, |(event, _)| event);
        let permits = self.known.initial(object).unwrap_or(0) & !KEEPS_ONE;
        Gate { arrived, left: (permits + given).saturating_sub(taken), queue, gone, last }
    }

    /// The place of the so manieth who arrives. Messages and arrivals take turns.
    fn arrival_place(&mut self, gate: u32, number: u64) -> u32 {
        self.known.part(gate, part::PLACES + 2 * number + 1)
    }

    /// The place of the so manieth message of a channel that may have a gate.
    pub(super) fn message_place(&mut self, channel: u32, number: u64) -> u32 {
        self.known.part(channel, part::PLACES + 2 * number)
    }

    /// The place of the one who gets the next permit, and of those who would have got it.
    fn meant_for(&mut self, object: u32, gate: &Gate) -> (u32, Vec<u32>) {
        let number = gate.queue.first().map_or(gate.arrived + gate.left, |&(number, _)| number);
        let passed: Vec<u32> = gate
            .gone
            .iter()
            .filter(|&&gone| gone < number)
            .map(|&gone| self.arrival_place(object, gone))
            .collect();
        (self.arrival_place(object, number), passed)
    }

    /// The events with which those began to queue who get something by this.
    pub fn let_through(&mut self, op: &Op, succeeds: bool) -> Vec<u32> {
        let queue = |rules: &mut Self| rules.gate(op.object).queue.into_iter().map(|(_, it)| it);
        match op.kind {
            Kind::ReleaseAll => queue(self).collect(),
            Kind::Release | Kind::Leave if succeeds => queue(self).take(1).collect(),
            Kind::PollReceive if succeeds && self.has_gate(op.object) => {
                queue(self).take(1).collect()
            }
            _ => Vec::new(),
        }
    }

    fn has_gate(&self, channel: u32) -> bool {
        self.known.initial(channel).is_some()
    }

    pub(super) fn acquire(&mut self, op: &Op) -> Look {
        let (object, since) = (op.object, op.argument as u32);
        let [tail, head, all] =
            [part::TAIL, part::HEAD, part::ALL].map(|part| self.known.part(object, part));
        let lets_through =
            |(event, entry): (u32, &Entry)| entry.op.kind == Kind::ReleaseAll && event > since;
        if since != NONE && self.cut.on(head).any(lets_through) {
            let footprint = self.touching.read(all);
            return can(Can { value: u64::MAX, ..simple(footprint) });
        }
        let gate = self.gate(object);
        let place = self.arrival_place(object, gate.arrived);
        let reads: &[u32] = if since == NONE { &[] } else { &[all] };
        let footprint = self.touching.footprints.intern(&[tail, place], reads);
        can(Can { succeeds: gate.left > 0, value: gate.arrived, ..simple(footprint) })
    }

    pub(super) fn try_acquire(&mut self, thread: u32, op: &Op) -> Look {
        let tail = self.known.part(op.object, part::TAIL);
        let gate = self.gate(op.object);
        if gate.left == 0 && op.argument == BLOCKS {
            // As long as the last who arrived is there, so are all before it, and no more permits are.
            return self.hindered_by(gate.last, thread);
        }
        let place = self.arrival_place(op.object, gate.arrived);
        let footprint = match gate.left > 0 {
            true => self.touching.footprints.intern(&[tail, place], &[]),
            false => self.touching.footprints.intern(&[], &[tail, place]),
        };
        can(Can { succeeds: gate.left > 0, value: gate.arrived, ..simple(footprint) })
    }

    pub(super) fn acquired(&mut self, op: &Op) -> Look {
        let queued = self.cut.entry(op.argument as u32);
        let place = self.arrival_place(op.object, queued.value);
        let succeeds = self.cut.released(queued).is_some();
        let footprint = self.touching.read(place);
        can(Can { succeeds, ..simple(footprint) })
    }

    pub(super) fn release(&mut self, op: &Op) -> Look {
        let gate = self.gate(op.object);
        let footprint = self.give(op.object, &gate, None);
        can(Can { succeeds: footprint.1, ..simple(footprint.0) })
    }

    /// Gives a permit; somebody may leave its place to do so. Says whether there is one more than there was.
    fn give(&mut self, object: u32, gate: &Gate, own: Option<u32>) -> (Footprint, bool) {
        let head = self.known.part(object, part::HEAD);
        let keeps_one = self.known.initial(object).is_some_and(|made| made & KEEPS_ONE != 0);
        if keeps_one && gate.left > 0 && gate.queue.is_empty() {
            // Nothing changes, unless the next to arrive has come and taken the one that is there.
            let place = self.arrival_place(object, gate.arrived);
            let footprint = match own {
                Some(own) => self.touching.footprints.intern(&[own], &[head, place]),
                None => self.touching.footprints.intern(&[], &[head, place]),
            };
            return (footprint, false);
        }
        let (place, mut reads) = self.meant_for(object, gate);
        if keeps_one && gate.queue.is_empty() && gate.arrived > 0 {
            // None is there, since the last who arrived has taken it; or there was none.
            reads.push(self.arrival_place(object, gate.arrived - 1));
        }
        let mut writes = vec![head, place];
        writes.extend(own);
        (self.touching.footprints.intern(&writes, &reads), true)
    }

    pub(super) fn release_all(&mut self, op: &Op) -> Look {
        let object = op.object;
        let gate = self.gate(object);
        let mut writes = vec![self.known.part(object, part::HEAD)];
        writes.push(self.known.part(object, part::ALL));
        for &(number, _) in &gate.queue {
            writes.push(self.arrival_place(object, number));
        }
        let reads: Vec<u32> =
            gate.gone.iter().map(|&gone| self.arrival_place(object, gone)).collect();
        let footprint = self.touching.footprints.intern(&writes, &reads);
        can(Can { succeeds: !gate.queue.is_empty(), ..simple(footprint) })
    }

    pub(super) fn leave(&mut self, op: &Op) -> Look {
        let queued = self.cut.entry(op.argument as u32);
        let own = self.arrival_place(op.object, queued.value);
        let by = self.cut.released(queued);
        let passes_on = by.is_some_and(|by| self.cut.entry(by).op.kind != Kind::ReleaseAll);
        if !passes_on {
            let footprint = self.touching.write(own);
            return can(Can { succeeds: false, ..simple(footprint) });
        }
        let gate = self.gate(op.object);
        let (footprint, succeeds) = self.give(op.object, &gate, Some(own));
        can(Can { succeeds, ..simple(footprint) })
    }

    pub(super) fn send_in_turn(&mut self, thread: u32, op: &Op) -> Look {
        let channel = op.object;
        let receiver = self.known.part(channel, part::RECEIVER);
        if self.cut.on(receiver).next().is_some() {
            let footprint = self.touching.read(receiver);
            return can(Can { succeeds: false, value: u64::MAX, ..simple(footprint) });
        }
        let tail = self.known.part(channel, part::TAIL);
        let gate = self.gate(channel);
        let arrival = self.arrival_place(channel, gate.arrived);
        if gate.left > 0 {
            let (number, _) = self.count(channel, part::TAIL);
            let place = self.message_place(channel, number);
            let footprint = self.touching.footprints.intern(&[tail, arrival, place], &[receiver]);
            return can(Can { value: number, ..simple(footprint) });
        }
        if op.argument == BLOCKS {
            return self.hindered_by(gate.last, thread);
        }
        let footprint = match op.kind {
            Kind::SendOrQueue => self.touching.footprints.intern(&[tail, arrival], &[receiver]),
            _ => self.touching.footprints.intern(&[], &[tail, arrival, receiver]),
        };
        can(Can { succeeds: false, value: gate.arrived, ..simple(footprint) })
    }

    pub(super) fn send_queued(&mut self, op: &Op) -> Look {
        let channel = op.object;
        let receiver = self.known.part(channel, part::RECEIVER);
        if self.cut.on(receiver).next().is_some() {
            let footprint = self.touching.read(receiver);
            return can(Can { succeeds: false, value: u64::MAX, ..simple(footprint) });
        }
        let queued = self.cut.entry(op.argument as u32);
        if self.cut.released(queued).is_none() {
            let arrival = self.arrival_place(channel, queued.value);
            let footprint = self.touching.footprints.intern(&[], &[arrival, receiver]);
            return can(Can { succeeds: false, value: queued.value, ..simple(footprint) });
        }
        let tail = self.known.part(channel, part::TAIL);
        let (number, _) = self.count(channel, part::TAIL);
        let place = self.message_place(channel, number);
        let footprint = self.touching.footprints.intern(&[tail, place], &[receiver]);
        can(Can { value: number, ..simple(footprint) })
    }

    /// What it touches to receive a message.
    pub(super) fn receive_in_turn(&mut self, channel: u32, head: u32, place: u32) -> Footprint {
        if !self.has_gate(channel) {
            return self.touching.footprints.intern(&[head, place], &[]);
        }
        let gate = self.gate(channel);
        let (arrival, passed) = self.meant_for(channel, &gate);
        self.touching.footprints.intern(&[head, place, arrival], &passed)
    }

    pub(super) fn poll_closed(&mut self, op: &Op) -> Look {
        let receiver = self.known.part(op.object, part::RECEIVER);
        let succeeds = self.cut.on(receiver).next().is_some();
        if !succeeds && op.argument == BLOCKS {
            return Look::Blocked;
        }
        let footprint = self.touching.read(receiver);
        can(Can { succeeds, ..simple(footprint) })
    }

    /// Whether somebody who queues has got what it queues for, and where to look for that.
    pub(super) fn is_let_through(&mut self, queued: &Entry, touched: &mut Vec<u32>) -> bool {
        let object = queued.op.object;
        touched.push(self.arrival_place(object, queued.value));
        if self.cut.released(queued).is_some() {
            return true;
        }
        if queued.op.kind != Kind::SendOrQueue {
            return false;
        }
        let receiver = self.known.part(object, part::RECEIVER);
        touched.push(receiver);
        self.cut.on(receiver).next().is_some()
    }
}
