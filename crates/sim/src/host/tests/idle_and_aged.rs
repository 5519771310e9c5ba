//! What idle time leaves out of the write rate, and what a used file system has lost and got.

use crate::device::{Nanos, RequestKind, SimDevice, SimOutcome};
use crate::host::*;
use crate::testing::{TestDrive, request, run_all};

const S: Nanos = 1_000_000_000;
const MIB: u64 = 1 << 20;

/// One system call from `now` on; when it returns.
fn call(
    cache: &mut PageCache<RawDevice<TestDrive>>,
    now: Nanos,
    op: RequestKind,
    offset: u64,
) -> Nanos {
    cache.submit(now, request(offset, op, offset, MIB));
    let done = *run_all(cache).last().expect("it returns");
    assert_eq!(done.outcome, SimOutcome::Done);
    done.at
}

/// Writes 192 MiB from MiB `from` on; when the last call returns.
fn burst(cache: &mut PageCache<RawDevice<TestDrive>>, now: Nanos, from: u64) -> Nanos {
    (from..from + 192).fold(now, |now, n| call(cache, now, RequestKind::Write, n * MIB))
}

#[test]
fn a_writer_after_idle_time_is_held_to_the_rate_of_the_drive_and_not_to_less() {
    let params = HostParams { cache_bytes: 256 * MIB, ..HostParams::default() };
    let second_burst = |idle: Nanos| {
        let drive = TestDrive::new(1, 5_000_000, |_| 25.0);
        let mut cache = PageCache::new(&params, RawDevice(drive)).expect("valid parameters");
        let written = burst(&mut cache, 0, 0);
        let began = call(&mut cache, written, RequestKind::Flush, 0) + idle;
        burst(&mut cache, began, 192) - began
    };
    let (at_once, later) = (second_burst(S / 100), second_burst(1000 * S));
    // what does not fit into the memory goes at 25 MB/s
    let least = (192 - 52) * MIB * 40;
    assert!(at_once > least, "{at_once} of {least}");
    assert!((0.99..1.01).contains(&(later as f64 / at_once as f64)), "{later} for {at_once}");
}

#[test]
fn an_aged_file_system_has_lost_the_share_of_its_files_that_was_deleted() {
    let age = |churn_fraction: f64| {
        let mut files = Files::new(200_000_000_000, &FsParams::default());
        let aging = Aging { churn_fraction, ..Aging::default() };
        let kept = aging.apply(&mut files).expect("there is room");
        (files, kept)
    };
    let (_, first) = age(0.0);
    let made_first = first.len();
    for churn in [0.1, 0.4] {
        let (files, kept) = age(churn);
        let gone = (0..made_first as u32).filter(|&n| files.extents(FileId(n)).is_err()).count();
        assert_eq!(gone, (made_first as f64 * churn) as usize, "of {made_first}");
        assert!(kept.len() > made_first - gone, "others take their places");
        assert!(kept.iter().all(|&file| files.extents(file).is_ok()));
    }
}
