//! The journals' folder; a process locks a file while it works with it.

use super::journal_folder::is_open_to_others;
use crate::error::DriveError;
use drivescope_machine::roots::open_to_read;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, FallocateFlags, FileType, FlockOperation, Mode, OFlags, RenameFlags};
use rustix::io::{Errno, retry_on_intr};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(super) const ENDING: &str = ".journal";
/// Ending while it is made: what has lost its header under its own name is damaged, not unfinished.
const UNFINISHED: &str = ".journal.new";

pub(super) fn unfinished(name: &str) -> String {
    format!("{}{UNFINISHED}", name.strip_suffix(ENDING).unwrap_or(name))
}

/// Whether a file has its final name: then its header and marks were durable.
pub(super) fn is_made(name: &str) -> bool {
    !name.ends_with(UNFINISHED)
}

/// Made or not.
fn is_journal(name: &str) -> bool {
    name.ends_with(ENDING) || name.ends_with(UNFINISHED)
}

/// A folder of journals. The real one is [`StateFolder`]; tests have one that loses power.
pub trait Folder {
    type File: JournalFile;
    /// Makes a new file, locked, with `reserve_bytes` of space set aside where the file system can. It is
    /// durable after [`Folder::sync`]. Errors: it exists, no space.
    fn create(&mut self, name: &str, reserve_bytes: u64) -> io::Result<Self::File>;
    /// Opens a file and locks it; `WouldBlock` if another process has it, `PermissionDenied` if it is
    /// another user's.
    fn open(&mut self, name: &str) -> io::Result<Self::File>;
    /// `to` must be free; durable after [`Folder::sync`].
    fn rename(&mut self, from: &str, to: &str) -> io::Result<()>;
    /// Durable after [`Folder::sync`].
    fn remove(&mut self, name: &str) -> io::Result<()>;
    /// Makes additions and removals durable.
    fn sync(&mut self) -> io::Result<()>;
    /// Names of all journals, made or not, sorted.
    fn names(&mut self) -> io::Result<Vec<String>>;
    fn path(&self, name: &str) -> PathBuf;
}

pub trait JournalFile {
    fn size_bytes(&mut self) -> io::Result<u64>;
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Waits until content and length are durable.
    fn sync(&mut self) -> io::Result<()>;
}

#[derive(Debug)]
pub struct StateFolder {
    path: PathBuf,
    dir: OwnedFd,
}

impl StateFolder {
    /// Opens the folder, and makes it durably if it is not there: only its owner may look into it,
    /// because journals hold what was on the drive.
    pub fn make(path: &Path) -> Result<Self, DriveError> {
        let fail = |errno| DriveError::from_errno("write in", path, errno);
        // Of a folder that is there, the one above may be as new.
        let above = path.parent().filter(|above| !above.as_os_str().is_empty());
        for folder in above.into_iter().chain([path]) {
            make_durably(folder).map_err(fail)?;
        }
        let folder = Self::open(path).map_err(fail)?;
        let found = rustix::fs::fstat(&folder.dir).map_err(&fail)?;
        let remedy = if !is_own(&folder.dir).map_err(fail)? {
            "it belongs to another user; set XDG_STATE_HOME to a folder of your own"
        } else if is_open_to_others(found.st_mode) {
            "others may write there; take that right away with chmod o-w"
        } else {
            return Ok(folder);
        };
        Err(DriveError::NoPermission { what: "keep journals in", path: path.to_path_buf(), remedy })
    }

    /// `None` if it is missing.
    pub fn find(path: &Path) -> Result<Option<Self>, DriveError> {
        match Self::open(path) {
            Ok(folder) => Ok(Some(folder)),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(errno) => Err(DriveError::from_errno("read", path, errno)),
        }
    }

    /// Opens a file to read it, and whether another process has it locked. It is not kept locked: a reader does not
    /// disturb others.
    pub(super) fn look(&self, name: &str) -> io::Result<(OpenFile, bool)> {
        let fd = self.opened(name, OFlags::RDONLY)?;
        let shared = rustix::fs::flock(&fd, FlockOperation::NonBlockingLockShared);
        if shared.is_ok() {
            rustix::fs::flock(&fd, FlockOperation::Unlock)?;
        }
        Ok((OpenFile(fd.into()), shared == Err(Errno::WOULDBLOCK)))
    }

