//! The hooks that instrumented code calls.
//!
//! All values are 64 bits. A hook for a record gives back the first value, which the program goes on with: it is another one if it is
//! made wrong, and then the record has it, too.

use crate::thread::{Thread, event, with};
use allways_epa_format::Event;

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
