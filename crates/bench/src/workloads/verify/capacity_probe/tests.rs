//! The probe on drives whose truth is known, as stamps in memory.

use super::*;
use proptest::prelude::*;
use std::collections::{HashMap, HashSet, VecDeque};

#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum Fraud {
    #[default]
    None,
    Wrap(u64),
    Cut(u64),
    /// Keeps the second number of blocks at its beginning; all behind the real ones falls on those between.
    Fold(u64, u64),
    /// Drops what is behind, and shows there whatever it was given last.
    Echo(u64),
}

/// Keeps a stamp for each block that was written, and the most recent ones in a cache.
#[derive(Default)]
struct Memory {
    count: u64,
    fraud: Fraud,
    cache: usize,
    kept: HashMap<u64, (u64, u64)>,
    recent: HashMap<u64, u64>,
    order: VecDeque<u64>,
    /// Blocks written, again and again, and each once.
    writes: u64,
    touched: HashSet<u64>,
    asked: u64,
    /// Blocks that answer with errors: reads, or writes too.
    failing: std::ops::Range<u64>,
    refuses_writes: bool,
    refused: HashSet<u64>,
    failures: u64,
    /// Blocks that take writes and forget them; every `drops`-th write is dropped, too (0: none).
    forgets: std::ops::Range<u64>,
    drops: u64,
    given_last: (u64, u64),
}

impl Memory {
    fn new(count: u64, fraud: Fraud, cache: usize) -> Self {
        Self { count, fraud, cache, ..Self::default() }
    }

    fn failing(self, failing: std::ops::Range<u64>, refuses_writes: bool) -> Self {
        Self { failing, refuses_writes, ..self }
    }

    fn place(&self, block: u64) -> Option<u64> {
        match self.fraud {
            Fraud::None => Some(block),
            Fraud::Wrap(real) => Some(block % real),
            Fraud::Cut(real) | Fraud::Echo(real) => (block < real).then_some(block),
            Fraud::Fold(_, real) if block < real => Some(block),
            Fraud::Fold(kept, real) => Some(kept + (block - kept) % (real - kept)),
        }
    }
}

impl Blocks for Memory {
    fn count(&self) -> u64 {
        self.count
    }
    fn block_bytes(&self) -> u64 {
        512
    }
    fn write(&mut self, first: u64, count: u64, pass: u64) -> Result<(), Stopped> {
        assert!(first + count <= self.count, "{first} + {count} of {}", self.count);
        self.writes += count;
        self.touched.extend(first..first + count);
        for block in first..first + count {
            if self.refuses_writes && self.failing.contains(&block) {
                self.refused.insert(block);
                continue;
            }
            self.asked += 1;
            self.given_last = (block, pass);
            let is_dropped = self.drops > 0 && self.asked.is_multiple_of(self.drops);
            let is_forgotten = is_dropped || self.forgets.contains(&block);
            if let Some(place) = self.place(block).filter(|_| !is_forgotten) {
                self.kept.insert(place, (block, pass));
            }
            if self.cache > 0 && self.recent.insert(block, pass).is_none() {
                self.order.push_back(block);
                if self.order.len() > self.cache {
                    let oldest = self.order.pop_front().unwrap();
                    self.recent.remove(&oldest);
                }
            }
        }
        Ok(())
    }
    fn read(&mut self, at: u64) -> Result<ProbedContents, Stopped> {
        let is_refused = self.refused.contains(&at);
        if is_refused || self.failing.contains(&at) && !self.refuses_writes {
            self.failures += 1;
            return Ok(ProbedContents::Unreadable);
        }
        if self.recent.contains_key(&at) {
            return Ok(ProbedContents::Own);
        }
        let kept = match (self.fraud, self.place(at)) {
            (Fraud::Echo(_), None) => Some(&self.given_last),
            (_, place) => place.and_then(|place| self.kept.get(&place)),
        };
        Ok(match kept {
            Some(&(block, _)) if block == at => ProbedContents::Own,
            Some(&(block, pass)) => ProbedContents::Other { block, pass },
            None => ProbedContents::Lost,
        })
    }
}

const CACHE_BYTES: u64 = 1 << 20;

fn probed(memory: &mut Memory, seed: u64) -> Probed {
    let found = probe(memory, CACHE_BYTES, seed).unwrap();
    // Counted at the drive, against what f3probe publishes: 2 GiB - 1 block and the samples.
    let n = (memory.count as f64).log2().ceil() as usize;
    let f3 = (2 << 30) / 512 - 1 + 1 + (n + 3) * 1024 + (n - 1) * 8;
    assert!(memory.touched.len() <= f3, "{} blocks, f3 touches {f3}", memory.touched.len());
    assert!(!found.cut_short, "{found:?}");
    if memory.fraud == Fraud::None {
        assert_eq!(found.written, memory.writes, "nothing is written unseen");
        assert!(memory.writes as usize <= f3, "{} blocks, f3 writes {f3}", memory.writes);
    }
    let most = written_with_pushing_max(memory.count, 512, CACHE_BYTES);
    assert!(memory.writes <= most, "{} blocks of at most {most}", memory.writes);
    found
}

