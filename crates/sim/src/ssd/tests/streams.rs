//! Long streams: computed as a whole, they agree with single steps.

use crate::device::{Device, Nanos, Op, Stream};
use crate::ssd::Ssd;
use crate::ssd::params::{SlcParams, SsdParams, ThermalParams};
use crate::ssd::testing::{Offsets, closed_loop, small, thermal, with_port};

fn compare(what: &str, ssd: &Ssd, op: Op, len: u64, chunk: u64, depth: u32) {
    let start = ssd.now;
    let (mut whole, mut stepped) = (ssd.clone(), ssd.clone());
    let end = whole.stream(start, op, 0, len, chunk, depth).unwrap();
    let exact = closed_loop(&mut stepped, start, op, len.div_ceil(chunk), u64::from(depth), |k| {
        (k * chunk, chunk.min(len - k * chunk))
    });
    let error = (end - start) as f64 / (exact - start) as f64 - 1.0;
    assert!(error.abs() < 0.005, "{what}: {end} against {exact}, {:.2} %", error * 100.0);
    let (a, b) = (whole.status(), stepped.status());
    assert_eq!(
        (a.host_written_bytes, a.live_bytes),
        (b.host_written_bytes, b.live_bytes),
        "{what}"
    );
    let moved = (a.moved_bytes as f64 - b.moved_bytes as f64).abs();
    assert!(moved <= 0.01 * len as f64, "{what}: {} against {}", a.moved_bytes, b.moved_bytes);
    if let (Some(x), Some(y)) = (a.temperature_c, b.temperature_c) {
        assert!((x - y).abs() < 0.5, "{what}: {x} against {y} °C");
    }
}

fn with_cache(static_gb: f64, dynamic_max_gb: f64) -> SsdParams {
    let mut params = small();
    params.slc = Some(SlcParams {
        static_gb,
        dynamic_max_gb,
        dynamic_free_share: 0.8,
        idle_before_fold_ms: 1000.0,
    });
    params
}

#[test]
fn writes_agree_with_single_steps() {
    let gib = 1 << 30;
    let slow_port = with_port(small(), 200.0, 1.0);
    let slow_firmware = with_port(small(), 2000.0, 500.0);
    for (what, params) in [
        ("flash-limited", small()),
        ("port-limited", slow_port),
        ("command-limited", slow_firmware),
        ("static cache", with_cache(0.3, 0.0)),
        ("dynamic cache", with_cache(0.0, 0.3)),
    ] {
        let fresh = Ssd::new(params, 1).unwrap();
        compare(what, &fresh, Op::Write, gib, 131_072, 4);
        compare(what, &fresh, Op::Write, gib / 2 + 12_288, 1 << 20, 1);
    }
}

#[test]
fn a_worn_drive_agrees_with_single_steps() {
    let mut full = Ssd::new(small(), 1).unwrap();
    full.precondition(1.0);
    compare("sequential before", &full, Op::Write, 1 << 30, 131_072, 4);
    let mut offsets = Offsets(9);
    let end = closed_loop(&mut full, 0, Op::Write, 500_000, 32, |_| {
        (offsets.below(262_144) * 4096, 4096)
    });
    full.advance(end + 10_000_000_000, &mut Vec::new());
    compare("fragmented", &full, Op::Read, 1 << 30, 131_072, 4);
    compare("random before", &full, Op::Write, 1 << 30, 131_072, 4);
}

#[test]
fn reads_agree_with_single_steps() {
    let mut half_cached = Ssd::new(with_cache(0.3, 0.0), 1).unwrap();
    let end = half_cached.stream(0, Op::Write, 0, 1 << 29, 131_072, 4).unwrap();
    half_cached.advance(end + 500_000_000, &mut Vec::new());
    let mut ahead = small();
    ahead.controller.read_ahead_kib = 1024;
    let mut full = Ssd::new(ahead, 1).unwrap();
    full.precondition(0.6);
    for (chunk, depth) in [(131_072, 1), (131_072, 8), (1 << 20, 1), (1 << 20, 4)] {
        compare("read-ahead", &full, Op::Read, 1 << 30, chunk, depth);
        compare("SLC and TLC", &half_cached, Op::Read, 1 << 30, chunk, depth);
    }
}

