//! Allocations: `malloc` and its relatives. They are those of the C library under its other names, which are there for this
//! purpose; so nothing has to be looked up, which would allocate.
//!
//! What the C library allocates for the program (a buffer of a file) is logged as well: programs get to see such addresses.

use crate::thread::{event, with};
use allways_epa_format::Event;
use std::ffi::{c_int, c_void};

unsafe extern "C" {
    fn __libc_calloc(count: usize, bytes: usize) -> *mut c_void;
    fn __libc_realloc(old: *mut c_void, bytes: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, bytes: usize) -> *mut c_void;
    fn __libc_free(memory: *mut c_void);
}

/// That this file is part of the program: whoever refers to it makes sure of that.
pub static HERE: u8 = 1;

/// Whether allocations are those of the program now.
fn are_logged() -> bool {
    with(|thread| !thread.quiet.get())
}

fn allocated(memory: *mut c_void, bytes: usize) -> *mut c_void {
    if !memory.is_null() && are_logged() && !crate::standard::keeps(memory as u64) {
        event(|stamp| Event::Allocate { stamp, address: memory as u64, bytes: bytes as u64 });
    }
    memory
}

fn freed(memory: *mut c_void) {
    if !memory.is_null() && are_logged() && !crate::standard::gives_up(memory as u64) {
        event(|stamp| Event::Free { stamp, address: memory as u64 });
    }
}

/// Takes the place of `malloc`.
#[unsafe(no_mangle)]
pub extern "C" fn malloc(bytes: usize) -> *mut c_void {
    // What is not yet written would be what happened to be there, and differ each time, as on the stack.
    // SAFETY: any size may be asked for.
    allocated(unsafe { __libc_calloc(1, bytes) }, bytes)
}

/// Takes the place of `calloc`.
#[unsafe(no_mangle)]
pub extern "C" fn calloc(count: usize, bytes: usize) -> *mut c_void {
    // SAFETY: any size may be asked for.
    allocated(unsafe { __libc_calloc(count, bytes) }, count.saturating_mul(bytes))
}

/// Takes the place of `realloc`: the old memory is given back, and new memory is allocated. That the old is said to
/// be free first, although it stays if there is no new memory, is right: no other thread can have got it in between.
///
/// # Safety
///
/// As of `realloc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn realloc(old: *mut c_void, bytes: usize) -> *mut c_void {
    // Before: afterwards another thread may have been given it.
    freed(old);
    // SAFETY: the program gives what it would give to `realloc`.
    let memory = unsafe { __libc_realloc(old, bytes) };
    if memory.is_null() && bytes != 0 && !old.is_null() {
        // It is still there. How large it is the C library knows.
        // SAFETY: it was not freed.
        allocated(old, unsafe { libc::malloc_usable_size(old) });
        return memory;
    }
    allocated(memory, bytes)
}

/// Takes the place of `free`.
///
/// # Safety
///
/// As of `free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(memory: *mut c_void) {
    freed(memory);
    // SAFETY: the program gives what it would give to `free`.
    unsafe { __libc_free(memory) }
}

/// Takes the place of `memalign`.
#[unsafe(no_mangle)]
pub extern "C" fn memalign(alignment: usize, bytes: usize) -> *mut c_void {
    // SAFETY: any size and alignment may be asked for.
    allocated(unsafe { __libc_memalign(alignment, bytes) }, bytes)
}

/// Takes the place of `aligned_alloc`.
#[unsafe(no_mangle)]
pub extern "C" fn aligned_alloc(alignment: usize, bytes: usize) -> *mut c_void {
    memalign(alignment, bytes)
}

/// Takes the place of `posix_memalign`.
///
/// # Safety
///
/// As of `posix_memalign`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_memalign(
    result: *mut *mut c_void,
    alignment: usize,
    bytes: usize,
) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<*mut c_void>()) {
        return libc::EINVAL;
    }
    let memory = memalign(alignment, bytes);
    if memory.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: the program gives a place for the address.
    unsafe { result.write(memory) };
    0
}
