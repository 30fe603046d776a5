//! All records of a trace in one order.
//!
//! A record belongs to the last stamp that its thread took. Sorted by stamp, then by thread, then by place in the stream,
//! the records are in an order in which the program could have performed them: stamps are taken after what acquires and
//! before what releases, so whoever had to wait for another has the higher stamp. Threads are merged with a heap. A thread
//! goes on without a look at the heap as long as its next record has no stamp, since nothing can come in between.

use super::{Trace, TraceError};
use allways_epa_format::{Event, Reader, Record, Records};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// All records of a trace in one order.
#[derive(Clone, Debug)]
pub struct Merged<'a> {
    trace: &'a Trace,
    cursors: Vec<Cursor<'a>>,
    /// The next record of each thread but the current one: its stamp, and the place of its stream, which are sorted by thread.
    heap: BinaryHeap<Reverse<(u64, usize)>>,
    current: Option<usize>,
    values: Vec<u64>,
}

#[derive(Clone, Debug)]
struct Cursor<'a> {
    records: Records<'a>,
    stamp: u64,
    /// How many records were read.
    number: u64,
}

/// A record without its values.
enum Head {
    Event(Event),
    Instruction(u32),
}

impl<'a> Merged<'a> {
    pub(super) fn new(trace: &'a Trace) -> Self {
        let mut merged = Merged {
            trace,
            cursors: Vec::with_capacity(trace.streams.len()),
            heap: BinaryHeap::new(),
            current: None,
            values: Vec::new(),
        };
        for (place, stream) in trace.streams.iter().enumerate() {
            let records = Records::new(&trace.program, &stream.bytes);
            let stamp = next_stamp(&stream.bytes).unwrap_or(0);
            merged.cursors.push(Cursor { records, stamp, number: 0 });
            merged.heap.push(Reverse((stamp, place)));
        }
        merged
    }

    /// The next record, with the place of its stream in [`Trace::streams`] and its number in it, from 0; nothing at the
    /// end.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<(usize, u64, Record<'_>)>, TraceError> {
        let (place, number, head) = loop {
            let Some(place) = self.current_place() else { return Ok(None) };
            let cursor = &mut self.cursors[place];
            let record = cursor.records.next().map_err(|malformed| {
                let thread = self.trace.streams[place].thread;
                TraceError::Stream { thread, malformed }
            })?;
            let head = match record {
                None => {
                    self.current = None;
                    continue;
                }
                Some(Record::Event(event)) => Head::Event(event),
                Some(Record::Instruction { site, values }) => {
                    self.values.clear();
                    self.values.extend_from_slice(values);
                    Head::Instruction(site)
                }
            };
            cursor.number += 1;
            break (place, cursor.number - 1, head);
        };
        let record = match head {
            Head::Event(event) => Record::Event(event),
            Head::Instruction(site) => Record::Instruction { site, values: &self.values },
        };
        Ok(Some((place, number, record)))
    }

    /// The stream whose turn it is.
    fn current_place(&mut self) -> Option<usize> {
        if let Some(place) = self.current {
            let cursor = &mut self.cursors[place];
            let rest = &self.trace.streams[place].bytes[cursor.records.position()..];
            let Some(stamp) = next_stamp(rest) else { return self.current };
            // In a stream that is not corrupt stamps only grow; in others the order of the stream counts.
            cursor.stamp = cursor.stamp.max(stamp);
            self.heap.push(Reverse((cursor.stamp, place)));
        }
        self.current = self.heap.pop().map(|Reverse((_, place))| place);
        self.current
    }
}

/// The stamp of the record that these bytes begin with, if it has one.
#[inline]
fn next_stamp(bytes: &[u8]) -> Option<u64> {
    // Codes of events take one byte, and most records are none.
    if u64::from(*bytes.first()?) >= Event::CODES {
        return None;
    }
    let mut reader = Reader::new(bytes);
    match reader.number()? {
        // A beginning has its stamp behind the two threads and the number of the child.
        1 => {
            for _ in 0..3 {
                reader.number()?;
            }
            reader.number()
        }
        2..=15 | 18..=23 => reader.number(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stamp_is_that_of_the_event() {
        for code in 1..Event::CODES {
            let Some(count) = Event::count(code) else { continue };
            let mut bytes = vec![code as u8];
            bytes.extend(101..101 + count as u8);
            // Whether something is so is 0 or 1.
            match code {
                23 => bytes[3] = 1,
                24 => bytes[1] = 1,
                _ => {}
            }
            let program = allways_epa_format::Program::default();
            let Ok(Some(Record::Event(event))) = Records::new(&program, &bytes).next() else {
                panic!("code {code} is an event");
            };
            assert_eq!(next_stamp(&bytes), event.stamp(), "{event:?}");
        }
    }
}
