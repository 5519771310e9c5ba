//! Coverage: how often the intervals of all answers contain the truth.

use super::measured_once::{MeasuredDisk, MeasuredFlash, disks, flash_drives};
use super::metric;
use crate::workloads::testing::random_disks::DiskTruth;
use drivescope_model::document::{Metric, TestResult};
use std::collections::BTreeMap;

/// The promised coverage.
const LEVEL: f64 = 0.95;
/// Probability that a quantity with the promised coverage fails by chance.
const CHANCE: f64 = 1e-3;
/// Clocks and models count whole nanoseconds.
const ROUNDING: f64 = 2e-5;

/// One quantity: the number of intervals that contain the truth, of all, and the ones that do not.
#[derive(Default)]
struct Held {
    held: u32,
    all: u32,
    widths: f64,
    missed: Vec<String>,
}

#[derive(Default)]
struct Coverage {
    of: BTreeMap<&'static str, Held>,
}

impl Coverage {
    fn hold(&mut self, what: &'static str, seed: u64, found: Option<&Metric>, truth: f64) {
        let Some(Metric { value, low, high, .. }) = found else { return };
        let of = self.of.entry(what).or_default();
        let slack = truth.abs() * ROUNDING;
        of.all += 1;
        of.widths += (high - low) / truth.abs().max(f64::MIN_POSITIVE);
        if (low - slack..=high + slack).contains(&truth) {
            of.held += 1;
        } else {
            of.missed.push(format!("{seed}: {value} ({low} to {high}), truth {truth}"));
        }
    }

    fn judge(&self) {
        let mut failed = Vec::new();
        for (what, Held { held, all, widths, missed }) in &self.of {
            let mean_width = 100.0 * widths / f64::from(*all);
            println!("{what:<28} {held:>4} of {all:>4} held, {mean_width:>8.3} % wide");
            missed.iter().take(5).for_each(|missed| println!("    {missed}"));
            if chance_of_so_few(*held, *all) < CHANCE {
                failed.push(format!("{what}: {held} of {all}, such as {}", missed[0]));
            }
        }
        assert!(failed.is_empty(), "{failed:#?}");
    }
}

/// Probability that at most `held` of `all` intervals contain the truth, if each does with the promised probability.
fn chance_of_so_few(held: u32, all: u32) -> f64 {
    let ln_of = |k: u32| -> f64 {
        let ways = (1..=k).map(|i| (f64::from(all - i + 1) / f64::from(i)).ln()).sum::<f64>();
        ways + f64::from(k) * LEVEL.ln() + f64::from(all - k) * (1.0 - LEVEL).ln()
    };
    (0..=held).map(|k| ln_of(k).exp()).sum()
}

fn hold_disk(coverage: &mut Coverage, seed: u64, truth: &DiskTruth, result: &TestResult) {
    let mut hold = |what, key: &str, truth| coverage.hold(what, seed, metric(result, key), truth);
    let turn_ms = 60e3 / truth.rpm;
    let block_us = 4096.0 / truth.link.mb_s;
    let [overhead_us, hit_us, write_us] = truth.electronics_ms.map(|ms| ms * 1e3);
    let command_us = overhead_us + truth.link.command_us + block_us;
    hold("rotation", "rotation.rpm", truth.rpm);
    hold("command", "command.overhead_us", command_us);
    hold("seek, average", "seek.average_ms", truth.average_seek_ms);
    hold("seek, full", "seek.full_stroke_ms", truth.movements.full_stroke_ms);
    hold("seek, next track", "seek.next_track_ms", truth.movements.next_track_ms);
    let [cylinder, head] = truth.skews.map(|skew| 100.0 * skew);
    let skew = if truth.pass_tracks.is_some() { cylinder } else { head };
    hold("skew", "tracks.skew_pct", skew);
    hold("hit", "read_cache.overhead_us", hit_us + truth.link.command_us);
    // Models count whole picoseconds for each byte.
    hold("link", "link.mb_s", 1e6 / (1e6 / truth.link.mb_s).round());
    hold("read-ahead", "read_cache.read_ahead_bytes", truth.read_ahead_bytes);
    hold("places", "read_cache.places", f64::from(truth.places));
    hold("read cache", "read_cache.cache_bytes", truth.read_cache_bytes);
    if let Some(bytes) = truth.write_cache_bytes {
        hold("write cache", "write_cache.cache_bytes", bytes);
        let write_ms = (write_us + truth.link.command_us + block_us) / 1e3;
        hold("cached write", "write_cached.write_ms", write_ms);
    }
    // Each write takes the next sector of a log.
    if !truth.flush_lies && !truth.is_shingled {
        hold("flushed write", "write_flushed.write_ms", turn_ms);
        hold("forced write", "write_forced.write_ms", turn_ms);
    }
    if let Some([band, log]) = truth.shingles {
        hold("band", "shingling.band_bytes", band);
        hold("log", "shingling.log_bytes", log);
    } else {
        let passing_ms = 4096.0 / (truth.mb_s(0.5) * 1e6 * truth.track_s) * turn_ms;
        let access = command_us / 1e3 + truth.movements.random_ms + turn_ms / 2.0 + passing_ms;
        hold("access", "access.access_mean_ms", access);
    }
    for number in 1.. {
        let key = |quantity: &str| format!("zone{number:02}.{quantity}");
        let (Some(start), Some(end)) =
            (metric(result, &key("start_bytes")), metric(result, &key("end_bytes")))
        else {
            break;
        };
        let middle = f64::midpoint(start.value, end.value) / truth.capacity as f64;
        let mb_s = truth.mb_s(middle);
        hold("rate of a zone", &key("mb_s"), mb_s);
        hold("track", &key("track_bytes"), mb_s * 1e6 * truth.track_s);
    }
}

#[test]
fn the_intervals_of_disks_hold_the_truth() {
    let mut coverage = Coverage::default();
    for MeasuredDisk { seed, disk, result } in disks() {
        hold_disk(&mut coverage, *seed, &disk.truth, result);
    }
    coverage.judge();
}

#[test]
fn the_intervals_of_flash_hold_the_truth() {
    let mut coverage = Coverage::default();
    for MeasuredFlash { seed, flash, found, empty } in flash_drives() {
        let mut hold = |what, found, truth| coverage.hold(what, *seed, found, truth);
        hold("write buffer", metric(found, "write_buffer.cache_bytes"), flash.buffer_bytes);
        if let Some(bytes) = flash.map_bytes {
            hold("reach of the map", metric(found, "map.span_bytes"), bytes);
        }
        hold("fast cache", metric(empty, "fast_cache.cache_bytes"), flash.slc_bytes);
    }
    coverage.judge();
}
