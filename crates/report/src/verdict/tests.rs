//! Verdicts of runs whose figures are known.

use super::*;
use crate::testing::{hard_disk, memory, metric, nvme, with_metrics};
use drivescope_model::document::Distribution;
use drivescope_model::options::PartStart;
use drivescope_model::target::TargetKind;
use drivescope_model::{Bytes, Finding, TestStatus};

fn points(run: &Run) -> Vec<Option<u8>> {
    judge(run).into_iter().map(|v| v.points).collect()
}

fn of(run: &Run, suits: &str) -> Verdict {
    judge(run).into_iter().find(|v| v.suits == suits).unwrap()
}

fn because(run: &Run, suits: &str) -> String {
    of(run, suits).because
}

fn counted(key: &str, count: u64) -> Distribution {
    let (key, encoding) = (key.to_string(), "hdr-v2-deflate-base64".to_string());
    Distribution { key, encoding, data: String::new(), count }
}

#[test]
fn a_hard_disk_keeps_backups_and_films() {
    let expected = [
        ("system drive", Some(1)),
        ("database", Some(0)),
        ("virtual machines", Some(1)),
        ("media library", Some(3)),
        ("backup", Some(3)),
    ];
    let judged = judge(&hard_disk());
    let found: Vec<_> = judged.iter().map(|v| (v.suits.as_str(), v.points)).collect();
    assert_eq!(found, expected);
}

#[test]
fn an_nvme_drive_suits_everything() {
    assert_eq!(points(&nvme()), [Some(3); 5]);
}

#[test]
fn the_reason_names_the_value_and_the_thresholds() {
    let run = with_metrics(&[
        ("transfer.rnd4k_q1t1.read.iops", &[149.0]),
        ("tiny-writes.rnd16_sync.iops", &[61.0]),
    ]);
    assert_eq!(
        because(&run, "database"),
        "149 random reads/s at depth 1; a database wants 5,000 or more (●○○: 300)"
    );
    let run = with_metrics(&[
        ("transfer.rnd4k_q1t1.read.iops", &[9_000.0]),
        ("tiny-writes.rnd16_sync.iops", &[900.0]),
        ("latency.span100.lat_p99_us", &[12_000.0]),
    ]);
    assert_eq!(
        because(&run, "database"),
        "one small read in a hundred takes over 12.0 ms; a database wants 1 ms or less \
         (●●○: 10 ms)"
    );
}

#[test]
fn control_group_limit_does_not_count_against_drive() {
    let mut run = hard_disk();
    run.findings.push(Finding::new(FindingId::IoLimited, "reads to 150/s"));
    let database = of(&run, "database");
    assert_eq!(database.points, None, "{}", database.because);
    assert!(database.because.contains("(F042); run outside it"), "{}", database.because);
    let films = of(&run, "media library");
    assert_eq!(films.points, Some(3), "what is fast enough all the same is: {}", films.because);
}

#[test]
fn large_request_cells_are_not_small_ones() {
    let mut run = with_metrics(&[
        ("latency.span100.iops", &[9_000.0]),
        ("latency.span100.lat_p99_us", &[150.0]),
        ("tiny-writes.rnd16_sync.iops", &[900.0]),
    ]);
    assert!(because(&run, "database").starts_with("9,000 random reads/s"));
    run.plan.suite.latency.block = Bytes::mib(1);
    assert!(because(&run, "database").contains("random reads at depth 1 not measured"));
    run.plan.suite.latency.block = Bytes::kib(4);
    run.plan.suite.tiny_writes.write = Bytes::mib(1);
    assert!(because(&run, "database").contains("small synced writes not measured"));
}

#[test]
fn percentile_of_too_few_requests_is_not_judged() {
    let mut run = with_metrics(&[
        ("transfer.rnd4k_q1t1.read.iops", &[149.0]),
        ("tiny-writes.rnd16_sync.iops", &[61.0]),
    ]);
    run.tests[0].distributions = vec![counted("latency.span100", 84)];
    let text = "Not judged: 99th percentile of a small read at depth 1, 84 requests are too few \
                (it takes 100; try --time 30s)";
    assert!(because(&run, "database").contains(text), "{}", because(&run, "database"));
    run.tests[0].distributions = vec![counted("latency.span100", 100)];
    assert!(!because(&run, "database").contains("Not judged"));
}

