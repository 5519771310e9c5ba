//! The mounted file system and the thread that keeps it going.

use super::error::ServeError;
use super::fuse::{DriveFile, FILE_NAME};
use super::mount_point;
use super::recorder::ServeRecorder;
use super::thread_priority::raise_priority;
use drivescope_machine::roots::open_to_read;
use fuser::{Config, MountOption, Session, SessionACL, SessionUnmounter};
use rustix::io::Errno;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Threads that take requests from the kernel. Two would sometimes reorder neighbouring requests, which a cable does
/// not do.
const LISTENERS: usize = 1;

/// Time for the threads to end once the mount is unused.
const GLANCE: Duration = Duration::from_millis(500);

/// A mount; it ends with [`FuseSession::unmount`].
#[derive(Debug)]
pub(super) struct FuseSession {
    mount_point: PathBuf,
    connection: u32,
    unmounter: SessionUnmounter,
    session: JoinHandle<io::Result<()>>,
}

impl FuseSession {
    pub(super) fn mount(
        file_system: DriveFile,
        mount_point: PathBuf,
        source: String,
    ) -> Result<Self, ServeError> {
        let mut config = Config::default();
        config.mount_options =
            vec![MountOption::FSName(source), MountOption::DefaultPermissions, MountOption::NoExec];
        // Others may look, and use the file if its owner lets them; only root may allow that.
        if rustix::process::geteuid().is_root() {
            config.acl = SessionACL::All;
        }
        config.n_threads = Some(LISTENERS);
        let mut session =
            Session::new(file_system, &mount_point, &config).map_err(|e| no_mount(&e))?;
        let unmounter = session.unmount_callable();
        let session = std::thread::Builder::new()
            .name("sim-fuse".into())
            .spawn(move || {
                raise_priority();
                session.run()
            })
            .map_err(ServeError::Thread)?;
        let connection =
            std::fs::metadata(&mount_point).map_or(0, |root| rustix::fs::minor(root.dev()));
        Ok(Self { mount_point, connection, unmounter, session })
    }

    pub(super) fn is_finished(&self) -> bool {
        self.session.is_finished()
    }

    /// Unmounts if unused; false if in use, even after `umount -l`.
    pub(super) fn release(&self) -> bool {
        let unmounted =
            self.is_finished() || mount_point::unmount(&self.mount_point) != Err(Errno::BUSY);
        self.ends_by(Instant::now() + GLANCE, unmounted)
    }

    /// Unmounts, with force if programs do not close the file within `patience`.
    pub(super) fn unmount(mut self, patience: Duration, recorder: &ServeRecorder) {
        let start = Instant::now();
        let mut gone = self.session.is_finished() || self.unmounter.unmount().is_ok();
        while !gone && start.elapsed() < patience {
            match mount_point::unmount(&self.mount_point) {
                Err(Errno::BUSY) => std::thread::sleep(Duration::from_millis(20)),
                _ => gone = true,
            }
        }
        // Unmounting by a helper is done before the last file is closed.
        if !self.ends_by(start + patience, gone) {
            let path = self.mount_point.join(FILE_NAME);
            let path = path.display();
            recorder
                .cut_off(format!("{path} was still open in some program and fails from now on"));
            mount_point::abort(&self.mount_point, self.connection);
            if !self.ends_by(Instant::now() + patience, true) {
                recorder.cut_off(format!("the FUSE connection of {path} ends with its last user"));
                return;
            }
        }
        if let Ok(Err(error)) = self.session.join()
            && !is_end(&error)
        {
            recorder.trouble(format!("FUSE ended with an error: {error}; mount the drive again"));
        }
    }

    /// Whether the session's threads are done by then.
    fn ends_by(&self, deadline: Instant, unmounted: bool) -> bool {
        while unmounted && !self.session.is_finished() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(2));
        }
        self.session.is_finished()
    }
}

/// Whether the kernel says only that the mount has ended. A thread that was just taking the last request, as that
/// of a file that is closed, gets another error (`fuse_dev_do_read`).
fn is_end(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NODEV | Errno::CONNABORTED))
}

/// Says what of FUSE is missing before anything is touched.
pub(super) fn check_fuse() -> Result<(), ServeError> {
    use rustix::fs::{Access, OFlags};
    const DEVICE: &str = "/dev/fuse";
    rustix::fs::access(DEVICE, Access::READ_OK | Access::WRITE_OK).map_err(no_fuse)?;
    // A node may be there without the driver.
    open_to_read(Path::new(DEVICE), OFlags::empty()).map(drop).map_err(no_fuse)
}

fn no_fuse(errno: Errno) -> ServeError {
    let missing = match errno {
        Errno::NOENT | Errno::NODEV | Errno::NXIO => {
            "/dev/fuse is missing; load the module (modprobe fuse), and in a container pass the device in"
                .into()
        }
        Errno::ACCESS | Errno::PERM => "no permission to open /dev/fuse; run with sudo".into(),
        _ => format!("/dev/fuse: {errno}"),
    };
    ServeError::NoFuse { missing }
}

fn no_mount(error: &io::Error) -> ServeError {
    let missing = match error.kind() {
        io::ErrorKind::NotFound => {
            "fusermount3 is missing (package fuse3), which mounts for users; install it, or run with sudo"
                .into()
        }
        io::ErrorKind::PermissionDenied => {
            format!("mounting is not permitted ({error}); run with sudo")
        }
        _ => format!("mounting failed ({error}); in a container it needs CAP_SYS_ADMIN"),
    };
    ServeError::NoFuse { missing }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;

    #[test]
    fn end_of_a_mount_is_not_an_error() {
        fn error(errno: Errno) -> io::Error {
            io::Error::from(errno)
        }
        assert!(is_end(&error(Errno::NODEV)) && is_end(&error(Errno::CONNABORTED)));
        assert!(!is_end(&error(Errno::IO)) && !is_end(&error(Errno::INVAL)));
    }

    #[test]
    fn missing_fuse_is_reported_with_an_alternative() {
        let opening = [Errno::NOENT, Errno::ACCESS].map(no_fuse);
        let mounting = [ErrorKind::NotFound, ErrorKind::PermissionDenied, ErrorKind::Other]
            .map(|kind| no_mount(&kind.into()));
        let words = ["modprobe fuse", "sudo", "fusermount3", "sudo", "CAP_SYS_ADMIN"];
        for (error, word) in opening.iter().chain(&mounting).zip(words) {
            let text = error.to_string();
            assert!(text.contains(word) && text.contains("virtual time"), "{text}");
        }
    }
}
