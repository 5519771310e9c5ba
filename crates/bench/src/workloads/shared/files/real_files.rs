//! Files in a directory: a tree in the run's own folder, or the user's, which is only read, and its copy.

use super::evictor::Evictor;
use super::file_set::FileSet;
use super::file_store::{CopyOutcome, CopySide, FileStep, FileStore, Watch};
use crate::error::BenchError;
use crate::io::payload::Payload;
use drivescope_drive::own_folder::copying::{CopyCall, copy_tree};
use drivescope_drive::own_folder::source_tree::{SourceFile, SourceTree, TreeVisitor};
use drivescope_drive::own_folder::trees::TreeFolder;
use drivescope_drive::{DriveError, OwnFolder};
use std::ffi::CString;
use std::path::PathBuf;

const SOURCE: &str = "source";
const COPY: &str = "copy";
/// The free space is checked once per this many bytes, and files are written in pieces.
const ROOM_EVERY: u64 = 64 << 20;
const PIECE: usize = 1 << 20;

/// A source and its copy.
pub(crate) struct RealFiles<'f> {
    /// In the target.
    folder: &'f mut OwnFolder,
    /// In the directory to copy from, where that is another one.
    other: Option<OwnFolder>,
    /// The user's files, instead of ones that are made.
    given: Option<PathBuf>,
    call: CopyCall,
    payload: Payload,
    buffer: Vec<u8>,
}

impl<'f> RealFiles<'f> {
    pub fn new(
        folder: &'f mut OwnFolder,
        call: CopyCall,
        block_bytes: u64,
        payload: Payload,
    ) -> Self {
        let buffer = vec![0; block_bytes as usize];
        Self { folder, other: None, given: None, call, payload, buffer }
    }

    pub fn with_source(self, other: OwnFolder) -> Self {
        Self { other: Some(other), ..self }
    }

    /// The same with the user's files as the source.
    pub fn of_files(self, path: PathBuf) -> Self {
        Self { given: Some(path), ..self }
    }

    fn holder(&mut self, side: CopySide) -> &mut OwnFolder {
        match (side, &mut self.other) {
            (CopySide::Source, Some(other)) => other,
            _ => self.folder,
        }
    }

    fn open(&mut self, side: CopySide) -> Result<SourceTree, DriveError> {
        if let (CopySide::Source, Some(path)) = (side, &self.given) {
            return SourceTree::open(path);
        }
        self.holder(side).open_tree(name(side))?.to_read()
    }

    /// Removes the folder in the other directory, and says so if that fails.
    pub fn close(mut self) -> Result<(), BenchError> {
        self.other.take().map_or(Ok(()), |other| Ok(other.remove()?))
    }
}

const fn name(side: CopySide) -> &'static str {
    match side {
        CopySide::Source => SOURCE,
        CopySide::Copy => COPY,
    }
}

impl FileStore for RealFiles<'_> {
    fn create(&mut self, set: &FileSet, watch: &mut Watch<'_>) -> Result<(), BenchError> {
        let payload = self.payload;
        let root = self.holder(CopySide::Source).create_tree(SOURCE)?;
        let mut maker = TreeMaker {
            set,
            children: children(set),
            payload,
            piece: vec![0; PIECE],
            at: 0,
            unlooked: ROOM_EVERY,
        };
        maker.folder(&root, 0, watch)?;
        Ok(())
    }

    fn copy(&mut self, watch: &mut Watch<'_>) -> Result<CopyOutcome, BenchError> {
        let source = self.open(CopySide::Source)?;
        let into = self.folder.create_tree(COPY)?;
        let summary = copy_tree(&source, into, self.call, &mut self.buffer, watch)?;
        let looked_at = summary.looked_at_bytes.max(1) as f64;
        Ok(CopyOutcome {
            left_out: summary.left_out.described(),
            shared_share: summary.shared_bytes as f64 / looked_at,
        })
    }

    fn read(&mut self, side: CopySide, watch: &mut Watch<'_>) -> Result<(), BenchError> {
        let tree = self.open(side)?;
        tree.walk(&mut Reader { buffer: &mut self.buffer, watch })?;
        Ok(())
    }

    fn delete(&mut self, side: CopySide) -> Result<(), BenchError> {
        if side == CopySide::Source && self.given.is_some() {
            return Ok(());
        }
        Ok(self.holder(side).remove_tree(name(side))?)
    }

    fn sync(&mut self, side: CopySide) -> Result<(), BenchError> {
        Ok(self.holder(side).sync_file_system()?)
    }

    fn evict(&mut self, side: CopySide) -> Result<Option<f64>, BenchError> {
        let mut evictor = Evictor::default();
        let tree = self.open(side)?;
        tree.sync_file_system()?;
        tree.walk(&mut evictor)?;
        Ok(evictor.share())
    }
}

