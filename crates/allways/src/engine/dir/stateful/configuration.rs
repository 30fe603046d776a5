//! What a component may be in: its configurations, and its moves from one to the next.
//!
//! A component is some nodes seen from outside. Its *configuration* is the states of these nodes with all that is on the way
//! from one of them to another, and the calls that wait for them: what nobody else can see or touch. A *move* is a step of one
//! of the nodes. All that the others can tell of it is its [`Label`]: which message from outside it took, which it sent there, what
//! observers saw of it. A move with nothing of the kind is *silent*.
//!
//! Calls that release calls of others are outside, too. Where the network itself may do something to messages (lose them, copy them, part), all of them are outside, also those within a component: its
//! budgets are shared by all.

use crate::error::Error;
use crate::model::network::NetworkKind;
use crate::space::{EventId, FeedId, Next, Source, Space, StepEnd};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A configuration of a component, by number.
pub(super) type ConfigurationId = u32;

/// No event, no configuration.
pub(super) const NONE: u32 = u32::MAX;

/// What others can tell of a move.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Label {
    /// What it takes from outside; [`NONE`] if nothing.
    pub taken: EventId,
    /// Whether it is a crash, of which there are only so many in all.
    pub is_crash: bool,
    /// Whether nothing changes but what observers know, and that it was taken.
    pub is_trivial: bool,
    /// What is sent to others. The order matters where the network keeps it.
    pub sends: Box<[EventId]>,
    pub feed: FeedId,
}

/// A label, by number.
pub(super) type LabelId = u32;

/// That of silent moves.
pub(super) const SILENT: LabelId = 0;

/// A step of a node of the component.
#[derive(Clone, Debug)]
pub(super) struct Move {
    pub label: LabelId,
    /// Where it leads; [`NONE`] if the handler panics.
    pub to: ConfigurationId,
    pub event: EventId,
    pub choices: Box<[u32]>,
}

/// Which node belongs to which component.
#[derive(Clone, Debug)]
pub(super) struct Components {
    pub nodes: Vec<Vec<usize>>,
    /// For each node, its component and its place there.
    pub of: Vec<(usize, usize)>,
    /// Whether messages within a component are its own business, and whether calls of its nodes are.
    keeps_inside: bool,
    keeps_calls: bool,
}

impl Components {
    pub fn new(nodes: Vec<Vec<usize>>, keeps_inside: bool) -> Self {
        let keeps_calls = true;
        let mut of = vec![(0, 0); nodes.iter().map(Vec::len).sum()];
        for (component, members) in nodes.iter().enumerate() {
            for (place, &node) in members.iter().enumerate() {
                of[node] = (component, place);
            }
        }
        Components { nodes, of, keeps_inside, keeps_calls }
    }

    /// Says which nodes are called one after the other. If they are not all of one component, one component releases the calls of another, and calls are
    /// nobody's own business: the same call would be inside, or outside.
    pub fn call(&mut self, mut nodes: impl Iterator<Item = usize>) {
        let first = nodes.next().map(|node| self.of[node].0);
        self.keeps_calls &= nodes.all(|node| Some(self.of[node].0) == first);
    }

    /// Whether what a node sends to another is the business of their component alone.
    pub fn keeps(&self, from: usize, to: usize) -> bool {
        self.keeps_inside && self.of[from].0 == self.of[to].0
    }

    /// Whether an event in flight is the business of its node's component alone.
    pub fn is_inside(&self, space: &dyn Space, event: EventId, sender: usize) -> bool {
        let to = self.of[space.layout().event_node(event)].0;
        let (from, is_message) = match space.event(event).source {
            Source::Node(from) => (from as usize, true),
            Source::Driver | Source::Inside => (sender, false),
        };
        self.of[from].0 == to && if is_message { self.keeps_inside } else { self.keeps_calls }
    }
}

/// The configurations of a component that were met so far.
pub(super) struct Configurations<'s> {
    space: &'s dyn Space,
    components: Rc<Components>,
    component: usize,
    /// The states of the nodes, the queues between them if the network is ordered, all else that is in flight among them.
    all: Vec<Rc<[u32]>>,
    known: FxHashMap<Rc<[u32]>, ConfigurationId>,
    pub labels: Vec<Label>,
    known_labels: FxHashMap<Label, LabelId>,
    own: Vec<Option<Rc<[Move]>>>,
    inputs: FxHashMap<(ConfigurationId, EventId), Rc<[Move]>>,
}

