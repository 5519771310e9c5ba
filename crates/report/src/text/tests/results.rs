//! One table per test.

use super::PLAIN;
use crate::testing::{
    hard_disk_latency, hard_disk_surface, hard_disk_tiny_writes, hard_disk_transfer, interrupted,
    memory, metric, nvme, result,
};
use crate::text::{limiters, test_result};
use drivescope_model::document::Limiter;
use drivescope_model::{TestKind, TestResult, TestStatus};

#[test]
fn transfer_of_a_hard_disk() {
    insta::assert_snapshot!(test_result(&hard_disk_transfer(), PLAIN), @r"
    transfer        read MB/s         IOPS    write MB/s         IOPS
    seq1m_q8t1    178.2 ± 1.1                171.9 ± 1.0
    rnd4k_q32t1    1.69        412.0 ± 2.5    1.93        471.0 ± 2.8
    rnd4k_q1t1    0.611        149.0 ± 0.9    1.71        418.0 ± 2.5

    response      read p50      p99      max   write p50      p99      max
    seq1m_q8t1     47.0 ms  52.1 ms  61.4 ms     48.7 ms  55.3 ms   120 ms
    rnd4k_q32t1    77.1 ms   214 ms   402 ms     61.0 ms   244 ms   431 ms
    rnd4k_q1t1     6.61 ms  14.2 ms  24.8 ms     1.01 ms  18.8 ms  44.0 ms
      median of 3 rounds ± 95 % interval, max over all rounds · limited by the drive
    ");
}

#[test]
fn a_percentile_of_all_rounds_is_told_apart_from_medians() {
    let mut result = hard_disk_latency();
    let p99 = result.metrics.iter_mut().find(|metric| metric.key.ends_with(".lat_p99_us")).unwrap();
    assert!(p99.rounds.len() > 1, "the case must be one");
    p99.rounds.truncate(1);
    let text = test_result(&result, PLAIN);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("max and rare percentiles over all rounds"), "{text}");
}

