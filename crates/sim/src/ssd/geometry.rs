//! The place of a physical unit: superblock, row, die and level.
//!
//! A *superblock* is one block of every plane of every die; it is filled, collected and erased as a
//! whole. Its physical units are numbered in the order they are written: a *stripe* (one page of each
//! plane of one die) on the first die, one on the second, and so on; after all dies the next level of
//! the same row of cells, and after all levels the next row. A die programs a row when its last level
//! has arrived.

use super::params::SsdParams;
use crate::param_problem::ParamProblem;

/// Free superblocks kept in reserve, the open ones of host and collector, the one being collected, and
/// two more so that there is always something to gain.
const SPARE_BLOCKS_MIN: u64 = 8;

/// Superblocks at work, which come on top of the spare share: two or three free ones, and those being filled or
/// emptied, each by half in the mean. They hold no garbage that waits for collection, as the formula has it of
/// all.
const WORKING_BLOCKS: u64 = 4;

/// Most superblocks: each takes memory of the machine that simulates it. Real drives have some thousand.
const BLOCKS_MAX: u64 = 1_000_000;

/// A divisor of many numbers: multiplies by the reciprocal, which is exact for all numbers of 32 bits (Lemire, Kaser
/// and Kurz, 2019). Dividing took a tenth of the time of a simulated SSD.
#[derive(Debug, Clone, Copy)]
struct Divisor {
    by: u32,
    /// 2⁶⁴ ÷ `by`, rounded up; without meaning for 0 (parameters that are about to be refused) and 1.
    reciprocal: u64,
}

impl Divisor {
    fn new(by: u32) -> Self {
        Self { by, reciprocal: (u64::MAX / u64::from(by.max(1))).wrapping_add(1) }
    }

    fn split(self, number: u32) -> (u32, u32) {
        if self.by == 1 {
            return (number, 0);
        }
        let quotient = ((u128::from(self.reciprocal) * u128::from(number)) >> 64) as u32;
        (quotient, number - quotient * self.by)
    }
}

/// Physical unit: superblock × units per superblock + place within it.
pub(super) type Ppn = u32;
/// Logical unit: offset ÷ mapping unit.
pub(super) type Lpn = u32;

/// Sizes in mapping units, derived from the parameters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Geometry {
    pub(super) unit_bytes: u64,
    pub(super) logical_units: u32,
    pub(super) stripe: u32,
    pub(super) dies: u32,
    pub(super) channels: u32,
    pub(super) bits: u32,
    pub(super) rows: u32,
    /// Units of a superblock with all bits used; physical numbers are spaced by it.
    pub(super) superblock: u32,
    pub(super) ordinary_blocks: u32,
    /// Superblocks that serve only as SLC cache; they follow the ordinary ones.
    pub(super) static_blocks: u32,
    by_superblock: Divisor,
    by_stripe: Divisor,
    by_dies: Divisor,
    by_bits: Divisor,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FlashAddress {
    pub(super) die: u32,
    pub(super) level: u32,
    /// Number of the program operation that writes it: the same for all levels of a row on a die.
    pub(super) program: u32,
    /// Units from here to the end of the stripe.
    pub(super) left: u32,
}

