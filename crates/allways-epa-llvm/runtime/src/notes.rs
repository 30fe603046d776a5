//! What is missing in the trace: said in the trace itself, since one that is not complete proves nothing.
//!
//! Notes are lines of a file that is made, filled with zeros and mapped when the process begins. So there is room for them also
//! when the disk is full, and a note is a few bytes that are written to memory: that can be done in a signal handler, in a thread that nobody
//! has seen begin, and in the last moment of a process.

use allways_epa_format::RUNNING;
use std::ffi::c_int;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicUsize, Ordering};

/// How many bytes there are for all notes, but for the last one. Those that do not fit are left out: there are others then.
pub const ROOM: usize = 4096;

static NOTES: AtomicPtr<u8> = AtomicPtr::new(null_mut());
static USED: AtomicUsize = AtomicUsize::new(0);
static PROCESS: AtomicI32 = AtomicI32::new(0);

/// Notes are written to this file from now on, and by this process.
pub fn begin(file: &std::fs::File) -> std::io::Result<()> {
    use std::io::Write;
    use std::os::fd::AsRawFd;
    let mut file = file;
    file.write_all(&[0; ROOM - 1])?;
    file.write_all(&[RUNNING])?;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the file has so many bytes, and the mapping is where the kernel wants it.
    let start =
        unsafe { libc::mmap(null_mut(), ROOM, access, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    if start == libc::MAP_FAILED {
        return Err(std::io::Error::last_os_error());
    }
    NOTES.store(start.cast(), Ordering::Release);
    Ok(())
}

/// This process is the one whose threads write streams.
pub fn claim() {
    PROCESS.store(process(), Ordering::Relaxed);
}

/// Whether this is the process whose threads write streams, and not a child of it that may even share its memory.
pub fn is_ours() -> bool {
    PROCESS.load(Ordering::Relaxed) == process()
}

fn process() -> c_int {
    // SAFETY: it has no conditions.
    unsafe { libc::getpid() }
}

/// Notes that something is missing, in a sentence without its full stop, of several parts.
#[cold]
pub fn note(parts: &[&str]) {
    let start = NOTES.load(Ordering::Acquire);
    if start.is_null() || !is_ours() {
        return;
    }
    let length = parts.iter().map(|part| part.len()).sum::<usize>() + 1;
    let at = USED.fetch_add(length, Ordering::Relaxed);
    if at.saturating_add(length) >= ROOM {
        return;
    }
    let bytes = parts.iter().flat_map(|part| part.bytes()).chain([b'\n']);
    for (place, byte) in bytes.enumerate() {
        // SAFETY: these bytes are mapped as long as the process is there, and nobody else was given them.
        unsafe { start.add(at + place).write_volatile(byte) };
    }
}

/// The process exits by itself: whatever is missing otherwise is known.
pub fn exits() {
    let start = NOTES.load(Ordering::Acquire);
    if !start.is_null() && is_ours() {
        // SAFETY: these bytes are mapped as long as the process is there.
        unsafe { start.add(ROOM - 1).write_volatile(0) };
    }
}

/// An error of the operating system in words, without any allocation.
pub fn error(number: c_int) -> &'static str {
    match number {
        libc::ENOSPC | libc::EDQUOT => allways_epa_format::NO_ROOM,
        libc::EFBIG => "the limit for the size of files is reached; see ulimit -f",
        libc::EMFILE | libc::ENFILE => "too many files are open; see ulimit -n",
        libc::ENOMEM => "there is not enough memory",
        libc::ENOENT => {
            "its file is not there any more; the program must leave the directory of the trace alone"
        }
        libc::EACCES | libc::EPERM => {
            "the program is not allowed any more to write the trace; it must keep its rights"
        }
        libc::EEXIST => "its file is there already; each run needs a directory of its own",
        _ => "the operating system refuses",
    }
}
