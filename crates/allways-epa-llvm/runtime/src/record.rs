//! The hooks that instrumented code calls.
//!
//! All values are 64 bits. A hook for a record gives back the first value, which the program goes on with: it is another one if it is
//! made wrong, and then the record has it, too.

use crate::thread::{Thread, event, with};
use allways_epa_format::Event;
use std::ffi::{c_char, c_void};

#[inline(always)]
fn record(tag: u64, values: &mut [u64]) -> u64 {
    with(|thread: &Thread| {
        if thread.standard.quiet.get() {
            return;
        }
        if tag as u32 == thread.fault_site.get()
            && let Some(first) = values.first_mut()
        {
            *first = crate::fault::strike(thread, tag, *first);
        }
        thread.stream.write(u64::from(tag as u32) + Event::CODES, values);
    });
    values.first().copied().unwrap_or(0)
}

/// A record without values.
#[unsafe(no_mangle)]
pub extern "C" fn __allways_record_0(tag: u64) -> u64 {
    record(tag, &mut [])
}

/// A record with one value.
#[unsafe(no_mangle)]
pub extern "C" fn __allways_record_1(tag: u64, a: u64) -> u64 {
    record(tag, &mut [a])
}

/// A record with two values.
#[unsafe(no_mangle)]
pub extern "C" fn __allways_record_2(tag: u64, a: u64, b: u64) -> u64 {
    record(tag, &mut [a, b])
}

/// A record with three values.
#[unsafe(no_mangle)]
pub extern "C" fn __allways_record_3(tag: u64, a: u64, b: u64, c: u64) -> u64 {
    record(tag, &mut [a, b, c])
}

/// A record with four values.
#[unsafe(no_mangle)]
pub extern "C" fn __allways_record_4(tag: u64, a: u64, b: u64, c: u64, d: u64) -> u64 {
    record(tag, &mut [a, b, c, d])
}

/// A record with any number of values.
///
/// # Safety
///
/// There are so many values, on the stack of the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __allways_record_n(tag: u64, values: *mut u64, count: u64) -> u64 {
    // SAFETY: instrumented code has written all of them, and nobody else knows of them.
    let values = unsafe { std::slice::from_raw_parts_mut(values, count as usize) };
    record(tag, values)
}

/// An argument, before a call: gives back the argument of the call.
#[unsafe(no_mangle)]
pub extern "C" fn __allways_argument(tag: u64, value: u64) -> u64 {
    with(|thread| {
        if tag as u32 == thread.fault_site.get() && !thread.standard.quiet.get() {
            crate::fault::strike(thread, tag, value)
        } else {
            value
        }
    })
}

/// A lock that is not the C library's has been taken.
#[unsafe(no_mangle)]
pub extern "C" fn __allways_lock(address: u64) {
    event(|stamp| Event::Lock { stamp, address });
}

/// A lock that is not the C library's is given back.
#[unsafe(no_mangle)]
pub extern "C" fn __allways_unlock(address: u64) {
    event(|stamp| Event::Unlock { stamp, address });
}

/// How many bytes a text has, with its end, of which at most `limit` are looked at; 0 if there is none.
///
/// # Safety
///
/// There is a text, or there are so many bytes: a function of the C library that reads as much has just returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __allways_text_length(text: *const c_char, limit: u64) -> u64 {
    if text.is_null() {
        return 0;
    }
    // SAFETY: as the caller says.
    let length = unsafe { libc::strnlen(text, limit as usize) } as u64;
    length.saturating_add(1).min(limit)
}

/// What is at an address, which is a pointer; 0 if the address is null.
///
/// # Safety
///
/// The address is null, or there is a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __allways_target(address: *const *const c_void) -> u64 {
    if address.is_null() {
        return 0;
    }
    // SAFETY: as the caller says. A function of the C library has just read or written it.
    unsafe { address.read_unaligned() as u64 }
}

unsafe extern "C" {
    static stdout: *mut c_void;
    static stderr: *mut c_void;
}

/// Where the stream of the standard output (1) or of the standard error (2) is.
#[unsafe(no_mangle)]
pub extern "C" fn __allways_standard(which: u64) -> u64 {
    // SAFETY: they are variables of the C library, which programs may read at any time.
    unsafe { if which == 2 { stderr as u64 } else { stdout as u64 } }
}

/// The thread enters or leaves a function that may keep memory for itself.
#[unsafe(no_mangle)]
pub extern "C" fn __allways_library(enters: u64) {
    with(|thread| thread.stream.event(Event::Library { enters: enters != 0 }));
}
