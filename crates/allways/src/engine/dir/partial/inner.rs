//! A component by itself as the machine of another exploration, that of the components which it [consists of](super::super::nested).

use super::{End, Fate, Look, Name, Part, Partial, Seen, look_key, signature};
use crate::engine::machine::{Elsewhere, Machine, Transition};
use crate::error::Error;
use std::sync::Arc;

impl<M: Machine> Partial<'_, M> {
    /// The machine that the component is a part of.
    pub fn base(&mut self) -> &mut M {
        &mut *self.led.machine
    }

    /// Where the component's groups have views, in the order of its looks.
    pub fn places_of(&self) -> &[u32] {
        &self.places_of
    }

    /// What the component calls each event of the run, if it concerns it.
    pub fn names(&self) -> Vec<Option<Name>> {
        self.led.marks.all.iter().map(|mark| mark.for_component(self.component)).collect()
    }

    /// Whether nobody wants to see a step that is possible where the run stands: it is noted then.
    pub(super) fn refuses_step(&mut self, transition: Transition) -> Result<bool, Error> {
        let Transition { process, alternative } = transition;
        if !self.is_own(process) {
            return Ok(false);
        }
        let mut alternatives = Vec::new();
        let here = self.led.machine.elsewhere(process, &[], &mut alternatives)?;
        let Elsewhere::Possible(footprint, created_by) = here else {
            let what = "a step that was met is not possible where it fits";
            return Err(Error::Internal(what.to_owned()));
        };
        alternatives.clear();
        alternatives.push(alternative);
        self.sift(process, footprint, created_by, &[], &mut alternatives)?;
        Ok(alternatives.is_empty())
    }

    /// Whether it is news that the component may look so after these of its own interface events, when it has taken this from others.
    pub fn is_new_look(&self, own: u64, taken: &[Name], look: &Look) -> bool {
        let known = self.known_looks.get(&(own, signature(taken.iter().copied())));
        known.is_none_or(|looks| !looks.contains(look))
    }

    /// Notes that it does, in this part of a trace.
    pub fn note_look(&mut self, own: u64, taken: Box<[Name]>, look: Look, part: Part) {
        let known = self.known_looks.entry((own, signature(taken.iter().copied())));
        known.or_default().insert(look.clone());
        let key = look_key(&*self.led.machine, &look);
        self.found.looks.push(Arc::new(Seen { own, taken, look, key, part }));
    }

    /// Whether it is news that the component may be so at its end.
    pub fn is_new_end(&self, fate: &Fate) -> bool {
        !self.known_ends.contains(fate)
    }

    /// Notes that it is, in this part of a trace.
    pub fn note_end(&mut self, fate: Fate, part: Part) {
        self.known_ends.insert(fate.clone());
        self.found.ends.push(Arc::new(End { fate, part }));
    }
}
