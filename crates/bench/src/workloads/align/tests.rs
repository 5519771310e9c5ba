//! The whole test on simulated drives whose sectors are known.

use super::physical_sector::{Conclusion, Sector, conclude};
use super::write_area::WriteArea;
use super::*;
use crate::plan::overrides::Overrides;
use crate::planner;
use crate::suites;
use crate::testing::{
    changed_model, done, every, finding, has, run_at, run_target, scratch, value, whole_plan,
    with_session,
};
use crate::workloads::shared::open_target;
use drivescope_model::document::{Metric, TestResult};
use drivescope_model::findings::FindingId;

use drivescope_model::plan::Engine;
use drivescope_stats::summary;
use std::ops::Range;

/// `quick` with this test alone, and options as `--set` takes them.
fn suite_with(settings: &[&str]) -> Suite {
    let settings = settings.iter().map(ToString::to_string).collect();
    let overrides =
        Overrides { tests: vec!["align".to_string()], settings, ..Overrides::default() };
    suites::adapt(suites::find("quick", None).unwrap(), &overrides).unwrap()
}

fn run(target: &str, seed: u64, settings: &[&str]) -> TestResult {
    done(run_at(&run_target(target), suite_with(settings), seed, false))
}

fn metric<'r>(result: &'r TestResult, key: &str) -> &'r Metric {
    let found = result.metrics.iter().find(|metric| metric.key == format!("align.{key}"));
    found.unwrap_or_else(|| panic!("no {key}: {:?}", result.reason))
}

/// What the fast method concludes of a part of the drive, with originals kept or not; and the time it took.
fn on_site(target: &str, seed: u64, span: Range<u64>, kept: bool) -> (Conclusion, f64) {
    let target = run_target(target);
    let plan = whole_plan(&target, suite_with(&[]), seed);
    with_session(&target, &plan, false, |mut session| {
        let session = &mut session;
        open_target::open(session).unwrap();
        let mut record = TestRecord::new(TestKind::Align);
        let mut site = WriteArea::new(span, 512, kept);
        let seen = synced_writes::run(session, &mut record, &mut site).unwrap();
        (conclude(&seen), session.elapsed_s())
    })
}

/// Holds what is found of a drive of "Benchmarking Advanced Format Drives" against its truth, in twenty seeds:
/// sector, shift, and how many revolutions a misaligned synced write takes more than an aligned one.
///
/// A write that must read first pauses for `pause_ms` before it, as far as the arm's movement does not hide that.
fn assert_truth(model: &str, sector: f64, revolution_ms: f64, extra: f64, pause_ms: f64) {
    let extra = extra..extra + pause_ms / revolution_ms;
    let is_near = |more: f64, slack| more > extra.start - slack && more < extra.end + slack;
    let mut all = Vec::new();
    for seed in 1..=20 {
        let result = run(&format!("sim:{model}?seed={seed}"), seed, &[]);
        let told = format!("{model}, seed {seed}: {:?}", result.reason);
        assert_eq!(metric(&result, "device.sector_bytes").value, sector, "{told}");
        assert_eq!(metric(&result, "device.shift_bytes").value, 0.0, "{told}");
        let ms =
            |offset: u64| metric(&result, &format!("write4k_at_{offset}.lat_mean_us")).value / 1e3;
        let others = (1..8).map(|i| ms(i * 512)).sum::<f64>() / 7.0;
        let more = (others - ms(0)) / revolution_ms;
        assert!(is_near(more, 0.35), "{told}: {more} revolutions");
        all.push(more);
        let penalty = metric(&result, "device.penalty_ratio");
        let near = (penalty.value / (others / ms(0)) - 1.0).abs() < 0.1;
        assert!(near && penalty.low < penalty.value && penalty.value < penalty.high, "{penalty:?}");
        assert!(result.elapsed_s < 15.0, "{told}: {} s", result.elapsed_s);
        let lies = matches!(model, "wd20ears" | "wd10ears");
        assert_eq!(has(&result, FindingId::SectorLie), lies, "{told}");
        assert!(!has(&result, FindingId::FewRounds), "{told}");
    }
    let mean = summary::mean(&all).unwrap();
    assert!(is_near(mean, 0.1), "{model}: {mean} revolutions on average");
}

