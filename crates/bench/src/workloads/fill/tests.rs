//! Where `fill` writes, and what it finds on simulated drives whose truth is known.

mod knees;
mod requests;

use super::*;
use crate::testing::{
    changed_model, done, every, has, plan_context, plan_of, points, run_behind, run_on, run_target,
    suite_of, value,
};
use drivescope_drive::simulated::spec::model_named;
use drivescope_model::document::{TestResult, TestStatus};
use drivescope_model::findings::FindingId;
use drivescope_model::units::Bytes;
use drivescope_sim::hdd::{HardDisk, ZoneRate};
use drivescope_sim::ssd::SsdParams;

fn suite_in(mode: FillMode) -> Suite {
    let mut suite = suite_of(TestKind::Fill);
    suite.fill.mode = mode;
    suite
}

fn fill_of(target: &str, mode: FillMode) -> TestResult {
    run_on(target, suite_in(mode))
}

/// A fill; what its plan said is compared with what was done. Every model of the library comes by here.
fn fill(target: &str, mode: FillMode) -> TestResult {
    let suite = suite_in(mode);
    let planned = plan_of(&run_target(target), suite.clone());
    let result = done(run_on(target, suite));
    let cells = ["fill.write.written_bytes", "fill.burst.written_bytes"];
    let written: f64 = cells.iter().filter_map(|key| value(&result, key)).sum();
    let bytes = planned.cost.written_bytes as f64 / written;
    let seconds = planned.cost.seconds / result.elapsed_s;
    // How fast a shingled disk writes cannot be known before.
    let shingled = ["sim:easystore-2tb", "sim:st8000as0002-smr"].contains(&target);
    let bound = planned.at_most.is_some();
    assert!(bytes > 0.999 && (bound || bytes < 1.001), "{target} {mode:?}: {bytes}");
    assert!(shingled || seconds > 1.0 / 1.5, "{target} {mode:?}: {seconds}");
    assert!(bound || seconds < 1.5, "{target} {mode:?}: {seconds}");
    result
}

fn rate_at(curve: &[(f64, f64)], x: f64) -> f64 {
    curve[curve.partition_point(|(from, _)| *from <= x) - 1].1
}

/// Time per byte of each hundredth of the drive.
fn hundredths(curve: &[(f64, f64)]) -> Vec<f64> {
    let end = curve[curve.len() - 1].0;
    let slowness = |i: u32| 1.0 / rate_at(curve, end * (f64::from(i) + 0.5) / 10_000.0);
    (0..100).map(|part| (part * 100..(part + 1) * 100).map(slowness).sum()).collect()
}

/// Root mean square of the relative difference of two curves, by the first hundredths of the drive: finer
/// than that, a piece of the full curve across a step of the rate would be compared with what it averages.
fn rms(a: &[(f64, f64)], b: &[(f64, f64)], first: usize) -> f64 {
    let pairs = hundredths(a).into_iter().zip(hundredths(b)).take(first);
    let squares: f64 = pairs.map(|(a, b)| (b / a - 1.0).powi(2)).sum();
    (squares / first as f64).sqrt()
}

/// The same of the curves of a sampled and a full fill.
fn curve_difference(sampled: &TestResult, full: &TestResult, first: usize) -> f64 {
    let [sampled, full] = [sampled, full].map(|result| points(result, "fill.write.mb_s"));
    rms(&sampled, &full, first)
}

fn has_zone_curve(result: &TestResult) -> bool {
    result.series.iter().any(|series| series.key == "fill.write.zone_mb_s")
}

/// Position of every step between zones whose rates differ by more than the least drop that counts.
fn true_edges(zones: &[ZoneRate]) -> Vec<f64> {
    let drops = |pair: &&[ZoneRate]| pair[1].rate_mb_s < pair[0].rate_mb_s * 0.995;
    zones.windows(2).filter(drops).map(|pair| pair[1].offset_bytes as f64).collect()
}

/// Every edge has one of the others within `within`.
fn all_near(edges: &[f64], others: &[f64], within: f64) -> bool {
    edges.iter().all(|edge| others.iter().any(|other| (edge - other).abs() <= within))
}

