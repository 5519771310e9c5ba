//! The space that own files may take: all but a floor, which stays free.

use super::leftovers::leftover_bytes;
use crate::error::DriveError;
use drivescope_model::units::Bytes;
use std::path::Path;

/// The floor of free space is a tenth of the file system, but at least this: other programs continue to write.
const FLOOR_MIN: u64 = 64 << 20;
/// At most this: a large file system needs no more.
const FLOOR_MAX: u64 = 1 << 30;
/// `RAMFS_MAGIC` of linux/magic.h, which rustix does not name.
const RAMFS_MAGIC: u32 = 0x8584_58f6;

/// Space available in `parent` beyond the floor (10 % of the file system, 64 MiB to 1 GiB) for a run that begins,
/// which first removes what killed runs left there.
pub fn room(parent: &Path) -> Result<Bytes, DriveError> {
    let (free, floor) = free_and_floor(parent)?;
    let free = free.saturating_add(leftover_bytes(parent));
    Ok(Bytes(free.saturating_sub(floor)))
}

fn free_and_floor(parent: &Path) -> Result<(u64, u64), DriveError> {
    let vfs = rustix::fs::statvfs(parent)
        .map_err(|e| DriveError::from_errno("find the free space of", parent, e))?;
    if vfs.f_blocks == 0 {
        let path = parent.to_path_buf();
        let kind = rustix::fs::statfs(parent).map(|fs| fs.f_type);
        let is_ramfs = kind.is_ok_and(|kind| kind as u32 == RAMFS_MAGIC);
        return Err(if is_ramfs {
            DriveError::NoLimit { path }
        } else {
            DriveError::NoPlace { path }
        });
    }
    let unit = if vfs.f_frsize > 0 { vfs.f_frsize } else { vfs.f_bsize };
    Ok((vfs.f_bavail * unit, floor_of(vfs.f_blocks * unit)))
}

fn floor_of(size_bytes: u64) -> u64 {
    (size_bytes / 10).clamp(FLOOR_MIN, FLOOR_MAX)
}

/// Bytes that may still be taken.
pub(super) fn left_bytes(parent: &Path) -> Result<u64, DriveError> {
    let (free, floor) = free_and_floor(parent)?;
    Ok(free.saturating_sub(floor))
}

pub(super) fn is_short(parent: &Path) -> bool {
    free_and_floor(parent).is_ok_and(|(free, floor)| free < floor / 2)
}

pub(super) fn check_room(parent: &Path, wanted: Bytes) -> Result<(), DriveError> {
    let (free, floor) = free_and_floor(parent)?;
    // Not by the room, which is 0 also far below the floor: there not even 0 bytes fit.
    let fits = free >= floor.saturating_add(wanted.0);
    if fits { Ok(()) } else { Err(no_room(parent, Some(wanted))) }
}

pub(crate) fn no_room(parent: &Path, wanted: Option<Bytes>) -> DriveError {
    let (free, floor) = free_and_floor(parent).unwrap_or((0, FLOOR_MAX));
    too_full(parent, (free, floor), wanted)
}

/// The error for a file whose space the file system does not give, although it said that it has it.
pub(super) fn not_reserved(parent: &Path, file: &Path, size: Bytes) -> DriveError {
    let (free, floor) = free_and_floor(parent).unwrap_or((0, FLOOR_MAX));
    if free < floor.saturating_add(size.0) {
        return too_full(parent, (free, floor), Some(size));
    }
    let (size, free) = (size.to_string(), Bytes(free).to_string());
    DriveError::NotReserved { path: file.to_path_buf(), size, free }
}

pub(super) fn too_full(
    parent: &Path,
    (free, floor): (u64, u64),
    wanted: Option<Bytes>,
) -> DriveError {
    let wanted = wanted.filter(|wanted| wanted.0 > 0);
    DriveError::NoRoom {
        path: parent.to_path_buf(),
        free: Bytes(free).to_string(),
        floor: Bytes(floor).to_string(),
        wanted: wanted.map_or_else(|| "anything more".to_string(), |wanted| wanted.to_string()),
        // Below the floor not even the smallest file fits.
        remedy: if free > floor {
            "free some space or use a smaller --size"
        } else {
            "free some space, or name a directory of another file system"
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floor_is_a_tenth_within_its_bounds() {
        fn mib(count: u64) -> u64 {
            count << 20
        }
        for (size, floor) in
            [(128, 64), (512, 64), (1_000, 100), (4_000, 400), (20_000, 1_024), (4_000_000, 1_024)]
        {
            assert_eq!(floor_of(mib(size)), mib(floor), "{size} MiB");
        }
    }
}