/// Sectors of 4 KiB: a misaligned write reads both, and they come by again a revolution later.
#[test]
fn sectors_of_4_kib_are_always_found() {
    for (model, pause_ms) in [("wd20ears", 2.2), ("wd10ears", 0.54), ("wd15earx", 0.28)] {
        assert_truth(model, 4096.0, 11.11, 1.0, pause_ms);
    }
}

#[test]
fn sectors_of_512_bytes_are_always_found() {
    for (model, revolution_ms) in
        [("hds722020ala330", 8.33), ("wd4000aaks", 8.33), ("wd20eads", 11.11)]
    {
        assert_truth(model, 512.0, revolution_ms, 0.0, 0.0);
    }
}

/// A partition that begins at sector 63 sees its drive's sectors 512 bytes behind its own boundaries.
#[test]
fn misaligned_span_is_found_with_its_shift() {
    for (first_sector, shift) in [(63, 512), (2047, 512), (2049, 3584), (2048, 0), (4, 2048)] {
        for (seed, kept) in [(1, false), (2, true), (3, false)] {
            let start = first_sector * 512;
            let (conclusion, elapsed_s) =
                on_site("sim:wd20ears", seed, start..start + (1 << 30), kept);
            let told = format!("sector {first_sector}, seed {seed}: {conclusion:?}");
            assert_eq!(conclusion.sector, Sector::Found { bytes: 4096, shift }, "{told}");
            assert!(conclusion.penalty.unwrap().low > 1.5, "{told}");
            // Reading what is there before and after takes a while longer.
            assert!(elapsed_s < if kept { 30.0 } else { 15.0 }, "{told}: {elapsed_s} s");
        }
    }
}

#[test]
fn partitions_are_judged_by_the_measured_sector() {
    let result = run("sim:wd20ears?partition=63,2048", 5, &[]);
    for (name, start, behind) in [("wd20ears1", 63.0, 3584.0), ("wd20ears2", 2048.0, 0.0)] {
        assert_eq!(metric(&result, &format!("{name}.start_bytes")).value, start * 512.0);
        assert_eq!(metric(&result, &format!("{name}.misaligned_bytes")).value, behind);
    }
    let finding = finding(&result, FindingId::Misaligned).unwrap();
    assert!(finding.evidence.contains("wd20ears1 starts at sector 63"), "{}", finding.evidence);
    assert!(!finding.evidence.contains("wd20ears2"), "{}", finding.evidence);
    let result = run("sim:hds722020ala330?partition=63", 5, &[]);
    assert!(!has(&result, FindingId::Misaligned), "512-byte sectors are never missed");
    assert_eq!(metric(&result, "hds722020ala330p1.start_bytes").value, 63.0 * 512.0);
    assert_eq!(metric(&result, "hds722020ala330p1.misaligned_bytes").value, 0.0);
}

#[test]
fn drive_without_read_before_write_has_no_penalty() {
    for seed in 1..=5 {
        let result =
            run(&format!("sim:wd15earx?fault=no-read-modify-write&seed={seed}"), seed, &[]);
        let reported = metric(&result, "device.reported_bytes").value;
        let penalty = metric(&result, "device.penalty_ratio");
        assert!((0.7..1.4).contains(&penalty.value), "{penalty:?}");
        assert_eq!(sector(&result), if reported > 512.0 { None } else { Some(512.0) });
    }
}

