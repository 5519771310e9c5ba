//! What the user named, and what lies below it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kind of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TargetKind {
    /// A directory; tests use a folder of their own in it.
    Directory,
    /// An existing file, read only.
    File,
    /// A block device or partition.
    Block,
    /// A simulated drive.
    Simulated,
}

/// A file system below a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileSystem {
    /// Kernel's name of the type: `ext4`, `xfs`, `btrfs`, `tmpfs`, `fuse.sshfs`.
    pub kind: String,
    /// What is mounted: `/dev/sda1`, `tmpfs`, `server:/export`.
    pub source: String,
    /// Where it is mounted.
    pub mount_point: String,
    /// Mount and super-block options, joined with commas.
    pub options: String,
    /// Size of the file system.
    pub size_bytes: u64,
    /// Space available to this user.
    pub available_bytes: u64,
    /// Whether it is mounted read-only.
    pub read_only: bool,
}

impl FileSystem {
    /// Whether it may write new data to a new place and free the old one later, so that overwriting a file
    /// takes space.
    pub fn copies_on_write(&self) -> bool {
        ["btrfs", "bcachefs", "nilfs2", "zfs"].contains(&self.kind.as_str())
            && !self.options.split(',').any(|option| option == "nodatacow")
    }
}

/// How the data path was found to work, by a real transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IoMode {
    /// `O_DIRECT`, proved by a transfer.
    Direct,
    /// Through the page cache, because direct I/O was refused.
    Buffered,
}

/// A target as it was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetInfo {
    /// The path as given, made absolute.
    pub path: String,
    /// Directory, file, block device or simulated.
    pub kind: TargetKind,
    /// Size of the file or device; of the file system for a directory.
    pub size_bytes: u64,
    /// File system that holds a directory or file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<FileSystem>,
    /// The block devices below, from the top: `dm-0`, `md0`, `sda1`, `sda`.
    pub stack: Vec<String>,
    /// Whether the running system lives on the same drive.
    pub system_disk: bool,
    /// Effective mode of the data path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_mode: Option<IoMode>,
    /// Alignment that direct I/O needs, in bytes.
    pub io_align_bytes: u32,
}