    /// Opens a file, and nothing else that may have its name: `Unsupported`.
    fn opened(&self, name: &str, access: OFlags) -> io::Result<OwnedFd> {
        fn other(what: &str) -> io::Error {
            io::Error::new(io::ErrorKind::Unsupported, what)
        }
        let flags = access | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let fd = match open_at(&self.dir, name, flags) {
            Err(Errno::LOOP) => return Err(other("it is a symbolic link")),
            Err(Errno::ISDIR | Errno::NXIO) => return Err(other("it is not a regular file")),
            opened => opened?,
        };
        match FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode) {
            FileType::RegularFile => Ok(fd),
            _ => Err(other("it is not a regular file")),
        }
    }

    fn open(path: &Path) -> Result<Self, Errno> {
        Ok(Self { path: path.to_path_buf(), dir: open_to_read(path, OFlags::DIRECTORY)? })
    }
}

/// Makes a folder and those above it; each new name is synced in the folder that holds it.
fn make_durably(path: &Path) -> Result<(), Errno> {
    match make_folder(path) {
        // Its creator may have been killed before the name was synced.
        Err(Errno::EXIST) => match sync_name(path) {
            Err(Errno::ACCESS) => Ok(()), // made by another user
            other => other,
        },
        Err(Errno::NOENT) => {
            make_durably(path.parent().ok_or(Errno::NOENT)?)?;
            make_folder(path)?;
            sync_name(path)
        }
        other => other.and_then(|()| sync_name(path)),
    }
}

/// Makes the name of a folder durable in the one that holds it.
fn sync_name(path: &Path) -> Result<(), Errno> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = open_to_read(parent, OFlags::DIRECTORY)?;
    retry_on_intr(|| rustix::fs::fsync(&folder))
}

impl Folder for StateFolder {
    type File = OpenFile;

    fn create(&mut self, name: &str, reserve_bytes: u64) -> io::Result<OpenFile> {
        let fd = create_at(&self.dir, name)?;
        match lock(&fd).and_then(|()| reserve(&fd, reserve_bytes)) {
            Ok(()) => Ok(OpenFile(fd.into())),
            Err(errno) => {
                // Nothing is in it yet.
                let _ = remove_at(&self.dir, name);
                Err(errno.into())
            }
        }
    }

    fn open(&mut self, name: &str) -> io::Result<OpenFile> {
        let fd = self.opened(name, OFlags::RDWR)?;
        if !is_own(&fd)? {
            // A user who can forge a journal could write to the drive through us.
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        lock(&fd)?;
        Ok(OpenFile(fd.into()))
    }

    #[expect(clippy::disallowed_methods, reason = "a journal gets its name, which no file has")]
    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let (dir, flags) = (&self.dir, RenameFlags::NOREPLACE);
        match rustix::fs::renameat_with(dir, from, dir, to, flags) {
            // Some file systems cannot promise that the name is free: no other run has it.
            Err(Errno::INVAL | Errno::NOSYS) => Ok(rustix::fs::renameat(dir, from, dir, to)?),
            other => Ok(other?),
        }
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        Ok(remove_at(&self.dir, name)?)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(retry_on_intr(|| rustix::fs::fsync(&self.dir))?)
    }

    fn names(&mut self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.path)? {
            names.extend(entry?.file_name().into_string().ok().filter(|name| is_journal(name)));
        }
        names.sort();
        Ok(names)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

/// A journal of a [`StateFolder`]; unlocked when it is dropped.
#[derive(Debug)]
pub struct OpenFile(File);

impl JournalFile for OpenFile {
    fn size_bytes(&mut self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(buffer, offset)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }
}

/// Writes to the disk of a folder, as far as any user may: a file without a name, which vanishes when it is closed.
#[expect(
    clippy::disallowed_methods,
    reason = "a file without a name, to learn whether its disk answers"
)]
pub(super) fn touch(folder: &Path) {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let _ = rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR).and_then(rustix::fs::fsync);
}

#[expect(clippy::disallowed_methods, reason = "the folder of journals, for its user alone")]
fn make_folder(path: &Path) -> Result<(), Errno> {
    rustix::fs::mkdir(path, Mode::RWXU)
}

