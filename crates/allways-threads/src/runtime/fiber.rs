//! Coroutines that are used again: one runs one thread after the other.
//!
//! To make a stack takes longer than most runs, and to begin a coroutine longer than to let one go on. So a fiber that has run a thread to its
//! end waits for the next one; and those of a check are kept for the next check on the same thread of the operating system.

use super::current;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::cell::RefCell;
use std::io;
use std::ptr::null;

/// What a thread does.
pub(crate) trait Job {
    /// Does it. Called once.
    fn run(&self);
}

/// A coroutine that runs threads.
pub(crate) struct Fiber {
    coroutine: Coroutine<(), (), (), DefaultStack>,
    /// How large its stack is.
    size: usize,
}

/// What a thread that stops needs.
#[derive(Clone, Copy)]
pub(crate) struct Stop(*const Yielder<(), ()>);

impl Stop {
    pub const NOWHERE: Stop = Stop(null());

    /// Where the stack of what the fiber runs begins. Behind that is where it was resumed from, which is another place each time.
    pub fn base(self) -> usize {
        self.0.addr()
    }

    /// Stops the thread that runs, until it is resumed.
    ///
    /// # Safety
    ///
    /// It must be that of the fiber that runs.
    #[inline]
    pub unsafe fn stop(self) {
        // Safety: the fiber runs, so its yielder is there.
        unsafe { (*self.0).suspend(()) };
    }
}

impl Fiber {
    /// A fiber that waits for a thread.
    pub fn new(size: usize) -> io::Result<Box<Self>> {
        Ok(Self::on(DefaultStack::new(size)?, size))
    }

    fn on(stack: DefaultStack, size: usize) -> Box<Self> {
        let coroutine = Coroutine::with_stack(stack, |yielder: &Yielder<(), ()>, ()| {
            // Who resumes it has a thread for it, or wants it to end.
            while let Some(runtime) = current() {
                if !runtime.run_thread(Stop(yielder)) {
                    break;
                }
                yielder.suspend(());
            }
        });
        Box::new(Fiber { coroutine, size })
    }

    /// Lets it run until it stops, or its thread has ended.
    ///
    /// # Safety
    ///
    /// It must not move meanwhile.
    #[inline]
    pub unsafe fn resume(this: *mut Fiber) {
        // Safety: it stays where it is.
        let result = unsafe { (*this).coroutine.resume(()) };
        debug_assert_eq!(result, CoroutineResult::Yield(()), "a fiber that has a thread stops");
    }

    /// A fiber in place of one that has stopped in the midst of its thread: what is on the stack is never dropped.
    #[allow(clippy::boxed_local, reason = "fibers stay where they are")]
    pub fn abandon(mut self: Box<Self>) -> Box<Self> {
        // Safety: what is on the stack is never used again.
        unsafe { self.coroutine.force_reset() };
        let Fiber { coroutine, size, .. } = *self;
        Self::on(coroutine.into_stack(), size)
    }
}

thread_local! {
    /// Fibers that wait for a thread of another check.
    #[allow(clippy::vec_box, reason = "they must stay where they are")]
    static IDLE: RefCell<Vec<Box<Fiber>>> = const { RefCell::new(Vec::new()) };
}

/// So many are kept.
const MOST: usize = 64;

/// A fiber with a stack of this size.
pub(crate) fn take(size: usize) -> io::Result<Box<Fiber>> {
    let known = IDLE.with_borrow_mut(|idle| {
        let place = idle.iter().position(|fiber| fiber.size == size)?;
        Some(idle.swap_remove(place))
    });
    known.map_or_else(|| Fiber::new(size), Ok)
}

/// Keeps fibers for another check.
pub(crate) fn give_back(fibers: impl Iterator<Item = Box<Fiber>>) {
    // At the end of a thread of the operating system there is nowhere to keep them.
    let _ = IDLE.try_with(|idle| {
        let mut idle = idle.borrow_mut();
        let room = MOST.saturating_sub(idle.len());
        idle.extend(fibers.take(room));
    });
}
