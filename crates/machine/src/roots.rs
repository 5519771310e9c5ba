//! Where the kernel and udev describe the machine, and small readers for what they say there.
//!
//! Everything that looks at `/sys` or `/proc` takes a [`Roots`], so that tests can describe machines
//! that are not here.

use rustix::fd::OwnedFd;
use rustix::fs::{FsWord, Mode, OFlags};
use rustix::io::Errno;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;

#[cfg(any(test, feature = "testing"))]
pub mod fake;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    pub sys: PathBuf,
    pub proc: PathBuf,
    pub dev: PathBuf,
    /// State of the running system; the udev database lies in it.
    pub run: PathBuf,
    pub etc: PathBuf,
    /// The `statfs` type of configfs; in tests, the type of the stand-in directory.
    config_type: FsWord,
}

/// `CONFIGFS_MAGIC` of `include/uapi/linux/magic.h` of the kernel.
const CONFIGFS_MAGIC: FsWord = 0x6265_6570;

impl Roots {
    pub fn host() -> Self {
        Self::at("/")
    }

    /// A machine described below `dir`, by `dir/sys`, `dir/proc` and so on.
    pub fn at(dir: impl AsRef<Path>) -> Self {
        let dir = dir.as_ref();
        Self {
            sys: dir.join("sys"),
            proc: dir.join("proc"),
            dev: dir.join("dev"),
            run: dir.join("run"),
            etc: dir.join("etc"),
            config_type: if dir == Path::new("/") {
                CONFIGFS_MAGIC
            } else {
                file_system_type(dir).unwrap_or(CONFIGFS_MAGIC)
            },
        }
    }

    /// Whether a directory really is one of configfs: an empty folder may be mounted over it.
    pub fn is_configfs(&self, dir: &Path) -> bool {
        file_system_type(dir) == Some(self.config_type)
    }

    /// Directory of a block device or partition in sysfs, with links resolved; `None` when there is
    /// no such device. Kernel names carry `!` where the node has `/` (`cciss!c0d0`).
    pub fn block_dir(&self, name: &str) -> Option<PathBuf> {
        let name = name.replace('/', "!");
        if name.is_empty() || name.starts_with('.') {
            return None;
        }
        fs::canonicalize(self.sys.join("class/block").join(name)).ok()
    }

    pub fn block_name(&self, dev: (u32, u32)) -> Option<String> {
        let link = self.sys.join(format!("dev/block/{}:{}", dev.0, dev.1));
        file_name(&fs::canonicalize(link).ok()?)
    }

    pub fn block_number(&self, name: &str) -> Option<(u32, u32)> {
        parse_number_pair(&read_text(self.block_dir(name)?.join("dev"))?)
    }

    /// Name of the driver with this major number: `sd`, `nullb`.
    pub fn block_driver(&self, major: u32) -> Option<String> {
        let table = fs::read_to_string(self.proc.join("devices")).ok()?;
        let (_, block) = table.split_once("Block devices:")?;
        let mut lines = block.lines().filter_map(|line| line.trim().split_once(' '));
        lines.find(|(number, _)| number.parse() == Ok(major)).map(|(_, name)| name.to_string())
    }

    /// Device node of a block device: `/dev/sda`.
    pub fn node(&self, name: &str) -> PathBuf {
        self.dev.join(name.replace('!', "/"))
    }

    /// Kernel name behind a device node such as `/dev/sda1`, `/dev/mapper/root` or `/dev/disk/by-uuid/…`, or a node
    /// made elsewhere; `None` when `node` is not a block device.
    ///
    /// Containers often lack the node of a mounted device; then the name itself is looked up.
    pub fn block_of_node(&self, node: &Path) -> Option<String> {
        let Ok(inside) = node.strip_prefix("/dev") else { return self.block_at(node) };
        let real = self.dev.join(inside);
        if let Some(name) = self.block_at(&real) {
            return Some(name);
        }
        let target = fs::canonicalize(&real).unwrap_or(real);
        let inside = target.strip_prefix(fs::canonicalize(&self.dev).ok()?).unwrap_or(inside);
        let mut parts = inside.iter();
        match (parts.next()?.to_str()?, parts.next().map(|p| p.to_str())) {
            (name, None) => self.block_dir(name).map(|_| name.to_string()),
            ("mapper", Some(Some(label))) => self.mapper_name(label),
            ("cciss" | "ida" | "rd", Some(_)) => {
                let name = inside.to_str()?.replace('/', "!");
                self.block_dir(&name).map(|_| name)
            }
            _ => None,
        }
    }

    fn block_at(&self, node: &Path) -> Option<String> {
        let meta = fs::metadata(node).ok().filter(|meta| meta.file_type().is_block_device())?;
        self.block_name(split_dev(meta.rdev()))
    }

