//! The runs that show what a walk has met: the component's own steps on the way to a node, and of the rest what these need. They are put together without the machine, and only for what a walk meets
//! first at that node.

use super::{NONE, Node, Step, Walk};
use crate::engine::dir::interface::Doing;
use crate::engine::dir::partial::{Branch, End, Seen, look_key};
use crate::engine::machine::Machine;
use crate::trace::skeleton::{Event, FewEvents, Name, Trace, signature};
use rustc_hash::FxHashMap;
use std::sync::Arc;

impl<M: Machine> Walk<'_, '_, M> {
    /// A branch is possible here.
    pub(super) fn meet_branch(&mut self, option: u32) {
        if option == NONE || !self.met.branches.insert(self.tree.options[option as usize].branch) {
            return;
        }
        let it = &self.tree.options[option as usize];
        let branch = match &it.shown {
            Some(shown) => Arc::clone(shown),
            None => {
                let trace = Arc::new(self.way(it.node, &it.past));
                let stays = vec![true; trace.events.len()].into();
                let past = it.past.iter().copied().collect();
                let (component, step) = (self.tree.component, it.step.clone());
                let branch = Arc::new(Branch { component, step, past, trace, stays });
                self.tree.options[option as usize].shown = Some(Arc::clone(&branch));
                branch
            }
        };
        self.walked.found.branches.push(branch);
    }

    /// The component looks as it does at a node.
    pub(super) fn meet_look(&mut self, node: u32) {
        let Node { look, seen, .. } = &self.tree.nodes[node as usize];
        if *look == NONE || !self.met.looks.insert(*look) {
            return;
        }
        let seen = match seen {
            Some(seen) => Arc::clone(seen),
            None => self.see(node),
        };
        self.walked.found.looks.push(seen);
    }

    fn see(&mut self, node: u32) -> Arc<Seen> {
        let trace = self.way(node, &[]);
        let component = self.tree.component;
        let is_own = |event: &Event<Doing>| event.mark.component == component;
        let own = trace.events.iter().filter(|event| is_own(event));
        let own = signature(own.filter_map(|event| event.mark.for_component(component)));
        let stays = trace.events.iter().map(is_own).collect();
        let look = self.tree.looks[self.tree.nodes[node as usize].look as usize].clone();
        let key = look_key(&*self.led.machine, &look);
        // It has names for all of that, or its steps would not have been taken.
        let taken = trace.taken_by(component, |_| true).unwrap_or_default();
        let seen = Arc::new(Seen { own, taken, look, key, part: (Arc::new(trace), stays) });
        self.tree.nodes[node as usize].seen = Some(Arc::clone(&seen));
        seen
    }

    /// The component may end here.
    pub(super) fn meet_end(&mut self, end: u32) {
        let it = &self.tree.ends[end as usize];
        if self.met.ends.contains(&it.fate) {
            return;
        }
        self.met.ends.insert(it.fate.clone());
        let end = match &it.shown {
            Some(shown) => Arc::clone(shown),
            None => {
                let trace = Arc::new(self.way(it.node, &it.past));
                let stays = vec![true; trace.events.len()].into();
                let shown = Arc::new(End { fate: it.fate.clone(), part: (trace, stays) });
                self.tree.ends[end as usize].shown = Some(Arc::clone(&shown));
                shown
            }
        };
        self.walked.found.ends.push(end);
    }

    /// The way to a node: a run of the component's own steps, with what of the rest is called so by the component, and with all that happens before any of that.
    fn way(&self, node: u32, names: &[Name]) -> Trace<Doing> {
        let mut steps: Vec<&Step> = Vec::new();
        let mut at = &self.tree.nodes[node as usize];
        while let Some(step) = &at.step {
            steps.push(step);
            at = &self.tree.nodes[at.parent as usize];
        }
        steps.reverse();
        // What is needed of the rest.
        let told = &self.told.events;
        let mut is_needed = vec![false; told.len()];
        let across = steps.iter().flat_map(|step| &step.across);
        for name in across.chain(names) {
            if let Some(&place) = self.places.get(name) {
                is_needed[place as usize] = true;
            }
        }
        for (place, event) in told.iter().enumerate().rev() {
            if is_needed[place] {
                event.before.iter().for_each(|&before| is_needed[before as usize] = true);
            }
        }
        let mut way = Way {
            trace: Trace { events: Vec::new() },
            own: FxHashMap::default(),
            rest: vec![0; told.len()],
            last: None,
        };
        let component = self.tree.component;
        let give = |way: &mut Way, level: usize| {
            let places = self.given[level].iter().map(|&place| place as usize);
            places.filter(|&place| is_needed[place]).for_each(|place| {
                let event = &told[place];
                let there = |&before: &u32| {
                    let before = before as usize;
                    match told[before].mark.component == component {
                        false => Some(way.rest[before]),
                        true => way.own.get(&told[before].mark.for_component(component)?).copied(),
                    }
                };
                let before = event.before.iter().filter_map(there).collect();
                let across = event.across.iter().filter_map(there).collect();
                way.rest[place] = way.trace.events.len() as u32;
                let (what, mark) = (event.what.clone(), event.mark.clone());
                way.trace.events.push(Event { what, mark, before, across });
            });
        };
        give(&mut way, 0);
        let mut level = 0;
        for Step { doing, mark, across, .. } in steps {
            let there = |name: &Name| self.places.get(name).map(|&place| way.rest[place as usize]);
            let across: FewEvents = across.iter().filter_map(there).collect();
            let before = across.iter().copied().chain(way.last).collect();
            let number = way.trace.events.len() as u32;
            way.last = Some(number);
            way.trace.events.push(Event {
                what: doing.clone(),
                mark: mark.clone(),
                before,
                across,
            });
            if let Some(name) = mark.for_component(component) {
                way.own.insert(name, number);
                level += 1;
                give(&mut way, level);
            }
        }
        way.trace
    }
}

/// A run that is put together.
struct Way {
    trace: Trace<Doing>,
    /// Where the component's own interface events are in it, by name, and what of the rest is where; and the last of the component's own.
    own: FxHashMap<Name, u32>,
    rest: Vec<u32>,
    last: Option<u32>,
}