/// How far samples are off the rate of the medium, as shares, without the first and the last.
fn errors(curve: &[(f64, f64)], disk: &HardDisk) -> Vec<f64> {
    let error = |pair: &[(f64, f64)]| {
        let middle = f64::midpoint(pair[0].0, pair[1].0) as u64;
        (pair[0].1 / disk.rate_mb_s_at(middle) - 1.0).abs()
    };
    curve[1..curve.len() - 2].windows(2).map(error).collect()
}

/// The full curve and the samples show the steps there are and no other.
fn check_disk(model: &str) {
    fn time(result: &TestResult) -> f64 {
        value(result, "fill.whole.time_s").unwrap()
    }
    fn written(result: &TestResult) -> f64 {
        value(result, "fill.write.written_bytes").unwrap()
    }
    let target = format!("sim:{model}");
    let (full, sampled) = (fill(&target, FillMode::Full), fill(&target, FillMode::Sampled));
    let params = model_named(model).unwrap().hdd.unwrap();
    let disk = HardDisk::new(&params, 1).unwrap();
    let capacity = params.capacity_bytes as f64;
    let truth = true_edges(&disk.zones());
    let found = |result| {
        let zones = points(result, "fill.write.zone_mb_s");
        zones[1..zones.len() - 1].iter().map(|zone| zone.0).collect::<Vec<f64>>()
    };
    for result in [&full, &sampled] {
        let found = found(result);
        assert!(all_near(&found, &truth, capacity * 0.02), "{model}: {found:?} for {truth:?}");
        assert!(all_near(&truth, &found, capacity * 0.02), "{model}: {found:?} for {truth:?}");
        assert_eq!(found.len(), truth.len(), "{model}: {found:?} for {truth:?}");
    }
    let off = errors(&points(&sampled, "fill.write.mb_s"), &disk);
    let far = off.iter().filter(|off| **off > 0.002).count();
    assert!(far * 20 <= off.len(), "{model}: {far} of {} samples", off.len());
    assert!((time(&full) / disk.full_pass_s() - 1.0).abs() < 0.005, "{model}: {}", time(&full));
    assert!((time(&sampled) / time(&full) - 1.0).abs() < 0.01, "{model}: {}", time(&sampled));
    assert!((capacity - written(&full)).abs() < 4096.0);
    assert!(written(&sampled) <= capacity * 0.005);
    let difference = curve_difference(&sampled, &full, 100);
    assert!(difference < 0.02, "{model}: {difference}");
    assert_eq!(value(&full, "fill.knee.knee_bytes"), None);
}

#[test]
fn zones_and_times_of_disks_are_found() {
    let models = [
        "wd4000aaks",
        "hgst-7k1000",
        "wd10ears",
        "wd15earx",
        "wd20ears",
        "wd20eads",
        "hds722020ala330",
        "wd40efrx",
        "wd40ezrz",
        "usb-16tb",
    ];
    for model in every(4, &models) {
        check_disk(model);
    }
}

/// Bytes that the fast cache of a fresh drive takes: both parts, the dynamic one within what is free.
fn cache_bytes(params: &SsdParams) -> f64 {
    let slc = params.slc.as_ref().unwrap();
    let free = params.capacity_bytes as f64 * (1.0 + params.spare_share) * slc.dynamic_free_share;
    slc.static_gb * 1e9 + (slc.dynamic_max_gb * 1e9).min(free / 3.0)
}

/// The plan says how much of it a burst may overwrite.
#[test]
fn burst_plan_shows_its_share() {
    let mut suite = suite_of(TestKind::Fill);
    for (asked, told) in [
        (None, "60.0 GB without a pause, 25 % of the target"),
        (Some(Bytes(24 << 30)), "25.8 GB without a pause, 11 % of the target"),
    ] {
        suite.fill.burst = asked;
        let planned = plan_of(&run_target("sim:corsair-mp510-240"), suite.clone());
        let bound = planned.at_most.unwrap();
        assert!(bound.contains(told), "{bound}");
    }
}

