//! The layout parameters of the file system, as `mke2fs` chooses them.

use serde::{Deserialize, Serialize};

use crate::param_problem::ParamProblem;

/// Bytes in a block.
pub const BLOCK_BYTES: u64 = 4096;
/// Blocks in a group: one block of bitmap, 8 × 4096 bits, hence 128 MiB.
pub const GROUP_BLOCKS: u64 = 32_768;

/// An ext4-like file system. Defaults are those of mke2fs.conf (e2fsprogs) and of Linux's allocator
/// (`mb_stream_req`, `mb_group_prealloc` in Documentation/admin-guide/ext4.rst).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FsParams {
    /// Groups whose metadata stand together at the front of the first. mke2fs: 16 (`flex_bg`).
    pub flex_groups: u32,
    /// One inode for so many bytes. mke2fs: 16384; 32768 from 4 TB and 65536 from 16 TB on.
    pub bytes_per_inode: u64,
    /// Size of an inode. mke2fs: 256.
    pub inode_bytes: u32,
    /// Size of the journal. mke2fs: 1 GiB from 128 GiB on; here at most 1/64 of the drive.
    pub journal_bytes: u64,
    /// Share only the superuser can fill, %. mke2fs: 5.
    pub reserved_pct: f64,
    /// Files of more blocks are large: their extents follow the last one of any large file. Linux: 16
    /// (`mb_stream_req`).
    pub stream_from_blocks: u64,
    /// Small files are packed into stretches of so many blocks. Linux: 512 (`mb_group_prealloc`).
    pub locality_blocks: u32,
    /// Most blocks allocated at once for a growing file. Linux: 2048 (8 MiB).
    pub chunk_max_blocks: u32,
    /// The drive takes single writes through its cache; else a commit needs a second flush. Linux on SATA:
    /// no (`libata.fua=0`).
    pub fua: bool,
    /// Chooses where top-level directories go (ext4: the hash seed of the file system).
    pub seed: u64,
}

impl Default for FsParams {
    fn default() -> Self {
        Self {
            flex_groups: 16,
            bytes_per_inode: 16_384,
            inode_bytes: 256,
            journal_bytes: 1 << 30,
            reserved_pct: 5.0,
            stream_from_blocks: 16,
            locality_blocks: 512,
            chunk_max_blocks: 2048,
            fua: false,
            seed: 1,
        }
    }
}

impl FsParams {
    /// The defaults of mke2fs for a drive of this size.
    #[must_use]
    pub fn for_drive(capacity_bytes: u64) -> Self {
        let bytes_per_inode = match capacity_bytes >> 40 {
            0..4 => 16_384,
            4..16 => 32_768,
            _ => 65_536,
        };
        Self { bytes_per_inode, ..Self::default() }
    }

    /// Inodes in each group.
    #[must_use]
    pub fn inodes_per_group(&self) -> u64 {
        GROUP_BLOCKS * BLOCK_BYTES / self.bytes_per_inode
    }

    /// Blocks of metadata that each group has: two bitmaps and its inode table.
    #[must_use]
    pub fn metadata_blocks(&self) -> u64 {
        2 + (self.inodes_per_group() * u64::from(self.inode_bytes)).div_ceil(BLOCK_BYTES)
    }

    /// Checks every field against a drive's size.
    ///
    /// # Errors
    /// The first field that cannot be, and why.
    pub fn validate(&self, capacity_bytes: u64) -> Result<(), ParamProblem> {
        let group_bytes = GROUP_BLOCKS * BLOCK_BYTES;
        let checks = [
            ("flex_groups", (1..=64).contains(&self.flex_groups), "give 1 to 64"),
            (
                "bytes_per_inode",
                (1024..=group_bytes / 16).contains(&self.bytes_per_inode),
                "give 1024 to 8388608",
            ),
            ("inode_bytes", (128..=4096).contains(&self.inode_bytes), "give 128 to 4096"),
            ("reserved_pct", (0.0..=50.0).contains(&self.reserved_pct), "give 0 to 50"),
            ("locality_blocks", (1..=8192).contains(&self.locality_blocks), "give 1 to 8192"),
            ("chunk_max_blocks", (1..=16_384).contains(&self.chunk_max_blocks), "give 1 to 16384"),
            (
                "flex_groups",
                u64::from(self.flex_groups) * self.metadata_blocks() < GROUP_BLOCKS,
                "the metadata of one flexible group must fit in its first group; give fewer",
            ),
            ("journal_bytes", self.journal_bytes >= 1 << 20, "give 1 MiB or more"),
            (
                "capacity_bytes",
                capacity_bytes >= 4 * group_bytes,
                "the drive needs 512 MiB or more",
            ),
        ];
        match checks.into_iter().find(|&(_, holds, _)| !holds) {
            Some((field, _, message)) => Err(ParamProblem::new(field, message)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_fit_drives_of_all_sizes() {
        for (tb, inodes_per_group) in [(1, 8192), (6, 4096), (17, 2048)] {
            let capacity = tb * 1_100_000_000_000;
            let params = FsParams::for_drive(capacity);
            assert_eq!(params.validate(capacity), Ok(()));
            assert_eq!(params.inodes_per_group(), inodes_per_group);
        }
        assert_eq!(FsParams::default().metadata_blocks(), 514);
    }

    #[test]
    fn impossible_values_name_their_field() {
        type Spoil = fn(&mut FsParams);
        let cases: [(&str, Spoil); 4] = [
            ("flex_groups", |p| p.flex_groups = 0),
            ("flex_groups", |p| p.flex_groups = 64),
            ("reserved_pct", |p| p.reserved_pct = f64::NAN),
            ("journal_bytes", |p| p.journal_bytes = 0),
        ];
        for (field, spoil) in cases {
            let mut params = FsParams::default();
            spoil(&mut params);
            assert_eq!(params.validate(1 << 40).expect_err(field).field, field);
        }
        assert!(FsParams::default().validate(1 << 20).is_err());
    }
}
