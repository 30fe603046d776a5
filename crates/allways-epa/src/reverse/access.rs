//! Which accesses are to be compared with which.
//!
//! Two accesses depend on each other if they touch the same byte, at least one writes, and they are of different threads.
//! Their number grows with the square of the trace, but only those need to be looked at that have no write to that byte
//! between them. Say `a` before `b` depend on each other at a byte, and let `w1, …, wn` be the writes to it
//! between them. Then `a, w1`, each `wi, wi+1` and `wn, b` are accesses to the same byte of which one writes, without
//! a write between them. If each such pair has the same order in every order of the trace (by program order if
//! they are of one thread), so have `a` and `b`, by transitivity. If reads of the byte come between two writes, the
//! pairs of the first write and a read and of that read and the second write tell the same of the writes.
//! Of the reads of one thread the last one is enough: those before it come before it.
//!
//! Bytes that were always touched together are one cell. A write makes one cell of all that it covers, so that each access
//! makes at most three cells, and each is taken away at most once. Objects that only one thread touches, or that
//! nobody writes, have none.

use crate::step::{Action, Place, Step};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

#[derive(Clone)]
struct Cell {
    /// The first byte after it.
    end: u64,
    /// The last write.
    write: Option<u32>,
    /// The last read of each thread since.
    reads: Reads,
}

#[derive(Clone)]
enum Reads {
    None,
    One(u32),
    Many(Box<Vec<u32>>),
}

impl Reads {
    fn as_slice(&self) -> &[u32] {
        match self {
            Reads::None => &[],
            Reads::One(read) => std::slice::from_ref(read),
            Reads::Many(reads) => reads,
        }
    }

    fn add(&mut self, read: u32, steps: &[Step]) {
        let is_same = |other: u32| steps[other as usize].thread == steps[read as usize].thread;
        match self {
            Reads::None => *self = Reads::One(read),
            Reads::One(other) if is_same(*other) => *other = read,
            Reads::One(other) => *self = Reads::Many(Box::new(vec![*other, read])),
            Reads::Many(reads) => match reads.iter_mut().find(|other| is_same(**other)) {
                Some(other) => *other = read,
                None => reads.push(read),
            },
        }
    }
}

/// What was accessed so far.
pub(super) struct Accesses<'s> {
    steps: &'s [Step],
    /// Of objects that several threads touch and one writes: by their first byte.
    cells: FxHashMap<u32, BTreeMap<u64, Cell>>,
}

/// Who touches an object: the first who did, whether others did as well, whether anybody writes.
struct Use {
    thread: u32,
    is_shared: bool,
    is_written: bool,
}

/// The place that a step touches, and whether it writes.
pub(super) fn access(step: &Step) -> Option<(Place, bool)> {
    match step.action {
        Action::Read(place) if place.bytes > 0 => Some((place, false)),
        Action::Write(place) if place.bytes > 0 => Some((place, true)),
        _ => None,
    }
}

impl<'s> Accesses<'s> {
    pub fn new(steps: &'s [Step]) -> Self {
        let mut uses: FxHashMap<u32, Use> = FxHashMap::default();
        for step in steps {
            let Some((place, is_write)) = access(step) else { continue };
            let thread = step.thread;
            let first = Use { thread, is_shared: false, is_written: false };
            let used = uses.entry(place.object).or_insert(first);
            used.is_shared |= used.thread != thread;
            used.is_written |= is_write;
        }
        let uses = uses.iter().filter(|(_, used)| used.is_shared && used.is_written);
        let cells = uses.map(|(&object, _)| (object, BTreeMap::new())).collect();
        Accesses { steps, cells }
    }

    /// A step of the trace comes, and these are the earlier ones that it is to be compared with.
    pub fn touch(&mut self, now: u32, compared: &mut Vec<u32>) {
        compared.clear();
        let Some((place, is_write)) = access(&self.steps[now as usize]) else { return };
        let Some(cells) = self.cells.get_mut(&place.object) else { return };
        let (first, end) = (place.offset, place.offset.saturating_add(place.bytes));
        split(cells, first);
        split(cells, end);
        let mut gaps = Vec::new();
        let mut free = first;
        let mut count = 0;
        for (&begin, cell) in cells.range_mut(first..end) {
            if free < begin {
                gaps.push((free, begin));
            }
            free = cell.end;
            count += 1;
            let reads = cell.reads.as_slice();
            if is_write && !reads.is_empty() {
                compared.extend(reads);
            } else {
                compared.extend(cell.write);
            }
            if is_write {
                cell.write = Some(now);
                cell.reads = Reads::None;
            } else {
                cell.reads.add(now, self.steps);
            }
        }
        if free < end {
            gaps.push((free, end));
        }
        if is_write && count + gaps.len() > 1 {
            let covered: Vec<u64> = cells.range(first..end).map(|(&begin, _)| begin).collect();
            covered.iter().for_each(|begin| drop(cells.remove(begin)));
            gaps = vec![(first, end)];
        }
        for (begin, end) in gaps {
            let (write, reads) =
                if is_write { (Some(now), Reads::None) } else { (None, Reads::One(now)) };
            cells.insert(begin, Cell { end, write, reads });
        }
        let thread = self.steps[now as usize].thread;
        compared.retain(|&earlier| self.steps[earlier as usize].thread != thread);
        compared.sort_unstable();
        compared.dedup();
    }
}

/// Makes two cells of the one that has bytes on both sides.
fn split(cells: &mut BTreeMap<u64, Cell>, at: u64) {
    let Some((_, cell)) = cells.range_mut(..at).next_back() else { return };
    if cell.end > at {
        let second = cell.clone();
        cell.end = at;
        cells.insert(at, second);
    }
}
