//! The machine for systems of handlers, on top of the local space: numbers only, and user code runs once for each local step.
//!
//! **Processes.** Each kind of thing that may happen is one, with as many steps as it happens: the delivery of
//! what is in a [lane](super::lanes), the delivery that keeps a copy, the loss; each timer and the restart of each
//! node; the crash of each node; each partition, and the healing. An envelope's delivery is created by the
//! step that sent it.
//!
//! **Objects.** A step of a node writes the node; whatever feeds observers, in any of the ways in which
//! it may end, writes the observers, which all nodes share. Crashes, losses and copies write their budgets. Where there
//! are partitions, they write the network as a whole, and everything else reads it. Where envelopes can be lost or
//! copied, a lane is an object too: delivering and losing write it, keeping a copy reads it. A loss touches nothing else
//! than lane and budget. Sending touches nothing: all envelopes of a lane come from one node, whose steps are
//! ordered anyway, and taking the first of a lane does not depend on what is behind it. The exception is a
//! duplicating network that loses envelopes: there sending what is in flight already does nothing, so whoever sends writes
//! the lane. Whether a step is possible, and with which results, is decided by the objects that it touches and
//! by whether its envelope was sent, so steps without a conflict commute, as a [`Machine`] promises.
//!
//! **Going back** undoes steps one by one; for each the log has what it overwrote.

use super::footprint::{Footprint, Footprints};
use super::lanes::{Item, Lanes, NONE};
use super::{Elsewhere, Machine, Object, Performed, Process, Reading, Transition};
use crate::engine::FoundWhat;
use crate::error::Error;
use crate::model::faults::FaultState;
use crate::model::network::NetworkKind;
use crate::model::run_event::RunEvent;
use crate::space::memo::{FIRST, Memo, MemoStep, flag};
use crate::space::vector::Layout;
use crate::space::{Costs, EventId, Happening, Initial, Space, StateId, StepEnd};
use rustc_hash::FxHashMap;
use std::sync::atomic::Ordering::Relaxed;

/// What a process does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Delivers the first of a lane.
    Deliver,
    /// The same, and a copy stays.
    Keep,
    /// Loses the first of a lane.
    Lose,
    /// A timer fires, a node restarts.
    Inside,
    Crash,
    Partition,
    Heal,
}

impl Kind {
    fn is_fault(self) -> bool {
        matches!(self, Kind::Crash | Kind::Lose | Kind::Partition)
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Doer {
    pub kind: Kind,
    /// The node that steps, if one does.
    pub node: u32,
    /// The lane, or [`NONE`].
    pub lane: u32,
    /// The event that it always handles, or the number of the cut.
    pub event: u32,
    /// What it touches, if it does not feed observers, and if it does.
    touches: [Footprint; 2],
    /// When it was last listed: see [`Handlers::stamp`].
    stamp: u64,
}

/// What an event has overwritten.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub transition: Transition,
    pub kind: Kind,
    /// What was handled or lost, or the number of the cut.
    event: u32,
    pub node: u32,
    pub state: StateId,
    /// The lane of which the first was taken, how many had been taken, and where it was.
    pub lane: u32,
    pub head: u32,
    place: u32,
    /// Where what it sent begins, among what was sent.
    sent: u32,
    /// Where the states of the observers are, if they were fed.
    pub fed: u32,
    /// Where the lanes are that it emptied.
    pub emptied: u32,
    pub faults: FaultState,
}

/// A lane that a partition emptied.
#[derive(Clone, Copy, Debug)]
pub(super) struct Emptied {
    pub lane: u32,
    pub head: u32,
    place: u32,
}

/// A system of handlers along one run.
pub(crate) struct Handlers<'s> {
    pub(super) memo: Memo<'s>,
    pub(super) layout: &'s Layout,
    readings: Vec<Reading>,
    /// The initial states that differ, each with its number among all.
    initial: Vec<(usize, Vec<u32>)>,
    start: usize,
    pub(super) states: Vec<StateId>,
    pub(super) observers: Vec<u32>,
    pub(super) faults: FaultState,
    /// The budgets at the start.
    budgets: FaultState,
    pub(super) lanes: Lanes,
    /// For each node and each of its events: the lane of an envelope, or the process of what happens inside.
    of_event: Vec<Vec<u32>>,
    /// The lanes of calls that other calls release.
    of_call: FxHashMap<(EventId, u32), u32>,
    pub(super) doers: Vec<Doer>,
    crashes: Vec<Process>,
    partitions: Vec<Process>,
    heal: Process,
    pub(super) footprints: Footprints,
    pub(super) log: Vec<Entry>,
    /// The lanes on which something was put, in the order of the run.
    sent: Vec<u32>,
    /// The states of the observers before they were fed.
    pub(super) fed: Vec<u32>,
    pub(super) emptied: Vec<Emptied>,
    /// For each node and state, where its views begin.
    views_of: Vec<Vec<u32>>,
    views: Vec<u32>,
    /// Counts listings.
    stamp: u64,
    alternatives: Vec<u32>,
    listed: Vec<Transition>,
}

