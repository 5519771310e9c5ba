//! Every time inside a drive that is throttled is longer, that between two commands too; and a write of part of a
//! mapping unit warms as one of the whole.

use crate::device::{RequestKind, SimDevice};
use crate::ssd::testing::{closed_loop, one, request, small, small_with, thermal};
use crate::ssd::{Ssd, SsdFaults};

#[test]
fn third_of_the_speed_starts_third_of_commands() {
    // nothing else takes as long: no port, and addresses that were never written
    let params = small_with(|p| p.port = None);
    let end = |throttle_forced: Option<f64>| {
        let mut ssd = Ssd::new(params.clone(), 1).unwrap();
        ssd.set_faults(SsdFaults { throttle_forced, ..SsdFaults::default() });
        closed_loop(&mut ssd, 0, RequestKind::Read, 30_000, 32, |k| (k * 4096, 512))
    };
    // one each microsecond, and the last takes its ten
    assert_eq!(end(None), 29_999 * 1_000 + 10_000);
    let third = end(Some(1.0 / 3.0)) as f64 / 3e3;
    assert!((29_999.0..30_020.0).contains(&third), "{third}");
}

#[test]
fn partial_unit_write_warms_like_a_whole_one() {
    let warmth = |len: u64| {
        let mut params = small();
        params.thermal = Some(thermal());
        params.buffer.size_kib = 65_536;
        let mut ssd = Ssd::new(params, 1).unwrap();
        for k in 0..4000 {
            one(&mut ssd, k * 1_000_000, RequestKind::Write, k * 8192, len);
        }
        ssd.submit(5_000_000_000, request(RequestKind::Flush, 0, 0));
        ssd.status().temperature_c.unwrap()
    };
    let (part, whole, two) = (warmth(512), warmth(4096), warmth(8192));
    assert!((part - whole).abs() < 1e-6, "{part} and {whole}");
    assert!(two > whole, "{two} and {whole}");
}
