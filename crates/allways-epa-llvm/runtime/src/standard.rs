//! Rust's standard library: what its functions mean, as instrumented code tells.
//!
//! Locks, channels and counted owners of Rust are compiled into the program, and consist of atomic accesses that depend on the
//! schedule: how often one tries, whether it sleeps, who counts to zero. Nothing of that is logged: such functions make the
//! thread *quiet* when they are entered and put back what was there before when they return. Whatever they call is quiet as
//! well, but for functions of the program itself, which make the thread loud. An exception leaves functions
//! that put nothing back; so each function in which one arrives says what it was. What such a function does for the program is logged as
//! one event instead, while the thread is what its caller was: so what the library does for itself has no event.

use crate::thread::{Thread, event, stamp, with};
use allways_epa_format::Event;
use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What a thread knows of the standard library's functions that it is in.
pub struct State {
    /// Whether nothing is logged.
    pub quiet: Cell<bool>,
    /// Whether the thread is at the list of what is kept.
    busy: Cell<bool>,
    /// Whether a lock that was tried was taken.
    taken: Cell<bool>,
    /// Whether a message was found.
    received: Cell<bool>,
    /// The channel that the thread tries to send to; otherwise 0.
    sending: Cell<u64>,
    /// The scope that the thread creates a thread in; otherwise 0.
    pub scope: Cell<u64>,
}

impl State {
    /// In none of them.
    pub const fn new() -> Self {
        State {
            quiet: Cell::new(false),
            busy: Cell::new(false),
            taken: Cell::new(false),
            received: Cell::new(false),
            sending: Cell::new(0),
            scope: Cell::new(0),
        }
    }
}

impl Default for State {
    fn default() -> Self {
        State::new()
    }
}

/// What quiet functions have allocated. It may be given back by others, such as when a thread ends: that is not logged either.
static KEPT: Mutex<Vec<u64>> = Mutex::new(Vec::new());
/// How many those are: mostly none, and then nobody has to wait.
static KEPT_COUNT: AtomicUsize = AtomicUsize::new(0);

/// Does something with what is kept; not while this is done already, since the list itself needs memory.
fn kept(thread: &Thread, action: impl FnOnce(&mut Vec<u64>) -> bool) -> bool {
    if thread.standard.busy.replace(true) {
        return false;
    }
    let done = thread.quietly(|| {
        let mut kept = KEPT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let done = action(&mut kept);
        KEPT_COUNT.store(kept.len(), Ordering::Relaxed);
        done
    });
    thread.standard.busy.set(false);
    done
}

/// Memory was allocated: says whether it is the library's own, and remembers that.
pub fn keeps(address: u64) -> bool {
    with(|thread| {
        let quiet = thread.standard.quiet.get() && thread.stream.is_open();
        quiet
            && kept(thread, |kept| {
                kept.push(address);
                true
            })
    })
}

/// Memory is given back: says whether it was the library's own.
pub fn gives_up(address: u64) -> bool {
    // Whoever gives back what another thread has allocated has been told of it, and so of the count, too.
    if KEPT_COUNT.load(Ordering::Relaxed) == 0 {
        return false;
    }
    with(|thread| {
        kept(thread, |kept| match kept.iter().position(|known| *known == address) {
            Some(place) => {
                kept.swap_remove(place);
                true
            }
            None => false,
        })
    })
}

fn state<T>(action: impl FnOnce(&State) -> T) -> T {
    with(|thread: &Thread| action(&thread.standard))
}

/// Whether the thread is quiet.
#[unsafe(no_mangle)]
pub extern "C" fn __allways_state() -> u64 {
    state(|state| state.quiet.get().into())
}

/// Whether the program is one of Rust: others do not become loud.
static IS_RUST: AtomicBool = AtomicBool::new(false);

/// The routine of a thread has returned. What Rust's library does then, such as to give back what it has for each thread, depends on whether
/// somebody else has that, too; functions of the program that are performed then, to drop what is local to the thread, make it loud.
pub fn returned(thread: &Thread) {
    if IS_RUST.load(Ordering::Relaxed) {
        thread.standard.quiet.set(true);
    }
}

