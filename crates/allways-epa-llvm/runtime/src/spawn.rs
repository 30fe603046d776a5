//! Threads are created, joined, and end.
//!
//! A thread gets its number from the thread that creates it, before it is there: so the numbers of the children of a thread
//! are in the order in which it created them, however threads take turns.

use crate::thread::{Thread, event, with};
use crate::{begin, fault, real, scope};
use allways_epa_format::Event;
use std::ffi::{c_int, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

type Routine = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;
type Handle = u64;

/// What a new thread is told.
struct Start {
    routine: Routine,
    argument: *mut c_void,
    number: u64,
    parent: u64,
    child: u64,
    matched: Option<usize>,
}

/// How many threads there have been.
static THREADS: AtomicU64 = AtomicU64::new(1);

/// Which thread a handle stands for: the last of them, since handles are used again. Only those who create and join threads ask.
static HANDLES: Mutex<Vec<(Handle, u64)>> = Mutex::new(Vec::new());

/// That this file is part of the program: whoever refers to it makes sure of that.
pub static HERE: u8 = 1;

fn handles<T>(thread: &Thread, action: impl FnOnce(&mut Vec<(Handle, u64)>) -> T) -> T {
    thread.stream.quietly(|| {
        let mut handles = HANDLES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        action(&mut handles)
    })
}

/// Both the thread and who created it say what its handle is: whoever joins it knows it from one of them.
fn remember(thread: &Thread, handle: Handle, number: u64) {
    handles(thread, |handles| {
        if !handles.contains(&(handle, number)) {
            handles.push((handle, number));
        }
    });
}

fn number(thread: &Thread, handle: Handle) -> Option<u64> {
    handles(thread, |handles| {
        handles.iter().rev().find(|known| known.0 == handle).map(|known| known.1)
    })
}

/// Takes the place of `pthread_create`.
///
/// # Safety
///
/// As of `pthread_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_create(
    handle: *mut Handle,
    attributes: *const libc::pthread_attr_t,
    routine: Routine,
    argument: *mut c_void,
) -> c_int {
    let create = |routine: Routine, argument: *mut c_void| {
        real!(
            c"pthread_create",
            fn(
                handle: *mut Handle,
                attributes: *const libc::pthread_attr_t,
                routine: Routine,
                argument: *mut c_void,
            ) -> c_int
        )
    };
    with(|thread| {
        if !thread.alive.get() {
            return create(routine, argument);
        }
        let child = thread.children.get();
        thread.children.set(child + 1);
        let number = THREADS.fetch_add(1, Ordering::Relaxed);
        let parent = thread.number.get();
        let matched = fault::descend(thread.matched.get(), child);
        let start = Start { routine, argument, number, parent, child, matched };
        let start = thread.stream.quietly(|| Box::into_raw(Box::new(start)));
        event(|stamp| Event::Create { stamp, thread: number });
        scope::created(thread, number, child);
        // Whether the C library allocates for this depends on which threads have ended by now: that is no part of the program.
        let result = thread.stream.quietly(|| create(run, start.cast()));
        if result == 0 {
            // SAFETY: the C library has written the handle.
            let handle = unsafe { handle.read() };
            remember(thread, handle, number);
            event(|stamp| Event::Handle { stamp, handle });
        } else {
            scope::joined(thread, number);
            // SAFETY: there is no thread that would have it.
            thread.stream.quietly(|| drop(unsafe { Box::from_raw(start) }));
        }
        result
    })
}

/// What a new thread does. `pthread_exit` unwinds its stack: so nothing here is to be dropped while the routine runs.
unsafe extern "C-unwind" fn run(start: *mut c_void) -> *mut c_void {
    // SAFETY: it was made by `pthread_create` for this thread alone.
    let Start { routine, argument, number, parent, child, matched } =
        *unsafe { Box::from_raw(start.cast::<Start>()) };
    // SAFETY: it has no conditions.
    let handle = unsafe { libc::pthread_self() };
    with(|thread| remember(thread, handle, number));
    begin::enter_thread(number, Some(parent), child, matched);
    event(|stamp| Event::Handle { stamp, handle });
    // SAFETY: this is what the program asked for.
    let result = unsafe { routine(argument) };
    begin::leave_thread();
    result
}

/// Takes the place of `pthread_exit`.
///
/// # Safety
///
/// As of `pthread_exit`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_exit(result: *mut c_void) -> ! {
    // The process may go on after its first thread has ended, and still tell its status there.
    begin::leave_thread();
    real!(c"pthread_exit", fn(result: *mut c_void) -> !)
}

fn join(handle: Handle, wait: impl FnOnce() -> c_int) -> c_int {
    // Before: afterwards the handle may stand for another thread.
    let before = with(|thread| number(thread, handle));
    let result = with(|thread| thread.stream.quietly(wait));
    if result == 0 {
        with(|thread| {
            if let Some(number) = before.or_else(|| number(thread, handle)) {
                event(|stamp| Event::Join { stamp, thread: number });
                scope::joined(thread, number);
                handles(thread, |handles| handles.retain(|known| *known != (handle, number)));
            }
        });
    }
    result
}

/// Takes the place of `pthread_join`.
///
/// # Safety
///
/// As of `pthread_join`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_join(handle: Handle, result: *mut *mut c_void) -> c_int {
    join(handle, || real!(c"pthread_join", fn(handle: Handle, result: *mut *mut c_void) -> c_int))
}

/// Takes the place of `pthread_tryjoin_np`.
///
/// # Safety
///
/// As of `pthread_tryjoin_np`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_tryjoin_np(
    handle: Handle,
    result: *mut *mut c_void,
) -> c_int {
    join(handle, || {
        real!(c"pthread_tryjoin_np", fn(handle: Handle, result: *mut *mut c_void) -> c_int)
    })
}
