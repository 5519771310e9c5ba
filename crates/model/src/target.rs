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
    /// Type, as the kernel names it: `ext4`, `btrfs`, `nfs4`, `fuse.sshfs`.
    pub kind: String,
    /// What is mounted: `/dev/sda1`, `tmpfs`, `server:/export`.
    pub source: String,
    /// Where it is mounted.
    pub mount_point: String,
    /// Mount options and those of the superblock, joined by commas.
    pub options: String,
    /// Size of the file system.
    pub size_bytes: u64,
    /// Space available to this user before the run.
    pub available_bytes: u64,
    /// Whether it is mounted read-only.
    pub read_only: bool,
}

impl FileSystem {
    /// Whether it may write new data to a new place and free the old one later, so that overwriting a file takes
    /// space.
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
    /// The path as given, made absolute, with links resolved.
    pub path: String,
    /// What it is; this decides what may be written.
    pub kind: TargetKind,
    /// Size of the file or device; for a directory, of the whole file system.
    pub size_bytes: u64,
    /// The file system that holds the directory or file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<FileSystem>,
    /// Kernel names of the block devices below, from the top: `dm-0`, `sda1`, `sda`; empty for networks and memory.
    pub stack: Vec<String>,
    /// Whether the running system is on the same drive (finding F015).
    pub system_disk: bool,
    /// How data actually moved, proved by a transfer; absent if no test opened the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_mode: Option<IoMode>,
    /// Offsets and lengths of direct I/O are multiples of this; 0 if no test opened the target.
    pub io_align_bytes: u32,
}
