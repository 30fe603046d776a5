//! Symmetry: one vector for all global states that differ only in which interchangeable node is
//! which.
//!
//! Soundness: handlers commute with renaming (checked on every step that is computed, see
//! `LocalSpace::check_symmetry`) and properties cannot tell (checked on every state whose reads
//! change), so from a renamed state exactly the renamed states are reachable. Any renamed state
//! may therefore stand for a state; it need not be the same one every time. How often it is the
//! same decides only how much is saved.
//!
//! To choose it: each interchangeable node gets a signature, a hash of the global state as seen
//! from it with all its peers blurred into one, which no renaming changes. Sorting nodes by
//! signature fixes the renaming up to ties. Nodes in a tie that can be exchanged without changing
//! anything need no further thought; otherwise the renaming with the least fingerprint is taken,
//! as long as there are few.

use super::refute::pairs;
use super::vector::Layout;
use super::{EventId, Space, StateId};
use crate::error::Error;
use crate::model::network::NetworkKind;
use crate::model::rename::Renaming;
use rustc_hash::FxHashMap;

/// So many ways to break ties are tried.
const MAX_TIES: usize = 720;

/// A vector that stands for another.
pub(crate) struct Representative {
    pub vector: Vec<u32>,
    pub fingerprint: u64,
    /// What each node is called in it.
    pub to: Vec<usize>,
}

/// Finds representatives. One for each thread.
pub(crate) struct Symmetry<'s> {
    space: &'s dyn Space,
    layout: &'s Layout,
    groups: Vec<Vec<usize>>,
    /// For each interchangeable node, the blur that keeps it apart.
    blurs: Vec<(usize, Renaming)>,
    state_hashes: FxHashMap<(usize, usize, StateId), u64>,
    event_hashes: FxHashMap<(usize, EventId), u64>,
    renamings: FxHashMap<Vec<usize>, usize>,
    known: Vec<Renaming>,
    renamed_states: FxHashMap<(usize, usize, StateId), StateId>,
    renamed_events: FxHashMap<(usize, EventId), EventId>,
}

impl<'s> Symmetry<'s> {
    pub fn new(space: &'s dyn Space, groups: &[Vec<usize>]) -> Self {
        let layout = space.layout();
        let groups: Vec<Vec<usize>> = groups
            .iter()
            .map(|group| {
                let mut group = group.clone();
                group.sort_unstable();
                group.dedup();
                group
            })
            .collect();
        let members = groups.iter().flatten();
        let blurs =
            members.map(|&node| (node, Renaming::blur(layout.nodes, &groups, node))).collect();
        Symmetry {
            space,
            layout,
            groups,
            blurs,
            state_hashes: FxHashMap::default(),
            event_hashes: FxHashMap::default(),
            renamings: FxHashMap::default(),
            known: Vec::new(),
            renamed_states: FxHashMap::default(),
            renamed_events: FxHashMap::default(),
        }
    }

    /// The vectors that differ from `vector` in that two interchangeable nodes have changed places.
    pub fn exchanged(&mut self, vector: &[u32]) -> Result<Vec<Vec<u32>>, Error> {
        let mut others = Vec::new();
        for (a, b) in self.groups.clone().iter().flat_map(|group| pairs(group)) {
            let mut swap: Vec<usize> = (0..self.layout.nodes).collect();
            swap.swap(a, b);
            others.push(self.rename(vector, &swap)?);
        }
        Ok(others)
    }

    /// The vector that stands for `vector`.
    pub fn representative(&mut self, vector: &[u32]) -> Result<Representative, Error> {
        let signatures = self.signatures(vector);
        let mut to: Vec<usize> = (0..self.layout.nodes).collect();
        let mut ties: Vec<Vec<usize>> = Vec::new();
        for group in &self.groups {
            let mut sorted = group.clone();
            sorted.sort_by_key(|&node| (signatures[node], node));
            for (&node, &place) in sorted.iter().zip(group) {
                to[node] = place;
            }
            let same = |a: &usize, b: &usize| signatures[*a] == signatures[*b];
            for tie in sorted.chunk_by(same).filter(|tie| tie.len() > 1) {
                ties.push(tie.iter().map(|&node| to[node]).collect());
            }
        }
        let first = self.rename(vector, &to)?;
        let mut best = (self.layout.fingerprint(self.space, &first), first, None);
        let base = best.clone();
        let mut open = Vec::new();
        for tie in ties {
            for pair in tie.windows(2) {
                let mut swap: Vec<usize> = (0..self.layout.nodes).collect();
                swap.swap(pair[0], pair[1]);
                let swapped = self.rename(&base.1, &swap)?;
                if self.layout.fingerprint(self.space, &swapped) != base.0 {
                    open.push(tie.clone());
                    break;
                }
            }
        }
        let ways = open.iter().map(|tie| (1..=tie.len()).product::<usize>());
        if !open.is_empty() && ways.fold(1usize, usize::saturating_mul) <= MAX_TIES {
            for swap in ways_to_break(&open, self.layout.nodes) {
                let other = self.rename(&base.1, &swap)?;
                let fingerprint = self.layout.fingerprint(self.space, &other);
                if fingerprint < best.0 {
                    best = (fingerprint, other, Some(swap));
                }
            }
        }
        let (fingerprint, vector, swap) = best;
        if let Some(swap) = swap {
            for place in &mut to {
                *place = swap[*place];
            }
        }
        Ok(Representative { vector, fingerprint, to })
    }

