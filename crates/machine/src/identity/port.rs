//! Where a drive is attached, by which one without names of its own is known again.

use crate::roots::{Roots, read_text, read_u64};
use crate::udev::{self, Udev};

/// Parent of virtual devices, which differ only by a number.
pub(super) const MADE_UP: &str = "devices/virtual/block/";
/// Prefix of the attachment of a device-mapper mapping, before its name.
pub(super) const MAPPING: &str = "mapping ";

/// What is the same after a boot: the file of a loop device, the UUID of a volume or array, else the path in
/// sysfs.
pub(super) fn place_of(roots: &Roots, disk: &str) -> Option<String> {
    let dir = roots.block_dir(disk)?;
    if let Some(file) = read_text(dir.join("loop/backing_file")) {
        let offset = read_u64(dir.join("loop/offset")).unwrap_or(0);
        return Some(match offset {
            0 => format!("file {file}"),
            offset => format!("file {file} from byte {offset}"),
        });
    }
    if let Some(uuid) = read_text(dir.join("dm/uuid")).or_else(|| array_uuid(roots, disk)) {
        return Some(uuid);
    }
    // Its number is another one after a boot; its name stays.
    if let Some(volume) = roots.block_number(disk).and_then(|it| udev::zfs_volume(roots, it)) {
        return Some(format!("ZFS volume {volume}"));
    }
    let sys = std::fs::canonicalize(&roots.sys).ok()?;
    let path = dir.strip_prefix(sys).ok()?.to_str()?;
    // A disk's letter may change from boot to boot; where it is plugged in does not.
    let port = path.strip_suffix(&format!("/block/{disk}"));
    Some(port.filter(|port| !port.ends_with("virtual")).unwrap_or(path).to_string())
}

/// The UUID of an md array: the kernel's (since 2020), which is all zeros where other metadata than its own make the
/// array; else udev's record from mdadm.
fn array_uuid(roots: &Roots, disk: &str) -> Option<String> {
    let is_uuid = |uuid: &String| uuid.contains(|c: char| c.is_ascii_hexdigit() && c != '0');
    let array = roots.block_dir(disk)?.join("md");
    if !array.is_dir() {
        return None;
    }
    read_text(array.join("uuid")).filter(is_uuid).or_else(|| {
        let udev = Udev::of(roots, roots.block_number(disk)?);
        let digits = udev.get("MD_UUID")?.replace(':', "");
        let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| digits.get(part));
        parts.into_iter().collect::<Option<Vec<_>>>().map(|parts| parts.join("-"))
    })
}

/// The name of a mapping, or the number of this attachment in this boot, of a device that only has a place among
/// those that the kernel makes up.
pub(super) fn attachment_of(roots: &Roots, disk: &str) -> Option<String> {
    let dir = roots.block_dir(disk)?;
    if !place_of(roots, disk)?.starts_with(MADE_UP) {
        return None;
    }
    if let Some(name) = read_text(dir.join("dm/name")) {
        return Some(format!("{MAPPING}{name}"));
    }
    let boot = read_text(roots.proc.join("sys/kernel/random/boot_id"))?;
    Some(format!("attachment {} of boot {boot}", read_u64(dir.join("diskseq"))?))
}

/// Whether two places are one. The kernel counts SCSI hosts and virtio devices in the order in which it finds
/// them, so a drive in the same port has another number after a boot, or when it was plugged in again.
pub(super) fn is_same_place(one: &str, other: &str) -> bool {
    one == other || (is_path(one) && is_path(other) && uncounted(one).eq(uncounted(other)))
}

fn is_path(place: &str) -> bool {
    place.starts_with("devices/")
}

