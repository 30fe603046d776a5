//! The local space of a system: where user code runs and user types live.
//!
//! Each `(state, event)` is computed by whoever asks first, under the lock of one of 64 parts of
//! the table of steps; everybody else finds it there. Threads keep what they have found in a
//! [`Memo`](super::memo::Memo) of their own, so these locks are not on the hot path.
//!
//! The determinism guard lives here too: a step is executed again, and must do the same again.
//! All of the first steps are, then one in sixteen.

use super::hash::key;
use super::intern::Interner;
use super::queues::Queues;
use super::vector::{Layout, domain};
use super::{
    Costs, EventId, EventInfo, FeedId, Happening, Initial, Next, Source, Space, StateId, StateInfo,
    Step, StepEnd,
};
use crate::error::Error;
use crate::model::erased::Erased;
use crate::model::event::{Event, Local};
use crate::model::kept::take_replayed;
use crate::model::network::NetworkKind;
use crate::model::node::{Id, Node};
use crate::model::observer::Seen;
use crate::model::property::Reads;
use crate::model::rename::Renaming;
use crate::model::run_event::RunEvent;
use crate::model::step::{self, Done, Effect, End, guarded};
use crate::model::system::System;
use crate::model::tally::{Arms, add_choices};
use crate::model::world::{self, Action, Start, World};
use rustc_hash::FxHashMap;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The parts of the table of steps, each with its lock.
const PARTS: usize = 64;
/// So many steps are all executed twice by the determinism guard, then one in sixteen.
const GUARD_ALL: u64 = 4_096;

/// A step may send so many messages, and a node have so many timers.
const MAX_AT_ONCE: usize = 60_000;

type StepTable = Mutex<FxHashMap<(StateId, EventId), Arc<[Step]>>>;

/// A system with everything interned that was met so far.
pub(crate) struct LocalSpace<'a, N: Node> {
    pub(super) system: &'a System<N>,
    pub(super) layout: Layout,
    queues: Queues,
    pub(super) states: Vec<Interner<Local<N>, StateInfo>>,
    /// For each node, the events that it may handle.
    pub(super) events: Vec<Interner<Event<N>, EventInfo>>,
    pub(super) steps: Vec<StepTable>,
    pub(super) views: Interner<(usize, Erased), u64>,
    pub(super) observers: Interner<(usize, Erased), u64>,
    feeds: Interner<Feed<N>, u64>,
    crashes: Vec<EventId>,
    options: SpaceOptions,
    /// States that differ from the interned one in auxiliary fields only.
    pub(super) variants: Vec<Mutex<FxHashMap<StateId, Vec<Local<N>>>>>,
    /// The same for events.
    pub(super) event_variants: Vec<Mutex<FxHashMap<u32, Vec<Event<N>>>>>,
    acts_alone: AtomicBool,
    /// What handlers chose, for each event on which they did.
    pub(super) arms: Mutex<FxHashMap<EventId, Arms>>,
    steps_computed: AtomicU64,
    handler_executions: AtomicU64,
    guard_executions: AtomicU64,
    replayed_handlers: AtomicU64,
    user_nanos: AtomicU64,
}

/// What a local space is asked to look out for.
#[derive(Clone, Copy)]
pub(crate) struct SpaceOptions {
    pub determinism_guard: bool,
    pub verify_aux: bool,
    pub symmetry: bool,
    /// Whether states are compared as a whole, so that equal hashes do no harm.
    pub exact: bool,
}

/// What observers see of a step: the event, if one wants it, and the outputs.
struct Feed<N: Node> {
    node: Id,
    event: Option<Event<N>>,
    outputs: Vec<N::Output>,
}

impl<N: Node> Clone for Feed<N> {
    fn clone(&self) -> Self {
        Feed { node: self.node, event: self.event.clone(), outputs: self.outputs.clone() }
    }
}

impl<N: Node> PartialEq for Feed<N> {
    fn eq(&self, other: &Self) -> bool {
        self.node == other.node && self.event == other.event && self.outputs == other.outputs
    }
}

