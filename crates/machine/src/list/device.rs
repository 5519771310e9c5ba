//! One block device in sysfs, as the parts of the list look at it.

use super::udev::Udev;
use crate::roots::{Roots, read_text};
use std::path::{Path, PathBuf};

/// A block device with its directory in sysfs.
pub struct Device<'a> {
    /// The machine.
    pub roots: &'a Roots,
    /// Kernel name.
    pub name: String,
    /// Its directory, links resolved.
    pub dir: PathBuf,
    /// What udev knows of it.
    pub udev: Udev,
}

impl<'a> Device<'a> {
    /// The device with this kernel name; `None` when there is none.
    pub fn open(roots: &'a Roots, name: &str) -> Option<Self> {
        let dir = roots.block_dir(name)?;
        let udev = Udev::of(roots, roots.block_number(name)?);
        Some(Self { roots, name: crate::roots::file_name(&dir)?, dir, udev })
    }

    /// An attribute by its path below the directory: `queue/scheduler`, `device/model`.
    pub fn attr(&self, path: &str) -> Option<String> {
        read_text(self.dir.join(path))
    }

    /// An attribute that is a number.
    pub fn number_attr<T: std::str::FromStr>(&self, path: &str) -> Option<T> {
        self.attr(path)?.parse().ok()
    }

    /// Size; sysfs counts 512-byte sectors for every device.
    pub fn size_bytes(&self) -> u64 {
        self.number_attr::<u64>("size").unwrap_or(0).saturating_mul(512)
    }

    /// The directory and those above it up to the root of sysfs, from the device upwards.
    pub fn ancestors(&self) -> impl Iterator<Item = &Path> {
        let sys = std::fs::canonicalize(&self.roots.sys).unwrap_or_else(|_| self.roots.sys.clone());
        self.dir.ancestors().take_while(move |dir| *dir != sys && dir.starts_with(&sys))
    }

    /// The nearest ancestor whose name fulfils a condition.
    pub fn ancestor(&self, is_it: impl Fn(&str) -> bool) -> Option<&Path> {
        self.ancestors().find(|dir| dir.file_name().and_then(|n| n.to_str()).is_some_and(&is_it))
    }
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
        let device = Device::open(&fake.roots, "sda").unwrap();
        assert_eq!(device.size_bytes(), 4096);
        let ata = device.ancestor(|name| numbered(name, "ata").is_some()).unwrap();
        assert!(ata.ends_with("pci0000:00/ata3"));
        let above = fake.path("").file_name().unwrap().to_str().unwrap().to_string();
        assert_eq!(device.ancestor(|name| name == above), None);
    }

    #[test]
    fn a_numbered_name_has_only_digits_after_its_prefix() {
        assert_eq!(numbered("ata12", "ata"), Some(12));
        for name in ["ata", "ata1x", "data1", "ata-1", "ata+1"] {
            assert_eq!(numbered(name, "ata"), None, "{name}");
        }
    }
}
