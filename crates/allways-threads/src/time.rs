//! Time, as in `std::time`. In a check it passes only where somebody waits for it.
//!
//! Each thread has a clock, which is never behind that of anything that happens before. Sleeping and waiting too long move it on. How long
//! something takes is not known to a check: a thread that sleeps may wake before or after anything that others do, and a
//! wait with a time limit may end at any time.

use crate::runtime::current;
use std::ops::{Add, AddAssign, Sub, SubAssign};
pub use std::time::Duration;

/// A point in time, as in `std::time`.
///
/// ```
/// use allways_threads::{thread, time::{Duration, Instant}};
/// let begin = Instant::now();
/// thread::sleep(Duration::from_millis(2));
/// assert!(begin.elapsed() >= Duration::from_millis(2));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Instant(Kind);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Kind {
    Real(std::time::Instant),
    /// Since the start of the run.
    Led(Duration),
}

#[allow(missing_docs, reason = "each is what it is in std")]
impl Instant {
    pub fn now() -> Self {
        match current() {
            None => Instant(Kind::Real(std::time::Instant::now())),
            Some(runtime) => {
                let thread = runtime.running_thread();
                thread.rounds.look_at_clock(thread.clock);
                Instant(Kind::Led(runtime.time()))
            }
        }
    }

    pub fn duration_since(&self, earlier: Instant) -> Duration {
        self.saturating_duration_since(earlier)
    }

    pub fn checked_duration_since(&self, earlier: Instant) -> Option<Duration> {
        match (self.0, earlier.0) {
            (Kind::Real(a), Kind::Real(b)) => a.checked_duration_since(b),
            (Kind::Led(a), Kind::Led(b)) => a.checked_sub(b),
            // One of a check and one of none have nothing in common.
            _ => None,
        }
    }

    pub fn saturating_duration_since(&self, earlier: Instant) -> Duration {
        self.checked_duration_since(earlier).unwrap_or_default()
    }

    pub fn elapsed(&self) -> Duration {
        Instant::now().duration_since(*self)
    }

    pub fn checked_add(&self, duration: Duration) -> Option<Instant> {
        Some(Instant(match self.0 {
            Kind::Real(real) => Kind::Real(real.checked_add(duration)?),
            Kind::Led(led) => Kind::Led(led.checked_add(duration)?),
        }))
    }

    pub fn checked_sub(&self, duration: Duration) -> Option<Instant> {
        Some(Instant(match self.0 {
            Kind::Real(real) => Kind::Real(real.checked_sub(duration)?),
            Kind::Led(led) => Kind::Led(led.checked_sub(duration)?),
        }))
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, duration: Duration) -> Instant {
        self.checked_add(duration).unwrap_or_else(|| panic!("overflow when adding to an instant"))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;
    fn sub(self, duration: Duration) -> Instant {
        self.checked_sub(duration)
            .unwrap_or_else(|| panic!("overflow when subtracting from an instant"))
    }
}

impl SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, duration: Duration) {
        *self = *self - duration;
    }
}

impl Sub for Instant {
    type Output = Duration;
    fn sub(self, other: Instant) -> Duration {
        self.duration_since(other)
    }
}
