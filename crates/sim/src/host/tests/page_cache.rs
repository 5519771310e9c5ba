//! The page cache over a drive whose truth is known.

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Cache, MS, S, drive, over};
use crate::device::RequestKind::{Flush, Read, Trim, Write};
use crate::device::{Nanos, RequestKind, SimCompletion, SimDevice, SimOutcome, SimRequest};
use crate::host::*;
use crate::testing::{TestDrive, request, run_all};

/// Waits for all that is outstanding: the last completion.
fn wait(cache: &mut Cache) -> SimCompletion {
    *run_all(cache).last().expect("something was outstanding")
}

/// One system call after the other, from `now`; when the last has returned.
fn one_by_one(cache: &mut Cache, now: Nanos, list: impl IntoIterator<Item = SimRequest>) -> Nanos {
    list.into_iter().fold(now, |now, request| {
        cache.submit(now, request);
        let done = wait(cache);
        assert_eq!(done.outcome, SimOutcome::Done);
        done.at
    })
}

fn sequential(op: RequestKind, total: u64, len: u64) -> impl Iterator<Item = SimRequest> {
    (0..total / len).map(move |i| request(i, op, i * len, len))
}

/// The script of "Hard Drive Metrics That Matter": 18 bytes at random places of a 512 MB file.
fn tiny_writes(count: u64) -> impl Iterator<Item = SimRequest> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    (0..count).map(move |i| request(i, Write, random.random_range(0..512_000_000 - 18), 18))
}

fn mb_s(bytes: u64, ns: Nanos) -> f64 {
    bytes as f64 * 1000.0 / ns as f64
}

#[test]
fn sequential_reads_reach_the_drive_rate_through_read_ahead() {
    for len in [512, 4096, 65_536, 1 << 20, 10 << 20] {
        let mut cache = over(TestDrive::disk(), &HostParams::default());
        let total = 100 << 20;
        let end = one_by_one(&mut cache, 0, sequential(Read, total, len));
        let rate = mb_s(total, end);
        assert!((98.0..102.0).contains(&rate), "{len}: {rate} MB/s");
        let (sent, largest) = (drive(&cache).log.len() as u64, drive(&cache).requests(Read));
        assert!(sent < total / (100 << 10), "{len}: {sent} requests");
        assert!(largest.iter().all(|&(_, len)| len <= 128 << 10), "beyond read_ahead_kb");
    }
}

#[test]
fn random_reads_do_not_read_ahead() {
    let mut cache = over(TestDrive::disk(), &HostParams::default());
    let list = (0..500u64).map(|i| request(i, Read, (i * 7919 % 10_007 + 1) << 20, 4096));
    one_by_one(&mut cache, 0, list);
    assert_eq!(drive(&cache).bytes_read, 500 * 4096);
    assert!(drive(&cache).requests(Read).iter().all(|&(_, len)| len == 4096));
}

#[test]
fn warm_reads_cost_no_device_time() {
    let mut cache = over(TestDrive::disk(), &HostParams::default());
    let total = 32 << 20;
    let cold_end = one_by_one(&mut cache, 0, sequential(Read, total, 1 << 20));
    let read = drive(&cache).bytes_read;
    let warm_end = one_by_one(&mut cache, cold_end, sequential(Read, total, 1 << 20));
    assert!(drive(&cache).bytes_read - read <= 128 << 10, "at most one read-ahead beyond the end");
    let rate = mb_s(total, warm_end - cold_end);
    assert!(
        (2000.0..8000.0).contains(&rate),
        "memory speed, as nequalsonelifestyle.com saw: {rate} MB/s"
    );
}

#[test]
fn evicted_pages_are_read_again_and_dirty_ones_stay() {
    let mut cache = over(TestDrive::disk(), &HostParams::default());
    one_by_one(&mut cache, 0, [request(0, Read, 0, 8192)]);
    let now = one_by_one(&mut cache, S, [request(1, Write, 0, 4096)]);
    cache.evict(0, 1 << 20);
    assert_eq!((cache.is_cached(0), cache.is_cached(4096)), (true, false));
    let before = drive(&cache).bytes_read;
    one_by_one(&mut cache, now, [request(2, Read, 4096, 4096)]);
    assert!(drive(&cache).bytes_read > before);
}

#[test]
fn tiny_writes_read_pages_and_flush_late() {
    let mut cache = over(TestDrive::disk(), &HostParams::default());
    let end = one_by_one(&mut cache, 0, tiny_writes(300));
    let reads = drive(&cache).requests(Read);
    assert!((299..=304).contains(&reads.len()), "{}", reads.len());
    assert!(reads.iter().all(|&(_, len)| len == 4096));
    assert!(end < 5 * S && drive(&cache).bytes_written == 0);
    cache.advance(29 * S, &mut Vec::new());
    assert_eq!(drive(&cache).bytes_written, 0, "nothing is due yet");
    cache.advance(60 * S, &mut Vec::new());
    assert_eq!(cache.pages_held().1, 0);
    let writes = drive(&cache).requests(Write);
    let bytes: u64 = writes.iter().map(|&(_, len)| len).sum();
    assert_eq!(bytes, reads.len() as u64 * 4096);
    let sorted = writes.windows(2).filter(|pair| pair[0].0 < pair[1].0).count();
    assert!(sorted * 10 >= writes.len() * 9, "each batch is in order of place");
}

