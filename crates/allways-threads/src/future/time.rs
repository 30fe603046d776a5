//! Time for tasks, as in `tokio::time`.
//!
//! In a check, that somebody who sleeps wakes is something that may happen at any time. Of those that one task waits for, the one that is to
//! wake first does; which of two tasks wakes first is not known. See [`time`](crate::time).

use super::executor::{Watch, ring};
use super::real;
use crate::runtime::awaits::ANY_TIME;
use crate::runtime::{Runtime, Sleeper, current};
use crate::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::fmt;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

pub use crate::time::{Duration, Instant};

/// Waits for some time: see [`sleep`].
///
/// ```
/// use allways_threads::future::{block_on, time};
/// let sleep: time::Sleep = time::sleep(time::Duration::from_millis(1));
/// block_on(sleep);
/// ```
#[must_use = "futures do nothing unless they are awaited"]
pub struct Sleep {
    until: Until,
    at: &'static Location<'static>,
}

enum Until {
    Real(real::Timer),
    /// The thread that waits, and its place among what waits there. When it ends is known there: so it looks the same in each round of a loop.
    Led(u32, usize),
    /// Somebody else is told when it has come.
    Told(Arc<AtomicBool>),
}

/// Waits for some time. In a check others may do anything meanwhile, or nothing.
///
/// ```
/// use allways_threads::future::{block_on, time::{Duration, Instant, sleep}};
/// let begin = Instant::now();
/// block_on(sleep(Duration::from_millis(2)));
/// assert!(begin.elapsed() >= Duration::from_millis(2));
/// ```
#[track_caller]
pub fn sleep(duration: Duration) -> Sleep {
    let until = match current() {
        None => {
            let now = std::time::Instant::now();
            // As good as never.
            let far = Duration::from_secs(u32::MAX.into());
            let when = now.checked_add(duration).or_else(|| now.checked_add(far)).unwrap_or(now);
            Until::Real(real::Timer::new(when))
        }
        Some(runtime) => {
            let until = nanos(runtime.time().saturating_add(duration));
            let sleeper = Sleeper { until, is_awaited: false };
            Until::Led(runtime.running(), runtime.running_thread().add_sleeper(sleeper))
        }
    };
    Sleep { until, at: Location::caller() }
}

/// Waits until some time.
///
/// ```
/// use allways_threads::future::{block_on, time::{Duration, Instant, sleep_until}};
/// let end = Instant::now() + Duration::from_millis(2);
/// block_on(sleep_until(end));
/// assert!(Instant::now() >= end);
/// ```
#[track_caller]
pub fn sleep_until(end: Instant) -> Sleep {
    sleep(end.saturating_duration_since(Instant::now()))
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A future that waits, by the thread that it waits on and its place there.
fn sleeper(runtime: &mut Runtime, thread: u32, place: usize) -> Option<&mut Option<Sleeper>> {
    runtime.population.threads.get_mut(thread as usize)?.sleepers.get_mut(place)
}

impl Until {
    /// Whether the time has come.
    fn has_come(&self) -> bool {
        match self {
            Until::Real(timer) => std::time::Instant::now() >= timer.when(),
            Until::Told(has_come) => has_come.load(SeqCst),
            Until::Led(thread, place) => {
                let Some(runtime) = current() else { return true };
                // A thread that is cleaning up waits for nothing.
                let now = nanos(runtime.time());
                runtime.is_cleaning_up()
                    || sleeper(runtime, *thread, *place)
                        .is_none_or(|sleeper| sleeper.is_none_or(|sleeper| sleeper.until <= now))
            }
        }
    }

    /// The one who polls is to be woken.
    fn wait(&mut self, cx: &Context<'_>, at: &'static Location<'static>) {
        let (thread, place) = match self {
            Until::Real(timer) => return timer.set(cx.waker().clone()),
            Until::Told(_) => return,
            Until::Led(thread, place) => (thread, place),
        };
        let Some(runtime) = current() else { return };
        let running = runtime.running();
        let Some(&mut Some(found)) = sleeper(runtime, *thread, *place) else { return };
        if runtime.running_thread().awaiting.is_own(cx.waker()) {
            runtime.running_thread().awaiting.at = Some(at);
            let awaited = Sleeper { is_awaited: true, ..found };
            if *thread == running {
                runtime.running_thread().sleepers[*place] = Some(awaited);
            } else {
                self.forget();
                *self = Until::Led(running, runtime.running_thread().add_sleeper(awaited));
            }
        } else if !cx.waker().will_wake(Waker::noop()) {
            let rest = Duration::from_nanos(found.until).saturating_sub(runtime.time());
            let (waker, has_come) = (cx.waker().clone(), Arc::new(AtomicBool::new(false)));
            *self = Until::Told(Arc::clone(&has_come));
            ring(ANY_TIME, at, move || {
                crate::thread::sleep(rest);
                has_come.store(true, SeqCst);
                waker.wake();
            });
        }
    }

    /// Does not wait any more.
    fn forget(&mut self) {
        if let Until::Led(thread, place) = self
            && let Some(runtime) = current()
            && let Some(sleeper) = sleeper(runtime, *thread, *place)
        {
            *sleeper = None;
            *place = usize::MAX;
        }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.until.has_come() {
            self.until.forget();
            return Poll::Ready(());
        }
        let at = self.at;
        self.until.wait(cx, at);
        Poll::Pending
    }
}

impl Drop for Until {
    fn drop(&mut self) {
        self.forget();
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sleep { .. }")
    }
}

/// Says that something has taken too long.
///
/// ```
/// use allways_threads::future::{block_on, time::{Duration, timeout}};
/// let result = block_on(timeout(Duration::from_millis(1), std::future::pending::<()>()));
/// assert_eq!(result.unwrap_err().to_string(), "it has taken too long");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Elapsed(());

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it has taken too long")
    }
}

impl std::error::Error for Elapsed {}

/// Waits for something, but not for too long: see [`timeout`].
///
/// ```
/// use allways_threads::future::{block_on, time::{Duration, timeout}};
/// assert!(block_on(timeout(Duration::from_secs(1), async {})).is_ok());
/// ```
#[must_use = "futures do nothing unless they are awaited"]
#[derive(Debug)]
pub struct Timeout<F> {
    future: F,
    sleep: Sleep,
}

/// Waits for something, but not for too long. In a check, that it takes too long is something that may happen at any time while it is
/// not ready.
///
/// ```
/// use allways_threads::future::{block_on, time::{Duration, timeout}};
/// let (little, much) = (Duration::from_millis(1), Duration::from_secs(1));
/// assert!(block_on(timeout(much, async {})).is_ok());
/// assert!(block_on(timeout(little, std::future::pending::<()>())).is_err());
/// ```
#[track_caller]
pub fn timeout<F: IntoFuture>(duration: Duration, future: F) -> Timeout<F::IntoFuture> {
    Timeout { future: future.into_future(), sleep: sleep(duration) }
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Elapsed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let _watch = Watch::begin();
        // Safety: the future is not moved out of where it is pinned; the other is not pinned there.
        let this = unsafe { self.get_unchecked_mut() };
        // Safety: as above.
        if let Poll::Ready(value) = unsafe { Pin::new_unchecked(&mut this.future) }.poll(cx) {
            return Poll::Ready(Ok(value));
        }
        Pin::new(&mut this.sleep).poll(cx).map(|()| Err(Elapsed(())))
    }
}
