//! The file system below a directory or file: what it is, how large, and whether it changes what
//! reaches the drive.

use crate::error::MachineError;
use crate::mounts::{mount_of, mounts};
use crate::roots::{Roots, open_to_read, split_dev};
use drivescope_model::target::FileSystem;
use rustix::fs::{OFlags, StatVfsMountFlags};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// `FS_NOCOMP_FL` of linux/fs.h, which rustix does not name: set by `chattr +m`.
const NO_COMPRESSION_FLAG: u32 = 0x400;

/// What stands between a file system and a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FsClass {
    /// A kernel file system on block devices of this machine.
    Local,
    /// Files live in memory, or are made up by the kernel.
    Memory,
    /// Behind a network, or behind the host of a virtual machine.
    Network,
    Fuse,
    Overlay,
}

impl FsClass {
    /// Class of a type as the kernel names it in the mount table.
    pub fn of(kind: &str) -> Self {
        match kind {
            "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs" | "rootfs" | "proc" | "sysfs"
            | "devpts" | "cgroup" | "cgroup2" | "debugfs" | "tracefs" | "configfs" => Self::Memory,
            "nfs" | "nfs4" | "cifs" | "smb3" | "smbfs" | "ceph" | "9p" | "virtiofs" | "afs"
            | "lustre" | "gpfs" | "beegfs" | "coda" | "ncpfs" | "glusterfs" | "orangefs"
            | "pvfs2" | "vboxsf" | "prl_fs" | "panfs" | "wekafs" | "vmhgfs" | "fakeowner" => {
                Self::Network
            }
            "overlay" | "overlayfs" | "aufs" | "unionfs" => Self::Overlay,
            "fuse" | "fuseblk" => Self::Fuse,
            other if other.starts_with("fuse.") => Self::Fuse,
            _ => Self::Local,
        }
    }
}

/// Whether a file system of this type puts what is overwritten elsewhere, and writes trees of its own anew
/// for it: with a flush at once, else seconds later.
pub fn copies_on_write(kind: &str) -> bool {
    matches!(kind, "btrfs" | "bcachefs" | "zfs" | "f2fs" | "nilfs2")
}

/// Why the mount of a path was not found: a mount table that is there could not be read, as for want of descriptors,
/// or it is not there, or does not show the mount.
fn no_mount(roots: &Roots, path: PathBuf, is_empty: bool) -> MachineError {
    let table = roots.proc.join("self/mountinfo");
    match fs::read(&table).err().filter(|error| is_empty && error.kind() != io::ErrorKind::NotFound)
    {
        Some(source) => MachineError::Io { what: "read", path: table, source },
        None => MachineError::NoMount { path },
    }
}

/// The file system that holds an existing path.
///
/// `available_bytes` is what a user without privileges may still use, also for root: the reserve
/// that some file systems keep for root is not for measurements.
///
/// Errors: the path does not exist or may not be reached, or the mount table does not show it.
pub fn file_system_of(roots: &Roots, path: &Path) -> Result<FileSystem, MachineError> {
    let error = |source| MachineError::Io { what: "look at", path: path.to_path_buf(), source };
    let path = fs::canonicalize(path).map_err(error)?;
    let meta = fs::metadata(&path).map_err(error)?;
    let size = rustix::fs::statvfs(&path).map_err(|errno| {
        MachineError::from_errno("ask the size of the file system of", &path, errno)
    })?;
    let table = mounts(roots);
    let mount = mount_of(&table, &path, split_dev(meta.dev()))
        .ok_or_else(|| no_mount(roots, path.clone(), table.is_empty()))?;
    // Some FUSE and network file systems leave the fragment size at 0.
    let unit = if size.f_frsize == 0 { size.f_bsize } else { size.f_frsize };
    Ok(FileSystem {
        kind: mount.kind.clone(),
        source: mount.source.clone(),
        mount_point: mount.mount_point.to_string_lossy().into_owned(),
        options: joined_options(&mount.options, &mount.super_options),
        size_bytes: size.f_blocks.saturating_mul(unit),
        available_bytes: size.f_bavail.saturating_mul(unit),
        read_only: size.f_flag.contains(StatVfsMountFlags::RDONLY),
    })
}

