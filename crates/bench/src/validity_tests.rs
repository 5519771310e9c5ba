//! Each finding on a round whose truth is known: it fires where it must, and is silent on a healthy
//! drive.

use super::*;
use crate::phase::Measured;
use crate::recorder::Recorder;
use crate::usage::Usage;
use drivescope_drive::counters::DeviceCounters;
use drivescope_model::cell::{Mix, Shape};
use drivescope_model::options::Arrivals;
use drivescope_model::units::Secs;

const SECOND: u64 = 1_000_000_000;

fn facts() -> Facts {
    Facts {
        test: TestKind::Transfer,
        direct: true,
        memory_backed: false,
        link_mb_s: Some(600.0),
        rpm: None,
        capacity_bytes: 1 << 40,
        loop_device: false,
        loop_cached_share: None,
        several_devices: false,
        warning_c: Some(80.0),
        memory_bytes: 16 << 30,
        memory_copy_mb_s: 10_000.0,
        memory_copy_again: || 0.0,
        generator_mb_s: 8_000.0,
    }
}

/// One second at `iops` requests of `block` bytes, seen in full by the device.
fn round(cell: &str, iops: u64, block: u64, mix: Mix) -> Round {
    let mut recorder = Recorder::new(SECOND);
    recorder.start(SECOND);
    for i in 1..=iops {
        recorder.complete(SECOND + i * SECOND / iops, SECOND / iops, block);
    }
    recorder.requests = iops;
    let bytes = iops * block;
    let reads = u64::from(mix.read_percent()) * bytes / 100;
    let seen = DeviceCounters {
        read_bytes: reads,
        written_bytes: bytes - reads,
        busy_ms: 990,
        ..Default::default()
    };
    let shape: Shape = cell.split('.').next().unwrap().parse().unwrap();
    Round {
        cell: cell.to_string(),
        round: 1,
        start_s: 0.0,
        window_s: 1.0,
        measured: Measured {
            recorder,
            usage: Usage::default(),
            busiest_cpu_ns: SECOND / 10,
            wall_ns: SECOND,
        },
        load: Some(Load {
            shape,
            mix,
            pace: Pace::Closed,
            span: 0..1 << 40,
            ramp: Secs(0.0),
            time: Secs(1.0),
            ops_max: u64::MAX,
            seed: 1,
            data_seed: 1,
            pass: 1,
        }),
        asked: Some((reads as f64, (bytes - reads) as f64)),
        top: Some(seen),
        disk: Some(seen),
        below_loop: None,
        temperature_c: None,
        limiter: Limiter::Drive,
        cached_on_purpose: false,
        own_metrics: false,
        extra: Vec::new(),
    }
}

fn ids(round: &Round, facts: &Facts) -> Vec<FindingId> {
    of_round(round, facts).into_iter().map(|finding| finding.id).collect()
}

#[test]
fn a_healthy_drive_raises_nothing() {
    let healthy = round("seq1m_q8t1.read", 500, 1 << 20, Mix::READ);
    assert_eq!(ids(&healthy, &facts()), []);
    assert_eq!(limiter(&healthy, &facts()), Limiter::Drive);
}

#[test]
fn a_rate_above_the_link_is_invalid() {
    let fast = round("seq1m_q8t1.read", 600, 1 << 20, Mix::READ);
    assert_eq!(ids(&fast, &facts()), [FindingId::AboveLink]);
    let slow = round("seq1m_q8t1.read", 560, 1 << 20, Mix::READ);
    assert_eq!(ids(&slow, &facts()), []);
    assert_eq!(limiter(&slow, &facts()), Limiter::Link);
}

#[test]
fn a_rate_above_memory_is_invalid_where_no_link_is_known() {
    let facts = Facts { link_mb_s: None, memory_copy_mb_s: 500.0, ..facts() };
    let fast = round("seq1m_q8t1.read", 600, 1 << 20, Mix::READ);
    assert_eq!(ids(&fast, &facts), [FindingId::AboveMemory]);
    let two_threads = round("seq1m_q8t2.read", 600, 1 << 20, Mix::READ);
    assert_eq!(ids(&two_threads, &facts), []);
    // What a busy machine copied at the start accuses nobody.
    let busy_at_the_start = Facts { memory_copy_again: || 700.0, ..facts };
    assert_eq!(ids(&fast, &busy_at_the_start), []);
}

#[test]
fn rotation_bounds_reads_and_unmasks_cached_writes() {
    let facts = Facts { rpm: Some(5_400.0), capacity_bytes: 1 << 40, ..facts() };
    let possible = round("rnd4k_q1t1.read", 90, 4096, Mix::READ);
    assert_eq!(ids(&possible, &facts), []);
    let impossible = round("rnd4k_q1t1.read", 400, 4096, Mix::READ);
    assert_eq!(ids(&impossible, &facts), [FindingId::AboveRotation]);
    let cached = round("rnd4k_q1t1.write", 418, 4096, Mix::WRITE);
    assert_eq!(ids(&cached, &facts), [FindingId::WriteCached]);
    // A span within the drive's reach of its cache, or a deep queue, may be faster.
    let mut short = round("rnd4k_q1t1.read", 400, 4096, Mix::READ);
    short.load.as_mut().unwrap().span = 0..1 << 34;
    assert_eq!(ids(&short, &facts), []);
    assert_eq!(ids(&round("rnd4k_q32t1.read", 400, 4096, Mix::READ), &facts), []);
}

