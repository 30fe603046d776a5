//! Which variables and elements of arrays each process can touch at all, and what of that a goal can depend on.
//!
//! Whether a step is needed for a goal is told, in a run, by what comes after it ([`crate::encode`], `project.rs`). Much
//! of that can be told before: a process that never touches an element that matters is in no projection. What a
//! program says is of no help here, as any index may be any element; so each process is followed on its own, with values
//! where they are known.
//!
//! | file | what |
//! |---|---|
//! | `cells.rs` | variables and elements of arrays, one by one |
//! | `access.rs` | what instructions read, as it is written |
//! | `known.rs` | expressions over values of which some are not known |
//! | `walk.rs` | each process on its own: what it touches where |
//! | `slice.rs` | which instructions a goal can depend on |

mod access;
mod cells;
mod known;
mod slice;
#[cfg(test)]
mod tests;
mod walk;

pub(crate) use access::{Access, Accesses, accesses, reads};
pub(crate) use cells::Cells;
pub(crate) use slice::{Part, Seed, Slice, parts, slice};
pub(crate) use walk::Footprints;
