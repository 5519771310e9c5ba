//! Who uses a block device now, for parts that are about to take it away.

use super::family::Family;
use super::{pools, users};
use drivescope_machine::mounts::mounts;
use drivescope_machine::roots::Roots;
use drivescope_machine::stack::devices_of_mount;
use drivescope_model::gate::Outcome;
use std::path::PathBuf;

/// What the kernel shows to use the block device with this kernel name, a partition of it, or anything
/// built on these: one clause each. Programs that merely have it open are not among them.
pub fn uses_of(roots: &Roots, name: &str) -> Vec<String> {
    let family = Family::of(roots, name);
    let mut checks = users::check(roots, &family);
    checks.extend(pools::check(roots, &family, &[]));
    checks.retain(|check| check.outcome == Outcome::Refused);
    // A file system that is mounted visibly is open in the kernel too.
    if checks.iter().any(|check| check.name == "mounts") {
        checks.retain(|check| check.name != "file systems");
    }
    checks.into_iter().map(|check| check.evidence).collect()
}

/// Where file systems on the device or on anything built on it are mounted, as this process sees it.
pub fn mounts_on(roots: &Roots, name: &str) -> Vec<PathBuf> {
    let family = Family::of(roots, name);
    let is_on = |mount: &_| devices_of_mount(roots, mount).iter().any(|device| family.has(device));
    mounts(roots).into_iter().filter(is_on).map(|mount| mount.mount_point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivescope_machine::roots::fake::Fake;

    #[test]
    fn a_mount_is_told_once_and_found_through_what_lies_between() {
        let fake = Fake::new();
        fake.disk("virtual/block/loop7", (7, 7), 1 << 30);
        fake.disk("virtual/block/dm-0", (253, 0), 1 << 30);
        fake.slaves("dm-0", &["loop7"]);
        fake.mounts(&[
            "1 0 8:1 / / rw - ext4 /dev/sda1 rw",
            "2 1 253:0 / /data rw - ext4 /dev/dm-0 rw",
        ]);
        fake.file("sys/fs/ext4/dm-0/state", "");
        assert_eq!(mounts_on(&fake.roots, "loop7"), [PathBuf::from("/data")]);
        let uses = uses_of(&fake.roots, "loop7");
        assert_eq!(uses.iter().filter(|text| text.contains("/data")).count(), 1, "{uses:?}");
        assert!(!uses.iter().any(|text| text.contains("the kernel has")), "{uses:?}");
        assert!(uses.iter().any(|text| text.contains("dm-0 on loop7")), "{uses:?}");
        assert!(uses_of(&fake.roots, "loop8").is_empty());
    }
}
