//! The contents of a drive, and drives that keep less than they announce.
//!
//! The other parts of this crate compute times and move no data. Contents are what a test of capacity
//! reads back, so here they are: sparse, in memory, a page at a time. A fake drive announces more than it
//! has; f3 names two kinds (AltraMayor/f3, libprobe: "wraparound" and "limbo"), both of which exist here.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

/// Unit in which contents are addressed, cached and lost.
pub const SECTOR_BYTES: u64 = 512;
/// Unit in which they are kept.
const PAGE_BYTES: u64 = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FakeKind {
    /// Addresses are taken modulo the real size: writes beyond it land on earlier data.
    Wrap,
    /// Writes beyond the real size are dropped; zeros are read there.
    Cut,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FakeCapacity {
    pub fraud: FakeKind,
    /// The real size; a multiple of [`SECTOR_BYTES`], above 0.
    pub real_bytes: u64,
    /// Memory that answers for the most recently written sectors, wherever they were written, so that a
    /// hasty reader finds them intact; 0: none.
    pub cache_bytes: u64,
}

impl FakeCapacity {
    /// Where the byte at `offset` really is; `None` where the address has no memory.
    pub fn place(self, offset: u64) -> Option<u64> {
        match self.fraud {
            FakeKind::Wrap => Some(offset % self.real_bytes),
            FakeKind::Cut => (offset < self.real_bytes).then_some(offset),
        }
    }

    /// Bytes from `offset` on that lie in one piece, `len` at most.
    pub fn piece_bytes(self, offset: u64, len: u64) -> u64 {
        len.min(self.place(offset).map_or(len, |place| self.real_bytes - place))
    }
}

/// The contents of a drive. Sectors that were never written hold zeros.
#[derive(Debug, Default)]
pub struct DriveContents {
    fake: Option<FakeCapacity>,
    pages: FxHashMap<u64, Box<[u8; PAGE_BYTES as usize]>>,
    recent: Recent,
}

#[derive(Debug, Default)]
struct Recent {
    sectors: FxHashMap<u64, [u8; SECTOR_BYTES as usize]>,
    /// In the order in which they were first written.
    order: VecDeque<u64>,
}

impl DriveContents {
    pub fn new(fake: Option<FakeCapacity>) -> Self {
        Self { fake, ..Self::default() }
    }

    /// Writes `data`, whole sectors, at byte `offset`, the beginning of one.
    pub fn write(&mut self, offset: u64, data: &[u8]) {
        let (sectors, _) = data.as_chunks::<{ SECTOR_BYTES as usize }>();
        for (sector, at) in sectors.iter().zip((offset..).step_by(SECTOR_BYTES as usize)) {
            if let Some(place) = self.place(at) {
                let page = self
                    .pages
                    .entry(place / PAGE_BYTES)
                    .or_insert_with(|| Box::new([0; PAGE_BYTES as usize]));
                let from = (place % PAGE_BYTES) as usize;
                page[from..from + SECTOR_BYTES as usize].copy_from_slice(sector);
            }
            if let Some(fake) = self.fake {
                self.recent.keep(at, sector, (fake.cache_bytes / SECTOR_BYTES) as usize);
            }
        }
    }

    /// Reads whole sectors from byte `offset` on.
    pub fn read(&self, offset: u64, data: &mut [u8]) {
        let (sectors, _) = data.as_chunks_mut::<{ SECTOR_BYTES as usize }>();
        for (sector, at) in sectors.iter_mut().zip((offset..).step_by(SECTOR_BYTES as usize)) {
            if let Some(recent) = self.recent.sectors.get(&at) {
                *sector = *recent;
                continue;
            }
            let page = self.place(at).and_then(|place| {
                let from = (place % PAGE_BYTES) as usize;
                Some(&self.pages.get(&(place / PAGE_BYTES))?[from..from + SECTOR_BYTES as usize])
            });
            match page {
                Some(kept) => sector.copy_from_slice(kept),
                None => sector.fill(0),
            }
        }
    }

    /// Where the sector at `offset` really is; `None` where the address has no memory.
    fn place(&self, offset: u64) -> Option<u64> {
        self.fake.map_or(Some(offset), |fake| fake.place(offset))
    }
}

impl Recent {
    fn keep(&mut self, at: u64, sector: &[u8; SECTOR_BYTES as usize], room: usize) {
        if room == 0 {
            return;
        }
        if self.sectors.insert(at, *sector).is_none() {
            self.order.push_back(at);
        }
        while self.order.len() > room
            && let Some(oldest) = self.order.pop_front()
        {
            self.sectors.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1024;

    fn fake(fraud: FakeKind, cache_bytes: u64) -> DriveContents {
        DriveContents::new(Some(FakeCapacity { fraud, real_bytes: 10 * KIB, cache_bytes }))
    }

    fn read(contents: &DriveContents, offset: u64) -> u8 {
        let mut sector = [7; 512];
        contents.read(offset, &mut sector);
        assert!(sector.iter().all(|byte| *byte == sector[0]));
        sector[0]
    }

    #[test]
    fn honest_drive_returns_writes_and_zeros_elsewhere() {
        let mut drive = DriveContents::new(None);
        // Across the end of a page, and over part of the earlier data.
        drive.write(3 * KIB, &[1; 4096]);
        drive.write(4 * KIB, &[2; 512]);
        let mut data = vec![9; 6 * KIB as usize];
        drive.read(2 * KIB, &mut data);
        let expected = [vec![0; 1024], vec![1; 1024], vec![2; 512], vec![1; 2560], vec![0; 1024]];
        assert_eq!(data, expected.concat());
    }

    #[test]
    fn a_wrapped_drive_overwrites_its_beginning() {
        let mut drive = fake(FakeKind::Wrap, 0);
        drive.write(512, &[1; 512]);
        drive.write(10 * KIB + 512, &[2; 512]);
        assert_eq!([512, 10 * KIB + 512, 20 * KIB + 512].map(|at| read(&drive, at)), [2; 3]);
    }

    #[test]
    fn cut_drive_drops_writes_beyond() {
        let mut drive = fake(FakeKind::Cut, 0);
        drive.write(9 * KIB, &[3; 2048]);
        assert_eq!([9 * KIB, 9 * KIB + 512, 10 * KIB].map(|at| read(&drive, at)), [3, 3, 0]);
    }

    #[test]
    fn a_cache_hides_the_loss_until_it_is_full() {
        let mut drive = fake(FakeKind::Cut, KIB);
        drive.write(20 * KIB, &[4; 1024]);
        assert_eq!(read(&drive, 20 * KIB), 4);
        drive.write(30 * KIB, &[5; 512]);
        assert_eq!((read(&drive, 20 * KIB), read(&drive, 20 * KIB + 512)), (0, 4));
    }
}
