//! Validity: is there a real run to what is sought? A search over combinations of classes and the network,
//! for all boxes at once (in place of the paper's figure 9, lines 23 to 36, which goes through sequences
//! of events for one combination at a time).
//!
//! The network is the number of copies sent of each mail that anybody needs, and only grows: see
//! [counting](super::counting). Of each state met, safe edges are taken until there are none:
//! see [`safe`](super::safe). Only then is it compared with those met before, and are its other
//! edges followed. A state is left out if one was met with the same classes, no more crashes and duplications, and at least as much
//! mail: all that can happen in the one can happen in the other. So that there are many such,
//! states with much mail come first. A safe edge that is enabled but leads back to a class that was left since
//! the network last grew is not taken, and need not be: the state does for the one it would lead to.

use super::combine::{Hit, Label, Tested};
use super::graph::{Graphs, Need};
use super::reduce::Reduced;
use super::{Stop, components::Successors};
use crate::engine::budget::Budget;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::Ordering::Relaxed;

/// A step of a node along one of its class edges.
pub(super) type Taken = (u32, u32);

/// What a search has found.
pub(super) struct Found {
    /// Number of the start, and the steps from it to what was sought.
    pub path: Option<(usize, Vec<Taken>)>,
    /// States that it has met.
    pub states: u64,
}

/// Edges of a node, ready to be followed.
struct Node {
    successors: Successors,
    /// For each edge: what it needs (a counter and how much), or a crash; where it leads; what it sends.
    edges: Vec<Step>,
    safe: Vec<bool>,
}

#[derive(Clone, Copy)]
struct Step {
    needs: Needs,
    to: u32,
    sends: u32,
}

#[derive(Clone, Copy)]
enum Needs {
    Nothing,
    Crash,
    Counter(u32, u8),
}

/// A state: the class of each node, faults so far, and a counter for each mail.
#[derive(Clone, PartialEq, Eq)]
struct State {
    classes: Box<[u32]>,
    spent: Spent,
    counters: Box<[u8]>,
}

/// How much of the budgets was spent.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Spent {
    crashes: u8,
    duplications: u8,
}

impl Spent {
    fn is_at_most(self, other: Spent) -> bool {
        self.crashes <= other.crashes && self.duplications <= other.duplications
    }
}

pub(super) struct Product<'a> {
    graphs: &'a Graphs<'a>,
    reduced: &'a Reduced,
    hit: Hit,
    nodes: Vec<Node>,
    /// How far each counter counts.
    limits: Vec<u8>,
    /// The counters of what may be duplicated, if it makes a difference.
    copied: Vec<u32>,
    /// For each list of mail, its counters, each as often as it is sent.
    lists: Vec<Vec<u32>>,
    counter_of: FxHashMap<u32, u32>,
    /// By classes, what was met with them.
    met: FxHashMap<Box<[u32]>, Vec<Rest>>,
    /// Where each state met comes from, and by which steps.
    parents: Vec<(u32, Vec<Taken>)>,
    todo: BinaryHeap<Todo>,
}

/// What a state is besides its classes: faults so far, and a counter for each mail.
type Rest = (Spent, Box<[u8]>);

/// A state to be followed, those with the most mail first.
#[derive(PartialEq, Eq)]
struct Todo {
    mail: u32,
    number: Reverse<u32>,
    state: State,
}

impl Ord for Todo {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.mail, self.number).cmp(&(other.mail, other.number))
    }
}

