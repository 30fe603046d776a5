//! What steps touch, as numbers: every distinct set of objects read and written is kept once.
//!
//! Engines ask over and over whether two steps touch one object that one of them writes. There are few
//! distinct footprints, so the answer is worked out once for each pair and is one bit afterwards.

use super::Object;
use rustc_hash::FxHashMap;

/// A set of objects that are read or written, by number.
pub type Footprint = u32;

/// The footprints that were met so far.
#[derive(Default)]
pub struct Footprints {
    /// For each, where its objects begin, where those begin that it only reads, and where they end.
    places: Vec<[u32; 3]>,
    objects: Vec<Object>,
    /// For each, a bit for each footprint up to itself: whether they conflict.
    conflicts: Vec<Box<[u64]>>,
    /// By what is written, then `NONE`, then what is read.
    known: FxHashMap<Box<[Object]>, Footprint>,
    key: Vec<Object>,
}

/// No object.
const NONE: Object = Object::MAX;

impl Footprints {
    /// The number of what writes and reads these objects. What is written need not be said to be read.
    pub fn intern(&mut self, writes: &[Object], reads: &[Object]) -> Footprint {
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        key.extend_from_slice(writes);
        key.sort_unstable();
        key.dedup();
        let written = key.len();
        key.push(NONE);
        for &object in reads {
            if !key[..written].contains(&object) && !key[written + 1..].contains(&object) {
                key.push(object);
            }
        }
        key[written + 1..].sort_unstable();
        let found = match self.known.get(&key[..]) {
            Some(&known) => known,
            None => self.add(&key, written),
        };
        self.key = key;
        found
    }

    fn add(&mut self, key: &[Object], written: usize) -> Footprint {
        let footprint = self.places.len() as Footprint;
        let start = self.objects.len() as u32;
        self.objects.extend_from_slice(&key[..written]);
        self.objects.extend_from_slice(&key[written + 1..]);
        self.places.push([start, start + written as u32, self.objects.len() as u32]);
        self.known.insert(key.into(), footprint);
        let mut row = vec![0u64; footprint as usize / 64 + 1];
        for other in 0..=footprint {
            let bit = u64::from(self.meet(footprint, other));
            row[other as usize / 64] |= bit << (other % 64);
        }
        self.conflicts.push(row.into());
        footprint
    }

    fn meet(&self, a: Footprint, b: Footprint) -> bool {
        let meet = |a: &[Object], b: &[Object]| a.iter().any(|object| b.contains(object));
        meet(self.writes(a), self.writes(b))
            || meet(self.writes(a), self.reads(b))
            || meet(self.reads(a), self.writes(b))
    }

    /// Whether there is an object that both touch and one writes.
    #[inline]
    pub fn conflict(&self, a: Footprint, b: Footprint) -> bool {
        let (high, low) = if a < b { (b, a) } else { (a, b) };
        self.conflicts[high as usize][low as usize / 64] >> (low % 64) & 1 == 1
    }

    /// The objects written.
    #[inline]
    pub fn writes(&self, footprint: Footprint) -> &[Object] {
        let [start, reads, _] = self.places[footprint as usize];
        &self.objects[start as usize..reads as usize]
    }

    /// The objects read and not written.
    #[inline]
    pub fn reads(&self, footprint: Footprint) -> &[Object] {
        let [_, reads, end] = self.places[footprint as usize];
        &self.objects[reads as usize..end as usize]
    }

    /// Whether this object is written.
    #[inline]
    pub fn is_written(&self, footprint: Footprint, object: Object) -> bool {
        self.writes(footprint).contains(&object)
    }

    /// Roughly the bytes in use.
    pub fn bytes(&self) -> u64 {
        let rows: usize = self.conflicts.iter().map(|row| row.len() * 8 + 64).sum();
        (rows + self.objects.len() * 12) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_same_has_one_number() {
        let mut all = Footprints::default();
        let first = all.intern(&[3, 1], &[7]);
        assert_eq!(all.intern(&[1, 3], &[7, 1]), first);
        assert_ne!(all.intern(&[1, 3], &[]), first);
        assert_ne!(all.intern(&[1], &[3, 7]), first);
        assert_eq!((all.writes(first), all.reads(first)), (&[1, 3][..], &[7][..]));
    }

    #[test]
    fn readers_do_not_conflict_and_writers_do() {
        let mut all = Footprints::default();
        let mut footprints = Vec::new();
        // Enough for more than one word of bits.
        for object in 0..70 {
            footprints.push((object, false, all.intern(&[], &[object])));
            footprints.push((object, true, all.intern(&[object], &[])));
        }
        for &(a, a_writes, a_footprint) in &footprints {
            for &(b, b_writes, b_footprint) in &footprints {
                let expected = a == b && (a_writes || b_writes);
                assert_eq!(all.conflict(a_footprint, b_footprint), expected, "{a} {b}");
            }
        }
    }
}
