//! A second opinion that shares nothing with the library: plans on an unordered network without
//! faults and observers, explored on the tables themselves.

use crate::plan::{Input, Plan, Rule};
use std::collections::{BTreeMap, BTreeSet, HashSet};

#[derive(Clone, PartialEq, Eq, Hash)]
struct Global {
    states: Vec<u8>,
    /// Source, destination, kind and hops of what is in flight, and how often.
    flight: BTreeMap<(usize, usize, u8, u8), u32>,
    timers: Vec<BTreeSet<u8>>,
    fires_left: Vec<u32>,
    /// How far each script has come. Calls that are alike are one, so the positions are not what
    /// tells global states apart: [`Global::key`].
    scripts: Vec<usize>,
}

/// What tells global states apart: the calls that may come next, with what comes after them.
type Key = (Global, BTreeMap<(usize, u8, Option<(usize, usize)>), u32>);

impl Global {
    fn key(&self, plan: &Plan) -> Key {
        let mut calls = BTreeMap::new();
        for (script, &at) in self.scripts.iter().enumerate() {
            if let Some(&(node, call)) = plan.scripts[script].get(at) {
                let next = (at + 1 < plan.scripts[script].len()).then_some((script, at + 1));
                *calls.entry((node, call, next)).or_default() += 1;
            }
        }
        (Global { scripts: Vec::new(), ..self.clone() }, calls)
    }

    /// One way on for each alternative of a rule; `None` where an alternative changes nothing.
    fn follow(
        &self,
        rule: &Rule,
        node: usize,
        from: usize,
        hops: Option<u8>,
    ) -> Vec<Option<Global>> {
        let apply = |alternative: &crate::plan::Alternative| {
            let mut next = self.clone();
            next.states[node] = alternative.next.unwrap_or(self.states[node]);
            for &(to, kind) in hops.iter().flat_map(|_| &alternative.sends) {
                let to = if to < self.states.len() { to } else { from };
                *next.flight.entry((node, to, kind, hops.unwrap_or(0))).or_default() += 1;
            }
            alternative.cancel.map(|timer| next.timers[node].remove(&timer));
            alternative.set.map(|timer| next.timers[node].insert(timer));
            (next != *self).then_some(next)
        };
        rule.iter().map(apply).collect()
    }

    fn successors(&self, plan: &Plan) -> Vec<Global> {
        let mut all = Vec::new();
        for &(from, to, kind, hops) in self.flight.keys() {
            let rule = plan.rule(to, self.states[to], Input::Message(kind));
            for mut next in self.follow(rule, to, from, hops.checked_sub(1)).into_iter().flatten() {
                let key = (from, to, kind, hops);
                match next.flight[&key] {
                    1 => next.flight.remove(&key),
                    count => next.flight.insert(key, count - 1),
                };
                all.push(next);
            }
        }
        for (script, &at) in self.scripts.iter().enumerate() {
            let Some(&(node, call)) = plan.scripts[script].get(at) else { continue };
            let last = at + 1 == plan.scripts[script].len();
            let rule = plan.rule(node, self.states[node], Input::Call(call));
            for next in self.follow(rule, node, node, Some(plan.hops)) {
                // A call that changes nothing is a step only if another call waits for it.
                if next.is_some() || !last {
                    let mut next = next.unwrap_or_else(|| self.clone());
                    next.scripts[script] += 1;
                    all.push(next);
                }
            }
        }
        for node in (0..self.states.len()).filter(|&node| self.fires_left[node] > 0) {
            for &timer in &self.timers[node] {
                let mut fired = self.clone();
                fired.timers[node].remove(&timer);
                let rule = plan.rule(node, self.states[node], Input::Timer(timer));
                let follow = fired.follow(rule, node, node, Some(plan.hops));
                for (next, alternative) in follow.into_iter().zip(rule) {
                    let mut next = next.unwrap_or_else(|| fired.clone());
                    // Firing is free if it leads back to where it started and says nothing.
                    if next != *self || !alternative.outputs.is_empty() {
                        next.fires_left[node] -= 1;
                        all.push(next);
                    }
                }
            }
        }
        all
    }
}

/// All reachable combinations of states, and how many global states there are; `None` if there
/// are more than `limit`.
pub fn explore(plan: &Plan, limit: usize) -> Option<(BTreeSet<Vec<u8>>, usize)> {
    let nodes = plan.nodes.len();
    let mut starts = vec![Global {
        states: vec![0; nodes],
        flight: BTreeMap::new(),
        timers: vec![BTreeSet::new(); nodes],
        fires_left: vec![plan.timer_bound; nodes],
        scripts: vec![0; plan.scripts.len()],
    }];
    for node in 0..nodes {
        let start = |global: Global| {
            let worlds = global.follow(plan.start(node), node, node, Some(plan.hops));
            worlds.into_iter().map(move |next| next.unwrap_or_else(|| global.clone()))
        };
        starts = starts.into_iter().flat_map(start).collect();
    }
    let mut met: HashSet<Key> = HashSet::new();
    let mut todo = starts;
    while let Some(global) = todo.pop() {
        if met.insert(global.key(plan)) {
            todo.extend(global.successors(plan));
        }
        if met.len() > limit {
            return None;
        }
    }
    Some((met.iter().map(|(global, _)| global.states.clone()).collect(), met.len()))
}
