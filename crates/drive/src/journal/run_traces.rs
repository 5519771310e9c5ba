//! Whether a drive has anything of the run whose originals a journal keeps: two drives may tell the same names, as
//! cheap sticks and whatever lies in some docks do.

use super::Disk;
use super::byte_range::ByteRange;
use super::scan::Saved;
use super::storage::JournalFile;
use crate::aligned_buffer::AlignedBuffer;

/// The unit that carries a stamp of test data.
const SECTOR: usize = 512;
/// Tests count their passes; no run has so many.
const PASSES_MAX: u64 = 1 << 32;

/// Whether a sector read at byte `offset` looks like test data of this program: its offset, a number of a pass,
/// then noise without a word that is 0.
pub fn is_test_data(sector: &[u8; SECTOR], offset: u64) -> bool {
    let (words, _) = sector.as_chunks::<8>();
    let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
    words.next() == Some(offset)
        && words.next().is_some_and(|pass| pass < PASSES_MAX)
        && words.all(|word| word != 0)
}

/// The first bytes of what was saved that are neither the originals nor test data, on a drive that has no test
/// data there at all: then it is not the one that was written, or somebody has written it since. Bytes that are
/// all alike say nothing: a drive may have lost them.
pub(super) fn stranger(
    disk: &mut dyn Disk,
    file: &mut impl JournalFile,
    saved: &[Saved],
) -> Option<ByteRange> {
    let largest = saved.iter().map(|saved| saved.extent.len).max().unwrap_or(0) as usize;
    let (mut original, mut present) = (AlignedBuffer::new(largest), AlignedBuffer::new(largest));
    let mut first = None;
    for saved in saved {
        let len = saved.extent.len as usize;
        let (original, present) = (&mut original[..len], &mut present[..len]);
        // What cannot be read is told when it is restored.
        if disk.read_at(saved.extent.offset, present).is_err() {
            continue;
        }
        let is_known =
            file.read_at(saved.data_at, original).is_ok() && crc32c::crc32c(original) == saved.crc;
        let (sectors, _) = present.as_chunks::<SECTOR>();
        let (originals, _) = original.as_chunks::<SECTOR>();
        let mut offset = saved.extent.offset;
        for (sector, original) in sectors.iter().zip(originals) {
            if is_test_data(sector, offset) {
                return None;
            }
            let is_alike = sector.iter().all(|byte| *byte == sector[0]);
            if is_known && !is_alike && sector != original && first.is_none() {
                first = Some(ByteRange::new(offset, SECTOR as u64));
            }
            offset += SECTOR as u64;
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamped(offset: u64, pass: u64) -> [u8; SECTOR] {
        let mut sector = [7; SECTOR];
        sector[..8].copy_from_slice(&offset.to_le_bytes());
        sector[8..16].copy_from_slice(&pass.to_le_bytes());
        sector
    }

    #[test]
    fn test_data_are_known_by_their_stamp() {
        assert!(is_test_data(&stamped(1 << 40, 3), 1 << 40));
        assert!(!is_test_data(&stamped(1 << 40, 3), 512), "of another place");
        assert!(!is_test_data(&stamped(512, 1 << 40), 512), "no number of a pass");
        assert!(!is_test_data(&[0; SECTOR], 0));
        // The first sector of most drives begins with zeros, and has more.
        let mut boot = [0; SECTOR];
        boot[510..].copy_from_slice(b"\x55\xAA");
        assert!(!is_test_data(&boot, 0));
    }
}
