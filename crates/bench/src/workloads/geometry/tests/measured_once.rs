//! What `geometry` finds of the random drives: measured once for all tests that judge it.

use super::random_flash::RandomFlash;
use super::{LOG_EACH, filling, is_printed};
use crate::testing::{is_thorough, suite_of};
use crate::workloads::testing::random_disks::{RandomDisk, measured};
use drivescope_model::document::TestResult;
use drivescope_model::options::TestKind;
use std::sync::OnceLock;

/// Disks of `cargo test`, and of a full run.
const FEW: u64 = 24;
const ALL: u64 = 200;
/// SSDs of `cargo test`, and of a full run.
const FEW_FLASH: u64 = 3;
const ALL_FLASH: u64 = 30;

pub struct MeasuredDisk {
    pub seed: u64,
    pub disk: RandomDisk,
    pub result: TestResult,
}

pub struct MeasuredFlash {
    pub seed: u64,
    pub flash: RandomFlash,
    /// As it is used.
    pub found: TestResult,
    /// Empty, with time to fill its fast cache.
    pub empty: TestResult,
}

pub fn disks() -> &'static [MeasuredDisk] {
    static DISKS: OnceLock<Vec<MeasuredDisk>> = OnceLock::new();
    DISKS.get_or_init(|| {
        let is_wanted =
            |seed: &u64| std::env::var_os("GEOMETRY_DISK").is_none() || is_printed(*seed);
        let seeds = 1..=if is_thorough() { ALL } else { FEW };
        seeds.filter(is_wanted).map(MeasuredDisk::new).collect()
    })
}

pub fn flash_drives() -> &'static [MeasuredFlash] {
    static DRIVES: OnceLock<Vec<MeasuredFlash>> = OnceLock::new();
    DRIVES.get_or_init(|| {
        (1..=if is_thorough() { ALL_FLASH } else { FEW_FLASH }).map(MeasuredFlash::new).collect()
    })
}

impl MeasuredDisk {
    fn new(seed: u64) -> Self {
        let disk = RandomDisk::new(seed);
        let has_log = seed.is_multiple_of(LOG_EACH);
        let suite = if has_log { filling(24) } else { suite_of(TestKind::Geometry) };
        let result = slim(measured(&disk.toml, disk.options, suite, seed));
        Self { seed, disk, result }
    }
}

impl MeasuredFlash {
    fn new(seed: u64) -> Self {
        let flash = RandomFlash::new(seed);
        let found = slim(measured(&flash.toml, "", suite_of(TestKind::Geometry), seed));
        let empty = slim(measured(&flash.toml, "&fill=0", filling(30), seed));
        Self { seed, flash, found, empty }
    }
}

/// Without what is large and not judged: all of them are kept.
fn slim(mut result: TestResult) -> TestResult {
    result.phases.clear();
    result.distributions.clear();
    result.series.clear();
    result
}
