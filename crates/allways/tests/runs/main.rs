//! Saved runs against code that has changed, and against files that nobody wrote.

mod hostile;
mod replayed;
mod smaller;
