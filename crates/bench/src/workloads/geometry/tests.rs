//! Answers held against the truth of random drives: the distributions of errors, which must not get worse.

mod random_flash;

use crate::testing::{suite_of, value};
use crate::workloads::random_disks::{DiskTruth, RandomDisk, measured};
use drivescope_model::document::TestResult;
use drivescope_model::findings::FindingId;
use drivescope_model::options::FillMode;
use drivescope_model::options::TestKind;
use drivescope_stats::summary;
use random_flash::RandomFlash;
use std::collections::BTreeMap;

/// Disks of `cargo test`, and where all are asked for.
const FEW: u64 = 12;
const ALL: u64 = 200;

fn is_thorough() -> bool {
    std::env::var_os("DRIVESCOPE_TESTS_THOROUGH").is_some_and(|value| value == "1")
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
        let overhead = of("command.overhead_us").map(|us| us / 1e3);
        self.difference("overhead, ms", overhead, truth.overhead_us / 1e3);
        self.share("zones", of("zones.count"), truth.zones.len() as f64);
        self.share(
            "surface read",
            of("zones.read_bytes").map(|b| 1.0 + b / truth.capacity as f64),
            1.0,
        );
        self.zones(truth, result);
        self.share("read-ahead", of("read_cache.read_ahead_bytes"), truth.read_ahead_bytes);
        self.share("places", of("read_cache.places"), f64::from(truth.places));
        self.share("read cache", of("read_cache.cache_bytes"), truth.read_cache_bytes);
        if let Some(bytes) = truth.write_cache_bytes {
            // A log takes random writes nearly as fast as the host sends them, so that the cache empties meanwhile.
            let what = if truth.is_shingled { "write cache, shingled" } else { "write cache" };
            self.share(what, of("write_cache.cache_bytes"), bytes);
        }
        let has = |id: FindingId| result.findings.iter().any(|finding| finding.id == id);
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

    /// Rates and borders of zones where their number is right.
    fn zones(&mut self, truth: &DiskTruth, result: &TestResult) {
        let of = |number: usize, quantity: &str| {
            value(result, &format!("geometry.zone{:02}.{quantity}", number + 1))
        };
        let count = value(result, "geometry.zones.count").unwrap_or(0.0) as usize;
        // Held against the truth at the middle of each zone that was found.
        for number in 0..count {
            let (Some(start), Some(end)) = (of(number, "start_bytes"), of(number, "end_bytes"))
            else {
                continue;
            };
            let middle = (start + end) / 2.0 / truth.capacity as f64;
            self.share("rate of a zone", of(number, "mb_s"), truth.mb_s(middle));
            if number > 0 {
                let at = start / truth.capacity as f64;
                let nearest = truth.zones[1..].iter().map(|(border, _)| (border - at).abs());
                self.difference("border, share of the drive", nearest.reduce(f64::min), 0.0);
            }
        }
    }

    /// What must hold: the most that the given share of the errors may be.
    fn judge(&mut self) {
        println!(
            "{:<28} {:>6} {:>10} {:>10} {:>10} {:>6}",
            "error of", "n", "median", "95 %", "most", "none"
        );
        let mut failed = std::mem::take(&mut self.wrong);
        for (what, errors) in &self.all {
            let of = |q| summary::quantile(errors, q).unwrap_or(0.0);
            let most = summary::max(errors).unwrap_or(0.0);
            let worst = self.worst.get(what).map_or(0, |(_, seed)| *seed);
            let none = self.unanswered.get(what).copied().unwrap_or(0);
            println!(
                "{what:<28} {:>6} {:>10.5} {:>10.5} {most:>10.5} {none:>6} {worst:>11}",
                errors.len(),
                of(0.5),
                of(0.95)
            );
            if let Some((_, limit)) = LIMITS.iter().find(|(name, _)| name == what)
                && of(0.95) > *limit
            {
                failed.push(format!("{what}: {:.5} of 95 %, at most {limit}", of(0.95)));
            }
        }
        for (what, none) in &self.unanswered {
            if f64::from(*none) > UNANSWERED_MAX * self.all.get(what).map_or(0, Vec::len) as f64 {
                failed.push(format!("{what}: {none} without an answer"));
            }
        }
        assert!(failed.is_empty(), "{failed:#?}");
    }
}

