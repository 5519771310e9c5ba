//! Parameters that cannot be, each named with its field.
//!
//! In three steps, each only if the one before found nothing: every number by itself ([`limits`](super::limits)),
//! what the fields mean to each other, and what the formatted drive would be.

use crate::hdd::limits::{CYLINDERS_MAX, TRACK_SECTORS_MAX, check_ranges};
use crate::hdd::params::{HddParams, LayoutParams, ZoneEntry, ZoneParams};
use crate::hdd::seek_check::{check_curve, check_seek, strange_points};
use crate::hdd::zones::{ZoneFormat, sectors_needed, zone_formats};
use crate::numbers::plain;
use crate::param_problem::{ParamProblem, Problems};

/// A measured zone list may hold this much more than the capacity (spare tracks), as a factor.
const SPARE_FACTOR_MAX: f64 = 1.1;

/// Longest pass over a whole drive, ten years: its time in nanoseconds stays far below 64 bits.
const PASS_MAX_MS: f64 = 10.0 * 365.25 * 86_400e3;

impl HddParams {
    /// Everything about these parameters that cannot be; empty for a drive that can be built.
    pub fn validate(&self) -> Vec<ParamProblem> {
        let mut problems = Problems::default();
        check_ranges(self, &mut problems);
        if problems.is_empty() {
            self.check_sectors(&mut problems);
            self.check_skew_and_layout(&mut problems);
            check_seek("seek", &self.seek, &mut problems);
            if let Some(curve) = &self.write_seek {
                check_seek("write_seek", curve, &mut problems);
            }
            self.check_caches(&mut problems);
            self.check_smr(&mut problems);
        }
        if problems.is_empty() {
            self.check_zones(&mut problems);
        }
        if problems.is_empty() {
            self.check_formatted(&zone_formats(self), &mut problems);
        }
        problems.0
    }

    /// Warnings about accepted values that are probably mistakes: one line each.
    pub fn strange(&self) -> Vec<String> {
        let read = strange_points("seek", &self.seek);
        let write = self.write_seek.as_ref().and_then(|curve| strange_points("write_seek", curve));
        read.into_iter().chain(write).collect()
    }

    fn check_sectors(&self, p: &mut Problems) {
        let (logical, physical) = (self.logical_sector_bytes, self.physical_sector_bytes);
        for (value, field) in
            [(logical, "logical_sector_bytes"), (physical, "physical_sector_bytes")]
        {
            p.unless([512, 4096].contains(&value), field, format!("is {value}; give 512 or 4096"));
        }
        p.unless(
            logical <= physical,
            "logical_sector_bytes",
            format!("is {logical}, larger than the physical sector of {physical}"),
        );
        p.unless(
            logical == physical || self.read_modify_write.is_some(),
            "read_modify_write",
            "is missing; a drive whose physical sectors are larger than its logical ones needs it",
        );
        p.unless(
            logical > 0 && self.capacity_bytes.is_multiple_of(u64::from(logical)),
            "capacity_bytes",
            format!("is {}, not a multiple of the logical sector", self.capacity_bytes),
        );
        p.unless(
            logical > 0
                && self.alignment_shift_sectors < physical / logical.max(1).min(physical.max(1)),
            "alignment_shift_sectors",
            format!(
                "is {}; it must be less than the logical sectors in a physical one",
                self.alignment_shift_sectors
            ),
        );
    }

    fn check_skew_and_layout(&self, p: &mut Problems) {
        for (skew, field) in
            [(self.skew.head_rev, "skew.head_rev"), (self.skew.cylinder_rev, "skew.cylinder_rev")]
        {
            p.unless(
                (0.0..1.0).contains(&skew),
                field,
                format!("is {skew}; a skew is at least 0 and less than 1 revolution"),
            );
        }
        if let LayoutParams::Serpentine { band_cylinders } = self.layout {
            let ok = band_cylinders >= 1 && f64::from(band_cylinders) <= CYLINDERS_MAX;
            let message = format!("is {band_cylinders}; give 1 to {CYLINDERS_MAX} cylinders");
            p.unless(ok, "layout.band_cylinders", message);
        }
    }

    fn check_caches(&self, p: &mut Problems) {
        let write = &self.write_cache;
        if write.enabled {
            p.unless(
                write.dirty_limit_kib > 0,
                "write_cache.dirty_limit_kib",
                "is 0; turn the cache off with enabled = false",
            );
            p.unless(
                write.dirty_extents > 0,
                "write_cache.dirty_extents",
                "is 0; turn the cache off with enabled = false",
            );
            p.unless(write.window > 0, "write_cache.window", "is 0; 1 writes in order of address");
        }
        let read = &self.read_cache;
        p.unless(
            read.segments == 0 || read.segment_kib > 0,
            "read_cache.segment_kib",
            "is 0; turn the cache off with segments = 0",
        );
    }

    fn check_smr(&self, p: &mut Problems) {
        let Some(smr) = &self.smr else { return };
        let log_bytes = (smr.cache_gib * (1u64 << 30) as f64) as u64;
        let drive_gib = self.capacity_bytes as f64 / (1u64 << 30) as f64;
        p.unless(
            log_bytes <= self.capacity_bytes,
            "smr.cache_gib",
            format!("is {}, more than the whole drive's {drive_gib:.1} GiB", smr.cache_gib),
        );
        p.unless(
            log_bytes >= u64::from(smr.append_kib) * 1024,
            "smr.append_kib",
            format!(
                "is {}, more than the {} GiB of the persistent cache",
                smr.append_kib, smr.cache_gib
            ),
        );
        p.unless(
            u64::from(smr.band_mib) << 20 <= self.capacity_bytes,
            "smr.band_mib",
            format!(
                "is {}, more than the whole drive's {:.0} MiB",
                smr.band_mib,
                drive_gib * 1024.0
            ),
        );
    }

