//! What two numbers lead to: a hash table that stays small.

/// A hash table from pairs of numbers: open addressing, at most half full.
pub(super) struct Pairs<V> {
    slots: Vec<Slot<V>>,
    len: usize,
}

#[derive(Clone, Copy)]
struct Slot<V> {
    /// The first number; [`EMPTY`] for an empty slot.
    first: u32,
    second: u32,
    value: V,
}

/// No pair begins with it.
const EMPTY: u32 = u32::MAX;

impl<V> Default for Pairs<V> {
    fn default() -> Self {
        Pairs { slots: Vec::new(), len: 0 }
    }
}

impl<V: Copy + Default> Pairs<V> {
    #[inline]
    fn place(first: u32, second: u32) -> usize {
        let both = u64::from(first) << 32 | u64::from(second);
        // The upper half of a product depends on all bits below it.
        (both.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize
    }

    /// What this pair leads to, if that is known.
    #[inline]
    pub fn get(&self, first: u32, second: u32) -> Option<V> {
        let slots = &self.slots[..];
        if slots.is_empty() {
            return None;
        }
        let mut at = Self::place(first, second);
        loop {
            let slot = &slots[at & (slots.len() - 1)];
            if (slot.first, slot.second) == (first, second) {
                return Some(slot.value);
            }
            if slot.first == EMPTY {
                return None;
            }
            at += 1;
        }
    }

    /// Notes what a pair leads to. It must not be known yet.
    pub fn insert(&mut self, first: u32, second: u32, value: V) {
        debug_assert_ne!(first, EMPTY);
        if self.len * 2 >= self.slots.len() {
            let larger = (self.slots.len() * 2).max(64);
            let empty = Slot { first: EMPTY, second: 0, value: V::default() };
            let slots = std::mem::replace(&mut self.slots, vec![empty; larger]);
            for slot in slots.into_iter().filter(|slot| slot.first != EMPTY) {
                self.put(slot);
            }
        }
        self.put(Slot { first, second, value });
        self.len += 1;
    }

    fn put(&mut self, slot: Slot<V>) {
        let wrap = self.slots.len() - 1;
        let mut at = Self::place(slot.first, slot.second);
        while self.slots[at & wrap].first != EMPTY {
            at += 1;
        }
        self.slots[at & wrap] = slot;
    }

    /// Bytes in use.
    pub fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot<V>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(seed: &mut u64) -> u32 {
        *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*seed >> 33) as u32
    }

    #[test]
    fn pairs_are_kept_as_they_grow() {
        let (mut pairs, mut seed) = (Pairs::default(), 1);
        let mut expected = rustc_hash::FxHashMap::default();
        for n in 0..5_000 {
            let (first, second) = (random(&mut seed) % 300, random(&mut seed) % 300);
            if pairs.get(first, second).is_none() {
                pairs.insert(first, second, n);
                expected.insert((first, second), n);
            }
        }
        let known = |(&(first, second), &n)| pairs.get(first, second) == Some(n);
        assert!(expected.iter().all(known));
        assert_eq!(pairs.get(300, 0), None);
    }
}
