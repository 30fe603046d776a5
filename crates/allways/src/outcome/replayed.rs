//! Saved runs, carried out against the code as it is now: a run still violates, no longer
//! violates, or no longer applies.
//!
//! The code has changed since the run was saved, so every difference is something to be told, not
//! an error: an event that cannot happen any more is named together with what could happen there
//! instead. Errors are left for runs that were never runs of this system.

use super::replay::follow;
use super::saved::SavedRun;
use super::{Cause, Run, RunEvent, RunEventKind, Violation};
use crate::engine::panicked;
use crate::error::Error;
use crate::model::node::Node;
use crate::model::property::PropertyKind;
use crate::model::step::{self, guarded};
use crate::model::system::System;
use crate::model::world::{Action, Start, SuccessorEnd, World};
use std::fmt;
use std::path::Path;

/// At most so many events are offered in place of one that cannot happen.
const MAX_INSTEAD: usize = 3;

/// What became of a saved run: see [`System::replay`].
///
/// ```
/// use allways::Replayed;
/// let replayed = Replayed::NoLongerViolates { why: "`agreement` holds at its end".to_owned() };
/// assert_eq!(replayed.to_string(), "no longer violates: `agreement` holds at its end\n");
/// replayed.assert_no_longer_violates();
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Replayed {
    /// The run still shows the violation.
    StillViolates {
        /// The violation as it is now. Its run is the saved one up to where the violation shows:
        /// that may be earlier than when it was saved.
        violation: Violation,
    },
    /// The run can be carried out, but shows no violation any more.
    NoLongerViolates {
        /// What is different at its end.
        why: String,
    },
    /// The run cannot be carried out any more.
    NoLongerApplies {
        /// The event that cannot happen, counted from one; zero if it is the start.
        at: usize,
        /// The event and why it cannot happen.
        why: String,
        /// What can happen there and is most like it.
        instead: Vec<RunEvent>,
    },
}

impl Replayed {
    /// Whether the run still shows the violation.
    ///
    /// ```
    /// use allways::Replayed;
    /// assert!(!Replayed::NoLongerViolates { why: "it holds".to_owned() }.still_violates());
    /// ```
    pub fn still_violates(&self) -> bool {
        matches!(self, Replayed::StillViolates { .. })
    }

    /// For a test that keeps a bug of threads from coming back: panics while the run still violates. That it no longer applies is what putting it right mostly comes to
    /// there, and is fine.
    ///
    /// ```
    /// use allways::Replayed;
    /// Replayed::NoLongerViolates { why: "it holds".to_owned() }.assert_not_violated();
    /// ```
    ///
    /// # Panics
    ///
    /// If the run still violates.
    #[track_caller]
    pub fn assert_not_violated(&self) {
        assert!(!self.still_violates(), "the saved run {self}");
    }

    /// For a test that keeps a bug from coming back: panics while the run still violates, and also
    /// when the run no longer applies, since it then no longer tests anything.
    ///
    /// ```
    /// use allways::Replayed;
    /// Replayed::NoLongerViolates { why: "it holds".to_owned() }.assert_no_longer_violates();
    /// ```
    ///
    /// # Panics
    ///
    /// Unless the run can be carried out and violates nothing.
    #[track_caller]
    pub fn assert_no_longer_violates(&self) {
        match self {
            Replayed::NoLongerViolates { .. } => {}
            Replayed::StillViolates { .. } => panic!("the saved run {self}"),
            Replayed::NoLongerApplies { .. } => {
                panic!("the saved run {self}it tests nothing any more: save a new run or remove it")
            }
        }
    }
}

impl fmt::Display for Replayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Replayed::StillViolates { violation } => {
                let name = &violation.property;
                match violation.cause {
                    Cause::Always => write!(f, "still violates: always `{name}`")?,
                    Cause::Stuck => write!(f, "still violates: never stuck `{name}`")?,
                    Cause::NeverReached => write!(f, "still violates: sometimes `{name}`")?,
                    Cause::Panic => write!(f, "still violates: a panic: {name}")?,
                    Cause::Trouble(trouble) => write!(f, "still violates: {trouble}: {name}")?,
                }
                match violation.run.events.len() {
                    0 => writeln!(f, ", at the start")?,
                    1 => writeln!(f, ", after 1 event")?,
                    events => writeln!(f, ", after {events} events")?,
                }
                for (node, read) in violation.reads.iter().enumerate() {
                    match violation.reads.len() {
                        // What threads have come to says itself who it is about.
                        _ if violation.is_of_threads() => match read.as_str() {
                            "" => {}
                            read => writeln!(f, "  {read}")?,
                        },
                        1 => writeln!(f, "  it reads {read}")?,
                        _ => writeln!(f, "  node {node}: {read}")?,
                    }
                }
                Ok(())
            }
            Replayed::NoLongerViolates { why } => writeln!(f, "no longer violates: {why}"),
            Replayed::NoLongerApplies { at, why, instead } => {
                match at {
                    0 => writeln!(f, "no longer applies at the start: {why}")?,
                    at => writeln!(f, "no longer applies at event {at}: {why}")?,
                }
                for event in instead {
                    writeln!(f, "  what can happen there: {event}")?;
                }
                Ok(())
            }
        }
    }
}

