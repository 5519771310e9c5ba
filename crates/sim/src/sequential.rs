//! Sequential passes over a device.

use crate::device::{Nanos, RequestKind, SimDevice, SimRequest};

/// Reads or writes `len` bytes from `offset` on in requests of `chunk` bytes, beginning at `now` and with `depth` of
/// them outstanding; returns when the last one ends, however it does.
pub fn sequential_pass<D: SimDevice + ?Sized>(
    device: &mut D,
    now: Nanos,
    (op, offset, len): (RequestKind, u64, u64),
    chunk: u64,
    depth: u32,
) -> Nanos {
    let (mut at, end, mut now) = (offset, offset + len, now);
    let (mut outstanding, mut done) = (0, Vec::new());
    loop {
        while at < end && outstanding < depth {
            let len = chunk.min(end - at);
            device.submit(now, SimRequest { id: at, op, offset: at, len, fua: false });
            (at, outstanding) = (at + len, outstanding + 1);
        }
        let Some(next) = device.next_completion() else { return now };
        now = next;
        device.advance(now, &mut done);
        outstanding -= done.drain(..).count() as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestDrive;

    #[test]
    fn a_pass_keeps_the_queue_at_its_depth_and_ends_with_its_last_byte() {
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
}
