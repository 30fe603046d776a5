//! Files are opened where the program does not see it: in a table of descriptors of its own.
//!
//! A file that the runtime opens would take the lowest free number of a descriptor, and the program's own files would get others than
//! without the runtime, depending on which thread is faster. A descriptor that stays open, even one with a high number, can be closed
//! by a program that closes all of them. So none is taken at all: what needs one is done by a short-lived process that shares the
//! memory, but not the descriptors (`CLONE_VM` without `CLONE_FILES`), while this thread waits for it (`CLONE_VFORK`). What it maps is
//! mapped here, too, and with its end all that it opened is closed. It is what `posix_spawn` does before it executes something, and as there
//! all signals are blocked meanwhile: so no handler of the program runs in the wrong process. Where no process can be made, the
//! action is performed in this one, which is right but for the numbers.
//!
//! Nothing here allocates or takes a lock, and no function is called that `pthread_cancel` may end: streams are also written by signal
//! handlers, and by threads that are to be cancelled.

use crate::{real, signals};
use std::ffi::{c_int, c_long, c_void};
use std::ptr::null_mut;

/// The stack of the process that performs an action.
const STACK: usize = 1 << 16;

/// What is run in the other process.
type Body = extern "C-unwind" fn(*mut c_void) -> c_int;

extern "C-unwind" fn perform<F: FnMut(bool)>(action: *mut c_void) -> c_int {
    // SAFETY: it is the action that `apart` was given, which waits for this.
    unsafe { (*action.cast::<F>())(true) };
    0
}

/// Performs an action in a table of descriptors of its own, and keeps `errno` as it is. The action is told whether the table is its own.
pub fn apart<F: FnMut(bool)>(mut action: F) {
    let number = errno();
    let before = signals::block();
    // SAFETY: the stack is mapped for the process alone that is waited for.
    unsafe {
        let stack = libc::mmap(
            null_mut(),
            STACK,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK,
            -1,
            0,
        );
        let process = match stack == libc::MAP_FAILED {
            true => -1,
            false => begin(perform::<F>, stack.cast::<u8>().add(STACK).cast(), &raw mut action),
        };
        if process < 0 {
            action(false);
        } else {
            let options = libc::__WCLONE as c_long;
            // It has ended already, or executes nothing of the program's any more.
            libc::syscall(
                libc::SYS_wait4,
                process as c_long,
                null_mut::<c_int>(),
                options,
                0_usize,
            );
        }
        if stack != libc::MAP_FAILED {
            libc::munmap(stack, STACK);
        }
    }
    signals::restore(&before);
    set_errno(number);
}

/// Begins the process. It tells nobody of its end: a program that waits for its children does not see it.
fn begin<F>(body: Body, stack: *mut c_void, action: *mut F) -> c_int {
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_UNTRACED;
    let action: *mut c_void = action.cast();
    real!(c"clone", fn(body: Body, stack: *mut c_void, flags: c_int, action: *mut c_void) -> c_int)
}

/// The number of the last error of this thread.
pub fn errno() -> c_int {
    // SAFETY: it is this thread's own.
    unsafe { *libc::__errno_location() }
}

/// Sets the number of the last error of this thread.
pub fn set_errno(number: c_int) {
    // SAFETY: it is this thread's own.
    unsafe { *libc::__errno_location() = number };
}
