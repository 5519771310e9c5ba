//! Which file a loop device shows. Its name is not enough: another file may have taken it.

use crate::loop_status::LoopStatus;
use crate::roots::{Roots, read_text, read_u64};
use crate::silent_loops::{is_served_by_none, is_silent};
use serde::{Deserialize, Serialize};
use std::fs::{self, Metadata};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// A file as the kernel knows it, whatever its name is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackingFile {
    /// Number of the device of its file system (`st_dev`), which holds until that is mounted anew.
    pub device: u64,
    /// Number of the file in its file system (`st_ino`), which a later file may get again.
    pub inode: u64,
    /// When the file was made, in nanoseconds since 1970; absent where the file system does not keep it.
    pub born_unix_ns: Option<u64>,
    pub boot_id: Option<String>,
    /// First byte of the file that the loop device shows.
    pub offset_bytes: u64,
}

impl BackingFile {
    /// The file behind the loop device with this kernel name. `None` for other devices, and where neither
    /// the kernel nor the file's name can be asked, or does not answer.
    pub fn of(roots: &Roots, name: &str) -> Option<Self> {
        let dir = roots.block_dir(name)?;
        let path = read_text(dir.join("loop/backing_file"))?;
        if is_silent(roots, name) {
            return None;
        }
        let may_be_asked = !is_served_by_none(roots, name);
        let named = may_be_asked.then(|| fs::metadata(Path::new(&path)).ok()).flatten();
        let (device, inode) = LoopStatus::of(roots, name)
            .map(|status| status.file)
            .or_else(|| named.as_ref().map(|found| (found.dev(), found.ino())))?;
        let is_it = |found: &Metadata| (found.dev(), found.ino()) == (device, inode);
        Some(Self {
            device,
            inode,
            born_unix_ns: named.filter(is_it).as_ref().and_then(born_unix_ns),
            boot_id: read_text(roots.proc.join("sys/kernel/random/boot_id")),
            offset_bytes: read_u64(dir.join("loop/offset")).unwrap_or(0),
        })
    }

    /// Whether both are one file for certain. Within one boot, the numbers of the file and its file system decide.
    /// After a boot the name must match too; so must the time of birth if the file system's number has changed.
    pub fn is_same_file(&self, other: &Self, has_same_name: bool) -> bool {
        let is_same_system = self.device == other.device;
        let is_known = if self.boot_id == other.boot_id {
            is_same_system
        } else {
            has_same_name && (is_same_system || self.is_born_with(other) == Some(true))
        };
        is_known && self.may_be_same_file(other)
    }

    /// Whether both may be one file: looser, for refusing in doubt.
    pub fn may_be_same_file(&self, other: &Self) -> bool {
        let born = self.is_born_with(other);
        let may_be_same_system = self.device == other.device || born == Some(true);
        self.inode == other.inode && born != Some(false) && may_be_same_system
    }

    /// Whether both have the same time of birth, if known.
    fn is_born_with(&self, other: &Self) -> Option<bool> {
        self.born_unix_ns.zip(other.born_unix_ns).map(|(own, others)| own == others)
    }

    /// The bytes of the file that a loop device of this size shows.
    pub fn bytes(&self, size_bytes: u64) -> Range<u64> {
        self.offset_bytes..self.offset_bytes.saturating_add(size_bytes)
    }
}

fn born_unix_ns(found: &Metadata) -> Option<u64> {
    let age = found.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(age.as_nanos()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roots::fake::Fake;

    fn file() -> BackingFile {
        BackingFile {
            device: 65024,
            inode: 12,
            born_unix_ns: Some(7),
            boot_id: Some("first".into()),
            offset_bytes: 0,
        }
    }

    /// Whether the file and a changed copy are the same under another name, under the same, and perhaps.
    fn compared(change: fn(&mut BackingFile)) -> [bool; 3] {
        fn compare(one: &BackingFile, other: &BackingFile) -> [bool; 3] {
            let is_same = [false, true].map(|named| one.is_same_file(other, named));
            [is_same[0], is_same[1], one.may_be_same_file(other)]
        }
        let mut other = file();
        change(&mut other);
        assert_eq!(compare(&file(), &other), compare(&other, &file()));
        compare(&file(), &other)
    }

    #[test]
    fn file_is_identified_by_number_and_birth() {
        assert_eq!(compared(|_| {}), [true; 3]);
        assert_eq!(compared(|file| file.inode = 13), [false; 3]);
        assert_eq!(
            compared(|file| file.born_unix_ns = Some(8)),
            [false; 3],
            "a number given again"
        );
        assert_eq!(compared(|file| file.born_unix_ns = None), [true; 3]);
        // A copy of the file system or its disk reattached: not distinguishable.
        assert_eq!(compared(|file| file.device = 3), [false, false, true]);
    }

    #[test]
    fn name_counts_after_a_boot() {
        assert_eq!(compared(|file| file.boot_id = Some("second".into())), [false, true, true]);
        let moved = |file: &mut BackingFile| {
            file.boot_id = Some("second".into());
            file.device = 3;
        };
        assert_eq!(compared(moved), [false, true, true]);
        let hidden = |file: &mut BackingFile| {
            file.boot_id = Some("second".into());
            file.device = 3;
            file.born_unix_ns = None;
        };
        assert_eq!(compared(hidden), [false; 3], "nothing tells that it is the same");
    }

    #[test]
    fn file_is_found_by_name_unless_replaced() {
        let fake = Fake::new();
        let path = fake.path("image");
        fs::write(&path, "x").unwrap();
        fake.loop_device(3, 1 << 20, path.to_str().unwrap());
        fake.attrs("loop3", &[("loop/offset", "512")]);
        let first = BackingFile::of(&fake.roots, "loop3").unwrap();
        assert_eq!((first.inode, first.offset_bytes), (fs::metadata(&path).unwrap().ino(), 512));
        assert_eq!(first.bytes(1024), 512..1536);
        fs::rename(&path, fake.path("old")).unwrap();
        assert_eq!(BackingFile::of(&fake.roots, "loop3"), None, "no source");
        fs::write(&path, "y").unwrap();
        let second = BackingFile::of(&fake.roots, "loop3").unwrap();
        assert!(!first.may_be_same_file(&second));
        fake.disk("virtual/block/ram0", (1, 0), 1 << 20);
        assert_eq!(BackingFile::of(&fake.roots, "ram0"), None);
    }
}
