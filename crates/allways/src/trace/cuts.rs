//! Consistent cuts of a run, as far as a property can tell them apart.
//!
//! A partial-order engine performs one order of independent events, so it never stands in most global
//! states. Those that it passed by are the consistent cuts of its run: the sets of events that contain
//! the past of each of their events. A property reads views at some *places* (nodes, observers),
//! and most events change none of them. So only the changes count: each place has a chain of
//! them, and a *sliced cut* says for each place how many of its changes have happened. It is a vector clock, and
//! it is consistent iff it is not less than the clock of any change in it. It stands for the least cut
//! that contains these changes; any other cut with these changes has the same views. (To look only at the
//! cuts that matter is the idea of slicing: Garg and Mittal, "On slicing a distributed computation",
//! 2001.)
//!
//! **The walk.** Places are settled one after the other, each from its least count up to its greatest.
//! The least is what the start of the walk and the changes settled so far need. The greatest is the last
//! change whose clock asks no more of the settled places than they have: clocks only grow along a chain, so
//! beyond it there is nothing. There are no dead ends: the least count `c` of a place is needed by
//! some settled change `d`, so the `c`-th change of the place happens before `d` or is the same event, and what it needs
//! `d` needs too, which has been seen to. So each sliced cut is met exactly once, the work for each
//! is at most the square of the number of places that still move, and nothing is remembered but the
//! counts of the cut at hand.
//!
//! **Each cut once in an exploration.** Of the changes in a sliced cut one is the latest in the run. If, as each
//! event that changes a view is performed, the cuts are walked in which it is the latest, then all sliced cuts of
//! all runs are met but the empty one, and none of them twice in runs that share the events up to it.

use std::ops::ControlFlow;

use super::clock::{self, VectorClock};
use super::order::{Order, insert, members, unite};

/// The changes of what a property reads, along a run that grows and shrinks.
#[derive(Clone, Debug)]
pub(crate) struct Cuts {
    chains: Vec<Chain>,
    /// The event and the place of each change, in the order of the run.
    changes: Vec<(u32, u32)>,
    /// The clock of each change, in the order of the run: one count for each place.
    clocks: Vec<u32>,
    walk: Walk,
}

#[derive(Clone, Debug)]
struct Chain {
    /// The view before any change.
    start: u32,
    changes: Vec<Change>,
}

#[derive(Clone, Copy, Debug)]
struct Change {
    event: u32,
    /// The view after it.
    view: u32,
    /// Where its clock begins among the clocks.
    clock: usize,
}

/// Where a walk is. Kept, so that a walk allocates nothing.
#[derive(Clone, Debug, Default)]
struct Walk {
    counts: VectorClock,
    high: VectorClock,
    /// The places that move, in the order in which they are settled.
    moving: Vec<usize>,
    /// For each of `moving`, the least counts of all places that those settled before it leave.
    low: Vec<u32>,
    views: Vec<u32>,
}

/// A sliced cut.
pub(crate) struct Cut<'a> {
    chains: &'a [Chain],
    counts: &'a [u32],
    views: &'a [u32],
}

impl Cut<'_> {
    /// The view at each place.
    #[inline]
    pub fn views(&self) -> &[u32] {
        self.views
    }

    /// How many changes of each place have happened.
    #[inline]
    pub fn counts(&self) -> &[u32] {
        self.counts
    }

    /// All events of the least cut with these changes, in the order of the run: a run by
    /// themselves, after which the views are these. Events that change nothing and that no change needs are not
    /// in it.
    pub fn events(&self, order: &Order) -> Vec<usize> {
        let mut set = vec![0; order.len() / 64 + 1];
        for (chain, &count) in self.chains.iter().zip(self.counts) {
            if let Some(last) = (count as usize).checked_sub(1) {
                let event = chain.changes[last].event as usize;
                unite(&mut set, order.past(event));
                insert(&mut set, event);
            }
        }
        members(&set).collect()
    }
}

impl Cuts {
    /// No changes yet; the views at the start, one for each place.
    pub fn new(start: &[u32]) -> Self {
        let chain = |&start| Chain { start, changes: Vec::new() };
        Cuts {
            chains: start.iter().map(chain).collect(),
            changes: Vec::new(),
            clocks: Vec::new(),
            walk: Walk::default(),
        }
    }

