//! Who the opened device is, and whether it still is.

use super::checks::{ok, refused};
use super::kernel_calls::{DescriptorFacts, DeviceNode};
use drivescope_machine::block_device::disk_of_partition;
use drivescope_machine::identity::{Difference, DriveIdentity, names_of};
use drivescope_machine::roots::{Roots, list_dir, read_u64};
use drivescope_model::gate::{Check, DeviceIdentity};
use drivescope_model::units::Bytes;

/// The identity of an open device: sizes from its descriptor, names from the kernel's directory of
/// the number that the descriptor reports.
///
/// `None` when sysfs does not know the number: such a device cannot be judged.
pub(super) fn read(
    roots: &Roots,
    node: &DeviceNode,
    facts: &DescriptorFacts,
) -> Option<DeviceIdentity> {
    let name = roots.block_name(facts.number)?;
    let dir = roots.block_dir(&name)?;
    let [model, serial, wwn] = names_of(roots, &name);
    Some(DeviceIdentity {
        path: node.node.to_string_lossy().into_owned(),
        partition_of: disk_of_partition(&dir),
        number: format!("{}:{}", facts.number.0, facts.number.1),
        size_bytes: facts.size_bytes,
        logical_sector_bytes: facts.logical_sector_bytes,
        physical_sector_bytes: facts.physical_sector_bytes,
        model,
        serial,
        own_serial: None,
        wwn,
        disk_sequence: facts.disk_sequence,
        has_double: has_double(roots, &name),
        name,
    })
}

/// Whether another disk says what this one, or the disk of this partition, says of itself. A hidden one is a path
/// to an NVMe namespace (`nvme0c0n1`), which no program can open.
fn has_double(roots: &Roots, name: &str) -> bool {
    let says = |name: &str| {
        let [model, serial, _] = names_of(roots, name);
        let size = || read_u64(roots.block_dir(name)?.join("size"));
        match serial {
            Some(serial) => Some((serial, None)),
            None => Some((model?, size())),
        }
    };
    let disk = roots.block_dir(name).and_then(|dir| disk_of_partition(&dir));
    let disk = disk.as_deref().unwrap_or(name);
    let is_hidden = |name: &String| {
        roots.block_dir(name).is_some_and(|dir| read_u64(dir.join("hidden")) == Some(1))
    };
    let all = list_dir(&roots.sys.join("block")).into_iter();
    let others = all.filter(|other| other != disk && !is_hidden(other));
    says(disk)
        .is_some_and(|ours| others.into_iter().any(|other| says(&other).as_ref() == Some(&ours)))
}

/// The check `identity`: descriptor and sysfs must show the same device.
pub(super) fn check(roots: &Roots, device: &DeviceIdentity) -> Check {
    let said = [
        ("serial", &device.serial),
        ("the drive's own serial", &device.own_serial),
        ("wwn", &device.wwn),
    ];
    let said =
        said.into_iter().filter_map(|(what, value)| Some(format!(", {what} {}", value.as_ref()?)));
    let model = device.model.as_deref().unwrap_or("no model");
    let evidence = format!(
        "{} {}, {model}{}, {}",
        device.name,
        device.number,
        said.collect::<String>(),
        Bytes(device.size_bytes)
    );
    let command = format!("lsblk --bytes --output NAME,MAJ:MIN,SIZE,MODEL,SERIAL {}", device.path);
    match contradiction(roots, device) {
        Some(why) => refused("identity", format!("{evidence}; {why}"), &command),
        None => ok("identity", evidence),
    }
}

/// What sysfs reports otherwise than the descriptor.
fn contradiction(roots: &Roots, device: &DeviceIdentity) -> Option<String> {
    let dir = roots.block_dir(&device.name)?;
    let size = read_u64(dir.join("size"))?.saturating_mul(512);
    if size != device.size_bytes {
        return Some(format!(
            "its size is changing: {} bytes when opened, {size} in sysfs; wait until it is ready",
            device.size_bytes
        ));
    }
    let disk = if device.partition_of.is_some() { dir.parent()?.to_path_buf() } else { dir };
    let sequence = read_u64(disk.join("diskseq"))?;
    (device.disk_sequence.is_some_and(|ours| ours != sequence))
        .then(|| "the medium was changed; see drivescope list".to_string())
}

/// In which way `now` is not the device that `then` was, in words.
pub(super) fn difference(then: &DeviceIdentity, now: &DeviceIdentity) -> Option<String> {
    fn text(value: &Option<String>) -> String {
        value.clone().unwrap_or_else(|| "none".to_string())
    }
    fn sectors(device: &DeviceIdentity) -> String {
        format!("{}/{}", device.logical_sector_bytes, device.physical_sector_bytes)
    }
    fn words(what: &str, one: &str, two: &str) -> String {
        format!("its {what} was {one}, now {two}")
    }
    fn sequence(device: &DeviceIdentity) -> String {
        text(&device.disk_sequence.map(|n| n.to_string()))
    }
    let drives = DriveIdentity::from(then).compare(&DriveIdentity::from(now));
    if let Some(difference) = drives.difference() {
        return Some(match difference {
            Difference::Value { what, own, other } => words(what, own, other),
            Difference::TakenPlace(words) => words.clone(),
        });
    }
    // In the moment between two looks also this stays as it is.
    [
        ("world-wide name", text(&then.wwn), text(&now.wwn)),
        ("device number", then.number.clone(), now.number.clone()),
        ("name", then.name.clone(), now.name.clone()),
        ("disk sequence", sequence(then), sequence(now)),
        ("sectors", sectors(then), sectors(now)),
    ]
    .into_iter()
    .find(|(_, one, two)| one != two)
    .map(|(what, one, two)| words(what, &one, &two))
}