#[test]
fn seed_001_tiny_writes_run_at_the_access_time() {
    let nine_ms = TestDrive::new(1, 9_200_000, |_| 100.0);
    let mut cache = over(nine_ms, &HostParams::laptop_2015());
    let end = one_by_one(&mut cache, 0, tiny_writes(1000));
    let per_second = 1000.0 * 1e9 / end as f64;
    assert!((per_second / 107.8 - 1.0).abs() < 0.02, "{per_second} writes/s");
}

#[test]
fn sync_makes_each_write_pay() {
    let mut cache = over(TestDrive::disk(), &HostParams::default());
    one_by_one(&mut cache, 0, sequential(Read, 1 << 20, 1 << 20));
    let start = S;
    let durable = |i: u64| SimRequest { fua: true, ..request(i, Write, i * 8192 + 100, 16) };
    let end = one_by_one(&mut cache, start, (0..100).map(durable));
    let each = (end - start) as f64 / 100.0;
    let expected = (5 * MS + MS) as f64 + 40_960.0;
    assert!((each / expected - 1.0).abs() < 0.01, "{each} ns each");
    assert_eq!(cache.pages_held().1, 0);
}

#[test]
fn sync_flushes_only_after_data_reach_device() {
    let mut cache = over(TestDrive::new(4, 5 * MS, |_| 100.0), &HostParams::default());
    let now = one_by_one(&mut cache, 0, sequential(Write, 10 << 20, 1 << 20));
    one_by_one(&mut cache, now, [request(50, Write, 1 << 30, 4096)]);
    cache.submit_sync(2 * S, 99, 0, 10 << 20);
    let done = wait(&mut cache);
    let log = &drive(&cache).log;
    let (flush_at, _) = log.iter().find(|(_, r)| r.op == Flush).expect("a flush");
    let writes = drive(&cache).requests(Write);
    assert_eq!(writes.iter().map(|&(_, len)| len).sum::<u64>(), 10 << 20, "only the range");
    assert!(writes.iter().all(|&(_, len)| len <= 1280 << 10) && writes.len() == 8);
    let data_ns = (10 << 20) * 10 / 4;
    assert!(*flush_at >= 2 * S + data_ns, "the flush came before the data was there");
    assert_eq!((done.id, done.at >= flush_at + MS), (99, true));
}

#[test]
fn writers_stay_at_device_rate_below_limit() {
    let params = HostParams { cache_bytes: 256 << 20, ..HostParams::default() };
    let mut cache = over(TestDrive::disk(), &params);
    let limit_pages = (256 << 20) / 4096 / 5;
    let mut now = 0;
    let mut dirty_max = 0;
    let mut at_half = 0;
    let total = 1 << 30;
    for (i, write) in sequential(Write, total, 1 << 20).enumerate() {
        cache.submit(now, write);
        now = wait(&mut cache).at;
        dirty_max = dirty_max.max(cache.pages_held().1);
        if i as u64 == (total >> 21) {
            at_half = now;
        }
    }
    assert!(dirty_max <= limit_pages + 32, "{dirty_max} of {limit_pages}");
    assert!(dirty_max > limit_pages / 2);
    let rate = mb_s(total / 2, now - at_half);
    assert!((95.0..106.0).contains(&rate), "{rate} MB/s");
    let writes = drive(&cache).requests(Write);
    let mean = writes.iter().map(|&(_, len)| len).sum::<u64>() / writes.len() as u64;
    assert!(mean > 256 << 10, "coalesced writes of {mean} bytes");
}

#[test]
fn small_amounts_are_not_held_back() {
    let mut cache = over(TestDrive::disk(), &HostParams::default());
    let total = 200 << 20;
    let end = one_by_one(&mut cache, 0, sequential(Write, total, 1 << 20));
    assert!(mb_s(total, end) > 2000.0);
    assert_eq!(drive(&cache).log.len(), 0);
}

#[test]
fn direct_requests_pass_by_and_keep_the_cache_true() {
    let mut cache = over(TestDrive::disk(), &HostParams::default());
    let now = one_by_one(&mut cache, 0, [request(0, Write, 4096, 4096)]);
    cache.submit_direct(now, request(1, Read, 0, 16_384));
    let now = wait(&mut cache).at;
    let order: Vec<RequestKind> = drive(&cache).log.iter().map(|(_, r)| r.op).collect();
    assert_eq!(order, [Write, Read], "dirty pages are written first");
    assert_eq!((cache.is_cached(4096), cache.is_cached(0)), (true, false));
    cache.submit_direct(now, request(2, Write, 0, 16_384));
    let now = wait(&mut cache).at;
    assert!(!cache.is_cached(4096));
    cache.submit_direct(now, request(3, Read, 100, 512));
    assert_eq!(wait(&mut cache).outcome, SimOutcome::Invalid);
}

