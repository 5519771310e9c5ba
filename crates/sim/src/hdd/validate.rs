//! Parameters that cannot be, each named with its field.

use crate::hdd::params::{
    HddParams, LayoutParams, ParamProblem, SeekParams, ZoneEntry, ZoneParams,
};
use crate::hdd::zones::sectors_needed;

/// Highest spindle speed accepted; the fastest drives ever sold turn 15000 times a minute.
const RPM_MAX: f64 = 30_000.0;

/// A measured zone list may hold this much more than the capacity (spare tracks), as a factor.
const SPARE_FACTOR_MAX: f64 = 1.1;

struct Problems(Vec<ParamProblem>);

impl Problems {
    fn unless(&mut self, ok: bool, field: &str, message: impl Into<String>) {
        if !ok {
            self.0.push(ParamProblem { field: field.to_owned(), message: message.into() });
        }
    }

    fn positive(&mut self, value: f64, field: &str) {
        self.unless(
            value.is_finite() && value > 0.0,
            field,
            format!("is {value}; it must be greater than 0"),
        );
    }

    fn not_negative(&mut self, value: f64, field: &str) {
        self.unless(
            value.is_finite() && value >= 0.0,
            field,
            format!("is {value}; it must be 0 or more"),
        );
    }
}

impl HddParams {
    /// Everything about these parameters that cannot be; empty for a drive that can be built.
    pub fn validate(&self) -> Vec<ParamProblem> {
        let mut problems = Problems(Vec::new());
        self.check_basics(&mut problems);
        self.check_sectors(&mut problems);
        self.check_skew_and_layout(&mut problems);
        self.check_seek(&mut problems);
        self.check_caches(&mut problems);
        self.check_smr(&mut problems);
        if problems.0.is_empty() {
            // zones are judged by what the rest implies
            self.check_zones(&mut problems);
        }
        problems.0
    }

