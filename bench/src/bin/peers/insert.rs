//! The limit: what it takes to put a search's fingerprints into a set, and do nothing else.
//!
//! One thread, linear probing, doubled when three quarters full, slots prefetched in batches.

const BATCH: u64 = 64;

struct Set {
    slots: Vec<u64>,
    len: usize,
}

impl Set {
    fn new() -> Self {
        Set { slots: vec![0; 1 << 16], len: 0 }
    }

    /// Fingerprints are uniform: their high bits say where they belong.
    fn place(&self, fingerprint: u64) -> usize {
        (fingerprint >> (64 - self.slots.len().trailing_zeros())) as usize
    }

    fn prefetch(&self, fingerprint: u64) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let slot = &raw const self.slots[self.place(fingerprint)];
            // SAFETY: prefetching has no effect on memory, and the address is that of a slot.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(slot.cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = fingerprint;
    }

    fn insert(&mut self, fingerprint: u64) {
        let mask = self.slots.len() - 1;
        let mut at = self.place(fingerprint);
        while self.slots[at] != fingerprint {
            if self.slots[at] == 0 {
                self.slots[at] = fingerprint;
                self.len += 1;
                break;
            }
            at = (at + 1) & mask;
        }
    }

    /// Makes room for one more batch.
    fn reserve(&mut self) {
        if (self.len + BATCH as usize) * 4 > self.slots.len() * 3 {
            let larger = vec![0; self.slots.len() * 2];
            self.len = 0;
            for fingerprint in std::mem::replace(&mut self.slots, larger) {
                if fingerprint != 0 {
                    self.insert(fingerprint);
                }
            }
        }
    }
}

/// Inserts `generated` fingerprints of which `unique` are distinct; returns how many there are.
///
/// New ones come evenly spread among those that are known, and these are drawn at random.
pub fn insert(generated: u64, unique: u64) -> u64 {
    let mut set = Set::new();
    let mut batch = Vec::new();
    let mut distinct = 0;
    for number in 0..generated {
        let due = ((u128::from(number) + 1) * u128::from(unique)).div_ceil(u128::from(generated));
        let index = match distinct < due as u64 {
            true => {
                distinct += 1;
                distinct - 1
            }
            false => mixed(number ^ (1 << 63)) % distinct,
        };
        batch.push(mixed(index) | 1);
        set.prefetch(batch[batch.len() - 1]);
        if batch.len() as u64 == BATCH || number + 1 == generated {
            for fingerprint in batch.drain(..) {
                set.insert(fingerprint);
            }
            set.reserve();
        }
    }
    set.len as u64
}

/// SplitMix64's finalizer.
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
