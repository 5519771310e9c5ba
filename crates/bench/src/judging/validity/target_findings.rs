//! What is known without a round: of the target before the first request, of a test that failed.

use crate::error::{BenchError, is_want_of_the_host};
use crate::io::queue::IoFailure;
use crate::judging::health;
use drivescope_drive::Target;
use drivescope_drive::gate::WriteError;
use drivescope_drive::journal::JournalError;
use drivescope_machine::filesystem::FsClass;
use drivescope_machine::{Roots, limits};
use drivescope_model::drive::{Drive, DriveKind};
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::target::TargetKind;
use drivescope_sql::SqlError;

/// Known before the first request; for the whole run.
pub fn of_target(target: &Target, power_save: Option<String>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut notice = |id, evidence: Option<String>| {
        found.extend(evidence.map(|evidence| Finding::new(id, evidence)));
    };
    notice(FindingId::MemoryBacked, target.memory_backed());
    notice(FindingId::Holes, target.holes());
    let info = target.info();
    if let Some(fs) = target.data_system() {
        let at = format!("{} of {}", fs.kind, fs.source);
        match FsClass::of(&fs.kind) {
            FsClass::Network => notice(FindingId::NetworkFs, Some(at)),
            FsClass::Fuse => notice(FindingId::FuseFs, Some(at)),
            FsClass::Local | FsClass::Memory | FsClass::Overlay => {}
        }
    }
    if let (Some(mount), Some(name), false) =
        (target.loop_system(), target.loop_device(), target.is_simulated())
    {
        let at = format!("the file of {name} is on {} of {}", mount.kind, mount.source);
        let is_network = FsClass::of(&mount.kind) == FsClass::Network;
        notice(if is_network { FindingId::NetworkFs } else { FindingId::FuseFs }, Some(at));
    }
    notice(FindingId::SharedDrive, target.stack().overlay.clone());
    notice(FindingId::Unproven, target.unproven());
    notice(FindingId::Compression, target.compression());
    let shared = target.disks_of_the_system();
    let shared =
        (!shared.is_empty()).then(|| system_disk(&shared, &info.stack, target.loop_device()));
    let mapped = info.stack.iter().find(|name| name.starts_with("dm-") || name.starts_with("md"));
    notice(FindingId::SharedDrive, mapped.map(|name| format!("data passes through {name}")));
    let of_loop = target.loop_device().map(|name| match &target.stack().served_model {
        Some(model) => format!("{name} is the simulated drive {model}, served in real time"),
        None => format!("{name} is a file presented as a disk"),
    });
    notice(FindingId::OtherIo, target.array_at_work());
    notice(FindingId::OtherIo, target.measured_by_others());
    let networks = target.networks();
    let passes = format!("data passes through {}", networks.join(", "));
    notice(FindingId::NetworkDrive, (!networks.is_empty()).then_some(passes));
    if let Some((id, evidence)) = no_drive_of_its_own(of_loop, target.drive(), shared) {
        notice(id, Some(evidence));
    }
    let zoned = target.drive().filter(|drive| drive.rotational_hint);
    if let Some((drive, zoned)) = zoned.and_then(|drive| Some((drive, drive.zoned?))) {
        let evidence = format!("{} reports {} zones", drive.name, zoned.name());
        notice(FindingId::Shingled, Some(evidence));
    }
    let disks = target.disks();
    disks.iter().for_each(|disk| of_disk(disk, disks.len() > 1, &info.stack, &mut notice));
    let limits = limits::io_limits(&Roots::host(), &info.stack);
    notice(FindingId::IoLimited, limits.map(|limits| limits.evidence));
    notice(FindingId::PowerSave, power_save);
    found.extend(target.drive().iter().flat_map(|drive| health::before_run(&drive.health)));
    found
}

/// Which drives hold the system, and their part in the target: the system need not lie in that part.
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

/// A target that is not a whole drive: a virtual machine's disk, made of others, a file, or shared with the running
/// system. The most telling has a finding, which names the others: their remedy is the same.
fn no_drive_of_its_own(
    of_loop: Option<String>,
    drive: Option<&Drive>,
    system: Option<String>,
) -> Option<(FindingId, String)> {
    let of_drive = drive.and_then(|drive| match drive.kind {
        DriveKind::Virtual => Some(format!("{} is a virtual machine's disk", drive.name)),
        DriveKind::Composite => Some(format!("{} is made of other devices", drive.name)),
        _ => None,
    });
    let id = match (&of_loop, &of_drive) {
        (None, None) => FindingId::SystemDisk,
        _ => FindingId::VirtualDrive,
    };
    let all: Vec<String> = [of_loop, of_drive, system].into_iter().flatten().collect();
    (!all.is_empty()).then(|| (id, all.join("; ")))
}

/// Findings about one of the disks at the bottom.
fn of_disk(
    disk: &Drive,
    has_others: bool,
    stack: &[String],
    notice: &mut impl FnMut(FindingId, Option<String>),
) {
    if let Some(link) = &disk.link
        && let Some(possible) = &link.possible
    {
        let of = if has_others { format!("{}: ", disk.name) } else { String::new() };
        let evidence = format!("{of}{} where {possible} is possible", link.name);
        notice(FindingId::SlowLink, Some(evidence));
    }
    let used = |name: &str| stack.iter().any(|s| s == name);
    for part in disk.partitions.iter().filter(|p| p.misaligned_bytes != 0 && used(&p.name)) {
        let evidence = format!(
            "{} starts {} bytes past a physical sector boundary",
            part.name, part.misaligned_bytes
        );
        notice(FindingId::Misaligned, Some(evidence));
    }
}

