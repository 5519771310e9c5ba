//! Machines described in a temporary directory, for tests.

#![expect(clippy::unwrap_used, reason = "a test that cannot make its machine fails")]
#![expect(clippy::disallowed_methods, reason = "a machine is made of files")]
#![expect(clippy::new_without_default, reason = "a machine is made, not assumed")]

use super::Roots;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A device of zeroes with these bytes at their places.
pub fn image(size_bytes: u64, parts: &[(u64, &[u8])]) -> File {
    let file = tempfile::tempfile().unwrap();
    file.set_len(size_bytes).unwrap();
    for (at, bytes) in parts {
        file.write_all_at(bytes, *at).unwrap();
    }
    file
}

/// A machine described below a temporary directory, which is removed with it.
pub struct Fake {
    dir: TempDir,
    pub roots: Roots,
}

impl Fake {
    /// A machine with the disks `sda` and `sdb` of 8 GiB, two partitions of 1 MiB on each.
    pub fn two_disks() -> Self {
        let fake = Self::new();
        for (letter, minor) in [("a", 0), ("b", 16)] {
            let name = format!("sd{letter}");
            fake.disk(&format!("pci0000:00/block/{name}"), (8, minor), 8 << 30);
            fake.partition(&name, 1, (8, minor + 1), 2048, 2048);
            fake.partition(&name, 2, (8, minor + 2), 4096, 2048);
        }
        fake
    }

    /// A machine without any device; `/` is nowhere.
    pub fn new() -> Self {
        // In memory where there is a place for that: tables of machines make hundreds of thousands of files.
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let roots = Roots::at(dir.path());
        for part in [&roots.sys, &roots.proc, &roots.dev, &roots.run, &roots.etc] {
            fs::create_dir_all(part).unwrap();
        }
        Self { dir, roots }
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    /// Writes a file, making its directories; links in the path are followed.
    pub fn file(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub fn link(&self, path: &str, target: impl AsRef<Path>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    /// A whole disk at `sys/devices/PLACE`; its name is the last component of `place`.
    pub fn disk(&self, place: &str, dev: (u32, u32), size_bytes: u64) {
        let name = place.rsplit('/').next().unwrap();
        self.node(place, name, dev, size_bytes);
        self.link(&format!("sys/block/{name}"), self.path(&format!("sys/devices/{place}")));
        self.attrs(
            name,
            &[
                ("removable", "0"),
                ("ro", "0"),
                ("alignment_offset", "0"),
                ("queue/logical_block_size", "512"),
                ("queue/physical_block_size", "4096"),
                ("queue/rotational", "0"),
                ("queue/scheduler", "[none] mq-deadline"),
                ("queue/write_cache", "write back"),
            ],
        );
        fs::create_dir_all(self.path(&format!("sys/devices/{place}/slaves"))).unwrap();
    }

    /// A SCSI disk, whose `device` link names the directory two levels up.
    pub fn scsi_disk(&self, place: &str, dev: (u32, u32), size_bytes: u64) {
        self.disk(place, dev, size_bytes);
        self.link(&format!("sys/devices/{place}/device"), "../..");
    }

    /// A partition of `disk` at these 512-byte sectors.
    pub fn partition(
        &self,
        disk: &str,
        number: u32,
        dev: (u32, u32),
        start_sectors: u64,
        sectors: u64,
    ) {
        let dir = self.roots.block_dir(disk).unwrap();
        let place = dir.strip_prefix(self.roots.sys.canonicalize().unwrap().join("devices"));
        let glue = if disk.ends_with(|c: char| c.is_ascii_digit()) { "p" } else { "" };
        let name = format!("{disk}{glue}{number}");
        self.node(&format!("{}/{name}", place.unwrap().display()), &name, dev, sectors * 512);
        self.attrs(
            &name,
            &[
                ("partition", &number.to_string()),
                ("start", &start_sectors.to_string()),
                ("ro", "0"),
            ],
        );
    }

    /// A device without hardware on top of `below`, as device mapper and md make them.
    pub fn upper(&self, name: &str, dev: (u32, u32), size_bytes: u64, below: &[&str]) {
        self.disk(&format!("virtual/block/{name}"), dev, size_bytes);
        self.slaves(name, below);
    }

    /// A loop device over a file, or straight on a device.
    pub fn loop_device(&self, minor: u32, size_bytes: u64, file: &str) {
        let name = format!("loop{minor}");
        self.disk(&format!("virtual/block/{name}"), (7, minor), size_bytes);
        self.attrs(&name, &[("loop/backing_file", file)]);
    }

    pub fn attrs(&self, name: &str, attrs: &[(&str, &str)]) {
        for (attr, value) in attrs {
            self.file(&format!("sys/class/block/{name}/{attr}"), format!("{value}\n"));
        }
    }

    /// Puts `name` on top of `below`, as device mapper and md do.
    pub fn slaves(&self, name: &str, below: &[&str]) {
        for lower in below {
            let target = self.roots.block_dir(lower).unwrap();
            self.link(&format!("sys/class/block/{name}/slaves/{lower}"), target);
        }
    }

    pub fn mounts(&self, lines: &[&str]) {
        self.file("proc/self/mountinfo", lines.join("\n") + "\n");
    }

    /// What all block devices have: directory, links by name and number, node.
    fn node(&self, place: &str, name: &str, dev: (u32, u32), size_bytes: u64) {
        let number = format!("{}:{}", dev.0, dev.1);
        self.file(&format!("sys/devices/{place}/dev"), format!("{number}\n"));
        self.file(&format!("sys/devices/{place}/size"), format!("{}\n", size_bytes / 512));
        let target = self.path(&format!("sys/devices/{place}"));
        self.link(&format!("sys/class/block/{name}"), &target);
        self.link(&format!("sys/dev/block/{number}"), &target);
        self.file(&format!("dev/{}", name.replace('!', "/")), "");
    }
}
