//! One block device of the graph, as sysfs describes it.

use crate::block_device::{Below, below, disk_of_partition};
use crate::identity::ReportedIdentity;
use crate::loop_status::LoopStatus;
use crate::roots::{Roots, list_dir, read_text, read_u64};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::OnceLock;

#[derive(Debug)]
pub(super) struct Node {
    /// Its directory in sysfs, links resolved.
    pub dir: PathBuf,
    /// The disk of a partition.
    pub disk: Option<String>,
    pub below: Below,
    pub holders: Vec<String>,
    start_bytes: u64,
    size_bytes: Option<u64>,
    /// Path of a loop device's file, as the kernel names it.
    pub backing_file: Option<String>,
    loop_offset_bytes: u64,
    pub loop_status: OnceLock<Option<LoopStatus>>,
    pub reported: OnceLock<Option<ReportedIdentity>>,
}

impl Node {
    pub fn read(roots: &Roots, name: &str) -> Option<Self> {
        let dir = roots.block_dir(name)?;
        // sysfs counts sectors of 512 bytes on every device.
        let sectors = |attribute: &str| Some(read_u64(dir.join(attribute))?.saturating_mul(512));
        Some(Self {
            disk: disk_of_partition(&dir),
            below: below(&dir),
            holders: list_dir(&dir.join("holders")),
            start_bytes: sectors("start").unwrap_or(0),
            size_bytes: sectors("size"),
            backing_file: read_text(dir.join("loop/backing_file")),
            loop_offset_bytes: read_u64(dir.join("loop/offset")).unwrap_or(0),
            loop_status: OnceLock::new(),
            reported: OnceLock::new(),
            dir,
        })
    }

    pub fn span(&self) -> Range<u64> {
        self.range_from(self.start_bytes)
    }

    pub fn span_below(&self) -> Range<u64> {
        self.range_from(self.loop_offset_bytes)
    }

    fn range_from(&self, start: u64) -> Range<u64> {
        start..start.saturating_add(self.size_bytes.unwrap_or(u64::MAX))
    }
}
