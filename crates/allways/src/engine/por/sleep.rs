//! Sleep sets on top of stubborn sets, and what must be stored of a state so that both go together.
//!
//! In a state, the events of its set are followed in some order. An event that was followed and commutes
//! with a later one goes to sleep behind that one: what it leads to there is met behind the event itself.
//! So each state is met with a set of events that sleep in it, and those are not followed.
//!
//! **Why nothing is lost.** Call two runs from one state alike if they are equally long and end in the same
//! state. What is claimed of a state `s` met with sleep set `Z`: every run from `s` to a state that is to be
//! met and that is alike to no run that begins with an event of `Z` is found. By induction on its length: it
//! is alike to a run that begins with an event of `T` (see [`super`]); take the first such event `t` in
//! the order of following; it does not sleep. Let `x` be the rest of the run, behind `t`. If `x` is alike to a run that begins
//! with some `z` that sleeps behind `t`, then since `t·z` and `z·t` lead to the same state, the whole run is
//! alike to one that begins with `z`: but `z` sleeps in `s` or comes before `t`, and neither is so. Hence `x` is found.
//!
//! This needs that a run to be met is not longer behind `t` than before it. Where a set is enough only because
//! an invisible event may come first (case A of [`super`]) that is not so: there everything of the set is followed,
//! and nothing sleeps behind it.
//!
//! **States met again.** A state is stored with the set `Z` that it was met with; states whose set
//! is empty need nothing. Met again with `Z'`, it has to answer for runs that begin with events of
//! `Z` that are not in `Z'`: these wake up. What is stored becomes the intersection; if the state has been expanded already, it is
//! expanded once more, and only what woke up is followed. If it waits to be expanded, that is all. Sets only shrink, so that ends.

use crate::space::EventId;
use rustc_hash::FxHashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

const PARTS: usize = 64;

/// The sleep sets of all states that have one.
pub(crate) struct Sleeping {
    parts: Vec<Mutex<Part>>,
}

/// A part of them, held while a state of it is inserted.
pub(crate) type Part = FxHashMap<u64, Sleep>;

/// What sleeps in a state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sleep {
    /// Sorted.
    asleep: Box<[EventId]>,
    /// What woke up since the state was expanded.
    woken: Vec<EventId>,
    expanded: bool,
}

/// What is to be followed in a state.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Follow {
    /// What is not.
    pub asleep: Box<[EventId]>,
    /// If the state was expanded before: only this.
    pub only: Option<Vec<EventId>>,
}

impl Sleeping {
    pub fn new() -> Self {
        Sleeping { parts: (0..PARTS).map(|_| Mutex::default()).collect() }
    }

    /// The part for a state with this fingerprint. Whoever inserts the state holds it, so that a state
    /// never is known without its set.
    pub fn part(&self, fingerprint: u64) -> MutexGuard<'_, Part> {
        let part = &self.parts[(fingerprint >> 7) as usize % PARTS];
        part.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is to be followed in a state that is expanded now.
    pub fn expand(&self, fingerprint: u64) -> Follow {
        let mut part = self.part(fingerprint);
        let Some(sleep) = part.get_mut(&fingerprint) else { return Follow::default() };
        let only = sleep.expanded.then(|| std::mem::take(&mut sleep.woken));
        sleep.expanded = true;
        Follow { asleep: sleep.asleep.clone(), only }
    }

    /// Roughly the bytes in use.
    pub fn bytes(&self) -> u64 {
        let states = |part: &Mutex<Part>| part.lock().unwrap_or_else(PoisonError::into_inner).len();
        self.parts.iter().map(states).sum::<usize>() as u64 * 128
    }
}

/// A state is met with this set, for the first time or again; true if it has to be expanded
/// once more.
pub(crate) fn meet(part: &mut Part, fingerprint: u64, asleep: &[EventId], is_new: bool) -> bool {
    if is_new {
        if !asleep.is_empty() {
            let asleep = asleep.into();
            part.insert(fingerprint, Sleep { asleep, woken: Vec::new(), expanded: false });
        }
        return false;
    }
    let Some(sleep) = part.get_mut(&fingerprint) else { return false };
    let (kept, woken): (Vec<EventId>, Vec<EventId>) =
        sleep.asleep.iter().partition(|event| asleep.binary_search(event).is_ok());
    if woken.is_empty() {
        return false;
    }
    sleep.asleep = kept.into();
    if !sleep.expanded {
        return false;
    }
    let waits = !sleep.woken.is_empty();
    sleep.woken.extend(woken);
    !waits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_way_does_not_let_sleep_wakes_up() {
        let sleeping = Sleeping::new();
        let meet = |asleep: &[EventId], is_new| meet(&mut sleeping.part(1), 1, asleep, is_new);
        assert!(!meet(&[1, 2, 3], true));
        // Not expanded yet: the set shrinks, and that is all.
        assert!(!meet(&[2, 3, 4], false));
        assert_eq!(sleeping.expand(1), Follow { asleep: [2, 3].into(), only: None });
        assert!(!meet(&[2, 3], false));
        // Expanded: what wakes up has to be followed, once.
        assert!(meet(&[3], false));
        assert!(!meet(&[], false));
        assert_eq!(sleeping.expand(1), Follow { asleep: [].into(), only: Some(vec![2, 3]) });
        assert!(!meet(&[], false));
    }

    #[test]
    fn a_state_in_which_nothing_sleeps_is_followed_in_full() {
        let sleeping = Sleeping::new();
        assert!(!meet(&mut sleeping.part(1), 1, &[], true));
        assert!(!meet(&mut sleeping.part(1), 1, &[7], false));
        assert_eq!(sleeping.expand(1), Follow::default());
    }
}
