//! Where on the drive the bytes of a file system's device lie.

use super::Target;
use drivescope_machine::roots::read_u64;

/// The unit of `start` in sysfs, whatever the drive's sectors are.
const SYSFS_SECTOR: u64 = 512;

/// Maps positions that a file system reports (FIEMAP) to positions on a drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePositions {
    /// Start of its device on what `of` names.
    pub start_bytes: u64,
    /// Size of the file system's device; 0 if unknown.
    pub size_bytes: u64,
    /// What positions refer to: the drive, a volume, or the file system's own addresses.
    pub of: String,
}

impl Target {
    /// Positions of files in a directory. Those of a partition are counted from the drive's start. Where volumes or
    /// loop devices lie between, positions are theirs; btrfs and others that spread over devices themselves have
    /// addresses of their own.
    pub fn file_positions(&self) -> FilePositions {
        if let Some(drive) = self.simulated() {
            let of =
                self.drive().map_or_else(|| "the drive".to_string(), |drive| drive.name.clone());
            return FilePositions { start_bytes: 0, size_bytes: drive.capacity_bytes(), of };
        }
        let is_logical = self.writes_its_own() || self.tops.len() > 1;
        let Some(top) = self.stack.names.first().filter(|_| !is_logical) else {
            let kind = self.data_system().map_or("the file system", |system| system.kind.as_str());
            return FilePositions {
                start_bytes: 0,
                size_bytes: 0,
                of: format!("{kind} (its own addresses)"),
            };
        };
        let attribute =
            |name: &str, attribute: &str| read_u64(self.roots.block_dir(name)?.join(attribute));
        let size = |name: &str| attribute(name, "size").unwrap_or(0) * SYSFS_SECTOR;
        match (attribute(top, "start"), self.stack.names.get(1)) {
            (Some(start), Some(whole)) => FilePositions {
                start_bytes: start * SYSFS_SECTOR,
                size_bytes: size(whole),
                of: whole.clone(),
            },
            _ => FilePositions { start_bytes: 0, size_bytes: size(top), of: top.clone() },
        }
    }
}
