//! The SLC cache: knee, folding, recovery.

use crate::device::RequestKind::{Read, Trim, Write};
use crate::device::{Nanos, SimDevice};
use crate::ssd::params::{SlcParams, SsdParams};
use crate::ssd::testing::{closed_loop, one, slc, small};
use crate::ssd::{Ssd, SsdFaults};

const SECOND: Nanos = 1_000_000_000;
const CHUNK: u64 = 128 * 1024;

fn with_cache(static_gb: f64, dynamic_max_gb: f64) -> SsdParams {
    let mut params = small();
    params.flash.program_us = 3000.0;
    // the blocks are small: longer erases would hide the difference between the modes
    params.flash.erase_us = 100.0;
    let half = slc(static_gb, dynamic_max_gb, 1000.0);
    params.slc = Some(SlcParams { dynamic_free_share: 1.0, ..half });
    params
}

/// Writes `bytes` from the start of the drive on; returns the end and the bytes written when the rate
/// over the last 4 MiB first fell below the middle of the two rates.
fn knee(ssd: &mut Ssd, now: Nanos, bytes: u64, limit_mb_s: f64) -> (Nanos, Option<u64>) {
    let step = 4 << 20;
    let (mut at, mut found) = (now, None);
    for k in 0..bytes / step {
        let (end, rate) = write(ssd, at, k * step, step);
        if rate < limit_mb_s && found.is_none() {
            found = Some(k * step);
        }
        at = end;
    }
    (at, found)
}

/// Writes `bytes` from `from` on; when that ends, and its rate in MB/s.
fn write(ssd: &mut Ssd, now: Nanos, from: u64, bytes: u64) -> (Nanos, f64) {
    let end = closed_loop(ssd, now, Write, bytes / CHUNK, 4, |k| (from + k * CHUNK, CHUNK));
    (end, bytes as f64 * 1000.0 / (end - now) as f64)
}

/// Dies × rows × program unit ÷ (rows × program + erase), in MB/s.
fn rates() -> (f64, f64) {
    let (dies, rows, stripe, erase) = (8.0, 8.0, 32.0 * 1024.0, 100.0);
    let rate = |levels: f64, program: f64| dies * rows * levels * stripe / (rows * program + erase);
    (rate(1.0, 300.0), rate(3.0, 3000.0))
}

#[test]
fn the_rate_falls_when_the_cache_is_full() {
    let (slc, tlc) = rates();
    for (static_gb, dynamic_gb) in [(0.3, 0.0), (0.0, 0.2), (0.1, 0.15)] {
        let mut ssd = Ssd::new(with_cache(static_gb, dynamic_gb), 1).unwrap();
        let (_, found) = knee(&mut ssd, 0, 700 << 20, (slc + tlc) / 2.0);
        let expected = (static_gb + dynamic_gb) * 1e9;
        // the buffer hides the fall until it is full
        let grace = f64::from(ssd.params().buffer.size_kib) * 1024.0;
        let error = found.unwrap() as f64 - expected;
        assert!(
            (-0.02 * expected - 4e6..0.02 * expected + grace + 4e6).contains(&error),
            "{static_gb} + {dynamic_gb}: {found:?} against {expected}"
        );
    }
}

#[test]
fn both_rates_follow_from_the_flash() {
    let (slc, tlc) = rates();
    let mut ssd = Ssd::new(with_cache(0.3, 0.0), 1).unwrap();
    let warm = 64 << 20;
    let (now, _) = write(&mut ssd, 0, 0, warm);
    let (now, first) = write(&mut ssd, now, warm, 192 << 20);
    assert!((first / slc - 1.0).abs() < 0.03, "{first} against {slc}");
    let (now, _) = write(&mut ssd, now, 256 << 20, 128 << 20);
    let (_, second) = write(&mut ssd, now, 384 << 20, 256 << 20);
    assert!((second / tlc - 1.0).abs() < 0.03, "{second} against {tlc}");
}

#[test]
fn idle_time_brings_the_cache_back() {
    let (slc, tlc) = rates();
    let middle = (slc + tlc) / 2.0;
    for (idle_s, recovered) in [(0.5, false), (20.0, true)] {
        let mut ssd = Ssd::new(with_cache(0.3, 0.0), 1).unwrap();
        let (now, _) = knee(&mut ssd, 0, 500 << 20, middle);
        let later = now + (idle_s * SECOND as f64) as Nanos;
        let (_, found) = knee(&mut ssd, later, 256 << 20, middle);
        assert_eq!(found.is_none(), recovered, "after {idle_s} s: {found:?}");
        let moved = ssd.status().moved_bytes as f64 / 0.3e9;
        assert!(if recovered { (0.9..1.05).contains(&moved) } else { moved == 0.0 });
    }
}

