//! Goals that are conjunctions: which conjuncts were ever true, and which at once.
//!
//! Only for `sometimes` properties that name their conjuncts; a search without such a property does
//! nothing of this. Each thread remembers what it has read, so conjuncts are tested once for each
//! combination of what the property reads, as properties are. Breadth-first, the depth at which a
//! combination was first seen is the least: levels end before the next begins.

use crate::error::Error;
use crate::model::node::Node;
use crate::model::property::PropertyKind;
use crate::model::system::System;
use crate::model::world::{self, World};
use crate::outcome::goal::{Goal, GoalConjunct, Nearest};
use crate::outcome::replay::{Keep, replay};
use crate::outcome::{Run, Witness};
use crate::space::Space;
use crate::space::hash::key;
use crate::space::vector::domain;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::{Mutex, PoisonError};

/// What one thread has read of the goals.
pub(crate) struct Goals {
    goals: Vec<Seen>,
}

/// What one thread has read of one goal.
struct Seen {
    property: usize,
    /// A bit for each conjunct.
    all: u64,
    /// For each node and state, one more than the view; zero if it is not known.
    views: Vec<Vec<u32>>,
    /// Hashes of what was read.
    met: FxHashSet<u64>,
    /// Set once all conjuncts were true at once: there is nothing more to learn.
    reached: bool,
}

impl Goals {
    /// Nothing if no property names its conjuncts.
    pub fn new(space: &dyn Space) -> Option<Self> {
        let goals: Vec<Seen> = goals(space)
            .map(|(property, conjuncts)| Seen {
                property,
                all: u64::MAX >> (64 - conjuncts),
                views: vec![Vec::new(); space.layout().nodes],
                met: FxHashSet::default(),
                reached: false,
            })
            .collect();
        (!goals.is_empty()).then_some(Goals { goals })
    }

    /// Calls `each` with the number of a goal and the conjuncts that are true in this global
    /// state, for each goal that reads what this thread has not met before.
    pub fn look(
        &mut self,
        space: &dyn Space,
        vector: &[u32],
        mut each: impl FnMut(usize, u64),
    ) -> Result<(), Error> {
        for (goal, seen) in self.goals.iter_mut().enumerate().filter(|(_, seen)| !seen.reached) {
            let reads = seen.reads(space, vector);
            if seen.met.insert(key(domain::VIEWS, &reads)) {
                let combination = space.conjuncts(seen.property, &reads)?;
                seen.reached = combination == seen.all;
                each(goal, combination);
            }
        }
        Ok(())
    }

    /// The name of a goal of which different conjuncts are true in two global states.
    pub fn differ(
        &mut self,
        space: &dyn Space,
        one: &[u32],
        other: &[u32],
    ) -> Result<Option<String>, Error> {
        for seen in &mut self.goals {
            let (one, other) = (seen.reads(space, one), seen.reads(space, other));
            let property = seen.property;
            if space.conjuncts(property, &one)? != space.conjuncts(property, &other)? {
                return Ok(Some(space.property_name(property)));
            }
        }
        Ok(None)
    }
}

impl Seen {
    /// What the goal reads in a global state.
    fn reads(&mut self, space: &dyn Space, vector: &[u32]) -> Vec<u32> {
        let layout = space.layout();
        if let Some(observer) = layout.properties[self.property].1 {
            return vec![vector[layout.observer_base + observer]];
        }
        let states = vector[layout.node_base..][..layout.nodes].iter().enumerate();
        let view = |(node, &state): (usize, &u32)| {
            let known = &mut self.views[node];
            if known.len() <= state as usize {
                known.resize(state as usize + 1, 0);
            }
            let view = &mut known[state as usize];
            if *view == 0 {
                *view = space.state(node, state).views[self.property] + 1;
            }
            *view - 1
        };
        states.map(view).collect()
    }
}

/// The properties that name their conjuncts, and how many.
fn goals(space: &dyn Space) -> impl Iterator<Item = (usize, usize)> + use<> {
    space.conjunct_counts().into_iter().enumerate().filter(|&(_, conjuncts)| conjuncts > 0)
}

/// When a combination of conjuncts was first seen: in which random run (zero if there are none),
/// and after how many events.
pub(crate) type When = (u64, u64);

/// What was seen of the goals by all threads, with a way to each best state.
pub(crate) struct Sightings<P> {
    goals: Mutex<Vec<Sighting<P>>>,
}

/// What was seen of one goal.
pub(crate) struct Sighting<P> {
    property: usize,
    conjuncts: usize,
    /// Every combination that was seen.
    combinations: FxHashMap<u64, When>,
    /// The one with the most conjuncts.
    best: Option<(u64, When, P)>,
}

/// What an engine has found of a goal that names its conjuncts.
pub(crate) struct GoalFound<P> {
    pub property: usize,
    /// For each conjunct: after how many events it was first seen to be true.
    pub first: Vec<Option<u64>>,
    /// The most conjuncts that were seen to be true at once, and how to get there.
    pub best: Option<(u64, P)>,
}

impl<P> Sightings<P> {
    pub fn new(space: &dyn Space) -> Self {
        Sightings::of(goals(space))
    }

    /// Of these properties with so many conjuncts.
    pub fn of(goals: impl Iterator<Item = (usize, usize)>) -> Self {
        let none = |(property, conjuncts)| Sighting {
            property,
            conjuncts,
            combinations: FxHashMap::default(),
            best: None,
        };
        Sightings { goals: Mutex::new(goals.map(none).collect()) }
    }