/// Every model of flash, and whether the end of its cache can be seen: behind the link of the 870 EVO, and
/// in front of the chips of the laptop's, nothing becomes slower.
const FLASH: [(&str, bool); 8] = [
    ("kioxia-bg4-128", true),
    ("pm871b-128", true),
    ("samsung-860evo-250", true),
    ("corsair-mp510-240", true),
    ("toshiba-xg6-1tb", true),
    ("samsung-860evo-1tb", true),
    ("samsung-870evo-1tb", false),
    ("laptop-ssd-2015", false),
];

#[test]
fn end_of_the_cache_of_flash_is_found() {
    for &(model, has_knee) in every(3, &FLASH) {
        let target = format!("sim:{model}?fill=0");
        let (full, sampled) = (fill(&target, FillMode::Full), fill(&target, FillMode::Sampled));
        let params = model_named(model).unwrap().ssd.unwrap();
        let capacity = params.capacity_bytes as f64;
        for result in [&full, &sampled] {
            let knee = value(result, "fill.knee.knee_bytes");
            assert_eq!(knee.is_some(), has_knee, "{model}: {knee:?}");
            let Some(knee) = knee else { continue };
            let truth = cache_bytes(&params);
            assert!((knee - truth).abs() < capacity * 0.02, "{model}: {knee} for {truth}");
            let (before, after) = ("fill.knee.before_mb_s", "fill.knee.after_mb_s");
            let [before, after] = [before, after].map(|key| value(result, key).unwrap());
            assert!(before * 0.95 > after, "{model}: {before} {after}");
        }
        assert!(value(&sampled, "fill.write.written_bytes").unwrap() <= capacity * 0.005);
        assert!(value(&sampled, "fill.burst.written_bytes").unwrap() <= capacity * 0.25);
        // When it is nearly full, a drive may slow down once more (the MP510 does): no sample shows that.
        let difference = curve_difference(&sampled, &full, 95);
        assert!(difference < 0.02, "{model}: {difference}");
        let [estimated, measured] =
            [&sampled, &full].map(|result| value(result, "fill.whole.time_s").unwrap());
        assert!((0.97..1.01).contains(&(estimated / measured)), "{model}: {estimated} {measured}");
        assert!(!has_zone_curve(&full));
    }
}

#[test]
fn flash_without_a_burst_is_not_estimated() {
    let mut suite = suite_of(TestKind::Fill);
    suite.fill.burst = Some(Bytes(0));
    let result = run_on("sim:samsung-860evo-250?fill=0", suite);
    assert_eq!(value(&result, "fill.burst.written_bytes"), None);
    is_doubted(&result);
}

fn is_doubted(result: &TestResult) {
    assert!(has(result, FindingId::SampledCache));
    assert_eq!(value(result, "fill.whole.time_s"), None);
    let metric = result.metrics.iter().find(|metric| metric.key == "fill.write.mean_mb_s");
    assert!(!metric.unwrap().valid);
    assert!(!has_zone_curve(result));
}

/// Their samples lie in a cache that a full fill leaves at once: the times would be wrong by half or more.
#[test]
fn shingled_disks_are_not_estimated_by_samples() {
    for model in every(2, &["easystore-2tb", "st8000as0002-smr"]) {
        is_doubted(&fill(&format!("sim:{model}"), FillMode::Sampled));
        let full = fill(&format!("sim:{model}"), FillMode::Full);
        assert!(value(&full, "fill.whole.time_s").is_some());
        assert!(!has(&full, FindingId::SampledCache));
    }
}

/// Such a sample still goes at the rate at which the place before leaves the cache.
#[test]
fn disks_with_cache_beyond_lead_in_lack_estimates() {
    for (model, kib) in [
        ("wd40ezrz", 80 << 10),
        ("wd40ezrz", 84 << 10),
        ("wd40ezrz", 88 << 10),
        ("wd40ezrz", 96 << 10),
        ("usb-16tb", 160 << 10),
    ] {
        let to = format!("dirty_limit_kib = {kib}");
        let (_file, target) = changed_model(model, &[("dirty_limit_kib", &to)]);
        is_doubted(&fill(&target, FillMode::Sampled));
    }
}

