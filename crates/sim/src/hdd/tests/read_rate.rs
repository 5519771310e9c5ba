//! In whatever order a stretch is read, its bytes pass the head once, and no faster than the platter turns.

use super::host::Host;
use super::small_drive;
use crate::device::{RequestKind, SimDevice, SimRequest};
use crate::hdd::HardDisk;
use crate::hdd::params::{HddParams, SkewParams};
use proptest::prelude::*;

const KIB: u64 = 1024;

/// Drives that read ahead for less and for more than a request.
fn drive(segment_kib: u32, read_ahead_kib: u32, adaptive: bool) -> HddParams {
    let mut params = small_drive();
    params.read_cache.segment_kib = segment_kib;
    params.read_cache.read_ahead_kib = read_ahead_kib;
    params.read_cache.adaptive = adaptive;
    // Nothing is lost between tracks, so that each byte counts.
    params.skew = SkewParams { head_rev: 0.0, cylinder_rev: 0.0 };
    params.head_switch_ms = 0.0;
    params
}

/// Read-ahead that ends where it was promised to come still keeps the head until then.
#[test]
fn out_of_turn_request_keeps_promised_reading() {
    fn request(id: u64, mib: f64, kib: u64) -> SimRequest {
        SimRequest {
            id,
            op: RequestKind::Read,
            offset: ((64.0 + mib) * 1024.0) as u64 * KIB,
            len: kib * KIB,
            fua: false,
        }
    }
    let mut disk = HardDisk::new(&drive(512, 512, false), 1).unwrap();
    let mut done = Vec::new();
    disk.submit(0, request(98, -2.0, 1024));
    disk.submit(1000, request(99, -1.0, 1024));
    disk.advance(100_000_000, &mut done);
    let start = done.drain(..).map(|answer| answer.at).max().unwrap();
    // Time (ms), place and length (MiB and KiB): the fifth comes before the one that it follows.
    let asked = [
        (0.6, 0.0, 1024),
        (0.6, 1.0, 1024),
        (1.2, 2.0, 1024),
        (2.2, 3.0, 1024),
        (11.6, 4.25, 768),
        (11.6, 4.0, 256),
        (22.2, 5.0, 256),
        (22.2, 5.25, 768),
    ];
    let mut bytes = 0;
    for (id, (ms, mib, kib)) in (0u64..).zip(asked) {
        let at = start + (ms * 1e6) as u64 + id;
        disk.advance(at, &mut done);
        disk.submit(at, request(id, mib, kib));
        bytes += kib * KIB;
    }
    disk.advance(start + 1_000_000_000, &mut done);
    let last = done.iter().map(|answer| answer.at).max().unwrap();
    // 512 KiB were read ahead.
    let read_ns = (bytes - 512 * KIB) * 10;
    assert!(done.len() == asked.len() && last - start >= read_ns, "{} for {read_ns}", last - start);
    let of = |id| done.iter().find(|answer| answer.id == id).unwrap().at;
    assert!(of(5) > of(3), "{done:?}");
}

proptest! {
    #[test]
    fn no_order_of_requests_is_faster_than_the_medium(
        (segment_kib, read_ahead_kib) in prop::sample::select(vec![(512, 512), (1024, 512), (4096, 2048), (512, 1024)]),
        adaptive in any::<bool>(),
        depth in 1usize..8,
        window in 1usize..6,
        kib in prop::sample::select(vec![64u64, 128, 256, 768]),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 6..32),
    ) {
        let mut host = Host::new(&drive(segment_kib, read_ahead_kib, adaptive));
        // Each request is one of the next few that are left.
        let mut left: Vec<u64> = (0..picks.len() as u64).collect();
        let order: Vec<u64> =
            picks.iter().map(|pick| left.remove(pick.index(window.min(left.len())))).collect();
        let start = 64 << 20;
        host.run(depth, order.iter().map(|nth| (RequestKind::Read, start + nth * kib * KIB, kib * KIB)));
        let bytes = (order.len() as u64 * kib * KIB) as f64;
        // 100 MB/s under the head on the outermost tracks.
        let fastest_ns = bytes * 10.0;
        prop_assert!(host.now as f64 >= fastest_ns, "{} for {fastest_ns}", host.now);
    }
}
