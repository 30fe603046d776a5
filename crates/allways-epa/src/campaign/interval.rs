//! How sure one can be of a share that was measured by random samples: the interval of Wilson.
//!
//! The usual interval, a share plus or minus some standard deviations, is empty if all or none of the samples are hits, as happens here
//! often, and leaves the range from 0 to 1. Wilson's asks instead which shares would make the samples likely enough, and does neither.

/// The quantile of the normal distribution for 95 %.
const QUANTILE: f64 = 1.959_963_984_540_054;

/// A share of runs, and the interval that it lies in with a probability of 95 %.
///
/// ```
/// use allways_epa::campaign::Share;
/// let share = Share { hits: 50, of: 100 };
/// assert_eq!(share.value(), Some(0.5));
/// let (low, high) = share.interval();
/// assert!((low - 0.4038).abs() < 1e-4 && (high - 0.5962).abs() < 1e-4);
/// assert_eq!(Share::default().interval(), (0.0, 1.0)); // Nothing is known.
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Share {
    /// How many.
    pub hits: u64,
    /// Of how many.
    pub of: u64,
}

impl Share {
    /// The share, from 0 to 1; `None` of nothing.
    pub fn value(self) -> Option<f64> {
        (self.of > 0).then(|| self.hits as f64 / self.of as f64)
    }

    /// The interval of Wilson for 95 %.
    pub fn interval(self) -> (f64, f64) {
        let Some(share) = self.value() else { return (0.0, 1.0) };
        let count = self.of as f64;
        let square = QUANTILE * QUANTILE;
        let middle = share + square / (2.0 * count);
        let spread =
            QUANTILE * (share * (1.0 - share) / count + square / (4.0 * count * count)).sqrt();
        let scale = 1.0 + square / count;
        // What is exact in theory is rounded here.
        let low = if self.hits == 0 { 0.0 } else { (middle - spread) / scale };
        let high = if self.hits == self.of { 1.0 } else { (middle + spread) / scale };
        (low.clamp(0.0, 1.0), high.clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near((low, high): (f64, f64), (low_expected, high_expected): (f64, f64)) -> bool {
        (low - low_expected).abs() < 5e-4 && (high - high_expected).abs() < 5e-4
    }

    #[test]
    fn intervals_are_those_of_the_tables() {
        for (hits, of, expected) in [
            (0, 10, (0.0, 0.2775)),
            (10, 10, (0.7225, 1.0)),
            (1, 10, (0.0179, 0.4042)),
            (81, 263, (0.2553, 0.3662)),
            (4400, 5000, (0.8707, 0.8887)),
        ] {
            let interval = Share { hits, of }.interval();
            assert!(near(interval, expected), "{hits} of {of}: {interval:?}");
        }
    }

    #[test]
    fn the_share_is_in_its_interval_and_more_runs_make_it_narrower() {
        for hits in 0..=20 {
            let (few, many) = (Share { hits, of: 20 }, Share { hits: hits * 50, of: 1000 });
            let (low, high) = few.interval();
            assert!(low <= few.value().unwrap() && few.value().unwrap() <= high);
            let (low_many, high_many) = many.interval();
            assert!(high_many - low_many < high - low);
        }
    }
}
