//! Seeded randomness: splitmix64, enough to drop messages, to choose and to drive.

/// A source of random numbers that a seed determines.
#[derive(Clone, Debug)]
pub(crate) struct Coin(u64);

impl Coin {
    pub fn new(seed: u64) -> Self {
        Coin(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`; zero if there is none.
    pub fn below(&mut self, end: usize) -> usize {
        // The bias of the product is below what anybody could see.
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }

    /// True with this probability.
    pub fn lands(&mut self, probability: f64) -> bool {
        // 53 bits are what a double holds.
        ((self.next() >> 11) as f64) < probability * (1u64 << 53) as f64
    }
}

/// A number that differs from one start to the next: the time in nanoseconds, mixed.
pub(crate) fn fresh() -> u64 {
    Coin::new(now() ^ u64::from(std::process::id()).rotate_left(40)).next()
}

/// The time in nanoseconds.
pub(crate) fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coins_are_fair_and_seeded() {
        let mut coin = Coin::new(7);
        let mut again = coin.clone();
        let lost = (0..10_000).filter(|_| coin.lands(0.3)).count();
        assert!((2_800..3_200).contains(&lost), "{lost}");
        assert_eq!((0..10_000).filter(|_| again.lands(0.3)).count(), lost);
        assert!((0..1_000).all(|_| coin.below(3) < 3 && coin.lands(1.0) && !coin.lands(0.0)));
    }
}
