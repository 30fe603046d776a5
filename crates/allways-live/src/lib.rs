//! The nodes that Allways checks, in production.
//!
//! A [`Node`] that was checked runs here unchanged: over UDP or TCP, with timers on the
//! real clock, with what it persists on disk. While it runs, consistent snapshots of all nodes are
//! taken without stopping any, and checked: what can happen from here? See [`Live`] for a node,
//! [`Controls`] for snapshots, [`Deployment`] for nodes that are processes, and [`online`] for the
//! checking.

mod coin;
mod collect;
mod colour;
mod control;
mod deployable;
mod deployment;
mod disk;
mod error;
mod instances;
mod online;
mod process;
mod runtime;
mod statistics;
mod task;
mod timers;
mod transport;
mod wire;

use allways::Node;
pub use collect::{Controls, Recorded};
pub use deployable::{Case, Circumstances, Deployable, DriverCall, Place, Repeated};
pub use deployment::Deployment;
pub use error::Error;
pub use instances::Instances;
pub use online::{Finding, News, OnlineOptions, Round, Totals, online};
pub use process::serve;
pub use runtime::{Bound, Live, Running};
use serde::Serialize;
use serde::de::DeserializeOwned;
pub use statistics::Statistics;
pub use transport::Protocol;
pub use wire::Key;

#[doc(hidden)]
pub mod sample;

/// A node whose state, messages, timers and calls can be written and read: implemented for every
/// node that fits, never by hand.
///
/// ```
/// fn runs<N: allways_live::LiveNode>() {}
/// runs::<allways_live::sample::Account>();
/// ```
pub trait LiveNode:
    Node<
        Msg: Serialize + DeserializeOwned,
        Timer: Serialize + DeserializeOwned,
        Call: Serialize + DeserializeOwned,
    > + Serialize
    + DeserializeOwned
{
}

impl<N> LiveNode for N where
    N: Node<
            Msg: Serialize + DeserializeOwned,
            Timer: Serialize + DeserializeOwned,
            Call: Serialize + DeserializeOwned,
        > + Serialize
        + DeserializeOwned
{
}

/// The examples of the guide, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/src/live.md")]
struct Guide;
