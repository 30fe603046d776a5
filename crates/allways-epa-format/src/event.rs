//! Events, and records read from a stream.

use crate::Program;
use crate::number::{Reader, put_number};
use std::fmt;

/// What happens to a thread beside its instructions. `stamp` is said at the top of the crate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Event {
    /// The thread begins: the first record of each stream. `parent` is the thread that created it, `None` of the
    /// first; `child` is how many that one had created before.
    Begin {
        /// This thread.
        thread: u64,
        /// Who created it.
        parent: Option<u64>,
        /// How many its parent had created before.
        child: u64,
        /// After which all of the thread comes.
        stamp: u64,
    },
    /// The thread ends. Of a process that was killed, threads have no end.
    End {
        /// Before which all of the thread comes.
        stamp: u64,
    },
    /// A thread is created.
    Create {
        /// Before it begins.
        stamp: u64,
        /// The new thread.
        thread: u64,
    },
    /// The thread that was created last is known to the program by this number (`pthread_t`); in the stream of a thread that has
    /// created none yet, the thread itself. Numbers are used again, so it counts from when it is known on.
    Handle {
        /// After the thread was created, and so after the one that had the number before was joined.
        stamp: u64,
        /// The number.
        handle: u64,
    },
    /// A thread has been joined.
    Join {
        /// After its end.
        stamp: u64,
        /// Which.
        thread: u64,
    },
    /// A lock has been taken, by this thread alone.
    Lock {
        /// After it was taken.
        stamp: u64,
        /// Where the lock is.
        address: u64,
    },
    /// A lock has been taken that others may hold as well.
    LockShared {
        /// After it was taken.
        stamp: u64,
        /// Where the lock is.
        address: u64,
    },
    /// A lock is given back.
    Unlock {
        /// Before it is given back.
        stamp: u64,
        /// Where the lock is.
        address: u64,
    },
    /// The thread begins to wait for a condition variable, and gives back the lock.
    WaitBegin {
        /// Before the lock is given back.
        stamp: u64,
        /// Where the condition variable is.
        condition: u64,
        /// Where the lock is.
        lock: u64,
    },
    /// The thread has waited, and has the lock again.
    WaitEnd {
        /// After the lock was taken.
        stamp: u64,
        /// Where the condition variable is.
        condition: u64,
        /// Where the lock is.
        lock: u64,
    },
    /// One who waits for a condition variable is woken.
    Signal {
        /// Before.
        stamp: u64,
        /// Where the condition variable is.
        condition: u64,
    },
    /// All who wait for a condition variable are woken.
    Broadcast {
        /// Before.
        stamp: u64,
        /// Where the condition variable is.
        condition: u64,
    },
    /// The thread arrives at a barrier.
    BarrierEnter {
        /// Before.
        stamp: u64,
        /// Where the barrier is.
        address: u64,
    },
    /// All have arrived at the barrier.
    BarrierLeave {
        /// After.
        stamp: u64,
        /// Where the barrier is.
        address: u64,
    },
    /// Memory was allocated.
    Allocate {
        /// After.
        stamp: u64,
        /// Where it is.
        address: u64,
        /// How many bytes.
        bytes: u64,
    },
    /// Memory is given back.
    Free {
        /// Before.
        stamp: u64,
        /// Where it is.
        address: u64,
    },
    /// There is a barrier at which so many threads meet.
    Barrier {
        /// Before anybody arrives there.
        stamp: u64,
        /// Where the barrier is; 0 if that is not known yet, because barriers of Rust are moved to their place.
        address: u64,
        /// How many threads meet.
        count: u64,
    },
    /// A lock, a condition variable or a barrier begins or ends to be: whatever was at this address is another one from now on.
    Renew {
        /// Before it is used, and after all that used what was there before.
        stamp: u64,
        /// Where.
        address: u64,
    },
    /// Something is sent over a channel.
    Send {
        /// Before.
        stamp: u64,
        /// Which channel: where it is.
        channel: u64,
    },
    /// Something was received from a channel.
    Receive {
        /// After.
        stamp: u64,
        /// Which channel: where it is.
        channel: u64,
    },
    /// One of several owners of an object that counts them gives it up.
    Release {
        /// After, if it was the last one, otherwise before.
        stamp: u64,
        /// Where the object is.
        address: u64,
        /// Whether it was the last one, by which the object ends.
        last: bool,
    },
    /// The thread enters or leaves a function of a library that may keep something for itself, such as a buffer: what is allocated
    /// there, other than by functions of the program that it calls, is no object of the program.
    Library {
        /// Whether it enters.
        enters: bool,
    },
    /// The [`crate::Fault`] of this run happens in the instruction that comes next.
    Injected,
    /// The process exits, by itself, with this status; the rest of other threads is lost.
    Exit {
        /// The status.
        status: u64,
    },
}

