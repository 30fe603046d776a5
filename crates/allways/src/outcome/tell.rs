//! Telling a run: carrying it out on whole worlds and writing everything down.
//!
//! The run is replayed every way that it can be read; one way that ends as it should is told. The
//! effects of each step (what was sent, what was output) are asked of the handler once more, since
//! a world keeps only what they lead to.

use super::changes::changes_between;
use super::ledger::Ledger;
use super::past::{culprits, last_change, mark_past};
use super::replay::{Ending, Keep, Panicked, Replayed, Taken, does_not_replay, replay};
use super::replayed::{Target, renumbered};
use super::shown::Shown;
use super::story::{Observed, Story, StoryEnding, StoryStart, StoryStep};
use super::{Cause, Run, RunEvent, RunEventKind, Violation};
use crate::engine::panicked;
use crate::error::Error;
use crate::model::event::Event;
use crate::model::network::NetworkKind;
use crate::model::node::{Id, Node};
use crate::model::property::{PropertyKind, Reads};
use crate::model::step::{self, Done, Effect, End, guarded};
use crate::model::system::System;
use crate::model::world::{Action, Envelope, World};
use std::fmt::Debug;

/// Runs with more events than this are not told of their own accord: nobody reads a story of that
/// length, and it takes a while to write.
pub(crate) const MAX_TOLD: usize = 2_000;

/// What the end of a run should show: a violated property, a property that is met, or a panic.
#[derive(Clone, Copy)]
pub(crate) struct Shows<'a> {
    pub cause: &'a Cause,
    /// The number of the property; `None` for a panic.
    pub property: Option<usize>,
}

impl<N: Node> System<N> {
    /// Tells a run in full: carries it out and writes down what every step did.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::told::Cell;
    /// // A node that is called tells the other, which keeps what it is told.
    /// let system = System::new([Cell(0), Cell(0)])
    ///     .call(0, 7)
    ///     .sometimes("seven", view(|c: &Cell| c.0), |cells| cells[1] == 7);
    /// let run = &system.check().witnesses[0].run;
    /// let story = system.story(run).unwrap();
    /// assert_eq!(story.steps[1].changes[0].to_string(), "Cell(0) → Cell(7)");
    /// ```
    ///
    /// # Errors
    ///
    /// If the run is not one of this system as it is now, or user code breaks the rules.
    pub fn story(&self, run: &Run) -> Result<Story, Error> {
        let told = || {
            self.validate()?;
            let replayed = replay(self, run, Keep::Everything)?.map_err(|why| {
                Error::System(format!("the run is not one of this system: {why}"))
            })?;
            let ending = replayed.endings().next().unwrap_or(Ending::World(0));
            Teller::new(self, run).tell(&replayed, ending, None)
        };
        guarded(told).unwrap_or_else(|message| Err(panicked(message)))
    }

    /// Tells the run of a violation in full, with what its end shows.
    ///
    /// ```
    /// use allways::prelude::*;
    /// # use allways::sample::Cell as N;
    /// let system = System::new([N(0)])
    ///     .call(0, 7)
    ///     .always("stays zero", view(|n: &N| n.0), |views| views[0] == 0);
    /// let violation = system.check().violation.unwrap();
    /// let story = system.violation_story(&violation).unwrap();
    /// assert_eq!(story.ending.unwrap().reads, ["7"]);
    /// ```
    ///
    /// # Errors
    ///
    /// If the run does not show the violation in this system as it is now, or user code breaks the
    /// rules.
    pub fn violation_story(&self, violation: &Violation) -> Result<Story, Error> {
        let told = || {
            self.validate()?;
            tell_violation(self, violation)
        };
        guarded(told).unwrap_or_else(|message| Err(panicked(message)))
    }
}

/// Tells the run of a violation.
pub(crate) fn tell_violation<N: Node>(
    system: &System<N>,
    violation: &Violation,
) -> Result<Story, Error> {
    let property = Target::of(system, violation)?.property();
    let shows = Shows { cause: &violation.cause, property };
    let run = renumbered(system, &violation.run)?;
    Ok(confirm_and_tell(system, &run, shows)?.1)
}

