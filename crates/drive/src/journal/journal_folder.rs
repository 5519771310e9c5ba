//! Where a journal may lie: on this machine, durable, and not on the drive it protects.

use super::JournalError;
use drivescope_machine::filesystem::FsClass;
use drivescope_machine::graph::BlockGraph;
use drivescope_machine::mounts::{Mount, mount_of, mounts};
use drivescope_machine::roots::{Roots, split_dev};
use rustix::fs::Access;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const FOLDER: &str = "drivescope/journals";

/// `$XDG_STATE_HOME/drivescope/journals`, or `~/.local/state/drivescope/journals`. A variable that is
/// empty or no absolute path counts as not set; without `HOME`, as services of the system are, the home of this
/// user is that of the system's own list. Errors: there is neither.
pub fn state_folder() -> Result<PathBuf, JournalError> {
    let home = std::env::var_os("HOME").filter(|home| Path::new(home).is_absolute());
    folder_of(std::env::var_os("XDG_STATE_HOME"), home.or_else(listed_home))
}

/// The home of this process's user in the system's user database (`/etc/passwd` or what replaces it).
fn listed_home() -> Option<OsString> {
    const BYTES_MAX: usize = 64 << 10;
    let mut texts: Vec<libc::c_char> = vec![0; BYTES_MAX];
    // SAFETY: all zeros are an entry without texts, which is filled before anything of it is read.
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    let mut found = std::ptr::null_mut();
    let user = rustix::process::geteuid().as_raw();
    // SAFETY: entry, texts with their length, and the pointer outlive the call.
    let failed =
        unsafe { libc::getpwuid_r(user, &mut entry, texts.as_mut_ptr(), texts.len(), &mut found) };
    if failed != 0 || found.is_null() || entry.pw_dir.is_null() {
        return None;
    }
    // SAFETY: the call has left a text that ends with a zero within `texts`.
    let home = unsafe { std::ffi::CStr::from_ptr(entry.pw_dir) };
    Some(OsStr::from_bytes(home.to_bytes()).to_os_string())
}

fn folder_of(state: Option<OsString>, home: Option<OsString>) -> Result<PathBuf, JournalError> {
    state
        .and_then(absolute)
        .or_else(|| Some(home.and_then(absolute)?.join(".local/state")))
        .map(|folder| folder.join(FOLDER))
        .ok_or(JournalError::NoHome)
}

fn absolute(text: OsString) -> Option<PathBuf> {
    Some(PathBuf::from(text)).filter(|path| path.is_absolute())
}

/// Refuses a folder that cannot hold the journal of the block device `target` (kernel name): one on the same drive, in
/// memory, or at an unknown place.
///
/// The file of a loop device is not the loop device: the journal may lie on the file system that holds that file.
/// Conversely, a journal in a file on the target is refused.
pub fn check_folder(graph: &BlockGraph, folder: &Path, target: &str) -> Result<(), JournalError> {
    let here = existing(folder);
    let bad = |why: String| JournalError::BadPlace { folder: folder.to_path_buf(), why };
    let stack = graph.stack_of_path(here);
    if let Some(evidence) = stack.memory_backed {
        return Err(bad(format!("{evidence}, which a power cut empties")));
    }
    if stack.names.is_empty() && !is_elsewhere(graph.roots(), here) {
        return Err(bad("its disk is unknown".to_string()));
    }
    if let Some(why) = stack.unsynced {
        return Err(bad(why));
    }
    let footprint = graph.footprint(target);
    let is_written = |name: &String| footprint.on_same_drives().any(|written| written == name);
    match stack.names.into_iter().find(is_written) {
        Some(disk) => Err(JournalError::SameDisk { folder: folder.to_path_buf(), disk }),
        None => Ok(()),
    }
}

/// Refuses a folder in which this user cannot make a journal: what is there is no folder, is another user's,
/// or lies on a file system that takes no files. What else can keep one from being made is only known when it is.
pub fn check_writable(folder: &Path) -> Result<(), JournalError> {
    let here = existing(folder);
    let shown = here.display();
    let bad = |why: String| Err(JournalError::BadPlace { folder: folder.to_path_buf(), why });
    let Ok(found) = std::fs::metadata(here) else { return Ok(()) };
    if !found.is_dir() {
        return bad(format!("{shown} is not a folder"));
    }
    if here == folder && found.uid() != rustix::process::geteuid().as_raw() {
        return bad("it belongs to another user".to_string());
    }
    if here == folder && is_open_to_others(found.mode()) {
        return bad(format!("others may write there (chmod o-w {shown})"));
    }
    match rustix::fs::access(here, Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) => Ok(()),
        Err(errno) => {
            bad(format!("no files can be made in {shown}: {}", std::io::Error::from(errno)))
        }
    }
}

