//! The local fixpoint: everything that can happen before the events of a set do, and more.
//!
//! It starts at a global state. Every node has the state that it is in; every event in flight is
//! available, but for those of the set `T`. Then each node handles each event that is available to it in
//! each state that it is known to have: the states that it comes to and the events that are sent are
//! added, until nothing is new. Nodes do not wait for each other and little is consumed, so
//! this is more than can happen, never less: LMC's exploration (its figure 9) restarted at a state.
//!
//! One thing is known of what is consumed. An event is *single* if there is at most one of it in any run:
//! one in flight at the start and nobody sends another, or only the handling of one other single event
//! sends it, once. Of each state the fixpoint keeps which single events every way to it has used up; those
//! are not handled there. So a call that the driver makes once is not handled again and again, and a node that
//! keeps a history has an end.
//!
//! As each pair of a state and an event is looked at, it is tested whether the event commutes with those
//! events of `T` that the same node handles. Where it does not, `T` has to grow: each state and event
//! remembers its *root*, the event possible at the start that it derives from.

use super::exchange::{Commute, commute, feeds};
use super::group::{NO_ROOT, Root, Set};
use super::here::Here;
use crate::error::Error;
use crate::model::network::NetworkKind;
use crate::space::memo::{FIRST, MemoStep, flag};
use crate::space::vector::Layout;
use crate::space::{EventId, StateId};
use rustc_hash::{FxHashMap, FxHashSet};

/// So much work is done before a fixpoint is given up: see [`Fixpoint::work`].
pub(super) const MAX_WORK: u64 = 1 << 18;
/// A step that user code has to be asked for costs as much as so many that are known: if it
/// was asked already while the local graphs were explored, and if not.
pub(super) const CHEAP: u64 = 1 << 5;
pub(super) const DEAR: u64 = 1 << 8;
/// So many pairs of events are remembered.
const MAX_PAIRS: usize = 1 << 20;
/// The sender of what is in flight at the start.
const START: EventId = EventId::MAX;
/// The sender of what is not single.
const MANY: EventId = EventId::MAX - 1;

/// How a fixpoint ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// Every event of `T` commutes with everything else.
    Commutes,
    /// One does not: this group has to be in `T`, too.
    Add(Root),
    /// What was watched for was found: see [`Watch`].
    Found,
    /// Too much for a fixpoint.
    Explodes,
}

/// What ends a fixpoint early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Watch {
    Nothing,
    /// Something outside of `T` that a property sees: what it derives from has to be in `T`, too.
    Visible,
    /// This group of `T` is seen by a property in some state, or disabled: [`End::Found`].
    Key(Root),
}

/// What a node may come to.
#[derive(Default)]
struct Part {
    states: Vec<StateId>,
    state_roots: Vec<Root>,
    state_places: Places,
    /// For each state, which of the first events every way to it has used up: a bit for each.
    used: Vec<u64>,
    events: Vec<EventId>,
    event_roots: Vec<Root>,
    /// For each event, the event whose handling sends it: [`START`], or [`MANY`] if it is not single.
    senders: Vec<EventId>,
    event_places: Places,
    /// States that turned out to be reachable with less used up: all is to be handled there once more,
    /// for what they lead to may be reachable with less used up, too.
    again: Vec<usize>,
    /// So many states and events have been put together.
    done: (usize, usize),
    /// The events of `T` that this node handles, and their here.groups.
    mine: Vec<(EventId, Root)>,
    /// From which nodes nothing can arrive before `T`, on an ordered network.
    shut: u128,
}