impl<N: Node> Eq for Feed<N> {}

impl<N: Node> Hash for Feed<N> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.node.hash(hasher);
        self.event.hash(hasher);
        self.outputs.hash(hasher);
    }
}

impl<'a, N: Node> LocalSpace<'a, N> {
    pub fn new(system: &'a System<N>, options: SpaceOptions) -> Result<Self, Error> {
        let nodes = system.nodes.len();
        let faults = &system.faults;
        let has_faults = faults.crashes > 0
            || (faults.partitions > 0 && !faults.cuts.is_empty())
            || system.explores_drops()
            || (system.network.duplications > 0 && system.network.kind != NetworkKind::Duplicating);
        let properties = system.properties.iter().map(|property| match &property.reads {
            Reads::Views { .. } => (property.kind, None),
            Reads::Observer { observer, .. } => (property.kind, Some(*observer)),
        });
        let layout = Layout::new(
            nodes,
            system.observers.len(),
            system.network.kind,
            has_faults,
            system.cut_pairs(),
            properties.collect(),
        );
        let mut space = LocalSpace {
            system,
            layout,
            queues: Queues::new(),
            states: (0..nodes).map(|_| Interner::new()).collect(),
            events: (0..nodes).map(|_| Interner::new()).collect(),
            steps: (0..PARTS).map(|_| Mutex::default()).collect(),
            views: Interner::new(),
            observers: Interner::new(),
            feeds: Interner::new(),
            crashes: Vec::new(),
            options,
            variants: (0..nodes).map(|_| Mutex::default()).collect(),
            event_variants: (0..nodes).map(|_| Mutex::default()).collect(),
            acts_alone: AtomicBool::new(false),
            arms: Mutex::default(),
            steps_computed: AtomicU64::new(0),
            handler_executions: AtomicU64::new(0),
            guard_executions: AtomicU64::new(0),
            replayed_handlers: AtomicU64::new(0),
            user_nanos: AtomicU64::new(0),
        };
        // Feed zero is nothing.
        let nothing = Feed { node: Id::new(0), event: None, outputs: Vec::new() };
        space.intern_feed(nothing)?;
        for node in 0..nodes {
            let crash = space.intern_event(Id::new(node), Event::Crash)?;
            space.crashes.push(crash);
        }
        for cut in 0..system.faults.cuts.len() {
            for (from, to, msg) in system.greetings(cut) {
                let greeting = space.intern_event(to, Event::Message { from, msg })?;
                space.layout.greetings[cut].push(greeting);
            }
        }
        Ok(space)
    }

    fn intern_event(&self, to: Id, event: Event<N>) -> Result<EventId, Error> {
        let source = match &event {
            Event::Message { from, .. } => Source::Node(from.index() as u32),
            Event::Call { .. } => Source::Driver,
            Event::Timer(_) | Event::Crash | Event::Restart => Source::Inside,
        };
        let node = to.index();
        let variant = self.options.verify_aux.then(|| event.clone());
        let key = Self::event_key(to, &event);
        let local = self.events[node].intern(key, event, |_, is_alone| {
            self.check_alone(is_alone, || format!("events of node {node}"))?;
            Ok(EventInfo { key, source })
        })?;
        if let Some(event) = variant {
            self.remember_event_variant(node, local, &event);
        }
        self.layout.event_id(node, local).ok_or_else(|| {
            Error::System(format!("node {node} has too many distinct events: {local}"))
        })
    }

    /// The part that an event has in a fingerprint.
    pub(super) fn event_key(to: Id, event: &Event<N>) -> u64 {
        key(domain::EVENT, &(to, event))
    }

    /// The node that handles an event, and the event itself.
    pub(super) fn event_of(&self, event: EventId) -> (Id, Arc<Event<N>>) {
        let node = self.layout.event_node(event);
        (Id::new(node), self.events[node].value(self.layout.event_local(event)))
    }

