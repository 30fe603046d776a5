//! The fixpoint over the local space (the paper's figure 9, lines 2 to 14): for each node the graph of
//! its local states, and one network that only grows. Every event is tried on every state of its
//! node, once.
//!
//! What a real network allows and this one does not is kept beside the local states, so that it is not
//! lost, but only where it matters:
//!
//! - How often an event was used, for *counted* events: calls, and messages of which
//!   it [turned out](super::counting) that it matters. A counted event is used at most as often as its
//!   cap says.
//! - On ordered networks, how many messages came in on each channel and how many went out. A message is
//!   known by its place in its channel, and a node takes them in order: as TCP does with sequence
//!   numbers. So a message that comes out of order, which the paper would try and TCP would not,
//!   is not tried.
//!
//! Work goes in rounds: each puts together what became known in the one before, so that after `d` rounds
//! every local step of every run of `d` events is known. Steps are computed on all threads; what
//! comes of them is entered by one.
//!
//! Events that a node makes by itself (timers, calls, crashes, restarts) can be held back: a state from
//! which as many were used as [`Graphs::local_events`] allows waits until nothing else is left to do
//! (section 4.2, "Local events"). In the end they are all tried.

use super::Stop;
use super::share::share;
use crate::engine::budget::Budget;
use crate::error::Error;
use crate::model::network::NetworkKind;
use crate::space::{EventId, Next, Source, Space, StateId, Step, StepEnd};
use rustc_hash::FxHashMap;
use std::hash::Hash;
use std::sync::Arc;

/// A local state with what is kept beside it, numbered for each node from zero.
pub(super) type Place = u32;
/// An event in the network.
pub(super) type MailId = u32;

/// The state of a node whose handler has panicked.
pub(super) const PANICKED: StateId = StateId::MAX;
/// The most messages on one channel of an ordered network that are told apart by place.
const MAX_PLACES: u16 = 1_000;
/// What is kept beside local states may make them so many times as many, and then so many more.
const MANY_BESIDE: usize = 8;
const FEW_BESIDE: usize = 2_048;
/// So many states are one piece of work.
const PIECE: usize = 64;

/// An event in the network; on an ordered one, with its place in its channel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Mail {
    pub event: EventId,
    pub place: u16,
}

/// What an edge needs to be taken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum Need {
    /// Nothing: a timer, a restart.
    Nothing,
    /// A crash that the budget still allows.
    Crash,
    /// So many copies of this have been sent.
    Mail(MailId, u16),
}

/// A local step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub from: Place,
    pub to: Place,
    pub event: EventId,
    /// Which of the results of the event in its state.
    pub step: u32,
    pub need: Need,
    /// Number of a list of mail: see [`Graphs::sends`].
    pub sends: u32,
}

/// The local states of one node.
#[derive(Default)]
pub(super) struct NodeGraph {
    /// A local state, and the number of what is kept beside it.
    pub states: Vec<(StateId, u32)>,
    index: FxHashMap<(StateId, u32), Place>,
    /// How many events a node has made by itself on the way here.
    own: Vec<u32>,
    pub edges: Vec<Edge>,
    /// What this node may be sent.
    pub mail: Vec<MailId>,
    /// So many states and mails have been put together.
    done: (usize, usize),
    /// What waits for more local events to be allowed.
    waiting: Vec<(Place, Cause)>,
    /// The same, allowed now.
    released: Vec<(Place, Cause)>,
}

/// What brings a step about.
#[derive(Clone, Copy)]
enum Cause {
    Mail(MailId),
    Inside(EventId),
    Crash(EventId),
}

/// How the system may start.
pub(super) struct Start {
    /// The local state of each node.
    pub places: Vec<Place>,
    /// What is in flight, as often as it is.
    pub mail: Vec<MailId>,
}

/// Each distinct value once.
pub(super) struct Numbers<T> {
    pub values: Vec<Arc<T>>,
    index: FxHashMap<Arc<T>, u32>,
}

impl<T: Eq + Hash> Default for Numbers<T> {
    fn default() -> Self {
        Numbers { values: Vec::new(), index: FxHashMap::default() }
    }
}

impl<T: Eq + Hash> Numbers<T> {
    pub fn of(&mut self, value: T) -> u32 {
        if let Some(number) = self.index.get(&value) {
            return *number;
        }
        let value = Arc::new(value);
        let number = self.values.len() as u32;
        self.values.push(Arc::clone(&value));
        self.index.insert(value, number);
        number
    }
}

/// What is kept beside a local state: what is counted, with how much, sorted. Zeros are left out.
type Beside = Vec<(Counted, u16)>;

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Counted {
    Used(EventId),
    From(u32),
    To(u32),
}

