//! Testing properties along a run: in the states that it passes, and in those that it passes by.
//!
//! An engine that performs one order of independent events never stands in most global states. So when an
//! event changes what a property sees of its place, all consistent cuts of the run are looked at in which this change
//! is the latest: see [`cuts`](crate::trace::cuts). In the whole exploration each cut is met when the last of
//! its changes is performed. What a property reads is remembered, so it is tested once for
//! each combination of views; and where the cuts to be looked at have the same views as those of an earlier walk,
//! there is no walk at all. All steps that feed observers are ordered, so their states are those that the
//! run passes.

use crate::engine::goals::Sightings;
use crate::engine::machine::{Machine, Performed, Reading};
use crate::engine::{Found, FoundWhat, Terminal, nothing_left};
use crate::error::Error;
use crate::model::property::PropertyKind;
use crate::outcome::{Cause, Run};
use crate::trace::cuts::Cuts;
use crate::trace::order::Order;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::ControlFlow;

/// What is known of the properties.
pub(crate) struct Judge {
    properties: Vec<Judged>,
    /// Whether the run passes some states by.
    looks_at_cuts: bool,
    pub violation: Option<Found>,
    pub witnesses: Vec<Option<Run>>,
    pub goals: Sightings<Run>,
    pub terminal: Terminal,
    /// Set when all there was to find was found.
    pub is_done: bool,
    never_stuck: bool,
    reads: Vec<u32>,
    shape: Vec<u32>,
}

struct Judged {
    reading: Reading,
    /// Which goal it is, if it names its conjuncts.
    goal: Option<usize>,
    cuts: Cuts,
    /// What was read, and whether the test is true of it.
    known: FxHashMap<Box<[u32]>, bool>,
    /// The shapes of walks through cuts that were made: see [`Cuts::shape_of_latest`].
    walked: FxHashSet<Box<[u32]>>,
}

/// So many walks are remembered for a property, and no more.
const MOST_WALKS: usize = 1 << 16;

/// What was read for the first time, of which something must be told.
struct Met {
    events: Vec<usize>,
    holds: bool,
    reads: Vec<u32>,
}

impl Judge {
    pub fn new<M: Machine>(machine: &M, looks_at_cuts: bool) -> Self {
        let counts = machine.conjunct_counts();
        let goals = || counts.iter().copied().enumerate().filter(|&(_, conjuncts)| conjuncts > 0);
        let judged = |(property, &reading)| Judged {
            reading,
            goal: goals().position(|(goal, _)| goal == property),
            cuts: Cuts::new(&[]),
            known: FxHashMap::default(),
            walked: FxHashSet::default(),
        };
        let readings = machine.readings();
        Judge {
            properties: readings.iter().enumerate().map(judged).collect(),
            looks_at_cuts,
            violation: None,
            witnesses: vec![None; readings.len()],
            goals: Sightings::of(goals()),
            terminal: Terminal::default(),
            is_done: false,
            never_stuck: readings.iter().any(|r| r.kind == PropertyKind::NeverStuck),
            reads: Vec::new(),
            shape: Vec::new(),
        }
    }

    /// Whether there is a property that forbids terminal states.
    pub fn watches_stuck(&self) -> bool {
        self.never_stuck
    }

    /// Whether there is nothing left to find.
    pub fn is_over(&self) -> bool {
        self.violation.is_some() || self.is_done
    }

    /// Looks at an initial state.
    pub fn start<M: Machine>(&mut self, machine: &mut M) -> Result<(), Error> {
        for property in 0..self.properties.len() {
            if self.properties[property].reading.observer.is_none() {
                let views = (0..machine.places()).map(|place| machine.view(property, place));
                self.properties[property].cuts = Cuts::new(&views.collect::<Vec<_>>());
            }
            self.look_here(machine, property)?;
        }
        Ok(())
    }

