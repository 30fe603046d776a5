//! Signals that have to wait.
//!
//! A handler that runs in a thread before its stream is open, or after it is closed, could not be logged. So a thread begins with all signals
//! blocked until its stream is open, and they are blocked again before it ends; and while files are opened no handler runs at all.

use std::ptr::null_mut;

/// A set of signals.
pub type Signals = libc::sigset_t;

/// Blocks all signals in this thread, and gives back which were blocked before.
pub fn block() -> Signals {
    // SAFETY: both sets are this function's own.
    unsafe {
        let mut all: Signals = std::mem::zeroed();
        let mut before: Signals = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        before
    }
}

/// Blocks only these signals in this thread.
pub fn restore(signals: &Signals) {
    // SAFETY: it is a set.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, signals, null_mut()) };
}

/// Blocks only these signals in this thread, if it began with all of them blocked: its attributes may say which, and that then counts.
pub fn restore_inherited(signals: &Signals) {
    let now = block();
    // SAFETY: it is a set. Signals that no handler can be for are never blocked.
    let is_free = |signal| unsafe { libc::sigismember(&now, signal) == 0 };
    let asynchronous = [libc::SIGHUP, libc::SIGINT, libc::SIGUSR1, libc::SIGUSR2, libc::SIGALRM];
    restore(if asynchronous.into_iter().any(is_free) { &now } else { signals });
}
