//! The frontier of a breadth-first search, in chunks, and the log that its runs are rebuilt from.
//!
//! A chunk holds up to 1,024 states as half words, or as words once numbers need them. A state's
//! place is the number of its chunk times 1,024 plus its position there; the log keeps, for each
//! place, the place of the parent (five bytes) and one byte of the state's fingerprint: enough to
//! find the way again (see [`rebuild`](super::rebuild)).

use crate::engine::commute::Mark;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError, RwLock};

/// The most states in a chunk.
pub(crate) const CHUNK: u64 = 1 << 10;
/// The parent of an initial state.
const NO_PARENT: u64 = (1 << 40) - 1;
/// The bits of a fingerprint that the log keeps.
pub(crate) const TAG_MASK: u64 = 0xFF;
/// Bytes of the log for each state.
const ENTRY: usize = 6;

/// Half words in front of a vector: its length, its fingerprint and its mark.
const NARROW_HEAD: usize = 7;
/// The same in words.
const WIDE_HEAD: usize = 4;

/// A state read from a chunk, its vector apart.
pub(crate) struct Read {
    /// Its place in the log.
    pub place: u64,
    pub fingerprint: u64,
    pub mark: Mark,
}

/// How far a chunk has been read.
#[derive(Default)]
pub(crate) struct Cursor {
    position: u64,
    at: usize,
}

/// States to be expanded.
pub(crate) struct Chunk {
    words: Words,
    /// The place of the first state.
    pub first: u64,
    pub count: u64,
}

enum Words {
    Narrow(Vec<u16>),
    Wide(Vec<u32>),
}

impl Chunk {
    /// Appends the next vector to `buffer`; returns the rest of the state.
    #[inline]
    pub fn next(&self, cursor: &mut Cursor, buffer: &mut Vec<u32>) -> Option<Read> {
        if cursor.position == self.count {
            return None;
        }
        let at = cursor.at;
        let (fingerprint, mark) = match &self.words {
            Words::Narrow(words) => {
                let (head, rest) = words[at..].split_at(NARROW_HEAD);
                let len = usize::from(head[0]);
                buffer.extend(rest[..len].iter().map(|&word| u32::from(word)));
                cursor.at += NARROW_HEAD + len;
                let part = |index: usize| u64::from(head[index]) << (16 * (index - 1));
                let mark = Mark::unpack([head[5], head[6]]);
                (part(1) | part(2) | part(3) | part(4), mark)
            }
            Words::Wide(words) => {
                let (head, rest) = words[at..].split_at(WIDE_HEAD);
                let len = head[0] as usize;
                buffer.extend_from_slice(&rest[..len]);
                cursor.at += WIDE_HEAD + len;
                let mark = Mark::unpack([head[3] as u16, (head[3] >> 16) as u16]);
                (u64::from(head[2]) << 32 | u64::from(head[1]), mark)
            }
        };
        cursor.position += 1;
        Some(Read { place: self.first + cursor.position - 1, fingerprint, mark })
    }

    pub fn bytes(&self) -> u64 {
        match &self.words {
            Words::Narrow(words) => words.capacity() as u64 * 2,
            Words::Wide(words) => words.capacity() as u64 * 4,
        }
    }
}

/// A chunk being filled, with its part of the log.
pub(crate) struct Builder {
    words: Words,
    log: Vec<u8>,
    number: u64,
    count: u64,
}

impl Builder {
    fn new(log: &Log) -> Self {
        Builder {
            words: Words::Narrow(Vec::new()),
            log: Vec::new(),
            number: log.numbers.fetch_add(1, Relaxed),
            count: 0,
        }
    }

    /// Adds a state; true if the chunk is then full.
    #[inline]
    fn push(&mut self, fingerprint: u64, vector: &[u32], mark: Mark, parent: u64) -> bool {
        let [mark_low, mark_high] = mark.pack();
        if let Words::Narrow(words) = &mut self.words {
            let all = vector.iter().fold(vector.len() as u32, |all, &word| all | word);
            if all <= u32::from(u16::MAX) {
                let part = |index: u32| (fingerprint >> (16 * index)) as u16;
                words.reserve(NARROW_HEAD + vector.len());
                let len = vector.len() as u16;
                let head = [len, part(0), part(1), part(2), part(3), mark_low, mark_high];
                words.extend_from_slice(&head);
                words.extend(vector.iter().map(|&word| word as u16));
            } else {
                self.widen();
            }
        }
        if let Words::Wide(words) = &mut self.words {
            let mark = u32::from(mark_high) << 16 | u32::from(mark_low);
            let (low, high) = (fingerprint as u32, (fingerprint >> 32) as u32);
            words.extend([vector.len() as u32, low, high, mark]);
            words.extend_from_slice(vector);
        }
        let entry = (parent | (fingerprint & TAG_MASK) << 40).to_le_bytes();
        self.log.extend_from_slice(&entry[..ENTRY]);
        self.count += 1;
        self.count == CHUNK
    }

