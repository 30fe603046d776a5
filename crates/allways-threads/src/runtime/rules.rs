//! Whether a thread can go on, how, and what it touches: the rules of each kind of access.
//!
//! The same rules are asked about the present and about cuts of the run, so they read everything off the
//! [log](super::log). What an access *touches* is what decides about its result and what it decides about others:
//!
//! - Reads of an atomic commute. An exchange that fails is a read.
//! - A cell that must not be accessed at the same time is read or written when somebody begins to, and again when that ends, if others may have come
//!   in between.
//! - Taking a mutex writes it. Giving it back touches nothing: whoever takes it next comes after that event, since it was
//!   *released* by it, and nobody can tell the difference between a mutex that is about to be given back and one that was.
//!   That is not so for mutexes that somebody tries to take: there it is a step of its own that writes it.
//! - Readers of a lock read it, when they take it and when they give it back, and write a part of it that is their own; writers write it. Those who try
//!   in vain read it. If it is readers who keep a writer out, that is known from their parts, one after the other, up to the first who has it.
//! - Beginning to wait for a condition writes it, so does notifying somebody; notifying nobody reads it. Going
//!   on after that is no event: what comes next in that thread needs the notification.
//! - Sends into a channel are ordered among themselves, and so are receives; a send and a receive touch the same place of the channel if it
//!   is the same message. That nothing is there to be received is known from the place. Whether somebody is there to send or
//!   to receive is known from the first one, from the copies of that if it is gone, and so on, up to one that is there. Where somebody tries to hand over a message, beginning to
//!   wait for it is a step of its own, and writes the order of receives.
//! - Waiting for the end of a thread, or of others at a barrier, is no event: what comes next needs what it waited for.
//! - Tokens given to a parked thread commute: it has one or none. That it takes it writes it.
//! - When [tasks](super::awaits) go on, and who gets what they [queue](super::gate) for, is written down elsewhere.
//!
//! **Who hinders whom.** A mutex that is held can be taken in a smaller cut only if that lacks the event
//! that took it. The same holds for each reader that keeps a writer out, and for the last one who has taken a message away
//! or filled a channel. All else that keeps a thread from going on is something that has not happened, and will not
//! have happened in any smaller cut.

use super::log::{Cut, Entry};
use super::objects::User;
use super::op::{BLOCKS, Kind, NONE, Op};
use allways::machine::{Footprint, Footprints};

/// Whether a thread can go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Look {
    Can(Can),
    /// Not as long as there is this event.
    Hindered(u32),
    /// Not in this state, nor in one with fewer events.
    Blocked,
}

/// How a thread can go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Can {
    /// In so many ways.
    pub alternatives: u32,
    pub footprint: Footprint,
    /// Events without which it could not.
    pub needs: [u32; 2],
    /// What was taken before and had to be given back: further such events are known of that.
    pub taken: u32,
    /// Whether it gets what it tries to.
    pub succeeds: bool,
    /// Which message, waiter and the like it is about.
    pub value: u64,
}

/// What footprints stand for, and those that are met most often.
#[derive(Default)]
pub(crate) struct Touching {
    pub footprints: Footprints,
    reads: Vec<Footprint>,
    writes: Vec<Footprint>,
    nothing: Option<Footprint>,
}

impl Touching {
    pub fn nothing(&mut self) -> Footprint {
        *self.nothing.get_or_insert_with(|| self.footprints.intern(&[], &[]))
    }

    #[inline]
    pub fn read(&mut self, object: u32) -> Footprint {
        match self.reads.get(object as usize) {
            Some(&known) if known != NONE => known,
            _ => {
                let footprint = self.footprints.intern(&[], &[object]);
                keep(&mut self.reads, object, footprint)
            }
        }
    }

    #[inline]
    pub fn write(&mut self, object: u32) -> Footprint {
        match self.writes.get(object as usize) {
            Some(&known) if known != NONE => known,
            _ => {
                let footprint = self.footprints.intern(&[object], &[]);
                keep(&mut self.writes, object, footprint)
            }
        }
    }
}

