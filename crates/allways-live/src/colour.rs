//! Consistent global snapshots without stopping anything: Lai and Yang's colouring.
//!
//! Snapshots are numbered. The colour of a node is the number of the last snapshot for which it has
//! recorded its state, and every envelope carries the colour that its sender had when it sent it. A
//! node records its state for snapshot `k` when it is asked to, or when an envelope of colour `k`
//! comes in, *before* it handles that envelope. An envelope of a colour below `k` that comes in after
//! the record was in flight when the snapshot was taken: it is recorded, too, and then handled.
//!
//! Why the cut is consistent: take an envelope that was handled before its receiver recorded `k`. Its
//! colour was below `k`, or the receiver would have recorded first; so the sender had not recorded
//! `k` when it sent it. No envelope is received before the cut and sent after it.
//!
//! Why what is recorded as in flight was: it came in after its receiver's record, and its colour
//! says that it was sent before its sender's. Nothing in this needs channels that are first in,
//! first out, or that lose nothing: Chandy and Lamport's markers do, this does not. An envelope that
//! is lost, or that comes in after the records are collected, is missing from the snapshot. The
//! snapshot is then that of a run in which the network loses it, which an unordered network may do at
//! any time. Where nothing may be lost (TCP), envelopes are numbered, each record says how many were
//! sent to and received from each node, and the collecting goes on until all have come in.
//!
//! A node that crashes forgets its colour and starts again with zero, so an envelope that it sends then
//! may look older than its record. Every record says in which incarnation of the node it was made; when
//! all records are there, each node is asked for its incarnation once more. If one has another than its
//! record, the snapshot is given up. Otherwise no node has crashed between its record and the last
//! record of all, and what was said above holds: what an earlier incarnation sent was sent before.

use allways::Id;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A node keeps the records of this many snapshots: those that are still being collected.
const KEPT: usize = 4;

/// The place of an envelope among all that one node sends to another: the incarnation of the sender
/// and a number that counts from one.
pub(crate) type Place = (u64, u64);

/// What one node records for one snapshot.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The incarnation of the node.
    pub incarnation: u64,
    /// The state and the pending timers, encoded.
    pub local: Vec<u8>,
    /// What came in later but was sent before: sender and message, in the order in which it came.
    pub late: Vec<(Id, Vec<u8>)>,
    /// The last envelope sent to each node before the record.
    pub sent: Vec<Place>,
    /// The last envelope received from each node by now, where channels are first in, first out.
    pub received: Option<Vec<Place>>,
}

/// The colour of a node, and what it has recorded.
#[derive(Default, Debug)]
pub(crate) struct Colours {
    current: u64,
    records: VecDeque<(u64, Record)>,
}

impl Colours {
    pub fn current(&self) -> u64 {
        self.current
    }

    /// Records for the snapshot of this number, unless it is done already. To be called with the
    /// colour of an envelope before it is handled.
    pub fn reach(&mut self, colour: u64, record: impl FnOnce() -> Record) {
        if colour > self.current {
            self.current = colour;
            self.records.push_back((colour, record()));
            if self.records.len() > KEPT {
                self.records.pop_front();
            }
        }
    }

    /// Whether an envelope of this colour belongs into records.
    pub fn is_late(&self, colour: u64) -> bool {
        colour < self.current
    }

    /// Notes an envelope that comes in after the record but was sent before the sender's.
    pub fn late(&mut self, colour: u64, from: Id, msg: &[u8]) {
        for (_, record) in self.records.iter_mut().filter(|(number, _)| *number > colour) {
            record.late.push((from, msg.to_vec()));
        }
    }

    /// The record for a snapshot, if there is one.
    pub fn record(&self, number: u64) -> Option<&Record> {
        self.records.iter().find(|(n, _)| *n == number).map(|(_, record)| record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(state: u8) -> Record {
        Record { incarnation: 1, local: vec![state], late: vec![], sent: vec![], received: None }
    }

    #[test]
    fn a_node_records_once_for_each_number_and_keeps_the_last_few() {
        let mut colours = Colours::default();
        colours.reach(1, || record(1));
        colours.reach(1, || panic!("recorded twice"));
        // The request for number 2 was overtaken by an envelope of colour 3.
        colours.reach(3, || record(3));
        colours.reach(2, || panic!("recorded too late"));
        assert_eq!(colours.record(1).unwrap().local, [1]);
        assert_eq!(colours.record(2), None);
        assert_eq!(colours.record(3).unwrap().local, [3]);
        for number in 4..8 {
            colours.reach(number, || record(number as u8));
        }
        assert_eq!((colours.current(), colours.record(3)), (7, None));
        assert!(colours.record(4).is_some());
    }

    #[test]
    fn late_envelopes_belong_to_every_snapshot_that_they_crossed() {
        let mut colours = Colours::default();
        colours.reach(1, || record(1));
        colours.reach(2, || record(2));
        let from = Id::new(1);
        for (colour, msg) in [(0, b"a"), (1, b"b")] {
            assert!(colours.is_late(colour));
            colours.late(colour, from, msg);
        }
        assert!(!colours.is_late(2));
        assert_eq!(colours.record(1).unwrap().late, [(from, b"a".to_vec())]);
        let both = [(from, b"a".to_vec()), (from, b"b".to_vec())];
        assert_eq!(colours.record(2).unwrap().late, both);
    }
}