/// Errors that 95 of 100 disks stay within.
const LIMITS: [(&str, f64); 12] = [
    ("rotation", 0.001),
    ("average seek, ms", 0.3),
    ("zones", 0.1),
    ("rate of a zone", 0.01),
    ("border, share of the drive", 0.005),
    ("surface read", 0.0025),
    ("read-ahead", 0.25),
    ("places", 0.25),
    ("read cache", 0.25),
    ("write cache", 0.25),
    ("write cache, shingled", 0.5),
    // A bridge adds its own time, which is no part of the truth.
    ("overhead, ms", 0.35),
];
/// Disks of which a question may have no answer, beside those of which it has one.
const UNANSWERED_MAX: f64 = 0.1;

#[test]
fn answers_on_random_disks_are_near_the_truth() {
    let mut errors = Errors::default();
    let all = is_thorough();
    let count = if all { ALL } else { FEW };
    for seed in 1..=count {
        let disk = RandomDisk::new(seed);
        let result = measured(&disk.toml, disk.options, suite_of(TestKind::Geometry), seed);
        if std::env::var_os("GEOMETRY_DISK")
            .is_some_and(|value| value.to_str() == Some(&seed.to_string()))
        {
            println!(
                "{seed} {:?} {:?}",
                DiskTruth { zones: Vec::new(), ..disk.truth.clone() },
                result.reason
            );
            for metric in result
                .metrics
                .iter()
                .filter(|it| !it.key.contains(".zone") && !it.key.contains("rnd_q"))
            {
                print!("{} {:.5} ", metric.key, metric.value);
            }
            println!();
        }
        errors.add(seed, &disk.truth, &result);
    }
    errors.judge();
}

/// SSDs of `cargo test`, and where all are asked for.
const FEW_FLASH: u64 = 2;
const ALL_FLASH: u64 = 30;

/// No turn, no shingling, no lie is seen where there is none; the reach of the map lies between the spans tried,
/// and the end of the fast cache, which `fill` finds, within a tenth.
#[test]
fn flash_turns_not_and_its_caches_are_found() {
    for seed in 1..=if is_thorough() { ALL_FLASH } else { FEW_FLASH } {
        let flash = RandomFlash::new(seed);
        let found = measured(&flash.toml, "", suite_of(TestKind::Geometry), seed);
        assert_eq!(value(&found, "geometry.rotation.rpm"), None, "{seed}");
        let reason = found.reason.clone().unwrap_or_default();
        assert!(reason.contains("rotation: could not tell"), "{seed}: {reason}");
        let lies = [FindingId::FlushIgnored, FindingId::Shingled];
        assert!(found.findings.iter().all(|finding| !lies.contains(&finding.id)), "{seed}");
        let span = found.metrics.iter().find(|metric| metric.key == "geometry.map.span_bytes");
        assert_eq!(span.is_some(), flash.map_bytes.is_some(), "{seed}: {span:?}");
        if let Some((span, bytes)) = span.zip(flash.map_bytes) {
            // A wide span has not all of its map in memory yet: the reach that shows is at most the true one.
            assert!(span.low <= 1.5 * bytes, "{seed}: {bytes} {span:?}");
        }
        let mut suite = suite_of(TestKind::Fill);
        suite.fill.mode = FillMode::Full;
        let fill = measured(&flash.toml, "&fill=0", suite, seed);
        let knee = value(&fill, "fill.knee.knee_bytes").unwrap_or(0.0);
        println!(
            "flash {seed}: fast cache {:.2} GB, found {:.2}",
            flash.slc_bytes / 1e9,
            knee / 1e9
        );
        assert!(
            (knee / flash.slc_bytes - 1.0).abs() < 0.1,
            "{seed}: {knee} of {}",
            flash.slc_bytes
        );
    }
}
