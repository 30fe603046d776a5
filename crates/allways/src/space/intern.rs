//! Interning: each distinct value once, as a small number.

use rustc_hash::FxHashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Distinct values of `T`, numbered from zero, each with something known about it.
///
/// Whoever comes with a value has its hash, which is worked out once: it is that of the value's content, so
/// it may be its key in fingerprints, too. Reading takes a shared lock; threads keep what they have
/// read, so they come here only for what is new to them.
pub(crate) struct Interner<T, I> {
    inside: RwLock<Inside<T, I>>,
}

struct Inside<T, I> {
    /// For each hash, the last value that has it.
    numbers: FxHashMap<u64, u32>,
    values: Vec<Known<T, I>>,
}

struct Known<T, I> {
    value: Arc<T>,
    info: I,
    /// The value before it that has the same hash, or [`NONE`].
    same: u32,
}

/// No value.
const NONE: u32 = u32::MAX;

impl<T, I> Inside<T, I> {
    /// The number of a value; or the last one that has its hash, if there is any.
    fn find(&self, hash: u64, value: &T) -> Result<u32, u32>
    where
        T: Eq,
    {
        let last = self.numbers.get(&hash).copied().unwrap_or(NONE);
        let mut number = last;
        while let Some(known) = self.values.get(number as usize) {
            if *known.value == *value {
                return Ok(number);
            }
            number = known.same;
        }
        Err(last)
    }
}

impl<T: Eq, I: Clone> Interner<T, I> {
    pub fn new() -> Self {
        Interner {
            inside: RwLock::new(Inside { numbers: FxHashMap::default(), values: Vec::new() }),
        }
    }

    /// The number of a value with this hash. A new value gets the next one; `describe` says what is known of it,
    /// and is told whether no other value has the same hash.
    pub fn intern<E>(
        &self,
        hash: u64,
        value: T,
        describe: impl FnOnce(&T, bool) -> Result<I, E>,
    ) -> Result<u32, E> {
        if let Ok(number) = self.read().find(hash, &value) {
            return Ok(number);
        }
        let mut inside = self.inside.write().unwrap_or_else(PoisonError::into_inner);
        let same = match inside.find(hash, &value) {
            Ok(number) => return Ok(number),
            Err(same) => same,
        };
        let info = describe(&value, same == NONE)?;
        let number = inside.values.len() as u32;
        inside.numbers.insert(hash, number);
        inside.values.push(Known { value: Arc::new(value), info, same });
        Ok(number)
    }

    /// The number of a value with this hash, if it has one.
    pub fn number(&self, hash: u64, value: &T) -> Option<u32> {
        self.read().find(hash, value).ok()
    }

    /// The value with this number.
    pub fn value(&self, number: u32) -> Arc<T> {
        Arc::clone(&self.read().values[number as usize].value)
    }

    /// What is known of the value with this number.
    pub fn info(&self, number: u32) -> I {
        self.read().values[number as usize].info.clone()
    }

    /// How many distinct values there are.
    pub fn len(&self) -> usize {
        self.read().values.len()
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Inside<T, I>> {
        self.inside.read().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    #[test]
    fn values_with_one_hash_are_told_apart() {
        let interner: Interner<&str, bool> = Interner::new();
        let intern = |hash, value| {
            let alone = |_: &&str, is_alone| Ok::<_, Infallible>(is_alone);
            interner.intern(hash, value, alone).unwrap()
        };
        assert_eq!([intern(7, "a"), intern(7, "b"), intern(8, "c")], [0, 1, 2]);
        assert_eq!([intern(7, "a"), intern(7, "b"), intern(8, "c")], [0, 1, 2]);
        assert_eq!([0, 1, 2].map(|number| interner.info(number)), [true, false, true]);
        assert_eq!((interner.number(7, &"c"), interner.number(7, &"a")), (None, Some(0)));
        assert_eq!((*interner.value(1), interner.len()), ("b", 3));
    }
}
