//! From what the user names down to the drives: partitions, device mapper, md, bcache, loop devices,
//! and file systems on several devices.

use super::BlockGraph;
use super::durability::lost_syncs;
use crate::block_device::{Below, BlockDevice, numbered};
use crate::filesystem::FsClass;
use crate::mounts::{Mount, mount_at, mount_of};
use crate::overlay::{self, Layers};
use crate::roots::{Roots, split_dev};
use crate::served::served_model;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stack {
    /// Kernel names from the top: `dm-0`, `md0`, `sda1`, `sda`. A device comes before those below
    /// it, and only once.
    pub names: Vec<String>,
    /// The bottom devices of `names`, with nothing below them that the kernel shows.
    pub whole_disks: Vec<String>,
    /// Why a part of it lives in memory, when it does: `zram0 is compressed memory`,
    /// `loop3 is a file on tmpfs /dev/shm`.
    pub memory_backed: Option<String>,
    /// Why what was synced to a part of it may not last, if so: `/mnt is mounted with nobarrier, …`.
    pub unsynced: Option<String>,
    /// What an overlay in between does with the data, when `stack_of_data` met one.
    pub overlay: Option<String>,
    /// Where the data lie in the lowermost layer of overlays that `stack_of_data` could see.
    pub layer: Option<PathBuf>,
    /// The file system that has the file of a loop device, where a network or a program in user space answers.
    pub loop_system: Option<Mount>,
    /// Name of the model, when a part of it is a simulated drive that `sim mount` serves.
    pub served_model: Option<String>,
}

impl BlockGraph {
    /// What lies below the block device with this kernel name, itself included; empty when there is none.
    pub fn stack_of_device(&self, name: &str) -> Stack {
        let mut walk = Walk::new(self, &self.mounts);
        walk.device(name);
        walk.stack
    }

    /// What lies below an existing path: a block device itself, or what holds a directory or file.
    /// Empty when the path cannot be looked at.
    pub fn stack_of_path(&self, path: &Path) -> Stack {
        self.stack_below(path, |walk, mount, _, _| {
            walk.mount(mount);
        })
    }

    /// The same of the data of a path only: of an overlay, the one layer into which a directory's new files go, or
    /// that has a file. Nothing where that layer cannot be seen, as in a container.
    pub fn stack_of_data(&self, path: &Path) -> Stack {
        self.stack_below(path, |walk, mount, path, is_dir| {
            walk.devices_of = BlockGraph::data_devices;
            walk.data(mount, path, is_dir);
        })
    }

    /// What lies below all of these mounts of a table and these swap areas.
    pub(super) fn stack_of_all<'m>(
        &self,
        table: &[Mount],
        mounts: impl IntoIterator<Item = &'m Mount>,
        swap_areas: &[PathBuf],
    ) -> Stack {
        let mut walk = Walk::new(self, table);
        for mount in mounts {
            walk.mount(mount);
        }
        for area in swap_areas {
            match self.roots.block_of_node(area) {
                Some(name) => walk.device(&name),
                None => walk.file(area),
            };
        }
        walk.stack
    }

    /// What lies below an existing path; `walk` continues from the mount that holds a directory or file, given its path
    /// with links resolved and whether it is a directory.
    fn stack_below(
        &self,
        path: &Path,
        walk: impl FnOnce(&mut Walk<'_>, &Mount, &Path, bool),
    ) -> Stack {
        let Ok(path) = fs::canonicalize(path) else { return Stack::default() };
        let Ok(meta) = fs::metadata(&path) else { return Stack::default() };
        if meta.file_type().is_block_device() {
            let name = self.roots.block_name(split_dev(meta.rdev()));
            return name.map(|name| self.stack_of_device(&name)).unwrap_or_default();
        }
        let mut below = Walk::new(self, &self.mounts);
        if let Some(mount) = mount_of(&self.mounts, &path, split_dev(meta.dev())) {
            walk(&mut below, mount, &path, meta.is_dir());
        }
        below.stack
    }
}

