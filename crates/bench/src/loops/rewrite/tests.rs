//! What is rewritten, and what is left alone.

use super::*;
use crate::io::device::IoDevice;
use crate::io::queue::{IoOp, IoRequest, QueueSpec};
use crate::testing::{ScratchFile, VirtualQueue};
use drivescope_model::plan::Engine;

fn place(offset: u64, len: u64) -> ScanRegion {
    ScanRegion { offset, len, lead_in_from: offset, lead_in_len: 4096 }
}

fn task(places: Vec<ScanRegion>, fresh: Option<Payload>, control: &Control) -> Rewrite<'_> {
    Rewrite { places, chunk: 1 << 20, depth: 2, in_parts: false, fresh, control }
}

/// The outcome on a drive of one request at a time, and its requests.
fn rewritten(
    task: Rewrite<'_>,
    service: impl FnMut(&IoRequest, u64) -> Result<u64, i32>,
) -> (Rewritten, Vec<IoRequest>) {
    let mut drive = VirtualQueue::new(3, 1, service);
    let outcome = task.run(&mut drive).unwrap();
    (outcome, drive.served)
}

fn count(served: &[IoRequest], op: IoOp) -> u64 {
    served.iter().filter(|request| request.op == op).count() as u64
}

/// Places of 4 MiB, 8 MiB apart.
fn three_places() -> Vec<ScanRegion> {
    [0, 8 << 20, 16 << 20].map(|at| place(at, 4 << 20)).to_vec()
}

/// A drive that reads a request in 1 ms, writes one in 2 ms and flushes in 5 ms.
fn service(request: &IoRequest) -> u64 {
    match request.op {
        IoOp::Read => 1_000_000,
        IoOp::Write | IoOp::WriteThrough => 2_000_000,
        IoOp::Sync => 5_000_000,
    }
}

#[test]
fn time_covers_writes_and_their_flush() {
    let control = Control::default();
    for (fresh, reads) in [(None, 8 + 1), (Some(Payload::new(1, 1)), 1)] {
        let task = task(vec![place(0, 8 << 20)], fresh, &control);
        let (outcome, served) = rewritten(task, |request, _| Ok(service(request)));
        assert_eq!(outcome.timed[0].ns, Some(8 * 2_000_000 + 5_000_000));
        let counts = [IoOp::Read, IoOp::Write, IoOp::Sync].map(|op| count(&served, op));
        assert_eq!(counts, [reads, 8, 1]);
        assert_eq!(outcome.recorder.ops, 8, "only writes are recorded");
        assert!(outcome.recorder.gap_max_ns < 5_000_000, "reading is no silence");
        assert_eq!(outcome.written_bytes, 8 << 20);
    }
}

/// A drive that takes what fits into its cache at once and writes 1 MiB in 10 ms.
fn cached(cache_bytes: u64) -> impl FnMut(&IoRequest, u64) -> Result<u64, i32> {
    let mut clear_ns = 0;
    move |request, now| {
        let medium_ns = |bytes: u64| (bytes * 10_000_000) >> 20;
        let dirty_until = std::cmp::max(clear_ns, now);
        Ok(match request.op {
            IoOp::Read => 1_000_000,
            IoOp::Sync => dirty_until - now,
            IoOp::Write | IoOp::WriteThrough => {
                clear_ns = dirty_until + medium_ns(u64::from(request.len));
                (clear_ns - now).saturating_sub(medium_ns(cache_bytes)).max(100_000)
            }
        })
    }
}

/// A drive that gathers `gather` bytes before it begins to write them, 1 MiB in 10 ms, and then takes what fits
/// into its cache in 1 ms for each MiB.
fn gathering(gather: u64, cache: u64) -> impl FnMut(&IoRequest, u64) -> Result<u64, i32> {
    fn medium_ns(bytes: u64) -> u64 {
        (bytes * 10_000_000) >> 20
    }
    let (mut gathered, mut clear_ns) = (0, 0);
    move |request, now| {
        let takes_ns = 1_000_000;
        Ok(match request.op {
            IoOp::Read => takes_ns,
            IoOp::Sync => {
                clear_ns = std::cmp::max(clear_ns, now) + medium_ns(gathered);
                gathered = 0;
                clear_ns - now
            }
            IoOp::Write if clear_ns > now => {
                clear_ns += medium_ns(u64::from(request.len));
                (clear_ns - now).saturating_sub(medium_ns(cache)).max(takes_ns)
            }
            IoOp::Write | IoOp::WriteThrough => {
                gathered += u64::from(request.len);
                if gathered >= gather {
                    clear_ns = now + takes_ns + medium_ns(gathered);
                    gathered = 0;
                }
                takes_ns
            }
        })
    }
}

