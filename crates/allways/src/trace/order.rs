//! Happens-before of a run that grows and shrinks.
//!
//! Two events are *dependent* if they are steps of one process, if one is needed by the other (it
//! created the other's process, or sent the message that the other delivers), or if they touch one
//! object that at least one of them writes. An event *happens before* another if there is a chain of dependent
//! events from it to the other, each earlier in the run than the next: the definition of section 2.3
//! of the paper on DPOR-DS, with objects in place of nodes.
//!
//! Depth-first exploration pushes and truncates all the time, so both are cheap and allocate nothing
//! once the vectors have grown. For each event there is a row of bits, its whole past. To
//! compute it, only the nearest dependent events are looked up: each object has a chain of its
//! accesses, linked backwards, of which the last is known; a write follows the reads back to the
//! last write, a read goes to the last write at once. Everything farther back happens before these. The row
//! is the union of their rows. If they are taken from the latest on, those that are in the
//! row already when their turn comes are implied by others; the rest are the immediate predecessors.

/// What an event is to a trace: a step of a process that reads and writes objects.
///
/// Processes and objects are small numbers: there are tables as long as the greatest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Touch<'a> {
    /// The process of which it is a step.
    pub process: u32,
    /// The event without which there would be no such step: it created the process, or sent the
    /// message that this step delivers. An event of the run so far.
    pub created_by: Option<usize>,
    /// Further such events: one released what this step takes, or ended what it has waited for. Events of the run so far.
    pub needs: &'a [u32],
    /// Objects that it reads.
    pub reads: &'a [u32],
    /// Objects that it writes; those that it reads as well need not be said to be read.
    pub writes: &'a [u32],
}

impl Touch<'_> {
    /// The events without which it would not be.
    fn needed(&self) -> impl Iterator<Item = u32> + '_ {
        let created_by = self.created_by.map(|creator| creator as u32);
        created_by.into_iter().chain(self.needs.iter().copied())
    }

    /// Whether two steps cannot be swapped: they are of one process, or touch one object that
    /// one of them writes. Who created whom is not looked at.
    pub fn conflicts(&self, other: &Touch<'_>) -> bool {
        let meet = |a: &[u32], b: &[u32]| a.iter().any(|object| b.contains(object));
        self.process == other.process
            || meet(self.writes, other.writes)
            || meet(self.writes, other.reads)
            || meet(self.reads, other.writes)
    }
}

/// No event, or no access.
const NONE: u32 = u32::MAX;

/// Happens-before of a run. Events are numbered from zero, in the order of the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    events: Vec<Entry>,
    /// The objects of all events, one event's after the other's: those that it writes, then those that
    /// it only reads. None twice.
    objects: Vec<u32>,
    /// For each of `objects`, where that access stands among those of the object.
    links: Vec<Link>,
    /// For each object, the place in `links` of its last access.
    last_access: Vec<u32>,
    /// For each process, its last event.
    last_step: Vec<u32>,
    /// What else events need, one event's after the other's.
    needs: Vec<u32>,
    /// The immediate predecessors of all events, the latest first.
    immediate: Vec<u32>,
    /// The past of each event, itself not included: `stride` words each.
    rows: Vec<u64>,
    stride: usize,
    /// What an event depends on directly, while it is pushed.
    nearest: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    process: u32,
    created_by: u32,
    /// Where what else it needs begins.
    needs: u32,
    /// The event before this one of the same process.
    step_before: u32,
    /// Where its objects begin, and where those begin that it only reads.
    objects: u32,
    reads: u32,
    /// Where its immediate predecessors begin.
    immediate: u32,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    event: u32,
    /// The place in `links` of the access of this object before this one.
    before: u32,
    /// The place in `links` of the last write of this object before this access.
    write_before: u32,
    writes: bool,
}

impl Order {
    /// Of the empty run.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of events.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Performs an event after those so far, and says its number.
    #[inline]
    pub fn push(&mut self, touch: Touch<'_>) -> usize {
        let event = self.events.len();
        // Most runs are short: sets of their events are one word.
        if event < 64 {
            self.push_short(event, &touch)
        } else {
            self.push_long(event, &touch)
        }
        event
    }

