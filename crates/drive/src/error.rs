//! What can go wrong with a target, each with its cause and remedy in one line.

use drivescope_machine::error::MachineError;
use rustix::io::Errno;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    #[error("no such path: {path}; drivescope list shows the drives of this machine")]
    NotFound { path: PathBuf },
    /// The folder of a run, or what was in it, was removed under it.
    #[error("{path} is gone: something removed the folder of this run; run again")]
    FolderGone { path: PathBuf },
    #[error("will not write {path}: {why}")]
    OutputFile { path: PathBuf, why: &'static str },
    #[error("cannot write {path}: its folder is not there; make it first")]
    OutputFolder { path: PathBuf },
    #[error("cannot follow {path}: {why}; name the directory, file or device itself")]
    BadPath { path: PathBuf, why: io::Error },
    #[error("no permission to {what} {path}; {remedy}")]
    NoPermission { what: &'static str, path: PathBuf, remedy: &'static str },
    #[error(
        "{path} is on a read-only file system; name a writable directory, or a file or device to only read"
    )]
    ReadOnly { path: PathBuf },
    #[error("{path} is a {what}; drivescope measures directories, files and block devices")]
    WrongKind { path: PathBuf, what: &'static str },
    #[error(
        "{path} has {free} free and must keep {floor} (10 %, 64 MiB to 1 GiB): {wanted} does not fit; {remedy}"
    )]
    NoRoom { path: PathBuf, free: String, floor: String, wanted: String, remedy: &'static str },
    #[error(
        "cannot reserve {size} for {path}, although {free} are said to be free: the file system has no room for it \
         (snapshots, blocks or inodes that are used up: df -i); use a smaller --size"
    )]
    NotReserved { path: PathBuf, size: String, free: String },
    /// A quota of the user, the group, the project or the subvolume is used up, however much is free.
    #[error(
        "the disk quota leaves no room for {path}; free some space, use a smaller --size, or choose another directory"
    )]
    Quota { path: PathBuf },
    /// A file system of the kernel's own, such as /proc, or another that reports no space.
    #[error("{path} cannot hold test files: it reports no free space; name a directory on a drive")]
    NoPlace { path: PathBuf },
    /// A test file could take all memory there is.
    #[error("{path} is on ramfs, which may take all memory; choose a directory on a drive")]
    NoLimit { path: PathBuf },
    #[error("{path} has only {size}; {needed}")]
    TooSmall { path: PathBuf, size: String, needed: String },
    #[error(
        "{path} would exceed a file size limit (ulimit -f, or the file system's); use a smaller --size"
    )]
    FileLimit { path: PathBuf },
    #[error("cannot remove {path}: {why}; remove it by hand if no drivescope is running")]
    CannotClean { path: PathBuf, why: String },
    #[error(transparent)]
    Unknown(MachineError),
    #[error(transparent)]
    Simulated(#[from] crate::simulated::spec::SpecError),
    #[error("{path} cannot be read: {device} is suspended; run dmsetup resume {device}")]
    Suspended { path: PathBuf, device: String },
    #[error(
        "{path} did not answer within {seconds} s; see dmesg, and dmsetup or multipath for what lies below it"
    )]
    NoAnswer { path: PathBuf, seconds: u64 },
    #[error(
        "reading {path} ended at byte {at} of {size}: the drive or its file system failed; see the kernel log (dmesg)"
    )]
    CutShort {
        path: PathBuf,
        /// How far it could be read.
        at: u64,
        size: u64,
    },
    #[error(
        "cannot read the last block of {path} with direct I/O: the file behind it is too short (losetup --list), it is \
         failing (dmesg), or its driver does not support direct I/O"
    )]
    NoDirect { path: PathBuf },
    #[error("cannot {what} {path}: {source}{}", way_on(source))]
    Io {
        /// `open`, `read`, `write to`.
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

/// Why a device cannot be opened although its node may be read: EPERM, which not even root gets around.
pub(crate) const DEVICE_RULES: &str = "the container's device rules (cgroup) deny access; \
                                       run on the host, or give the container the device";

fn way_on(source: &io::Error) -> &'static str {
    match source.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOMEDIUM) => "; insert a medium",
        Some(Errno::NXIO | Errno::NODEV) => "; the device is gone: check its cable",
        Some(Errno::BUSY) => "; another program uses it: stop that, or unmount it",
        Some(Errno::NOSPC) => "; free some space, or inodes (df -i)",
        Some(Errno::MFILE | Errno::NFILE) => "; too many files are open (ulimit -n)",
        Some(Errno::NOTCONN | Errno::STALE) => {
            "; its server has ended: unmount it and mount it again"
        }
        Some(_) => "; the kernel log (dmesg) may say more",
        None => "",
    }
}

