//! Tasks, as in `tokio::task`.
//!
//! Each task is a thread of control of its own: in a check a thread that the checker leads, outside of one a thread of the operating
//! system. So a task may also block, and what takes long in one does not keep others from going on.

mod error;
mod led;
mod real;

pub use error::JoinError;

use super::real::Token;
use crate::handle::Handle;
use crate::runtime::current;
use crate::runtime::op::Kind;
use led::Led;
use real::Real;
use std::fmt;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Begins a task. It goes on also if nobody waits for it.
///
/// ```
/// use allways_threads::future::{block_on, spawn};
/// let seven = block_on(async { spawn(async { 7 }).await });
/// assert_eq!(seven.unwrap(), 7);
/// ```
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    match current() {
        None => JoinHandle { inner: Inner::Real(real::spawn(future)) },
        Some(_) => JoinHandle { inner: Inner::Led(led::spawn(future, Location::caller())) },
    }
}

/// Begins a task that blocks. Here all tasks may.
///
/// ```
/// use allways_threads::future::{block_on, task};
/// let seven = block_on(task::spawn_blocking(|| 7));
/// assert_eq!(seven.unwrap(), 7);
/// ```
#[track_caller]
pub fn spawn_blocking<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    spawn(async { f() })
}

/// Lets others go first. In a check they may anyway.
///
/// ```
/// use allways_threads::future::{block_on, task};
/// block_on(task::yield_now());
/// ```
pub async fn yield_now() {
    let mut has_yielded = false;
    let yields = |cx: &mut Context<'_>| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    };
    std::future::poll_fn(yields).await;
}

/// Lets one wait for a task, and abort it. The task goes on if it is dropped.
///
/// ```
/// use allways_threads::future::{block_on, spawn};
/// let task = spawn(async { 7 });
/// assert_eq!(block_on(task).unwrap(), 7);
/// ```
pub struct JoinHandle<T> {
    inner: Inner<T>,
}

/// Aborts a task.
///
/// ```
/// use allways_threads::future::{block_on, spawn};
/// let task = spawn(std::future::pending::<()>());
/// let handle = task.abort_handle();
/// handle.abort();
/// assert!(block_on(task).is_err());
/// ```
#[derive(Clone)]
pub struct AbortHandle {
    inner: Abort,
}

#[derive(Clone)]
enum Abort {
    Real(Arc<Token>),
    Led(Handle),
}

enum Inner<T> {
    Real(Arc<Real<T>>),
    Led(Led<T>),
}

impl<T> JoinHandle<T> {
    /// Has the task end where it awaits something: its future is dropped there, by the task itself. A task that has not begun does not begin.
    ///
    /// ```
    /// use allways_threads::future::{block_on, spawn};
    /// let task = spawn(std::future::pending::<()>());
    /// task.abort();
    /// assert!(block_on(task).is_err());
    /// ```
    #[track_caller]
    pub fn abort(&self) {
        self.abort_handle().abort();
    }

    /// What aborts the task.
    ///
    /// ```
    /// let task = allways_threads::future::spawn(std::future::pending::<()>());
    /// task.abort_handle().abort();
    /// ```
    pub fn abort_handle(&self) -> AbortHandle {
        let inner = match &self.inner {
            Inner::Real(real) => Abort::Real(Arc::clone(&real.token)),
            Inner::Led(led) => Abort::Led(led.task),
        };
        AbortHandle { inner }
    }

    /// Whether the task has ended.
    ///
    /// ```
    /// use allways_threads::future::{block_on, spawn};
    /// let mut task = spawn(async {});
    /// block_on(&mut task).unwrap();
    /// assert!(task.is_finished());
    /// ```
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        match &self.inner {
            Inner::Real(real) => real.has_ended(),
            Inner::Led(led) => led.is_taken || led.has_ended(Location::caller()).1,
        }
    }
}

impl AbortHandle {
    /// Aborts the task: see [`JoinHandle::abort`].
    ///
    /// ```
    /// let task = allways_threads::future::spawn(std::future::pending::<()>());
    /// task.abort_handle().abort();
    /// ```
    #[track_caller]
    pub fn abort(&self) {
        match &self.inner {
            Abort::Real(token) => token.abort(),
            Abort::Led(task) => {
                if let Some(runtime) = current() {
                    // That it may be aborted matters now, so its beginning has to be an event.
                    runtime.population.names.try_to_take(task.object());
                    task.access(Kind::Abort, 0, Location::caller());
                }
            }
        }
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.inner {
            Inner::Real(real) => real.poll(cx),
            Inner::Led(led) => led.poll(cx),
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JoinHandle { .. }")
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AbortHandle { .. }")
    }
}