    fn push_short(&mut self, event: usize, touch: &Touch<'_>) {
        let mut nearest = 0u64;
        for needed in touch.needed() {
            debug_assert!((needed as usize) < event, "an event is created by one before it");
            nearest |= 1 << needed;
        }
        let last_step = slot(&mut self.last_step, touch.process);
        let step_before = std::mem::replace(last_step, event as u32);
        if step_before != NONE {
            nearest |= 1 << step_before;
        }
        let objects = self.objects.len() as u32;
        for &object in touch.writes {
            let mut access = self.link(event as u32, object, true);
            while let Some(link) = self.links.get(access as usize) {
                nearest |= 1 << link.event;
                if link.writes {
                    break;
                }
                access = link.before;
            }
        }
        let reads = self.objects.len() as u32;
        for &object in touch.reads {
            let access = self.link(event as u32, object, false);
            let write = match self.links.get(access as usize) {
                Some(link) if !link.writes => self.links.get(link.write_before as usize),
                link => link,
            };
            if let Some(link) = write {
                nearest |= 1 << link.event;
            }
        }
        self.add_entry(touch, step_before, [objects, reads]);
        self.fill_short_row(event, nearest);
    }

    #[cold]
    fn push_long(&mut self, event: usize, touch: &Touch<'_>) {
        let mut nearest = std::mem::take(&mut self.nearest);
        nearest.clear();
        self.add_nearest(event, touch, &mut nearest);
        let last_step = slot(&mut self.last_step, touch.process);
        let step_before = std::mem::replace(last_step, event as u32);
        let objects = self.objects.len() as u32;
        for &object in touch.writes {
            self.link(event as u32, object, true);
        }
        let reads = self.objects.len() as u32;
        for &object in touch.reads {
            self.link(event as u32, object, false);
        }
        self.add_entry(touch, step_before, [objects, reads]);
        self.fill_row(event, &nearest);
        self.nearest = nearest;
    }

    #[inline]
    fn add_entry(&mut self, touch: &Touch<'_>, step_before: u32, [objects, reads]: [u32; 2]) {
        let (immediate, needs) = (self.immediate.len() as u32, self.needs.len() as u32);
        if !touch.needs.is_empty() {
            self.needs.extend_from_slice(touch.needs);
        }
        self.events.push(Entry {
            process: touch.process,
            created_by: touch.created_by.map_or(NONE, |creator| creator as u32),
            needs,
            step_before,
            objects,
            reads,
            immediate,
        });
    }

    /// The past of one of the first events from those that it depends on directly.
    #[inline]
    fn fill_short_row(&mut self, event: usize, nearest: u64) {
        if self.stride == 0 {
            self.widen(1);
        }
        let mut past = 0;
        let mut rest = nearest;
        while rest != 0 {
            past |= self.rows[rest.trailing_zeros() as usize * self.stride];
            rest &= rest - 1;
        }
        let mut immediate = nearest & !past;
        while immediate != 0 {
            let latest = immediate.ilog2();
            self.immediate.push(latest);
            immediate &= !(1 << latest);
        }
        let start = event * self.stride;
        if self.rows.len() < start + self.stride {
            self.rows.resize(start + self.stride, 0);
        }
        self.rows[start] = past | nearest;
    }

    /// Undoes all but the first so many events.
    pub fn truncate(&mut self, len: usize) {
        let Some(first) = self.events.get(len) else { return };
        let (objects, immediate) = (first.objects as usize, first.immediate as usize);
        self.needs.truncate(first.needs as usize);
        for (object, link) in self.objects[objects..].iter().zip(&self.links[objects..]).rev() {
            self.last_access[*object as usize] = link.before;
        }
        for entry in self.events[len..].iter().rev() {
            self.last_step[entry.process as usize] = entry.step_before;
        }
        self.objects.truncate(objects);
        self.links.truncate(objects);
        self.immediate.truncate(immediate);
        self.events.truncate(len);
    }