    pub(super) fn intern_state(&self, id: Id, local: Local<N>) -> Result<StateId, Error> {
        let node = id.index();
        let variant = self.options.verify_aux.then(|| local.clone());
        let key = key(domain::STATE + node as u64, &local);
        let number = self.states[node].intern(key, local, |local, is_alone| {
            let mut internal = Vec::new();
            if !local.up {
                if self.system.faults.restarts {
                    internal.push(self.intern_event(id, Event::Restart)?);
                }
            } else if local.fires_left != Some(0) {
                for timer in &local.timers {
                    internal.push(self.intern_event(id, Event::Timer(timer.clone()))?);
                }
            }
            if !internal.is_empty() {
                // Before anybody can know the state's number.
                self.acts_alone.store(true, Relaxed);
            }
            if internal.len() > MAX_AT_ONCE {
                let what =
                    format!("node {node} has more than {MAX_AT_ONCE} timers pending at once");
                return Err(Error::System(what));
            }
            self.check_alone(is_alone, || format!("states of node {node}"))?;
            Ok(StateInfo {
                key,
                // Most states have none, and need no memory for them.
                internal: if internal.is_empty() { Arc::default() } else { internal.into() },
                up: local.up,
                withheld: local.is_withheld(),
                views: self.intern_views(&local.node)?.into(),
            })
        })?;
        if let Some(local) = variant {
            self.remember_variant(node, number, &local);
        }
        Ok(number)
    }

    pub(super) fn intern_views(&self, node: &N) -> Result<Vec<u32>, Error> {
        take_replayed();
        let mut views = Vec::with_capacity(self.system.properties.len());
        for (index, property) in self.system.properties.iter().enumerate() {
            views.push(match &property.reads {
                Reads::Observer { .. } => 0,
                Reads::Views { view, .. } => {
                    let seen = guarded(|| view(node))
                        .map_err(|message| world::property_panicked(&property.name, &message))?;
                    let entry = (index, seen);
                    let hash = key(domain::VIEWS, &entry);
                    self.views.intern(hash, entry, |_, _| Ok::<_, Error>(hash))?
                }
            });
        }
        self.replayed_handlers.fetch_add(take_replayed(), Relaxed);
        Ok(views)
    }

    /// Fingerprints cannot tell apart what has equal keys: if two different things do, their `Hash`
    /// leaves out what their `Eq` does not.
    fn check_alone(&self, is_alone: bool, what: impl Fn() -> String) -> Result<(), Error> {
        if is_alone || self.options.exact {
            return Ok(());
        }
        Err(Error::System(format!(
            "two different {} have the same hash: let Hash tell apart what Eq does, or check exactly (--exact)",
            what()
        )))
    }

    fn intern_observer(&self, observer: usize, state: Erased) -> Result<u32, Error> {
        let key = key(domain::OBSERVER + observer as u64, &state);
        self.observers.intern(key, (observer, state), |_, is_alone| {
            self.check_alone(is_alone, || "states of an observer".to_owned())?;
            Ok(key)
        })
    }

    /// Runs the handler, and again if the determinism guard says so.
    fn execute(&self, id: Id, local: &Local<N>, event: &Event<N>) -> Result<Vec<Effect<N>>, Error> {
        // What others have replayed on this thread is theirs.
        take_replayed();
        let started = Instant::now();
        let effects = step::effects(self.system, id, local, event)?;
        self.handler_executions.fetch_add(effects.len() as u64, Relaxed);
        let before = self.steps_computed.fetch_add(1, Relaxed);
        let guard = self.options.determinism_guard
            && !effects.is_empty()
            && (before < GUARD_ALL || before.is_multiple_of(16));
        if guard {
            self.guard_executions.fetch_add(effects.len() as u64, Relaxed);
            let again = step::effects(self.system, id, local, event)?;
            if let Some(difference) = step::difference(&effects, &again) {
                return Err(Error::NonDeterministic {
                    node: id.index(),
                    state: format!("{:?}", local.node),
                    event: event.to_string(),
                    difference,
                });
            }
        }
        self.user_nanos.fetch_add(started.elapsed().as_nanos() as u64, Relaxed);
        self.replayed_handlers.fetch_add(take_replayed(), Relaxed);
        Ok(effects)
    }

