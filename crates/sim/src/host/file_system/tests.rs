use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;
use crate::device::RequestKind::{Flush, Read, Write};
use crate::device::{Nanos, RequestKind, SimOutcome, SimRequest};
use crate::host::{HostParams, PageCache};
use crate::link::{LinkLayer, LinkParams};
use crate::testing::{TestDrive, request, run_all};

const MS: Nanos = 1_000_000;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

fn system(capacity: u64, taken: u64, size: u64) -> OneFileSystem<TestDrive> {
    let mut drive = TestDrive::disk();
    drive.capacity_bytes = capacity;
    OneFileSystem::new(drive, taken, size).expect("there is room")
}

/// One request from `now` on: when it is answered, and how.
fn ask(system: &mut impl SimDevice, now: Nanos, request: SimRequest) -> (Nanos, SimOutcome) {
    system.submit(now, request);
    let answer = run_all(system).into_iter().find(|answer| answer.id == request.id);
    let answer = answer.expect("an answer");
    (answer.at, answer.outcome)
}

fn write(system: &mut impl SimDevice, now: Nanos, offset: u64, len: u64) -> Nanos {
    ask(system, now, request(1, Write, offset, len)).0
}

fn flush(system: &mut impl SimDevice, now: Nanos) -> Nanos {
    ask(system, now, request(1, Flush, 0, 0)).0
}

fn ops(drive: &TestDrive) -> Vec<RequestKind> {
    drive.log.iter().map(|(_, request)| request.op).collect()
}

#[test]
fn data_go_around_metadata_and_journal() {
    let mut system = system(1 << 40, 500 * GIB, 8 * GIB);
    (0..512).fold(0, |now, n| write(&mut system, now, n * 16 * MIB, 16 * MIB));
    let (journal, blocks) = system.map().journal();
    let journal = journal * BLOCK_BYTES..(journal + blocks) * BLOCK_BYTES;
    let writes = system.inner().requests(Write);
    assert_eq!(writes.iter().map(|&(_, len)| len).sum::<u64>(), 8 * GIB);
    assert!(writes.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "in order");
    for &(at, len) in &writes {
        // 514 blocks for each of sixteen groups
        assert!(at % (2 * GIB) >= 16 * 514 * BLOCK_BYTES, "{at} in metadata");
        assert!(at % (2 * GIB) + len <= 2 * GIB, "{at} into metadata");
        assert!(at + len <= journal.start || at >= journal.end, "{at} in the journal");
    }
    assert!(writes.first().unwrap().0 < journal.start && writes.last().unwrap().0 > journal.end);
}

#[test]
fn a_file_that_does_not_fit_is_refused() {
    // a twentieth is kept, 32 MiB of each 2 GiB and the journal are taken
    let room = GIB * 1024 * 95 / 100 - 512 * 16 * 514 * BLOCK_BYTES - GIB;
    for (taken, size, fits) in
        [(0, room - MIB, true), (0, room + MIB, false), (room, MIB, false), (0, u64::MAX, false)]
    {
        let made = OneFileSystem::new(TestDrive::disk(), taken, size);
        assert_eq!(made.is_ok(), fits, "{size} after {taken}");
    }
}

#[test]
fn commit_orders_data_journal_flush_commit() {
    let mut system = system(64 * GIB, 0, GIB);
    let now = write(&mut system, 0, 64 << 10, 64 << 10);
    let now = flush(&mut system, now);
    let log = &system.inner().log;
    let (write_op, flush_op) = (Write, Flush);
    assert_eq!(ops(system.inner()), [write_op, write_op, flush_op, write_op, flush_op]);
    let journal = system.map().journal().0 * BLOCK_BYTES;
    // its own block, inode, bitmap, descriptor; then the commit block
    assert_eq!((log[1].1.offset, log[1].1.len), (journal, 4 * BLOCK_BYTES));
    assert_eq!((log[3].1.offset, log[3].1.len), (journal + log[1].1.len, BLOCK_BYTES));
    assert!(log.windows(2).all(|pair| pair[0].0 < pair[1].0), "each waits for the one before");

    let now = write(&mut system, now, 64 << 10, 64 << 10);
    flush(&mut system, now);
    assert_eq!(ops(system.inner())[5..], [write_op, flush_op], "an overwrite needs no commit");
}

