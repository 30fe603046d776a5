//! Programs performed step by step with concrete values: what everything symbolic is compared with.
//!
//! - [`interpret`] says what an expression and a step mean;
//! - [`enumerate`](mod@enumerate) looks at all states within some number of steps;
//! - [`slice`](mod@slice) says which steps of a run matter for some variables.
//!
//! Nothing here shares code with the encodings, and all of it is as plain as possible.

pub mod enumerate;
mod evaluate;
pub mod interpret;
pub mod slice;
mod state;

pub use enumerate::{End, Enumeration, Found, each_run, enumerate, runs};
pub use interpret::{Interpreter, Run, Step, Stuck};
pub use slice::{Accesses, Cell};
pub use state::{Layout, State, TooMany};