#[test]
fn idle_time_restores_cache_without_live_data() {
    let (slc, tlc) = rates();
    for (static_gb, dynamic_gb) in [(0.1, 0.0), (0.0, 0.1), (0.05, 0.05)] {
        for trimmed in [false, true] {
            let mut ssd = Ssd::new(with_cache(static_gb, dynamic_gb), 1).unwrap();
            let (mut now, _) = write(&mut ssd, 0, 0, 256 << 20);
            if trimmed {
                now = one(&mut ssd, now, Trim, 0, 1 << 30);
            } else {
                now = write(&mut ssd, now, 0, 256 << 20).0;
            }
            // used up, and not open again before the time of rest
            let (now, soon) = write(&mut ssd, now + SECOND / 2, 512 << 20, 64 << 20);
            let (_, later) = write(&mut ssd, now + 60 * SECOND, 640 << 20, 64 << 20);
            let what = format!("{static_gb} + {dynamic_gb}, trimmed {trimmed}: {soon}, {later}");
            assert!(soon < (slc + tlc) / 2.0 && later > (slc + tlc) / 2.0, "{what}");
            assert_eq!(ssd.status().moved_bytes, 0, "{what}");
        }
    }
}

#[test]
fn a_throttled_drive_folds_more_slowly() {
    fn folded(faults: SsdFaults) -> f64 {
        let mut ssd = Ssd::new(with_cache(0.2, 0.0), 1).unwrap();
        let now = closed_loop(&mut ssd, 0, Write, 1024, 4, |k| (k * CHUNK, CHUNK));
        ssd.set_faults(faults);
        ssd.advance(now + SECOND + SECOND / 4, &mut Vec::new());
        ssd.status().moved_bytes as f64
    }
    let full = folded(SsdFaults::default());
    let throttled = folded(SsdFaults { throttle_forced: Some(0.25), ..SsdFaults::default() });
    assert!(full > 0.0 && (0.2..0.3).contains(&(throttled / full)), "{throttled} of {full}");
}

#[test]
fn folding_leaves_the_data_readable_and_the_addresses_mapped() {
    let mut ssd = Ssd::new(with_cache(0.1, 0.1), 1).unwrap();
    let now = closed_loop(&mut ssd, 0, Write, 1024, 4, |k| (k * CHUNK, CHUNK));
    let live = ssd.status().live_bytes;
    ssd.advance(now + 60 * SECOND, &mut Vec::new());
    assert_eq!(ssd.status().live_bytes, live);
    assert!(ssd.status().moved_bytes > 0);
    let start = now + 61 * SECOND;
    let read = one(&mut ssd, start, Read, 0, 4096) - start;
    assert_eq!(read, 10_000 + 50_000 + 5120 + 3048, "now an ordinary lower page");
}

#[test]
fn a_full_drive_has_a_smaller_dynamic_cache() {
    let (slc, tlc) = rates();
    let mut params = with_cache(0.0, 0.3);
    params.spare_share = 0.15;
    params.slc.as_mut().unwrap().dynamic_free_share = 0.5;
    let mut at = Vec::new();
    for fill in [0.0, 0.9] {
        let mut ssd = Ssd::new(params.clone(), 1).unwrap();
        ssd.precondition(fill);
        at.push(knee(&mut ssd, 0, 400 << 20, (slc + tlc) / 2.0).1.unwrap());
    }
    assert!(at[1] < at[0] / 2, "{at:?}");
}

#[test]
fn whole_drive_is_writable_through_dynamic_cache() {
    let mut params = with_cache(0.0, 1.0);
    params.spare_share = 0.1;
    let mut ssd = Ssd::new(params, 1).unwrap();
    closed_loop(&mut ssd, 0, Write, (1 << 30) / CHUNK, 4, |k| (k * CHUNK, CHUNK));
    assert_eq!(ssd.status().live_bytes, 1 << 30);
    let amplification = ssd.status().write_amplification();
    assert!((1.2..2.2).contains(&amplification), "{amplification}: folded on the way");
}

#[test]
fn looking_often_does_not_change_what_idle_time_does() {
    let mut ssd = Ssd::new(with_cache(0.1, 0.1), 1).unwrap();
    let now = closed_loop(&mut ssd, 0, Write, 1024, 4, |k| (k * CHUNK, CHUNK));
    let (mut once, mut often) = (ssd.clone(), ssd);
    let end = now + 2 * SECOND;
    once.advance(end, &mut Vec::new());
    for k in 1..=2000 {
        often.advance(now + k * SECOND / 1000, &mut Vec::new());
    }
    assert!(once.status().moved_bytes > 0);
    assert_eq!(once.status(), often.status());
}
