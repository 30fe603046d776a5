//! Which deliveries change nothing: one bit each.

use super::StateId;

/// A node may have this many words of bits (32 MiB) before the hash table must do without them.
const MAX_WORDS: usize = 1 << 22;
/// All nodes together may have this many.
const MAX_GRID: usize = 1 << 26;

/// A bit for each node, state and event: set if the event is known to change nothing there.
pub(super) struct Grid {
    bits: Vec<u64>,
    rows: Vec<Rows>,
    /// For each node, how many states and events it is known to have.
    known: Vec<(usize, usize)>,
}

/// Where the rows of a node are: one for each of its states.
#[derive(Clone, Copy, Default)]
struct Rows {
    /// The first word.
    start: usize,
    /// Words in a row.
    stride: usize,
    /// How many states have a row.
    states: usize,
    /// Set for a node whose bits would be too many.
    without: bool,
}

impl Grid {
    pub fn new(nodes: usize) -> Self {
        Grid { bits: Vec::new(), rows: vec![Rows::default(); nodes], known: vec![(0, 0); nodes] }
    }

    /// The bits of a node's state, 64 events a word: those that are missing are not set.
    #[inline]
    pub fn row(&self, node: usize, state: StateId) -> &[u64] {
        let rows = &self.rows[node];
        let state = state as usize;
        if state >= rows.states {
            return &[];
        }
        let start = rows.start + state * rows.stride;
        &self.bits[start..start + rows.stride]
    }

    /// Bytes in use.
    pub fn bytes(&self) -> usize {
        self.bits.capacity() * 8
    }

    /// Makes sure that a node has bits for so many states and events, or does without.
    fn make_room(&mut self, node: usize, states: usize, events: usize) {
        let known = &mut self.known[node];
        *known = (known.0.max(states), known.1.max(events));
        let rows = &self.rows[node];
        if !rows.without && (known.0 > rows.states || known.1 > rows.stride * 64) {
            self.lay_out_anew();
        }
    }

    fn lay_out_anew(&mut self) {
        let mut bits = Vec::new();
        let grow = |known: usize, now: usize| if known <= now { now } else { known + known / 2 };
        for (rows, &(states, events)) in self.rows.iter_mut().zip(&self.known) {
            let old = *rows;
            if old.without {
                continue;
            }
            let stride = grow(events.div_ceil(64), old.stride);
            let states = grow(states, old.states);
            let words = states.saturating_mul(stride);
            if words > MAX_WORDS || bits.len() + words > MAX_GRID {
                // What the bits said is forgotten, and asked for again.
                *rows = Rows { without: true, ..Rows::default() };
                continue;
            }
            *rows = Rows { start: bits.len(), stride, states, without: false };
            bits.resize(bits.len() + words, 0);
            for state in 0..old.states {
                let from = old.start + state * old.stride;
                let to = rows.start + state * stride;
                bits[to..to + old.stride].copy_from_slice(&self.bits[from..from + old.stride]);
            }
        }
        self.bits = bits;
    }

    /// Notes that an event changes nothing; false if the node has no bits.
    pub fn set(&mut self, node: usize, state: StateId, event: u32) -> bool {
        self.make_room(node, state as usize + 1, event as usize + 1);
        let rows = &self.rows[node];
        if !rows.without {
            let word = rows.start + state as usize * rows.stride + event as usize / 64;
            self.bits[word] |= 1 << (event % 64);
        }
        !rows.without
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustc_hash::FxHashSet;

    fn is_set(grid: &Grid, node: usize, state: u32, event: u32) -> bool {
        let word = grid.row(node, state).get(event as usize / 64);
        word.is_some_and(|word| word >> (event % 64) & 1 == 1)
    }

    fn random(seed: &mut u64) -> u32 {
        *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*seed >> 33) as u32
    }

    #[test]
    fn bits_are_kept_as_nodes_grow() {
        let (mut grid, mut seed) = (Grid::new(3), 1);
        let mut expected = FxHashSet::default();
        for n in 1..3_000 {
            let node = n as usize % 3;
            let (state, event) = (random(&mut seed) % n, random(&mut seed) % (n / 4 + 1));
            assert!(grid.set(node, state, event));
            expected.insert((node, state, event));
        }
        for node in 0..3 {
            let (states, events) = grid.known[node];
            for state in 0..states as u32 + 10 {
                for event in 0..events as u32 + 100 {
                    let known = expected.contains(&(node, state, event));
                    assert_eq!(is_set(&grid, node, state, event), known);
                }
            }
        }
        assert!(!grid.set(1, 1 << 29, 999), "too many bits");
        assert!(!is_set(&grid, 1, 1 << 29, 999));
        assert!(!grid.set(1, 7, 100_000), "still none");
        let (node, state, event) = *expected.iter().find(|(node, ..)| *node != 1).unwrap();
        assert!(is_set(&grid, node, state, event));
    }
}
