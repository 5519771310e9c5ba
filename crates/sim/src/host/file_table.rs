//! A file system with many files and directories, as a device.
//!
//! Each file has a range of addresses of its own, far from the next one's, so that read-ahead ends with its file.
//! Its blocks have their place from the moment it is made, with its final size: the result of delayed allocation for
//! a program that writes a file in one go.
//!
//! Places follow ext4: `super::block_allocator`. A new file changes a bitmap of inodes, an inode (16 of them
//! share a block), a block of its directory, and a bitmap for each group that its data are in; a new directory also
//! gets a block. All that goes to the journal with each commit, and with a sync of the file system to its own places.
//! Metadata that are read stay in memory: what a program without the superuser's rights cannot change on a real
//! machine either.

use std::collections::{BTreeMap, BTreeSet};

use super::block_allocator::BlockAllocator;
use super::file_system::{
    DESCRIPTORS_PER_BLOCK, FLEX_BYTES, FLEX_GROUPS, FileLayout, GROUP_BYTES, INODE_BYTES,
};
use super::journaled::{BLOCK_BYTES, BlockMap, Journaled};
use crate::device::SimDevice;

/// Addresses of files begin at multiples of this: more than any read-ahead reaches past the end of the one before.
const FILE_UNIT: u64 = 16 << 20;
const INODES_PER_BLOCK: u64 = BLOCK_BYTES / INODE_BYTES;
/// Entries in a block of a directory: eight bytes and a name of about sixteen each.
const ENTRIES_PER_BLOCK: u64 = BLOCK_BYTES / 24;
/// More addresses than files take.
const ADDRESSES: u64 = 1 << 62;

/// A file system with many files, on a device.
pub type ManyFileSystem<D> = Journaled<D, FileTable>;

#[derive(Debug, Clone)]
pub struct FileTable {
    layout: FileLayout,
    allocator: BlockAllocator,
    /// By their first address.
    files: BTreeMap<u64, FileEntry>,
    folders: Vec<FileFolder>,
    next_address: u64,
    inodes: u64,
    /// Blocks of metadata on the drive that were changed since the last commit, and since the last sync.
    changed: BTreeSet<u64>,
    homes: BTreeSet<u64>,
}

#[derive(Debug, Clone)]
struct FileEntry {
    size_bytes: u64,
    /// Bytes of it that have been written, from its start on.
    written_to: u64,
    inode: u64,
    folder: usize,
    /// On the drive: first byte and length, in the order of the file.
    extents: Vec<(u64, u64)>,
}

#[derive(Debug, Clone)]
struct FileFolder {
    inode: u64,
    entries: u64,
    blocks: Vec<u64>,
}

/// The file system has no room for a file of this size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoRoom;

impl<D: SimDevice> ManyFileSystem<D> {
    /// Makes an empty file system on a device, of which `taken_bytes` from the start on are in use.
    pub fn empty(inner: D, taken_bytes: u64) -> Self {
        let table = FileTable::new(inner.capacity_bytes(), taken_bytes);
        Self::with_map(inner, table)
    }
}

impl FileTable {
    fn new(capacity: u64, taken: u64) -> Self {
        let layout = FileLayout::new(capacity, taken);
        let mut table = Self {
            layout,
            allocator: BlockAllocator::new(&layout, capacity),
            files: BTreeMap::new(),
            folders: Vec::new(),
            next_address: 0,
            inodes: 0,
            changed: BTreeSet::new(),
            homes: BTreeSet::new(),
        };
        // The root of the file system exists, with the blocks that mke2fs wrote.
        table.folders.push(FileFolder { inode: 0, entries: 0, blocks: Vec::new() });
        table
    }
    pub fn free_bytes(&self) -> u64 {
        self.allocator.free_bytes()
    }

    /// Makes a directory in another one (0 is the root); its number.
    ///
    /// # Errors
    /// There is no room for it.
    pub fn create_folder(&mut self, parent: usize) -> Result<usize, NoRoom> {
        let inode = self.new_inode(parent);
        let block = self.new_block()?;
        self.folders.push(FileFolder { inode, entries: 0, blocks: vec![block] });
        Ok(self.folders.len() - 1)
    }

    /// Makes a file of this size in a directory; its first address.
    ///
    /// # Errors
    /// There is no room for it.
    pub fn create_file(&mut self, folder: usize, size_bytes: u64) -> Result<u64, NoRoom> {
        let blocks = size_bytes.div_ceil(BLOCK_BYTES);
        let extents = self.allocator.allocate(blocks * BLOCK_BYTES).ok_or(NoRoom)?;
        self.note_bitmaps(&extents);
        let inode = self.new_inode(folder);
        if let Err(full) = self.add_entry(folder) {
            self.allocator.release(&extents);
            return Err(full);
        }
        let address = self.next_address;
        self.next_address += (size_bytes + FILE_UNIT).next_multiple_of(FILE_UNIT);
        let file = FileEntry { size_bytes, written_to: 0, inode, folder, extents };
        self.files.insert(address, file);
        Ok(address)
    }

    /// Removes a file; its blocks are free at once.
    pub fn remove_file(&mut self, address: u64) {
        let Some(file) = self.files.remove(&address) else { return };
        self.note_bitmaps(&file.extents);
        self.allocator.release(&file.extents);
        self.change_inode(file.inode);
        let entries = &mut self.folders[file.folder].entries;
        *entries = entries.saturating_sub(1);
        if let Some(&block) = self.folders[file.folder].blocks.last() {
            self.change(block);
        }
    }

