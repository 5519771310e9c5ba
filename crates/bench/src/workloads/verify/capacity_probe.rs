//! Finding missing capacity with few blocks, after f3probe (Michel Machado, AltraMayor/f3, libprobe.c).
//!
//! Three stages, as there: how much a cache of the drive can hide; whether addresses repeat; then random
//! samples that close in on the first bad block. Only single blocks are read, far apart: fake drives
//! answer long reads from larger caches than short ones.
//!
//! One stage differs. f3probe finds addresses that repeat after a power of two, from block 0 on; here it is any
//! distance, and also such as fall back on the upper part of what is there (`address_aliases.rs`).
//!
//! Blocks that cannot be read or written say nothing of the capacity: they are passed over, and at the end the
//! probe tests whether anything good lies behind them (`failed_tail.rs`).

mod address_aliases;
mod data_behind;
mod failed_tail;

pub use address_aliases::usual_landmarks;

use crate::io::draw::{Draw, below};
use address_aliases::AddressAliases;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeSet;

/// Samples of the first and of the last attempt of a phase: half of the blocks bad are found by 8 with
/// 99.6 %, one in a hundred bad by 1024 with 99.9966 %.
const SAMPLES_MIN: u64 = 8;
pub const SAMPLES_MAX: u64 = 1024;
/// Blocks read after each doubling of what the cache may hide.
const CACHE_SAMPLES: u64 = 64;
/// What f3probe writes at most to learn the size of the cache, in bytes; twice this, less one block.
const F3_CACHE_BYTES: u64 = 1 << 30;

/// Passes that distinguish stamps.
const PASS_CACHE: u64 = 1;
const PASS_LANDMARK: u64 = 2;
const PASS_SAMPLE: u64 = 3;
const PASS_SHARED: u64 = 4;

/// Failed blocks after which a stage ends: each may take a dying drive many seconds.
const FAILURES_MAX: u64 = 128;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbedContents {
    Own,
    Other {
        block: u64,
        pass: u64,
    },
    Lost,
    /// The drive refuses to read it, or refused to write it before.
    Unreadable,
}

/// Why a probe cannot continue: the drive is gone, or the run is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;

/// A drive as numbered blocks.
pub trait Blocks {
    fn count(&self) -> u64;
    fn block_bytes(&self) -> u64;
    /// Writes `count` blocks from `first` on, stamped with their place and `pass`. A write that fails
    /// leaves blocks that are unreadable, which reading will show.
    fn write(&mut self, first: u64, count: u64, pass: u64) -> Result<(), Stopped>;
    fn read(&mut self, block: u64) -> Result<ProbedContents, Stopped>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailedBlocks {
    pub first: u64,
    pub last: u64,
    /// The first after which nothing worked up to the end, on a drive that has lost nothing.
    pub silent_from: Option<u64>,
}

/// What a probe found, in blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probed {
    /// Blocks from the start of the drive that keep data, as far as the readable ones show.
    pub real: u64,
    pub failed: Option<FailedBlocks>,
    /// Distance at which addresses repeat, if they do.
    pub module: Option<u64>,
    /// Blocks behind `real` keep data, too: what was lost is damage, and no missing capacity.
    pub keeps_behind: bool,
    /// Most recently written blocks that a cache answered for, if any.
    pub cache: u64,
    /// The largest cache that would have been seen through.
    pub cache_max: u64,
    /// Blocks written, without those written again only to push others out of a cache.
    pub written: u64,
    /// A bound was reached before the search had closed in: `real` is too high, if anything.
    pub cut_short: bool,
}

/// f3probe's bound on the blocks that are written: 2·C − 1 for a cache of at most C = 1 GiB, one reference block, and
/// (n + 3)·1024 + (n − 1)·8 samples with n = ⌈log2 of the blocks⌉ (`probe_max_written_blocks` of libprobe.c).
fn written_max(count: u64, block_bytes: u64) -> u64 {
    let cache = (F3_CACHE_BYTES / block_bytes) * 2 - 1;
    cache + samples_max(count)
}

fn samples_max(count: u64) -> u64 {
    let n = u64::from(count.next_power_of_two().trailing_zeros());
    1 + (n + 3) * SAMPLES_MAX + n.saturating_sub(1) * SAMPLES_MIN
}

/// How often blocks are written again to push others out of a cache, at most: f3's phases take n + 8 attempts,
/// and about as many again that find a bad block, each of which cuts what is left to an eighth on average.
fn overwhelms_max(count: u64) -> u64 {
    3 * (u64::from(count.next_power_of_two().trailing_zeros()) + 8)
}

