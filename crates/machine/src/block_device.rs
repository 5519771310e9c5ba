//! One block device as sysfs and udev describe it.

use crate::roots::{Roots, file_name, list_dir, read_text};
use crate::udev::Udev;
use std::fs;
use std::path::{Path, PathBuf};

pub struct BlockDevice<'a> {
    pub roots: &'a Roots,
    pub name: String,
    /// Its directory, links resolved.
    pub dir: PathBuf,
    pub udev: Udev,
}

impl<'a> BlockDevice<'a> {
    /// The device with this kernel name; `None` when there is none.
    pub fn open(roots: &'a Roots, name: &str) -> Option<Self> {
        let dir = roots.block_dir(name)?;
        let udev = Udev::of(roots, roots.block_number(name)?);
        Some(Self { roots, name: file_name(&dir)?, dir, udev })
    }

    /// An attribute by its path below the directory: `queue/scheduler`, `device/model`.
    pub fn attr(&self, path: &str) -> Option<String> {
        read_text(self.dir.join(path))
    }

    pub fn number_attr<T: std::str::FromStr>(&self, path: &str) -> Option<T> {
        self.attr(path)?.parse().ok()
    }

    /// Size; sysfs counts 512-byte sectors for every device.
    pub fn size_bytes(&self) -> u64 {
        self.number_attr::<u64>("size").unwrap_or(0).saturating_mul(512)
    }

    /// The directory and those above it up to the root of sysfs, from the device upwards.
    pub fn ancestors(&self) -> impl Iterator<Item = &Path> {
        let sys = fs::canonicalize(&self.roots.sys).unwrap_or_else(|_| self.roots.sys.clone());
        self.dir.ancestors().take_while(move |dir| *dir != sys && dir.starts_with(&sys))
    }

    pub fn below(&self) -> Below {
        below(&self.dir)
    }

    pub fn backing_file(&self) -> Option<PathBuf> {
        match self.below() {
            Below::File(file) => Some(file),
            Below::Devices(_) | Below::Nothing => None,
        }
    }

    pub fn usb_device(&self) -> Option<&Path> {
        self.usb_interface()?.parent()
    }

    /// Directory of that device's interface, `2-1.4:1.0`.
    pub fn usb_interface(&self) -> Option<&Path> {
        self.ancestor(|name| {
            let Some((place, interface)) = name.split_once(':') else { return false };
            let is = |text: &str, extra: &str| {
                !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || extra.contains(c))
            };
            place.contains('-') && is(place, "-.") && interface.contains('.') && is(interface, ".")
        })
    }

    /// Whether it is one of the areas of an eMMC beside its main one (`mmcblk0boot0`).
    pub fn is_side_area(&self) -> bool {
        let area = |kind: &str| self.name.contains(kind);
        self.name.starts_with("mmcblk") && (area("boot") || area("rpmb") || area("gp"))
    }

    /// Whether it is a device of null_blk, which has no medium; configfs allows any name.
    pub fn is_null_device(&self) -> bool {
        let major = || self.roots.block_number(&self.name).map(|(major, _)| major);
        numbered(&self.name, "nullb").is_some()
            || major().and_then(|major| self.roots.block_driver(major)).as_deref() == Some("nullb")
    }

    pub fn ancestor(&self, is_it: impl Fn(&str) -> bool) -> Option<&Path> {
        self.ancestors().find(|dir| dir.file_name().and_then(|n| n.to_str()).is_some_and(&is_it))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Below {
    Devices(Vec<String>),
    /// The file of a loop device.
    File(PathBuf),
    #[default]
    Nothing,
}

pub fn below(dir: &Path) -> Below {
    if let Some(disk) = disk_of_partition(dir) {
        return Below::Devices(vec![disk]);
    }
    let mut devices = list_dir(&dir.join("slaves"));
    for cache in list_dir(&dir.join("bcache/cache")) {
        // bcache/cache/cache0 is the directory `bcache` of the device that caches.
        if cache.starts_with("cache")
            && let Ok(real) = fs::canonicalize(dir.join("bcache/cache").join(&cache))
            && real.ends_with("bcache")
        {
            devices.extend(real.parent().and_then(file_name));
        }
    }
    if !devices.is_empty() {
        return Below::Devices(devices);
    }
    match read_text(dir.join("loop/backing_file")) {
        Some(file) => Below::File(PathBuf::from(file.trim_end_matches(" (deleted)"))),
        None => Below::Nothing,
    }
}

pub fn disk_of_partition(dir: &Path) -> Option<String> {
    dir.parent().filter(|_| dir.join("partition").exists()).and_then(file_name)
}

/// Whether `name` is `prefix` followed by a decimal number, and which: `ata3` is `ata` and 3.
pub fn numbered(name: &str, prefix: &str) -> Option<u32> {
    let digits = name.strip_prefix(prefix)?;
    (digits.bytes().all(|b| b.is_ascii_digit())).then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roots::fake::Fake;

    #[test]
    fn ancestors_end_at_sysfs() {
        let fake = Fake::new();
        fake.disk("pci0000:00/ata3/host2/block/sda", (8, 0), 4096);
        let device = BlockDevice::open(&fake.roots, "sda").unwrap();
        assert_eq!(device.size_bytes(), 4096);
        let ata = device.ancestor(|name| numbered(name, "ata").is_some()).unwrap();
        assert!(ata.ends_with("pci0000:00/ata3"));
        let above = fake.path("").file_name().unwrap().to_str().unwrap().to_string();
        assert_eq!(device.ancestor(|name| name == above), None);
    }

    #[test]
    fn numbered_name_has_only_digits_after_its_prefix() {
        assert_eq!(numbered("ata12", "ata"), Some(12));
        for name in ["ata", "ata1x", "data1", "ata-1", "ata+1"] {
            assert_eq!(numbered(name, "ata"), None, "{name}");
        }
    }
}
