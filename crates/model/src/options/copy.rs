//! Options of the `copy` test.

use crate::units::{Bytes, Secs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What `copy` copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CopySet {
    /// A few large files.
    Large,
    /// A tree of many files, most of them small.
    Small,
}

/// How the bytes of a file are moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CopyMethod {
    /// `read` and `write` of one block after the other.
    ReadWrite,
    /// `copy_file_range`: the kernel copies, or only notes where the original lies.
    CopyFileRange,
    /// `sendfile`.
    Sendfile,
}

/// Options of the `copy` test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CopyOptions {
    /// What is copied, if `files` names nothing.
    pub sets: Vec<CopySet>,
    /// Bytes of the large files together; less where the space or `time` does not allow it.
    pub large: Bytes,
    /// How many large files these are.
    pub large_files: u32,
    /// Longest expected time of writing the large files once.
    pub time: Secs,
    /// Files of the tree of small ones, with a tenth as many directories.
    pub small_files: u32,
    /// A directory of one's own to copy instead, which is only read (`--files`).
    pub files: Option<String>,
    /// A directory of another drive, or a simulated drive, to copy from (`--from`); `null`: within the target.
    pub from: Option<String>,
    /// How bytes are moved.
    pub method: CopyMethod,
    /// Bytes of one call.
    pub block: Bytes,
    /// Rounds, each of which makes, copies, reads and deletes everything; those of the suite do not count here.
    pub rounds: u32,
}

impl Default for CopyOptions {
    fn default() -> Self {
        Self {
            sets: vec![CopySet::Large, CopySet::Small],
            large: Bytes(16_000_000_000),
            large_files: 4,
            time: Secs(120.0),
            small_files: 10_000,
            files: None,
            from: None,
            method: CopyMethod::ReadWrite,
            block: Bytes::mib(1),
            rounds: 3,
        }
    }
}
