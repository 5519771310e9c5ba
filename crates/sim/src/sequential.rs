//! Sequential passes over a device.

use crate::device::{Nanos, RequestKind, SimDevice, SimOutcome, SimRequest};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassEnd {
    pub at: Nanos,
    /// The first request that failed: its offset, and how. None was sent after it.
    pub failed: Option<(u64, SimOutcome)>,
}

/// Reads or writes `len` bytes from `offset` on in requests of `chunk` bytes, beginning at `now` and with `depth` of
/// them outstanding, up to the first that fails.
pub fn checked_pass<D: SimDevice + ?Sized>(
    device: &mut D,
    now: Nanos,
    (op, offset, len): (RequestKind, u64, u64),
    chunk: u64,
    depth: u32,
) -> PassEnd {
    let (mut at, end, mut now) = (offset, offset + len, now);
    let (mut outstanding, mut done, mut failed) = (0, Vec::new(), None);
    loop {
        while at < end && outstanding < depth && failed.is_none() {
            let len = chunk.min(end - at);
            device.submit(now, SimRequest { id: at, op, offset: at, len, fua: false });
            (at, outstanding) = (at + len, outstanding + 1);
        }
        let Some(next) = device.next_completion() else { return PassEnd { at: now, failed } };
        now = next;
        device.advance(now, &mut done);
        outstanding -= done.len() as u32;
        let bad = done.drain(..).find(|done| done.outcome != SimOutcome::Done);
        failed = failed.or(bad.map(|done| (done.id, done.outcome)));
    }
}

/// Runs a pass on a device that does not fail; returns when the last request ends.
pub fn sequential_pass<D: SimDevice + ?Sized>(
    device: &mut D,
    now: Nanos,
    stretch: (RequestKind, u64, u64),
    chunk: u64,
    depth: u32,
) -> Nanos {
    checked_pass(device, now, stretch, chunk, depth).at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestDrive;

    #[test]
    fn pass_keeps_queue_full_until_last_byte() {
        let mut drive = TestDrive::new(4, 1_000_000, |_| 100.0);
        let end = sequential_pass(&mut drive, 5_000, (RequestKind::Write, 4096, 10_240), 4096, 2);
        assert_eq!(
            drive.requests(RequestKind::Write),
            [(4096, 4096), (8192, 4096), (12_288, 2048)]
        );
        assert_eq!(drive.depth_seen, 2);
        // the access, which only the first one pays, and 4096 bytes; then the last 2048
        assert_eq!(end, 5_000 + 1_000_000 + 40_960);
        assert_eq!(sequential_pass(&mut drive, end, (RequestKind::Read, 0, 0), 4096, 2), end);
    }

    #[test]
    fn pass_ends_at_the_first_failed_request() {
        let mut drive = TestDrive::new(1, 1_000_000, |_| 100.0);
        drive.fails = Some((8192, SimOutcome::MediaError));
        let end = checked_pass(&mut drive, 0, (RequestKind::Read, 0, 1 << 20), 4096, 1);
        assert_eq!(end.failed, Some((8192, SimOutcome::MediaError)));
        assert_eq!(drive.requests(RequestKind::Read).len(), 3, "nothing is sent after it");
    }
}
