//! A component by itself whose own steps are all ordered, such as one node: what it may do is a tree, and one tree serves all local skeletons.
//!
//! [`partial`](super::partial) explores a component anew for each local skeleton, though local skeletons have long beginnings in common, and most runs that do not come to
//! the end of one are those of others, too: the paper's branching redundancy (section 6.3). Here what a component did is kept. If all its steps are
//! ordered, a trace of it is a sequence of its own steps, so no reduction is needed: a *node* of the tree is such a sequence. What it may do next is decided by that sequence
//! and by what the others have shown so far, and not by how the others came to show it (that is substitution, see [`dir`](super)). So it is kept for the node and the names of
//! what is shown, and the machine is led there only the first time. A task walks down all ways that keep to its local skeleton, counts those that come to its end, and collects what else was possible: the branches.
//!
//! **The rest of the system** repeats only what the component may take, or may be in conflict with, and all that happens before that. What else it has done in the trace at
//! hand happens before no step of the component, and a run without it is a run of the system. What is repeated is not named again: its names are known.
//!
//! **Why nothing is missed.** [`partial`](super::partial) looks for steps in all cuts of its runs. The component's part of a cut is a sequence of its own steps, hence a node, and it is met: the
//! walk goes to all that keep to the local skeleton. The rest's part is smaller than what the rest could have done there only by events that do not happen before that sequence. If the step is in conflict with none of these, it is
//! possible with them, too, and has the same name. If it is in conflict with some, then they touch what several components touch, and at each node the step is looked for
//! without the last of these, and so on, as where DPOR finds something unwanted. What is wanted is found with all that the rest could have done: what comes after a wanted step in the trace waits for it.
//!
//! **What comes of a task depends on the task alone.** The tree is a memory and nothing else: it is emptied when it gets too large, and then grows again. What is possible at a node is in an order
//! that is made of content, so walks go the same way whatever the tree has. Of each branch, look and end the way is told on which this walk has met it first. What the rest has done in
//! the run that shows it may be of an earlier task; nobody asks for more of it than the names.

mod choices;
mod witness;

use super::interface::{Doing, Led, Parts};
use super::partial::{Branch, End, Explored, Fate, Look, Seen, view};
use crate::engine::budget::Budget;
use crate::engine::dpor::run_of;
use crate::engine::machine::{Machine, Process, Transition};
use crate::engine::{Found, FoundWhat};
use crate::error::Error;
use crate::outcome::{Bound, Cause};
use crate::trace::skeleton::{Label, Mark, Marks, Name, Trace, mix};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A tree with more nodes is emptied before the next task.
const MOST_NODES: usize = 1 << 22;

/// So often somebody looks at the clock.
const STEPS_A_PULSE: u64 = 256;

/// No node, no branch, no look, no end.
const NONE: u32 = u32::MAX;

/// The trees of one machine, for each component that has one; and those of the components that a component consists of.
#[derive(Default)]
pub(super) struct Trees {
    own: Vec<Option<Alone>>,
    inner: Vec<Option<Trees>>,
}

impl Trees {
    /// Empty ones, for each component whose own steps are all ordered.
    pub fn new<M: Machine>(machine: &M, parts: &Parts) -> Self {
        let all = Trees::which(machine, parts).into_iter().enumerate();
        let own = all.map(|(at, has_one)| has_one.then(|| Alone::new(at as u32))).collect();
        let inner = |inner: &Option<Arc<Parts>>| inner.as_ref().map(|it| Trees::new(machine, it));
        Trees { own, inner: parts.inner.iter().map(inner).collect() }
    }

    /// For each component, whether it has one.
    pub fn which<M: Machine>(machine: &M, parts: &Parts) -> Vec<bool> {
        let has_one =
            |groups: &Vec<u32>| matches!(groups[..], [group] if machine.is_ordered(group));
        parts.groups.iter().map(has_one).collect()
    }

    /// None at all.
    #[cfg(test)]
    pub fn none(parts: &Parts) -> Self {
        let none = parts.inner.iter().map(|inner| inner.as_deref().map(Trees::none));
        Trees { own: (0..parts.len()).map(|_| None).collect(), inner: none.collect() }
    }

    /// That of a component.
    pub fn of(&mut self, component: u32) -> Option<&mut Alone> {
        self.own.get_mut(component as usize)?.as_mut()
    }

