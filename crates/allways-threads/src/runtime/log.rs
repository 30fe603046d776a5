//! The run, event by event, linked so that what an object is like can be read off it: now, and in any cut.
//!
//! There is no other record of who holds a lock or what a channel has in it. Every event is linked to the one before
//! it on the same object, and an event that takes something knows the event by which that was given
//! back. So the present and a cut of the past are asked the same questions, by the same [rules](super::rules).

use super::op::{NONE, Op};
use allways::machine::Footprint;

/// An event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub thread: u32,
    pub alternative: u32,
    pub op: Op,
    pub footprint: Footprint,
    /// The object, or the part of it, whose events it is linked with.
    pub linked: u32,
    /// The event before it there.
    pub before: u32,
    /// The event before it of the same thread.
    pub step_before: u32,
    /// The event by which what it took was given back, or by which it was woken.
    pub released: u32,
    /// What it left in an atomic, or how manieth it was in its channel; who was notified.
    pub value: u64,
    /// Whether it did what it was meant to: a lock that was tried was taken, and the like.
    pub succeeded: bool,
    /// Whether its thread has ended with it.
    pub ends: bool,
}

/// The run, and for each object and thread its last event.
#[derive(Default)]
pub(crate) struct Log {
    pub entries: Vec<Entry>,
    last_on: Vec<u32>,
    last_of: Vec<u32>,
    /// What was given back, and by which event; in the order of the run.
    released: Vec<(u32, u32)>,
}

fn slot(of: &mut Vec<u32>, index: u32) -> &mut u32 {
    let index = index as usize;
    if index >= of.len() {
        of.resize(index + 1, NONE);
    }
    &mut of[index]
}

impl Log {
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The last event on an object.
    #[inline]
    pub fn last_on(&self, object: u32) -> u32 {
        self.last_on.get(object as usize).copied().unwrap_or(NONE)
    }

    /// The last event of a thread.
    #[inline]
    pub fn last_of(&self, thread: u32) -> u32 {
        self.last_of.get(thread as usize).copied().unwrap_or(NONE)
    }

    /// Adds an event.
    pub fn push(&mut self, mut entry: Entry) {
        let event = self.entries.len() as u32;
        if entry.linked != NONE {
            let last = slot(&mut self.last_on, entry.linked);
            entry.before = std::mem::replace(last, event);
        }
        let last = slot(&mut self.last_of, entry.thread);
        entry.step_before = std::mem::replace(last, event);
        self.entries.push(entry);
    }

    /// What this event took is given back by that one, or it is woken by it. It may have been said before, if the run is repeated.
    pub fn release(&mut self, event: u32, by: u32) {
        let Some(entry) = self.entries.get_mut(event as usize) else { return };
        if entry.released == NONE {
            entry.released = by;
            self.released.push((event, by));
        }
    }

    /// Forgets all but the first so many events.
    pub fn truncate(&mut self, len: usize) {
        while let Some(&(event, by)) = self.released.last() {
            if (by as usize) < len {
                break;
            }
            self.entries[event as usize].released = NONE;
            self.released.pop();
        }
        while self.entries.len() > len {
            if let Some(entry) = self.entries.pop() {
                if entry.linked != NONE {
                    self.last_on[entry.linked as usize] = entry.before;
                }
                self.last_of[entry.thread as usize] = entry.step_before;
            }
        }
    }
}

/// The run without some of its events: those that a state lacks, with all that happens after them.
#[derive(Clone, Copy)]
pub(crate) struct Cut<'a> {
    pub log: &'a Log,
    pub without: &'a [u32],
}

impl<'a> Cut<'a> {
    /// Whether an event of the run is lacking; no event always is.
    #[inline]
    pub fn lacks(&self, event: u32) -> bool {
        event == NONE || (!self.without.is_empty() && self.without.binary_search(&event).is_ok())
    }

    #[inline]
    pub fn entry(&self, event: u32) -> &'a Entry {
        &self.log.entries[event as usize]
    }

    /// The events on an object, the last first.
    #[inline]
    pub fn on(self, object: u32) -> impl Iterator<Item = (u32, &'a Entry)> {
        let mut next = self.log.last_on(object);
        std::iter::from_fn(move || {
            while next != NONE {
                let event = next;
                let entry = &self.log.entries[event as usize];
                next = entry.before;
                if !self.lacks(event) {
                    return Some((event, entry));
                }
            }
            None
        })
    }

    /// The last event of a thread.
    pub fn last_of(self, thread: u32) -> u32 {
        let mut event = self.log.last_of(thread);
        while event != NONE && self.lacks(event) {
            event = self.log.entries[event as usize].step_before;
        }
        event
    }

    /// The event by which what an event took was given back.
    #[inline]
    pub fn released(self, entry: &Entry) -> Option<u32> {
        (!self.lacks(entry.released)).then_some(entry.released)
    }
}
