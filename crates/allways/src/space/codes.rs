//! What events do in states, as codes: a hash table that stays small.

use super::StateId;
use super::memo::UNKNOWN;

/// A hash table from state and event to code: open addressing, at most half full.
#[derive(Default)]
pub(super) struct Codes {
    pub slots: Vec<Slot>,
    len: usize,
}

#[derive(Clone, Copy)]
pub(super) struct Slot {
    state: StateId,
    event: u32,
    /// [`UNKNOWN`] for an empty slot.
    code: u32,
}

impl Codes {
    const EMPTY: Slot = Slot { state: 0, event: 0, code: UNKNOWN };

    #[inline]
    fn place(&self, state: StateId, event: u32) -> usize {
        let both = u64::from(state) << 32 | u64::from(event);
        // The upper half of a product depends on all bits below it.
        (both.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize
    }

    #[inline]
    pub fn get(&self, state: StateId, event: u32) -> u32 {
        let slots = &self.slots[..];
        if slots.is_empty() {
            return UNKNOWN;
        }
        let mut at = self.place(state, event);
        loop {
            let slot = &slots[at & (slots.len() - 1)];
            if slot.code == UNKNOWN || (slot.state, slot.event) == (state, event) {
                return slot.code;
            }
            at += 1;
        }
    }

    pub fn insert(&mut self, state: StateId, event: u32, code: u32) {
        if self.len * 2 >= self.slots.len() {
            let larger = (self.slots.len() * 2).max(64);
            let slots = std::mem::replace(&mut self.slots, vec![Codes::EMPTY; larger]);
            for slot in slots.into_iter().filter(|slot| slot.code != UNKNOWN) {
                self.put(slot);
            }
        }
        self.put(Slot { state, event, code });
        self.len += 1;
    }

    fn put(&mut self, slot: Slot) {
        let wrap = self.slots.len() - 1;
        let mut at = self.place(slot.state, slot.event);
        while self.slots[at & wrap].code != UNKNOWN {
            at += 1;
        }
        self.slots[at & wrap] = slot;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::memo::FIRST;

    fn random(seed: &mut u64) -> u32 {
        *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*seed >> 33) as u32
    }

    #[test]
    fn codes_are_kept_as_they_grow() {
        let (mut codes, mut seed) = (Codes::default(), 1);
        let mut expected = rustc_hash::FxHashMap::default();
        for n in 0..5_000 {
            let (state, event) = (random(&mut seed) % 300, random(&mut seed) % 300);
            if codes.get(state, event) == UNKNOWN {
                codes.insert(state, event, FIRST + n);
                expected.insert((state, event), FIRST + n);
            }
        }
        assert!(expected.iter().all(|(&(state, event), &code)| codes.get(state, event) == code));
        assert_eq!(codes.get(300, 0), UNKNOWN);
    }
}