impl Event {
    /// Codes below this one are events.
    pub const CODES: u64 = 32;

    /// The code and the values of its record.
    pub fn parts(self) -> (u64, [u64; 4], usize) {
        match self {
            Event::Begin { thread, parent, child, stamp } => {
                (1, [thread, parent.map_or(0, |parent| parent + 1), child, stamp], 4)
            }
            Event::End { stamp } => (2, [stamp, 0, 0, 0], 1),
            Event::Create { stamp, thread } => (3, [stamp, thread, 0, 0], 2),
            Event::Join { stamp, thread } => (4, [stamp, thread, 0, 0], 2),
            Event::Lock { stamp, address } => (5, [stamp, address, 0, 0], 2),
            Event::Unlock { stamp, address } => (6, [stamp, address, 0, 0], 2),
            Event::WaitBegin { stamp, condition, lock } => (7, [stamp, condition, lock, 0], 3),
            Event::WaitEnd { stamp, condition, lock } => (8, [stamp, condition, lock, 0], 3),
            Event::Signal { stamp, condition } => (9, [stamp, condition, 0, 0], 2),
            Event::Broadcast { stamp, condition } => (10, [stamp, condition, 0, 0], 2),
            Event::BarrierEnter { stamp, address } => (11, [stamp, address, 0, 0], 2),
            Event::BarrierLeave { stamp, address } => (12, [stamp, address, 0, 0], 2),
            Event::Allocate { stamp, address, bytes } => (13, [stamp, address, bytes, 0], 3),
            Event::Free { stamp, address } => (14, [stamp, address, 0, 0], 2),
            Event::LockShared { stamp, address } => (15, [stamp, address, 0, 0], 2),
            Event::Injected => (16, [0; 4], 0),
            Event::Exit { status } => (17, [status, 0, 0, 0], 1),
            Event::Handle { stamp, handle } => (18, [stamp, handle, 0, 0], 2),
            Event::Barrier { stamp, address, count } => (19, [stamp, address, count, 0], 3),
            Event::Renew { stamp, address } => (20, [stamp, address, 0, 0], 2),
            Event::Send { stamp, channel } => (21, [stamp, channel, 0, 0], 2),
            Event::Receive { stamp, channel } => (22, [stamp, channel, 0, 0], 2),
            Event::Release { stamp, address, last } => (23, [stamp, address, last.into(), 0], 3),
            Event::Library { enters } => (24, [enters.into(), 0, 0, 0], 1),
        }
    }

    /// How many values the record of an event with this code has; `None` if there is no such event.
    pub fn count(code: u64) -> Option<usize> {
        Some(match code {
            1 => 4,
            7 | 8 | 13 | 19 | 23 => 3,
            3..=6 | 9..=12 | 14 | 15 | 18 | 20..=22 => 2,
            2 | 17 | 24 => 1,
            16 => 0,
            _ => return None,
        })
    }

