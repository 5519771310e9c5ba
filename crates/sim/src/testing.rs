//! What tests of computed passes share: drives and passes that chance puts together.

use crate::device::{Nanos, Op};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Most by which a computed pass may differ from a stepped one.
pub(crate) const MOST: f64 = 0.005;
/// Shorter passes are a matter of single turns or programs.
pub(crate) const LEAST: Nanos = 1_000_000_000;

pub(crate) struct Chance(Xoshiro256PlusPlus);

impl Chance {
    pub(crate) fn of(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    pub(crate) fn whole(&mut self, from: u64, to: u64) -> u64 {
        self.0.random_range(from..=to)
    }

    pub(crate) fn real(&mut self, from: f64, to: f64) -> f64 {
        self.0.random_range(from..=to)
    }

    /// Each power of two between as likely as the next.
    pub(crate) fn scaled(&mut self, from: f64, to: f64) -> f64 {
        self.real(from.ln(), to.ln()).exp()
    }

    pub(crate) fn in_a(&mut self, hundred: u64) -> bool {
        self.whole(1, 100) <= hundred
    }

    pub(crate) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.whole(0, choices.len() as u64 - 1) as usize]
    }
}

/// What one case is.
#[derive(Debug)]
pub(crate) struct Pass {
    pub(crate) op: Op,
    pub(crate) from: u64,
    pub(crate) len: u64,
    pub(crate) chunk: u64,
    pub(crate) depth: u32,
}
