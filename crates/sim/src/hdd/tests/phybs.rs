//! The access pattern of phybs: 128 MiB in requests of one size, four sizes apart, one at a time.

use super::host::Host;
use crate::device::Op;

/// Bytes that a pass transfers.
const PASS_BYTES: u64 = 128 << 20;

/// One pass: requests of `size`, from `offset` on, in steps of four sizes. Returns operations per second,
/// wall time of the pass as phybs counts it: without a flush.
pub fn pass(host: &mut Host, op: Op, size: u64, offset: u64) -> f64 {
    let count = PASS_BYTES / size;
    let began = host.now;
    host.run(1, (0..count).map(|i| (op, offset + i * 4 * size, size)));
    count as f64 / ((host.now - began) as f64 / 1e9)
}

/// A run of phybs with sizes from `smallest` to `largest`: each size at offset 0 and at every power of two
/// from the sector on. Returns size, offset, operations per second of each pass.
pub fn run(host: &mut Host, op: Op, smallest: u64, largest: u64) -> Vec<(u64, u64, f64)> {
    let mut passes = Vec::new();
    let mut size = smallest;
    while size <= largest {
        passes.push((size, 0, pass(host, op, size, 0)));
        let mut offset = 512;
        while offset < size {
            passes.push((size, offset, pass(host, op, size, offset)));
            offset *= 2;
        }
        size *= 2;
    }
    passes
}