    fn compute(&self, state: StateId, event_id: EventId) -> Result<Arc<[Step]>, Error> {
        let (id, event) = self.event_of(event_id);
        let event = &*event;
        let local = self.states[id.index()].value(state);
        let effects = self.execute(id, &local, event)?;
        let on_queue =
            matches!(event, Event::Message { .. }) && self.layout.network == NetworkKind::Ordered;
        if effects.is_empty() && on_queue {
            // The node is down: the message is lost at its door.
            let next = Next { state, sends: Box::default(), feed: 0, stutter: false };
            return Ok([Step { choices: Box::default(), end: StepEnd::Next(next) }].into());
        }
        if self.options.symmetry {
            self.check_symmetry(id, &local, event, &effects)?;
        }
        let mut steps = Vec::with_capacity(effects.len());
        for Effect { choices, end } in effects {
            let end = match end {
                End::Panicked(message) => StepEnd::Panicked(message.into()),
                End::Done(done) => StepEnd::Next(self.next(id, event, done)?),
            };
            let changes = end.changes(state);
            if !choices.is_empty() {
                let mut arms = self.arms.lock().unwrap_or_else(PoisonError::into_inner);
                add_choices(arms.entry(event_id).or_default(), &choices, changes);
            }
            if changes || on_queue {
                steps.push(Step { choices: choices.into(), end });
            }
        }
        Ok(steps.into())
    }

    fn next(&self, id: Id, event: &Event<N>, done: Done<N>) -> Result<Next, Error> {
        let state = self.intern_state(id, done.local)?;
        if done.sends.len() > MAX_AT_ONCE {
            let what = format!("node {id} sends more than {MAX_AT_ONCE} messages in one step");
            return Err(Error::System(what));
        }
        let mut sends = Vec::new();
        for (to, msg) in done.sends {
            let event = self.intern_event(to, Event::Message { from: id, msg })?;
            if self.layout.network != NetworkKind::Duplicating || !sends.contains(&event) {
                sends.push(event);
            }
        }
        if let Event::Call { next: Some(position), .. } = event {
            let call = self.system.call_at(position.script as usize, position.at as usize);
            if let Some((to, event)) = call {
                sends.push(self.intern_event(to, event)?);
            }
        }
        let feed = self.feed(id, event, done.outputs)?;
        Ok(Next { state, sends: sends.into(), feed, stutter: done.stutter })
    }