fn children(set: &FileSet) -> Vec<Vec<u32>> {
    let mut children = vec![Vec::new(); set.parents.len()];
    for (folder, &parent) in set.parents.iter().enumerate().skip(1) {
        children[parent as usize].push(folder as u32);
    }
    children
}

/// Writes a set of files, directory by directory; a descriptor is open for each level.
struct TreeMaker<'s> {
    set: &'s FileSet,
    children: Vec<Vec<u32>>,
    payload: Payload,
    piece: Vec<u8>,
    /// Where all bytes so far end: the place of the next file among the data of the seed.
    at: u64,
    /// Bytes written since the free space was checked.
    unlooked: u64,
}

impl TreeMaker<'_> {
    /// Whether to continue.
    fn folder(
        &mut self,
        here: &TreeFolder,
        number: u32,
        watch: &mut Watch<'_>,
    ) -> Result<bool, DriveError> {
        let files = &self.set.files;
        let first = files.partition_point(|file| file.folder < number);
        let behind = files.partition_point(|file| file.folder <= number);
        for (index, file) in files.iter().enumerate().take(behind).skip(first) {
            if !self.file(here, &named('f', index), file.size_bytes, watch)? {
                return Ok(false);
            }
        }
        for child in std::mem::take(&mut self.children[number as usize]) {
            let folder = here.create_folder(&named('d', child as usize))?;
            if !self.folder(&folder, child, watch)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn file(
        &mut self,
        here: &TreeFolder,
        name: &CString,
        size: u64,
        watch: &mut Watch<'_>,
    ) -> Result<bool, DriveError> {
        let file = here.create_file(name)?;
        let mut done = 0;
        while done < size {
            let len = (size - done).min(PIECE as u64) as usize;
            self.unlooked += len as u64;
            if self.unlooked >= ROOM_EVERY {
                self.unlooked = 0;
                file.check_room(len as u64)?;
            }
            self.payload.fill(&mut self.piece[..len], self.at);
            file.write_at(&self.piece[..len], done)?;
            done += len as u64;
            // Sectors of different files are stamped with different places.
            self.at += (len as u64).next_multiple_of(512);
            if !watch(FileStep::Moved(len as u64)) {
                return Ok(false);
            }
        }
        Ok(watch(FileStep::Done(size)))
    }
}

fn named(kind: char, number: usize) -> CString {
    CString::new(format!("{kind}{number:06}")).expect("digits have no NUL")
}

struct Reader<'r, 'w> {
    buffer: &'r mut [u8],
    watch: &'r mut Watch<'w>,
}

impl TreeVisitor for Reader<'_, '_> {
    fn file(&mut self, file: &SourceFile<'_>) -> Result<bool, DriveError> {
        let mut bytes = 0;
        for range in file.data() {
            let mut at = range.start;
            while at < range.end {
                let len = (range.end - at).min(self.buffer.len() as u64) as usize;
                let count = file.read_at(&mut self.buffer[..len], at)? as u64;
                if count == 0 {
                    file.check_end(at)?;
                    break;
                }
                (at, bytes) = (at + count, bytes + count);
                if !(self.watch)(FileStep::Moved(count)) {
                    return Ok(false);
                }
            }
        }
        Ok((self.watch)(FileStep::Done(bytes)))
    }
}