impl<N: Node> System<N> {
    /// Carries out a saved run against this system as it is now.
    ///
    /// Neither the name of the system nor its parameters are known here, so they are not compared.
    ///
    /// ```
    /// use allways::prelude::*;
    /// use allways::{Replayed, SavedRun};
    /// # use allways::sample::Cell as N;
    /// let system = |call| {
    ///     let views = view(|n: &N| n.0);
    ///     System::new([N(0)]).call(0, call).always("small", views, |views| views[0] < 5)
    /// };
    /// let saved = SavedRun::new("calls", [("call", "7")], &system(7).check()).unwrap();
    /// assert!(system(7).replay(&saved).unwrap().still_violates());
    ///
    /// let other = system(3).replay(&saved).unwrap().to_string();
    /// assert!(other.starts_with("no longer applies at event 1: node 0 is called: 7"));
    /// assert!(other.contains("what can happen there: node 0 is called: 3"));
    /// ```
    ///
    /// # Errors
    ///
    /// If the run is none of this system: it names a property or a node that the system does not
    /// have; or if the system makes no sense.
    pub fn replay(&self, saved: &SavedRun) -> Result<Replayed, Error> {
        guarded(|| {
            self.validate()?;
            let target = Target::of(self, &saved.violation)?;
            fits(self, &saved.violation.run)?;
            replayed(self, &saved.violation, &target)
        })
        .unwrap_or_else(|message| Err(panicked(message)))
    }

    /// Reads a saved run from a file and carries it out: see [`System::replay`].
    ///
    /// ```no_run
    /// # use allways::prelude::*;
    /// # use allways::sample::Cell;
    /// # let system = System::new([Cell(0)]);
    /// // In a test, with the run.json that a check has saved: the bug does not come back.
    /// system.replay_file("tests/run.json").unwrap().assert_no_longer_violates();
    /// ```
    ///
    /// # Errors
    ///
    /// If the file is no saved run, or one of another system.
    pub fn replay_file(&self, path: impl AsRef<Path>) -> Result<Replayed, Error> {
        self.replay(&SavedRun::load(path)?)
    }
}

/// What a run is to show.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    /// The `always` property with this number is false.
    Always(usize),
    /// The state is terminal, and the `never_stuck` property with this number forbids it.
    Stuck(usize),
    /// The last event panics.
    Panic,
}

impl Target {
    /// What a violation says is violated, as this system knows it.
    pub fn of<N: Node>(system: &System<N>, violation: &Violation) -> Result<Self, Error> {
        let kind = match violation.cause {
            Cause::Panic => return Ok(Target::Panic),
            Cause::Trouble(trouble) => {
                let why = format!("the run ends in a {trouble}, and the system has no threads");
                return Err(Error::Run(why));
            }
            Cause::Always => PropertyKind::Always,
            Cause::Stuck => PropertyKind::NeverStuck,
            Cause::NeverReached => {
                let why = "a `sometimes` property that is never reached has no run";
                return Err(Error::Run(why.to_owned()));
            }
        };
        let name = &violation.property;
        let Some(number) = system.properties.iter().position(|p| p.name == *name) else {
            let known: Vec<_> = system.properties.iter().map(|p| format!("`{}`", p.name)).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(Error::Run(format!(
                "the run violates property `{name}`, but the system has no such property; it has {known}"
            )));
        };
        let actual = system.properties[number].kind;
        match kind {
            _ if kind != actual => Err(Error::Run(format!(
                "the run violates `{name}` as a property of kind `{kind}`, but the system has it as `{actual}`"
            ))),
            PropertyKind::Always => Ok(Target::Always(number)),
            _ => Ok(Target::Stuck(number)),
        }
    }

    /// Whether this world shows it; a panic shows in no world.
    pub fn shows<N: Node>(&self, system: &System<N>, world: &World<N>) -> Result<bool, Error> {
        match *self {
            Target::Always(property) => Ok(!world.test(system, property)?),
            Target::Stuck(property) => {
                Ok(!world.test(system, property)? && world.is_terminal(system)?)
            }
            Target::Panic => Ok(false),
        }
    }

