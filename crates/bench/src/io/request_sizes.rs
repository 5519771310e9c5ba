//! How large the next request is: always the same, or one of several sizes by their shares.

use drivescope_model::cell::Shape;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

#[derive(Debug)]
pub struct RequestSizes {
    largest: u32,
    mixed: Option<Box<MixedSizes>>,
}

#[derive(Debug)]
struct MixedSizes {
    /// Bytes of each size, and up to which number drawn it is chosen.
    sizes: Vec<(u32, u32)>,
    random: Xoshiro256PlusPlus,
}

impl RequestSizes {
    pub fn new(shape: &Shape, seed: u64) -> Self {
        let mixed = shape.split.map(|split| {
            let (mut percents, mut sizes) = (0, Vec::new());
            for (size, percent) in split.sizes() {
                percents += u64::from(percent);
                sizes.push((size.0 as u32, (u64::from(u32::MAX) * percents / 100) as u32));
            }
            Box::new(MixedSizes { sizes, random: Xoshiro256PlusPlus::seed_from_u64(seed) })
        });
        Self { largest: shape.block.0 as u32, mixed }
    }

    pub fn largest(&self) -> u32 {
        self.largest
    }

    #[inline]
    pub fn draw(&mut self) -> u32 {
        match &mut self.mixed {
            None => self.largest,
            Some(mixed) => mixed.draw(),
        }
    }
}

impl MixedSizes {
    fn draw(&mut self) -> u32 {
        let drawn = (self.random.next_u64() >> 32) as u32;
        let chosen = self.sizes.iter().find(|(_, up_to)| drawn <= *up_to);
        chosen.expect("the last size is chosen up to the largest number").0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn sizes_have_their_shares() {
        let shape = "rnd512b10-4k60-64k30_q1t1".parse().unwrap();
        let mut sizes = RequestSizes::new(&shape, 7);
        let mut counts = BTreeMap::new();
        for _ in 0..100_000 {
            *counts.entry(sizes.draw()).or_insert(0) += 1;
        }
        let shares: Vec<(u32, i32)> =
            counts.iter().map(|(size, n)| (*size, (n + 500) / 1_000)).collect();
        assert_eq!(shares, [(512, 10), (4_096, 60), (65_536, 30)]);
        let plain = "rnd4k_q1t1".parse().unwrap();
        assert_eq!(RequestSizes::new(&plain, 7).draw(), 4_096);
    }
}