    /// Those of the components that a component consists of.
    pub fn within(&mut self, component: u32) -> Option<&mut Trees> {
        self.inner.get_mut(component as usize)?.as_mut()
    }

    /// Roughly the bytes in use.
    pub fn bytes(&self) -> u64 {
        let inner: u64 = self.inner.iter().flatten().map(Trees::bytes).sum();
        self.own.iter().flatten().map(Alone::bytes).sum::<u64>() + inner
    }
}

/// What a component did.
struct Node {
    parent: u32,
    /// The last step, and what can be told of it. The root has none.
    step: Option<Step>,
    /// All that it took from others on the way, as one number.
    taken: u64,
    /// How the component looks then, by its place among all looks; and the run that shows it, if it was asked for.
    look: u32,
    seen: Option<Arc<Seen>>,
}

/// A step of a component.
struct Step {
    transition: Transition,
    doing: Doing,
    mark: Mark,
    /// The names of what it depends on by itself that others do.
    across: Box<[Name]>,
}

/// A step that is possible at a node.
struct Choice {
    transition: Transition,
    mark: Mark,
    /// What it is where it is not wanted, by its place among all options.
    option: u32,
    /// Where it leads, if it was taken.
    child: u32,
    /// Whether the rest must not have done all that it can: it is not wanted then.
    is_smaller: bool,
}

/// What a component could do at a node that may be a branch.
struct Choosable {
    node: u32,
    /// The step; nothing if it stops.
    step: Option<(Doing, Label, Name)>,
    /// The names of what happens before.
    past: Box<[Name]>,
    /// All that are the same branch have the same number.
    branch: u32,
    /// The branch with a run that shows it, if it was asked for.
    shown: Option<Arc<Branch>>,
}

/// How a component is where nothing is possible.
struct Stop {
    node: u32,
    fate: Fate,
    past: Box<[Name]>,
    shown: Option<Arc<End>>,
}

/// What is possible at a node when others have shown something.
#[derive(Clone, Copy)]
struct Stand {
    /// The choices, by their places among all.
    from: u32,
    to: u32,
    /// If nothing is possible: how the component is at its end, and the option to stop here.
    end: u32,
    stop: u32,
}

/// What is known of a component. See the module.
#[derive(Default)]
pub(super) struct Alone {
    component: u32,
    nodes: Vec<Node>,
    /// By node, and what others have shown.
    stands: FxHashMap<(u32, u64), Stand>,
    choices: Vec<Choice>,
    options: Vec<Choosable>,
    ends: Vec<Stop>,
    /// The numbers of branches, by name and own interface events around them; and all looks, with their numbers by own interface events and what was taken.
    branches: FxHashMap<(Name, u64), u32>,
    looks: Vec<Look>,
    known_looks: FxHashMap<(u64, u64, Look), u32>,
    /// Kept for its room.
    marks: Marks,
}

/// What a task may use up, and where it is counted.
pub(super) struct Limits<'b> {
    pub budget: &'b Budget,
    pub max_depth: usize,
    pub runs: &'b AtomicU64,
}

/// What came of a task.
#[derive(Default)]
pub(super) struct Walked {
    pub found: Explored,
    /// The steps of all ways that were walked, whoever has performed them.
    pub transitions: u64,
    pub deepest: usize,
    pub bound: Option<Bound>,
    pub violation: Option<Found>,
}

impl Alone {
    /// Nothing is known yet.
    fn new(component: u32) -> Self {
        Alone { component, ..Alone::default() }
    }

    /// Roughly the bytes in use.
    fn bytes(&self) -> u64 {
        let nodes = self.nodes.len() * (size_of::<Node>() + 64) + self.stands.len() * 48;
        let choices = self.choices.len() * (size_of::<Choice>() + 64);
        (nodes + choices + self.options.len() * (size_of::<Choosable>() + 256)) as u64
    }

    /// Explores what the component may do where a trace shows it its local skeleton.
    pub fn explore<M: Machine>(
        &mut self,
        machine: &mut M,
        parts: &Parts,
        start: usize,
        told: &Trace<Doing>,
        limits: &Limits<'_>,
    ) -> Result<Walked, Error> {
        if self.nodes.len() > MOST_NODES {
            *self = Alone::new(self.component);
        }
        let mut walk = Walk::new(self, machine, parts, start, told, limits);
        walk.begin()?;
        walk.go()?;
        let Walk { walked, led, .. } = walk;
        let marks = led.marks;
        self.marks = marks;
        Ok(walked)
    }
}

