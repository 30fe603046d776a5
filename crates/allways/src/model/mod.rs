//! What is being checked: nodes, events, network, faults, driver, properties, observers.
//!
//! Knows nothing of how it is explored.

pub(crate) mod aux;
pub(crate) mod encoded;
pub(crate) mod erased;
pub(crate) mod event;
pub(crate) mod faults;
pub(crate) mod handle;
pub(crate) mod history;
pub(crate) mod kept;
pub(crate) mod kinds;
pub(crate) mod linear;
pub(crate) mod network;
pub(crate) mod node;
pub(crate) mod observer;
pub(crate) mod property;
pub(crate) mod rebuilt;
pub(crate) mod rename;
pub(crate) mod run_event;
pub(crate) mod snapshot;
pub(crate) mod step;
pub(crate) mod system;
pub(crate) mod tally;
pub(crate) mod world;
