//! What is known without a round: of the target before the first request, of a test that failed.

use crate::error::{BenchError, is_want_of_the_host};
use crate::queue::IoFailure;
use drivescope_drive::Target;
use drivescope_drive::journal::JournalError;
use drivescope_machine::filesystem::FsClass;
use drivescope_machine::{Roots, limits};
use drivescope_model::drive::{Drive, DriveKind};
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::target::TargetKind;

/// What is known before the first request: for the whole run.
pub fn of_target(target: &Target, power_save: Option<String>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut notice = |id, evidence: String| found.push(Finding::new(id, evidence));
    if let Some(evidence) = target.memory_backed() {
        notice(FindingId::MemoryBacked, evidence);
    }
    if let Some(evidence) = target.holes() {
        notice(FindingId::Holes, evidence);
    }
    let info = target.info();
    if let Some(fs) = target.data_system() {
        let at = format!("{} of {}", fs.kind, fs.source);
        match FsClass::of(&fs.kind) {
            FsClass::Network => notice(FindingId::NetworkFs, at),
            FsClass::Fuse => notice(FindingId::FuseFs, at),
            FsClass::Local | FsClass::Memory | FsClass::Overlay => {}
        }
    }
    if let (Some(mount), Some(name), false) =
        (target.loop_system(), target.loop_device(), target.is_simulated())
    {
        let at = format!("the file of {name} is on {} of {}", mount.kind, mount.source);
        let is_network = FsClass::of(&mount.kind) == FsClass::Network;
        notice(if is_network { FindingId::NetworkFs } else { FindingId::FuseFs }, at);
    }
    if let Some(evidence) = &target.stack().overlay {
        notice(FindingId::SharedDrive, evidence.clone());
    }
    if let Some(evidence) = target.unproven() {
        notice(FindingId::Unproven, evidence);
    }
    if let Some(evidence) = target.compression() {
        notice(FindingId::Compression, evidence);
    }
    let shared = target.disks_of_the_system();
    let shared =
        (!shared.is_empty()).then(|| system_disk(&shared, &info.stack, target.loop_device()));
    if let Some(name) =
        info.stack.iter().find(|name| name.starts_with("dm-") || name.starts_with("md"))
    {
        notice(FindingId::SharedDrive, format!("data passes through {name}"));
    }
    if let Some(name) = target.loop_device() {
        let what = match &target.stack().served_model {
            Some(model) => format!("the simulated drive {model}, served in real time"),
            None => "a file presented as a disk".to_string(),
        };
        notice(FindingId::VirtualDrive, format!("{name} is {what}"));
    }
    for evidence in [target.array_at_work(), target.measured_by_others()].into_iter().flatten() {
        notice(FindingId::OtherIo, evidence);
    }
    let networks = target.networks();
    if !networks.is_empty() {
        notice(FindingId::NetworkDrive, format!("data passes through {}", networks.join(", ")));
    }
    of_drive(target.drive(), shared, &mut notice);
    let disks = target.disks();
    disks.iter().for_each(|disk| of_disk(disk, disks.len() > 1, &info.stack, &mut notice));
    if let Some(limits) = limits::io_limits(&Roots::host(), &info.stack) {
        notice(FindingId::IoLimited, limits.evidence);
    }
    if let Some(evidence) = power_save {
        notice(FindingId::PowerSave, evidence);
    }
    found
}

/// Which drives hold the system, and what of them the target is: the system need not lie in that part.
fn system_disk(disks: &[String], stack: &[String], loop_device: Option<&str>) -> String {
    let (disks_text, verb) = (disks.join(", "), if disks.len() == 1 { "holds" } else { "hold" });
    let above: Vec<&str> =
        stack.iter().filter(|name| !disks.contains(name)).map(String::as_str).collect();
    let what = match (loop_device, &above[..]) {
        (_, []) => return format!("{disks_text} {verb} the running system"),
        (Some(name), _) => format!("the file of {name}"),
        (None, above) => above.join(" on "),
    };
    format!("{disks_text} {verb} the running system, and {what} is on it")
}