/// Confirms by replay that a run ends as it should, and tells it. Returns also what the property
/// reads at the end.
pub(crate) fn confirm_and_tell<N: Node>(
    system: &System<N>,
    run: &Run,
    shows: Shows<'_>,
) -> Result<(Vec<String>, Story), Error> {
    let replayed = replay(system, run, Keep::Everything)?.map_err(|why| does_not_replay(&why))?;
    let (ending, reads) = replayed.confirmed(system, shows.cause, shows.property)?;
    let story = Teller::new(system, run).tell(&replayed, ending, Some(shows))?;
    Ok((reads, story))
}

struct Teller<'a, N: Node> {
    system: &'a System<N>,
    run: &'a Run,
    story: Story,
    ledger: Ledger<N>,
    /// The last step of each node.
    last: Vec<Option<usize>>,
    /// The state of each node, once it has changed.
    states: Vec<Option<Shown>>,
    /// The last partition or its end.
    network_event: Option<usize>,
}

/// One event of the way that is told.
struct Move<'a, N: Node> {
    before: &'a World<N>,
    action: &'a Action<N>,
    after: Result<&'a World<N>, &'a str>,
}

fn shown(values: &[impl Debug]) -> Vec<String> {
    values.iter().map(|value| format!("{value:?}")).collect()
}

impl<'a, N: Node> Teller<'a, N> {
    fn new(system: &'a System<N>, run: &'a Run) -> Self {
        let mut teller = Teller {
            system,
            run,
            story: Story {
                nodes: (0..system.nodes.len()).map(|node| format!("node {node}")).collect(),
                observers: system.observers.iter().map(|observer| observer.name()).collect(),
                ..Story::default()
            },
            ledger: Ledger::new(),
            last: vec![None; system.nodes.len()],
            states: vec![None; system.nodes.len()],
            network_event: None,
        };
        for (to, event) in system.first_calls() {
            teller.ledger.send(system, None, Envelope { to, event });
        }
        teller
    }

    fn tell(
        mut self,
        replayed: &Replayed<N>,
        ending: Ending,
        shows: Option<Shows<'_>>,
    ) -> Result<Story, Error> {
        let panicked_at_start = self.tell_starts()?;
        let worlds = way_to(replayed, ending);
        let start = worlds.first().map(|(world, _)| *world);
        self.story.observer_starts = start.map_or_else(Vec::new, |world| shown(&world.observers));
        let property = shows.and_then(|shows| shows.property);
        let end = match ending {
            Ending::World(_) => None,
            Ending::Panic(at) => Some(&replayed.panics[at]),
        };
        for (index, event) in self.run.events.iter().enumerate() {
            let Some(&(before, _)) = worlds.get(index) else { break };
            let (action, after) = match (worlds.get(index + 1), end) {
                (Some(&(after, Some(step))), _) => (&step.action, Ok(after)),
                (None, Some(Panicked { message, step: Some(step) })) => {
                    (&step.action, Err(message.as_str()))
                }
                _ => break,
            };
            let told = self.tell_step(event, &Move { before, action, after }, property)?;
            if let Some(node) = event.node.filter(|_| event.kind != RunEventKind::Drop) {
                self.last[node] = Some(index);
            }
            if matches!(event.kind, RunEventKind::Partition | RunEventKind::Heal) {
                self.network_event = Some(index);
            }
            self.story.steps.push(told);
        }
        self.story.envelopes = std::mem::take(&mut self.ledger.envelopes);
        if let Some(shows) = shows {
            let worlds: Vec<&World<N>> = worlds.iter().map(|(world, _)| *world).collect();
            let panic = end.map(|panicked| (panicked.message.as_str(), panicked_at_start));
            self.tell_ending(shows, &worlds, panic)?;
        }
        Ok(self.story)
    }