#[test]
fn the_first_valid_key_answers() {
    let mut run = with_metrics(&[
        ("transfer.seq1m_q1t1.read.mb_s", &[900.0]),
        ("transfer.seq1m_q8t1.read.mb_s", &[60.0]),
    ]);
    assert_eq!(points(&run)[3], Some(3));
    run.tests[0].metrics[0].valid = false;
    assert_eq!(points(&run)[3], Some(2));
}

#[test]
fn missing_metric_names_the_test_to_run() {
    let run = with_metrics(&[("transfer.rnd4k_q1t1.read.iops", &[9_000.0])]);
    let verdict = judge(&run).remove(1);
    assert_eq!(verdict.points, None);
    assert_eq!(verdict.because, "small synced writes not measured; run the tiny-writes test");
    let run = with_metrics(&[("transfer.rnd4k_q1t1.read.iops", &[2_000.0])]);
    assert_eq!(
        because(&run, "database"),
        "small synced writes not measured; run the tiny-writes test. So far at best ●●○"
    );
    let mut device = run;
    device.target.kind = TargetKind::Block;
    assert!(because(&device, "backup").contains("on a directory of this drive"));
}

#[test]
fn missing_metrics_cannot_raise_zero_points() {
    let run = with_metrics(&[("transfer.rnd4k_q1t1.read.iops", &[80.0])]);
    assert_eq!(of(&run, "database").points, Some(0));
}

#[test]
fn a_failed_test_is_named() {
    let mut run = with_metrics(&[]);
    run.tests[0].status = TestStatus::Failed;
    assert_eq!(
        because(&run, "media library"),
        "sequential reads: the transfer test failed; run it again"
    );
}

#[test]
fn invalid_numbers_are_left_out_with_a_reason() {
    let mut run = with_metrics(&[
        ("transfer.seq1m_q1t1.read.mb_s", &[180.0]),
        ("surface.read.end_mb_s", &[9_000.0]),
    ]);
    let end = &mut run.tests[0].metrics[1];
    end.valid = false;
    end.invalid_because = vec![FindingId::AboveLink];
    assert_eq!(
        because(&run, "media library"),
        "sequential reads at 180 MB/s; a media library wants 100 MB/s or more. Ignored as \
         invalid: reads at the end of the drive (F003)"
    );
    let first = &mut run.tests[0].metrics[0];
    first.valid = false;
    first.invalid_because = vec![FindingId::PageCache];
    let verdict = judge(&run).remove(3);
    assert_eq!(verdict.points, None);
    assert!(verdict.rules.is_empty());
    // The finding has the remedy, once for all uses.
    assert_eq!(verdict.because, "sequential reads: invalid (F001)");
}

#[test]
fn other_programs_do_not_count_against_the_drive() {
    let mut run = nvme();
    for phase in run.tests.iter_mut().flat_map(|test| &mut test.phases) {
        phase.limiter = Limiter::OtherPrograms;
    }
    assert_eq!(points(&run), [Some(3); 5], "good in spite of it");
    for metric in run.tests.iter_mut().flat_map(|test| &mut test.metrics) {
        if metric.key == "transfer.rnd4k_q1t1.read.iops" {
            metric.value = 231.0;
        }
    }
    assert_eq!(points(&run)[1], None);
    let text = because(&run, "database");
    assert!(text.contains("slowed by other programs (F034); stop them and run again"), "{text}");
}

#[test]
fn memory_is_never_judged() {
    for verdict in judge(&memory()) {
        assert_eq!(verdict.points, None);
        assert!(verdict.because.contains("F002"), "{}", verdict.because);
    }
}

#[test]
fn unproven_results_are_not_judged() {
    let mut run = nvme();
    run.findings = vec![Finding::new(FindingId::Unproven, "no device below fuse.bindfs at /mnt")];
    for verdict in judge(&run) {
        assert_eq!(verdict.points, None, "{}", verdict.suits);
        assert!(verdict.because.contains("F041"), "{}", verdict.because);
    }
    // Wrong data are wrong data, whoever gave them.
    run.findings.push(Finding::new(FindingId::DataMismatch, "1 block"));
    assert_eq!(points(&run), [Some(0); 5]);
}

#[test]
fn failed_requests_rule_out_every_use() {
    let mut run = nvme();
    run.findings.push(Finding::new(FindingId::IoError, "2 reads failed with EIO"));
    assert_eq!(points(&run), [Some(0); 5]);
    assert_eq!(
        because(&run, "backup"),
        "requests to it failed (F017); do not use it until the cause is found"
    );
    run.findings = vec![Finding::new(FindingId::FakeCapacity, "keeps 8 of 64 GB")];
    assert_eq!(points(&run), [Some(0); 5]);
    let text = "it holds less than it claims (F031); do not use it";
    assert_eq!(because(&run, "backup"), text);
}

