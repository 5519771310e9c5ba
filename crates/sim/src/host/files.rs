//! Files and directories, and where on the drive their contents are.
//!
//! As in ext4: a file's inode stands in its directory's group; its data are sought just after its last
//! extent, else in its inode's flexible group; large files that find no room there follow the last extent
//! of any large file (stream allocation); small files are packed into shared stretches (locality groups).
//! A growing file gets more than it asks for, and gives the rest back when it is closed. Space is promised
//! when data are written and given a place when they are written back (delayed allocation).
//!
//! Not modelled: directories' own blocks, extent tree blocks, one locality group per processor, inline
//! data, extended attributes, and the order in which Linux 5.14 and later look through groups by size.

use super::fs_params::{BLOCK_BYTES, FsParams, GROUP_BLOCKS};
use super::groups::{BlockGroups, BlockRun};
use super::ranges::Ranges;

/// Why something could not be done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// ENOSPC.
    #[error("the simulated file system is full; delete files or use a larger model")]
    NoSpace,
    /// No inode or number left for another file.
    #[error("the simulated file system has no inode left; use fewer files")]
    NoInode,
    /// The file has been deleted.
    #[error("the file has been deleted; create it again")]
    Deleted,
    /// Beyond what a file can hold.
    #[error("the file would be larger than 4 TiB; use several files")]
    TooLarge,
    /// The device answered with an error.
    #[error("the device answered with an error: {0:?}; see the model's faults")]
    Device(crate::device::SimOutcome),
}

/// A file, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// A directory, by number. [`ROOT`] is always there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DirId(pub u32);

/// The root directory.
pub const ROOT: DirId = DirId(0);

/// A stretch of a file on the drive, in blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileExtent {
    pub block: u64,
    pub run: BlockRun,
}

#[derive(Debug, Clone, Default)]
pub(super) struct File {
    pub inode_group: u64,
    pub size_bytes: u64,
    /// In order of `block`, merged where both sides continue.
    pub extents: Vec<FileExtent>,
    /// Blocks held for the file to grow into: the file block they are meant for, and where they are.
    ahead: Option<FileExtent>,
    /// Blocks that are promised and have no place yet.
    promised: Ranges,
}

/// What exists, and where.
#[derive(Debug, Clone)]
pub struct Files {
    params: FsParams,
    groups: BlockGroups,
    /// Group of each directory's inode.
    directories: Vec<u64>,
    files: Vec<Option<File>>,
    /// Behind the last extent of a large file.
    stream_goal: u64,
    /// What is left of the stretch for small files.
    locality: Option<BlockRun>,
    /// Blocks held ahead by files and for small files: free, but spoken for.
    held_blocks: u64,
    promised_blocks: u64,
    reserved_blocks: u64,
    journal: BlockRun,
}

impl Files {
    /// An empty file system.
    #[must_use]
    pub fn new(capacity_bytes: u64, params: &FsParams) -> Self {
        let mut groups = BlockGroups::new(capacity_bytes, params);
        let total = capacity_bytes / BLOCK_BYTES;
        let middle = groups.count() / 2 / groups.flex() * groups.flex() + 1;
        let journal_blocks = (params.journal_bytes.min(capacity_bytes / 64) / BLOCK_BYTES).max(16);
        let journal = take_journal(&mut groups, middle * GROUP_BLOCKS, journal_blocks);
        let root_group = groups.take_file_inode(0).unwrap_or(0);
        Self {
            params: params.clone(),
            groups,
            directories: vec![root_group],
            files: Vec::new(),
            stream_goal: 0,
            locality: None,
            held_blocks: 0,
            promised_blocks: 0,
            reserved_blocks: (total as f64 * params.reserved_pct / 100.0) as u64,
            journal,
        }
    }

    /// Where the journal is (the part that is used).
    #[must_use]
    pub fn journal(&self) -> BlockRun {
        self.journal
    }

    /// Free space.
    #[must_use]
    pub fn groups(&self) -> &BlockGroups {
        &self.groups
    }

    /// Bytes an ordinary user can still write.
    #[must_use]
    pub fn available_bytes(&self) -> u64 {
        let free = self.groups.free_blocks() + self.held_blocks;
        free.saturating_sub(self.promised_blocks + self.reserved_blocks) * BLOCK_BYTES
    }

