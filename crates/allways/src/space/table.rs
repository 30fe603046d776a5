//! The set of fingerprints: eight bytes a slot, shared by all threads.
//!
//! Open addressing with linear probing in four segments. The place of a fingerprint is
//! proportional to it, so growing a segment moves its fingerprints in order, from one sequential
//! pass to another. Segments grow one at a time, each when it is a little fuller than the one
//! before it: the set is never copied as a whole, and a pause to grow is a quarter of what it would
//! be. Large segments are whole huge pages: a random access then costs one cache miss instead of
//! two, and memory arrives in few page faults.
//!
//! Threads insert concurrently under a shared lock that they take once a batch; growing takes it
//! alone. An insertion claims an empty slot with one compare-and-swap, or simply takes it where
//! there is only one thread: then the processor need not wait for one slot before the next.

use super::prefetch::prefetch;
use memmap2::MmapMut;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{RwLock, RwLockReadGuard};

const SEGMENTS: usize = 4;
const SEGMENT_BITS: u32 = SEGMENTS.trailing_zeros();
/// The first capacity of a segment.
const FIRST_CAPACITY: usize = 1 << 13;
/// A segment grows when so many hundredths of it are full.
const FULL: [u64; SEGMENTS] = [66, 70, 74, 78];
/// Slots in a huge page.
const HUGE: usize = (2 << 20) / 8;

/// A set of 64-bit fingerprints.
pub(crate) struct Table {
    segments: RwLock<Vec<Segment>>,
    /// How many fingerprints there are, as of the last batch of each thread.
    len: AtomicU64,
    /// The number of fingerprints at which the next segment must grow.
    grow_at: AtomicU64,
    bytes: AtomicU64,
    /// Whether only one thread inserts.
    alone: bool,
}

/// What one insertion found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Insert {
    New,
    Known,
    /// The segment has no empty slot: grow, then try again.
    Full,
}

impl Table {
    /// An empty set for so many threads.
    pub fn new(threads: usize) -> Self {
        let segments: Vec<Segment> = (0..SEGMENTS).map(|_| Segment::new(FIRST_CAPACITY)).collect();
        Table {
            len: AtomicU64::new(0),
            grow_at: AtomicU64::new(next_growth(&segments).1),
            bytes: AtomicU64::new(bytes(&segments)),
            segments: RwLock::new(segments),
            alone: threads == 1,
        }
    }

    /// Shared access for a batch of at most `batch` insertions on each of `threads` threads.
    pub fn session(&self, batch: usize, threads: usize) -> Session<'_> {
        let headroom = (batch * threads) as u64;
        while self.len() + headroom >= self.grow_at.load(Relaxed) {
            self.grow(headroom);
        }
        let segments = self.segments.read().unwrap_or_else(|e| e.into_inner());
        Session { segments, alone: self.alone }
    }

    /// Adds to the number of fingerprints what a thread has inserted.
    pub fn add_len(&self, inserted: u64) {
        self.len.fetch_add(inserted, Relaxed);
    }

    /// How many fingerprints there are, as far as was told.
    pub fn len(&self) -> u64 {
        self.len.load(Relaxed)
    }

    /// Bytes in use.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Grows the segment that is due next.
    fn grow(&self, headroom: u64) {
        let mut segments = self.segments.write().unwrap_or_else(|e| e.into_inner());
        let (index, due) = next_growth(&segments);
        // Another thread may have done it meanwhile.
        if self.len() + headroom >= due {
            segments[index] = segments[index].grown();
            self.note(&segments);
        }
    }

    /// Grows the segment of this fingerprint: only for one that is full.
    pub fn grow_segment_of(&self, fingerprint: u64) {
        let mut segments = self.segments.write().unwrap_or_else(|e| e.into_inner());
        let index = segment_of(fingerprint);
        segments[index] = segments[index].grown();
        self.note(&segments);
    }

    fn note(&self, segments: &[Segment]) {
        self.grow_at.store(next_growth(segments).1, Relaxed);
        self.bytes.store(bytes(segments), Relaxed);
    }
}

