//! Wakeup trees: what is still to be seen from each point of the run.
//!
//! A tree (section 5 of "Optimal dynamic partial order reduction") holds sequences of moves. They are
//! taken from left to right. A new sequence is led down along the first branches that some
//! run with it may begin with; if it ends up at a leaf, what is seen there anyway suffices, and if it gets stuck at an
//! inner point, what is left of it becomes a new branch there.

use super::explore::Move;
use crate::engine::machine::Transition;
use crate::engine::machine::footprint::Footprints;

/// A branch of a tree, by number.
pub(crate) type Branch = u32;

/// No branch.
pub(crate) const NONE: Branch = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    what: Move,
    /// The first branch below it.
    first: Branch,
    /// The next branch beside it.
    next: Branch,
}

/// All trees of a search.
#[derive(Default)]
pub(crate) struct Trees {
    nodes: Vec<Node>,
    free: Vec<Branch>,
    rest: Vec<Move>,
}

/// Whether some run that begins with a sequence could as well begin with this move: it is in the sequence and
/// nothing before it conflicts with it, or it conflicts with nothing there. These are the *weak
/// initials* of the sequence. The move must be possible where the sequence is.
#[inline]
pub(crate) fn may_begin(footprints: &Footprints, what: Move, sequence: &[Move]) -> bool {
    for other in sequence {
        if other.transition.process == what.transition.process {
            return other.transition.alternative == what.transition.alternative;
        }
        if footprints.conflict(other.footprint, what.footprint) {
            return false;
        }
    }
    true
}

/// Whether every run that begins with a sequence could as well begin with this move: it is in the sequence, and
/// nothing before it conflicts with it. These are the *initials* of the sequence.
#[inline]
pub(crate) fn begins(footprints: &Footprints, what: Move, sequence: &[Move]) -> bool {
    sequence.iter().any(|other| other.transition == what.transition)
        && may_begin(footprints, what, sequence)
}

impl Trees {
    fn add(&mut self, what: Move, first: Branch) -> Branch {
        let node = Node { what, first, next: NONE };
        match self.free.pop() {
            Some(branch) => {
                self.nodes[branch as usize] = node;
                branch
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as Branch - 1
            }
        }
    }

    /// A tree of one branch.
    pub fn single(&mut self, what: Move) -> Branch {
        self.add(what, NONE)
    }

    /// Takes the first branch of a tree away: its move, and the tree below it.
    pub fn take_first(&mut self, tree: &mut Branch) -> Option<(Move, Branch)> {
        if *tree == NONE {
            return None;
        }
        let Node { what, first, next } = self.nodes[*tree as usize];
        self.free.push(*tree);
        *tree = next;
        Some((what, first))
    }

    /// Takes a tree away whole: its moves, each with how deep it is, a branch before what is below it.
    pub fn take_all(&mut self, tree: Branch, depth: usize, into: &mut Vec<(usize, Move)>) {
        let mut rest = tree;
        while let Some((what, below)) = self.take_first(&mut rest) {
            into.push((depth, what));
            self.take_all(below, depth + 1, into);
        }
    }

    /// Puts a tree together again: its moves as they were taken away, of which the first is so deep.
    pub fn put_all(&mut self, moves: &[(usize, Move)], depth: usize) -> Branch {
        let mut tree = NONE;
        let starts: Vec<usize> = (0..moves.len()).filter(|&at| moves[at].0 == depth).collect();
        for (number, &start) in starts.iter().enumerate() {
            let end = starts.get(number + 1).copied().unwrap_or(moves.len());
            let below = self.put_all(&moves[start + 1..end], depth + 1);
            let branch = self.add(moves[start].1, below);
            self.append(&mut tree, NONE, branch);
        }
        tree
    }

    /// How many branches a tree has at its root.
    pub fn count(&self, tree: Branch) -> u32 {
        self.siblings(tree).count() as u32
    }