fn count(beside: &Beside, what: Counted) -> u16 {
    beside.binary_search_by_key(&what, |entry| entry.0).map_or(0, |at| beside[at].1)
}

fn add(beside: &mut Beside, what: Counted, by: u16) {
    match beside.binary_search_by_key(&what, |entry| entry.0) {
        Ok(at) => beside[at].1 = beside[at].1.saturating_add(by),
        Err(at) => beside.insert(at, (what, by)),
    }
}

/// How often counted events may be used at most. Calls are counted even if they are not here: then once.
pub(super) type Caps = FxHashMap<EventId, u16>;

pub(super) struct Graphs<'a> {
    pub space: &'a dyn Space,
    pub caps: Caps,
    /// How many crashes there may be in a run, and how often a copy of a message may stay in flight.
    pub crashes: u8,
    pub duplications: u8,
    pub nodes: Vec<NodeGraph>,
    pub mails: Vec<Mail>,
    mail_index: FxHashMap<Mail, MailId>,
    beside: Numbers<Beside>,
    /// Lists of mail, sorted, each as often as it is sent.
    pub sends: Numbers<Vec<MailId>>,
    pub starts: Vec<Start>,
    /// Rounds so far.
    pub rounds: u64,
    /// So many events of its own a node may make before the others wait.
    pub local_events: u32,
    /// Pairs of a state and an event put together so far.
    pub pairs: u64,
}

/// What a thread found: a state, what happened in it, and what comes of that.
type Found = (Place, Cause, EventId, Arc<[Step]>);

impl<'a> Graphs<'a> {
    /// The graphs at the start.
    pub fn new(space: &'a dyn Space, vectors: &[Vec<u32>], caps: Caps) -> Result<Self, Stop> {
        let layout = space.layout();
        let faults = vectors.first().map(|vector| layout.faults(vector)).unwrap_or_default();
        let mut graphs = Graphs {
            space,
            caps,
            crashes: faults.crashes,
            duplications: faults.duplications,
            nodes: (0..layout.nodes).map(|_| NodeGraph::default()).collect(),
            mails: Vec::new(),
            mail_index: FxHashMap::default(),
            beside: Numbers::default(),
            sends: Numbers::default(),
            starts: Vec::new(),
            rounds: 0,
            local_events: 0,
            pairs: 0,
        };
        graphs.sends.of(Vec::new());
        for vector in vectors {
            let mut beside = vec![Beside::new(); layout.nodes];
            let mut mail = Vec::new();
            for &event in layout.flight(vector) {
                mail.push(graphs.mail(Mail { event, place: 0 }));
            }
            for (channel, &queue) in vector[layout.queue_base..layout.ends_base].iter().enumerate()
            {
                let (from, to) = (channel / layout.nodes, channel % layout.nodes);
                let content = space.queues().content(queue);
                for (place, &event) in content.iter().enumerate() {
                    mail.push(graphs.mail(Mail { event, place: place as u16 }));
                }
                if !content.is_empty() {
                    add(&mut beside[from], Counted::To(to as u32), content.len() as u16);
                }
            }
            let states = &vector[layout.node_base..layout.observer_base];
            let places = states.iter().zip(beside).enumerate();
            let places = places.map(|(node, (&state, beside))| {
                let beside = graphs.beside.of(beside);
                graphs.place(node, (state, beside), 0)
            });
            let places = places.collect();
            graphs.starts.push(Start { places, mail });
        }
        Ok(graphs)
    }

    fn is_ordered(&self) -> bool {
        self.space.layout().network == NetworkKind::Ordered
    }

    fn mail(&mut self, mail: Mail) -> MailId {
        if let Some(id) = self.mail_index.get(&mail) {
            return *id;
        }
        let id = self.mails.len() as MailId;
        self.mails.push(mail);
        self.mail_index.insert(mail, id);
        self.nodes[self.space.layout().event_node(mail.event)].mail.push(id);
        id
    }

    fn place(&mut self, node: usize, state: (StateId, u32), own: u32) -> Place {
        let graph = &mut self.nodes[node];
        *graph.index.entry(state).or_insert_with(|| {
            graph.states.push(state);
            graph.own.push(own);
            graph.states.len() as Place - 1
        })
    }

    pub fn is_call(&self, event: EventId) -> bool {
        self.space.event(event).source == Source::Driver
    }

    /// How often an event may be used, if that is counted.
    pub fn cap(&self, event: EventId) -> Option<u16> {
        match self.caps.get(&event) {
            Some(cap) => Some(*cap),
            None => self.is_call(event).then_some(1),
        }
    }

    /// How many local states there are.
    pub fn size(&self) -> usize {
        self.nodes.iter().map(|graph| graph.states.len()).sum()
    }