/// Which segment must grow next, and at what number of fingerprints in all.
fn next_growth(segments: &[Segment]) -> (usize, u64) {
    let due = |index: usize| segments[index].capacity as u64 * SEGMENTS as u64 * FULL[index] / 100;
    (0..SEGMENTS).map(|index| (index, due(index))).min_by_key(|(_, due)| *due).unwrap_or((0, 0))
}

fn bytes(segments: &[Segment]) -> u64 {
    segments.iter().map(|segment| segment.capacity as u64 * 8).sum()
}

fn segment_of(fingerprint: u64) -> usize {
    (fingerprint >> (64 - SEGMENT_BITS)) as usize
}

/// Shared access to a [`Table`]: see [`Table::session`].
pub(crate) struct Session<'t> {
    segments: RwLockReadGuard<'t, Vec<Segment>>,
    alone: bool,
}

impl Session<'_> {
    /// Tells the processor that this fingerprint's slot will be needed soon.
    #[inline]
    pub fn prefetch(&self, fingerprint: u64) {
        let segment = &self.segments[segment_of(fingerprint)];
        prefetch(segment.slots(), segment.place(fingerprint));
    }

    /// Inserts a fingerprint.
    #[inline]
    pub fn insert(&self, fingerprint: u64) -> Insert {
        let fingerprint = nonzero(fingerprint);
        let segment = &self.segments[segment_of(fingerprint)];
        let slots = segment.slots();
        let mut place = segment.place(fingerprint);
        for _ in 0..slots.len() {
            let found = slots[place].load(Relaxed);
            if found == fingerprint {
                return Insert::Known;
            }
            if found == 0 {
                if self.alone {
                    slots[place].store(fingerprint, Relaxed);
                    return Insert::New;
                }
                match slots[place].compare_exchange(0, fingerprint, Relaxed, Relaxed) {
                    Ok(_) => return Insert::New,
                    Err(other) if other == fingerprint => return Insert::Known,
                    Err(_) => {}
                }
            }
            place += 1;
            if place == slots.len() {
                place = 0;
            }
        }
        Insert::Full
    }

    /// Whether a fingerprint is there.
    pub fn contains(&self, fingerprint: u64) -> bool {
        let fingerprint = nonzero(fingerprint);
        let segment = &self.segments[segment_of(fingerprint)];
        let slots = segment.slots();
        let mut place = segment.place(fingerprint);
        for _ in 0..slots.len() {
            match slots[place].load(Relaxed) {
                0 => return false,
                found if found == fingerprint => return true,
                _ => place = if place + 1 == slots.len() { 0 } else { place + 1 },
            }
        }
        false
    }
}

/// Zero marks an empty slot, so it stands for one.
#[inline]
fn nonzero(fingerprint: u64) -> u64 {
    fingerprint.max(1)
}

struct Segment {
    memory: Memory,
    capacity: usize,
}

/// Zeroed memory. Mapped, because only mapped memory can ask for huge pages: a random access
/// then costs one cache miss instead of two.
enum Memory {
    Mapped(MmapMut),
    /// Where mapping fails.
    Plain(Vec<AtomicU64>),
}

impl Segment {
    fn new(capacity: usize) -> Self {
        let memory = match MmapMut::map_anon(capacity * 8) {
            Ok(map) => {
                #[cfg(target_os = "linux")]
                if capacity >= HUGE {
                    // Advice only: without it, everything works as well.
                    let _ = map.advise(memmap2::Advice::HugePage);
                }
                Memory::Mapped(map)
            }
            Err(_) => Memory::Plain((0..capacity).map(|_| AtomicU64::new(0)).collect()),
        };
        Segment { memory, capacity }
    }

