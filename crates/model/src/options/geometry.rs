//! Options of the `geometry` test.

use crate::units::{Bytes, Secs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Options of the `geometry` test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GeometryOptions {
    /// Longest time of the whole test; each question has its share of it, and those that are left over are named.
    pub time: Secs,
    /// Bytes of a single access, the physical sector of most disks.
    pub block: Bytes,
    /// Most of the surface that is read to find zones, percent.
    pub surface_pct: f64,
    /// Whether caches and flushes are tested with writes, where the target may be written.
    pub writes: bool,
    /// Most that is written to find the end of an SSD's fast cache or of a shingled disk's persistent cache; 0: neither
    /// is looked for.
    pub cache_writes: Bytes,
}

impl Default for GeometryOptions {
    fn default() -> Self {
        Self {
            time: Secs(180.0),
            block: Bytes::kib(4),
            surface_pct: 0.2,
            writes: true,
            cache_writes: Bytes(0),
        }
    }
}
