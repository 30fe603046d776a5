//! What keeps a check from being carried out at all.

use std::fmt;

/// Why a system could not be checked. Each is one clear sentence; none is a verdict.
///
/// ```
/// use allways::prelude::*;
/// # #[derive(Clone, PartialEq, Eq, Hash, Debug)] struct N;
/// # impl Node for N { type Msg = (); type Timer = Never; type Call = Never; type Output = Never;
/// #   fn on_message(&mut self, _: Id, _: (), _: &mut Cx<'_, Self>) {} }
/// let nobody: [N; 0] = [];
/// let error = System::new(nobody).try_check(&Options::default()).unwrap_err();
/// assert_eq!(error.to_string(), "the system has no nodes; give System::new at least one");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The system makes no sense as described.
    System(String),
    /// The options make no sense, or not for this system.
    Options(String),
    /// A handler chose more often than a handler may.
    Choices {
        /// The node whose handler it was.
        node: usize,
        /// Its state.
        state: String,
        /// The event it handled.
        event: String,
        /// The limit that was reached.
        limit: String,
    },
    /// A handler did one thing once and another thing the next time.
    NonDeterministic {
        /// The node whose handler it was.
        node: usize,
        /// Its state.
        state: String,
        /// The event it handled.
        event: String,
        /// How the two executions differ.
        difference: String,
    },
    /// A view, a property or an observer panicked.
    Panicked {
        /// What panicked.
        what: String,
        /// What it said.
        message: String,
    },
    /// A field marked as auxiliary turned out to matter.
    UnsoundAux {
        /// The node.
        node: usize,
        /// Two states that differ in auxiliary fields only.
        states: Box<[String; 2]>,
        /// The step at which they part, or the view that tells them apart.
        step: String,
        /// What each leads to.
        results: Box<[String; 2]>,
    },
    /// Nodes that were declared interchangeable are not.
    NotInterchangeable {
        /// The node.
        node: usize,
        /// Its state.
        state: String,
        /// The event whose handling differs after renaming.
        event: String,
    },
    /// A saved run cannot be read, or is not a run of this system.
    Run(String),
    /// The log of a check cannot be read or written, or is of another check: see [`Options::resume`](crate::Options::resume).
    Log(String),
    /// A run could not be replayed: the checker contradicts itself.
    Internal(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::System(what) | Error::Options(what) | Error::Run(what) | Error::Log(what) => {
                f.write_str(what)
            }
            Error::Choices { node, state, event, limit } => write!(
                f,
                "the handler of node {node} never stops choosing: {limit} on {event} in state {state}"
            ),
            Error::NonDeterministic { node, state, event, difference } => write!(
                f,
                "the handler of node {node} is not deterministic: on {event} in state {state}, {difference}"
            ),
            Error::Panicked { what, message } => write!(f, "{what} panicked: {message}"),
            Error::UnsoundAux { node, states, step, results } => write!(
                f,
                "an auxiliary field of node {node} matters: on {step}, state {} leads to {}, but state {}, which differs in auxiliary fields only, leads to {}",
                states[0], results[0], states[1], results[1]
            ),
            Error::NotInterchangeable { node, state, event } => write!(
                f,
                "the nodes declared interchangeable are not: renaming them changes what node {node} does on {event} in state {state}"
            ),
            Error::Internal(what) => write!(f, "internal error, please report it: {what}"),
        }
    }
}

impl std::error::Error for Error {}
