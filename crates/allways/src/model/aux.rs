//! [`Aux`]: state that is carried but does not distinguish states.
//!
//! This is the decomposition of the thesis's section 3.3, by type: a state is a relevant part and
//! an auxiliary part, and only the relevant part decides whether two states are the same
//! (selective hashing, algorithm 3 line 26). It is sound when no handler's relevant result and no
//! view depends on the auxiliary part (definition 1); [`Options::verify_aux`](crate::Options) tries
//! to refute that.

use std::cell::Cell;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};

/// A field that handlers may write but that never tells two states apart: a log kept for
/// debugging, a message history, a counter for metrics.
///
/// It is sound only if it does not matter: what a handler sends, outputs and makes of the other
/// fields, and what a view reads, must not depend on it. Otherwise a check may miss what it should
/// find. [`Options::verify_aux`](crate::Options) tries to refute that.
///
/// ```
/// use allways::Aux;
/// let a = Aux::new(vec![1]);
/// let b = Aux::new(vec![2, 3]);
/// assert_eq!(a, b);
///
/// // The same field, made to count: the naive search.
/// assert_ne!(Aux::counted(vec![1]), Aux::counted(vec![2, 3]));
/// ```
#[derive(Clone, Default)]
pub struct Aux<T> {
    value: T,
    counted: bool,
}

impl<T> Aux<T> {
    /// Carries `value` without letting it distinguish states.
    ///
    /// ```
    /// let log = allways::Aux::new(vec!["started"]);
    /// assert_eq!(log.len(), 1); // reads like what it carries
    /// ```
    pub fn new(value: T) -> Self {
        Aux { value, counted: false }
    }

    /// Carries `value` and lets it distinguish states as any other field would: to measure what
    /// the decomposition saves.
    ///
    /// ```
    /// use allways::Aux;
    /// assert_eq!(Aux::new(1), Aux::new(2));
    /// assert_ne!(Aux::counted(1), Aux::counted(2));
    /// ```
    pub fn counted(value: T) -> Self {
        Aux { value, counted: true }
    }

    /// The value itself.
    ///
    /// ```
    /// assert_eq!(allways::Aux::new(7).into_inner(), 7);
    /// ```
    pub fn into_inner(self) -> T {
        self.value
    }
}

thread_local! {
    /// Set while auxiliary values are to be compared too.
    static REVEALED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f` with every [`Aux`] compared and hashed by its value.
pub(crate) fn revealed<R>(f: impl FnOnce() -> R) -> R {
    struct Hide(bool);
    impl Drop for Hide {
        fn drop(&mut self) {
            REVEALED.set(self.0);
        }
    }
    let _hide = Hide(REVEALED.replace(true));
    f()
}

impl<T: PartialEq> PartialEq for Aux<T> {
    fn eq(&self, other: &Self) -> bool {
        let counts = self.counted || other.counted || REVEALED.get();
        !counts || self.value == other.value
    }
}

impl<T: Eq> Eq for Aux<T> {}

impl<T: Hash> Hash for Aux<T> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        if self.counted || REVEALED.get() {
            self.value.hash(hasher);
        }
    }
}

impl<T> Deref for Aux<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Aux<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Aux<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Aux").field(&self.value).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revealed_compares_values_and_ends_with_the_closure() {
        let (a, b) = (Aux::new(1), Aux::new(2));
        assert!(revealed(|| a != b));
        assert!(a == b);
    }
}
