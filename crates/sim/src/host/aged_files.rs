//! A file system that has been used: filled to some share, with files deleted and others in their places.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use super::files::{DirId, FileError, FileId, Files, ROOT};
use super::fs_params::BLOCK_BYTES;

/// How a file system has been used before. No time passes and nothing is sent to the drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Aging {
    /// Share of the space for users that is taken at the end.
    pub fill_fraction: f64,
    /// Share of the files deleted, and replaced by others of other sizes.
    pub churn_fraction: f64,
    /// Directories the files are in. Assumed: 32.
    pub directories: u32,
    /// Number of files, about; their sizes follow: log-uniform over four powers of ten. Assumed: 5000.
    pub files: u32,
    /// Chooses sizes, directories and what is deleted.
    pub seed: u64,
}

impl Default for Aging {
    fn default() -> Self {
        Self { fill_fraction: 0.8, churn_fraction: 0.2, directories: 32, files: 5000, seed: 1 }
    }
}

/// Sizes spread over this factor.
const SIZE_SPREAD: f64 = 1e4;

impl Aging {
    /// Fills a file system. The files that remain, in order of creation.
    ///
    /// # Errors
    /// [`FileError::NoInode`] if the drive is too small for so many files.
    pub fn apply(&self, files: &mut Files) -> Result<Vec<FileId>, FileError> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let directories = (0..self.directories.max(1))
            .map(|number| files.make_directory(ROOT, &format!("{}-{number}", self.seed)))
            .collect::<Result<Vec<DirId>, FileError>>()?;
        let space = files.available_bytes();
        let target = (space as f64 * (1.0 - self.fill_fraction.clamp(0.0, 1.0))) as u64;
        // The mean of a log-uniform size from s to s·k is s·(k − 1)/ln k.
        let mean = space as f64 * self.fill_fraction / f64::from(self.files.max(1));
        let smallest = mean * SIZE_SPREAD.ln() / (SIZE_SPREAD - 1.0);
        let mut kept = Vec::new();
        let fill = |random: &mut Xoshiro256PlusPlus, files: &mut Files, kept: &mut Vec<FileId>| {
            while files.available_bytes() > target + BLOCK_BYTES {
                let left = files.available_bytes() - target;
                let size = (smallest * SIZE_SPREAD.powf(random.random::<f64>())) as u64;
                let directory = directories[random.random_range(0..directories.len())];
                kept.push(add_file(files, directory, size.clamp(1, left))?);
            }
            Ok(())
        };
        fill(&mut random, files, &mut kept)?;
        let deletions = (kept.len() as f64 * self.churn_fraction.clamp(0.0, 1.0)) as usize;
        for _ in 0..deletions {
            let victim = kept.remove(random.random_range(0..kept.len()));
            files.delete(victim)?;
        }
        fill(&mut random, files, &mut kept)?;
        Ok(kept)
    }
}

fn add_file(files: &mut Files, directory: DirId, size: u64) -> Result<FileId, FileError> {
    let file = files.create(directory)?;
    let size = size.min(super::file_system::FILE_SPAN);
    files.promise(file, 0, size)?;
    files.place(file, 0, size.div_ceil(BLOCK_BYTES))?;
    files.release_ahead(file)?;
    Ok(file)
}