/// A fixpoint, reused from state to state.
pub(super) struct Fixpoint {
    parts: Vec<Part>,
    number: u32,
    /// Pairs of a state and an event that were looked at.
    pairs: u64,
    /// How many steps were asked for before, and are now.
    asked: (u64, u64),
    /// Give up after so much work.
    pub max_work: u64,
    /// Give up if there are more states of nodes than this.
    pub max_states: usize,
    /// How many there are.
    found: usize,
    /// What it costs to ask for a step.
    asked_cost: u64,
    /// For a state and two events, whether the first of them commutes with the second, of a set.
    commutes: FxHashMap<(StateId, EventId, EventId), Commute>,
    /// Events that were taken to be single once and turned out not to be.
    not_single: FxHashSet<EventId>,
    /// Whether messages may be single.
    consumes: bool,
    pub watch: Watch,
    /// The steps of each node, from state to state, if they are asked for.
    pub edges: Option<Vec<(usize, StateId, StateId)>>,
    /// The groups of `T` that something may disable, with the root of what does.
    pub disabled: Vec<(Root, Root)>,
    /// The first thing outside `T` that a property can see, by its root.
    pub visible: Option<Root>,
    /// The first handler outside `T` that panics, by its root.
    pub panics: Option<Root>,
    /// What observers may see of things outside `T`, with roots.
    pub feeds: Vec<(u32, Root)>,
}

impl Fixpoint {
    pub fn new(layout: &Layout, asked_cost: u64) -> Self {
        Fixpoint {
            parts: (0..layout.nodes).map(|_| Part::default()).collect(),
            number: 0,
            pairs: 0,
            asked: (0, 0),
            max_work: MAX_WORK,
            max_states: usize::MAX,
            found: 0,
            asked_cost,
            commutes: FxHashMap::default(),
            not_single: FxHashSet::default(),
            consumes: false,
            watch: Watch::Nothing,
            edges: None,
            disabled: Vec::new(),
            visible: None,
            panics: None,
            feeds: Vec::new(),
        }
    }

    /// The states that a node may come to, the one that it is in first.
    pub fn states(&self, node: usize) -> &[StateId] {
        &self.parts[node].states
    }

    /// What this fixpoint has cost, in pairs of a state and an event that were looked at.
    pub fn work(&self) -> u64 {
        self.pairs + self.asked_cost * (self.asked.1 - self.asked.0)
    }

    /// The events that are available, each with whether it is single.
    pub fn events(&self) -> impl Iterator<Item = (EventId, bool)> {
        let events = self.parts.iter().flat_map(|part| part.events.iter().zip(&part.senders));
        events.map(|(event, sender)| (*event, *sender != MANY))
    }

    /// What the state at this place of a node's states derives from.
    pub fn root(&self, node: usize, place: usize) -> Root {
        self.parts[node].state_roots[place]
    }

    /// Whether an event commutes with one of a set, when their node is in this state: remembered.
    pub fn commute(
        &mut self,
        here: &mut Here<'_, '_>,
        state: StateId,
        event: EventId,
        mine: EventId,
    ) -> Result<Commute, Error> {
        if let Some(known) = self.commutes.get(&(state, event, mine)) {
            return Ok(*known);
        }
        let found = commute(here, state, event, mine)?;
        if self.commutes.len() >= MAX_PAIRS {
            self.commutes.clear();
        }
        self.commutes.insert((state, event, mine), found);
        Ok(found)
    }

    /// Computes everything that may happen here before an event of `set` does. Without groups, roots
    /// mean nothing.
    pub fn compute(&mut self, here: &mut Here<'_, '_>, set: Set) -> Result<End, Error> {
        loop {
            let wrong = self.not_single.len();
            self.begin(here, set);
            let end = self.complete(here)?;
            // Each time, one event more is known not to be single.
            if end != End::Explodes || self.not_single.len() == wrong {
                return Ok(end);
            }
        }
    }

    fn complete(&mut self, here: &mut Here<'_, '_>) -> Result<End, Error> {
        let crashes = here.layout.faults(here.vector).crashes > 0;
        let mut idle = 0;
        let mut node = 0;
        while idle < here.layout.nodes {
            match self.settle(here, node, crashes)? {
                None => idle += 1,
                Some(End::Commutes) => idle = 0,
                Some(end) => return Ok(end),
            }
            node = (node + 1) % here.layout.nodes;
        }
        Ok(End::Commutes)
    }

