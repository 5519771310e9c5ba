//! Placement of data in the flash and greedy garbage collection; no times here.
//!
//! The host and the collector each fill a superblock of their own. When few are free, the sealed
//! superblock with the least live data is emptied, in step with the host: for each unit the host
//! takes, enough live units are moved to empty the superblock before its space is needed. Under
//! uniform random writes the write amplification is α/(α + W₀(−α·e^(−α))) with α = physical/logical.

use std::collections::VecDeque;

use super::blocks::{Superblock, SuperblockState};
use super::geometry::{Geometry, Lpn, Ppn};
use super::map::Map;
use super::params::SlcParams;
use super::slc_cache::SlcCache;

/// Free superblocks at which collecting starts.
const COLLECT_BELOW_FREE: usize = 3;
/// Free superblocks before the host may take one: the last one is the collector's.
const HOST_MIN_FREE: usize = 2;
/// Bound on the units moved for one unit of the host, should a victim be almost full of live data.
const PACE_MAX: f64 = 1000.0;

/// Receives the work of the flash other than writing the host's data.
pub(super) trait Sink {
    fn moved(&mut self, from: Ppn, from_slc: bool, to: Ppn, units: u32);
    /// A superblock is erased, to be written next.
    fn opened(&mut self, block: u32);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) ppn: Ppn,
    pub(super) units: u32,
    pub(super) slc: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) host_units: u64,
    pub(super) moved_units: u64,
}

#[derive(Debug, Clone, Copy)]
struct Victim {
    block: u32,
    /// Next place to examine.
    cursor: u32,
    /// Units to move for each unit the host takes.
    pace: f64,
}

#[derive(Debug, Clone)]
pub(super) struct Ftl {
    geometry: Geometry,
    map: Map,
    blocks: Vec<Superblock>,
    /// Least recently freed first, so that wear spreads.
    free: VecDeque<u32>,
    host: Option<u32>,
    /// An ordinary superblock that the host was filling when the SLC cache opened again.
    parked: Option<u32>,
    collector: Option<u32>,
    victim: Option<Victim>,
    /// Units by which the collector lags the host.
    debt: f64,
    slc: SlcCache,
    live_units: u64,
    /// Sealed superblocks that have lost their last live unit.
    emptied: Vec<u32>,
    counts: Counts,
}

impl Ftl {
    pub(super) fn new(geometry: Geometry, slc: Option<&SlcParams>) -> Self {
        let all = geometry.ordinary_blocks + geometry.static_blocks;
        Self {
            map: Map::new(geometry.logical_units),
            blocks: vec![Superblock::default(); all as usize],
            free: (0..geometry.ordinary_blocks).collect(),
            host: None,
            parked: None,
            collector: None,
            victim: None,
            debt: 0.0,
            slc: SlcCache::new(slc, &geometry),
            live_units: 0,
            emptied: Vec::new(),
            counts: Counts::default(),
            geometry,
        }
    }

    /// Where `lpn` is, and for how many units (at most `max`) the same holds.
    pub(super) fn find(&self, lpn: Lpn, max: u32) -> (Option<Ppn>, u32) {
        self.map.run(lpn, max)
    }

    pub(super) fn is_slc(&self, ppn: Ppn) -> bool {
        self.blocks[self.geometry.block_of(ppn) as usize].slc
    }

    pub(super) fn counts(&self) -> Counts {
        self.counts
    }

    pub(super) fn live_units(&self) -> u64 {
        self.live_units
    }

    /// Fills the first `units` units of an empty drive, as one sequential pass with time to fold.
    pub(super) fn fill(&mut self, units: u32) {
        let mut lpn = 0;
        while lpn < units {
            let block = self.free.pop_front().expect("the flash is larger than the capacity");
            self.blocks[block as usize].open(false);
            let len = (units - lpn).min(self.geometry.superblock);
            self.write(block, lpn, len);
            self.blocks[block as usize].state = SuperblockState::Sealed;
            lpn += len;
        }
    }