impl PartialOrd for Todo {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<'a> Product<'a> {
    pub fn new(
        graphs: &'a Graphs<'a>,
        reduced: &'a Reduced,
        hit: Hit,
        max_claims: usize,
        budget: &Budget,
    ) -> Result<Self, Stop> {
        // Each mail counts as far as any edge asks.
        let mut most: FxHashMap<u32, u16> = FxHashMap::default();
        for edge in reduced.nodes.iter().flat_map(|classes| &classes.edges) {
            if let Need::Mail(mail, copies) = edge.need {
                let most = most.entry(mail).or_default();
                *most = copies.max(*most);
            }
        }
        let mut mails: Vec<(u32, u16)> =
            most.iter().map(|(mail, copies)| (*mail, *copies)).collect();
        mails.sort_unstable();
        let limits = mails.iter().map(|(_, copies)| (*copies).min(255) as u8).collect();
        let copied = mails.iter().enumerate().filter(|(_, (mail, copies))| {
            let is_call = graphs.is_call(graphs.mails[*mail as usize].event);
            graphs.duplications > 0 && !is_call && *copies > 1
        });
        let copied = copied.map(|(counter, _)| counter as u32).collect();
        let counters = mails.iter().enumerate();
        let counter_of: FxHashMap<u32, u32> =
            counters.map(|(counter, (mail, _))| (*mail, counter as u32)).collect();
        let list = |list: &Vec<u32>| {
            list.iter().filter_map(|mail| counter_of.get(mail).copied()).collect()
        };
        let lists = reduced.sends.iter().map(list).collect();
        let safe = super::safe::safe_edges(reduced, hit, max_claims, budget, |mail| {
            most.get(&mail).is_none_or(|copies| *copies <= 1)
        })?;
        let nodes = reduced.nodes.iter().zip(safe).map(|(classes, safe)| Node {
            successors: Successors::new(
                classes.labels.len(),
                classes.edges.iter().map(|edge| edge.from),
            ),
            edges: classes
                .edges
                .iter()
                .map(|edge| Step {
                    needs: match edge.need {
                        Need::Nothing => Needs::Nothing,
                        Need::Crash => Needs::Crash,
                        Need::Mail(mail, copies) => {
                            Needs::Counter(counter_of[&mail], copies.min(255) as u8)
                        }
                    },
                    to: edge.to,
                    sends: edge.sends,
                })
                .collect(),
            safe,
        });
        Ok(Product {
            graphs,
            reduced,
            hit,
            nodes: nodes.collect(),
            limits,
            copied,
            lists,
            counter_of,
            met: FxHashMap::default(),
            parents: Vec::new(),
            todo: BinaryHeap::new(),
        })
    }

    /// Looks for what is sought.
    /// Meets no more than so many states.
    pub fn search(
        &mut self,
        most: u64,
        tested: &mut Tested,
        budget: &Budget,
    ) -> Result<Found, Stop> {
        for (number, start) in self.graphs.starts.iter().enumerate() {
            let classes = start.places.iter().zip(&self.reduced.nodes);
            let mut state = State {
                classes: classes.map(|(place, classes)| classes.of[*place as usize]).collect(),
                spent: Spent::default(),
                counters: vec![0; self.limits.len()].into(),
            };
            for mail in &start.mail {
                if let Some(&counter) = self.counter_of.get(mail) {
                    self.count(&mut state, counter);
                }
            }
            // Starts are told apart by what has no parent.
            let root = u32::MAX - number as u32;
            if let Some(found) = self.meet(state, root, Vec::new(), tested)? {
                return Ok(self.found(Some(found)));
            }
        }
        let mut followed = 0u64;
        while let Some(Todo { state, number: Reverse(number), .. }) = self.todo.pop() {
            if self.parents.len() as u64 > most {
                break;
            }
            followed += 1;
            if followed % 256 == 1 {
                let known = self.graphs.size() as u64 + self.parents.len() as u64;
                if let Some(bound) = budget.reached(known, self.graphs.memory() + self.memory()) {
                    return Err(Stop::Bound(bound));
                }
                budget.progress.frontier.store(self.todo.len() as u64, Relaxed);
            }
            for node in 0..self.nodes.len() {
                let from = state.classes[node];
                for at in 0..self.nodes[node].successors.of(from).len() {
                    let edge = self.nodes[node].successors.of(from)[at];
                    if self.nodes[node].safe[edge as usize] || !self.is_enabled(&state, node, edge)
                    {
                        continue;
                    }
                    let mut next = state.clone();
                    self.take(&mut next, node, edge);
                    let steps = vec![(node as u32, edge)];
                    if let Some(found) = self.meet(next, number, steps, tested)? {
                        return Ok(self.found(Some(found)));
                    }
                }
            }
            for at in 0..self.copied.len() {
                let counter = self.copied[at];
                let is_sent = state.counters[counter as usize] > 0;
                if state.spent.duplications >= self.graphs.duplications || !is_sent {
                    continue;
                }
                let mut next = state.clone();
                if !self.count(&mut next, counter) {
                    continue;
                }
                next.spent.duplications += 1;
                if let Some(found) = self.meet(next, number, Vec::new(), tested)? {
                    return Ok(self.found(Some(found)));
                }
            }
        }
        Ok(self.found(None))
    }