    fn begin(&mut self, here: &mut Here<'_, '_>, set: Set) {
        self.number = self.number.wrapping_add(1);
        self.pairs = 0;
        self.found = 0;
        self.asked = (here.memo.misses, here.memo.misses);
        self.disabled.clear();
        self.visible = None;
        self.panics = None;
        self.feeds.clear();
        for (node, part) in self.parts.iter_mut().enumerate() {
            if self.number == 0 {
                part.state_places.0.fill((0, 0));
                part.event_places.0.fill((0, 0));
            }
            part.states.clear();
            part.state_roots.clear();
            part.events.clear();
            part.event_roots.clear();
            part.used.clear();
            part.senders.clear();
            part.again.clear();
            part.mine.clear();
            part.done = (0, 0);
            part.shut = 0;
            part.states.push(here.vector[here.layout.node_base + node]);
            part.state_roots.push(NO_ROOT);
            part.used.push(0);
        }
        self.number = self.number.max(1);
        let number = self.number;
        for part in &mut self.parts {
            part.state_places.set(part.states[0], number, 0);
        }
        for (at, group) in here.groups.iter().enumerate() {
            if set >> at & 1 == 1 {
                let part = &mut self.parts[usize::from(group.node)];
                part.mine.push((group.event, at as Root));
                // An event of the set is never available: as if it were known already.
                part.event_places.set(here.layout.event_local(group.event), number, NO_PLACE);
            }
        }
        self.consumes = here.layout.network != NetworkKind::Duplicating
            && here.layout.faults(here.vector).duplications == 0;
        for &event in here.layout.flight(here.vector) {
            self.add_event(here, event, NO_ROOT, START);
        }
        if here.layout.network == NetworkKind::Ordered {
            self.add_queues(here, set);
        }
    }

    /// What is in the queues: all of it, but for what has to wait for an event of the set.
    fn add_queues(&mut self, here: &mut Here<'_, '_>, set: Set) {
        for (pair, &queue) in
            here.vector[here.layout.queue_base..here.layout.ends_base].iter().enumerate()
        {
            let (from, to) = (pair / here.layout.nodes, pair % here.layout.nodes);
            let Some(head) = here.memo.head(queue) else { continue };
            let group = here.groups.iter().position(|group| group.event == head);
            match group {
                Some(group) if set >> group & 1 == 1 => {
                    if from < 128 {
                        self.parts[to].shut |= 1 << from;
                    }
                }
                _ => {
                    self.add_event(here, head, NO_ROOT, START);
                    // What is behind the first can happen only after it.
                    let root = group.map_or(NO_ROOT, |group| group as Root);
                    for event in here.memo.space.queues().content(queue).into_iter().skip(1) {
                        self.add_event(here, event, root, START);
                    }
                }
            }
        }
    }

    /// Makes an event available that this other one sends; false if it was taken to be single and is
    /// not: then this fixpoint is wrong.
    fn add_event(
        &mut self,
        here: &mut Here<'_, '_>,
        event: EventId,
        root: Root,
        sender: EventId,
    ) -> bool {
        let part = &mut self.parts[here.layout.event_node(event)];
        let local = here.layout.event_local(event);
        let Some(at) = part.event_places.get(local, self.number) else {
            part.event_places.set(local, self.number, part.events.len() as u32);
            let info = here.memo.event(event);
            let single = (self.consumes || !info.is_message())
                && part.events.len() < 64
                && !self.not_single.contains(&event);
            part.events.push(event);
            part.event_roots.push(root);
            part.senders.push(if single { sender } else { MANY });
            return true;
        };
        // One of the set is known, but not among the events.
        if at == NO_PLACE {
            return true;
        }
        let at = at as usize;
        match part.senders[at] {
            MANY => true,
            known if known == sender && known != START => true,
            _ if sender == START => {
                // Nothing was derived from it yet.
                part.senders[at] = MANY;
                true
            }
            _ => {
                self.not_single.insert(event);
                false
            }
        }
    }

