//! From zone parameters to a list of zones that holds the drive's capacity.

use crate::hdd::params::{HddParams, LayoutParams, ZoneParams};
use crate::hdd::rotation::Rotation;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ZoneFormat {
    pub cylinders: u32,
    pub sectors_per_track: u32,
    /// Revolutions between the end of a track and the start of the next after a head switch.
    pub head_skew_rev: f64,
    /// Revolutions between these after a step to the neighbouring cylinder.
    pub cylinder_skew_rev: f64,
}

/// Physical sectors the drive needs: its capacity and the shift of its addresses, and for shingled drives
/// the persistent cache.
pub fn sectors_needed(params: &HddParams) -> u64 {
    let shift = u64::from(params.alignment_shift_sectors) * u64::from(params.logical_sector_bytes);
    let log = params.smr.map_or(0, |smr| (smr.cache_gib * (1u64 << 30) as f64) as u64);
    let physical = u64::from(params.physical_sector_bytes);
    log / physical + (params.capacity_bytes + shift).div_ceil(physical)
}

/// The zones of a drive. Parameters must have passed validation.
pub fn zone_formats(params: &HddParams) -> Vec<ZoneFormat> {
    match &params.zones {
        ZoneParams::Table { list } => list
            .iter()
            .map(|zone| ZoneFormat {
                cylinders: zone.cylinders,
                sectors_per_track: zone.sectors_per_track,
                head_skew_rev: zone.head_skew_rev.unwrap_or(params.skew.head_rev),
                cylinder_skew_rev: zone.cylinder_skew_rev.unwrap_or(params.skew.cylinder_rev),
            })
            .collect(),
        ZoneParams::SquareRoot { outer_media_mb_s, inner_media_mb_s, clamp_media_mb_s, count } => {
            let rates = zone_rates(*outer_media_mb_s, *inner_media_mb_s, *clamp_media_mb_s, *count);
            from_rates(params, &rates)
        }
    }
}

/// Media rate of each zone in MB/s: linear over the radius from `outer` to `inner`, at most `clamp`.
fn zone_rates(outer: f64, inner: f64, clamp: Option<f64>, count: u32) -> Vec<f64> {
    let last = f64::from(count.max(2) - 1);
    (0..count)
        .map(|i| outer - (outer - inner) * f64::from(i) / last)
        .map(|rate| clamp.map_or(rate, |limit| rate.min(limit)))
        .collect()
}

/// Zones of about equal width with `rates`, wide enough together for the capacity.
fn from_rates(params: &HddParams, rates: &[f64]) -> Vec<ZoneFormat> {
    let turn_s = Rotation::from_rpm(params.rpm).period() as f64 / 1e9;
    let per_track: Vec<u32> = rates
        .iter()
        .map(|rate| (rate * 1e6 * turn_s / f64::from(params.physical_sector_bytes)).max(1.0) as u32)
        .collect();
    let mean = per_track.iter().map(|&n| f64::from(n)).sum::<f64>() / rates.len() as f64;
    let needed = sectors_needed(params);
    let mut cylinders = (needed as f64 / (mean * f64::from(params.heads))).ceil() as u64;
    let zones = rates.len() as u64;
    let step = match params.layout {
        LayoutParams::Serpentine { band_cylinders }
            if cylinders >= 4 * zones * u64::from(band_cylinders) =>
        {
            u64::from(band_cylinders)
        }
        _ => 1,
    };
    loop {
        let edge = |i: u64| i * cylinders / zones / step * step;
        let widths: Vec<u64> = (0..zones).map(|i| edge(i + 1) - edge(i)).collect();
        let held: u64 = widths
            .iter()
            .zip(&per_track)
            .map(|(width, &sectors)| width * u64::from(params.heads) * u64::from(sectors))
            .sum();
        if held >= needed {
            return widths
                .iter()
                .zip(&per_track)
                .map(|(&width, &sectors_per_track)| ZoneFormat {
                    cylinders: width as u32,
                    sectors_per_track,
                    head_skew_rev: params.skew.head_rev,
                    cylinder_skew_rev: params.skew.cylinder_rev,
                })
                .collect();
        }
        cylinders += step.max((needed - held) / (mean as u64 * u64::from(params.heads)).max(1) / 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hdd::tests::small_drive;

    #[test]
    fn rates_fall_inwards_and_stay_below_clamp() {
        assert_eq!(zone_rates(180.0, 80.0, None, 3), [180.0, 130.0, 80.0]);
        assert_eq!(zone_rates(280.0, 130.0, Some(250.0), 4), [250.0, 230.0, 180.0, 130.0]);
    }

    #[test]
    fn the_zones_hold_the_capacity_and_little_more() {
        let params = small_drive();
        let held: u64 = zone_formats(&params)
            .iter()
            .map(|z| u64::from(z.cylinders * params.heads) * u64::from(z.sectors_per_track))
            .sum();
        let needed = sectors_needed(&params);
        assert!(held >= needed && held < needed + needed / 50, "{held} for {needed}");
    }

    #[test]
    fn the_rate_follows_the_square_root_law_over_addresses() {
        let params = small_drive();
        let zones = zone_formats(&params);
        let outer = f64::from(zones[0].sectors_per_track);
        let ratio = f64::from(zones[zones.len() - 1].sectors_per_track) / outer;
        let needed = sectors_needed(&params) as f64;
        let mut before = 0.0;
        for zone in &zones {
            let sectors =
                f64::from(zone.cylinders * params.heads) * f64::from(zone.sectors_per_track);
            let x = ((before + sectors / 2.0) / needed).min(1.0);
            before += sectors;
            let law = (1.0 - x * (1.0 - ratio * ratio)).sqrt();
            let real = f64::from(zone.sectors_per_track) / outer;
            assert!((real - law).abs() < 0.03, "at {x}: {real} against {law}");
        }
    }
}
