//! How much the passes of phybs depend on where the platter and the head are at the start: on real drives that is
//! the only chance that the model has.

use super::host::Host;
use super::models::model;
use super::phybs::{READ, WRITE, pass};
use crate::device::RequestKind;

/// Passes of 4 KiB at four offsets after each of twelve starts, blocks per second: least and most of all.
fn rates(name: &str, ops: &[RequestKind], offsets: &[u64]) -> (f64, f64) {
    let params = model(name);
    let mut all = Vec::new();
    for seed in 1..=12 {
        let mut host = Host::with_seed(&params, seed);
        host.disk.begin_anywhere();
        all.extend(offsets.iter().map(|&offset| pass(&mut host, ops, 4096, offset)));
    }
    let ends = |pick: fn(f64, f64) -> f64, from: f64| all.iter().copied().fold(from, pick);
    let (least, most) = (ends(f64::min, f64::INFINITY), ends(f64::max, 0.0));
    println!("{name}: {least:.1} to {most:.1}");
    (least, most)
}

/// The drive gave 1437, 1676, 887 and 654/s: 2.6 times.
#[test]
fn no_start_makes_the_passes_of_the_wd20eads_erratic() {
    let (least, most) = rates("wd20eads", WRITE, &[0, 512, 1024, 2048]);
    assert!(most < 1.03 * least, "{least} to {most}");
}

/// The drive gave 4375, 4991, 4158 and 3787/s: 1.3 times.
#[test]
fn no_start_makes_the_reads_of_the_wd15earx_erratic() {
    let (least, most) = rates("wd15earx", READ, &[0, 512, 1024, 2048]);
    assert!(most < 1.03 * least, "{least} to {most}");
}
