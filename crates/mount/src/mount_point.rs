//! The directory that a served drive is mounted on: checks, remains of a killed server, unmounting.

use super::error::ServeError;
use super::fuse::FILE_NAME;
use super::loop_device;
use drivescope_machine::mounts::{Mount, mounts};
use drivescope_machine::roots::Roots;
use drivescope_machine::served::served_model;
use rustix::io::Errno;
use rustix::mount::UnmountFlags;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// How long a server may take to answer what it answers without its model.
const ANSWER: Duration = Duration::from_secs(2);

/// The mount point as the kernel names it, usable and empty, after removing what a killed server left
/// there. Nothing else is unmounted.
pub(super) fn prepare(named: &Path) -> Result<PathBuf, ServeError> {
    let path = resolve(named);
    while let Some(mount) = mounted_on(&path) {
        if served_model(&mount).is_none() || !is_dead(&path) {
            let (kind, source_name) = (mount.kind, mount.source);
            return Err(ServeError::Busy { path, kind, source_name });
        }
        loop_device::detach_from(&path.join(FILE_NAME));
        detach(&path).map_err(|errno| {
            let why = format!(
                "a killed server left it mounted, and it cannot be unmounted ({errno}); run umount -l {} as root",
                path.display()
            );
            ServeError::MountPoint { path: path.clone(), why }
        })?;
    }
    let refuse = |why: &str| ServeError::MountPoint { path: path.clone(), why: why.to_string() };
    let is_empty = match std::fs::read_dir(&path) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => {
            return Err(match Errno::from_io_error(&error) {
                Some(Errno::NOENT) => refuse("it does not exist; make it first (mkdir)"),
                Some(Errno::NOTDIR) => refuse("it is not a directory; name an empty one"),
                Some(Errno::ACCESS | Errno::PERM) => {
                    refuse("no permission to read it; name a directory of your own")
                }
                _ => refuse(&error.to_string()),
            });
        }
    };
    if is_empty { Ok(path) } else { Err(refuse("it is not empty; name an empty directory")) }
}

pub(super) fn would_hide(mount_point: &Path, file: &Path) -> bool {
    resolve(file).starts_with(mount_point)
}

/// The path without links, absolute. The last part is not looked at if that fails, as it does on a mount
/// whose server is gone.
pub fn resolve(named: &Path) -> PathBuf {
    let absolute = std::path::absolute(named).unwrap_or_else(|_| named.to_path_buf());
    if let Ok(path) = std::fs::canonicalize(&absolute) {
        return path;
    }
    match (absolute.parent().and_then(|p| std::fs::canonicalize(p).ok()), absolute.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => absolute,
    }
}

/// What is mounted exactly here; the topmost, if several.
fn mounted_on(path: &Path) -> Option<Mount> {
    mounts(&Roots::host()).into_iter().rfind(|mount| mount.mount_point == path)
}

/// Whether the server behind a mount is gone. `stat` may still answer from memory, `statfs` asks. A server that
/// was only stopped (Ctrl-Z) does not answer.
fn is_dead(path: &Path) -> bool {
    let (sender, answer) = channel();
    let place = path.to_path_buf();
    let ask = move || {
        let is_dead = matches!(rustix::fs::statfs(place), Err(Errno::NOTCONN | Errno::CONNABORTED));
        // The caller may have stopped waiting.
        let _ = sender.send(is_dead);
    };
    let asked = std::thread::Builder::new().name("sim-statfs".into()).spawn(ask);
    asked.is_ok() && answer.recv_timeout(ANSWER).unwrap_or(false)
}

pub(super) fn unmount(path: &Path) -> Result<(), Errno> {
    match unmount_as(path, UnmountFlags::empty()) {
        Err(Errno::PERM) => helper(path, "-u"),
        Err(Errno::INVAL | Errno::NOENT) => Ok(()), // it is not mounted
        other => other,
    }
}

/// Takes a mount out of sight at once, whoever uses it.
fn detach(path: &Path) -> Result<(), Errno> {
    match unmount_as(path, UnmountFlags::DETACH) {
        Err(Errno::PERM) => helper(path, "-uz"),
        Err(Errno::INVAL | Errno::NOENT) => Ok(()),
        other => other,
    }
}

/// Ends a served file under its users: all they get from now on is an error.
pub(super) fn abort(path: &Path, connection: u32) {
    // Forcing cuts the connection although the unmounting itself says that it is busy.
    if unmount_as(path, UnmountFlags::FORCE) == Err(Errno::PERM) {
        // Without it the server's threads wait for the last user, which the caller sees.
        let _ = abort_connection(connection);
    }
    let _ = detach(path);
}

#[expect(
    clippy::disallowed_methods,
    reason = "the mount of a served drive, when it ends or its server was killed"
)]
fn unmount_as(path: &Path, flags: UnmountFlags) -> Result<(), Errno> {
    rustix::mount::unmount(path, flags)
}

#[expect(clippy::disallowed_methods, reason = "sysfs: ends the FUSE connection of a served drive")]
fn abort_connection(number: u32) -> std::io::Result<()> {
    std::fs::write(format!("/sys/fs/fuse/connections/{number}/abort"), "1")
}

/// Unmounting by fusermount, for users that may not.
fn helper(path: &Path, how: &str) -> Result<(), Errno> {
    for program in ["fusermount3", "fusermount"] {
        let mut command = Command::new(program);
        command.args([how, "-q", "--"]).arg(path);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        match command.status() {
            Ok(status) if status.success() => return Ok(()),
            Ok(_) => return Err(Errno::BUSY),
            Err(_) => {}
        }
    }
    Err(Errno::PERM)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_an_empty_directory_will_do() {
        let dir = tempfile::tempdir().unwrap();
        let empty = dir.path().join("empty");
        fs::create_dir(&empty).unwrap();
        fs::write(dir.path().join("file"), "").unwrap();
        assert_eq!(prepare(&empty).unwrap(), fs::canonicalize(&empty).unwrap());
        for (path, word) in [
            (dir.path().to_path_buf(), "not empty"),
            (dir.path().join("file"), "not a directory"),
            (dir.path().join("none"), "does not exist"),
        ] {
            let error = prepare(&path).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn foreign_mount_is_not_touched() {
        let error = prepare(Path::new("/proc")).unwrap_err();
        assert!(matches!(&error, ServeError::Busy { kind, .. } if kind == "proc"), "{error}");
        assert!(Path::new("/proc/self").exists());
    }

    #[test]
    fn links_to_a_mount_point_are_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let mount_point = prepare(&link).unwrap();
        assert_eq!(mount_point, fs::canonicalize(&real).unwrap());
        for (file, hidden) in [(link.join("x"), true), (dir.path().join("real2"), false)] {
            assert_eq!(would_hide(&mount_point, &file), hidden, "{}", file.display());
        }
    }
}
