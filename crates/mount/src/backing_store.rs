//! The sparse file that keeps what was written to a served drive.

use super::error::ServeError;
use drivescope_model::units::Bytes;
use drivescope_sim::fake_capacity::FakeCapacity;
use rustix::fd::OwnedFd;
use rustix::fs::{FallocateFlags, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::path::{Path, PathBuf};

/// The backing file, open and locked.
#[derive(Debug)]
pub(super) struct BackingStore {
    fd: OwnedFd,
    path: PathBuf,
    /// It was not there before.
    made: bool,
    /// The drive has less memory than it announces.
    fake: Option<FakeCapacity>,
}

impl BackingStore {
    /// Opens `path`, or makes it as one hole of `capacity` bytes. A file of that size keeps its
    /// contents; one of another size is refused and left as it is.
    pub(super) fn open(path: &Path, capacity: u64) -> Result<Self, ServeError> {
        let fail = |errno| cannot(path, errno);
        let (fd, made) = open_or_make(path).map_err(fail)?;
        let stat = rustix::fs::fstat(&fd).map_err(fail)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            let why = "it is not a regular file; name a file, which is made if it is not there";
            return Err(refused(path, why));
        }
        match rustix::fs::flock(&fd, FlockOperation::NonBlockingLockExclusive) {
            // A file system without locks cannot tell a second server from the first.
            Ok(()) | Err(Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS) => {}
            Err(_) => {
                let why = "another server uses it; stop that one or name another backing file";
                return Err(refused(path, why));
            }
        }
        match stat.st_size as u64 {
            0 => set_length(&fd, capacity).map_err(|errno| {
                remove_if(made, path);
                too_large(path, errno)
            })?,
            size if size == capacity => {}
            size => {
                let (found, wanted) = (Bytes(size), Bytes(capacity));
                return Err(ServeError::BackingSize { path: path.into(), found, wanted });
            }
        }
        Ok(Self { fd, path: path.to_path_buf(), made, fake: None })
    }

    pub(super) fn with_fake(self, fake: Option<FakeCapacity>) -> Self {
        Self { fake, ..self }
    }

    /// The pieces of `len` bytes from `offset` on: where each is, if it has memory, and its bytes.
    fn pieces(&self, offset: u64, len: usize) -> Vec<(Option<u64>, usize)> {
        let Some(fake) = self.fake else { return vec![(Some(offset), len)] };
        let (mut at, end, mut pieces) = (offset, offset + len as u64, Vec::new());
        while at < end {
            let bytes = fake.piece_bytes(at, end - at);
            pieces.push((fake.place(at), bytes as usize));
            at += bytes;
        }
        pieces
    }

    /// Removes the file if it was made here and holds nothing: the drive could not be served after all.
    pub(super) fn remove_if_unused(&self) {
        remove_if(self.made && self.allocated_bytes() == 0, &self.path);
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes that it takes of its file system; holes take none.
    pub(super) fn allocated_bytes(&self) -> u64 {
        // `stat` counts blocks of 512 bytes whatever the file system's are.
        rustix::fs::fstat(&self.fd).map_or(0, |stat| stat.st_blocks as u64 * 512)
    }

    /// Reads `len` bytes from `offset`; holes read as zeros.
    pub(super) fn read(&self, offset: u64, len: usize) -> Result<Vec<u8>, Errno> {
        let mut bytes = vec![0; len];
        let mut rest = &mut bytes[..];
        for (place, len) in self.pieces(offset, len) {
            let (piece, after) = rest.split_at_mut(len);
            rest = after;
            if let Some(place) = place {
                self.read_piece(place, piece)?;
            }
        }
        Ok(bytes)
    }

    fn read_piece(&self, offset: u64, bytes: &mut [u8]) -> Result<(), Errno> {
        let mut done = 0;
        while done < bytes.len() {
            match rustix::io::pread(&self.fd, &mut bytes[done..], offset + done as u64) {
                Ok(0) => break, // the file was truncated: read zeros
                Ok(n) => done += n,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    pub(super) fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        let mut rest = bytes;
        for (place, len) in self.pieces(offset, bytes.len()) {
            let (piece, after) = rest.split_at(len);
            rest = after;
            if let Some(place) = place {
                self.write_piece(place, piece)?;
            }
        }
        Ok(())
    }

    fn write_piece(&self, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        let mut done = 0;
        while done < bytes.len() {
            match rustix::io::pwrite(&self.fd, &bytes[done..], offset + done as u64) {
                Ok(n) => done += n,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    /// A fake drive keeps what is discarded, which it need not forget.
    #[expect(
        clippy::disallowed_methods,
        reason = "TRIM of a served drive, in the file of its contents"
    )]
    pub(super) fn punch(&self, offset: u64, len: u64) -> Result<(), Errno> {
        if self.fake.is_some() {
            return Ok(());
        }
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        rustix::fs::fallocate(&self.fd, flags, offset, len)
    }

    /// Syncs to the host's drive, which reports errors that writes did not meet.
    pub(super) fn sync(&self) -> Result<(), Errno> {
        rustix::fs::fdatasync(&self.fd)
    }
}

/// The file, and whether it is a new one.
#[expect(clippy::disallowed_methods, reason = "the file of a served drive's contents")]
fn open_or_make(path: &Path) -> Result<(OwnedFd, bool), Errno> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let mode = Mode::RUSR | Mode::WUSR;
    match rustix::fs::open(path, flags | OFlags::EXCL, mode) {
        Err(Errno::EXIST) => Ok((rustix::fs::open(path, flags, mode)?, false)),
        made => Ok((made?, true)),
    }
}

#[expect(clippy::disallowed_methods, reason = "an empty file becomes one hole of the drive's size")]
fn set_length(fd: &OwnedFd, bytes: u64) -> Result<(), Errno> {
    rustix::fs::ftruncate(fd, bytes)
}

#[expect(
    clippy::disallowed_methods,
    reason = "a file of contents that was just made and holds nothing"
)]
fn remove_if(unused: bool, path: &Path) {
    if unused {
        // Else an empty file would stay. The error itself is reported in any case.
        let _ = std::fs::remove_file(path);
    }
}

fn cannot(path: &Path, errno: Errno) -> ServeError {
    let why = match errno {
        Errno::ACCESS | Errno::PERM => "no permission; name a file in a directory of your own",
        Errno::NOENT | Errno::NOTDIR => "its directory does not exist; make it first",
        Errno::ISDIR => "it is a directory; name a file in it, which is made if it is not there",
        Errno::ROFS => "its file system is read-only; name a file on another one",
        Errno::NOSPC | Errno::DQUOT => "its file system is full; free some space",
        _ => return refused(path, errno.to_string()),
    };
    refused(path, why)
}

fn refused(path: &Path, why: impl Into<String>) -> ServeError {
    ServeError::BackingStore { path: path.into(), why: why.into() }
}

fn too_large(path: &Path, errno: Errno) -> ServeError {
    match errno {
        Errno::FBIG | Errno::INVAL | Errno::NOSPC => {
            refused(path, "its file system has no files that large; name one on ext4, XFS or btrfs")
        }
        _ => cannot(path, errno),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    const SIZE: u64 = 1 << 20;

    #[test]
    fn new_file_is_sparse_and_keeps_writes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("disk");
        let backing = BackingStore::open(&path, SIZE).unwrap();
        assert_eq!(backing.read(SIZE - 8, 8).unwrap(), [0; 8]);
        backing.write(4096, b"contents").unwrap();
        backing.sync().unwrap();
        let allocated = backing.allocated_bytes();
        drop(backing);
        let file = fs::metadata(&path).unwrap();
        assert_eq!(file.len(), SIZE);
        assert!(file.blocks() * 512 < SIZE, "it is sparse");
        assert_eq!(file.blocks() * 512, allocated);
        let backing = BackingStore::open(&path, SIZE).unwrap();
        assert_eq!(backing.read(4096, 8).unwrap(), b"contents");
        if backing.punch(4096, 4096).is_ok() {
            assert_eq!(backing.read(4096, 8).unwrap(), [0; 8]);
        }
    }

    #[test]
    fn fake_drive_keeps_only_its_real_bytes() {
        use drivescope_sim::fake_capacity::FakeKind;
        let dir = tempfile::tempdir().unwrap();
        for (fraud, low, high) in
            [(FakeKind::Wrap, *b"highhigh", *b"highhigh"), (FakeKind::Cut, *b"low_low_", [0; 8])]
        {
            let fake = FakeCapacity { fraud, real_bytes: 4096, cache_bytes: 0 };
            let path = dir.path().join(format!("{fraud:?}"));
            let backing = BackingStore::open(&path, SIZE).unwrap().with_fake(Some(fake));
            backing.write(0, b"low_low_").unwrap();
            backing.write(8192, b"highhigh").unwrap();
            assert_eq!(backing.read(0, 8).unwrap(), low, "{fraud:?}");
            assert_eq!(backing.read(8192, 8).unwrap(), high, "{fraud:?}");
            backing.write(4092, b"1234abcd").unwrap();
            let across = backing.read(4092, 8).unwrap();
            let end = if fraud == FakeKind::Wrap { *b"abcd" } else { [0; 4] };
            assert_eq!((&across[..4], &across[4..]), (&b"1234"[..], &end[..]), "{fraud:?}");
        }
    }

    #[test]
    fn other_files_are_refused_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let other = dir.path().join("letter");
        fs::write(&other, "precious").unwrap();
        let error = BackingStore::open(&other, SIZE).unwrap_err();
        assert!(matches!(error, ServeError::BackingSize { .. }), "{error}");
        assert_eq!(fs::read(&other).unwrap(), b"precious");
        for (path, word) in [
            (dir.path().to_path_buf(), "directory"),
            (dir.path().join("none/disk"), "does not exist"),
            (PathBuf::from("/dev/null"), "regular file"),
        ] {
            let error = BackingStore::open(&path, SIZE).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
        let path = dir.path().join("disk");
        let error = BackingStore::open(&path, 1 << 62).unwrap_err().to_string();
        assert!(error.contains("that large"), "{error}");
        assert!(!path.exists(), "nothing stays of a file that was only made for it");
        fs::write(&path, "").unwrap();
        BackingStore::open(&path, 1 << 62).unwrap_err();
        assert!(path.exists(), "what was there before does");
    }

    #[test]
    fn only_own_empty_files_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("disk");
        let new = BackingStore::open(&path, SIZE).unwrap();
        new.write(0, &[7; 4096]).unwrap();
        new.sync().unwrap();
        new.remove_if_unused();
        drop(new);
        BackingStore::open(&path, SIZE).unwrap().remove_if_unused();
        assert_eq!(fs::read(&path).unwrap()[0], 7);
        fs::remove_file(&path).unwrap();
        BackingStore::open(&path, SIZE).unwrap().remove_if_unused();
        assert!(!path.exists());
    }

    #[test]
    fn two_servers_cannot_share_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("disk");
        let first = BackingStore::open(&path, SIZE).unwrap();
        let error = BackingStore::open(&path, SIZE).unwrap_err().to_string();
        assert!(error.contains("another server"), "{error}");
        drop(first);
        BackingStore::open(&path, SIZE).unwrap();
    }
}