/// The most blocks that are written in all, those included that only push others out of a cache.
pub fn written_with_pushing_max(count: u64, block_bytes: u64, cache_bytes: u64) -> u64 {
    // What overwhelms a cache lies in the upper half of the drive.
    let half = count / 2;
    let stretch = (2 * cache_max(cache_bytes, block_bytes)).min(half);
    let beside = written_max(count, block_bytes).min(half + samples_max(count));
    beside + overwhelms_max(count) * stretch
}

/// The largest cache that the search covers, in blocks.
fn cache_max(cache_bytes: u64, block_bytes: u64) -> u64 {
    (cache_bytes.min(F3_CACHE_BYTES / 2) / block_bytes).max(1)
}

/// Probes a drive; `cache_bytes` is the largest cache it sees through.
pub fn probe<B: Blocks>(blocks: &mut B, cache_bytes: u64, seed: u64) -> Result<Probed, Stopped> {
    let count = blocks.count();
    let mut probe = CapacityProbe {
        cache_max: cache_max(cache_bytes, blocks.block_bytes()),
        left: 0,
        right: count,
        overwhelm: (0, 0),
        bad_at_end: None,
        overwhelms_left: overwhelms_max(count),
        written: 0,
        written_max: written_max(count, blocks.block_bytes()),
        cut_short: false,
        failed: BTreeSet::new(),
        failures_left: FAILURES_MAX,
        asked: BTreeSet::new(),
        last_good: None,
        random: Xoshiro256PlusPlus::seed_from_u64(seed),
        blocks,
    };
    probe.find_cache()?;
    let repeats = probe.find_repeats()?;
    let module = repeats.map(|repeats| repeats.distance);
    if let Some(AddressAliases { from, .. }) = repeats {
        probe.right = probe.right.min(from);
    }
    probe.find_first_bad()?;
    probe.look_above()?;
    let real = if probe.right <= probe.left + 1 { 0 } else { probe.right };
    let failed = probe.test_behind_failed(real == count && module.is_none())?;
    let keeps_behind = module.is_none() && probe.keeps_behind(real)?;
    let CapacityProbe { overwhelm, written, cut_short, cache_max, .. } = probe;
    let cache = overwhelm.1;
    Ok(Probed { real, failed, module, keeps_behind, cache, cache_max, written, cut_short })
}

struct CapacityProbe<'b, B> {
    blocks: &'b mut B,
    cache_max: u64,
    /// A block taken to be good, and one that is bad or behind the end.
    left: u64,
    right: u64,
    /// First block and number of those that are written to push others out of the cache.
    overwhelm: (u64, u64),
    /// A bad block among those that showed the cache.
    bad_at_end: Option<u64>,
    overwhelms_left: u64,
    written: u64,
    written_max: u64,
    cut_short: bool,
    failed: BTreeSet<u64>,
    /// How many more may fail in this stage.
    failures_left: u64,
    /// Blocks written to see whether others show them, since a cache was last made to forget what was written.
    asked: BTreeSet<u64>,
    last_good: Option<u64>,
    random: Xoshiro256PlusPlus,
}