    /// About how many bytes they take.
    pub fn memory(&self) -> u64 {
        let of = |graph: &NodeGraph| {
            graph.states.len() * 40 + graph.edges.len() * std::mem::size_of::<Edge>()
        };
        self.nodes.iter().map(of).sum::<usize>() as u64 + self.pairs * 48
    }

    /// How many there are without what is kept beside them, at most.
    fn distinct(&self) -> usize {
        self.space.costs().local_states as usize
    }

    /// Whether everything was put together that is known, but for what waits.
    pub fn is_settled(&self) -> bool {
        self.nodes.iter().all(|graph| {
            graph.done == (graph.states.len(), graph.mail.len()) && graph.released.is_empty()
        })
    }

    /// Lets nodes make more events of their own; false if none waits for that.
    pub fn release(&mut self) -> bool {
        let own = |graph: &NodeGraph| {
            graph.waiting.iter().map(|(place, _)| graph.own[*place as usize]).min()
        };
        let Some(least) = self.nodes.iter().filter_map(own).min() else {
            return false;
        };
        self.local_events = self.local_events.max(least + 1);
        for graph in &mut self.nodes {
            let waiting = std::mem::take(&mut graph.waiting);
            let (now, later): (Vec<_>, Vec<_>) = waiting
                .into_iter()
                .partition(|(place, _)| graph.own[*place as usize] < self.local_events);
            graph.released = now;
            graph.waiting = later;
        }
        true
    }

    /// One round; true if there was nothing left to do.
    pub fn round(&mut self, threads: usize, budget: &Budget) -> Result<bool, Stop> {
        if self.is_settled() {
            return Ok(true);
        }
        self.rounds += 1;
        if self.size() > MANY_BESIDE * self.distinct() + FEW_BESIDE {
            let why = "telling apart how often messages were used takes too many states";
            return Err(Stop::FallBack(why));
        }
        for node in 0..self.nodes.len() {
            let (states, mails) = (self.nodes[node].states.len(), self.nodes[node].mail.len());
            let (old_states, old_mails) = self.nodes[node].done;
            let released = std::mem::take(&mut self.nodes[node].released);
            let found = self.put_together(
                &Work { node, states, mails, old_states, old_mails, released },
                threads,
                budget,
            )?;
            self.nodes[node].done = (states, mails);
            for piece in found {
                self.pairs += piece.pairs;
                self.nodes[node].waiting.extend(piece.waiting);
                for (place, cause, event, steps) in piece.found {
                    self.enter(node, place, cause, event, &steps)?;
                }
            }
        }
        Ok(false)
    }

    /// Computes what is new of one node, on all threads.
    fn put_together(
        &self,
        work: &Work,
        threads: usize,
        budget: &Budget,
    ) -> Result<Vec<Piece>, Stop> {
        let pieces = work.states.div_ceil(PIECE);
        // The last piece is what was released.
        let pieces = pieces + usize::from(!work.released.is_empty());
        share(threads, pieces, |number| match budget.reached(self.size() as u64, self.memory()) {
            Some(bound) => Err(Stop::Bound(bound)),
            None => self.piece(work, number),
        })
    }

    fn piece(&self, work: &Work, number: usize) -> Result<Piece, Stop> {
        let mut piece = Piece::default();
        let first = number * PIECE;
        if first >= work.states {
            for &(place, cause) in &work.released {
                self.handle(work.node, place, cause, &mut piece)?;
            }
            return Ok(piece);
        }
        let graph = &self.nodes[work.node];
        for place in first..(first + PIECE).min(work.states) {
            let (state, _) = graph.states[place];
            if state == PANICKED {
                continue;
            }
            let is_new = place >= work.old_states;
            let waits = graph.own[place] >= self.local_events;
            let mails = if is_new { 0 } else { work.old_mails }..work.mails;
            for &mail in &graph.mail[mails] {
                let cause = Cause::Mail(mail);
                if waits && self.is_call(self.mails[mail as usize].event) {
                    piece.waiting.push((place as Place, cause));
                } else {
                    self.handle(work.node, place as Place, cause, &mut piece)?;
                }
            }
            if !is_new {
                continue;
            }
            let info = self.space.state(work.node, state);
            let inside = info.internal.iter().map(|&event| Cause::Inside(event));
            let crash =
                (self.crashes > 0 && info.up).then(|| Cause::Crash(self.space.crash(work.node)));
            for cause in inside.chain(crash) {
                if waits {
                    piece.waiting.push((place as Place, cause));
                } else {
                    self.handle(work.node, place as Place, cause, &mut piece)?;
                }
            }
        }
        Ok(piece)
    }