/// Ten stretches in parts: their times with the flushes, and without fixed overhead, in ms.
fn in_parts(len: u64, gather: u64, cache: u64) -> Vec<(u64, Option<u64>)> {
    fn ms(ns: u64) -> u64 {
        ns / 1_000_000
    }
    let control = Control::default();
    let places = (0..10).map(|i| place(i << 30, len)).collect();
    let task = Rewrite { in_parts: true, ..task(places, None, &control) };
    let (outcome, _) = rewritten(task, gathering(gather, cache));
    assert_eq!(outcome.written_bytes, 10 * len);
    outcome.timed.iter().map(|t| (ms(t.ns.unwrap()), t.steady_ns.map(ms))).collect()
}

#[test]
fn gathered_bytes_do_not_distort_the_medium_rate() {
    let medium = 1280;
    for gather in [1 << 20, 16 << 20, 32 << 20] {
        for cache in [32 << 20, 100 << 20, 1 << 30] {
            for (whole, steady) in in_parts(128 << 20, gather, cache) {
                assert_eq!(whole, medium + 2 * (gather >> 20), "{gather} {cache}");
                assert!(steady.unwrap().abs_diff(medium) <= 2, "{gather} {cache}: {steady:?}");
            }
        }
    }
}

#[test]
fn unknown_onset_keeps_the_whole_time() {
    // More than the shorter part is gathered: less of it is seen.
    for (whole, steady) in in_parts(128 << 20, 64 << 20, 1 << 30) {
        assert!((1280..whole).contains(&steady.unwrap()), "{steady:?}");
    }
    // More than either part: nothing is.
    let all = in_parts(128 << 20, 200 << 20, 1 << 30);
    let is_right = |(whole, steady): &(u64, Option<u64>)| {
        *whole > 1280 && steady.is_none_or(|steady| steady >= 1280)
    };
    assert!(all.iter().all(is_right), "{all:?}");
    // Too short for parts.
    let short = in_parts(32 << 20, 16 << 20, 1 << 30);
    assert!(short.iter().all(|&(whole, steady)| whole == 336 && steady.is_none()), "{short:?}");
}

#[test]
fn a_stop_comes_between_reading_and_writing() {
    let control = Control::default();
    let mut reads = 0;
    let task = task(vec![place(0, 64 << 20), place(1 << 30, 1 << 20)], None, &control);
    let (outcome, served) = rewritten(task, |request, _| {
        reads += 1;
        if reads == 20 {
            control.stop();
        }
        Ok(service(request))
    });
    assert_eq!((outcome.timed.len(), outcome.timed[0].ns), (1, None));
    assert!(served.len() <= 32 && count(&served, IoOp::Read) == served.len() as u64);
    assert!(outcome.failures.is_empty());
}

#[test]
fn caches_never_make_writes_beat_the_medium() {
    let control = Control::default();
    for cache_bytes in [0, 8 << 20, 1 << 30] {
        let task = task(vec![place(0, 32 << 20)], None, &control);
        let (outcome, _) = rewritten(task, cached(cache_bytes));
        let ns = outcome.timed[0].ns.unwrap();
        assert!((320_000_000..=325_000_000).contains(&ns), "{ns} with a cache of {cache_bytes}");
    }
}

#[test]
fn unreadable_place_is_skipped_and_next_ones_written() {
    let control = Control::default();
    let (outcome, served) =
        rewritten(task(three_places(), None, &control), |request, _| match request.op {
            IoOp::Read if request.offset == 9 << 20 => Err(libc::EIO),
            _ => Ok(service(request)),
        });
    let timed: Vec<bool> = outcome.timed.iter().map(|timed| timed.ns.is_some()).collect();
    assert_eq!(timed, [true, false, true]);
    let within = |request: &&IoRequest| (8 << 20..12 << 20).contains(&request.offset);
    assert!(served.iter().filter(within).all(|request| request.op == IoOp::Read));
}