/// The thread becomes quiet (1) or loud (0): gives back what it was.
#[unsafe(no_mangle)]
pub extern "C" fn __allways_become(quiet: u64) -> u64 {
    if !IS_RUST.load(Ordering::Relaxed) {
        IS_RUST.store(true, Ordering::Relaxed);
    }
    state(|state| state.quiet.replace(quiet != 0).into())
}

/// A lock has been taken that others may hold as well.
#[unsafe(no_mangle)]
pub extern "C" fn __allways_lock_shared(address: u64) {
    event(|stamp| Event::LockShared { stamp, address });
}

/// A lock is tried.
#[unsafe(no_mangle)]
pub extern "C" fn __allways_try() {
    state(|state| state.taken.set(false));
}

/// A guard of a lock is made, so it is taken.
#[unsafe(no_mangle)]
pub extern "C" fn __allways_taken() {
    state(|state| state.taken.set(true));
}

/// A lock was tried: if it was taken, it is this one.
#[unsafe(no_mangle)]
pub extern "C" fn __allways_tried(address: u64) {
    if state(|state| state.taken.get()) {
        event(|stamp| Event::Lock { stamp, address });
    }
}

/// A lock was tried that others may hold as well: if it was taken, it is this one.
#[unsafe(no_mangle)]
pub extern "C" fn __allways_tried_shared(address: u64) {
    if state(|state| state.taken.get()) {
        event(|stamp| Event::LockShared { stamp, address });
    }
}

/// The thread begins to wait for a condition variable.
#[unsafe(no_mangle)]
pub extern "C" fn __allways_wait_begin(condition: u64, lock: u64) {
    event(|stamp| Event::WaitBegin { stamp, condition, lock });
}

/// The thread has waited for a condition variable.
#[unsafe(no_mangle)]
pub extern "C" fn __allways_wait_end(condition: u64, lock: u64) {
    event(|stamp| Event::WaitEnd { stamp, condition, lock });
}

/// One who waits is woken.
#[unsafe(no_mangle)]
pub extern "C" fn __allways_signal(condition: u64) {
    event(|stamp| Event::Signal { stamp, condition });
}

/// All who wait are woken.
#[unsafe(no_mangle)]
pub extern "C" fn __allways_broadcast(condition: u64) {
    event(|stamp| Event::Broadcast { stamp, condition });
}

/// A barrier is made, which is moved to its place afterwards.
#[unsafe(no_mangle)]
pub extern "C" fn __allways_barrier(count: u64) {
    event(|stamp| Event::Barrier { stamp, address: 0, count });
}

/// The thread arrives at a barrier.
#[unsafe(no_mangle)]
pub extern "C" fn __allways_barrier_enter(address: u64) {
    event(|stamp| Event::BarrierEnter { stamp, address });
}

/// All have arrived at a barrier.
#[unsafe(no_mangle)]
pub extern "C" fn __allways_barrier_leave(address: u64) {
    event(|stamp| Event::BarrierLeave { stamp, address });
}

/// What both ends of a channel have in common: one of the two words of an end is which kind of channel it is, a small number,
/// and the other one where the channel is.
///
/// # Safety
///
/// There is an end of a channel.
unsafe fn channel(end: *const u64) -> u64 {
    // SAFETY: an end has two words.
    unsafe { end.read().max(end.add(1).read()) }
}

/// How many bytes of a channel are said to be there. None of it is accessed by what is logged, so it is not important how large it is.
const CHANNEL_BYTES: u64 = 16;

/// A channel was made. Whose turn it is to give its memory back depends on the schedule, so that is not logged; but it
/// is an object, and another one than was there before.
///
/// # Safety
///
/// There are both ends of a channel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __allways_channel(ends: *const u64) {
    // SAFETY: the first of both is an end.
    let address = unsafe { channel(ends) };
    event(|stamp| Event::Allocate { stamp, address, bytes: CHANNEL_BYTES });
    event(|stamp| Event::Renew { stamp, address });
}