#[expect(clippy::disallowed_methods, reason = "a new journal, for its user alone")]
fn create_at(dir: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::openat(dir, name, flags, Mode::RUSR | Mode::WUSR)
}

#[expect(
    clippy::disallowed_methods,
    reason = "a journal: to say in it that all is back, or to read it"
)]
fn open_at(dir: &OwnedFd, name: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(dir, name, flags, Mode::empty())
}

#[expect(
    clippy::disallowed_methods,
    reason = "a journal whose originals are all back, or that has none"
)]
fn remove_at(dir: &OwnedFd, name: &str) -> Result<(), Errno> {
    rustix::fs::unlinkat(dir, name, AtFlags::empty())
}

fn is_own(fd: &OwnedFd) -> Result<bool, Errno> {
    Ok(rustix::fs::fstat(fd)?.st_uid == rustix::process::geteuid().as_raw())
}

/// Attempts to get a lock that another process has: readers hold it for a moment.
const ATTEMPTS: u32 = 5;
const MOMENT: Duration = Duration::from_millis(10);

/// A lock of the kernel, which goes with the process. A network file system without locks has none to
/// give; then only the exclusive claim of the drive keeps two programs apart.
fn lock(fd: &OwnedFd) -> Result<(), Errno> {
    let ask = || rustix::fs::flock(fd.as_fd(), FlockOperation::NonBlockingLockExclusive);
    let mut locked = ask();
    for _ in 1..ATTEMPTS {
        if locked != Err(Errno::WOULDBLOCK) {
            break;
        }
        std::thread::sleep(MOMENT);
        locked = ask();
    }
    match locked {
        Err(Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        other => other,
    }
}

/// Sets space aside beyond the end of the file, so that a full disk says so before anything is written
/// to the drive. File systems that cannot say so at the write, still before the drive's.
#[expect(clippy::disallowed_methods, reason = "space beyond the end of a journal; no byte changes")]
fn reserve(fd: &OwnedFd, bytes: u64) -> Result<(), Errno> {
    match rustix::fs::fallocate(fd, FallocateFlags::KEEP_SIZE, 0, bytes) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn files_are_private_locked_and_listed() {
        let scratch = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = scratch.path().join("a/b/journals");
        assert!(StateFolder::find(&path).unwrap().is_none());
        let mut folder = StateFolder::make(&path).unwrap();
        let mut file = folder.create("x.journal", 1 << 20).unwrap();
        assert_eq!(file.size_bytes().unwrap(), 0, "reserved space is not length");
        file.write_at(4096, b"abc").unwrap();
        file.sync().unwrap();
        folder.sync().unwrap();
        let mut buffer = [9; 3];
        file.read_at(4096, &mut buffer).unwrap();
        assert_eq!(&buffer, b"abc");
        let beyond = file.read_at(4097, &mut buffer).unwrap_err();
        assert_eq!(beyond.kind(), io::ErrorKind::UnexpectedEof);
        for (path, mode) in [(path.clone(), 0o700), (folder.path("x.journal"), 0o600)] {
            assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, mode);
        }
        std::fs::write(path.join("note.txt"), "not ours").unwrap();
        let mut other = StateFolder::find(&path).unwrap().unwrap();
        assert_eq!(other.names().unwrap(), ["x.journal"]);
        assert_eq!(other.open("x.journal").unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert_eq!(folder.create("x.journal", 0).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        drop(file);
        // Who reads it is not who works with it.
        let (looking, is_locked) = folder.look("x.journal").unwrap();
        assert!(!is_locked);
        let working = other.open("x.journal").unwrap();
        assert!(folder.look("x.journal").unwrap().1);
        drop((looking, working));
        other.remove("x.journal").unwrap();
        assert_eq!(folder.names().unwrap(), [""; 0]);
    }

    #[test]
    fn missing_space_is_refused_without_remains() {
        let scratch = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let mut folder = StateFolder::make(scratch.path()).unwrap();
        let error = folder.create("x.journal", 1 << 55).unwrap_err();
        let full = [io::ErrorKind::StorageFull, io::ErrorKind::FileTooLarge];
        assert!(full.contains(&error.kind()), "{error:?}");
        assert_eq!(folder.names().unwrap(), [""; 0]);
    }
}
