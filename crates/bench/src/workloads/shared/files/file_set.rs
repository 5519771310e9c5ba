//! Sets of files that are made for a test.
//!
//! The tree of small ones has sizes like those of file systems in use: lognormal, with a median of 7 kB (Agrawal et
//! al., "A five-year study of file-system metadata", FAST 2007, found 4 KB and a mean of 189 KB; the body of
//! Impressions, FAST 2009, has µ 9.48 and σ 2.46 in ln bytes). Ours are the quantiles of µ 8.9, σ 2.2, cut at 16 MiB,
//! not draws, so that the total does not depend on the seed: 10,000 files have 783,949,838 bytes. The table is frozen
//! because mathematics libraries differ in their last digits; straight lines between its rows are within 0.1 %.
//! Directories: a tenth as many as files, each in one that is chosen in proportion to its subdirectories + 2 (the
//! model of Agrawal et al.), twelve deep at most.

use crate::io::draw::below;
use crate::io::offsets::derive_seed;

/// Sizes of some of 10,000 files in ascending order: rank and bytes. Sizes between two rows lie on a line.
const SIZES: &str = include_str!("../../../../data/file-sizes.tsv");
const DEPTH_MAX: u32 = 12;
const FILES_PER_FOLDER: u32 = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlannedFile {
    pub folder: u32,
    pub size_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileSet {
    /// Each directory's parent, which comes before it; the first is the root, its own parent.
    pub parents: Vec<u32>,
    pub files: Vec<PlannedFile>,
}

impl FileSet {
    /// A few large files of whole MiB, together at most `bytes`.
    pub fn large(bytes: u64, files: u32) -> Self {
        let each = (bytes / u64::from(files.max(1))) >> 20 << 20;
        let file = PlannedFile { folder: 0, size_bytes: each };
        Self { parents: vec![0], files: vec![file; files as usize] }
    }

    pub fn small(files: u32, seed: u64) -> Self {
        let mut random = SplitMix64(derive_seed(seed, "file set", 0, 0));
        let folders = (files / FILES_PER_FOLDER).max(1);
        let (mut parents, mut depths) = (vec![0u32], vec![0u32]);
        while parents.len() < folders as usize {
            let known = parents.len() as u64;
            // In proportion to subdirectories + 2: one of the known directories twice, or the parent of one.
            let draw = random.below(3 * known - 1);
            let parent = if draw < 2 * known {
                (draw / 2) as u32
            } else {
                parents[(draw - 2 * known + 1) as usize]
            };
            if depths[parent as usize] < DEPTH_MAX {
                depths.push(depths[parent as usize] + 1);
                parents.push(parent);
            }
        }
        let mut sizes = small_sizes(files);
        for i in (1..sizes.len()).rev() {
            sizes.swap(i, random.below(i as u64 + 1) as usize);
        }
        let place = |size_bytes| PlannedFile {
            folder: random.below(u64::from(folders)) as u32,
            size_bytes,
        };
        let mut files: Vec<PlannedFile> = sizes.into_iter().map(place).collect();
        files.sort_by_key(|file| file.folder);
        Self { parents, files }
    }
}

/// The sizes of `files`, ascending.
fn small_sizes(files: u32) -> Vec<u64> {
    let row = |line: &str| {
        let (rank, bytes) = line.split_once('\t')?;
        Some((rank.parse().ok()?, bytes.parse().ok()?))
    };
    let table: Vec<(u64, u64)> = SIZES.lines().filter_map(row).collect();
    let known = table[table.len() - 1].0 + 1;
    let rank = |i: u64| (i * known + known / 2) / u64::from(files.max(1));
    (0..u64::from(files)).map(|i| size_at(&table, rank(i))).collect()
}

fn size_at(table: &[(u64, u64)], rank: u64) -> u64 {
    let above = table.partition_point(|row| row.0 <= rank).clamp(1, table.len() - 1);
    let ((from, least), (to, most)) = (table[above - 1], table[above]);
    least + (most - least) * (rank - from) / (to - from)
}

/// Steele, Lea, Flood: "Fast splittable pseudorandom number generators" (2014): the same numbers everywhere.
pub(crate) struct SplitMix64(pub u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        below(self.next(), bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total_bytes(set: &FileSet) -> u64 {
        set.files.iter().map(|file| file.size_bytes).sum()
    }

    #[test]
    fn ten_thousand_files_have_the_documented_total() {
        for seed in [1, 7] {
            let set = FileSet::small(10_000, seed);
            assert_eq!(
                (total_bytes(&set), set.files.len(), set.parents.len()),
                (783_949_838, 10_000, 1_000)
            );
            let small = set.files.iter().filter(|file| file.size_bytes <= 4096).count();
            assert_eq!(small, 3956);
            assert!(set.files.is_sorted_by_key(|file| file.folder));
        }
        assert_ne!(FileSet::small(10_000, 1), FileSet::small(10_000, 7));
    }

    #[test]
    fn other_numbers_of_files_have_the_same_mean() {
        for files in [1_000, 100_000] {
            let mean = total_bytes(&FileSet::small(files, 1)) as f64 / f64::from(files);
            assert!((mean / 78_395.0 - 1.0).abs() < 0.02, "{mean} of {files}");
        }
        assert_eq!(FileSet::small(1, 1).files.len(), 1);
    }

    #[test]
    fn directories_are_a_bushy_tree() {
        let set = FileSet::small(10_000, 3);
        let mut depths = vec![0u32];
        for (folder, &parent) in set.parents.iter().enumerate().skip(1) {
            assert!((parent as usize) < folder);
            depths.push(depths[parent as usize] + 1);
        }
        let mean = f64::from(depths.iter().sum::<u32>()) / depths.len() as f64;
        assert!(
            (4.0..7.0).contains(&mean) && depths.iter().all(|&depth| depth <= DEPTH_MAX),
            "{mean}"
        );
    }

    #[test]
    fn large_files_are_whole_mib() {
        let set = FileSet::large(16_000_000_000, 4);
        assert_eq!(set.files.len(), 4);
        assert!(set.files.iter().all(|file| file.size_bytes % (1 << 20) == 0));
        assert!(16_000_000_000 - total_bytes(&set) < 4 << 20);
    }
}