    /// Makes a directory.
    ///
    /// # Errors
    /// [`FileError::NoInode`].
    pub fn make_directory(&mut self, parent: DirId, name: &str) -> Result<DirId, FileError> {
        let parent_group = (parent != ROOT).then(|| self.directories[parent.0 as usize]);
        let hash = name_hash(name, self.params.seed);
        let group =
            self.groups.take_directory_inode(parent_group, hash).ok_or(FileError::NoInode)?;
        self.directories.push(group);
        Ok(DirId(self.directories.len() as u32 - 1))
    }

    /// The group of a directory's inode.
    #[must_use]
    pub fn directory_group(&self, directory: DirId) -> u64 {
        self.directories[directory.0 as usize]
    }

    /// Makes an empty file.
    ///
    /// # Errors
    /// [`FileError::NoInode`].
    pub fn create(&mut self, directory: DirId) -> Result<FileId, FileError> {
        if self.files.len() as u64 >= super::file_system::FILES_MAX {
            return Err(FileError::NoInode);
        }
        let inode_group = self.groups.take_file_inode(self.directory_group(directory));
        let inode_group = inode_group.ok_or(FileError::NoInode)?;
        self.files.push(Some(File { inode_group, ..File::default() }));
        Ok(FileId(self.files.len() as u32 - 1))
    }

    pub(super) fn get(&self, file: FileId) -> Result<&File, FileError> {
        self.files.get(file.0 as usize).and_then(Option::as_ref).ok_or(FileError::Deleted)
    }

    fn get_mut(&mut self, file: FileId) -> Result<&mut File, FileError> {
        self.files.get_mut(file.0 as usize).and_then(Option::as_mut).ok_or(FileError::Deleted)
    }

    /// Size of a file.
    ///
    /// # Errors
    /// [`FileError::Deleted`].
    pub fn size_bytes(&self, file: FileId) -> Result<u64, FileError> {
        Ok(self.get(file)?.size_bytes)
    }

    /// Where a file is on the drive: byte offsets and lengths, in the file's order. What is not written back
    /// yet has no place and is missing.
    ///
    /// # Errors
    /// [`FileError::Deleted`].
    pub fn extents(&self, file: FileId) -> Result<Vec<(u64, u64)>, FileError> {
        let extents = self.get(file)?.extents.iter();
        Ok(extents.map(|e| (e.run.start * BLOCK_BYTES, e.run.len * BLOCK_BYTES)).collect())
    }

    /// Promises room for a write and sets the new size.
    ///
    /// # Errors
    /// [`FileError::NoSpace`], [`FileError::TooLarge`], [`FileError::Deleted`].
    pub fn promise(&mut self, id: FileId, offset: u64, len: u64) -> Result<(), FileError> {
        let end = offset.checked_add(len).filter(|&end| end <= super::file_system::FILE_SPAN);
        let end = end.ok_or(FileError::TooLarge)?;
        let available = self.available_bytes() / BLOCK_BYTES;
        let file = self.get_mut(id)?;
        let gaps = file.unplaced(offset / BLOCK_BYTES, end.div_ceil(BLOCK_BYTES));
        let missing = |&(gap, len): &(u64, u64)| len - file.promised.count_in(gap, gap + len);
        let new_blocks: u64 = gaps.iter().map(missing).sum();
        if new_blocks > available {
            return Err(FileError::NoSpace);
        }
        for (gap, len) in gaps {
            file.promised.insert(gap, gap + len);
        }
        file.size_bytes = file.size_bytes.max(end);
        self.promised_blocks += new_blocks;
        Ok(())
    }

    /// Gives every block of a range a place. Whether any was given.
    ///
    /// # Errors
    /// [`FileError::NoSpace`] if nothing was promised and nothing is free, [`FileError::Deleted`].
    pub fn place(&mut self, id: FileId, first: u64, end: u64) -> Result<bool, FileError> {
        let gaps = self.get(id)?.unplaced(first, end);
        for &(gap, len) in &gaps {
            let mut block = gap;
            while block < gap + len {
                let run = self.allocate(id, block, gap + len - block)?;
                let file = self.get_mut(id)?;
                file.add(FileExtent { block, run });
                let kept = file.promised.remove(block, block + run.len);
                self.promised_blocks -= kept;
                block += run.len;
            }
        }
        Ok(!gaps.is_empty())
    }

