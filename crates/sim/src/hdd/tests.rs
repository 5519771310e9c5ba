//! Tests of the whole drive, and the drives they use.

mod cache_policy;
mod causality;
mod closed_form;
mod destaging;
mod entered;
mod faults;
mod flushes;
mod host;
mod interface;
mod limits;
mod measured_set;
mod models;
mod on_paper;
mod phybs;
mod read_rate;
mod sequential;
mod shingled;

use crate::hdd::mechanism::Mechanism;
use crate::hdd::params::{
    HddParams, LayoutParams, QueueParams, ReadCacheParams, SeekParams, SkewParams, SmrParams,
    WriteCacheParams, ZoneEntry, ZoneParams,
};

/// A 4 GB drive with four heads, quick to build, with round figures.
pub fn small_drive() -> HddParams {
    HddParams {
        capacity_bytes: 4_000_000_000 / 512 * 512,
        rpm: 6000.0,
        heads: 4,
        logical_sector_bytes: 512,
        physical_sector_bytes: 512,
        alignment_shift_sectors: 0,
        zones: ZoneParams::SquareRoot {
            outer_media_mb_s: 100.0,
            inner_media_mb_s: 50.0,
            clamp_media_mb_s: None,
            count: 16,
        },
        layout: LayoutParams::Serpentine { band_cylinders: 16 },
        skew: SkewParams { head_rev: 0.2, cylinder_rev: 0.1 },
        seek: SeekParams::SquareRoot { min_ms: 1.0, full_ms: 16.0 },
        write_seek: None,
        head_switch_ms: 1.0,
        write_settle_ms: 0.5,
        read_hit_overhead_ms: 0.1,
        read_miss_overhead_ms: 0.2,
        write_overhead_ms: 0.1,
        write_miss_overhead_ms: None,
        after_write: None,
        interface_mb_s: 300.0,
        read_cache: ReadCacheParams {
            segments: 16,
            segment_kib: 1024,
            read_ahead_kib: 512,
            ..ReadCacheParams::default()
        },
        write_cache: WriteCacheParams {
            enabled: true,
            dirty_limit_kib: 8192,
            dirty_extents: 64,
            high_water_pct: 75.0,
            low_water_pct: None,
            idle_ms: 50.0,
            age_limit_ms: 5000.0,
            window: 64,
            gap_ms: 0.4,
            gap_jitter_ms: 0.0,
        },
        read_modify_write: None,
        queue: QueueParams { depth: 32, window: 32, starvation_ms: 500.0 },
        smr: None,
    }
}

pub fn small_with(change: impl FnOnce(&mut HddParams)) -> HddParams {
    let mut params = small_drive();
    change(&mut params);
    params
}

/// Bands of 4 MiB after a log of 64 MiB.
pub fn bands(clean_idle_ms: f64) -> SmrParams {
    SmrParams {
        band_mib: 4,
        cache_gib: 0.0625,
        map_extents: 64,
        clean_idle_ms,
        append_kib: 512,
        append_extents: 6,
    }
}

/// A zone of a measured list, with the drive's skews.
pub fn zone(cylinders: u32, sectors_per_track: u32) -> ZoneEntry {
    ZoneEntry { cylinders, sectors_per_track, head_skew_rev: None, cylinder_skew_rev: None }
}

pub fn mechanism_of(params: &HddParams) -> Mechanism {
    crate::hdd::disk::mechanism(params)
}