#[test]
fn failed_write_ends_it_after_one_retry() {
    let control = Control::default();
    let (outcome, served) =
        rewritten(task(three_places(), None, &control), |request, _| match request.op {
            IoOp::Write if request.offset == 9 << 20 => Err(libc::EIO),
            _ => Ok(service(request)),
        });
    assert_eq!(outcome.timed.len(), 2);
    assert!(outcome.failures[0].write && outcome.failures[0].offset == 9 << 20);
    let first = |request: &&IoRequest| request.op == IoOp::Write && request.offset == 8 << 20;
    assert_eq!(served.iter().filter(first).count(), 2);
    assert_eq!(outcome.lost, Some(8 << 20..12 << 20));
    assert!(!served.iter().any(|request| request.offset >= 16 << 20));
}

/// A file is the same afterwards, byte for byte.
#[test]
fn same_bytes_stay_and_fresh_ones_replace_them() {
    let size = 8 << 20;
    let (scratch, file) = ScratchFile::new(size);
    let device = IoDevice::new(file, Engine::Threads);
    let spec = QueueSpec { depth: 2, ahead: 1, block_bytes: 1 << 20, dsync: false };
    let control = Control::default();
    let run = |places: Vec<ScanRegion>, fresh| {
        let task = task(places, fresh, &control);
        let outcome = device.run(spec, task, &mut || {}).unwrap().output;
        assert!(outcome.failures.is_empty(), "{outcome:?}");
        outcome.blank
    };
    assert_eq!(run(vec![place(0, 4096), place(4096, 8192)], None), 2, "a new file is blank");
    assert_eq!(run(vec![place(0, size)], Some(Payload::new(7, 1))), 0);
    let before = scratch.contents();
    assert_eq!(Payload::first_mismatch(7, &before, 0), None);
    let lens = [(4096, (2 << 20) + 4096), (5 << 20, 3 << 20), (0, 4096)];
    assert_eq!(run(lens.map(|(at, len)| place(at, len)).to_vec(), None), 0);
    assert!(scratch.contents() == before, "something changed");
    run(vec![place(1 << 20, 1 << 20)], Some(Payload::new(7, 2)));
    assert!(scratch.contents() != before);
}

/// What is there stays, and the stop does not wait for the end of the stretch.
#[test]
fn a_stop_ends_a_stretch_that_is_written() {
    for fresh in [None, Some(Payload::new(1, 1))] {
        let control = Control::default();
        let mut writes = 0;
        let task = task(vec![place(0, 64 << 20), place(1 << 30, 1 << 20)], fresh, &control);
        let (outcome, served) = rewritten(task, |request, _| {
            writes += u64::from(request.op == IoOp::Write);
            if writes == 20 {
                control.stop();
            }
            Ok(service(request))
        });
        let written = count(&served, IoOp::Write);
        assert!((20..24).contains(&written), "{written} requests");
        assert_eq!((outcome.written_bytes, outcome.timed[0].ns), (written << 20, None));
        assert!(outcome.failures.is_empty());
    }
}

/// What the drive may have lost is put back whole.
#[test]
fn a_stop_does_not_end_the_second_attempt() {
    let control = Control::default();
    let mut has_failed = false;
    let task = task(vec![place(8 << 20, 4 << 20)], None, &control);
    let (outcome, served) = rewritten(task, |request, _| match request.op {
        IoOp::Write if request.offset == 9 << 20 && !has_failed => {
            has_failed = true;
            control.stop();
            Err(libc::EIO)
        }
        _ => Ok(service(request)),
    });
    assert_eq!(outcome.failures.len(), 1);
    let again = served.iter().rev().take_while(|sent| sent.op != IoOp::Read);
    let behind: Vec<u64> = again.filter(|s| s.op == IoOp::Write).map(|s| s.offset >> 20).collect();
    assert_eq!(behind[..4], [11, 10, 9, 8], "{behind:?}");
    assert_eq!(outcome.lost, None);
}
