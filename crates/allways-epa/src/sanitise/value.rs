//! Values that are the same in every run, and how records of them are kept.
//!
//! Golden traces have millions of records, so the records of each thread are kept as bytes: a code as in the format of
//! traces, then the values. A value that can be an address begins with a number whose lowest three bits say what it is. The
//! indices of the records in the order of the trace are kept beside them, as differences: they depend on the schedule, and
//! without them the bytes of a thread are equal in two runs in which the thread does the same.

use allways_epa_format::{Event, Program, Reader, ValueKind, put_number};

/// Which object, in words that mean the same in every run. Threads are places in [`super::Sanitised::threads`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum ObjectName {
    /// A global of the program.
    Global(u32),
    /// What a thread made on its stack or allocated.
    Made {
        /// The thread.
        thread: u32,
        /// How many objects it had made before.
        index: u32,
    },
    /// An address that nobody was seen to allocate.
    Unknown {
        /// The thread that meets it.
        thread: u32,
        /// How many it had met before.
        index: u32,
    },
}

/// A value that means the same in every run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Value {
    /// A number.
    Number(u64),
    /// An address in an object.
    Place {
        /// The object.
        object: ObjectName,
        /// How far from its beginning.
        offset: u64,
    },
    /// A thread: a place in [`super::Sanitised::threads`].
    Thread(u32),
    /// A hash in which addresses may be: nothing can be said of it.
    Hidden,
}

/// Whether values of this kind can be addresses.
#[inline]
pub(crate) fn can_be_address(kind: ValueKind) -> bool {
    matches!(kind, ValueKind::Pointer | ValueKind::Int(64))
}

/// Appends a value that can be an address, in the records of this thread.
#[inline]
pub(crate) fn put_value(bytes: &mut Vec<u8>, value: Value, own: u32) {
    let mut put = |tag: u64, payload: u64| put_number(bytes, payload << 3 | tag);
    match value {
        Value::Number(number) if number < 1 << 61 => put(0, number),
        Value::Number(number) => {
            put(1, 0);
            put_number(bytes, number);
        }
        Value::Place { object, offset } => {
            match object {
                ObjectName::Global(index) => put(2, index.into()),
                ObjectName::Made { thread, index } if thread == own => put(4, index.into()),
                ObjectName::Made { thread, index } => {
                    put(3, thread.into());
                    put_number(bytes, index.into());
                }
                ObjectName::Unknown { index, .. } => put(5, index.into()),
            }
            put_number(bytes, offset);
        }
        Value::Thread(thread) => put(6, thread.into()),
        Value::Hidden => {}
    }
}

#[inline]
fn take_value(reader: &mut Reader<'_>, own: u32) -> Option<Value> {
    let first = reader.number()?;
    let payload = first >> 3;
    let object = match first & 7 {
        0 => return Some(Value::Number(payload)),
        1 => return reader.number().map(Value::Number),
        2 => ObjectName::Global(payload as u32),
        3 => ObjectName::Made { thread: payload as u32, index: reader.number()? as u32 },
        4 => ObjectName::Made { thread: own, index: payload as u32 },
        5 => ObjectName::Unknown { thread: own, index: payload as u32 },
        _ => return Some(Value::Thread(payload as u32)),
    };
    Some(Value::Place { object, offset: reader.number()? })
}

/// How many values a sanitised event with this code has.
pub(crate) fn event_values(code: u64) -> usize {
    match code {
        // Wait for a condition with a lock, memory with its size, barriers with theirs, owners and whether they are the last.
        7 | 8 | 13 | 19 | 23 => 2,
        3..=6 | 9..=12 | 14 | 15 | 17 | 20..=22 => 1,
        _ => 0,
    }
}

/// The records of a thread.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Lane {
    pub(crate) bytes: Vec<u8>,
    order: Vec<u8>,
    next: u64,
    pub(crate) records: u64,
}

