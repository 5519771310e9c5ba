//! The limits and times that docs/models.md gives the page cache, each against what reaches the drive.

use super::{Cache, MS, S, drive, over};
use crate::device::RequestKind::{Flush, Read, Write};
use crate::device::{Nanos, RequestKind, SimDevice, SimOutcome, SimRequest};
use crate::host::*;
use crate::testing::{TestDrive, request, run_all};

const PAGE: u64 = PAGE_BYTES;
const MIB: u64 = 1 << 20;
const REQUEST_MAX: u64 = 1280 << 10;

/// Linux's settings with less memory: a tenth is 25.6 MiB.
fn small() -> HostParams {
    HostParams { cache_bytes: 256 * MIB, ..HostParams::default() }
}

/// One system call from `now` on; when it returns.
fn call(cache: &mut Cache, now: Nanos, op: RequestKind, offset: u64, len: u64) -> Nanos {
    cache.submit(now, request(offset, op, offset, len));
    let done = *run_all(cache).last().expect("it returns");
    assert_eq!(done.outcome, SimOutcome::Done);
    done.at
}

/// Writes `range` in order, a MiB at a time.
fn write(cache: &mut Cache, now: Nanos, range: std::ops::Range<u64>) -> Nanos {
    range.step_by(MIB as usize).fold(now, |now, offset| call(cache, now, Write, offset, MIB))
}

fn scattered(page: u64) -> u64 {
    page * 7919 % 100_003 * 8 * PAGE
}

/// Share of the small memory that is dirty or being written.
fn dirty_share(cache: &Cache) -> f64 {
    (cache.pages_held().1 * PAGE) as f64 / (256 * MIB) as f64
}

#[test]
fn write_back_begins_and_ends_at_a_tenth() {
    let mut cache = over(TestDrive::disk(), &small());
    let now = write(&mut cache, 0, 0..25 * MIB);
    cache.advance(now + S, &mut Vec::new());
    assert_eq!(drive(&cache).log.len(), 0, "below a tenth nothing is written");
    let now = write(&mut cache, now + S, 25 * MIB..32 * MIB);
    assert!(!drive(&cache).log.is_empty(), "above it, at once");
    cache.advance(now + S, &mut Vec::new());
    let left = cache.pages_held().1 * PAGE;
    let tenth = 256 * MIB / 10;
    assert!((tenth - REQUEST_MAX..=tenth).contains(&left), "{left} of {tenth} are left");
    assert!(drive(&cache).requests(Write).iter().all(|&(_, len)| len <= REQUEST_MAX));
}

#[test]
fn old_pages_are_written_every_five_seconds() {
    let mut cache = over(TestDrive::disk(), &small());
    for (at, offset) in [(0, 0), (3 * S, MIB), (6 * S, 2 * MIB)] {
        call(&mut cache, at, Write, offset, PAGE);
    }
    // the first look is five seconds after the first page: one at 30 s comes just too soon for that
    for (at, written) in [(34_900 * MS, 0), (35_100 * MS, 2), (39_900 * MS, 2), (40_100 * MS, 3)] {
        cache.advance(at, &mut Vec::new());
        assert_eq!(drive(&cache).requests(Write).len(), written, "after {} ms", at / MS);
    }
}

#[test]
fn writer_settles_midway_between_free_run_and_limit() {
    // a quarter of the rate that is assumed at first: 100 MiB/s
    let mut cache = over(TestDrive::new(1, 5 * MS, |_| 25.0), &small());
    let (mut now, mut shares) = (0, Vec::new());
    for offset in (0..2048 * MIB).step_by(MIB as usize) {
        now = call(&mut cache, now, Write, offset, MIB);
        if offset >= 1024 * MIB {
            shares.push(dirty_share(&cache));
        }
    }
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    assert!((0.168..0.182).contains(&mean), "{mean} of the memory is dirty");
}

#[test]
fn many_writers_together_stay_below_the_limit() {
    fn send(cache: &mut Cache, now: Nanos, writer: u64, next: &mut [u64; 8]) {
        let offset = (writer << 32) + next[writer as usize] * MIB;
        next[writer as usize] += 1;
        cache.submit(now, request(writer, Write, offset, MIB));
    }
    let mut cache = over(TestDrive::new(1, 5 * MS, |_| 25.0), &small());
    let (mut done, mut most) = (Vec::new(), 0.0_f64);
    let mut next = [0_u64; 8];
    (0..8).for_each(|writer| send(&mut cache, 0, writer, &mut next));
    while next.iter().sum::<u64>() < 300 {
        let at = cache.next_completion().expect("writers are under way");
        cache.advance(at, &mut done);
        most = most.max(dirty_share(&cache));
        for answer in std::mem::take(&mut done) {
            send(&mut cache, answer.at, answer.id, &mut next);
        }
    }
    // each looks again after 32 pages
    let beyond = (8 * 32 * PAGE) as f64 / (256 * MIB) as f64;
    assert!(most > 0.17 && most <= 0.2 + beyond, "{most}");
}

#[test]
fn writes_at_the_drive_stay_within_limit() {
    for sync in [false, true] {
        let mut cache = over(TestDrive::disk(), &small());
        let pages = if sync { 500 } else { 7000 };
        let now =
            (0..pages).fold(0, |now, page| call(&mut cache, now, Write, scattered(page), PAGE));
        if sync {
            call(&mut cache, now, Flush, 0, 0);
        }
        assert_eq!(drive(&cache).depth_seen, 64, "sync: {sync}");
    }
}

