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
use super::{
    Elsewhere, Machine, Object, Performed, Process, Reach, Reading, Shown, Touched, Transition,
};
use crate::engine::FoundWhat;
use crate::error::Error;
use crate::model::faults::FaultState;
use crate::model::run_event::RunEvent;
use crate::outcome::Cause;
use crate::space::memo::{FIRST, Memo};
use crate::space::vector::Layout;
use crate::space::{Costs, EventId, Happening, Initial, Space, StateId, StepEnd};
use rustc_hash::FxHashMap;

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
    /// A number for it.
    pub fn number(self) -> u64 {
        match self {
            Kind::Deliver => 1,
            Kind::Inside => 2,
            Kind::Keep => 3,
            Kind::Lose => 4,
            Kind::Crash => 5,
            Kind::Heal => 6,
            Kind::Partition => 7,
        }
    }

    pub fn is_fault(self) -> bool {
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
    pub touches: [Footprint; 2],
    /// When it was last listed: see [`Handlers::stamp`].
    pub stamp: u64,
}

/// What an event has overwritten.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub transition: Transition,
    pub kind: Kind,
    /// What was handled or lost, or the number of the cut.
    pub event: u32,
    pub node: u32,
    pub state: StateId,
    /// The lane of which the first was taken, how many had been taken, and where it was.
    pub lane: u32,
    pub head: u32,
    pub place: u32,
    /// Where what it sent begins, among what was sent.
    pub sent: u32,
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
    pub place: u32,
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
    pub(super) budgets: FaultState,
    pub(super) lanes: Lanes,
    /// For each node and each of its events: the lane of an envelope, or the process of what happens inside.
    pub(super) of_event: Vec<Vec<u32>>,
    /// The lanes of calls that other calls release.
    pub(super) of_call: FxHashMap<(EventId, u32), u32>,
    pub(super) doers: Vec<Doer>,
    /// The key of each process, and the process with each key.
    pub(super) keys: Vec<u64>,
    pub(super) with_key: FxHashMap<u64, Process>,
    /// The keys of what observers see; zero if it was not asked for.
    pub(super) feed_keys: Vec<u64>,
    pub(super) crashes: Vec<Process>,
    pub(super) partitions: Vec<Process>,
    pub(super) heal: Process,
    pub(super) footprints: Footprints,
    pub(super) log: Vec<Entry>,
    /// The lanes on which something was put, in the order of the run.
    pub(super) sent: Vec<u32>,
    /// The states of the observers before they were fed.
    pub(super) fed: Vec<u32>,
    pub(super) emptied: Vec<Emptied>,
    /// Counts listings.
    pub(super) stamp: u64,
    pub(super) alternatives: Vec<u32>,
    /// The code of the first of the results that were last asked for.
    pub(super) first: u32,
    pub(super) listed: Vec<Transition>,
    /// Lanes, kept for their room.
    pub(super) sorted: Vec<u32>,
}

/// How the machine for a system came out.
pub(crate) enum Built<'s> {
    Machine(Box<Handlers<'s>>),
    /// A node panicked while starting.
    Panicked(FoundWhat),
}

impl<'s> Handlers<'s> {
    /// The machine for a system, at its first start.
    pub fn build(space: &'s dyn Space) -> Result<Built<'s>, Error> {
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
            keys: Vec::new(),
            with_key: FxHashMap::default(),
            feed_keys: Vec::new(),
            crashes: Vec::new(),
            partitions: Vec::new(),
            heal: NONE,
            footprints: Footprints::default(),
            log: Vec::new(),
            sent: Vec::new(),
            fed: Vec::new(),
            emptied: Vec::new(),
            stamp: 0,
            alternatives: Vec::new(),
            first: FIRST,
            listed: Vec::new(),
            sorted: Vec::new(),
        };
        machine.add_what_is_always_there();
        machine.restart(0)?;
        Ok(Built::Machine(Box::new(machine)))
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
        self.list_possible(into)
    }

    fn blocked(&mut self, into: &mut Vec<Process>) -> Result<(), Error> {
        self.list_blocked(into)
    }

    fn perform(&mut self, transition: Transition) -> Result<Performed, Error> {
        self.carry_out(transition)
    }

    #[inline]
    fn footprints(&self) -> &Footprints {
        &self.footprints
    }

    fn intern(&mut self, writes: &[Object], reads: &[Object]) -> Footprint {
        self.footprints.intern(writes, reads)
    }

    fn elsewhere(
        &mut self,
        process: Process,
        without: &[u32],
        into: &mut Vec<u32>,
    ) -> Result<Elsewhere, Error> {
        self.look_elsewhere(process, without, into)
    }

    fn key(&mut self, into: &mut Vec<u32>) {
        self.write_key(into);
    }

    fn reach(&self, process: Process) -> Reach {
        self.reach_of(process)
    }

    fn process_key(&self, process: Process) -> u64 {
        self.keys[process as usize]
    }

    fn process_with(&mut self, key: u64) -> Result<Option<Process>, Error> {
        if !self.with_key.contains_key(&key) {
            // What happens inside a node is met when it is listed.
            let mut listed = std::mem::take(&mut self.listed);
            self.list_possible(&mut listed)?;
            self.listed = listed;
        }
        Ok(self.with_key.get(&key).copied())
    }

    fn object_key(&self, object: Object) -> u64 {
        match object.checked_sub(self.object(Shared::First)) {
            Some(lane) => self.keys[self.lanes.all[lane as usize].deliver as usize],
            None => u64::from(object),
        }
    }

    fn groups(&self) -> usize {
        // The network is one more, if it does something by itself.
        self.layout.nodes + usize::from(self.has_partitions())
    }

    fn group(&self, process: Process) -> u32 {
        self.group_of(process)
    }

    fn is_ordered(&self, _: u32) -> bool {
        // All steps of a node write it, and those of the network by itself write that. A loss writes neither.
        self.budgets.drops == 0
    }

    fn touched(&self, object: Object) -> Touched<'_> {
        self.touched_by(object)
    }

    fn shows(
        &mut self,
        transition: Transition,
        without: &[u32],
        into: &mut Shown,
    ) -> Result<(), Error> {
        self.list_shown(transition, without, into)
    }

    fn withholds(&mut self, group: u32) -> bool {
        let node = group as usize;
        self.states.get(node).is_some_and(|&state| self.memo.space.state(node, state).withheld)
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
        self.memo.views_at(place, state)[property]
    }

    fn view_key(&self, view: u32) -> u64 {
        self.memo.space.view_key(view)
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

    fn failure(&mut self) -> Result<(Cause, String), Error> {
        let did_not = || Error::Internal("a step that panicked did not".to_owned());
        let Some(&Entry { transition, event, state, .. }) = self.log.last() else {
            return Err(did_not());
        };
        let steps = self.memo.space.steps(state, event)?;
        match &steps[transition.alternative as usize].end {
            StepEnd::Panicked(message) => Ok((Cause::Panic, message.to_string())),
            StepEnd::Next(_) => Err(did_not()),
        }
    }

    fn costs(&self) -> Option<Costs> {
        Some(self.memo.space.costs())
    }

    fn bytes(&self) -> u64 {
        let lanes = self.lanes.all.len() * 128 + self.doers.len() * 40;
        self.memo.bytes() + self.footprints.bytes() + lanes as u64
    }
}
