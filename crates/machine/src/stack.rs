//! From what the user names down to the drives: partitions, device mapper, md, bcache, loop devices,
//! and file systems on several devices.

mod btrfs;
mod configured;
mod durable;
mod overlay;

use crate::backing_file::{Kernels, lower_device};
use crate::filesystem::FsClass;
use crate::list::udev;
use crate::mounts::{Mount, mount_at, mount_of, mounts, mounts_of_init, swaps};
use crate::roots::{Roots, file_name, list_dir, read_text, split_dev};
use crate::served::served_model;
use overlay::Layers;
pub use overlay::file_below;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Places whose drives the running system cannot do without. The last three are bind mounts from
/// the host's drive in most containers, whose `/` is an overlay that names no device.
const SYSTEM_PLACES: [&str; 8] =
    ["/", "/boot", "/efi", "/esp", "/usr", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf"];

/// What starts the machine may be mounted deeper (`/boot/efi`, a Raspberry Pi's `/boot/firmware`).
const BOOT: &str = "/boot";

fn is_place_of_the_system(place: &Path) -> bool {
    place.starts_with(BOOT) || SYSTEM_PLACES.iter().any(|known| Path::new(known) == place)
}

/// The block devices below something.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stack {
    /// Kernel names from the top: `dm-0`, `md0`, `sda1`, `sda`. A device comes before those below
    /// it, and only once.
    pub names: Vec<String>,
    /// Those of `names` at the bottom, with nothing below them that the kernel shows.
    pub whole_disks: Vec<String>,
    /// Why a part of it lives in memory, when it does: `zram0 is compressed memory`,
    /// `loop3 is a file on tmpfs /dev/shm`.
    pub memory_backed: Option<String>,
    /// Why what was synced to a part of it may not last, if so: `/mnt is mounted with nobarrier, …`.
    pub unsynced: Option<String>,
    /// What an overlay in between does with the data, when [`stack_of_data`] met one.
    pub overlay: Option<String>,
    /// Where the data lie in the lowermost layer of overlays that [`stack_of_data`] could see.
    pub layer: Option<PathBuf>,
    /// The file system that has the file of a loop device, where a network or a program in user space answers.
    pub loop_system: Option<Mount>,
    /// Name of the model, when a part of it is a simulated drive that `sim mount` serves.
    pub served_model: Option<String>,
}

/// What lies below the block device with this number; empty when there is none.
pub fn stack_of_device(roots: &Roots, dev: (u32, u32)) -> Stack {
    roots.block_name(dev).map(|name| stack_of_name(roots, &name)).unwrap_or_default()
}

/// What lies below the block device with this kernel name, itself included; empty when there is
/// none.
pub fn stack_of_name(roots: &Roots, name: &str) -> Stack {
    let table = mounts(roots);
    let mut walk = Walk::new(roots, &table);
    walk.device(name);
    walk.stack
}

/// What lies below a mounted file system.
pub fn stack_of_mount(roots: &Roots, mount: &Mount) -> Stack {
    let table = mounts(roots);
    let mut walk = Walk::new(roots, &table);
    walk.mount(mount);
    walk.stack
}

/// What lies below an existing path: a block device itself, or what holds a directory or file.
/// Empty when the path cannot be looked at.
pub fn stack_of_path(roots: &Roots, path: &Path) -> Stack {
    stack_below(roots, path, |walk, mount, _, _| {
        walk.mount(mount);
    })
}

/// The same of the data of a path only: of an overlay, the one layer into which a directory's new files go, or
/// that has a file. Nothing where that layer cannot be seen, as in a container.
pub fn stack_of_data(roots: &Roots, path: &Path) -> Stack {
    stack_below(roots, path, |walk, mount, path, is_dir| {
        walk.devices_of = devices_with_data;
        walk.data(mount, path, is_dir);
    })
}