    /// Whether one event happens before another. No event happens before itself.
    #[inline]
    pub fn before(&self, a: usize, b: usize) -> bool {
        a < b && contains(self.past(b), a)
    }

    /// Whether neither of two events happens before the other, and they are not the same.
    #[inline]
    pub fn concurrent(&self, a: usize, b: usize) -> bool {
        a != b && !self.before(a, b) && !self.before(b, a)
    }

    /// What happens before an event, itself not included, as a set of bits. It has as many words as it
    /// takes to tell events up to this one, not as many as the run.
    #[inline]
    pub fn past(&self, event: usize) -> &[u64] {
        let start = event * self.stride;
        &self.rows[start..=start + event / 64]
    }

    /// Adds an event and all that happen after it to a list, in the order of the run.
    pub fn add_future(&self, event: usize, into: &mut Vec<u32>) {
        let (word, bit) = (event / 64, event % 64);
        into.push(event as u32);
        let len = self.events.len();
        for later in event + 1..len {
            if self.rows[later * self.stride + word] >> bit & 1 == 1 {
                into.push(later as u32);
            }
        }
    }

    /// The events that happen before an event with none in between, the latest first.
    pub fn immediate(&self, event: usize) -> &[u32] {
        let end = self.events.get(event + 1).map_or(self.immediate.len(), |e| e.immediate as usize);
        &self.immediate[self.events[event].immediate as usize..end]
    }

