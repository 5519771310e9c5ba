//! Where `align` writes. Pure arithmetic.

use drivescope_model::units::Bytes;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::ops::Range;

/// Each write has a stretch of this length to itself, so that no sector is found in the drive's memory.
const STRETCH: u64 = 32 << 10;
/// Writes stay within this stretch of the target: far enough apart, and near enough that seeks are short.
pub const SPAN_MAX: u64 = 128 << 20;

/// Writes of one size at equally spaced offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ladder {
    /// Bytes per write; offsets repeat after as many.
    pub block: u64,
    pub step: u64,
    /// The first offset, a known boundary of smaller sectors.
    pub base: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LadderAccess {
    pub at: u64,
    pub rung: usize,
}

impl Ladder {
    pub fn offsets(&self) -> Vec<u64> {
        (0..self.block / self.step).map(|i| (self.base + i * self.step) % self.block).collect()
    }

    pub fn name(&self) -> String {
        Bytes(self.block).short()
    }

    /// `count` accesses at each offset at random places of `span`, in random order.
    pub fn places(&self, span: &Range<u64>, count: usize, seed: u64) -> Vec<LadderAccess> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let stretches = (span.end - span.start).min(SPAN_MAX) / STRETCH;
        let mut free: Vec<u64> = (0..stretches).collect();
        free.shuffle(&mut random);
        let offsets = self.offsets();
        let mut places = Vec::with_capacity(count * offsets.len());
        // One after the other in blocks of all offsets, so that a drift meets all alike.
        for i in 0..count {
            let mut rungs: Vec<usize> = (0..offsets.len()).collect();
            rungs.shuffle(&mut random);
            for rung in rungs {
                let next = (i * offsets.len() + rung) % free.len();
                places.push(LadderAccess {
                    at: span.start + free[next] * STRETCH + offsets[rung],
                    rung,
                });
            }
        }
        places
    }
}

/// A stretch of `len` bytes to read so that the drive's memory forgets what lies in the first
/// [`SPAN_MAX`] bytes of `span`: after them, another one each `turn`; shorter where there is no room.
pub fn far_stretch(span: &Range<u64>, len: u64, turn: u64) -> Range<u64> {
    let first = span.start.saturating_add(SPAN_MAX).min(span.end);
    let len = len.min(span.end - first);
    let from = first.saturating_add(turn * len).min(span.end - len);
    from..from + len
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SMALL: Ladder = Ladder { block: 4096, step: 512, base: 0 };

    #[test]
    fn offsets_go_round_from_the_base() {
        assert_eq!(SMALL.offsets(), [0, 512, 1024, 1536, 2048, 2560, 3072, 3584]);
        let large = Ladder { block: 16_384, step: 4096, base: 512 };
        assert_eq!(large.offsets(), [512, 4608, 8704, 12_800]);
        assert_eq!(large.name(), "16k");
    }

    #[test]
    fn intermediate_reads_lie_after_span_and_vary() {
        let span = 0..1 << 30;
        assert_eq!(far_stretch(&span, SPAN_MAX, 0), SPAN_MAX..2 * SPAN_MAX);
        assert_eq!(far_stretch(&span, SPAN_MAX, 1), 2 * SPAN_MAX..3 * SPAN_MAX);
        assert_eq!(far_stretch(&span, SPAN_MAX, 99), 7 * SPAN_MAX..8 * SPAN_MAX);
        assert_eq!(far_stretch(&(0..130 << 20), SPAN_MAX, 0), 128 << 20..130 << 20);
    }

    proptest! {
        #[test]
        fn offsets_get_their_counts_without_overlapping_writes(
            count in 1usize..64, seed: u64, start in 0u64..1 << 40, larger: bool,
        ) {
            let large = Ladder { block: 16_384, step: 4096, base: 3584 };
            let ladder = if larger { large } else { SMALL };
            let start = start / 512 * 512;
            let span = start..start + (64 << 20);
            let places = ladder.places(&span, count, seed);
            let mut met = vec![0; ladder.offsets().len()];
            let mut starts = Vec::new();
            for place in &places {
                met[place.rung] += 1;
                prop_assert!(span.start <= place.at && place.at + ladder.block <= span.end);
                prop_assert_eq!((place.at - start) % STRETCH, ladder.offsets()[place.rung]);
                starts.push(place.at);
            }
            prop_assert!(met.iter().all(|&n| n == count));
            starts.sort_unstable();
            prop_assert!(starts.windows(2).all(|pair| pair[0] + ladder.block <= pair[1]));
        }

        #[test]
        fn intermediate_read_fits(start in 0u64..1 << 44, len in 0u64..1 << 44, turn in 0u64..9) {
            let span = start..start + len;
            let far = far_stretch(&span, SPAN_MAX, turn);
            prop_assert!(span.start <= far.start && far.start <= far.end && far.end <= span.end);
        }
    }
}