#[test]
fn the_journal_is_a_ring() {
    let mut system = system(512 * MIB, 0, 100 * MIB);
    let (start, len) = system.map().journal();
    assert_eq!(len, 2048);
    let mut now = 0;
    for n in 0..800 {
        now = write(&mut system, now, n * 2 * BLOCK_BYTES, BLOCK_BYTES);
        now = flush(&mut system, now);
    }
    let mut next = 0;
    for (offset, bytes) in system.inner().requests(Write) {
        let (at, blocks) = (offset / BLOCK_BYTES, bytes / BLOCK_BYTES);
        if !(start..start + len).contains(&at) {
            continue;
        }
        assert_eq!(at - start, next, "each after the one before");
        assert!(next + blocks <= len, "{at} + {blocks}");
        next = (next + blocks) % len;
    }
}

#[test]
fn flushes_waiting_for_commit_share_the_next() {
    let mut system = system(64 * GIB, 0, GIB);
    let now = write(&mut system, 0, 0, BLOCK_BYTES);
    for id in 1..=4 {
        system.submit(now, request(id, Flush, 0, 0));
    }
    assert_eq!(run_all(&mut system).len(), 4);
    // two for the commit of the first, one for all others, which found nothing changed
    let flushes = ops(system.inner()).into_iter().filter(|op| *op == Flush).count();
    assert_eq!(flushes, 3);
}

#[test]
fn a_journal_that_cannot_be_written_fails_the_flush() {
    for (fails, outcome) in [(false, SimOutcome::Done), (true, SimOutcome::MediaError)] {
        let mut system = system(64 * GIB, 0, GIB);
        let journal = system.map().journal().0 * BLOCK_BYTES;
        system.inner.fails = fails.then_some((journal, SimOutcome::MediaError));
        let now = write(&mut system, 0, 0, BLOCK_BYTES);
        assert_eq!(ask(&mut system, now, request(2, Flush, 0, 0)).1, outcome);
    }
}

#[test]
fn holes_are_read_without_the_drive() {
    let mut system = system(64 * GIB, 0, GIB);
    let now = write(&mut system, 0, MIB, 2 * BLOCK_BYTES);
    assert_eq!(ask(&mut system, now, request(2, Read, 0, MIB)).0, now);
    let written = system.inner().requests(Write)[0];
    ask(&mut system, now, request(3, Read, MIB - 8192, 4 * 8192));
    assert_eq!(system.inner().requests(Read), [written]);
    let held = [MIB - 1, MIB, MIB + 2 * BLOCK_BYTES].map(|offset| system.holds_data(offset));
    assert_eq!(held, [false, true, false]);
}

#[test]
fn dd_runs_at_the_speed_of_system_calls() {
    // "Hard Drive Metrics That Matter": `dd bs=512`, two system calls a block; a quarter of its million blocks
    const BLOCKS: u64 = 250_000;
    let host = HostParams::laptop_2015();
    let other_call = (host.syscall_us * 1000.0) as Nanos;
    let mut cache = PageCache::new(&host, system(1 << 40, 0, GIB)).expect("valid parameters");
    let mut pass = |op: RequestKind, from: Nanos| {
        (0..BLOCKS)
            .fold(from, |now, n| ask(&mut cache, now + other_call, request(n, op, n * 512, 512)).0)
    };
    let written = pass(Write, 0);
    let read = pass(Read, written) - written;
    for (time, seen_s) in [(written, 4.948_839), (read, 3.273_717)] {
        let seconds = time as f64 * 4.0 / 1e9;
        assert!((seconds / seen_s - 1.0).abs() < 0.03, "{seconds} s for {seen_s} s");
    }
    assert_eq!(cache.inner().inner().bytes_read, 0, "new pages have nothing to read");
}

