//! A folder of many files that the user named: written aside, and put in its place when it is whole.

use crate::document_file::{DocumentFile, make_folder};
use crate::error::DriveError;
use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// Lists the other files, a line each: what is not listed is the user's.
const LISTING: &str = "drivescope-export.txt";

/// Until [`ExportFolder::finish`], nothing in the named place changes; without it, everything written is removed.
#[derive(Debug)]
pub struct ExportFolder {
    path: PathBuf,
    /// Beside it, on the same file system.
    aside: PathBuf,
    written: BTreeSet<PathBuf>,
    /// Files of the earlier export that is replaced.
    earlier: Option<BTreeSet<PathBuf>>,
    is_done: bool,
}

impl ExportFolder {
    /// Begins a folder. Errors: there is something else than an empty folder or an earlier export with nothing added.
    pub fn new(path: &Path) -> Result<Self, DriveError> {
        // Without a trailing slash, which would follow a link.
        let path: PathBuf = path.components().collect();
        let refuse = |why| DriveError::OutputFile { path: path.clone(), why };
        let earlier = match std::fs::symlink_metadata(&path) {
            Ok(found) if !found.is_dir() => return Err(refuse("it is no folder")),
            Ok(_) => earlier_files(&path)?,
            Err(_) => None,
        };
        let name = path.file_name().ok_or_else(|| refuse("it has no name; name a new folder"))?;
        let mut aside_name = std::ffi::OsString::from(".");
        aside_name.push(name);
        aside_name.push(format!(".part-{}", std::process::id()));
        let aside = path.with_file_name(aside_name);
        if std::fs::symlink_metadata(&aside).is_ok() {
            return Err(DriveError::OutputFile {
                path: aside,
                why: "it is there already; remove it",
            });
        }
        make_folder(&aside)?;
        Ok(Self { path, aside, written: BTreeSet::new(), earlier, is_done: false })
    }

    /// Writes a file below the folder, once, with the folders above it. Errors: the name leads elsewhere or is taken;
    /// the folder cannot be written or is full.
    pub fn write(&mut self, name: &str, contents: &[u8]) -> Result<(), DriveError> {
        let relative = PathBuf::from(name);
        let is_plain = relative.components().all(|part| matches!(part, Component::Normal(_)));
        if !is_plain || name.contains('\n') {
            return Err(DriveError::OutputFile { path: relative, why: "its name leads elsewhere" });
        }
        let mut folder = self.aside.clone();
        for part in relative.parent().into_iter().flat_map(Path::components) {
            folder.push(part);
            make_folder(&folder)?;
        }
        DocumentFile::named(&self.aside.join(&relative), false)?.write_bytes(contents)?;
        self.written.insert(relative);
        Ok(())
    }

    /// Puts the folder in its place.
    pub fn finish(mut self) -> Result<(), DriveError> {
        let listing: String =
            self.written.iter().map(|name| format!("{}\n", name.display())).collect();
        self.write(LISTING, listing.as_bytes())?;
        let replaced = self.earlier.take();
        put(&self.aside, &self.path, replaced.is_some())
            .map_err(|errno| DriveError::from_errno("write", &self.path, errno))?;
        self.is_done = true;
        if let Some(files) = replaced {
            remove(&self.aside, &files);
        }
        Ok(())
    }
}

impl Drop for ExportFolder {
    fn drop(&mut self) {
        if !self.is_done {
            remove(&self.aside, &self.written);
        }
    }
}

/// The files of an earlier export; `None` for an empty folder. Errors: there are other files.
fn earlier_files(path: &Path) -> Result<Option<BTreeSet<PathBuf>>, DriveError> {
    let mut found = BTreeSet::new();
    add_files(path, Path::new(""), &mut found)
        .map_err(|error| DriveError::from_io("read", path, error))?;
    if found.is_empty() {
        let why = "it has folders of its own; name a new folder";
        let is_empty = std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
        return if is_empty {
            Ok(None)
        } else {
            Err(DriveError::OutputFile { path: path.to_path_buf(), why })
        };
    }
    let listing = std::fs::read_to_string(path.join(LISTING)).unwrap_or_default();
    let mut listed: BTreeSet<PathBuf> = listing.lines().map(PathBuf::from).collect();
    listed.insert(PathBuf::from(LISTING));
    if found.is_subset(&listed) && found.contains(Path::new(LISTING)) {
        return Ok(Some(found));
    }
    let why = "it has files that are not of an earlier export; name a new folder";
    Err(DriveError::OutputFile { path: path.to_path_buf(), why })
}