    fn siblings(&self, tree: Branch) -> impl Iterator<Item = Branch> + '_ {
        let some = |branch: Branch| (branch != NONE).then_some(branch);
        std::iter::successors(some(tree), move |&branch| some(self.nodes[branch as usize].next))
    }

    /// The first branch at the root that may begin a sequence.
    fn first_that_may_begin(
        &self,
        footprints: &Footprints,
        tree: Branch,
        sequence: &[Move],
    ) -> Option<Branch> {
        let what = |branch: Branch| self.nodes[branch as usize].what;
        self.siblings(tree).find(|&branch| may_begin(footprints, what(branch), sequence))
    }

    /// Whether some branch at the root begins a sequence.
    pub fn begins(&self, footprints: &Footprints, tree: Branch, sequence: &[Move]) -> bool {
        let what = |branch: Branch| self.nodes[branch as usize].what;
        self.siblings(tree).any(|branch| begins(footprints, what(branch), sequence))
    }

    /// Whether a move is one of the branches at the root.
    pub fn has(&self, tree: Branch, transition: Transition) -> bool {
        let what = |branch: Branch| self.nodes[branch as usize].what;
        self.siblings(tree).any(|branch| what(branch).transition == transition)
    }

    /// Adds branches of one move at the root, behind all others.
    pub fn add_moves<'m>(&mut self, tree: &mut Branch, moves: impl IntoIterator<Item = &'m Move>) {
        for &what in moves {
            let branch = self.add(what, NONE);
            self.append(tree, NONE, branch);
        }
    }

    /// Puts a branch behind all others of a tree, or of those below a branch.
    fn append(&mut self, tree: &mut Branch, below: Branch, branch: Branch) {
        let first = if below == NONE { *tree } else { self.nodes[below as usize].first };
        match self.siblings(first).last() {
            Some(last) => self.nodes[last as usize].next = branch,
            None if below == NONE => *tree = branch,
            None => self.nodes[below as usize].first = branch,
        }
    }

    /// Sees to it that a sequence is seen with whatever may come behind it, if that can be had: if on its way
    /// down it meets no branch that is not a part of it. Otherwise nothing is done.
    pub fn settle(
        &mut self,
        footprints: &Footprints,
        tree: &mut Branch,
        sequence: &[Move],
    ) -> bool {
        let mut rest = std::mem::take(&mut self.rest);
        rest.clear();
        rest.extend_from_slice(sequence);
        let mut below = NONE;
        let mut level = *tree;
        let is_settled = loop {
            let Some(branch) = self.first_that_may_begin(footprints, level, &rest) else {
                self.add_sequence(tree, below, &rest);
                break true;
            };
            let Node { what, first, .. } = self.nodes[branch as usize];
            let Some(at) = rest.iter().position(|other| other.transition == what.transition) else {
                break false;
            };
            rest.remove(at);
            if first == NONE {
                break true;
            }
            (below, level) = (branch, first);
        };
        self.rest = rest;
        is_settled
    }

    /// Puts a sequence behind all branches of a tree, or of those below a branch.
    fn add_sequence(&mut self, tree: &mut Branch, below: Branch, sequence: &[Move]) {
        // From the end, since a branch knows the one below it.
        let mut branch = NONE;
        for &what in sequence.iter().rev() {
            branch = self.add(what, branch);
        }
        if branch != NONE {
            self.append(tree, below, branch);
        }
    }

    /// Sees to it that a sequence is seen.
    pub fn insert(&mut self, footprints: &Footprints, tree: &mut Branch, sequence: &[Move]) {
        let mut rest = std::mem::take(&mut self.rest);
        rest.clear();
        rest.extend_from_slice(sequence);
        let mut below = NONE;
        let mut level = *tree;
        while let Some(branch) = self.first_that_may_begin(footprints, level, &rest) {
            let Node { what, first, .. } = self.nodes[branch as usize];
            if let Some(at) = rest.iter().position(|other| other.transition == what.transition) {
                rest.remove(at);
            }
            if first == NONE {
                self.rest = rest;
                return;
            }
            (below, level) = (branch, first);
        }
        self.add_sequence(tree, below, &rest);
        self.rest = rest;
    }

    /// Roughly the bytes in use.
    pub fn bytes(&self) -> u64 {
        (self.nodes.capacity() * size_of::<Node>() + self.free.capacity() * 4) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::machine::Transition;

    /// Moves of different processes at nodes.
    fn moves(footprints: &mut Footprints, nodes: &[(u32, u32)]) -> Vec<Move> {
        let one = |&(process, node): &(u32, u32)| Move {
            transition: Transition { process, alternative: 0 },
            footprint: footprints.intern(&[node], &[]),
        };
        nodes.iter().map(one).collect()
    }

    /// All sequences of a tree, by process.
    fn sequences(trees: &Trees, tree: Branch) -> Vec<Vec<u32>> {
        let mut all = Vec::new();
        for branch in trees.siblings(tree) {
            let Node { what, first, .. } = trees.nodes[branch as usize];
            let below = sequences(trees, first);
            let below = if below.is_empty() { vec![Vec::new()] } else { below };
            all.extend(below.into_iter().map(|rest| {
                let mut sequence = vec![what.transition.process];
                sequence.extend(rest);
                sequence
            }));
        }
        all
    }

    #[test]
    fn what_is_seen_anyway_is_not_added() {
        let mut footprints = Footprints::default();
        let mut trees = Trees::default();
        let mut tree = NONE;
        // Processes 1 and 2 at node 0, process 3 at node 1.
        let sequence = moves(&mut footprints, &[(1, 0), (3, 1)]);
        trees.insert(&footprints, &mut tree, &sequence);
        // The same in another order, a part of it, and with more behind it.
        for other in [&[(3, 1), (1, 0)][..], &[(3, 1)], &[(1, 0), (3, 1), (2, 0)]] {
            let other = moves(&mut footprints, other);
            trees.insert(&footprints, &mut tree, &other);
        }
        assert_eq!(sequences(&trees, tree), [[1, 3]]);
        // Another order at node 0: a branch of its own.
        let other = moves(&mut footprints, &[(2, 0), (1, 0)]);
        trees.insert(&footprints, &mut tree, &other);
        assert_eq!(sequences(&trees, tree), [[1, 3], [2, 1]]);
        // Begins like the first, and then conflicts with what is behind it.
        let third = moves(&mut footprints, &[(1, 0), (4, 1)]);
        trees.insert(&footprints, &mut tree, &third);
        assert_eq!(sequences(&trees, tree), [&[1, 3][..], &[1, 4], &[2, 1]]);
        let (first, below) = trees.take_first(&mut tree).unwrap();
        assert_eq!((first.transition.process, trees.count(below)), (1, 2));
        assert_eq!(sequences(&trees, tree), [[2, 1]]);
    }
}