    /// How each node starts; the node that panics then, if one does.
    fn tell_starts(&mut self) -> Result<Option<usize>, Error> {
        let mut all = Vec::new();
        for id in (0..self.system.nodes.len()).map(Id::new) {
            all.push(step::start(self.system, id)?);
        }
        let panics = |effects: &Vec<Effect<N>>| {
            effects.iter().any(|effect| matches!(effect.end, End::Panicked(_)))
        };
        let panicked = all.iter().position(panics);
        // The choices of later nodes vary faster.
        let mut rest = self.run.start;
        let mut taken = Vec::new();
        for effects in all.into_iter().rev() {
            let number = rest % effects.len();
            rest /= effects.len();
            taken.push(effects.into_iter().nth(number));
        }
        for (node, effect) in taken.into_iter().rev().enumerate() {
            let state = format!("{:?}", self.system.nodes[node]);
            let mut start = StoryStart { state, ..StoryStart::default() };
            // Nodes start one after the other, so those behind one that panics have not.
            let started = panicked.is_none_or(|panicked| node < panicked);
            if let (true, Some(Effect { choices, end: End::Done(done) })) = (started, effect) {
                let Done { local, sends, outputs, .. } = done;
                start.state = format!("{:?}", local.node);
                start.timers = shown(&local.timers);
                start.choices = choices;
                start.sent = self.send(node, None, sends);
                start.outputs = shown(&outputs);
            }
            self.story.starts.push(start);
        }
        Ok(panicked)
    }

    fn send(&mut self, from: usize, at: Option<usize>, sends: Vec<(Id, N::Msg)>) -> Vec<usize> {
        let from = Id::new(from);
        let envelope = |(to, msg)| Envelope { to, event: Event::Message { from, msg } };
        sends.into_iter().map(|send| self.ledger.send(self.system, at, envelope(send))).collect()
    }

    fn tell_step(
        &mut self,
        event: &RunEvent,
        moved: &Move<'_, N>,
        property: Option<usize>,
    ) -> Result<StoryStep, Error> {
        let index = self.story.steps.len();
        let mut told = StoryStep {
            event: event.clone(),
            envelope: None,
            sent: Vec::new(),
            lost: Vec::new(),
            outputs: Vec::new(),
            timers_set: Vec::new(),
            timers_cancelled: Vec::new(),
            before: String::new(),
            after: String::new(),
            changes: Vec::new(),
            observed: Vec::new(),
            view: None,
            causes: Vec::new(),
            matters: true,
            panic: moved.after.err().map(str::to_owned),
        };
        match moved.action {
            Action::Step { node, event, keep } => {
                self.tell_effects(&mut told, moved, (*node, event, *keep))?;
                self.tell_states(&mut told, moved, node.index(), property)?;
                told.causes.extend(self.last[node.index()]);
            }
            Action::Drop(envelope) => {
                told.envelope = self.ledger.oldest(envelope);
                if let Some(number) = told.envelope {
                    self.ledger.lose(number, index);
                    told.lost.push(number);
                }
            }
            Action::Partition(_) => told.causes.extend(self.network_event),
            Action::Heal => {
                told.causes.extend(self.network_event);
                let cut = usize::from(moved.before.faults.cut).checked_sub(1);
                for (from, to, msg) in cut.map_or_else(Vec::new, |cut| self.system.greetings(cut)) {
                    told.sent.extend(self.send(from.index(), Some(index), vec![(to, msg)]));
                }
            }
        }
        if let Ok(after) = moved.after {
            told.lost.extend(self.ledger.lose_what_is_gone(after, index));
        }
        if let Some(number) = told.envelope {
            told.causes.extend(self.causes_on_the_network(number));
        }
        told.causes.sort_unstable();
        told.causes.dedup();
        Ok(told)
    }

