//! A run told in full: what every step did, where every envelope came from and went, and what
//! led to the end.
//!
//! A [`Run`](super::Run) is as short as can be: enough to carry it out again. A [`Story`] is what
//! one gets from carrying it out and writing everything down in words, so that those who show a
//! run (as text, HTML, Mermaid, …) need neither the system nor its types.

use super::{Cause, RunEvent, RunEventKind};
use crate::model::property::PropertyKind;
use std::fmt;

/// A run told in full: see [`System::story`](crate::System::story).
///
/// ```
/// use allways::prelude::*;
/// # use allways::sample::told::Cell;
/// // A node that is called tells the other, which keeps what it is told.
/// let system = System::new([Cell(0), Cell(0)])
///     .call(0, 7)
///     .always("stays zero", view(|c: &Cell| c.0), |cells| cells.iter().all(|c| *c == 0));
/// let story = system.check().story.unwrap();
/// assert_eq!(story.nodes, ["node 0", "node 1"]);
/// assert_eq!(story.steps.len(), 2);
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Story {
    /// What each node is called: `node 0` and so on. Threads are called what they are named.
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

impl Story {
    /// What was in flight at the end and had never been handled.
    pub(crate) fn never_handled(&self) -> impl Iterator<Item = &StoryEnvelope> {
        self.envelopes.iter().filter(|e| e.handled_at.is_empty() && e.lost_at.is_none())
    }

    /// Whether it tells of threads. These have no state that is shown.
    pub(crate) fn is_of_threads(&self) -> bool {
        self.steps.iter().all(|step| step.event.kind == RunEventKind::Thread)
            && self.starts.iter().all(|start| start.state.is_empty())
            && !self.nodes.is_empty()
    }

    /// What happens at a step; where that is in a thread's words, without who does it.
    pub(crate) fn what<'a>(&'a self, step: &'a StoryStep) -> &'a str {
        let what = &step.event.what;
        match step.event.kind {
            RunEventKind::Thread => self.without_name(step.event.node.unwrap_or_default(), what),
            _ => what,
        }
    }

    /// Who sent what is handled at a step.
    pub(crate) fn sender(&self, step: &StoryStep) -> Option<usize> {
        let is_thread = step.event.kind == RunEventKind::Thread;
        let envelope = step.envelope.filter(|_| is_thread).and_then(|e| self.envelopes.get(e));
        step.event.from.or(envelope.and_then(|envelope| envelope.from))
    }

    /// What is said of a thread, without its name.
    pub(crate) fn without_name<'a>(&self, thread: usize, text: &'a str) -> &'a str {
        let name = self.nodes.get(thread).map_or("", String::as_str);
        text.strip_prefix(name).and_then(|rest| rest.strip_prefix(' ')).unwrap_or(text)
    }
}

/// How a node starts.
///
/// ```
/// use allways::prelude::*;
/// # use allways::sample::told::Cell;
/// // A node that is called tells the other, which keeps what it is told.
/// let system = System::new([Cell(0), Cell(0)])
///     .call(0, 7)
///     .always("stays zero", view(|c: &Cell| c.0), |cells| cells.iter().all(|c| *c == 0));
/// let story = system.check().story.unwrap();
/// assert_eq!(story.starts[1].state, "Cell(0)");
/// ```
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
///
/// ```
/// use allways::prelude::*;
/// # use allways::sample::told::Cell;
/// // A node that is called tells the other, which keeps what it is told.
/// let system = System::new([Cell(0), Cell(0)])
///     .call(0, 7)
///     .always("stays zero", view(|c: &Cell| c.0), |cells| cells.iter().all(|c| *c == 0));
/// let story = system.check().story.unwrap();
/// assert_eq!(story.steps[1].event.to_string(), "node 1 receives 7 from node 0");
/// assert_eq!(story.steps[1].outputs, ["7"]);
/// assert_eq!(story.steps[1].causes, [0]);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct StoryStep {
    /// What happens.
    pub event: RunEvent,
    /// What was handled, dropped or lost at the door of a node that is down: a place in
    /// [`Story::envelopes`].
    pub envelope: Option<usize>,
    /// What was sent (and what the driver's script released): places in [`Story::envelopes`]. On a
    /// duplicating network, what is sent again is the envelope that is in flight already.
    pub sent: Vec<usize>,
    /// What was lost with this event (by a drop, a partition, a node that is down): places in
    /// [`Story::envelopes`].
    pub lost: Vec<usize>,
    /// What the node told the world.
    pub outputs: Vec<String>,
    /// Timers that are pending now and were not before; a timer that fires is not.
    pub timers_set: Vec<String>,
    /// Timers that were pending before, did not fire now, and no longer are: cancelled, or lost in
    /// a crash.
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
    /// The steps that this one directly follows from, in order: the node's last step; the step that
    /// sent what is handled; what the network lost before it in an ordered channel; the end of the
    /// partition across which it was sent.
    pub causes: Vec<usize>,
    /// Whether the end follows from this step: it is in the causal past of what breaks the
    /// property. Every step is, where there is no ending.
    pub matters: bool,
    /// What the handler panicked with, if it did.
    pub panic: Option<String>,
}

