//! Random numbers that are the same for the same seed, on every machine and in every version: a campaign can be repeated.
//!
//! This is SplitMix64: a counter that goes in steps of an odd number, and a bijection that mixes its bits. Faults are no secrets,
//! so nothing more is needed.

/// A source of random numbers.
#[derive(Clone, Debug)]
pub(super) struct Random {
    state: u64,
}

impl Random {
    /// The numbers of this seed and this text: those of another text have nothing to do with them.
    pub fn new(seed: u64, text: &str) -> Self {
        let mut random = Random { state: seed };
        for byte in text.bytes() {
            random.state = random.next() ^ u64::from(byte);
        }
        random
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below this one, each as likely as the others; 0 if there is none.
    pub fn below(&mut self, end: u64) -> u64 {
        if end == 0 {
            return 0;
        }
        // The last numbers that do not make up a whole round would be too likely.
        let whole = u64::MAX - u64::MAX % end;
        loop {
            let number = self.next();
            if number < whole {
                return number % end;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_seed_and_the_text() {
        let numbers = |seed, text| {
            let mut random = Random::new(seed, text);
            [random.next(), random.next(), random.next()]
        };
        assert_eq!(numbers(1, "bitflip"), numbers(1, "bitflip"));
        assert_ne!(numbers(1, "bitflip"), numbers(2, "bitflip"));
        assert_ne!(numbers(1, "bitflip"), numbers(1, "mallsize"));
        // Known from the description of the algorithm.
        assert_eq!(numbers(0, "")[0], 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn each_number_is_about_as_likely() {
        let mut random = Random::new(7, "");
        let mut seen = [0_u32; 10];
        for _ in 0..10_000 {
            seen[random.below(10) as usize] += 1;
        }
        assert!(seen.iter().all(|count| (850..1150).contains(count)), "{seen:?}");
        assert_eq!(random.below(0), 0);
    }
}