    fn feed(&self, node: Id, event: &Event<N>, outputs: Vec<N::Output>) -> Result<FeedId, Error> {
        let wanted = |seen: &Seen<'_, N>| {
            guarded(|| self.system.observers.iter().any(|observer| observer.wants(seen)))
                .map_err(|message| world::observer_panicked(&message))
        };
        if self.system.observers.is_empty() {
            return Ok(0);
        }
        let event = if wanted(&world::seen(node, event))? { Some(event.clone()) } else { None };
        let mut kept = Vec::new();
        for output in outputs {
            if wanted(&Seen::Output { node, output: &output })? {
                kept.push(output);
            }
        }
        if event.is_none() && kept.is_empty() {
            return Ok(0);
        }
        self.intern_feed(Feed { node, event, outputs: kept })
    }

    fn intern_feed(&self, feed: Feed<N>) -> Result<FeedId, Error> {
        let key = key(domain::FEED, &feed);
        self.feeds.intern(key, feed, |_, _| Ok(key))
    }

    /// The values that a property reads.
    fn read(&self, property: usize, reads: &[u32]) -> Vec<Erased> {
        match self.layout.properties[property].1 {
            Some(_) => reads.iter().map(|&state| self.observers.value(state).1.clone()).collect(),
            None => reads.iter().map(|&view| self.views.value(view).1.clone()).collect(),
        }
    }

    fn see(&self, observer: usize, state: Erased, seen: Seen<'_, N>) -> Result<Erased, Error> {
        let observer = &self.system.observers[observer];
        guarded(|| match observer.wants(&seen) {
            true => observer.observe(&state, seen),
            false => state.clone(),
        })
        .map_err(|message| world::observer_panicked(&message))
    }

    fn vector(&self, world: &World<N>) -> Result<Vec<u32>, Error> {
        let layout = &self.layout;
        let mut vector = vec![0; layout.node_base];
        layout.set_faults(&mut vector, world.faults);
        for (node, local) in world.locals.iter().enumerate() {
            vector.push(self.intern_state(Id::new(node), local.clone())?);
        }
        for (observer, state) in world.observers.iter().enumerate() {
            vector.push(self.intern_observer(observer, state.clone())?);
        }
        for (channel, queue) in world.queues.iter().enumerate() {
            let (from, to) = (Id::new(channel / layout.nodes), Id::new(channel % layout.nodes));
            let mut content = Vec::new();
            for msg in queue {
                content.push(self.intern_event(to, Event::Message { from, msg: msg.clone() })?);
            }
            vector.push(self.queues.of(content, |event| self.event(event).key));
        }
        let mut flight = Vec::new();
        for (envelope, count) in &world.flight {
            let event = self.intern_event(envelope.to, envelope.event.clone())?;
            flight.extend(std::iter::repeat_n(event, *count as usize));
        }
        Ok(layout.assemble(&vector, &flight))
    }

    pub(super) fn rename_local(&self, local: &Local<N>, renaming: &Renaming) -> Local<N> {
        let Some(renamer) = self.system.renamer else { return local.clone() };
        let mut timers: Vec<_> =
            local.timers.iter().map(|timer| (renamer.timer)(timer, renaming)).collect();
        timers.sort();
        timers.dedup();
        Local {
            node: (renamer.node)(&local.node, renaming),
            timers,
            fires_left: local.fires_left,
            up: local.up,
        }
    }

    pub(super) fn renamed_event(&self, event: &Event<N>, renaming: &Renaming) -> Event<N> {
        let Some(renamer) = self.system.renamer else { return event.clone() };
        match event {
            Event::Message { from, msg } => {
                Event::Message { from: renaming.of(*from), msg: (renamer.msg)(msg, renaming) }
            }
            Event::Timer(timer) => Event::Timer((renamer.timer)(timer, renaming)),
            Event::Call { call, next } => {
                Event::Call { call: (renamer.call)(call, renaming), next: *next }
            }
            Event::Crash => Event::Crash,
            Event::Restart => Event::Restart,
        }
    }
}

