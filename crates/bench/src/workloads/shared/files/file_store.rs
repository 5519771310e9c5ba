//! What tests of files ask of the place where the files are.

use crate::error::BenchError;
use crate::workloads::shared::files::file_set::FileSet;
pub(crate) use drivescope_drive::own_folder::copying::{FileStep, Watch};

/// Which tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopySide {
    /// What is copied.
    Source,
    /// The copy.
    Copy,
}

/// Results of a copy besides its time.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CopyOutcome {
    /// What was left out, in words.
    pub left_out: Option<String>,
    /// Share of the copies that were looked at which lie where the originals do.
    pub shared_share: f64,
}

/// A source, and a place to copy it to.
pub(crate) trait FileStore {
    /// Makes the source.
    fn create(&mut self, set: &FileSet, watch: &mut Watch<'_>) -> Result<(), BenchError>;

    /// Copies it.
    fn copy(&mut self, watch: &mut Watch<'_>) -> Result<CopyOutcome, BenchError>;

    /// Reads every file of a tree.
    fn read(&mut self, side: CopySide, watch: &mut Watch<'_>) -> Result<(), BenchError>;

    /// Removes a tree. That there is none is not an error.
    fn delete(&mut self, side: CopySide) -> Result<(), BenchError>;

    /// Waits until all is on the drive of a tree.
    fn sync(&mut self, side: CopySide) -> Result<(), BenchError>;

    /// Drops a tree from memory; the share of it that is still there, if that is known.
    fn evict(&mut self, side: CopySide) -> Result<Option<f64>, BenchError>;
}