#[cold]
fn keep(known: &mut Vec<Footprint>, object: u32, footprint: Footprint) -> Footprint {
    let object = object as usize;
    if object >= known.len() {
        known.resize(object + 1, NONE);
    }
    known[object] = footprint;
    footprint
}

/// What is known of objects beside what has happened to them.
pub(crate) trait Known {
    /// What an atomic was made with, if that is known; one if a cell that is written once was made full.
    fn initial(&self, object: u32) -> Option<u64>;
    /// Whether giving this mutex back is a step of its own, or beginning to wait for a message from this channel.
    fn is_tried(&self, object: u32) -> bool;
    /// A part of an object, which is an object of its own.
    fn part(&mut self, object: u32, part: u64) -> u32;
    /// The senders of a channel.
    fn senders(&self, channel: u32) -> &[User];
    /// Those who may receive from it, if there may be several.
    fn receivers(&self, channel: u32) -> &[User];
    /// What a task awaits: see [`Awaited`](super::awaits::Awaited).
    fn awaited(&self, list: u64) -> &[u32];
}

/// Parts of a channel, and of a gate.
pub(crate) mod part {
    /// The order of the messages sent; of those who want a permit.
    pub const TAIL: u64 = 0;
    /// The order of the messages received; of the permits given.
    pub const HEAD: u64 = 1;
    /// Whether there is a receiver.
    pub const RECEIVER: u64 = 2;
    /// Those who have left the queue of a gate.
    pub const LEFT: u64 = 3;
    /// How often a gate has let all through.
    pub const ALL: u64 = 4;
    /// The first of the places for messages.
    pub const PLACES: u64 = 5;
}

/// Looks at what a thread is about to do in a state.
pub(crate) struct Rules<'a, K> {
    pub cut: Cut<'a>,
    pub known: &'a mut K,
    pub touching: &'a mut Touching,
}