    pub fn property(&self) -> Option<usize> {
        match *self {
            Target::Always(property) | Target::Stuck(property) => Some(property),
            Target::Panic => None,
        }
    }
}

/// Whether every node that a run names is one of the system.
pub(super) fn fits<N: Node>(system: &System<N>, run: &Run) -> Result<(), Error> {
    let nodes = system.nodes.len();
    for (index, event) in run.events.iter().enumerate() {
        for (field, node) in [("node", event.node), ("from", event.from)] {
            if let Some(node) = node.filter(|&node| node >= nodes) {
                return Err(Error::Run(format!(
                    "field `events[{index}].{field}` is {node}, but the system has {nodes} nodes"
                )));
            }
        }
    }
    if !run.start_choices.is_empty() && run.start_choices.len() != nodes {
        return Err(Error::Run(format!(
            "field `start_choices` is about {} nodes, but the system has {nodes}",
            run.start_choices.len()
        )));
    }
    Ok(())
}

fn replayed<N: Node>(
    system: &System<N>,
    saved: &Violation,
    target: &Target,
) -> Result<Replayed, Error> {
    // The number of the initial state may have changed since the run was saved.
    let mut saved = saved.clone();
    saved.run.start = start_number(system, &saved.run)?.unwrap_or(saved.run.start);
    let (saved, run) = (&saved, &saved.run);
    let mut worlds = match start(system, run)? {
        Begin::World(world) => vec![*world],
        Begin::Panicked(message) if *target == Target::Panic => {
            return Ok(still(saved, 0, message, Vec::new()));
        }
        Begin::Panicked(message) => {
            let why = format!("a node panics while it starts: {message}");
            return Ok(Replayed::NoLongerApplies { at: 0, why, instead: Vec::new() });
        }
        Begin::Other(why) => {
            return Ok(Replayed::NoLongerApplies { at: 0, why, instead: Vec::new() });
        }
    };
    if let Some(reads) = shown(system, &worlds, target)? {
        return Ok(still(saved, 0, saved.property.clone(), reads));
    }
    let mut ignored = Vec::new();
    for (index, event) in run.events.iter().enumerate() {
        let (mut next, mut panics) = (Vec::new(), Vec::new());
        for (from, world) in worlds.iter().enumerate() {
            follow(system, world, from, event, &mut next, &mut panics)?;
        }
        let panic = panics.into_iter().next().map(|panicked| panicked.message);
        if let (Some(message), Target::Panic) = (&panic, target) {
            return Ok(still(saved, index + 1, message.clone(), Vec::new()));
        }
        if next.is_empty() && panic.is_none() && is_ignored(system, &worlds, event)? {
            ignored.push(index + 1);
            continue;
        }
        if next.is_empty() {
            let (why, instead) = match panic {
                Some(message) => (format!("{event}: its handler panics: {message}"), Vec::new()),
                None => cannot(system, &worlds[0], event)?,
            };
            return Ok(Replayed::NoLongerApplies { at: index + 1, why, instead });
        }
        worlds = next.into_iter().map(|way| way.world).collect();
        if let Some(reads) = shown(system, &worlds, target)? {
            return Ok(still(saved, index + 1, saved.property.clone(), reads));
        }
    }
    let why = match *target {
        Target::Panic => "no handler panics".to_owned(),
        Target::Always(property) => {
            format!("`{}` holds at its end", system.properties[property].name)
        }
        Target::Stuck(property) => {
            let name = &system.properties[property].name;
            match worlds[0].test(system, property)? {
                true => format!("`{name}` allows its end"),
                false => format!("`{name}` forbids its end only if it is terminal, and it is not"),
            }
        }
    };
    let why = match ignored.first() {
        Some(event) => format!("{why}; event {event} changes nothing any more"),
        None => why,
    };
    Ok(Replayed::NoLongerViolates { why })
}