    fn inside(&self) -> std::sync::MutexGuard<'_, Vec<Sighting<P>>> {
        self.goals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this combination was seen before.
    pub fn knows(&self, goal: usize, combination: u64) -> bool {
        self.inside()[goal].combinations.contains_key(&combination)
    }

    /// These conjuncts of a goal were seen to be true at once.
    pub fn report(&self, goal: usize, combination: u64, when: When, path: P) {
        let sighting = &mut self.inside()[goal];
        let first = sighting.combinations.entry(combination).or_insert(when);
        *first = when.min(*first);
        let better = |&(known, known_when, _): &(u64, When, P)| {
            rank(combination, when) < rank(known, known_when)
        };
        if sighting.best.as_ref().is_none_or(better) {
            sighting.best = Some((combination, when, path));
        }
    }

    pub fn into_goals(self) -> Vec<Sighting<P>> {
        self.goals.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The most conjuncts first, then what was seen first.
fn rank(combination: u64, when: When) -> impl Ord {
    (std::cmp::Reverse(combination.count_ones()), when, combination)
}

impl<P> Sighting<P> {
    /// For each conjunct: after how many events it was first seen to be true.
    fn first(&self) -> Vec<Option<u64>> {
        let first = |conjunct: usize| {
            let with = self.combinations.iter().filter(|(c, _)| **c >> conjunct & 1 == 1);
            with.map(|(_, when)| *when).min().map(|(_, depth)| depth)
        };
        (0..self.conjuncts).map(first).collect()
    }

    /// The same as if the search had gone no further than the random run with this number.
    pub fn until(mut self, last: u64) -> Sighting<When> {
        self.combinations.retain(|_, (run, _)| *run <= last);
        let best = self.combinations.iter().min_by_key(|(c, when)| rank(**c, **when));
        let best = best.map(|(&combination, &when)| (combination, when, when));
        let Sighting { property, conjuncts, combinations, .. } = self;
        Sighting { property, conjuncts, combinations, best }
    }

    /// What comes of it.
    pub fn found(self) -> GoalFound<P> {
        let first = self.first();
        // That nothing is true is nothing to go to.
        let best = self.best.filter(|(combination, ..)| *combination != 0);
        let best = best.map(|(combination, _, path)| (combination, path));
        GoalFound { property: self.property, first, best }
    }
}

impl<P> GoalFound<P> {
    /// What another search has found of the same goal besides.
    pub fn add(&mut self, other: Self) {
        for (first, other) in self.first.iter_mut().zip(other.first) {
            *first = match (*first, other) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
        }
        let met = |best: &Option<(u64, P)>| best.as_ref().map(|(met, _)| met.count_ones());
        if met(&other.best) > met(&self.best) {
            self.best = other.best;
        }
    }

    /// The same with something else for the way.
    pub fn with_run<Q, E>(self, run: impl FnOnce(P) -> Result<Q, E>) -> Result<GoalFound<Q>, E> {
        let best = match self.best {
            Some((combination, path)) => Some((combination, run(path)?)),
            None => None,
        };
        Ok(GoalFound { property: self.property, first: self.first, best })
    }
}

/// What came of each `sometimes` property, with the runs replayed.
pub(crate) fn conclude<N: Node>(
    system: &System<N>,
    mut found: Vec<GoalFound<Run>>,
    witnesses: &[Witness],
    constant: &[bool],
) -> Result<Vec<Goal>, Error> {
    let mut goals = Vec::new();
    for (index, property) in system.properties.iter().enumerate() {
        if property.kind != PropertyKind::Sometimes {
            continue;
        }
        let witness = witnesses.iter().find(|witness| witness.property == property.name);
        let known = found.iter().position(|goal| goal.property == index);
        let known = known.map(|at| found.swap_remove(at));
        // An engine that does not look at conjuncts knows nothing of them, not even that they are never true.
        let first = known.as_ref().map(|goal| {
            let mut first = goal.first.clone();
            first.resize(property.conjuncts.len(), None);
            first
        });
        let conjuncts = property.conjuncts.iter().zip(first.into_iter().flatten());
        let nearest = match known.and_then(|goal| goal.best) {
            Some((combination, run)) if witness.is_none() => {
                Some(nearest(system, index, combination, run)?)
            }
            _ => None,
        };
        goals.push(Goal {
            property: property.name.clone(),
            reached: witness.map(|witness| witness.run.events.len() as u64),
            conjuncts: conjuncts
                .map(|((name, _), first_true)| GoalConjunct { name: name.clone(), first_true })
                .collect(),
            nearest,
            reads_changed: !constant.get(index).is_some_and(|constant| *constant),
        });
    }
    Ok(goals)
}

/// A run to where these conjuncts of a property are true, replayed.
fn nearest<N: Node>(
    system: &System<N>,
    property: usize,
    combination: u64,
    mut run: Run,
) -> Result<Nearest, Error> {
    let mut confirmed = false;
    if let Ok(replayed) = replay(system, &run, Keep::TheEnd)? {
        for world in replayed.ends() {
            let reads = world.reads(system, property)?;
            confirmed |= world::conjuncts(system, property, &reads)? == combination;
        }
    }
    if !confirmed {
        return Err(Error::Internal("the run nearest to a goal does not replay".to_owned()));
    }
    run.start_choices = World::start_choices(system, run.start)?;
    let named = |is_true: bool| {
        let conjuncts = system.properties[property].conjuncts.iter().enumerate();
        let those = conjuncts.filter(|(at, _)| (combination >> at & 1 == 1) == is_true);
        those.map(|(_, (name, _))| name.clone()).collect()
    };
    Ok(Nearest { met: named(true), missing: named(false), run })
}
