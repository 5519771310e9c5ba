//! Throttling, planted faults, requests and parameters that cannot be.

use crate::device::RequestKind::{Flush, Read, Trim, Write};
use crate::device::{Nanos, SimCompletion, SimDevice, SimOutcome, SimRequest};
use crate::ranges::without_numbers;
use crate::ssd::check::RANGES;
use crate::ssd::params::SsdParams;
use crate::ssd::testing::{closed_loop, full, one, request, slc, small, thermal};
use crate::ssd::{RetryRegion, Ssd, SsdFaults};

const SECOND: Nanos = 1_000_000_000;

fn outcome(ssd: &mut Ssd, now: Nanos, request: SimRequest) -> SimCompletion {
    ssd.submit(now, request);
    let mut done = Vec::new();
    ssd.advance(Nanos::MAX / 2, &mut done);
    done[0]
}

#[test]
fn throttling_appears_and_recovers() {
    fn rate(ssd: &mut Ssd, now: Nanos) -> (u64, f64) {
        let count = 1024;
        let end = closed_loop(ssd, now, Write, count, 4, |k| (k * 131_072, 131_072));
        (end, count as f64 * 131_072.0 / (end - now) as f64)
    }
    let mut params = small();
    params.thermal = Some(thermal());
    params.thermal.as_mut().unwrap().write_j_per_gb = 20.0;
    let mut ssd = Ssd::new(params, 1).unwrap();
    let (mut now, _) = rate(&mut ssd, 0);
    let (next, cold) = rate(&mut ssd, now);
    now = next;
    let mut slowest = cold;
    for _ in 0..150 {
        let (next, hot) = rate(&mut ssd, now);
        (now, slowest) = (next, slowest.min(hot));
    }
    let hottest = ssd.status().temperature_c.unwrap();
    assert!((0.35..0.5).contains(&(slowest / cold)), "{slowest} against {cold}, {hottest} °C");
    let (end, _) = rate(&mut ssd, now + 120 * SECOND);
    let (_, again) = rate(&mut ssd, end);
    assert!((again / cold - 1.0).abs() < 0.05, "{again} against {cold}");
}

#[test]
fn a_forced_throttle_scales_everything() {
    fn time(faults: SsdFaults) -> u64 {
        let mut ssd = full(small());
        ssd.set_faults(faults);
        one(&mut ssd, 0, Read, 0, 4096)
    }
    let slow = time(SsdFaults { throttle_forced: Some(0.25), ..SsdFaults::default() });
    assert!((slow as f64 / time(SsdFaults::default()) as f64 - 4.0).abs() < 0.001);
}

#[test]
fn a_flush_that_lies_costs_nothing() {
    let mut ssd = Ssd::new(small(), 1).unwrap();
    ssd.set_faults(SsdFaults { flush_lies: true, ..SsdFaults::default() });
    let now = one(&mut ssd, 0, Write, 0, 1 << 20);
    assert_eq!(one(&mut ssd, now, Flush, 0, 0) - now, 8000);
}

#[test]
fn a_failing_region_is_slow_and_unreadable() {
    let mut ssd = full(small());
    let region = RetryRegion { offset: 8192, len: 8192, retry_ns: 50_000_000, unreadable: true };
    let slow = RetryRegion { offset: 1 << 20, unreadable: false, ..region };
    ssd.set_faults(SsdFaults { failing: vec![region, slow], ..SsdFaults::default() });
    for (offset, expected, late) in [
        (4096, SimOutcome::Done, false),
        (8192, SimOutcome::MediaError, true),
        (1 << 20, SimOutcome::Done, true),
        (16_384, SimOutcome::Done, false),
    ] {
        let mut fresh = ssd.clone();
        let done = outcome(&mut fresh, 0, request(Read, offset, 4096));
        assert_eq!(done.outcome, expected, "{offset}");
        assert_eq!(done.at > 50_000_000, late, "{offset}");
    }
}

#[test]
fn trim_forgets_whole_units_only_and_takes_its_time() {
    let mut ssd = full(small());
    let live = ssd.status().live_bytes;
    let now = one(&mut ssd, 0, Trim, 3584, 8192);
    assert_eq!(ssd.status().live_bytes, live - 4096);
    let end = one(&mut ssd, now, Trim, 0, 1 << 30);
    assert_eq!(ssd.status().live_bytes, 0);
    // 50 µs, and 100 for each GiB
    assert_eq!(end - now, 150_000);
}

#[test]
fn a_drive_that_goes_takes_its_requests_along() {
    let mut ssd = full(small());
    ssd.set_faults(SsdFaults { gone_at: Some(30_000), ..SsdFaults::default() });
    let pending = outcome(&mut ssd.clone(), 0, request(Read, 0, 4096));
    assert_eq!((pending.at, pending.outcome), (30_000, SimOutcome::Gone));
    let later = outcome(&mut ssd, 40_000, request(Read, 0, 4096));
    assert_eq!((later.at, later.outcome), (40_000, SimOutcome::Gone));
}