fn memory_evidence(roots: &Roots, name: &str) -> Option<String> {
    let device = BlockDevice::open(roots, name)?;
    let is = |prefix: &str| numbered(name, prefix).is_some();
    if is("zram") {
        Some(format!("{name} is compressed memory"))
    } else if is("ram") {
        Some(format!("{name} is a RAM disk"))
    } else if device.is_null_device() {
        Some(format!("{name} is a null device without a medium"))
    } else if device.attr("device/model").as_deref() == Some("scsi_debug") {
        Some(format!("{name} is scsi_debug, a disk in memory"))
    } else {
        None
    }
}

enum FilePlace {
    Mount(Mount),
    /// On a file system of the block device with this name, which is not mounted where we see it.
    Device(String),
    Nowhere,
}

/// A walk downwards that collects a [`Stack`].
struct Walk<'a> {
    graph: &'a BlockGraph,
    mounts: &'a [Mount],
    seen_mounts: Vec<u32>,
    devices_of: fn(&BlockGraph, &Mount) -> Vec<String>,
    stack: Stack,
}

impl<'a> Walk<'a> {
    fn new(graph: &'a BlockGraph, mounts: &'a [Mount]) -> Self {
        let (seen_mounts, stack) = (Vec::new(), Stack::default());
        Self { graph, mounts, seen_mounts, devices_of: BlockGraph::devices_of_mount, stack }
    }

    /// A device and all below it, once. Each step returns whether it led to any device.
    fn device(&mut self, name: &str) -> bool {
        if self.graph.node(name).is_none() {
            return false;
        }
        if self.stack.names.iter().any(|n| n == name) {
            return true;
        }
        self.stack.names.push(name.to_string());
        let lower_found = match self.graph.below(name) {
            Below::Devices(lower) => self.devices(lower),
            Below::File(file) => self.loop_file(name, file),
            Below::Nothing => {
                self.memory(memory_evidence(&self.graph.roots, name));
                false
            }
        };
        if !lower_found {
            self.stack.whole_disks.push(name.to_string());
        }
        true
    }

    fn devices(&mut self, names: &[String]) -> bool {
        // All of them, not only up to the first that is found.
        let mut found = false;
        for name in names {
            found |= self.device(name);
        }
        found
    }

    /// The file behind a loop device: on a file system, or itself a block device.
    fn loop_file(&mut self, name: &str, file: &Path) -> bool {
        if let Some(device) = self.graph.device_of_loop(name) {
            return self.device(&device);
        }
        match self.place_of(name, file) {
            FilePlace::Mount(mount) if FsClass::of(&mount.kind) == FsClass::Memory => {
                let point = mount.mount_point.display();
                self.memory(Some(format!("{name} is a file on {} {point}", mount.kind)));
                false
            }
            FilePlace::Mount(mount) => {
                if matches!(FsClass::of(&mount.kind), FsClass::Network | FsClass::Fuse) {
                    self.stack.loop_system.get_or_insert_with(|| mount.clone());
                }
                self.mount(&mount)
            }
            FilePlace::Device(device) => self.device(&device),
            FilePlace::Nowhere => {
                let why =
                    format!("the file behind {name} is on a file system not visible from here");
                self.stack.unsynced.get_or_insert(why);
                false
            }
        }
    }

    /// Where the file of a loop device is. Its name may belong to another mount namespace or a former mount, and mean
    /// another file here: the device itself reports the number of the file system.
    fn place_of(&self, name: &str, file: &Path) -> FilePlace {
        let named = mount_at(self.mounts, file).cloned();
        let Some((system, inode)) = self.graph.loop_status(name).map(|status| status.file) else {
            return named.map_or(FilePlace::Nowhere, FilePlace::Mount);
        };
        let number = split_dev(system);
        let has_number = |mount: &&Mount| mount.dev == number;
        let is_it = || fs::metadata(file).is_ok_and(|it| (it.dev(), it.ino()) == (system, inode));
        if let Some(mount) = named.filter(|mount| has_number(&mount) || is_it()) {
            return FilePlace::Mount(mount);
        }
        let known = self.mounts.iter().chain(&self.graph.mounts_of_init).find(has_number).cloned();
        let device = || (number.0 != 0).then(|| self.graph.roots.block_name(number)).flatten();
        known
            .map(FilePlace::Mount)
            .or_else(|| device().map(FilePlace::Device))
            .unwrap_or(FilePlace::Nowhere)
    }

