//! A small seeded generator for resampling. Not for secrets.
//!
//! Reference: D. Blackman and S. Vigna, "Scrambled Linear Pseudorandom Number Generators", ACM TOMS 47(4),
//! 2021 (xoshiro256++, seeded through SplitMix64 as they recommend). Range reduction by
//! multiplication: D. Lemire, ACM TOMACS 29(1), 2019.

/// xoshiro256++.
pub(crate) struct Random([u64; 4]);

impl Random {
    pub fn new(seed: u64) -> Self {
        let mut counter = seed;
        Self(std::array::from_fn(|_| {
            counter = counter.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (counter ^ (counter >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            mixed ^ (mixed >> 31)
        }))
    }

    pub fn next(&mut self) -> u64 {
        let [a, b, c, d] = self.0;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.0 = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }

    /// An index below `n`. The bias of skipping rejection is n / 2⁶⁴.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// Standard normal, Box–Muller.
    pub fn normal(&mut self) -> f64 {
        let mut uniform = || ((self.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_numbers_are_the_reference_ones() {
        // Published vectors: SplitMix64 from 1234567 begins 6457827717110365317, 3203168211198807973;
        // xoshiro256++ from the state 1, 2, 3, 4 begins 41943041, 58720359, 3588806011781223.
        assert_eq!(Random::new(1_234_567).0[..2], [6457827717110365317, 3203168211198807973]);
        let mut random = Random([1, 2, 3, 4]);
        assert_eq!([(); 3].map(|()| random.next()), [41943041, 58720359, 3588806011781223]);
    }

    #[test]
    fn indices_are_even_and_normals_have_unit_variance() {
        let mut random = Random::new(1);
        let mut counts = [0u32; 7];
        (0..70_000).for_each(|_| counts[random.below(7)] += 1);
        assert!(counts.iter().all(|c| (9_600..10_400).contains(c)), "{counts:?}");
        let squares: f64 = (0..100_000).map(|_| random.normal().powi(2)).sum();
        assert!((squares / 1e5 - 1.0).abs() < 0.02);
    }
}