/// What a walk has met, by number.
#[derive(Default)]
struct Met {
    branches: FxHashSet<u32>,
    looks: FxHashSet<u32>,
    ends: FxHashSet<Fate>,
}

/// Where the walk stands.
#[derive(Clone, Copy)]
struct Frame {
    node: u32,
    /// How many interface events of its own the component has had.
    done: u32,
    /// The choices that are left, and whether one was wanted.
    next: u32,
    to: u32,
    has_gone_on: bool,
}

/// A walk through the tree along a local skeleton.
struct Walk<'w, 'a, M> {
    tree: &'w mut Alone,
    led: Led<'a, M>,
    start: usize,
    told: &'w Trace<Doing>,
    /// The processes of events of the rest, as far as they are known.
    processes: Vec<Option<Process>>,
    limits: &'w Limits<'w>,
    /// The component's own interface events in the trace, in their order.
    wanted: Vec<Name>,
    /// For each number of these: what the rest does then, by its places in the trace; how much it has done with that; and what is shown.
    given: Vec<Vec<u32>>,
    given_before: Vec<usize>,
    shown: Vec<u64>,
    /// Where what the rest shows is in the trace.
    places: FxHashMap<Name, u32>,
    /// For each number of these, all their names as one number.
    own: Vec<u64>,
    /// For each number of these, whether the rest has touched what it and the component touch.
    shares: Vec<bool>,
    place: Option<usize>,
    readings: usize,
    frames: Vec<Frame>,
    /// The nodes that the machine was led along, and the length of its run then.
    stood: Vec<(u32, usize)>,
    listed: Vec<Transition>,
    met: Met,
    runs: u64,
    /// What the machine was made to do.
    steps: u64,
    walked: Walked,
}

impl<'w, 'a, M: Machine> Walk<'w, 'a, M> {
    fn new(
        tree: &'w mut Alone,
        machine: &'a mut M,
        parts: &'a Parts,
        start: usize,
        told: &'w Trace<Doing>,
        limits: &'w Limits<'w>,
    ) -> Self {
        let component = tree.component;
        let places = machine.places();
        let mut groups = parts.groups[component as usize].iter().map(|&group| group as usize);
        let mut walk = Walk {
            place: groups.find(|&group| group < places),
            readings: machine.readings().len(),
            tree,
            led: Led::new(machine, parts),
            start,
            told,
            processes: vec![None; told.events.len()],
            limits,
            wanted: Vec::new(),
            given: vec![Vec::new()],
            given_before: Vec::new(),
            shown: Vec::new(),
            places: FxHashMap::default(),
            own: vec![0],
            shares: Vec::new(),
            frames: Vec::new(),
            stood: Vec::new(),
            listed: Vec::new(),
            met: Met::default(),
            runs: 0,
            steps: 0,
            walked: Walked::default(),
        };
        walk.led.marks = std::mem::take(&mut walk.tree.marks);
        walk.divide(component);
        walk
    }

    /// Finds out what the rest has to do, and after which of the component's interface events.
    fn divide(&mut self, component: u32) {
        let events = &self.told.events;
        let mut is_needed = vec![false; events.len()];
        for (place, event) in events.iter().enumerate().rev() {
            if event.mark.component == component {
                continue;
            }
            is_needed[place] |= event.mark.for_component(component).is_some();
            if is_needed[place] {
                event.before.iter().for_each(|&before| is_needed[before as usize] = true);
            }
        }
        let mut levels = vec![0; events.len()];
        for (place, event) in events.iter().enumerate() {
            let name = event.mark.for_component(component);
            if event.mark.component == component {
                if let Some(name) = name {
                    let sum = self.own[self.wanted.len()].wrapping_add(mix(name));
                    self.own.push(sum);
                    self.wanted.push(name);
                    self.given.push(Vec::new());
                }
                levels[place] = self.wanted.len();
            } else if is_needed[place] {
                let level = event.before.iter().map(|&before| levels[before as usize]).max();
                levels[place] = level.unwrap_or(0);
                self.given[levels[place]].push(place as u32);
                self.places.extend(name.map(|name| (name, place as u32)));
            }
        }
        let (mut count, mut sum, mut shares) = (0, 0_u64, false);
        for places in &self.given {
            for &place in places {
                let name = events[place as usize].mark.for_component(component);
                sum = sum.wrapping_add(name.map_or(0, mix));
                shares |= name.is_some() && events[place as usize].mark.is_shared();
            }
            self.shares.push(shares);
            count += places.len();
            self.given_before.push(count);
            self.shown.push(sum);
        }
    }