#[test]
fn warnings_about_the_deciding_metric_qualify_it() {
    let mut run = nvme();
    run.simulated = true;
    run.findings = vec![
        Finding::new(FindingId::NetworkFs, "nfs4 from server:/export"),
        Finding::new(FindingId::FewRounds, "1 round"),
        Finding::new(FindingId::SystemDisk, "/ is on nvme0n1"),
        Finding::new(FindingId::CpuBound, "97 %").about("transfer.rnd4k_q32t1"),
    ];
    let text = because(&run, "media library");
    assert!(
        text.ends_with(". Caution: network and server are included (F006), too few rounds to know the spread (F013). Simulated drive"),
        "{text}"
    );
}

#[test]
fn slow_place_is_named_for_every_use() {
    let mut run = nvme();
    run.findings = vec![Finding::new(FindingId::SlowRegion, "a third").about("surface.read")];
    for verdict in judge(&run) {
        let text = &verdict.because;
        assert!(text.contains("(F040)"), "{}: {text}", verdict.suits);
    }
}

#[test]
fn nan_counts_as_missing() {
    let mut run = with_metrics(&[("transfer.seq1m_q1t1.read.mb_s", &[180.0])]);
    run.tests[0].metrics[0] = metric("transfer.seq1m_q1t1.read.mb_s", &[f64::NAN]);
    assert_eq!(points(&run)[3], None);
}

#[test]
fn behaviour_limits_points_despite_rates() {
    fn with(id: FindingId) -> Run {
        let mut run = nvme();
        run.findings = vec![Finding::new(id, "seen")];
        run
    }
    let lying = with(FindingId::FlushIgnored);
    assert_eq!(points(&lying), [Some(1), Some(0), Some(0), Some(3), Some(3)]);
    assert!(because(&lying, "database").contains("a power cut loses commits (F007)"));
    let free = with(FindingId::FreeFlush);
    assert_eq!(points(&free), [Some(3), None, None, Some(3), Some(3)]);
    let text = because(&free, "database");
    assert!(text.ends_with("which is not tested (F045); with protection ●●●"), "{text}");
    let shingled = with(FindingId::Shingled);
    assert_eq!(points(&shingled), [Some(1), Some(0), Some(0), Some(3), Some(2)]);
    assert!(because(&shingled, "backup").contains("shingled"), "{}", because(&shingled, "backup"));
    let slow = with(FindingId::SlowRegion);
    assert_eq!(points(&slow), [Some(1); 5]);
}

#[test]
fn unknown_facts_cap_points_only_with_rates() {
    let mut run = with_metrics(&[("transfer.rnd4k_q1t1.read.iops", &[80.0])]);
    run.findings = vec![Finding::new(FindingId::FreeFlush, "seen")];
    assert_eq!(of(&run, "database").points, Some(0));
}

/// The end of a hard disk is half as fast as its start; flash has no end.
#[test]
fn verdict_names_untested_parts() {
    let disk = hard_disk();
    assert_eq!(of(&disk, "media library").not_tested, ["end of drive", "capacity"]);
    assert_eq!(of(&nvme(), "media library").not_tested, ["capacity"]);
    let [read, write, end, scattered] = [
        ("transfer.seq1m_q1t1.read.mb_s", &[180.0, 180.0, 180.0][..]),
        ("transfer.seq1m_q1t1.write.mb_s", &[180.0]),
        ("surface.read.end_mb_s", &[90.0]),
        ("transfer.seq1m_q1t1.read_scattered.mb_s", &[179.0]),
    ];
    assert_eq!(disk_with(&[read, write, end]), ["shingling", "capacity"]);
    assert_eq!(disk_with(&[read, write, scattered]), ["end of drive", "capacity"]);
}

fn disk_with(metrics: &[(&str, &[f64])]) -> Vec<String> {
    of(&with_metrics(metrics), "backup").not_tested
}

/// A run of `verify` over `announced` bytes; `device` if the device is larger.
fn verified(announced: f64, real: f64, device: Option<f64>) -> Run {
    let mut run = nvme();
    let mut metrics = vec![
        metric("verify.capacity.announced_bytes", &[announced]),
        metric("verify.capacity.real_bytes", &[real]),
    ];
    metrics.extend(device.map(|bytes| metric("verify.capacity.device_bytes", &[bytes])));
    if real < announced {
        metrics.push(metric("verify.fake.module_bytes", &[0.0]));
    }
    run.tests.push(crate::testing::result(drivescope_model::TestKind::Verify, metrics));
    run
}

