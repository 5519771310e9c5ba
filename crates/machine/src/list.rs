//! Every drive of the machine, from sysfs, the mount table, udev and smartctl.

mod content_type;
mod kind;
pub(crate) mod link;
mod mounted_on;
mod nvme_report;
mod partitions;
mod settings;
pub mod signatures;
mod smart;
mod smart_report;
mod temperature;
mod time_limit;

pub use time_limit::{DRIVE, DriveAnswer, look};

use crate::block_device::{self, Below, BlockDevice};
use crate::graph::BlockGraph;
use crate::identity::ReportedIdentity;
use crate::mounts::{Mount, mount_at};
use crate::patience::PATIENCE;
use crate::roots::{Roots, active_choice, list_dir};
use crate::served::served_model;
use drivescope_model::drive::{Drive, DriveKind, Zoned};
use drivescope_model::health::Health;
use mounted_on::MountedOn;
use smart_report::{Report, json_of, read};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListOptions {
    /// Ask smartctl for the health of drives that have any: up to a second for each, all at once.
    pub smart: bool,
}

impl Default for ListOptions {
    fn default() -> Self {
        Self { smart: true }
    }
}

/// Every drive of the machine, by name with numbers in their order.
///
/// Left out are loop devices without a file, RAM disks and other virtual devices of size 0, paths of
/// multipath NVMe drives (`nvme0c0n1`; the drive itself is listed), and the boot areas of eMMC.
pub fn drives(roots: &Roots, opts: &ListOptions) -> Vec<Drive> {
    let found = Mutex::new(BTreeMap::new());
    each_drive(roots, &drive_names(roots), opts, &|index, answer| {
        found.lock().unwrap_or_else(PoisonError::into_inner).insert(index, answer.drive);
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

/// Describes the drives with these kernel names; `found` receives the index of each as soon as it has answered. One
/// that is slow or never answers delays no other.
pub fn each_drive(
    roots: &Roots,
    names: &[String],
    opts: &ListOptions,
    found: &(dyn Fn(usize, DriveAnswer) + Sync),
) {
    time_limit::describe_each(roots, names, PATIENCE, &|index, mut described| {
        if opts.smart && described.answers {
            let node = roots.node(&described.drive.name);
            add_smart(&mut described.drive, &node);
        }
        found(index, described);
    });
}

/// The drives with these kernel names without asking them: what the kernel and udev report.
pub fn drives_unasked(roots: &Roots, names: &[String]) -> Vec<Drive> {
    time_limit::unasked(roots, names)
}

/// Kernel names of the drives that [`drives`] lists, in its order.
pub fn drive_names(roots: &Roots) -> Vec<String> {
    let mut names = list_dir(&roots.sys.join("block"));
    names.sort_by_key(|name| natural(name));
    names.retain(|name| BlockDevice::open(roots, name).is_some_and(|device| !is_left_out(&device)));
    names
}

/// The drive with this kernel name; `None` for partitions and for names that do not exist.
pub fn drive_named(roots: &Roots, name: &str, opts: &ListOptions) -> Option<Drive> {
    let device = BlockDevice::open(roots, name)?;
    if block_device::disk_of_partition(&device.dir).is_some() {
        return None;
    }
    let names = vec![device.name.clone()];
    let mut described = time_limit::described(roots, names, PATIENCE).pop()?;
    if opts.smart && described.answers {
        add_smart(&mut described.drive, &roots.node(&device.name));
    }
    Some(described.drive)
}

/// The network over which a device of this kernel name is reached; `None` for partitions too.
pub fn network_below(roots: &Roots, name: &str) -> Option<String> {
    let device = BlockDevice::open(roots, name)?;
    let is_whole = !device.dir.join("partition").exists();
    let transport = kind::transport(&device);
    (is_whole && kind::is_network(&transport)).then_some(transport)
}

pub fn is_zfs_volume(name: &str) -> bool {
    block_device::numbered(name, "zd").is_some()
}

pub fn is_on_usb(device: &BlockDevice) -> bool {
    device.usb_device().is_some()
}

/// The drive's temperature now, from a sensor of the kernel; cheap enough to ask during a run.
pub fn temperature_of(roots: &Roots, name: &str) -> Option<f64> {
    temperature::temperature_c(&BlockDevice::open(roots, name)?)
}

pub fn warning_temperature_of(roots: &Roots, name: &str) -> Option<f64> {
    temperature::warning_c(&BlockDevice::open(roots, name)?)
}

fn is_left_out(device: &BlockDevice) -> bool {
    let virtual_and_empty =
        device.size_bytes() == 0 && device.ancestors().any(|dir| dir.ends_with("devices/virtual"));
    let unused_loop = device.name.starts_with("loop") && device.below() == Below::Nothing;
    let hidden = device.attr("hidden").as_deref() == Some("1");
    virtual_and_empty || unused_loop || hidden || device.is_side_area()
}

/// All but the health; without what the drive itself must answer, unless it `answers`.
fn describe(
    graph: &BlockGraph,
    device: &BlockDevice,
    mounted_on: &MountedOn,
    answers: bool,
) -> Drive {
    let identity = ReportedIdentity::of(device);
    let transport = kind::transport(device);
    let kind = kind::kind(device, &transport, &identity);
    let served = served_on(graph.mounts(), device);
    let kind = if served.is_some() { DriveKind::Simulated } else { kind };
    let partitions = partitions::partitions(device, mounted_on, answers);
    let flag = |attr: &str| device.attr(attr).as_deref() == Some("1");
    let sector = |attr: &str| device.number_attr(attr).unwrap_or(512);
    Drive {
        name: device.name.clone(),
        path: device.roots.node(&device.name).to_string_lossy().into_owned(),
        kind,
        // What a hypervisor shows as a link holds nothing back: its SATA says 1.5 Gb/s whatever it carries.
        link: match kind {
            DriveKind::Virtual => None,
            _ => link::link(device, &transport, &identity),
        },
        capacity_bytes: device.size_bytes(),
        transport,
        rotational_hint: flag("queue/rotational"),
        rpm: identity.rpm.filter(|rpm| *rpm > 0),
        zoned: queue_zoned(device).or(identity.zoned),
        logical_sector_bytes: sector("queue/logical_block_size"),
        physical_sector_bytes: sector("queue/physical_block_size"),
        write_cache: device.attr("queue/write_cache"),
        scheduler: device.attr("queue/scheduler").map(|all| active_choice(&all)),
        discards: device.number_attr("queue/discard_max_bytes").map(|bytes: u64| bytes > 0),
        settings: settings::settings(device),
        removable: flag("removable"),
        read_only: flag("ro"),
        temperature_c: answers.then(|| temperature::temperature_c(device)).flatten(),
        health: Health { note: Some("health: not queried".to_string()), ..Health::default() },
        content: if partitions.is_empty() {
            content_type::content(device, mounted_on, answers)
        } else {
            None
        },
        mounts: mounted_on.places(&device.name),
        partitions,
        backing: match device.below() {
            Below::Devices(names) => names,
            Below::File(file) => vec![file.to_string_lossy().into_owned()],
            Below::Nothing => Vec::new(),
        },
        model: identity.model.or(served),
        serial: identity.serial,
        firmware: identity.firmware,
        wwn: identity.wwn,
    }
}

/// Name of the model that `sim mount` shows as this loop device.
fn served_on(table: &[Mount], device: &BlockDevice) -> Option<String> {
    served_model(mount_at(table, &device.backing_file()?)?).map(str::to_string)
}

/// Health, and what smartctl knows better than the kernel. Names and numbers stay as the kernel reports them, so that
/// a drive is the same with and without smartctl.
fn add_smart(drive: &mut Drive, node: &Path) {
    apply(drive, smart::ask(node, drive.kind, &drive.transport));
}

/// The health of a described drive now.
pub fn health_of(roots: &Roots, drive: &Drive) -> Health {
    smart::ask(&roots.node(&drive.name), drive.kind, &drive.transport).health
}

/// Health as it stands in the JSON of smartctl; `None` of anything else.
pub fn health_in(smartctl_json: &[u8]) -> Option<Health> {
    json_of(smartctl_json).map(|json| read(&json).health)
}

fn apply(drive: &mut Drive, report: Report) {
    drive.health = report.health;
    drive.temperature_c = drive.temperature_c.or(report.temperature_c);
    // The drive's own rotation rate corrects the kernel's guess.
    if let (DriveKind::HardDisk | DriveKind::Ssd | DriveKind::Unknown, Some(rpm)) =
        (drive.kind, report.rpm)
    {
        drive.kind = if rpm == 0 { DriveKind::Ssd } else { DriveKind::HardDisk };
        drive.rpm = drive.rpm.or((rpm > 0).then_some(rpm));
    }
}

/// The zones of the whole disk, as the kernel writes to them.
fn queue_zoned(device: &BlockDevice) -> Option<Zoned> {
    let reported = device.attr("queue/zoned")?;
    [Zoned::HostAware, Zoned::HostManaged].into_iter().find(|zoned| zoned.name() == reported)
}

/// The zones that writes to this block device must respect: devices made of others may hide those below. Of a
/// partition, its disk's.
pub fn zoned_of(roots: &Roots, name: &str) -> Option<Zoned> {
    let device = BlockDevice::open(roots, name)?;
    match block_device::disk_of_partition(&device.dir) {
        Some(disk) => queue_zoned(&BlockDevice::open(roots, &disk)?),
        None => queue_zoned(&device),
    }
}

/// A key that puts `sda2` before `sda10` and `sdz` before `sdaa`.
fn natural(name: &str) -> (String, usize, String, u64) {
    let digits = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = name[digits.len()..].parse().unwrap_or(0);
    let family: String = digits.chars().take(2).collect();
    (family, digits.len(), digits.to_string(), number)
}

#[cfg(test)]
mod tests;
