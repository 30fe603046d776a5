//! The beginning of the process, and of its threads.
//!
//! The beginning is a constructor of the instrumented program, before those of C++: so objects that are there before `main`
//! are logged, too. What the environment says of the trace is taken out of it: a program that is executed by this one, and that is instrumented
//! as well, would otherwise write its streams over those that are here.
//!
//! A thread ends when the last code of the program has been performed in it. That is after its routine has returned, or `pthread_exit` or
//! `pthread_cancel` has unwound its stack, after the destructors of what is local to the thread in C++ and Rust, and after those of its
//! thread-specific data. The latter are performed in rounds until there is no data left, but at most in so many as
//! `PTHREAD_DESTRUCTOR_ITERATIONS` says. The runtime has such data of its own, sets it again in each round but the last, and ends the thread there.

use crate::thread::with;
use crate::{fault, files, notes, process, real, signals, thread};
use allways_epa_format::{ADDRESSES_FILE, DIRECTORY, Event, FAULT, INCOMPLETE_FILE, PROGRAM_FILE};
use std::ffi::{CString, OsStr, c_int, c_void};
use std::fs::File;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::without_provenance_mut;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// How often destructors of thread-specific data are performed (`PTHREAD_DESTRUCTOR_ITERATIONS`).
const ROUNDS: usize = 4;

/// The key of the runtime's thread-specific data, which is the round.
static KEY: AtomicU32 = AtomicU32::new(0);

/// How many threads are there that were seen to begin, or will be.
pub static PRESENT: AtomicUsize = AtomicUsize::new(1);

/// Something of each file that takes the place of functions of the C library. A linker takes only those parts of this library that
/// something refers to, and the C library has the same functions: without this it depends on luck whose are taken. It must be
/// something that the C library does not have.
#[used]
static TAKEN: [&u8; 6] = [
    &crate::c11::HERE,
    &crate::memory::HERE,
    &process::HERE,
    &crate::renew::HERE,
    &crate::spawn::HERE,
    &crate::wait::HERE,
];

/// Ends the process at once, since what was asked for is not possible.
fn refuse(reason: &str) -> ! {
    eprintln!("allways: {reason}");
    // SAFETY: this does not return, and nothing of this process is needed any more.
    unsafe { libc::syscall(libc::SYS_exit_group, 2) };
    std::process::abort()
}

/// Takes a variable out of the environment.
fn take(name: &str) -> Option<std::ffi::OsString> {
    let value = std::env::var_os(name)?;
    let name = CString::new(name).ok()?;
    // SAFETY: there is only this thread yet. All other variables stay where they are.
    unsafe { libc::unsetenv(name.as_ptr()) };
    Some(value)
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
    real::find_all();
    notes::claim();
    // What unwinds stacks is loaded when somebody needs it first, which allocates: so it is loaded now, and not by whichever thread
    // is the first that ends by `pthread_exit`.
    // SAFETY: there is room for one address.
    unsafe { libc::backtrace([std::ptr::null_mut(); 1].as_mut_ptr(), 1) };
    let mut key = 0;
    // SAFETY: the function stays where it is.
    if unsafe { libc::pthread_key_create(&mut key, Some(round)) } != 0 {
        refuse("there is no key for thread-specific data left");
    }
    KEY.store(key, Ordering::Relaxed);
    if let Some(text) = take(FAULT)
        && let Err(reason) = fault::arm(&text.to_string_lossy())
    {
        refuse(&reason);
    }
    if let Some(path) = take(DIRECTORY)
        && let Err(reason) = write(&path, table, addresses)
    {
        refuse(&reason);
    }
    enter_thread(0, None, 0, fault::descend(Some(0), 0));
    process::watch();
}

/// Writes what is known now.
fn write(path: &OsStr, table: &[u8], addresses: &[u64]) -> Result<(), String> {
    // A relative path would be another one after the program changes its directory.
    let path = std::path::absolute(Path::new(path)).unwrap_or_else(|_| Path::new(path).into());
    let addresses: Vec<u8> = addresses.iter().flat_map(|address| address.to_le_bytes()).collect();
    // Streams of another process are never written over.
    let new =
        |name: &str| File::options().read(true).write(true).create_new(true).open(path.join(name));
    let written = new(PROGRAM_FILE)
        .and_then(|mut file| file.write_all(table))
        .and_then(|()| new(ADDRESSES_FILE)?.write_all(&addresses))
        .and_then(|()| notes::begin(&new(INCOMPLETE_FILE)?));
    if let Err(error) = written {
        return Err(format!("nothing can be written to {}: {error}", path.display()));
    }
    match files::set_directory(path.as_os_str().as_bytes()) {
        true => Ok(()),
        false => Err(format!("the name of {} is too long", path.display())),
    }
}

/// This thread begins.
pub fn enter_thread(number: u64, parent: Option<u64>, child: u64, matched: Option<usize>) {
    with(|thread| {
        thread.number.set(number);
        thread.matched.set(matched);
        thread.fault_site.set(fault::site(matched));
        set_round(1);
        thread.stream.open(number);
        let stamp = thread::stamp();
        thread.stream.event(Event::Begin { thread: number, parent, child, stamp });
        thread.alive.set(true);
    });
}

/// The data of this thread for the next round. The first keys have their place in the thread itself: so nothing is allocated.
fn set_round(round: usize) -> c_int {
    // SAFETY: the key is there from the beginning on, and the data is no address.
    unsafe {
        libc::pthread_setspecific(
            KEY.load(Ordering::Relaxed),
            without_provenance_mut::<c_void>(round),
        )
    }
}

/// A round of destructors of thread-specific data.
extern "C" fn round(round: *mut c_void) {
    let round = round as usize;
    if round >= ROUNDS || set_round(round + 1) != 0 {
        leave_thread();
    }
}

/// This thread ends: it does nothing later that is part of the program. But the last thread of a process then performs what `exit` does.
fn leave_thread() {
    with(|thread| {
        if !thread.alive.get() {
            return;
        }
        // No handler runs any more in a thread whose stream is closed.
        let blocked = signals::block();
        thread.standard.quiet.set(false);
        thread::event(|stamp| Event::End { stamp });
        thread.alive.set(false);
        match PRESENT.fetch_sub(1, Ordering::Relaxed) {
            1 => signals::restore(&blocked),
            _ => thread.stream.end(),
        }
        crate::scope::ended(thread);
    });
}
