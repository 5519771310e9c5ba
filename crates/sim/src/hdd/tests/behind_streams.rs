//! What a long stream leaves behind it, and what it pays on its way.

use super::host::Host;
use super::small_drive;
use crate::device::Op;
use crate::hdd::params::LayoutParams;

const MIB: u64 = 1 << 20;

/// Read-ahead that has gone on for long holds what its segment holds, not all that it has passed.
#[test]
fn what_a_long_read_passed_long_ago_is_not_in_the_buffer() {
    let mut host = Host::new(&small_drive());
    host.run(1, (0..200).map(|i| (Op::Read, i * MIB, MIB)));
    assert!(host.one(Op::Read, 200 * MIB - 8192, 4096) < 500_000, "the end of the pass");
    for place in [150, 3, 198] {
        let time = host.one(Op::Read, place * MIB, 4096);
        assert!(time > 500_000, "{place} MiB: {time} ns");
        host.run(1, (0..100).map(|i| (Op::Read, (200 + i) * MIB, MIB)));
    }
}

/// A head switch that takes longer than its skew costs a turn, whether one transfer crosses it or two meet there.
#[test]
fn a_late_head_switch_costs_a_write_in_pieces_what_it_costs_a_read() {
    let mut params = small_drive();
    params.layout = LayoutParams::Cylinder;
    params.head_switch_ms = 2.5;
    let pass = |op| Host::new(&params).sequential_mb_s(op, 0, 400 * MIB, MIB);
    let (read, write) = (pass(Op::Read), pass(Op::Write));
    // a turn of 10 ms, and behind three of four tracks 2 ms and another turn, behind the fourth 1 ms
    assert!((read - 100.0 / 1.925).abs() < 1.0, "{read} MB/s");
    assert!((write / read - 1.0).abs() < 0.03, "{write} against {read} MB/s");
}