#[test]
fn the_bound_is_f3s() {
    // 16 TB in blocks of 512 bytes: n = 35.
    let count = 16_000_900_661_248 / 512;
    assert_eq!(written_max(count, 512), (1 << 22) - 1 + 1 + 38 * 1024 + 34 * 8);
}

#[test]
fn a_cache_is_seen_through() {
    let mut drive = Memory::new(1 << 24, Fraud::Cut(5_000_000), 700);
    let found = probed(&mut drive, 1);
    assert_eq!((found.real, found.module), (5_000_000, None));
    assert!((700..2100).contains(&found.cache), "{found:?}");
    let mut drive = Memory::new(1 << 24, Fraud::Wrap(5_000_001), 700);
    let found = probed(&mut drive, 1);
    assert_eq!((found.real, found.module), (5_000_001, Some(5_000_001)));
}

/// One that is almost as large as what was written to find it holds nearly all of that when it is written again.
/// It must be far larger than all samples, or these push each other out.
#[test]
fn cache_just_below_the_tried_size_is_found() {
    let (count, real) = (1 << 22, 1 << 21);
    for fraud in [Fraud::Cut(real), Fraud::Wrap(real)] {
        for cache in [30_000, 32_000, 32_700, 32_766] {
            for seed in 0..2 {
                let mut drive = Memory::new(count, fraud, cache);
                let found = probe(&mut drive, 16 << 20, seed).unwrap();
                assert_eq!(found.real, real, "{fraud:?}, cache {cache}, seed {seed}: {found:?}");
            }
        }
    }
}

/// The last block then meets a landmark at the beginning, after however many folds.
#[test]
fn fake_folded_often_is_found() {
    for (real, folds) in
        [(11_663_026, 67), (9_000_000, 83), (4_000_001, 251), (3_000_000, 256), (1_500_000, 96)]
    {
        for rest in [1, 26, 128] {
            for cache in [0, 400] {
                let mut drive = Memory::new(real * folds + rest, Fraud::Wrap(real), cache);
                let found = probed(&mut drive, real ^ rest);
                let module = found.module;
                assert_eq!(
                    (found.real, module),
                    (real, Some(real)),
                    "{folds}, {rest}, {cache}: {found:?}"
                );
            }
        }
    }
}

/// What it shows where nothing is has no distance from where it belongs.
#[test]
fn echoing_fake_has_no_repeating_addresses() {
    for real in [200, 60_000, 1_000_003, 15_625_001, 100_000_000] {
        for seed in 0..3 {
            let found = probed(&mut Memory::new(125_000_000, Fraud::Echo(real), 0), seed);
            assert_eq!((found.real, found.module), (real, None), "seed {seed}: {found:?}");
        }
    }
}

#[test]
fn a_drive_of_one_block_is_found() {
    let found = probed(&mut Memory::new(1 << 20, Fraud::Cut(1), 0), 1);
    assert_eq!(found.real, 0);
}

/// An honest drive with bad blocks is not accused, wherever they lie, and asked a bounded number of times.
#[test]
fn failed_blocks_are_not_fraud() {
    let count = 7_812_500;
    for refuses_writes in [false, true] {
        for (from, to) in [
            (count / 2, count / 2 + count / 1000),
            (0, count / 1000),
            (count / 4, count * 3 / 4),
            (count - 3000, count - 1),
            (count - count / 1000, count),
            (count / 3, count),
            (0, count),
        ] {
            for seed in 0..5 {
                let drive = Memory::new(count, Fraud::None, 0);
                let mut drive = drive.failing(from..to, refuses_writes);
                let found = probe(&mut drive, CACHE_BYTES, seed).unwrap();
                let case = format!("{from} to {to}, {refuses_writes}, seed {seed}: {found:?}");
                assert_eq!((found.real, found.module), (count, None), "{case}");
                let silent_from = (to == count).then_some(from);
                // What few samples do not meet is not known; what was met lies where it is.
                match found.failed {
                    Some(failed) => {
                        assert_eq!(failed.silent_from, silent_from, "{case}");
                        assert!(from <= failed.first && failed.last < to, "{case}");
                    }
                    None => assert!(to < count && to - from <= count / 1000, "{case}"),
                }
                assert!(drive.failures < 1500, "{case}: {} failed", drive.failures);
            }
        }
    }
}

/// Bad blocks do not hide a fraud that data were lost to.
#[test]
fn a_fake_with_bad_blocks_is_a_fake() {
    let count = 1 << 24;
    for fraud in [Fraud::Cut(5_000_000), Fraud::Wrap(5_000_001)] {
        for failing in [1_000_000..1_010_000, 9_000_000..9_100_000] {
            let mut drive = Memory::new(count, fraud, 0).failing(failing, false);
            let found = probe(&mut drive, CACHE_BYTES, 1).unwrap();
            let (Fraud::Cut(real) | Fraud::Wrap(real)) = fraud else { unreachable!() };
            assert_eq!(found.real, real, "{found:?}");
            assert_eq!(found.failed.and_then(|failed| failed.silent_from), None);
        }
    }
}