/// The parts of a path without these numbers: `host6/target6:0:1/6:0:1:0` is target 1 of some host.
fn uncounted(path: &str) -> impl Iterator<Item = (&str, &str)> {
    path.split('/').map(|part| {
        let kind = part.trim_end_matches(|c: char| c.is_ascii_digit() || c == ':');
        let numbers = &part[kind.len()..];
        let within = numbers.split_once(':').map_or("", |(_, within)| within);
        match (kind, numbers.matches(':').count()) {
            ("host" | "virtio", 0) | ("target", 2) | ("", 3) => (kind, within),
            _ => (part, ""),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::DriveIdentity;
    use super::*;
    use crate::roots::fake::Fake;

    const USB: &str = "devices/pci0000:00/0000:00:14.0/usb1/1-2/1-2:1.0";

    #[test]
    fn kernel_counters_are_not_places() {
        for (one, other, expected) in [
            ("host6/target6:0:0/6:0:0:0", "host4/target4:0:0/4:0:0:0", true),
            ("host6/target6:0:0/6:0:0:0", "host6/target6:0:0/6:0:0:1", false),
            ("host6/target6:0:0/6:0:0:0", "host6/target6:0:10/6:0:10:0", false),
            ("host6/target6:0:0/6:0:0:0", "host6/target6:1:0/6:1:0:0", false),
            ("virtio1/host2/target2:0:0/2:0:0:0", "virtio3/host0/target0:0:0/0:0:0:0", true),
            ("virtio1", "virtio2", true),
            ("mmc0", "mmc1", false),
            ("1-2:1.0", "1-2:1.1", false),
        ] {
            let (one, other) = (format!("{USB}/{one}"), format!("{USB}/{other}"));
            assert_eq!(is_same_place(&one, &other), expected, "{one} {other}");
        }
        let elsewhere = USB.replace("1-2", "1-3");
        assert!(!is_same_place(&format!("{USB}/host6"), &format!("{elsewhere}/host6")));
        assert!(!is_same_place("file /x/host1", "file /x/host2"), "a name chosen by a user");
        assert!(!is_same_place("devices/virtual/block/nbd1", "devices/virtual/block/nbd2"));
    }

    /// It dropped off its bus while the run still had it open, or the machine was started again.
    #[test]
    fn stick_without_serial_is_recognized_by_its_port() {
        let of = |host: u32, port: &str| {
            let fake = Fake::new();
            let place = format!("usb1/{port}/host{host}/target{host}:0:0/{host}:0:0:0");
            fake.scsi_disk(&format!("{place}/block/sdb"), (8, 16), 1 << 30);
            fake.file(&format!("sys/devices/{place}/model"), "Flash Disk");
            DriveIdentity::of(&fake.roots, "sdb").unwrap()
        };
        let saved = of(6, "1-2");
        assert_eq!(saved.serial, None);
        assert_eq!(saved.difference(&of(7, "1-2")), None);
        assert!(saved.compare(&of(7, "1-2")).is_possible(), "a run would take it for free");
        assert!(saved.difference(&of(6, "1-3")).unwrap().contains("usb1/1-3"));
    }

    /// Older kernels do not report the UUID of an array, and newer ones all zeros for those of a BIOS.
    #[test]
    fn array_is_recognized_by_uuid_after_a_boot() {
        let of = |number: u32, uuid: Option<&str>, udev: &str| {
            let fake = Fake::new();
            fake.file("proc/sys/kernel/random/boot_id", format!("boot of md{number}\n"));
            let name = format!("md{number}");
            fake.disk(&format!("virtual/block/{name}"), (9, number), 1 << 30);
            fake.attrs(&name, &[("diskseq", "7"), ("md/level", "raid1")]);
            fake.file(&format!("run/udev/data/b9:{number}"), format!("E:MD_LEVEL=raid1\n{udev}"));
            if let Some(uuid) = uuid {
                fake.attrs(&name, &[("md/uuid", uuid)]);
            }
            DriveIdentity::of(&fake.roots, &name).unwrap()
        };
        let own = "6c0c6c2f-9e1d-4a3e-8b5a-0123456789ab";
        let udev = "E:MD_UUID=6c0c6c2f:9e1d4a3e:8b5a0123:456789ab\n";
        let none = "00000000-0000-0000-0000-000000000000";
        let saved = of(126, None, udev);
        for (other, expected) in [
            (of(127, None, udev), true),
            (of(127, Some(none), udev), true),
            (of(127, Some(own), ""), true),
            (of(126, None, &udev.replace("9ab", "9ac")), false),
            (of(126, None, ""), false),
        ] {
            assert_eq!(saved.difference(&other).is_none(), expected, "{other:?}");
        }
        let unknown = of(126, Some(none), "");
        assert!(unknown.difference(&of(127, Some(none), "")).is_some(), "two without a UUID");
    }
}
