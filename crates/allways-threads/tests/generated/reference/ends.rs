//! The ends of channels, and of threads.

use super::states::{Actor, State, Todo};
use crate::plan::{self, Op};
use crate::run::code;
use std::collections::VecDeque;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Channel {
    capacity: Option<usize>,
    queue: VecDeque<(u64, u8)>,
    sent: u64,
    pub senders: usize,
    has_receiver: bool,
    /// Of one that hands over: whether the receiver waits, and what it was given by one who did not.
    waits: bool,
    handed: Option<u8>,
}

impl Channel {
    pub fn new(plan: &plan::Channel) -> Self {
        Channel {
            capacity: plan.capacity,
            queue: VecDeque::new(),
            sent: 0,
            senders: 1,
            has_receiver: true,
            waits: false,
            handed: None,
        }
    }

    fn push(&mut self, value: u8) -> u64 {
        let number = self.sent;
        self.queue.push_back((number, value));
        self.sent += 1;
        number
    }
}

impl<'p> State<'p> {
    pub fn send(mut self, op: &Op, me: usize, into: &mut Vec<Self>) {
        let (Op::Send(c, value) | Op::TrySend(c, value) | Op::Offer(c, value)) = *op else {
            return;
        };
        let value = me as u8 * 10 + value;
        let channel = &mut self.channels[c];
        let tries = match op {
            Op::TrySend(..) => channel.capacity.is_some(),
            Op::Offer(..) => channel.capacity.is_some_and(|capacity| capacity > 0),
            _ => false,
        };
        let result = match channel.capacity {
            _ if !channel.has_receiver => code::NO_RECEIVER,
            Some(0) if tries => {
                let takes = channel.waits && channel.queue.is_empty() && channel.handed.is_none();
                channel.handed = if takes { Some(value) } else { channel.handed };
                if takes { 1 } else { code::FULL }
            }
            Some(0) => {
                let number = channel.push(value);
                self.actors[me].todo.push(Todo::Received(c, number));
                return into.push(self);
            }
            Some(capacity) if channel.queue.len() >= capacity => match tries {
                true => code::FULL,
                false => return,
            },
            _ => {
                channel.push(value);
                1
            }
        };
        // One who offers it goes on until there is room.
        if result != code::FULL || !matches!(op, Op::Offer(..)) {
            self.see(me, result);
            into.push(self);
        }
    }

    /// A message that was handed over was received, or never will be.
    pub fn after_sent(mut self, me: usize, c: usize, number: u64, into: &mut Vec<Self>) {
        let channel = &mut self.channels[c];
        let is_there = channel.queue.iter().any(|&(other, _)| other == number);
        if is_there && channel.has_receiver {
            return;
        }
        channel.queue.retain(|&(other, _)| other != number);
        self.see(me, if is_there { code::NO_RECEIVER } else { 1 });
        into.push(self);
    }

    pub fn receive(mut self, op: &Op, me: usize, c: usize, into: &mut Vec<Self>) {
        let channel = &mut self.channels[c];
        let result = match (channel.queue.pop_front(), op) {
            (Some((_, value)), _) => value,
            (None, _) if channel.senders == 0 => code::NO_SENDERS,
            (None, Op::TryRecv(_)) => code::EMPTY,
            (None, Op::Poll(_)) => return,
            (None, _) => {
                channel.waits = true;
                let may_be_late = matches!(op, Op::RecvTimeout(_));
                self.actors[me].todo.push(Todo::Handed(c, may_be_late));
                return into.push(self);
            }
        };
        self.see(me, result);
        into.push(self);
    }

    /// One who waits for a message goes on.
    pub fn after_waiting(mut self, me: usize, c: usize, may_be_late: bool, into: &mut Vec<Self>) {
        let channel = &mut self.channels[c];
        channel.waits = false;
        let handed = channel.handed.take();
        let result = match handed.or_else(|| channel.queue.pop_front().map(|(_, value)| value)) {
            Some(value) => value,
            None if channel.senders == 0 => code::NO_SENDERS,
            None if may_be_late => code::LATE,
            None => return,
        };
        self.see(me, result);
        into.push(self);
    }

    pub fn drop_sender(&mut self, me: usize, c: usize) {
        self.actors[me].senders[c] -= 1;
        self.channels[c].senders -= 1;
    }

    pub fn drop_receiver(&mut self, me: usize, c: usize) {
        self.actors[me].receivers[c] = false;
        let channel = &mut self.channels[c];
        channel.has_receiver = false;
        if channel.capacity != Some(0) {
            channel.queue.clear();
        }
    }

    pub fn join(mut self, me: usize, child: usize, into: &mut Vec<Self>) {
        if !self.actors[child].has_ended {
            return;
        }
        self.actors[me].joined[child] = true;
        let Actor { senders, receivers, .. } = std::mem::take(&mut self.actors[child]);
        self.actors[child].has_ended = true;
        let actor = &mut self.actors[me];
        for (own, other) in actor.senders.iter_mut().zip(senders) {
            *own += other;
        }
        for (own, other) in actor.receivers.iter_mut().zip(receivers) {
            *own |= other;
        }
        into.push(self);
    }
}