/// What kind of drive it is, and whether the system is on it: of a virtual machine's only disk, one thing to say.
fn of_drive(
    drive: Option<&Drive>,
    system: Option<String>,
    notice: &mut impl FnMut(FindingId, String),
) {
    let what = match drive.map(|drive| drive.kind) {
        Some(DriveKind::Virtual) => "a virtual machine's disk",
        Some(DriveKind::Composite) => "made of other devices",
        _ => "",
    };
    let name = drive.map_or("", |drive| &drive.name);
    match system {
        Some(system) if what.is_empty() => notice(FindingId::SystemDisk, system),
        Some(system) => notice(FindingId::VirtualDrive, format!("{name} is {what}; {system}")),
        None if what.is_empty() => {}
        None => notice(FindingId::VirtualDrive, format!("{name} is {what}")),
    }
    let zoned = drive.filter(|drive| drive.rotational_hint).and_then(|drive| drive.zoned);
    if let Some(zoned) = zoned {
        notice(FindingId::Shingled, format!("{name} reports {} zones", zoned.name()));
    }
}

/// What is known of one of the disks at the bottom, of which there may be several.
fn of_disk(
    disk: &Drive,
    has_others: bool,
    stack: &[String],
    notice: &mut impl FnMut(FindingId, String),
) {
    if let Some(link) = &disk.link
        && let Some(possible) = &link.possible
    {
        let of = if has_others { format!("{}: ", disk.name) } else { String::new() };
        notice(FindingId::SlowLink, format!("{of}{} where {possible} is possible", link.name));
    }
    let used = |name: &str| stack.iter().any(|s| s == name);
    for part in disk.partitions.iter().filter(|p| p.misaligned_bytes != 0 && used(&p.name)) {
        let evidence = format!(
            "{} starts {} bytes past a physical sector boundary",
            part.name, part.misaligned_bytes
        );
        notice(FindingId::Misaligned, evidence);
    }
}

/// Whether a failed request is the drive's fault: not that a file system was full or a file became smaller, nor
/// that a request was none that the device can do, or never came to it.
fn blames_the_drive(failure: &IoFailure, kind: TargetKind) -> bool {
    let of_a_file = matches!(kind, TargetKind::File | TargetKind::Directory);
    match failure.errno {
        libc::ENOSPC | libc::EDQUOT | libc::EINVAL => false,
        errno if is_want_of_the_host(errno) => false,
        // Cut short.
        0 => !of_a_file,
        _ => true,
    }
}

/// What a failed test says about the drive of a target of this kind.
pub fn of_error(error: &BenchError, kind: TargetKind) -> Option<Finding> {
    match error {
        BenchError::Request { failure, .. } if blames_the_drive(failure, kind) => {
            Some(Finding::new(FindingId::IoError, error.to_string()))
        }
        BenchError::Mismatch { .. } => {
            Some(Finding::new(FindingId::DataMismatch, error.to_string()))
        }
        BenchError::Journal {
            error: JournalError::NotRestored { .. } | JournalError::Unreadable { .. },
            ..
        } => Some(Finding::new(FindingId::IoError, error.to_string())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drive_holds_the_system_and_not_what_is_made_of_its_files() {
        let of = |stack: &[&str], disks: &[&str], loop_device| {
            let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
            system_disk(&owned(disks), &owned(stack), loop_device)
        };
        assert_eq!(of(&["vda"], &["vda"], None), "vda holds the running system");
        assert_eq!(
            of(&["loop7", "vda"], &["vda"], Some("loop7")),
            "vda holds the running system, and the file of loop7 is on it"
        );
        assert_eq!(
            of(&["sda3", "sda"], &["sda"], None),
            "sda holds the running system, and sda3 is on it"
        );
        assert_eq!(
            of(&["md0", "sda1", "sda", "sdb1", "sdb"], &["sda", "sdb"], None),
            "sda, sdb hold the running system, and md0 on sda1 on sdb1 is on it"
        );
    }
}
