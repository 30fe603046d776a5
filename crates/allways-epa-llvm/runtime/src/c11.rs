//! Locks and condition variables of C11. They have the memory of those of POSIX, so the same is logged of them; but the C library does not
//! use the functions of POSIX for them by their names. That all is well is 0 here, too (`thrd_success`).

use crate::take::{Object, Time, Waiting, locked, renewed, unlocking};
use crate::thread::event;
use crate::{real, take};
use allways_epa_format::Event;
use std::ffi::c_int;

/// That this file is part of the program: whoever refers to it makes sure of that.
pub static HERE: u8 = 1;

take! {
    /// Takes the place of `mtx_init`.
    fn mtx_init c"mtx_init" (lock: Object, kind: c_int) after |result| renewed(result, lock);
    /// Takes the place of `mtx_lock`.
    fn mtx_lock c"mtx_lock" (lock: Object) after |result| locked(result, lock);
    /// Takes the place of `mtx_trylock`.
    fn mtx_trylock c"mtx_trylock" (lock: Object) after |result| locked(result, lock);
    /// Takes the place of `mtx_timedlock`.
    fn mtx_timedlock c"mtx_timedlock" (lock: Object, until: Time) after |result| locked(result, lock);
    /// Takes the place of `mtx_unlock`.
    fn mtx_unlock c"mtx_unlock" (lock: Object) before unlocking(lock);
    /// Takes the place of `cnd_init`.
    fn cnd_init c"cnd_init" (condition: Object) after |result| renewed(result, condition);
    /// Takes the place of `cnd_wait`.
    fn cnd_wait c"cnd_wait" (condition: Object, lock: Object) during Waiting::begin(condition, lock);
    /// Takes the place of `cnd_timedwait`.
    fn cnd_timedwait c"cnd_timedwait" (condition: Object, lock: Object, until: Time)
        during Waiting::begin(condition, lock);
    /// Takes the place of `cnd_signal`.
    fn cnd_signal c"cnd_signal" (condition: Object)
        before event(|stamp| Event::Signal { stamp, condition: condition as u64 });
    /// Takes the place of `cnd_broadcast`.
    fn cnd_broadcast c"cnd_broadcast" (condition: Object)
        before event(|stamp| Event::Broadcast { stamp, condition: condition as u64 });
}

/// Takes the place of `mtx_destroy`.
///
/// # Safety
///
/// As of `mtx_destroy`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mtx_destroy(lock: Object) {
    real!(c"mtx_destroy", fn(lock: Object) -> ());
    renewed(0, lock);
}

/// Takes the place of `cnd_destroy`.
///
/// # Safety
///
/// As of `cnd_destroy`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn cnd_destroy(condition: Object) {
    real!(c"cnd_destroy", fn(condition: Object) -> ());
    renewed(0, condition);
}
