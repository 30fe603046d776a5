//! [`Encoded`]: a message that can be neither compared nor hashed, told apart by its bytes.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// A value with its encoding: equal, ordered and hashed as its bytes are. For messages of crates whose types are not `Eq` and `Hash`, but can be written
/// to the wire, as nearly all can. They need no more than `Debug`, `Send` and `Sync`.
///
/// Clones share the value and the bytes.
///
/// ```
/// use allways::Encoded;
/// /// Floats are neither `Eq` nor `Hash`.
/// #[derive(Debug)]
/// struct Reading(f64);
///
/// let encoded = |reading: Reading| {
///     let bytes = reading.0.to_be_bytes();
///     Encoded::new(reading, bytes)
/// };
/// assert_eq!(encoded(Reading(0.5)), encoded(Reading(0.5)));
/// assert_ne!(encoded(Reading(0.5)), encoded(Reading(2.0)));
/// assert_eq!(encoded(Reading(0.5)).0, 0.5); // it is there as it was
/// ```
pub struct Encoded<T>(Arc<(T, Box<[u8]>)>);

impl<T> Encoded<T> {
    /// A value, and its encoding: different bytes for what handlers can tell apart.
    ///
    /// ```
    /// let name = allways::Encoded::new("eve".to_owned(), *b"eve");
    /// assert_eq!(name.bytes(), b"eve");
    /// ```
    pub fn new(value: T, bytes: impl Into<Box<[u8]>>) -> Self {
        Encoded(Arc::new((value, bytes.into())))
    }

    /// Its encoding.
    ///
    /// ```
    /// assert_eq!(allways::Encoded::new(7u32, [7]).bytes(), [7]);
    /// ```
    pub fn bytes(&self) -> &[u8] {
        &self.0.1
    }
}

impl<T: fmt::Debug> Encoded<T> {
    /// For what can be shown but not encoded: its bytes are its `Debug` text. Right if this text tells all that handlers
    /// can tell apart.
    ///
    /// ```
    /// use allways::Encoded;
    /// assert_eq!(Encoded::by_debug(0.5), Encoded::by_debug(0.5));
    /// ```
    pub fn by_debug(value: T) -> Self {
        let bytes = format!("{value:?}").into_bytes();
        Encoded::new(value, bytes)
    }
}

impl<T> Deref for Encoded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.0
    }
}

// By hand: derives would ask it of `T`.
impl<T> Clone for Encoded<T> {
    fn clone(&self) -> Self {
        Encoded(Arc::clone(&self.0))
    }
}

impl<T> PartialEq for Encoded<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.bytes() == other.bytes()
    }
}

impl<T> Eq for Encoded<T> {}

impl<T> PartialOrd for Encoded<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Encoded<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.bytes().cmp(other.bytes())
    }
}

impl<T> Hash for Encoded<T> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.bytes().hash(hasher);
    }
}

impl<T: fmt::Debug> fmt::Debug for Encoded<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeSet, HashSet};

    #[test]
    fn bytes_tell_apart_and_nothing_else_does() {
        let all = [(1.0, "a"), (2.0, "a"), (1.0, "b")]
            .map(|(value, bytes)| Encoded::new(value, bytes.as_bytes()));
        assert_eq!(all[0], all[1]);
        assert_ne!(all[0], all[2]);
        assert_eq!(all.iter().cloned().collect::<HashSet<Encoded<f64>>>().len(), 2);
        assert_eq!(all.iter().cloned().collect::<BTreeSet<Encoded<f64>>>().len(), 2);
        assert_eq!(format!("{:?}", all[1]), "2.0");
    }
}
