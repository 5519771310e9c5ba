//! The least and the most that each number of a hard disk's table may be.
//!
//! Wide enough for any drive that was built or can be imagined, and narrow enough that no sum or product of them
//! leaves the 64 bits in which the drive counts nanoseconds and sectors.

use crate::hdd::params::{HddParams, SeekParams, ZoneParams};
use crate::param_problem::Problems;

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

/// Notes every number outside its range; what the numbers mean to each other is not looked at.
pub(super) fn check_ranges(params: &HddParams, problems: &mut Problems) {
    drive(params, problems);
    caches(params, problems);
    optional_parts(params, problems);
    zones(&params.zones, problems);
    seek("seek", &params.seek, problems);
    if let Some(curve) = &params.write_seek {
        seek("write_seek", curve, problems);
    }
}

/// Checks the numbers `fields` of the table `table` ("" for the drive's own), all with one range.
fn add(
    problems: &mut Problems,
    table: &str,
    (least, most, unit): (f64, f64, &str),
    fields: &[(&str, f64)],
) {
    let dot = if table.is_empty() { "" } else { "." };
    for &(name, value) in fields {
        problems.range(&format!("{table}{dot}{name}"), value, (least, most), unit);
    }
}

fn drive(p: &HddParams, all: &mut Problems) {
    add(all, "", (512.0, 1e18, "bytes"), &[("capacity_bytes", p.capacity_bytes as f64)]);
    add(all, "", (60.0, 30_000.0, "revolutions per minute"), &[("rpm", p.rpm)]);
    add(all, "", (1.0, 64.0, "heads"), &[("heads", p.heads.into())]);
    let mut times = vec![
        ("head_switch_ms", p.head_switch_ms),
        ("write_settle_ms", p.write_settle_ms),
        ("read_hit_overhead_ms", p.read_hit_overhead_ms),
        ("read_miss_overhead_ms", p.read_miss_overhead_ms),
        ("write_overhead_ms", p.write_overhead_ms),
    ];
    times.extend(p.write_miss_overhead_ms.map(|ms| ("write_miss_overhead_ms", ms)));
    add(all, "", (0.0, MOVE_MAX_MS, "ms"), &times);
    if let Some(after) = p.after_write {
        let given = [
            ("read_hit_overhead_ms", after.read_hit_overhead_ms),
            ("read_miss_overhead_ms", after.read_miss_overhead_ms),
            ("write_overhead_ms", after.write_overhead_ms),
            ("write_miss_overhead_ms", after.write_miss_overhead_ms),
        ];
        let given = given.into_iter().filter_map(|(name, ms)| Some((name, ms?)));
        add(all, "after_write", (0.0, MOVE_MAX_MS, "ms"), &given.collect::<Vec<_>>());
    }
    let rate = (RATE_MIN_MB_S, RATE_MAX_MB_S, "MB/s");
    add(all, "", rate, &[("interface_mb_s", p.interface_mb_s)]);
    let counts = [("depth", p.queue.depth.into()), ("window", p.queue.window.into())];
    add(all, "queue", (1.0, COMMANDS_MAX, "commands"), &counts);
    let starvation = (TIME_MIN_MS, WAIT_MAX_MS, "ms");
    add(all, "queue", starvation, &[("starvation_ms", p.queue.starvation_ms)]);
}

fn caches(p: &HddParams, all: &mut Problems) {
    let (read, write) = (&p.read_cache, &p.write_cache);
    add(all, "read_cache", (0.0, 65_536.0, "segments"), &[("segments", read.segments.into())]);
    let sizes =
        [("segment_kib", read.segment_kib.into()), ("read_ahead_kib", read.read_ahead_kib.into())];
    add(all, "read_cache", (0.0, BUFFER_MAX_KIB, "KiB"), &sizes);
    let water_mark = ("water_mark", read.water_mark);
    add(all, "read_cache", (0.0, 1.0, "of a request"), &[water_mark]);
    let name = "write_cache";
    let limit = ("dirty_limit_kib", write.dirty_limit_kib.into());
    add(all, name, (0.0, BUFFER_MAX_KIB, "KiB"), &[limit]);
    let counts = [("dirty_extents", write.dirty_extents.into()), ("window", write.window.into())];
    add(all, name, (0.0, STRETCHES_MAX, "stretches"), &counts);
    add(all, name, (0.001, 100.0, "percent"), &[("high_water_pct", write.high_water_pct)]);
    if let Some(low) = write.low_water_pct {
        add(all, name, (0.001, write.high_water_pct, "percent"), &[("low_water_pct", low)]);
    }
    add(all, name, (0.0, WAIT_MAX_MS, "ms"), &[("idle_ms", write.idle_ms)]);
    add(all, name, (TIME_MIN_MS, WAIT_MAX_MS, "ms"), &[("age_limit_ms", write.age_limit_ms)]);
    let gaps = [("gap_ms", write.gap_ms), ("gap_jitter_ms", write.gap_jitter_ms)];
    add(all, name, (0.0, MOVE_MAX_MS, "ms"), &gaps);
}