    fn file(&mut self, file: &Path) -> bool {
        mount_at(self.mounts, file).is_some_and(|mount| self.mount(mount))
    }

    /// The devices of a file system, and of the layers below an overlay.
    fn mount(&mut self, mount: &Mount) -> bool {
        if let Some(model) = served_model(mount) {
            self.stack.served_model.get_or_insert_with(|| model.to_string());
        }
        if self.stack.unsynced.is_none() {
            self.stack.unsynced = lost_syncs(mount);
        }
        match FsClass::of(&mount.kind) {
            FsClass::Memory => {
                let point = mount.mount_point.display();
                self.memory(Some(format!("{} {point} is memory", mount.kind)));
                false
            }
            FsClass::Overlay => self.overlay(mount),
            FsClass::Fuse if self.passes_on_memory(mount) => false,
            _ => self.devices(&(self.devices_of)(self.graph, mount)),
        }
    }

    /// Whether a program passes on a directory in memory, by the name it gives. Nothing else is queried: the source may
    /// lie on a server that never answers.
    fn passes_on_memory(&mut self, mount: &Mount) -> bool {
        let source = Path::new(&mount.source);
        let below = mount_at(self.mounts, source).filter(|below| below.id != mount.id);
        let in_memory = below.filter(|below| FsClass::of(&below.kind) == FsClass::Memory);
        let Some(below) = in_memory.filter(|_| source.is_absolute() && source.is_dir()) else {
            return false;
        };
        let (point, kind) = (mount.mount_point.display(), &below.kind);
        self.memory(Some(format!(
            "{point} passes on {}, which {kind} keeps in memory",
            mount.source
        )));
        true
    }

    /// The layers of an overlay: writes go to the upper one, reads come from all.
    fn overlay(&mut self, mount: &Mount) -> bool {
        if self.seen_mounts.contains(&mount.id) {
            return false;
        }
        self.seen_mounts.push(mount.id);
        let Layers { upper, lower } = Layers::of(mount);
        if upper.as_ref().is_some_and(|upper| !overlay::is_seen(upper)) {
            let point = mount.mount_point.display();
            let why =
                format!("{point} is an overlay; its layer for new files is not visible from here");
            self.stack.unsynced.get_or_insert(why);
        }
        let mut found = upper.is_some_and(|upper| self.layer(&upper));
        let evidence = (self.stack.memory_backed.clone(), self.stack.unsynced.clone());
        for dir in lower {
            found |= self.layer(&dir);
        }
        // A lower layer is only read from: where it lies in memory, that does not make the overlay memory.
        (self.stack.memory_backed, self.stack.unsynced) = evidence;
        found
    }

    fn layer(&mut self, dir: &Path) -> bool {
        overlay::is_seen(dir) && self.file(dir)
    }

    /// The devices below the data of `path` on `mount`: of overlays, below the layer that has them.
    fn data(&mut self, mount: &Mount, path: &Path, is_directory: bool) {
        if FsClass::of(&mount.kind) != FsClass::Overlay {
            self.mount(mount);
            return;
        }
        let is_new = !self.seen_mounts.contains(&mount.id);
        self.seen_mounts.push(mount.id);
        let layer = Layers::of(mount).holding(mount, path, is_directory).filter(|_| is_new);
        let point = mount.mount_point.display();
        let Some(layer) = layer else {
            let unseen = "is an overlay; its layers and the drive below are not visible from here";
            self.stack.overlay = Some(format!("{point} {unseen}"));
            return;
        };
        if let Some(below) = mount_at(self.mounts, &layer) {
            self.data(below, &layer, is_directory);
        }
        let on = self.stack.whole_disks.first().map_or(String::new(), |disk| format!(" on {disk}"));
        let does = if is_directory { "new files go to" } else { "the file lies in" };
        self.stack.overlay =
            Some(format!("{point} is an overlay: {does} its layer {}{on}", layer.display()));
        self.stack.layer.get_or_insert(layer);
    }

    fn memory(&mut self, evidence: Option<String>) {
        if self.stack.memory_backed.is_none() {
            self.stack.memory_backed = evidence;
        }
    }
}

#[cfg(test)]
mod tests;
