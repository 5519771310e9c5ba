//! Which devices have the files of a mounted file system.

use super::{BlockGraph, btrfs};
use crate::mounts::{Mount, mount_at};
use crate::roots::read_text;
use crate::udev;
use std::path::Path;

impl BlockGraph {
    /// Kernel names of the devices a mounted file system is on, its journal included, without what lies below them.
    pub fn devices_of_mount(&self, mount: &Mount) -> Vec<String> {
        let mut names = self.data_devices(mount);
        for beside in self.log_devices(mount, &names) {
            if !names.contains(&beside) {
                names.push(beside);
            }
        }
        names
    }

    /// Other devices of a file system that the mount table has on one: XFS names its log device and its real-time
    /// device, ext4 the one of its journal by the thread that writes it (`jbd2/sdb1`; `jbd2/sda1-8` is a journal of its
    /// own).
    fn log_devices(&self, mount: &Mount, names: &[String]) -> Vec<String> {
        match mount.kind.as_str() {
            "xfs" => {
                let named = ["logdev", "rtdev"].iter().filter_map(|key| mount.option(key));
                named.filter_map(|node| self.roots.block_of_node(Path::new(&node))).collect()
            }
            "ext3" | "ext4" => {
                let thread = |name: &String| {
                    let task =
                        read_text(self.roots.sys.join("fs/ext4").join(name).join("journal_task"))?;
                    let called = read_text(self.roots.proc.join(task).join("comm"))?;
                    let device = called.strip_prefix("jbd2/")?.to_string();
                    self.roots.block_dir(&device).map(|_| device)
                };
                names.iter().filter_map(thread).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Kernel names of the devices that have the files of a mounted file system.
    pub fn data_devices(&self, mount: &Mount) -> Vec<String> {
        // Anonymous numbers have major 0; then the source names a device, or nothing does.
        if mount.dev.0 != 0
            && let Some(name) = self.roots.block_name(mount.dev)
        {
            return vec![name];
        }
        if mount.kind == "zfs" {
            let pool = mount.source.split('/').next().unwrap_or_default();
            return udev::devices_labelled(&self.roots, "zfs_member", pool);
        }
        // bcachefs names all its devices, joined with colons.
        let named: Vec<String> = mount
            .source
            .split(if mount.kind == "bcachefs" { ':' } else { '\0' })
            .filter_map(|node| self.roots.block_of_node(Path::new(node)))
            .collect();
        match named.as_slice() {
            [name] if mount.kind == "btrfs" => btrfs::devices_beside(&self.roots, name),
            [] if mount.kind == "btrfs" => btrfs::devices_of_unnamed(self, mount),
            _ => named,
        }
    }

    /// Kernel names of the devices of the file system that has this file, without what lies below them. It is looked
    /// for in our own mount table and in that of the first process, because the kernel gives paths of the host to
    /// a container too.
    pub fn devices_of_file(&self, file: &Path) -> Vec<String> {
        let tables = [&self.mounts, &self.mounts_of_init];
        let holding = tables.into_iter().filter_map(|table| mount_at(table, file));
        let mut names: Vec<String> =
            holding.flat_map(|mount| self.devices_of_mount(mount)).collect();
        names.sort();
        names.dedup();
        names
    }
}
