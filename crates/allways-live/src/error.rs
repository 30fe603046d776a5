//! What can go wrong with a deployment, in one sentence.

use std::fmt;

/// Why something could not be started, reached, read or written: one clear sentence.
///
/// ```
/// let error = allways_live::Key::new(b"short").unwrap_err();
/// assert_eq!(error.to_string(), "a key has at least 16 bytes, but this one has 5");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error(String);

impl Error {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Error(what.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// An error with what was tried.
pub(crate) fn cannot<E: fmt::Display>(what: impl fmt::Display) -> impl FnOnce(E) -> Error {
    move |error| Error(format!("cannot {what}: {error}"))
}
