//! How much of a file holds no data: holes, and space that was set aside and never written. Reads of either
//! are answered by the file system, not by a drive.

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Unit of `st_blocks`, whatever the file system's blocks.
const STAT_BLOCK_BYTES: u64 = 512;
/// Pieces of data looked at: a file of more is fragmented, but written.
const PIECES_MAX: usize = 4096;

/// Bytes of the file and those of them that hold no data; `None` if it cannot be looked at.
pub(crate) fn size_and_missing(path: &Path) -> Option<(u64, u64)> {
    let file = File::open(path).ok()?;
    let meta = file.metadata().ok()?;
    let not_stored = meta.len().saturating_sub(meta.blocks().saturating_mul(STAT_BLOCK_BYTES));
    let not_written = seek_holes(&file, meta.len()).unwrap_or(0);
    Some((meta.len(), not_stored.max(not_written)))
}

/// What `SEEK_DATA` skips, over the first pieces; `None` where the file system does not tell.
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
    use std::os::unix::fs::FileExt;

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
}