    /// Looks at what an event has changed, the last of the run.
    #[inline]
    pub fn step<M: Machine>(
        &mut self,
        machine: &mut M,
        order: &Order,
        performed: &Performed,
    ) -> Result<(), Error> {
        if performed.failed {
            let failure = machine.failure()?;
            return self.fail(machine, failure);
        }
        if performed.moved.is_none() && !performed.fed {
            return Ok(());
        }
        for property in 0..self.properties.len() {
            match (self.properties[property].reading.observer, performed.moved) {
                (None, Some(place)) => self.look_at_views(machine, order, property, place)?,
                (Some(_), _) if performed.fed => self.look_here(machine, property)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Something is wrong with the run, whatever the properties are.
    fn fail<M: Machine>(
        &mut self,
        machine: &mut M,
        (cause, message): (Cause, String),
    ) -> Result<(), Error> {
        if self.violation.is_none() {
            let what = match cause {
                Cause::Panic => FoundWhat::Panic(message),
                cause => FoundWhat::Failed(cause, message),
            };
            self.violation = Some(Found { what, run: run_of(machine, 0..machine.len())? });
        }
        Ok(())
    }

    /// Nothing can happen any more.
    pub fn end<M: Machine>(&mut self, machine: &mut M) -> Result<(), Error> {
        match machine.wrong_end()? {
            Some(failure) => self.fail(machine, failure),
            None => Ok(()),
        }
    }

    /// The run is cut off at the bound on depth.
    pub fn cut<M: Machine>(&mut self, machine: &mut M) -> Result<(), Error> {
        match machine.endless()? {
            Some(failure) => self.fail(machine, failure),
            None => Ok(()),
        }
    }

    /// The run went back to so many events.
    #[inline]
    pub fn go_back(&mut self, len: usize) {
        for judged in &mut self.properties {
            judged.cuts.truncate(len);
        }
    }

    /// Looks at what a property reads after a place has changed.
    fn look_at_views<M: Machine>(
        &mut self,
        machine: &mut M,
        order: &Order,
        property: usize,
        place: usize,
    ) -> Result<(), Error> {
        let event = machine.len() - 1;
        let view = machine.view(property, place);
        let judged = &mut self.properties[property];
        if !self.looks_at_cuts {
            return self.look_here(machine, property);
        }
        if !judged.cuts.push(order, event, place, view)
            || judged.reading.kind == PropertyKind::NeverStuck
        {
            return Ok(());
        }
        let Judged { cuts, known, walked, .. } = judged;
        let shape = &mut self.shape;
        let has_many = cuts.shape_of_latest(event, shape);
        if has_many && walked.contains(&shape[..]) {
            return Ok(());
        }
        let mut met: Vec<Met> = Vec::new();
        let found = cuts.latest(event, |cut| {
            if known.contains_key(cut.views()) {
                return ControlFlow::Continue(());
            }
            match machine.test(property, cut.views()) {
                Ok(holds) => {
                    known.insert(cut.views().into(), holds);
                    met.push(Met { events: cut.events(order), holds, reads: cut.views().to_vec() });
                    ControlFlow::Continue(())
                }
                Err(error) => ControlFlow::Break(error),
            }
        });
        if let ControlFlow::Break(error) = found {
            return Err(error);
        }
        if has_many && walked.len() < MOST_WALKS {
            walked.insert(shape[..].into());
        }
        for Met { events, holds, reads } in met {
            self.tell(machine, property, holds, &reads, events.into_iter())?;
        }
        Ok(())
    }

    /// Looks at what a property reads in the state in which the run stands.
    fn look_here<M: Machine>(&mut self, machine: &mut M, property: usize) -> Result<(), Error> {
        if self.properties[property].reading.kind == PropertyKind::NeverStuck {
            return Ok(());
        }
        if let Some(holds) = self.test_here(machine, property)? {
            let reads = self.reads.clone();
            self.tell(machine, property, holds, &reads, 0..machine.len())?;
        }
        Ok(())
    }

    /// Reads what a property reads here, into `self.reads`; says whether its test is true, if that was not
    /// known before.
    fn test_here<M: Machine>(
        &mut self,
        machine: &mut M,
        property: usize,
    ) -> Result<Option<bool>, Error> {
        let Judged { reading, known, .. } = &mut self.properties[property];
        self.reads.clear();
        match reading.observer {
            Some(observer) => self.reads.push(machine.observed(observer)),
            None => {
                let places = 0..machine.places();
                self.reads.extend(places.map(|place| machine.view(property, place)));
            }
        }
        if known.contains_key(&self.reads[..]) {
            return Ok(None);
        }
        let holds = machine.test(property, &self.reads)?;
        known.insert(self.reads[..].into(), holds);
        Ok(Some(holds))
    }

    /// A property was tested for what it never read before, after these events of the run.
    fn tell<M: Machine>(
        &mut self,
        machine: &mut M,
        property: usize,
        holds: bool,
        reads: &[u32],
        events: impl ExactSizeIterator<Item = usize> + Clone,
    ) -> Result<(), Error> {
        match self.properties[property].reading.kind {
            PropertyKind::Always if !holds && self.violation.is_none() => {
                let what = FoundWhat::Always(property);
                self.violation = Some(Found { what, run: run_of(machine, events.clone())? });
            }
            PropertyKind::Sometimes if holds && self.witnesses[property].is_none() => {
                self.witnesses[property] = Some(run_of(machine, events.clone())?);
                let all = self.properties.iter().zip(&self.witnesses);
                let all = all.map(|(judged, run)| (judged.reading.kind, run.is_some()));
                self.is_done = nothing_left(all);
            }
            _ => {}
        }
        if let Some(goal) = self.properties[property].goal {
            let combination = machine.conjuncts(property, reads)?;
            if !self.goals.knows(goal, combination) {
                let when = (0, events.len() as u64);
                self.goals.report(goal, combination, when, run_of(machine, events)?);
            }
        }
        Ok(())
    }

    /// Looks at a state in which nothing can happen but faults; `events` led there.
    pub fn stuck<M: Machine>(
        &mut self,
        machine: &mut M,
        events: impl Iterator<Item = usize> + Clone,
    ) -> Result<(), Error> {
        if machine.is_withheld() {
            self.terminal.withheld += 1;
            return Ok(());
        }
        self.terminal.judged += 1;
        for property in 0..self.properties.len() {
            if self.properties[property].reading.kind == PropertyKind::NeverStuck
                && self.test_here(machine, property)? == Some(false)
                && self.violation.is_none()
            {
                let what = FoundWhat::Stuck(property);
                self.violation = Some(Found { what, run: run_of(machine, events.clone())? });
            }
        }
        Ok(())
    }

    /// Roughly the bytes in use.
    pub fn bytes(&self) -> u64 {
        let known = |judged: &Judged| (judged.known.len() * 64 + judged.walked.len() * 256) as u64;
        self.properties.iter().map(known).sum()
    }

    /// The kind of each property, and whether it was witnessed.
    pub fn nothing_left(&self) -> bool {
        let all = self.properties.iter().zip(&self.witnesses);
        nothing_left(all.map(|(judged, run)| (judged.reading.kind, run.is_some())))
    }
}

/// These events of the run, in words.
pub(crate) fn run_of<M: Machine>(
    machine: &mut M,
    events: impl Iterator<Item = usize>,
) -> Result<Run, Error> {
    let events = events.map(|event| machine.describe(event)).collect::<Result<_, _>>()?;
    Ok(Run { start: machine.start_number(), events, ..Run::default() })
}