    #[inline]
    fn slots(&self) -> &[AtomicU64] {
        match &self.memory {
            // SAFETY: the mapping is page-aligned, `capacity * 8` bytes long and zeroed, lives as
            // long as `self`, and is only ever accessed as these atomics: `AtomicU64` has the
            // size and bit validity of `u64`.
            Memory::Mapped(map) => unsafe {
                std::slice::from_raw_parts(map.as_ptr().cast::<AtomicU64>(), self.capacity)
            },
            Memory::Plain(slots) => slots,
        }
    }

    /// Where a fingerprint belongs: proportional to its bits below those that chose the segment.
    #[inline]
    fn place(&self, fingerprint: u64) -> usize {
        let rest = nonzero(fingerprint) << SEGMENT_BITS;
        ((u128::from(rest) * self.capacity as u128) >> 64) as usize
    }

    /// A larger segment with the same fingerprints: four times as large while it is small, one
    /// and a half times once it is large, in whole huge pages.
    fn grown(&self) -> Segment {
        let capacity = match self.capacity {
            small if small * 2 < HUGE => small * 4,
            medium if medium < 4 * HUGE => medium * 2,
            large => (large + large / 2).next_multiple_of(HUGE),
        };
        let grown = Segment::new(capacity);
        let slots = grown.slots();
        for slot in self.slots() {
            let fingerprint = slot.load(Relaxed);
            if fingerprint != 0 {
                let mut place = grown.place(fingerprint);
                while slots[place].load(Relaxed) != 0 {
                    place = if place + 1 == slots.len() { 0 } else { place + 1 };
                }
                slots[place].store(fingerprint, Relaxed);
            }
        }
        grown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::hash::key;

    fn insert(table: &Table, fingerprint: u64) -> bool {
        let new = table.session(1, 1).insert(fingerprint) == Insert::New;
        table.add_len(u64::from(new));
        new
    }

    #[test]
    fn holds_what_was_inserted_through_many_growths() {
        let table = Table::new(1);
        let count = 200_000u64;
        for n in 0..count {
            assert!(insert(&table, key(0, &n)));
        }
        for n in 0..count {
            assert!(!insert(&table, key(0, &n)));
        }
        assert_eq!(table.len(), count);
        let session = table.session(1, 1);
        assert!((0..count).all(|n| session.contains(key(0, &n))));
        assert!((count..2 * count).all(|n| !session.contains(key(0, &n))));
        // At least a third full.
        assert!((10 * count..24 * count).contains(&table.bytes()), "{}", table.bytes());
    }

    #[test]
    fn zero_is_a_fingerprint_too() {
        let table = Table::new(1);
        assert!(insert(&table, 0));
        assert!(!insert(&table, 0));
    }

    #[test]
    fn a_full_segment_says_so_and_grows() {
        let table = Table::new(1);
        // All in the first segment, and more than it holds.
        let mut inserted = 0;
        for n in 0..40_000u64 {
            let fingerprint = key(0, &n) >> SEGMENT_BITS;
            if table.session(0, 0).insert(fingerprint) == Insert::Full {
                table.grow_segment_of(fingerprint);
                assert_eq!(table.session(0, 0).insert(fingerprint), Insert::New);
            }
            inserted += 1;
        }
        let session = table.session(0, 0);
        assert!((0..inserted).all(|n| session.contains(key(0, &n) >> SEGMENT_BITS)));
    }

    #[test]
    fn threads_agree_on_who_was_first() {
        let table = Table::new(4);
        let new: u64 = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        let mut new = 0;
                        for batch in 0..100u64 {
                            let session = table.session(256, 4);
                            let mut here = 0;
                            for n in 0..256 {
                                let fingerprint = key(0, &(batch * 256 + n));
                                here += u64::from(session.insert(fingerprint) == Insert::New);
                            }
                            drop(session);
                            table.add_len(here);
                            new += here;
                        }
                        new
                    })
                })
                .collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).sum()
        });
        assert_eq!(new, 25_600);
    }
}
