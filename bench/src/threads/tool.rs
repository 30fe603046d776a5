//! What a program may use of a tool: threads, atomics and locks.

use std::ops::DerefMut;

/// A library that mirrors the standard one, and that explores what is written with it.
///
/// What threads only share to find each other is in a plain `std::sync::Arc` for all tools: none of
/// them then explores the orders in which references are dropped.
pub trait Tool: 'static {
    /// An atomic number, all accesses to which are sequentially consistent.
    type Atomic: Send + Sync + 'static;
    /// A lock around a number.
    type Lock: Send + Sync + 'static;
    /// Keeps it locked.
    type Guard<'a>: DerefMut<Target = usize>;
    /// Lets one wait for a thread.
    type Thread;

    /// How many threads a program may have, with the main one.
    const MOST_THREADS: usize = usize::MAX;

    /// Makes an atomic.
    fn atomic(value: usize) -> Self::Atomic;
    /// Reads it.
    fn load(atomic: &Self::Atomic) -> usize;
    /// Writes it.
    fn store(atomic: &Self::Atomic, value: usize);
    /// Writes it if it is zero: whether it was.
    fn claim(atomic: &Self::Atomic, value: usize) -> bool;
    /// Makes a lock that is free.
    fn mutex(value: usize) -> Self::Lock;
    /// Waits until it is free, and takes it.
    fn lock(lock: &Self::Lock) -> Self::Guard<'_>;
    /// Begins a thread.
    fn spawn(body: impl FnOnce() + Send + 'static) -> Self::Thread;
    /// Waits until it has ended.
    fn join(thread: Self::Thread);

    /// Explores all executions of a program.
    ///
    /// # Errors
    ///
    /// If something is wrong with the program but a deadlock, or if the tool says that it has not
    /// explored everything.
    fn explore(main: impl Fn() + Send + Sync + 'static) -> Result<Explored, String>;
}

/// What a tool says of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Explored {
    /// Nothing is wrong in any execution; how many there are, where the tool tells.
    Complete(Option<u64>),
    /// There is a deadlock.
    Deadlock,
}

/// What a tool says of a program that panics if something is wrong.
///
/// # Errors
///
/// With the panic, if it is not about a deadlock.
pub fn caught(explored: std::thread::Result<Explored>) -> Result<Explored, String> {
    explored.or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        match text.unwrap_or("a panic without words") {
            text if text.contains("deadlock") => Ok(Explored::Deadlock),
            text => Err(text.to_owned()),
        }
    })
}