#[test]
fn impossible_requests_are_refused() {
    for (op, offset, len) in [
        (Read, 1 << 30, 512),
        (Write, 100, 512),
        (Write, 0, 700),
        (Trim, 0, 0),
        (Read, u64::MAX - 511, 512),
    ] {
        let mut ssd = Ssd::new(small(), 1).unwrap();
        assert_eq!(outcome(&mut ssd, 5, request(op, offset, len)).outcome, SimOutcome::Invalid);
    }
}

#[test]
fn parameters_that_cannot_be_are_named() {
    type Edit = fn(&mut SsdParams);
    let cases: [(&str, Edit); 15] = [
        ("sector_bytes", |p| p.sector_bytes = 520),
        ("mapping_unit_bytes", |p| p.mapping_unit_bytes = 3000),
        ("mapping_unit_bytes", |p| p.mapping_unit_bytes = 65_536),
        ("capacity_bytes", |p| p.capacity_bytes += 512),
        ("spare_share", |p| p.spare_share = 0.001),
        ("spare_share", |p| p.spare_share = -1.0),
        ("controller.queue_depth", |p| p.controller.queue_depth = 0),
        ("port.read_mb_s", |p| p.port.as_mut().unwrap().read_mb_s = 0.0),
        ("buffer.size_kib", |p| p.buffer.size_kib = 512),
        ("flash.read_us", |p| p.flash.read_us = vec![50.0]),
        ("flash.pages_per_block", |p| p.flash.pages_per_block = 25),
        ("thermal.throttle_stop_c", |p| {
            p.thermal = Some(thermal());
            p.thermal.as_mut().unwrap().throttle_stop_c = 90.0;
        }),
        ("flash.read_us", |p| p.flash.read_us[0] = 0.0),
        ("flash.program_us", |p| p.flash.program_us = 0.0),
        ("flash.erase_us", |p| p.flash.erase_us = 0.0),
    ];
    for (field, edit) in cases {
        let mut params = small();
        edit(&mut params);
        let problems = Ssd::new(params, 1).err().unwrap_or_default();
        assert!(problems.iter().any(|p| p.field == field), "{field}: {problems:?}");
    }
    assert_eq!(small().validate(), []);
}

#[test]
fn every_range_is_of_a_parameter() {
    let params = SsdParams { slc: Some(slc(0.1, 0.1, 5.0)), thermal: Some(thermal()), ..small() };
    let table = toml::Value::try_from(params).unwrap();
    assert_eq!(without_numbers(RANGES, &[table]), [""; 0]);
}

/// Replaces every number of a parameter file, one after the other, and calls `each` with the result.
fn with_each_number_replaced(text: &str, value: &str, mut each: impl FnMut(&str, &str)) {
    let lines: Vec<&str> = text.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        let Some((key, old)) = line.split_once(" = ") else { continue };
        if old.parse::<f64>().is_err() {
            continue;
        }
        // a whole number stays one
        let new = if old.contains('.') { value.to_owned() } else { value.replace(".0", "") };
        let changed = format!("{key} = {new}");
        let mut all = lines.clone();
        all[index] = &changed;
        each(&all.join("\n"), &changed);
    }
}

#[test]
fn extreme_parameters_are_refused_or_work() {
    let mut params = small();
    params.slc = Some(slc(0.1, 0.1, 5.0));
    params.thermal = Some(thermal());
    let text = toml::to_string(&params).unwrap();
    let mut built = 0;
    for value in ["0.0", "1.0", "-1.0", "2.0", "7.0", "1000000000.0", "1e300", "nan", "inf"] {
        with_each_number_replaced(&text, value, |file, changed| {
            let Ok(params) = toml::from_str::<SsdParams>(file) else { return };
            let Ok(mut ssd) = Ssd::new(params, 1) else { return };
            built += 1;
            ssd.precondition(0.5);
            let chunk = 1 << 16;
            let count = 100.min(ssd.capacity_bytes() / chunk);
            let end = closed_loop(&mut ssd, 0, Write, count, 4, |k| (k * chunk, chunk));
            let end = closed_loop(&mut ssd, end, Read, count, 4, |k| (k * chunk, chunk));
            let flushed = one(&mut ssd, end + SECOND, Flush, 0, 0);
            assert!(flushed > end, "{changed}");
        });
    }
    assert!(built > 100, "{built}");
}

#[test]
fn unknown_parameters_are_refused() {
    let text = toml::to_string(&small()).unwrap();
    assert_eq!(toml::from_str::<SsdParams>(&text).unwrap(), small());
    assert!(toml::from_str::<SsdParams>(&format!("colour = 1\n{text}")).is_err());
}