#[test]
fn a_trim_forgets_whole_pages_only() {
    let mut cache = over(TestDrive::disk(), &HostParams::default());
    let now = one_by_one(&mut cache, 0, [request(0, Write, 0, 12_288)]);
    one_by_one(&mut cache, now, [request(1, Trim, 512, 8192)]);
    one_by_one(&mut cache, S, [request(2, Flush, 0, 0)]);
    assert_eq!(drive(&cache).requests(Write), [(0, 4096), (8192, 4096)]);
}

#[test]
fn only_the_failing_page_of_a_read_ahead_fails() {
    let mut failing = TestDrive::disk();
    failing.fails = Some((40_960, SimOutcome::MediaError));
    let mut cache = over(failing, &HostParams::default());
    let mut now = 0;
    for page in 0..16u64 {
        cache.submit(now, request(page, Read, page * 4096, 4096));
        let done = wait(&mut cache);
        let expected = if page == 10 { SimOutcome::MediaError } else { SimOutcome::Done };
        assert_eq!(done.outcome, expected, "page {page}");
        now = done.at;
    }
}

#[test]
fn failed_write_back_fails_next_sync_only() {
    let mut failing = TestDrive::disk();
    failing.fails = Some((0, SimOutcome::MediaError));
    let mut cache = over(failing, &HostParams::default());
    one_by_one(&mut cache, 0, [request(0, Write, 0, 4096)]);
    let mut outcomes = Vec::new();
    for id in 1..3 {
        cache.submit(id * S, request(id, Flush, 0, 0));
        outcomes.push(wait(&mut cache).outcome);
    }
    assert_eq!(outcomes, [SimOutcome::MediaError, SimOutcome::Done]);
}

#[test]
fn several_readers_share_one_read() {
    let mut cache = over(TestDrive::disk(), &HostParams::default());
    for id in 0..8 {
        cache.submit(0, request(id, Read, 1 << 30, 4096));
    }
    assert_eq!(run_all(&mut cache).len(), 8);
    assert_eq!(drive(&cache).log.len(), 1);
}

#[test]
fn page_changed_during_write_is_written_again() {
    let mut cache = over(TestDrive::new(2, MS, |_| 100.0), &HostParams::default());
    let mut done = Vec::new();
    let steps = [Write, Flush, Write, Flush];
    for (id, op) in (0..).zip(steps) {
        let now = id * 100_000;
        cache.advance(now, &mut done);
        let len = if op == Write { 4096 } else { 0 };
        cache.submit(now, request(id, op, 0, len));
    }
    done.extend(run_all(&mut cache));
    assert_eq!(drive(&cache).requests(Write), [(0, 4096), (0, 4096)]);
    assert_eq!(cache.pages_held().1, 0);
    assert_eq!(done.len(), 4);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]
    #[test]
    fn sync_brings_every_written_byte_to_device(
        list in prop::collection::vec((0u8..5, 0u64..2_000_000, 1u64..200_000, 0u64..3000), 1..60),
        small in any::<bool>(),
    ) {
        let cache_bytes = if small { 1 << 20 } else { 64 << 20 };
        let params = HostParams { cache_bytes, ..HostParams::default() };
        let mut cache = over(TestDrive::new(2, MS, |_| 100.0), &params);
        let mut now = 0;
        let mut done = Vec::new();
        let mut written = std::collections::BTreeSet::new();
        for (id, &(what, offset, len, gap_us)) in list.iter().enumerate() {
            now += gap_us * 1000;
            cache.advance(now, &mut done);
            let id = id as u64;
            match what {
                0 | 1 => {
                    cache.submit(now, request(id, Write, offset, len));
                    written.extend(offset / 4096..(offset + len).div_ceil(4096));
                }
                2 => cache.submit(now, request(id, Read, offset, len)),
                3 => cache.submit_direct(now, request(id, Read, offset / 4096 * 4096, 8192)),
                _ => cache.submit(now, request(id, Flush, 0, 0)),
            }
        }
        done.extend(run_all(&mut cache));
        now = done.iter().map(|c| c.at).max().unwrap_or(now).max(now);
        cache.submit(now, request(1000, Flush, 0, 0));
        done.extend(run_all(&mut cache));
        prop_assert_eq!(cache.pages_held().1, 0);
        prop_assert_eq!(done.len(), list.len() + 1);
        prop_assert!(done.iter().all(|c| c.outcome == SimOutcome::Done));
        let at_device: std::collections::BTreeSet<u64> = drive(&cache)
            .requests(Write)
            .iter()
            .flat_map(|&(offset, len)| offset / 4096..(offset + len).div_ceil(4096))
            .collect();
        prop_assert_eq!(at_device, written);
    }
}
