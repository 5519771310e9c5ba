//! Data that cross the interface, and data that pass the head, over any stretch of time.

use super::host::{HostCommand, random};
use super::{small_drive, small_with};
use crate::device::RequestKind::{Read, Write};
use crate::hdd::{HardDisk, HddParams};
use crate::testing::{Served, request, serve};
use proptest::prelude::*;

const KIB: u64 = 1024;

/// Sends the requests to a new drive with `depth` under way, each as soon as there is room for it.
pub(super) fn serve_new(params: &HddParams, depth: usize, requests: &[HostCommand]) -> Vec<Served> {
    let requests = (0..).zip(requests);
    let requests = requests.map(|(id, &(op, offset, len))| request(id, op, offset, len));
    serve(&mut HardDisk::new(params, 1).unwrap(), 0, depth, requests)
}

/// The highest rate, as a share of `mb_s`, at which requests sent since a moment were answered up to another one.
fn highest_share(served: &[Served], mb_s: f64) -> f64 {
    let mut highest = 0.0_f64;
    for from in served.iter().map(|first| first.sent) {
        let mut bytes = 0;
        let mut within: Vec<&Served> = served.iter().filter(|one| one.sent >= from).collect();
        within.sort_by_key(|one| one.answered);
        for one in within {
            bytes += one.len;
            // a nanosecond for each request is rounding
            let least = bytes as f64 * 1e3 / mb_s - served.len() as f64;
            highest = highest.max(least / (one.answered - from) as f64);
        }
    }
    highest
}

/// A drive on a slow interface, with and without caches.
fn drives() -> impl Strategy<Value = HddParams> {
    (20.0..250.0f64, 0u32..17, any::<bool>(), any::<bool>(), 0u32..1024, 1u32..33).prop_map(
        |(mb_s, segments, adaptive, write_caching, read_ahead_kib, depth)| {
            let mut params = small_drive();
            params.interface_mb_s = mb_s;
            params.read_cache.segments = segments;
            params.read_cache.adaptive = adaptive;
            params.read_cache.read_ahead_kib = read_ahead_kib.min(512);
            params.write_cache.enabled = write_caching;
            params.queue.depth = depth;
            params
        },
    )
}

#[derive(Debug, Clone, Copy)]
enum Mix {
    Reads,
    Writes,
    Both,
}

/// Requests to a few places again and again, to others once, and in order.
fn requests() -> impl Strategy<Value = Vec<(u8, u64, u64)>> {
    prop::collection::vec((0u8..4, 0u64..8, 1u64..129), 20..120)
}

fn as_asked(mix: Mix, list: &[(u8, u64, u64)]) -> Vec<HostCommand> {
    let mut in_order = 1 << 30;
    (0u64..)
        .zip(list)
        .map(|(n, &(kind, place, sectors))| {
            let len = sectors * 2 * KIB;
            let offset = match kind {
                0 | 1 => place << 20,
                2 => (2 << 30) + n * (1 << 20),
                _ => {
                    in_order += len;
                    in_order - len
                }
            };
            let op = match mix {
                Mix::Reads => Read,
                Mix::Writes => Write,
                Mix::Both if sectors % 3 == 0 => Write,
                Mix::Both => Read,
            };
            (op, offset, len)
        })
        .collect()
}

proptest! {
    #[test]
    fn nothing_crosses_faster_than_the_interface_carries_it(
        params in drives(),
        list in requests(),
        mix in prop_oneof![Just(Mix::Reads), Just(Mix::Writes), Just(Mix::Both)],
        depth in 1usize..40,
    ) {
        let served = serve_new(&params, depth, &as_asked(mix, &list));
        prop_assert_eq!(served.len(), list.len());
        let highest = highest_share(&served, params.interface_mb_s);
        prop_assert!(highest <= 1.0, "{highest} of {} MB/s", params.interface_mb_s);
    }

    #[test]
    fn without_a_cache_nothing_is_faster_than_the_head(
        params in drives(),
        list in requests(),
        depth in 1usize..40,
    ) {
        let mut params = params;
        params.read_cache.segments = 0;
        let served = serve_new(&params, depth, &as_asked(Mix::Reads, &list));
        // the outermost zone of the small drive
        let highest = highest_share(&served, 100.0);
        prop_assert!(highest <= 1.001, "{highest} of 100 MB/s");
    }
}

#[test]
fn hits_and_misses_stay_within_interface_rate() {
    let len = 512 * KIB;
    // every second request is one that the cache has
    let misses = random(Read, 1 << 30, 3 << 30, len, 200);
    let list: Vec<_> = misses.into_iter().flat_map(|miss| [(Read, 0, len), miss]).collect();
    let served = serve_new(&small_with(|p| p.interface_mb_s = 40.0), 32, &list);
    let share = highest_share(&served, 40.0);
    assert!((0.8..=1.0).contains(&share), "{share} of the interface's rate");
}