    /// Stands at the root.
    fn begin(&mut self) -> Result<(), Error> {
        self.led.restart(self.start)?;
        if self.tree.nodes.is_empty() {
            let look = self.look(0, 0);
            self.tree.nodes.push(Node { parent: NONE, step: None, taken: 0, look, seen: None });
        }
        self.give(0)?;
        self.stood.push((0, self.led.moves.len()));
        self.enter(0, 0)
    }

    /// Walks everywhere.
    fn go(&mut self) -> Result<(), Error> {
        while let Some(&frame) = self.frames.last() {
            if self.walked.violation.is_some() || self.is_stopped() {
                return Ok(());
            }
            let Frame { node, done, next, to, .. } = frame;
            if next == to {
                if !frame.has_gone_on {
                    self.end(node, done);
                }
                self.frames.pop();
                continue;
            }
            let at = self.frames.len() - 1;
            self.frames[at].next += 1;
            let Choice { transition, ref mark, option, child, is_smaller } =
                self.tree.choices[next as usize];
            let name = mark.for_component(self.tree.component).unwrap_or(0);
            let is_next = self.wanted.get(done as usize) == Some(&name);
            if name != 0 && !is_next {
                self.meet_branch(option);
            } else if !is_smaller {
                self.frames[at].has_gone_on = true;
                if at + self.given_before[done as usize] >= self.limits.max_depth {
                    self.walked.bound.get_or_insert(Bound::Depth);
                    self.end_run();
                    continue;
                }
                let done = done + u32::from(name != 0);
                let child = match child {
                    NONE => self.take(next, transition, done)?,
                    child => child,
                };
                if child != NONE {
                    self.enter(child, done)?;
                }
            }
        }
        Ok(())
    }

    fn is_stopped(&self) -> bool {
        !matches!(self.walked.bound, None | Some(Bound::Depth))
    }

    /// Goes to a node.
    fn enter(&mut self, node: u32, done: u32) -> Result<(), Error> {
        self.meet_look(node);
        let before = self.frames.last().map(|frame| frame.done);
        self.walked.transitions += u64::from(before.is_some());
        if before != Some(done) {
            self.walked.transitions += self.given[done as usize].len() as u64;
        }
        self.frames.push(Frame { node, done, next: 0, to: 0, has_gone_on: false });
        let depth = self.frames.len() - 1 + self.given_before[done as usize];
        self.walked.deepest = self.walked.deepest.max(depth);
        let stand = self.stand(node, done)?;
        let at = self.frames.len() - 1;
        (self.frames[at].next, self.frames[at].to) = (stand.from, stand.to);
        Ok(())
    }

    /// There is nothing more that is wanted.
    fn end(&mut self, node: u32, done: u32) {
        self.end_run();
        let stand = self.tree.stands.get(&(node, self.shown[done as usize])).copied();
        let is_all = done as usize == self.wanted.len();
        match stand {
            Some(Stand { end, .. }) if end != NONE && is_all => {
                self.walked.found.traces += 1;
                self.meet_end(end);
            }
            Some(Stand { stop, .. }) => {
                self.walked.found.others += 1;
                self.meet_branch(stop);
            }
            None => {}
        }
    }

    /// A run has ended, or was cut off.
    fn end_run(&mut self) {
        self.limits.runs.fetch_add(1, Relaxed);
        self.runs += 1;
        if self.runs >= self.limits.budget.max_runs {
            self.walked.bound = Some(Bound::Runs);
        }
        if self.runs.is_multiple_of(STEPS_A_PULSE) {
            self.look_at_clock();
        }
    }

    /// The machine was made to do one more step.
    fn count(&mut self) {
        self.steps += 1;
        if self.steps.is_multiple_of(STEPS_A_PULSE) {
            self.look_at_clock();
        }
    }

