//! The run, event by event, linked so that what an object is like can be read off it: now, and in any cut.
//!
//! There is no other record of who holds a lock or what a channel has in it. Every event is linked to the one before
//! it on the same object, and an event that takes something knows the event by which that was given
//! back. So the present and a cut of the past are asked the same questions, by the same [rules](super::rules).

use super::names::Names;
use super::op::{NONE, Op};
use allways::machine::{Footprint, Footprints};

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
    /// Where the events begin that it needs, and how many of them its thread has come after, whatever it does now.
    pub needs: u32,
    pub came_after: u32,
    /// The event by which what it took was given back, or by which it was woken.
    pub released: u32,
    /// Where the further ones are that this took, among all such.
    pub released_more: (u32, u32),
    /// What it left in an atomic, or how manieth it was in its channel; who was notified.
    pub value: u64,
    /// The clock of its thread, if time has passed.
    pub clock: u64,
    /// Whether it did what it was meant to: a lock that was tried was taken, and the like.
    pub succeeded: bool,
}

/// The run, and for each object and thread its last event.
#[derive(Default)]
pub(crate) struct Log {
    pub entries: Vec<Entry>,
    last_on: Vec<u32>,
    last_of: Vec<u32>,
    /// What events need beside the step before: one event's after the other's.
    needs: Vec<u32>,
    /// What was given back, in which event, and how long `more` was before; in the order of the run.
    released: Vec<(u32, u32, u32)>,
    more: Vec<u32>,
    signs: Signs,
}

/// For each of the first events of a run, what stands for it and all that happens before it.
#[derive(Default)]
struct Signs {
    events: Vec<u64>,
    /// For each thread, the sign of its last event.
    threads: Vec<u64>,
    /// For each object, the sign of the last event that wrote it, and what stands for those that have read it since.
    objects: Vec<(u64, u64)>,
}

impl Signs {
    fn clear(&mut self) {
        self.events.clear();
        self.threads.clear();
        self.objects.clear();
    }

    /// Adds an event of a thread with this key, with what stands for all that it needs.
    fn push(&mut self, entry: &Entry, key: u64, needs: u64, footprints: &Footprints) {
        let (thread, footprint) = (entry.thread as usize, entry.footprint);
        let (reads, writes) = (footprints.reads(footprint), footprints.writes(footprint));
        if self.threads.len() <= thread {
            self.threads.resize(thread + 1, 0);
        }
        let objects = reads.iter().chain(writes).max().map_or(0, |&last| last as usize + 1);
        if self.objects.len() < objects {
            self.objects.resize(objects, (0, 0));
        }
        let mut past = needs.wrapping_add(mix(self.threads[thread]));
        for &object in reads {
            past = past.wrapping_add(mix(self.objects[object as usize].0));
        }
        for &object in writes {
            let (written, read) = self.objects[object as usize];
            past = past.wrapping_add(mix(written)).wrapping_add(read);
        }
        let own = mix(key ^ mix(u64::from(entry.alternative)));
        let sign = mix(past ^ mix(own));
        for &object in reads {
            let read = &mut self.objects[object as usize].1;
            *read = read.wrapping_add(mix(sign));
        }
        for &object in writes {
            self.objects[object as usize] = (sign, 0);
        }
        self.threads[thread] = sign;
        self.events.push(sign);
    }
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

    /// Adds an event of a thread that has come after these, and needs those beside.
    pub fn push(&mut self, mut entry: Entry, came_after: &[u32], needs: [u32; 2]) {
        let event = self.entries.len() as u32;
        if entry.linked != NONE {
            let last = slot(&mut self.last_on, entry.linked);
            entry.before = std::mem::replace(last, event);
        }
        let last = slot(&mut self.last_of, entry.thread);
        entry.step_before = std::mem::replace(last, event);
        entry.needs = self.needs.len() as u32;
        entry.came_after = came_after.len() as u32;
        self.needs.extend_from_slice(came_after);
        self.needs.extend(needs.into_iter().filter(|&needed| needed != NONE));
        self.entries.push(entry);
    }

    /// What else is needed by the event that was added last, or is about to be.
    pub fn need(&mut self, events: &[u32]) {
        self.needs.extend_from_slice(events);
    }

    /// The events that an event needs, beside the step before.
    pub fn needs(&self, event: usize) -> &[u32] {
        let end = self.entries.get(event + 1).map_or(self.needs.len(), |e| e.needs as usize);
        &self.needs[self.entries[event].needs as usize..end]
    }

    /// Those that the thread of an event has come after, whatever it does.
    pub fn came_after(&self, entry: &Entry) -> &[u32] {
        let start = entry.needs as usize;
        &self.needs[start..start + entry.came_after as usize]
    }

    /// What this event took is given back by that one and those further ones, or it is woken by it; during the event `now`. It may
    /// have been said before, if the run is repeated.
    pub fn release(&mut self, event: u32, by: u32, more: &[u32], now: u32) {
        let Some(entry) = self.entries.get_mut(event as usize) else { return };
        if entry.released == NONE {
            let len = self.more.len() as u32;
            entry.released = by;
            entry.released_more = (len, len + more.len() as u32);
            self.released.push((event, now, len));
            self.more.extend_from_slice(more);
        }
    }

    /// The further events that it took to give back what an event had taken.
    pub fn released_more(&self, entry: &Entry) -> &[u32] {
        &self.more[entry.released_more.0 as usize..entry.released_more.1 as usize]
    }

    /// A number that stands for an event and all that happens before it: the same in all runs of which that is a part, in whatever process.
    pub fn sign(&mut self, event: u32, footprints: &Footprints, names: &Names) -> u64 {
        while self.signs.events.len() <= event as usize {
            let at = self.signs.events.len();
            let entry = &self.entries[at];
            let needs =
                self.needs(at).iter().map(|&needed| mix(self.signs.events[needed as usize]));
            // In which order they come makes no difference.
            let needs = needs.fold(0, u64::wrapping_add);
            self.signs.push(entry, names.thread_key(entry.thread), needs, footprints);
        }
        self.signs.events[event as usize]
    }

    /// Forgets all but the first so many events.
    pub fn truncate(&mut self, len: usize) {
        if self.signs.events.len() > len {
            self.signs.clear();
        }
        while let Some(&(event, now, more)) = self.released.last() {
            if (now as usize) < len {
                break;
            }
            let entry = &mut self.entries[event as usize];
            (entry.released, entry.released_more) = (NONE, (0, 0));
            self.more.truncate(more as usize);
            self.released.pop();
        }
        while self.entries.len() > len {
            if let Some(entry) = self.entries.pop() {
                if entry.linked != NONE {
                    self.last_on[entry.linked as usize] = entry.before;
                }
                self.last_of[entry.thread as usize] = entry.step_before;
                self.needs.truncate(entry.needs as usize);
            }
        }
    }
}

/// Bytes as a number.
pub(crate) fn digest(bytes: &[u8]) -> u64 {
    let chunk = |chunk: &[u8]| {
        let mut eight = [0; 8];
        eight[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(eight)
    };
    bytes.chunks(8).fold(mix(bytes.len() as u64), |all, eight| mix(all ^ chunk(eight)))
}

/// Mixes the bits of a number.
pub(crate) fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
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
        let more = || self.log.released_more(entry).iter().any(|&event| self.lacks(event));
        (!self.lacks(entry.released) && !more()).then_some(entry.released)
    }
}