    /// Turns half words into words.
    fn widen(&mut self) {
        let Words::Narrow(narrow) = &self.words else { return };
        let mut wide = Vec::with_capacity(narrow.len());
        let mut at = 0;
        while at < narrow.len() {
            let len = narrow[at] as usize;
            let word = |at: usize| u32::from(narrow[at]);
            wide.extend([
                len as u32,
                word(at + 2) << 16 | word(at + 1),
                word(at + 4) << 16 | word(at + 3),
                word(at + 6) << 16 | word(at + 5),
            ]);
            wide.extend((at + NARROW_HEAD..at + NARROW_HEAD + len).map(word));
            at += NARROW_HEAD + len;
        }
        self.words = Words::Wide(wide);
    }
}

/// Where every state came from.
#[derive(Default)]
pub(crate) struct Log {
    parts: RwLock<Vec<Box<[u8]>>>,
    numbers: AtomicU64,
    bytes: AtomicU64,
}

impl Log {
    /// What the log keeps of the states on the way to the one at this place, it included.
    pub fn tags(&self, mut place: u64) -> Vec<u64> {
        let parts = self.parts.read().unwrap_or_else(PoisonError::into_inner);
        let mut tags = Vec::new();
        while place != NO_PARENT {
            let part = &parts[(place / CHUNK) as usize];
            let entry = &part[(place % CHUNK) as usize * ENTRY..][..ENTRY];
            let mut parent = [0; 8];
            parent[..5].copy_from_slice(&entry[..5]);
            tags.push(u64::from(entry[5]));
            place = u64::from_le_bytes(parent);
        }
        tags.reverse();
        tags
    }

    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    fn keep(&self, number: u64, mut log: Vec<u8>) {
        log.shrink_to_fit();
        self.bytes.fetch_add(log.len() as u64 + 16, Relaxed);
        let mut parts = self.parts.write().unwrap_or_else(PoisonError::into_inner);
        if parts.len() <= number as usize {
            parts.resize_with(number as usize + 1, Box::default);
        }
        parts[number as usize] = log.into();
    }
}

/// The states of the next level, filled by one thread.
pub(crate) struct Output {
    open: Option<Builder>,
}

impl Output {
    pub fn new() -> Self {
        Output { open: None }
    }

    /// Adds a state that was found from `parent`.
    #[inline]
    pub fn push(&mut self, fingerprint: u64, vector: &[u32], mark: Mark, parent: u64, to: &Level) {
        let builder = self.open.get_or_insert_with(|| Builder::new(&to.log));
        if builder.push(fingerprint, vector, mark, parent) {
            self.seal(to);
        }
    }

    /// Adds an initial state.
    pub fn push_initial(&mut self, fingerprint: u64, vector: &[u32], to: &Level) {
        self.push(fingerprint, vector, Mark::NONE, NO_PARENT, to);
    }

    /// Hands over what is not yet a whole chunk.
    pub fn seal(&mut self, to: &Level) {
        if let Some(Builder { mut words, log, number, count }) = self.open.take() {
            match &mut words {
                Words::Narrow(words) => words.shrink_to_fit(),
                Words::Wide(words) => words.shrink_to_fit(),
            }
            to.log.keep(number, log);
            let chunk = Chunk { words, first: number * CHUNK, count };
            to.add(chunk);
        }
    }
}

/// The level that is being found, and the log of all levels.
#[derive(Default)]
pub(crate) struct Level {
    pub log: Log,
    next: Mutex<Vec<Chunk>>,
    bytes: AtomicU64,
}

impl Level {
    fn add(&self, chunk: Chunk) {
        self.bytes.fetch_add(chunk.bytes(), Relaxed);
        self.next.lock().unwrap_or_else(PoisonError::into_inner).push(chunk);
    }

    /// What was found since the last call.
    pub fn take(&self) -> Vec<Chunk> {
        std::mem::take(&mut *self.next.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Says that a chunk is done with.
    pub fn release(&self, chunk: Chunk) {
        self.bytes.fetch_sub(chunk.bytes(), Relaxed);
    }

    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed) + self.log.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_come_back_as_they_went_in_narrow_or_wide() {
        let level = Level::default();
        let mut output = Output::new();
        let vector = |n: u32| vec![n, 7, if n > 1_500 { 1 << 20 } else { 3 }];
        output.push_initial(99, &vector(0), &level);
        for n in 1..3_000u32 {
            output.push(
                u64::from(n) << 33 | u64::from(n % 200),
                &vector(n),
                Mark::new(n as usize % 7, n as usize % 5, n.is_multiple_of(2)),
                u64::from(n) - 1,
                &level,
            );
        }
        output.seal(&level);
        let chunks = level.take();
        let mut seen = 0;
        for chunk in &chunks {
            let mut cursor = Cursor::default();
            let mut buffer = Vec::new();
            while let Some(read) = chunk.next(&mut cursor, &mut buffer) {
                let Read { place, fingerprint, mark } = read;
                let n = seen as usize;
                assert_eq!(mark, Mark::new(n % 7, n % 5, n.is_multiple_of(2) && n > 0));
                assert_eq!(buffer, vector(seen));
                let expected =
                    if seen == 0 { 99 } else { u64::from(seen) << 33 | u64::from(seen % 200) };
                assert_eq!((place, fingerprint), (u64::from(seen), expected));
                seen += 1;
                buffer.clear();
            }
        }
        assert_eq!(seen, 3_000);
        let expected: Vec<u64> = std::iter::once(99).chain((1..3_000).map(|n| n % 200)).collect();
        assert_eq!(level.log.tags(2_999), expected);
    }
}
