//! Options of the `fill-files` test.

use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Options of the `fill-files` test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FillFilesOptions {
    /// Bytes of each file.
    pub size: Bytes,
    /// Most files; 0: until the free space of every run remains (10 % of the file system, 64 MiB to 1 GiB).
    pub files: u32,
    /// Whether each file is on the drive (`fdatasync`) before its time ends.
    pub sync: bool,
    /// Fill to the last byte: only on a file system of its own mount with nothing else on it.
    pub brim: bool,
    /// Leave the files for a later `read-files` (`--keep`); `run --clean` removes them.
    pub keep: bool,
}

impl Default for FillFilesOptions {
    fn default() -> Self {
        Self { size: Bytes(1_000_000_000), files: 0, sync: true, brim: false, keep: false }
    }
}
