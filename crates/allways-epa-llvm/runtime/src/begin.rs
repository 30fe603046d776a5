//! The beginning and the end of the process.
//!
//! The beginning is a constructor of the instrumented program, before those of C++: so objects that are there before `main`
//! are logged, too. The end is noticed by `on_exit`, which also sees `main` return, and by taking the place of `_exit`.

use crate::thread::with;
use crate::{fault, thread};
use allways_epa_format::{ADDRESSES_FILE, DIRECTORY, Event, FAULT, PROGRAM_FILE, stream_name};
use std::ffi::{c_int, c_void};
use std::path::PathBuf;
use std::sync::OnceLock;

static TRACE: OnceLock<PathBuf> = OnceLock::new();

/// The directory of the streams, if there is one.
pub fn directory() -> Option<&'static PathBuf> {
    TRACE.get()
}

unsafe extern "C" {
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// Something of each file that takes the place of functions of the C library. A linker takes only those parts of this library that
/// something refers to, and the C library has the same functions: without this it depends on luck whose are taken. It must be
/// something that the C library does not have.
#[used]
static TAKEN: [&u8; 3] = [&crate::memory::HERE, &crate::spawn::HERE, &crate::wait::HERE];

/// Ends the process at once, since what was asked for is not possible.
fn refuse(reason: &str) -> ! {
    eprintln!("allways: {reason}");
    // SAFETY: this does not return, and nothing of this process is needed any more.
    unsafe { libc::syscall(libc::SYS_exit_group, 2) };
    std::process::abort()
}

/// The process begins: the table of the program and the addresses of its globals, in its first thread.
///
/// # Safety
///
/// Both are constants of the program of the lengths that are given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __allways_begin(
    table: *const u8,
    table_length: u64,
    addresses: *const u64,
    addresses_count: u64,
) {
    // SAFETY: the caller gives constants.
    let (table, addresses) = unsafe {
        let table = std::slice::from_raw_parts(table, table_length as usize);
        (table, std::slice::from_raw_parts(addresses, addresses_count as usize))
    };
    if let Ok(text) = std::env::var(FAULT)
        && let Err(reason) = fault::arm(&text)
    {
        refuse(&reason);
    }
    if let Some(path) = std::env::var_os(DIRECTORY) {
        let path = PathBuf::from(path);
        let addresses: Vec<u8> =
            addresses.iter().flat_map(|address| address.to_le_bytes()).collect();
        let written = std::fs::write(path.join(PROGRAM_FILE), table)
            .and_then(|()| std::fs::write(path.join(ADDRESSES_FILE), addresses));
        if let Err(error) = written {
            refuse(&format!("nothing can be written to {}: {error}", path.display()));
        }
        // A relative path would be another one after the program changes its directory.
        TRACE.get_or_init(|| std::path::absolute(&path).unwrap_or(path));
    }
    enter_thread(0, None, 0, fault::descend(Some(0), 0));
    // SAFETY: both functions stay where they are.
    unsafe {
        on_exit(exiting, std::ptr::null_mut());
        libc::pthread_atfork(None, None, Some(forked));
    }
}

/// This thread begins.
pub fn enter_thread(number: u64, parent: Option<u64>, child: u64, matched: Option<usize>) {
    with(|thread| {
        thread.number.set(number);
        thread.matched.set(matched);
        thread.fault_site.set(fault::site(matched));
        if let Some(directory) = directory() {
            let path = directory.join(stream_name(number));
            thread.stream.open(&path);
            // Nothing comes before the beginning, also not that this is given back.
            thread.stream.quietly(|| drop(path));
        }
        let stamp = thread::stamp();
        thread.stream.event(Event::Begin { thread: number, parent, child, stamp });
        thread.alive.set(true);
    });
}

/// This thread ends: nothing that it does later, such as to drop what belongs to it, is logged.
pub fn leave_thread() {
    thread::event(|stamp| Event::End { stamp });
    with(|thread| {
        thread.alive.set(false);
        thread.stream.close();
        crate::scope::ended(thread);
    });
}

/// The process exits: that is the last of this thread, whatever the C library does after it.
extern "C" fn exiting(status: c_int, _: *mut c_void) {
    with(|thread| {
        thread.stream.event(Event::Exit { status: status as u32 as u64 });
        thread.stream.close();
    });
}

/// The child of a fork is another process: the streams are not its own.
extern "C" fn forked() {
    with(|thread| {
        thread.stream.abandon();
        thread.alive.set(false);
    });
}

/// Takes the place of `_exit`, of which `on_exit` hears nothing.
#[unsafe(no_mangle)]
pub extern "C" fn _exit(status: c_int) -> ! {
    exiting(status, std::ptr::null_mut());
    // SAFETY: this is what `_exit` does, and it does not return.
    unsafe { libc::syscall(libc::SYS_exit_group, status) };
    std::process::abort()
}

/// Takes the place of `_Exit`.
#[unsafe(no_mangle)]
pub extern "C" fn _Exit(status: c_int) -> ! {
    _exit(status)
}
