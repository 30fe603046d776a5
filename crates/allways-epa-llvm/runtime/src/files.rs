//! The files of a trace, by their paths: nothing is kept open.
//!
//! A window of a stream is mapped, and its descriptor closed at once (see `apart.rs`); the next window is opened by the path again.
//! Before a window is mapped there is room for it on the disk: a write to a mapped page for which there is none would end
//! the program with a signal.

use crate::apart::{apart, errno};
use std::ffi::{c_int, c_long};
use std::ptr::null_mut;
use std::sync::OnceLock;

/// The longest path of a file.
const LONGEST: usize = 4096;

static DIRECTORY: OnceLock<Box<[u8]>> = OnceLock::new();

/// Files are in this directory from now on. Says whether its name is short enough.
pub fn set_directory(path: &[u8]) -> bool {
    // There is room for the name of a stream, and for the zero at the end.
    let fits = path.len() + 64 < LONGEST;
    if fits {
        DIRECTORY.get_or_init(|| path.into());
    }
    fits
}

/// Whether there is a trace at all.
pub fn has_directory() -> bool {
    DIRECTORY.get().is_some()
}

/// The path of a stream, as C wants it, without any allocation.
fn path(thread: u64, room: &mut [u8; LONGEST]) -> Option<*const libc::c_char> {
    use std::io::Write;
    let mut rest = room.as_mut_slice();
    rest.write_all(DIRECTORY.get()?).ok()?;
    write!(rest, "/{}{thread}\0", allways_epa_format::STREAM_PREFIX).ok()?;
    Some(room.as_ptr().cast())
}

/// Maps a part of the file of a stream, which is made so long and has room on the disk for it; the first time it is made. What cannot be
/// done gives the number of an error.
pub fn map(thread: u64, offset: usize, length: usize, make: bool) -> Result<*mut u8, c_int> {
    let mut result = Err(libc::ENOENT);
    apart(|is_apart| {
        let mut room = [0; LONGEST];
        let Some(path) = path(thread, &mut room) else { return };
        let made = if make { libc::O_CREAT | libc::O_EXCL } else { 0 };
        let flags = libc::O_RDWR | libc::O_CLOEXEC | made;
        // SAFETY: the path ends with a zero. The file is this thread's own, and the mapping is where the kernel wants it.
        unsafe {
            let mut file = open(path, flags);
            if file < 0 && errno() == libc::EMFILE && is_apart {
                // The program has as many files open as it may. This table is thrown away, so there can be one less in it.
                libc::syscall(libc::SYS_close, 0 as c_long);
                file = open(path, flags);
            }
            if file < 0 {
                result = Err(errno());
                return;
            }
            result = reserve(file, offset, length).and_then(|()| {
                let access = libc::PROT_READ | libc::PROT_WRITE;
                let start = offset as libc::off_t;
                let window =
                    libc::mmap(null_mut(), length, access, libc::MAP_SHARED, file as c_int, start);
                if window == libc::MAP_FAILED { Err(errno()) } else { Ok(window.cast()) }
            });
            libc::syscall(libc::SYS_close, file);
        }
    });
    result
}

/// Opens a file.
///
/// # Safety
///
/// The path ends with a zero.
unsafe fn open(path: *const libc::c_char, flags: c_int) -> c_long {
    let at = libc::AT_FDCWD as c_long;
    // SAFETY: as the caller says.
    unsafe { libc::syscall(libc::SYS_openat, at, path, flags as c_long, 0o666 as c_long) }
}

/// Makes a file so long, and makes room for it.
fn reserve(file: c_long, offset: usize, length: usize) -> Result<(), c_int> {
    let (offset, length) = (offset as c_long, length as c_long);
    // SAFETY: these change nothing but the file.
    unsafe {
        if libc::syscall(libc::SYS_fallocate, file, 0 as c_long, offset, length) == 0 {
            return Ok(());
        }
        let error = errno();
        // Some file systems cannot: then the program has to hope for room.
        let cannot = error == libc::EOPNOTSUPP || error == libc::ENOSYS;
        if cannot && libc::ftruncate(file as c_int, offset + length) == 0 {
            return Ok(());
        }
        Err(if cannot { errno() } else { error })
    }
}

/// The stream has so many bytes: what was made longer ahead is given back.
pub fn cut(thread: u64, length: usize) {
    let number = errno();
    let mut room = [0; LONGEST];
    if let Some(path) = path(thread, &mut room) {
        // SAFETY: the path ends with a zero, and nobody has mapped what is cut off.
        unsafe { libc::truncate(path, length as libc::off_t) };
    }
    crate::apart::set_errno(number);
}
