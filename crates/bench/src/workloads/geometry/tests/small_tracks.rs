//! Disks of the 1990s: tracks of 60 to 250 KB, and commands that take longer than a read of a later disk.

use super::metric;
use crate::testing::{is_thorough, suite_of};
use crate::workloads::testing::old_disks::OldDisk;
use crate::workloads::testing::random_disks::measured;
use drivescope_model::options::TestKind;

/// Disks of `cargo test`, and of a full run.
const FEW: u64 = 8;
const ALL: u64 = 60;
/// Of eight disks, at most this many may have tracks too short to see.
const UNSEEN_OF_EIGHT: u64 = 2;
/// Time that the link adds to a command, and the last sector's transfer over the interface, µs.
const LINK_US: f64 = 10.0;
const SECTOR_US: f64 = 512.0 / 80.0;

#[test]
fn small_tracks_and_slow_hits_are_found() {
    let (mut unseen, mut unknown, mut overheads) = (0, 0, 0);
    let count = if is_thorough() { ALL } else { FEW };
    for seed in 1..=count {
        let disk = OldDisk::new(seed);
        let result = measured(&disk.toml, "", suite_of(TestKind::Geometry), seed);
        let find = |key: &str| metric(&result, key);
        let near = |key: &str, truth: f64, share: f64| {
            let found = find(key).unwrap_or_else(|| panic!("{seed}: {key}, {:?}", result.reason));
            assert!((found.value / truth - 1.0).abs() < share, "{seed}: {found:?}, truth {truth}");
        };
        near("rotation.rpm", disk.rpm, 1e-4);
        // A hit takes up to 1.4 ms, a turn 6 to 13.
        near("read_cache.overhead_us", disk.hit_us + LINK_US, 1e-3);
        let reason = result.reason.clone().unwrap_or_default();
        if reason.contains("tracks are too short") {
            unseen += 1;
            continue;
        }
        near("zones.count", disk.zones as f64, 1e-9);
        near("zone01.track_bytes", disk.track_bytes, 1e-2);
        let track = find("zone01.track_bytes").unwrap();
        assert!((track.low..=track.high).contains(&disk.track_bytes), "{seed}: {track:?}");
        // Blocks are coarse in relation to such tracks.
        let Some(overhead) = find("command.overhead_us") else {
            unknown += 1;
            continue;
        };
        near("seek.average_ms", disk.average_seek_ms, 0.1);
        let truth = disk.overhead_us + LINK_US + SECTOR_US;
        let is_held = (overhead.low..=overhead.high).contains(&truth);
        overheads += u64::from(is_held);
        if !is_held {
            println!(
                "{seed}: {overhead:?} truth {truth}, turn {} track {} {:?} block {}",
                60e6 / disk.rpm,
                disk.track_bytes,
                track,
                60e6 / disk.rpm * 4096.0 / disk.track_bytes
            );
        }
    }
    println!("{count}: {unseen} unseen, {unknown} without overhead, {overheads} overheads held");
    assert!(unseen * 8 <= UNSEEN_OF_EIGHT * count, "{unseen} of {count}");
    let answered = count - unseen - unknown;
    assert!(answered * 2 >= count && overheads * 10 >= answered * 9, "{overheads} of {answered}");
}
