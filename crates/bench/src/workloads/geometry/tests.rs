//! Answers compared with the truth of random drives: the distributions of errors, which must not get worse.

mod coverage;
mod measured_once;
mod random_flash;
mod small_tracks;

use crate::testing::{has, suite_of, value};
use crate::workloads::testing::random_disks::{DiskTruth, measured};
use drivescope_model::document::{Metric, TestResult};
use drivescope_model::findings::FindingId;
use drivescope_model::options::{FillMode, Suite, TestKind};
use drivescope_model::units::{Bytes, Secs};
use drivescope_stats::summary;
use measured_once::{MeasuredDisk, MeasuredFlash, disks, flash_drives};
use random_flash::RandomFlash;
use std::collections::BTreeMap;

/// One disk of this many may be written until the log of a shingled one is full.
const LOG_EACH: u64 = 4;

fn is_printed(seed: u64) -> bool {
    std::env::var_os("GEOMETRY_DISK").is_some_and(|value| value.to_str() == Some(&seed.to_string()))
}

fn metric<'r>(result: &'r TestResult, key: &str) -> Option<&'r Metric> {
    let key = format!("geometry.{key}");
    result.metrics.iter().find(|metric| metric.key == key)
}

/// A suite that may fill caches of this size.
fn filling(gib: u64) -> Suite {
    let mut suite = suite_of(TestKind::Geometry);
    suite.geometry.cache_writes = Bytes::gib(gib);
    suite.geometry.time = Secs(900.0);
    suite
}

/// Errors by what they are of.
#[derive(Default)]
struct Errors {
    seed: u64,
    all: BTreeMap<&'static str, Vec<f64>>,
    /// The disk with the largest error of each.
    worst: BTreeMap<&'static str, (f64, u64)>,
    wrong: Vec<String>,
    unanswered: BTreeMap<&'static str, u32>,
    /// Why something was not answered, without its numbers, and of how many disks.
    reasons: BTreeMap<String, u32>,
}

impl Errors {
    fn share(&mut self, what: &'static str, found: Option<f64>, truth: f64) {
        self.difference(what, found.map(|found| found / truth - 1.0), 0.0);
    }

    fn difference(&mut self, what: &'static str, found: Option<f64>, truth: f64) {
        match found {
            Some(found) => {
                let error = (found - truth).abs();
                self.all.entry(what).or_default().push(error);
                let worst = self.worst.entry(what).or_insert((0.0, 0));
                if error > worst.0 {
                    *worst = (error, self.seed);
                }
            }
            None => *self.unanswered.entry(what).or_default() += 1,
        }
    }

    fn yes_or_no(&mut self, what: &'static str, seed: u64, found: Option<bool>, truth: bool) {
        match found {
            Some(found) if found == truth => self.difference(what, Some(0.0), 0.0),
            Some(found) => self.wrong.push(format!("{what}: {found} of disk {seed}")),
            None => *self.unanswered.entry(what).or_default() += 1,
        }
    }

