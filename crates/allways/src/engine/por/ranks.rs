//! Which local steps can never be undone.
//!
//! The local fixpoint from the start of the system has every state that a node can ever come to, and
//! every step between them, and more. A step that leads from one strongly connected component of this graph
//! to another leaves a component that the node never enters again: so it is on no cycle of the global
//! graph. Neither is the step of an event of which there is at most one in any run. No sequence of such steps
//! is infinite: there are finitely many of those events, and no step of any kind leads a node back to a
//! component that it has left. If the fixpoint explodes, nothing is claimed of any step.

use super::fixpoint::{CHEAP, End, Fixpoint};
use super::here::Here;
use crate::error::Error;
use crate::space::memo::Memo;
use crate::space::{EventId, Initial, Space, StateId};
use rustc_hash::{FxHashMap, FxHashSet};

/// So much work is done before the fixpoint is given up.
const MAX_WORK: u64 = 1 << 20;
/// So many states of nodes are found, with user code asked for a few steps each.
const MAX_STATES: usize = 1 << 11;

/// What is known of steps that cannot be undone.
#[derive(Default)]
pub(crate) struct Ranks {
    /// For each node, the component of each of its states; empty if nothing is known.
    components: Vec<FxHashMap<StateId, u32>>,
    /// Events of which there is at most one in any run.
    single: FxHashSet<EventId>,
    exploded: bool,
}

impl Ranks {
    /// Computes them.
    pub fn new(space: &dyn Space) -> Ranks {
        // User code that fails in a state that may not be reachable says nothing about the system.
        match Graph::explore(space) {
            Ok(Some((graphs, single))) => Ranks {
                components: graphs.iter().map(components).collect(),
                single,
                exploded: false,
            },
            Ok(None) | Err(_) => Ranks { exploded: true, ..Ranks::default() },
        }
    }

    /// Whether the local graphs were too large to explore.
    pub fn exploded(&self) -> bool {
        self.exploded
    }

    /// Whether there is at most one event like this in any run.
    pub fn is_single(&self, event: EventId) -> bool {
        self.single.contains(&event)
    }

    /// Whether a node that steps from one state to another can never be in the first again.
    pub fn rise(&self, node: usize, from: StateId, to: StateId) -> bool {
        let Some(components) = self.components.get(node) else { return false };
        match (components.get(&from), components.get(&to)) {
            (Some(from), Some(to)) => from != to,
            _ => false,
        }
    }
}

/// The local graph of each node, and the events that are single.
type Explored = (Vec<Graph>, FxHashSet<EventId>);

/// The states of a node in the order found, and where each may lead.
#[derive(Default)]
struct Graph {
    states: Vec<StateId>,
    places: FxHashMap<StateId, u32>,
    leads_to: Vec<Vec<u32>>,
}

impl Graph {
    fn place(&mut self, state: StateId) -> u32 {
        let next = self.states.len() as u32;
        *self.places.entry(state).or_insert_with(|| {
            self.states.push(state);
            self.leads_to.push(Vec::new());
            next
        })
    }

    fn add(&mut self, from: StateId, to: StateId) {
        let (from, to) = (self.place(from), self.place(to));
        self.leads_to[from as usize].push(to);
    }

    /// The local graph of each node, and the events that are single; nothing if there is too much.
    fn explore(space: &dyn Space) -> Result<Option<Explored>, Error> {
        let layout = space.layout();
        let Initial::Vectors(vectors) = space.initial()? else { return Ok(None) };
        let mut graphs: Vec<Graph> = (0..layout.nodes).map(|_| Graph::default()).collect();
        let mut memo = Memo::new(space, false);
        let mut fixpoint = Fixpoint::new(layout, CHEAP);
        fixpoint.max_work = MAX_WORK;
        fixpoint.max_states = MAX_STATES;
        let (mut single, mut others) = (FxHashSet::default(), FxHashSet::default());
        for vector in &vectors {
            fixpoint.edges = Some(Vec::new());
            let mut here = Here { memo: &mut memo, layout, vector, groups: &[] };
            if fixpoint.compute(&mut here, 0)? != End::Commutes {
                return Ok(None);
            }
            for (node, from, to) in fixpoint.edges.take().into_iter().flatten() {
                graphs[node].add(from, to);
            }
            for (event, is_single) in fixpoint.events() {
                if is_single {
                    single.insert(event)
                } else {
                    others.insert(event)
                };
            }
        }
        single.retain(|event| !others.contains(event));
        Ok(Some((graphs, single)))
    }
}

/// The strongly connected component of each state (Tarjan's algorithm, without recursion).
fn components(graph: &Graph) -> FxHashMap<StateId, u32> {
    const NEW: u32 = u32::MAX;
    let count = graph.states.len();
    let (mut index, mut low) = (vec![NEW; count], vec![0u32; count]);
    let mut component = vec![NEW; count];
    let (mut stack, mut calls) = (Vec::new(), Vec::new());
    let (mut next_index, mut next_component) = (0, 0);
    for root in 0..count {
        if index[root] != NEW {
            continue;
        }
        calls.push((root, 0));
        while let Some(&mut (at, ref mut edge)) = calls.last_mut() {
            if *edge == 0 {
                index[at] = next_index;
                low[at] = next_index;
                next_index += 1;
                stack.push(at);
            }
            if let Some(&to) = graph.leads_to[at].get(*edge) {
                *edge += 1;
                let to = to as usize;
                if index[to] == NEW {
                    calls.push((to, 0));
                } else if component[to] == NEW {
                    low[at] = low[at].min(index[to]);
                }
                continue;
            }
            calls.pop();
            if let Some(&(parent, _)) = calls.last() {
                low[parent] = low[parent].min(low[at]);
            }
            if low[at] == index[at] {
                while let Some(member) = stack.pop() {
                    component[member] = next_component;
                    if member == at {
                        break;
                    }
                }
                next_component += 1;
            }
        }
    }
    graph.states.iter().copied().zip(component).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(edges: &[(u32, u32)], count: u32) -> Ranks {
        let mut graph = Graph::default();
        for state in 0..count {
            graph.place(state);
        }
        for &(from, to) in edges {
            graph.leads_to[from as usize].push(to);
        }
        Ranks { components: vec![components(&graph)], ..Ranks::default() }
    }

    #[test]
    fn a_step_on_a_cycle_can_be_undone() {
        let ranks = ranks(&[(0, 1), (1, 2), (2, 1), (2, 3), (3, 3), (0, 3)], 4);
        assert!(ranks.rise(0, 0, 1));
        assert!(!ranks.rise(0, 1, 2));
        assert!(!ranks.rise(0, 2, 1));
        assert!(ranks.rise(0, 2, 3));
        assert!(!ranks.rise(0, 3, 3));
        assert!(ranks.rise(0, 0, 3));
    }

    #[test]
    fn nothing_is_claimed_of_states_that_are_not_known() {
        assert!(!ranks(&[], 1).rise(0, 0, 7));
        assert!(!Ranks::default().rise(0, 0, 1));
    }
}
