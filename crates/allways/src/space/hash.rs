//! Fingerprint keys: strong 64-bit hashes of content.
//!
//! A global state's fingerprint is a sum of keys, one for each slot and each envelope, so it can
//! be updated by adding differences. Keys are made from content, never from ids: ids depend on
//! which thread came first. For keys that behave as random numbers, two given different states
//! have equal sums with probability 2^-64.

use std::hash::{Hash, Hasher};

/// Multiplies to 128 bits and folds the halves together.
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

const K: [u64; 4] =
    [0x9E37_79B9_7F4A_7C15, 0xD1B5_4A32_D192_ED03, 0x8CB9_2BA7_2F3D_8DD7, 0xAEF1_7502_108E_F2D9];

/// A hasher with 128 bits of state, two lanes mixed with different multipliers.
pub(crate) struct ContentHasher {
    a: u64,
    b: u64,
}

impl ContentHasher {
    /// A hasher for content in this domain: a node's slot, envelopes, …
    pub fn new(domain: u64) -> Self {
        ContentHasher { a: fold(domain ^ K[0], K[1]), b: fold(domain.wrapping_add(K[2]), K[3]) }
    }

    fn word(&mut self, word: u64) {
        self.a = fold(self.a ^ word, K[1]).wrapping_add(self.b);
        self.b = fold(self.b.rotate_left(29) ^ word, K[3]).wrapping_add(K[0]);
    }
}

impl Hasher for ContentHasher {
    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            let mut word = [0; 8];
            word.copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
        let rest = chunks.remainder();
        let mut word = [0; 8];
        word[..rest.len()].copy_from_slice(rest);
        // The length keeps "a\0" apart from "a".
        self.word(u64::from_le_bytes(word));
        self.word(bytes.len() as u64);
    }

    fn write_u8(&mut self, value: u8) {
        self.word(value.into());
    }
    fn write_u16(&mut self, value: u16) {
        self.word(value.into());
    }
    fn write_u32(&mut self, value: u32) {
        self.word(value.into());
    }
    fn write_u64(&mut self, value: u64) {
        self.word(value);
    }
    fn write_usize(&mut self, value: usize) {
        self.word(value as u64);
    }

    fn finish(&self) -> u64 {
        let mixed = fold(self.a ^ K[2], self.b ^ K[0]);
        fold(mixed ^ K[3], self.a.wrapping_add(K[1])) ^ mixed.rotate_left(32)
    }
}

/// The key of some content in a domain.
pub(crate) fn key<T: Hash + ?Sized>(domain: u64, content: &T) -> u64 {
    let mut hasher = ContentHasher::new(domain);
    content.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn keys_of_small_contents_differ() {
        let mut keys = HashSet::new();
        for domain in 0..8u64 {
            for a in 0..64u8 {
                for b in 0..64u32 {
                    assert!(keys.insert(key(domain, &(a, b))));
                }
            }
        }
        assert!(keys.insert(key(0, "a")));
        assert!(keys.insert(key(0, "a\0")));
        assert!(keys.insert(key(0, "")));
    }

    #[test]
    fn every_bit_of_a_key_varies_by_half() {
        let keys: Vec<u64> = (0..4096u32).map(|n| key(1, &n)).collect();
        for bit in 0..64 {
            let ones = keys.iter().filter(|&&key| key >> bit & 1 == 1).count();
            assert!((1800..2300).contains(&ones), "bit {bit}: {ones} of 4096");
        }
    }
}