/// Whether a limit of this program, not a device, made something fail.
fn is_own_limit(source: &io::Error) -> bool {
    let errno = source.raw_os_error().map(Errno::from_raw_os_error);
    matches!(errno, Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM))
}

/// Whether the kernel blames the drive with this error: what the block layer calls its failures, and file systems the
/// damage that they find (EUCLEAN, EBADMSG).
fn is_of_a_drive(errno: i32) -> bool {
    matches!(
        Errno::from_raw_os_error(errno),
        Errno::IO
            | Errno::NXIO
            | Errno::NODEV
            | Errno::NODATA
            | Errno::REMOTEIO
            | Errno::TIMEDOUT
            | Errno::NOLINK
            | Errno::ILSEQ
            | Errno::BADMSG
            | Errno::UCLEAN
    )
}

/// The remedy for EPERM and EACCES.
fn permission(errno: Errno, is_device: bool, is_root: bool) -> &'static str {
    match errno {
        Errno::PERM if is_device && is_root => DEVICE_RULES,
        _ if is_root => "root may not either here; name another target",
        _ => "run with sudo, or name a directory of your own",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorKind {
    /// The user named something that cannot work: 2.
    Usage,
    /// Refused so that nothing is lost: 3.
    Refused,
    /// The device or its driver failed: 4.
    Device,
}

impl DriveError {
    /// An error from a system call on `path`, sorted by its cause.
    pub fn from_errno(what: &'static str, path: &Path, errno: Errno) -> Self {
        let path = path.to_path_buf();
        match errno {
            Errno::NOENT | Errno::NOTDIR => Self::NotFound { path },
            Errno::ACCESS | Errno::PERM => {
                let is_device = path.metadata().is_ok_and(|m| m.file_type().is_block_device());
                let is_root = rustix::process::geteuid().is_root();
                let remedy = permission(errno, is_device, is_root);
                Self::NoPermission { what, path, remedy }
            }
            Errno::LOOP | Errno::NAMETOOLONG => Self::BadPath { path, why: errno.into() },
            Errno::FBIG => Self::FileLimit { path },
            Errno::ROFS => Self::ReadOnly { path },
            Errno::DQUOT => Self::Quota { path },
            _ => Self::Io { what, path, source: errno.into() },
        }
    }

    pub fn from_io(what: &'static str, path: &Path, error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(code) => Self::from_errno(what, path, Errno::from_raw_os_error(code)),
            None => Self::Io { what, path: path.to_path_buf(), source: error },
        }
    }

    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NoRoom { .. }
            | Self::NotReserved { .. }
            | Self::Quota { .. }
            | Self::Suspended { .. }
            | Self::OutputFile { .. } => ErrorKind::Refused,
            // A flush that finds no room is one of a device that promised more than it has.
            Self::Io { what, source, .. }
                if source.kind() == io::ErrorKind::StorageFull && *what != "flush" =>
            {
                ErrorKind::Refused
            }
            Self::Io { source, .. } if is_own_limit(source) => ErrorKind::Usage,
            Self::Io { .. }
            | Self::CutShort { .. }
            | Self::NoDirect { .. }
            | Self::NoAnswer { .. } => ErrorKind::Device,
            _ => ErrorKind::Usage,
        }
    }

    /// Whether the drive, or what the file system has on it, failed, and not what was asked.
    pub fn is_io_failure(&self) -> bool {
        match self {
            Self::CutShort { .. } => true,
            Self::Io { source, .. } => source.raw_os_error().is_some_and(is_of_a_drive),
            _ => false,
        }
    }

    pub fn failed_path(&self) -> Option<&Path> {
        match self {
            Self::CutShort { path, .. } | Self::Io { path, .. } => Some(path),
            _ => None,
        }
    }
}

