//! Live values of nodes that are [`Rebuilt`](super::rebuilt::Rebuilt): so that a state need not be rebuilt from the beginning.
//!
//! A value never leaves the thread that made it, so each thread keeps its own, by the histories that led to them. Whoever needs a state asks for the value that is
//! nearest to it: the one from which the fewest events are to be handled again. The history itself is the index: from its end, entry by entry, a look into a table by
//! the entry's hash. If a value [can be copied](super::rebuilt::Rebuild::checkpoint), a copy is given away; if not, the value itself is, and it is gone.
//!
//! When there are too many, half of them go: first those that nobody ever asked for, and of these those that were not used for longest. Where
//! nodes have fingerprints, most values are of histories that led to a state that was known, and nobody will.

use super::history::History;
use super::rebuilt::Rebuild;
use rustc_hash::FxHashMap;
use std::any::Any;
use std::cell::{Cell, RefCell};

/// A value, what led to it, and the timers that are pending.
pub(super) struct Kept<R: Rebuild> {
    pub history: History<R>,
    pub value: R,
    pub timers: Vec<R::Timer>,
}

impl<R: Rebuild> Kept<R> {
    /// The same once more, if that is possible.
    pub fn copy(&self) -> Option<Self> {
        let value = self.value.checkpoint()?;
        Some(Kept { history: self.history.clone(), value, timers: self.timers.clone() })
    }
}

/// A value of some type.
struct Slot {
    /// Whether somebody has asked for it.
    is_wanted: bool,
    /// When it was used last.
    used: u64,
    /// A `Kept<R>`.
    kept: Box<dyn Any>,
}

/// Who knows how a value is made, and a hash of what it has handled. Several have the same only if hashes collide; then one of them is kept.
type Key = (u64, u64);

#[derive(Default)]
struct Values {
    slots: FxHashMap<Key, Slot>,
    now: u64,
}

thread_local! {
    static VALUES: RefCell<Values> = RefCell::default();
    /// Handlers that were executed again, since somebody last asked.
    static REPLAYED: Cell<u64> = const { Cell::new(0) };
}

/// What this thread keeps, to do something with it. A thread that is ending keeps nothing.
fn with_values<T>(f: impl FnOnce(&mut Values) -> T) -> Option<T> {
    VALUES.try_with(|values| f(&mut values.borrow_mut())).ok()
}

/// Keeps a value for those who go on from it: one of at most so many. Whether somebody has asked for it, as far as the caller knows.
pub(super) fn keep<R: Rebuild>(how: u64, kept: Kept<R>, most: usize, is_wanted: bool) {
    let key = (how, kept.history.key());
    let kept = Box::new(kept);
    let gone = with_values(|values| {
        values.now += 1;
        let used = values.now;
        let is_wanted = is_wanted || values.slots.get(&key).is_some_and(|slot| slot.is_wanted);
        let slot = Slot { is_wanted, used, kept };
        let mut gone: Vec<Slot> = values.slots.insert(key, slot).into_iter().collect();
        if values.slots.len() > most.max(1) {
            let worth = |slot: &Slot| (slot.is_wanted, slot.used);
            let mut all: Vec<(bool, u64)> = values.slots.values().map(worth).collect();
            let half = all.len() / 2;
            let (_, &mut least, _) = all.select_nth_unstable(half);
            let goes = values.slots.extract_if(|_, slot| worth(slot) < least);
            gone.extend(goes.map(|(_, slot)| slot));
        }
        gone
    });
    // Outside, since what a value does when it is dropped is up to it.
    drop(gone);
}

/// The kept value from which the fewest events lead to this history: a copy of it, or the value itself.
pub(super) fn nearest<R: Rebuild>(how: u64, history: &History<R>) -> Option<Kept<R>> {
    let (key, mut slot) = with_values(|values| {
        history.backwards().find_map(|at| {
            let key = (how, at.key());
            let kept = values.slots.get(&key)?.kept.downcast_ref::<Kept<R>>()?;
            if kept.history != *at {
                return None;
            }
            values.slots.remove(&key).map(|slot| (key, slot))
        })
    })??;
    // It is copied while nobody holds the table: that is user code.
    let copy = slot.kept.downcast_ref::<Kept<R>>()?.copy();
    if copy.is_none() {
        return slot.kept.downcast().ok().map(|kept| *kept);
    }
    let replaced = with_values(|values| {
        values.now += 1;
        (slot.used, slot.is_wanted) = (values.now, true);
        values.slots.insert(key, slot)
    });
    drop(replaced);
    copy
}

/// The kept value that this very history led to, to be looked at and [kept](keep) again; and whether somebody has asked for it.
pub(super) fn exactly<R: Rebuild>(how: u64, history: &History<R>) -> Option<(Kept<R>, bool)> {
    let key = (how, history.key());
    let slot = with_values(|values| {
        let kept = values.slots.get(&key)?.kept.downcast_ref::<Kept<R>>()?;
        if kept.history != *history {
            return None;
        }
        values.slots.remove(&key)
    })??;
    let is_wanted = slot.is_wanted;
    slot.kept.downcast().ok().map(|kept| (*kept, is_wanted))
}

/// Forgets all values that were made like this.
pub(super) fn forget(how: u64) {
    let gone: Option<Vec<Slot>> = with_values(|values| {
        values.slots.extract_if(|key, _| key.0 == how).map(|(_, slot)| slot).collect()
    });
    // Outside, since what a value does when it is dropped is up to it.
    drop(gone);
}

/// A handler was executed again.
pub(super) fn count_replayed() {
    REPLAYED.set(REPLAYED.get() + 1);
}

/// How many handlers this thread has executed again to rebuild states, since it last asked.
pub(crate) fn take_replayed() -> u64 {
    REPLAYED.take()
}