    fn check_zones(&self, p: &mut Problems) {
        match &self.zones {
            ZoneParams::SquareRoot {
                outer_media_mb_s: outer,
                inner_media_mb_s: inner,
                clamp_media_mb_s,
                count,
            } => {
                p.unless(
                    inner <= outer,
                    "zones.inner_media_mb_s",
                    format!("is {inner}, faster than the outer zone's {outer}"),
                );
                if let Some(clamp) = clamp_media_mb_s {
                    p.unless(
                        clamp >= inner,
                        "zones.clamp_media_mb_s",
                        format!("is {clamp}, below the inner zone's {inner}"),
                    );
                }
                self.check_track("zones.outer_media_mb_s", *outer, p);
                self.check_track("zones.inner_media_mb_s", *inner, p);
                self.check_zone_count(*count, *outer, *inner, p);
            }
            ZoneParams::Table { list } => self.check_zone_list(list, p),
        }
    }

    fn track_sectors(&self, media_mb_s: f64) -> f64 {
        media_mb_s * 1e6 * 60.0 / self.rpm / f64::from(self.physical_sector_bytes)
    }

    fn check_track(&self, field: &str, media_mb_s: f64, p: &mut Problems) {
        let sectors = self.track_sectors(media_mb_s);
        let per_sector_mb_s = media_mb_s / sectors;
        p.unless(
            (1.0..=TRACK_SECTORS_MAX).contains(&sectors),
            field,
            format!(
                "is {}, {} sectors in a turn of {:.3} ms; give {} to {} MB/s",
                plain(media_mb_s),
                plain(sectors.floor()),
                60_000.0 / self.rpm,
                plain(per_sector_mb_s),
                plain(per_sector_mb_s * TRACK_SECTORS_MAX)
            ),
        );
    }

    fn check_zone_count(&self, count: u32, outer: f64, inner: f64, p: &mut Problems) {
        let cylinders_at = |media_mb_s: f64| {
            let tracks = sectors_needed(self) as f64 / self.track_sectors(media_mb_s).max(1.0);
            tracks / f64::from(self.heads)
        };
        let fewest = cylinders_at(outer).max(1.0);
        p.unless(
            f64::from(count) <= fewest,
            "zones.count",
            format!("is {count}, more than the drive's {fewest:.0} tracks on a surface"),
        );
        let most = cylinders_at(inner);
        p.unless(
            most <= CYLINDERS_MAX,
            "capacity_bytes",
            format!(
                "is {}; at these rates that takes {} tracks on a surface, and {CYLINDERS_MAX} is the limit",
                self.capacity_bytes,
                plain(most.round())
            ),
        );
    }

    fn check_zone_list(&self, list: &[ZoneEntry], p: &mut Problems) {
        p.unless(!list.is_empty(), "zones.list", "is empty; give at least one zone");
        for (i, zone) in list.iter().enumerate() {
            let at = |name: &str| format!("zones.list[{i}].{name}");
            if let Some(outer) = i.checked_sub(1).and_then(|before| list.get(before)) {
                p.unless(
                    zone.sectors_per_track <= outer.sectors_per_track,
                    &at("sectors_per_track"),
                    format!(
                        "is {}, more than the zone outside it has ({})",
                        zone.sectors_per_track, outer.sectors_per_track
                    ),
                );
            }
            for (skew, name) in [
                (zone.head_skew_rev, "head_skew_rev"),
                (zone.cylinder_skew_rev, "cylinder_skew_rev"),
            ] {
                let ok = skew.is_none_or(|s| (0.0..1.0).contains(&s));
                p.unless(ok, &at(name), "must be at least 0 and less than 1 revolution");
            }
        }
        // no single product overflows within the bounds; a sum that would is too much anyway
        let held = list.iter().fold(0u64, |sum, zone| {
            let surface = u64::from(zone.cylinders) * u64::from(zone.sectors_per_track);
            sum.saturating_add(surface * u64::from(self.heads))
        });
        let needed = sectors_needed(self);
        p.unless(
            held >= needed && held as f64 <= needed as f64 * SPARE_FACTOR_MAX,
            "zones.list",
            format!("holds {held} physical sectors where capacity_bytes needs {needed}"),
        );
        let cylinders: u64 = list.iter().map(|zone| u64::from(zone.cylinders)).sum();
        p.unless(
            cylinders as f64 <= CYLINDERS_MAX,
            "zones.list",
            format!("has {cylinders} cylinders; {CYLINDERS_MAX} is the limit"),
        );
    }

    /// Checks what follows from the formatted zones: the time of a pass, and the seek curve over all cylinders.
    fn check_formatted(&self, zones: &[ZoneFormat], p: &mut Problems) {
        let cylinders: u64 = zones.iter().map(|zone| u64::from(zone.cylinders)).sum();
        let turn_ms = 60_000.0 / self.rpm;
        // each track takes a turn, less than another of skew, and the turns that a slow head switch loses
        let track_ms = 3.0 * turn_ms + self.head_switch_ms;
        let pass_ms = cylinders as f64 * f64::from(self.heads) * track_ms;
        p.unless(
            pass_ms <= PASS_MAX_MS,
            "capacity_bytes",
            format!(
                "is {}; at these rates one pass over the drive could take {:.0} years, and 10 is the limit",
                self.capacity_bytes,
                pass_ms / PASS_MAX_MS * 10.0
            ),
        );
        let stroke = u32::try_from(cylinders.saturating_sub(1)).unwrap_or(u32::MAX);
        check_curve("seek", &self.seek, stroke, p);
        if let Some(curve) = &self.write_seek {
            check_curve("write_seek", curve, stroke, p);
        }
    }
}

#[cfg(test)]
mod tests;
