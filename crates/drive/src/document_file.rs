//! A document as a file of its own: where a run is kept when its store cannot be written.

use crate::error::DriveError;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file that a run makes and may write anew; whole at any time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentFile {
    path: PathBuf,
    mode: Mode,
}

impl DocumentFile {
    /// The file `name` in `folder`, not made yet. The name must be unique: an existing file is replaced.
    pub fn new(folder: &Path, name: &str) -> Self {
        Self { path: folder.join(name), mode: Mode::RUSR | Mode::WUSR }
    }

    /// A file that the user named for what others may read, not made yet. What is there must be an ordinary file,
    /// and is only replaced where `may_replace` allows it.
    pub fn named(path: &Path, may_replace: bool) -> Result<Self, DriveError> {
        let refuse = |why| Err(DriveError::OutputFile { path: path.to_path_buf(), why });
        match std::fs::symlink_metadata(path) {
            Ok(found) if !found.is_file() => return refuse("it is no ordinary file"),
            Ok(_) if !may_replace => return refuse("it is there already; --force replaces it"),
            _ => {}
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if folder.is_some_and(|folder| !folder.exists()) {
            return Err(DriveError::OutputFolder { path: path.to_path_buf() });
        }
        let shared = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
        Ok(Self { path: path.to_path_buf(), mode: shared })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the whole text, for its user only; when this returns it is on the disk.
    ///
    /// Errors: the folder cannot be written, or is full; the old text is still there then.
    pub fn write(&self, text: &str) -> Result<(), DriveError> {
        self.write_bytes(text.as_bytes())
    }

    pub fn write_bytes(&self, contents: &[u8]) -> Result<(), DriveError> {
        let io = |error| DriveError::from_io("write", &self.path, error);
        self.write_with(io, |file| file.write_all(contents).map_err(io))
    }

    /// As [`Self::write`], with contents that `fill` writes, which may be larger than memory. `refused` converts
    /// errors of the folder into the caller's.
    pub fn write_with<T, E>(
        &self,
        refused: impl Fn(io::Error) -> E,
        fill: impl FnOnce(&mut File) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut name = self.path.as_os_str().to_owned();
        name.push(".part");
        let part = PathBuf::from(name);
        let made = make(&part, self.mode).or_else(|error| match error.kind() {
            // A call that was killed left it.
            io::ErrorKind::AlreadyExists => {
                unlink(&part)?;
                make(&part, self.mode)
            }
            _ => Err(error),
        });
        let written = made.map_err(&refused).and_then(|mut file| {
            let filled = fill(&mut file)?;
            file.sync_all().map_err(&refused)?;
            replace(&self.path, &part).map_err(|errno| refused(errno.into()))?;
            Ok(filled)
        });
        written.inspect_err(|_| {
            // It may not even be there.
            let _ = unlink(&part);
        })
    }

    /// A missing one is not an error.
    pub fn remove(&self) -> Result<(), DriveError> {
        match unlink(&self.path) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(DriveError::from_errno("remove", &self.path, errno)),
        }
    }
}

/// A folder that the user named for files that others may read; it is made if it is not there.
///
/// Errors: something else has its name, or the folder above is not there or cannot be written.
pub fn make_folder(path: &Path) -> Result<(), DriveError> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => {
            let why = "it is no folder";
            Err(DriveError::OutputFile { path: path.to_path_buf(), why })
        }
        Err(_) => mkdir(path).map_err(|errno| DriveError::from_errno("make", path, errno)),
    }
}

/// As [`make_folder`], with the folders above that are not there.
pub fn make_folders(path: &Path) -> Result<(), DriveError> {
    if let Some(above) =
        path.parent().filter(|above| !above.as_os_str().is_empty() && !above.exists())
    {
        make_folders(above)?;
    }
    make_folder(path)
}

#[expect(
    clippy::disallowed_methods,
    reason = "a new folder for a report, where the user asked for it"
)]
fn mkdir(path: &Path) -> Result<(), Errno> {
    rustix::fs::mkdir(path, Mode::RWXU | Mode::RGRP | Mode::XGRP | Mode::ROTH | Mode::XOTH)
}

/// Fails if the file exists.
#[expect(clippy::disallowed_methods, reason = "a new file for the document of a run")]
fn make(path: &Path, mode: Mode) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, mode)?))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the document's new text takes the place of its old one"
)]
fn replace(path: &Path, part: &Path) -> Result<(), Errno> {
    rustix::fs::rename(part, path)
}

#[expect(clippy::disallowed_methods, reason = "a document that the store has taken over")]
fn unlink(path: &Path) -> Result<(), Errno> {
    rustix::fs::unlink(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn document_is_replaced_whole_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let file = DocumentFile::new(folder.path(), "run-1.json");
        file.write("a long text").unwrap();
        file.write("short").unwrap();
        assert_eq!(std::fs::read_to_string(file.path()).unwrap(), "short");
        std::fs::write(folder.path().join("run-1.json.part"), "of a call that was killed").unwrap();
        file.write("again").unwrap();
        assert_eq!(std::fs::read_to_string(file.path()).unwrap(), "again");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        file.remove().unwrap();
        file.remove().unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn folder_is_made_once_and_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let new = folder.path().join("report");
        make_folder(&new).unwrap();
        make_folder(&new).unwrap();
        let taken = folder.path().join("taken");
        std::os::unix::fs::symlink("/tmp", &taken).unwrap();
        assert!(make_folder(&taken).unwrap_err().to_string().contains("no folder"));
        assert!(make_folder(&folder.path().join("absent/report")).is_err());
    }

    #[test]
    fn missing_folder_is_an_error_with_its_name() {
        let error = DocumentFile::new(Path::new("/nonexistent"), "x").write("y").unwrap_err();
        assert!(error.to_string().contains("/nonexistent/x"), "{error}");
    }
}
