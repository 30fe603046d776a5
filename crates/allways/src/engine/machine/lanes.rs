//! What is in flight, as lanes: first in, first out.
//!
//! On an ordered network a *lane* is the channel between two nodes. On the others it is what all
//! envelopes with one content have in common. Equal envelopes are interchangeable there, so it is enough
//! to hand out the oldest first; all of them come from one node, whose steps are totally ordered (and from the network itself when a partition heals, which
//! is ordered with every step), so which one is the oldest does not depend on the order of independent steps. A call has a lane for each call
//! that may release it: equal calls of different scripts are released by different nodes.
//!
//! Lanes remember what was taken from them, so that taking can be undone, and keep their room.

use crate::space::EventId;

/// No event, lane or place.
pub(super) const NONE: u32 = u32::MAX;

/// An envelope.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub event: EventId,
    /// The event of the run that put it there.
    pub created_by: u32,
}

/// Envelopes of which only the first can be delivered.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    pub items: Vec<Item>,
    /// So many were taken.
    pub head: u32,
    /// Where it is among the lanes that are not empty.
    place: u32,
    /// The node that handles what comes.
    pub node: u32,
    /// Who sends, unless that is the driver.
    pub from: Option<u32>,
    /// The node whose steps put envelopes here, if any do.
    pub creator: Option<u32>,
    /// What tells it from other lanes with the same content: which calls came before, if it has a call that was released.
    pub origin: u64,
    /// Whether delivering takes the envelope away.
    pub is_consumed: bool,
    pub deliver: u32,
    /// The processes that deliver and keep a copy, and that lose the envelope.
    pub keep: u32,
    pub lose: u32,
}

/// All lanes.
#[derive(Default)]
pub(super) struct Lanes {
    pub all: Vec<Lane>,
    /// Those that are not empty.
    pub filled: Vec<u32>,
}

impl Lanes {
    pub fn add(&mut self, node: u32, from: Option<u32>, is_consumed: bool) -> u32 {
        self.all.push(Lane {
            items: Vec::new(),
            head: 0,
            place: NONE,
            node,
            from,
            creator: from,
            origin: 0,
            is_consumed,
            deliver: NONE,
            keep: NONE,
            lose: NONE,
        });
        self.all.len() as u32 - 1
    }

    /// Takes everything out.
    pub fn clear(&mut self) {
        self.filled.clear();
        for lane in &mut self.all {
            lane.items.clear();
            (lane.head, lane.place) = (0, NONE);
        }
    }

    /// Puts an envelope behind all others.
    #[inline]
    pub fn push(&mut self, number: u32, item: Item) {
        let lane = &mut self.all[number as usize];
        lane.items.push(item);
        if lane.place == NONE {
            lane.place = self.filled.len() as u32;
            self.filled.push(number);
        }
    }

    /// Undoes the last push, which was on this lane.
    #[inline]
    pub fn unpush(&mut self, number: u32) {
        let lane = &mut self.all[number as usize];
        lane.items.pop();
        if lane.items.len() == lane.head as usize && lane.place != NONE {
            debug_assert_eq!(self.filled.last(), Some(&number));
            self.filled.pop();
            lane.place = NONE;
        }
    }

    /// Takes so many envelopes away; returns where the lane was among those that are not empty, if it no longer is.
    #[inline]
    pub fn take(&mut self, number: u32, count: u32) -> u32 {
        let lane = &mut self.all[number as usize];
        lane.head += count;
        if lane.head as usize != lane.items.len() {
            return NONE;
        }
        let place = lane.place;
        lane.place = NONE;
        self.filled.swap_remove(place as usize);
        if let Some(&moved) = self.filled.get(place as usize) {
            self.all[moved as usize].place = place;
        }
        place
    }

    /// Undoes the last [`Lanes::take`], which was on this lane.
    #[inline]
    pub fn untake(&mut self, number: u32, head: u32, place: u32) {
        self.all[number as usize].head = head;
        if place == NONE {
            return;
        }
        let last = self.filled.len() as u32;
        self.filled.push(number);
        self.filled.swap(place as usize, last as usize);
        let moved = self.filled[last as usize];
        self.all[moved as usize].place = last;
        self.all[number as usize].place = place;
    }

    /// Whether there is nothing in a lane.
    #[inline]
    pub fn is_empty(&self, number: u32) -> bool {
        self.all[number as usize].place == NONE
    }

    /// The first envelope of a lane that is not empty.
    #[inline]
    pub fn first(&self, number: u32) -> Item {
        let lane = &self.all[number as usize];
        lane.items[lane.head as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What can be seen of the lanes.
    fn shown(lanes: &Lanes) -> (Vec<u32>, Vec<Vec<u32>>) {
        let content = |lane: &Lane| {
            lane.items[lane.head as usize..].iter().map(|item| item.event).collect::<Vec<_>>()
        };
        for (place, &lane) in lanes.filled.iter().enumerate() {
            assert_eq!(lanes.all[lane as usize].place, place as u32);
        }
        (lanes.filled.clone(), lanes.all.iter().map(content).collect())
    }

    #[test]
    fn what_is_undone_is_as_it_was() {
        let mut lanes = Lanes::default();
        for node in 0..3 {
            let lane = lanes.add(node, None, true);
            lanes.push(lane, Item { event: 10 + lane, created_by: NONE });
        }
        let start = shown(&lanes);
        let taken = lanes.take(0, 1);
        let without_first = shown(&lanes);
        lanes.push(2, Item { event: 20, created_by: 0 });
        lanes.push(0, Item { event: 21, created_by: 0 });
        let all = lanes.take(2, 2);
        assert_eq!(shown(&lanes), (vec![0, 1], vec![vec![21], vec![11], vec![]]));
        lanes.untake(2, 0, all);
        lanes.unpush(0);
        lanes.unpush(2);
        assert_eq!(shown(&lanes), without_first);
        lanes.untake(0, 0, taken);
        assert_eq!(shown(&lanes), start);
    }
}
