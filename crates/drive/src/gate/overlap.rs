//! Two targets of one call that share bytes: the second could not be claimed beside the first, or would be
//! measured twice.

use drivescope_machine::graph::{BlockGraph, Footprint};
use drivescope_machine::roots::Roots;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlap {
    /// In words: `sda1 is a partition of sda`.
    pub how: String,
    /// Whether both are the same thing under two names: loop devices over the same bytes of one file.
    pub is_same: bool,
}

pub fn overlap(roots: &Roots, one: &str, other: &str) -> Option<Overlap> {
    fn of(footprint: &Footprint, name: &str) -> Option<String> {
        if footprint.disk.as_deref() == Some(name) {
            return Some(format!("{} is a partition of {name}", footprint.target));
        }
        let lower = footprint.above.get(name)?;
        let built = format!("{name} is built on {lower}");
        let target = &footprint.target;
        Some(if lower == target {
            built
        } else {
            format!("{built}, which shares bytes with {target}")
        })
    }
    let graph = BlockGraph::read(roots);
    let [first, second] = [one, other].map(|name| graph.footprint(name));
    let shares_file = graph.share_file(one, other);
    let shares = || {
        (first.has(other) || second.has(one))
            .then(|| format!("{one} and {other} are the same drive or share its bytes"))
    };
    let how = if shares_file.is_some() {
        Some(format!("{one} and {other} are loop devices over the same bytes of a file"))
    } else {
        of(&first, other).or_else(|| of(&second, one)).or_else(shares)
    };
    Some(Overlap { how: how?, is_same: shares_file == Some(true) })
}

/// The disk of which both are partitions: its advisory lock goes with either, so they cannot be claimed together.
pub fn common_disk(roots: &Roots, one: &str, other: &str) -> Option<String> {
    let graph = BlockGraph::read(roots);
    let disk = graph.disk_of(one);
    (disk != one && other != disk && disk == graph.disk_of(other)).then_some(disk)
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivescope_machine::roots::fake::Fake;

    const GIB: u64 = 1 << 30;

    /// Two disks with two partitions each, LVM on one, and loop devices.
    fn machine() -> Fake {
        let fake = Fake::two_disks();
        fake.upper("dm-0", (253, 0), GIB, &["sda1"]);
        let files = ["/data/image", "/data/image", "/data/other", "/dev/sdb1", "/data/image"];
        for (minor, file) in (0..).zip(files) {
            fake.loop_device(minor, GIB, file);
        }
        fake.attrs("loop4", &[("loop/offset", "4096")]);
        fake
    }

    #[test]
    fn shared_bytes_are_found_in_either_order() {
        let fake = machine();
        for (one, other, how, is_same) in [
            ("sda", "sda1", "sda1 is a partition of sda", false),
            ("dm-0", "sda1", "dm-0 is built on sda1", false),
            ("dm-0", "sda", "dm-0 is built on sda1, which shares bytes with sda", false),
            ("loop0", "loop1", "loop devices over the same bytes of a file", true),
            ("loop0", "loop4", "loop devices over the same bytes of a file", false),
            ("loop3", "sdb1", "loop3 is built on sdb1", false),
            ("loop3", "sdb", "loop3 is built on sdb1, which shares bytes with sdb", false),
        ] {
            for (one, other) in [(one, other), (other, one)] {
                let found = overlap(&fake.roots, one, other).unwrap();
                assert!(
                    found.how.contains(how) && found.is_same == is_same,
                    "{one} {other}: {found:?}"
                );
            }
        }
    }

    #[test]
    fn another_path_to_the_drive_shares_its_bytes() {
        let fake = machine();
        for name in ["sda", "sdb"] {
            fake.attrs(name, &[("device/wwid", "naa.5000c500a")]);
        }
        let found = overlap(&fake.roots, "sda", "sdb").unwrap();
        assert!(found.how.contains("are the same drive") && !found.is_same, "{found:?}");
    }

    #[test]
    fn only_partitions_have_a_disk_in_common() {
        let fake = machine();
        let common = |one, other| common_disk(&fake.roots, one, other);
        assert_eq!(common("sda1", "sda2").as_deref(), Some("sda"));
        for (one, other) in [("sda", "sda1"), ("sda1", "sda"), ("sda1", "sdb1"), ("sda", "sdb")] {
            assert_eq!(common(one, other), None, "{one} {other}");
        }
    }

    #[test]
    fn neighbours_share_nothing() {
        let fake = machine();
        for (one, other) in [
            ("sda", "sdb"),
            ("sda1", "sda2"),
            ("dm-0", "sda2"),
            ("loop0", "loop2"),
            ("sda", "loop0"),
            ("sdb2", "loop3"),
        ] {
            assert_eq!(overlap(&fake.roots, one, other), None, "{one} {other}");
            assert_eq!(overlap(&fake.roots, other, one), None, "{other} {one}");
        }
    }
}