    /// Where a file lies on the drive: first byte and length, in its order; empty for a missing file.
    pub fn extents(&self, address: u64) -> &[(u64, u64)] {
        self.files.get(&address).map_or(&[], |file| &file.extents)
    }

    /// Bytes of a file; 0 of one that is not there.
    pub fn size_of(&self, address: u64) -> u64 {
        self.files.get(&address).map_or(0, |file| file.size_bytes)
    }

    /// A file was written past the page cache, whole.
    pub fn note_written(&mut self, address: u64) {
        if let Some(file) = self.files.get_mut(&address) {
            file.written_to = file.size_bytes;
        }
    }

    fn file_at(&self, offset: u64) -> Option<(u64, &FileEntry)> {
        let (&address, file) = self.files.range(..=offset).next_back()?;
        (offset < address + file.size_bytes.next_multiple_of(BLOCK_BYTES))
            .then_some((address, file))
    }

    fn new_inode(&mut self, folder: usize) -> u64 {
        // Eleven are the file system's own.
        let inode = 11 + self.inodes;
        self.inodes += 1;
        self.change_inode(inode);
        if let Some(&block) = self.folders[folder].blocks.last() {
            self.change(block);
        }
        inode
    }

    /// Inodes follow the bitmaps at the front of their flexible group.
    fn change_inode(&mut self, inode: u64) {
        let inodes_per_flex = (self.layout.metadata / INODE_BYTES).max(1);
        let flex = inode / inodes_per_flex * FLEX_BYTES;
        let bitmaps = 2 * FLEX_GROUPS;
        let in_table = inode % inodes_per_flex;
        let group = in_table * FLEX_GROUPS / inodes_per_flex;
        self.change(flex / BLOCK_BYTES + FLEX_GROUPS + group);
        self.change(flex / BLOCK_BYTES + bitmaps + in_table / INODES_PER_BLOCK);
    }

    fn add_entry(&mut self, folder: usize) -> Result<(), NoRoom> {
        self.folders[folder].entries += 1;
        let FileFolder { entries, blocks, .. } = &self.folders[folder];
        if !blocks.is_empty() && *entries > blocks.len() as u64 * ENTRIES_PER_BLOCK {
            let block = self.new_block()?;
            self.folders[folder].blocks.push(block);
            self.change_inode(self.folders[folder].inode);
        }
        Ok(())
    }

    fn new_block(&mut self) -> Result<u64, NoRoom> {
        let extents = self.allocator.allocate(BLOCK_BYTES).ok_or(NoRoom)?;
        self.note_bitmaps(&extents);
        let block = extents.first().map_or(0, |(at, _)| at / BLOCK_BYTES);
        self.change(block);
        Ok(block)
    }

    /// Bitmaps of blocks stand at the front of the flexible group, descriptors of groups at that of the drive.
    fn note_bitmaps(&mut self, extents: &[(u64, u64)]) {
        for &(at, len) in extents {
            for group in at / GROUP_BYTES..=(at + len.max(1) - 1) / GROUP_BYTES {
                let flex = group / FLEX_GROUPS * FLEX_BYTES;
                self.change(flex / BLOCK_BYTES + group % FLEX_GROUPS);
                self.change(1 + group / DESCRIPTORS_PER_BLOCK);
            }
        }
    }

    fn change(&mut self, block: u64) {
        self.changed.insert(block);
        self.homes.insert(block);
    }
}

impl BlockMap for FileTable {
    fn size_bytes(&self) -> u64 {
        ADDRESSES
    }

    fn place(&mut self, from: u64, to: u64) {
        let Some((&address, file)) = self.files.range_mut(..=from).next_back() else { return };
        // Of a file that was removed meanwhile, nothing has a place any more.
        if from - address < file.size_bytes {
            file.written_to = file.written_to.max(to - address);
        }
    }

    fn pieces(&self, from: u64, to: u64) -> Vec<(u64, u64)> {
        let Some((address, file)) = self.file_at(from) else { return Vec::new() };
        let whole = file.written_to.next_multiple_of(BLOCK_BYTES);
        let (mut from, to) = (from - address, (to - address).min(whole));
        let (mut before, mut pieces) = (0, Vec::new());
        for &(at, len) in &file.extents {
            let end = before + len;
            if from < to.min(end) {
                let until = to.min(end);
                pieces.push((at + from - before, until - from));
                from = until;
            }
            before = end;
        }
        pieces
    }

    fn holds_data(&self, offset: u64) -> bool {
        self.file_at(offset).is_some_and(|(address, file)| offset - address < file.written_to)
    }

    fn journal(&self) -> (u64, u64) {
        self.layout.journal_blocks()
    }

    fn take_changed_blocks(&mut self) -> u64 {
        let changed = std::mem::take(&mut self.changed).len() as u64;
        // and the journal's own block
        if changed > 0 { changed + 1 } else { 0 }
    }

    fn take_homes(&mut self) -> Vec<(u64, u64)> {
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for block in std::mem::take(&mut self.homes) {
            let at = block * BLOCK_BYTES;
            match runs.last_mut() {
                Some((first, len)) if *first + *len == at => *len += BLOCK_BYTES,
                _ => runs.push((at, BLOCK_BYTES)),
            }
        }
        runs
    }

    fn commits_by_time(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