/// Whether an event happens in one of these worlds, though it changes nothing: that is no step, but
/// a node that has learnt to ignore something is what a mended run often looks like.
fn is_ignored<N: Node>(
    system: &System<N>,
    worlds: &[World<N>],
    event: &RunEvent,
) -> Result<bool, Error> {
    for world in worlds {
        for action in world.actions(system) {
            if !action.describe(system).same_event(event) {
                continue;
            }
            let Action::Step { node, event: handled, .. } = &action else { continue };
            let effects = step::effects(system, *node, &world.locals[node.index()], handled)?;
            if effects.iter().any(|effect| effect.choices == event.choices) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The violation as it is now, after so many events.
fn still(saved: &Violation, events: usize, property: String, reads: Vec<String>) -> Replayed {
    let mut violation = Violation { property, reads, ..saved.clone() };
    violation.run.events.truncate(events);
    Replayed::StillViolates { violation }
}

/// What the property reads in a world that shows the violation, if one of them does.
fn shown<N: Node>(
    system: &System<N>,
    worlds: &[World<N>],
    target: &Target,
) -> Result<Option<Vec<String>>, Error> {
    let Some(property) = target.property() else { return Ok(None) };
    for world in worlds {
        if target.shows(system, world)? {
            let reads = world.reads(system, property)?;
            return Ok(Some(reads.iter().map(|read| format!("{read:?}")).collect()));
        }
    }
    Ok(None)
}

/// How a run starts.
enum Begin<N: Node> {
    World(Box<World<N>>),
    Panicked(String),
    /// Not as it did: why.
    Other(String),
}

/// Finds the initial state by what the nodes chose, since its number may have changed.
fn start<N: Node>(system: &System<N>, run: &Run) -> Result<Begin<N>, Error> {
    let worlds = match World::start(system)? {
        Start::Worlds(worlds) => worlds,
        Start::Panicked(message) => return Ok(Begin::Panicked(message)),
    };
    Ok(match start_number(system, run)?.and_then(|number| worlds.into_iter().nth(number)) {
        Some(world) => Begin::World(Box::new(world)),
        None if run.start_choices.is_empty() => {
            Begin::Other(format!("there is no initial state {}", run.start))
        }
        None => Begin::Other(CANNOT_START.to_owned()),
    })
}

/// What to say where the nodes no longer start as they did.
const CANNOT_START: &str = "the nodes cannot choose this while they start";

/// The number that the initial state of a run has now: what the nodes chose counts, where that is known.
fn start_number<N: Node>(system: &System<N>, run: &Run) -> Result<Option<usize>, Error> {
    match run.start_choices.as_slice() {
        [] => Ok(Some(run.start)),
        choices => World::start_number(system, choices),
    }
}

/// A run with the number that its initial state has now, which may be another than when it was saved.
pub(super) fn renumbered<N: Node>(system: &System<N>, run: &Run) -> Result<Run, Error> {
    fits(system, run)?;
    match start_number(system, run)? {
        Some(start) => Ok(Run { start, ..run.clone() }),
        None => Err(Error::Run(format!("the run is not one of this system: {CANNOT_START}"))),
    }
}

/// Why an event cannot happen in a world, and what can that is most like it.
fn cannot<N: Node>(
    system: &System<N>,
    world: &World<N>,
    event: &RunEvent,
) -> Result<(String, Vec<RunEvent>), Error> {
    let mut why = "it cannot happen";
    let mut possible: Vec<(u32, RunEvent)> = Vec::new();
    for action in world.actions(system) {
        let other = action.describe(system);
        let successors = world.successors(system, &action)?;
        if other.same_event(event) {
            why = match successors.is_empty() {
                true => "the node is down",
                false => "its handler cannot choose this any more",
            };
        }
        for successor in successors {
            if matches!(successor.end, SuccessorEnd::World(_) | SuccessorEnd::Panicked(_)) {
                let other = RunEvent { choices: successor.choices, ..other.clone() };
                possible.push((likeness(event, &other), other));
            }
        }
    }
    // The likest first; among equals, in the order in which they are listed.
    possible.sort_by_key(|(likeness, _)| std::cmp::Reverse(*likeness));
    let instead = possible.into_iter().filter(|(likeness, _)| *likeness > 0).map(|(_, e)| e);
    Ok((format!("{event}: {why}"), instead.take(MAX_INSTEAD).collect()))
}

/// How much alike two events are; zero if they have nothing in common.
fn likeness(a: &RunEvent, b: &RunEvent) -> u32 {
    let delivery = |kind| matches!(kind, RunEventKind::Message | RunEventKind::Duplicate);
    let same_kind = a.kind == b.kind || (delivery(a.kind) && delivery(b.kind));
    let same_node = a.node == b.node;
    let same_head = head(&a.what) == head(&b.what);
    match (same_kind, same_node) {
        (false, false) => 0,
        _ => {
            32 * u32::from(same_kind && same_node)
                + 16 * u32::from(same_node)
                + 8 * u32::from(same_kind)
                + 4 * u32::from(same_kind && same_head)
                + 2 * u32::from(same_kind && a.from == b.from)
                + u32::from(a.what == b.what)
        }
    }
}

/// The name in front of the fields, as `Debug` shows a variant.
pub(super) fn head(what: &str) -> &str {
    let end = what.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(what.len());
    &what[..end]
}
