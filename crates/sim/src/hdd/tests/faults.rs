//! Planted faults seen from the host.

use super::host::{Host, HostCommand, mean_ms, random};
use super::small_drive;
use crate::device::RequestKind::{Flush, Read, Write};
use crate::device::{Nanos, SimCompletion, SimDevice, SimOutcome, SimRequest};
use crate::hdd::{FailingRegion, HardDisk, HddFaults, SlowRegion};
use crate::testing::{ask, request, run_all};

fn drive(faults: HddFaults) -> HardDisk {
    let mut disk = HardDisk::new(&small_drive(), 1).unwrap();
    disk.set_faults(faults);
    disk
}

fn read(disk: &mut HardDisk, now: Nanos, offset: u64, len: u64) -> SimCompletion {
    ask(disk, now, request(9, Read, offset, len))
}

#[test]
fn failing_region_errors_after_retries() {
    let bad = FailingRegion { offset: 1 << 30, len: 8192, retry_ms: 3000.0 };
    let mut disk = drive(HddFaults { failing_region: Some(bad), ..HddFaults::default() });
    let mut now = 0;
    for (offset, outcome) in [
        ((1 << 30) - 4096, SimOutcome::Done),
        (1 << 30, SimOutcome::MediaError),
        ((1 << 30) + 4096, SimOutcome::MediaError),
        ((1 << 30) + 8192, SimOutcome::Done),
    ] {
        let answer = read(&mut disk, now, offset, 4096);
        assert_eq!(answer.outcome, outcome, "{offset}");
        assert_eq!(answer.at - now > 3_000_000_000, outcome == SimOutcome::MediaError);
        now = answer.at;
    }
}

#[test]
fn read_ahead_does_not_step_over_a_failing_region() {
    let bad = FailingRegion { offset: 1 << 20, len: 4096, retry_ms: 100.0 };
    let mut disk = drive(HddFaults { failing_region: Some(bad), ..HddFaults::default() });
    let mut now = 0;
    let mut failed = Vec::new();
    for offset in (0..2 << 20).step_by(64 << 10) {
        let answer = read(&mut disk, now, offset, 64 << 10);
        now = answer.at;
        if answer.outcome != SimOutcome::Done {
            failed.push(offset);
        }
    }
    assert_eq!(failed, [1 << 20]);
}

#[test]
fn a_slow_region_takes_further_revolutions() {
    let len = 100 << 20;
    let slow = SlowRegion { offset: 0, len, extra_revolutions: 4 };
    let mean = |faults: HddFaults| {
        let mut host = Host::new(&small_drive());
        host.disk.set_faults(faults);
        mean_ms(&host.run(1, random(Read, 0, len, 4096, 2000)))
    };
    let extra = mean(HddFaults { slow_region: Some(slow), ..HddFaults::default() })
        - mean(HddFaults::default());
    assert!((39.0..41.0).contains(&extra), "{extra}");
}

#[test]
fn a_drive_that_disappears_answers_everything_with_gone() {
    let mut disk = drive(HddFaults { gone_at: Some(20_000_000), ..HddFaults::default() });
    for (id, (op, offset, len)) in (0..).zip(random_mix()) {
        disk.submit(0, request(id, op, offset, len));
    }
    let done = run_all(&mut disk);
    assert_eq!(done.len(), random_mix().len());
    assert!(done.windows(2).all(|pair| pair[0].at <= pair[1].at));
    assert!(done.iter().all(|answer| answer.at <= 20_000_000));
    assert!(done.iter().any(|answer| answer.outcome == SimOutcome::Gone));
    assert_eq!(read(&mut disk, 30_000_000, 0, 4096).outcome, SimOutcome::Gone);
}

/// Reads, writes and a flush over the drive; more than it takes at once.
fn random_mix() -> Vec<HostCommand> {
    let op = |i: u64| if i.is_multiple_of(3) { Write } else { Read };
    let mut all: Vec<_> = (0..60).map(|i| (op(i), i * 50_000_384 / 512 * 512, 4096)).collect();
    all.insert(40, (Flush, 0, 0));
    all
}

#[test]
fn impossible_requests_are_invalid() {
    let mut disk = drive(HddFaults::default());
    let capacity = disk.capacity_bytes();
    for (offset, len) in
        [(1, 512), (0, 100), (0, 0), (capacity, 512), (capacity - 512, 1024), (u64::MAX - 511, 512)]
    {
        let answer = read(&mut disk, 0, offset, len);
        assert_eq!(answer.outcome, SimOutcome::Invalid, "{offset} {len}");
    }
    assert_eq!(read(&mut disk, 0, capacity - 512, 512).outcome, SimOutcome::Done);
}

#[test]
fn requests_are_answered_once_in_time_order() {
    let mut disk = drive(HddFaults::default());
    let mix = random_mix();
    let mut done = Vec::new();
    for (id, &(op, offset, len)) in (0..).zip(&mix) {
        let now = id * 1_300_000;
        disk.advance(now, &mut done);
        disk.submit(now, SimRequest { id, op, offset, len, fua: id % 7 == 0 });
    }
    done.extend(run_all(&mut disk));
    let mut ids: Vec<u64> = done.iter().map(|answer| answer.id).collect();
    assert!(done.windows(2).all(|pair| pair[0].at <= pair[1].at));
    ids.sort_unstable();
    assert_eq!(ids, (0..mix.len() as u64).collect::<Vec<_>>());
}
