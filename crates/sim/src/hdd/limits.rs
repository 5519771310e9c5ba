//! The least and the most that each number of a hard disk's table may be.
//!
//! Wide enough for any drive that was built or can be imagined, and narrow enough that no sum or product of them
//! leaves the 64 bits in which the drive counts nanoseconds and sectors.

use crate::hdd::params::{HddParams, SeekParams, ZoneParams};
use crate::param_problem::Problems;
use crate::ranges::{Range, check};

/// Electronics and arms are done within seconds.
pub(super) const MOVE_MAX_MS: f64 = 10_000.0;
/// Longest waiting time: 11.6 days, which is as good as never.
const WAIT_MAX_MS: f64 = 1e9;
/// Least of a time that must pass.
const TIME_MIN_MS: f64 = 0.001;
/// Slower than any link or head.
const RATE_MIN_MB_S: f64 = 0.01;
/// Faster than any link or head.
const RATE_MAX_MB_S: f64 = 1e6;
/// Most cylinders; real drives have some hundred thousand.
pub(super) const CYLINDERS_MAX: f64 = 1e9;
/// Most sectors of a track; real ones have some thousand.
pub(super) const TRACK_SECTORS_MAX: f64 = 1e6;
/// Largest buffer or part of one, 16 GiB.
const BUFFER_MAX_KIB: f64 = 16_777_216.0;
/// Most stretches that a buffer can hold, or among which a firmware can choose.
const STRETCHES_MAX: f64 = 1e6;
/// Most commands inside a drive, an NVMe queue's.
const COMMANDS_MAX: f64 = 65_536.0;

pub(super) const DRIVE: &[Range] = &[
    (&["rpm"], 60.0, 30_000.0, "revolutions per minute"),
    (&["heads"], 1.0, 64.0, "heads"),
    (&["head_switch_ms", "write_settle_ms"], 0.0, MOVE_MAX_MS, "ms"),
    (&["read_hit_overhead_ms", "read_miss_overhead_ms"], 0.0, MOVE_MAX_MS, "ms"),
    (&["write_overhead_ms", "write_miss_overhead_ms"], 0.0, MOVE_MAX_MS, "ms"),
    (&["after_write.read_hit_overhead_ms"], 0.0, MOVE_MAX_MS, "ms"),
    (&["after_write.read_miss_overhead_ms"], 0.0, MOVE_MAX_MS, "ms"),
    (&["after_write.write_overhead_ms"], 0.0, MOVE_MAX_MS, "ms"),
    (&["after_write.write_miss_overhead_ms"], 0.0, MOVE_MAX_MS, "ms"),
    (&["interface_mb_s"], RATE_MIN_MB_S, RATE_MAX_MB_S, "MB/s"),
    (&["queue.depth", "queue.window"], 1.0, COMMANDS_MAX, "commands"),
    (&["queue.starvation_ms"], TIME_MIN_MS, WAIT_MAX_MS, "ms"),
    (&["read_cache.segments"], 0.0, 65_536.0, "segments"),
    (&["read_cache.segment_kib", "read_cache.read_ahead_kib"], 0.0, BUFFER_MAX_KIB, "KiB"),
    (&["read_cache.water_mark"], 0.0, 1.0, "of a request"),
    (&["write_cache.dirty_limit_kib"], 0.0, BUFFER_MAX_KIB, "KiB"),
    (&["write_cache.dirty_extents", "write_cache.window"], 0.0, STRETCHES_MAX, "stretches"),
    (&["write_cache.high_water_pct"], 0.001, 100.0, "percent"),
    (&["write_cache.idle_ms"], 0.0, WAIT_MAX_MS, "ms"),
    (&["write_cache.age_limit_ms"], TIME_MIN_MS, WAIT_MAX_MS, "ms"),
    (&["write_cache.gap_ms", "write_cache.gap_jitter_ms"], 0.0, MOVE_MAX_MS, "ms"),
    (&["read_modify_write.batch_sectors"], 1.0, STRETCHES_MAX, "sectors"),
    (&["read_modify_write.gap_ms"], 0.0, MOVE_MAX_MS, "ms"),
    (&["smr.band_mib"], 1.0, 1_048_576.0, "MiB"),
    (&["smr.cache_gib"], 0.001, 1e6, "GiB"),
    (&["smr.map_extents"], 1.0, 1e9, "extents"),
    (&["smr.clean_idle_ms"], 0.0, WAIT_MAX_MS, "ms"),
    (&["smr.append_kib"], 4.0, BUFFER_MAX_KIB, "KiB"),
    (&["smr.append_extents"], 1.0, STRETCHES_MAX, "extents"),
    (&["zones.outer_media_mb_s"], RATE_MIN_MB_S, RATE_MAX_MB_S, "MB/s"),
    (&["zones.inner_media_mb_s"], RATE_MIN_MB_S, RATE_MAX_MB_S, "MB/s"),
    (&["zones.clamp_media_mb_s"], RATE_MIN_MB_S, RATE_MAX_MB_S, "MB/s"),
    (&["zones.count"], 1.0, 10_000.0, "zones"),
];

pub(super) const ZONE: &[Range] = &[
    (&["cylinders"], 1.0, CYLINDERS_MAX, "cylinders"),
    (&["sectors_per_track"], 1.0, TRACK_SECTORS_MAX, "sectors"),
];

pub(super) const SEEK: &[Range] = &[
    (&["single_ms", "min_ms", "average_ms", "full_ms"], TIME_MIN_MS, MOVE_MAX_MS, "ms"),
    (&["near_base_ms", "near_root_ms"], 0.0, MOVE_MAX_MS, "ms"),
    (&["far_base_ms", "far_slope_ms"], 0.0, MOVE_MAX_MS, "ms"),
    (&["knee_fraction"], 0.0, 1.0, "of the stroke"),
];

/// Notes every number outside its range; what the numbers mean to each other is not looked at.
pub(super) fn check_ranges(params: &HddParams, problems: &mut Problems) {
    problems.range("capacity_bytes", params.capacity_bytes as f64, (512.0, 1e18), "bytes");
    if !problems.is_empty() {
        return;
    }
    check("", params, DRIVE, problems);
    if let Some(low) = params.write_cache.low_water_pct {
        let range = (0.001, params.write_cache.high_water_pct);
        problems.range("write_cache.low_water_pct", low, range, "percent");
    }
    if let ZoneParams::Table { list } = &params.zones {
        for (index, zone) in list.iter().enumerate() {
            check(&format!("zones.list[{index}]"), zone, ZONE, problems);
        }
    }
    check_seek_ranges("seek", &params.seek, problems);
    if let Some(curve) = &params.write_seek {
        check_seek_ranges("write_seek", curve, problems);
    }
}

fn check_seek_ranges(table: &str, seek: &SeekParams, problems: &mut Problems) {
    check(table, seek, SEEK, problems);
    if let SeekParams::Table { points_cylinders_ms } = seek {
        let field = format!("{table}.points_cylinders_ms");
        for &(_, ms) in points_cylinders_ms {
            problems.range(&field, ms, (0.0, MOVE_MAX_MS), "ms");
        }
    }
}