#[test]
fn read_ahead_continues_beside_reader() {
    // a reader that takes 30 µs for a page, three quarters of the drive's rate
    let params = HostParams { page_us: 30.0, ..HostParams::default() };
    let mut cache = over(TestDrive::disk(), &params);
    let total = 64 * MIB;
    let end = (0..total)
        .step_by(64 << 10)
        .fold(0, |now, offset| call(&mut cache, now, Read, offset, 64 << 10));
    let drive_ns = total * 10;
    assert!((1.0..1.05).contains(&(end as f64 / drive_ns as f64)), "{end} of {drive_ns}");
}

#[test]
fn second_page_in_order_begins_a_stream() {
    let mut cache = over(TestDrive::disk(), &HostParams::default());
    let mut read = |page: u64| {
        let now = page * S;
        call(&mut cache, now, Read, page * PAGE, PAGE);
        drive(&cache).requests(Read).last().map(|&(_, len)| len / PAGE)
    };
    assert_eq!([read(500), read(501)], [Some(1), Some(4)]);
    assert_eq!([read(9000), read(9500)], [Some(1), Some(1)]);
}

#[test]
fn recently_used_pages_outlast_others() {
    // 256 pages fit
    fn page(n: u64) -> u64 {
        (1000 + n) * MIB
    }
    let params = HostParams { cache_bytes: MIB, ..HostParams::default() };
    let mut cache = over(TestDrive::disk(), &params);
    let mut now = 0;
    for n in 0..256 {
        now = call(&mut cache, now, Read, page(n), PAGE);
    }
    assert!(cache.is_cached(page(0)) && cache.is_cached(page(255)));
    now = call(&mut cache, now, Read, page(0), PAGE);
    for n in 256..266 {
        now = call(&mut cache, now, Read, page(n), PAGE);
    }
    let gone: Vec<u64> = (0..266).filter(|&n| !cache.is_cached(page(n))).collect();
    assert_eq!(gone, (1..11).collect::<Vec<_>>());
}

#[test]
fn direct_write_is_forced_when_requested() {
    for fua in [false, true] {
        let mut cache = over(TestDrive::disk(), &HostParams::default());
        cache.submit_direct(0, SimRequest { fua, ..request(1, Write, 0, PAGE) });
        run_all(&mut cache);
        assert_eq!(drive(&cache).log[0].1.fua, fua);
    }
}

#[test]
fn read_during_direct_write_is_not_kept() {
    let mut cache = over(TestDrive::new(2, 5 * MS, |_| 100.0), &HostParams::default());
    cache.submit_direct(0, request(1, Write, MIB, 64 * PAGE));
    cache.submit(MS, request(2, Read, MIB, PAGE));
    assert_eq!(run_all(&mut cache).len(), 2);
    let again = cache.is_cached(MIB);
    assert!(!again, "it may hold older data");
}

#[test]
fn idle_time_leaves_writer_rate_unchanged() {
    let (at_once, later) = (second_burst(S / 100), second_burst(1000 * S));
    // data beyond the memory go at 25 MB/s
    let least = (192 - 52) * MIB * 40;
    assert!(at_once > least, "{at_once} of {least}");
    assert!((0.99..1.01).contains(&(later as f64 / at_once as f64)), "{later} for {at_once}");
}

fn second_burst(idle: Nanos) -> u64 {
    let mut cache = over(TestDrive::new(1, 5 * MS, |_| 25.0), &small());
    let written = write(&mut cache, 0, 0..192 * MIB);
    let began = call(&mut cache, written, Flush, 0, 0) + idle;
    write(&mut cache, began, 192 * MIB..384 * MIB) - began
}

#[test]
fn warm_call_takes_system_call_pages_and_copy() {
    let params = HostParams {
        syscall_us: 1.0,
        read_path_us: 2.0,
        write_path_us: 4.0,
        page_us: 0.5,
        copy_gb_s: 4.0,
        ..HostParams::default()
    };
    let mut cache = over(TestDrive::disk(), &params);
    let mut now = 0;
    let mut call = |op: RequestKind, offset: u64, len: u64| -> Nanos {
        cache.submit(now, request(1, op, offset, len));
        let began = now;
        now = run_all(&mut cache).last().expect("it returns").at;
        now - began
    };
    call(Read, 0, 1 << 20);
    // 1024 ns for the 4096 bytes of a page
    assert_eq!(call(Read, 0, 4096), 3_000 + 500 + 1_024);
    assert_eq!(call(Read, 0, 1 << 20), 3_000 + 256 * (500 + 1_024));
    assert_eq!(call(Write, 8192, 4096), 5_000 + 500 + 1_024);
    // two pages, of which 1000 and 1000 bytes
    assert_eq!(call(Read, 4096 - 1000, 2000), 3_000 + 2 * (500 + 250));
}

/// As `POSIX_FADV_DONTNEED` has it.
#[test]
fn partly_covered_page_stays() {
    for (offset, len, dropped) in [
        (PAGE, 2 * PAGE, &[1, 2][..]),
        (PAGE + 1, 2 * PAGE, &[2][..]),
        (PAGE, 2 * PAGE + 100, &[1, 2][..]),
        (PAGE, 2 * PAGE - 1, &[1][..]),
        (PAGE + 1, PAGE - 1, &[][..]),
    ] {
        let mut cache = over(TestDrive::disk(), &HostParams::default());
        cache.submit(0, request(1, Read, 0, 5 * PAGE));
        run_all(&mut cache);
        cache.evict(offset, len);
        let gone: Vec<u64> = (0..5).filter(|page| !cache.is_cached(page * PAGE)).collect();
        assert_eq!(gone, dropped, "{len} bytes at {offset}");
    }
}
