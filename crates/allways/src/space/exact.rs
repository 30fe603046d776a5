//! The set of whole global vectors: for `--exact`, where no collision may hide a state.

use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

const PARTS: usize = 64;

/// Vectors by their fingerprints.
type Part = FxHashMap<u64, Vec<Box<[u32]>>>;

/// A set of vectors, found by their fingerprints.
pub(crate) struct ExactSet {
    parts: Vec<Mutex<Part>>,
    len: AtomicU64,
    bytes: AtomicU64,
}

impl ExactSet {
    pub fn new() -> Self {
        ExactSet {
            parts: (0..PARTS).map(|_| Mutex::default()).collect(),
            len: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    /// Inserts a vector; true if it was not there. What is in flight must be sorted.
    pub fn insert(&self, fingerprint: u64, vector: &[u32]) -> bool {
        let mut part = self.part(fingerprint);
        let same = part.entry(fingerprint).or_default();
        if same.iter().any(|known| **known == *vector) {
            return false;
        }
        same.push(vector.into());
        self.len.fetch_add(1, Relaxed);
        self.bytes.fetch_add(vector.len() as u64 * 4 + 64, Relaxed);
        true
    }

    /// Whether a vector is there.
    pub fn contains(&self, fingerprint: u64, vector: &[u32]) -> bool {
        let part = self.part(fingerprint);
        part.get(&fingerprint).is_some_and(|same| same.iter().any(|known| **known == *vector))
    }

    fn part(&self, fingerprint: u64) -> std::sync::MutexGuard<'_, Part> {
        self.parts[(fingerprint >> 58) as usize % PARTS]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub fn len(&self) -> u64 {
        self.len.load(Relaxed)
    }

    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_fingerprints_hide_nothing() {
        let set = ExactSet::new();
        assert!(set.insert(7, &[1, 2]));
        assert!(set.insert(7, &[1, 3]));
        assert!(!set.insert(7, &[1, 2]));
        assert!(set.contains(7, &[1, 3]) && !set.contains(7, &[2]));
        assert_eq!(set.len(), 2);
    }
}