    fn add(&mut self, seed: u64, truth: &DiskTruth, result: &TestResult) {
        self.seed = seed;
        let of = |key: &str| value(result, &format!("geometry.{key}"));
        self.share("rotation", of("rotation.rpm"), truth.rpm);
        self.difference("average seek, ms", of("seek.average_ms"), truth.average_seek_ms);
        self.difference("heads", of("heads.count"), truth.heads as f64);
        if let (Some(found), Some(_)) = (of("heads.pass_tracks"), of("heads.count")) {
            let truth = truth.pass_tracks.unwrap_or(0);
            self.difference("tracks of a pass", Some(found), truth as f64);
        }
        let overhead = of("command.overhead_us").map(|us| us / 1e3);
        self.difference("overhead, ms", overhead, truth.electronics_ms[0]);
        let is_complete =
            !result.reason.as_ref().is_some_and(|why| why.contains("borders of zones"));
        let count = of("zones.count").filter(|_| is_complete);
        self.share("zones", count, truth.zones.len() as f64);
        let read_share = of("zones.read_bytes").map(|bytes| bytes / truth.capacity as f64);
        self.difference("surface read", read_share, 0.0);
        self.zones(truth, result, is_complete);
        self.share("read-ahead", of("read_cache.read_ahead_bytes"), truth.read_ahead_bytes);
        self.share("places", of("read_cache.places"), f64::from(truth.places));
        self.share("read cache", of("read_cache.cache_bytes"), truth.read_cache_bytes);
        if let Some(bytes) = truth.write_cache_bytes {
            // A log takes random writes nearly as fast as the host sends them, so that the cache empties meanwhile.
            let what = if truth.is_shingled { "write cache, shingled" } else { "write cache" };
            self.share(what, of("write_cache.cache_bytes"), bytes);
        }
        if let Some([band, log]) = truth.shingles {
            self.share("size of a band", of("shingling.band_bytes"), band);
            if self.seed.is_multiple_of(LOG_EACH) {
                self.share("size of the log", of("shingling.log_bytes"), log);
            }
            let reason = result.reason.clone().unwrap_or_default();
            for why in reason.split("; ").filter(|why| why.contains("size of a band")) {
                let (lies, cache) = (truth.flush_lies, truth.write_cache_bytes);
                println!("{}: {why}, lies {lies}, write cache {cache:?}", self.seed);
            }
        }
        self.reasons(result);
        let has = |id| has(result, id);
        let lies = of("write_flushed.write_ms").map(|_| has(FindingId::FlushIgnored));
        self.yes_or_no("flush lies", seed, lies, truth.flush_lies);
        let ratio = of("shingling.slowdown_ratio");
        let is_unclear =
            result.reason.as_ref().is_some_and(|why| why.contains("shingling: could not tell"));
        let shingled = ratio.filter(|_| !is_unclear).map(|_| has(FindingId::Shingled));
        self.yes_or_no("shingled", seed, shingled, truth.is_shingled);
        let gains = of("queue.gain_ratio").map(|gain| gain > 1.15);
        self.yes_or_no("queue", seed, gains, truth.queues);
    }

    /// Counts what was not answered by its reason.
    fn reasons(&mut self, result: &TestResult) {
        let reason = result.reason.clone().unwrap_or_default();
        for why in reason.split("; ").filter(|why| why.contains("could not tell")) {
            if ["nothing else run", "other programs"].iter().any(|advice| why.contains(advice)) {
                self.wrong.push(format!("{why}, in virtual time, of disk {}", self.seed));
            }
            let plain: String = why.split(|it: char| it.is_ascii_digit()).collect();
            *self.reasons.entry(plain).or_default() += 1;
        }
    }

    /// Rates and borders of zones. A border lies within its interval, whatever else is known.
    fn zones(&mut self, truth: &DiskTruth, result: &TestResult, is_complete: bool) {
        let of = |number: usize, quantity: &str| {
            metric(result, &format!("zone{:02}.{quantity}", number + 1))
        };
        let count = value(result, "geometry.zones.count").unwrap_or(0.0) as usize;
        for number in 0..count {
            let (Some(start), Some(end)) = (of(number, "start_bytes"), of(number, "end_bytes"))
            else {
                continue;
            };
            if number > 0 {
                let capacity = truth.capacity as f64;
                let within = start.low / capacity - 1e-6..start.high / capacity + 1e-6;
                let mut borders = truth.zones[1..].iter().map(|(border, _)| *border);
                if !borders.clone().any(|border| within.contains(&border)) {
                    self.wrong.push(format!("no border in {within:?} of disk {}", self.seed));
                }
                let at = start.value / capacity;
                let off = borders.by_ref().map(|border| (border - at).abs()).reduce(f64::min);
                self.difference("border, share of the drive", off.filter(|_| is_complete), 0.0);
            }
            // Held against the truth at the middle of each zone that was found.
            let middle = f64::midpoint(start.value, end.value) / truth.capacity as f64;
            let rate = of(number, "mb_s").map(|metric| metric.value).filter(|_| is_complete);
            self.share("rate of a zone", rate, truth.mb_s(middle));
            if is_printed(self.seed) {
                println!("zone {number} from {} {rate:?} of {}", start.value, truth.mb_s(middle));
            }
        }
    }