/// The thread is about to send, and goes on only if it could.
///
/// # Safety
///
/// There is an end of a channel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __allways_send(sender: *const u64) {
    // SAFETY: as the caller says.
    let channel = unsafe { channel(sender) };
    event(|stamp| Event::Send { stamp, channel });
}

/// The thread is about to try to send, or (null) has tried.
///
/// # Safety
///
/// There is an end of a channel, or the address is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __allways_try_send(sender: *const u64) {
    // SAFETY: as the caller says.
    let channel = if sender.is_null() { 0 } else { unsafe { channel(sender) } };
    state(|state| {
        if !state.quiet.get() {
            state.sending.set(channel);
        }
    });
}

/// How many words there are that say where a message is in a channel: all 0 if there is none.
const TOKEN_WORDS: usize = 5;

/// # Safety
///
/// There are the words that say where a message is.
unsafe fn is_message(token: *const u64) -> bool {
    // SAFETY: there are so many.
    (0..TOKEN_WORDS).any(|at| unsafe { token.add(at).read() } != 0)
}

/// A message is written into its place in a channel, if there is one. Who sends has said so before; who tries to, has not.
///
/// # Safety
///
/// There are the words that say where a message is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __allways_write(token: *const u64) {
    // SAFETY: as the caller says.
    if unsafe { is_message(token) } {
        with(|thread| {
            let channel = thread.standard.sending.replace(0);
            if channel != 0 {
                // This is inside of what is quiet, but it is here that it is known to succeed, and not yet seen by others.
                let quiet = thread.standard.quiet.replace(false);
                event(|stamp| Event::Send { stamp, channel });
                thread.standard.quiet.set(quiet);
            }
        });
    }
}

/// The thread is about to receive.
#[unsafe(no_mangle)]
pub extern "C" fn __allways_receive() {
    state(|state| {
        if !state.quiet.get() {
            state.received.set(false);
        }
    });
}

/// A message is read from its place in a channel, if there is one.
///
/// # Safety
///
/// There are the words that say where a message is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __allways_read(token: *const u64) {
    // SAFETY: as the caller says.
    if unsafe { is_message(token) } {
        __allways_handed();
    }
}

/// Another thread has handed over a message without a place in between.
#[unsafe(no_mangle)]
pub extern "C" fn __allways_handed() {
    state(|state| state.received.set(true));
}

/// The thread has received, if there was a message.
///
/// # Safety
///
/// There is an end of a channel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __allways_received(receiver: *const u64) {
    if state(|state| state.received.get()) {
        // SAFETY: as the caller says.
        let channel = unsafe { channel(receiver) };
        event(|stamp| Event::Receive { stamp, channel });
    }
}

/// The receiver of a channel ends: whoever sends after that is told so.
///
/// # Safety
///
/// There is an end of a channel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __allways_close(receiver: *const u64) {
    // SAFETY: as the caller says.
    let address = unsafe { channel(receiver) };
    event(|stamp| Event::Release { stamp, address, last: true });
}

/// An owner is about to give something up: gives back the stamp of that, if it turns out not to be the last one. By then
/// it would be too late to take it, since the last one may have been faster.
#[unsafe(no_mangle)]
pub extern "C" fn __allways_release() -> u64 {
    with(|thread| {
        let logs = thread.stream.is_open() && !thread.standard.quiet.get();
        if logs { stamp() } else { 0 }
    })
}

/// An owner that was not the last one has given something up. A stamp of 0 is of one that was, or that is not logged.
#[unsafe(no_mangle)]
pub extern "C" fn __allways_released(stamp: u64, address: u64) {
    with(|thread| {
        if stamp != 0 && !thread.standard.quiet.get() && is_object(address) {
            thread.stream.event(Event::Release { stamp, address, last: false });
        }
    });
}

/// The last owner has given something up, which ends now.
#[unsafe(no_mangle)]
pub extern "C" fn __allways_released_last(address: u64) {
    if is_object(address) {
        event(|stamp| Event::Release { stamp, address, last: true });
    }
}

/// What never had an owner (`Weak::new`) is at the highest address, and nothing is counted there.
fn is_object(address: u64) -> bool {
    (4096..u64::MAX - 4096).contains(&address)
}
