//! Which block comes next, and whether it is read or written. Everything follows from a seed, so that
//! a plan replays the same requests.

use crate::io::draw::below;
use crate::io::queue::IoOp;
use drivescope_model::cell::{Mix, Order};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug)]
pub struct Offsets {
    order: Order,
    start: u64,
    block: u64,
    blocks: u64,
    /// Number of the next sequential block, before wrapping; shared by streams of one order.
    next: Arc<AtomicU64>,
    /// Times 2^32.
    read_share: u64,
    random: Xoshiro256PlusPlus,
}

/// Gives phase, round and thread streams of their own.
pub fn derive_seed(seed: u64, purpose: &str, round: u32, thread: u32) -> u64 {
    // FNV-1a (Fowler, Noll, Vo) over the purpose, then over the numbers.
    let numbers =
        [seed.to_le_bytes(), ((u64::from(round) << 32) | u64::from(thread)).to_le_bytes()];
    let bytes = purpose.bytes().chain(numbers.into_iter().flatten());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

impl Offsets {
    /// Requests of `block` bytes within `span` (whole blocks of it). Sequential streams begin at
    /// `share` (0–1) of the span and wrap, so that several threads work on different parts.
    ///
    /// Panics if the span holds no whole block: plans check that before.
    pub fn new(
        order: Order,
        span: Range<u64>,
        block: u64,
        mix: Mix,
        share: f64,
        seed: u64,
    ) -> Self {
        let blocks = (span.end - span.start) / block;
        assert!(blocks > 0, "a span of {span:?} holds no block of {block}");
        Self {
            order,
            start: span.start,
            block,
            blocks,
            next: Arc::new(AtomicU64::new(((blocks as f64 * share) as u64).min(blocks - 1))),
            read_share: u64::from(mix.read_percent()) * (1 << 32) / 100,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// A stream that shares the sequential order with this one; random places are its own.
    #[must_use]
    pub fn beside(&self, seed: u64) -> Self {
        Self {
            next: Arc::clone(&self.next),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            ..*self
        }
    }

    #[inline]
    pub fn draw(&mut self) -> (IoOp, u64) {
        let random = match (self.order, self.read_share) {
            (Order::Seq, 0 | 0x1_0000_0000) => 0,
            _ => self.random.next_u64(),
        };
        let index = match self.order {
            Order::Seq => self.next.fetch_add(1, Ordering::Relaxed) % self.blocks,
            Order::Rnd => below(random, self.blocks),
        };
        // The low half decides the direction: the high half already chose the offset.
        let op = if (random & 0xffff_ffff) < self.read_share { IoOp::Read } else { IoOp::Write };
        (op, self.start + index * self.block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stream(order: Order, mix: Mix, share: f64) -> Offsets {
        Offsets::new(order, 8192..8192 + 40_960 + 100, 4096, mix, share, 1)
    }

    #[test]
    fn sequential_stream_wraps_at_the_last_whole_block() {
        let mut offsets = stream(Order::Seq, Mix::READ, 0.8);
        let seen: Vec<u64> = (0..4).map(|_| offsets.draw().1).collect();
        assert_eq!(seen, [8192 + 8 * 4096, 8192 + 9 * 4096, 8192, 8192 + 4096]);
    }

    #[test]
    fn mixes_are_kept() {
        for (mix, low, high) in [(Mix::READ, 1.0, 1.0), (Mix::WRITE, 0.0, 0.0)]
            .into_iter()
            .chain([(Mix::new(70).unwrap(), 0.68, 0.72)])
        {
            for order in [Order::Seq, Order::Rnd] {
                let mut offsets = stream(order, mix, 0.0);
                let reads = (0..20_000).filter(|_| offsets.draw().0 == IoOp::Read).count();
                let share = reads as f64 / 20_000.0;
                assert!((low..=high).contains(&share), "{mix} {order:?}: {share}");
            }
        }
    }

    #[test]
    fn random_offsets_cover_the_span_evenly() {
        let mut offsets = stream(Order::Rnd, Mix::READ, 0.0);
        let mut counts = [0u32; 10];
        for _ in 0..10_000 {
            counts[((offsets.draw().1 - 8192) / 4096) as usize] += 1;
        }
        // 1000 each; 5 sigma of a binomial is 150.
        assert!(counts.iter().all(|c| (850..1150).contains(c)), "{counts:?}");
    }

    #[test]
    fn seeds_differ_by_purpose_round_and_thread() {
        let base = derive_seed(1, "a", 1, 0);
        for other in [
            derive_seed(2, "a", 1, 0),
            derive_seed(1, "b", 1, 0),
            derive_seed(1, "a", 2, 0),
            derive_seed(1, "a", 1, 1),
        ] {
            assert_ne!(base, other);
        }
        assert_eq!(base, derive_seed(1, "a", 1, 0));
    }

    proptest! {
        #[test]
        fn offsets_are_aligned_and_inside(
            start in 0u64..1000, blocks in 1u64..1000, extra in 0u64..4096, rnd: bool, seed: u64,
        ) {
            let start = start * 4096;
            let span = start..start + blocks * 4096 + extra;
            let order = if rnd { Order::Rnd } else { Order::Seq };
            let mut offsets = Offsets::new(order, span.clone(), 4096, Mix::READ, 0.5, seed);
            for _ in 0..100 {
                let (_, offset) = offsets.draw();
                prop_assert!(offset >= span.start && offset + 4096 <= span.end);
                prop_assert_eq!(offset % 4096, 0);
            }
        }
    }

    #[test]
    fn streams_beside_each_other_share_the_order() {
        let mut first = Offsets::new(Order::Seq, 0..8 * 4096, 4096, Mix::WRITE, 0.0, 1);
        let mut second = first.beside(2);
        let mut all: Vec<u64> = [2, 1, 3, 2]
            .iter()
            .enumerate()
            .flat_map(|(i, &count)| {
                let stream = if i % 2 == 0 { &mut first } else { &mut second };
                (0..count).map(|_| stream.draw().1 / 4096).collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(all, (0..8).collect::<Vec<_>>());
        all.clear();
        let mut first = Offsets::new(Order::Rnd, 0..1 << 40, 4096, Mix::READ, 0.0, 1);
        let mut second = first.beside(2);
        assert!((0..8).all(|_| first.draw() != second.draw()), "random places are their own");
    }
}
