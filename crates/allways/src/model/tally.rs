//! What handlers were seen to do: counted for each kind of event, and for each arm of `choose`.
//!
//! What is counted are distinct local steps, a node handling an event in a state: however often a
//! step is part of a run, it counts once. Engines that keep a local space count it when they are
//! done; the others feed a [`Recorder`] where handlers run.

use super::event::{Event, Local};
use super::node::{Id, Node};
use super::observer::Seen;
use super::step::{self, Effect, End, guarded};
use super::system::System;
use super::world;
use crate::error::Error;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

/// What runs when an event is handled.
///
/// ```
/// assert_eq!(allways::Handler::Message.to_string(), "on_message");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Handler {
    /// `on_start`, before the first event.
    Start,
    /// `on_message`.
    Message,
    /// `on_timer`.
    Timer,
    /// `on_call`.
    Call,
    /// A crash: `persisted` says what is left.
    Crash,
    /// `on_restart`.
    Restart,
}

impl Handler {
    /// All of them.
    ///
    /// ```
    /// use allways::Handler;
    /// assert!(Handler::ALL.contains(&Handler::Restart));
    /// ```
    pub const ALL: [Handler; 6] = [
        Handler::Start,
        Handler::Message,
        Handler::Timer,
        Handler::Call,
        Handler::Crash,
        Handler::Restart,
    ];

    /// What it handles, in one word.
    pub(crate) fn event(self) -> &'static str {
        match self {
            Handler::Start => "start",
            Handler::Message => "message",
            Handler::Timer => "timer",
            Handler::Call => "call",
            Handler::Crash => "crash",
            Handler::Restart => "restart",
        }
    }
}

impl fmt::Display for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Handler::Start => "on_start",
            Handler::Message => "on_message",
            Handler::Timer => "on_timer",
            Handler::Call => "on_call",
            Handler::Crash => "crash",
            Handler::Restart => "on_restart",
        })
    }
}

/// How often something was seen, and how often it changed something then.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Count {
    pub seen: u64,
    pub changed: u64,
}

impl Count {
    pub fn add(&mut self, changed: bool) {
        self.seen += 1;
        self.changed += u64::from(changed);
    }

    fn merge(&mut self, other: Count) {
        self.seen += other.seen;
        self.changed += other.changed;
    }
}

/// For each `choose` of a handler, by its position, and each of its results: how many executions
/// had it.
pub(crate) type Arms = Vec<Vec<Count>>;

/// Counts what an execution chose.
pub(crate) fn add_choices(arms: &mut Arms, choices: &[u32], changed: bool) {
    for (position, &arm) in choices.iter().enumerate() {
        if arms.len() <= position {
            arms.push(Vec::new());
        }
        let arms = &mut arms[position];
        if arms.len() <= arm as usize {
            arms.resize(arm as usize + 1, Count::default());
        }
        arms[arm as usize].add(changed);
    }
}

/// What is known of one event of one node.
#[derive(Clone, Default)]
pub(crate) struct EventTally {
    /// The local steps that handle it.
    pub steps: Count,
    pub arms: Arms,
}

/// What is known of a kind of events.
#[derive(Clone, Default)]
pub(crate) struct KindTally {
    /// Distinct events of this kind that there were to be handled.
    pub sent: u64,
    /// How many of them were handled.
    pub handled: u64,
    pub steps: Count,
}

/// What all handlers were seen to do.
#[derive(Clone, Default)]
pub(crate) struct Tally {
    pub handlers: BTreeMap<Handler, Count>,
    pub kinds: BTreeMap<(Handler, String), KindTally>,
    /// By handler, kind and position of the `choose`.
    pub arms: BTreeMap<(Handler, String, usize), Vec<Count>>,
}

impl Tally {
    /// Adds what is known of one event.
    pub fn add<N: Node>(&mut self, system: &System<N>, event: &Event<N>, seen: &EventTally) {
        let (handler, kind) = system.kind(event);
        self.handlers.entry(handler).or_default().merge(seen.steps);
        self.add_arms(handler, &kind, &seen.arms);
        if matches!(handler, Handler::Message | Handler::Timer | Handler::Call) {
            let known = self.kinds.entry((handler, kind)).or_default();
            known.sent += 1;
            known.handled += u64::from(seen.steps.seen > 0);
            known.steps.merge(seen.steps);
        }
    }

    fn add_arms(&mut self, handler: Handler, kind: &str, arms: &Arms) {
        for (position, counts) in arms.iter().enumerate() {
            let known = self.arms.entry((handler, kind.to_owned(), position)).or_default();
            if known.len() < counts.len() {
                known.resize(counts.len(), Count::default());
            }
            known.iter_mut().zip(counts).for_each(|(known, count)| known.merge(*count));
        }
    }

