//! Copying files into a tree of one's own, in the ways in which programs do.

use super::source_tree::{LeftOut, SourceFile, SourceTree, TreeVisitor};
use super::syscalls;
use super::trees::{TreeFile, TreeFolder};
use crate::error::DriveError;
use drivescope_machine::extents;
use rustix::fd::AsFd;
use rustix::io::{Errno, retry_on_intr};
use std::ffi::CStr;
use std::ops::Range;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyCall {
    ReadWrite,
    /// `copy_file_range`, which a file system may answer without copying.
    CopyFileRange,
    Sendfile,
}

const ROOM_EVERY: u64 = 64 << 20;
/// How many files are checked for extents shared with their source, and their least size.
const SHARED_FILES_MAX: u32 = 64;
const SHARED_MIN_BYTES: u64 = 64 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileStep {
    /// Bytes of one call.
    Moved(u64),
    /// Size of a finished file.
    Done(u64),
}

/// Receives steps; returns whether to continue.
pub type Watch<'w> = dyn FnMut(FileStep) -> bool + 'w;

#[derive(Debug, Clone, Copy, Default)]
pub struct CopySummary {
    pub left_out: LeftOut,
    /// Bytes of the checked copies; `shared_bytes` of these share the original's extents.
    pub looked_at_bytes: u64,
    pub shared_bytes: u64,
}

/// Copies everything in `source` into `into`; `buffer` is as long as one call.
///
/// Errors: the first file that could not be written or read.
pub fn copy_tree(
    source: &SourceTree,
    into: TreeFolder,
    call: CopyCall,
    buffer: &mut [u8],
    watch: &mut Watch<'_>,
) -> Result<CopySummary, DriveError> {
    let looks_left = if call == CopyCall::ReadWrite { 0 } else { SHARED_FILES_MAX };
    let (folders, since_look, summary) = (vec![into], ROOM_EVERY, CopySummary::default());
    let mut copier = Copier { folders, call, buffer, watch, since_look, looks_left, summary };
    let left_out = source.walk(&mut copier)?;
    Ok(CopySummary { left_out, ..copier.summary })
}

struct Copier<'c, 'w> {
    folders: Vec<TreeFolder>,
    call: CopyCall,
    buffer: &'c mut [u8],
    watch: &'c mut Watch<'w>,
    since_look: u64,
    looks_left: u32,
    summary: CopySummary,
}

impl TreeVisitor for Copier<'_, '_> {
    fn enter(&mut self, name: &CStr) -> Result<(), DriveError> {
        let folder = self.here().create_folder(name)?;
        self.folders.push(folder);
        Ok(())
    }

    fn leave(&mut self) {
        self.folders.pop();
    }

    fn file(&mut self, from: &SourceFile<'_>) -> Result<bool, DriveError> {
        let into = self.here().create_copy(from.name)?;
        from.expect_sequential_reads();
        let mut bytes = 0;
        for range in from.data() {
            let Some(copied) = self.copy_range(from, &into, range.clone())? else {
                return Ok(false);
            };
            bytes += copied;
            if copied < range.end - range.start {
                from.check_end(range.start + copied)?;
                break; // it became shorter meanwhile
            }
        }
        if self.call == CopyCall::ReadWrite {
            // As `cp`, which reads until nothing comes.
            from.read_at(&mut self.buffer[..1], from.size_bytes())?;
        }
        if self.looks_left > 0 && bytes >= SHARED_MIN_BYTES {
            self.looks_left -= 1;
            self.look_whether_shared(&into, bytes);
        }
        Ok((self.watch)(FileStep::Done(bytes)))
    }
}

impl Copier<'_, '_> {
    fn here(&self) -> &TreeFolder {
        self.folders.last().expect("the first one is never left")
    }

    /// Bytes that were copied; `None` if the copy is to end.
    fn copy_range(
        &mut self,
        from: &SourceFile<'_>,
        into: &TreeFile,
        range: Range<u64>,
    ) -> Result<Option<u64>, DriveError> {
        let mut at = range.start;
        while at < range.end {
            let wanted = (range.end - at).min(self.buffer.len() as u64);
            self.since_look += wanted;
            if self.since_look >= ROOM_EVERY {
                self.since_look = 0;
                self.here().check_room(wanted)?;
            }
            let moved = self.one_call(from, into, at, wanted as usize)?;
            if moved == 0 {
                break;
            }
            at += moved as u64;
            if !(self.watch)(FileStep::Moved(moved as u64)) {
                return Ok(None);
            }
        }
        Ok(Some(at - range.start))
    }

    fn one_call(
        &mut self,
        from: &SourceFile<'_>,
        into: &TreeFile,
        at: u64,
        len: usize,
    ) -> Result<usize, DriveError> {
        let moved = match self.call {
            CopyCall::ReadWrite => {
                let count = from.read_at(&mut self.buffer[..len], at)?;
                into.write_at(&self.buffer[..count], at)?;
                return Ok(count);
            }
            CopyCall::CopyFileRange => syscalls::copy_range(from.as_fd(), into.as_fd(), at, len),
            CopyCall::Sendfile => {
                let mut read_at = at;
                rustix::fs::seek(&into.fd, rustix::fs::SeekFrom::Start(at)).and_then(|_| {
                    retry_on_intr(|| {
                        rustix::fs::sendfile(&into.fd, from.as_fd(), Some(&mut read_at), len)
                    })
                })
            }
        };
        match moved {
            Ok(0) | Err(Errno::XDEV | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                // As programs do: the kernel cannot, or says that nothing comes, so they read and write.
                self.call = CopyCall::ReadWrite;
                self.one_call(from, into, at, len)
            }
            other => other.map_err(|errno| self.here().write_error(self.here().path(), errno)),
        }
    }

    fn look_whether_shared(&mut self, into: &TreeFile, bytes: u64) {
        let Ok(found) = extents::extents(into.as_fd(), false) else { return };
        let shared = found.iter().filter(|extent| extent.shared).map(|extent| extent.len_bytes);
        self.summary.looked_at_bytes += bytes;
        self.summary.shared_bytes += shared.sum::<u64>().min(bytes);
    }
}

#[cfg(test)]
mod tests;
