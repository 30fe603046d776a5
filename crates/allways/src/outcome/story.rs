//! A run told in full: what every step did, where every envelope came from and went, and what
//! led to the end.
//!
//! A [`Run`](super::Run) is as short as can be: enough to carry it out again. A [`Story`] is what
//! one gets from carrying it out and writing everything down in words, so that those who show a
//! run (as text, HTML, Mermaid, …) need neither the system nor its types.

use super::{Cause, RunEvent};
use crate::model::property::PropertyKind;

/// A run told in full: see [`System::story`](crate::System::story).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Story {
    /// What each node is called: `node 0` and so on.
    pub nodes: Vec<String>,
    /// What each observer is called.
    pub observers: Vec<String>,
    /// How each node starts.
    pub starts: Vec<StoryStart>,
    /// The state of each observer before the first event.
    pub observer_starts: Vec<String>,
    /// What happens, in order.
    pub steps: Vec<StoryStep>,
    /// Everything that was ever in flight, in the order in which it was sent: first the driver's
    /// calls, then what nodes send while they start.
    pub envelopes: Vec<StoryEnvelope>,
    /// What the end of the run shows; `None` for a run that is told for its own sake.
    pub ending: Option<StoryEnding>,
}

/// How a node starts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct StoryStart {
    /// Its state after it has started, as its `Debug` shows it.
    pub state: String,
    /// The timers pending then.
    pub timers: Vec<String>,
    /// What it chose while it started.
    pub choices: Vec<u32>,
    /// What it sent while it started: places in [`Story::envelopes`].
    pub sent: Vec<usize>,
    /// What it told the world while it started.
    pub outputs: Vec<String>,
}

/// One step of a story.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct StoryStep {
    /// What happens.
    pub event: RunEvent,
    /// What was handled or lost, if it was in flight: a place in [`Story::envelopes`].
    pub envelope: Option<usize>,
    /// What was sent (and what the driver's script released): places in [`Story::envelopes`].
    pub sent: Vec<usize>,
    /// What was lost with this event (by a drop, a partition, a node that is down): places in
    /// [`Story::envelopes`].
    pub lost: Vec<usize>,
    /// What the node told the world.
    pub outputs: Vec<String>,
    /// Timers that are pending now and were not before.
    pub timers_set: Vec<String>,
    /// Timers that were pending before, did not fire now, and no longer are.
    pub timers_cancelled: Vec<String>,
    /// The state of the node before the step, as its `Debug` shows it; empty without a node.
    pub before: String,
    /// The state of the node after the step; empty without a node or if the handler panicked.
    pub after: String,
    /// The fields of the node's state that changed.
    pub changes: Vec<Change>,
    /// The observers that moved.
    pub observed: Vec<Observed>,
    /// What the property of the ending reads of this node (or of its observer) before and after
    /// the step, if that changed.
    pub view: Option<(String, String)>,
    /// The steps that this one directly follows from: the node's last step, and the step that sent
    /// what is handled.
    pub causes: Vec<usize>,
    /// Whether the end follows from this step: it is in the causal past of what breaks the
    /// property. Every step is, where there is no ending.
    pub matters: bool,
    /// What the handler panicked with, if it did.
    pub panic: Option<String>,
}

/// Something that was in flight.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct StoryEnvelope {
    /// Who sent it; `None` for a call of the driver.
    pub from: Option<usize>,
    /// Whom it is for.
    pub to: usize,
    /// The message or call, as its `Debug` shows it.
    pub what: String,
    /// The step that sent it; `None` if it was in flight from the start.
    pub sent_at: Option<usize>,
    /// The steps that handled it: several on a duplicating network.
    pub handled_at: Vec<usize>,
    /// The step at which the network lost it, if it did.
    pub lost_at: Option<usize>,
}

/// A field of a node's state that changed.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Change {
    /// Which field: `chosen`, `log[2].term`; empty if the state as a whole is another.
    pub path: String,
    /// What it was; empty if it was not there.
    pub before: String,
    /// What it is; empty if it is no longer there.
    pub after: String,
    /// Whether the field is auxiliary ([`Aux`](crate::Aux)): best left out where room is short.
    pub auxiliary: bool,
}

/// An observer that moved.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Observed {
    /// Its place in [`Story::observers`].
    pub observer: usize,
    /// Its state before the step.
    pub before: String,
    /// Its state after the step.
    pub after: String,
}

/// What the end of a run shows.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct StoryEnding {
    /// The property's name, or the panic's message.
    pub property: String,
    /// What kind of property it is; `None` for a panic.
    pub kind: Option<PropertyKind>,
    /// Why the end is a violation; `None` for a witness, where the property holds.
    pub cause: Option<Cause>,
    /// What the property reads at the end: a view of each node, or one observer's state.
    pub reads: Vec<String>,
    /// What [`StoryEnding::reads`] was at the start.
    pub reads_at_start: Vec<String>,
    /// The observer that the property reads, if it reads one: a place in [`Story::observers`].
    pub observer: Option<usize>,
    /// The nodes whose views break the property: a smallest set without which (had they not
    /// moved since the start) it would hold. Of a panic, the node that panicked.
    pub culprits: Vec<usize>,
}