    fn from_parts(code: u64, [a, b, c, d]: [u64; 4]) -> Option<Event> {
        Some(match code {
            1 => Event::Begin { thread: a, parent: b.checked_sub(1), child: c, stamp: d },
            2 => Event::End { stamp: a },
            3 => Event::Create { stamp: a, thread: b },
            4 => Event::Join { stamp: a, thread: b },
            5 => Event::Lock { stamp: a, address: b },
            6 => Event::Unlock { stamp: a, address: b },
            7 => Event::WaitBegin { stamp: a, condition: b, lock: c },
            8 => Event::WaitEnd { stamp: a, condition: b, lock: c },
            9 => Event::Signal { stamp: a, condition: b },
            10 => Event::Broadcast { stamp: a, condition: b },
            11 => Event::BarrierEnter { stamp: a, address: b },
            12 => Event::BarrierLeave { stamp: a, address: b },
            13 => Event::Allocate { stamp: a, address: b, bytes: c },
            14 => Event::Free { stamp: a, address: b },
            15 => Event::LockShared { stamp: a, address: b },
            16 => Event::Injected,
            17 => Event::Exit { status: a },
            18 => Event::Handle { stamp: a, handle: b },
            19 => Event::Barrier { stamp: a, address: b, count: c },
            20 => Event::Renew { stamp: a, address: b },
            21 => Event::Send { stamp: a, channel: b },
            22 => Event::Receive { stamp: a, channel: b },
            23 if c <= 1 => Event::Release { stamp: a, address: b, last: c == 1 },
            24 if a <= 1 => Event::Library { enters: a == 1 },
            _ => return None,
        })
    }

    /// Its stamp, if it has one.
    pub fn stamp(self) -> Option<u64> {
        match self {
            Event::Begin { stamp, .. }
            | Event::End { stamp }
            | Event::Create { stamp, .. }
            | Event::Join { stamp, .. }
            | Event::Lock { stamp, .. }
            | Event::LockShared { stamp, .. }
            | Event::Unlock { stamp, .. }
            | Event::WaitBegin { stamp, .. }
            | Event::WaitEnd { stamp, .. }
            | Event::Signal { stamp, .. }
            | Event::Broadcast { stamp, .. }
            | Event::BarrierEnter { stamp, .. }
            | Event::BarrierLeave { stamp, .. }
            | Event::Allocate { stamp, .. }
            | Event::Free { stamp, .. }
            | Event::Handle { stamp, .. }
            | Event::Barrier { stamp, .. }
            | Event::Renew { stamp, .. }
            | Event::Send { stamp, .. }
            | Event::Receive { stamp, .. }
            | Event::Release { stamp, .. } => Some(stamp),
            Event::Injected | Event::Exit { .. } | Event::Library { .. } => None,
        }
    }

    /// Appends its record.
    pub fn put(self, bytes: &mut Vec<u8>) {
        let (code, values, count) = self.parts();
        put_number(bytes, code);
        values[..count].iter().for_each(|&value| put_number(bytes, value));
    }
}

/// A record of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Record<'v> {
    /// An event.
    Event(Event),
    /// An instruction: its site, and its values as [`crate::Site::values`] says.
    Instruction {
        /// The number of the site.
        site: u32,
        /// The values.
        values: &'v [u64],
    },
}

impl Record<'_> {
    /// Appends it.
    pub fn put(&self, bytes: &mut Vec<u8>) {
        match self {
            Record::Event(event) => event.put(bytes),
            Record::Instruction { site, values } => {
                put_number(bytes, u64::from(*site) + Event::CODES);
                values.iter().for_each(|&value| put_number(bytes, value));
            }
        }
    }
}

/// A stream is none of this program: at a byte there is a record that cannot be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed {
    /// Where.
    pub at: usize,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no record at byte {}", self.at)
    }
}

impl std::error::Error for Malformed {}

