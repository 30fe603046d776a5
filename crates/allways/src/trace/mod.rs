//! Partial orders of events: happens-before, canonical forms, consistent cuts, projections, skeletons of components.
//!
//! A run is one order in which events were performed; its trace is what all runs have in common that
//! differ only in the order of independent events. This module knows nothing of nodes, handlers and
//! networks: an event is a step of a numbered process that reads and writes numbered objects, and
//! engines say what these stand for.

pub(crate) mod assemble;
pub(crate) mod canonical;
pub(crate) mod clock;
pub(crate) mod cuts;
pub(crate) mod order;
pub(crate) mod project;
pub(crate) mod skeleton;

#[cfg(test)]
mod naive;
#[cfg(test)]
mod skeleton_tests;
