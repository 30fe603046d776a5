//! Pending timers on the real clock.

use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// When each pending timer fires.
#[derive(Debug)]
pub(crate) struct Timers<T> {
    deadlines: BTreeMap<T, Instant>,
}

impl<T: Ord + Clone> Timers<T> {
    pub fn new() -> Self {
        Timers { deadlines: BTreeMap::new() }
    }

    /// Takes over which timers are pending: those that are new fire after what `after` says, those
    /// that were pending fire when they would have.
    pub fn keep(&mut self, pending: &[T], now: Instant, after: impl Fn(&T) -> Duration) {
        if self.deadlines.is_empty() && pending.is_empty() {
            return;
        }
        self.deadlines.retain(|timer, _| pending.binary_search(timer).is_ok());
        for timer in pending {
            if !self.deadlines.contains_key(timer) {
                self.deadlines.insert(timer.clone(), now + after(timer));
            }
        }
    }

    /// When the next timer fires.
    pub fn next(&self) -> Option<Instant> {
        self.deadlines.values().min().copied()
    }

    /// Takes the timer that is due longest, if one is.
    pub fn due(&mut self, now: Instant) -> Option<T> {
        let (timer, at) = self.deadlines.iter().min_by_key(|(_, at)| **at)?;
        let timer = (*at <= now).then(|| timer.clone())?;
        self.deadlines.remove(&timer);
        Some(timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn timers_fire_in_order_and_setting_a_pending_one_changes_nothing() {
        let after = |timer: &u64| Duration::from_millis(*timer);
        let start = Instant::now();
        let mut timers = Timers::new();
        timers.keep(&[10, 20, 30], start, after);
        assert_eq!(timers.next(), Some(start + Duration::from_millis(10)));
        assert_eq!(timers.due(start), None);
        let later = start + Duration::from_millis(15);
        assert_eq!(timers.due(later), Some(10));
        // 10 is set again, 20 is pending still, 30 is cancelled.
        timers.keep(&[10, 20], later, after);
        assert_eq!(timers.next(), Some(start + Duration::from_millis(20)));
        let end = start + Duration::from_secs(1);
        assert_eq!((timers.due(end), timers.due(end), timers.due(end)), (Some(20), Some(10), None));
    }
}