    /// Places up to `max` units from `lpn` on, and collects garbage in step with it.
    pub(super) fn place(&mut self, lpn: Lpn, max: u32, sink: &mut impl Sink) -> Placed {
        let block = match self.host {
            Some(block) => block,
            None => self.open_host(sink),
        };
        let Superblock { slc, filled, .. } = self.blocks[block as usize];
        let capacity = self.geometry.block_units(slc);
        let units = max.min(capacity - filled);
        self.keep_pace(units * if slc { self.geometry.bits } else { 1 }, sink);
        let ppn = self.write(block, lpn, units);
        self.counts.host_units += u64::from(units);
        if filled + units == capacity {
            self.blocks[block as usize].state = SuperblockState::Sealed;
            self.host = None;
            if slc {
                self.slc.seal(block);
            }
            self.note_if_empty(block);
        }
        self.reclaim();
        Placed { ppn, units, slc }
    }

    pub(super) fn trim(&mut self, lpn: Lpn, len: u32) {
        let (blocks, geometry) = (&mut self.blocks, &self.geometry);
        let (emptied, live) = (&mut self.emptied, &mut self.live_units);
        self.map.clear(lpn, len, |ppn, n| {
            *live -= u64::from(n);
            invalidate(blocks, geometry, emptied, ppn, n);
        });
        self.reclaim();
    }

    /// Moves up to `budget` units out of the SLC cache (or, with few free superblocks, out of whatever
    /// gains most) while the drive is idle; returns how many. 0: nothing is left to do.
    pub(super) fn fold(&mut self, budget: u32, sink: &mut impl Sink) -> u32 {
        let mut moved = 0;
        while moved < budget {
            if self.victim.is_none() {
                let next = if self.free.len() <= COLLECT_BELOW_FREE && self.slc.has_work() {
                    self.greediest()
                } else {
                    self.slc.oldest()
                };
                match next {
                    Some(block) => self.start_victim(block),
                    None => break,
                }
            }
            moved += self.collect(budget - moved, sink);
        }
        self.reclaim();
        // also with nothing left to fold: what a used-up cache held may all have been overwritten or trimmed
        if moved > 0 || self.slc.waits_for_idle() {
            self.slc.reopen();
            if self.host.is_some_and(|block| !self.blocks[block as usize].slc) {
                self.parked = self.host.take();
            }
        }
        moved
    }

    /// Whether idle time would be used.
    pub(super) fn has_idle_work(&self) -> bool {
        self.slc.has_work() || self.victim.is_some() || self.slc.waits_for_idle()
    }

    /// Opens a superblock for the host: of the SLC cache while that has room, else an ordinary one.
    fn open_host(&mut self, sink: &mut impl Sink) -> u32 {
        let (block, slc) = match self.slc.take_static() {
            Some(block) => (block, true),
            None => {
                while self.free.len() < HOST_MIN_FREE {
                    if self.victim.is_none() {
                        let block = self.greediest().expect("spare superblocks hold garbage");
                        self.start_victim(block);
                    }
                    self.collect(u32::MAX, sink);
                    self.reclaim();
                }
                let live = self.live_units.div_ceil(u64::from(self.geometry.superblock)) as u32;
                let unused = self.geometry.ordinary_blocks.saturating_sub(live);
                let slc = self.slc.borrow(self.free.len() as u32, unused);
                if let Some(parked) = self.parked.take_if(|_| !slc) {
                    self.host = Some(parked);
                    return parked;
                }
                (self.free.pop_front().expect("HOST_MIN_FREE is at least one"), slc)
            }
        };
        self.blocks[block as usize].open(slc);
        sink.opened(block);
        self.host = Some(block);
        block
    }

    fn keep_pace(&mut self, units: u32, sink: &mut impl Sink) {
        if self.victim.is_none() {
            if self.free.len() > COLLECT_BELOW_FREE {
                return;
            }
            match self.greediest() {
                Some(block) => self.start_victim(block),
                None => return,
            }
        }
        let pace = self.victim.map_or(0.0, |victim| victim.pace);
        self.debt += f64::from(units) * pace;
        while self.debt >= 1.0 && self.victim.is_some() {
            self.debt -= f64::from(self.collect(self.debt as u32, sink));
        }
        if self.victim.is_none() {
            // the next victim has its own pace
            self.debt = self.debt.min(1.0);
        }
    }