    /// Adds how the nodes start.
    pub fn add_start<N: Node>(&mut self, system: &System<N>) {
        if system.snapshot.is_some() {
            // Nothing starts there.
            return;
        }
        for (index, node) in system.nodes.iter().enumerate() {
            // A start that breaks the rules was reported when the system started.
            let Ok(effects) = step::start(system, Id::new(index)) else { continue };
            let mut seen = EventTally::default();
            let mut any = false;
            for Effect { choices, end } in &effects {
                let changed = match end {
                    End::Panicked(_) => true,
                    End::Done(done) => {
                        done.local.node != *node
                            || !done.local.timers.is_empty()
                            || !done.sends.is_empty()
                            || !done.outputs.is_empty()
                    }
                };
                add_choices(&mut seen.arms, choices, changed);
                any |= changed;
            }
            self.handlers.entry(Handler::Start).or_default().add(any);
            self.add_arms(Handler::Start, "", &seen.arms);
        }
    }
}

/// Counts local steps as they are met, for engines that keep no local space.
pub(crate) struct Recorder<'a, N: Node> {
    system: &'a System<N>,
    /// Hashes of the local steps counted.
    met: FxHashSet<u64>,
    /// By the hash of node and event.
    events: FxHashMap<u64, (Event<N>, EventTally)>,
}

impl<'a, N: Node> Recorder<'a, N> {
    /// Counts nothing but how the system starts.
    pub fn new(system: &'a System<N>) -> Self {
        let mut recorder =
            Recorder { system, met: FxHashSet::default(), events: FxHashMap::default() };
        for (to, event) in system.first_calls() {
            recorder.event(to, &event);
        }
        for id in (0..system.nodes.len()).map(Id::new) {
            for effect in step::start(system, id).unwrap_or_default() {
                recorder.follow(id, None, &effect);
            }
        }
        recorder
    }

    fn event(&mut self, node: Id, event: &Event<N>) -> &mut EventTally {
        let entry = self.events.entry(hash(&(node, event)));
        &mut entry.or_insert_with(|| (event.clone(), EventTally::default())).1
    }

    /// Notes that there is what an execution has sent, set and released.
    fn follow(&mut self, id: Id, event: Option<&Event<N>>, effect: &Effect<N>) {
        let End::Done(done) = &effect.end else { return };
        for (to, msg) in &done.sends {
            self.event(*to, &Event::Message { from: id, msg: msg.clone() });
        }
        for timer in &done.local.timers {
            self.event(id, &Event::Timer(timer.clone()));
        }
        if let Some((to, call)) = event.and_then(|event| released(self.system, event)) {
            self.event(to, &call);
        }
    }

    /// Counts a local step, unless it was counted before.
    pub fn step(&mut self, id: Id, local: &Local<N>, event: &Event<N>) -> Result<(), Error> {
        if !self.met.insert(hash(&(id, local, event))) {
            return Ok(());
        }
        let effects = step::effects(self.system, id, local, event)?;
        if effects.is_empty() {
            // The node is down.
            return Ok(());
        }
        let mut any = false;
        let mut arms = std::mem::take(&mut self.event(id, event).arms);
        for effect in &effects {
            let changed = self.changes(id, local, event, effect)?;
            add_choices(&mut arms, &effect.choices, changed);
            self.follow(id, Some(event), effect);
            any |= changed;
        }
        let tally = self.event(id, event);
        tally.arms = arms;
        tally.steps.add(any);
        Ok(())
    }

    /// Whether an execution did more than to return.
    fn changes(
        &self,
        node: Id,
        local: &Local<N>,
        event: &Event<N>,
        effect: &Effect<N>,
    ) -> Result<bool, Error> {
        let End::Done(done) = &effect.end else { return Ok(true) };
        let wanted = |seen: Seen<'_, N>| {
            guarded(|| self.system.observers.iter().any(|observer| observer.wants(&seen)))
                .map_err(|message| world::observer_panicked(&message))
        };
        if done.local != *local
            || !done.sends.is_empty()
            || done.stutter
            || released(self.system, event).is_some()
            || wanted(world::seen(node, event))?
        {
            return Ok(true);
        }
        for output in &done.outputs {
            if wanted(Seen::Output { node, output })? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What was counted.
    pub fn finish(self) -> Tally {
        let mut tally = Tally::default();
        for (event, seen) in self.events.values() {
            tally.add(self.system, event, seen);
        }
        tally.add_start(self.system);
        tally
    }
}

/// The call that the driver's script releases when this event is handled.
fn released<N: Node>(system: &System<N>, event: &Event<N>) -> Option<(Id, Event<N>)> {
    match event {
        Event::Call { next: Some(position), .. } => {
            system.call_at(position.script as usize, position.at as usize)
        }
        _ => None,
    }
}

/// Strong enough that equal hashes mean equal values.
fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