/// The published rates of 4 KiB writes of the WD20EARS by offset ("Benchmarking Advanced Format Drives", corrected to
/// 64 bits), and the ratio of its passes.
#[test]
fn phybs_gives_the_published_figures() {
    let settings = [
        "align.method=phybs",
        "align.min=4KiB",
        "align.max=4KiB",
        "rounds=1",
        "align.total=128MiB",
    ];
    let result = run("sim:wd20ears", 1, &settings);
    for (offset, tps, msec) in [
        (0, 1680.2, 19_503.0),
        (512, 26.9, 1_216_537.0),
        (1024, 27.0, 1_213_479.0),
        (2048, 27.0, 1_214_623.0),
    ] {
        for (quantity, expected) in [("tps", tps), ("pass_ms", msec), ("kib_s", tps * 4.0)] {
            let found = metric(&result, &format!("pass4k_at_{offset}.{quantity}")).value;
            let near = (found / expected - 1.0).abs() <= 0.10;
            assert!(near, "offset {offset}: {quantity} is {found}, published {expected}");
        }
    }
    assert_eq!(metric(&result, "device.sector_bytes").value, 4096.0);
    let penalty = metric(&result, "device.penalty_ratio").value;
    assert!((penalty / 62.3 - 1.0).abs() < 0.15, "{penalty}");
}

fn sector(result: &TestResult) -> Option<f64> {
    value(result, "align.device.sector_bytes")
}

#[test]
fn phybs_finds_512_byte_sectors() {
    let settings = ["align.method=phybs", "align.min=4KiB", "rounds=2"];
    for model in every(2, &["hds722020ala330", "wd4000aaks", "wd20eads"]) {
        let result = run(&format!("sim:{model}"), 1, &settings);
        assert_eq!(sector(&result), Some(512.0), "{model}: {:?}", result.reason);
        assert_eq!(metric(&result, "pass8k_at_4096.tps").rounds.len(), 2);
    }
}

/// Passes that cannot show the sector leave it open, whatever their times seem to say.
#[test]
fn phybs_says_when_it_cannot_know_the_sector() {
    let blind = [
        ("wd20ears", "align.mix=read", "reads hide it"),
        ("wd20ears", "align.mix=mix50", "reading each block first"),
        ("wd20ears", "align.total=64KiB", "may fit in the drive's cache"),
        ("wd15earx", "align.total=8MiB", "may fit in the drive's cache"),
        ("wd10ears", "align.total=1MiB", "may fit in the drive's cache"),
        ("hds722020ala330", "align.total=64MiB", "may fit in the drive's cache"),
        ("wd20ears", "align.max=2KiB", "blocks of up to 2 KiB"),
    ];
    for (model, setting, why) in every(3, &blind) {
        // The shorter passes are as blind as those of the reads, and faster here.
        let total = if setting.contains("total") { setting } else { "align.total=128MiB" };
        let min = if setting.contains("read") { "align.min=8KiB" } else { "align.min=1KiB" };
        let settings = ["align.method=phybs", "rounds=1", min, total, setting];
        let result = run(&format!("sim:{model}"), 1, &settings);
        let told = format!("{model} {setting}: {:?}", result.reason);
        assert_eq!(sector(&result), None, "{told}");
        assert!(!has(&result, FindingId::SectorLie), "{told}");
        assert!(result.reason.as_ref().is_some_and(|reason| reason.contains(why)), "{told}");
    }
}

/// Flash and shingled disks answer a synced write from memory or a log: the answer on their sectors is true,
/// or there is none. The mapping unit of flash is 4 KiB, that of the shingled disk its reported sector.
#[test]
fn drives_that_remap_are_measured_or_honestly_not() {
    for (model, truths) in [
        ("samsung-870evo-1tb", &[4096.0, 8192.0, 16_384.0][..]),
        ("pm871b-128", &[4096.0, 8192.0, 16_384.0]),
        ("st8000as0002-smr", &[4096.0]),
    ] {
        for seed in 1..=3 {
            let result = run(&format!("sim:{model}?fill=0.5&partition=63,2048"), seed, &[]);
            assert!(result.elapsed_s < 15.0, "{model}: {} s", result.elapsed_s);
            let reported = metric(&result, "device.reported_bytes").value;
            let found = sector(&result);
            let told =
                format!("{model}, seed {seed}: {found:?} of {reported}, {:?}", result.reason);
            assert!(found.iter().all(|sector| truths.contains(sector)), "{told}");
            let is_flash = reported == 512.0;
            let hides = result.reason.as_ref().is_some_and(|why| why.contains("flash page"));
            assert!(!is_flash || found.is_some() || hides, "{told}");
            let dash = if model.ends_with("smr") || model.ends_with("tb") { "" } else { "p" };
            let behind =
                |n: u8| metric(&result, &format!("{model}{dash}{n}.misaligned_bytes")).value;
            // Flash that reports sectors of 512 bytes has none so small: sector 63 begins inside a page.
            let unit = found.unwrap_or(0.0).max(reported).max(4096.0);
            assert_eq!(behind(1), (63.0 * 512.0) % unit, "{told}");
            assert_eq!(behind(2), 0.0, "{told}");
            assert_eq!(has(&result, FindingId::Misaligned), unit > 512.0, "{told}");
        }
    }
}