    /// What the handler did besides changing its node.
    fn tell_effects(
        &mut self,
        told: &mut StoryStep,
        moved: &Move<'_, N>,
        (node, event, keep): (Id, &Event<N>, bool),
    ) -> Result<(), Error> {
        let index = self.story.steps.len();
        let local = &moved.before.locals[node.index()];
        let effects = step::effects(self.system, node, local, event)?;
        let down = effects.is_empty();
        let effect = effects.into_iter().find(|effect| effect.choices == told.event.choices);
        let mut sends = Vec::new();
        if let Some(Effect { end: End::Done(done), .. }) = effect {
            told.outputs = shown(&done.outputs);
            sends = done.sends;
        }
        let in_flight = matches!(event, Event::Message { .. } | Event::Call { .. });
        let envelope = Envelope { to: node, event: event.clone() };
        if let (true, Some(number)) = (in_flight, self.ledger.oldest(&envelope)) {
            told.envelope = Some(number);
            let message = matches!(event, Event::Message { .. });
            let stays = message && self.system.network.kind == NetworkKind::Duplicating;
            // Handled, counted, and still where it was: see `Cx::stutter`.
            let stutters = sends.is_empty() && moved.after.ok() == Some(moved.before);
            if down {
                self.ledger.lose(number, index);
                told.lost.push(number);
            } else {
                self.ledger.handle(number, index, !(keep || stays || stutters));
            }
        }
        told.sent = self.send(node.index(), Some(index), sends);
        if let (Event::Call { next: Some(next), .. }, Ok(_)) = (event, moved.after)
            && let Some((to, event)) = self.system.call_at(next.script as usize, next.at as usize)
        {
            told.sent.push(self.ledger.send(self.system, Some(index), Envelope { to, event }));
        }
        Ok(())
    }

    /// What changed at the node and in the observers.
    fn tell_states(
        &mut self,
        told: &mut StoryStep,
        moved: &Move<'_, N>,
        node: usize,
        property: Option<usize>,
    ) -> Result<(), Error> {
        let before = &moved.before.locals[node];
        told.before = format!("{:?}", before.node);
        let Ok(world) = moved.after else { return Ok(()) };
        let after = &world.locals[node];
        told.after = format!("{:?}", after.node);
        if told.before != told.after {
            // Every state but the first was read when it came to be.
            let shown = self.states[node].take().unwrap_or_else(|| Shown::read(&told.before));
            let next = Shown::read(&told.after);
            told.changes = changes_between((&told.before, &shown), (&told.after, &next));
            self.states[node] = Some(next);
        }
        let fired = match moved.action {
            Action::Step { event: Event::Timer(timer), .. } => Some(timer),
            _ => None,
        };
        let pending = |timer: &&N::Timer| before.timers.contains(timer) && Some(*timer) != fired;
        let set = after.timers.iter().filter(|timer| !pending(timer));
        told.timers_set = set.map(|timer| format!("{timer:?}")).collect();
        let gone = before.timers.iter().filter(pending).filter(|t| !after.timers.contains(t));
        told.timers_cancelled = gone.map(|timer| format!("{timer:?}")).collect();
        let observers = moved.before.observers.iter().zip(&world.observers).enumerate();
        for (observer, (before, after)) in observers.filter(|(_, (before, after))| before != after)
        {
            let (before, after) = (format!("{before:?}"), format!("{after:?}"));
            told.observed.push(Observed { observer, before, after });
        }
        if let Some(property) = property {
            let at = match self.system.properties[property].reads {
                Reads::Views { .. } => node,
                Reads::Observer { .. } => 0,
            };
            let before = moved.before.reads(self.system, property)?;
            let after = world.reads(self.system, property)?;
            if before[at] != after[at] {
                told.view = Some((format!("{:?}", before[at]), format!("{:?}", after[at])));
            }
        }
        Ok(())
    }

    /// The steps but for which an envelope would not have come this far.
    fn causes_on_the_network(&self, number: usize) -> Vec<usize> {
        let envelope = &self.ledger.envelopes[number];
        let mut causes: Vec<usize> = envelope.sent_at.into_iter().collect();
        if envelope.from.is_none() {
            return causes;
        }
        if self.system.network.kind == NetworkKind::Ordered {
            // What was in front of it, and is lost.
            let before = self.ledger.envelopes[..number].iter();
            let channel = before.filter(|e| (e.from, e.to) == (envelope.from, envelope.to));
            causes.extend(channel.filter_map(|e| e.lost_at).max());
        }
        // The partition that had ended when it was sent.
        let sent_at = envelope.sent_at.unwrap_or(0);
        let earlier = self.story.steps[..sent_at].iter();
        let mut network = earlier.enumerate().rev().filter(|(_, step)| {
            matches!(step.event.kind, RunEventKind::Partition | RunEventKind::Heal)
        });
        if let Some((heal, step)) = network.next()
            && step.event.kind == RunEventKind::Heal
            && let Some((partition, _)) = network.next()
            && self.crosses(envelope.from, envelope.to, partition)
        {
            causes.push(heal);
        }
        causes
    }