    /// Notes the view of a place after an event of the run, and says whether it is a change.
    ///
    /// Events come in the order of the run. All changes of one place must be ordered by happens-before. One
    /// event may change several places, each once, which are then noted one after the other.
    pub fn push(&mut self, order: &Order, event: usize, place: usize, view: u32) -> bool {
        if self.view(place) == view {
            return false;
        }
        let clock = self.clocks.len();
        for chain in &self.chains {
            // Changes in the past come first in a chain.
            let past = chain.changes.partition_point(|change| {
                change.event as usize == event || order.before(change.event as usize, event)
            });
            self.clocks.push(past as u32);
        }
        debug_assert_eq!(
            self.clocks[clock + place] as usize,
            self.chains[place].changes.len(),
            "the changes of a place happen one after the other"
        );
        self.clocks[clock + place] += 1;
        // What the same event has changed at other places comes with this change, so it needs this one too.
        let places = self.chains.len();
        for (index, _) in self
            .changes
            .iter()
            .enumerate()
            .rev()
            .take_while(|(_, change)| change.0 as usize == event)
        {
            self.clocks[index * places + place] += 1;
        }
        self.chains[place].changes.push(Change { event: event as u32, view, clock });
        self.changes.push((event as u32, place as u32));
        true
    }

    /// Forgets the changes by all but the first so many events of the run.
    pub fn truncate(&mut self, len: usize) {
        while let Some((_, place)) = self.changes.pop_if(|change| change.0 as usize >= len) {
            self.chains[place as usize].changes.pop();
        }
        self.clocks.truncate(self.changes.len() * self.chains.len());
    }

    /// The view of a place after all changes.
    pub fn view(&self, place: usize) -> u32 {
        let chain = &self.chains[place];
        chain.changes.last().map_or(chain.start, |last| last.view)
    }

