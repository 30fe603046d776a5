//! How much work fixpoints may cost.
//!
//! A fixpoint that explodes or gains nothing is work lost, and whether one will gain anything is known only
//! afterwards. So there is a credit: some of it at first, a little more for each state that is expanded,
//! and more for what is left out. A state is reduced only while there is credit; what its
//! fixpoints cost in vain is taken from it. Otherwise everything is followed there, which is always right.
//! A fixpoint that was given up is tried again, elsewhere, once there is twice as much credit as it had: so all that
//! is lost stays in proportion to what following everything costs.
//!
//! Credit is counted in work, not in time: one thread always does the same.

/// So much work may be lost at first.
const START: i64 = 1 << 20;
/// So much more for each state: about half of what it costs to follow everything there.
const EARNED: i64 = 2;
/// So much more for each candidate that is left out.
const REPAID: i64 = 1 << 7;
/// There is never more than this.
const MOST: i64 = 1 << 20;
/// A fixpoint that has less than this is not begun again once one was given up.
const LEAST: i64 = 1 << 12;

/// What may still be lost.
pub(super) struct Credit {
    left: i64,
    /// So much there must be.
    needed: i64,
}

impl Credit {
    /// At first; `hopeless` if a fixpoint from the start of the system was given up.
    pub fn new(hopeless: bool) -> Self {
        match hopeless {
            true => Credit { left: 0, needed: LEAST },
            false => Credit { left: START, needed: 0 },
        }
    }

    /// A state is expanded: how much work a fixpoint may do there, if any.
    pub fn ask(&mut self) -> Option<u64> {
        self.left = (self.left + EARNED).min(MOST);
        (self.left >= self.needed).then_some(self.left.max(LEAST) as u64)
    }

    /// So many candidates were left out.
    pub fn gained(&mut self, left_out: u32) {
        self.left = (self.left + REPAID * i64::from(left_out)).min(MOST);
    }

    /// So much work was done in vain.
    pub fn lost(&mut self, work: u64) {
        self.left -= work as i64;
    }

    /// A fixpoint that might do so much work was given up.
    pub fn given_up(&mut self, max_work: u64) {
        self.needed = (2 * max_work as i64).clamp(LEAST, MOST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_is_not_tried_again_for_long() {
        let mut credit = Credit::new(false);
        let all = credit.ask().unwrap();
        let max_work = all / 4;
        credit.lost(all);
        credit.given_up(max_work);
        let mut states = 0;
        let next = loop {
            states += 1;
            if let Some(next) = credit.ask() {
                break next;
            }
        };
        assert!(next >= 2 * max_work);
        assert!(states * EARNED >= 2 * max_work as i64);
    }

    #[test]
    fn what_gains_something_goes_on() {
        let mut credit = Credit::new(false);
        for _ in 0..1 << 20 {
            assert!(credit.ask().is_some());
            credit.lost(REPAID as u64);
            credit.gained(1);
        }
    }

    #[test]
    fn what_gains_nothing_is_tried_now_and_then() {
        let mut credit = Credit::new(true);
        let tried = (0..1 << 20).filter(|_| {
            credit.ask().is_some_and(|_| {
                credit.lost(200);
                true
            })
        });
        let tried = tried.count() as i64;
        assert!(tried > 0 && 200 * tried <= EARNED << 20);
    }
}
