//! Which deliveries change nothing: one bit each.

use super::StateId;

/// A node may have this many words of bits (32 MiB) before the hash table must do without them.
const MAX_WORDS: usize = 1 << 22;
/// All nodes together may have this many.
const MAX_GRID: usize = 1 << 26;

/// A bit for each node, state and event: set if the event is known to change nothing there.
pub(super) struct Grid {
    /// First a row of zeros for nodes without bits, then the rows of the others. A power of two of
    /// them.
    pub bits: Vec<u64>,
    pub rows: Vec<Rows>,
    /// For each node, how many states and events it is known to have.
    known: Vec<(usize, usize)>,
    /// Words in the row of zeros.
    zeros: usize,
}

/// The row of one state.
#[derive(Clone, Copy, Default)]
pub(super) struct Row {
    pub start: u32,
    pub events: u32,
}

/// Where the rows of a node are.
#[derive(Clone, Copy, Default)]
pub(super) struct Rows {
    /// The first word.
    pub start: u32,
    /// Words in a row; zero for a node whose bits would be too many.
    pub stride: u32,
    /// How many states have a row; any, for a node without bits.
    pub states: u32,
    /// How many events have a bit.
    pub events: u32,
}

impl Rows {
    fn without_bits(events: usize) -> Self {
        Rows { start: 0, stride: 0, states: u32::MAX, events: events as u32 }
    }

    fn has_bits(&self) -> bool {
        self.states != u32::MAX
    }

    fn word(&self, state: StateId, event: u32) -> usize {
        (self.start + state * self.stride + event / 64) as usize
    }
}

impl Grid {
    pub fn new(nodes: usize) -> Self {
        Grid {
            bits: vec![0],
            rows: vec![Rows::default(); nodes],
            known: vec![(0, 0); nodes],
            zeros: 1,
        }
    }

    /// Makes sure that a node has bits for so many states and events, or does without.
    pub fn make_room(&mut self, node: usize, states: usize, events: usize) {
        let known = &mut self.known[node];
        *known = (known.0.max(states), known.1.max(events));
        let rows = &mut self.rows[node];
        let words = known.1.div_ceil(64);
        if !rows.has_bits() {
            rows.events = known.1 as u32;
        }
        let fits = if rows.has_bits() {
            known.0 <= rows.states as usize && known.1 <= rows.events as usize
        } else {
            words <= self.zeros
        };
        if !fits {
            self.lay_out_anew();
        }
    }

    fn lay_out_anew(&mut self) {
        let longest = self.known.iter().map(|(_, events)| events.div_ceil(64)).max();
        let zeros = longest.unwrap_or(1).next_power_of_two();
        let mut bits = vec![0; zeros];
        let grow = |known: usize, now: usize| if known <= now { now } else { known + known / 2 };
        for (rows, &(states, events)) in self.rows.iter_mut().zip(&self.known) {
            let old = *rows;
            if !old.has_bits() {
                continue;
            }
            let stride = grow(events.div_ceil(64), old.stride as usize);
            let states = grow(states, old.states as usize);
            if states * stride > MAX_WORDS || bits.len() + states * stride > MAX_GRID {
                // What the bits said is forgotten, and asked for again.
                *rows = Rows::without_bits(events);
                continue;
            }
            *rows = Rows {
                start: bits.len() as u32,
                stride: stride as u32,
                states: states as u32,
                events: stride as u32 * 64,
            };
            bits.resize(bits.len() + states * stride, 0);
            for state in 0..old.states {
                let (from, to) = (old.word(state, 0), rows.word(state, 0));
                let words = old.stride as usize;
                bits[to..to + words].copy_from_slice(&self.bits[from..from + words]);
            }
        }
        bits.resize(bits.len().next_power_of_two(), 0);
        self.bits = bits;
        self.zeros = zeros;
    }

    /// Whether an event is known to change nothing.
    pub fn is_set(&self, node: usize, state: StateId, event: u32) -> bool {
        let rows = &self.rows[node];
        state < rows.states
            && event < rows.events
            && self.bits[rows.word(state, event)] >> (event % 64) & 1 == 1
    }

    /// Notes that an event changes nothing; false if the node has no bits.
    pub fn set(&mut self, node: usize, state: StateId, event: u32) -> bool {
        self.make_room(node, state as usize + 1, event as usize + 1);
        let rows = &self.rows[node];
        if rows.has_bits() {
            self.bits[rows.word(state, event)] |= 1 << (event % 64);
        }
        rows.has_bits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustc_hash::FxHashSet;

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
                    assert_eq!(grid.is_set(node, state, event), known);
                }
            }
        }
        assert!(!grid.set(1, 1 << 29, 999), "too many bits");
        assert!(!grid.is_set(1, 1 << 29, 999));
        assert!(!grid.set(1, 7, 100_000), "still none");
        let (node, state, event) = *expected.iter().find(|(node, ..)| *node != 1).unwrap();
        assert!(grid.is_set(node, state, event));
    }
}
