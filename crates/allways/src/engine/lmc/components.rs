//! Strongly connected components of a graph, successors first (Tarjan's algorithm, without recursion).

/// For each state the number of its component, and how many components there are. An edge leads to a
/// component with a smaller number, or stays in its own.
pub(super) struct Components {
    pub of: Vec<u32>,
    pub count: usize,
    /// The states, component by component.
    pub order: Vec<u32>,
}

/// The successors of each state: `ends[s]` is where those of `s` end in `targets`.
pub(super) struct Successors {
    ends: Vec<u32>,
    /// Numbers of edges, grouped by where they start.
    pub edges: Vec<u32>,
}

impl Successors {
    /// Of edges that start at these states.
    pub fn new(states: usize, from: impl Iterator<Item = u32> + Clone) -> Self {
        let mut ends = vec![0; states + 1];
        for state in from.clone() {
            ends[state as usize + 1] += 1;
        }
        for state in 0..states {
            ends[state + 1] += ends[state];
        }
        let mut at = ends.clone();
        let mut edges = vec![0; ends[states] as usize];
        for (edge, state) in from.enumerate() {
            let at = &mut at[state as usize];
            edges[*at as usize] = edge as u32;
            *at += 1;
        }
        Successors { ends, edges }
    }

    /// The numbers of the edges that start here.
    pub fn of(&self, state: u32) -> &[u32] {
        let state = state as usize;
        &self.edges[self.ends[state] as usize..self.ends[state + 1] as usize]
    }
}

impl Components {
    /// Of a graph whose edges lead to these states.
    pub fn new(states: usize, successors: &Successors, to: impl Fn(u32) -> u32) -> Self {
        const UNSEEN: u32 = u32::MAX;
        let mut found = Components { of: vec![UNSEEN; states], count: 0, order: Vec::new() };
        // When a state was met, and the earliest state on the stack that it leads to.
        let mut met = vec![UNSEEN; states];
        let mut low = vec![0; states];
        let mut clock = 0;
        let mut stack = Vec::new();
        let mut path: Vec<(u32, usize)> = Vec::new();
        for root in 0..states as u32 {
            if met[root as usize] != UNSEEN {
                continue;
            }
            path.push((root, 0));
            while let Some((state, at)) = path.last_mut() {
                let state = *state;
                if *at == 0 {
                    met[state as usize] = clock;
                    low[state as usize] = clock;
                    clock += 1;
                    stack.push(state);
                }
                if let Some(&edge) = successors.of(state).get(*at) {
                    *at += 1;
                    let next = to(edge);
                    if met[next as usize] == UNSEEN {
                        path.push((next, 0));
                    } else if found.of[next as usize] == UNSEEN {
                        low[state as usize] = low[state as usize].min(met[next as usize]);
                    }
                    continue;
                }
                path.pop();
                if let Some((parent, _)) = path.last() {
                    low[*parent as usize] = low[*parent as usize].min(low[state as usize]);
                }
                if low[state as usize] == met[state as usize] {
                    while let Some(member) = stack.pop() {
                        found.of[member as usize] = found.count as u32;
                        found.order.push(member);
                        if member == state {
                            break;
                        }
                    }
                    found.count += 1;
                }
            }
        }
        found
    }

    /// Whether no path leads back to where it began, but for edges from a state to itself.
    pub fn is_acyclic(&self) -> bool {
        self.count == self.of.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn successors_come_first_and_circles_are_one() {
        // 0 → 1 → 2 → 1, 2 → 3, 4 alone, 3 → 3.
        let edges = [(0, 1), (1, 2), (2, 1), (2, 3), (3, 3)];
        let successors = Successors::new(5, edges.iter().map(|edge| edge.0));
        let found = Components::new(5, &successors, |edge| edges[edge as usize].1);
        assert_eq!(found.count, 4);
        assert_eq!(found.of[1], found.of[2]);
        assert!(found.of[0] > found.of[1] && found.of[1] > found.of[3]);
        assert!(!found.is_acyclic());
        assert_eq!(found.order.len(), 5);
    }

    #[test]
    fn a_deep_graph_needs_no_deep_stack() {
        let states = 100_000;
        let successors = Successors::new(states, 0..states as u32 - 1);
        let found = Components::new(states, &successors, |edge| edge + 1);
        assert!(found.is_acyclic());
        assert_eq!(found.order[0], states as u32 - 1);
    }
}
