//! Successors of a global state that is a vector of sites.
//!
//! The steps of a state are the steps of its sites, listed once for each site; a successor is a
//! copy of a few words with the site of the node that moves, and those of the nodes that it sends
//! to, replaced. Nothing here looks at what is in flight.

use super::expand::{Candidate, Expander, Expansion, Kind, NO_PLACE, Touches};
use crate::error::Error;
use crate::model::network::NetworkKind;
use crate::space::memo::flag;
use crate::space::plans::Entry;

impl Expander<'_> {
    /// The vector in sites, if it can be; otherwise as it is.
    pub fn in_sites(&mut self, vector: Vec<u32>) -> Vec<u32> {
        match self.layout.sites {
            true => self.plans.sites_of(&vector).unwrap_or(vector),
            false => vector,
        }
    }

    /// Asks for what expanding these vectors will need: first for all of them what says where the
    /// rest is, then the rest.
    pub fn prefetch<'v>(&self, vectors: impl Iterator<Item = &'v [u32]> + Clone) {
        if !self.layout.sites {
            return;
        }
        for vector in vectors.clone().filter(|vector| self.layout.in_sites(vector)) {
            let sites = &vector[self.layout.node_base..][..self.layout.nodes];
            for (node, &site) in sites.iter().enumerate() {
                self.plans.prefetch_plan(node, site);
            }
        }
        for vector in vectors.filter(|vector| self.layout.in_sites(vector)) {
            let sites = &vector[self.layout.node_base..][..self.layout.nodes];
            for (node, &site) in sites.iter().enumerate() {
                self.plans.prefetch_entries(node, site);
            }
        }
    }

    /// Appends everything that may happen in `vector` to `candidates`.
    pub(super) fn expand_sites(
        &mut self,
        vector: &[u32],
        fingerprint: u64,
        parent: u32,
        candidates: &mut Vec<Candidate>,
    ) -> Result<Expansion, Error> {
        let mut found = Expansion::default();
        let before = candidates.len();
        let sites = &vector[self.layout.node_base..][..self.layout.nodes];
        for (node, &site) in sites.iter().enumerate() {
            let plan = self.plans.plan(&mut self.memo, node, site)?;
            found.stutters += u64::from(plan.stutters);
            for place in plan.entries() {
                let Entry { code, event, .. } = self.plans.entry(place);
                let step = self.memo.step(code);
                let reads = step.flags & flag::VIEWS != 0 || step.feed != 0;
                let candidate = Candidate {
                    fingerprint: fingerprint.wrapping_add(step.delta),
                    parent,
                    event,
                    code,
                    at: place,
                    kind: Kind::Site,
                    touches: if reads { Touches::Reads } else { Touches::Nothing },
                };
                // Most are plain steps of which only the fingerprint is needed now.
                let simple =
                    step.flags & (flag::SIMPLE | flag::PANIC | flag::TRIVIAL) == flag::SIMPLE;
                if simple && step.feed == 0 {
                    candidates.push(candidate);
                } else {
                    self.less_simple(vector, candidate, candidates, &mut found)?;
                }
            }
        }
        found.goes_on = candidates.len() > before;
        Ok(found)
    }

    fn less_simple(
        &mut self,
        vector: &[u32],
        mut candidate: Candidate,
        candidates: &mut Vec<Candidate>,
        found: &mut Expansion,
    ) -> Result<(), Error> {
        let step = *self.memo.step(candidate.code);
        if step.flags & flag::PANIC != 0 {
            candidate.touches = Touches::Panic;
            found.panics = true;
        } else if step.flags & flag::TRIVIAL != 0 && !self.moves(vector, &candidate)? {
            found.stutters += u64::from(step.flags & flag::STUTTER != 0);
            return Ok(());
        } else {
            let moved = self.observed(vector, step.feed)?;
            candidate.fingerprint = candidate.fingerprint.wrapping_add(moved);
            if step.flags & flag::SIMPLE == 0 {
                let delta = self.delta_of_new(vector, &candidate);
                candidate.fingerprint = candidate.fingerprint.wrapping_add(delta);
            }
        }
        candidates.push(candidate);
        Ok(())
    }

    /// What a step adds to a fingerprint besides its node's state, on a duplicating network: what
    /// it sends counts only if it is not in flight already.
    fn delta_of_new(&mut self, vector: &[u32], candidate: &Candidate) -> u64 {
        let step = *self.memo.step(candidate.code);
        let mut sum = 0u64;
        let info = self.memo.event(candidate.event);
        if info.is_consumed(self.layout.network) {
            sum = sum.wrapping_sub(info.key);
        }
        for index in 0..self.memo.sends(&step).len() {
            let event = self.memo.sends(&step)[index];
            let info = self.memo.event(event);
            let site = vector[self.layout.node_base + self.layout.event_node(event)];
            let as_set = self.layout.network == NetworkKind::Duplicating && info.is_message();
            let known = as_set
                && match self.plans.deliver(&mut self.memo, site, event) {
                    Some(next) => next == site,
                    None => self.plans.holds(site, event),
                };
            if !known {
                sum = sum.wrapping_add(info.key);
            }
        }
        sum
    }

    /// Makes a candidate into a vector of its own: in sites, or plainly if there are too many.
    pub(super) fn make_sites(
        &mut self,
        vector: &[u32],
        fingerprint: u64,
        candidate: &Candidate,
        next: &mut Vec<u32>,
    ) -> Result<(), Error> {
        next.clear();
        next.extend_from_slice(vector);
        if self.move_sites(candidate, next).is_none() {
            return self.make_plain(vector, fingerprint, candidate, next);
        }
        let feed = self.memo.step(candidate.code).feed;
        if feed != 0 {
            let observers = &mut next[self.layout.observer_base..][..self.layout.observers];
            for (observer, state) in observers.iter_mut().enumerate() {
                *state = self.memo.observe(observer, *state, feed)?.0;
            }
        }
        Ok(())
    }

    /// Replaces the sites that a step changes; `None` if there are too many.
    fn move_sites(&mut self, candidate: &Candidate, next: &mut [u32]) -> Option<()> {
        let layout = self.layout;
        let own = layout.node_base + layout.event_node(candidate.event);
        next[own] = self.plans.after(&mut self.memo, candidate.at, next[own])?;
        let step = *self.memo.step(candidate.code);
        for index in 0..self.memo.sends(&step).len() {
            let event = self.memo.sends(&step)[index];
            let place = layout.node_base + layout.event_node(event);
            next[place] = self.plans.deliver(&mut self.memo, next[place], event)?;
        }
        Some(())
    }

    fn make_plain(
        &mut self,
        vector: &[u32],
        fingerprint: u64,
        candidate: &Candidate,
        next: &mut Vec<u32>,
    ) -> Result<(), Error> {
        let mut plain = std::mem::take(&mut self.scratch);
        self.plans.plainly(vector, &mut plain);
        let in_flight = self.memo.event(candidate.event).is_in_flight();
        let kind = if in_flight { Kind::Flight } else { Kind::Inside };
        let candidate = Candidate { kind, at: NO_PLACE as u32, ..*candidate };
        let made = self.apply(&plain, fingerprint, &candidate, next);
        self.scratch = plain;
        made.map(|_| ())
    }
}