    /// Whether the partition at a step had these two nodes on different sides.
    fn crosses(&self, from: Option<usize>, to: usize, partition: usize) -> bool {
        let what = &self.story.steps[partition].event.what;
        let mut cuts = self.system.faults.cuts.iter().filter(|cut| format!("{cut:?}") == *what);
        cuts.any(|cut| from.is_some_and(|from| cut.parts(from, to)))
    }

    fn tell_ending(
        &mut self,
        shows: Shows<'_>,
        worlds: &[&World<N>],
        panic: Option<(&str, Option<usize>)>,
    ) -> Result<(), Error> {
        let Some(number) = shows.property else {
            let (message, panicked_at_start) = panic.unwrap_or_default();
            let last = self.story.steps.len().checked_sub(1);
            let culprit = last.and_then(|last| self.story.steps[last].event.node);
            mark_past(&mut self.story.steps, last);
            self.story.ending = Some(StoryEnding {
                property: message.to_owned(),
                kind: None,
                cause: Some(Cause::Panic),
                reads: Vec::new(),
                reads_at_start: Vec::new(),
                observer: None,
                culprits: culprit.or(panicked_at_start).into_iter().collect(),
            });
            return Ok(());
        };
        let property = &self.system.properties[number];
        let reads = worlds.iter().map(|world| world.reads(self.system, number));
        let history = reads.collect::<Result<Vec<_>, Error>>()?;
        let (at_start, at_end) = match history.as_slice() {
            [] => (&[][..], &[][..]),
            [first, ..] => (&first[..], &history[history.len() - 1][..]),
        };
        let observer = match property.reads {
            Reads::Views { .. } => None,
            Reads::Observer { observer, .. } => Some(observer),
        };
        let steps = &self.story.steps;
        let culprits = if observer.is_some() || *shows.cause == Cause::Stuck {
            Vec::new()
        } else {
            let moved_last = steps.iter().rfind(|step| step.view.is_some());
            let moved_last = moved_last.and_then(|step| step.event.node);
            culprits(self.system, number, &history, moved_last)
        };
        if let Some(observer) = observer {
            let saw = |step: &StoryStep| step.observed.iter().any(|o| o.observer == observer);
            let saw = (0..steps.len()).filter(|&step| saw(&steps[step])).collect::<Vec<_>>();
            mark_past(&mut self.story.steps, saw);
        } else if !culprits.is_empty() {
            let changes = culprits.iter().filter_map(|&node| last_change(&self.story, node));
            let changes = changes.collect::<Vec<_>>();
            mark_past(&mut self.story.steps, changes);
        }
        let met = property.kind == PropertyKind::Sometimes;
        self.story.ending = Some(StoryEnding {
            property: property.name.clone(),
            kind: Some(property.kind),
            cause: (!met).then(|| shows.cause.clone()),
            reads: shown(at_end),
            reads_at_start: shown(at_start),
            observer,
            culprits,
        });
        Ok(())
    }
}

/// The worlds on the way to an end, each with the step that led to it.
fn way_to<N: Node>(replayed: &Replayed<N>, ending: Ending) -> Vec<(&World<N>, Option<&Taken<N>>)> {
    let (mut layers, mut at) = match ending {
        Ending::World(at) => (replayed.layers.as_slice(), Some(at)),
        // The last layer has the worlds after the event that panics.
        Ending::Panic(at) => {
            let layers = replayed.layers.as_slice();
            let before = &layers[..layers.len().saturating_sub(1)];
            (before, replayed.panics[at].step.as_ref().map(|step| step.from))
        }
    };
    let mut worlds = Vec::new();
    while let (Some(place), [rest @ .., layer]) = (at, layers) {
        let way = &layer[place];
        worlds.push((&way.world, way.step.as_ref()));
        at = way.step.as_ref().map(|step| step.from);
        layers = rest;
    }
    worlds.reverse();
    worlds
}
