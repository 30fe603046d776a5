//! Random numbers for random runs: the same for a seed and the number of a run, everywhere.

/// SplitMix64: small, good enough to choose steps, and the same everywhere.
pub(crate) struct Random(u64);

impl Random {
    /// The numbers for a run.
    pub fn new(seed: u64, run: u64) -> Self {
        let mut random = Random(seed ^ run.wrapping_mul(0xA076_1D64_78BD_642F));
        random.next();
        random
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// One below a bound that is not zero.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}