    fn found(&self, last: Option<(u32, Vec<Taken>)>) -> Found {
        let path = last.map(|(mut parent, steps)| {
            let mut pieces = vec![steps];
            while let Some((before, steps)) = self.parents.get(parent as usize) {
                pieces.push(steps.clone());
                parent = *before;
            }
            pieces.reverse();
            ((u32::MAX - parent) as usize, pieces.concat())
        });
        Found { path, states: self.parents.len() as u64 }
    }

    fn memory(&self) -> u64 {
        let one = self.nodes.len() * 4 + self.limits.len() + 96;
        2 * (self.parents.len() * one) as u64
    }

    fn count(&self, state: &mut State, counter: u32) -> bool {
        let (limit, counter) = (self.limits[counter as usize], counter as usize);
        let grows = state.counters[counter] < limit;
        state.counters[counter] += u8::from(grows);
        grows
    }

    fn is_enabled(&self, state: &State, node: usize, edge: u32) -> bool {
        match self.nodes[node].edges[edge as usize].needs {
            Needs::Nothing => true,
            Needs::Crash => state.spent.crashes < self.graphs.crashes,
            Needs::Counter(counter, copies) => state.counters[counter as usize] >= copies,
        }
    }

    /// Takes a step; true if the network has grown.
    fn take(&self, state: &mut State, node: usize, edge: u32) -> bool {
        let step = self.nodes[node].edges[edge as usize];
        state.classes[node] = step.to;
        state.spent.crashes += u8::from(matches!(step.needs, Needs::Crash));
        let mut grows = false;
        for &counter in &self.lists[step.sends as usize] {
            grows |= self.count(state, counter);
        }
        grows
    }

    /// Takes safe edges until there are none.
    fn saturate(&self, state: &mut State, steps: &mut Vec<Taken>) {
        let mut left: Vec<(usize, u32)> = Vec::new();
        loop {
            let mut has_moved = false;
            for node in 0..self.nodes.len() {
                let Node { successors, edges, safe } = &self.nodes[node];
                let from = state.classes[node];
                for &edge in successors.of(from) {
                    if !safe[edge as usize] || !self.is_enabled(state, node, edge) {
                        continue;
                    }
                    let step = edges[edge as usize];
                    let has_news = self.lists[step.sends as usize]
                        .iter()
                        .any(|&c| state.counters[c as usize] < self.limits[c as usize]);
                    if !has_news && (step.to == from || left.contains(&(node, step.to))) {
                        continue;
                    }
                    if self.take(state, node, edge) {
                        left.clear();
                    }
                    left.push((node, from));
                    steps.push((node as u32, edge));
                    has_moved = true;
                    break;
                }
            }
            if !has_moved {
                return;
            }
        }
    }

    /// A state is met: it is what is sought, or remembered if it is new.
    fn meet(
        &mut self,
        mut state: State,
        parent: u32,
        mut steps: Vec<Taken>,
        tested: &mut Tested,
    ) -> Result<Option<(u32, Vec<Taken>)>, Stop> {
        self.saturate(&mut state, &mut steps);
        let labels = state.classes.iter().zip(&self.reduced.nodes);
        let mut labels = labels.map(|(class, classes)| classes.labels[*class as usize]);
        let is_sought = match self.hit {
            Hit::Boxes => labels.fold(Label::MAX, |all, label| all & label) != 0,
            Hit::Test(property, sought) => {
                // A node that panicked has no view.
                let views: Option<Vec<u32>> = labels.try_fold(Vec::new(), |mut views, label| {
                    views.push(label.checked_sub(1)? as u32);
                    Some(views)
                });
                match views {
                    Some(views) => tested.is(self.graphs.space, property, &views, sought),
                    None => false,
                }
            }
        };
        if is_sought {
            return Ok(Some((parent, steps)));
        }
        let known = self.met.entry(state.classes.clone()).or_default();
        let at_least = |one: &[u8], other: &[u8]| one.iter().zip(other).all(|(a, b)| a >= b);
        if known
            .iter()
            .any(|(spent, mail)| spent.is_at_most(state.spent) && at_least(mail, &state.counters))
        {
            return Ok(None);
        }
        known.retain(|(spent, mail)| {
            !(state.spent.is_at_most(*spent) && at_least(&state.counters, mail))
        });
        known.push((state.spent, state.counters.clone()));
        let number = self.parents.len() as u32;
        self.parents.push((parent, steps));
        let mail = state.counters.iter().map(|copies| u32::from(*copies)).sum();
        self.todo.push(Todo { mail, number: Reverse(number), state });
        Ok(None)
    }
}
