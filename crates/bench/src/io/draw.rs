//! Random choices.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Maps a random number to one below `count`: multiply-shift (Lemire 2019); the bias is below `count` / 2^64.
#[inline]
pub(crate) fn below(random: u64, count: u64) -> u64 {
    ((u128::from(random) * u128::from(count)) >> 64) as u64
}

#[derive(Debug)]
pub struct Draw(Xoshiro256PlusPlus);

impl Draw {
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    pub fn below(&mut self, count: u64) -> u64 {
        below(self.0.next_u64(), count.max(1))
    }

    pub fn share(&mut self) -> f64 {
        self.below(1 << 52) as f64 / (1u64 << 52) as f64
    }

    /// The offset of a block in `span` bytes.
    pub fn place(&mut self, span: u64, block: u64) -> u64 {
        self.below(span / block) * block
    }

    /// Fisher and Yates.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}
