//! A thread's stream: a window of its file in memory.
//!
//! The file is made longer, with zeros, before a window of it is mapped. The first byte of a record is written last: so
//! a process that is killed while it writes leaves zeros there, and never a record with wrong values. While a record is written,
//! the place to write to is null: so a signal handler that interrupts it writes nothing rather than into the
//! middle of a record.
//!
//! A thread that was not seen to begin has no place to write to either. That it should have written is noticed where any record finds out
//! that it has none, which costs nothing where there is one; and it is noted, as is every other reason why records are missing.

use crate::{files, notes};
use allways_epa_format::Event;
use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::atomic::{Ordering, compiler_fence};

/// How many bytes of a file are mapped at once: as many as were written before, so that a thread that does little takes little room.
const WINDOWS: std::ops::RangeInclusive<usize> = 1 << 16..=1 << 23;

/// Files are mapped from multiples of this on, which is one of the size of pages everywhere.
const PAGE: usize = 1 << 16;

/// A number takes at most so many bytes.
const LONGEST: usize = 10;

/// What has become of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Its thread was not seen to begin.
    Unseen,
    /// The thread has begun.
    Begun,
    /// The thread has ended, and wrote so.
    Ended,
    /// Nothing is to be written: there is no trace, or somebody else writes it, or it is noted already why it is not.
    Silent,
}

/// Where a thread writes to.
///
/// While `next` is not null, the bytes from `next` up to `end` are mapped, can be written, belong to this thread
/// alone and are zero; `start` is where the window begins, and `offset` where that is in the file.
pub struct Stream {
    next: Cell<*mut u8>,
    end: Cell<*mut u8>,
    start: Cell<*mut u8>,
    offset: Cell<usize>,
    thread: Cell<u64>,
    state: Cell<State>,
}

impl Stream {
    /// A stream that nothing is written to.
    pub const fn closed() -> Self {
        Stream {
            next: Cell::new(null_mut()),
            end: Cell::new(null_mut()),
            start: Cell::new(null_mut()),
            offset: Cell::new(0),
            thread: Cell::new(0),
            state: Cell::new(State::Unseen),
        }
    }

    /// Whether something can be written now.
    #[inline(always)]
    pub fn is_open(&self) -> bool {
        !self.next.get().is_null()
    }

    /// Makes the file of a thread, and begins to write to it. If that is not possible, that is noted.
    pub fn open(&self, thread: u64) {
        self.state.set(State::Silent);
        if files::has_directory() {
            self.thread.set(thread);
            self.state.set(State::Begun);
            self.next.set(self.map(0, 0));
        }
    }

    /// Maps the window of the file that holds `position`, with room for `bytes` more; null if that is not possible.
    fn map(&self, position: usize, bytes: usize) -> *mut u8 {
        let offset = position / PAGE * PAGE;
        let window = position.clamp(*WINDOWS.start(), *WINDOWS.end()).max(bytes);
        let length = (position - offset + window).next_multiple_of(PAGE);
        let start = match files::map(self.thread.get(), offset, length, position == 0) {
            Ok(start) => start,
            Err(error) => {
                self.fail(error);
                return null_mut();
            }
        };
        self.offset.set(offset);
        self.start.set(start);
        // SAFETY: both are inside of what was mapped, or one past it.
        unsafe {
            self.end.set(start.add(length));
            start.add(position - offset)
        }
    }

    /// The file cannot be written any further.
    #[cold]
    fn fail(&self, error: i32) {
        self.state.set(State::Silent);
        notes::note(&["a thread could not write all that it did: ", notes::error(error)]);
        if error == libc::EFBIG {
            // Whoever set a limit expects that it ends the program. The signal went to the process that opened the file.
            // SAFETY: it has no conditions.
            unsafe { libc::raise(libc::SIGXFSZ) };
        }
    }

    fn unmap(&self) {
        let length = self.end.get() as usize - self.start.get() as usize;
        // SAFETY: this is what `map` mapped, and nothing is written there any more.
        unsafe { libc::munmap(self.start.get().cast(), length) };
        self.start.set(null_mut());
        self.end.set(null_mut());
    }

    #[cold]
    fn next_window(&self, next: *mut u8, bytes: usize) -> *mut u8 {
        let position = self.offset.get() + (next as usize - self.start.get() as usize);
        self.unmap();
        self.map(position, bytes)
    }