/// Why data may shrink on its way through this file system, as evidence for a finding; `None` when
/// nothing says so. `path` is the directory or file of the test: its attributes count too.
pub fn compression(fs: &FileSystem, path: &Path) -> Option<String> {
    let flags = attributes(path);
    let flagged = flags & rustix::fs::IFlags::COMPRESSED.bits() != 0;
    let refused = flags & NO_COMPRESSION_FLAG != 0;
    by_options(fs, refused).or_else(|| {
        flagged.then(|| format!("{} has the attribute for compression (chattr +c)", path.display()))
    })
}

/// Compression by the type and its mount options. `refused`: the path is marked as not to be
/// compressed, which btrfs heeds unless `compress-force` is set.
fn by_options(fs: &FileSystem, refused: bool) -> Option<String> {
    let named = |key: &str| {
        let value = option(&fs.options, key)?;
        (!matches!(value, "" | "none" | "no" | "off")).then(|| format!("{} {key}={value}", fs.kind))
    };
    match fs.kind.as_str() {
        "btrfs" => {
            named("compress-force").or_else(|| if refused { None } else { named("compress") })
        }
        "bcachefs" => named("compression").or_else(|| named("background_compression")),
        // compress_algorithm alone only names the method for files marked with chattr +c.
        "f2fs" => {
            option(&fs.options, "compress_extension")?;
            named("compress_algorithm")
        }
        "zfs" => Some(format!(
            "zfs compresses by default, and its mount options do not show it: zfs get compression {}",
            fs.source
        )),
        "ubifs" => (option(&fs.options, "compr") != Some("none"))
            .then(|| "ubifs compresses unless mounted with compr=none".to_string()),
        "squashfs" | "erofs" | "cramfs" | "jffs2" => {
            Some(format!("{} stores compressed data", fs.kind))
        }
        _ => None,
    }
}

/// Value of `key` in options joined with commas; empty without a value. The last one counts.
fn option<'a>(options: &'a str, key: &str) -> Option<&'a str> {
    options
        .rsplit(',')
        .map(|option| option.split_once('=').unwrap_or((option, "")))
        .find_map(|(k, value)| (k == key).then_some(value))
}

/// Options of the mount, then those of the file system that are not among them.
fn joined_options(mount: &str, file_system: &str) -> String {
    let mut all: Vec<&str> = mount.split(',').filter(|o| !o.is_empty()).collect();
    for option in file_system.split(',').filter(|o| !o.is_empty()) {
        // A read-only mount of a writable file system: only the mount's word counts.
        let opposite = matches!((option, all.first()), ("rw", Some(&"ro")) | ("ro", Some(&"rw")));
        if !opposite && !all.contains(&option) {
            all.push(option);
        }
    }
    all.join(",")
}

