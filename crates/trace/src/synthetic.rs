//! Ten traces that are made as they are read, from published counts of the ten storage traces of PCMark 8.
//!
//! Published are operations, bytes and run times on one drive (Tom's Hardware, "How we test storage", 2015, page 9, and
//! its review of the Plextor M6S and M6M): reads and writes, of each those that continue the one before, the
//! bytes, and the seconds on a Plextor M6e of 256 GB. Sizes, places, order and think times below those sums are not
//! published; docs/apps.md says how they are chosen here. They are not PCMark traces.

mod generate;

use crate::error::TraceError;
use crate::event::EventSink;

/// One of them, as published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyntheticTrace {
    pub name: &'static str,
    pub about: &'static str,
    /// Reads that continue where the one before ended.
    pub sequential_reads: u32,
    pub random_reads: u32,
    /// Writes that continue where the one before ended.
    pub sequential_writes: u32,
    pub random_writes: u32,
    pub read_mb: u32,
    pub written_mb: u32,
    /// Run time on the Plextor M6e, ms.
    pub published_ms: u32,
}

impl SyntheticTrace {
    /// Hands its requests to `sink`: always the same.
    pub fn generate(&self, sink: &mut dyn EventSink) -> Result<(), TraceError> {
        generate::generate(self, sink)
    }

    /// Time in which the application thinks: the published time less the busy time of that drive.
    /// All ten moved 12,275 MB at 280.57 MB/s of busy time (published), so it was busy for 43.75 s. Of these its
    /// 8,869 MB of writes took 15.3 s at the 580 MB/s of its data sheet; 28.4 s are left for 185,837 reads.
    fn think_us(&self) -> u64 {
        const READ_US: u64 = 153;
        const WRITE_MB_S: u64 = 580;
        let reads = u64::from(self.sequential_reads + self.random_reads);
        let busy_us = reads * READ_US + u64::from(self.written_mb) * 1_000_000 / WRITE_MB_S;
        (u64::from(self.published_ms) * 1_000).saturating_sub(busy_us)
    }
}

const fn trace(
    (name, about): (&'static str, &'static str),
    [sequential_reads, random_reads, sequential_writes, random_writes]: [u32; 4],
    [read_mb, written_mb]: [u32; 2],
    published_ms: u32,
) -> SyntheticTrace {
    SyntheticTrace {
        name,
        about,
        sequential_reads,
        random_reads,
        sequential_writes,
        random_writes,
        read_mb,
        written_mb,
        published_ms,
    }
}

/// All ten, in the order of the publication.
pub const SYNTHETIC: [SyntheticTrace; 10] = [
    trace(("warcraft", "a game: World of Warcraft"), [1_415, 14_927, 10, 659], [390, 5], 58_400),
    trace(("battlefield", "a game: Battlefield 3"), [5_782, 43_487, 218, 431], [887, 28], 133_400),
    trace(
        ("photoshop-light", "Photoshop, small pictures"),
        [1_508, 17_525, 18_342, 1_743],
        [313, 2_336],
        113_700,
    ),
    trace(
        ("photoshop-heavy", "Photoshop, large pictures"),
        [4_277, 18_655, 44_742, 2_065],
        [468, 5_640],
        359_900,
    ),
    trace(("indesign", "InDesign"), [2_359, 22_207, 4_874, 927], [401, 624], 57_500),
    trace(("after-effects", "After Effects"), [1_772, 17_793, 86, 500], [311, 16], 70_800),
    trace(("illustrator", "Illustrator"), [1_036, 21_923, 682, 532], [373, 89], 72_000),
    trace(("word", "Word"), [152, 4_302, 748, 205], [107, 95], 28_300),
    trace(("excel", "Excel"), [72, 3_148, 119, 87], [73, 15], 9_200),
    trace(("powerpoint", "PowerPoint"), [56, 3_441, 147, 107], [83, 21], 9_200),
];