    /// What must hold: the most that 95 of 100 errors may be, and that any may be.
    fn judge(&mut self, limits: &[(&str, f64, f64)], unanswered_max: f64) {
        println!(
            "{:<28} {:>6} {:>10} {:>10} {:>10} {:>6} {:>6}",
            "error of", "n", "median", "95 %", "most", "none", "worst"
        );
        let mut failed = std::mem::take(&mut self.wrong);
        for (what, errors) in &self.all {
            let of = |q| summary::quantile(errors, q).unwrap_or(0.0);
            let most = summary::max(errors).unwrap_or(0.0);
            let worst = self.worst.get(what).map_or(0, |(_, seed)| *seed);
            let none = self.unanswered.get(what).copied().unwrap_or(0);
            println!(
                "{what:<28} {:>6} {:>10.5} {:>10.5} {most:>10.5} {none:>6} {worst:>6}",
                errors.len(),
                of(0.5),
                of(0.95)
            );
            let Some((_, limit, limit_of_all)) = limits.iter().find(|(name, ..)| name == what)
            else {
                continue;
            };
            // Of a few errors the largest is all there is.
            if errors.len() as f64 >= FEW_MAX && of(0.95) > *limit {
                failed.push(format!("{what}: {:.5} of 95 %, at most {limit}", of(0.95)));
            }
            if most > *limit_of_all {
                failed.push(format!("{what}: {most:.5} of {worst}, at most {limit_of_all}"));
            }
        }
        for (why, count) in &self.reasons {
            println!("{count:>4} × {why}");
        }
        for (what, none) in &self.unanswered {
            let answered = self.all.get(what).map_or(0, Vec::len) as f64;
            let most = if OFTEN_HIDDEN.contains(what) { HIDDEN_MAX } else { unanswered_max };
            // Of a few drives, chance decides what they hide.
            if answered + f64::from(*none) >= FEW_MAX && f64::from(*none) > most * answered {
                failed.push(format!("{what}: {none} without an answer"));
            }
        }
        assert!(failed.is_empty(), "{failed:#?}");
    }
}

/// Errors that 95 of 100 disks stay within, and that all do.
const LIMITS: [(&str, f64, f64); 16] = [
    ("rotation", 0.0001, 0.001),
    ("average seek, ms", 0.2, 0.35),
    ("zones", 0.0, 0.0),
    ("rate of a zone", 0.003, 0.01),
    ("border, share of the drive", 0.0025, 0.005),
    ("surface read", 0.0015, 0.002),
    ("heads", 0.0, 0.0),
    ("tracks of a pass", 0.0, 0.0),
    ("size of a band", 0.05, 0.1),
    ("size of the log", 0.05, 0.1),
    ("read-ahead", 0.05, 0.2),
    ("places", 0.0, 0.1),
    ("read cache", 0.05, 0.1),
    ("write cache", 0.1, 0.15),
    ("write cache, shingled", 0.2, 0.25),
    // A bridge adds its own time, which the truth does not include.
    ("overhead, ms", 0.2, 0.25),
];
/// Questions that many drives have no answer to: heads that switch as fast as the arm moves on, flash that takes writes
/// as fast as they come, and writes that are answered before they are completed.
const OFTEN_HIDDEN: [&str; 3] = ["heads", "write buffer", "unit of the map"];
const HIDDEN_MAX: f64 = 2.5;
/// Fewer drives than this are too few for shares of them.
const FEW_MAX: f64 = 20.0;
/// Disks of which a question may have no answer, beside those of which it has one.
const UNANSWERED_MAX: f64 = 0.1;