/// Parts of disks: either sampled as well as in whole, or refused.
#[test]
fn parts_of_disks_are_sampled_well_or_skipped() {
    for (model, gb) in
        [("wd4000aaks", 120), ("hgst-7k1000", 260), ("wd20ears", 510), ("wd40efrx", 1100)]
    {
        let run = |mode| {
            let suite = Suite { span: Bytes(gb * 1_000_000_000), ..suite_in(mode) };
            run_on(format!("sim:{model}"), suite)
        };
        let [full, sampled] = [FillMode::Full, FillMode::Sampled].map(run);
        let difference = curve_difference(&sampled, &full, 100);
        assert!(difference < 0.02, "{model} {gb} GB: {difference}");
        assert!(sampled.findings.is_empty(), "{:?}", sampled.findings);
    }
}

/// Places that need retries, a twentieth of the disk: no cache ends there, and the zones are those of a good one.
#[test]
fn slow_stretch_is_neither_zone_nor_cache_end() {
    for mode in [FillMode::Full, FillMode::Sampled] {
        let result = fill_of("sim:wd20ears?fault=slow-region", mode);
        assert_eq!(value(&result, "fill.knee.knee_bytes"), None, "{mode:?}");
        let found = points(&result, "fill.write.zone_mb_s");
        let good = points(&fill_of("sim:wd20ears", mode), "fill.write.zone_mb_s");
        // One zone lies within it but for a sliver.
        let count = good.len() - 1..=good.len();
        assert!(count.contains(&found.len()), "{mode:?}: {found:?} for {good:?}");
        let is_good =
            |(_, rate): &(f64, f64)| good.iter().any(|(_, b)| (rate / b - 1.0).abs() < 0.01);
        assert!(found.iter().all(is_good), "{mode:?}: {found:?} for {good:?}");
    }
}

/// Its memory takes a third of a second, its fast cache twenty: a burst that ended with the memory would leave
/// samples in the cache, and a third of the time of a whole fill.
#[test]
fn slow_drive_buffer_is_not_its_cache() {
    let target = "sim:pm871b-128?fault=throttled";
    let [full, sampled] = [FillMode::Full, FillMode::Sampled].map(|mode| fill_of(target, mode));
    let both = |key| [&full, &sampled].map(|result| value(result, key).unwrap());
    let [knee, found] = both("fill.knee.knee_bytes");
    assert!((found / knee - 1.0).abs() < 0.05, "{found} for {knee}");
    let [time, estimated] = both("fill.whole.time_s");
    assert!((estimated / time - 1.0).abs() < 0.03, "{estimated} s for {time} s");
}

/// The rates of a disk follow the position, before a burst that met no cache and after it.
#[test]
fn burst_does_not_change_disk_samples() {
    for (model, gib) in [("wd4000aaks", 20), ("wd4000aaks", 200), ("wd40efrx", 20)] {
        let target = format!("sim:{model}");
        let mut suite = suite_of(TestKind::Fill);
        suite.fill.burst = Some(Bytes(gib << 30));
        let with = run_on(&target, suite);
        let without = fill_of(&target, FillMode::Sampled);
        assert!(with.findings.is_empty(), "{model} {gib} GiB: {:?}", with.findings);
        assert_eq!(value(&with, "fill.burst.written_bytes"), Some((gib << 30) as f64));
        assert_eq!(value(&with, "fill.burst.fall_min_pct"), Some(20.0));
        let [with, without] = [&with, &without].map(|run| points(run, "fill.write.zone_mb_s"));
        let is_near =
            |(a, b): (&(f64, f64), &(f64, f64))| a.0 == b.0 && (a.1 / b.1 - 1.0).abs() < 0.005;
        let all_near = with.iter().zip(&without).all(is_near);
        assert!(with.len() == without.len() && all_near, "{with:?} for {without:?}");
    }
}

