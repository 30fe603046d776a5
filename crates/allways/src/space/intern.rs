//! Interning: each distinct value once, as a small number.

use rustc_hash::FxHashMap;
use std::hash::Hash;
use std::sync::{Arc, PoisonError, RwLock};

/// Distinct values of `T`, numbered from zero, each with something known about it.
///
/// Reading takes a shared lock; threads keep what they have read, so they come here only for what
/// is new to them.
pub(crate) struct Interner<T, I> {
    inside: RwLock<Inside<T, I>>,
}

struct Inside<T, I> {
    numbers: FxHashMap<Arc<T>, u32>,
    values: Vec<(Arc<T>, I)>,
}

impl<T: Eq + Hash, I: Clone> Interner<T, I> {
    pub fn new() -> Self {
        Interner {
            inside: RwLock::new(Inside { numbers: FxHashMap::default(), values: Vec::new() }),
        }
    }

    /// The number of a value. A new value gets the next one; `describe` says what is known of it.
    pub fn intern<E>(&self, value: &T, describe: impl FnOnce(u32) -> Result<I, E>) -> Result<u32, E>
    where
        T: Clone,
    {
        if let Some(&number) = self.read().numbers.get(value) {
            return Ok(number);
        }
        let mut inside = self.inside.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(&number) = inside.numbers.get(value) {
            return Ok(number);
        }
        let number = inside.values.len() as u32;
        let info = describe(number)?;
        let value = Arc::new(value.clone());
        inside.numbers.insert(Arc::clone(&value), number);
        inside.values.push((value, info));
        Ok(number)
    }

    /// The number of a value, if it has one.
    pub fn number(&self, value: &T) -> Option<u32> {
        self.read().numbers.get(value).copied()
    }

    /// The value with this number.
    pub fn value(&self, number: u32) -> Arc<T> {
        Arc::clone(&self.read().values[number as usize].0)
    }

    /// What is known of the value with this number.
    pub fn info(&self, number: u32) -> I {
        self.read().values[number as usize].1.clone()
    }

    /// How many distinct values there are.
    pub fn len(&self) -> usize {
        self.read().values.len()
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Inside<T, I>> {
        self.inside.read().unwrap_or_else(PoisonError::into_inner)
    }
}