    /// The sealed ordinary superblock with the least live data, if anything can be gained.
    fn greediest(&self) -> Option<u32> {
        let ordinary = &self.blocks[..self.geometry.ordinary_blocks as usize];
        (0..)
            .zip(ordinary)
            .filter(|(_, block)| block.state == SuperblockState::Sealed)
            .filter(|(_, block)| block.valid < self.geometry.superblock)
            .min_by_key(|(_, block)| block.valid)
            .map(|(index, _)| index)
    }

    fn start_victim(&mut self, block: u32) {
        let superblock = f64::from(self.geometry.superblock);
        let entry = &mut self.blocks[block as usize];
        entry.state = SuperblockState::Victim;
        let live = f64::from(entry.valid);
        if entry.slc {
            self.slc.forget(block);
        }
        let pace = (live / (superblock - live).max(1.0)).min(PACE_MAX);
        self.victim = Some(Victim { block, cursor: 0, pace });
    }

    /// Moves up to `budget` live units out of the victim; frees it when nothing is left.
    fn collect(&mut self, budget: u32, sink: &mut impl Sink) -> u32 {
        let Some(mut victim) = self.victim else { return 0 };
        let base = victim.block * self.geometry.superblock;
        let mut moved = 0;
        while moved < budget {
            let source = &self.blocks[victim.block as usize];
            if source.valid == 0 || victim.cursor >= source.filled {
                self.give_back(victim.block);
                self.victim = None;
                return moved;
            }
            let slc = source.slc;
            let (lpn, run) = source.run_at(victim.cursor);
            let (ppn, run) = self.map.run(lpn, run);
            if ppn != Some(base + victim.cursor) {
                victim.cursor += run;
                continue;
            }
            let target = self.collector_block(sink);
            let room = self.geometry.superblock - self.blocks[target as usize].filled;
            let units = run.min(budget - moved).min(room);
            let to = self.write(target, lpn, units);
            sink.moved(base + victim.cursor, slc, to, units);
            if units == room {
                self.blocks[target as usize].state = SuperblockState::Sealed;
                self.collector = None;
                self.note_if_empty(target);
            }
            moved += units;
            victim.cursor += units;
            self.counts.moved_units += u64::from(units);
        }
        self.victim = Some(victim);
        moved
    }

    fn collector_block(&mut self, sink: &mut impl Sink) -> u32 {
        *self.collector.get_or_insert_with(|| {
            let block =
                self.free.pop_front().expect("one free superblock is kept for the collector");
            self.blocks[block as usize].open(false);
            sink.opened(block);
            block
        })
    }

    /// Appends `units` units from `lpn` on to `block`, which has room, and maps them there.
    fn write(&mut self, block: u32, lpn: Lpn, units: u32) -> Ppn {
        let target = &mut self.blocks[block as usize];
        let ppn = block * self.geometry.superblock + target.filled;
        target.push(lpn, units, self.geometry.block_units(target.slc));
        self.live_units += u64::from(units);
        let (blocks, geometry) = (&mut self.blocks, &self.geometry);
        let (emptied, live) = (&mut self.emptied, &mut self.live_units);
        self.map.set(lpn, units, ppn, |old, n| {
            *live -= u64::from(n);
            invalidate(blocks, geometry, emptied, old, n);
        });
        ppn
    }

    fn note_if_empty(&mut self, block: u32) {
        if self.blocks[block as usize].valid == 0 {
            self.emptied.push(block);
        }
    }

    fn reclaim(&mut self) {
        while let Some(block) = self.emptied.pop() {
            let entry = &self.blocks[block as usize];
            if entry.state == SuperblockState::Sealed && entry.valid == 0 {
                if entry.slc {
                    self.slc.forget(block);
                }
                self.give_back(block);
            }
        }
    }

