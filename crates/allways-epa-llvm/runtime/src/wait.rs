//! Locks, condition variables and barriers of POSIX.

use crate::take;
use crate::take::{Object, Time, Waiting, locked, shared, unlocking};
use crate::thread::event;
use allways_epa_format::Event;
use std::ffi::c_int;

/// That this file is part of the program: whoever refers to it makes sure of that.
pub static HERE: u8 = 1;

take! {
    /// Takes the place of `pthread_mutex_lock`.
    fn pthread_mutex_lock c"pthread_mutex_lock" (lock: Object) after |result| locked(result, lock);
    /// Takes the place of `pthread_mutex_trylock`.
    fn pthread_mutex_trylock c"pthread_mutex_trylock" (lock: Object) after |result| locked(result, lock);
    /// Takes the place of `pthread_mutex_timedlock`.
    fn pthread_mutex_timedlock c"pthread_mutex_timedlock" (lock: Object, until: Time)
        after |result| locked(result, lock);
    /// Takes the place of `pthread_mutex_clocklock`.
    fn pthread_mutex_clocklock c"pthread_mutex_clocklock" (lock: Object, clock: c_int, until: Time)
        after |result| locked(result, lock);
    /// Takes the place of `pthread_mutex_unlock`.
    fn pthread_mutex_unlock c"pthread_mutex_unlock" (lock: Object) before unlocking(lock);
    /// Takes the place of `pthread_spin_lock`.
    fn pthread_spin_lock c"pthread_spin_lock" (lock: Object) after |result| locked(result, lock);
    /// Takes the place of `pthread_spin_trylock`.
    fn pthread_spin_trylock c"pthread_spin_trylock" (lock: Object) after |result| locked(result, lock);
    /// Takes the place of `pthread_spin_unlock`.
    fn pthread_spin_unlock c"pthread_spin_unlock" (lock: Object) before unlocking(lock);
    /// Takes the place of `pthread_rwlock_rdlock`.
    fn pthread_rwlock_rdlock c"pthread_rwlock_rdlock" (lock: Object) after |result| shared(result, lock);
    /// Takes the place of `pthread_rwlock_tryrdlock`.
    fn pthread_rwlock_tryrdlock c"pthread_rwlock_tryrdlock" (lock: Object) after |result| shared(result, lock);
    /// Takes the place of `pthread_rwlock_timedrdlock`.
    fn pthread_rwlock_timedrdlock c"pthread_rwlock_timedrdlock" (lock: Object, until: Time)
        after |result| shared(result, lock);
    /// Takes the place of `pthread_rwlock_clockrdlock`.
    fn pthread_rwlock_clockrdlock c"pthread_rwlock_clockrdlock" (lock: Object, clock: c_int, until: Time)
        after |result| shared(result, lock);
    /// Takes the place of `pthread_rwlock_wrlock`.
    fn pthread_rwlock_wrlock c"pthread_rwlock_wrlock" (lock: Object) after |result| locked(result, lock);
    /// Takes the place of `pthread_rwlock_trywrlock`.
    fn pthread_rwlock_trywrlock c"pthread_rwlock_trywrlock" (lock: Object) after |result| locked(result, lock);
    /// Takes the place of `pthread_rwlock_timedwrlock`.
    fn pthread_rwlock_timedwrlock c"pthread_rwlock_timedwrlock" (lock: Object, until: Time)
        after |result| locked(result, lock);
    /// Takes the place of `pthread_rwlock_clockwrlock`.
    fn pthread_rwlock_clockwrlock c"pthread_rwlock_clockwrlock" (lock: Object, clock: c_int, until: Time)
        after |result| locked(result, lock);
    /// Takes the place of `pthread_rwlock_unlock`.
    fn pthread_rwlock_unlock c"pthread_rwlock_unlock" (lock: Object) before unlocking(lock);
    /// Takes the place of `pthread_cond_wait`.
    fn pthread_cond_wait c"pthread_cond_wait" (condition: Object, lock: Object)
        during Waiting::begin(condition, lock);
    /// Takes the place of `pthread_cond_timedwait`.
    fn pthread_cond_timedwait c"pthread_cond_timedwait" (condition: Object, lock: Object, until: Time)
        during Waiting::begin(condition, lock);
    /// Takes the place of `pthread_cond_clockwait`.
    fn pthread_cond_clockwait c"pthread_cond_clockwait"
        (condition: Object, lock: Object, clock: c_int, until: Time)
        during Waiting::begin(condition, lock);
    /// Takes the place of `pthread_cond_signal`.
    fn pthread_cond_signal c"pthread_cond_signal" (condition: Object)
        before event(|stamp| Event::Signal { stamp, condition: condition as u64 });
    /// Takes the place of `pthread_cond_broadcast`.
    fn pthread_cond_broadcast c"pthread_cond_broadcast" (condition: Object)
        before event(|stamp| Event::Broadcast { stamp, condition: condition as u64 });
    /// Takes the place of `pthread_barrier_wait`.
    fn pthread_barrier_wait c"pthread_barrier_wait" (barrier: Object)
        before event(|stamp| Event::BarrierEnter { stamp, address: barrier as u64 });
        after |result| {
            event(|stamp| Event::BarrierLeave { stamp, address: barrier as u64 });
            result
        };
}
