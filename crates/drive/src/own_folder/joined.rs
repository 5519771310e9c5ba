//! Scratch files that take the free space of a file system, down to the floor.

use super::free_space::left_bytes;
use super::{OwnFolder, syscalls};
use crate::error::DriveError;
use crate::io_file::IoFile;
use crate::joined_files::PIECE;
use drivescope_model::units::Bytes;
use rustix::fd::AsFd;
use rustix::io::{Errno, retry_on_intr};

/// Bytes of a file: f3write's files are as long, and FAT takes them.
const PART: u64 = 1 << 30;
/// Files at most, which are open together: a process may usually have 1024.
const PARTS_MAX: u64 = 512;
/// The probe of direct I/O reads one block.
const BLOCK: [u8; 4096] = [0; 4096];

fn name_of(number: u64) -> String {
    format!("part{number:03}")
}

impl OwnFolder {
    /// Makes files of `total` bytes together, or as many as leave the floor of free space, to be read and written as
    /// one; their space is reserved where the file system can. `continues` is asked before each file.
    pub fn create_joined(
        &mut self,
        total: Bytes,
        continues: impl Fn() -> bool,
    ) -> Result<IoFile, DriveError> {
        let part = PART.max(total.0.div_ceil(PARTS_MAX).next_multiple_of(PIECE));
        self.holds.files.extend((0..total.0.div_ceil(part)).map(name_of));
        self.write_manifest()?;
        let (mut files, mut made) = (Vec::new(), 0);
        while made < total.0 && continues() {
            // A file that is not the last must be whole.
            let size = part.min(total.0 - made).min(left_bytes(&self.parent)?) / PIECE * PIECE;
            if size == 0 {
                break;
            }
            let Some(file) = self.create_part(&name_of(files.len() as u64), size)? else { break };
            files.push(file);
            made += size;
            if size < part {
                break;
            }
        }
        if files.is_empty() {
            return Err(super::no_room(&self.parent, Some(Bytes(PIECE))));
        }
        Ok(IoFile::joined(files, part, made))
    }

    /// `None`: the file system has no room for it after all.
    fn create_part(&self, name: &str, size: u64) -> Result<Option<IoFile>, DriveError> {
        let path = self.path.join(name);
        let fail = |errno| self.write_error(&path, errno);
        let fd = syscalls::create_file(self.dir.as_fd(), name).map_err(fail)?;
        let last = match syscalls::reserve_if_possible(fd.as_fd(), size) {
            Ok(true) => size - BLOCK.len() as u64,
            // A longer file would be filled with zeros on FAT.
            Ok(false) => 0,
            Err(Errno::NOSPC) => {
                syscalls::remove_file(self.dir.as_fd(), name).map_err(fail)?;
                return Ok(None);
            }
            Err(errno) => return Err(fail(errno)),
        };
        retry_on_intr(|| rustix::io::pwrite(&fd, &BLOCK, last)).map_err(fail)?;
        retry_on_intr(|| rustix::fs::fsync(&fd)).map_err(fail)?;
        drop(fd);
        self.open_file(name).map(Some)
    }

    /// Removes the files of [`Self::create_joined`], to free their space.
    pub fn remove_joined(&mut self) -> Result<(), DriveError> {
        let (parts, others) = self.holds.files.drain(..).partition(|name| name.starts_with("part"));
        self.holds.files = others;
        super::remove_files(&self.path, self.dir.as_fd(), &parts)?;
        self.write_manifest()
    }

    /// Whether other programs have taken half of the floor of free space: too little is left for them.
    pub fn is_short_of_room(&self) -> bool {
        super::free_space::is_short(&self.parent)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::scratch;
    use super::*;

    #[test]
    fn joined_files_are_one_and_go_with_the_folder() {
        let parent = scratch();
        let mut folder = OwnFolder::create(parent.path(), "joined").unwrap();
        let file = folder.create_joined(Bytes::mib(3), || true).unwrap();
        assert_eq!((file.size_bytes(), file.is_joined()), (3 << 20, true));
        let (fd, at) = file.place(1 << 20);
        rustix::io::pwrite(fd, &[7; 4096], at).ok();
        file.sync().unwrap();
        file.evict().unwrap();
        assert!(file.resident_share().is_none_or(|share| share < 0.5));
        drop(file);
        folder.remove_joined().unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "its manifest");
        folder.create_joined(Bytes::mib(1), || true).unwrap();
        assert!(folder.create_joined(Bytes::mib(1), || false).is_err(), "stopped before the first");
        folder.remove().unwrap();
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
