//! One event of a run, in words that outlive the types of the system.

use std::fmt;

/// What kind of thing happens.
///
/// ```
/// assert_eq!(allways::RunEventKind::Heal.to_string(), "heal");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RunEventKind {
    /// A node handles a message.
    Message,
    /// A node handles a message, and a copy of it stays in flight.
    Duplicate,
    /// A node handles a timer.
    Timer,
    /// A node handles a call.
    Call,
    /// A node crashes.
    Crash,
    /// A node starts again.
    Restart,
    /// The network loses a message.
    Drop,
    /// The network parts.
    Partition,
    /// The network is whole again.
    Heal,
    /// A thread takes a step.
    Thread,
}

impl fmt::Display for RunEventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RunEventKind::Message => "message",
            RunEventKind::Duplicate => "duplicate",
            RunEventKind::Timer => "timer",
            RunEventKind::Call => "call",
            RunEventKind::Crash => "crash",
            RunEventKind::Restart => "restart",
            RunEventKind::Drop => "drop",
            RunEventKind::Partition => "partition",
            RunEventKind::Heal => "heal",
            RunEventKind::Thread => "thread",
        })
    }
}

/// One event of a run.
///
/// ```
/// use allways::{RunEvent, RunEventKind};
/// let event = RunEvent {
///     kind: RunEventKind::Message,
///     node: Some(1),
///     from: Some(0),
///     what: "Ping".to_owned(),
///     choices: vec![],
/// };
/// assert_eq!(event.to_string(), "node 1 receives Ping from node 0");
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RunEvent {
    /// What kind of thing happens.
    pub kind: RunEventKind,
    /// The node that handles it; for a drop, the node that would have. The thread, for a step of a thread.
    pub node: Option<usize>,
    /// The node that sent the message.
    pub from: Option<usize>,
    /// The message, timer, call or partition, as its `Debug` shows it. Of a step of a thread, all of it in words: who does what, and where.
    pub what: String,
    /// What `choose` returned, in order.
    pub choices: Vec<u32>,
}

impl RunEvent {
    /// Whether both are the same event, whatever was chosen.
    pub(crate) fn same_event(&self, other: &RunEvent) -> bool {
        (self.kind, self.node, self.from, &self.what)
            == (other.kind, other.node, other.from, &other.what)
    }
}

impl fmt::Display for RunEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let node = self.node.unwrap_or_default();
        let from = self.from.unwrap_or_default();
        let what = &self.what;
        match self.kind {
            RunEventKind::Message => write!(f, "node {node} receives {what} from node {from}")?,
            RunEventKind::Duplicate => write!(
                f,
                "node {node} receives {what} from node {from}, a duplicate stays in flight"
            )?,
            RunEventKind::Timer => write!(f, "node {node} timer {what} fires")?,
            RunEventKind::Call => write!(f, "node {node} is called: {what}")?,
            RunEventKind::Crash => write!(f, "node {node} crashes")?,
            RunEventKind::Restart => write!(f, "node {node} restarts")?,
            RunEventKind::Drop => {
                write!(f, "the network drops {what} from node {from} to node {node}")?
            }
            RunEventKind::Partition if what.starts_with('(') => write!(f, "the link {what} fails")?,
            RunEventKind::Partition => write!(f, "the network parts into {what}")?,
            RunEventKind::Heal => write!(f, "the partition heals")?,
            // Its words say what was chosen, too.
            RunEventKind::Thread => return write!(f, "{what}"),
        }
        if !self.choices.is_empty() {
            write!(f, ", choosing {:?}", self.choices)?;
        }
        Ok(())
    }
}
