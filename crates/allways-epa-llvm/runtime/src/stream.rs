//! A thread's stream: a window of its file in memory.
//!
//! The file is made longer, with zeros, before a window of it is mapped. The first byte of a record is written last: so
//! a process that is killed while it writes leaves zeros there, and never a record with wrong values. While a record is written,
//! the place to write to is null: so a signal handler that interrupts it writes nothing rather than into the
//! middle of a record, and what the runtime itself allocates is not logged.

use allways_epa_format::Event;
use std::cell::Cell;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{Ordering, compiler_fence};

/// How many bytes of a file are mapped at once.
const WINDOW: usize = 1 << 20;

/// A number takes at most so many bytes.
const LONGEST: usize = 10;

/// Where a thread writes to.
///
/// While `next` is not null, the bytes from `next` up to `end` are mapped, can be written, belong to this thread
/// alone and are zero; `start` is where the window begins, and `offset` where that is in the file.
pub struct Stream {
    next: Cell<*mut u8>,
    end: Cell<*mut u8>,
    start: Cell<*mut u8>,
    offset: Cell<usize>,
    file: Cell<i32>,
}

impl Stream {
    /// A stream that nothing is written to.
    pub const fn closed() -> Self {
        Stream {
            next: Cell::new(null_mut()),
            end: Cell::new(null_mut()),
            start: Cell::new(null_mut()),
            offset: Cell::new(0),
            file: Cell::new(-1),
        }
    }

    /// Whether something can be written now.
    #[inline(always)]
    pub fn is_open(&self) -> bool {
        !self.next.get().is_null()
    }

    /// Opens a new file. If that is not possible the stream stays closed.
    pub fn open(&self, path: &Path) {
        use std::os::fd::IntoRawFd;
        let options = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(path);
        if let Ok(file) = options {
            self.file.set(file.into_raw_fd());
            self.offset.set(0);
            self.next.set(self.map(0, WINDOW));
        }
    }

    /// Maps the window of the file that holds `position`, with room for `bytes` more; null if that is not possible.
    fn map(&self, position: usize, bytes: usize) -> *mut u8 {
        const PAGE: usize = 1 << 16;
        let offset = position / PAGE * PAGE;
        let length = (position - offset + bytes.max(WINDOW)).next_multiple_of(PAGE);
        // SAFETY: the file is this thread's own, and the new mapping is at a place that the kernel chooses.
        let start = unsafe {
            if libc::ftruncate(self.file.get(), (offset + length) as libc::off_t) != 0 {
                return null_mut();
            }
            libc::mmap(
                null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                self.file.get(),
                offset as libc::off_t,
            )
        };
        if start == libc::MAP_FAILED {
            return null_mut();
        }
        let start = start.cast::<u8>();
        self.offset.set(offset);
        self.start.set(start);
        // SAFETY: both are inside of what was mapped, or one past it.
        unsafe {
            self.end.set(start.add(length));
            start.add(position - offset)
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

    /// Ends the stream: the file has what was written, and nothing more is.
    pub fn close(&self) {
        let next = self.next.replace(null_mut());
        if next.is_null() {
            return;
        }
        let position = self.offset.get() + (next as usize - self.start.get() as usize);
        self.unmap();
        // SAFETY: the file is this thread's own, and no part of it is mapped any more.
        unsafe {
            libc::ftruncate(self.file.get(), position as libc::off_t);
            libc::close(self.file.get());
        }
        self.file.set(-1);
    }

    /// Stops writing, and leaves the file to whoever else writes it: in the child of a fork.
    pub fn abandon(&self) {
        self.next.set(null_mut());
    }

    /// Does something during which nothing is written, so that allocations of the runtime are not logged.
    pub fn quietly<T>(&self, action: impl FnOnce() -> T) -> T {
        let next = self.next.replace(null_mut());
        let done = action();
        self.next.set(next);
        done
    }

    /// Writes a record: a code, which is not 0, and its values.
    #[inline(always)]
    pub fn write(&self, code: u64, values: &[u64]) {
        let mut next = self.next.replace(null_mut());
        if next.is_null() {
            return;
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
        let path = std::env::temp_dir().join(format!("allways-stream-{}", std::process::id()));
        let stream = Stream::closed();
        assert!(!stream.is_open());
        stream.open(&path);
        let count = 2 * WINDOW as u64 / 12;
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
        assert!(length > WINDOW);
        stream.quietly(|| stream.event(event(count)));
        stream.close();
        stream.event(event(count));
        let (number, length, position) = read();
        assert_eq!((number, length), (count, position));
        std::fs::remove_file(&path).unwrap();
    }
}
