//! What a path is, and whether it may be measured.

use crate::error::{DEVICE_RULES, DriveError};
use crate::io_file::IoFile;
use drivescope_machine::aside;
use drivescope_machine::patience::{PATIENCE, within};
use drivescope_machine::{Roots, silent_loops};
use drivescope_model::target::{FileSystem, TargetKind};
use drivescope_model::units::Bytes;
use rustix::fs::Access;
use rustix::io::Errno;
use std::ffi::OsString;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// The name of [`look`] among those of [`aside::answer`].
pub const TARGET: &str = "target";

/// Asks each file or device for its first answer.
pub fn look(paths: &[OsString], has_answered: &(dyn Fn(usize) + Sync)) {
    for (index, path) in paths.iter().enumerate() {
        let _ = IoFile::open_read(Path::new(path));
        has_answered(index);
    }
}

/// The name of [`look_up`] among those of [`aside::answer`].
pub const PATH: &str = "path";

/// Asks the server of each path for its metadata.
pub fn look_up(paths: &[OsString], has_answered: &(dyn Fn(usize) + Sync)) {
    aside::each(paths, has_answered, &|path| {
        // The kernel may know the path by itself; of room on a file system it asks the server.
        let _ = rustix::fs::statvfs(Path::new(path));
    });
}

/// Refuses a path whose server, such as a network or FUSE file system's, does not answer in time.
pub fn check_answers(path: &Path) -> Result<(), DriveError> {
    if aside::silent(PATH, &[path.into()], PATIENCE) == [true] {
        Err(no_answer(path))
    } else {
        Ok(())
    }
}

fn no_answer(path: &Path) -> DriveError {
    DriveError::NoAnswer { path: path.to_path_buf(), seconds: PATIENCE.as_secs() }
}

/// Whether a file or device does not answer in time. Another process finds out, and is abandoned.
pub(crate) fn is_silent(roots: &Roots, path: &Path) -> bool {
    let is_known = path.starts_with(&roots.dev)
        && roots
            .block_of_node(path)
            .is_some_and(|name| silent_loops::is_served_by_none(roots, &name));
    is_known || aside::silent(TARGET, &[path.into()], PATIENCE) == [true]
}

pub(super) fn kind_of(path: &Path, kind: std::fs::FileType) -> Result<TargetKind, DriveError> {
    let wrong = |what| Err(DriveError::WrongKind { path: path.to_path_buf(), what });
    if kind.is_dir() {
        Ok(TargetKind::Directory)
    } else if kind.is_file() {
        Ok(TargetKind::File)
    } else if kind.is_block_device() {
        Ok(TargetKind::Block)
    } else if kind.is_char_device() {
        wrong("character device")
    } else if kind.is_fifo() {
        wrong("pipe")
    } else if kind.is_socket() {
        wrong("socket")
    } else {
        wrong("thing of unknown kind")
    }
}

pub(super) fn check(
    path: &Path,
    kind: TargetKind,
    file_system: Option<&FileSystem>,
) -> Result<(), DriveError> {
    let (what, access) = match kind {
        TargetKind::Directory => ("write in", Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK),
        _ => ("read", Access::READ_OK),
    };
    if kind == TargetKind::Directory && file_system.is_some_and(|fs| fs.read_only) {
        return Err(DriveError::ReadOnly { path: path.to_path_buf() });
    }
    rustix::fs::access(path, access).map_err(|errno| match errno {
        Errno::PERM if kind == TargetKind::Block => {
            DriveError::NoPermission { what, path: path.to_path_buf(), remedy: DEVICE_RULES }
        }
        errno => DriveError::from_errno(what, path, errno),
    })
}

/// Bytes of a file or device, which has to answer, or of the file system of a directory.
pub(super) fn size_of(
    roots: &Roots,
    path: &Path,
    kind: TargetKind,
    file_system: Option<&FileSystem>,
) -> Result<u64, DriveError> {
    match kind {
        TargetKind::Directory => Ok(file_system.map_or(0, |fs| fs.size_bytes)),
        _ => {
            let own = path.to_path_buf();
            let open = move || IoFile::open_read(&own).map(|it| it.size_bytes());
            let size = (!is_silent(roots, path)).then(|| within(PATIENCE, open)).flatten();
            let size = size.ok_or_else(|| no_answer(path))??;
            if size == 0 {
                return Err(DriveError::TooSmall {
                    path: path.to_path_buf(),
                    size: Bytes(0).to_string(),
                    needed: "name a file or device with contents to read".to_string(),
                });
            }
            Ok(size)
        }
    }
}