impl StoryStep {
    /// A step of which no more is known than that it happens.
    ///
    /// ```
    /// use allways::{RunEvent, RunEventKind, StoryStep};
    /// let (kind, what) = (RunEventKind::Thread, "main locks the mutex".to_owned());
    /// let event = RunEvent { kind, node: Some(0), from: None, what, choices: vec![] };
    /// assert_eq!(StoryStep::new(event).event.to_string(), "main locks the mutex");
    /// ```
    pub fn new(event: RunEvent) -> Self {
        StoryStep {
            event,
            envelope: None,
            sent: Vec::new(),
            lost: Vec::new(),
            outputs: Vec::new(),
            timers_set: Vec::new(),
            timers_cancelled: Vec::new(),
            before: String::new(),
            after: String::new(),
            changes: Vec::new(),
            observed: Vec::new(),
            view: None,
            causes: Vec::new(),
            matters: true,
            panic: None,
        }
    }
}

/// Something that was in flight.
///
/// ```
/// use allways::prelude::*;
/// # use allways::sample::told::Cell;
/// // A node that is called tells the other, which keeps what it is told.
/// let system = System::new([Cell(0), Cell(0)])
///     .call(0, 7)
///     .always("stays zero", view(|c: &Cell| c.0), |cells| cells.iter().all(|c| *c == 0));
/// let story = system.check().story.unwrap();
/// let handled = &story.envelopes[story.steps[1].envelope.unwrap()];
/// assert_eq!((handled.from, handled.to, handled.what.as_str()), (Some(0), 1, "7"));
/// assert_eq!((handled.sent_at, handled.handled_at.as_slice()), (Some(0), [1].as_slice()));
/// ```
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
    /// The steps that handled it: several if copies of it stayed in flight.
    pub handled_at: Vec<usize>,
    /// The step at which the network lost it, if it did.
    pub lost_at: Option<usize>,
}

impl StoryEnvelope {
    /// Something that was in flight from the start, and still is.
    ///
    /// ```
    /// let envelope = allways::StoryEnvelope::new(Some(0), 1, "Ping".to_owned());
    /// assert_eq!((envelope.to, envelope.sent_at), (1, None));
    /// ```
    pub fn new(from: Option<usize>, to: usize, what: String) -> Self {
        StoryEnvelope { from, to, what, sent_at: None, handled_at: Vec::new(), lost_at: None }
    }
}

/// A field of a node's state that changed.
///
/// ```
/// use allways::prelude::*;
/// # use allways::sample::told::Cell;
/// // A node that is called tells the other, which keeps what it is told.
/// let system = System::new([Cell(0), Cell(0)])
///     .call(0, 7)
///     .always("stays zero", view(|c: &Cell| c.0), |cells| cells.iter().all(|c| *c == 0));
/// let story = system.check().story.unwrap();
/// assert_eq!(story.steps[1].changes[0].to_string(), "Cell(0) → Cell(7)");
/// ```
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

impl Change {
    /// A field that was one thing and is another.
    ///
    /// ```
    /// let change = allways::Change::new("chosen".to_owned(), "1".to_owned(), "2".to_owned());
    /// assert_eq!(change.to_string(), "chosen: 1 → 2");
    /// ```
    pub fn new(path: String, before: String, after: String) -> Self {
        Change { path, before, after, auxiliary: false }
    }
}