impl Geometry {
    /// Derives the sizes; a problem where they do not fit 32 bits or leave no room to collect garbage.
    pub(super) fn new(params: &SsdParams) -> Result<Self, ParamProblem> {
        let flash = &params.flash;
        let unit_bytes = u64::from(params.mapping_unit_bytes);
        let dies = flash.channels * flash.dies_per_channel;
        let stripe_bytes = u64::from(flash.planes_per_die) * u64::from(flash.page_kib) * 1024;
        let rows = flash.pages_per_block / flash.bits_per_cell;
        let superblock_bytes =
            stripe_bytes * u64::from(dies) * u64::from(rows) * u64::from(flash.bits_per_cell);
        let physical = params.capacity_bytes as f64 * (1.0 + params.spare_share);
        let ordinary_blocks = (physical / superblock_bytes as f64).round() as u64 + WORKING_BLOCKS;
        let static_bytes = params.slc.as_ref().map_or(0.0, |slc| slc.static_gb * 1e9);
        let slc_bytes = superblock_bytes / u64::from(flash.bits_per_cell);
        let static_blocks = (static_bytes / slc_bytes as f64).round() as u64;
        let logical_units = params.capacity_bytes / unit_bytes;
        let blocks = ordinary_blocks.saturating_add(static_blocks);
        if blocks > BLOCKS_MAX {
            let message = format!(
                "makes {blocks} superblocks of {superblock_bytes} bytes, and {BLOCKS_MAX} is the limit: \
                 take larger blocks or more dies"
            );
            return Err(ParamProblem::new("flash.pages_per_block", message));
        }
        let units = (ordinary_blocks + static_blocks) * (superblock_bytes / unit_bytes);
        if units >= u64::from(u32::MAX) {
            let message =
                format!("{units} mapping units exceed 32 bits; take a larger mapping unit");
            return Err(ParamProblem::new("capacity_bytes", message));
        }
        let spare = (ordinary_blocks * superblock_bytes).saturating_sub(params.capacity_bytes);
        if spare / superblock_bytes < SPARE_BLOCKS_MIN {
            let message = format!(
                "leaves {} spare superblocks of {superblock_bytes} bytes; at least \
                 {SPARE_BLOCKS_MIN} are needed to collect garbage: raise it or shrink the blocks",
                spare / superblock_bytes
            );
            return Err(ParamProblem::new("spare_share", message));
        }
        let stripe = (stripe_bytes / unit_bytes) as u32;
        let superblock = (superblock_bytes / unit_bytes) as u32;
        Ok(Self {
            unit_bytes,
            logical_units: logical_units as u32,
            stripe,
            dies,
            channels: flash.channels,
            bits: flash.bits_per_cell,
            rows,
            superblock,
            ordinary_blocks: ordinary_blocks as u32,
            static_blocks: static_blocks as u32,
            by_superblock: Divisor::new(superblock),
            by_stripe: Divisor::new(stripe),
            by_dies: Divisor::new(dies),
            by_bits: Divisor::new(flash.bits_per_cell),
        })
    }

    pub(super) fn block_units(&self, slc: bool) -> u32 {
        if slc { self.superblock / self.bits } else { self.superblock }
    }

    pub(super) fn row_units(&self, slc: bool) -> u32 {
        self.stripe * self.dies * if slc { 1 } else { self.bits }
    }

    /// Units that one program operation writes.
    pub(super) fn program_units(&self, slc: bool) -> u32 {
        self.stripe * if slc { 1 } else { self.bits }
    }

    pub(super) fn block_of(&self, ppn: Ppn) -> u32 {
        self.by_superblock.split(ppn).0
    }

    pub(super) fn place(&self, ppn: Ppn, slc: bool) -> FlashAddress {
        let (block, within) = self.by_superblock.split(ppn);
        let (stripe, used) = self.by_stripe.split(within);
        let (page, die) = self.by_dies.split(stripe);
        let (row, level) = if slc { (page, 0) } else { self.by_bits.split(page) };
        FlashAddress {
            die,
            level,
            program: (block * self.rows + row) * self.dies + die,
            left: self.stripe - used,
        }
    }

    pub(super) fn completes_program(&self, place: FlashAddress, slc: bool) -> bool {
        slc || place.level + 1 == self.bits
    }
}

#[cfg(test)]
mod tests {
    use super::{Divisor, Geometry};
    use crate::ssd::testing::small;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_reciprocal_divides_exactly(by in 1_u32.., number: u32, near in 0_u32..3) {
            let multiple = (number - number % by).saturating_sub(near);
            for number in [number, multiple, u32::MAX] {
                prop_assert_eq!(Divisor::new(by).split(number), (number / by, number % by));
            }
        }
    }

    #[test]
    fn stripes_go_over_the_dies_before_the_levels() {
        let geometry = Geometry::new(&small()).unwrap();
        let (stripe, dies) = (geometry.stripe, geometry.dies);
        let first = geometry.place(0, false);
        assert_eq!((first.die, first.level, first.program, first.left), (0, 0, 0, stripe));
        let second = geometry.place(stripe + 1, false);
        assert_eq!((second.die, second.level, second.left), (1, 0, stripe - 1));
        let upper = geometry.place(stripe * dies, false);
        assert_eq!((upper.die, upper.level, upper.program), (0, 1, 0));
        assert!(!geometry.completes_program(upper, false));
        let top = geometry.place(stripe * dies * 2, false);
        assert!(geometry.completes_program(top, false));
        let row = geometry.place(geometry.row_units(false), false);
        assert_eq!((row.die, row.level, row.program), (0, 0, dies));
        let slc = geometry.place(geometry.superblock + stripe * dies, true);
        assert_eq!((slc.die, slc.level, slc.program), (0, 0, (geometry.rows + 1) * dies));
    }
}
