//! Allways checks distributed systems as they are implemented: it runs a system every way it can
//! run, every order of messages, every crash, and says whether what must hold does.
//!
//! Implement [`Node`] for your process, put nodes into a [`System`], say what must hold, and call
//! [`System::check`]. See [`Node`] for a whole example.

mod engine;
mod error;
mod json;
mod model;
mod outcome;
mod space;
#[cfg_attr(not(test), expect(dead_code))]
mod trace;

// Random systems to compare engines on; the tests that need no more than the public parts have them, too.
#[cfg(test)]
extern crate self as allways;
#[cfg(test)]
#[path = "../tests/generated/node.rs"]
mod node;
#[cfg(test)]
#[path = "../tests/generated/plan.rs"]
mod plan;

/// Derives the trait of the same name (feature `derive`): the kinds of an enum are its variants.
///
/// ```
/// use allways::Kinds;
///
/// #[derive(Kinds)]
/// enum Msg { Prepare { ballot: u32 }, Stop }
///
/// assert_eq!(Msg::KINDS, ["Prepare", "Stop"]);
/// # let _ = (Msg::Prepare { ballot: 1 }, Msg::Stop);
/// ```
#[cfg(feature = "derive")]
pub use allways_derive::Kinds;
/// Derives the trait of the same name (feature `derive`).
///
/// Every field is renamed, but for those with `#[rename(skip)]`, which are cloned.
///
/// ```
/// use allways::{Id, Rename, Renaming};
///
/// #[derive(Rename, PartialEq, Debug)]
/// struct Vote { round: u32, leader: Id }
///
/// let vote = Vote { round: 7, leader: Id::new(0) };
/// let renamed = vote.rename(&Renaming::swap(2, 0, 1));
/// assert_eq!(renamed, Vote { round: 7, leader: Id::new(1) });
/// ```
#[cfg(feature = "derive")]
pub use allways_derive::Rename;
pub use engine::Checkable;
pub use engine::components::{Component, Components};
pub use engine::options::{
    Combine, Engine, Options, Por, Reduction, Schedule, Search, parse_bytes, parse_por,
    parse_seconds,
};
pub use engine::progress::Progress;
pub use error::Error;
pub use model::aux::Aux;
pub use model::encoded::Encoded;
pub use model::event::{Event, Local, ScriptPosition};
pub use model::faults::Faults;
pub use model::handle::{Handled, Input, handle};
pub use model::kinds::Kinds;
pub use model::network::Network;
pub use model::node::{Cx, Id, Never, Node, Value};
pub use model::observer::{Observer, Seen};
pub use model::property::{AllEqual, Conjunct, PropertyKind, View, conjunct, view};
pub use model::rebuilt::{Rebuild, Rebuilt};
pub use model::rename::{ByNode, Rename, Renaming};
pub use model::snapshot::Snapshot;
pub use model::system::{MAX_NODES, System};
pub use outcome::coverage::{
    ArmCoverage, ChoiceCoverage, Coverage, Handler, HandlerCoverage, KindCoverage,
};
pub use outcome::goal::{Goal, GoalConjunct, Nearest};
pub use outcome::minimise::{MinimiseOptions, Minimised, RunSize};
pub use outcome::render::text::TextOptions;
pub use outcome::render::{About, Format};
pub use outcome::replayed::Replayed;
pub use outcome::saved::SavedRun;
pub use outcome::story::{
    Change, Observed, Story, StoryEnding, StoryEnvelope, StoryStart, StoryStep,
};
pub use outcome::{
    Bound, Cause, Outcome, Run, RunEvent, RunEventKind, Statistics, Trouble, Verdict, Violation,
    Witness, grouped,
};

/// What a stateless engine explores, for those who bring something of their own under it: `allways-threads` is one.
///
/// A [`Machine`](machine::Machine) stands somewhere along one run, can go back along it, says what may happen next and makes it happen.
/// The promise on which everything rests is written there.
///
/// ```
/// use allways::machine::Footprints;
/// let mut footprints = Footprints::default();
/// let (read, write) = (footprints.intern(&[], &[7]), footprints.intern(&[7], &[]));
/// assert!(footprints.conflict(read, write) && !footprints.conflict(read, read));
/// ```
pub mod machine {
    pub use crate::engine::machine::footprint::{Footprint, Footprints};
    pub use crate::engine::machine::{
        Blockers, Elsewhere, First, Machine, Machines, Object, Performed, Process, Reach, Reading,
        Shown, Told, Touched, Transition,
    };
    pub use crate::engine::schedule::{
        check, check_by_the_environment, minimise, replay, story, violation_story,
    };
    pub use crate::model::step::guarded as quietly;
    pub use crate::space::Costs;
}

/// Linearizability of registers, queues and maps, as an observer.
///
/// ```
/// use allways::linear::{History, Register};
/// assert!(History::new(Register(0)).is_linearizable());
/// ```
pub mod linear {
    pub use crate::model::linear::{
        History, Linear, Map, MapOp, Operation, Queue, QueueOp, Register, RegisterOp, RegisterRet,
        Sequential,
    };
}

/// Everything that a check usually needs.
///
/// ```
/// use allways::prelude::*;
/// ```
pub mod prelude {
    pub use crate::{
        AllEqual, Aux, Combine, Cx, Engine, Faults, Id, Network, Never, Node, Observer, Options,
        Outcome, Por, Reduction, Search, Seen, System, Verdict, conjunct, view,
    };
}

#[doc(hidden)]
pub mod sample;

/// The examples of the README and of the guide, as tests.
#[cfg(doctest)]
mod documents {
    macro_rules! documents {
        ($($name:ident $path:literal),*) => {
            $(
                #[doc = include_str!($path)]
                pub struct $name;
            )*
        };
    }
    documents!(
        Readme "../../../README.md",
        FirstCheck "../../../docs/src/first-check.md",
        Faults "../../../docs/src/faults.md",
        Wrapping "../../../docs/src/wrapping.md",
        Counterexamples "../../../docs/src/counterexamples.md",
        Engines "../../../docs/src/engines.md",
        Complete "../../../docs/src/complete.md",
        Performance "../../../docs/src/performance.md",
        Ci "../../../docs/src/ci.md"
    );
}