    fn look_at_clock(&mut self) {
        let memory = self.tree.bytes() + self.led.machine.bytes();
        self.limits.budget.progress.runs.store(self.limits.runs.load(Relaxed), Relaxed);
        let reached = self.limits.budget.reached(0, memory);
        self.walked.bound = reached.or(self.walked.bound);
    }

    /// Has the rest do what it does after so many interface events of the component.
    fn give(&mut self, done: usize) -> Result<(), Error> {
        for index in 0..self.given[done].len() {
            let place = self.given[done][index] as usize;
            let event = &self.told.events[place];
            let transition = match self.processes[place] {
                Some(process) => Transition { process, alternative: event.what.alternative },
                None => event.what.transition(&mut *self.led.machine)?,
            };
            self.processes[place] = Some(transition.process);
            self.led.repeat(transition, &event.mark, Some(self.tree.component))?;
            self.count();
        }
        Ok(())
    }

    /// Leads the machine to where the walk stands.
    fn follow(&mut self) -> Result<(), Error> {
        let same = self.stood.iter().zip(&self.frames);
        let same = same.take_while(|((node, _), frame)| *node == frame.node).count();
        if same < self.stood.len() {
            self.stood.truncate(same);
            self.led.go_back(self.stood[same - 1].1)?;
        }
        for at in same..self.frames.len() {
            let Frame { node, done, .. } = self.frames[at];
            if let Some(Step { transition, mark, .. }) = &self.tree.nodes[node as usize].step {
                self.led.repeat(*transition, mark, Some(self.tree.component))?;
            }
            self.count();
            if self.frames[at - 1].done < done {
                self.give(done as usize)?;
            }
            self.stood.push((node, self.led.moves.len()));
        }
        Ok(())
    }

    /// Takes a choice for the first time. The machine goes there.
    fn take(&mut self, choice: u32, transition: Transition, done: u32) -> Result<u32, Error> {
        self.follow()?;
        let component = self.tree.component;
        let mark = self.tree.choices[choice as usize].mark.clone();
        let performed = self.led.repeat(transition, &mark, Some(component))?;
        self.count();
        if performed.failed {
            let (cause, message) = self.led.machine.failure()?;
            let what = match cause {
                Cause::Panic => FoundWhat::Panic(message),
                cause => FoundWhat::Failed(cause, message),
            };
            let run = run_of(&mut *self.led.machine, 0..self.led.moves.len())?;
            self.walked.violation = Some(Found { what, run });
            return Ok(NONE);
        }
        let Some(across) = self.led.marks.named_across(component) else {
            return Err(self.led.machine.cannot_be_parted(None));
        };
        let last = self.led.moves[self.led.moves.len() - 1];
        let doing = self.led.parts.doing(&*self.led.machine, last);
        let parent = self.frames.last().map_or(NONE, |frame| frame.node);
        let before = self.tree.nodes.get(parent as usize).map_or(0, |node| node.taken);
        // One takes nothing twice, but for what several touch.
        let taken = across.iter().copied().map(mix).fold(before, u64::wrapping_add);
        let look = self.look(done as usize, taken);
        let child = self.tree.nodes.len() as u32;
        let is_interface = mark.name != 0;
        let step = Some(Step { transition, doing, mark, across });
        self.tree.nodes.push(Node { parent, step, taken, look, seen: None });
        self.tree.choices[choice as usize].child = child;
        if is_interface {
            self.give(done as usize)?;
        }
        self.stood.push((child, self.led.moves.len()));
        Ok(child)
    }

    /// How the component looks where the machine stands.
    fn look_now(&mut self) -> Look {
        let Walk { led, readings, place, .. } = self;
        let all = place.iter().flat_map(|&place| (0..*readings).map(move |it| (place, it)));
        all.map(|(place, property)| view(&mut *led.machine, property, place as u32)).collect()
    }

    /// The number of how the component looks where the machine stands.
    fn look(&mut self, done: usize, taken: u64) -> u32 {
        if self.readings == 0 || self.place.is_none() {
            return NONE;
        }
        let look = self.look_now();
        let Alone { looks, known_looks, .. } = &mut *self.tree;
        let next = looks.len() as u32;
        let number = *known_looks.entry((self.own[done], taken, look.clone())).or_insert(next);
        if number == next {
            looks.push(look);
        }
        number
    }
}