    /// Up to `len` blocks for a file's block.
    fn allocate(&mut self, id: FileId, block: u64, len: u64) -> Result<BlockRun, FileError> {
        if let Some(run) = self.take_ahead(id, block, len)? {
            return Ok(run);
        }
        let small =
            self.get(id)?.size_bytes.div_ceil(BLOCK_BYTES) <= self.params.stream_from_blocks;
        for attempt in 0..2 {
            let run = if small {
                self.allocate_small(id, block, len)?
            } else {
                self.allocate_large(id, block, len)?
            };
            match run {
                Some(run) => return Ok(run),
                None if attempt == 0 => self.give_back_held(),
                None => break,
            }
        }
        Err(FileError::NoSpace)
    }

    fn take_ahead(
        &mut self,
        id: FileId,
        block: u64,
        len: u64,
    ) -> Result<Option<BlockRun>, FileError> {
        let file = self.get_mut(id)?;
        let Some(ahead) = file.ahead.filter(|ahead| ahead.block == block) else { return Ok(None) };
        let run = BlockRun { start: ahead.run.start, len: len.min(ahead.run.len) };
        let rest = BlockRun { start: run.start + run.len, len: ahead.run.len - run.len };
        file.ahead = (rest.len > 0).then_some(FileExtent { block: block + run.len, run: rest });
        self.held_blocks -= run.len;
        Ok(Some(run))
    }

    /// From the shared stretch, or from a new one near the file's inode.
    fn allocate_small(
        &mut self,
        id: FileId,
        block: u64,
        len: u64,
    ) -> Result<Option<BlockRun>, FileError> {
        let file = self.get(id)?;
        if let Some(run) = file.goal(block).and_then(|goal| self.groups.take_at(goal, len, len)) {
            return Ok(Some(run));
        }
        let goal = self.inode_goal(id)?;
        if self.locality.is_none_or(|stretch| stretch.len < len) {
            self.give_back_locality();
            let want = u64::from(self.params.locality_blocks).max(len);
            self.locality = self.groups.take_near(goal, want);
            self.held_blocks += self.locality.map_or(0, |stretch| stretch.len);
        }
        let Some(stretch) = self.locality else { return Ok(None) };
        let run = BlockRun { start: stretch.start, len: len.min(stretch.len) };
        let rest = BlockRun { start: run.start + run.len, len: stretch.len - run.len };
        self.locality = (rest.len > 0).then_some(rest);
        self.held_blocks -= run.len;
        Ok(Some(run))
    }

    /// After the last extent, else at the inode's place, else after the last large extent of all.
    fn allocate_large(
        &mut self,
        id: FileId,
        block: u64,
        len: u64,
    ) -> Result<Option<BlockRun>, FileError> {
        let most = u64::from(self.params.chunk_max_blocks);
        let file = self.get(id)?;
        let size_blocks = file.size_bytes.div_ceil(BLOCK_BYTES);
        let growing = block + len >= size_blocks;
        let want = if growing { len.max(size_blocks).next_power_of_two() } else { len };
        let want = want.min(most);
        let goal = file.goal(block);
        let inode_goal = self.inode_goal(id)?;
        let found = goal
            .and_then(|goal| self.groups.take_at(goal, want, want.min(len)))
            .or_else(|| self.groups.take_at(inode_goal, want, want))
            .or_else(|| self.groups.take_near(self.stream_goal, want));
        let Some(found) = found else { return Ok(None) };
        self.stream_goal = found.start + found.len;
        let run = BlockRun { start: found.start, len: found.len.min(len) };
        let rest = BlockRun { start: run.start + run.len, len: found.len - run.len };
        if rest.len > 0 {
            self.release_ahead(id)?;
            self.held_blocks += rest.len;
            self.get_mut(id)?.ahead = Some(FileExtent { block: block + run.len, run: rest });
        }
        Ok(Some(run))
    }

    /// The group after the first of the inode's flexible group: the first is left to directories.
    fn inode_goal(&self, id: FileId) -> Result<u64, FileError> {
        let flex = self.groups.flex();
        let group = self.get(id)?.inode_group;
        let first = if flex >= 4 { group / flex * flex + 1 } else { group };
        Ok(first.min(self.groups.count() - 1) * GROUP_BLOCKS)
    }

    /// Gives back what a file holds ahead: it has been closed.
    ///
    /// # Errors
    /// [`FileError::Deleted`].
    pub fn release_ahead(&mut self, id: FileId) -> Result<(), FileError> {
        if let Some(ahead) = self.get_mut(id)?.ahead.take() {
            self.held_blocks -= ahead.run.len;
            self.groups.give_back(ahead.run);
        }
        Ok(())
    }

