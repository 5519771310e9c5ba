//! The access pattern of phybs: 128 MiB in requests of one size, four sizes apart, one at a time.

use super::host::Host;
use crate::device::RequestKind;
use crate::hdd::HddParams;
use drivescope_model::patterns::phybs::{self, PASS_BYTES};

/// The work of phybs on each block: `-r` and `-w`.
pub const READ: &[RequestKind] = &[RequestKind::Read];
pub const WRITE: &[RequestKind] = &[RequestKind::Write];

/// One pass: blocks of `size`, from `offset` on, in steps of four sizes, `ops` to each. Returns blocks per
/// second, wall time of the pass as phybs counts it: without a flush.
pub fn pass(host: &mut Host, ops: &[RequestKind], size: u64, offset: u64) -> f64 {
    let count = PASS_BYTES / size;
    let began = host.now;
    let places = phybs::pass(0, size, offset, PASS_BYTES);
    host.run(1, places.flat_map(|at| ops.iter().map(move |&op| (op, at, size))));
    count as f64 / ((host.now - began) as f64 / 1e9)
}

/// One published pass: drive, operations, size, offset, blocks per second.
pub type Row = (&'static str, &'static [RequestKind], u64, u64, f64);

/// Every published pass of a drive that is named, in the order in which it was run; reads and writes of a drive are
/// runs of their own. A pass was printed as msec, tps and kBps, which are one measurement: the tps here follow from
/// msec, since some that were printed are wrong (a product wrapped at 32 bits). `wd10ears-jumper` is the drive with
/// jumper 7-8, printed as tps only. The generic model `wd15gp` was measured with `-rw`, where the host's part shows:
/// `sim reproduce` has that.
pub const PUBLISHED: [Row; 48] = [
    ("wd20ears", WRITE, 4096, 0, 1680.2),
    ("wd20ears", WRITE, 4096, 512, 26.9),
    ("wd20ears", WRITE, 4096, 1024, 27.0),
    ("wd20ears", WRITE, 4096, 2048, 27.0),
    ("hds722020ala330", WRITE, 4096, 0, 3722.4),
    ("hds722020ala330", WRITE, 4096, 512, 3766.0),
    ("hds722020ala330", WRITE, 4096, 1024, 3751.3),
    ("hds722020ala330", WRITE, 4096, 2048, 3764.3),
    ("wd4000aaks", WRITE, 4096, 0, 1534.9),
    ("wd4000aaks", WRITE, 4096, 512, 1511.9),
    ("wd4000aaks", WRITE, 4096, 1024, 1575.5),
    ("wd4000aaks", WRITE, 4096, 2048, 1558.1),
    ("wd20eads", WRITE, 4096, 0, 1436.5),
    ("wd20eads", WRITE, 4096, 512, 1675.9),
    ("wd20eads", WRITE, 4096, 1024, 886.9),
    ("wd20eads", WRITE, 4096, 2048, 654.0),
    ("wd10ears", WRITE, 4096, 0, 1418.2),
    ("wd10ears", WRITE, 4096, 512, 413.3),
    ("wd10ears", WRITE, 4096, 1024, 432.2),
    ("wd10ears", WRITE, 4096, 2048, 410.0),
    ("wd10ears-jumper", WRITE, 4096, 0, 417.0),
    ("wd10ears-jumper", WRITE, 4096, 1024, 448.0),
    ("wd10ears-jumper", WRITE, 4096, 2048, 426.0),
    ("wd10ears-jumper", WRITE, 4096, 3584, 1166.0),
    ("wd15earx", READ, 512, 0, 6974.7),
    ("wd15earx", READ, 1024, 0, 6420.4),
    ("wd15earx", READ, 1024, 512, 6439.9),
    ("wd15earx", READ, 2048, 0, 5396.6),
    ("wd15earx", READ, 2048, 512, 5381.1),
    ("wd15earx", READ, 2048, 1024, 5386.8),
    ("wd15earx", READ, 4096, 0, 4374.9),
    ("wd15earx", READ, 4096, 512, 4991.3),
    ("wd15earx", READ, 4096, 1024, 4157.8),
    ("wd15earx", READ, 4096, 2048, 3787.3),
    ("wd15earx", WRITE, 1024, 0, 986.7),
    ("wd15earx", WRITE, 1024, 512, 1021.6),
    ("wd15earx", WRITE, 2048, 0, 890.5),
    ("wd15earx", WRITE, 2048, 512, 975.4),
    ("wd15earx", WRITE, 2048, 1024, 973.4),
    ("wd15earx", WRITE, 4096, 0, 1937.7),
    ("wd15earx", WRITE, 4096, 512, 633.4),
    ("wd15earx", WRITE, 4096, 1024, 636.8),
    ("wd15earx", WRITE, 4096, 2048, 629.7),
    ("wd15earx", WRITE, 8192, 0, 1460.1),
    ("wd15earx", WRITE, 8192, 512, 337.8),
    ("wd15earx", WRITE, 8192, 1024, 324.0),
    ("wd15earx", WRITE, 8192, 2048, 332.9),
    ("wd15earx", WRITE, 8192, 4096, 1473.0),
];

/// The published passes of `drive` that a fresh model misses by more than 10 %, as operations, size and offset.
pub fn missed(params: &HddParams, drive: &str) -> Vec<(&'static [RequestKind], u64, u64)> {
    let (mut missed, mut run) = (Vec::new(), None);
    for &(_, ops, size, offset, published) in PUBLISHED.iter().filter(|row| row.0 == drive) {
        let (_, host) = match run.take() {
            Some((last, host)) if last == ops => run.insert((ops, host)),
            _ => run.insert((ops, Host::new(params))),
        };
        let tps = pass(host, ops, size, offset);
        if (tps / published - 1.0).abs() > 0.10 {
            println!("{drive}: {tps} of {published} at {offset}");
            missed.push((ops, size, offset));
        }
    }
    missed
}