/// How the machine for a system came out.
pub(crate) enum Built<'s> {
    Machine(Box<Handlers<'s>>),
    /// A node panicked while starting.
    Panicked(FoundWhat),
}

impl<'s> Handlers<'s> {
    /// The machine for a system, at its first start.
    pub fn new(space: &'s dyn Space) -> Result<Built<'s>, Error> {
        let vectors = match space.initial()? {
            Initial::Vectors(vectors) => vectors,
            Initial::Panicked(message) => return Ok(Built::Panicked(FoundWhat::Panic(message))),
        };
        let layout = space.layout();
        let mut initial: Vec<(usize, Vec<u32>)> = Vec::new();
        for (number, vector) in vectors.into_iter().enumerate() {
            if initial.iter().all(|(_, other)| *other != vector) {
                initial.push((number, vector));
            }
        }
        let budgets =
            initial.first().map_or(FaultState::default(), |(_, vector)| layout.faults(vector));
        let reading = |&(kind, observer)| Reading { kind, observer };
        let mut machine = Handlers {
            memo: Memo::new(space, false),
            layout,
            readings: layout.properties.iter().map(reading).collect(),
            initial,
            start: 0,
            states: vec![0; layout.nodes],
            observers: vec![0; layout.observers],
            faults: budgets,
            budgets,
            lanes: Lanes::default(),
            of_event: vec![Vec::new(); layout.nodes],
            of_call: FxHashMap::default(),
            doers: Vec::new(),
            crashes: Vec::new(),
            partitions: Vec::new(),
            heal: NONE,
            footprints: Footprints::default(),
            log: Vec::new(),
            sent: Vec::new(),
            fed: Vec::new(),
            emptied: Vec::new(),
            views_of: vec![Vec::new(); layout.nodes],
            views: Vec::new(),
            stamp: 0,
            alternatives: Vec::new(),
            listed: Vec::new(),
        };
        machine.add_what_is_always_there();
        machine.restart(0)?;
        Ok(Built::Machine(Box::new(machine)))
    }

    /// Adds the processes that need no envelope, and the channels of an ordered network.
    fn add_what_is_always_there(&mut self) {
        let nodes = self.layout.nodes as u32;
        if self.budgets.crashes > 0 {
            for node in 0..nodes {
                let event = self.memo.space.crash(node as usize);
                let crash = self.add_doer(Kind::Crash, node, NONE, event);
                self.crashes.push(crash);
            }
        }
        if self.has_partitions() {
            for cut in 0..self.layout.cuts.len() as u32 {
                let partition = self.add_doer(Kind::Partition, NONE, NONE, cut);
                self.partitions.push(partition);
            }
            self.heal = self.add_doer(Kind::Heal, NONE, NONE, 0);
        }
        if self.layout.network == NetworkKind::Ordered {
            for pair in 0..nodes * nodes {
                self.add_lane(pair % nodes, Some(pair / nodes), true, NONE);
            }
        }
    }

    pub(super) fn has_partitions(&self) -> bool {
        self.budgets.partitions > 0
    }

    /// Whether envelopes can be lost or copied.
    pub(super) fn has_mishaps(&self) -> bool {
        self.budgets.drops > 0 || self.budgets.duplications > 0
    }

    fn add_lane(&mut self, node: u32, from: Option<u32>, is_consumed: bool, event: u32) -> u32 {
        let lane = self.lanes.add(node, from, is_consumed);
        let deliver = self.add_doer(Kind::Deliver, node, lane, event);
        self.lanes.all[lane as usize].deliver = deliver;
        if from.is_some() && self.budgets.duplications > 0 {
            self.lanes.all[lane as usize].keep = self.add_doer(Kind::Keep, node, lane, event);
        }
        if from.is_some() && self.budgets.drops > 0 {
            self.lanes.all[lane as usize].lose = self.add_doer(Kind::Lose, NONE, lane, event);
        }
        lane
    }

    fn add_doer(&mut self, kind: Kind, node: u32, lane: u32, event: u32) -> Process {
        let mut writes = Vec::new();
        let mut reads = Vec::new();
        if node != NONE {
            writes.push(node);
        }
        match kind {
            Kind::Deliver | Kind::Lose if self.has_mishaps() => writes.push(self.lane_object(lane)),
            Kind::Keep => reads.push(self.lane_object(lane)),
            _ => {}
        }
        match kind {
            Kind::Crash => writes.push(self.object(Shared::Crashes)),
            Kind::Lose => writes.push(self.object(Shared::Losses)),
            Kind::Keep => writes.push(self.object(Shared::Copies)),
            Kind::Partition | Kind::Heal => writes.push(self.object(Shared::Network)),
            Kind::Deliver | Kind::Inside => {}
        }
        if self.has_partitions() {
            reads.push(self.object(Shared::Network));
        }
        let quiet = self.footprints.intern(&writes, &reads);
        writes.push(self.object(Shared::Observers));
        let touches = [quiet, self.footprints.intern(&writes, &reads)];
        self.doers.push(Doer { kind, node, lane, event, touches, stamp: 0 });
        self.doers.len() as Process - 1
    }

    pub(super) fn object(&self, shared: Shared) -> Object {
        self.layout.nodes as Object + shared as Object
    }

    pub(super) fn lane_object(&self, lane: u32) -> Object {
        self.object(Shared::First) + lane
    }

    /// What is known of an event at its place, to be filled in.
    #[inline]
    fn of_event(&mut self, event: EventId) -> &mut u32 {
        let node = self.layout.event_node(event);
        let local = self.layout.event_local(event) as usize;
        let known = &mut self.of_event[node];
        if known.len() <= local {
            known.resize(local + 1, NONE);
        }
        &mut known[local]
    }

    /// The lane that an envelope goes through, if this one releases it.
    fn lane_of(&mut self, event: EventId, released_by: u32) -> u32 {
        let node = self.layout.event_node(event) as u32;
        let info = self.memo.event(event);
        if !info.is_message() && released_by != NONE {
            if let Some(&lane) = self.of_call.get(&(event, released_by)) {
                return lane;
            }
            let lane = self.add_lane(node, None, true, event);
            self.of_call.insert((event, released_by), lane);
            return lane;
        }
        if info.is_message() && self.layout.network == NetworkKind::Ordered {
            return u32::from(info.from) * self.layout.nodes as u32 + node;
        }
        let known = *self.of_event(event);
        if known != NONE {
            return known;
        }
        let from = info.is_message().then_some(u32::from(info.from));
        let lane = self.add_lane(node, from, info.is_consumed(self.layout.network), event);
        *self.of_event(event) = lane;
        lane
    }

    /// The process of something that happens inside a node.
    #[inline]
    fn inside(&mut self, event: EventId) -> Process {
        let known = *self.of_event(event);
        if known != NONE {
            return known;
        }
        let node = self.layout.event_node(event) as u32;
        let process = self.add_doer(Kind::Inside, node, NONE, event);
        *self.of_event(event) = process;
        process
    }

    /// Whether the lanes have messages of an ordered network: each delivery is a step then.
    fn is_queue(&self, lane: u32) -> bool {
        self.layout.network == NetworkKind::Ordered
            && lane != NONE
            && self.lanes.all[lane as usize].from.is_some()
    }

    /// The results that an event can have in a state of its node, in `self.alternatives`, and what it touches; nothing if
    /// it has none. `fed` is where the states of the observers are, [`NONE`] if they are the present ones.
    pub(super) fn results(
        &mut self,
        process: Process,
        state: StateId,
        event: EventId,
        fed: u32,
    ) -> Result<Option<Footprint>, Error> {
        let doer = self.doers[process as usize];
        self.alternatives.clear();
        let node = self.layout.event_node(event);
        let before = std::mem::replace(&mut self.states[node], state);
        let code = self.memo.code(&self.states, event);
        self.states[node] = before;
        let first = code?;
        if first < FIRST {
            return Ok(None);
        }
        let step = *self.memo.step(first);
        if step.flags & flag::SURE != 0 && !self.sends_touch() {
            self.alternatives.push(0);
            return Ok(Some(doer.touches[usize::from(step.feed != 0)]));
        }
        let always = doer.kind == Kind::Deliver && self.is_queue(doer.lane);
        let mut code = first;
        let mut feeds = false;
        loop {
            let step = *self.memo.step(code);
            feeds |= step.feed != 0;
            if step.flags & flag::TRIVIAL == 0 || always || self.moves_observers(&step, fed)? {
                self.alternatives.push(code - first);
            }
            if step.flags & flag::LAST != 0 {
                break;
            }
            code += 1;
        }
        let footprint = match self.sends_touch() {
            true => self.footprint_with_sends(process, first, code, feeds),
            false => doer.touches[usize::from(feeds)],
        };
        Ok((!self.alternatives.is_empty()).then_some(footprint))
    }

    /// Whether sending touches lanes: what is sent again only counts if it is not there any more.
    fn sends_touch(&self) -> bool {
        self.layout.network == NetworkKind::Duplicating && self.budgets.drops > 0
    }

    /// What a step touches where sending touches lanes: those of all of its results.
    fn footprint_with_sends(
        &mut self,
        process: Process,
        first: u32,
        last: u32,
        feeds: bool,
    ) -> Footprint {
        let doer = self.doers[process as usize];
        let plain = doer.touches[usize::from(feeds)];
        let mut writes = self.footprints.writes(plain).to_vec();
        let reads = self.footprints.reads(plain).to_vec();
        for code in first..=last {
            let step = *self.memo.step(code);
            for index in 0..self.memo.sends(&step).len() {
                let event = self.memo.sends(&step)[index];
                if self.memo.event(event).is_message() {
                    let lane = self.lane_of(event, NONE);
                    writes.push(self.lane_object(lane));
                }
            }
        }
        self.footprints.intern(&writes, &reads)
    }

    /// Whether some observer moves when it sees a step.
    fn moves_observers(&mut self, step: &MemoStep, fed: u32) -> Result<bool, Error> {
        if step.feed == 0 {
            return Ok(false);
        }
        for observer in 0..self.layout.observers {
            let state = match fed {
                NONE => self.observers[observer],
                at => self.fed[at as usize + observer],
            };
            if self.memo.observe(observer, state, step.feed)?.0 != state {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether an event that has no result in a state might have one if observers were in other states.
    pub(super) fn only_feeds(&mut self, state: StateId, event: EventId) -> Result<bool, Error> {
        let steps = self.memo.space.steps(state, event)?;
        Ok(steps.iter().any(|step| matches!(&step.end, StepEnd::Next(next) if next.feed != 0)))
    }

    /// What a process touches that feeds no observers.
    pub(super) fn plain_footprint(&self, process: Process) -> Footprint {
        self.doers[process as usize].touches[0]
    }

    pub(super) fn take_alternatives(&mut self, into: &mut Vec<u32>) {
        into.clear();
        into.extend_from_slice(&self.alternatives);
    }

    /// Lists the steps of a process of a node, if it has any now.
    fn list(
        &mut self,
        process: Process,
        event: EventId,
        into: &mut Vec<Transition>,
    ) -> Result<(), Error> {
        let state = self.states[self.layout.event_node(event)];
        if self.results(process, state, event, NONE)?.is_some() {
            self.doers[process as usize].stamp = self.stamp;
            let one = |&alternative| Transition { process, alternative };
            into.extend(self.alternatives.iter().map(one));
        }
        Ok(())
    }

    /// Lists something that is not a step of a node.
    fn list_other(&mut self, process: Process, into: &mut Vec<Transition>) {
        self.doers[process as usize].stamp = self.stamp;
        into.push(Transition { process, alternative: 0 });
    }

    /// Everything that may happen but faults.
    fn list_regular(&mut self, into: &mut Vec<Transition>) -> Result<(), Error> {
        if self.memo.space.acts_alone().load(Relaxed) {
            for node in 0..self.layout.nodes {
                for place in self.memo.internal(node, self.states[node]) {
                    let event = self.memo.internal_event(place);
                    let process = self.inside(event);
                    self.list(process, event, into)?;
                }
            }
        }
        for index in 0..self.lanes.filled.len() {
            let lane = self.lanes.filled[index];
            let event = self.lanes.first(lane).event;
            self.list(self.lanes.all[lane as usize].deliver, event, into)?;
        }
        if self.faults.duplications > 0 {
            for index in 0..self.lanes.filled.len() {
                let lane = self.lanes.filled[index];
                let keep = self.lanes.all[lane as usize].keep;
                if keep != NONE {
                    self.list(keep, self.lanes.first(lane).event, into)?;
                }
            }
        }
        if self.faults.cut > 0 {
            self.list_other(self.heal, into);
        }
        Ok(())
    }

    fn list_faults(&mut self, into: &mut Vec<Transition>) -> Result<(), Error> {
        if self.faults.crashes > 0 {
            for node in 0..self.layout.nodes {
                if self.memo.is_up(node, self.states[node]) {
                    let crash = self.crashes[node];
                    self.list(crash, self.memo.space.crash(node), into)?;
                }
            }
        }
        if self.faults.drops > 0 {
            for index in 0..self.lanes.filled.len() {
                let lose = self.lanes.all[self.lanes.filled[index] as usize].lose;
                if lose != NONE {
                    self.list_other(lose, into);
                }
            }
        }
        if self.faults.cut == 0 && self.faults.partitions > 0 {
            for cut in 0..self.partitions.len() {
                self.list_other(self.partitions[cut], into);
            }
        }
        Ok(())
    }

    /// Adds a process to a list of those that are blocked, unless it was listed.
    fn add_blocked(&mut self, process: Process, into: &mut Vec<Process>) {
        if process != NONE && self.doers[process as usize].stamp != self.stamp {
            self.doers[process as usize].stamp = self.stamp;
            into.push(process);
        }
    }

    fn add_blocked_lane(&mut self, lane: u32, into: &mut Vec<Process>) {
        let lane = &self.lanes.all[lane as usize];
        for process in [lane.deliver, lane.keep, lane.lose] {
            self.add_blocked(process, into);
        }
    }

    /// Carries out a result of an event at its node.
    fn step(&mut self, first: u32, entry: &mut Entry) -> Result<(bool, bool, bool), Error> {
        let step = *self.memo.step(first + entry.transition.alternative);
        if step.flags & flag::PANIC != 0 {
            return Ok((false, false, true));
        }
        let node = self.layout.event_node(entry.event);
        self.states[node] = step.next;
        for index in 0..self.memo.sends(&step).len() {
            let event = self.memo.sends(&step)[index];
            let released_by = self.doers[entry.transition.process as usize].lane;
            let lane = self.lane_of(event, released_by);
            let known = &self.lanes.all[lane as usize];
            let parted =
                known.from.is_some_and(|from| self.layout.parted(self.faults, from, known.node));
            if parted || (!known.is_consumed && !self.lanes.is_empty(lane)) {
                continue;
            }
            self.lanes.push(lane, Item { event, created_by: self.log.len() as u32 });
            self.sent.push(lane);
        }
        if step.feed != 0 {
            entry.fed = self.fed.len() as u32;
            self.fed.extend_from_slice(&self.observers);
            for observer in 0..self.observers.len() {
                let (state, _) =
                    self.memo.observe(observer, self.observers[observer], step.feed)?;
                self.observers[observer] = state;
            }
        }
        Ok((step.flags & flag::VIEWS != 0, step.feed != 0, false))
    }

    /// Loses everything in flight between parted nodes.
    fn lose_across(&mut self) {
        for index in (0..self.lanes.filled.len()).rev() {
            let lane = self.lanes.filled[index];
            let known = &self.lanes.all[lane as usize];
            let (head, count) = (known.head, known.items.len() as u32 - known.head);
            let from = known.from;
            if from.is_some_and(|from| self.layout.parted(self.faults, from, known.node)) {
                let place = self.lanes.take(lane, count);
                self.emptied.push(Emptied { lane, head, place });
            }
        }
    }

    fn undo(&mut self, entry: &Entry) {
        for index in (entry.emptied as usize..self.emptied.len()).rev() {
            let Emptied { lane, head, place } = self.emptied[index];
            self.lanes.untake(lane, head, place);
        }
        self.emptied.truncate(entry.emptied as usize);
        if entry.fed != NONE {
            let before = &self.fed[entry.fed as usize..];
            self.observers.copy_from_slice(before);
            self.fed.truncate(entry.fed as usize);
        }
        for index in (entry.sent as usize..self.sent.len()).rev() {
            self.lanes.unpush(self.sent[index]);
        }
        self.sent.truncate(entry.sent as usize);
        if entry.lane != NONE {
            self.lanes.untake(entry.lane, entry.head, entry.place);
        }
        if entry.node != NONE {
            self.states[entry.node as usize] = entry.state;
        }
        self.faults = entry.faults;
    }
}

/// Objects that nodes share. Nodes come before them, lanes after.
#[derive(Clone, Copy)]
pub(super) enum Shared {
    Observers,
    Crashes,
    Losses,
    Copies,
    Network,
    /// The first lane.
    First,
}

impl Machine for Handlers<'_> {
    fn starts(&self) -> usize {
        self.initial.len()
    }

    fn restart(&mut self, start: usize) -> Result<(), Error> {
        self.start = start;
        self.log.clear();
        self.sent.clear();
        self.fed.clear();
        self.emptied.clear();
        self.lanes.clear();
        let layout = self.layout;
        let (_, vector) = &self.initial[start];
        let vector = vector.clone();
        self.faults = layout.faults(&vector);
        self.states.copy_from_slice(&vector[layout.node_base..][..layout.nodes]);
        self.observers.copy_from_slice(&vector[layout.observer_base..][..layout.observers]);
        for &event in layout.flight(&vector) {
            let lane = self.lane_of(event, NONE);
            self.lanes.push(lane, Item { event, created_by: NONE });
        }
        for (lane, &queue) in vector[layout.queue_base..layout.ends_base].iter().enumerate() {
            for event in self.memo.space.queues().content(queue) {
                self.lanes.push(lane as u32, Item { event, created_by: NONE });
            }
        }
        Ok(())
    }

    fn start_number(&self) -> usize {
        self.initial[self.start].0
    }

    #[inline]
    fn len(&self) -> usize {
        self.log.len()
    }

    fn go_back(&mut self, len: usize) -> Result<(), Error> {
        while self.log.len() > len {
            if let Some(entry) = self.log.pop() {
                self.undo(&entry);
            }
        }
        Ok(())
    }

    fn possible(&mut self, into: &mut Vec<Transition>) -> Result<bool, Error> {
        into.clear();
        self.stamp += 1;
        self.list_regular(into)?;
        let goes_on = !into.is_empty();
        self.list_faults(into)?;
        Ok(goes_on)
    }

    fn blocked(&mut self, into: &mut Vec<Process>) -> Result<(), Error> {
        let mut listed = std::mem::take(&mut self.listed);
        self.possible(&mut listed)?;
        self.listed = listed;
        into.clear();
        for index in 0..self.lanes.filled.len() {
            self.add_blocked_lane(self.lanes.filled[index], into);
        }
        if self.has_mishaps() {
            for index in 0..self.log.len() {
                let lane = self.log[index].lane;
                if lane != NONE {
                    self.add_blocked_lane(lane, into);
                }
            }
        }
        for index in 0..self.emptied.len() {
            self.add_blocked_lane(self.emptied[index].lane, into);
        }
        if self.memo.space.acts_alone().load(Relaxed) {
            for index in 0..self.log.len() {
                let Entry { node, state, .. } = self.log[index];
                if node == NONE {
                    continue;
                }
                for place in self.memo.internal(node as usize, state) {
                    let process = self.inside(self.memo.internal_event(place));
                    self.add_blocked(process, into);
                }
            }
        }
        for index in 0..self.crashes.len() {
            self.add_blocked(self.crashes[index], into);
        }
        for index in 0..self.partitions.len() {
            self.add_blocked(self.partitions[index], into);
        }
        self.add_blocked(self.heal, into);
        Ok(())
    }

    fn perform(&mut self, transition: Transition) -> Result<Performed, Error> {
        let doer = self.doers[transition.process as usize];
        let mut entry = Entry {
            transition,
            kind: doer.kind,
            event: doer.event,
            node: doer.node,
            state: 0,
            lane: NONE,
            head: 0,
            place: NONE,
            sent: self.sent.len() as u32,
            fed: NONE,
            emptied: self.emptied.len() as u32,
            faults: self.faults,
        };
        let mut created_by = NONE;
        if doer.lane != NONE {
            let first = self.lanes.first(doer.lane);
            (entry.event, created_by) = (first.event, first.created_by);
        }
        let mut footprint = doer.touches[0];
        let mut is_only = true;
        let mut done = (false, false, false);
        let mut first = FIRST;
        if doer.node != NONE {
            let state = self.states[doer.node as usize];
            entry.state = state;
            let Some(touches) = self.results(transition.process, state, entry.event, NONE)? else {
                let what = "a step was asked for that is not possible";
                return Err(Error::Internal(what.to_owned()));
            };
            footprint = touches;
            is_only = self.alternatives.len() == 1;
            first = self.memo.code(&self.states, entry.event)?;
        }
        if doer.lane != NONE && doer.kind != Kind::Keep {
            let lane = &self.lanes.all[doer.lane as usize];
            if lane.is_consumed || doer.kind == Kind::Lose {
                (entry.lane, entry.head) = (doer.lane, lane.head);
                entry.place = self.lanes.take(doer.lane, 1);
            }
        }
        match doer.kind {
            Kind::Crash => self.faults.crashes -= 1,
            Kind::Lose => self.faults.drops -= 1,
            Kind::Keep => self.faults.duplications -= 1,
            Kind::Partition => {
                self.faults.partitions -= 1;
                self.faults.cut = doer.event as u8 + 1;
                self.lose_across();
            }
            Kind::Heal => self.faults.cut = 0,
            Kind::Deliver | Kind::Inside => {}
        }
        if doer.node != NONE {
            done = self.step(first, &mut entry)?;
        }
        self.log.push(entry);
        let (moved, fed, panicked) = done;
        Ok(Performed {
            footprint,
            is_only,
            created_by: (created_by != NONE).then_some(created_by as usize),
            moved: moved.then_some(doer.node as usize),
            fed,
            is_fault: doer.kind.is_fault(),
            panicked,
        })
    }

    #[inline]
    fn footprints(&self) -> &Footprints {
        &self.footprints
    }

    fn elsewhere(
        &mut self,
        process: Process,
        without: &[u32],
        into: &mut Vec<u32>,
    ) -> Result<Elsewhere, Error> {
        self.look_elsewhere(process, without, into)
    }

    fn is_withheld(&mut self) -> bool {
        let mut nodes = self.states.iter().enumerate();
        nodes.any(|(node, &state)| self.memo.space.state(node, state).withheld)
    }

    fn readings(&self) -> &[Reading] {
        &self.readings
    }

    fn places(&self) -> usize {
        self.layout.nodes
    }

    fn view(&mut self, property: usize, place: usize) -> u32 {
        let state = self.states[place];
        let known = &mut self.views_of[place];
        if known.len() <= state as usize {
            known.resize(state as usize + 1, NONE);
        }
        if known[state as usize] == NONE {
            known[state as usize] = self.views.len() as u32;
            self.views.extend_from_slice(&self.memo.space.state(place, state).views);
        }
        self.views[known[state as usize] as usize + property]
    }

    fn observed(&self, observer: usize) -> u32 {
        self.observers[observer]
    }

    fn test(&mut self, property: usize, reads: &[u32]) -> Result<bool, Error> {
        self.memo.space.test(property, reads)
    }

    fn conjunct_counts(&self) -> Vec<usize> {
        self.memo.space.conjunct_counts()
    }

    fn conjuncts(&mut self, property: usize, reads: &[u32]) -> Result<u64, Error> {
        self.memo.space.conjuncts(property, reads)
    }

    fn describe(&mut self, event: usize) -> Result<RunEvent, Error> {
        let Entry { transition, kind, event, node, state, .. } = self.log[event];
        let space = self.memo.space;
        Ok(match kind {
            Kind::Lose => space.describe(Happening::Drop(event)),
            Kind::Partition => space.describe(Happening::Partition(event as usize)),
            Kind::Heal => space.describe(Happening::Heal),
            Kind::Deliver | Kind::Keep | Kind::Inside | Kind::Crash => {
                debug_assert_ne!(node, NONE);
                let steps = space.steps(state, event)?;
                let choices = &steps[transition.alternative as usize].choices;
                space.describe(Happening::Step { event, keep: kind == Kind::Keep, choices })
            }
        })
    }

    fn panic_message(&mut self) -> Result<String, Error> {
        let did_not = || Error::Internal("a step that panicked did not".to_owned());
        let Some(&Entry { transition, event, state, .. }) = self.log.last() else {
            return Err(did_not());
        };
        let steps = self.memo.space.steps(state, event)?;
        match &steps[transition.alternative as usize].end {
            StepEnd::Panicked(message) => Ok(message.to_string()),
            StepEnd::Next(_) => Err(did_not()),
        }
    }

    fn costs(&self) -> Costs {
        self.memo.space.costs()
    }

    fn bytes(&self) -> u64 {
        let lanes = self.lanes.all.len() * 128 + self.doers.len() * 40;
        self.memo.bytes() + self.footprints.bytes() + lanes as u64
    }
}