    /// Visits every sliced cut of the run, the empty one first, until told to stop.
    pub fn all<B>(&mut self, visit: impl FnMut(&Cut<'_>) -> ControlFlow<B>) -> ControlFlow<B> {
        let places = self.chains.len();
        self.walk.counts.reset(places);
        self.walk.high.reset(places);
        for (place, chain) in self.chains.iter().enumerate() {
            self.walk.high.set(place, chain.changes.len() as u32);
        }
        self.run(visit)
    }

    /// Visits the sliced cuts of the run in which the changes by this event are the latest, in the order of
    /// the run, until told to stop. There are none if it changes nothing.
    pub fn latest<B>(
        &mut self,
        event: usize,
        visit: impl FnMut(&Cut<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        match self.prepare(event) {
            true => self.run(visit),
            false => ControlFlow::Continue(()),
        }
    }

    /// Puts in place of what is in `shape` all that the views of the sliced cuts depend on in which the changes by
    /// this event are the latest: equal shapes, equal views. For each place the views that it may have, and what their
    /// changes need beyond what all of these cuts have. Says whether there is more than one such cut.
    pub fn shape_of_latest(&mut self, event: usize, shape: &mut Vec<u32>) -> bool {
        shape.clear();
        if !self.prepare(event) {
            return false;
        }
        let Walk { counts, high, .. } = &self.walk;
        let mut moves = false;
        for (place, chain) in self.chains.iter().enumerate() {
            let (low, high) = (counts[place] as usize, high[place] as usize);
            let before = low.checked_sub(1).map_or(chain.start, |last| chain.changes[last].view);
            shape.extend([(high - low) as u32, before]);
            moves |= low < high;
            for change in &chain.changes[low..high] {
                shape.push(change.view);
                let clock = &self.clocks[change.clock..change.clock + self.chains.len()];
                let needs = clock.iter().enumerate();
                shape.extend(needs.map(|(place, needs)| needs.saturating_sub(counts[place])));
            }
        }
        moves
    }

    /// Prepares the walk through the sliced cuts in which the changes by this event are the latest, if it
    /// changes anything.
    fn prepare(&mut self, event: usize) -> bool {
        let places = self.chains.len();
        self.walk.high.reset(places);
        let mut clock = None;
        for (place, chain) in self.chains.iter().enumerate() {
            let upto = chain.changes.partition_point(|change| change.event as usize <= event);
            self.walk.high.set(place, upto as u32);
            let last = chain.changes[..upto].last();
            if let Some(last) = last.filter(|last| last.event as usize == event) {
                clock = Some(last.clock);
            }
        }
        let Some(clock) = clock else { return false };
        self.walk.counts.assign(&self.clocks[clock..clock + places]);
        true
    }

    /// Visits every sliced cut from `walk.counts`, which is one, to `walk.high`, which is one too.
    fn run<B>(&mut self, mut visit: impl FnMut(&Cut<'_>) -> ControlFlow<B>) -> ControlFlow<B> {
        let Cuts { chains, clocks, walk, .. } = self;
        let Walk { counts, high, moving, low, views } = walk;
        let places = chains.len();
        let view = |place: usize, count: u32| {
            let chain: &Chain = &chains[place];
            (count as usize).checked_sub(1).map_or(chain.start, |last| chain.changes[last].view)
        };
        let clock = |place: usize, count: u32| {
            let start = chains[place].changes[count as usize - 1].clock;
            &clocks[start..start + places]
        };
        moving.clear();
        moving.extend((0..places).filter(|&place| counts[place] < high[place]));
        views.clear();
        views.extend((0..places).map(|place| view(place, counts[place])));
        // Before any place is settled, the least counts are those at which the walk starts.
        low.clear();
        low.extend_from_slice(counts);
        low.resize((moving.len() + 1) * places, 0);
        // Once the place with this index is settled: what its last change needs, others must have.
        let settle = |low: &mut [u32], index: usize, count: u32| {
            let (low, next) = low.split_at_mut((index + 1) * places);
            next[..places].copy_from_slice(&low[index * places..]);
            if count > 0 {
                clock::merge(next, clock(moving[index], count));
            }
        };
        let mut settled = 0;
        loop {
            for (index, &place) in moving.iter().enumerate().skip(settled) {
                let least = low[index * places + place];
                counts.set(place, least);
                views[place] = view(place, least);
                settle(low, index, least);
            }
            visit(&Cut { chains, counts, views })?;
            // Of the places that can be raised, the one that was settled last.
            let raise = (0..moving.len()).rev().find(|&index| {
                let place = moving[index];
                let raised = counts[place] + 1;
                raised <= high[place] && {
                    let needs = clock(place, raised);
                    moving[..index].iter().all(|&settled| needs[settled] <= counts[settled])
                }
            });
            let Some(index) = raise else { return ControlFlow::Continue(()) };
            let place = moving[index];
            counts.tick(place);
            views[place] = view(place, counts[place]);
            settle(low, index, counts[place]);
            settled = index + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::naive::{Plain, cases, closure, order_of, runs};
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// A run with its changes: `(event, place, view)`.
    fn cuts_of(order: &Order, places: usize, changes: &[(usize, usize, u32)]) -> Cuts {
        let mut cuts = Cuts::new(&vec![0; places]);
        for &(event, place, view) in changes {
            assert!(cuts.push(order, event, place, view));
        }
        cuts
    }

    /// The views of all sliced cuts, as they are met. All are seen to be what they say.
    fn views_of(
        order: &Order,
        cuts: &mut Cuts,
        latest: Option<usize>,
    ) -> Vec<(Vec<u32>, Vec<u32>, Vec<usize>)> {
        let mut met = Vec::new();
        let visit = |cut: &Cut<'_>| {
            met.push((cut.counts().to_vec(), cut.views().to_vec(), cut.events(order)));
            ControlFlow::<()>::Continue(())
        };
        let _ = match latest {
            Some(event) => cuts.latest(event, visit),
            None => cuts.all(visit),
        };
        met
    }

    /// Every event changes the places among the objects that it writes: those below `places`.
    fn changes_of(run: &[Plain], places: u32) -> Vec<(usize, usize, u32)> {
        let changes = |(index, event): (usize, &Plain)| {
            let places: BTreeSet<u32> =
                event.writes.iter().copied().filter(|&p| p < places).collect();
            places.into_iter().map(move |place| (index, place as usize, index as u32 + 1))
        };
        run.iter().enumerate().flat_map(changes).collect()
    }

    /// The sliced cuts, by looking at every set of events: how many changes of each place it has.
    fn by_brute_force(
        run: &[Plain],
        places: usize,
        changes: &[(usize, usize, u32)],
    ) -> BTreeSet<Vec<u32>> {
        let before = closure(run);
        let mut found = BTreeSet::new();
        for set in 0..1u32 << run.len() {
            let has = |event: usize| set >> event & 1 == 1;
            let consistent =
                (0..run.len()).all(|b| !has(b) || (0..b).all(|a| has(a) || !before(a, b)));
            if consistent {
                let mut counts = vec![0; places];
                for &(_, place, _) in changes.iter().filter(|change| has(change.0)) {
                    counts[place] += 1;
                }
                found.insert(counts);
            }
        }
        found
    }

    /// Chains of so many events without messages between them.
    fn chains(lengths: &[usize]) -> Vec<Plain> {
        let most = lengths.iter().copied().max().unwrap_or(0);
        let round = |step: usize| {
            let going = move |(chain, &length): (usize, &usize)| {
                (step < length).then(|| Plain::at(chain as u32, chain as u32, None))
            };
            lengths.iter().enumerate().filter_map(going).collect::<Vec<_>>()
        };
        (0..most).flat_map(round).collect()
    }

    fn number_of_cuts(run: &[Plain], places: usize) -> usize {
        let order = order_of(run);
        let mut cuts = cuts_of(&order, places, &changes_of(run, places as u32));
        views_of(&order, &mut cuts, None).len()
    }

    #[test]
    fn independent_chains_have_the_product_of_their_lengths_plus_one() {
        for lengths in
            [&[][..], &[0], &[3], &[1, 1], &[2, 3], &[4, 0, 2], &[3, 3, 3], &[1; 6], &[5, 1, 2, 4]]
        {
            let product: usize = lengths.iter().map(|length| length + 1).product();
            assert_eq!(number_of_cuts(&chains(lengths), lengths.len()), product, "{lengths:?}");
        }
    }

    #[test]
    fn a_token_in_a_ring_has_one_cut_more_than_steps() {
        let run: Vec<Plain> = (0..12)
            .map(|i| Plain::at(i as u32, (i % 4) as u32, (i as usize).checked_sub(1)))
            .collect();
        assert_eq!(number_of_cuts(&run, 4), 13);
    }

    #[test]
    fn broadcast_and_gather_has_a_cut_for_each_set_of_those_who_heard() {
        // Node 0 sends to n others; all answer. Before any answer comes there are 1 + 2^n cuts; when k answers
        // have come, k of the others have heard for sure.
        for n in 1..=6usize {
            let mut run = vec![Plain::at(0, 0, None)];
            run.extend((1..=n).map(|i| Plain::at(i as u32, i as u32, Some(0))));
            run.extend((1..=n).map(|i| Plain::at((n + i) as u32, 0, Some(i))));
            let expected: usize = 1 + (0..=n).map(|k| 1 << (n - k)).sum::<usize>();
            assert_eq!(number_of_cuts(&run, n + 1), expected);
        }
    }

    #[test]
    fn what_changes_no_view_makes_no_cuts() {
        let run = chains(&[20, 20, 20]);
        let order = order_of(&run);
        let mut cuts = Cuts::new(&[7, 7]);
        for event in 0..run.len() {
            assert!(!cuts.push(&order, event, event % 2, 7));
        }
        assert!(cuts.push(&order, 59, 1, 8));
        assert_eq!(views_of(&order, &mut cuts, None).len(), 2);
        assert_eq!(views_of(&order, &mut cuts, Some(58)).len(), 0);
        let last = views_of(&order, &mut cuts, Some(59));
        assert_eq!(last, [(vec![0, 1], vec![7, 8], (0..20).map(|i| 3 * i + 2).collect())]);
    }

    #[test]
    fn a_walk_stops_when_told() {
        let run = chains(&[9, 9, 9]);
        let order = order_of(&run);
        let mut cuts = cuts_of(&order, 3, &changes_of(&run, 3));
        let mut met = 0;
        let stopped = cuts.all(|cut| {
            met += 1;
            if cut.counts() == [3, 4, 5] {
                ControlFlow::Break(cut.events(&order))
            } else {
                ControlFlow::Continue(())
            }
        });
        assert_eq!(met, 3 * 100 + 4 * 10 + 5 + 1);
        assert_eq!(stopped.break_value().unwrap().len(), 12);
    }

    #[test]
    fn what_one_event_changes_at_two_places_changes_at_once() {
        // Event 1 changes both places.
        let both = Plain {
            process: 1,
            created_by: None,
            needs: vec![],
            reads: vec![],
            writes: vec![0, 1],
        };
        let run = [Plain::at(0, 0, None), both, Plain::at(2, 1, None)];
        let order = order_of(&run);
        let mut cuts = cuts_of(&order, 2, &[(0, 0, 1), (1, 0, 2), (1, 1, 3), (2, 1, 4)]);
        let all: Vec<_> = views_of(&order, &mut cuts, None).into_iter().map(|cut| cut.1).collect();
        assert_eq!(all, [[0, 0], [1, 0], [2, 3], [2, 4]]);
        assert_eq!(views_of(&order, &mut cuts, Some(1)).len(), 1);
    }

    proptest! {
        #![proptest_config(cases(256))]
        #[test]
        fn each_sliced_cut_is_met_once_and_no_other(run in runs(11), places in 1..5u32) {
            let order = order_of(&run);
            let changes = changes_of(&run, places);
            let mut cuts = cuts_of(&order, places as usize, &changes);
            let met = views_of(&order, &mut cuts, None);
            let distinct: BTreeSet<Vec<u32>> = met.iter().map(|cut| cut.0.clone()).collect();
            prop_assert_eq!(distinct.len(), met.len());
            prop_assert_eq!(&distinct, &by_brute_force(&run, places as usize, &changes));

            // In each, the views are those of the events, and the events are a cut.
            let before = closure(&run);
            for (_, views, events) in &met {
                for &b in events {
                    prop_assert!((0..b).all(|a| !before(a, b) || events.contains(&a)));
                }
                let mut expected = vec![0; places as usize];
                for &(_, place, view) in changes.iter().filter(|change| events.contains(&change.0)) {
                    expected[place] = view;
                }
                prop_assert_eq!(views, &expected);
            }

            // Event by event, they are the same, but for the empty one, and each when its last event comes.
            let mut growing = Cuts::new(&vec![0; places as usize]);
            let mut one_by_one = BTreeSet::from([vec![0; places as usize]]);
            for changes in changes.chunk_by(|a, b| a.0 == b.0) {
                let event = changes[0].0;
                for &(_, place, view) in changes {
                    growing.push(&order, event, place, view);
                }
                let now = views_of(&order, &mut growing, Some(event));
                prop_assert_eq!(&now, &views_of(&order, &mut cuts, Some(event)));
                for (counts, _, events) in now {
                    prop_assert_eq!(events.last(), Some(&event));
                    prop_assert!(one_by_one.insert(counts));
                }
            }
            prop_assert_eq!(one_by_one, distinct);
        }

        #[test]
        fn walks_of_one_shape_meet_the_same_views(all in prop::collection::vec(runs(7), 1..20)) {
            let mut known: BTreeMap<Vec<u32>, Vec<Vec<u32>>> = BTreeMap::new();
            for run in all {
                let order = order_of(&run);
                let mut cuts = Cuts::new(&[0, 0, 0]);
                for (event, place, _) in changes_of(&run, 3) {
                    // Few views, so that many walks have the same shape.
                    let view = 1 - cuts.view(place);
                    cuts.push(&order, event, place, view);
                    let mut shape = Vec::new();
                    let has_many = cuts.shape_of_latest(event, &mut shape);
                    let met = views_of(&order, &mut cuts, Some(event));
                    prop_assert_eq!(has_many, met.len() > 1);
                    let met: Vec<_> = met.into_iter().map(|cut| cut.1).collect();
                    prop_assert_eq!(known.entry(shape).or_insert_with(|| met.clone()), &met);
                }
            }
        }

        #[test]
        fn changes_that_are_undone_leave_nothing(run in runs(11), keep in any::<prop::sample::Index>()) {
            let order = order_of(&run);
            let changes = changes_of(&run, 3);
            let mut cuts = cuts_of(&order, 3, &changes);
            let keep = keep.index(run.len() + 1);
            cuts.truncate(keep);
            let kept: Vec<_> = changes.iter().copied().filter(|change| change.0 < keep).collect();
            let mut shorter = cuts_of(&order, 3, &kept);
            prop_assert_eq!(views_of(&order, &mut cuts, None), views_of(&order, &mut shorter, None));
            for &(event, place, view) in &changes[kept.len()..] {
                cuts.push(&order, event, place, view);
            }
            let mut whole = cuts_of(&order, 3, &changes);
            prop_assert_eq!(views_of(&order, &mut cuts, None), views_of(&order, &mut whole, None));
        }
    }
}