    /// What an event was pushed as. An object that it was said to write and to read is only told as written,
    /// and none is told twice.
    pub fn touch(&self, event: usize) -> Touch<'_> {
        let entry = &self.events[event];
        let end = self.events.get(event + 1).map_or(self.objects.len(), |e| e.objects as usize);
        Touch {
            process: entry.process,
            created_by: (entry.created_by != NONE).then_some(entry.created_by as usize),
            needs: self.needs(event),
            reads: &self.objects[entry.reads as usize..end],
            writes: &self.objects[entry.objects as usize..entry.reads as usize],
        }
    }

    /// The process of which an event is a step.
    #[inline]
    pub fn process(&self, event: usize) -> u32 {
        self.events[event].process
    }

    /// The event that created this one's process, or sent what it delivers.
    #[inline]
    pub fn created_by(&self, event: usize) -> Option<usize> {
        let creator = self.events[event].created_by;
        (creator != NONE).then_some(creator as usize)
    }

    /// What else an event needs.
    pub fn needs(&self, event: usize) -> &[u32] {
        let end = self.events.get(event + 1).map_or(self.needs.len(), |e| e.needs as usize);
        &self.needs[self.events[event].needs as usize..end]
    }

    /// The event before this one of the same process.
    #[inline]
    pub fn step_before(&self, event: usize) -> Option<usize> {
        let before = self.events[event].step_before;
        (before != NONE).then_some(before as usize)
    }

    /// The last event of a process among the first so many.
    pub fn last_step(&self, process: u32, len: usize) -> Option<usize> {
        let last = self.step_of(process, len);
        (last != NONE).then_some(last as usize)
    }

    /// Whether two events are dependent by themselves: of one process, or one created the other's or
    /// released what it takes, or an object is touched by both and written by one.
    pub fn dependent(&self, a: usize, b: usize) -> bool {
        self.created_by(a) == Some(b)
            || self.created_by(b) == Some(a)
            || self.needs(a).contains(&(b as u32))
            || self.needs(b).contains(&(a as u32))
            || self.touch(a).conflicts(&self.touch(b))
    }

    /// The events before an event that are dependent with it by themselves, all of them, the latest
    /// first.
    pub fn dependent_before(&self, event: usize, into: &mut Vec<u32>) {
        self.dependent_on(event, &self.touch(event), into);
    }

    /// If an event came next after the first `len` events: those that would be dependent with it by
    /// themselves, all of them, the latest first.
    pub fn dependent_on(&self, len: usize, touch: &Touch<'_>, into: &mut Vec<u32>) {
        into.clear();
        for needed in touch.needed() {
            debug_assert!((needed as usize) < len, "an event is created by one before it");
            into.push(needed);
        }
        let mut step = self.step_of(touch.process, len);
        while step != NONE {
            into.push(step);
            step = self.events[step as usize].step_before;
        }
        for &object in touch.writes {
            let mut access = self.access_of(object, len);
            while let Some(link) = self.links.get(access as usize) {
                into.push(link.event);
                access = link.before;
            }
        }
        for &object in touch.reads {
            let mut access = self.write_of(object, len);
            while let Some(link) = self.links.get(access as usize) {
                into.push(link.event);
                access = link.write_before;
            }
        }
        sort_latest_first(into);
    }

    /// If an event came next after the first `len` events: what would happen before it, as a set of
    /// bits, long enough to tell `len` events.
    pub fn past_of_next(&self, len: usize, touch: &Touch<'_>, into: &mut Vec<u64>) {
        into.clear();
        into.resize(len / 64 + 1, 0);
        let mut add = |event: u32| {
            if !contains(into, event as usize) {
                unite(into, self.past(event as usize));
                insert(into, event as usize);
            }
        };
        self.each_nearest(len, touch, &mut add);
    }

    /// The nearest events among the first `len` that are dependent with one that comes next: all others
    /// happen before these.
    fn add_nearest(&self, len: usize, touch: &Touch<'_>, into: &mut Vec<u32>) {
        self.each_nearest(len, touch, |event| insert_latest_first(into, event));
    }

    #[inline]
    fn each_nearest(&self, len: usize, touch: &Touch<'_>, mut add: impl FnMut(u32)) {
        for needed in touch.needed() {
            debug_assert!((needed as usize) < len, "an event is created by one before it");
            add(needed);
        }
        let step = self.step_of(touch.process, len);
        if step != NONE {
            add(step);
        }
        for &object in touch.writes {
            let mut access = self.access_of(object, len);
            while let Some(link) = self.links.get(access as usize) {
                add(link.event);
                if link.writes {
                    break;
                }
                access = link.before;
            }
        }
        for &object in touch.reads {
            if let Some(link) = self.links.get(self.write_of(object, len) as usize) {
                add(link.event);
            }
        }
    }

    /// The last event of a process among the first `len`.
    fn step_of(&self, process: u32, len: usize) -> u32 {
        let mut step = self.last_step.get(process as usize).copied().unwrap_or(NONE);
        while step != NONE && step as usize >= len {
            step = self.events[step as usize].step_before;
        }
        step
    }

    /// The last access of an object by the first `len` events.
    fn access_of(&self, object: u32, len: usize) -> u32 {
        let mut access = self.last_access.get(object as usize).copied().unwrap_or(NONE);
        while access != NONE && self.links[access as usize].event as usize >= len {
            access = self.links[access as usize].before;
        }
        access
    }

    /// The last write of an object by the first `len` events.
    fn write_of(&self, object: u32, len: usize) -> u32 {
        let access = self.access_of(object, len);
        match self.links.get(access as usize) {
            Some(link) if !link.writes => link.write_before,
            _ => access,
        }
    }

    /// Notes an access of an object, and says which one was the last before it; none if it was noted already.
    #[inline]
    fn link(&mut self, event: u32, object: u32, writes: bool) -> u32 {
        let place = self.links.len() as u32;
        let last = slot(&mut self.last_access, object);
        let before = *last;
        let write_before = match self.links.get(before as usize) {
            // Said twice; writes come first, so nothing is lost.
            Some(link) if link.event == event => return NONE,
            Some(link) if !link.writes => link.write_before,
            _ => before,
        };
        *last = place;
        self.objects.push(object);
        self.links.push(Link { event, before, write_before, writes });
        before
    }

    /// The past of a new event from those that it depends on directly, the latest first.
    fn fill_row(&mut self, event: usize, nearest: &[u32]) {
        let words = event / 64 + 1;
        if words > self.stride {
            self.widen(words);
        }
        let start = event * self.stride;
        if self.rows.len() < start + self.stride {
            self.rows.resize(start + self.stride, 0);
        }
        let (rows, row) = self.rows.split_at_mut(start);
        let row = &mut row[..words];
        row.fill(0);
        for &before in nearest {
            let before_index = before as usize;
            if !contains(row, before_index) {
                let start = before_index * self.stride;
                unite(row, &rows[start..=start + before_index / 64]);
                insert(row, before_index);
                self.immediate.push(before);
            }
        }
    }

    /// Makes room for more words a row.
    fn widen(&mut self, words: usize) {
        let stride = words.next_power_of_two();
        let kept = self.events.len() - 1;
        let mut rows = vec![0; (kept + 1) * stride];
        if self.stride > 0 {
            let old = self.rows.chunks_exact(self.stride).take(kept);
            for (row, old) in rows.chunks_exact_mut(stride).zip(old) {
                row[..self.stride].copy_from_slice(old);
            }
        }
        self.rows = rows;
        self.stride = stride;
    }
}