/// A drive that reports 4096 bytes and hides what misalignment costs: nothing is claimed of its sectors, and
/// its partitions are judged by its word.
#[test]
fn hidden_cost_is_not_a_small_sector() {
    for target in ["easystore-2tb?", "st8000as0002-smr?", "wd40efrx?fault=no-read-modify-write&"] {
        let result = run(&format!("sim:{target}partition=63,2048"), 1, &[]);
        assert_eq!(metric(&result, "device.reported_bytes").value, 4096.0, "{target}");
        assert!(
            sector(&result).is_none_or(|sector| sector == 4096.0),
            "{target}: {:?}",
            sector(&result)
        );
        let finding = finding(&result, FindingId::Misaligned).unwrap();
        assert!(
            finding.evidence.contains("1 starts at sector 63, 3584 bytes"),
            "{}",
            finding.evidence
        );
        assert!(!finding.evidence.contains("2048"), "{}", finding.evidence);
    }
    let hidden = run("sim:wd40efrx?fault=no-read-modify-write", 1, &[]);
    assert_eq!(sector(&hidden), None, "the times cannot tell");
    assert!(metric(&hidden, "device.penalty_ratio").value < 1.3);
}

/// Flash whose writes are durable at once shows what it maps, on a partition that begins astray, too.
#[test]
fn flash_units_are_found_behind_misaligned_partition() {
    for unit in [4096, 8192, 16_384] {
        let (_file, target) = changed_model(
            "samsung-870evo-1tb",
            &[
                ("power_loss_protection", "power_loss_protection = true"),
                ("capacity_bytes", "capacity_bytes = 1000204877824"),
                ("mapping_unit_bytes", &format!("mapping_unit_bytes = {unit}")),
            ],
        );
        for first_sector in [63, 2047, 2048, 2052] {
            let start = first_sector * 512;
            let (conclusion, _) = on_site(&target, 1, start..start + (1 << 30), false);
            let shift = (unit - start % unit) % unit;
            let told = format!("unit {unit}, sector {first_sector}: {conclusion:?}");
            assert_eq!(conclusion.sector, Sector::Found { bytes: unit, shift }, "{told}");
        }
    }
}

/// On a raw device the bytes that are there are written back: done to a file whose contents are known.
#[test]
fn kept_contents_are_unchanged() {
    let dir = scratch();
    let target = run_target(dir.path());
    let suite = suite_with(&["size=16777216", "align.time=1s"]);
    let plan = planner::plan(suite, 3, Engine::Threads, &target, true, WriteLevel::Read).unwrap();
    with_session(&target, &plan, false, |mut session| {
        let session = &mut session;
        open_target::open(session).unwrap();
        let folder = std::fs::read_dir(dir.path()).unwrap().next().unwrap().unwrap();
        let contents = || std::fs::read(folder.path().join("data")).unwrap();
        let before = contents();
        assert_eq!(before.len(), 16 << 20);
        let mut record = TestRecord::new(TestKind::Align);
        let step = u64::from(session.device().align_bytes());
        let mut site = WriteArea::new(session.span(session.device()), step, true);
        synced_writes::run(session, &mut record, &mut site).unwrap();
        assert!(record.rounds().iter().any(|round| round.measured.recorder.ops > 0));
        assert!(contents() == before, "the contents changed");
        // Fresh data are something else, so that the comparison above can fail.
        let mut site = WriteArea::new(session.span(session.device()), step, false);
        synced_writes::run(session, &mut record, &mut site).unwrap();
        assert!(contents() != before);
    });
}
