//! The ledger of a story: where every envelope was sent, and what became of it.
//!
//! A world only counts what is in flight; equal envelopes cannot be told apart in it. The ledger
//! gives each its own entry. Of equal envelopes the oldest is handled first, which on an ordered
//! network is the only one that can be. What the ledger has in flight and the world has not was
//! lost; so the rules of loss are not written a second time here.

use super::story::StoryEnvelope;
use crate::model::event::Event;
use crate::model::network::NetworkKind;
use crate::model::node::{Id, Node};
use crate::model::system::System;
use crate::model::world::{Envelope, World};

pub(crate) struct Ledger<N: Node> {
    /// Everything that was ever in flight, in the order in which it was sent.
    pub envelopes: Vec<StoryEnvelope>,
    /// What is in flight, oldest first, with its place among the envelopes.
    flight: Vec<(usize, Envelope<N>)>,
}

impl<N: Node> Ledger<N> {
    pub fn new() -> Self {
        Ledger { envelopes: Vec::new(), flight: Vec::new() }
    }

    /// Enters something that is sent at a step, or at the start. On a duplicating network, what is
    /// in flight already stays one envelope however often it is sent.
    pub fn send(&mut self, system: &System<N>, step: Option<usize>, sent: Envelope<N>) -> usize {
        let (from, what) = match &sent.event {
            Event::Message { from, msg } => (Some(from.index()), format!("{msg:?}")),
            Event::Call { call, .. } => (None, format!("{call:?}")),
            other => (None, other.to_string()),
        };
        if from.is_some()
            && system.network.kind == NetworkKind::Duplicating
            && let Some(there) = self.oldest(&sent)
        {
            return there;
        }
        let number = self.envelopes.len();
        let to = sent.to.index();
        self.envelopes.push(StoryEnvelope {
            from,
            to,
            what,
            sent_at: step,
            handled_at: Vec::new(),
            lost_at: None,
        });
        self.flight.push((number, sent));
        number
    }

    /// The oldest envelope in flight that is equal to this one.
    pub fn oldest(&self, envelope: &Envelope<N>) -> Option<usize> {
        self.flight.iter().find(|(_, other)| other == envelope).map(|(number, _)| *number)
    }

    /// Notes that a step handled an envelope, and whether that took it off the network.
    pub fn handle(&mut self, number: usize, step: usize, consumed: bool) {
        self.envelopes[number].handled_at.push(step);
        if consumed {
            self.flight.retain(|(other, _)| *other != number);
        }
    }

    /// Notes that a step lost an envelope.
    pub fn lose(&mut self, number: usize, step: usize) {
        self.envelopes[number].lost_at = Some(step);
        self.flight.retain(|(other, _)| *other != number);
    }

    /// Loses what the world no longer has in flight after a step; returns what that is. Of equal
    /// envelopes the last sent are lost.
    pub fn lose_what_is_gone(&mut self, world: &World<N>, step: usize) -> Vec<usize> {
        let copies = world.flight.iter().map(|(_, count)| *count as usize);
        let queued = world.queues.iter().map(|queue| queue.len());
        if copies.chain(queued).sum::<usize>() == self.flight.len() {
            return Vec::new();
        }
        let nodes = world.locals.len();
        let mut there = world.flight.clone();
        for (channel, queue) in world.queues.iter().enumerate() {
            let (from, to) = (Id::new(channel / nodes), Id::new(channel % nodes));
            there.extend(
                queue.iter().map(|msg| {
                    (Envelope { to, event: Event::Message { from, msg: msg.clone() } }, 1)
                }),
            );
        }
        let mut gone = Vec::new();
        for (number, envelope) in &self.flight {
            match there.iter_mut().find(|(other, count)| *count > 0 && other == envelope) {
                Some((_, count)) => *count -= 1,
                None => gone.push(*number),
            }
        }
        for &number in &gone {
            self.lose(number, step);
        }
        gone
    }
}