/// Reads the records of a stream, one after the other.
///
/// ```
/// use allways_epa_format::{Event, Program, Record, Records};
/// let mut bytes = Vec::new();
/// let begin = Event::Begin { thread: 0, parent: None, child: 0, stamp: 1 };
/// begin.put(&mut bytes);
/// bytes.extend([0; 8]); // Written ahead.
/// let program = Program::default();
/// let mut records = Records::new(&program, &bytes);
/// assert_eq!(records.next(), Ok(Some(Record::Event(begin))));
/// assert_eq!(records.next(), Ok(None));
/// ```
#[derive(Clone, Debug)]
pub struct Records<'a> {
    program: &'a Program,
    reader: Reader<'a>,
    values: Vec<u64>,
}

impl<'a> Records<'a> {
    /// Reads from the beginning of a stream.
    pub fn new(program: &'a Program, bytes: &'a [u8]) -> Self {
        Records { program, reader: Reader::new(bytes), values: Vec::new() }
    }

    /// How many bytes were read.
    pub fn position(&self) -> usize {
        self.reader.position()
    }

    /// The next number of the record at `at`; nothing if the bytes end before it does.
    fn number(&mut self, at: usize) -> Result<Option<u64>, Malformed> {
        match self.reader.number() {
            None if !self.reader.is_cut() => Err(Malformed { at }),
            number => Ok(number),
        }
    }

    /// The next record; nothing at the end. A record that is not complete is the end, too: the process was killed.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Record<'_>>, Malformed> {
        let at = self.reader.position();
        let Some(code) = self.number(at)?.filter(|code| *code != 0) else { return Ok(None) };
        if code < Event::CODES {
            let Some(count) = Event::count(code) else { return Err(Malformed { at }) };
            let mut values = [0; 4];
            for value in &mut values[..count] {
                let Some(number) = self.number(at)? else { return Ok(None) };
                *value = number;
            }
            let event = Event::from_parts(code, values).ok_or(Malformed { at })?;
            return Ok(Some(Record::Event(event)));
        }
        let site = u32::try_from(code - Event::CODES).map_err(|_| Malformed { at })?;
        let known = self.program.sites.get(site as usize).ok_or(Malformed { at })?;
        self.values.clear();
        for _ in 0..known.values.len() {
            let Some(number) = self.number(at)? else { return Ok(None) };
            self.values.push(number);
        }
        Ok(Some(Record::Instruction { site, values: &self.values }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_too_long_is_no_end() {
        let program = Program::default();
        let mut whole = Vec::new();
        Event::Exit { status: u64::MAX }.put(&mut whole);
        // As a code, as a value, and after a record.
        for (begin, at) in [(&[][..], 0), (&[2][..], 0), (&whole, whole.len())] {
            let bytes = [begin, &[0xff; 11]].concat();
            let mut records = Records::new(&program, &bytes);
            if at > 0 {
                assert!(matches!(records.next(), Ok(Some(_))));
            }
            assert_eq!(records.next(), Err(Malformed { at }));
        }
        // Cut off anywhere, it is the end.
        for length in 0..whole.len() {
            assert_eq!(Records::new(&program, &whole[..length]).next(), Ok(None), "{length}");
        }
    }

    #[test]
    fn every_event_is_read_as_it_was_written() {
        for code in 1..Event::CODES {
            let Some(count) = Event::count(code) else { continue };
            let mut values = match code {
                23 => [7, 0, 1, 0],
                24 => [1, 0, 0, 0],
                _ => [7, 0, 300, u64::MAX],
            };
            values[count..].fill(0);
            let event = Event::from_parts(code, values).unwrap();
            assert_eq!(event.parts(), (code, values, count));
            let mut bytes = Vec::new();
            event.put(&mut bytes);
            let program = Program::default();
            let mut records = Records::new(&program, &bytes);
            assert_eq!(records.next(), Ok(Some(Record::Event(event))));
            assert_eq!(records.next(), Ok(None));
            // Cut off anywhere, it is not there.
            for end in 0..bytes.len() {
                assert_eq!(Records::new(&program, &bytes[..end]).next(), Ok(None));
            }
        }
    }
}