/// Everything that is no folder, links included, by its path below `root`.
fn add_files(root: &Path, below: &Path, found: &mut BTreeSet<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(root.join(below))? {
        let entry = entry?;
        let path = below.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            add_files(root, &path, found)?;
        } else {
            found.insert(path);
        }
    }
    Ok(())
}

/// Removes these files below a folder, and then the folders that are empty.
fn remove(folder: &Path, files: &BTreeSet<PathBuf>) {
    let mut folders = BTreeSet::from([PathBuf::new()]);
    for file in files {
        let _ = unlink(&folder.join(file));
        folders.extend(file.ancestors().skip(1).map(Path::to_path_buf));
    }
    // The deepest first.
    for below in folders.iter().rev() {
        let _ = rmdir(&folder.join(below));
    }
}

/// An empty folder is replaced by a rename, a full one changes its name with the new one.
#[expect(clippy::disallowed_methods, reason = "a new export takes the place of an earlier one")]
fn put(aside: &Path, path: &Path, is_full: bool) -> Result<(), Errno> {
    if is_full {
        return rustix::fs::renameat_with(CWD, aside, CWD, path, RenameFlags::EXCHANGE);
    }
    rustix::fs::rename(aside, path)
}

#[expect(clippy::disallowed_methods, reason = "a file that an export has made")]
fn unlink(path: &Path) -> Result<(), Errno> {
    rustix::fs::unlink(path)
}

#[expect(clippy::disallowed_methods, reason = "an empty folder that an export has made")]
fn rmdir(path: &Path) -> Result<(), Errno> {
    rustix::fs::rmdir(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn files(path: &Path) -> Vec<String> {
        let mut found = BTreeSet::new();
        add_files(path, Path::new(""), &mut found).unwrap();
        found.iter().map(|path| path.display().to_string()).collect()
    }

    fn export(path: &Path, names: &[&str]) -> Result<(), DriveError> {
        let mut folder = ExportFolder::new(path)?;
        for name in names {
            folder.write(name, b"x")?;
        }
        folder.finish()
    }

    #[test]
    fn earlier_export_is_replaced_whole() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("out");
        export(&path, &["a/b/1", "a/b/2", "c/3"]).unwrap();
        assert_eq!(files(&path), ["a/b/1", "a/b/2", "c/3", LISTING]);
        export(&path, &["d/4"]).unwrap();
        assert_eq!(files(&path), ["d/4", LISTING]);
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1, "nothing is left beside it");
        let empty = scratch.path().join("empty");
        fs::create_dir(&empty).unwrap();
        export(&empty, &[]).unwrap();
        assert_eq!(files(&empty), [LISTING]);
    }

    #[test]
    fn files_of_others_are_never_removed() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("out");
        export(&path, &["a/1"]).unwrap();
        fs::write(path.join("a/notes"), "mine").unwrap();
        let error = export(&path, &["a/2"]).unwrap_err().to_string();
        assert!(error.contains("not of an earlier export"), "{error}");
        assert_eq!(files(&path), ["a/1", "a/notes", LISTING]);
        for (name, why) in [("file", "no folder"), ("link", "no folder"), ("full", "not of an")] {
            let path = scratch.path().join(name);
            match name {
                "file" => fs::write(&path, "").unwrap(),
                "link" => std::os::unix::fs::symlink(scratch.path(), &path).unwrap(),
                _ => {
                    fs::create_dir(&path).unwrap();
                    fs::write(path.join("x"), "").unwrap();
                }
            }
            let error = export(&path, &["a/2"]).unwrap_err().to_string();
            assert!(error.contains(why), "{name}: {error}");
        }
    }

    #[test]
    fn unfinished_export_leaves_nothing() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("out");
        let mut folder = ExportFolder::new(&path).unwrap();
        folder.write("a/1", b"x").unwrap();
        for name in ["../evil", "/etc/evil", "a/../../evil", "a\nb"] {
            assert!(folder.write(name, b"x").is_err(), "{name}");
        }
        assert!(folder.write("a/1", b"again").is_err());
        drop(folder);
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
    }
}
