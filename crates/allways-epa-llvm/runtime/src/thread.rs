//! What each thread knows of itself.
//!
//! Nothing here is shared, nothing is allocated and nothing has to be dropped: so it costs an access relative to the register of
//! the thread, and works from the first instruction of a thread to its last one.

use crate::standard::State;
use crate::stream::Stream;
use allways_epa_format::Event;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// No site has this number: the site of a fault in threads that have none.
pub const NO_SITE: u32 = u32::MAX;

/// What a thread knows of itself.
pub struct Thread {
    /// Where it writes to.
    pub stream: Stream,
    /// How many threads it has created.
    pub children: Cell<u64>,
    /// Its number.
    pub number: Cell<u64>,
    /// How many parts of the name of the fault's thread are those of its own name; `None` if they part ways.
    pub matched: Cell<Option<usize>>,
    /// The site of the fault if it is to happen in this thread, otherwise [`NO_SITE`].
    pub fault_site: Cell<u32>,
    /// How often the thread was at this site.
    pub occurrence: Cell<u64>,
    /// Whether it takes part: threads that were there before the program began, and those that have ended, do not.
    pub alive: Cell<bool>,
    /// What it does in Rust's standard library.
    pub standard: State,
    /// The status of the process, if it exits in this thread.
    pub status: Cell<Option<i32>>,
    /// Whether what is allocated and given back is the runtime's own, or the C library's for threads.
    pub quiet: Cell<bool>,
}

impl Thread {
    /// Does something during which allocations are not logged. If the thread is cancelled meanwhile, those that its stack is unwound for
    /// are logged again. All else is logged as ever: a signal handler may interrupt a thread that waits here for another.
    pub fn quietly<T>(&self, action: impl FnOnce() -> T) -> T {
        let _quiet = Quiet { thread: self, before: self.quiet.replace(true) };
        action()
    }
}

/// While this is there, allocations are not logged.
struct Quiet<'a> {
    thread: &'a Thread,
    before: bool,
}

impl Drop for Quiet<'_> {
    fn drop(&mut self) {
        self.thread.quiet.set(self.before);
    }
}

thread_local! {
    static THREAD: Thread = const {
        Thread {
            stream: Stream::closed(),
            children: Cell::new(0),
            number: Cell::new(0),
            matched: Cell::new(None),
            fault_site: Cell::new(NO_SITE),
            occurrence: Cell::new(0),
            alive: Cell::new(false),
            standard: State::new(),
            status: Cell::new(None),
            quiet: Cell::new(false),
        }
    };
}

/// Does something with what this thread knows of itself.
#[inline(always)]
pub fn with<T>(action: impl FnOnce(&Thread) -> T) -> T {
    // The address alone is small enough for the compiler to put it where it is used: it makes one function of the action otherwise, which is
    // called for each record.
    let thread = THREAD.with(std::ptr::from_ref);
    // SAFETY: it is this thread's own, and is never dropped.
    action(unsafe { &*thread })
}

static STAMP: AtomicU64 = AtomicU64::new(0);

/// The next stamp. One counter for all threads is what makes the order of stamps that of the events.
pub fn stamp() -> u64 {
    STAMP.fetch_add(1, Ordering::SeqCst) + 1
}

/// Writes an event with a stamp. Nothing is counted if this thread does not write now.
pub fn event(event: impl FnOnce(u64) -> Event) {
    with(|thread| {
        if thread.stream.is_open() && !thread.standard.quiet.get() {
            thread.stream.event(event(stamp()));
        }
    });
}