impl Lane {
    /// Begins a record; its values follow.
    #[inline]
    pub(crate) fn begin(&mut self, index: u64, code: u64) {
        put_number(&mut self.order, index - self.next);
        self.next = index + 1;
        self.records += 1;
        put_number(&mut self.bytes, code);
    }

    pub(crate) fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
        self.order.shrink_to_fit();
    }
}

/// A sanitised record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Canonical<'v> {
    /// Which one it is in the order of the trace.
    pub index: u64,
    /// The site of an instruction.
    pub site: Option<u32>,
    /// Of an event: the name that it has in texts.
    pub event: &'static str,
    /// Its values.
    pub values: &'v [Value],
}

/// Reads the records of a thread.
#[derive(Clone, Debug)]
pub struct Canonicals<'a> {
    program: &'a Program,
    thread: u32,
    reader: Reader<'a>,
    order: Reader<'a>,
    next: u64,
    values: Vec<Value>,
}

impl<'a> Canonicals<'a> {
    pub(crate) fn new(program: &'a Program, thread: u32, lane: &'a Lane) -> Self {
        let (reader, order) = (Reader::new(&lane.bytes), Reader::new(&lane.order));
        Canonicals { program, thread, reader, order, next: 0, values: Vec::new() }
    }

    /// The index of the next record in the order of the trace.
    pub(crate) fn peek(&self) -> Option<u64> {
        Some(self.next + self.order.clone().number()?)
    }

    /// The next record.
    #[allow(clippy::should_implement_trait)]
    #[inline]
    pub fn next(&mut self) -> Option<Canonical<'_>> {
        let index = self.next + self.order.number()?;
        self.next = index + 1;
        let code = self.reader.number()?;
        self.values.clear();
        let Some(site) = code.checked_sub(Event::CODES) else {
            for _ in 0..event_values(code) {
                self.values.push(take_value(&mut self.reader, self.thread)?);
            }
            let event = event_name(code);
            return Some(Canonical { index, site: None, event, values: &self.values });
        };
        let site = site as u32;
        for &kind in &self.program.sites.get(site as usize)?.values {
            let value = match kind {
                ValueKind::Other => Value::Hidden,
                kind if can_be_address(kind) => take_value(&mut self.reader, self.thread)?,
                _ => Value::Number(self.reader.number()?),
            };
            self.values.push(value);
        }
        Some(Canonical { index, site: Some(site), event: "", values: &self.values })
    }
}

fn event_name(code: u64) -> &'static str {
    const NAMES: [&str; 25] = [
        "",
        "begin",
        "end",
        "create",
        "join",
        "lock",
        "unlock",
        "wait-begin",
        "wait-end",
        "signal",
        "broadcast",
        "barrier-enter",
        "barrier-leave",
        "allocate",
        "free",
        "lock-shared",
        "injected",
        "exit",
        "handle",
        "barrier",
        "renew",
        "send",
        "receive",
        "release",
        "library",
    ];
    NAMES.get(code as usize).copied().unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_they_were_written() {
        let values = [
            Value::Number(0),
            Value::Number((1 << 61) - 1),
            Value::Number(1 << 61),
            Value::Number(u64::MAX),
            Value::Place { object: ObjectName::Global(7), offset: 4 },
            Value::Place { object: ObjectName::Made { thread: 2, index: 9 }, offset: 0 },
            Value::Place { object: ObjectName::Made { thread: 3, index: u32::MAX }, offset: 1 },
            Value::Place { object: ObjectName::Unknown { thread: 2, index: 1 }, offset: 7 },
            Value::Thread(5),
        ];
        let mut bytes = Vec::new();
        values.iter().for_each(|&value| put_value(&mut bytes, value, 2));
        let mut reader = Reader::new(&bytes);
        for value in values {
            assert_eq!(take_value(&mut reader, 2), Some(value));
        }
        assert_eq!(reader.position(), bytes.len());
    }
}
