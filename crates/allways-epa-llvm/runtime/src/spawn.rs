//! Threads are created and joined. How they end is said in `begin.rs`.
//!
//! A thread gets its number from the thread that creates it, before it is there: so the numbers of the children of a thread
//! are in the order in which it created them, however threads take turns. Threads of C11 are those of POSIX under other names; but the C
//! library creates them by itself, so the place of those functions is taken as well.

use crate::signals::Signals;
use crate::thread::{Thread, event, with};
use crate::{begin, fault, real, scope, signals, standard};
use allways_epa_format::Event;
use std::ffi::{c_int, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

type Routine = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;
type Handle = u64;
type Time = *const c_void;

/// What a new thread performs: a routine of POSIX, or one of C11.
#[derive(Clone, Copy)]
enum Work {
    Posix(Routine),
    C11(unsafe extern "C-unwind" fn(*mut c_void) -> c_int),
}

/// What a new thread is told.
struct Start {
    work: Work,
    argument: *mut c_void,
    number: u64,
    parent: u64,
    child: u64,
    matched: Option<usize>,
    /// The signals that are blocked in it.
    blocked: Signals,
}

/// How many threads there have been.
static THREADS: AtomicU64 = AtomicU64::new(1);

/// Which thread a handle stands for: the last of them, since handles are used again. Only those who create and join threads ask.
static HANDLES: Mutex<Vec<(Handle, u64)>> = Mutex::new(Vec::new());

/// That this file is part of the program: whoever refers to it makes sure of that.
pub static HERE: u8 = 1;

fn handles<T>(thread: &Thread, action: impl FnOnce(&mut Vec<(Handle, u64)>) -> T) -> T {
    thread.quietly(|| {
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

/// Creates a thread, as the C library does.
fn create(
    handle: *mut Handle,
    attributes: *const libc::pthread_attr_t,
    routine: Routine,
    argument: *mut c_void,
) -> c_int {
    real!(
        c"pthread_create",
        fn(
            handle: *mut Handle,
            attributes: *const libc::pthread_attr_t,
            routine: Routine,
            argument: *mut c_void,
        ) -> c_int
    )
}

/// Creates a thread that is logged.
fn spawn(
    handle: *mut Handle,
    attributes: *const libc::pthread_attr_t,
    work: Work,
    argument: *mut c_void,
) -> c_int {
    with(|thread| {
        let child = thread.children.get();
        thread.children.set(child + 1);
        let number = THREADS.fetch_add(1, Ordering::Relaxed);
        let parent = thread.number.get();
        let matched = fault::descend(thread.matched.get(), child);
        // No handler runs in the new thread before it can be logged.
        let blocked = signals::block();
        let start = Start { work, argument, number, parent, child, matched, blocked };
        let start = thread.quietly(|| Box::into_raw(Box::new(start)));
        begin::PRESENT.fetch_add(1, Ordering::Relaxed);
        event(|stamp| Event::Create { stamp, thread: number });
        scope::created(thread, number, child);
        // Whether the C library allocates for this depends on which threads have ended by now: that is no part of the program.
        let result = thread.quietly(|| create(handle, attributes, run, start.cast()));
        signals::restore(&blocked);
        if result == 0 {
            // SAFETY: the C library has written the handle.
            let handle = unsafe { handle.read() };
            remember(thread, handle, number);
            event(|stamp| Event::Handle { stamp, handle });
        } else {
            begin::PRESENT.fetch_sub(1, Ordering::Relaxed);
            scope::joined(thread, number);
            // SAFETY: there is no thread that would have it.
            thread.quietly(|| drop(unsafe { Box::from_raw(start) }));
        }
        result
    })
}

/// Whether this thread takes part.
fn is_alive() -> bool {
    with(|thread| thread.alive.get())
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
    match is_alive() {
        true => spawn(handle, attributes, Work::Posix(routine), argument),
        false => create(handle, attributes, routine, argument),
    }
}

/// Takes the place of `thrd_create`.
///
/// # Safety
///
/// As of `thrd_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn thrd_create(
    handle: *mut Handle,
    routine: unsafe extern "C-unwind" fn(*mut c_void) -> c_int,
    argument: *mut c_void,
) -> c_int {
    if !is_alive() {
        return real!(
            c"thrd_create",
            fn(
                handle: *mut Handle,
                routine: unsafe extern "C-unwind" fn(*mut c_void) -> c_int,
                argument: *mut c_void,
            ) -> c_int
        );
    }
    // The results are `thrd_success`, `thrd_nomem` and `thrd_error`.
    match spawn(handle, std::ptr::null(), Work::C11(routine), argument) {
        0 => 0,
        libc::ENOMEM => 3,
        _ => 2,
    }
}

/// What a new thread does. `pthread_exit` unwinds its stack: so nothing here is to be dropped while the routine runs.
unsafe extern "C-unwind" fn run(start: *mut c_void) -> *mut c_void {
    // SAFETY: it was made by `spawn` for this thread alone.
    let Start { work, argument, number, parent, child, matched, blocked } =
        *unsafe { Box::from_raw(start.cast::<Start>()) };
    // SAFETY: it has no conditions.
    let handle = unsafe { libc::pthread_self() };
    with(|thread| remember(thread, handle, number));
    begin::enter_thread(number, Some(parent), child, matched);
    event(|stamp| Event::Handle { stamp, handle });
    signals::restore_inherited(&blocked);
    // SAFETY: this is what the program asked for. Those who join a thread of C11 take its result for a number.
    let result = unsafe {
        match work {
            Work::Posix(routine) => routine(argument),
            Work::C11(routine) => std::ptr::without_provenance_mut(routine(argument) as usize),
        }
    };
    with(standard::returned);
    result
}

fn join(handle: Handle, wait: impl FnOnce() -> c_int) -> c_int {
    // In the child of a fork, whoever had the list of handles may not be there any more to give it back.
    if !is_alive() {
        return wait();
    }
    // Before: afterwards the handle may stand for another thread.
    let before = with(|thread| number(thread, handle));
    let result = with(|thread| thread.quietly(wait));
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

/// Takes the place of `pthread_timedjoin_np`.
///
/// # Safety
///
/// As of `pthread_timedjoin_np`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_timedjoin_np(
    handle: Handle,
    result: *mut *mut c_void,
    until: Time,
) -> c_int {
    join(handle, || {
        real!(
            c"pthread_timedjoin_np",
            fn(handle: Handle, result: *mut *mut c_void, until: Time) -> c_int
        )
    })
}

/// Takes the place of `pthread_clockjoin_np`.
///
/// # Safety
///
/// As of `pthread_clockjoin_np`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_clockjoin_np(
    handle: Handle,
    result: *mut *mut c_void,
    clock: c_int,
    until: Time,
) -> c_int {
    join(handle, || {
        real!(
            c"pthread_clockjoin_np",
            fn(handle: Handle, result: *mut *mut c_void, clock: c_int, until: Time) -> c_int
        )
    })
}

/// Takes the place of `thrd_join`.
///
/// # Safety
///
/// As of `thrd_join`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn thrd_join(handle: Handle, result: *mut c_int) -> c_int {
    join(handle, || real!(c"thrd_join", fn(handle: Handle, result: *mut c_int) -> c_int))
}