    fn give_back(&mut self, block: u32) {
        let entry = &mut self.blocks[block as usize];
        let slc = entry.slc;
        entry.release();
        if block >= self.geometry.ordinary_blocks {
            self.slc.return_static(block);
            return;
        }
        if slc {
            self.slc.return_dynamic();
        }
        self.free.push_back(block);
    }
}

/// Takes `n` units from `ppn` on out of the count of live data, and notes superblocks left empty.
fn invalidate(
    blocks: &mut [Superblock],
    geometry: &Geometry,
    emptied: &mut Vec<u32>,
    ppn: Ppn,
    n: u32,
) {
    let (mut at, end) = (ppn, ppn + n);
    while at < end {
        let block = geometry.block_of(at);
        let stop = end.min((block + 1) * geometry.superblock);
        let entry = &mut blocks[block as usize];
        entry.valid -= stop - at;
        if entry.valid == 0 && entry.state == SuperblockState::Sealed {
            emptied.push(block);
        }
        at = stop;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Ftl;
    use crate::ssd::blocks::SuperblockState;
    use crate::ssd::geometry::Geometry;
    use crate::ssd::params::SlcParams;
    use crate::ssd::testing::{NullSink, slc, small};

    /// 4096 units of 16 KiB on blocks of 192 units.
    fn tiny(static_gb: f64, dynamic_max_gb: f64) -> Ftl {
        let half = slc(static_gb, dynamic_max_gb, 1.0);
        let slc = SlcParams { dynamic_free_share: 0.7, ..half };
        let mut params = small();
        params.capacity_bytes = 64 << 20;
        params.mapping_unit_bytes = 16_384;
        params.spare_share = 0.42;
        params.flash.channels = 2;
        params.flash.dies_per_channel = 1;
        params.flash.pages_per_block = 48;
        params.slc = Some(slc.clone());
        Ftl::new(Geometry::new(&params).unwrap(), Some(&slc))
    }

    /// Every unit is where its superblock says it is, once, and the counts agree.
    fn check(ftl: &Ftl) {
        let mut valid = vec![0; ftl.blocks.len()];
        let mut live = 0;
        let mut lpn = 0;
        while lpn < ftl.geometry.logical_units {
            let (ppn, run) = ftl.find(lpn, ftl.geometry.logical_units - lpn);
            if let Some(first) = ppn {
                for k in 0..run {
                    let block = ftl.geometry.block_of(first + k);
                    valid[block as usize] += 1;
                    let place = (first + k) % ftl.geometry.superblock;
                    assert_eq!(ftl.blocks[block as usize].run_at(place).0, lpn + k);
                }
                live += u64::from(run);
            }
            lpn += run;
        }
        assert_eq!(live, ftl.live_units());
        for (block, &count) in ftl.blocks.iter().zip(&valid) {
            assert_eq!(block.valid, count);
            assert_eq!(
                block.state == SuperblockState::Free,
                block.filled == 0 && block.state != SuperblockState::Open
            );
        }
        let free = ftl.blocks[..ftl.geometry.ordinary_blocks as usize]
            .iter()
            .filter(|block| block.state == SuperblockState::Free)
            .count();
        assert_eq!(free, ftl.free.len());
        assert!(free > 0, "the collector has its reserve");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 5))]
        #[test]
        fn nothing_is_lost(
            cache in prop::sample::select(vec![(0.0, 0.0), (0.004, 0.0), (0.0, 0.02), (0.003, 0.05)]),
            steps in prop::collection::vec((0_u8..10, 0_u32..4096, 1_u32..600), 50..300),
        ) {
            let mut ftl = tiny(cache.0, cache.1);
            for (kind, lpn, len) in steps {
                let len = len.min(4096 - lpn);
                match kind {
                    0 => ftl.trim(lpn, len),
                    1 => { ftl.fold(len, &mut NullSink); }
                    _ => {
                        let mut done = 0;
                        while done < len {
                            let most = if kind < 6 { 1 } else { len - done };
                            done += ftl.place(lpn + done, most, &mut NullSink).units;
                        }
                    }
                }
            }
            check(&ftl);
        }
    }
}
