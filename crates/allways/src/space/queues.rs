//! Queues of an ordered network: each distinct content of a queue is interned.

use super::EventId;
use super::hash::key;
use super::intern::Interner;
use super::vector::domain;
use std::convert::Infallible;

/// The contents of queues; number zero is the empty queue. An event knows who sent it to whom, so
/// queues of different pairs share nothing but emptiness.
pub(crate) struct Queues {
    contents: Interner<Vec<EventId>, u64>,
}

impl Queues {
    pub fn new() -> Self {
        let queues = Queues { contents: Interner::new() };
        queues.number(Vec::new(), |_| 0);
        queues
    }

    fn number(&self, content: Vec<EventId>, event_key: impl Fn(EventId) -> u64) -> u32 {
        let describe = |content: &Vec<EventId>, _| {
            let keys: Vec<u64> = content.iter().map(|&event| event_key(event)).collect();
            // Empty queues have no part in a fingerprint.
            Ok::<_, Infallible>(if keys.is_empty() { 0 } else { key(domain::QUEUE, &keys) })
        };
        match self.contents.intern(key(domain::QUEUE, &content), content, describe) {
            Ok(number) => number,
            Err(never) => match never {},
        }
    }

    /// The queue with an event behind all others.
    pub fn push(&self, queue: u32, event: EventId, event_key: impl Fn(EventId) -> u64) -> u32 {
        let mut content = (*self.contents.value(queue)).clone();
        content.push(event);
        self.number(content, event_key)
    }

    /// The queue without its first event.
    pub fn pop(&self, queue: u32, event_key: impl Fn(EventId) -> u64) -> u32 {
        let content = self.contents.value(queue);
        self.number(content[1..].to_vec(), event_key)
    }

    /// The first event of a queue.
    pub fn head(&self, queue: u32) -> Option<EventId> {
        self.contents.value(queue).first().copied()
    }

    /// All events of a queue, first to last.
    pub fn content(&self, queue: u32) -> Vec<EventId> {
        (*self.contents.value(queue)).clone()
    }

    /// The number of a queue with this content.
    pub fn of(&self, content: Vec<EventId>, event_key: impl Fn(EventId) -> u64) -> u32 {
        self.number(content, event_key)
    }

    /// The part that a queue has in a fingerprint.
    pub fn key(&self, queue: u32) -> u64 {
        self.contents.info(queue)
    }
}
