//! The end of the process, and others that come of it.
//!
//! The status is known to `on_exit`, which also sees `main` return; that the process exits is logged after the program's own destructors, which come
//! later. `_exit` and `quick_exit` know nothing of `on_exit`: so their place is taken.
//!
//! The child of a fork is another process, and the streams are not its own. It is noticed by `pthread_atfork`, or where that is not asked by taking
//! the place of the function. A child of `vfork` performs the code of the program in the memory of its parent, which waits: what it does is
//! logged as the parent's, since nothing can come in between; but its end is not the parent's.

use crate::thread::with;
use crate::{notes, real};
use allways_epa_format::Event;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

unsafe extern "C" {
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
    fn at_quick_exit(function: extern "C" fn()) -> c_int;
}

/// That this file is part of the program: whoever refers to it makes sure of that.
pub static HERE: u8 = 1;

/// From now on ends and children are noticed. Whoever asks first is asked last.
pub fn watch() {
    // SAFETY: all functions stay where they are.
    unsafe {
        on_exit(exiting, null_mut());
        at_quick_exit(finish);
        libc::pthread_atfork(None, None, Some(forked));
    }
}

/// The process exits, with this status.
extern "C" fn exiting(status: c_int, _: *mut c_void) {
    with(|thread| thread.status.set(Some(status)));
}

/// The last destructor of the program: the linker sorts sections of this kind by the number in their names, those without one come last, and
/// they are performed from the last to the first.
#[used]
#[unsafe(link_section = ".fini_array.00000")]
static FINISH: extern "C" fn() = finish;

/// That is the last of this thread, whatever the C library does after it.
extern "C" fn finish() {
    with(|thread| {
        // A thread that has ended may exit as the last one. It has told its end; which one it is depends on who is faster.
        if let Some(status) = thread.status.take()
            && thread.alive.get()
        {
            thread.stream.event(Event::Exit { status: status as u32 as u64 });
        }
        thread.stream.end();
    });
    notes::exits();
}

/// The streams are not this process's own.
extern "C" fn forked() {
    with(|thread| {
        thread.stream.abandon();
        thread.alive.set(false);
    });
}

/// Takes the place of `_exit`, of which `on_exit` hears nothing.
#[unsafe(no_mangle)]
pub extern "C" fn _exit(status: c_int) -> ! {
    if notes::is_ours() {
        exiting(status, null_mut());
        finish();
    }
    // SAFETY: this is what `_exit` does, and it does not return.
    unsafe { libc::syscall(libc::SYS_exit_group, status) };
    std::process::abort()
}

/// Takes the place of `_Exit`.
#[unsafe(no_mangle)]
pub extern "C" fn _Exit(status: c_int) -> ! {
    _exit(status)
}

/// Takes the place of `quick_exit`, which tells its status to nobody.
///
/// # Safety
///
/// As of `quick_exit`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn quick_exit(status: c_int) -> ! {
    exiting(status, null_mut());
    real!(c"quick_exit", fn(status: c_int) -> !)
}

/// Takes the place of `_Fork`, which asks nobody.
///
/// # Safety
///
/// As of `_Fork`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn _Fork() -> libc::pid_t {
    let process = real!(c"_Fork", fn() -> libc::pid_t);
    if process == 0 {
        forked();
    }
    process
}

type Body = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;

/// What the child of a `clone` is to do.
struct Start {
    body: Body,
    argument: *mut c_void,
}

/// Another process begins that does not share the memory.
unsafe extern "C-unwind" fn run(start: *mut c_void) -> c_int {
    forked();
    // SAFETY: it is on the stack of `clone`, of which this process has a copy.
    let Start { body, argument } = unsafe { start.cast::<Start>().read() };
    // SAFETY: this is what the program asked for.
    unsafe { body(argument) }
}

/// Takes the place of `clone`. A thread that it makes may even have the thread-local memory of another: what both write is then of no use.
///
/// # Safety
///
/// As of `clone`. In C its last arguments may be missing: then they are whatever is in their place, here as there.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn clone(
    body: Body,
    stack: *mut c_void,
    flags: c_int,
    argument: *mut c_void,
    parent: *mut c_void,
    local: *mut c_void,
    child: *mut c_void,
) -> c_int {
    let mut start = Start { body, argument };
    let (mut body, mut argument) = (body, argument);
    if flags & libc::CLONE_VM == 0 {
        (body, argument) = (run, (&raw mut start).cast());
    } else if flags & libc::CLONE_VFORK == 0 {
        notes::note(&["the program called clone; create threads by pthread_create or thrd_create"]);
    }
    real!(
        c"clone",
        fn(
            body: Body,
            stack: *mut c_void,
            flags: c_int,
            argument: *mut c_void,
            parent: *mut c_void,
            local: *mut c_void,
            child: *mut c_void,
        ) -> c_int
    )
}
