//! Points that stand for more than others: antichains.
//!
//! Of two points that are alike but for their sets, one *covers* the other if each of its sets has all that the other's has. Who asks for antichains
//! has no covered point gone on from: neither a new one that a known one covers, nor one that still waits when a new one comes that covers it. What is
//! left among points that are otherwise alike is an antichain: none covers another.
//!
//! **Why nothing is lost.** Say that a global state is *held* if it is of a point that was gone on from. Each initial state is of a point that is kept, or of one
//! that a kept point covers. Let `s` be held, by the point `P`, and let a step lead from `s` to `t`. If it is a silent one, `t` is of `P` or of the point behind `P`'s silent edge; if
//! not, of the point behind the edge with its label. That point is kept, or a kept one covers it, and has `t` too. A kept point that waits is gone on from in the end, unless
//! one that covers it comes meanwhile; and there is no end of growing sets in a finite space. So every reachable state is held. This asks
//! nothing of how edges of a set compare with those of a larger one, so it is as true of sets that are [full](super::automaton).
//!
//! **The index.** Points are told apart by all that is not a set, first; then there is a level for each component, on which the sets of the points below
//! are listed. On the way down only those sets are followed that include what is asked for, or are included in it. Most are ruled out by their size,
//! or by a mask of 64 bits.

use super::automaton::{Automaton, SubsetId};
use rustc_hash::FxHashMap;

/// A level of the index: sets of a component, and what is below; at the lowest level, the number of a point.
#[derive(Default)]
struct Level {
    /// In the order of their numbers.
    sets: Vec<(SubsetId, Level)>,
    point: u32,
}

/// Points none of which covers another.
#[derive(Default)]
pub(super) struct Antichains {
    alike: FxHashMap<Box<[u32]>, Level>,
    /// How many numbers are in the keys, and how many sets on levels.
    in_keys: usize,
    in_levels: usize,
}

impl Antichains {
    /// Whether some point covers this one, which has these sets.
    pub fn covers(&self, rest: &[u32], sets: &[SubsetId], automata: &[Automaton<'_>]) -> bool {
        self.alike.get(rest).is_some_and(|level| level.covers(sets, automata))
    }

    /// Puts in a point that no other covers; those that it covers are taken out and told.
    pub fn insert(
        &mut self,
        rest: &[u32],
        sets: &[SubsetId],
        point: u32,
        automata: &[Automaton<'_>],
    ) -> Vec<u32> {
        if !self.alike.contains_key(rest) {
            self.in_keys += rest.len();
            self.alike.insert(rest.into(), Level::default());
        }
        let mut covered = Vec::new();
        if let Some(level) = self.alike.get_mut(rest) {
            self.in_levels -= level.take_covered(sets, automata, &mut covered);
            self.in_levels += level.insert(sets, point);
        }
        covered
    }

    /// Roughly the bytes in use.
    pub fn bytes(&self) -> u64 {
        (self.in_keys * 4 + self.alike.len() * 64 + self.in_levels * 48) as u64
    }
}

impl Level {
    fn covers(&self, sets: &[SubsetId], automata: &[Automaton<'_>]) -> bool {
        let (Some((&set, sets)), Some((automaton, automata))) =
            (sets.split_first(), automata.split_first())
        else {
            return true;
        };
        // The same set first: that is what is met most often.
        let same = self.sets.binary_search_by_key(&set, |(it, _)| *it);
        if same.is_ok_and(|at| self.sets[at].1.covers(sets, automata)) {
            return true;
        }
        self.sets.iter().any(|(other, below)| {
            *other != set && automaton.includes(*other, set) && below.covers(sets, automata)
        })
    }

    /// Takes out what a point with these sets covers; how many sets are gone from levels.
    fn take_covered(
        &mut self,
        sets: &[SubsetId],
        automata: &[Automaton<'_>],
        covered: &mut Vec<u32>,
    ) -> usize {
        let (Some((&set, sets)), Some((automaton, automata))) =
            (sets.split_first(), automata.split_first())
        else {
            covered.push(self.point);
            return 0;
        };
        let mut gone = 0;
        self.sets.retain_mut(|(other, below)| {
            if !automaton.includes(set, *other) {
                return true;
            }
            gone += below.take_covered(sets, automata, covered);
            let stays = !sets.is_empty() && !below.sets.is_empty();
            gone += usize::from(!stays);
            stays
        });
        gone
    }

    /// How many sets are new on levels.
    fn insert(&mut self, sets: &[SubsetId], point: u32) -> usize {
        let Some((&set, sets)) = sets.split_first() else {
            self.point = point;
            return 0;
        };
        let at = self.sets.binary_search_by_key(&set, |(it, _)| *it);
        let at = at.unwrap_or_else(|at| {
            self.sets.insert(at, (set, Level::default()));
            at
        });
        let is_new = sets.is_empty() || self.sets[at].1.sets.is_empty();
        usize::from(is_new) + self.sets[at].1.insert(sets, point)
    }
}