impl From<MachineError> for DriveError {
    fn from(error: MachineError) -> Self {
        match error {
            MachineError::Io { what, path, source } => Self::from_io(what, &path, source),
            // Without /proc the device is unknown.
            MachineError::NoMount { .. } => Self::Unknown(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_errors_come_with_a_remedy() {
        fn of(errno: Errno) -> String {
            DriveError::from_errno("open", Path::new("/dev/sdz"), errno).to_string()
        }
        assert!(of(Errno::NOMEDIUM).ends_with("; insert a medium"), "{}", of(Errno::NOMEDIUM));
        for errno in [Errno::IO, Errno::BUSY, Errno::NXIO, Errno::NOSPC, Errno::STALE, Errno::INVAL]
        {
            assert!(of(errno).contains("; "), "{}", of(errno));
        }
    }

    #[test]
    fn hidden_mounts_do_not_mean_a_broken_device() {
        use drivescope_machine::filesystem::file_system_of;
        use drivescope_machine::roots::fake::Fake;
        let error = file_system_of(&Fake::new().roots, Path::new("/")).unwrap_err();
        let error = DriveError::from(error);
        assert!(error.to_string().ends_with("is /proc mounted?"), "{error}");
        assert_eq!(error.kind(), ErrorKind::Usage);
    }

    #[test]
    fn missing_room_is_a_refusal_that_names_quotas() {
        fn of(errno: Errno) -> DriveError {
            DriveError::from_errno("write in", Path::new("/home/ann"), errno)
        }
        assert_eq!(
            of(Errno::NOSPC).kind(),
            ErrorKind::Refused,
            "no inodes: a new folder finds no room"
        );
        let thin = DriveError::from_errno("flush", Path::new("/dev/sdz"), Errno::NOSPC);
        assert_eq!(thin.kind(), ErrorKind::Device);
        assert_eq!(of(Errno::DQUOT).kind(), ErrorKind::Refused);
        assert!(of(Errno::DQUOT).to_string().contains("quota"), "{}", of(Errno::DQUOT));
    }

    #[test]
    fn program_limit_is_not_a_device_error() {
        fn kind(errno: Errno) -> ErrorKind {
            DriveError::from_errno("open", Path::new("/dev/sdz"), errno).kind()
        }
        assert_eq!(kind(Errno::MFILE), ErrorKind::Usage);
        assert_eq!(kind(Errno::IO), ErrorKind::Device);
    }

    #[test]
    fn only_failures_of_the_drive_count_as_such() {
        fn of(errno: Errno) -> bool {
            DriveError::from_errno("read", Path::new("/mnt/a"), errno).is_io_failure()
        }
        for errno in [Errno::IO, Errno::NODATA, Errno::UCLEAN] {
            assert!(of(errno), "{errno}");
        }
        for errno in [Errno::NOSPC, Errno::MFILE, Errno::NOMEM, Errno::ACCESS, Errno::BUSY] {
            assert!(!of(errno), "{errno}");
        }
    }

    #[test]
    fn root_gets_no_advice_to_become_root() {
        assert_eq!(permission(Errno::PERM, true, true), DEVICE_RULES);
        for (errno, is_device) in [(Errno::ACCESS, true), (Errno::PERM, false)] {
            assert!(!permission(errno, is_device, true).contains("sudo"));
            assert!(permission(errno, is_device, false).contains("sudo"));
        }
        assert!(permission(Errno::PERM, true, false).contains("sudo"));
    }
}
