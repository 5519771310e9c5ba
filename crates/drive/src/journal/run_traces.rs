//! Whether a drive is the one whose originals a journal keeps: two drives may tell the same names, as cheap sticks and
//! whatever lies in some docks do.

use super::Disk;
use super::byte_range::ByteRange;
use super::scan::Saved;
use super::storage::JournalFile;
use crate::aligned_buffer::AlignedBuffer;
use crate::test_data::{SECTOR, fill_sector, number_and_percent, stamps};

/// Above any number of passes that a run makes.
const PASSES_MAX: u64 = 1 << 32;

/// Whether a sector read at byte `offset` is test data of the run with this seed. Where the seed is not known, as in
/// journals of earlier versions, whether it looks like that of any run: its offset, a number of a pass, then noise
/// without a word that is 0.
pub fn is_test_data(sector: &[u8; SECTOR], offset: u64, seed: Option<u64>) -> bool {
    let (stamp, pass) = stamps(sector);
    let (number, percent) = number_and_percent(pass);
    if stamp != offset || number >= PASSES_MAX || percent > 100 {
        return false;
    }
    let Some(seed) = seed else {
        // Earlier versions wrote no data that compress.
        let (words, _) = sector.as_chunks::<8>();
        return percent == 0 && words[2..].iter().all(|word| *word != [0; 8]);
    };
    let mut expected = [0; SECTOR];
    fill_sector(&mut expected, seed, pass, offset);
    *sector == expected
}

/// What a saved area may hold on the drive of its journal: originals, test data of its run, and sectors torn between
/// the two.
struct RunTraces {
    seed: Option<u64>,
    /// The pass of the test data seen last: what a torn sector names may be of its original.
    pass: u64,
}

impl RunTraces {
    fn is_known(&mut self, sector: &[u8; SECTOR], original: &[u8; SECTOR], offset: u64) -> bool {
        if sector == original {
            return true;
        }
        if is_test_data(sector, offset, self.seed) {
            self.pass = stamps(sector).1;
            return true;
        }
        let Some(seed) = self.seed else { return false };
        [stamps(sector).1, self.pass].into_iter().any(|pass| {
            let mut pattern = [0; SECTOR];
            fill_sector(&mut pattern, seed, pass, offset);
            let mut bytes = sector.iter().zip(original).zip(&pattern);
            bytes.all(|((is, original), pattern)| is == original || is == pattern)
        })
    }
}

/// The first bytes of what was saved that are neither the originals nor test data of the run with this seed: then it
/// is not the drive that was written, or another program has written it since.
pub(super) fn stranger(
    disk: &mut dyn Disk,
    file: &mut impl JournalFile,
    saved: &[Saved],
    seed: Option<u64>,
) -> Option<ByteRange> {
    let largest = saved.iter().map(|saved| saved.extent.len).max().unwrap_or(0) as usize;
    let (mut original, mut present) = (AlignedBuffer::new(largest), AlignedBuffer::new(largest));
    let mut traces = RunTraces { seed, pass: 1 };
    for saved in saved {
        let len = saved.extent.len as usize;
        let (original, present) = (&mut original[..len], &mut present[..len]);
        // Restoring reports unreadable places, and leaves out what the journal lost.
        let is_known =
            file.read_at(saved.data_at, original).is_ok() && crc32c::crc32c(original) == saved.crc;
        if !is_known || disk.read_at(saved.extent.offset, present).is_err() {
            continue;
        }
        let (sectors, _) = present.as_chunks::<SECTOR>();
        let (originals, _) = original.as_chunks::<SECTOR>();
        let mut places = (saved.extent.offset..).step_by(SECTOR).zip(sectors.iter().zip(originals));
        let strange =
            places.find(|(at, (sector, original))| !traces.is_known(sector, original, *at));
        if let Some((offset, _)) = strange {
            return Some(ByteRange::new(offset, SECTOR as u64));
        }
    }
    None
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
        assert!(is_test_data(&stamped(1 << 40, 3), 1 << 40, None));
        assert!(!is_test_data(&stamped(1 << 40, 3), 512, None), "of another place");
        assert!(!is_test_data(&stamped(512, 1 << 40), 512, None), "no number of a pass");
        assert!(!is_test_data(&[0; SECTOR], 0, None));
        // The first sector of most drives begins with zeros, and has more.
        let mut boot = [0; SECTOR];
        boot[510..].copy_from_slice(b"\x55\xAA");
        assert!(!is_test_data(&boot, 0, None));
        assert!(!is_test_data(&stamped(1 << 40, 3), 1 << 40, Some(1)), "of another run");
    }

    #[test]
    fn only_the_runs_torn_sector_is_recognized() {
        let (offset, original) = (8192, [0; SECTOR]);
        let mut pattern = [0; SECTOR];
        fill_sector(&mut pattern, 7, 3, offset);
        let known = |sector: &[u8; SECTOR], seed| {
            RunTraces { seed, pass: 3 }.is_known(sector, &original, offset)
        };
        for cut in [0, 4, 16, 100, SECTOR] {
            let torn = |first: &[u8; SECTOR], second: &[u8; SECTOR]| {
                let mut torn = *first;
                torn[cut..].copy_from_slice(&second[cut..]);
                torn
            };
            assert!(known(&torn(&pattern, &original), Some(7)), "{cut}");
            assert!(known(&torn(&original, &pattern), Some(7)), "{cut}");
        }
        for other in [[0xFF; SECTOR], stamped(offset, 3), [1; SECTOR]] {
            assert!(!known(&other, Some(7)));
        }
        assert!(!known(&pattern, Some(8)), "of another run");
        assert!(known(&pattern, None) && known(&original, None) && !known(&[0xFF; SECTOR], None));
    }
}