    fn check_basics(&self, p: &mut Problems) {
        p.unless(
            self.capacity_bytes > 0,
            "capacity_bytes",
            "is 0; give the bytes the host can address",
        );
        p.unless(
            self.rpm.is_finite() && self.rpm > 0.0 && self.rpm <= RPM_MAX,
            "rpm",
            format!(
                "is {}; a spindle turns more than 0 and at most {RPM_MAX} times a minute",
                self.rpm
            ),
        );
        p.unless(
            (1..=64).contains(&self.heads),
            "heads",
            format!("is {}; give 1 to 64", self.heads),
        );
        for (value, field) in [
            (self.head_switch_ms, "head_switch_ms"),
            (self.write_settle_ms, "write_settle_ms"),
            (self.read_hit_overhead_ms, "read_hit_overhead_ms"),
            (self.read_miss_overhead_ms, "read_miss_overhead_ms"),
            (self.write_overhead_ms, "write_overhead_ms"),
        ] {
            p.not_negative(value, field);
        }
        p.positive(self.interface_mb_s, "interface_mb_s");
        p.unless(
            self.queue.depth >= 1,
            "queue.depth",
            "is 0; a drive without queueing has depth 1",
        );
        p.unless(self.queue.window >= 1, "queue.window", "is 0; 1 is first come, first served");
        p.positive(self.queue.starvation_ms, "queue.starvation_ms");
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
        if let Some(rmw) = &self.read_modify_write {
            p.unless(
                rmw.batch_sectors >= 1,
                "read_modify_write.batch_sectors",
                "is 0; give 1 or more",
            );
            p.not_negative(rmw.gap_ms, "read_modify_write.gap_ms");
        }
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
            p.unless(band_cylinders >= 1, "layout.band_cylinders", "is 0; give 1 or more");
        }
    }

    fn check_seek(&self, p: &mut Problems) {
        match &self.seek {
            SeekParams::TwoPiece {
                single_ms, near_base_ms, knee_fraction, far_base_ms, ..
            } => {
                p.positive(*single_ms, "seek.single_ms");
                p.not_negative(*near_base_ms, "seek.near_base_ms");
                p.not_negative(*far_base_ms, "seek.far_base_ms");
                p.unless(
                    (0.0..=1.0).contains(knee_fraction),
                    "seek.knee_fraction",
                    format!("is {knee_fraction}; it is a part of the full stroke, 0 to 1"),
                );
            }
            SeekParams::TwoPieceCylinders { single_ms, near_base_ms, far_base_ms, .. } => {
                p.positive(*single_ms, "seek.single_ms");
                p.not_negative(*near_base_ms, "seek.near_base_ms");
                p.not_negative(*far_base_ms, "seek.far_base_ms");
            }
            SeekParams::ThreePoint { min_ms, average_ms, full_ms } => {
                p.positive(*min_ms, "seek.min_ms");
                p.unless(
                    min_ms < average_ms && average_ms < full_ms,
                    "seek.average_ms",
                    format!(
                        "is {average_ms}; it must lie between min_ms {min_ms} and full_ms {full_ms}"
                    ),
                );
            }
            SeekParams::SquareRoot { min_ms, full_ms } => {
                p.positive(*min_ms, "seek.min_ms");
                p.unless(
                    min_ms <= full_ms,
                    "seek.full_ms",
                    format!("is {full_ms}, shorter than min_ms {min_ms}"),
                );
            }
            SeekParams::Table { points_cylinders_ms: points } => {
                let field = "seek.points_cylinders_ms";
                p.unless(!points.is_empty(), field, "is empty; give at least one point");
                p.unless(
                    points.windows(2).all(|pair| pair[0].0 < pair[1].0),
                    field,
                    "must have ascending distances, each once",
                );
                p.unless(
                    points.iter().all(|point| point.1.is_finite() && point.1 >= 0.0),
                    field,
                    "has a time that is negative or not a number",
                );
            }
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
        p.unless(
            write.high_water_pct > 0.0 && write.high_water_pct <= 100.0,
            "write_cache.high_water_pct",
            format!("is {}; it must be greater than 0 and at most 100", write.high_water_pct),
        );
        p.not_negative(write.idle_ms, "write_cache.idle_ms");
        p.positive(write.age_limit_ms, "write_cache.age_limit_ms");
        p.not_negative(write.gap_ms, "write_cache.gap_ms");
        p.not_negative(write.gap_jitter_ms, "write_cache.gap_jitter_ms");
        let read = &self.read_cache;
        p.unless(
            read.segments == 0 || read.segment_kib > 0,
            "read_cache.segment_kib",
            "is 0; turn the cache off with segments = 0",
        );
        p.unless(
            read.segments == 0 || read.read_ahead_kib <= read.segment_kib,
            "read_cache.read_ahead_kib",
            format!(
                "is {}, more than a segment holds ({} KiB)",
                read.read_ahead_kib, read.segment_kib
            ),
        );
    }

    fn check_smr(&self, p: &mut Problems) {
        if let Some(smr) = &self.smr {
            p.unless(smr.band_mib > 0, "smr.band_mib", "is 0; give the size of a band");
            p.positive(smr.cache_gib, "smr.cache_gib");
            p.unless(
                smr.map_extents > 0,
                "smr.map_extents",
                "is 0; give the extents the map holds",
            );
            p.not_negative(smr.clean_idle_ms, "smr.clean_idle_ms");
            p.unless(smr.append_extents > 0, "smr.append_extents", "is 0; give 1 or more");
            p.unless(
                smr.append_kib > 0,
                "smr.append_kib",
                "is 0; give the largest append to the log",
            );
        }
    }

    fn check_zones(&self, p: &mut Problems) {
        match &self.zones {
            ZoneParams::SquareRoot {
                outer_media_mb_s,
                inner_media_mb_s,
                clamp_media_mb_s,
                count,
            } => {
                p.positive(*inner_media_mb_s, "zones.inner_media_mb_s");
                p.unless(
                    inner_media_mb_s <= outer_media_mb_s,
                    "zones.inner_media_mb_s",
                    format!(
                        "is {inner_media_mb_s}, faster than the outer zone's {outer_media_mb_s}"
                    ),
                );
                if let Some(clamp) = clamp_media_mb_s {
                    p.unless(
                        *clamp >= *inner_media_mb_s,
                        "zones.clamp_media_mb_s",
                        format!("is {clamp}, below the inner zone's {inner_media_mb_s}"),
                    );
                }
                self.check_zone_count(*count, *outer_media_mb_s, p);
            }
            ZoneParams::Table { list } => self.check_zone_list(list, p),
        }
    }

    fn check_zone_count(&self, count: u32, outer_media_mb_s: f64, p: &mut Problems) {
        p.unless(count > 0, "zones.count", "is 0; give 1 or more");
        let track_sectors =
            outer_media_mb_s * 1e6 * 60.0 / self.rpm / f64::from(self.physical_sector_bytes);
        let tracks = sectors_needed(self) as f64 / track_sectors.max(1.0);
        let cylinders = tracks / f64::from(self.heads);
        p.unless(
            f64::from(count) <= cylinders,
            "zones.count",
            format!("is {count}, more than the drive's {cylinders:.0} tracks on a surface"),
        );
    }

    fn check_zone_list(&self, list: &[ZoneEntry], p: &mut Problems) {
        p.unless(!list.is_empty(), "zones.list", "is empty; give at least one zone");
        for (i, zone) in list.iter().enumerate() {
            let at = |name: &str| format!("zones.list[{i}].{name}");
            p.unless(zone.cylinders > 0, &at("cylinders"), "is 0; give the zone's width");
            p.unless(
                zone.sectors_per_track > 0,
                &at("sectors_per_track"),
                "is 0; give the sectors of a track",
            );
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
        let held: u64 = list
            .iter()
            .map(|z| {
                u64::from(z.cylinders) * u64::from(self.heads) * u64::from(z.sectors_per_track)
            })
            .sum();
        let needed = sectors_needed(self);
        p.unless(
            held >= needed && held as f64 <= needed as f64 * SPARE_FACTOR_MAX,
            "zones.list",
            format!("holds {held} physical sectors where capacity_bytes needs {needed}"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hdd::params::SmrParams;
    use crate::hdd::tests::small_drive;

    fn fields(change: impl FnOnce(&mut HddParams)) -> Vec<String> {
        let mut params = small_drive();
        change(&mut params);
        params.validate().into_iter().map(|problem| problem.field).collect()
    }

    fn square_root(params: &mut HddParams, outer: f64, inner: f64, clamp: Option<f64>, count: u32) {
        params.zones = ZoneParams::SquareRoot {
            outer_media_mb_s: outer,
            inner_media_mb_s: inner,
            clamp_media_mb_s: clamp,
            count,
        };
    }

    #[test]
    fn a_good_drive_has_no_problem() {
        assert_eq!(small_drive().validate(), []);
    }

    #[test]
    fn each_impossible_value_names_its_field() {
        type Change = fn(&mut HddParams);
        let cases: [(&str, Change); 19] = [
            ("rpm", |p| p.rpm = 0.0),
            ("rpm", |p| p.rpm = f64::NAN),
            ("heads", |p| p.heads = 0),
            ("capacity_bytes", |p| p.capacity_bytes += 100),
            ("logical_sector_bytes", |p| p.logical_sector_bytes = 520),
            ("read_modify_write", |p| p.physical_sector_bytes = 4096),
            ("zones.inner_media_mb_s", |p| square_root(p, 80.0, 90.0, None, 10)),
            ("zones.inner_media_mb_s", |p| square_root(p, 80.0, 0.0, None, 10)),
            ("zones.clamp_media_mb_s", |p| square_root(p, 80.0, 50.0, Some(40.0), 10)),
            ("zones.count", |p| square_root(p, 80.0, 50.0, None, 1_000_000)),
            ("zones.list", |p| p.zones = ZoneParams::Table { list: vec![] }),
            ("skew.head_rev", |p| p.skew.head_rev = 1.0),
            ("layout.band_cylinders", |p| {
                p.layout = LayoutParams::Serpentine { band_cylinders: 0 };
            }),
            ("seek.average_ms", |p| {
                p.seek = SeekParams::ThreePoint { min_ms: 1.0, average_ms: 30.0, full_ms: 20.0 };
            }),
            ("seek.points_cylinders_ms", |p| {
                p.seek = SeekParams::Table { points_cylinders_ms: vec![(5, 1.0), (5, 2.0)] };
            }),
            ("write_cache.high_water_pct", |p| p.write_cache.high_water_pct = 0.0),
            ("read_cache.read_ahead_kib", |p| {
                p.read_cache.read_ahead_kib = p.read_cache.segment_kib + 1;
            }),
            ("queue.depth", |p| p.queue.depth = 0),
            ("smr.band_mib", |p| {
                p.smr = Some(SmrParams {
                    band_mib: 0,
                    cache_gib: 0.1,
                    map_extents: 10,
                    clean_idle_ms: 100.0,
                    append_kib: 1024,
                    append_extents: 8,
                });
            }),
        ];
        for (field, change) in cases {
            assert!(fields(change).iter().any(|f| f == field), "{field}: {:?}", fields(change));
        }
    }

    #[test]
    fn a_zone_list_must_hold_the_capacity_and_slow_down_inwards() {
        let zone = |cylinders, sectors_per_track| ZoneEntry {
            cylinders,
            sectors_per_track,
            head_skew_rev: None,
            cylinder_skew_rev: None,
        };
        let with = |list: Vec<ZoneEntry>| fields(|p| p.zones = ZoneParams::Table { list });
        assert_eq!(with(vec![zone(1, 100)]), ["zones.list"]);
        let needed = sectors_needed(&small_drive()) as u32;
        let heads = small_drive().heads;
        let width = needed / heads / 1000 / 2 + 1;
        assert_eq!(with(vec![zone(width, 1000), zone(width, 1000)]), Vec::<String>::new());
        assert_eq!(
            with(vec![zone(width, 900), zone(width, 1100)]),
            ["zones.list[1].sectors_per_track"]
        );
    }
}