/// Whether a failed request is the drive's fault: not a full file system, a file that became smaller, a request
/// that the device cannot do or that never came to it.
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

pub fn of_error(error: &BenchError, kind: TargetKind) -> Option<Finding> {
    let id = match error {
        BenchError::Request { failure, .. } if blames_the_drive(failure, kind) => {
            FindingId::IoError
        }
        BenchError::Drive(error) if error.is_io_failure() => FindingId::IoError,
        BenchError::Raw(WriteError::Io { .. }) | BenchError::Sql(SqlError::Device { .. }) => {
            FindingId::IoError
        }
        BenchError::Mismatch { .. } => FindingId::DataMismatch,
        BenchError::Journal {
            error: JournalError::NotRestored { .. } | JournalError::Unreadable { .. },
            ..
        } => FindingId::IoError,
        _ => return None,
    };
    Some(Finding::new(id, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run_target;
    use drivescope_drive::{DriveError, ErrorKind};
    use drivescope_model::options::DatabaseKind;
    use rustix::io::Errno;
    use std::path::{Path, PathBuf};

    #[test]
    fn target_below_a_whole_drive_has_one_finding() {
        let target = run_target("sim:wd40efrx");
        let like = target.drive().unwrap();
        let kind = |kind| Drive { name: "vda".to_string(), kind, ..like.clone() };
        let (disk, guest) = (kind(DriveKind::Ssd), kind(DriveKind::Virtual));
        let (array, file) = (kind(DriveKind::Composite), Some("loop7 is a file".to_string()));
        let system = Some("vda holds the running system".to_string());
        let (shared, is_virtual) = (FindingId::SystemDisk, FindingId::VirtualDrive);
        let (guests, systems) = ("vda is a virtual machine's disk", "vda holds the running system");
        for (of_loop, drive, system, expected) in [
            (None, &disk, None, None),
            (None, &disk, system.clone(), Some((shared, systems.to_string()))),
            (None, &guest, None, Some((is_virtual, guests.to_string()))),
            (None, &guest, system.clone(), Some((is_virtual, format!("{guests}; {systems}")))),
            (
                file.clone(),
                &disk,
                system.clone(),
                Some((is_virtual, format!("loop7 is a file; {systems}"))),
            ),
            (
                file,
                &array,
                system,
                Some((
                    is_virtual,
                    format!("loop7 is a file; vda is made of other devices; {systems}"),
                )),
            ),
        ] {
            assert_eq!(no_drive_of_its_own(of_loop, Some(drive), system), expected);
        }
    }

    #[test]
    fn only_the_drive_itself_holds_the_system() {
        fn owned(names: &[&str]) -> Vec<String> {
            names.iter().map(ToString::to_string).collect()
        }
        for (stack, disks, loop_device, said) in [
            (&["vda"][..], &["vda"][..], None, "vda holds the running system"),
            (
                &["loop7", "vda"],
                &["vda"],
                Some("loop7"),
                "vda holds the running system, and the file of loop7 is on it",
            ),
            (&["sda3", "sda"], &["sda"], None, "sda holds the running system, and sda3 is on it"),
            (
                &["md0", "sda1", "sda", "sdb1", "sdb"],
                &["sda", "sdb"],
                None,
                "sda, sdb hold the running system, and md0 on sda1 on sdb1 is on it",
            ),
        ] {
            assert_eq!(system_disk(&owned(disks), &owned(stack), loop_device), said);
        }
    }

    #[test]
    fn failed_files_and_databases_blame_the_drive() {
        fn drive(errno: Errno) -> DriveError {
            DriveError::from_errno("read", Path::new("/mnt/a"), errno)
        }
        let path = PathBuf::from("/mnt/a");
        let device =
            SqlError::Device { database: DatabaseKind::Sqlite, why: "malformed".to_string() };
        for (error, blamed) in [
            (BenchError::Drive(drive(Errno::IO)), true),
            (BenchError::Drive(DriveError::CutShort { path, at: 1, size: 2 }), true),
            (BenchError::Drive(drive(Errno::NOSPC)), false),
            (BenchError::Drive(drive(Errno::MFILE)), false),
            (BenchError::Source(drive(Errno::IO)), false),
            (BenchError::Sql(device), true),
            (BenchError::Sql(SqlError::Usage(String::new())), false),
        ] {
            let finding = of_error(&error, TargetKind::Directory);
            assert_eq!(finding.map(|it| it.id), blamed.then_some(FindingId::IoError), "{error}");
        }
        let source = BenchError::Source(drive(Errno::IO));
        assert_eq!(source.kind(TargetKind::Directory), ErrorKind::Device);
    }

    #[test]
    fn drive_is_blamed_only_for_its_failures() {
        use TargetKind::{Block, Directory, File};
        for (errno, write, kind, blamed) in [
            (libc::EIO, false, File, true),
            (libc::EIO, true, Directory, true),
            (libc::ENOSPC, true, Directory, false),
            (libc::EINVAL, false, Block, false),
            // Cut short: a file system that is full, a file that became smaller, a drive that ends early.
            (0, true, Directory, false),
            (0, false, File, false),
            (0, false, Block, true),
            // Never came to a drive: io_uring that was allowed no thread.
            (libc::ECANCELED, true, Directory, false),
            (libc::ENOMEM, false, Block, false),
        ] {
            let failure = IoFailure { errno, offset: 4096, len: 4096, write };
            let found = of_error(&BenchError::Request { failure, count: 1 }, kind);
            assert_eq!(found.is_some(), blamed, "{errno} {write} {kind:?}");
        }
    }
}
