//! A thread in both traces, record by record.
//!
//! Both are read once, from the front. Objects and threads have names that mean the same in both, but threads are numbered as
//! they were created in each, so numbers of the faulty run are translated.
//!
//! When the process exits by itself, threads that still run are cut off at any place, in each run at another. What a thread
//! lacks for that reason is no deviation, and neither is a thread that one would have created which was cut off. That is so if the thread was cut off in the
//! golden run as well, or if the faulty run exited earlier than the golden one. A thread that had come to its end in the golden run by the time at
//! which the process exited, and has not in the faulty one although the process exited no earlier, has stopped for another reason: it deviates. Should it
//! have come to its end by chance, because nobody waits for it, two runs without a fault differ by that, and a campaign is refused.

use super::deviation::text;
use super::spread::Builder;
use super::{Deviation, DeviationKind, ThreadComparison};
use crate::sanitise::{Canonical, ObjectName, Sanitised, Thread, Value};

/// What is needed for each thread.
pub(super) struct Walk<'a> {
    pub(super) golden: &'a Sanitised,
    pub(super) faulty: &'a Sanitised,
    /// Which thread of the golden run each of the faulty run is.
    pub(super) in_golden: &'a [Option<u32>],
    pub(super) spread: Builder,
}

impl Walk<'_> {
    /// A thread that is in both.
    pub(super) fn both(&mut self, place: u32, other: u32) -> ThreadComparison {
        let (thread, same) =
            (&self.golden.threads[place as usize], &self.faulty.threads[other as usize]);
        let mut found = ThreadComparison {
            name: thread.name.clone(),
            golden: Some(thread.records()),
            faulty: Some(same.records()),
            reached: 0,
            first: None,
            control: None,
        };
        // Most threads of most runs are the same to the byte, if threads were created in the same order.
        let are_numbers_same =
            (0..).zip(self.in_golden).all(|(place, other)| Some(place) == *other);
        if are_numbers_same && thread.lane.bytes == same.lane.bytes {
            return found;
        }
        let (Some(mut golden), Some(mut faulty)) =
            (self.golden.canonicals(place), self.faulty.canonicals(other))
        else {
            return found;
        };
        let mut record = 0;
        loop {
            let kind = match (golden.next(), faulty.next()) {
                (None, None) => break,
                (Some(right), None) => {
                    if !self.is_excused(place, other) {
                        found.control = Some(self.faulty.records);
                        found.first.get_or_insert_with(|| Deviation {
                            kind: DeviationKind::EndsEarly,
                            thread: thread.name.clone(),
                            index: self.faulty.records,
                            record,
                            site: right.site,
                            golden: Some(text(self.golden, &right)),
                            faulty: None,
                        });
                    }
                    break;
                }
                (None, Some(_)) if is_cut_off(self.golden, place) => break,
                (right, Some(wrong)) => {
                    let kind = match &right {
                        None => DeviationKind::GoesOn,
                        Some(right) if right.site != wrong.site || right.event != wrong.event => {
                            DeviationKind::Control
                        }
                        Some(right) if self.are_same(right, &wrong) => {
                            record += 1;
                            continue;
                        }
                        Some(_) => DeviationKind::Value,
                    };
                    found.first.get_or_insert_with(|| Deviation {
                        kind,
                        thread: thread.name.clone(),
                        index: wrong.index,
                        record,
                        site: wrong.site,
                        golden: right.map(|right| text(self.golden, &right)),
                        faulty: Some(text(self.faulty, &wrong)),
                    });
                    found.reached += 1;
                    self.spread.reach(self.faulty, other, &wrong);
                    if kind != DeviationKind::Value {
                        found.control = Some(wrong.index);
                    }
                    kind
                }
            };
            record += 1;
            if kind != DeviationKind::Value {
                while let Some(wrong) = faulty.next() {
                    found.reached += 1;
                    self.spread.reach(self.faulty, other, &wrong);
                }
                break;
            }
        }
        found
    }

    /// Whether a thread of the faulty run has fewer records because the process exited.
    fn is_excused(&self, place: u32, other: u32) -> bool {
        let had_ended = self.golden.threads.get(place as usize).is_some_and(|thread| thread.ended);
        is_cut_off(self.faulty, other) && (!had_ended || self.exits_early())
    }

    /// Whether the faulty run exits earlier than the golden one: in another thread, or when the thread has done less.
    fn exits_early(&self) -> bool {
        let (Some((golden, _)), Some((faulty, _))) = (self.golden.exit, self.faulty.exit) else {
            return self.faulty.exit.is_some();
        };
        let is_same = self.in_golden.get(faulty as usize) == Some(&Some(golden));
        let records = |trace: &Sanitised, place: u32| {
            trace.threads.get(place as usize).map_or(0, |thread| thread.records())
        };
        !is_same || records(self.faulty, faulty) < records(self.golden, golden)
    }

    /// A thread that is only in one of the runs, because in the other the one that would create it was cut off.
    pub(super) fn excused(thread: &Thread, is_golden: bool) -> ThreadComparison {
        let records = Some(thread.records());
        ThreadComparison {
            name: thread.name.clone(),
            golden: records.filter(|_| is_golden),
            faulty: records.filter(|_| !is_golden),
            reached: 0,
            first: None,
            control: None,
        }
    }

    /// A thread that does not run in the faulty run.
    pub(super) fn only_golden(&mut self, place: u32) -> ThreadComparison {
        let thread = &self.golden.threads[place as usize];
        let first = Deviation {
            kind: DeviationKind::ThreadMissing,
            thread: thread.name.clone(),
            index: self.faulty.records,
            record: 0,
            site: None,
            golden: None,
            faulty: None,
        };
        ThreadComparison {
            name: thread.name.clone(),
            golden: Some(thread.records()),
            faulty: None,
            reached: 0,
            first: Some(first),
            control: None,
        }
    }

    /// A thread that runs only in the faulty run.
    pub(super) fn only_faulty(&mut self, place: u32) -> ThreadComparison {
        let thread = &self.faulty.threads[place as usize];
        let mut index = None;
        if let Some(mut records) = self.faulty.canonicals(place) {
            while let Some(record) = records.next() {
                index.get_or_insert(record.index);
                self.spread.reach(self.faulty, place, &record);
            }
        }
        let first = Deviation {
            kind: DeviationKind::ThreadNew,
            thread: thread.name.clone(),
            index: index.unwrap_or(self.faulty.records),
            record: 0,
            site: None,
            golden: None,
            faulty: None,
        };
        ThreadComparison {
            name: thread.name.clone(),
            golden: None,
            faulty: Some(thread.records()),
            reached: thread.records(),
            first: Some(first),
            control: index,
        }
    }

    /// Whether the values of two records of the same instruction, in the same thread, mean the same.
    #[inline]
    fn are_same(&self, right: &Canonical<'_>, wrong: &Canonical<'_>) -> bool {
        right.values.len() == wrong.values.len()
            && right
                .values
                .iter()
                .zip(wrong.values)
                .all(|(right, wrong)| self.is_same(*right, *wrong))
    }

    #[inline]
    fn is_same(&self, right: Value, wrong: Value) -> bool {
        let in_golden = |thread: u32| self.in_golden.get(thread as usize).copied().flatten();
        match (right, wrong) {
            (Value::Number(right), Value::Number(wrong)) => right == wrong,
            (Value::Hidden, Value::Hidden) => true,
            (Value::Thread(right), Value::Thread(wrong)) => in_golden(wrong) == Some(right),
            (
                Value::Place { object: right, offset },
                Value::Place { object: wrong, offset: wrong_offset },
            ) => {
                let is_same_object = match (right, wrong) {
                    (ObjectName::Global(right), ObjectName::Global(wrong)) => right == wrong,
                    (
                        ObjectName::Made { thread, index },
                        ObjectName::Made { thread: wrong_thread, index: wrong_index },
                    ) => index == wrong_index && in_golden(wrong_thread) == Some(thread),
                    // These are always of the thread itself.
                    (
                        ObjectName::Unknown { index, .. },
                        ObjectName::Unknown { index: wrong_index, .. },
                    ) => index == wrong_index,
                    _ => false,
                };
                is_same_object && offset == wrong_offset
            }
            _ => false,
        }
    }
}

/// Whether a thread was cut off because the process exited by itself.
pub(super) fn is_cut_off(trace: &Sanitised, place: u32) -> bool {
    let is_running = trace.threads.get(place as usize).is_some_and(|thread| !thread.ended);
    is_running && trace.exit.is_some_and(|(thread, _)| thread != place)
}