/// Attributes of a file or directory (`lsattr`); 0 where there are none.
fn attributes(path: &Path) -> u32 {
    // The ioctl is sent to files and directories only: a device driver may give its number a
    // meaning of its own.
    if !fs::metadata(path).is_ok_and(|meta| meta.is_file() || meta.is_dir()) {
        return 0;
    }
    open_to_read(path, OFlags::NONBLOCK)
        .and_then(rustix::fs::ioctl_getflags)
        .map_or(0, |flags| flags.bits())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roots::fake::Fake;

    fn fs_with(kind: &str, options: &str) -> FileSystem {
        FileSystem {
            kind: kind.to_string(),
            source: "pool/data".to_string(),
            mount_point: "/mnt".to_string(),
            options: options.to_string(),
            size_bytes: 1,
            available_bytes: 1,
            read_only: false,
        }
    }

    #[test]
    fn types_fall_into_classes() {
        for (class, kinds) in [
            (FsClass::Local, &["ext4", "xfs", "btrfs", "zfs", "ntfs3"][..]),
            (FsClass::Memory, &["tmpfs", "ramfs", "devtmpfs", "hugetlbfs", "sysfs"]),
            (
                FsClass::Network,
                &["nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "virtiofs", "lustre"],
            ),
            // Directories of the host in containers of Docker Desktop.
            (FsClass::Network, &["fakeowner"]),
            (FsClass::Fuse, &["fuse", "fuseblk", "fuse.sshfs"]),
            (FsClass::Overlay, &["overlay"]),
        ] {
            for kind in kinds {
                assert_eq!(FsClass::of(kind), class, "{kind}");
            }
        }
    }

    #[test]
    fn compression_is_seen_in_type_and_options() {
        for (kind, options, refused, expected) in [
            ("btrfs", "rw,compress=zstd:3,space_cache", false, Some("compress=zstd:3")),
            ("btrfs", "rw,compress=zstd:3", true, None),
            ("btrfs", "rw,compress-force=lzo", true, Some("compress-force=lzo")),
            ("btrfs", "rw,space_cache=v2", false, None),
            ("btrfs", "rw,compress=none", false, None),
            ("btrfs", "rw,nocompress=zstd", false, None),
            ("f2fs", "rw,compress_algorithm=lz4,compress_log_size=2", false, None),
            (
                "f2fs",
                "rw,compress_algorithm=lz4,compress_extension=*",
                false,
                Some("compress_algorithm=lz4"),
            ),
            ("bcachefs", "rw,compression=lz4", false, Some("compression=lz4")),
            ("bcachefs", "rw,compression=none", false, None),
            ("bcachefs", "rw,background_compression=zstd", false, Some("background_compression")),
            ("zfs", "rw,xattr,noacl", false, Some("zfs get compression pool/data")),
            ("squashfs", "ro", false, Some("compressed")),
            ("erofs", "ro", false, Some("compressed")),
            ("ubifs", "rw,compr=none", false, None),
            ("ubifs", "rw", false, Some("compr=none")),
            ("ext4", "rw,compress=zstd", false, None),
        ] {
            let got = by_options(&fs_with(kind, options), refused);
            match expected {
                None => assert_eq!(got, None, "{kind} {options}"),
                Some(part) => assert!(
                    got.as_deref().is_some_and(|text| text.contains(part)),
                    "{kind} {options}: {got:?}"
                ),
            }
        }
    }

    #[test]
    fn directory_and_special_file_do_not_compress() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(compression(&fs_with("ext4", "rw"), dir.path()), None);
        assert_eq!(compression(&fs_with("ext4", "rw"), Path::new("/dev/null")), None);
        assert_eq!(compression(&fs_with("ext4", "rw"), Path::new("/absent")), None);
        assert!(compression(&fs_with("squashfs", "ro"), dir.path()).is_some());
    }

    #[test]
    fn options_are_joined_without_repeats_or_contradiction() {
        assert_eq!(joined_options("rw,noatime", "rw,discard"), "rw,noatime,discard");
        assert_eq!(joined_options("ro,nosuid", "rw,discard"), "ro,nosuid,discard");
        assert_eq!(joined_options("", "rw"), "rw");
        assert_eq!(option("rw,a=1,b,a=2", "a"), Some("2"));
        assert_eq!(option("rw,b", "b"), Some(""));
        assert_eq!(option("rw,bb=1", "b"), None);
    }

    #[test]
    fn path_is_described_by_mount_and_size() {
        let fake = Fake::new();
        let dir = fake.path("sub dir");
        fs::create_dir(&dir).unwrap();
        let point = fake.path("").canonicalize().unwrap();
        fake.mounts(&[
            "1 0 8:1 / / rw - ext4 /dev/sda1 rw",
            &format!("2 1 8:2 / {} rw,noatime - xfs /dev/sda2 rw,inode64", point.display()),
        ]);
        let found = file_system_of(&fake.roots, &dir).unwrap();
        assert_eq!((found.kind.as_str(), found.source.as_str()), ("xfs", "/dev/sda2"));
        assert_eq!(Path::new(&found.mount_point), point);
        assert_eq!(found.options, "rw,noatime,inode64");
        assert!(!found.read_only);
        assert!(found.size_bytes >= found.available_bytes && found.size_bytes > 0);
    }

    #[test]
    fn missing_path_or_mount_table_is_an_error() {
        let fake = Fake::new();
        let absent = file_system_of(&fake.roots, &fake.path("absent")).unwrap_err();
        assert!(matches!(absent, MachineError::Io { .. }), "{absent}");
        let blind = file_system_of(&fake.roots, &fake.path("")).unwrap_err();
        assert!(blind.to_string().contains("mount table"), "{blind}");
        // A table that is there and cannot be read, as for want of descriptors: a folder stands for it.
        fs::create_dir_all(fake.roots.proc.join("self/mountinfo")).unwrap();
        let unread = file_system_of(&fake.roots, &fake.path("")).unwrap_err().to_string();
        assert!(unread.contains("cannot read") && !unread.contains("is /proc"), "{unread}");
    }
}