#[test]
fn throttling_during_a_stream_agrees_with_single_steps() {
    let mut params = small();
    params.thermal = Some(thermal());
    params.thermal.as_mut().unwrap().time_constant_s = 4.0;
    params.thermal.as_mut().unwrap().write_j_per_gb = 40.0;
    let fresh = Ssd::new(params, 1).unwrap();
    compare("throttled", &fresh, Op::Write, 1 << 30, 131_072, 4);
}

#[test]
fn reading_heats_in_a_stream_as_in_single_steps() {
    let mut params = small();
    let heat = ThermalParams { read_j_per_gb: 8.0, time_constant_s: 4.0, ..thermal() };
    params.thermal = Some(heat);
    let mut ssd = Ssd::new(params, 1).unwrap();
    ssd.precondition(1.0);
    compare("read", &ssd, Op::Read, 1 << 30, 131_072, 4);
    let cold = ssd.status().temperature_c.unwrap();
    ssd.stream(0, Op::Read, 0, 1 << 30, 131_072, 4).unwrap();
    // 8.6 J in about a second, a quarter of the time constant, and 10 °C for each watt in the long run
    let warm = ssd.status().temperature_c.unwrap();
    assert!((10.0..35.0).contains(&(warm - cold)), "{cold} to {warm} °C");
}

#[test]
fn a_read_in_whose_beginning_throttling_ends_agrees_with_single_steps() {
    let mut params = small();
    let heat = ThermalParams { read_j_per_gb: 0.0, write_j_per_gb: 400.0, ..thermal() };
    params.thermal = Some(heat);
    let mut ssd = Ssd::new(params, 1).unwrap();
    ssd.precondition(1.0);
    let mut now = 0;
    while ssd.status().temperature_c < Some(72.0) {
        now = ssd.stream(now, Op::Write, 0, 1 << 28, 131_072, 4).unwrap();
    }
    // it ends at 60 °C
    while ssd.status().temperature_c > Some(60.1) {
        now += 10_000_000;
        ssd.advance(now, &mut Vec::new());
    }
    compare("cooling down", &ssd, Op::Read, 1 << 30, 131_072, 4);
}

#[test]
fn what_must_be_stepped_is_refused() {
    let mut ssd = Ssd::new(small(), 1).unwrap();
    assert_eq!(ssd.stream(0, Op::Write, 512, 1 << 29, 131_072, 1), None);
    assert_eq!(ssd.stream(0, Op::Flush, 0, 1 << 29, 131_072, 1), None);
    assert_eq!(ssd.stream(0, Op::Write, 1 << 30, 1 << 29, 131_072, 1), None);
    ssd.submit(0, crate::ssd::testing::request(Op::Read, 0, 4096));
    assert_eq!(ssd.stream(0, Op::Read, 0, 1 << 29, 131_072, 1), None);
}

#[test]
fn the_drive_can_be_used_after_a_stream() {
    let mut ssd = Ssd::new(with_cache(0.2, 0.1), 1).unwrap();
    let mut now: Nanos = 0;
    for _ in 0..4 {
        now = ssd.stream(now, Op::Write, 0, 1 << 30, 1 << 20, 4).unwrap();
        let mut offsets = Offsets(now);
        now = closed_loop(&mut ssd, now, Op::Write, 20_000, 8, |_| {
            (offsets.below(262_144) * 4096, 4096)
        });
        now = ssd.stream(now, Op::Read, 0, 1 << 30, 1 << 20, 4).unwrap();
    }
    assert_eq!(ssd.status().live_bytes, 1 << 30);
}
