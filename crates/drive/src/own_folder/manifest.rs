//! The list of what a run's own folder holds, written before anything of it is made.

use rustix::fd::BorrowedFd;
use rustix::io::retry_on_intr;
use serde::{Deserialize, Serialize};

pub(super) const MANIFEST: &str = "manifest.json";
/// For people who read the manifest.
const PURPOSE: &str = "test files of drivescope; safe to remove when no drivescope is running";
/// Longest manifest that is read: a name per file and tree, and no run makes many.
const MANIFEST_MAX_BYTES: usize = 64 << 10;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Manifest {
    purpose: String,
    pub files: Vec<String>,
    /// Folders in it, with everything in them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trees: Vec<String>,
    /// Programs that the run started in its trees, and that end before the trees go: whole paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<String>,
    /// Trees are to stay when the run ends: only `run --clean` removes them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kept: bool,
}

impl Manifest {
    pub fn empty() -> Self {
        Self { purpose: PURPOSE.to_string(), ..Self::default() }
    }

    /// Whether a name in the folder is one of ours.
    pub fn names(&self, name: &std::ffi::OsStr) -> bool {
        name == MANIFEST || self.files.iter().chain(&self.trees).any(|own| **own == *name)
    }
}

/// Errors: it is not one of ours; in words.
pub(super) fn parse_manifest(fd: BorrowedFd<'_>) -> Result<Manifest, String> {
    let mut text = vec![0u8; MANIFEST_MAX_BYTES];
    let len = retry_on_intr(|| rustix::io::pread(fd, &mut *text, 0)).map_err(|e| e.to_string())?;
    if len == 0 {
        return Ok(Manifest::empty()); // killed before the first line was written: no files yet
    }
    let mut values = serde_json::Deserializer::from_slice(&text[..len]).into_iter::<Manifest>();
    match values.next() {
        Some(Ok(manifest))
            if manifest.files.iter().chain(&manifest.trees).all(|name| is_plain_name(name)) =>
        {
            Ok(manifest)
        }
        _ => Err("its manifest is not drivescope's; remove it by hand if nothing in it is needed"
            .to_string()),
    }
}

/// A name that stays within the folder.
pub(super) fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0'])
}