#[test]
fn capacity_counts_as_tested_after_a_whole_verify() {
    fn untested(run: &Run) -> Vec<String> {
        of(run, "backup").not_tested
    }
    let none: [String; 0] = [];
    let whole = nvme().drive.unwrap().capacity_bytes as f64;
    assert_eq!(untested(&nvme()), ["capacity"]);
    assert_eq!(untested(&verified(whole, whole, None)), none);
    assert_eq!(untested(&verified(2e9, 2e9, Some(whole))), ["capacity"], "a part is not all of it");
    assert_eq!(untested(&verified(2e9, 2e9, None)), ["capacity"], "a partition is not the drive");
    let mut later = nvme();
    later.earlier_capacity = tested_capacity(&verified(whole, whole, None));
    assert_eq!(untested(&later), none);
    later.earlier_capacity = tested_capacity(&verified(2e9, 1e9, Some(whole)));
    assert_eq!(points(&later), [Some(0); 5]);
    let text = because(&later, "media library");
    assert!(text.starts_with("it holds less than it claims (F031 in run "), "{text}");
    assert_eq!(tested_capacity(&verified(2e9, 2e9, Some(whole))), None);
}

#[test]
fn free_space_of_a_directory_counts_with_its_size() {
    fn untested(run: &Run) -> Vec<String> {
        of(run, "backup").not_tested
    }
    let whole = nvme().drive.unwrap().capacity_bytes as f64;
    let in_files = |announced: f64, free: f64| {
        let mut run = verified(announced, announced, Some(whole));
        let test = run.tests.last_mut().unwrap();
        test.metrics.push(metric("verify.capacity.free_bytes", &[free]));
        run
    };
    let all = in_files(2e9, 2e9);
    assert!(untested(&all).is_empty(), "{:?}", untested(&all));
    let text = because(&all, "backup");
    assert!(text.contains("Capacity tested in 2.00 GB of free space only"), "{text}");
    assert!(!because(&all, "system drive").contains("free space"));
    assert_eq!(untested(&in_files(1e9, 2e9)), ["capacity"], "a part, by --size");
    let mut later = nvme();
    later.earlier_capacity = tested_capacity(&all);
    assert!(untested(&later).is_empty());
    assert!(because(&later, "backup").contains("2.00 GB of free space only"));
}

#[test]
fn the_command_that_tests_the_capacity_stands_below() {
    let mut run = nvme();
    run.target.kind = TargetKind::Block;
    run.verdict = judge(&run);
    let text = capacity_remedy(&run).unwrap();
    let starts = format!(
        "capacity not tested: drivescope run /dev/{} --test verify --destroy ",
        run.drive.as_ref().unwrap().name
    );
    assert!(text.starts_with(&starts) && text.ends_with("(erases the drive)"), "{text}");
    run.target.kind = TargetKind::Simulated;
    run.target.path = "sim:wd40efrx?fill=0.5".to_string();
    let text = capacity_remedy(&run).unwrap();
    assert_eq!(text, "capacity not tested: drivescope run 'sim:wd40efrx?fill=0.5' --test verify");
    run.target.kind = TargetKind::Directory;
    run.target.path = "/mnt/my card".to_string();
    let text = capacity_remedy(&run).unwrap();
    assert_eq!(text, "capacity not tested: drivescope run '/mnt/my card' --test verify");
    run.verdict.iter_mut().for_each(|verdict| verdict.not_tested.clear());
    assert_eq!(capacity_remedy(&run), None);
}

