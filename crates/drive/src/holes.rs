//! How much of a file holds no data: holes, and space that was set aside and never written. Reads of either
//! are answered by the file system, not by a drive.

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use std::fs::File;
use std::path::Path;

/// Pieces of data looked at: a file of more is fragmented, but written.
const PIECES_MAX: usize = 4096;

/// Bytes of the file and those of them that hold no data; `None` if it cannot be looked at. The blocks that a
/// file takes say nothing: file systems of FUSE and of networks may report none for a file that is full.
pub(crate) fn size_and_missing(path: &Path) -> Option<(u64, u64)> {
    let file = File::open(path).ok()?;
    let size = file.metadata().ok()?.len();
    Some((size, seek_holes(&file, size)?))
}

/// What `SEEK_DATA` skips, over the first pieces; `None` where the file system does not report it.
fn seek_holes(file: &File, size: u64) -> Option<u64> {
    let (mut at, mut missing) = (0, 0);
    for _ in 0..PIECES_MAX {
        match seek(file, SeekFrom::Data(at)) {
            Ok(data) => missing += data.saturating_sub(at),
            // No data up to the end.
            Err(Errno::NXIO) => return Some(missing + size.saturating_sub(at)),
            Err(_) => return None,
        }
        let data = seek(file, SeekFrom::Current(0)).ok()?;
        at = seek(file, SeekFrom::Hole(data)).ok()?;
        if at >= size {
            break;
        }
    }
    Some(missing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{FallocateFlags, fallocate};
    use std::os::unix::fs::{FileExt, MetadataExt};

    const MIB: u64 = 1 << 20;

    #[test]
    fn holes_and_space_never_written_hold_no_data() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let file = File::create(&path).unwrap();
        file.write_all_at(&vec![7; MIB as usize], 0).unwrap();
        file.sync_all().unwrap();
        assert_eq!(size_and_missing(&path), Some((MIB, 0)));
        file.set_len(4 * MIB).unwrap();
        assert_eq!(size_and_missing(&path), Some((4 * MIB, 3 * MIB)));
        if fallocate(&file, FallocateFlags::empty(), MIB, 2 * MIB).is_ok() {
            file.write_all_at(&vec![7; MIB as usize], 3 * MIB).unwrap();
            file.sync_all().unwrap();
            let (size, missing) = size_and_missing(&path).unwrap();
            assert!(size == 4 * MIB && [0, 2 * MIB].contains(&missing), "{missing} of {size}");
        }
        assert_eq!(size_and_missing(&folder.path().join("none")), None);
    }

    /// FUSE and network file systems may report no blocks; sysfs, which every machine has, reports none either.
    #[test]
    fn a_file_without_blocks_is_not_therefore_empty() {
        let path = Path::new("/sys/devices/system/cpu/online");
        let meta = path.metadata().unwrap();
        assert!(meta.len() > 0 && meta.blocks() == 0, "{meta:?}");
        assert_eq!(size_and_missing(path), Some((meta.len(), 0)));
    }
}