impl<'s> Configurations<'s> {
    pub fn new(space: &'s dyn Space, components: Rc<Components>, component: usize) -> Self {
        let silent =
            Label { taken: NONE, is_crash: false, is_trivial: false, sends: [].into(), feed: 0 };
        Configurations {
            space,
            components,
            component,
            all: Vec::new(),
            known: FxHashMap::default(),
            known_labels: [(silent.clone(), SILENT)].into_iter().collect(),
            labels: vec![silent],
            own: Vec::new(),
            inputs: FxHashMap::default(),
        }
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn nodes(&self) -> &[usize] {
        &self.components.nodes[self.component]
    }

    /// The state of the node at a place of the component.
    pub fn state(&self, configuration: ConfigurationId, place: usize) -> u32 {
        self.all[configuration as usize][place]
    }

    /// What a property sees of the nodes.
    pub fn views(&self, configuration: ConfigurationId, property: usize) -> Rc<[u32]> {
        let nodes = self.nodes().iter().enumerate();
        let view = |(place, &node): (usize, &usize)| {
            self.space.state(node, self.state(configuration, place)).views[property]
        };
        nodes.map(view).collect()
    }

    /// Of an initial global state.
    pub fn initial(&mut self, vector: &[u32]) -> ConfigurationId {
        let layout = self.space.layout();
        let nodes = self.nodes();
        let mut parts: Vec<u32> = nodes.iter().map(|&n| vector[layout.node_base + n]).collect();
        if layout.network == NetworkKind::Ordered {
            for (&from, &to) in nodes.iter().flat_map(|a| nodes.iter().map(move |b| (a, b))) {
                let queue = vector[layout.queue_base + from * layout.nodes + to];
                parts.push(if self.components.keeps_inside { queue } else { 0 });
            }
        }
        let own = |event: &EventId| {
            let node = layout.event_node(*event);
            self.components.of[node].0 == self.component
                && self.components.is_inside(self.space, *event, node)
        };
        let start = parts.len();
        parts.extend(layout.flight(vector).iter().copied().filter(own));
        parts[start..].sort_unstable();
        self.intern(parts)
    }

    fn intern(&mut self, parts: Vec<u32>) -> ConfigurationId {
        if let Some(&known) = self.known.get(&parts[..]) {
            return known;
        }
        let (number, parts): (_, Rc<[u32]>) = (self.all.len() as u32, parts.into());
        self.known.insert(Rc::clone(&parts), number);
        self.all.push(parts);
        self.own.push(None);
        number
    }

    fn label(&mut self, label: Label) -> LabelId {
        if let Some(&known) = self.known_labels.get(&label) {
            return known;
        }
        let number = self.labels.len() as LabelId;
        self.labels.push(label.clone());
        self.known_labels.insert(label, number);
        number
    }

    fn queues(&self) -> usize {
        match self.space.layout().network {
            NetworkKind::Ordered => self.nodes().len() * self.nodes().len(),
            _ => 0,
        }
    }

    /// The moves that take nothing from outside.
    pub fn own(&mut self, configuration: ConfigurationId) -> Result<Rc<[Move]>, Error> {
        if let Some(known) = &self.own[configuration as usize] {
            return Ok(Rc::clone(known));
        }
        let parts = Rc::clone(&self.all[configuration as usize]);
        let (nodes, queues) = (self.nodes().to_vec(), self.queues());
        let mut moves = Vec::new();
        for (place, &node) in nodes.iter().enumerate() {
            let info = self.space.state(node, parts[place]);
            for &event in &*info.internal {
                self.steps(&parts, event, From::Nowhere, &mut moves)?;
            }
            if self.space.layout().has_faults && info.up {
                self.steps(&parts, self.space.crash(node), From::Crash, &mut moves)?;
            }
        }
        for pair in 0..queues {
            if let Some(event) = self.space.queues().head(parts[nodes.len() + pair]) {
                self.steps(&parts, event, From::Queue(nodes.len() + pair), &mut moves)?;
            }
        }
        let first = nodes.len() + queues;
        for at in first..parts.len() {
            if at == first || parts[at] != parts[at - 1] {
                self.steps(&parts, parts[at], From::Flight(at), &mut moves)?;
            }
        }
        let moves: Rc<[Move]> = moves.into();
        self.own[configuration as usize] = Some(Rc::clone(&moves));
        Ok(moves)
    }

    /// The moves that take this from outside.
    pub fn input(
        &mut self,
        configuration: ConfigurationId,
        event: EventId,
    ) -> Result<Rc<[Move]>, Error> {
        if let Some(known) = self.inputs.get(&(configuration, event)) {
            return Ok(Rc::clone(known));
        }
        let parts = Rc::clone(&self.all[configuration as usize]);
        let mut moves = Vec::new();
        self.steps(&parts, event, From::Outside, &mut moves)?;
        let moves: Rc<[Move]> = moves.into();
        self.inputs.insert((configuration, event), Rc::clone(&moves));
        Ok(moves)
    }

    fn steps(
        &mut self,
        parts: &[u32],
        event: EventId,
        from: From,
        into: &mut Vec<Move>,
    ) -> Result<(), Error> {
        let layout = self.space.layout();
        let place = self.components.of[layout.event_node(event)].1;
        for step in self.space.steps(parts[place], event)?.iter() {
            let choices = step.choices.clone();
            let next = match &step.end {
                StepEnd::Panicked(_) => {
                    let taken = if from == From::Outside { event } else { NONE };
                    let is_crash = from == From::Crash;
                    let (is_trivial, sends, feed) = (false, [].into(), 0);
                    let label = self.label(Label { taken, is_crash, is_trivial, sends, feed });
                    into.push(Move { label, to: NONE, event, choices });
                    continue;
                }
                StepEnd::Next(next) => next,
            };
            let same = next.state == parts[place] && next.sends.is_empty();
            let is_popped = matches!(from, From::Queue(_));
            let is_on_queue = from == From::Outside
                && layout.network == NetworkKind::Ordered
                && matches!(self.space.event(event).source, Source::Node(_));
            // What would change nothing stays where it is; at the head of a queue it does not.
            if same && next.feed == 0 && !is_popped && !is_on_queue {
                continue;
            }
            let (to, sends) = self.after(parts, place, event, from, next);
            let label = self.label(Label {
                taken: if from == From::Outside { event } else { NONE },
                is_crash: from == From::Crash,
                is_trivial: same && !is_popped,
                sends,
                feed: next.feed,
            });
            into.push(Move { label, to, event, choices });
        }
        Ok(())
    }

    /// Where a step leads, and what it sends to others.
    fn after(
        &mut self,
        parts: &[u32],
        place: usize,
        event: EventId,
        from: From,
        next: &Next,
    ) -> (ConfigurationId, Box<[EventId]>) {
        let (space, layout) = (self.space, self.space.layout());
        let key = |event: EventId| space.event(event).key;
        let is_message = |event: EventId| matches!(space.event(event).source, Source::Node(_));
        let nodes = self.nodes().len();
        let first = nodes + self.queues();
        let mut after = parts.to_vec();
        after[place] = next.state;
        match from {
            From::Queue(at) => after[at] = space.queues().pop(after[at], key),
            From::Flight(at) if layout.network == NetworkKind::Unordered || !is_message(event) => {
                after.remove(at);
            }
            _ => {}
        }
        let node = layout.event_node(event);
        let mut out = Vec::new();
        for &send in &next.sends {
            if !self.components.is_inside(space, send, node) {
                out.push(send);
            } else if layout.network == NetworkKind::Ordered && is_message(send) {
                let to = self.components.of[layout.event_node(send)].1;
                let queue = nodes + place * nodes + to;
                after[queue] = space.queues().push(after[queue], send, key);
            } else if layout.network != NetworkKind::Duplicating
                || !is_message(send)
                || !after[first..].contains(&send)
            {
                after.push(send);
            }
        }
        after[first..].sort_unstable();
        if layout.network != NetworkKind::Ordered {
            out.sort_unstable();
        }
        (self.intern(after), out.into())
    }

    /// Whether only a bound on timers keeps something from happening.
    pub fn is_withheld(&self, configuration: ConfigurationId) -> bool {
        let nodes = self.nodes().iter().enumerate();
        let mut infos =
            nodes.map(|(place, &node)| self.space.state(node, self.state(configuration, place)));
        infos.any(|info| info.withheld)
    }

    /// Roughly the bytes in use.
    pub fn bytes(&self) -> u64 {
        (self.all.len() * 160 + self.inputs.len() * 96 + self.labels.len() * 128) as u64
    }
}

/// Where the event of a step comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    /// The node itself.
    Nowhere,
    Crash,
    /// The queue at this place of the configuration.
    Queue(usize),
    /// What is in flight, at this place of the configuration.
    Flight(usize),
    Outside,
}
