//! Tables of tests; those of whole runs stand in `documents.rs`.

use super::PLAIN;
use crate::testing::{
    hard_disk_latency, hard_disk_surface, interrupted, metric, nvme, one_line, result,
};
use crate::text::{test_result, verbose};
use drivescope_model::document::Limiter;
use drivescope_model::{Run, TestKind, TestResult, TestStatus};

#[test]
fn percentile_of_all_rounds_is_marked() {
    let mut result = hard_disk_latency();
    let p99 = result.metrics.iter_mut().find(|metric| metric.key.ends_with(".lat_p99_us")).unwrap();
    assert!(p99.rounds.len() > 1, "the case must be one");
    p99.rounds.truncate(1);
    let run = Run { tests: vec![result], ..nvme() };
    let text = verbose(&run, PLAIN);
    let words = one_line(&text);
    assert!(words.contains("max and rare percentiles over all rounds"), "{text}");
}

#[test]
fn transfer_of_nvme_beyond_one_cpu() {
    insta::assert_snapshot!(test_result(&nvme().tests[0], PLAIN), @r"
    transfer                        read             write
    seq1m_q8t1    MB/s     3,456 ± 21        3,102 ± 19
    seq1m_q1t1    MB/s     2,210 ± 13        2,940 ± 18
    rnd4k_q32t16  IOPS   842,300 ± 5,100   751,900 ± 4,500
    rnd4k_q1t1    IOPS    20,510 ± 120      63,480 ± 380

    response       read p50      p99      max   write p50      p99      max
    seq1m_q8t1      2.40 ms  2.61 ms  4.10 ms     2.70 ms  3.01 ms  9.80 ms
    seq1m_q1t1       470 µs   521 µs  1.10 ms      350 µs   402 µs  3.30 ms
    rnd4k_q32t16     606 µs   810 µs  3.20 ms      680 µs  1.01 ms  8.70 ms
    rnd4k_q1t1      47.1 µs  62.3 µs   410 µs     14.2 µs  21.9 µs  1.90 ms
    ");
}

#[test]
fn cell_has_the_limiter_of_most_rounds() {
    let metrics = ["seq1m_q8t1.read", "rnd4k_q1t1.read", "rnd4k_q32t1.read"]
        .map(|cell| metric(&format!("transfer.{cell}.iops"), &[100.0, 101.0, 102.0]));
    let mut result = result(TestKind::Transfer, metrics.to_vec());
    let limiters = [Limiter::FileSystem, Limiter::OtherPrograms, Limiter::FileSystem];
    let rounds = result.phases.iter_mut().filter(|phase| phase.cell == "rnd4k_q1t1.read");
    for (phase, limiter) in rounds.zip(limiters) {
        phase.limiter = limiter;
    }
    let text = verbose(&Run { tests: vec![result], ..nvme() }, PLAIN);
    let expected = "limited by the drive; by the file system in rnd4k_q1t1.read transfer #";
    assert!(one_line(&text).contains(expected), "{text}");
}

#[test]
fn transfer_with_a_mix_and_a_single_round() {
    let mut metrics = Vec::new();
    for (cell, mb_s, iops) in [
        ("seq1m_q8t1.read", 178.2, 169.9),
        ("seq1m_q8t1.write", 171.9, 163.9),
        ("seq1m_q8t1.mix70", 92.1, 87.8),
        ("rnd4k_q1t1.mix70", 0.8, 190.0),
        ("rnd4k_q1t1.read", 0.6, 149.0),
    ] {
        metrics.push(metric(&format!("transfer.{cell}.mb_s"), &[mb_s]));
        metrics.push(metric(&format!("transfer.{cell}.iops"), &[iops]));
        metrics.push(metric(&format!("transfer.{cell}.lat_p50_us"), &[1e6 / iops]));
    }
    insta::assert_snapshot!(test_result(&result(TestKind::Transfer, metrics), PLAIN), @r"
    transfer           read   write   mix70
    seq1m_q8t1  MB/s    178     172    92.1
    rnd4k_q1t1  IOPS    149       -     190

    response     read p50  p99  max   write p50  p99  max   mix70 p50  p99  max
    seq1m_q8t1    5.89 ms    -    -     6.10 ms    -    -     11.4 ms    -    -
    rnd4k_q1t1    6.71 ms    -    -           -    -    -     5.26 ms    -    -
    ");
}

#[test]
fn surface_of_a_hard_disk() {
    insta::assert_snapshot!(test_result(&hard_disk_surface(), PLAIN), @r"
    surface      start    end    min          mean   max
    rate, MB/s     181   82.0   80.8   138.4 ± 0.6   181

      181  █████▇▇▇▇▇▇▆▆▆▆▅▅▅▅▄▄▄▄▃▃▃▃▂▂▂▁▁▁
           ████████████████████████████████████▇▇▇▆▆▆▅▅▄▄▄▃▃▂▂▂▁▁▁
           █████████████████████████████████████████████████████████▇▇▆
        0  ████████████████████████████████████████████████████████████
           0 B                                                  3.94 TB
      slowest: 80.8 MB/s at 3.94 TB (median of its rounds)
      mean of the samples 145 MB/s (table: bytes by time)

                  min   mean    max     seeks 0-10 %   10-33 %   33-67 %   67-100 %
    access, ms   1.21   13.4   24.9             8.18      11.1      14.0       16.5
    ");
}

/// Written as well, it has a second row and a second curve.
#[test]
fn surface_of_a_hard_disk_that_was_written() {
    fn written(key: &str) -> String {
        key.replace("surface.read.", "surface.write.")
    }
    let mut result = hard_disk_surface();
    let is_read = |key: &str| key.starts_with("surface.read.");
    let mut metrics = result.metrics.clone();
    metrics.retain(|metric| is_read(&metric.key));
    for metric in &mut metrics {
        metric.key = written(&metric.key);
        metric.value /= 2.0;
    }
    let mut curve = result.series[0].clone();
    curve.key = written(&curve.key);
    curve.y.iter_mut().for_each(|rate| *rate /= 2.0);
    result.metrics.append(&mut metrics);
    result.series.push(curve);
    let out = test_result(&result, PLAIN);
    for part in
        ["read, MB/s      181", "write, MB/s    90.6", "slowest written: 40.4 MB/s at 3.94 TB"]
    {
        assert!(out.contains(part), "'{part}' is missing:\n{out}");
    }
    assert!(!out.contains("rate, MB/s"), "{out}");
    assert_eq!(out.matches("0 B").count(), 2, "two curves:\n{out}");
}

#[test]
fn tests_without_numbers_take_one_line() {
    fn one(test: TestKind, status: TestStatus, reason: Option<&str>) -> String {
        test_result(&TestResult::empty(test, status, reason.map(Into::into)), PLAIN)
    }
    let reason = "a directory has no positions of its own; name the device below it, /dev/sda";
    let out = [
        one(TestKind::Surface, TestStatus::Skipped, Some(reason)),
        one(TestKind::Latency, TestStatus::Interrupted, None),
        one(TestKind::TinyWrites, TestStatus::Failed, Some("no space left on device")),
        one(TestKind::Transfer, TestStatus::Done, None),
    ];
    insta::assert_snapshot!(out.concat(), @r"
    surface  skipped: a directory has no positions of its own; name the device below
      it, /dev/sda
    latency  interrupted
    tiny-writes  failed: no space left on device
    transfer  nothing was measured
    ");
}

#[test]
fn every_round_with_its_limiter() {
    let verbose = verbose(&interrupted(), PLAIN);
    let (_, rounds) = verbose.rsplit_once("\n\n").unwrap();
    insta::assert_snapshot!(rounds, @r"
    transfer          #  MB/s  IOPS  depth  CPU %  busy %  °C  errors  limited by
    seq1m_q8t1.read   1   178   170  0.998    3.4    99.6  34          drive
    seq1m_q8t1.read   2   177   169  0.998    3.4    99.6  34          drive
    seq1m_q8t1.read   3   179   171  0.998    3.4    99.6  34          drive
    seq1m_q8t1.write  1   172   164  0.998    3.4    99.6  34          drive
    seq1m_q8t1.write  2   171   163  0.998    3.4    99.6  34          drive
    seq1m_q8t1.write  3   173   165  0.998    3.4    99.6  34       2  drive
    ");
}
