//! Scopes of Rust: all threads that are created in one have ended when it ends, but nobody joins those that the program
//! did not join itself.
//!
//! A scope is known by where it is, on the stack of the function that makes it: a thread that is created is told which one it
//! belongs to, and at the end of the function its frame tells which of them are its own. The standard library waits until
//! threads have done their work, and their last records come after that: so it is waited until they are written.

use crate::thread::{Thread, event, with};
use allways_epa_format::Event;
use std::sync::{Condvar, Mutex};

/// A thread of a scope that was not joined yet.
struct Member {
    scope: u64,
    thread: u64,
    /// Who created it, and how many that one had created before: so they are in the same order in every run, if one thread
    /// creates all of them.
    order: (u64, u64),
    ended: bool,
}

static MEMBERS: Mutex<Vec<Member>> = Mutex::new(Vec::new());
static ENDED: Condvar = Condvar::new();

fn members<T>(thread: &Thread, action: impl FnOnce(&mut Vec<Member>) -> T) -> T {
    thread.quietly(|| {
        let mut members = MEMBERS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        action(&mut members)
    })
}

/// The thread creates threads in this scope from now on, or (0) in none.
#[unsafe(no_mangle)]
pub extern "C" fn __allways_scope(scope: u64) {
    with(|thread| thread.standard.scope.set(scope));
}

/// A thread is about to be created.
pub fn created(creator: &Thread, thread: u64, child: u64) {
    let scope = creator.standard.scope.get();
    if scope != 0 && creator.stream.is_open() {
        let order = (creator.number.get(), child);
        members(creator, |members| members.push(Member { scope, thread, order, ended: false }));
    }
}

/// A thread has been joined, or was not created after all.
pub fn joined(joiner: &Thread, thread: u64) {
    members(joiner, |members| members.retain(|member| member.thread != thread));
}

/// This thread has written its last record.
pub fn ended(thread: &Thread) {
    let number = thread.number.get();
    let is_member = members(thread, |members| {
        let member = members.iter_mut().find(|member| member.thread == number);
        member.map(|member| member.ended = true).is_some()
    });
    if is_member {
        ENDED.notify_all();
    }
}

/// A scope ends, which was in the frame below this address: waits for the threads of it that were not joined, and says that they are.
#[unsafe(no_mangle)]
pub extern "C" fn __allways_scope_ends(frame: u64) {
    let below = (&raw const frame) as u64;
    with(|thread| {
        if !thread.stream.is_open() {
            return;
        }
        let is_own = |member: &Member| (below..frame).contains(&member.scope);
        let mut own = thread.quietly(|| {
            let mut members = MEMBERS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            while members.iter().any(|member| is_own(member) && !member.ended) {
                members = ENDED.wait(members).unwrap_or_else(|poisoned| poisoned.into_inner());
            }
            let own = members.extract_if(.., |member| is_own(member));
            own.collect::<Vec<_>>()
        });
        // Those that this thread has created come first, since its order is its own.
        own.sort_by_key(|member| (member.order.0 != thread.number.get(), member.order));
        for member in &own {
            event(|stamp| Event::Join { stamp, thread: member.thread });
        }
        thread.quietly(|| drop(own));
    });
}