    /// Puts together what a node has not put together yet; nothing if there is nothing.
    fn settle(
        &mut self,
        here: &mut Here<'_, '_>,
        node: usize,
        crashes: bool,
    ) -> Result<Option<End>, Error> {
        let mut any = None;
        loop {
            let end;
            let part = &mut self.parts[node];
            let (states, events) = part.done;
            if let Some(place) = part.again.pop() {
                // What was not handled yet will be.
                end = match place < states {
                    true => self.row(here, (node, place), events, crashes)?,
                    false => End::Commutes,
                };
            } else if events < part.events.len() {
                part.done.1 += 1;
                end = self.column(here, (node, events), states)?;
            } else if states < part.states.len() {
                part.done.0 += 1;
                end = self.row(here, (node, states), events, crashes)?;
            } else {
                return Ok(any);
            }
            if end != End::Commutes {
                return Ok(Some(end));
            }
            any = Some(End::Commutes);
        }
    }

    /// A node handles one of its events in its first states.
    fn column(
        &mut self,
        here: &mut Here<'_, '_>,
        (node, at): (usize, usize),
        states: usize,
    ) -> Result<End, Error> {
        let event = self.parts[node].events[at];
        self.pairs += states as u64;
        for place in 0..states {
            if !here.memo.inert(node, self.parts[node].states[place]).has(event) {
                let end = self.pair(here, (node, place), (event, Some(at)))?;
                if end != End::Commutes {
                    return Ok(end);
                }
            }
        }
        Ok(End::Commutes)
    }

    /// A node in one of its states handles its first events, and what can happen there without any.
    fn row(
        &mut self,
        here: &mut Here<'_, '_>,
        (node, place): (usize, usize),
        events: usize,
        crashes: bool,
    ) -> Result<End, Error> {
        let state = self.parts[node].states[place];
        if let Watch::Key(key) = self.watch {
            let key = &here.groups[usize::from(key)];
            if usize::from(key.node) == node && !here.is_invisible(key.event, state) {
                return Ok(End::Found);
            }
        }
        self.pairs += events as u64;
        for at in 0..events {
            let event = self.parts[node].events[at];
            if !here.memo.inert(node, state).has(event) {
                let end = self.pair(here, (node, place), (event, Some(at)))?;
                if end != End::Commutes {
                    return Ok(end);
                }
            }
        }
        self.inside(here, (node, place), state, crashes)
    }

    /// What can happen in a state without anything in flight.
    fn inside(
        &mut self,
        here: &mut Here<'_, '_>,
        (node, place): (usize, usize),
        state: StateId,
        crashes: bool,
    ) -> Result<End, Error> {
        let crash = (crashes && here.memo.is_up(node, state)).then(|| here.memo.space.crash(node));
        let inside = here.memo.internal(node, state);
        for at in inside.map(Some).chain([None]) {
            let event = match at {
                Some(at) => here.memo.internal_event(at),
                None => match crash {
                    Some(crash) => crash,
                    None => break,
                },
            };
            if self.parts[node].mine.iter().all(|(mine, _)| *mine != event) {
                let end = self.pair(here, (node, place), (event, None))?;
                if end != End::Commutes {
                    return Ok(end);
                }
            }
        }
        Ok(End::Commutes)
    }

