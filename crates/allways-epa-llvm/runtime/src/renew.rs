//! Locks, condition variables and barriers begin and end to be.
//!
//! Memory is used again: what is at the address of a lock that has ended may be another one, and what orders threads by the one says nothing
//! of the other. What a static initialiser makes is not seen to begin.

use crate::take;
use crate::take::{Object, renewed};
use crate::thread::event;
use allways_epa_format::Event;
use std::ffi::{c_int, c_void};

type Attributes = *const c_void;

/// That this file is part of the program: whoever refers to it makes sure of that.
pub static HERE: u8 = 1;

take! {
    /// Takes the place of `pthread_mutex_init`.
    fn pthread_mutex_init c"pthread_mutex_init" (object: Object, attributes: Attributes)
        after |result| renewed(result, object);
    /// Takes the place of `pthread_mutex_destroy`.
    fn pthread_mutex_destroy c"pthread_mutex_destroy" (object: Object) after |result| renewed(result, object);
    /// Takes the place of `pthread_cond_init`.
    fn pthread_cond_init c"pthread_cond_init" (object: Object, attributes: Attributes)
        after |result| renewed(result, object);
    /// Takes the place of `pthread_cond_destroy`.
    fn pthread_cond_destroy c"pthread_cond_destroy" (object: Object) after |result| renewed(result, object);
    /// Takes the place of `pthread_rwlock_init`.
    fn pthread_rwlock_init c"pthread_rwlock_init" (object: Object, attributes: Attributes)
        after |result| renewed(result, object);
    /// Takes the place of `pthread_rwlock_destroy`.
    fn pthread_rwlock_destroy c"pthread_rwlock_destroy" (object: Object) after |result| renewed(result, object);
    /// Takes the place of `pthread_spin_init`.
    fn pthread_spin_init c"pthread_spin_init" (object: Object, sharing: c_int)
        after |result| renewed(result, object);
    /// Takes the place of `pthread_spin_destroy`.
    fn pthread_spin_destroy c"pthread_spin_destroy" (object: Object) after |result| renewed(result, object);
    /// Takes the place of `pthread_barrier_init`.
    fn pthread_barrier_init c"pthread_barrier_init" (object: Object, attributes: Attributes, count: u32)
        after |result| counted(renewed(result, object), object, count);
    /// Takes the place of `pthread_barrier_destroy`.
    fn pthread_barrier_destroy c"pthread_barrier_destroy" (object: Object)
        after |result| renewed(result, object);
}

/// There is a barrier at which so many threads meet, if that is what the result says.
fn counted(result: c_int, address: Object, count: u32) -> c_int {
    if result == 0 {
        event(|stamp| Event::Barrier { stamp, address: address as u64, count: count.into() });
    }
    result
}
