//! What properties see of the points of the product: all combinations of views within its sets, and the terminal states.

use super::super::verdict::count_up;
use super::configuration::{ConfigurationId, NONE};
use super::product::{Product, Taken};
use crate::engine::{Found, FoundWhat, nothing_left};
use crate::error::Error;
use crate::model::property::PropertyKind;
use crate::outcome::Run;
use crate::space::EventId;
use std::rc::Rc;

/// So often somebody looks at the clock: after so many combinations of views.
const VIEWS_A_PULSE: u64 = 1 << 14;

impl Product<'_> {
    /// Tests what properties see of a new point; true if the search is over.
    pub fn check(&mut self, number: u32) -> Result<bool, Error> {
        let layout = self.space.layout();
        for (property, &(kind, observer)) in layout.properties.iter().enumerate() {
            let sought = match kind {
                PropertyKind::Always => false,
                PropertyKind::Sometimes if self.found.witnesses[property].is_none() => true,
                _ => continue,
            };
            if let Some(run) = self.find(number, property, observer, sought)? {
                match kind {
                    PropertyKind::Sometimes => self.found.witnesses[property] = Some(run),
                    _ => {
                        let what = FoundWhat::Always(property);
                        self.found.violation = Some(Found { what, run });
                        return Ok(true);
                    }
                }
            }
        }
        let properties = layout.properties.iter().zip(&self.found.witnesses);
        Ok(nothing_left(properties.map(|((kind, _), witness)| (*kind, witness.is_some()))))
    }

    /// Whether the test of a property is true of what it reads; and the conjuncts that are true, if that many at once are news.
    fn test(
        &mut self,
        property: usize,
        reads: &[u32],
    ) -> Result<(bool, Option<(usize, u64)>), Error> {
        let key: Box<[u32]> =
            std::iter::once(property as u32).chain(reads.iter().copied()).collect();
        if let Some(&known) = self.tested.get(&key) {
            return Ok((known, None));
        }
        let result = self.space.test(property, reads)?;
        self.tested.insert(key, result);
        let Some(goal) = self.goal_of[property] else { return Ok((result, None)) };
        let combination = self.space.conjuncts(property, reads)?;
        let is_new = !self.goals.knows(goal, combination);
        Ok((result, is_new.then_some((goal, combination))))
    }

    /// A run to a state of a point of which a property reads something that was not read before: reports what it shows of a goal, and says whether it is what is sought.
    fn told(
        &mut self,
        number: u32,
        aim: &[Option<ConfigurationId>],
        goal: Option<(usize, u64)>,
        is_sought: bool,
    ) -> Result<Option<Run>, Error> {
        if !is_sought && goal.is_none() {
            return Ok(None);
        }
        let run = self.run_to(number, aim)?;
        if let Some((goal, combination)) = goal {
            self.goals.report(goal, combination, (0, run.events.len() as u64), run.clone());
        }
        Ok(is_sought.then_some(run))
    }

    /// A run to a state of a point of which the test of a property has this result, if there is one.
    fn find(
        &mut self,
        number: u32,
        property: usize,
        observer: Option<usize>,
        sought: bool,
    ) -> Result<Option<Run>, Error> {
        let [sets, observers, ..] = self.places();
        let point = Rc::clone(&self.points[number as usize]);
        let anything = vec![None; self.automata.len()];
        if let Some(observer) = observer {
            let (result, goal) = self.test(property, &[point[observers + observer]])?;
            return self.told(number, &anything, goal, result == sought);
        }
        let mut key = vec![property as u32];
        let mut views = Vec::new();
        for (component, automaton) in self.automata.iter_mut().enumerate() {
            let (set, all) = automaton.views(point[sets + component], property);
            key.push(set);
            views.push(all);
        }
        if !self.looked_at.insert(key.into()) {
            return Ok(None);
        }
        let mut reads = vec![0; self.space.layout().nodes];
        let mut chosen = vec![0; views.len()];
        let mut combinations = 0_u64;
        loop {
            for (component, nodes) in self.components.nodes.iter().enumerate() {
                for (&node, &view) in nodes.iter().zip(&*views[component][chosen[component]]) {
                    reads[node] = view;
                }
            }
            let (result, goal) = self.test(property, &reads)?;
            if result == sought || goal.is_some() {
                let mut aim = Vec::new();
                for (component, automaton) in self.automata.iter().enumerate() {
                    let wanted = &views[component][chosen[component]];
                    let members = automaton.members(point[sets + component]);
                    let fits = |&&it: &&ConfigurationId| {
                        automaton.configurations.views(it, property) == *wanted
                    };
                    aim.push(members.iter().find(fits).copied());
                }
                if let Some(run) = self.told(number, &aim, goal, result == sought)? {
                    return Ok(Some(run));
                }
            }
            if !count_up(&mut chosen, |component| views[component].len()) {
                return Ok(None);
            }
            combinations += 1;
            if combinations.is_multiple_of(VIEWS_A_PULSE) {
                self.found.bound = self.pulse();
                if self.found.bound.is_some() {
                    return Ok(None);
                }
            }
        }
    }

    pub fn wants_ends(&self) -> bool {
        let mut properties = self.space.layout().properties.iter();
        properties.any(|(kind, _)| *kind == PropertyKind::NeverStuck)
    }

    /// Judges the terminal states of a point: those of which each configuration by itself can do nothing.
    pub fn judge_end(&mut self, number: u32) -> Result<bool, Error> {
        let [sets, observers, ..] = self.places();
        let point = Rc::clone(&self.points[number as usize]);
        let available = self.available(&point);
        let mut ends: Vec<Vec<ConfigurationId>> = Vec::new();
        for component in 0..self.automata.len() {
            let mut own = Vec::new();
            for &it in &*self.automata[component].members(point[sets + component]) {
                if !self.goes_on(&point, component, it, &available)? {
                    own.push(it);
                }
            }
            if own.is_empty() {
                return Ok(false);
            }
            ends.push(own);
        }
        let mut chosen = vec![0; ends.len()];
        loop {
            let aim: Vec<ConfigurationId> =
                chosen.iter().zip(&ends).map(|(&chosen, ends)| ends[chosen]).collect();
            let withheld = |(component, &it): (usize, &ConfigurationId)| {
                self.automata[component].configurations.is_withheld(it)
            };
            if aim.iter().enumerate().any(withheld) {
                self.found.terminal.withheld += 1;
            } else {
                self.found.terminal.judged += 1;
                let layout = self.space.layout();
                for (property, &(kind, observer)) in layout.properties.iter().enumerate() {
                    if kind != PropertyKind::NeverStuck {
                        continue;
                    }
                    let reads = match observer {
                        Some(observer) => vec![point[observers + observer]],
                        None => self.reads(property, &aim),
                    };
                    if !self.test(property, &reads)?.0 {
                        let aim: Vec<_> = aim.iter().copied().map(Some).collect();
                        let run = self.run_to(number, &aim)?;
                        self.found.violation =
                            Some(Found { what: FoundWhat::Stuck(property), run });
                        return Ok(true);
                    }
                }
            }
            let judged = self.found.terminal.judged + self.found.terminal.withheld;
            if judged.is_multiple_of(VIEWS_A_PULSE) {
                self.found.bound = self.pulse();
            }
            if self.found.bound.is_some()
                || !count_up(&mut chosen, |component| ends[component].len())
            {
                return Ok(false);
            }
        }
    }

    /// What a property sees of the nodes when each component is in this configuration.
    fn reads(&self, property: usize, aim: &[ConfigurationId]) -> Vec<u32> {
        let mut reads = vec![0; self.space.layout().nodes];
        for (component, &it) in aim.iter().enumerate() {
            let views = self.automata[component].configurations.views(it, property);
            for (&node, &view) in self.components.nodes[component].iter().zip(&*views) {
                reads[node] = view;
            }
        }
        reads
    }

    /// Whether anything but a fault can happen to a component in a configuration.
    fn goes_on(
        &mut self,
        point: &[u32],
        component: usize,
        configuration: ConfigurationId,
        available: &[(EventId, Taken)],
    ) -> Result<bool, Error> {
        let own = self.automata[component].configurations.own(configuration)?;
        for it in own.iter() {
            let is_crash =
                self.automata[component].configurations.labels[it.label as usize].is_crash;
            if !is_crash && (it.to == NONE || self.is_step(point, component, it.label, false)?) {
                return Ok(true);
            }
        }
        for &(event, taken) in available {
            if self.components.of[self.space.layout().event_node(event)].0 != component {
                continue;
            }
            let is_popped = matches!(taken, Taken::Queue(_));
            for it in self.automata[component].configurations.input(configuration, event)?.iter() {
                if it.to == NONE || self.is_step(point, component, it.label, is_popped)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}
