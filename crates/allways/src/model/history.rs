//! What a node has handled so far: the identity of a node that is [`Rebuilt`].
//!
//! A history is a list that shares its beginning with the histories that it grew from, so that a
//! clone costs nothing and a step adds one entry. Each entry knows a hash of everything up to it:
//! histories that differ are told apart at once, and those that share their beginning are compared
//! only up to there.

use super::event::Event;
use super::node::Id;
use super::rebuilt::{Rebuild, Rebuilt};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// What was handled, from the first to the last.
pub(crate) struct History<R: Rebuild>(Option<Arc<Entry<R>>>);

/// One event that was handled, and all that is needed to handle it again.
pub(crate) struct Entry<R: Rebuild> {
    before: History<R>,
    pub handled: Handled<R>,
    /// The node that handled it, and how many nodes the system has.
    pub id: Id,
    pub nodes: usize,
    /// Each choice made: its result and how many there were to choose from.
    pub choices: Vec<(u32, u32)>,
    /// A hash of what the handler did.
    pub did: u64,
    length: usize,
    /// A hash of this entry and of all before it.
    key: u64,
}

/// What a handler was run for.
pub(crate) enum Handled<R: Rebuild> {
    Start,
    Event(Event<Rebuilt<R>>),
}

impl<R: Rebuild> History<R> {
    /// Nothing was handled yet.
    pub fn new() -> Self {
        History(None)
    }

    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |last| last.length)
    }

    /// A hash of all entries.
    pub fn key(&self) -> u64 {
        self.0.as_ref().map_or(0, |last| last.key)
    }

    /// This history, without its last entry, without its last two, and so on; with none, in the end.
    pub fn backwards(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |at| at.0.as_ref().map(|last| &last.before))
    }

    pub fn last(&self) -> Option<&Entry<R>> {
        self.0.as_deref()
    }

    /// This history, and after it one entry more.
    pub fn and(
        &self,
        handled: Handled<R>,
        (id, nodes): (Id, usize),
        choices: Vec<(u32, u32)>,
        did: u64,
    ) -> Self {
        // Keys come from content, so the hasher must have the same keys every time.
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        handled.hash(&mut hasher);
        (id, nodes, &choices, did).hash(&mut hasher);
        let (before, length, key) = (self.clone(), self.len() + 1, hasher.finish());
        History(Some(Arc::new(Entry { before, handled, id, nodes, choices, did, length, key })))
    }

    /// The entries after the first `length`, in order: each as the history that it ends.
    pub fn after(&self, length: usize) -> Vec<Self> {
        let mut entries = Vec::new();
        let mut at = self;
        while let Some(last) = &at.0
            && last.length > length
        {
            entries.push(at.clone());
            at = &last.before;
        }
        entries.reverse();
        entries
    }
}

impl<R: Rebuild> Entry<R> {
    /// What had been handled before.
    pub fn before(&self) -> &History<R> {
        &self.before
    }

    fn is_like(&self, other: &Self) -> bool {
        self.key == other.key
            && self.length == other.length
            && self.did == other.did
            && (self.id, self.nodes) == (other.id, other.nodes)
            && self.choices == other.choices
            && self.handled == other.handled
    }
}

impl<R: Rebuild> Drop for Entry<R> {
    /// One entry after the other: a long history dropped by recursion would overflow the stack.
    fn drop(&mut self) {
        let mut next = self.before.0.take();
        while let Some(entry) = next {
            next = Arc::into_inner(entry).and_then(|mut entry| entry.before.0.take());
        }
    }
}

// By hand: derives would ask that `R` itself be comparable, and recurse.
impl<R: Rebuild> Clone for History<R> {
    fn clone(&self) -> Self {
        History(self.0.clone())
    }
}

impl<R: Rebuild> PartialEq for History<R> {
    fn eq(&self, other: &Self) -> bool {
        let (mut ours, mut theirs) = (self, other);
        loop {
            match (&ours.0, &theirs.0) {
                (None, None) => return true,
                (Some(a), Some(b)) if Arc::ptr_eq(a, b) => return true,
                (Some(a), Some(b)) if a.is_like(b) => (ours, theirs) = (&a.before, &b.before),
                _ => return false,
            }
        }
    }
}

impl<R: Rebuild> Eq for History<R> {}

impl<R: Rebuild> Hash for History<R> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.0.as_ref().map(|last| last.key).hash(hasher);
    }
}

impl<R: Rebuild> fmt::Debug for History<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.after(0);
        let handled = entries.iter().filter_map(History::last).map(|entry| &entry.handled);
        f.debug_list().entries(handled.map(|handled| format!("{handled}"))).finish()
    }
}

impl<R: Rebuild> PartialEq for Handled<R> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Handled::Start, Handled::Start) => true,
            (Handled::Event(a), Handled::Event(b)) => a == b,
            _ => false,
        }
    }
}

impl<R: Rebuild> Hash for Handled<R> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        match self {
            Handled::Start => 0u8.hash(hasher),
            Handled::Event(event) => (1u8, event).hash(hasher),
        }
    }
}

impl<R: Rebuild> fmt::Display for Handled<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Handled::Start => f.write_str("start"),
            Handled::Event(event) => event.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    struct Deaf;
    impl Rebuild for Deaf {
        type Msg = u8;
        type Timer = Never;
        type Call = Never;
        type Output = Never;
        fn on_message(&mut self, _: Id, _: u8, _: &mut Cx<'_, Rebuilt<Self>>) {}
    }

    fn told(history: &History<Deaf>, msg: u8) -> History<Deaf> {
        let event = Event::Message { from: Id::new(1), msg };
        history.and(Handled::Event(event), (Id::new(0), 2), Vec::new(), 0)
    }

    #[test]
    fn histories_are_equal_if_their_entries_are() {
        let start = History::new().and(Handled::Start, (Id::new(0), 2), Vec::new(), 0);
        let (a, b) = (told(&told(&start, 1), 2), told(&told(&start, 1), 2));
        assert!(a == b);
        assert!(a != told(&told(&start, 2), 1));
        assert!(a != told(&a, 2) && a != told(&start, 1));
        let back: Vec<_> = a.backwards().cloned().collect();
        assert!(back == [a.clone(), told(&start, 1), start, History::new()]);
        assert_eq!(a.after(1).len(), 2);
        assert_eq!(format!("{a:?}"), r#"["start", "message 1 from 1", "message 2 from 1"]"#);
    }

    #[test]
    fn a_long_history_is_dropped_without_recursion() {
        let long = (0..200_000).fold(History::new(), |history, _| told(&history, 1));
        assert_eq!(long.len(), 200_000);
        drop(long);
    }
}