fn optional_parts(p: &HddParams, all: &mut Problems) {
    if let Some(rmw) = &p.read_modify_write {
        let name = "read_modify_write";
        let batch = ("batch_sectors", rmw.batch_sectors.into());
        add(all, name, (1.0, STRETCHES_MAX, "sectors"), &[batch]);
        add(all, name, (0.0, MOVE_MAX_MS, "ms"), &[("gap_ms", rmw.gap_ms)]);
    }
    if let Some(smr) = &p.smr {
        add(all, "smr", (1.0, 1_048_576.0, "MiB"), &[("band_mib", smr.band_mib.into())]);
        add(all, "smr", (0.001, 1e6, "GiB"), &[("cache_gib", smr.cache_gib)]);
        add(all, "smr", (1.0, 1e9, "extents"), &[("map_extents", smr.map_extents.into())]);
        add(all, "smr", (0.0, WAIT_MAX_MS, "ms"), &[("clean_idle_ms", smr.clean_idle_ms)]);
        add(all, "smr", (4.0, BUFFER_MAX_KIB, "KiB"), &[("append_kib", smr.append_kib.into())]);
        let extents = ("append_extents", smr.append_extents.into());
        add(all, "smr", (1.0, STRETCHES_MAX, "extents"), &[extents]);
    }
}

fn zones(zones: &ZoneParams, all: &mut Problems) {
    match zones {
        ZoneParams::SquareRoot { outer_media_mb_s, inner_media_mb_s, clamp_media_mb_s, count } => {
            let mut rates = vec![
                ("outer_media_mb_s", *outer_media_mb_s),
                ("inner_media_mb_s", *inner_media_mb_s),
            ];
            rates.extend(clamp_media_mb_s.map(|clamp| ("clamp_media_mb_s", clamp)));
            add(all, "zones", (RATE_MIN_MB_S, RATE_MAX_MB_S, "MB/s"), &rates);
            add(all, "zones", (1.0, 10_000.0, "zones"), &[("count", (*count).into())]);
        }
        ZoneParams::Table { list } => {
            for (index, zone) in list.iter().enumerate() {
                let table = format!("zones.list[{index}]");
                let width = ("cylinders", zone.cylinders.into());
                add(all, &table, (1.0, CYLINDERS_MAX, "cylinders"), &[width]);
                let sectors = ("sectors_per_track", zone.sectors_per_track.into());
                add(all, &table, (1.0, TRACK_SECTORS_MAX, "sectors"), &[sectors]);
            }
        }
    }
}

fn seek(table: &str, seek: &SeekParams, all: &mut Problems) {
    let positive = (TIME_MIN_MS, MOVE_MAX_MS, "ms");
    match *seek {
        SeekParams::TwoPiece {
            single_ms,
            near_base_ms,
            near_root_ms,
            far_base_ms,
            far_slope_ms,
            ..
        }
        | SeekParams::TwoPieceCylinders {
            single_ms,
            near_base_ms,
            near_root_ms,
            far_base_ms,
            far_slope_ms,
            ..
        } => {
            add(all, table, positive, &[("single_ms", single_ms)]);
            let pieces = [
                ("near_base_ms", near_base_ms),
                ("near_root_ms", near_root_ms),
                ("far_base_ms", far_base_ms),
                ("far_slope_ms", far_slope_ms),
            ];
            add(all, table, (0.0, MOVE_MAX_MS, "ms"), &pieces);
        }
        SeekParams::ThreePoint { min_ms, average_ms, full_ms } => {
            let times = [("min_ms", min_ms), ("average_ms", average_ms), ("full_ms", full_ms)];
            add(all, table, positive, &times);
        }
        SeekParams::SquareRoot { min_ms, full_ms } => {
            add(all, table, positive, &[("min_ms", min_ms), ("full_ms", full_ms)]);
        }
        SeekParams::Table { ref points_cylinders_ms } => {
            let times = points_cylinders_ms.iter().map(|point| ("points_cylinders_ms", point.1));
            add(all, table, (0.0, MOVE_MAX_MS, "ms"), &times.collect::<Vec<_>>());
        }
    }
    if let SeekParams::TwoPiece { knee_fraction, .. } = *seek {
        add(all, table, (0.0, 1.0, "of the stroke"), &[("knee_fraction", knee_fraction)]);
    }
}