/// One sample stands for the whole drive, and is the rate of one place.
#[test]
fn fill_with_few_places_has_no_curve() {
    fn ended(target: &str) -> Option<f64> {
        let result = fill_of(target, FillMode::Sampled);
        assert_eq!(result.status, TestStatus::Failed);
        assert!(!has(&result, FindingId::SampledCache));
        assert_eq!(value(&result, "fill.whole.time_s"), None);
        assert!(!has_zone_curve(&result));
        assert!(value(&result, "fill.write.written_bytes").unwrap() > 1e9);
        value(&result, "fill.write.mean_mb_s")
    }
    let few = ended("sim:usb-16tb?fault=gone");
    assert_eq!(few, None, "less than sixteen places in twenty seconds");
    assert!(ended("sim:wd4000aaks?fault=gone").is_some(), "more");
}

/// A disk of a virtual machine says that it rotates, whatever the host has behind it.
#[test]
fn only_positions_of_a_disk_have_zones() {
    let target = run_target("sim:wd40efrx");
    let (drive, mut info) = (target.drive().unwrap().clone(), target.info().clone());
    for (kind, stack, expected) in [
        (DriveKind::HardDisk, vec!["sda"], true),
        (DriveKind::HardDisk, vec!["sda2", "sda"], true),
        (DriveKind::HardDisk, vec!["dm-0", "sda3", "sda"], true),
        (DriveKind::HardDisk, vec!["loop3", "sda1", "sda"], false),
        (DriveKind::Virtual, vec!["vdb"], false),
        (DriveKind::Virtual, vec!["loop1", "vda1", "vda"], false),
        (DriveKind::Simulated, vec!["loop5"], true),
        (DriveKind::Simulated, vec![], true),
    ] {
        info.stack = stack.iter().map(ToString::to_string).collect();
        let drive = Drive { kind, ..drive.clone() };
        assert_eq!(has_zones(Some(&drive), &info), expected, "{kind:?} {stack:?}");
        let flash = Drive { rotational_hint: false, ..drive };
        assert!(!has_zones(Some(&flash), &info));
    }
    assert!(!has_zones(None, &info));
}

/// Between runs a cache recovers: what was written before a stop does not count as part of the stream that fills it.
#[test]
fn resumed_fill_finds_the_knee_of_one_stream() {
    fn knee(result: &TestResult) -> f64 {
        value(result, "fill.knee.knee_bytes").unwrap()
    }
    let whole = fill_of("sim:samsung-860evo-250?fill=0", FillMode::Full);
    let behind = |gb: f64| {
        let mut earlier = whole.clone();
        let curve =
            earlier.series.iter_mut().find(|series| series.key == "fill.write.mb_s").unwrap();
        let kept = curve.x.partition_point(|x| *x < gb * 1e9);
        curve.x.truncate(kept);
        curve.y.truncate(kept);
        let mut suite = suite_in(FillMode::Full);
        suite.fill.from = Bytes(curve.x[kept - 1] as u64);
        if gb * 1e9 < knee(&whole) {
            earlier.metrics.retain(|metric| !metric.key.starts_with("fill.knee."));
        }
        run_behind(Some(earlier), &run_target("sim:samsung-860evo-250?fill=0"), suite, 1, false)
    };
    assert_eq!(knee(&behind(100.0)), knee(&whole), "it was found before the stop");
    let later = knee(&behind(8.0));
    assert!((later / knee(&whole) - 1.0).abs() < 0.05, "{later} for {}", knee(&whole));
}

#[test]
fn unaligned_direct_requests_are_refused_with_valid_ones() {
    let target = run_target("sim:wd40efrx");
    let info = TargetInfo { io_align_bytes: 4096, ..target.info().clone() };
    let mut suite = suite_of(TestKind::Fill);
    suite.fill.chunk = Bytes(6144);
    let context = plan_context(&suite, &info, target.drive().unwrap());
    let reason = FillWorkload.plan(&context).skip.unwrap();
    assert!(reason.contains("multiples of 4096") && reason.contains("fill.chunk=8k"), "{reason}");
}

#[test]
fn full_fill_shows_the_shingled_disk_cache() {
    let result = fill("sim:easystore-2tb", FillMode::Full);
    let value = |key| value(&result, key).unwrap();
    assert!(value("fill.knee.before_mb_s") > 2.0 * value("fill.knee.after_mb_s"));
}