    fn signatures(&mut self, vector: &[u32]) -> Vec<u64> {
        let layout = self.layout;
        let mut signatures = vec![0u64; layout.nodes];
        for blur in 0..self.blurs.len() {
            let mut sum = 0u64;
            for node in 0..layout.nodes {
                let state = vector[layout.node_base + node];
                sum = sum.wrapping_add(self.state_hash(blur, node, state));
            }
            for &queue in &vector[layout.queue_base..layout.ends_base] {
                let mut line = 0u64;
                for event in self.space.queues().content(queue) {
                    line = line.rotate_left(7).wrapping_add(self.event_hash(blur, event));
                }
                sum = sum.wrapping_add(line);
            }
            for &event in layout.flight(vector) {
                sum = sum.wrapping_add(self.event_hash(blur, event));
            }
            signatures[self.blurs[blur].0] = sum;
        }
        signatures
    }

    fn state_hash(&mut self, blur: usize, node: usize, state: StateId) -> u64 {
        let (space, blurs) = (self.space, &self.blurs);
        *self
            .state_hashes
            .entry((blur, node, state))
            .or_insert_with(|| space.blurred_state(node, state, &blurs[blur].1))
    }

    fn event_hash(&mut self, blur: usize, event: EventId) -> u64 {
        let (space, blurs) = (self.space, &self.blurs);
        *self
            .event_hashes
            .entry((blur, event))
            .or_insert_with(|| space.blurred_event(event, &blurs[blur].1))
    }

    /// The vector with node `i` renamed to `to[i]`.
    fn rename(&mut self, vector: &[u32], to: &[usize]) -> Result<Vec<u32>, Error> {
        let layout = self.layout;
        let renaming = match self.renamings.get(to) {
            Some(&renaming) => renaming,
            None => {
                self.known.push(Renaming::permutation(to.to_vec()));
                self.renamings.insert(to.to_vec(), self.known.len() - 1);
                self.known.len() - 1
            }
        };
        let mut renamed = vector[..layout.ends_base].to_vec();
        for node in 0..layout.nodes {
            let state = vector[layout.node_base + node];
            renamed[layout.node_base + to[node]] = self.renamed_state(renaming, node, state)?;
        }
        if layout.network == NetworkKind::Ordered {
            for pair in 0..layout.nodes * layout.nodes {
                let (from, node) = (pair / layout.nodes, pair % layout.nodes);
                let mut content = Vec::new();
                for event in self.space.queues().content(vector[layout.queue_base + pair]) {
                    content.push(self.renamed_event(renaming, event)?);
                }
                let place = layout.queue_base + to[from] * layout.nodes + to[node];
                let space = self.space;
                renamed[place] = space.queues().of(content, |event| space.event(event).key);
            }
        }
        let mut flight = Vec::new();
        for &event in layout.flight(vector) {
            flight.push(self.renamed_event(renaming, event)?);
        }
        Ok(layout.assemble(&renamed, &flight))
    }

    fn renamed_state(
        &mut self,
        renaming: usize,
        node: usize,
        state: StateId,
    ) -> Result<StateId, Error> {
        if let Some(&renamed) = self.renamed_states.get(&(renaming, node, state)) {
            return Ok(renamed);
        }
        let renamed = self.space.rename_state(node, state, &self.known[renaming])?;
        self.renamed_states.insert((renaming, node, state), renamed);
        Ok(renamed)
    }

    fn renamed_event(&mut self, renaming: usize, event: EventId) -> Result<EventId, Error> {
        if let Some(&renamed) = self.renamed_events.get(&(renaming, event)) {
            return Ok(renamed);
        }
        let renamed = self.space.rename_event(event, &self.known[renaming])?;
        self.renamed_events.insert((renaming, event), renamed);
        Ok(renamed)
    }
}

/// All renamings that permute each tie within itself.
fn ways_to_break(ties: &[Vec<usize>], nodes: usize) -> Vec<Vec<usize>> {
    let mut ways: Vec<Vec<usize>> = vec![(0..nodes).collect()];
    for tie in ties {
        let mut more = Vec::new();
        for order in permutations(tie) {
            for way in &ways {
                let mut way = way.clone();
                for (&node, &place) in tie.iter().zip(&order) {
                    way[node] = place;
                }
                more.push(way);
            }
        }
        ways = more;
    }
    ways
}

fn permutations(items: &[usize]) -> Vec<Vec<usize>> {
    match items {
        [] => vec![Vec::new()],
        _ => (0..items.len())
            .flat_map(|at| {
                let mut rest = items.to_vec();
                let first = rest.remove(at);
                permutations(&rest).into_iter().map(move |mut tail| {
                    tail.insert(0, first);
                    tail
                })
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_break_ties_is_tried_once() {
        let mut ways = ways_to_break(&[vec![1, 2, 3], vec![4, 5]], 6);
        assert_eq!(ways.len(), 12);
        ways.sort();
        ways.dedup();
        assert_eq!(ways.len(), 12);
        assert!(ways.iter().all(|way| way[0] == 0));
    }
}
