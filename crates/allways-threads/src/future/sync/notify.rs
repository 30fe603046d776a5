//! Notifications.

use super::gate::{Gate, Waiting};
use std::fmt;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Notifies tasks, as in `tokio::sync`: the one that has waited longest, or all. If nobody waits, the next who does is
/// notified at once.
///
/// ```
/// use allways_threads::future::{block_on, sync::Notify};
/// let notify = Notify::new();
/// notify.notify_one();
/// block_on(notify.notified());
/// ```
pub struct Notify {
    gate: Gate,
}

impl Notify {
    /// One that has notified nobody.
    ///
    /// ```
    /// let notify = allways_threads::future::sync::Notify::new();
    /// notify.notify_one();
    /// ```
    #[track_caller]
    pub fn new() -> Self {
        Notify { gate: Gate::keeps_one("notification", Location::caller()) }
    }

    /// Waits to be notified. Whoever [notifies all](Notify::notify_waiters) from now on notifies also this one, polled or not.
    ///
    /// ```
    /// use allways_threads::future::{block_on, sync::Notify};
    /// let notify = Notify::new();
    /// let notified = notify.notified();
    /// notify.notify_waiters();
    /// block_on(notified);
    /// ```
    #[track_caller]
    pub fn notified(&self) -> Notified<'_> {
        let ticket = self.gate.ticket_from_now(Location::caller());
        Notified { waiting: Waiting { gate: &self.gate, ticket }, is_over: false }
    }

    /// Notifies the one that has waited longest, or the next who does.
    ///
    /// ```
    /// use allways_threads::future::{block_on, sync::Notify};
    /// let notify = Notify::new();
    /// notify.notify_one();
    /// block_on(notify.notified());
    /// ```
    #[track_caller]
    pub fn notify_one(&self) {
        self.gate.release(Location::caller());
    }

    /// Notifies all who wait now.
    ///
    /// ```
    /// use allways_threads::future::{block_on, join, sync::Notify};
    /// let notify = Notify::new();
    /// let both = join(notify.notified(), notify.notified());
    /// notify.notify_waiters();
    /// block_on(both);
    /// ```
    #[track_caller]
    pub fn notify_waiters(&self) {
        self.gate.release_all(Location::caller());
    }
}

impl Default for Notify {
    #[track_caller]
    fn default() -> Self {
        Notify::new()
    }
}

impl fmt::Debug for Notify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Notify { .. }")
    }
}

/// Waits to be notified: see [`Notify::notified`].
///
/// ```
/// use allways_threads::future::{block_on, sync::{Notified, Notify}};
/// let notify = Notify::new();
/// let notified: Notified<'_> = notify.notified();
/// notify.notify_one();
/// block_on(notified);
/// ```
#[must_use = "futures do nothing unless they are awaited"]
pub struct Notified<'a> {
    waiting: Waiting<'a>,
    is_over: bool,
}

impl Notified<'_> {
    /// Begins to wait, without being awaited; says whether it is notified already.
    ///
    /// ```
    /// use allways_threads::future::{block_on, sync::Notify};
    /// let notify = Notify::new();
    /// let mut notified = std::pin::pin!(notify.notified());
    /// assert!(!notified.as_mut().enable());
    /// notify.notify_one();
    /// block_on(notified);
    /// ```
    pub fn enable(self: Pin<&mut Self>) -> bool {
        self.poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }
}

impl Future for Notified<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if !self.is_over {
            self.is_over = self.waiting.poll(cx).is_ready();
        }
        if self.is_over { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl fmt::Debug for Notified<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Notified { .. }")
    }
}