impl<K: Known> Rules<'_, K> {
    /// Whether it can, and how; what the thread has come after is for others to look at.
    pub fn look(&mut self, thread: u32, op: &Op) -> Look {
        let object = op.object;
        match op.kind {
            Kind::Load | Kind::RaceRead | Kind::RaceReadEnd | Kind::Copy => self.reads(object),
            Kind::Store | Kind::Swap | Kind::RaceWrite | Kind::RaceWriteEnd => self.writes(object),
            Kind::Unpark => self.reads(object),
            Kind::Exchange => self.exchange(op),
            Kind::Lock | Kind::TryLock => self.lock(op),
            Kind::Unlock | Kind::EndWrite | Kind::OnceDone | Kind::DropSender => {
                self.writes(object)
            }
            Kind::EndRead => self.reads_shared(thread, object),
            Kind::Read | Kind::TryRead | Kind::Write | Kind::TryWrite => {
                self.shared_lock(thread, op)
            }
            Kind::Wait => self.wait(op),
            Kind::WokenOrLate => self.woken(op),
            Kind::NotifyOne | Kind::NotifyAll => self.notify(op),
            Kind::Arrive => self.arrive(op),
            Kind::Once => self.once(op),
            Kind::Send | Kind::TrySend => self.send(thread, op),
            Kind::Receive | Kind::TryReceive | Kind::ReceiveOrLate => self.receive(thread, op),
            Kind::DropReceiver => {
                let receiver = self.known.part(object, part::RECEIVER);
                self.writes(receiver)
            }
            Kind::Await => {
                let head = self.known.part(object, part::HEAD);
                let footprint = self.touching.write(head);
                can(Can { succeeds: false, ..simple(footprint) })
            }
            Kind::LookForReceiver => self.look_for_receiver(op),
            Kind::Park | Kind::ParkOrLate => self.park(op),
            Kind::Choose => {
                let footprint = self.touching.nothing();
                can(Can { alternatives: op.argument as u32, ..simple(footprint) })
            }
            Kind::Spin => self.spin(thread, op),
            Kind::Resume => self.resume(op),
            // Who wakes first makes no difference; a task that goes on writes.
            Kind::Wake | Kind::Abort => self.reads(object),
            Kind::Acquire => self.acquire(op),
            Kind::TryAcquire => self.try_acquire(thread, op),
            Kind::Acquired => self.acquired(op),
            Kind::Release => self.release(op),
            Kind::ReleaseAll => self.release_all(op),
            Kind::Leave => self.leave(op),
            Kind::SendOrQueue | Kind::TrySendInTurn => self.send_in_turn(thread, op),
            Kind::SendQueued => self.send_queued(op),
            Kind::PollReceive => self.receive(thread, op),
            Kind::PollClosed => self.poll_closed(op),
        }
    }

    pub(super) fn reads(&mut self, object: u32) -> Look {
        can(simple(self.touching.read(object)))
    }

    fn writes(&mut self, object: u32) -> Look {
        can(simple(self.touching.write(object)))
    }

    /// What is in an atomic, if that is known.
    fn value(&self, object: u32) -> Option<u64> {
        let writes = |entry: &Entry| match entry.op.kind {
            Kind::Store | Kind::Swap => true,
            Kind::Exchange => entry.succeeded,
            _ => false,
        };
        let last = self.cut.on(object).find(|(_, entry)| writes(entry));
        last.map_or_else(|| self.known.initial(object), |(_, entry)| Some(entry.value))
    }

    fn exchange(&mut self, op: &Op) -> Look {
        match self.value(op.object) {
            Some(value) if value != op.argument => {
                let footprint = self.touching.read(op.object);
                can(Can { succeeds: false, ..simple(footprint) })
            }
            // What is not known may be what is expected.
            _ => self.writes(op.object),
        }
    }

    /// The event that took a mutex last, and the one that gave it back; or the one that holds it.
    fn holder(&self, object: u32) -> Result<(u32, u32), u32> {
        let taken = |entry: &Entry| entry.op.kind.takes() && entry.succeeded;
        match self.cut.on(object).find(|(_, entry)| taken(entry)) {
            None => Ok((NONE, NONE)),
            Some((event, entry)) => self.cut.released(entry).map(|by| (event, by)).ok_or(event),
        }
    }

    fn lock(&mut self, op: &Op) -> Look {
        match self.holder(op.object) {
            Ok((taken, released)) => {
                let footprint = self.touching.write(op.object);
                can(Can { needs: [released, NONE], taken, ..simple(footprint) })
            }
            Err(_) if op.kind == Kind::TryLock => {
                let footprint = self.touching.read(op.object);
                can(Can { succeeds: false, ..simple(footprint) })
            }
            Err(holder) => Look::Hindered(holder),
        }
    }

    /// A reader takes a lock, or gives it back.
    fn reads_shared(&mut self, thread: u32, object: u32) -> Look {
        let own = self.known.part(object, u64::from(thread));
        can(simple(self.touching.footprints.intern(&[own], &[object])))
    }

    fn shared_lock(&mut self, thread: u32, op: &Op) -> Look {
        let writes = matches!(op.kind, Kind::Write | Kind::TryWrite);
        let mut hindered = None;
        // The first of the readers who have it.
        let mut reader = None;
        for (event, entry) in self.cut.on(op.object) {
            let of_writer = matches!(entry.op.kind, Kind::Write | Kind::TryWrite);
            let of_reader = matches!(entry.op.kind, Kind::Read | Kind::TryRead);
            let holds = entry.succeeded && self.cut.released(entry).is_none();
            if holds && (of_writer || of_reader && writes) {
                hindered = hindered.or(Some(event));
            }
            if holds && of_reader {
                reader = Some(reader.map_or(entry.thread, |first: u32| first.min(entry.thread)));
            }
            // Nobody else had it then.
            if of_writer && entry.succeeded {
                break;
            }
        }
        match hindered {
            Some(event) if matches!(op.kind, Kind::Read | Kind::Write) => Look::Hindered(event),
            Some(_) => {
                let mut touched = vec![op.object];
                for thread in reader.iter().flat_map(|&first| 0..=first) {
                    touched.push(self.known.part(op.object, u64::from(thread)));
                }
                let footprint = self.touching.footprints.intern(&[], &touched);
                can(Can { succeeds: false, ..simple(footprint) })
            }
            None if writes => self.writes(op.object),
            None => self.reads_shared(thread, op.object),
        }
    }

    fn wait(&mut self, op: &Op) -> Look {
        let mutex = self.cut.entry(op.argument as u32).op.object;
        match self.known.is_tried(mutex) {
            true => {
                let footprint = self.touching.footprints.intern(&[op.object, mutex], &[]);
                can(simple(footprint))
            }
            false => self.writes(op.object),
        }
    }

    fn woken(&mut self, op: &Op) -> Look {
        let waited = self.cut.entry(op.argument as u32);
        match self.cut.released(waited) {
            Some(notified) => {
                let footprint = self.touching.nothing();
                can(Can { needs: [notified, NONE], ..simple(footprint) })
            }
            None => {
                let footprint = self.touching.write(op.object);
                can(Can { succeeds: false, ..simple(footprint) })
            }
        }
    }

    /// The events with which those began who wait for a condition, the first first.
    pub fn waiting(&self, object: u32) -> Vec<u32> {
        let waits = |&(_, entry): &(u32, &Entry)| {
            entry.op.kind == Kind::Wait && self.cut.released(entry).is_none()
        };
        let mut all: Vec<u32> = self.cut.on(object).filter(waits).map(|(event, _)| event).collect();
        all.reverse();
        all
    }

    fn notify(&mut self, op: &Op) -> Look {
        let waiting = self.waiting(op.object).len() as u32;
        if waiting == 0 {
            let footprint = self.touching.read(op.object);
            return can(Can { succeeds: false, ..simple(footprint) });
        }
        let alternatives = if op.kind == Kind::NotifyAll { 1 } else { waiting };
        let footprint = self.touching.write(op.object);
        can(Can { alternatives, ..simple(footprint) })
    }

    fn arrive(&mut self, op: &Op) -> Look {
        let arrived = self.cut.on(op.object).next().map_or(0, |(_, entry)| entry.value);
        let footprint = self.touching.write(op.object);
        can(Can { value: arrived + 1, ..simple(footprint) })
    }

    fn once(&mut self, op: &Op) -> Look {
        let began = |entry: &Entry| {
            entry.op.kind == Kind::Once && entry.succeeded && entry.op.argument == op.argument
        };
        match self.cut.on(op.object).find(|(_, entry)| began(entry)) {
            None if self.known.initial(op.object) == Some(1) => {
                let footprint = self.touching.read(op.object);
                can(Can { succeeds: false, ..simple(footprint) })
            }
            None => self.writes(op.object),
            Some((event, entry)) => match self.cut.released(entry) {
                None => Look::Hindered(event),
                // It was given up, so somebody else may begin it.
                Some(by) if self.cut.entry(by).value == 0 => self.writes(op.object),
                Some(_) => {
                    let footprint = self.touching.read(op.object);
                    can(Can { succeeds: false, ..simple(footprint) })
                }
            },
        }
    }

    /// How many messages were put into a channel or taken out of it, and the last event that did so.
    pub(super) fn count(&mut self, channel: u32, part: u64) -> (u64, u32) {
        let order = self.known.part(channel, part);
        let last = self.cut.on(order).find(|(_, entry)| entry.succeeded);
        last.map_or((0, NONE), |(event, entry)| (entry.value + 1, event))
    }

    /// The place of a message: in a channel with a capacity, later ones have the same.
    pub(super) fn place(&mut self, channel: u32, number: u64, capacity: u64) -> u32 {
        match capacity {
            u64::MAX => self.message_place(channel, number),
            _ => self.known.part(channel, part::PLACES + number % capacity.max(1)),
        }
    }

    /// Somebody else's event that is to blame, if there is one.
    pub(super) fn hindered_by(&self, event: u32, thread: u32) -> Look {
        match event != NONE && self.cut.entry(event).thread != thread {
            true => Look::Hindered(event),
            false => Look::Blocked,
        }
    }

    /// Whether somebody may receive from a channel, and what that is known from.
    fn receivers(&mut self, channel: u32) -> (bool, Vec<u32>) {
        let several = self.known.receivers(channel);
        if !several.is_empty() {
            return self.users(several);
        }
        let receiver = self.known.part(channel, part::RECEIVER);
        (self.cut.on(receiver).next().is_none(), vec![receiver])
    }

    /// Whether one of those is there who use a channel, and what that is known from: all up to the first that is there. None but copies of it, or of
    /// what comes after it, can still be made: whoever makes a copy has the original.
    fn users(&self, users: &[User]) -> (bool, Vec<u32>) {
        let is_made = |user: &&User| !user.made_after.iter().any(|&event| self.cut.lacks(event));
        let mut touched = Vec::new();
        for user in users.iter().filter(is_made) {
            touched.push(user.own);
            if self.cut.on(user.own).next().is_none() {
                return (true, touched);
            }
        }
        (false, touched)
    }

    fn look_for_receiver(&mut self, op: &Op) -> Look {
        let (succeeds, touched) = self.receivers(op.object);
        let footprint = self.touching.footprints.intern(&[], &touched);
        can(Can { succeeds, ..simple(footprint) })
    }

    /// The channel of an operation that is linked to a part of it.
    fn send(&mut self, thread: u32, op: &Op) -> Look {
        let (channel, capacity) = (op.object, op.argument);
        let (has_receiver, mut read) = self.receivers(channel);
        if !has_receiver {
            let footprint = self.touching.footprints.intern(&[], &read);
            return can(Can { succeeds: false, value: u64::MAX, ..simple(footprint) });
        }
        let (sent, last) = self.count(channel, part::TAIL);
        let (received, _) = self.count(channel, part::HEAD);
        // One that hands over to a receiver is put where it is taken from.
        let room = capacity == u64::MAX || sent - received < capacity.max(1);
        let place = self.place(channel, sent, capacity);
        let tail = self.known.part(channel, part::TAIL);
        let mut room = room;
        if (capacity, op.kind) == (0, Kind::TrySend) {
            // It is handed over if the receiver waits for it.
            let head = self.known.part(channel, part::HEAD);
            let last = self.cut.on(head).next();
            room &= last.is_some_and(|(_, entry)| entry.op.kind == Kind::Await);
            read.push(head);
        }
        match (room, op.kind) {
            (true, _) => {
                let footprint = self.touching.footprints.intern(&[tail, place], &read);
                can(Can { value: sent, ..simple(footprint) })
            }
            (false, Kind::TrySend) => {
                read.extend([tail, place]);
                let footprint = self.touching.footprints.intern(&[], &read);
                can(Can { succeeds: false, value: sent, ..simple(footprint) })
            }
            (false, _) => self.hindered_by(last, thread),
        }
    }

    fn receive(&mut self, thread: u32, op: &Op) -> Look {
        let (channel, capacity) = (op.object, op.argument);
        let (received, last) = self.count(channel, part::HEAD);
        let (sent, _) = self.count(channel, part::TAIL);
        let head = self.known.part(channel, part::HEAD);
        let place = match op.kind {
            Kind::PollReceive => self.message_place(channel, received),
            _ => self.place(channel, received, capacity),
        };
        if sent > received {
            let footprint = match op.kind {
                Kind::PollReceive => self.receive_in_turn(channel, head, place),
                _ => self.touching.footprints.intern(&[head, place], &[]),
            };
            return can(Can { value: received, ..simple(footprint) });
        }
        let mut touched = vec![head, place];
        let is_over = self.is_over(channel, &mut touched);
        match op.kind {
            Kind::Receive if !is_over => self.hindered_by(last, thread),
            Kind::PollReceive if !is_over && op.argument == BLOCKS => {
                self.hindered_by(last, thread)
            }
            _ => {
                // One who has said that it waits does not any more.
                let waits =
                    capacity == 0 && !matches!(op.kind, Kind::TryReceive | Kind::PollReceive);
                let written = usize::from(waits && self.known.is_tried(channel));
                let (written, read) = touched.split_at(written);
                let footprint = self.touching.footprints.intern(written, read);
                let value = if is_over { u64::MAX } else { received };
                can(Can { succeeds: false, value, ..simple(footprint) })
            }
        }
    }

    /// Whether a channel will get no more messages, and what one has to look at to know: all senders are gone, or the one who
    /// receives has closed it.
    pub(super) fn is_over(&mut self, channel: u32, touched: &mut Vec<u32>) -> bool {
        let receiver = self.known.part(channel, part::RECEIVER);
        touched.push(receiver);
        if self.cut.on(receiver).next().is_some() {
            return true;
        }
        let (has_sender, senders) = self.users(self.known.senders(channel));
        touched.extend(senders);
        !has_sender
    }

    fn park(&mut self, op: &Op) -> Look {
        let last = self.cut.on(op.object).next();
        let has_token = last.is_some_and(|(_, entry)| entry.op.kind == Kind::Unpark);
        match (has_token, op.kind) {
            (true, _) => self.writes(op.object),
            (false, Kind::ParkOrLate) => {
                // Those who give a token only read.
                let footprint = self.touching.write(op.object);
                can(Can { succeeds: false, ..simple(footprint) })
            }
            (false, _) => Look::Blocked,
        }
    }

    /// The argument is the first event of the round. It goes on if something that was read in it is no longer as it was.
    fn spin(&mut self, thread: u32, op: &Op) -> Look {
        let mut event = self.cut.last_of(thread);
        let mut touched = Vec::new();
        let mut changed = false;
        let len = self.cut.log.len() as u32;
        while event != NONE && u64::from(event) >= op.argument {
            let entry = self.cut.entry(event);
            touched.extend_from_slice(self.touching.footprints.reads(entry.footprint));
            touched.extend_from_slice(self.touching.footprints.writes(entry.footprint));
            changed |= (event + 1..len).filter(|&later| !self.cut.lacks(later)).any(|later| {
                let later = self.cut.entry(later);
                later.thread != thread
                    && self.touching.footprints.conflict(later.footprint, entry.footprint)
            });
            event = entry.step_before;
        }
        match changed {
            true => {
                let footprint = self.touching.footprints.intern(&[], &touched);
                can(simple(footprint))
            }
            false => Look::Blocked,
        }
    }

    /// The object, or the part of it, with whose events one of this kind is linked.
    pub fn linked(&mut self, op: &Op) -> u32 {
        match op.kind {
            Kind::Send
            | Kind::TrySend
            | Kind::SendOrQueue
            | Kind::TrySendInTurn
            | Kind::SendQueued
            | Kind::Acquire
            | Kind::TryAcquire => self.known.part(op.object, part::TAIL),
            Kind::Receive
            | Kind::TryReceive
            | Kind::ReceiveOrLate
            | Kind::Await
            | Kind::PollReceive
            | Kind::Release
            | Kind::ReleaseAll => self.known.part(op.object, part::HEAD),
            Kind::DropReceiver => self.known.part(op.object, part::RECEIVER),
            Kind::Leave => self.known.part(op.object, part::LEFT),
            Kind::Choose
            | Kind::Copy
            | Kind::Spin
            | Kind::LookForReceiver
            | Kind::Acquired
            | Kind::PollClosed => NONE,
            _ => op.object,
        }
    }
}

pub(super) fn simple(footprint: Footprint) -> Can {
    Can { alternatives: 1, footprint, needs: [NONE, NONE], taken: NONE, succeeds: true, value: 0 }
}

pub(super) fn can(can: Can) -> Look {
    Look::Can(can)
}