/// Whether all users may add or remove files there, waiting journals too.
pub(super) fn is_open_to_others(mode: u32) -> bool {
    mode & 0o002 != 0
}

/// Refuses a folder whose file system has no room for a journal of `bytes`. A file system that does not
/// tell is believed: it says so when the journal is made, before the drive is written.
pub fn check_room(folder: &Path, bytes: u64) -> Result<(), JournalError> {
    let Ok(vfs) = rustix::fs::statvfs(existing(folder)) else { return Ok(()) };
    let unit = if vfs.f_frsize > 0 { vfs.f_frsize } else { vfs.f_bsize };
    if vfs.f_blocks > 0 && vfs.f_bavail.saturating_mul(unit) < bytes {
        Err(JournalError::Full { path: folder.display().to_string() })
    } else {
        Ok(())
    }
}

pub(super) fn existing(folder: &Path) -> &Path {
    folder.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"))
}

fn is_elsewhere(roots: &Roots, path: &Path) -> bool {
    mount_below(roots, path).is_some_and(|mount| FsClass::of(&mount.kind) == FsClass::Network)
}

fn mount_below(roots: &Roots, path: &Path) -> Option<Mount> {
    let path = path.canonicalize().ok()?;
    let number = split_dev(std::fs::metadata(&path).ok()?.dev());
    mount_of(&mounts(roots), &path, number).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivescope_machine::roots::fake::Fake;

    const GIB: u64 = 1 << 30;

    #[test]
    fn the_folder_follows_the_base_directory_rules() {
        fn of(state: Option<&str>, home: Option<&str>) -> Option<PathBuf> {
            folder_of(state.map(OsString::from), home.map(OsString::from)).ok()
        }
        fn path(text: &str) -> Option<PathBuf> {
            Some(PathBuf::from(text))
        }
        assert_eq!(of(Some("/s"), Some("/h")), path("/s/drivescope/journals"));
        for state in [None, Some(""), Some("relative")] {
            assert_eq!(of(state, Some("/h")), path("/h/.local/state/drivescope/journals"));
        }
        assert_eq!(of(None, None), None);
    }

    /// Services of the system have no `HOME`: their journals and those of root's shell are the same.
    #[test]
    fn home_comes_from_the_system_without_a_variable() {
        let user = rustix::process::geteuid().as_raw().to_string();
        let lines = std::fs::read_to_string("/etc/passwd").unwrap();
        let mut lines = lines.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let listed = lines.find(|fields| fields.get(2) == Some(&user.as_str()));
        let expected = listed.and_then(|fields| fields.get(5).map(OsString::from));
        if expected.is_some() {
            assert_eq!(listed_home(), expected);
        }
    }

    /// Two disks with a partition each, `sdb1` below dm-0; the folder of the test is on `on`.
    fn machine(on: &str, kind: &str) -> (Fake, PathBuf) {
        let fake = Fake::two_disks();
        fake.upper("dm-0", (253, 0), GIB, &["sdb1"]);
        fake.loop_device(0, GIB, "/image");
        let folder = fake.path("state/journals");
        let number = fake.roots.block_number(on).map_or((0, 40), |n| n);
        fake.mounts(&[&format!("20 1 {}:{} / / rw - {kind} /dev/{on} rw", number.0, number.1)]);
        (fake, folder)
    }

    fn folder_check(fake: &Fake, folder: &Path, target: &str) -> Result<(), String> {
        check_folder(&BlockGraph::read(&fake.roots), folder, target).map_err(|e| e.to_string())
    }

    /// Panics unless a folder is refused with these words, or accepted where there are none.
    #[track_caller]
    fn expect(result: Result<(), String>, words: Option<&str>, case: &str) {
        match words {
            None => assert_eq!(result, Ok(()), "{case}"),
            Some(words) => {
                assert!(result.as_ref().is_err_and(|e| e.contains(words)), "{case}: {result:?}")
            }
        }
    }

    #[test]
    fn journal_on_the_protected_drive_is_refused() {
        for (on, target, shared) in [
            ("sda1", "sda", Some("sda")),
            ("sda1", "sda2", Some("sda")),
            ("sda1", "sdb", None),
            ("sda1", "dm-0", None),
            ("dm-0", "sdb2", Some("sdb")),
            ("dm-0", "dm-0", Some("dm-0")),
            ("sdb2", "dm-0", Some("sdb")),
            ("loop0", "loop0", Some("loop0")),
            ("sda1", "loop0", None),
        ] {
            let (fake, folder) = machine(on, "ext4");
            let words = shared.map(|disk| format!("is on {disk}, the drive to be written"));
            let case = format!("{target} with a journal on {on}");
            expect(folder_check(&fake, &folder, target), words.as_deref(), &case);
        }
    }

    #[test]
    fn journal_through_another_path_is_refused() {
        let (fake, folder) = machine("sda1", "ext4");
        for name in ["sda", "sdb"] {
            fake.attrs(name, &[("wwid", "naa.5000c500a")]);
        }
        for target in ["sdb2", "sdb", "dm-0"] {
            expect(folder_check(&fake, &folder, target), Some("the drive to be written"), target);
        }
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_refused() {
        fn writable(folder: &Path) -> Result<(), String> {
            check_writable(folder).map_err(|error| error.to_string())
        }
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("file"), "x").unwrap();
        assert_eq!(writable(dir.path()), Ok(()));
        let set = |mode| {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
            std::fs::set_permissions(dir.path(), mode).unwrap();
        };
        for mode in [0o777, 0o1777, 0o702] {
            set(mode);
            let why = writable(dir.path()).unwrap_err();
            assert!(why.contains("others may write there (chmod o-w"), "{why}");
        }
        set(0o775);
        assert_eq!(writable(dir.path()), Ok(()));
        assert_eq!(writable(&path("not/there/yet")), Ok(()));
        for name in ["file", "file/drivescope/journals"] {
            let why = writable(&path(name)).unwrap_err();
            assert!(
                why.contains("file is not a folder") && why.contains("XDG_STATE_HOME"),
                "{why}"
            );
        }
    }

    #[test]
    fn journal_on_a_volatile_file_system_is_refused() {
        let lost = Some("a power cut may lose");
        for (kind, options, words) in [
            ("ext4", "rw,nobarrier", lost),
            ("ext4", "rw,barrier=0", lost),
            ("f2fs", "rw,fsync_mode=nobarrier", lost),
            ("bcachefs", "rw,journal_flush_disabled", lost),
            ("ext4", "rw,barrier=1,stripe=16", None),
            ("f2fs", "rw,fsync_mode=posix", None),
        ] {
            let (fake, folder) = machine("sda1", kind);
            fake.mounts(&[&format!("20 1 8:1 / / rw - {kind} /dev/sda1 {options}")]);
            expect(folder_check(&fake, &folder, "sdb"), words, &format!("{kind} {options}"));
        }
    }

    /// What lies between a folder and its disk may forget as well.
    #[test]
    fn journal_above_a_volatile_file_system_is_refused() {
        let (fake, folder) = machine("sda1", "ext4");
        std::fs::create_dir_all(folder.parent().unwrap()).unwrap();
        let [here, below, low] = ["state", "below", "low"].map(|name| {
            std::fs::create_dir_all(fake.path(name)).unwrap();
            fake.path(name).canonicalize().unwrap().display().to_string()
        });
        fake.attrs("loop0", &[("loop/backing_file", &format!("{below}/image"))]);
        let on_loop = format!("22 20 7:0 / {here} rw - ext4 /dev/loop0 rw");
        let overlay = |lower: &str, upper: &str| {
            format!("22 20 0:41 / {here} rw - overlay o rw,lowerdir={lower},upperdir={upper}")
        };
        for (upper, options, words) in [
            (&on_loop, "rw", None),
            (&on_loop, "rw,nobarrier", Some("below is mounted with nobarrier")),
            (&overlay(&low, &below), "rw,nobarrier", Some("below is mounted with nobarrier")),
            (&overlay(&below, &low), "rw,nobarrier", None),
            (&overlay(&low, "/gate-absent"), "rw", Some("its layer for new files is not visible")),
        ] {
            fake.mounts(&[
                "20 1 8:1 / / rw - ext4 /dev/sda1 rw",
                &format!("21 20 8:2 / {below} rw - ext4 /dev/sda2 {options}"),
                upper,
            ]);
            expect(folder_check(&fake, &folder, "sdb"), words, &format!("{upper} {options}"));
        }
    }

    #[test]
    fn journal_in_memory_is_refused_network_is_not() {
        for (kind, words) in [
            ("tmpfs", Some("power cut")),
            ("strangefs", Some("its disk is unknown")),
            ("nfs4", None),
        ] {
            let (fake, folder) = machine("nowhere", kind);
            expect(folder_check(&fake, &folder, "sda"), words, kind);
        }
    }
}
