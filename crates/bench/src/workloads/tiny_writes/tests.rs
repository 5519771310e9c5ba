use super::drive_comparison::{CounterSource, cache_share_pct, cold_in_memory};
use super::patterns::patterns;
use super::*;
use crate::judging::round::Round;
use crate::testing::{run_on, suite_of, value};
use drivescope_machine::counters::DeviceCounters;
use drivescope_model::cell::Mix;
use drivescope_model::document::Limiter;
use drivescope_model::findings::FindingId;
use drivescope_model::units::{Bytes, Secs};

#[test]
fn every_comparison_names_a_pattern_of_the_drive() {
    for pattern in patterns() {
        if let Some(drive) = pattern.drive {
            let found = patterns().find(|p| p.cell == drive).unwrap();
            assert_eq!(found.path, IoPath::Direct);
            assert_eq!((found.order, found.sync), (pattern.order, pattern.sync));
            assert_eq!(found.mix, pattern.mix);
        }
    }
}

/// A round of 1,000 requests with these device counters.
fn counted(block: u64, read_bytes: u64, written_bytes: u64) -> Round {
    let mut round = crate::testing::round("rnd4k_q1t1.read", 1_000, block, Mix::READ);
    round.top = Some(DeviceCounters { read_bytes, written_bytes, ..Default::default() });
    round
}

fn share(cell: &str, round: &Round) -> Option<f64> {
    let pattern = patterns().find(|pattern| pattern.cell == cell).unwrap();
    cache_share_pct(pattern, round, &(0..1 << 30), CounterSource::Top)
}

#[test]
fn loop_reads_from_memory_are_not_drive_reads() {
    let pattern = |cell| patterns().find(|pattern| pattern.cell == cell).unwrap();
    let cold = pattern("seq512_read_cold");
    let mut round = counted(512, 512_000, 0);
    let share = |round: &Round, by| cache_share_pct(cold, round, &(0..1 << 30), by);
    assert_eq!(share(&round, CounterSource::BelowLoop), None, "no counters");
    round.below_loop = Some(DeviceCounters { read_bytes: 51_200, ..Default::default() });
    assert_eq!(share(&round, CounterSource::BelowLoop), Some(90.0));
    assert_eq!(share(&round, CounterSource::Top), Some(0.0));
    assert_eq!(share(&round, CounterSource::Nowhere), None);
    let found = cold_in_memory(cold, Some(90.0), CounterSource::Top).unwrap();
    assert_eq!(found.id, FindingId::PageCache);
    assert!(found.concerns("tiny-writes.seq512_read_cold.mb_s"));
    assert!(!found.concerns("tiny-writes.seq512_read_warm.mb_s"));
    for share in [Some(5.0), None] {
        assert_eq!(cold_in_memory(cold, share, CounterSource::Top), None);
        assert!(cold_in_memory(cold, share, CounterSource::BelowLoop).is_some(), "{share:?}");
    }
    for other in ["seq512_read_warm", "rnd16_buffered"].map(pattern) {
        assert_eq!(cold_in_memory(other, Some(100.0), CounterSource::BelowLoop), None);
    }
}

#[test]
fn cache_share_is_bytes_not_passed_to_device() {
    // Read-ahead makes a stream fast, but the device moved every byte of it, and a little more.
    assert_eq!(share("seq512_read_cold", &counted(512, 540_000, 0)), Some(0.0));
    assert_eq!(share("seq512_read_warm", &counted(512, 0, 0)), Some(100.0));
    assert_eq!(share("seq512_write", &counted(512, 0, 128_000)), Some(75.0));
    // 16 bytes dirty a page, which is what the device has to write.
    assert_eq!(share("rnd16_buffered", &counted(16, 0, 16_000)), Some(99.609375));
    assert_eq!(share("rnd16_sync", &counted(16, 0, 12_288_000)), Some(0.0));
    assert_eq!(share("rnd16_sync", &Round { top: None, ..counted(16, 0, 0) }), None);
}

#[test]
fn simulated_disk_reads_ahead_and_waits_for_flushes() {
    let mut suite = suite_of(TestKind::TinyWrites);
    (suite.rounds, suite.tiny_writes.size) = (1, Bytes::mib(64));
    suite.tiny_writes.time = Secs(0.2);
    let result = run_on("sim:wd40efrx", suite);
    let share = |cell: &str| value(&result, &format!("tiny-writes.{cell}.cache_share_pct"));
    assert!(share("seq512_read_cold").unwrap() < 5.0, "{:?}", share("seq512_read_cold"));
    assert_eq!(share("seq512_read_warm"), Some(100.0));
    assert!(share("rnd16_buffered").unwrap() > 50.0, "{:?}", share("rnd16_buffered"));
    assert_eq!(share("rnd16_sync"), Some(0.0));
    let limiter = |cell: &str| result.phases.iter().find(|p| p.cell == cell).unwrap().limiter;
    assert_eq!(limiter("rnd16_sync"), Limiter::Drive);
    // A page that is not in memory must be read before a part of it can be written.
    assert_eq!(limiter("rnd16_buffered"), Limiter::Drive);
}

#[test]
fn stream_is_limited_by_calls_or_drive() {
    let most = ExpectedSpeed { mb_s: 600.0, iops: 30_000.0, queue_gain: 5.0 };
    let options = TinyWritesOptions { time: Secs(0.5), ..TinyWritesOptions::default() };
    assert_eq!(stream_requests(true, 100, &options, most), 1_000_000);
    assert_eq!(stream_requests(true, 4_000, &options, most), 75_000);
    assert_eq!(stream_requests(false, 512, &options, most), 15_000);
}

#[test]
fn only_chosen_cells_run() {
    fn iops(new_file: bool) -> f64 {
        let mut suite = suite_of(TestKind::TinyWrites);
        suite.rounds = 1;
        suite.tiny_writes.cells = vec!["seq512_write".to_string()];
        (suite.tiny_writes.new_file, suite.tiny_writes.size) = (new_file, Bytes::mib(16));
        let result = run_on("sim:wd40efrx?fill=0", suite);
        let cells = result.metrics.iter().map(|metric| metric.key.split('.').nth(1).unwrap());
        assert!(cells.collect::<Vec<&str>>().iter().all(|cell| *cell == "seq512_write"));
        value(&result, "tiny-writes.seq512_write.iops").unwrap()
    }
    // Of an old file, each page is read before a part of it is written.
    assert!(iops(true) > 20.0 * iops(false), "{} {}", iops(true), iops(false));
    assert!(check_cells(&["seq512_wrote".to_string()]).unwrap_err().contains("'seq512_write'"));
    assert!(check_cells(&["rnd16_sync".to_string(), "rnd16_sync".to_string()]).is_err());
}

/// A stream reads what a stream wrote: random writes of the same run have scattered none of it.
#[test]
fn streams_read_nothing_that_random_writes_scattered() {
    fn cold(cells: &[&str]) -> f64 {
        let mut suite = suite_of(TestKind::TinyWrites);
        (suite.rounds, suite.tiny_writes.time) = (2, Secs(0.25));
        suite.tiny_writes.cells = cells.iter().map(|cell| cell.to_string()).collect();
        let result = run_on("sim:easystore-2tb", suite);
        value(&result, "tiny-writes.seq512_read_cold.mb_s").unwrap()
    }
    let (alone, beside) = (cold(&["seq512_write", "seq512_read_cold"]), cold(&[]));
    assert!(beside > 0.8 * alone, "{alone} MB/s alone, {beside} MB/s beside random writes");
}
