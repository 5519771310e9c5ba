//! A flush waits for earlier commands, which run as if it were not there.

use super::host::random;
use super::small_drive;
use crate::device::{Nanos, RequestKind, SimCompletion, SimDevice, SimRequest};
use crate::hdd::HardDisk;

/// Eight reads beside forty cached writes, perhaps with a flush after them: when each read ends, and the flush.
fn reads_before(flush: bool) -> (Vec<(u64, Nanos)>, Option<Nanos>) {
    let mut params = small_drive();
    // nothing is written for any other reason
    params.write_cache.idle_ms = 5000.0;
    let mut disk = HardDisk::new(&params, 1).unwrap();
    let (mut now, mut done) = (0, Vec::new());
    let send =
        |disk: &mut HardDisk, now: Nanos, id: u64, (op, offset, len): (RequestKind, u64, u64)| {
            disk.submit(now, SimRequest { id, op, offset, len, fua: false });
        };
    for write in random(RequestKind::Write, 0, 2_000_000_000, 4096, 40) {
        send(&mut disk, now, 1000, write);
        now = disk.next_completion().unwrap();
        disk.advance(now, &mut done);
    }
    done.clear();
    for (id, read) in (0..8).zip(random(RequestKind::Read, 2_000_000_000, 4_000_000_000, 4096, 8)) {
        send(&mut disk, now, id, read);
    }
    if flush {
        send(&mut disk, now, 8, (RequestKind::Flush, 0, 0));
    }
    while done.len() < 8 + usize::from(flush) {
        let at = disk.next_completion().unwrap();
        disk.advance(at, &mut done);
    }
    let ends = |id: u64| done.iter().find(|answer: &&SimCompletion| answer.id == id).map(|a| a.at);
    ((0..8).map(|id| (id, ends(id).unwrap())).collect(), ends(8))
}

#[test]
fn flush_writes_all_after_earlier_commands_end() {
    let (without, _) = reads_before(false);
    let (with, flushed) = reads_before(true);
    assert_eq!(with, without);
    let last = with.iter().map(|&(_, at)| at).max().unwrap();
    // forty places of half the drive: each at least a movement and its settling
    assert!(flushed.unwrap() > last + 40 * 1_500_000, "{flushed:?} after {last}");
}