    /// Kernel name (`dm-0`) of the device-mapper device with this label.
    fn mapper_name(&self, label: &str) -> Option<String> {
        list_dir(&self.sys.join("class/block")).into_iter().find(|name| {
            let path = self.sys.join("class/block").join(name).join("dm/name");
            read_text(path).as_deref() == Some(label)
        })
    }
}

/// A small text file without the white space and NUL bytes around its content; `None` when it is
/// absent, unreadable or empty.
pub fn read_text(path: impl AsRef<Path>) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_string())
}

pub fn read_number<T: FromStr>(path: impl AsRef<Path>) -> Option<T> {
    read_text(path)?.parse().ok()
}

pub fn read_u64(path: impl AsRef<Path>) -> Option<u64> {
    read_number(path)
}

/// The choice in brackets: `bfq` of `none mq-deadline [bfq]`.
pub fn active_choice(all: &str) -> String {
    let inside = all.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or_else(|| all.to_string(), |(name, _)| name.to_string())
}

/// Names in a directory, sorted; empty when it is absent.
pub fn list_dir(dir: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.flatten().filter_map(|e| e.file_name().into_string().ok()).collect();
    names.sort();
    names
}

fn file_system_type(path: &Path) -> Option<FsWord> {
    Some(rustix::fs::statfs(path).ok()?.f_type)
}

pub fn file_name(path: &Path) -> Option<String> {
    path.file_name()?.to_str().map(str::to_string)
}

/// `8:1` as a pair.
pub fn parse_number_pair(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Opens a file or device for reading, with further flags; those that would let it be written do not count.
#[expect(clippy::disallowed_methods, reason = "nothing can be written through O_RDONLY")]
pub fn open_to_read(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let writing = OFlags::RWMODE | OFlags::CREATE | OFlags::TRUNC;
    let flags = flags.difference(writing) | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY;
    rustix::fs::open(path, flags, Mode::empty())
}

/// Major and minor number of a device number as `stat` reports it.
pub fn split_dev(dev: u64) -> (u32, u32) {
    (rustix::fs::major(dev), rustix::fs::minor(dev))
}

#[cfg(test)]
mod tests {
    use super::fake::Fake;
    use super::*;

    #[test]
    fn absent_files_are_none_and_texts_are_trimmed() {
        let fake = Fake::new();
        fake.file("sys/a", "  12 \n\0");
        fake.file("sys/empty", "\n");
        assert_eq!(read_text(fake.roots.sys.join("a")).as_deref(), Some("12"));
        assert_eq!(read_u64(fake.roots.sys.join("a")), Some(12));
        assert_eq!(read_text(fake.roots.sys.join("empty")), None);
        assert_eq!(read_text(fake.roots.sys.join("absent")), None);
    }

    #[test]
    fn nodes_names_and_numbers_name_the_same_device() {
        let fake = Fake::new();
        fake.disk("virtual/block/dm-0", (253, 0), 1 << 30);
        fake.file("sys/class/block/dm-0/dm/name", "vg-root");
        fake.disk("pci0000:00/cciss!c0d0", (104, 0), 1 << 30);
        let roots = &fake.roots;
        assert_eq!(roots.block_name((253, 0)).as_deref(), Some("dm-0"));
        assert_eq!(roots.block_number("dm-0"), Some((253, 0)));
        assert_eq!(roots.block_number("cciss/c0d0"), Some((104, 0)));
        assert_eq!(roots.node("cciss!c0d0"), roots.dev.join("cciss/c0d0"));
        assert_eq!(
            roots.block_of_node(Path::new("/dev/cciss/c0d0")).as_deref(),
            Some("cciss!c0d0")
        );
        assert_eq!(roots.block_of_node(Path::new("/dev/dm-0")).as_deref(), Some("dm-0"));
        assert_eq!(roots.block_of_node(Path::new("/dev/mapper/vg-root")).as_deref(), Some("dm-0"));
    }

    #[test]
    fn links_below_dev_are_followed() {
        let fake = Fake::new();
        fake.disk("virtual/block/dm-0", (253, 0), 1 << 30);
        fake.link("dev/vg/root", "../dm-0");
        let name = fake.roots.block_of_node(Path::new("/dev/vg/root"));
        assert_eq!(name.as_deref(), Some("dm-0"));
    }

    #[test]
    fn other_file_has_no_block_device_name() {
        let fake = Fake::new();
        fake.disk("virtual/block/dm-0", (253, 0), 1 << 30);
        for node in ["/dev/absent", "/dev/shm/dm-0", "/dev", "tmpfs", "/home/dm-0", "/dev/.."] {
            assert_eq!(fake.roots.block_of_node(Path::new(node)), None, "{node}");
        }
        assert_eq!(fake.roots.block_dir(".."), None);
        assert_eq!(fake.roots.block_dir(""), None);
    }
}
