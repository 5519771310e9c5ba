//! The drives that an agent announces.

use crate::exit::Failure;
use drivescope_drive::Target;
use drivescope_machine::Roots;
use drivescope_machine::list::{ListOptions, drives};
use drivescope_model::drive::{Drive, DriveKind};
use drivescope_model::fleet::FleetDrive;
use drivescope_model::target::TargetKind;
use std::path::{Path, PathBuf};

/// What the command line chooses.
#[derive(Debug, Default)]
pub struct AnnouncedDrives {
    /// These only; empty: all block devices that hold data.
    pub named: Vec<PathBuf>,
    /// Directories for files of tests.
    pub directories: Vec<PathBuf>,
}

impl AnnouncedDrives {
    /// Errors: a named drive or directory cannot be used, which is better known now than at the first job.
    pub fn check(&self) -> Result<(), Failure> {
        for path in self.named.iter().chain(&self.directories) {
            Target::find(path, &Roots::host())?;
        }
        for path in &self.directories {
            let target = Target::find(path, &Roots::host())?;
            if target.info().kind != TargetKind::Directory {
                let message = format!("{} is not a directory: --dir takes one", path.display());
                return Err(Failure::usage(message));
            }
        }
        Ok(())
    }

    /// As they are now; what is gone is left out.
    pub fn look(&self, host_id: &str) -> Vec<FleetDrive> {
        let roots = Roots::host();
        let mut found: Vec<FleetDrive> = if self.named.is_empty() {
            let all = drives(&roots, &ListOptions { smart: false });
            all.iter().filter(|it| holds_data(it)).map(|it| of(it, host_id)).collect()
        } else {
            let named = self.named.iter().filter_map(|path| Target::find(path, &roots).ok());
            named.map(|target| of_target(&target, host_id)).collect()
        };
        for path in &self.directories {
            let Ok(target) = Target::find(path, &roots) else { continue };
            let below = target.drive().map(|drive| drive.name.as_str());
            let text = target.path().to_string_lossy().into_owned();
            match found.iter_mut().find(|drive| below == Some(drive.name.as_str())) {
                Some(drive) => drive.directories.push(text),
                None => {
                    let mut own = of_target(&target, host_id);
                    own.directories.push(text);
                    found.push(own);
                }
            }
        }
        found
    }
}

/// Others are measured where they are named.
fn holds_data(drive: &Drive) -> bool {
    use DriveKind::{Card, HardDisk, Nvme, Ssd, Unknown, Virtual};
    matches!(drive.kind, HardDisk | Ssd | Nvme | Card | Virtual | Unknown)
        && drive.capacity_bytes > 0
}

fn of(drive: &Drive, host_id: &str) -> FleetDrive {
    let of_partitions = drive.partitions.iter().flat_map(|it| &it.mounts);
    let mounts: Vec<&String> = drive.mounts.iter().chain(of_partitions).collect();
    FleetDrive::of(drive, host_id, fill(&mounts))
}

fn of_target(target: &Target, host_id: &str) -> FleetDrive {
    let (info, path) = (target.info(), target.path().to_string_lossy().into_owned());
    let mut found = match target.drive() {
        Some(drive) => of(drive, host_id),
        None => FleetDrive {
            key: format!("{host_id}|{path}"),
            ..FleetDrive::named(&path, DriveKind::Unknown, info.size_bytes)
        },
    };
    if target.is_simulated() {
        // Many machines may simulate the same drive.
        found.key = format!("{host_id}|{path}");
        found.name.clone_from(&path);
        found.target = path;
    }
    found
}

/// Used part of all that is mounted: 0 to 1.
fn fill(mounts: &[&String]) -> Option<f64> {
    let mut systems: Vec<(u64, u64, u64)> = Vec::new();
    for mount in mounts {
        let Ok(found) = rustix::fs::statvfs(Path::new(mount.as_str())) else { continue };
        let (size, used) = (found.f_blocks, found.f_blocks.saturating_sub(found.f_bfree));
        let bytes = (found.f_fsid, size * found.f_frsize, used * found.f_frsize);
        if !systems.contains(&bytes) {
            systems.push(bytes);
        }
    }
    let all: u64 = systems.iter().map(|it| it.1).sum();
    let used: u64 = systems.iter().map(|it| it.2).sum();
    (all > 0).then(|| used as f64 / all as f64)
}
