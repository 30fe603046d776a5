//! What was covered, as the local space knows it: every local step that was asked for is in it.
//!
//! Nothing is counted while a search runs, but for what handlers choose; that is counted where they
//! run, once for each local step.

use super::intern::Interner;
use super::local::LocalSpace;
use super::{EventId, StateId, StateInfo};
use crate::model::event::{Event, Local};
use crate::model::node::{Id, Node};
use crate::model::tally::{EventTally, Tally};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::PoisonError;

impl<N: Node> LocalSpace<'_, N> {
    /// What handlers were seen to do.
    pub fn tally(&self) -> Tally {
        let down = self.states_that_are_down();
        let mut tallies: FxHashMap<EventId, EventTally> = FxHashMap::default();
        for part in &self.steps {
            let part = part.lock().unwrap_or_else(PoisonError::into_inner);
            for (&(state, event), steps) in part.iter() {
                // A node that is down handles a restart and nothing else.
                if down[self.layout.event_node(event)].contains(&state)
                    && !matches!(*self.event_of(event).1, Event::Restart)
                {
                    continue;
                }
                let changed = steps.iter().any(|step| step.end.changes(state));
                tallies.entry(event).or_default().steps.add(changed);
            }
        }
        let arms = self.arms.lock().unwrap_or_else(PoisonError::into_inner);
        for (event, arms) in arms.iter() {
            tallies.entry(*event).or_default().arms.clone_from(arms);
        }
        let mut tally = Tally::default();
        let never = EventTally::default();
        for (node, events) in self.events.iter().enumerate() {
            for number in 0..events.len() as u32 {
                let seen = self.layout.event_id(node, number).and_then(|id| tallies.get(&id));
                tally.add(self.system, &events.value(number), seen.unwrap_or(&never));
            }
        }
        for event in self.withheld_timers() {
            tally.add(self.system, &event, &never);
        }
        tally.add_start(self.system);
        tally
    }

    fn states_that_are_down(&self) -> Vec<FxHashSet<StateId>> {
        let crashes = self.system.faults.crashes > 0;
        let of = |states: &Interner<Local<N>, StateInfo>| {
            let all = 0..if crashes { states.len() as u32 } else { 0 };
            all.filter(|&number| !states.info(number).up).collect()
        };
        self.states.iter().map(of).collect()
    }

    /// Timers that were set but could not fire in any state: they are no events of the space.
    fn withheld_timers(&self) -> Vec<Event<N>> {
        let mut withheld = Vec::new();
        for (node, (states, events)) in self.states.iter().zip(&self.events).enumerate() {
            let mut met: FxHashSet<Event<N>> = FxHashSet::default();
            for number in (0..states.len() as u32).filter(|&number| states.info(number).withheld) {
                for timer in &states.value(number).timers {
                    let event = Event::Timer(timer.clone());
                    let key = Self::event_key(Id::new(node), &event);
                    if events.number(key, &event).is_none() && met.insert(event.clone()) {
                        withheld.push(event);
                    }
                }
            }
        }
        withheld
    }

    /// For each property: whether what it reads was the same in every state.
    pub fn constant_reads(&self) -> Vec<bool> {
        let properties = self.layout.properties.iter().enumerate();
        properties
            .map(|(property, (_, observer))| match observer {
                Some(observer) => {
                    let all = 0..self.observers.len() as u32;
                    all.filter(|&state| self.observers.value(state).0 == *observer).count() <= 1
                }
                None => self.states.iter().all(|states| {
                    let view = |number| states.info(number).views[property];
                    (1..states.len() as u32).all(|number| view(number) == view(0))
                }),
            })
            .collect()
    }
}
