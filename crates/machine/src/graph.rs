//! The block devices of this machine and how they lie on each other, as one snapshot.
//!
//! Partitions, device mapper, md, bcache, loop devices over files and devices, file systems on several devices, pools
//! of ZFS, swap areas, and drives on several paths. Asked downwards it tells a [`Stack`], asked sideways and upwards a
//! [`Footprint`]. Whoever decides takes one snapshot for the decision, and another one for the next.

mod btrfs;
mod durability;
mod file_systems;
mod footprint;
mod fstab;
mod node;
mod shared_bytes;
mod stack;
mod system;

pub use footprint::Footprint;
pub use stack::Stack;

use crate::block_device::{Below, BlockDevice};
use crate::identity::ReportedIdentity;
use crate::loop_status::LoopStatus;
use crate::mounts::{Mount, mounts, mounts_of_init, swaps};
use crate::roots::{Roots, list_dir, read_text};
use crate::silent_loops::is_silent;
use crate::udev;
use node::Node;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A snapshot of the block devices and their relations. Loop devices are queried once, when needed.
#[derive(Debug)]
pub struct BlockGraph {
    roots: Roots,
    nodes: BTreeMap<String, Node>,
    mounts: Vec<Mount>,
    /// What the first process sees mounted, where it may be looked at.
    mounts_of_init: Vec<Mount>,
    swap_areas: Vec<PathBuf>,
}

impl BlockGraph {
    pub fn read(roots: &Roots) -> Self {
        let names = list_dir(&roots.sys.join("class/block"));
        let nodes =
            names.into_iter().filter_map(|name| Some((name.clone(), Node::read(roots, &name)?)));
        Self {
            nodes: nodes.collect(),
            mounts: mounts(roots),
            mounts_of_init: mounts_of_init(roots),
            swap_areas: swaps(roots),
            roots: roots.clone(),
        }
    }

    pub fn roots(&self) -> &Roots {
        &self.roots
    }

    pub fn mounts(&self) -> &[Mount] {
        &self.mounts
    }

    /// Swap areas in use: device nodes and files.
    pub fn swap_areas(&self) -> &[PathBuf] {
        &self.swap_areas
    }

    /// Kernel names of all disks, and what looks like one; no partitions.
    pub fn disks(&self) -> impl Iterator<Item = &str> {
        let whole = self.nodes.iter().filter(|(_, node)| node.disk.is_none());
        whole.map(|(name, _)| name.as_str())
    }

    pub fn dir(&self, name: &str) -> Option<&Path> {
        self.node(name).map(|node| node.dir.as_path())
    }

    pub fn is_partition(&self, name: &str) -> bool {
        self.node(name).is_some_and(|node| node.disk.is_some())
    }

    /// The disk of a partition; any other device itself.
    pub fn disk_of(&self, name: &str) -> String {
        self.node(name).and_then(|node| node.disk.clone()).unwrap_or_else(|| name.to_string())
    }

    pub fn partitions(&self, disk: &str) -> Vec<String> {
        let is_on_it = |node: &Node| node.disk.as_deref() == Some(disk);
        let found = self.nodes.iter().filter(|(_, node)| is_on_it(node));
        found.map(|(name, _)| name.clone()).collect()
    }

    pub fn holders(&self, name: &str) -> &[String] {
        self.node(name).map(|node| node.holders.as_slice()).unwrap_or_default()
    }

    /// The bytes of its disk that a partition has; of any other device all of its own.
    pub fn span(&self, name: &str) -> Range<u64> {
        self.node(name).map_or(0..u64::MAX, Node::span)
    }

    /// The part of its file, or of the device it lies straight on, that a loop device shows.
    fn span_below(&self, name: &str) -> Range<u64> {
        self.node(name).map_or(0..u64::MAX, Node::span_below)
    }

    /// The block device that a loop device lies straight on, by its number or, where the loop device cannot be asked,
    /// by the name of its file.
    fn device_of_loop(&self, name: &str) -> Option<String> {
        let path = self.node(name)?.backing_file.as_ref()?;
        match self.loop_status(name) {
            // Its name may be another file's by now, or one on a server that never answers.
            Some(status) => status.block_device.and_then(|number| self.roots.block_name(number)),
            None if is_silent(&self.roots, name) && !path.starts_with("/dev/") => None,
            None => self.roots.block_of_node(Path::new(path)),
        }
    }

    /// The main area of an eMMC of which this is another one: what boots the machine lies in those.
    fn emmc_main_area(&self, name: &str) -> Option<String> {
        let device = BlockDevice::open(&self.roots, name).filter(BlockDevice::is_side_area)?;
        let digits = device.name.strip_prefix("mmcblk")?.find(|c: char| !c.is_ascii_digit())?;
        let main = &device.name[.."mmcblk".len() + digits];
        self.node(main).map(|_| main.to_string())
    }

    /// Other disks that report to be the same drive, as one LUN on two paths is.
    pub fn other_paths_to(&self, disk: &str) -> Vec<String> {
        let Some(ours) = self.reported(disk) else { return Vec::new() };
        let is_it = |other: &&str| {
            *other != disk
                && self.reported(other).is_some_and(|theirs| ours.is_same_drive_as(theirs))
                && !BlockDevice::open(&self.roots, other).is_some_and(|it| it.is_side_area())
        };
        self.disks().filter(is_it).map(str::to_string).collect()
    }

    /// The device-mapper device of a stack that is suspended: readers of anything on it wait, uninterruptibly, until it
    /// is resumed.
    pub fn suspended_in<'s>(&self, stack: &'s Stack) -> Option<&'s str> {
        let is_suspended = |name: &&String| {
            let status = self.dir(name).and_then(|dir| read_text(dir.join("dm/suspended")));
            status.as_deref() == Some("1")
        };
        stack.names.iter().find(is_suspended).map(String::as_str)
    }

    /// Whether two disks are one NVMe namespace behind two controllers: the kernel attaches no second drive with the
    /// identifier of another.
    pub fn is_shared_namespace(&self, one: &str, other: &str) -> bool {
        let identifier = |name: &str| {
            let reported = name.starts_with("nvme").then(|| self.reported(name)).flatten();
            reported.and_then(|it| it.identifier.as_ref())
        };
        identifier(one).is_some_and(|it| identifier(other) == Some(it))
    }

    pub fn pool_of_member(&self, name: &str) -> Option<String> {
        let known = udev::Udev::of(&self.roots, self.roots.block_number(name)?);
        (known.get("ID_FS_TYPE") == Some("zfs_member"))
            .then(|| known.get("ID_FS_LABEL").map(str::to_string))
            .flatten()
    }

    fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.get(name).or_else(|| self.nodes.get(&name.replace('/', "!")))
    }

    fn below(&self, name: &str) -> &Below {
        self.node(name).map_or(&Below::Nothing, |node| &node.below)
    }

    fn loop_status(&self, name: &str) -> Option<LoopStatus> {
        let ask =
            || if is_silent(&self.roots, name) { None } else { LoopStatus::of(&self.roots, name) };
        *self.node(name)?.loop_status.get_or_init(ask)
    }

    fn reported(&self, disk: &str) -> Option<&ReportedIdentity> {
        let read =
            || BlockDevice::open(&self.roots, disk).map(|device| ReportedIdentity::of(&device));
        self.node(disk)?.reported.get_or_init(read).as_ref()
    }
}
