//! What tests of files ask of the place where the files are.

use crate::error::BenchError;
use crate::workloads::shared::files::file_set::FileSet;
pub(crate) use drivescope_drive::own_folder::copying::{FileStep, Watch};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopySide {
    Source,
    Copy,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CopyOutcome {
    pub left_out: Option<String>,
    /// Share of the copies that were looked at which lie where the originals do.
    pub shared_share: f64,
}

/// A source, and a place to copy it to.
pub(crate) trait FileStore {
    fn create(&mut self, set: &FileSet, watch: &mut Watch<'_>) -> Result<(), BenchError>;

    fn copy(&mut self, watch: &mut Watch<'_>) -> Result<CopyOutcome, BenchError>;

    fn read(&mut self, side: CopySide, watch: &mut Watch<'_>) -> Result<(), BenchError>;

    /// Removes a tree. That there is none is not an error.
    fn delete(&mut self, side: CopySide) -> Result<(), BenchError>;

    fn sync(&mut self, side: CopySide) -> Result<(), BenchError>;

    /// Drops a tree from memory; the share of it that is still there, if that is known.
    fn evict(&mut self, side: CopySide) -> Result<Option<f64>, BenchError>;
}