    /// A node handles an event outside `T` in one of its states.
    fn pair(
        &mut self,
        here: &mut Here<'_, '_>,
        (node, place): (usize, usize),
        (event, at): (EventId, Option<usize>),
    ) -> Result<End, Error> {
        self.asked.1 = here.memo.misses;
        if self.work() > self.max_work || self.found > self.max_states {
            return Ok(End::Explodes);
        }
        let part = &self.parts[node];
        let (state, used) = (part.states[place], part.used[place]);
        let single = at.filter(|at| part.senders[*at] != MANY);
        if single.is_some_and(|at| used >> at & 1 == 1) {
            return Ok(End::Commutes);
        }
        let event_root = at.map_or(NO_ROOT, |at| part.event_roots[at]);
        let used = used | single.map_or(0, |at| 1 << at);
        let sender = if single.is_some() { event } else { MANY };
        let mut code = here.memo.code_anywhere(state, event)?;
        if code < FIRST {
            return Ok(End::Commutes);
        }
        let root = match (event_root, self.parts[node].state_roots[place]) {
            (NO_ROOT, NO_ROOT) if here.groups.is_empty() => 0,
            (NO_ROOT, NO_ROOT) => {
                match here.groups.iter().position(|group| group.event == event) {
                    Some(group) => group as Root,
                    // It is no step here: nothing changes but what an observer may see, and that does
                    // not move. Whether it is one later depends on what else observers see.
                    None => {
                        return Ok(if feeds(here.memo, code) {
                            End::Explodes
                        } else {
                            End::Commutes
                        });
                    }
                }
            }
            (NO_ROOT, root) => root,
            (root, _) => root,
        };
        for at in 0..self.parts[node].mine.len() {
            let (mine, group) = self.parts[node].mine[at];
            match self.commute(here, state, event, mine)? {
                Commute::Always => {}
                Commute::Disables if self.watch == Watch::Key(group) => return Ok(End::Found),
                Commute::Disables => self.disabled.push((group, root)),
                Commute::Not => return Ok(End::Add(root)),
            }
        }
        loop {
            let step = *here.memo.step(code);
            if step.flags & flag::PANIC != 0 {
                self.panics.get_or_insert(root);
                self.visible.get_or_insert(root);
            } else {
                if let Some(edges) = &mut self.edges {
                    edges.push((node, state, step.next));
                }
                if !self.step(here, node, &step, root, (used, sender)) {
                    return Ok(End::Explodes);
                }
            }
            if let (Watch::Visible, Some(root)) = (self.watch, self.visible) {
                return Ok(End::Add(root));
            }
            if step.flags & flag::LAST != 0 {
                return Ok(End::Commutes);
            }
            code += 1;
        }
    }

    /// What comes of a step of an event, with which these are used up; false if the fixpoint is wrong.
    fn step(
        &mut self,
        here: &mut Here<'_, '_>,
        node: usize,
        step: &MemoStep,
        root: Root,
        (used, sender): (u64, EventId),
    ) -> bool {
        if step.flags & flag::VIEWS != 0 || step.feed != 0 {
            self.visible.get_or_insert(root);
        }
        if step.feed != 0 && self.feeds.iter().all(|(feed, _)| *feed != step.feed) {
            self.feeds.push((step.feed, root));
        }
        let part = &mut self.parts[node];
        match part.state_places.get(step.next, self.number) {
            None => {
                part.state_places.set(step.next, self.number, part.states.len() as u32);
                part.states.push(step.next);
                self.found += 1;
                part.state_roots.push(root);
                part.used.push(used);
            }
            Some(place) => {
                let place = place as usize;
                let before = part.used[place];
                if before & !used != 0 {
                    part.used[place] = before & used;
                    part.again.push(place);
                }
            }
        }
        for index in 0..here.memo.sends(step).len() {
            let event = here.memo.sends(step)[index];
            let shut = self.parts[here.layout.event_node(event)].shut;
            if node < 128 && shut >> node & 1 == 1 && here.memo.event(event).is_message() {
                continue;
            }
            let twice = here.memo.sends(step)[..index].contains(&event);
            let sender = if twice { MANY } else { sender };
            if !self.add_event(here, event, root, sender) {
                return false;
            }
        }
        true
    }
}

/// A place for what has none.
const NO_PLACE: u32 = u32::MAX;

/// For numbers of states or events, the number of the fixpoint that knows them, and their place there.
#[derive(Default)]
struct Places(Vec<(u32, u32)>);

impl Places {
    #[inline]
    fn get(&self, at: u32, number: u32) -> Option<u32> {
        self.0.get(at as usize).filter(|known| known.0 == number).map(|known| known.1)
    }

    #[inline]
    fn set(&mut self, at: u32, number: u32, place: u32) {
        let at = at as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1 + at / 2, (0, 0));
        }
        self.0[at] = (number, place);
    }
}
