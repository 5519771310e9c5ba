//! Options of the `tiny-writes` test.

use crate::units::{Bytes, Secs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Options of the `tiny-writes` test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TinyWritesOptions {
    /// Only these cells, such as `seq512_write`; all if it names none.
    pub cells: Vec<String>,
    /// Whether the file is new: its space is reserved, and nothing is written to it before the test.
    pub new_file: bool,
    /// How much of the test file is written into.
    pub size: Bytes,
    /// Bytes of one small random write.
    pub write: Bytes,
    /// Bytes of one write or read of the `dd`-like streams.
    pub stream_block: Bytes,
    /// Most small writes of one round, so that flushing them stays bounded.
    pub writes: u32,
    /// What the program does before each request, as time on its processor.
    pub thinktime: Secs,
    /// Measured time of one round of one pattern.
    pub time: Secs,
}

impl Default for TinyWritesOptions {
    fn default() -> Self {
        Self {
            cells: Vec::new(),
            new_file: false,
            size: Bytes(512_000_000),
            write: Bytes(16),
            stream_block: Bytes(512),
            writes: 100_000,
            thinktime: Secs(0.0),
            time: Secs(5.0),
        }
    }
}