#[test]
fn transfer_of_an_nvme_drive_that_one_cpu_cannot_fill() {
    insta::assert_snapshot!(test_result(&nvme().tests[0], PLAIN), @r"
    transfer        read MB/s             IOPS   write MB/s             IOPS
    seq1m_q8t1     3,456 ± 21                    3,102 ± 19
    seq1m_q1t1     2,210 ± 13                    2,940 ± 18
    rnd4k_q32t16   3,450       842,300 ± 5,100   3,080       751,900 ± 4,500
    rnd4k_q1t1      84.0        20,510 ± 120       260        63,480 ± 380

    response       read p50      p99      max   write p50      p99      max
    seq1m_q8t1      2.40 ms  2.61 ms  4.10 ms     2.70 ms  3.01 ms  9.80 ms
    seq1m_q1t1       470 µs   521 µs  1.10 ms      350 µs   402 µs  3.30 ms
    rnd4k_q32t16     606 µs   810 µs  3.20 ms      680 µs  1.01 ms  8.70 ms
    rnd4k_q1t1      47.1 µs  62.3 µs   410 µs     14.2 µs  21.9 µs  1.90 ms
      median of 3 rounds ± 95 % interval, max over all rounds
      limited by the drive; by one CPU in rnd4k_q32t16.read, rnd4k_q32t16.write
    ");
}

#[test]
fn a_cell_stands_under_the_limiter_of_most_of_its_rounds() {
    let metrics = ["seq1m_q8t1.read", "rnd4k_q1t1.read", "rnd4k_q32t1.read"]
        .map(|cell| metric(&format!("transfer.{cell}.iops"), &[100.0, 101.0, 102.0]));
    let mut result = result(TestKind::Transfer, metrics.to_vec());
    let limiters = [Limiter::FileSystem, Limiter::OtherPrograms, Limiter::FileSystem];
    let rounds = result.phases.iter_mut().filter(|phase| phase.cell == "rnd4k_q1t1.read");
    for (phase, limiter) in rounds.zip(limiters) {
        phase.limiter = limiter;
    }
    let text = test_result(&result, PLAIN);
    let (_, limited) = text.split_once("limited by ").unwrap();
    let words: Vec<&str> = limited.split_whitespace().collect();
    assert_eq!(words.join(" "), "the drive; by the file system in rnd4k_q1t1.read");
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
    transfer     read MB/s  IOPS   write MB/s  IOPS   mix70 MB/s  IOPS
    seq1m_q8t1         178                172               92.1
    rnd4k_q1t1       0.600   149            -     -        0.800   190

    response     read p50  p99  max   write p50  p99  max   mix70 p50  p99  max
    seq1m_q8t1    5.89 ms    -    -     6.10 ms    -    -     11.4 ms    -    -
    rnd4k_q1t1    6.71 ms    -    -           -    -    -     5.26 ms    -    -
      limited by the drive
    ");
}

#[test]
fn numbers_of_memory_are_marked() {
    insta::assert_snapshot!(test_result(&memory().tests[0], PLAIN), @r"
    transfer         read MB/s            IOPS     write MB/s            IOPS
    seq1m_q8t1    7,128 ± 43 !                   6,876 ± 41 !
    rnd4k_q32t1    67.6      !  16,480 ± 100 !    77.2      !  18,840 ± 110 !
    rnd4k_q1t1     24.4      !   5,960 ± 36  !    68.4      !  16,720 ± 100 !

    response      read p50       p99       max   write p50       p99       max
    seq1m_q8t1    1.88 s !  2.08 s !  2.46 s !    1.95 s !  2.21 s !  4.80 s !
    rnd4k_q32t1   3.08 s !  8.56 s !  16.1 s !    2.44 s !  9.76 s !  17.2 s !
    rnd4k_q1t1    264 ms !  568 ms !  992 ms !   40.4 ms !  752 ms !  1.76 s !
      ! invalid: F002 memory-backed
      median of 3 rounds ± 95 % interval, max over all rounds · limited by memory
    ");
}

#[test]
fn latency_by_span_and_load() {
    insta::assert_snapshot!(test_result(&hard_disk_latency(), PLAIN), @r"
    latency        span or rate          IOPS      p50      p99    p99.9      max
    span100                      76.20 ± 0.76  13.1 ms  24.8 ms  31.0 ms  61.2 ms
    span12_5                     118.0 ± 1.2   8.41 ms  16.9 ms  20.8 ms  41.0 ms
    span1                        161.0 ± 1.6   6.02 ms  12.7 ms  15.0 ms  18.3 ms
    poisson_50pct        38.1/s  38.00 ± 0.38  14.9 ms  51.0 ms  88.0 ms   131 ms
    fixed_1000          1,000/s  77.00 ± 0.77   2.40 s   4.60 s   4.61 s   4.61 s
      with a target rate, latency includes queueing; arrivals are random, so the
      rate varies slightly
      median of 3 rounds ± 95 % interval, max over all rounds · limited by the drive
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
      mean of the samples 145 MB/s (above: bytes by time)

                  min   mean    max     seeks 0-10 %   10-33 %   33-67 %   67-100 %
    access, ms   1.21   13.4   24.9             8.18      11.1      14.0       16.5
      median of 3 rounds ± 95 % interval, min and max over all rounds
    ");
}

/// Written as well, it has a second row and a second curve.
#[test]
fn surface_of_a_hard_disk_that_was_written() {
    let mut result = hard_disk_surface();
    let written = |key: &str| key.replace("surface.read.", "surface.write.");
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
fn tiny_writes_beside_the_drive() {
    insta::assert_snapshot!(test_result(&hard_disk_tiny_writes(), PLAIN), @r"
    tiny-writes       size  application  with flush  raw drive  cached
    rnd16_buffered    16 B      6,940/s       612/s     61.0/s  99.1 %
    rnd16_sync        16 B       60.8/s      60.8/s     61.0/s     0 %
    seq512_write              99.7 MB/s   92.1 MB/s  1.10 MB/s  98.9 %
    seq512_read_warm         2,070 MB/s           -   106 MB/s  94.9 %
    seq512_read_cold           106 MB/s           -   106 MB/s   0.4 %
      median of 3 rounds · limited by the drive
      left out: seq512_read_cold: one round only, cached pages could not be evicted
    ");
}

#[test]
fn a_failed_test_says_why_and_keeps_its_numbers() {
    insta::assert_snapshot!(test_result(&interrupted().tests[0], PLAIN), @r"
    transfer  failed: read at 12,582,912: Input/output error (os error 5); 2 of
      5,006 requests failed
    transfer       read MB/s  IOPS    write MB/s  IOPS
    seq1m_q8t1   178.2 ± 1.1         171.9 ± 1.0

    response     read p50      p99      max   write p50      p99     max
    seq1m_q8t1    47.0 ms  52.1 ms  61.4 ms     48.7 ms  55.3 ms  120 ms
      median of 3 rounds ± 95 % interval, max over all rounds · limited by the drive
    ");
}

#[test]
fn tests_without_numbers_take_one_line() {
    let one = |test, status, reason: Option<&str>| {
        test_result(&TestResult::empty(test, status, reason.map(Into::into)), PLAIN)
    };
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
    insta::assert_snapshot!(limiters(&interrupted().tests[0], PLAIN), @r"
    transfer          #  MB/s  IOPS  depth  CPU %  busy %  °C  errors  limited by
    seq1m_q8t1.read   1   178   170  0.998    3.4    99.6  34          drive
    seq1m_q8t1.read   2   177   169  0.998    3.4    99.6  34          drive
    seq1m_q8t1.read   3   179   171  0.998    3.4    99.6  34          drive
    seq1m_q8t1.write  1   172   164  0.998    3.4    99.6  34          drive
    seq1m_q8t1.write  2   171   163  0.998    3.4    99.6  34          drive
    seq1m_q8t1.write  3   173   165  0.998    3.4    99.6  34       2  drive
    ");
}
