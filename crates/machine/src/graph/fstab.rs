//! System devices that are mounted on access or by hand: `noauto` and automounts.

use super::BlockGraph;
use crate::mounts::path_of;
use crate::roots::Roots;
use crate::udev::decode;
use std::path::{Path, PathBuf};

/// Devices that `/etc/fstab` (fstab(5)) names for the wanted places where nothing is mounted now, by kernel name.
/// Mounted places are not looked up: a copy of a disk has the same identifiers.
pub(super) fn unmounted_devices(graph: &BlockGraph, is_wanted: fn(&Path) -> bool) -> Vec<String> {
    let (roots, mounted) = (&graph.roots, &graph.mounts);
    let text = std::fs::read(roots.etc.join("fstab")).unwrap_or_default();
    let is_mounted =
        |place: &Path| mounted.iter().any(|m| m.mount_point == place && m.kind != "autofs");
    let device = |line: &[u8]| {
        let mut fields =
            line.split(|b| b" \t".contains(b)).filter(|field| !field.is_empty()).map(path_of);
        let (node, place) = (node(roots, &fields.next()?)?, fields.next()?);
        let is_waiting = is_wanted(&place) && !is_mounted(&place);
        is_waiting.then(|| roots.block_of_node(&node)).flatten()
    };
    text.split(|b| *b == b'\n').filter_map(device).collect()
}

/// The node of what the first field names; none for a comment, or what is no device.
fn node(roots: &Roots, field: &Path) -> Option<PathBuf> {
    let text = field.to_str()?;
    let Some((tag, value)) = text.split_once('=') else {
        return text.starts_with("/dev/").then(|| field.to_path_buf());
    };
    let links = match tag {
        "UUID" => "by-uuid",
        "LABEL" => "by-label",
        "PARTUUID" => "by-partuuid",
        "PARTLABEL" => "by-partlabel",
        "ID" => "by-id",
        _ => return None,
    };
    let value = value.trim_matches(['"', '\'']);
    // Identifiers are the same in capitals and in small letters, labels are not.
    let is_it = |name: &str| {
        if tag.ends_with("UUID") { name.eq_ignore_ascii_case(value) } else { name == value }
    };
    let entries = std::fs::read_dir(roots.dev.join("disk").join(links)).ok()?;
    let mut names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let name = names.find(|name| is_it(&decode(name)))?;
    Some(Path::new("/dev/disk").join(links).join(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roots::fake::Fake;

    fn system_disks(roots: &Roots) -> Vec<String> {
        BlockGraph::read(roots).system_disks()
    }

    #[test]
    fn unmounted_system_place_still_belongs_to_the_system() {
        let fake = Fake::two_disks();
        let root = "1 0 8:1 / / rw - ext4 /dev/sda1 rw";
        fake.mounts(&[root]);
        fake.link("dev/disk/by-uuid/0A-1B", "../../sdb1");
        fake.link(r"dev/disk/by-label/my\x20boot", "../../sdb1");
        for (line, is_system) in [
            ("UUID=0A-1B /boot vfat noauto 0 2", true),
            ("  UUID=\"0A-1B\"\t/boot/efi\tvfat\tx-systemd.automount 0 2", true),
            ("/dev/sdb1 /efi vfat noauto", true),
            ("/dev/sdb1 /boot/firmware vfat noauto", true),
            ("/dev/sdb1 /bootleg vfat noauto", false),
            ("UUID=0a-1b /boot vfat noauto", true),
            ("LABEL='my\\040boot' /boot vfat noauto", true),
            ("LABEL=My\\040boot /boot vfat noauto", false),
            ("#UUID=0A-1B /boot vfat noauto 0 2", false),
            ("UUID=0A-1B /data vfat noauto 0 2", false),
            ("UUID=0A-1C /boot vfat noauto 0 2", false),
            ("LABEL=", false),
            ("", false),
        ] {
            fake.file("etc/fstab", format!("UUID=0A-1B / ext4 defaults 0 1\n{line}\n"));
            let expected: &[&str] = if is_system { &["sda", "sdb"] } else { &["sda"] };
            assert_eq!(system_disks(&fake.roots), expected, "{line}");
        }
        fake.file("etc/fstab", "");
        fake.mounts(&[root, "2 1 8:17 / /boot/firmware rw - vfat /dev/sdb1 rw"]);
        assert_eq!(system_disks(&fake.roots), ["sda", "sdb"]);
        fake.file("etc/fstab", "UUID=0A-1B /boot vfat x-systemd.automount 0 2\n");
        let waits = "2 1 0:50 / /boot rw - autofs systemd-1 rw";
        fake.mounts(&[root, waits]);
        assert_eq!(system_disks(&fake.roots), ["sda", "sdb"]);
        // A copy of the disk from which the place is mounted is nothing to the system.
        fake.mounts(&[root, waits, "3 2 8:2 / /boot rw - vfat /dev/sda2 rw"]);
        assert_eq!(system_disks(&fake.roots), ["sda"]);
    }
}
