//! Where a file lies on the device of its file system (`FIEMAP`).

use rustix::fd::BorrowedFd;
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Updater, ioctl};

/// `FS_IOC_FIEMAP` of linux/fs.h: `_IOWR('f', 11, struct fiemap)`, whose fixed part has 32 bytes.
const FS_IOC_FIEMAP: Opcode = 0xC020_660B;
/// `FIEMAP_FLAG_SYNC`: what is not yet on the drive gets its place first.
const FLAG_SYNC: u32 = 1;
/// Flags of extents, linux/fiemap.h.
const LAST: u32 = 0x1;
const UNKNOWN: u32 = 0x2;
const DELALLOC: u32 = 0x4;
const ENCODED: u32 = 0x8;
const NOT_ALIGNED: u32 = 0x100;
const DATA_INLINE: u32 = 0x200;
const SHARED: u32 = 0x2000;
/// Without one place of its own on the device.
const PLACELESS: u32 = UNKNOWN | DELALLOC | ENCODED | NOT_ALIGNED | DATA_INLINE;

/// Extents that one call fetches.
const CALL_EXTENTS: usize = 128;
/// Most extents of a file that are looked at: one of more is fragmented beyond any use of their places.
const EXTENTS_MAX: usize = 100_000;

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct FiemapExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

#[repr(C)]
struct Fiemap {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    extents: [FiemapExtent; CALL_EXTENTS],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileExtent {
    pub offset: u64,
    /// First byte on the file system's device; `None` where it has no place of its own there.
    pub at_bytes: Option<u64>,
    pub len_bytes: u64,
    pub shared: bool,
}

/// The extents of a file, in its order; with `synced`, after its data were written.
/// Errors: the file system does not report them (EOPNOTSUPP, ENOTTY).
#[expect(clippy::disallowed_methods, reason = "FIEMAP only asks")]
pub fn extents(file: BorrowedFd<'_>, synced: bool) -> Result<Vec<FileExtent>, Errno> {
    let (mut found, mut start) = (Vec::new(), 0);
    loop {
        let mut map = Fiemap {
            start,
            length: u64::MAX - start,
            flags: if synced { FLAG_SYNC } else { 0 },
            mapped_extents: 0,
            extent_count: CALL_EXTENTS as u32,
            reserved: 0,
            extents: [FiemapExtent::default(); CALL_EXTENTS],
        };
        // SAFETY: the kernel reads and fills one `fiemap` with room for its `fm_extent_count` extents.
        unsafe { ioctl(file, Updater::<FS_IOC_FIEMAP, Fiemap>::new(&mut map)) }?;
        let mapped = &map.extents[..(map.mapped_extents as usize).min(CALL_EXTENTS)];
        found.extend(mapped.iter().map(|extent| FileExtent {
            offset: extent.logical,
            at_bytes: (extent.flags & PLACELESS == 0).then_some(extent.physical),
            len_bytes: extent.length,
            shared: extent.flags & SHARED != 0,
        }));
        match mapped.last() {
            Some(last) if last.flags & LAST == 0 && found.len() < EXTENTS_MAX => {
                start = last.logical + last.length;
            }
            _ => return Ok(found),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip;
    use rustix::fd::AsFd;
    use std::io::Write;

    #[test]
    fn the_structures_have_the_kernels_layout() {
        assert_eq!(size_of::<FiemapExtent>(), 56);
        assert_eq!(std::mem::offset_of!(Fiemap, extents), 32);
    }

    #[test]
    fn written_file_has_extents_over_all_of_it() {
        let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all(&vec![7; 3 << 20]).unwrap();
        let found = match extents(file.as_fd(), true) {
            Ok(found) => found,
            Err(Errno::OPNOTSUPP | Errno::NOTTY) => {
                return skip::note_skipped("this file system has no FIEMAP");
            }
            Err(errno) => panic!("{errno}"),
        };
        let covered: u64 = found.iter().map(|extent| extent.len_bytes).sum();
        assert!(covered >= 3 << 20, "{found:?}");
        assert!(found.windows(2).all(|pair| pair[0].offset + pair[0].len_bytes == pair[1].offset));
    }
}
