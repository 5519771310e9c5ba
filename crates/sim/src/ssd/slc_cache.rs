//! The superblocks that may be written with one bit per cell, and those waiting to be folded.
//!
//! A *static* part has blocks of its own; a *dynamic* part borrows free ordinary blocks, so that it
//! shrinks as the drive fills. Once both are used up the cache is closed and the host writes at the
//! ordinary rate, until an idle time has folded something.

use std::collections::VecDeque;

use super::geometry::Geometry;
use super::params::SlcParams;

/// Free blocks that the dynamic part leaves alone: reserve of the collector and its open block.
const BLOCKS_LEFT_FREE: u32 = 5;

/// The state of the cache. Without one, everything here is empty and it never opens.
#[derive(Debug, Clone)]
pub(super) struct SlcCache {
    bits: u32,
    dynamic_max_blocks: u32,
    dynamic_free_share: f64,
    /// Whether host writes may go to the cache.
    open: bool,
    dynamic_blocks: u32,
    static_free: Vec<u32>,
    /// Full cache blocks, oldest first.
    sealed: VecDeque<u32>,
}

impl SlcCache {
    pub(super) fn new(params: Option<&SlcParams>, geometry: &Geometry) -> Self {
        let block_bytes = f64::from(geometry.block_units(true)) * geometry.unit_bytes as f64;
        let max = params.map_or(0.0, |slc| slc.dynamic_max_gb * 1e9 / block_bytes);
        let first = geometry.ordinary_blocks;
        Self {
            bits: geometry.bits,
            dynamic_max_blocks: max.round() as u32,
            dynamic_free_share: params.map_or(0.0, |slc| slc.dynamic_free_share),
            open: params.is_some(),
            dynamic_blocks: 0,
            static_free: (first..first + geometry.static_blocks).rev().collect(),
            sealed: VecDeque::new(),
        }
    }

    /// A free block of the static part, if the cache is open.
    pub(super) fn take_static(&mut self) -> Option<u32> {
        if self.open { self.static_free.pop() } else { None }
    }

    /// Whether one more ordinary block may be borrowed, with `free` of them free and `unused` of them
    /// not needed for live data; closes the cache if not.
    pub(super) fn borrow(&mut self, free: u32, unused: u32) -> bool {
        let limit = (f64::from(unused) * self.dynamic_free_share) as u32;
        let taken = self.dynamic_blocks + 1;
        // folding borrowed blocks takes blocks too
        let needed = taken.div_ceil(self.bits) + BLOCKS_LEFT_FREE;
        self.open = self.open && taken <= limit.min(self.dynamic_max_blocks) && free > needed;
        if self.open {
            self.dynamic_blocks = taken;
        }
        self.open
    }

    pub(super) fn seal(&mut self, block: u32) {
        self.sealed.push_back(block);
    }

    pub(super) fn oldest(&self) -> Option<u32> {
        self.sealed.front().copied()
    }

    /// Notes that a full block is being emptied or is empty.
    pub(super) fn forget(&mut self, block: u32) {
        self.sealed.retain(|&sealed| sealed != block);
    }

    pub(super) fn return_static(&mut self, block: u32) {
        self.static_free.push(block);
    }

    pub(super) fn return_dynamic(&mut self) {
        self.dynamic_blocks -= 1;
    }

    /// Lets host writes in again after an idle time.
    pub(super) fn reopen(&mut self) {
        self.open = self.may_hold();
    }

    /// Whether it was used up and an idle time would open it again.
    pub(super) fn waits_for_idle(&self) -> bool {
        !self.open && self.may_hold()
    }

    fn may_hold(&self) -> bool {
        !self.static_free.is_empty() || self.dynamic_max_blocks > 0
    }

    pub(super) fn has_work(&self) -> bool {
        !self.sealed.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::SlcCache;
    use crate::ssd::geometry::Geometry;
    use crate::ssd::testing::{slc, small_with};

    fn cache(static_gb: f64, dynamic_max_gb: f64) -> SlcCache {
        let slc = slc(static_gb, dynamic_max_gb, 1000.0);
        let params = small_with(|p| p.slc = Some(slc.clone()));
        SlcCache::new(Some(&slc), &Geometry::new(&params).unwrap())
    }

    #[test]
    fn the_dynamic_part_follows_the_unused_space() {
        let mut cache = cache(0.0, 1.0);
        let mut taken = 0;
        while cache.borrow(1000, 40) {
            taken += 1;
        }
        assert_eq!(taken, 20);
        assert!(!cache.borrow(1000, 400), "closed until an idle time");
        cache.reopen();
        assert!(cache.borrow(1000, 400));
    }

    #[test]
    fn blocks_needed_for_folding_stay_free() {
        let mut cache = cache(0.0, 1.0);
        assert!(!cache.borrow(6, 1000));
    }

    #[test]
    fn the_static_part_is_given_out_once() {
        let mut cache = cache(0.01, 0.0);
        let blocks: Vec<u32> = std::iter::from_fn(|| cache.take_static()).collect();
        assert!(!blocks.is_empty());
        cache.return_static(blocks[0]);
        assert_eq!(cache.take_static(), Some(blocks[0]));
    }
}
