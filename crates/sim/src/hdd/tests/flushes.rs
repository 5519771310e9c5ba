//! A flush waits for earlier commands, which run as if it were not there.

use super::host::random;
use super::small_with;
use crate::device::RequestKind::{Flush, Read, Write};
use crate::device::{Nanos, SimDevice};
use crate::hdd::HardDisk;
use crate::testing::{ask, request, run_all};

/// Eight reads beside forty cached writes, perhaps with a flush after them: when each read ends, and the flush.
fn ends(flush: bool) -> Vec<Nanos> {
    // nothing is written for any other reason
    let params = small_with(|p| p.write_cache.idle_ms = 5000.0);
    let mut disk = HardDisk::new(&params, 1).unwrap();
    let mut now = 0;
    for (op, offset, len) in random(Write, 0, 2_000_000_000, 4096, 40) {
        now = ask(&mut disk, now, request(1000, op, offset, len)).at;
    }
    let mut list = random(Read, 2_000_000_000, 4_000_000_000, 4096, 8);
    list.extend(flush.then_some((Flush, 0, 0)));
    for (id, (op, offset, len)) in (0..).zip(list) {
        disk.submit(now, request(id, op, offset, len));
    }
    let mut answers = run_all(&mut disk);
    answers.sort_by_key(|answer| answer.id);
    answers.iter().map(|answer| answer.at).collect()
}

#[test]
fn flush_writes_all_after_earlier_commands_end() {
    let (without, with) = (ends(false), ends(true));
    let (flushed, reads) = with.split_last().unwrap();
    assert_eq!((reads.len(), reads), (8, &without[..]));
    let last = reads.iter().max().unwrap();
    // forty places of half the drive: each at least a movement and its settling
    assert!(*flushed > last + 40 * 1_500_000, "{flushed} after {last}");
}