/// A drive that loses data is not a fake, wherever it loses them, and however much.
#[test]
fn lost_blocks_before_good_ones_are_damage() {
    let count = 7_812_500;
    let part = |from: u64, parts| from..from + count / parts;
    let mut found_any = 0;
    for (forgets, drops) in [
        (part(count / 2, 100), 0),
        (part(count / 3, 1000), 0),
        (part(0, 100), 0),
        (part(count * 9 / 10, 20), 0),
        (0..0, 100),
        (0..0, 20),
        (part(count / 2, 100), 50),
    ] {
        for seed in 0..5 {
            let mut drive = Memory { forgets: forgets.clone(), drops, ..honest(count) };
            let found = probe(&mut drive, CACHE_BYTES, seed).unwrap();
            let case = format!("{forgets:?}, {drops}, seed {seed}: {found:?}");
            assert_eq!(found.module, None, "{case}");
            assert!(found.real == count || found.keeps_behind, "{case}");
            found_any += u32::from(found.real < count);
            let most = written_with_pushing_max(count, 512, CACHE_BYTES);
            assert!(drive.writes <= most, "{} of {most}: {case}", drive.writes);
        }
    }
    assert!(found_any > 25, "{found_any} of 40 drives were found to lose data");
    // Nothing is kept at all: by a drive that has become read-only, too.
    let mut drive = Memory { forgets: 0..count, ..honest(count) };
    let found = probe(&mut drive, CACHE_BYTES, 1).unwrap();
    assert_eq!((found.real, found.keeps_behind), (0, false), "{found:?}");
}

fn honest(count: u64) -> Memory {
    Memory::new(count, Fraud::None, 0)
}

#[test]
fn a_stop_ends_the_probe() {
    struct Gone(u64);
    impl Blocks for Gone {
        fn count(&self) -> u64 {
            1 << 20
        }
        fn block_bytes(&self) -> u64 {
            512
        }
        fn write(&mut self, _: u64, _: u64, _: u64) -> Result<(), Stopped> {
            self.0 -= 1;
            if self.0 == 0 { Err(Stopped) } else { Ok(()) }
        }
        fn read(&mut self, _: u64) -> Result<ProbedContents, Stopped> {
            Ok(ProbedContents::Own)
        }
    }
    for writes in 1..20 {
        assert_eq!(probe(&mut Gone(writes), CACHE_BYTES, 1), Err(Stopped));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::default())]

    /// Every wrap and every cut, of any size and behind any small cache, is found to the block.
    #[test]
    fn every_fake_is_found(
        order in 13u32..28, share in 0.0..1.0f64, wraps: bool,
        real_share in prop_oneof![4 => 0.0..1.0f64, 1 => Just(0.0), 2 => Just(1.0)],
        cache in prop_oneof![Just(0usize), 1usize..512], seed: u64,
    ) {
        let count = (1u64 << order) + ((1u64 << order) as f64 * share) as u64;
        // Sizes from 128 blocks to all but one, evenly on a logarithmic scale, and both ends of it.
        let real = match real_share {
            1.0 => count - 1,
            share => (128.0 * ((count - 1) as f64 / 128.0).powf(share)) as u64,
        };
        let cache = if real > 8 * cache as u64 { cache } else { 0 };
        let fraud = if wraps { Fraud::Wrap(real) } else { Fraud::Cut(real) };
        let found = probed(&mut Memory::new(count, fraud, cache), seed);
        prop_assert_eq!(found.real, real, "{:?} of {}: {:?}", fraud, count, found);
        prop_assert_eq!(found.module, wraps.then_some(real));
        prop_assert!(!found.keeps_behind, "{:?}", found);
    }

    /// Fakes that keep their beginning, and fold what follows behind it.
    #[test]
    fn every_folded_fake_is_found(
        order in 15u32..28, share in 0.0..1.0f64, real_share in 0.0..1.0f64, kept_share in 0.0..1.0f64,
        cache in prop_oneof![Just(0usize), 1usize..512], seed: u64,
    ) {
        let count = (1u64 << order) + ((1u64 << order) as f64 * share) as u64;
        // From 1/512 of the drive to a half; up to half of that is kept.
        let real = (((count / 2) as f64 * 256f64.powf(-real_share)) as u64).max(512);
        let kept = (real as f64 / 2.0 * kept_share) as u64;
        let cache = if real > 8 * cache as u64 { cache } else { 0 };
        let fraud = Fraud::Fold(kept, real);
        let found = probed(&mut Memory::new(count, fraud, cache), seed);
        prop_assert_eq!(found.real, real, "{:?} of {}: {:?}", fraud, count, found);
        prop_assert_eq!(found.module, Some(real - kept));
    }

    #[test]
    fn no_honest_drive_is_accused(
        order in 13u32..28, share in 0.0..1.0f64, cache in 0usize..512, seed: u64,
    ) {
        let count = (1u64 << order) + ((1u64 << order) as f64 * share) as u64;
        let found = probed(&mut Memory::new(count, Fraud::None, cache), seed);
        prop_assert_eq!((found.real, found.module, found.cache), (count, None, 0));
    }
}
