//! Files dropped from memory, and the proof of it.

use drivescope_drive::DriveError;
use drivescope_drive::own_folder::source_tree::{SourceFile, TreeVisitor};

/// Drops files from memory, and asks how much of them is still there.
#[derive(Default)]
pub(crate) struct Evictor {
    bytes: f64,
    resident_bytes: f64,
    unknown: u64,
}

impl Evictor {
    /// `None` where the kernel did not report on some.
    pub fn share(&self) -> Option<f64> {
        (self.unknown == 0).then(|| self.resident_bytes / self.bytes.max(1.0))
    }
}

impl TreeVisitor for Evictor {
    fn file(&mut self, file: &SourceFile<'_>) -> Result<bool, DriveError> {
        // What cannot be dropped is seen as resident.
        let _ = file.evict();
        let size = file.size_bytes() as f64;
        match file.resident_share() {
            Some(share) => {
                self.bytes += size;
                self.resident_bytes += size * share;
            }
            None => self.unknown += 1,
        }
        Ok(true)
    }
}