#[test]
fn tiny_writes_match_those_of_a_portable_disk() {
    // "Hard Drive Metrics That Matter": 9.2 ms behind a bulk-only bridge, its file of 512 MB written, synced and
    // evicted
    let slow = TestDrive::new(1, 86 * MS / 10, |_| 105.0);
    let link = LinkLayer::new(&LinkParams::usb3_bulk_only(), slow).unwrap();
    let system = OneFileSystem::new(link, 0, 489 * MIB).unwrap();
    let mut cache = PageCache::new(&HostParams::laptop_2015(), system).unwrap();
    let written = (0..489).fold(0, |now, n| write(&mut cache, now, n * MIB, MIB));
    let began = flush(&mut cache, written);
    cache.evict(0, 489 * MIB);
    let cold_from = cache.inner().inner().inner().log.len();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let end = (0..1000).fold(began, |now, _| {
        let at = random.random_range(0..512_000_000 - 18);
        write(&mut cache, now, at, 18)
    });
    let per_second = 1e12 / (end - began) as f64;
    assert!((98.0..119.0).contains(&per_second), "{per_second} writes/s against 107.8");
    let log = &cache.inner().inner().inner().log[cold_from..];
    assert!(log.iter().all(|(_, r)| r.op == Read && r.len == 4096));
}

#[test]
fn buffered_files_reach_the_drive_rate() {
    let mut cache =
        PageCache::new(&HostParams::default(), system(64 * GIB, 0, 1000 * MIB)).unwrap();
    let written = (0..1000).fold(0, |now, n| write(&mut cache, now, n * MIB, MIB));
    let synced = flush(&mut cache, written);
    cache.evict(0, 1000 * MIB);
    let read = |cache: &mut PageCache<_>, from: Nanos| {
        (0..1000).fold(from, |now, n| ask(cache, now, request(n, Read, n * MIB, MIB)).0) - from
    };
    let cold_ns = read(&mut cache, synced);
    for time in [synced, cold_ns] {
        let mb_s = (1000 * MIB) as f64 * 1000.0 / time as f64;
        assert!((96.0..101.0).contains(&mb_s), "{mb_s}");
    }
    assert!(read(&mut cache, synced + cold_ns) < cold_ns / 15);
    assert_eq!(cache.inner().inner().bytes_read, 1000 * MIB, "once");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 5))]
    #[test]
    fn reads_return_writes_at_the_same_places(
        steps in prop::collection::vec((0u8..4, 0u64..40, 1u64..30), 1..60),
    ) {
        let system = system(GIB, 0, 16 * MIB);
        let mut cache = PageCache::new(&HostParams::default(), system).unwrap();
        let mut blocks = std::collections::BTreeSet::new();
        let mut now = 0;
        for (what, place, size) in steps {
            let (at, len) = (place * 300_000, size * 50_000);
            match what {
                0 | 1 => {
                    now = write(&mut cache, now, at, len);
                    blocks.extend(at / BLOCK_BYTES..(at + len).div_ceil(BLOCK_BYTES));
                }
                2 => now = ask(&mut cache, now, request(1, Read, at, len)).0,
                _ => now = flush(&mut cache, now),
            }
        }
        now = flush(&mut cache, now);
        cache.evict(0, 16 * MIB);
        let before = cache.inner().inner().log.len();
        ask(&mut cache, now, request(1, Read, 0, 16 * MIB));
        let file = cache.inner();
        let log = file.inner().log[before..].iter();
        let read: std::collections::BTreeSet<u64> = log
            .flat_map(|(_, r)| r.offset / BLOCK_BYTES..(r.offset + r.len) / BLOCK_BYTES)
            .collect();
        let first = file.map().layout.file_at(0).0 / BLOCK_BYTES;
        let expected: std::collections::BTreeSet<u64> =
            blocks.iter().map(|block| first + block).collect();
        prop_assert_eq!(read, expected);
    }
}