#[inline]
fn slot(table: &mut Vec<u32>, index: u32) -> &mut u32 {
    let index = index as usize;
    if table.len() <= index {
        lengthen(table, index);
    }
    &mut table[index]
}

#[cold]
fn lengthen(table: &mut Vec<u32>, index: usize) {
    table.resize(index + 1, NONE);
}

fn sort_latest_first(events: &mut Vec<u32>) {
    events.sort_unstable_by(|a, b| b.cmp(a));
    events.dedup();
}

/// Puts an event among a few, the latest first, unless it is there.
#[inline]
fn insert_latest_first(events: &mut Vec<u32>, event: u32) {
    match events.iter().position(|&other| other <= event) {
        None => events.push(event),
        Some(at) if events[at] == event => {}
        Some(at) => events.insert(at, event),
    }
}

/// Whether an event is in a set of bits; what is beyond its words is not.
#[inline]
pub(crate) fn contains(set: &[u64], event: usize) -> bool {
    set.get(event / 64).is_some_and(|word| word >> (event % 64) & 1 == 1)
}

/// Puts an event into a set of bits that is long enough.
#[inline]
pub(crate) fn insert(set: &mut [u64], event: usize) {
    set[event / 64] |= 1 << (event % 64);
}

/// Puts what is in one set of bits into another that is as long at least.
#[inline]
pub(crate) fn unite(set: &mut [u64], other: &[u64]) {
    for (word, other) in set.iter_mut().zip(other) {
        *word |= other;
    }
}