#[test]
fn answers_on_random_disks_are_near_the_truth() {
    let mut errors = Errors::default();
    for MeasuredDisk { seed, disk, result } in disks() {
        let seed = *seed;
        if is_printed(seed) {
            println!(
                "{seed} {:?} {:?}",
                DiskTruth { zones: Vec::new(), ..disk.truth.clone() },
                result.reason
            );
            println!("{}", disk.toml);
            for metric in result
                .metrics
                .iter()
                .filter(|it| !it.key.contains(".zone") && !it.key.contains("rnd_q"))
            {
                print!("{} {:.5} ", metric.key, metric.value);
            }
            println!();
        }
        errors.add(seed, &disk.truth, result);
    }
    errors.judge(&LIMITS, UNANSWERED_MAX);
}

/// No turn, no shingling, no lie is seen where there is none; the reach of the map lies between the spans tried,
/// and the end of the fast cache, which `fill` finds, within a tenth.
#[test]
fn flash_turns_not_and_its_caches_are_found() {
    let mut errors = Errors::default();
    for MeasuredFlash { seed, flash, found, empty } in flash_drives() {
        let seed = *seed;
        assert_eq!(value(found, "geometry.rotation.rpm"), None, "{seed}");
        let reason = found.reason.clone().unwrap_or_default();
        assert!(reason.contains("rotation: could not tell"), "{seed}: {reason}");
        let lies = [FindingId::FlushIgnored, FindingId::Shingled];
        assert!(found.findings.iter().all(|finding| !lies.contains(&finding.id)), "{seed}");
        let span = metric(found, "map.span_bytes");
        assert_eq!(span.is_some(), flash.map_bytes.is_some(), "{seed}: {span:?}");
        if let Some((span, bytes)) = span.zip(flash.map_bytes) {
            // A wide span has not all of its map in memory yet: the reach that shows is at most the true one.
            assert!(span.low <= 1.5 * bytes, "{seed}: {bytes} {span:?}");
        }
        flash_writes(&mut errors, flash, found, seed);
        let cache_bytes = value(empty, "geometry.fast_cache.cache_bytes");
        errors.share("fast cache", cache_bytes, flash.slc_bytes);
        let mut suite = suite_of(TestKind::Fill);
        suite.fill.mode = FillMode::Full;
        let fill = measured(&flash.toml, "&fill=0", suite, seed);
        let knee = value(&fill, "fill.knee.knee_bytes").unwrap_or(0.0);
        let truth = flash.slc_bytes;
        println!("flash {seed}: fast cache {:.2} GB, found {:.2}", truth / 1e9, knee / 1e9);
        assert!((knee / truth - 1.0).abs() < 0.1, "{seed}: {knee} of {truth}");
    }
    errors.judge(&FLASH_LIMITS, UNANSWERED_MAX);
}

/// Errors that 95 of 100 SSDs stay within, and that all do.
const FLASH_LIMITS: [(&str, f64, f64); 4] = [
    ("fast cache", 0.1, 0.1),
    ("unit of the map", 0.0, 0.0),
    ("write buffer", 0.25, 0.25),
    ("power-loss protection", 0.0, 0.0),
];

/// Compares what writes show of an SSD with the truth.
fn flash_writes(errors: &mut Errors, flash: &RandomFlash, found: &TestResult, seed: u64) {
    errors.seed = seed;
    let of = |key: &str| value(found, &format!("geometry.{key}"));
    let unit = of("map_unit.unit_bytes");
    errors.share("unit of the map", unit, flash.unit_bytes);
    if !flash.merges_first {
        assert_eq!(unit, None, "{seed}: writes are answered before they are completed");
    }
    errors.share("write buffer", of("write_buffer.cache_bytes"), flash.buffer_bytes);
    let reason = found.reason.clone().unwrap_or_default();
    let shows = of("flush.cost_us").map(|_| reason.contains("signs of power-loss protection"));
    errors.yes_or_no("power-loss protection", seed, shows, flash.is_protected);
    let least = if flash.is_protected { 0.0 } else { flash.commit_us };
    let cost = of("flush.cost_us").unwrap_or(0.0);
    assert!(cost >= 0.95 * least && cost < least + 2_000.0, "{seed}: {cost} of {least}");
}
