//! What programs can do, found by an explorer that shares no code with the library.

mod ends;
mod states;

pub use states::explore;
