//! Fresh test data: seeded, incompressible, and stamped per sector with offset and pass, so that
//! read-back can be verified and neither compression nor deduplication can help.

use drivescope_drive::test_data::{fill_sector, stamps};

pub use drivescope_drive::test_data::{SECTOR, compressible_pass};

/// Passes are counted from 1, one for each phase; the number of a phase's writes stands above these bits,
/// and below 2^32, as the journal knows test data.
const PHASES: u64 = 1 << 16;
const WRITES: u64 = 1 << 15;

/// A sector with at most this many wrong bits is changed, not lost (AltraMayor/f3, f3read).
const CHANGED_BITS_MAX: u32 = 7;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SectorContents {
    /// Written there, in some pass of this seed.
    Own {
        pass: u64,
    },
    /// Written elsewhere, in some pass of this seed.
    Other {
        offset: u64,
        pass: u64,
    },
    Changed,
    Lost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payload {
    seed: u64,
    pass: u64,
}

impl Payload {
    pub fn new(seed: u64, pass: u64) -> Self {
        Self { seed, pass }
    }

    /// Data of the write with this number, from 0, in a phase that visits a place again: without it, a drive that
    /// deduplicates need not write.
    #[inline]
    #[must_use]
    pub fn of_write(self, number: u64) -> Self {
        Self { pass: self.pass + number % WRITES * PHASES, ..self }
    }

    pub fn pass(self) -> u64 {
        self.pass
    }

    /// `buffer` will be written at byte `offset` (any offset, any length).
    pub fn fill(self, buffer: &mut [u8], offset: u64) {
        let (sectors, rest) = buffer.as_chunks_mut::<SECTOR>();
        let mut at = offset;
        for sector in sectors {
            self.fill_sector(sector, at);
            at += SECTOR as u64;
        }
        if !rest.is_empty() {
            let mut sector = [0; SECTOR];
            self.fill_sector(&mut sector, at);
            rest.copy_from_slice(&sector[..rest.len()]);
        }
    }

    #[inline]
    fn fill_sector(self, sector: &mut [u8; SECTOR], offset: u64) {
        fill_sector(sector, self.seed, self.pass, offset);
    }

    /// `self.pass`: the last pass written there.
    pub fn held(self, sector: &[u8; SECTOR], offset: u64) -> SectorContents {
        let (stamp, pass) = stamps(sector);
        let mut expected = [0; SECTOR];
        Self::new(self.seed, pass).fill_sector(&mut expected, stamp);
        if *sector == expected {
            let other = SectorContents::Other { offset: stamp, pass };
            return if stamp == offset { SectorContents::Own { pass } } else { other };
        }
        self.fill_sector(&mut expected, offset);
        let wrong_bits: u32 =
            sector.iter().zip(&expected).map(|(is, want)| (is ^ want).count_ones()).sum();
        if wrong_bits <= CHANGED_BITS_MAX { SectorContents::Changed } else { SectorContents::Lost }
    }

    /// First sector (byte offset) of `data`, read at `offset`, that this seed did not write there in any pass;
    /// overwrites of different phases may mix.
    pub fn first_mismatch(seed: u64, data: &[u8], offset: u64) -> Option<u64> {
        let (sectors, _) = data.as_chunks::<SECTOR>();
        let mut expected = [0; SECTOR];
        let mut places = (offset..).step_by(SECTOR).zip(sectors);
        let wrong = places.find(|&(at, sector)| {
            Self::new(seed, stamps(sector).1).fill_sector(&mut expected, at);
            *sector != expected
        });
        wrong.map(|(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use proptest::prelude::*;
    use std::io::Write;

    #[test]
    fn intact_data_pass_and_any_change_shows() {
        let mut data = vec![0; 16 * SECTOR];
        Payload::new(7, 3).fill(&mut data, 4096);
        assert_eq!(Payload::first_mismatch(7, &data, 4096), None);
        assert_eq!(Payload::first_mismatch(8, &data, 4096), Some(4096), "another seed");
        assert_eq!(Payload::first_mismatch(7, &data, 8192), Some(8192), "data of another place");
        data[5 * SECTOR + 100] ^= 1;
        assert_eq!(Payload::first_mismatch(7, &data, 4096), Some(4096 + 5 * 512));
    }

    #[test]
    fn sector_contents_are_classified() {
        fn sector(payload: Payload, offset: u64) -> [u8; SECTOR] {
            let mut sector = [0; SECTOR];
            payload.fill(&mut sector, offset);
            sector
        }
        let (data, earlier) = (Payload::new(7, 3), Payload::new(7, 1));
        assert_eq!(data.held(&sector(data, 512), 512), SectorContents::Own { pass: 3 });
        assert_eq!(data.held(&sector(earlier, 512), 512), SectorContents::Own { pass: 1 });
        let other = SectorContents::Other { offset: 512, pass: 1 };
        assert_eq!(data.held(&sector(earlier, 512), 8192), other);
        let mut damaged = sector(data, 512);
        damaged[300] ^= 0x7f;
        assert_eq!(data.held(&damaged, 512), SectorContents::Changed);
        damaged[0] ^= 1;
        assert_eq!(data.held(&damaged, 512), SectorContents::Lost, "eight bits");
        let other_seed = sector(Payload::new(8, 3), 512);
        assert_eq!(data.held(&other_seed, 512), SectorContents::Lost);
        assert_eq!(data.held(&[0; SECTOR], 512), SectorContents::Lost);
    }

    /// `restore` recognizes test data by it.
    #[test]
    fn the_journal_knows_test_data_as_such() {
        use drivescope_drive::journal::is_test_data;
        for (seed, pass, offset) in [(0, 1, 0), (7, 3, 4096), (u64::MAX, 1 << 20, 1 << 44)] {
            for payload in [Payload::new(seed, pass), Payload::new(seed, pass).of_write(u64::MAX)] {
                let mut sector = [0; SECTOR];
                payload.fill(&mut sector, offset);
                for known in [Some(seed), None] {
                    assert!(is_test_data(&sector, offset, known), "{seed} {pass}");
                }
                assert!(!is_test_data(&sector, offset, Some(seed ^ 1)), "of another run");
            }
            for percent in [1, 50, 100] {
                let mut sector = [0; SECTOR];
                let pass = compressible_pass(pass, percent);
                Payload::new(seed, pass).of_write(u64::MAX).fill(&mut sector, offset);
                assert!(is_test_data(&sector, offset, Some(seed)), "{seed} {percent} %");
                assert!(!is_test_data(&sector, offset, Some(seed ^ 1)), "of another run");
            }
        }
    }

    /// Order-0 entropy and repeated 8-byte words of 1 MiB: what a compressor or deduplicator could use.
    #[test]
    fn data_gives_compressors_nothing() {
        let mut data = vec![0; 1 << 20];
        Payload::new(1, 1).fill(&mut data, 0);
        let mut counts = [0f64; 256];
        for byte in &data {
            counts[usize::from(*byte)] += 1.0;
        }
        let n = data.len() as f64;
        let entropy: f64 = counts.iter().map(|c| -(c / n) * (c / n).log2()).sum();
        // Stamps (16 of 512 bytes, mostly zero) cost 3 %; the rest is at 8 bits per byte.
        assert!(entropy > 7.8, "{entropy}");
        let mut words: Vec<_> = data.as_chunks::<8>().0.to_vec();
        words.sort_unstable();
        words.dedup();
        // The pass is the same word in every sector: one repetition per sector, no more.
        assert_eq!(words.len(), (1 << 20) / 8 - (1 << 20) / SECTOR + 1);
    }

    /// Measured with deflate at its strongest. The stamps compress as well: some 13 of 512 bytes.
    #[test]
    fn data_compress_by_the_asked_share() {
        let mut data = vec![0; 1 << 20];
        for percent in [0, 1, 10, 25, 40, 50, 60, 75, 90, 99, 100] {
            let payload = Payload::new(1, compressible_pass(1, percent)).of_write(3);
            payload.fill(&mut data, 1 << 30);
            let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
            packed.write_all(&data).unwrap();
            let left = packed.finish().unwrap().len() as f64 / data.len() as f64;
            let saved = 100.0 * (1.0 - left);
            assert!((saved - f64::from(percent)).abs() < 4.0, "{saved} of {percent} %");
            assert_eq!(Payload::first_mismatch(1, &data, 1 << 30), None, "{percent} %");
            assert_eq!(Payload::first_mismatch(2, &data, 1 << 30), Some(1 << 30), "another seed");
            data[70 * SECTOR + SECTOR - 1] ^= 1;
            let damaged = (1 << 30) + 70 * SECTOR as u64;
            assert_eq!(Payload::first_mismatch(1, &data, 1 << 30), Some(damaged), "{percent} %");
        }
    }

    proptest! {
        #[test]
        fn pieces_equal_the_whole(seed: u64, pass: u64, start in 0u64..1000, cut in 0usize..8) {
            let offset = start * 512;
            let mut whole = vec![0; 8 * SECTOR];
            Payload::new(seed, pass).fill(&mut whole, offset);
            let mut pieces = vec![0; 8 * SECTOR];
            let (a, b) = pieces.split_at_mut(cut * SECTOR);
            Payload::new(seed, pass).fill(a, offset);
            Payload::new(seed, pass).fill(b, offset + (cut * SECTOR) as u64);
            prop_assert_eq!(whole, pieces);
        }
    }
}