#[test]
fn uncertain_verdict_shows_its_alternative() {
    fn run(write: &[f64]) -> Run {
        with_metrics(&[
            ("transfer.seq1m_q1t1.read.mb_s", &[180.0]),
            ("transfer.seq1m_q1t1.write.mb_s", write),
        ])
    }
    let sure = of(&run(&[150.0, 149.0, 151.0]), "backup");
    assert_eq!((sure.points, sure.borderline), (Some(3), None), "{sure:?}");
    let near = of(&run(&[97.0, 90.0, 120.0]), "backup");
    assert_eq!((near.points, near.borderline), (Some(3), Some(2)), "{near:?}");
    let words = "borderline: just below the 100 MB/s that a backup drive wants, interval 90.0 MB/s to 120 MB/s";
    assert!(near.because.contains(words), "{}", near.because);
    let below = of(&run(&[90.0, 80.0, 120.0]), "backup");
    assert_eq!((below.points, below.borderline), (Some(2), Some(3)), "{below:?}");
    // What decides is sure; another rule may decide next time.
    let other = with_metrics(&[
        ("transfer.seq1m_q1t1.read.mb_s", &[60.0]),
        ("transfer.seq1m_q1t1.write.mb_s", &[60.0]),
        ("surface.read.end_mb_s", &[31.0, 25.0, 37.0]),
    ]);
    let other = of(&other, "backup");
    assert_eq!((other.points, other.borderline), (Some(2), Some(1)), "{other:?}");
    assert!(other.because.contains("reads at its end at 31.0 MB/s"), "{}", other.because);
}

/// 82 ± 3 against 80 may be less next time; 78 against 80 costs no point.
#[test]
fn value_near_threshold_is_borderline_without_losing_points() {
    fn end(value: f64, half: f64) -> (Option<u8>, bool, bool) {
        let mut run = with_metrics(&[
            ("transfer.seq1m_q1t1.read.mb_s", &[180.0]),
            ("transfer.seq1m_q1t1.write.mb_s", &[180.0]),
            ("surface.read.end_mb_s", &[value]),
        ]);
        let metric = &mut run.tests[0].metrics[2];
        (metric.low, metric.high) = (value - half, value + half);
        let verdict = of(&run, "backup");
        let rule = verdict.rules.iter().find(|rule| rule.metric.ends_with("end_mb_s")).unwrap();
        (verdict.points, rule.borderline, verdict.because.contains("MB/s, borderline: just "))
    }
    assert_eq!(end(82.0, 3.0), (Some(3), true, true));
    assert_eq!(end(78.0, 0.5), (Some(3), true, true));
    // 76 would have been enough.
    assert_eq!(end(75.0, 0.5), (Some(2), true, true));
    assert_eq!(end(72.0, 0.5), (Some(2), false, false));
    assert_eq!(end(75.0, 6.0), (Some(2), true, true));
    assert_eq!(end(60.0, 3.0), (Some(2), false, false));
}

#[test]
fn a_small_drive_is_named_where_capacity_matters() {
    let mut run = nvme();
    run.drive.as_mut().unwrap().capacity_bytes = 128_000_000_000;
    assert!(because(&run, "backup").contains("Holds only 128 GB"), "{}", because(&run, "backup"));
    assert!(!because(&run, "system drive").contains("128 GB"));
}

#[test]
fn partial_test_does_not_show_the_end() {
    fn media(run: &Run) -> Verdict {
        of(run, "media library")
    }
    let mut run =
        with_metrics(&[("surface.read.start_mb_s", &[150.0]), ("surface.read.end_mb_s", &[30.0])]);
    assert_eq!(media(&run).points, Some(1), "{:?}", media(&run));
    run.plan.suite.span = Bytes::gib(1);
    assert_eq!(media(&run).points, Some(3), "{:?}", media(&run));
    assert!(media(&run).not_tested.contains(&"end of drive".to_string()));
    run.plan.suite.offset = Some(PartStart::At(Bytes(1 << 40)));
    assert_eq!(media(&run).points, None, "{:?}", media(&run));
}

/// A shingled drive had one synced write in each round, after the writes of the cell before.
#[test]
fn a_rate_of_a_few_requests_decides_nothing() {
    let mut run = with_metrics(&[
        ("transfer.rnd4k_q32t1.read.iops", &[12_000.0]),
        ("transfer.rnd4k_q1t1.write.iops", &[6_000.0]),
        ("transfer.rnd4k_q1t1.sync.iops", &[2.8, 2.8, 2.8]),
    ]);
    assert_eq!(of(&run, "virtual machines").points, Some(0), "their number is unknown");
    for (count, points) in [(3, Some(3)), (10, Some(0))] {
        run.tests[0].distributions = vec![counted("transfer.rnd4k_q1t1.sync", count)];
        let verdict = of(&run, "virtual machines");
        assert_eq!(verdict.points, points, "{verdict:?}");
        let is_shown = verdict.because.contains("3 requests are too few (it takes 10")
            && verdict.not_tested.contains(&"synced writes".to_string());
        assert_eq!(is_shown, count == 3, "{verdict:?}");
    }
}