    fn give_back_locality(&mut self) {
        if let Some(stretch) = self.locality.take() {
            self.held_blocks -= stretch.len;
            self.groups.give_back(stretch);
        }
    }

    fn give_back_held(&mut self) {
        self.give_back_locality();
        for ahead in self.files.iter_mut().flatten().filter_map(|file| file.ahead.take()) {
            self.held_blocks -= ahead.run.len;
            self.groups.give_back(ahead.run);
        }
    }

    /// Deletes a file and frees its blocks.
    ///
    /// # Errors
    /// [`FileError::Deleted`].
    pub fn delete(&mut self, id: FileId) -> Result<(), FileError> {
        self.release_ahead(id)?;
        let file = self.files[id.0 as usize].take().ok_or(FileError::Deleted)?;
        self.promised_blocks -= file.promised.count();
        file.extents.iter().for_each(|extent| self.groups.give_back(extent.run));
        self.groups.give_back_inode(file.inode_group);
        Ok(())
    }
}

impl File {
    /// The extent that holds a block.
    pub(super) fn extent_at(&self, block: u64) -> Option<&FileExtent> {
        let index = self.extents.partition_point(|extent| extent.block <= block).checked_sub(1)?;
        let extent = &self.extents[index];
        (block < extent.block + extent.run.len).then_some(extent)
    }

    /// The pieces of `first..end` on the drive, in order; holes are left out.
    pub(super) fn pieces(&self, first: u64, end: u64) -> impl Iterator<Item = FileExtent> + '_ {
        let index = self.extents.partition_point(|e| e.block + e.run.len <= first);
        let inside = self.extents[index..].iter().take_while(move |e| e.block < end);
        inside.map(move |e| {
            let (block, stop) = (e.block.max(first), (e.block + e.run.len).min(end));
            let run = BlockRun { start: e.run.start + (block - e.block), len: stop - block };
            FileExtent { block, run }
        })
    }

    /// The stretches of `first..end` that have no place: block and length.
    fn unplaced(&self, first: u64, end: u64) -> Vec<(u64, u64)> {
        let mut gaps = Vec::new();
        let mut next = first;
        for piece in self.pieces(first, end) {
            if piece.block > next {
                gaps.push((next, piece.block - next));
            }
            next = piece.block + piece.run.len;
        }
        if next < end {
            gaps.push((next, end - next));
        }
        gaps
    }

    /// Where a block would best be: as far behind the extent before it as it is in the file.
    fn goal(&self, block: u64) -> Option<u64> {
        let index = self.extents.partition_point(|extent| extent.block <= block).checked_sub(1)?;
        let extent = &self.extents[index];
        Some(extent.run.start + (block - extent.block))
    }

    fn add(&mut self, new: FileExtent) {
        let index = self.extents.partition_point(|extent| extent.block < new.block);
        let continues = |a: &FileExtent, b: &FileExtent| {
            a.block + a.run.len == b.block && a.run.start + a.run.len == b.run.start
        };
        self.extents.insert(index, new);
        if index + 1 < self.extents.len() && continues(&new, &self.extents[index + 1]) {
            self.extents[index].run.len += self.extents.remove(index + 1).run.len;
        }
        if index > 0 && continues(&self.extents[index - 1], &self.extents[index]) {
            self.extents[index - 1].run.len += self.extents.remove(index).run.len;
        }
    }
}

/// Takes the journal's blocks; its first run is what is used.
fn take_journal(groups: &mut BlockGroups, goal: u64, blocks: u64) -> BlockRun {
    let mut first: Option<BlockRun> = None;
    let mut left = blocks;
    let mut next = goal;
    while left > 0 {
        let Some(run) = groups.take_near(next, left) else { break };
        left -= run.len;
        next = run.start + run.len;
        first.get_or_insert(run);
    }
    first.expect("an empty drive of 512 MiB has room for a journal of a 64th of it")
}

/// A hash of a name, spread by the file system's seed (FNV-1a, then a final mix).
pub(super) fn name_hash(name: &str, seed: u64) -> u64 {
    let mut hash = seed ^ 0xCBF2_9CE4_8422_2325;
    for byte in name.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    }
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    hash ^ (hash >> 33)
}