/// The events in a set of bits, the earliest first.
pub(crate) fn members(set: &[u64]) -> impl Iterator<Item = usize> + '_ {
    set.iter().enumerate().flat_map(|(place, &word)| {
        let mut rest = word;
        std::iter::from_fn(move || {
            let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            Some(place * 64 + bit)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::naive::{Plain, cases, closure, dependent, keep_needed, order_of, runs};
    use super::*;
    use proptest::prelude::*;

    /// That all that an order says of a run is what the definitions say.
    fn agrees(order: &Order, run: &[Plain]) {
        assert_eq!(order.len(), run.len());
        let before = closure(run);
        let mut found = Vec::new();
        for b in 0..run.len() {
            let past: Vec<usize> = (0..b).filter(|&a| before(a, b)).collect();
            assert_eq!(members(order.past(b)).collect::<Vec<_>>(), past);
            for a in 0..run.len() {
                assert_eq!(order.before(a, b), before(a, b), "{a} before {b}");
                assert_eq!(order.concurrent(a, b), a != b && !before(a, b) && !before(b, a));
                if a < b {
                    assert_eq!(order.dependent(a, b), dependent(run, a, b));
                    assert_eq!(order.dependent(b, a), dependent(run, a, b));
                }
            }
            let between = |a: usize| (a..b).any(|c| before(a, c) && before(c, b));
            let immediate: Vec<u32> =
                past.iter().rev().filter(|&&a| !between(a)).map(|&a| a as u32).collect();
            assert_eq!(order.immediate(b), immediate);
            let direct: Vec<u32> =
                (0..b).rev().filter(|&a| dependent(run, a, b)).map(|a| a as u32).collect();
            order.dependent_before(b, &mut found);
            assert_eq!(found, direct);
            let same = |a: &&usize| run[**a].process == run[b].process;
            assert_eq!(
                order.step_before(b),
                (0..b).collect::<Vec<_>>().iter().rev().find(same).copied()
            );
            assert_eq!(order.last_step(run[b].process, b), order.step_before(b));
            assert_eq!(
                (order.process(b), order.created_by(b)),
                (run[b].process, run[b].created_by)
            );
            let touch = order.touch(b);
            assert_eq!((touch.process, touch.created_by), (run[b].process, run[b].created_by));
            assert_eq!(touch.needs, run[b].needs);
            for object in 0..8 {
                let (reads, writes) =
                    (run[b].reads.contains(&object), run[b].writes.contains(&object));
                let times = |set: &[u32]| set.iter().filter(|&&o| o == object).count();
                assert_eq!(times(touch.writes), usize::from(writes));
                assert_eq!(times(touch.reads), usize::from(reads && !writes));
            }
        }
    }

    proptest! {
        #![proptest_config(cases(256))]

        #[test]
        fn happens_before_is_the_transitive_closure(run in runs(24)) {
            agrees(&order_of(&run), &run);
        }

        #[test]
        fn a_run_that_shrank_and_grew_is_as_one_that_only_grew(
            pieces in prop::collection::vec((any::<prop::sample::Index>(), runs(12)), 1..6),
        ) {
            let (mut order, mut run) = (Order::new(), Vec::<Plain>::new());
            for (keep, piece) in pieces {
                let keep = keep.index(run.len() + 1);
                order.truncate(keep);
                run.truncate(keep);
                for mut event in piece {
                    keep_needed(&mut event, run.len());
                    order.push(event.touch());
                    run.push(event);
                }
                agrees(&order, &run);
            }
        }

        #[test]
        fn what_would_come_next_is_told_as_if_it_had(
            run in runs(20), next in runs(3), at in any::<prop::sample::Index>(),
        ) {
            let order = order_of(&run);
            let len = at.index(run.len() + 1);
            let (mut past, mut direct, mut expected) = (Vec::new(), Vec::new(), Vec::new());
            for mut event in next {
                keep_needed(&mut event, len);
                order.past_of_next(len, &event.touch(), &mut past);
                order.dependent_on(len, &event.touch(), &mut direct);
                let mut shorter = run[..len].to_vec();
                shorter.push(event);
                let performed = order_of(&shorter);
                prop_assert_eq!(&past[..], performed.past(len));
                performed.dependent_before(len, &mut expected);
                prop_assert_eq!(&direct, &expected);
            }
        }
    }

    #[test]
    fn long_runs_have_wide_rows() {
        // Two nodes that send to each other now and then.
        let event = |index: usize| {
            let sent = index.checked_sub(7).filter(|_| index.is_multiple_of(5));
            Plain::at(index as u32, (index % 2) as u32, sent)
        };
        let run: Vec<Plain> = (0..300).map(event).collect();
        let mut order = order_of(&run);
        agrees(&order, &run);
        order.truncate(70);
        agrees(&order, &run[..70]);
        order.truncate(0);
        agrees(&order, &[]);
    }

    #[test]
    fn readers_do_not_order_each_other_but_a_writer_orders_all() {
        let reader = |process| Plain {
            process,
            created_by: None,
            needs: vec![],
            reads: vec![0],
            writes: vec![],
        };
        let mut run = vec![Plain::at(0, 0, None), reader(1), reader(2), reader(3)];
        run.push(Plain::at(4, 0, None));
        let order = order_of(&run);
        assert!(order.concurrent(1, 2) && order.concurrent(2, 3));
        assert_eq!(order.immediate(4), [3, 2, 1]);
        assert_eq!(order.immediate(3), [0]);
    }
}
