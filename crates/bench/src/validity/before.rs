//! What is known without a round: of the target before the first request, of a test that failed.

use crate::error::BenchError;
use crate::recorder::IoFailure;
use drivescope_drive::Target;
use drivescope_drive::filesystem::FsClass;
use drivescope_drive::journal::JournalError;
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
    if let Some(fs) = &info.file_system {
        let at = format!("{} of {}", fs.kind, fs.source);
        match FsClass::of(&fs.kind) {
            FsClass::Network => notice(FindingId::NetworkFs, at),
            FsClass::Fuse => notice(FindingId::FuseFs, at),
            FsClass::Overlay => notice(FindingId::SharedDrive, at),
            FsClass::Local | FsClass::Memory => {}
        }
    }
    if let Some(evidence) = target.compression() {
        notice(FindingId::Compression, evidence);
    }
    if info.system_disk {
        notice(
            FindingId::SystemDisk,
            format!("{} holds the running system", info.stack.join(" on ")),
        );
    }
    if let Some(name) =
        info.stack.iter().find(|name| name.starts_with("dm-") || name.starts_with("md"))
    {
        notice(FindingId::SharedDrive, format!("the data pass through {name}"));
    }
    if let Some(name) = target.loop_device() {
        let what = match &target.stack().served_model {
            Some(model) => format!("the simulated drive {model}, served in real time"),
            None => "a file shown as a disk".to_string(),
        };
        notice(FindingId::VirtualDrive, format!("{name} is {what}"));
    }
    if let Some(drive) = target.drive() {
        of_drive(drive, &info.stack, &mut notice);
    }
    if let Some(evidence) = power_save {
        notice(FindingId::PowerSave, evidence);
    }
    found
}

fn of_drive(drive: &Drive, stack: &[String], notice: &mut impl FnMut(FindingId, String)) {
    let what = match drive.kind {
        DriveKind::Virtual => Some("a disk of a virtual machine"),
        DriveKind::Composite => Some("made of other devices"),
        _ => None,
    };
    if let Some(what) = what {
        notice(FindingId::VirtualDrive, format!("{} is {what}", drive.name));
    }
    if let Some(link) = &drive.link
        && let Some(possible) = &link.possible
    {
        notice(FindingId::SlowLink, format!("{} where {possible} is possible", link.name));
    }
    let used = |name: &str| stack.iter().any(|s| s == name);
    for part in drive.partitions.iter().filter(|p| p.misaligned_bytes != 0 && used(&p.name)) {
        let evidence =
            format!("{} begins {} bytes past a physical sector", part.name, part.misaligned_bytes);
        notice(FindingId::Misaligned, evidence);
    }
}

/// Whether a failed request is the drive's fault: not that a file system was full or a file became smaller, nor
/// that a request was none that the device can do.
fn blames_the_drive(failure: &IoFailure, kind: TargetKind) -> bool {
    let of_a_file = matches!(kind, TargetKind::File | TargetKind::Directory);
    match failure.errno {
        libc::ENOSPC | libc::EDQUOT | libc::EINVAL => false,
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