impl<N: Node> Space for LocalSpace<'_, N> {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn queues(&self) -> &Queues {
        &self.queues
    }

    fn initial(&self) -> Result<Initial, Error> {
        match World::start(self.system)? {
            Start::Panicked(message) => Ok(Initial::Panicked(message)),
            Start::Worlds(worlds) => {
                let vectors = worlds.iter().map(|world| self.vector(world));
                Ok(Initial::Vectors(vectors.collect::<Result<_, _>>()?))
            }
        }
    }

    fn event(&self, event: EventId) -> EventInfo {
        let node = self.layout.event_node(event);
        self.events[node].info(self.layout.event_local(event))
    }

    fn state(&self, node: usize, state: StateId) -> StateInfo {
        self.states[node].info(state)
    }

    fn acts_alone(&self) -> &AtomicBool {
        &self.acts_alone
    }

    fn crash(&self, node: usize) -> EventId {
        self.crashes[node]
    }

    fn steps(&self, state: StateId, event: EventId) -> Result<Arc<[Step]>, Error> {
        let part = (state.wrapping_mul(0x9E37_79B9) ^ event.wrapping_mul(0x85EB_CA6B)) >> 26;
        let mut part =
            self.steps[part as usize % PARTS].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(steps) = part.get(&(state, event)) {
            return Ok(Arc::clone(steps));
        }
        let steps = self.compute(state, event)?;
        part.insert((state, event), Arc::clone(&steps));
        Ok(steps)
    }

    fn observe(&self, observer: usize, state: u32, feed: FeedId) -> Result<u32, Error> {
        let before = self.observers.value(state).1.clone();
        let feed = self.feeds.value(feed);
        let mut after = before.clone();
        if let Some(event) = &feed.event {
            after = self.see(observer, after, world::seen(feed.node, event))?;
        }
        for output in &feed.outputs {
            after = self.see(observer, after, Seen::Output { node: feed.node, output })?;
        }
        self.intern_observer(observer, after)
    }

    fn view_key(&self, view: u32) -> u64 {
        self.views.info(view)
    }

    fn feed_key(&self, feed: FeedId) -> u64 {
        self.feeds.info(feed)
    }

    fn observer_key(&self, _: usize, state: u32) -> u64 {
        self.observers.info(state)
    }

    fn test(&self, property: usize, reads: &[u32]) -> Result<bool, Error> {
        world::test(self.system, property, &self.read(property, reads))
    }

    fn conjunct_counts(&self) -> Vec<usize> {
        self.system.properties.iter().map(|property| property.conjuncts.len()).collect()
    }

    fn conjuncts(&self, property: usize, reads: &[u32]) -> Result<u64, Error> {
        world::conjuncts(self.system, property, &self.read(property, reads))
    }

    fn property_name(&self, property: usize) -> String {
        self.system.properties[property].name.clone()
    }

    fn describe(&self, what: Happening<'_>) -> RunEvent {
        let (action, choices) = match what {
            Happening::Step { event, keep, choices } => {
                let (node, event) = self.event_of(event);
                (Action::Step { node, event: Event::clone(&event), keep }, choices)
            }
            Happening::Drop(event) => {
                let (to, event) = self.event_of(event);
                (Action::Drop(world::Envelope { to, event: Event::clone(&event) }), &[][..])
            }
            Happening::Partition(cut) => (Action::Partition(cut), &[][..]),
            Happening::Heal => (Action::Heal, &[][..]),
        };
        RunEvent { choices: choices.to_vec(), ..action.describe(self.system) }
    }

    fn rename_state(
        &self,
        node: usize,
        state: StateId,
        renaming: &Renaming,
    ) -> Result<StateId, Error> {
        let local = self.states[node].value(state);
        self.intern_state(renaming.of(Id::new(node)), self.rename_local(&local, renaming))
    }

    fn rename_event(&self, event: EventId, renaming: &Renaming) -> Result<EventId, Error> {
        let (to, event) = self.event_of(event);
        self.intern_event(renaming.of(to), self.renamed_event(&event, renaming))
    }

    fn blurred_state(&self, node: usize, state: StateId, renaming: &Renaming) -> u64 {
        let local = self.states[node].value(state);
        let place = renaming.of(Id::new(node)).index() as u64;
        key(domain::STATE + place, &self.rename_local(&local, renaming))
    }

    fn blurred_event(&self, event: EventId, renaming: &Renaming) -> u64 {
        let (to, event) = self.event_of(event);
        key(domain::EVENT, &(renaming.of(to), self.renamed_event(&event, renaming)))
    }

    fn costs(&self) -> Costs {
        Costs {
            handler_executions: self.handler_executions.load(Relaxed),
            guard_executions: self.guard_executions.load(Relaxed),
            replayed_handlers: self.replayed_handlers.load(Relaxed),
            user_nanos: self.user_nanos.load(Relaxed),
            local_states: self.states.iter().map(|states| states.len() as u64).sum(),
            local_events: self.events.iter().map(|events| events.len() as u64).sum(),
        }
    }
}