/// What lies below an existing path; `walk` goes on from the mount that holds a directory or file, given its path
/// with links resolved and whether it is a directory.
fn stack_below(
    roots: &Roots,
    path: &Path,
    walk: impl FnOnce(&mut Walk<'_>, &Mount, &Path, bool),
) -> Stack {
    let Ok(path) = fs::canonicalize(path) else { return Stack::default() };
    let Ok(meta) = fs::metadata(&path) else { return Stack::default() };
    if meta.file_type().is_block_device() {
        return stack_of_device(roots, split_dev(meta.rdev()));
    }
    let table = mounts(roots);
    let mut below = Walk::new(roots, &table);
    if let Some(mount) = mount_of(&table, &path, split_dev(meta.dev())) {
        walk(&mut below, mount, &path, meta.is_dir());
    }
    below.stack
}

/// The drives at the bottom of `/`, `/boot`, `/usr` and the swap areas, sorted; what the first
/// process sees counts too, so that a container does not hide them.
pub fn system_disks(roots: &Roots) -> Vec<String> {
    let disks: BTreeSet<String> =
        system_stacks(roots).into_iter().flat_map(|stack| stack.whole_disks).collect();
    disks.into_iter().collect()
}

/// Every block device below what [`system_disks`] looks at, from the top to the drives.
pub fn system_devices(roots: &Roots) -> BTreeSet<String> {
    system_stacks(roots).into_iter().flat_map(|stack| stack.names).collect()
}

/// What lies below the system, as this process and the first one see it, and what is mounted for it on demand.
fn system_stacks(roots: &Roots) -> Vec<Stack> {
    let below = |table: Vec<Mount>| {
        let mut walk = Walk::new(roots, &table);
        let of_boot = table.iter().filter(|mount| mount.mount_point.starts_with(BOOT));
        let places = SYSTEM_PLACES.iter().filter_map(|place| mount_at(&table, Path::new(place)));
        for mount in places.chain(of_boot) {
            walk.mount(mount);
        }
        for area in swaps(roots) {
            match roots.block_of_node(&area) {
                Some(name) => walk.device(&name),
                None => walk.file(&area),
            };
        }
        walk.stack
    };
    let own = mounts(roots);
    let waiting = configured::devices(roots, &own);
    let waiting = waiting.iter().map(|name| stack_of_name(roots, name)).collect::<Vec<_>>();
    [own, mounts_of_init(roots)].into_iter().map(below).chain(waiting).collect()
}

/// Kernel names of the devices a mounted file system is on, its journal included, without what lies below them.
pub fn devices_of_mount(roots: &Roots, mount: &Mount) -> Vec<String> {
    let mut names = devices_with_data(roots, mount);
    for beside in devices_beside(roots, mount, &names) {
        if !names.contains(&beside) {
            names.push(beside);
        }
    }
    names
}

/// Other devices of a file system that the mount table has on one: XFS names that of its log and that for files
/// in real time, ext4 the one of its journal by the thread that writes it (`jbd2/sdb1`; `jbd2/sda1-8` is a journal
/// of its own).
fn devices_beside(roots: &Roots, mount: &Mount, names: &[String]) -> Vec<String> {
    match mount.kind.as_str() {
        "xfs" => {
            let named = ["logdev", "rtdev"].iter().filter_map(|key| mount.option(key));
            named.filter_map(|node| roots.block_of_node(Path::new(&node))).collect()
        }
        "ext3" | "ext4" => {
            let thread = |name: &String| {
                let task = read_text(roots.sys.join("fs/ext4").join(name).join("journal_task"))?;
                let called = read_text(roots.proc.join(task).join("comm"))?;
                let device = called.strip_prefix("jbd2/")?.to_string();
                roots.block_dir(&device).map(|_| device)
            };
            names.iter().filter_map(thread).collect()
        }
        _ => Vec::new(),
    }
}

/// Kernel names of the devices that have the files of a mounted file system.
pub fn devices_with_data(roots: &Roots, mount: &Mount) -> Vec<String> {
    // Anonymous numbers have major 0; then the source names a device, or nothing does.
    if mount.dev.0 != 0
        && let Some(name) = roots.block_name(mount.dev)
    {
        return vec![name];
    }
    if mount.kind == "zfs" {
        let pool = mount.source.split('/').next().unwrap_or_default();
        return udev::devices_labelled(roots, "zfs_member", pool);
    }
    // bcachefs names all its devices, joined with colons.
    let named: Vec<String> = mount
        .source
        .split(if mount.kind == "bcachefs" { ':' } else { '\0' })
        .filter_map(|node| roots.block_of_node(Path::new(node)))
        .collect();
    match named.as_slice() {
        [name] if mount.kind == "btrfs" => btrfs::devices_beside(roots, name),
        [] if mount.kind == "btrfs" => btrfs::devices_of_unnamed(roots, mount),
        _ => named,
    }
}

/// Mount tables in which files that the kernel names by their path are looked for: our own, and that of the first
/// process, because the kernel gives paths of the host to a container too.
pub struct FileTables([Vec<Mount>; 2]);

impl FileTables {
    /// As they are now.
    pub fn read(roots: &Roots) -> Self {
        Self([mounts(roots), mounts_of_init(roots)])
    }

    /// Kernel names of the devices of the file system that has this file, without what lies below them.
    pub fn devices_of(&self, roots: &Roots, file: &Path) -> Vec<String> {
        let holding = self.0.iter().filter_map(|table| mount_at(table, file));
        let mut names: Vec<String> =
            holding.flat_map(|mount| devices_of_mount(roots, mount)).collect();
        names.sort();
        names.dedup();
        names
    }
}

/// What is directly below a block device.
#[derive(Debug, PartialEq, Eq)]
pub enum Below {
    /// Other block devices.
    Devices(Vec<String>),
    /// The file of a loop device.
    File(PathBuf),
    /// Nothing that the kernel shows.
    Nothing,
}

/// What is directly below the block device with directory `dir`.
pub fn below(dir: &Path) -> Below {
    if dir.join("partition").exists() {
        return Below::Devices(dir.parent().and_then(file_name).into_iter().collect());
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

/// Why the device at the bottom is memory, when it is.
fn memory_evidence(name: &str, dir: &Path) -> Option<String> {
    let numbered = |prefix: &str| {
        name.strip_prefix(prefix)
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
    };
    if numbered("zram") {
        Some(format!("{name} is compressed memory"))
    } else if numbered("ram") {
        Some(format!("{name} is a RAM disk"))
    } else if numbered("nullb") {
        Some(format!("{name} is a null device without a medium"))
    } else if read_text(dir.join("device/model")).as_deref() == Some("scsi_debug") {
        Some(format!("{name} is scsi_debug, a disk in memory"))
    } else {
        None
    }
}

/// Where the file of a loop device is.
enum Place {
    /// On what is mounted there.
    Mount(Mount),
    /// On a file system of the block device with this name, which is not mounted where we see it.
    Device(String),
    /// Nobody can tell.
    Nowhere,
}

/// A walk downwards that collects a [`Stack`].
struct Walk<'a> {
    roots: &'a Roots,
    mounts: &'a [Mount],
    seen_mounts: Vec<u32>,
    /// What counts as the devices of a file system.
    devices_of: fn(&Roots, &Mount) -> Vec<String>,
    stack: Stack,
}

impl<'a> Walk<'a> {
    fn new(roots: &'a Roots, mounts: &'a [Mount]) -> Self {
        let (seen_mounts, stack) = (Vec::new(), Stack::default());
        Self { roots, mounts, seen_mounts, devices_of: devices_of_mount, stack }
    }

    /// A device and all below it, once. Each of these steps tells whether it led to any device.
    fn device(&mut self, name: &str) -> bool {
        let Some(dir) = self.roots.block_dir(name) else { return false };
        if self.stack.names.iter().any(|n| n == name) {
            return true;
        }
        self.stack.names.push(name.to_string());
        let lower_found = match below(&dir) {
            Below::Devices(lower) => self.devices(&lower),
            Below::File(file) => self.loop_file(name, &file),
            Below::Nothing => {
                self.memory(memory_evidence(name, &dir));
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
        if let Some(device) = lower_device(self.roots, name) {
            return self.device(&device);
        }
        match self.place_of(name, file) {
            Place::Mount(mount) if FsClass::of(&mount.kind) == FsClass::Memory => {
                let point = mount.mount_point.display();
                self.memory(Some(format!("{name} is a file on {} {point}", mount.kind)));
                false
            }
            Place::Mount(mount) => {
                if matches!(FsClass::of(&mount.kind), FsClass::Network | FsClass::Fuse) {
                    self.stack.loop_system.get_or_insert_with(|| mount.clone());
                }
                self.mount(&mount)
            }
            Place::Device(device) => self.device(&device),
            Place::Nowhere => {
                let why =
                    format!("the file of {name} lies on a file system that is not seen from here");
                self.stack.unsynced.get_or_insert(why);
                false
            }
        }
    }

    /// Where the file of a loop device is. Its name may be one of another mount namespace, or of what is not
    /// mounted any more, and mean another file here: the device itself tells the number of the file system.
    fn place_of(&self, name: &str, file: &Path) -> Place {
        let named = mount_at(self.mounts, file).cloned();
        let Some((system, inode)) = Kernels::of(self.roots, name).map(|kernels| kernels.file)
        else {
            return named.map_or(Place::Nowhere, Place::Mount);
        };
        let number = split_dev(system);
        let has_number = |mount: &&Mount| mount.dev == number;
        let is_it = || fs::metadata(file).is_ok_and(|it| (it.dev(), it.ino()) == (system, inode));
        if let Some(mount) = named.filter(|mount| has_number(&mount) || is_it()) {
            return Place::Mount(mount);
        }
        let others = mounts_of_init(self.roots);
        let known = self.mounts.iter().chain(&others).find(has_number).cloned();
        let device = || (number.0 != 0).then(|| self.roots.block_name(number)).flatten();
        known.map(Place::Mount).or_else(|| device().map(Place::Device)).unwrap_or(Place::Nowhere)
    }

    /// The file system that holds a file.
    fn file(&mut self, file: &Path) -> bool {
        mount_at(self.mounts, file).is_some_and(|mount| self.mount(mount))
    }

    /// The devices of a file system, and of the layers below an overlay.
    fn mount(&mut self, mount: &Mount) -> bool {
        if let Some(model) = served_model(mount) {
            self.stack.served_model.get_or_insert_with(|| model.to_string());
        }
        if self.stack.unsynced.is_none() {
            self.stack.unsynced = durable::forgets(mount);
        }
        match FsClass::of(&mount.kind) {
            FsClass::Memory => {
                let point = mount.mount_point.display();
                self.memory(Some(format!("{} {point} is memory", mount.kind)));
                false
            }
            FsClass::Overlay => self.overlay(mount),
            _ => self.devices(&(self.devices_of)(self.roots, mount)),
        }
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
            let why = format!("where {point}, an overlay, puts new files is not seen from here");
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
            let unseen = "is an overlay whose layers cannot be seen from here, nor the drive below";
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
