//! What is copied, made to fit.

use drivescope_model::options::{CopyOptions, CopySet};
use drivescope_model::units::Bytes;

/// Mean size of the files of the small tree; see [`crate::workloads::shared::files::file_set`].
const SMALL_MEAN_BYTES: u64 = 78_395;
/// Below this, large files say nothing that small ones do not.
const LARGE_MIN: u64 = 64 << 20;
/// What file systems need besides.
const METADATA_SHARE: u64 = 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CopyJob {
    pub name: &'static str,
    pub is_large: bool,
    pub files: u32,
    /// Approximate for the small tree.
    pub bytes: u64,
}

impl CopyJob {
    pub fn of_files() -> Self {
        Self { name: "files", is_large: false, files: 0, bytes: 0 }
    }
}

/// What fits into `room` bytes on a drive that writes at about `mb_s`; and what does not, in words.
pub(super) fn jobs(options: &CopyOptions, room: u64, mb_s: f64) -> (Vec<CopyJob>, Vec<String>) {
    let copies = if options.from.is_some() { 1 } else { 2 };
    let most = (room - room / METADATA_SHARE) / copies;
    let (mut jobs, mut omitted) = (Vec::new(), Vec::new());
    for set in &options.sets {
        let job = match set {
            CopySet::Large => {
                let in_time = (mb_s * 1e6 * options.time.0) as u64;
                let bytes = options.large.0.min(in_time).min(most);
                if bytes < LARGE_MIN.min(options.large.0) {
                    omitted.push(format!(
                        "large files: only {} above the floor of free space",
                        Bytes(room)
                    ));
                    continue;
                }
                CopyJob { name: "large", is_large: true, files: options.large_files, bytes }
            }
            CopySet::Small => {
                let bytes = u64::from(options.small_files) * SMALL_MEAN_BYTES;
                if bytes > most {
                    let needed = Bytes(bytes * copies);
                    omitted.push(format!(
                        "small files: {needed} do not fit above the floor of free space"
                    ));
                    continue;
                }
                CopyJob { name: "small", is_large: false, files: options.small_files, bytes }
            }
        };
        jobs.push(job);
    }
    (jobs, omitted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_files_are_scaled_to_space_and_time() {
        let options = CopyOptions::default();
        let large =
            |room, mb_s| jobs(&options, room, mb_s).0.first().map(|job| (job.name, job.bytes));
        assert_eq!(large(1 << 40, 500.0), Some(("large", 16_000_000_000)));
        assert_eq!(large(1 << 40, 40.0), Some(("large", 4_800_000_000)));
        assert_eq!(large(10_000_000_000, 500.0), Some(("large", 4_750_000_000)));
        let (none, omitted) = jobs(&options, 10 << 20, 500.0);
        assert!(none.is_empty() && omitted.len() == 2, "{omitted:?}");
        let from = CopyOptions { from: Some("/mnt".to_string()), ..options.clone() };
        assert_eq!(jobs(&from, 10_000_000_000, 500.0).0[0].bytes, 9_500_000_000, "one copy only");
    }
}