impl<B: Blocks> CapacityProbe<'_, B> {
    fn write(&mut self, first: u64, count: u64, pass: u64) -> Result<(), Stopped> {
        self.written += count;
        self.blocks.write(first, count, pass)
    }

    /// Makes a cache forget what was written before.
    ///
    /// In the order in which [`CapacityProbe::find_cache`] writes: a cache that holds most of these blocks and drops
    /// what came first then misses each of them. In another order it would take nearly all in place, and keep the
    /// samples.
    fn overwhelm_cache(&mut self) -> Result<(), Stopped> {
        let (first, count) = self.overwhelm;
        if count == 0 {
            return Ok(());
        }
        self.overwhelms_left = self.overwhelms_left.saturating_sub(1);
        let (mut end, mut target) = (first + count, 1);
        while end > first {
            let next = end.saturating_sub(target).max(first);
            self.blocks.write(next, end - next, PASS_CACHE)?;
            (end, target) = (next, target * 2);
        }
        Ok(())
    }

    /// Up to `wanted` different blocks of `from..to`, ascending; all of them where there are no more.
    fn choose(&mut self, wanted: u64, from: u64, to: u64) -> Vec<u64> {
        if to - from <= wanted {
            return (from..to).collect();
        }
        let mut chosen = Vec::with_capacity(wanted as usize);
        while chosen.len() < wanted as usize {
            let block = from + below(self.random.next_u64(), to - from);
            if let Err(place) = chosen.binary_search(&block) {
                chosen.insert(place, block);
            }
        }
        chosen
    }

    /// Reads a block and remembers whether it is good, and whether it failed.
    fn look(&mut self, block: u64) -> Result<ProbedContents, Stopped> {
        let found = self.blocks.read(block)?;
        match found {
            ProbedContents::Own => self.last_good = self.last_good.max(Some(block)),
            ProbedContents::Unreadable => {
                self.failed.insert(block);
                self.failures_left = self.failures_left.saturating_sub(1);
            }
            ProbedContents::Other { .. } | ProbedContents::Lost => {}
        }
        Ok(found)
    }

    /// The first of these blocks that lost its data; those that cannot be read have lost nothing yet.
    fn first_bad(&mut self, blocks: &[u64]) -> Result<Option<u64>, Stopped> {
        for &block in blocks {
            if !matches!(self.look(block)?, ProbedContents::Own | ProbedContents::Unreadable) {
                return Ok(Some(block));
            }
            if self.failures_left == 0 {
                break;
            }
        }
        Ok(None)
    }

    /// Writes 1, 2, 4 … blocks downwards from the end of the drive, until some of all these are bad: more
    /// than a cache can hide. Stays within the upper half.
    fn find_cache(&mut self) -> Result<(), Stopped> {
        let end = self.right;
        let floor = end / 2 + 1;
        let (mut first, mut target) = (end, 1);
        while target <= self.cache_max && first > floor && self.failures_left > 0 {
            let next = first.saturating_sub(target).max(floor);
            self.write(next, first - next, PASS_CACHE)?;
            first = next;
            // Where a single block is missing, it is the last.
            let mut looked_at = self.choose(CACHE_SAMPLES, first, end - 1);
            looked_at.push(end - 1);
            // In no order, or a drive would answer from what it reads ahead.
            Draw::new(self.random.next_u64()).shuffle(&mut looked_at);
            if let Some(bad) = self.first_bad(&looked_at)? {
                (self.right, self.bad_at_end) = (first, Some(bad));
                self.overwhelm = if target == 1 { (0, 0) } else { (first, end - first) };
                return Ok(());
            }
            target *= 2;
        }
        Ok(())
    }

    /// Moves `right` to the first bad block: f3's search, repeated if blocks right before it are bad.
    fn find_first_bad(&mut self) -> Result<(), Stopped> {
        self.failures_left = FAILURES_MAX;
        let floor = self.left;
        loop {
            self.close_in()?;
            self.left = self.right.saturating_sub(SAMPLES_MIN + 1).max(floor);
            if self.cut_short || !self.find_a_bad_block(SAMPLES_MIN)? {
                self.left = floor;
                return Ok(());
            }
            self.left = floor;
        }
    }

    /// The blocks that showed the cache lie at the end, and the first of them need not be bad. Where all
    /// below are good, the search continues among them, and the cache is overwhelmed right below.
    fn look_above(&mut self) -> Result<(), Stopped> {
        let (first, count) = self.overwhelm;
        let (Some(bad), true) = (self.bad_at_end, self.right == first) else { return Ok(()) };
        let below = self.left;
        if self.cut_short || bad <= first || first <= below + count + 1 {
            return Ok(());
        }
        self.overwhelm = (first - count, count);
        (self.left, self.right) = (first - 1, bad);
        self.find_first_bad()?;
        self.left = below;
        Ok(())
    }

    /// f3's `sampling_probe`: first more and more samples until none is bad, then, with few, halves.
    fn close_in(&mut self) -> Result<(), Stopped> {
        let mut samples = SAMPLES_MIN;
        let mut first_phase = true;
        while self.right > self.left + samples + 1 && !self.cut_short {
            if self.find_a_bad_block(samples)? {
                continue;
            }
            if first_phase {
                samples *= 2;
                if samples <= SAMPLES_MAX {
                    continue;
                }
                first_phase = false;
                samples = SAMPLES_MIN;
            }
            self.left = self.left.midpoint(self.right);
        }
        self.find_a_bad_block(samples)?;
        Ok(())
    }

    /// Writes and reads samples between `left` and `right`; moves `right` to the first bad one, if there is one.
    fn find_a_bad_block(&mut self, samples: u64) -> Result<bool, Stopped> {
        if self.right <= self.left + 1 || self.cut_short {
            return Ok(false);
        }
        let no_more = self.overwhelms_left == 0 || self.failures_left == 0;
        if self.written + samples > self.written_max || no_more {
            self.cut_short = true;
            return Ok(false);
        }
        let chosen = self.choose(samples, self.left + 1, self.right);
        for run in chosen.chunk_by(|a, b| a + 1 == *b) {
            self.write(run[0], run.len() as u64, PASS_SAMPLE)?;
        }
        self.overwhelm_cache()?;
        let bad = self.first_bad(&chosen)?;
        if let Some(bad) = bad {
            self.right = bad;
        }
        Ok(bad.is_some())
    }
}

#[cfg(test)]
mod tests;