    /// There is no place to write to: because a record is being written, which a signal handler interrupts, or because records
    /// of this thread are missing.
    #[cold]
    #[inline(never)]
    fn miss(&self) {
        let why = match self.state.get() {
            State::Begun | State::Silent => return,
            State::Unseen => {
                "a thread of which nobody saw the beginning performed instructions of the program; \
                 create threads by pthread_create, thrd_create or what builds on them"
            }
            State::Ended => {
                "a thread performed instructions of the program after its end; \
                 destructors of thread-specific data must not set such data again and again"
            }
        };
        self.state.set(State::Silent);
        notes::note(&[why]);
    }

    /// The thread has ended, and wrote so.
    pub fn end(&self) {
        if self.state.get() == State::Begun {
            self.state.set(State::Ended);
            if !self.is_open() {
                notes::note(&[
                    "a signal handler or a cancellation ended the writing of a record, \
                     and nothing was written after it; handlers should return, and threads be cancelled where they wait",
                ]);
            }
        }
        self.close();
    }

    /// Ends the stream: the file has what was written, and nothing more is.
    pub fn close(&self) {
        let next = self.next.replace(null_mut());
        if next.is_null() {
            return;
        }
        let position = self.offset.get() + (next as usize - self.start.get() as usize);
        self.unmap();
        files::cut(self.thread.get(), position);
    }

    /// Stops writing, and leaves the file to whoever else writes it: in the child of a fork.
    pub fn abandon(&self) {
        self.next.set(null_mut());
        self.state.set(State::Silent);
    }

    /// Writes a record: a code, which is not 0, and its values.
    #[inline(always)]
    pub fn write(&self, code: u64, values: &[u64]) {
        let mut next = self.next.replace(null_mut());
        if next.is_null() {
            return self.miss();
        }
        let needed = LONGEST * (values.len() + 1);
        if (self.end.get() as usize) - (next as usize) < needed {
            next = self.next_window(next, needed);
            if next.is_null() {
                return;
            }
        }
        // SAFETY: there is room for `needed` bytes from `next` on, and no number has more than `LONGEST`.
        unsafe {
            let first = next;
            let held_back = if code < 0x80 {
                next = next.add(1);
                code as u8
            } else {
                next = put(next.add(1), code >> 7);
                code as u8 | 0x80
            };
            for &value in values {
                next = put(next, value);
            }
            // A kill between two of the thread's instructions sees memory as the compiler ordered it.
            compiler_fence(Ordering::SeqCst);
            first.write_volatile(held_back);
        }
        compiler_fence(Ordering::SeqCst);
        self.next.set(next);
    }

    /// Writes an event.
    pub fn event(&self, event: Event) {
        let (code, values, count) = event.parts();
        self.write(code, &values[..count]);
    }
}

/// Writes a number in LEB128, and says where the next byte is.
///
/// # Safety
///
/// [`LONGEST`] bytes from `next` on can be written.
#[inline(always)]
unsafe fn put(mut next: *mut u8, mut number: u64) -> *mut u8 {
    // SAFETY: 64 bits are at most ten times seven.
    unsafe {
        while number >= 0x80 {
            next.write(number as u8 | 0x80);
            next = next.add(1);
            number >>= 7;
        }
        next.write(number as u8);
        next.add(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use allways_epa_format::{Program, Record, Records};

    #[test]
    fn records_cross_windows_and_a_copy_at_any_time_can_be_read() {
        let directory = std::env::temp_dir().join(format!("allways-stream-{}", std::process::id()));
        std::fs::create_dir(&directory).unwrap();
        assert!(files::set_directory(directory.to_str().unwrap().as_bytes()));
        let path = directory.join("thread-7");
        let stream = Stream::closed();
        assert!(!stream.is_open());
        stream.open(7);
        let count = 3 * *WINDOWS.end() as u64 / 12;
        let event =
            |number| Event::Allocate { stamp: number, address: u64::MAX - number, bytes: number };
        (0..count).for_each(|number| stream.event(event(number)));
        let read = || {
            let bytes = std::fs::read(&path).unwrap();
            let program = Program::default();
            let mut records = Records::new(&program, &bytes);
            let mut number = 0;
            while let Some(record) = records.next().unwrap() {
                assert_eq!(record, Record::Event(event(number)));
                number += 1;
            }
            (number, bytes.len(), records.position())
        };
        let (number, length, _) = read();
        assert_eq!(number, count);
        assert!(length > *WINDOWS.end());
        stream.close();
        stream.event(event(count));
        let (number, length, position) = read();
        assert_eq!((number, length), (count, position));
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
