//! The entries of one directory, as little memory as they need.

use rustix::fd::BorrowedFd;
use rustix::fs::{AtFlags, Dir, FileType};
use rustix::io::Errno;
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What a directory holds, in the order of its inodes: on disks, that is the order in which file systems laid them
/// out, and the one that `cp`, `rm` and `du` use.
#[derive(Debug)]
pub(super) struct DirectoryNames {
    /// All names, each with its NUL.
    names: Vec<u8>,
    entries: Vec<ListedName>,
}

#[derive(Debug, Clone, Copy)]
struct ListedName {
    inode: u64,
    at: u32,
    len: u16,
    kind: FileType,
}

impl DirectoryNames {
    /// Without `.` and `..`.
    pub fn read(dir: BorrowedFd<'_>) -> Result<Self, Errno> {
        let mut listing = Self { names: Vec::new(), entries: Vec::new() };
        for entry in Dir::read_from(dir)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes_with_nul();
            if matches!(name, b".\0" | b"..\0") {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => {
                    match rustix::fs::statat(dir, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                        Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                        Err(_) => FileType::Unknown,
                    }
                }
                known => known,
            };
            let (at, len) = (listing.names.len() as u32, name.len() as u16);
            listing.names.extend_from_slice(name);
            listing.entries.push(ListedName { inode: entry.ino(), at, len, kind });
        }
        listing.entries.sort_unstable_by_key(|entry| entry.inode);
        Ok(listing)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&CStr, FileType)> {
        self.entries.iter().map(|entry| {
            let bytes = &self.names[entry.at as usize..entry.at as usize + usize::from(entry.len)];
            let name = CStr::from_bytes_with_nul(bytes).expect("each was kept with its NUL");
            (name, entry.kind)
        })
    }
}

pub(super) fn as_path(name: &CStr) -> &Path {
    Path::new(OsStr::from_bytes(name.to_bytes()))
}
