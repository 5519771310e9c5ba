//! What a drive's medium holds after a power cut: QEMU logs every write and flush of the guest in the format of
//! dm-log-writes (the kernel's Documentation/admin-guide/device-mapper/log-writes.rst), and what no flush has
//! covered is lost in part, as in a drive's volatile cache.

use std::ops::Range;

/// Magic number of the log's first sector.
const MAGIC: u64 = 0x006a_7366_7773_6872;
const VERSION: u64 = 1;
/// An entry has sector, sectors, flags and length of its data, 8 bytes each, in a sector of its own.
const FLUSH: u64 = 1;
const FUA: u64 = 2;
const DISCARD: u64 = 4;
const MARK: u64 = 8;

/// One request, in the order of completion.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    /// Bytes of the drive.
    place: Range<usize>,
    /// Bytes of the log; none for flushes and discards.
    data: Range<usize>,
    flags: u64,
}

/// Brings an image from what it was when the log began to what a power cut at its end leaves: all that a flush has
/// covered, and of each later write nothing, the whole, or sectors of it, as the seed will have it. Returns how many
/// writes were lost or torn.
pub fn lose_power(image: &mut [u8], log: &[u8], seed: u64) -> Result<usize, String> {
    let (entries, sector) = entries(log)?;
    let flushed = entries.iter().rposition(|entry| entry.flags & FLUSH != 0);
    let mut dice = Dice(seed);
    let mut lost = 0;
    for (number, entry) in entries.iter().enumerate() {
        let end = image.len();
        let place = image.get_mut(entry.place.clone());
        let place = place.ok_or(format!("the log writes to {:?} of {end} bytes", entry.place))?;
        let durable = flushed.is_some_and(|flush| number <= flush) || entry.flags & FUA != 0;
        let fate = if durable { Fate::Whole } else { dice.fate() };
        if entry.flags & DISCARD != 0 {
            // What a drive returns there is its own affair: here zeros, once it is durable.
            if durable {
                place.fill(0)
            }
            continue;
        }
        let data = &log[entry.data.clone()];
        lost += usize::from(fate != Fate::Whole && !data.is_empty());
        for (to, from) in place.chunks_mut(sector).zip(data.chunks(sector)) {
            if fate == Fate::Whole || fate == Fate::Torn && dice.next().is_multiple_of(2) {
                to.copy_from_slice(&from[..to.len()]);
            }
        }
    }
    Ok(lost)
}

/// The requests of a log, and its bytes per sector. Its own count of entries is of no use: it includes requests that
/// were in flight when QEMU was killed, which left a hole, or nothing.
fn entries(log: &[u8]) -> Result<(Vec<Entry>, usize), String> {
    let words = |at: usize| {
        let word = |at: usize| Some(u64::from_le_bytes(log.get(at..at + 8)?.try_into().ok()?));
        Some([word(at)?, word(at + 8)?, word(at + 16)?, word(at + 24)?])
    };
    let sector = match words(0) {
        Some([MAGIC, VERSION, _, sector]) => (sector & u64::from(u32::MAX)) as usize,
        None if log.is_empty() => return Ok((Vec::new(), 1)),
        _ => return Err("this is not a log of writes".to_string()),
    };
    let (mut at, mut found) = (sector, Vec::new());
    while let Some([from, count, flags, bytes]) = words(at) {
        at += sector;
        let [from, count, bytes] = [from, count, bytes].map(|number| number as usize);
        if count == 0 && flags == 0 {
            continue; // a hole
        }
        let length = match flags & (DISCARD | MARK) {
            0 => count * sector,
            _ => 0,
        };
        let data = at..at + length;
        if data.end > log.len() {
            break; // in flight
        }
        at = data.end + bytes.next_multiple_of(sector);
        found.push(Entry { place: from * sector..(from + count) * sector, data, flags });
    }
    Ok((found, sector))
}

/// The fate of a write that was in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Whole,
    Torn,
    Lost,
}

/// Numbers that look random (SplitMix64, Steele et al. 2014).
#[derive(Debug)]
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn fate(&mut self) -> Fate {
        match self.next() % 4 {
            0 => Fate::Whole,
            1 => Fate::Torn,
            _ => Fate::Lost,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log of writes of one sector and of flushes: (sector, byte of the data, flags).
    fn log_of(requests: &[(u64, u8, u64)]) -> Vec<u8> {
        let mut log = Vec::new();
        let words = |log: &mut Vec<u8>, words: &[u64]| {
            words.iter().for_each(|word| log.extend(word.to_le_bytes()));
            log.resize(log.len().next_multiple_of(512), 0);
        };
        words(&mut log, &[MAGIC, VERSION, requests.len() as u64, 512]);
        for &(sector, byte, flags) in requests {
            let count = u64::from(byte != 0);
            words(&mut log, &[sector, count, flags, 0]);
            log.resize(log.len() + 512 * count as usize, byte);
        }
        log
    }

    /// The first byte of each sector of a drive of four that held zeros.
    fn after(requests: &[(u64, u8, u64)], seed: u64) -> [u8; 4] {
        let mut image = vec![0; 4 * 512];
        lose_power(&mut image, &log_of(requests), seed).unwrap();
        [0, 1, 2, 3].map(|sector| image[sector * 512])
    }

    #[test]
    fn flushed_writes_stay_and_later_may_be_lost() {
        let requests = [(0, 1, 0), (1, 2, 0), (0, 0, FLUSH), (2, 3, 0), (3, 4, FUA), (0, 5, 0)];
        let all: Vec<[u8; 4]> = (0..64).map(|seed| after(&requests, seed)).collect();
        assert!(
            all.iter().all(|now| now[1] == 2 && now[3] == 4 && [1, 5].contains(&now[0])),
            "{all:?}"
        );
        for wanted in [[1, 2, 0, 4], [1, 2, 3, 4], [5, 2, 0, 4], [5, 2, 3, 4]] {
            assert!(all.contains(&wanted), "never {wanted:?}");
        }
    }

    #[test]
    fn without_a_flush_all_may_be_lost() {
        let all: Vec<[u8; 4]> = (0..64).map(|seed| after(&[(1, 7, 0)], seed)).collect();
        assert!(all.contains(&[0; 4]) && all.contains(&[0, 7, 0, 0]));
    }

    #[test]
    fn requests_in_flight_are_holes_or_missing() {
        let mut log = log_of(&[(0, 1, 0), (1, 2, 0), (2, 3, 0), (0, 0, FLUSH), (3, 4, 0)]);
        log[3 * 512..5 * 512].fill(0); // the second
        log.truncate(log.len() - 1);
        for seed in 0..16 {
            let mut image = vec![0; 4 * 512];
            lose_power(&mut image, &log, seed).unwrap();
            assert_eq!([0, 1, 2, 3].map(|sector| image[sector * 512]), [1, 0, 3, 0]);
        }
    }

    #[test]
    fn foreign_file_and_write_beyond_drive_are_errors() {
        assert!(lose_power(&mut [0; 512], &[0; 2048], 0).is_err());
        assert!(lose_power(&mut [0; 512], &log_of(&[(1, 1, 0)]), 0).is_err());
    }
}