#[test]
fn bytes_that_never_reached_the_device_are_missed() {
    let mut cached = round("rnd4k_q1t1.read", 10_000, 4096, Mix::READ);
    cached.top = Some(DeviceCounters { read_bytes: 1 << 20, ..DeviceCounters::default() });
    assert_eq!(ids(&cached, &facts()), [FindingId::BytesMissing]);
    let buffered = Facts { direct: false, memory_bytes: 1 << 30, ..facts() };
    assert_eq!(ids(&cached, &buffered), [FindingId::PageCache]);
    cached.top = None;
    assert_eq!(ids(&cached, &facts()), [], "without counters nothing is claimed");
}

#[test]
fn a_loop_device_that_answers_from_memory_is_found_out_below_it() {
    let facts = Facts { loop_device: true, memory_bytes: 1 << 30, ..facts() };
    let mut cached = round("rnd4k_q1t1.read", 10_000, 4096, Mix::READ);
    cached.disk = None;
    cached.below_loop = Some(DeviceCounters::default());
    assert_eq!(ids(&cached, &facts), [FindingId::PageCache]);
    cached.below_loop = cached.top;
    assert_eq!(ids(&cached, &facts), []);
    let in_memory = Facts { loop_cached_share: Some(0.98), ..facts };
    assert_eq!(ids(&cached, &in_memory), [FindingId::PageCache]);
}

#[test]
fn other_users_of_the_drive_are_seen() {
    let mut shared = round("rnd4k_q1t1.read", 10_000, 4096, Mix::READ);
    let ours = 10_000 * 4096;
    shared.disk = Some(DeviceCounters {
        read_bytes: ours,
        written_bytes: ours / 5,
        ..DeviceCounters::default()
    });
    assert_eq!(ids(&shared, &facts()), [FindingId::OtherIo]);
    shared.disk =
        Some(DeviceCounters { read_bytes: ours + ours / 20, ..DeviceCounters::default() });
    assert_eq!(ids(&shared, &facts()), [], "five percent are the file system's own");
}

#[test]
fn a_busy_core_is_named() {
    let mut busy = round("rnd4k_q32t1.read", 100_000, 4096, Mix::READ);
    busy.measured.busiest_cpu_ns = SECOND * 95 / 100;
    assert_eq!(ids(&busy, &facts()), [FindingId::CpuBound]);
    assert_eq!(limiter(&busy, &facts()), Limiter::Cpu);
    let mut writer = round("seq1m_q8t1.write", 5_000, 1 << 20, Mix::WRITE);
    writer.measured.busiest_cpu_ns = SECOND;
    assert_eq!(limiter(&writer, &Facts { link_mb_s: None, ..facts() }), Limiter::Generator);
}

#[test]
fn stalls_and_small_spans_are_named() {
    let mut stalled = round("rnd4k_q1t1.read", 90, 4096, Mix::READ);
    stalled.measured.recorder.gap_max_ns = 2 * SECOND;
    assert_eq!(ids(&stalled, &facts()), [FindingId::Stall]);
    let mut small = round("rnd4k_q1t1.read", 90, 4096, Mix::READ);
    small.load.as_mut().unwrap().span = 0..64 << 20;
    assert_eq!(ids(&small, &facts()), [FindingId::SmallWorkingSet]);
    small.load.as_mut().unwrap().span = 0..1 << 30;
    assert_eq!(ids(&small, &Facts { loop_device: true, ..facts() }), [FindingId::SmallWorkingSet]);
}

#[test]
fn an_open_loop_that_falls_behind_is_overload() {
    let mut open = round("rnd4k_q1t1.read", 90, 4096, Mix::READ);
    open.load.as_mut().unwrap().pace = Pace::Open { arrivals: Arrivals::Fixed, rate: 100.0 };
    open.measured.recorder.due = 100;
    assert_eq!(ids(&open, &facts()), [FindingId::RateMissed]);
    // Chance made fewer requests due than the rate says, and the last few are under way.
    open.measured.recorder.due = 95;
    assert_eq!(ids(&open, &facts()), []);
    assert_eq!(limiter(&open, &facts()), Limiter::Schedule);
}

#[test]
fn memory_says_so_once_and_not_per_round() {
    let facts = Facts { memory_backed: true, ..facts() };
    let fast = round("seq1m_q8t1.read", 20_000, 1 << 20, Mix::READ);
    assert_eq!(ids(&fast, &facts), []);
    assert_eq!(limiter(&fast, &facts), Limiter::Memory);
}

#[test]
fn an_idle_device_points_at_the_layers_above() {
    let mut idle = round("rnd4k_q1t1.write", 1_000, 4096, Mix::WRITE);
    if let Some(top) = &mut idle.top {
        top.busy_ms = 100;
    }
    assert_eq!(limiter(&idle, &facts()), Limiter::FileSystem);
}