    /// A node handles an event in a state, if it can.
    fn handle(
        &self,
        node: usize,
        place: Place,
        cause: Cause,
        piece: &mut Piece,
    ) -> Result<(), Stop> {
        let (state, beside) = self.nodes[node].states[place as usize];
        let event = match cause {
            Cause::Inside(event) | Cause::Crash(event) => event,
            Cause::Mail(mail) => {
                let mail = self.mails[mail as usize];
                let beside = &self.beside.values[beside as usize];
                let used = count(beside, Counted::Used(mail.event));
                if self.cap(mail.event).is_some_and(|cap| used >= cap) {
                    return Ok(());
                }
                let source = self.space.event(mail.event).source;
                if let (true, Source::Node(from)) = (self.is_ordered(), source)
                    && count(beside, Counted::From(from)) != mail.place
                {
                    return Ok(());
                }
                mail.event
            }
        };
        piece.pairs += 1;
        let steps = self.space.steps(state, event)?;
        if !steps.is_empty() {
            piece.found.push((place, cause, event, steps));
        }
        Ok(())
    }

    /// Enters what comes of an event in a state.
    fn enter(
        &mut self,
        node: usize,
        from: Place,
        cause: Cause,
        event: EventId,
        steps: &[Step],
    ) -> Result<(), Stop> {
        let (state, before) = self.nodes[node].states[from as usize];
        let mut own = self.nodes[node].own[from as usize];
        let source = self.space.event(event).source;
        if source == Source::Driver || source == Source::Inside {
            own += 1;
        }
        for (number, step) in steps.iter().enumerate() {
            let (after, sends, need);
            let counts = Arc::clone(&self.beside.values[before as usize]);
            let mut beside = None;
            need = match cause {
                Cause::Inside(_) => Need::Nothing,
                Cause::Crash(_) => Need::Crash,
                Cause::Mail(mail) if self.cap(event).is_some() => {
                    let counted = Counted::Used(event);
                    add(beside.get_or_insert_with(|| Beside::clone(&counts)), counted, 1);
                    // In order, each copy is a mail of its own, with its place.
                    let is_alone = self.is_ordered() && source != Source::Driver;
                    Need::Mail(mail, if is_alone { 1 } else { count(&counts, counted) + 1 })
                }
                Cause::Mail(mail) => Need::Mail(mail, 1),
            };
            if let (true, Source::Node(sender)) = (self.is_ordered(), source) {
                let counted = Counted::From(sender);
                add(beside.get_or_insert_with(|| Beside::clone(&counts)), counted, 1);
            }
            match &step.end {
                StepEnd::Panicked(_) => {
                    after = (PANICKED, 0);
                    sends = 0;
                }
                StepEnd::Next(next) => {
                    sends = self.send(next, &counts, &mut beside)?;
                    // What changes nothing is not a step, and uses nothing up.
                    if next.state == state && next.sends.is_empty() && !self.is_ordered() {
                        continue;
                    }
                    let beside = match beside {
                        Some(beside) => self.beside.of(beside),
                        None => before,
                    };
                    after = (next.state, beside);
                }
            }
            let to = self.place(node, after, own);
            if to == from && sends == 0 {
                continue;
            }
            let step = number as u32;
            self.nodes[node].edges.push(Edge { from, to, event, step, need, sends });
        }
        Ok(())
    }

    /// Puts what a step sends into the network; returns the number of the list.
    fn send(
        &mut self,
        next: &Next,
        counts: &Beside,
        beside: &mut Option<Beside>,
    ) -> Result<u32, Stop> {
        if next.sends.is_empty() {
            return Ok(0);
        }
        let is_ordered = self.is_ordered();
        let mut list = Vec::with_capacity(next.sends.len());
        for &event in &next.sends {
            let mut place = 0;
            if is_ordered && !self.is_call(event) {
                let to = Counted::To(self.space.layout().event_node(event) as u32);
                let beside = beside.get_or_insert_with(|| Beside::clone(counts));
                place = count(beside, to);
                if place >= MAX_PLACES {
                    return Err(Stop::FallBack("channels take messages without end"));
                }
                add(beside, to, 1);
            }
            list.push(self.mail(Mail { event, place }));
        }
        list.sort_unstable();
        Ok(self.sends.of(list))
    }
}

/// What one node has to put together in a round.
struct Work {
    node: usize,
    states: usize,
    mails: usize,
    old_states: usize,
    old_mails: usize,
    released: Vec<(Place, Cause)>,
}

#[derive(Default)]
struct Piece {
    found: Vec<Found>,
    waiting: Vec<(Place, Cause)>,
    pairs: u64,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Error(error)
    }
}