impl fmt::Display for Change {
    /// `chosen: None → Some(20)`, `+ acks{3}`, `+ log[2]: Entry(7)`, `- log[2]: Entry(7)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Change { path, before, after, .. } = self;
        let (sign, value) = match (before.as_str(), after.as_str()) {
            ("", value) => ('+', value),
            (value, "") => ('-', value),
            _ if path.is_empty() => return write!(f, "{before} → {after}"),
            _ => return write!(f, "{path}: {before} → {after}"),
        };
        // What was put into a set or taken out of it says its path.
        match path.strip_suffix('}').is_some_and(|path| path.ends_with(&format!("{{{value}"))) {
            true => write!(f, "{sign} {path}"),
            false => write!(f, "{sign} {path}: {value}"),
        }
    }
}

/// An observer that moved.
///
/// ```
/// use allways::prelude::*;
/// # #[derive(Clone, PartialEq, Eq, Hash, Debug)] struct Echo;
/// # impl Node for Echo { type Msg = Never; type Timer = Never; type Call = u8; type Output = u8;
/// #   fn on_message(&mut self, _: Id, _: Never, _: &mut Cx<'_, Self>) {}
/// #   fn on_call(&mut self, call: u8, cx: &mut Cx<'_, Self>) { cx.output(call); } }
/// struct Outputs;
///
/// impl Observer<Echo> for Outputs {
///     type State = usize;
///     fn start(&self) -> usize { 0 }
///     fn wants(&self, seen: &Seen<'_, Echo>) -> bool { matches!(seen, Seen::Output { .. }) }
///     fn observe(&self, state: &mut usize, _: Seen<'_, Echo>) { *state += 1; }
/// }
///
/// let system = System::new([Echo]).call(0, 1).observe(Outputs);
/// let story = system.always_observed("silent", |n: &usize| *n == 0).check().story.unwrap();
/// assert_eq!(story.observers, ["Outputs"]);
/// let moved = &story.steps[0].observed[0];
/// assert_eq!((moved.before.as_str(), moved.after.as_str()), ("0", "1"));
/// ```
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

impl Observed {
    /// An observer that was one thing and is another.
    ///
    /// ```
    /// let moved = allways::Observed::new(0, "idle".to_owned(), "busy".to_owned());
    /// assert_eq!(moved.after, "busy");
    /// ```
    pub fn new(observer: usize, before: String, after: String) -> Self {
        Observed { observer, before, after }
    }
}

/// What the end of a run shows.
///
/// ```
/// use allways::prelude::*;
/// # use allways::sample::told::Cell;
/// // A node that is called tells the other, which keeps what it is told.
/// let system = System::new([Cell(0), Cell(0)])
///     .call(0, 7)
///     .always("stays zero", view(|c: &Cell| c.0), |cells| cells.iter().all(|c| *c == 0));
/// let story = system.check().story.unwrap();
/// let ending = story.ending.unwrap();
/// assert_eq!(ending.reads, ["0", "7"]);
/// assert_eq!(ending.culprits, [1]);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct StoryEnding {
    /// The property's name, or the panic's message.
    pub property: String,
    /// What kind of property it is; `None` for a panic.
    pub kind: Option<PropertyKind>,
    /// Why the end is a violation; `None` for a witness, where the property holds.
    pub cause: Option<Cause>,
    /// What the property reads at the end: a view of each node, or one observer's state. For threads, where each that is in trouble stands.
    pub reads: Vec<String>,
    /// What [`StoryEnding::reads`] was at the start.
    pub reads_at_start: Vec<String>,
    /// The observer that the property reads, if it reads one: a place in [`Story::observers`].
    pub observer: Option<usize>,
    /// The nodes whose views break the property (or meet it): a smallest set that does so even if
    /// no other node had moved since the start, and those without whose moves (a view that came back
    /// to where it was, too) it would not be so. Of a panic, the node that panicked. Empty for an
    /// observer, and where the system is stuck: there all nodes are at fault.
    pub culprits: Vec<usize>,
}

impl StoryEnding {
    /// An ending of which no more is known than the property's name.
    ///
    /// ```
    /// let ending = allways::StoryEnding::new("agreement".to_owned());
    /// assert_eq!((ending.property.as_str(), ending.cause), ("agreement", None));
    /// ```
    pub fn new(property: String) -> Self {
        StoryEnding {
            property,
            kind: None,
            cause: None,
            reads: Vec::new(),
            reads_at_start: Vec::new(),
            observer: None,
            culprits: Vec::new(),
        }
    }
}
