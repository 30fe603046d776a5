//! Async tasks under control, in the shape of `tokio`.
//!
//! A crate can be checked by changing one line: where it says `tokio`, a check says this module.
//!
//! ```
//! // #[cfg(not(allways))] use tokio; and for the check:
//! use allways_threads::future as tokio;
//! use tokio::sync::oneshot;
//!
//! async fn answer() -> u32 {
//!     let (sender, receiver) = oneshot::channel();
//!     tokio::spawn(async { sender.send(7) });
//!     receiver.await.unwrap()
//! }
//!
//! let outcome = allways_threads::Program::new(|| assert_eq!(tokio::block_on(answer()), 7)).check();
//! assert!(outcome.assert_holds().complete);
//! // The receiver is polled before the message is there, or after.
//! assert_eq!(outcome.statistics.runs, Some(2));
//! ```
//!
//! **Tasks are threads of control.** Each polls its future, and stops while that is not ready. There is no pool of workers that tasks take turns on: all that
//! can happen when tasks run on any number of workers is explored, and also that each has one for itself.
//!
//! **What polling adds.** Whether a future was ready at once or had to wait can be seen by those who poll it, so both are explored: each wait that may be in
//! vain has two ways to go, where a thread that blocks has one. Besides, tasks cost what threads do.
//!
//! **Who is woken, and when.** A task is polled again when something has come that one of its futures waits for, and when its waker was called.
//! Wakers give a token, of which there is one or none. A waker that is called when its task has ended does nothing. A future that keeps no waker, or loses it, is found: its task
//! waits for ever.
//!
//! **How it ends.** Nobody has to wait for a task. When all threads have ended, tasks that await something are dropped where they are, as when a `tokio` runtime is shut
//! down. It is a deadlock if a thread waits for ever, [`block_on`] included, or if a task blocks for ever in something that is
//! not awaited. A task that panics ends the run: that is a violation.
//!
//! **Loops that await.** What tells the rounds of a loop apart may be in a future in the heap, where the checker does not look. So a loop that polls something until it comes is
//! run round by round, and without an end of its own it hits the bound on depth: the outcome says so. Await what is to come instead.
//!
//! **What is hidden.** Futures that share something with their tasks without this crate's help hide that from the checker. `FuturesUnordered` and
//! the like, which have wakers of their own, work, but the order in which several of its futures are woken at the same time is not explored.
//!
//! Outside of a check, all of this works too: each task is a thread of the operating system.

mod executor;
mod race;
mod real;
pub mod sync;
pub mod task;
pub mod time;

pub use executor::block_on;
pub use race::{Either, Race, join, race, select};
pub use sync::{Mutex, MutexGuard, Notify, mpsc, oneshot};
pub use task::{JoinHandle, spawn, yield_now};
pub use time::{sleep, timeout};
